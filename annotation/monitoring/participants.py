"""The table of a study's participations: how far each of them is."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.db.models import Avg, Count, Max

from annotation.models import JUDGED_STEPS, Participation, Step, Study, Turn
from annotation.steps import blinding
from tasks.models import Example, Split

PER_PAGE = 50


def participation_rows(study: Study, page: list[Participation]) -> list[dict]:
    """How far each of these participations of the study is, in three queries."""
    sizes = dict(
        Example.objects.filter(split__kind=Split.Kind.TEST, split__task__studies=study)
        .order_by()
        .values_list("split__task")
        .annotate(size=Count("pk"))
    )
    steps: dict[int, dict[str, dict]] = defaultdict(dict)
    counts: Iterable[Any] = (
        Turn.objects.filter(participation__in=[participation.pk for participation in page])
        .order_by()
        .values("participation", "step")
        .annotate(n=Count("answer"), s1=Avg("answer__s1"), shown_at=Max("shown_at"))
    )
    for row in counts:
        steps[row["participation"]][row["step"]] = row
    hidden = blinding.hidden(study)
    rows = []
    for participation in page:
        done = steps[participation.pk]
        annotated = done.get(Step.ANNOTATION, {"n": 0, "s1": None})
        rows.append(
            {
                "participation": participation,
                "trained": sum(done[step]["n"] for step in JUDGED_STEPS if step in done),
                "annotated": annotated["n"],
                "mean_s1": None if annotated["s1"] is None else 100 * annotated["s1"],
                "is_hidden": participation.pk in hidden,
                "total": sizes.get(participation.scenario.task_id, 0),
                "last_active_at": max(
                    (row["shown_at"] for row in done.values()), default=participation.arrived_at
                ),
            }
        )
    return rows
