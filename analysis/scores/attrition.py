"""Who is behind a result: attrition by arm with Lee bounds, admission rates, and the sample."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from django.db.models import Count, Q

from analysis.scores import frames
from analysis.scores.columns import Table, percent, share, signed_between, signed_points
from analysis.stats import significance
from analysis.stats.learning import by_cell, pairs_of_shots
from annotation.models import LIVE, Kind, ParticipationQuerySet, Qualification, Status, Study
from annotation.monitoring.sample import FEWEST, SMALL, WITHHELD, Row, own_rows, stored_rows
from annotation.study import screening
from tasks.columns import NOTHING, Column


def columns(compared: Sequence[Column], base: str, new: str, differs: str) -> list[Column]:
    """Return the columns of an attrition table, whose groups are identified by `compared`."""
    share_completed = "annotators who completed, out of those who consented"
    return [
        Column("task", "Task"),
        *compared,
        *_completions("from", base),
        *_completions("to", new),
        Column("", f"Completed, {base}", share_completed, get=lambda row: _of(row, "from")),
        Column("", f"Completed, {new}", share_completed, get=lambda row: _of(row, "to")),
        Column("p_fisher", "p Fisher", "two-sided p of Fisher's exact test that both arms have the"
               " same completion rate", "0 to 1"),
        Column("difference", "Difference", f"difference in mean score ({differs}), in points"
               " of the score x 100, over annotators in the analysis", "points", signed_points),
        Column("trimmed", "Trimmed", "share of scores trimmed from the arm with the higher rate of"
               " completion; a score can be trimmed in part", "0 to 1", percent),
        Column("", "Lee bounds", "difference after trimming that share of the highest or of the"
               " lowest scores", "points", signed_between, lambda row: (row.lee_low, row.lee_high)),
        Column("lee_low", meaning="Lee's lower bound of the difference", unit="points"),
        Column("lee_high", meaning="Lee's upper bound of the difference", unit="points"),
    ]  # fmt: skip


def _completions(end: str, group: str) -> list[Column]:
    began = f"annotators who consented and have left or finished ({group})"
    return [
        Column(f"began_{end}", meaning=began),
        Column(f"completed_{end}", meaning=f"of these, who completed ({group})"),
        Column(f"share_{end}", meaning=f"share who completed ({group})", unit="0 to 1"),
    ]


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


def _of(row: SimpleNamespace, end: str) -> str:
    completed, began = getattr(row, f"completed_{end}"), getattr(row, f"began_{end}")
    return f"{completed} of {began} ({percent(getattr(row, f'share_{end}'))})"


_SHOTS = [
    Column("", "Shots", get=lambda row: f"{row.base} → {row.new}"),
    Column("from_shots", meaning="the smaller number of shots", get="base"),
    Column("to_shots", meaning="the larger number of shots", get="new"),
]
ATTRITION = Table(
    "attrition",
    "Attrition by number of shots",
    columns(_SHOTS, "fewer shots", "more shots", "larger - smaller number of shots"),
    attritions,
    {"groups": "shots"},
)


# Admission by arm: counts, pass rates, and how they affect the difference between two arms.


def _judged_by(row: SimpleNamespace) -> str:
    if not row.judged_by:
        return "not judged"
    return f"{row.judged_by} {'' if row.shots else 'screening '}examples"


_ADMISSIONS = [
    Column("task", "Task"),
    Column("shots", "Shots"),
    Column("split", "Split", "number of the training split; empty at zero shots",
           show=lambda number: NOTHING if number is None else str(number)),
    Column("judged_by", meaning="examples on which the rule is based; 0: the rule does not apply"),
    Column("", "Judged by", get=_judged_by),
    Column("judged", "Judged", "annotators of this kind to whom the rule was applied"),
    Column("admitted", "Admitted", "of these, those admitted to the annotation step"),
    Column("", "Pass rate", "admitted annotators as a percentage of those judged",
           get=lambda row: share(row.admitted, row.judged) if row.judged_by else "–"),
]  # fmt: skip


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
    "admission", "Admission", _ADMISSIONS, admissions,
    needs=lambda study: study.qualification != Qualification.NONE,
)  # fmt: skip


def warnings(study: Study) -> list[str]:
    rule = (study.qualification, study.shots, study.screening_examples)
    return [text for text in (screening.warning(*rule), screening.screened(*rule)) if text]


# The sample table. Its counts come from annotation/monitoring.


def sample(study: Study, kind: str) -> list[Row]:
    """Return rows on custom questions, then on any demographic export, for human annotators."""
    return [*own_rows(study), *stored_rows(study)] if kind == Kind.PERSON else []


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:g}"


def _quartiles(row: Row) -> str:
    return NOTHING if row.low is None else f"{_number(row.low)} to {_number(row.high)}"


_SAMPLE = [
    Column("question", "Question", "study-specific question, or a column of the platform's export"),
    Column("answer", "Answer", "an answer to that question; empty for numeric answers"),
    Column("of", "Answered", "participants who answered the question",
           show=lambda of: SMALL if of is None else str(of)),
    Column("n", "", "participants with that answer; empty where it is hidden"),
    Column("hidden", "", f"{SMALL} or {WITHHELD} if n is hidden"),
    Column("", "n", "participants with that answer", get=lambda row: row.hidden or str(row.n)),
    Column("share", "Share", "of participants who answered", "share",
           lambda share: NOTHING if share is None else f"{share:.0%}"),
    Column("median", "Median", "for numeric answers", show=_number),
    Column("lower_quartile", "", "for numeric answers", get="low"),
    Column("upper_quartile", "", "for numeric answers", get="high"),
    Column("", "Quartiles", "lower and upper quartile, by linear interpolation", get=_quartiles),
]  # fmt: skip


SAMPLE = Table(
    "sample", "Sample", _SAMPLE, sample, {"fewest": FEWEST, "small": SMALL, "withheld": WITHHELD}
)
