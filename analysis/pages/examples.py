"""Pages of examples: which were hardest, and what each annotator answered to one of them."""

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from analysis.pages.example import ExamplePage, by_difficulty, neighbours
from analysis.stats import agreement
from analysis.tables import findings, performance
from annotation.access import study_of
from annotation.models import Study
from tasks.models import Example, Task

PER_PAGE = 50


@login_required
@require_GET
def examples(request: HttpRequest, name: str) -> HttpResponse:
    """The test examples of one task, hardest first; of one kind of annotators."""
    study = study_of(request, name, "read")
    chosen = list(study.tasks.order_by("name"))
    task = _task(request, chosen)
    kinds = performance.kinds(study)
    kind = request.GET.get("kind", kinds[0])
    if kind not in kinds:
        raise Http404
    page = Paginator(hardest(study, task, kind), PER_PAGE).get_page(request.GET.get("page"))
    found = Example.objects.in_bulk([row["example"] for row in page])
    context = {
        "study": study,
        "tasks": chosen,
        "task": task,
        "kinds": kinds,
        "kind": kind,
        "page": page,
        "shots": sorted(study.shots),
        "rows": [row | {"example": found[row["example"]]} for row in page],
    }
    return render(request, "researcher/examples.html", context)


def _task(request: HttpRequest, tasks_of_study: list[Task]) -> Task:
    wanted = request.GET.get("task", tasks_of_study[0].name)
    task = next((task for task in tasks_of_study if task.name == wanted), None)
    if task is None:
        raise Http404
    return task


def hardest(study: Study, task: Task, kind: str) -> list[findings.Row]:
    """One row per test example that somebody answered, lowest mean S1 first.

    example (its key), mean (S1 x 100 over all who count), n, by_shots (means x 100, None where
    nobody with so many shots has answered), pairwise_s1 (x 100, None for one answer).
    """
    frame = findings.answered(study, kind, task)
    shots = sorted(study.shots)
    examples = frame.groupby("example")
    of_all = examples["s1"].agg(["mean", "size"])
    by_shots = frame.groupby(["example", "shots"])["s1"].mean().to_dict()
    rows = []
    for example, texts in examples["texts"]:
        means = [by_shots.get((example, k)) for k in shots]
        agreed = agreement.pairwise_s1(list(texts))
        rows.append(
            {
                "example": example,
                "mean": 100 * of_all.at[example, "mean"],
                "n": int(of_all.at[example, "size"]),
                "by_shots": [None if mean is None else 100 * mean for mean in means],
                "pairwise_s1": None if agreed is None else 100 * agreed,
            }
        )
    return sorted(rows, key=lambda row: by_difficulty(row["mean"] / 100, row["example"]))


@login_required
@require_GET
def example(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """One test example: the highlights of one kind of annotators in layers, beside the gold."""
    study = study_of(request, name, "read")
    one = get_object_or_404(
        Example.objects.select_related("split__task"),
        pk=pk,
        split__task__in=study.tasks.all(),
        split__kind="test",
    )
    kinds = performance.kinds(study)
    kind = request.GET.get("kind", kinds[0])
    all_shots = sorted(study.shots)
    wanted = request.GET.get("shots", "")
    if kind not in kinds or wanted not in ("", *map(str, all_shots)):
        raise Http404
    page = ExamplePage(study, one, kind, int(wanted) if wanted else None)
    previous, following = neighbours(study, one, kind)
    context = {
        "study": study,
        "example": one,
        "card": page.card,
        "kinds": kinds,
        "kind": kind,
        "all_shots": all_shots,
        "shots": wanted,
        "page": page,
        "previous": previous,
        "following": following,
    }
    return render(request, "researcher/example.html", context)
