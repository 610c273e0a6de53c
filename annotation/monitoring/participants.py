"""The table of a study's participations: how far each of them is."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.db.models import Avg, Count, Max, Q

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
from annotation.steps import blinding
from tasks.columns import Column
from tasks.models import Example, Split

PER_PAGE = 50

# Of the list's own rows: it is sorted by them, and its CSV has them. How far somebody is is counted
# for the page that is shown.
COLUMNS = [
    Column("annotator", "Annotator", get=lambda person: person.pseudonym),
    Column("kind", "Kind"),
    Column("scenario", "Scenario", get=lambda person: str(person.scenario)),
    Column("status", "Status", get=lambda person: person.get_status_display()),
    Column("in_analysis", get=lambda person: int(person.in_analysis)),
    Column("arrived_at", "Arrived", show=lambda at: f"{at:%Y-%m-%d %H:%M}"),
]

# What the list can be reduced to: name -> (words, which participations).
FILTERS = {
    "live": ("At work", lambda person: person.is_live),
    "waiting": ("Waiting", lambda person: person.status == Status.WAITING),
    "completed": ("Completed", lambda person: person.status == Status.COMPLETED),
    "left": ("Left", lambda person: not person.is_live and person.status != Status.COMPLETED),
    "excluded": (
        "Excluded", lambda person: person.status == Status.COMPLETED and not person.in_analysis
    ),
    "simulated": ("Simulated", lambda person: person.kind != Kind.PERSON),
}  # fmt: skip


def text(person: Participation) -> str:
    """What a search of the list looks through."""
    return f"{person.pseudonym} {person.scenario} {person.get_status_display()} {person.kind}"


def text_for_payers(person: Participation) -> str:
    """The same, with the completion code of those who have ended."""
    return text(person) if person.is_live else f"{text(person)} {person.completion_code}"


def neighbours(annotator: Participation) -> tuple[str, str]:
    """Pseudonyms of who stands before and after them in the list of people, "" for nobody."""
    people = Participation.objects.filter(study=annotator.study_id)
    at, pk = annotator.arrived_at, annotator.pk
    before = people.filter(Q(arrived_at__gt=at) | Q(arrived_at=at, pk__gt=pk))
    after = people.filter(Q(arrived_at__lt=at) | Q(arrived_at=at, pk__lt=pk))
    return (
        before.order_by("arrived_at", "pk").values_list("pseudonym", flat=True).first() or "",
        after.order_by("-arrived_at", "-pk").values_list("pseudonym", flat=True).first() or "",
    )


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
                "by_program": participation.kind == Kind.PERSON
                and any(row["by_api"] for row in done.values()),
                "total": sizes.get(participation.scenario.task_id, 0),
                "last_active_at": max(
                    (row["shown_at"] for row in done.values()), default=participation.arrived_at
                ),
            }
        )
    return rows
