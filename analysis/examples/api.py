"""Results by example as JSON."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.examples import difficulty, gold_audit
from analysis.examples.pages import CommentForm, example_of
from analysis.scores.api import KIND, OBJECT, KindOfTable
from annotation.models import ExampleComment, GoldOpinion, Study
from annotation.protocol.blinding import scores_of
from annotation.web.form_bodies import as_form_data
from annotation.web.paging import page_of, small_list
from annotation.web.rights import right_to
from annotation.web.views import Twin, tagged
from tasks.models import Example


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
        wanted = request.query_params.get("task", next(iter(tasks), ""))
        if wanted not in tasks:
            raise ValidationError({"task": [f"Choose one of {', '.join(tasks)}."]})
        shown = difficulty.file_columns(sorted(study.shots))
        rows = self.rows(
            request, study, shown, lambda s, kind: difficulty.hardest(s, tasks[wanted], kind)
        )
        return tagged(request, {"task": wanted, "rows": rows})


class GoldAudit(KindOfTable):
    @extend_schema(
        parameters=[KIND],
        responses=OBJECT,
        summary="Test examples on which all annotators of a kind give the same incorrect answer",
    )
    def get(self, request: Request, name: str) -> Response:
        study = scores_of(request, name)
        told: dict[str, list[Any]] = {"tallies": [], "doubts": []}
        for kind in self.kinds(request, study):
            tallies, doubts = gold_audit.doubts(study, kind)
            told["tallies"] += self.told(kind, gold_audit.TALLY, tallies)
            told["doubts"] += self.told(kind, gold_audit.COLUMNS, doubts)
        return tagged(request, told)


FIELDS: dict[str, serializers.Field] = {
    "text": serializers.CharField(),
    "gold": serializers.ChoiceField(
        ["", *GoldOpinion.values], help_text="the comment's verdict on the gold, if any"
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
    page, form_class = "example_comment", CommentForm
    summary = "Comment on an example, for the study's team"
    success = 201

    @extend_schema(
        summary="The comments on an example, oldest first",
        operation_id="comments_list",
        responses=page_of("Comment", FIELDS),
    )
    def get(self, request: Request, name: str, pk: int) -> Response:
        study = scores_of(request, name)
        return small_list(map(as_record, gold_audit.on(study, example_of(study, pk))))

    def subject(
        self, request: Request, sent: dict[str, Any], **names: Any
    ) -> tuple[Study, Example]:
        study = scores_of(request, names["name"], right_to(self.page))
        return study, example_of(study, names["pk"])

    def form(self, about: Any, sent: dict[str, Any]) -> CommentForm:
        return CommentForm(as_form_data(sent))

    def do(self, about: tuple[Study, Example], sent: dict[str, Any], request: Request) -> Any:
        study, example = about
        gold_audit.add(study, example, sent["text"], request.user, sent["gold"])
        return {"done": "The comment was stored."}
