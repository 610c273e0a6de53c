"""The list of a study's participants with their progress."""

from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from typing import Any

from django.db.models import Avg, Count, Max, OuterRef, Q, Subquery

from annotation.models import (
    JUDGED_STEPS,
    Channel,
    Kind,
    Participation,
    Status,
    Step,
    Study,
    Turn,
)
from annotation.monitoring.flags import FLAGS
from annotation.pay import ledger
from annotation.protocol import blinding
from tasks.columns import Column
from tasks.models import Example, Split

PER_PAGE = 50

# Columns for sorting and for CSV files.
COLUMNS = [
    Column("annotator", "Annotator", get=lambda person: person.pseudonym),
    Column("kind", "Kind"),
    Column("scenario", "Scenario", get=lambda person: str(person.scenario)),
    Column("status", "Status", get=lambda person: person.get_status_display()),
    Column("in_analysis", get=lambda person: int(person.in_analysis)),
    Column("arrived_at", "Arrived", show=lambda at: f"{at:%Y-%m-%d %H:%M}"),
]  # fmt: skip


# Columns of `participation_rows`: name, heading, unit, and the right that is required. For sorting
# by them and for the file, the rows of all pages are read at once.
WORK = (
    ("trained", "Training", "n", "see"), ("annotated", "Annotation", "n", "see"),
    ("mean_s1", "Mean S1", "S1 x 100", "read"), ("seconds", "Time", "s", "pay"),
    ("earned", "Earned", "money", "pay"), ("paid", "Paid", "money", "pay"),
    ("last_active_at", "Last active", "", "see"), ("flag_count", "Flags", "flags", "read"),
    ("flags", "", "", "read"),
)  # fmt: skip
IN_WORK = {
    name: Column(name, heading, unit=unit, get=partial(lambda name, p: p.work[name], name))
    for name, heading, unit, _right in WORK
}


def columns(study: Study) -> list[Column]:
    return COLUMNS + [IN_WORK[name] for name, *_rest, right in WORK if right in study.rights]


# Fields of all annotators in the list. All other fields are large, or not needed in it.
SHOWN = (
    "study", "scenario", "kind", "status", "pseudonym", "in_analysis", "arrived_at",
    "completion_code",
)  # fmt: skip
OF_WAGES = "seconds", "earned", "paid"  # columns
# Fields from which a wage is computed.
WAGE = "study", "arrived_at", "finished_at", "worked_seconds", "waiting_since", "decided_at"

FLAGGED = "flagged"
# Maps each filter of the list to (label, condition). FLAGGED is added by the page.
FILTERS = {
    "live": ("In progress", lambda person: person.is_live),
    "waiting": ("Waiting", lambda person: person.status == Status.WAITING),
    "completed": ("Completed", lambda person: person.status == Status.COMPLETED),
    "left": ("Left", lambda person: not person.is_live and person.status != Status.COMPLETED),
    "excluded": (
        "Excluded", lambda person: person.status == Status.COMPLETED and not person.in_analysis
    ),
    "simulated": ("Simulated", lambda person: person.kind != Kind.PERSON),
}  # fmt: skip


def text(person: Participation) -> str:
    return f"{person.pseudonym} {person.scenario} {person.get_status_display()} {person.kind}"


def text_for_payers(person: Participation) -> str:
    """Return `text` and the completion code, if the annotator has seen it."""
    sees_none = person.is_live and person.status != Status.BETWEEN
    return text(person) if sees_none else f"{text(person)} {person.completion_code}"


def neighbours(annotator: Participation) -> tuple[str, str]:
    """Return the previous and next pseudonyms in the list of participants, or "" if none."""
    people = Participation.objects.filter(study=annotator.study_id)
    at, pk = annotator.arrived_at, annotator.pk
    previous = people.filter(Q(arrived_at__gt=at) | Q(arrived_at=at, pk__gt=pk))
    following = people.filter(Q(arrived_at__lt=at) | Q(arrived_at=at, pk__lt=pk))
    return (
        previous.order_by("arrived_at", "pk").values_list("pseudonym", flat=True).first() or "",
        following.order_by("-arrived_at", "-pk").values_list("pseudonym", flat=True).first() or "",
    )


def participation_rows(
    study: Study, page: list[Participation], flags: dict, column: str | None = None
) -> list[dict]:
    """Return what these annotators have done and store it as `work` for use by the columns.

    If all annotators are needed, to sort them by a `column` or for a file (""), the answers of
    those who completed are not read. Their summaries contain all of `work` but `by_program`. Wages
    are computed only if needed. The number of queries does not depend on the number of rows.
    """
    sizes = dict(
        Example.objects.filter(split__kind=Split.Kind.TEST, split__task__studies=study)
        .order_by()
        .values_list("split__task")
        .annotate(size=Count("pk"))
    )
    steps: dict[int, dict[str, dict]] = defaultdict(dict)
    shown_at = Turn.objects.filter(participation=OuterRef("pk")).order_by("-pk").values("shown_at")
    names, completed = ("pk", "activity_summary__s1"), Q(activity_summary__isnull=False)
    stored = study.participations.filter(
        completed, pk__in=[] if column is None else [p.pk for p in page]
    )
    for pk, s1, last in stored.order_by().values_list(*names, Subquery(shown_at[:1])):
        for step, (mean, _sd, n) in (s1 or {}).items():
            steps[pk][step] = {"n": n, "s1": mean, "shown_at": last, "by_api": 0}
    counts: Iterable[Any] = (
        Turn.objects.filter(participation__in=[p.pk for p in page if p.pk not in steps])
        .order_by()
        .values("participation", "step")
        .annotate(
            n=Count("answer"),
            by_api=Count("answer", filter=Q(answer__channel=Channel.API)),
            s1=Avg("answer__s1"),
            shown_at=Max("shown_at"),
        )
    )
    for row in counts:
        steps[row["participation"]][row["step"]] = row
    hidden = blinding.hidden(study)
    settled = ledger.settled(study).filter(pk__in=[participation.pk for participation in page])
    needs_wages = "pay" in study.rights and (not column or column in OF_WAGES)
    paid = settled.prefetch_related(None).only(*WAGE) if needs_wages else ()
    wages = {wage.participation.pk: wage for wage in ledger.wages(paid)}
    for participation in page:
        by_step = steps[participation.pk]
        annotated = by_step.get(Step.ANNOTATION, {"n": 0, "s1": None})
        is_hidden, wage = participation.pk in hidden, wages.get(participation.pk)
        # Maps findings to labels. Text after a colon is omitted, because it may reveal scores.
        labels = {
            finding.partition(":")[0]: FLAGS.get(name, finding.partition(":")[0])
            for name, finding in flags.get(participation.pk, {}).items()
        }
        participation.work = {  # type: ignore[attr-defined]
            "participation": participation,
            "may_be_selected": participation.status != Status.WITHDRAWN
            and (participation.kind == Kind.PERSON or participation.in_analysis),
            "trained": sum(by_step[step]["n"] for step in JUDGED_STEPS if step in by_step),
            "annotated": annotated["n"],
            "mean_s1": None if is_hidden or annotated["s1"] is None else 100 * annotated["s1"],
            "is_hidden": is_hidden,
            "worked": wage and wage.worked,
            "seconds": wage and wage.active_seconds,
            "earned": wage and ledger.amount(wage.earned),
            "paid": wage and ledger.amount(wage.paid),
            "by_program": participation.kind == Kind.PERSON
            and any(row["by_api"] for row in by_step.values()),
            "flag_count": len(labels),
            "flags": "; ".join(labels),
            "labels": labels,
            "total": sizes.get(participation.scenario.task_id, 0),
            "last_active_at": max(
                (row["shown_at"] for row in by_step.values()), default=participation.arrived_at
            ),
        }
    return [participation.work for participation in page]  # type: ignore[attr-defined]
