"""How far people came: from arrival to the analysis, and how the others left.

Whoever found no free seat left no trace and is not counted. Who withdrew has no answers left, so
they count as consented and no further. One kind at a time.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db.models import Count, Exists, OuterRef, Q

from annotation.models import Kind, Participation, Scenario, Step, Study, Turn
from tasks.models import Split

STAGES = {
    "arrived": "took a seat",
    "consented": "agreed to take part",
    "trained": "finished the training step (at zero shots: saw the first example)",
    "qualified": "went on to the annotation step",
    "completed": "answered all test examples",
    "analysed": "completed and in the analysis",
}


@dataclass
class Funnel:
    """Counts of one scenario, or of all: at each stage of STAGES, and ways of leaving in words."""

    stages: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Funnel") -> None:
        self.stages.update(other.stages)
        self.left.update(other.left)

    @property
    def counts(self) -> list[int]:
        return [self.stages[stage] for stage in STAGES]


def of_study(study: Study, kind: str = Kind.PERSON) -> list[tuple[Scenario, Funnel]]:
    """The funnel of each scenario, in their order; a fixed number of queries."""
    scenarios = list(study.scenarios.select_related("task"))
    sizes = _training_sizes(scenarios)
    found = {scenario.pk: Funnel() for scenario in scenarios}
    if kind == Kind.PERSON:
        for scenario in scenarios:
            if scenario.declined:
                found[scenario.pk].stages["arrived"] += scenario.declined
                found[scenario.pk].left["did not consent"] += scenario.declined
    annotating = Turn.objects.filter(participation=OuterRef("pk")).exclude(step=Step.TRAINING)
    people = (
        study.participations.filter(kind=kind)
        .defer("training_order", "annotation_order", "checks")
        .annotate(
            trained=Count("turns__answer", filter=Q(turns__step=Step.TRAINING)),
            annotates=Exists(annotating),
        )
    )
    asks = bool(study.comprehension_questions.strip())
    for one in people:
        own = found[one.scenario_id]
        own.stages["arrived"] += 1
        own.stages["consented"] += one.consented_at is not None
        own.stages["trained"] += one.annotates or 0 < sizes.get(one.scenario_id, 0) <= one.trained
        own.stages["qualified"] += one.annotates
        completed = one.status == Participation.Status.COMPLETED
        own.stages["completed"] += completed
        own.stages["analysed"] += completed and one.in_analysis
        way = _way_out(one, asks)
        if way:
            own.left[way] += 1
    return [(scenario, found[scenario.pk]) for scenario in scenarios]


def total(funnels: Iterable[tuple[Scenario, Funnel]]) -> Funnel:
    whole = Funnel()
    for _scenario, one in funnels:
        whole.add(one)
    return whole


def _way_out(one: Participation, asks: bool) -> str:
    """How somebody left who is not in the analysis, or that they are still there; else ""."""
    status = Participation.Status(one.status)
    if status == Participation.Status.COMPLETED:
        return "" if one.in_analysis else "completed, excluded from the analysis"
    if status == Participation.Status.SCREENED_OUT and asks and one.comprehended_at is None:
        return "screened out at the questions about the instructions, paid"
    if status == Participation.Status.SCREENED_OUT:
        return "screened out after the training step, paid"
    if status in Participation.MAY_COME_BACK and one.consented_at is None:
        return f"{status.label} before consent"
    if one.is_live:
        return f"still there: {status.label}"
    return str(status.label)


def _training_sizes(scenarios: list[Scenario]) -> dict[int, int]:
    """Scenario -> how many examples its training step has; no entry at zero shots."""
    files = {
        (task, shots, number): size
        for task, shots, number, size in Split.objects.filter(
            task__in={one.task_id for one in scenarios}, kind=Split.Kind.TRAIN
        )
        .annotate(size=Count("examples"))
        .order_by()
        .values_list("task_id", "shots", "number", "size")
    }
    return {
        one.pk: files[one.task_id, one.shots, one.split_number] for one in scenarios if one.shots
    }
