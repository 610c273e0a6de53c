"""Who is behind a result: attrition by arm with Lee bounds, admission rates, and the sample."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from django.db.models import Count, Q

from analysis.scores import frames
from analysis.scores.columns import Table, share, table_columns
from analysis.stats import significance
from analysis.stats.learning import by_cell, pairs_of_shots
from annotation.models import LIVE, Kind, ParticipationQuerySet, Qualification, Status, Study
from annotation.monitoring.sample import FEWEST, SMALL, WITHHELD, Row, own_rows, stored_rows
from annotation.study import screening
from tasks.columns import NOTHING


def attritions(study: Study, kind: str) -> Iterator[SimpleNamespace]:
    frame = frames.counted(frames.annotators(study), kind)
    scores = {
        (task, shots): [100 * float(score) for score in part["score"]]
        for task, shots, part in by_cell(frame)
    }
    pairs = pairs_of_shots(scores)
    return compared(study.participations.in_cells(), kind, "shots", scores, pairs)


def compared(
    participations: ParticipationQuerySet,
    kind: str,
    field: str,
    scores: Mapping[tuple[str, Any], Sequence[float]],
    pairs: Iterable[tuple[str, Any, Any]],
) -> Iterator[SimpleNamespace]:
    """Yield one row per (task, base, new), where base and new are values of the scenario's `field`.

    `scores` maps (task, value) to scores x 100. `began_...`: those who consented and are done.
    """
    counts = _counts(participations, kind, field)
    for task, base, new in pairs:
        (began_from, done_from), (began_to, done_to) = counts[task, base], counts[task, new]
        shares = done_from / began_from, done_to / began_to
        first, second = scores[task, base], scores[task, new]
        low, high = significance.lee_bounds(first, second, shares)
        yield SimpleNamespace(
            task=task, base=base, new=new, began_from=began_from, completed_from=done_from,
            began_to=began_to, completed_to=done_to, share_from=shares[0], share_to=shares[1],
            p_fisher=significance.fisher((done_from, done_to), (began_from, began_to)),
            difference=math.fsum(second) / len(second) - math.fsum(first) / len(first),
            trimmed=significance.trimmed_share(*shares), lee_low=low, lee_high=high,
        )  # fmt: skip


def _counts(
    participations: ParticipationQuerySet, kind: str, field: str
) -> dict[tuple[str, Any], tuple[int, int]]:
    """Map (task, value) to how many gave consent and have ended, and how many completed."""
    completed = Q(status=Status.COMPLETED)
    began = participations.filter(completed | Q(consented_at__isnull=False), kind=kind)
    counted = (
        began.exclude(status__in=LIVE)
        .order_by()
        .values_list("scenario__task__name", f"scenario__{field}")
        .annotate(began=Count("pk"), done=Count("pk", filter=completed))
    )
    return {(task, value): (total, completers) for task, value, total, completers in counted}


ATTRITION = Table(
    "attrition", "Attrition by number of shots", table_columns("attrition"), attritions,
    {"groups": "shots"},
)  # fmt: skip


# Admission by arm: counts, pass rates, and how they affect the difference between two arms.


def _judged_by(row: SimpleNamespace) -> str:
    if not row.judged_by:
        return "not judged"
    return f"{row.judged_by} {'' if row.shots else 'screening '}examples"


def admissions(study: Study, kind: str) -> list[SimpleNamespace]:
    """Return one row per scenario, if the study's design has an admission rule.

    `judged_by` is the number of examples the rule is based on, or 0 if it does not apply.
    """
    people = study.participations.filter(kind=kind, qualified__isnull=False).order_by()
    judged = people.values_list("scenario").annotate(n=Count("pk"))
    counts, admitted = dict(judged), dict(judged.filter(qualified=True))
    arms = study.scenarios.order_by("task__name", "shots", "split_number")
    return [
        SimpleNamespace(
            task=task,
            shots=shots,
            split=split,
            judged_by=screening.judged_by(study.qualification, shots, study.screening_examples),
            judged=counts.get(pk, 0),
            admitted=admitted.get(pk, 0),
        )
        for pk, task, shots, split in arms.values_list("pk", "task__name", "shots", "split_number")
    ]


ADMISSION = Table(
    "admission",
    "Admission",
    table_columns(
        "admission",
        judged_by_shown=_judged_by,
        pass_rate=lambda row: share(row.admitted, row.judged) if row.judged_by else NOTHING,
    ),
    admissions,
    needs=lambda study: study.qualification != Qualification.NONE,
)


def warnings(study: Study) -> list[str]:
    rule = (study.qualification, study.shots, study.screening_examples)
    return [text for text in (screening.warning(*rule), screening.screened(*rule)) if text]


# The sample table. Its counts come from annotation/monitoring.


def sample(study: Study, kind: str) -> list[Row]:
    """Return rows on custom questions, then on any demographic export, for human annotators."""
    return [*own_rows(study), *stored_rows(study)] if kind == Kind.PERSON else []


SAMPLE = Table(
    "sample",
    "Sample",
    table_columns(
        "sample",
        {"small": SMALL, "withheld": WITHHELD},
        of_shown=lambda row: SMALL if row.of is None else str(row.of),
        n_shown=lambda row: row.hidden or str(row.n),
    ),
    sample,
    {"fewest": FEWEST, "small": SMALL, "withheld": WITHHELD},
)
