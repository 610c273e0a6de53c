"""Pages and API views for examples: difficulty, gold audit, and the answers to one example."""

from collections import Counter
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.examples import difficulty, gold_audit
from analysis.examples.one_page import ExamplePage
from analysis.scores import findings, performance
from analysis.scores.api import KIND, OBJECT, KindOfTable
from analysis.scores.columns import in_results_order
from analysis.scores.markup import rendered
from analysis.scores.pages import WORK, chosen_kind, csv_file, study_and_kind
from analysis.stats import agreement
from annotation.models import ExampleComment, GoldOpinion, Study
from annotation.protocol.blinding import scores_of
from annotation.web.access import right_to, signed_in
from annotation.web.fields import PageForm, TextField
from annotation.web.paging import page_of, small_list
from annotation.web.posts import Post, section
from annotation.web.views import Twin, tagged
from tasks import columns, listing
from tasks.models import Example, Split, Task

# Filters for the list of examples.
CHOICES = {
    "all-wrong": ("All incorrect", lambda row: row.right == 0),
    "all-right": ("All correct", lambda row: row.right == 100),
    "disagree": ("Disagreement", lambda row: row.pairwise_s1 < 100),
    "gold_audit": ("Gold audit", None),  # the `audit` page covers all tasks
}  # fmt: skip


WORK[difficulty.KIND] = ("examples", difficulty.job_of)
LONGEST_COMMENT = 2000


class CommentForm(PageForm):
    key = "comment"
    text = TextField(
        label="Comment",
        max_length=LONGEST_COMMENT,
        widget=forms.Textarea({"rows": 3}),
        help_text="The study's team will see it with your name and the time. You can't edit it"
        " later.",
        error_messages={"required": "Enter a comment."},
    )
    gold = forms.ChoiceField(
        label="The gold answer is",
        choices=[("", "not the subject of this comment"), *GoldOpinion.choices],
        required=False,
        help_text="Gold answers marked as wrong are listed under Gold audit. This doesn't change"
        " any scores.",
    )


@signed_in("GET")
def examples(request: HttpRequest, name: str) -> HttpResponse:
    study, kind, context = study_and_kind(request, name)
    tasks = sorted(study.tasks.all(), key=lambda task: task.place)
    task = _task(request, tasks)
    job = findings.waiting(difficulty.job_of(study, kind))
    is_shown = job is None or listing.wants_csv(request.GET)
    rows = difficulty.hardest(study, task, kind) if is_shown else []
    texts = _texts(task) if request.GET.get("q") else {}
    wrong_golds = gold_audit.wrong_golds(study)
    reported = Counter(gold_audit.reported(study).values_list("turn__example", flat=True))
    marked = {
        "gold-wrong": ("Gold marked as wrong", lambda row: row.example in wrong_golds),
        "reported": ("Problem reported", lambda row: row.example in reported),
    }
    results = listing.listing(
        request.GET,
        rows,
        difficulty.columns(sorted(study.shots)),
        lambda row: f"{row.source_id} {texts.get(row.example, '')}",
        CHOICES | marked,
    )
    if listing.wants_csv(request.GET):
        return results.as_csv(f"{study.name}-{task.name}-examples.csv")
    examples = Example.objects.in_bulk([row.example for row in results.page])
    questions = {example.question for example in examples.values()}
    context |= {
        "job": job, "tasks": tasks, "task": task, "listing": results if rows else None,
        "wrong": wrong_golds,
        "few": rendered("tables", {"for_2pl": agreement.FOR_2PL}, only="items")["items"],
        "question": questions.pop() if len(questions) == 1 else "",
        "rows": [
            (examples[row.example], reported[row.example], cells) for row, cells in results.cells
        ],
    }  # fmt: skip
    return render(request, "examples/examples.html", context)


def _texts(task: Task) -> dict[int, str]:
    rows = Example.objects.filter(split__task=task, split__kind=Split.Kind.TEST)
    return {
        pk: f"{' '.join(context)} {question} {' '.join(gold)}"
        for pk, context, question, gold in rows.values_list("pk", "context", "question", "gold")
    }


@signed_in("GET")
def examples_file(request: HttpRequest, name: str) -> HttpResponse:
    study = scores_of(request, name)
    task = _task(request, list(study.tasks.order_by("name")))
    kind = chosen_kind(request, performance.kinds(study))
    columns = difficulty.file_columns(sorted(study.shots))
    rows = difficulty.hardest(study, task, kind)
    return csv_file(f"{study.name}-{task.name}-difficulty", columns, rows, kind)


@signed_in("GET")
def audit(request: HttpRequest, name: str) -> HttpResponse:
    """List the test examples on which all annotators of one kind contradict the gold answer."""
    study, kind, context = study_and_kind(request, name)
    job = findings.waiting(difficulty.job_of(study, kind))
    tallies, doubts = ([], []) if job else difficulty.doubts(study, kind)
    table = listing.listing(
        request.GET, in_results_order(study.tasks.all(), doubts), gold_audit.COLUMNS,
        lambda row: f"{row.task} {row.source_id} {row.question} {row.answer} {row.gold}",
    )  # fmt: skip
    if listing.wants_csv(request.GET):
        return table.as_csv(f"{study.name}-gold-audit-{kind}.csv")
    context |= {
        "job": job,
        "tally": columns.on_page(gold_audit.TALLY),
        "tallies": columns.cells(gold_audit.TALLY, in_results_order(study.tasks.all(), tallies)),
        "listing": table if doubts else None,
        "wrong": gold_audit.wrong_golds(study).values(),
    }
    return render(request, "examples/gold_audit.html", context)


def _task(request: HttpRequest, tasks_of_study: list[Task]) -> Task:
    requested = request.GET.get("task", tasks_of_study[0].name)
    task = next((task for task in tasks_of_study if task.name == requested), None)
    if task is None:
        raise Http404
    return task


@signed_in("GET")
def example(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    study = scores_of(request, name)
    return _example(request, (study, example_of(study, pk)))


class AddComment(Post[tuple[Study, Example]]):
    row, form_class = "example_comment", CommentForm
    summary = "Add a comment that the study's team can read"
    success = 201

    def subject(self, request: HttpRequest, data: Any, **names: Any) -> tuple[Study, Example]:
        study = scores_of(request, names["name"], right_to(self.row))
        return study, example_of(study, names["pk"])

    def do(self, subject: tuple[Study, Example], data: dict[str, Any], by: User) -> str:
        gold_audit.add(*subject, data["text"], by, data["gold"])
        return "The comment was stored."


def example_of(study: Study, pk: int) -> Example:
    return get_object_or_404(
        Example.objects.select_related("split__task"),
        pk=pk,
        split__task__in=study.tasks.all(),
        split__kind="test",
    )


def _example(
    request: HttpRequest, subject: tuple[Study, Example], form: CommentForm | None = None
) -> HttpResponse:
    """Render the page of an example. If given, `form` contains a rejected comment."""
    study, example = subject
    kinds = performance.kinds(study)
    kind = chosen_kind(request, kinds)
    all_shots = sorted(study.shots)
    shots = request.GET.get("shots", "")
    if shots not in ("", *map(str, all_shots)):
        raise Http404
    page = ExamplePage(study, example, kind, int(shots) if shots else None)
    previous, following = difficulty.neighbours(study, example, kind)
    comments = list(gold_audit.on(study, example))
    context = {
        "study": study, "example": example, "card": page.card, "kinds": kinds, "kind": kind,
        "all_shots": all_shots, "shots": shots, "page": page, "previous": previous,
        "following": following, "comments": comments,
        "problems": gold_audit.reported(study).filter(turn__example=example),
        "wrong": gold_audit.wrong_gold(comments), "form": form or CommentForm(),
    }  # fmt: skip
    return render(request, "examples/example.html", context, status=422 if form else 200)


comment = section(AddComment, _example, "example", "comments")

# API views for results by example.


class Examples(KindOfTable):
    parameters = frozenset({"kind", "task"})

    @extend_schema(
        parameters=[KIND, OpenApiParameter("task", str, description="name; default: the first")],
        responses=OBJECT,
        summary="The test examples of one task, hardest first",
    )
    def get(self, request: Request, name: str) -> Response:
        study = scores_of(request, name)
        tasks = {task.name: task for task in study.tasks.order_by("name")}
        requested = request.query_params.get("task", next(iter(tasks), ""))
        if requested not in tasks:
            raise ValidationError({"task": [f"Choose one of {', '.join(tasks)}."]})
        columns = difficulty.file_columns(sorted(study.shots))
        rows = self.rows(
            request, study, columns, lambda s, kind: difficulty.hardest(s, tasks[requested], kind)
        )
        return tagged(request, {"task": requested, "rows": rows})


class GoldAudit(KindOfTable):
    @extend_schema(
        parameters=[KIND],
        responses=OBJECT,
        summary="Test examples to which all annotators of a kind gave the same incorrect answer",
    )
    def get(self, request: Request, name: str) -> Response:
        study = scores_of(request, name)
        reply: dict[str, list[Any]] = {"tallies": [], "doubts": []}
        for kind in self.kinds(request, study):
            tallies, doubts = difficulty.doubts(study, kind)
            reply["tallies"] += self.records(kind, gold_audit.TALLY, tallies)
            reply["doubts"] += self.records(kind, gold_audit.COLUMNS, doubts)
        return tagged(request, reply)


FIELDS: dict[str, serializers.Field] = {
    "text": serializers.CharField(),
    "gold": serializers.ChoiceField(
        ["", *GoldOpinion.values], help_text="how the comment judges the gold answer, if it does"
    ),
    "by": serializers.CharField(help_text="user name"),
    "at": serializers.DateTimeField(help_text="UTC"),
}


def as_record(comment: ExampleComment) -> dict[str, Any]:
    return {
        "text": comment.text,
        "gold": comment.gold,
        "by": comment.by.get_username(),
        "at": comment.at,
    }


class Comments(Twin):
    """The team's comments on an example."""

    step = AddComment

    @extend_schema(
        summary="The comments on an example, oldest first",
        operation_id="comments_list",
        responses=page_of("Comment", FIELDS),
    )
    def get(self, request: Request, name: str, pk: int) -> Response:
        study = scores_of(request, name)
        return small_list(map(as_record, gold_audit.on(study, example_of(study, pk))))
