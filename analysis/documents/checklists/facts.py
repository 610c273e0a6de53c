"""Facts that checklists need, but that the study's record does not contain.

Participants are distinct workers across all scenarios and arms. Each fact is computed only once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace

from django.db.models import Count, Sum

from analysis.documents import wording
from analysis.documents.study_record import StudyRecord
from analysis.models import model_runs
from analysis.scores.frames import SEATED
from analysis.stats.learning import pairs_of_shots
from analysis.stats.uncertainty import FEWEST_FOR_BOOTSTRAP, TIE, why_no_interval
from annotation.models import AddedSeats, Arm, Kind, LedgerEntry, ModelRun, Status
from annotation.pay.ledger import in_currency
from annotation.study import compared_files, cross_task
from tasks.columns import shots_text
from tasks.models import Example, Split

Cell = tuple[str, int]  # (task, shots)


@dataclass(frozen=True)
class ModelCell:
    """A model on one task at one shot count. If `is_seated`, it took part as an annotator."""

    model: str
    task: str
    shots: int
    runs: int
    is_seated: bool


class Facts(StudyRecord):
    @cached_property
    def by_arm(self) -> dict[tuple[str, int, str], int]:
        """Count analysed participants by (task, shots, arm). Most studies have no arms."""
        rows = self.people.analysed().order_by(
            "scenario__task__name", "scenario__shots", "scenario__arm"
        )
        cells = rows.values_list("scenario__task__name", "scenario__shots", "scenario__arm")
        return {(task, shots, arm): n for task, shots, arm, n in cells.annotate(n=Count("pk"))}

    @cached_property
    def cells(self) -> dict[Cell, int]:
        """Count analysed participants by (task, shots), including only the direct arm."""
        cells: Counter[Cell] = Counter()
        for (task, shots, arm), n in self.by_arm.items():
            if arm in (Arm.NONE, Arm.DIRECT):
                cells[task, shots] += n
        return dict(cells)

    @cached_property
    def seats_added(self) -> int:
        added = AddedSeats.objects.filter(scenario__study=self.study)
        return added.aggregate(n=Sum("number", default=0))["n"]

    @cached_property
    def rejected_early(self) -> int:
        return self.people.filter(status=Status.REJECTED).count()

    @cached_property
    def answers_left_out(self) -> int:
        analysed = self.people.analysed()
        return self.people.answers().exclude(turn__participation__in=analysed).count()

    @cached_property
    def bonuses(self) -> tuple[int, str]:
        """Return the number of manual bonuses, and their total with its currency."""
        given = [amount for amount in self.amounts if amount.kind == LedgerEntry.Kind.BONUS]
        cents = sum(amount.cents for amount in given)
        number = sum(amount.entries for amount in given)
        return number, f"{in_currency(cents)} {self.manifest['currency']}"

    @cached_property
    def unpaid(self) -> int:
        return self.people.filter(is_paid=False).exclude(status=Status.WITHDRAWN).count()

    @property
    def shots(self) -> list[int]:
        return sorted(wording.shots_of(self.manifest))

    @cached_property
    def upstream(self) -> dict[str, int]:
        """Map arms to the number of examples before the unseen task. Empty unless cross-task."""
        arms = {scenario.get("arm", "") for scenario in self.manifest["scenarios"]}
        lengths = {arm: cross_task.length(self.study, arm) for arm in sorted(arms)}
        return {arm: n for arm, n in lengths.items() if n}

    @cached_property
    def training_sizes(self) -> dict[tuple[str, int, int], int]:
        """Count training examples by (task, shots, split). NER tasks have several files per k."""
        files = Example.objects.filter(split__task__in=self.tasks, split__kind=Split.Kind.TRAIN)
        rows = files.order_by().values_list("split__task__name", "split__shots", "split__number")
        return {(t, k, number): n for t, k, number, n in rows.annotate(n=Count("pk"))}

    @cached_property
    def sessions(self) -> dict[tuple[str, int, int | None, str], int]:
        screening = self.manifest["qualification"].get("screening_examples", 0)
        lengths = {}
        for scenario in self.manifest["scenarios"]:
            task, shots = scenario["task"], scenario["shots"]
            place = task, shots, scenario["split"], scenario.get("arm", "")
            training = self.training_sizes.get((task, shots, scenario["split"]), 0)
            lengths[place] = (
                (training if shots else screening)
                + self.upstream.get(scenario.get("arm", ""), 0)
                + self.test_sizes.get(task, 0)
                + self.manifest["attention_checks"] * (place[-1] != Arm.QUESTION)
                + self.manifest.get("anchor_examples", 0)
            )
        return lengths

    @property
    def longest(self) -> int:
        by_task: dict[str, int] = defaultdict(int)
        for (task, *_place), length in self.sessions.items():
            by_task[task] = max(by_task[task], length)
        return sum(sorted(by_task.values(), reverse=True)[: self.manifest["tasks_per_worker"]])

    @cached_property
    def planned_pairs(self) -> list[tuple[str, int, int, int, int]]:
        """Return the planned contrasts between shots, of the direct arm in cross-task studies."""
        return wording.pairs(self.manifest["scenarios"])

    @cached_property
    def no_interval(self) -> dict[Cell, str]:
        """Map cells to the reason why their mean has no 95 % interval, or ""."""
        tests = Example.objects.filter(split__task__in=self.tasks, split__kind=Split.Kind.TEST)
        by_task = tests.order_by().values_list("split__task__name")
        contexts = dict(by_task.annotate(n=Count("context", distinct=True)))
        scores = self.analysed.groupby(["task", "shots"])["score"].agg(list)
        return {
            cell: "one context" if contexts[cell[0]] < 2 else why_no_interval(scores[cell])
            for cell in self.cells
        }

    @cached_property
    def tested_pairs(self) -> int:
        """Count the contrasts with a p value, whose annotators tie in at most one of the cells."""
        cells = {cell: why for cell, why in self.no_interval.items() if why in ("", TIE)}
        pairs = pairs_of_shots(cells)
        return sum("" in (cells[task, few], cells[task, more]) for task, few, more in pairs)

    @cached_property
    def bootstrapped(self) -> list[str]:
        return [
            f"{task}, {shots_text(shots)}"
            for (task, shots), n in sorted(self.cells.items())
            if n >= FEWEST_FOR_BOOTSTRAP and not self.no_interval[task, shots]
        ]

    @property
    def has_variance(self) -> bool:
        return any(n > 1 for n in self.by_arm.values())

    @property
    def has_interval(self) -> bool:
        return "" in self.no_interval.values()

    @cached_property
    def items_per_person(self) -> list[int]:
        rows = self.people.analysed().values_list("worker", "scenario__task__name")
        items: Counter[int] = Counter()
        for worker, task in rows:
            items[worker] += self.test_sizes.get(task, 0)
        return list(items.values())

    @cached_property
    def uploaded(self) -> list[ModelCell]:
        files = compared_files.files(self.study).order_by()
        rows = files.values_list("model__name", "task__name", "shots").annotate(n=Count("pk"))
        return [ModelCell(model, task, k, n, False) for model, task, k, n in sorted(rows)]

    @cached_property
    def seated(self) -> list[ModelCell]:
        names = {task.pk: task.name for task in self.tasks}
        return [
            ModelCell(model.removesuffix(SEATED), names[task], shots, len(runs), is_seated=True)
            for (task, shots, model), runs in sorted(model_runs.seated_runs(self.study).items())
        ]

    @property
    def model_cells(self) -> list[ModelCell]:
        return [*self.uploaded, *self.seated]

    @cached_property
    def compared(self) -> list[ModelCell]:
        return [cell for cell in self.model_cells if (cell.task, cell.shots) in self.cells]

    @cached_property
    def efforts(self) -> list[SimpleNamespace]:
        return [row for row in model_runs.efforts(self.study) if row.kind == Kind.MODEL]

    @cached_property
    def runs(self) -> list[ModelRun]:
        seats = self.study.participations.analysed().filter(kind=Kind.MODEL)
        return list(
            ModelRun.objects.filter(participation__in=seats)
            .select_related("participation__scenario")
            .order_by("pk")
        )

    @property
    def tokens(self) -> tuple[int, int]:
        """Return the total (input, output) tokens of these runs."""
        return sum(run.input_tokens for run in self.runs), sum(r.output_tokens for r in self.runs)


def between(numbers: Iterable[int]) -> str:
    """Format a range of numbers, for example "7", "6 to 8" or "none"."""
    values = sorted(set(numbers))
    if not values:
        return "none"
    return f"{values[0]:,}" if len(values) == 1 else f"{values[0]:,} to {values[-1]:,}"


def by_task(sizes: Mapping[str, int]) -> str:
    """Format one size per task, for example "toy-places 6, toy-labels 8"."""
    return ", ".join(f"{name} {size:,}" for name, size in sorted(sizes.items()))
