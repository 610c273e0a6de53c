"""The funnel: how many participants in each scenario reached each stage, up to the analysis."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce

from annotation.models import (
    ANALYSED,
    JUDGED_STEPS,
    LIVE,
    Decision,
    Kind,
    Qualification,
    Scenario,
    Status,
    Step,
    Study,
    Turn,
)
from annotation.study import cross_task
from tasks.columns import declared
from tasks.models import Split

SIMULATED = Kind.SIMULATED


@dataclass(frozen=True)
class Funnel:
    """How many participants of one kind reached each stage, in a single scenario or in all.

    `arrived` is the sum of `declined`, `at_work`, `completed`, `screened_out`, `returned`,
    `expired`, `refused`, `withdrawn` and `rejected`.
    """

    arrived: int = 0
    consented: int = 0
    trained: int = 0
    qualified: int = 0
    completed: int = 0
    analysed: int = 0
    declined: int = 0
    at_work: int = 0
    screened_out: int = 0
    returned: int = 0
    expired: int = 0
    refused: int = 0
    withdrawn: int = 0
    rejected: int = 0

    @property
    def cells(self) -> list[str]:
        return [column.text(self) for column in FUNNEL]

    def __add__(self, other: "Funnel") -> "Funnel":
        names = [field.name for field in fields(self)]
        return Funnel(**{name: getattr(self, name) + getattr(other, name) for name in names})


FUNNEL = declared(__file__, "funnel")


def with_training_size(study: Study) -> QuerySet[Scenario]:
    """Annotate `training_size`: the number of training or, at zero shots, screening examples."""
    sizes = Split.objects.filter(
        task=OuterRef("task"),
        kind=Split.Kind.TRAIN,
        shots=OuterRef("shots"),
        number=OuterRef("split_number"),
    ).annotate(size=Count("examples"))
    size = Coalesce(Subquery(sizes.values("size")[:1]), study.screening_examples)
    scenarios = study.scenarios.select_related("task").defer("task__card_data")
    family = KeyTextTransform("family", "task__card_data")
    return scenarios.annotate(training_size=size, family=family)


def by_scenario_and_kind(study: Study, scenarios: list[Scenario]) -> dict[tuple[int, str], Funnel]:
    funnels = defaultdict(
        Funnel, {(scenario, kind): Funnel(**n) for scenario, kind, n in _counts(study, scenarios)}
    )
    for scenario in scenarios:
        funnels[scenario.pk, Kind.PERSON] += Funnel(
            arrived=scenario.declined, declined=scenario.declined
        )
    return funnels


def stages(study: Study) -> dict[int, str]:
    """Map annotators (keys) who have not withdrawn to their stage (arrived, consented, ...)."""
    trained, passed = _trained_and_passed(study)
    stage = Case(
        When(passed, then=Value("qualified")),
        When(trained, then=Value("trained")),
        When(consented_at__isnull=False, then=Value("consented")),
        default=Value("arrived"),
    )
    people = study.participations.exclude(status=Status.WITHDRAWN).order_by()
    return dict(
        people.alias(training_size=_size(with_training_size(study))).values_list("pk", stage)
    )


def _size(scenarios: Iterable[Scenario]) -> Case:
    """Return a query expression for the training size of an annotator's scenario."""
    sizes = (
        When(scenario=scenario.pk, then=Value(scenario.training_size))  # type: ignore[attr-defined]  # annotated
        for scenario in scenarios
    )
    return Case(*sizes, default=Value(0))


# The final states of annotators, each of which is counted separately.
ENDS = (
    Status.COMPLETED, Status.SCREENED_OUT, Status.RETURNED, Status.EXPIRED, Status.REFUSED,
    Status.WITHDRAWN, Status.REJECTED,
)  # fmt: skip


def _counts(study: Study, scenarios: list[Scenario]) -> Iterator[tuple[int, str, dict[str, int]]]:
    """Yield (scenario key, kind, counts for the Funnel)."""
    trained, passed = _trained_and_passed(study)
    conditions = {
        "consented": Q(consented_at__isnull=False), "trained": trained, "qualified": passed,
        "analysed": ANALYSED, "at_work": Q(status__in=LIVE),
        **{end.value: Q(status=end) for end in ENDS},
    }  # fmt: skip
    people = study.participations.order_by().alias(training_size=_size(scenarios))
    # The prefix avoids conflicts with the names of columns.
    counts = {f"n_{name}": Count("pk", filter=condition) for name, condition in conditions.items()}
    rows: Iterable[Any] = people.values("scenario", "kind").annotate(
        n_arrived=Count("pk"), **counts
    )
    for row in rows:
        numbers = {name: row[f"n_{name}"] for name in ("arrived", *conditions)}
        yield row["scenario"], row["kind"], numbers


def _trained_and_passed(study: Study) -> tuple[Q, Q]:
    """Return conditions for completing and for passing training, which use `training_size`."""
    turns = Turn.objects.filter(participation=OuterRef("pk"))
    last = turns.filter(
        step__in=JUDGED_STEPS, position=OuterRef("training_size") - 1, answer__isnull=False
    )
    first = turns.filter(step=Step.ANNOTATION, position=0)
    # The turns of annotators who withdrew are erased, and `qualified` is not set. Their tombstone
    # contains the number of turns, and a decision shows whether they qualified.
    decisions = Decision.objects.filter(
        participation=OuterRef("pk"), about=Decision.About.QUALIFICATION
    )
    # In a cross-task study, the erased turns include those of the upstream step.
    upstream = Case(
        *(
            When(scenario__arm=arm, then=Value(number))
            for arm, number in cross_task.lengths(study).items()
        ),
        default=Value(0),
    )
    # Databases evaluate these conditions in order and only as needed.
    trained = (
        Q(status=Status.COMPLETED)
        | Q(Exists(last))
        | Q(Exists(first))
        | Q(tombstone__turns_erased__gt=F("training_size") + upstream + study.anchor_examples)
        | Q(Exists(decisions), tombstone__turns_erased__gt=0)
    )
    if study.qualification == Qualification.NONE:
        return trained, trained
    passed = Q(Exists(decisions.filter(outcome=True)), status=Status.WITHDRAWN)
    if not study.screening_examples:
        passed |= Q(scenario__shots=0)
    return trained, trained & (Q(qualified=True) | passed)
