"""The human-performance table (CLUES, Table 4).

Each cell covers only one kind of annotators. The human table contains only human annotators.
Simulated annotators and models have separate tables under their own headings.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from django.db.models import Count

from analysis.heavy import pd
from analysis.scores import frames, marks, metrics, scores, test_sets
from analysis.scores.markup import rendered
from analysis.scores.scores import Bounds, Score, bounds, human_table4, name_of, set_note
from annotation.models import ANALYSED, Kind, Status, Study
from tasks.cards import FAMILIES
from tasks.columns import points, shots_text
from tasks.metrics import recipe
from tasks.models import Task

# Names as used in the paper.
FAMILY_NAMES = {
    "classification": "Sentence Classification",
    "sequence_labelling": "Named Entity Recognition",
    "reading_comprehension": "Machine Reading Comprehension",
    "generation": "Text Generation",
}


@dataclass(frozen=True, kw_only=True)
class Cell(Score):
    """The score for a task and shot count, over annotators.

    `as_set` is the score with alternative gold answers treated as one set, if there are any.
    `over_splits` contains the SDs between the means of the training splits.
    """

    task: str
    shots: int
    as_set: Score
    over_splits: Score
    published: Score | None
    metric: str
    further: Sequence[tuple[str, Score]] = ()  # by metric

    @property
    def set_scale(self) -> str:
        """Name the score that treats alternative gold answers as one set, or return ""."""
        scale = "as one set" if self.metric == test_sets.S1 else "S1 as one set"
        return "" if math.isnan(self.as_set.mean) else scale

    @property
    def split_text(self) -> str:
        """Return the SD between training splits, or "" if there is only one split."""
        splits = self.over_splits
        return f"between {splits.n} splits ± {points(splits.sd_ddof1)}" if splits.n > 1 else ""

    @property
    def explanation(self) -> str:
        values = {
            "cell": self, "shots": shots_text(self.shots),
            "is_undefined": self.remark and math.isnan(self.mean),
        }  # fmt: skip
        return rendered("cell", values, only="explanation")["explanation"]


def families_of(tasks: Iterable[Task]) -> list[tuple[str, int]]:
    counts = Counter(task.card.family for task in tasks)
    return [(FAMILY_NAMES[name], counts[name]) for name in FAMILIES if counts[name]]


@dataclass(frozen=True)
class PerformanceTable:
    study: Study
    kind: str
    tasks: list[Task]
    shots: list[int]
    cells: dict[tuple[str, int], Cell]
    not_counted: list[str]
    with_excluded: bool = False

    @property
    def anchor(self) -> str:
        return f"{self.kind}-with-excluded" if self.with_excluded else self.kind

    @property
    def heading(self) -> str:
        kind = {
            Kind.PERSON: "Human performance",
            Kind.SIMULATED: "Simulated annotators (not people)",
            Kind.MODEL: "Models (not people)",
        }[Kind(self.kind)]
        return f"{kind}, with those excluded from the analysis" if self.with_excluded else kind

    @property
    def families(self) -> list[tuple[str, int]]:
        return families_of(self.tasks)

    @property
    def rows(self) -> list[tuple[int, list[Cell]]]:
        return [
            (shots, [self.cells[task.name, shots] for task in self.tasks]) for shots in self.shots
        ]

    @property
    def has_scores(self) -> bool:
        return any(cell.n for cell in self.cells.values())

    @property
    def has_published(self) -> bool:
        return any(cell.published for cell in self.cells.values())

    @property
    def has_splits(self) -> bool:
        return any(cell.over_splits.n > 1 for cell in self.cells.values())

    @cached_property
    def floors(self) -> list[str]:
        return list(dict.fromkeys(name for limits in self.bounds for name, _s1 in limits.floors))

    @cached_property
    def set_notes(self) -> list[str]:
        pairs = zip(self.tasks, self.bounds, strict=True)
        return [
            set_note(task, limits.set_ceiling)
            for task, limits in pairs
            if task.card.gold_rule == "any_of"
        ]

    @cached_property
    def not_compared(self) -> str:
        return scores.not_compared(self.tasks)

    @cached_property
    def bounds(self) -> list[Bounds]:
        return [bounds(task) for task in self.tasks]

    @property
    def ceilings(self) -> list[str]:
        """Return each task's highlighting ceiling or a dash. Empty if no task uses highlighting."""
        limits = self.bounds
        return [b.ceiling_text for b in limits] if any(b.is_highlighted for b in limits) else []

    @property
    def recipes(self) -> list[str]:
        return sorted({recipe(task.card.gold_rule, metric=task.card.metric) for task in self.tasks})

    @property
    def metrics(self) -> str:
        return test_sets.in_words(self.tasks)


def performance(
    study: Study,
    kind: str = Kind.PERSON,
    frame: pd.DataFrame | None = None,
    with_excluded: bool = False,
) -> PerformanceTable:
    """Return one kind's performance table. Pass `frames.annotators(study)` as `frame` if known.

    `with_excluded` adds completed annotators who were excluded from the analysis, so that readers
    can see how exclusions change the results.
    """
    frame = frames.annotators(study) if frame is None else frame
    if with_excluded:
        frame = frame.assign(analysed=frame["status"] == Status.COMPLETED)
    tasks = sorted(study.tasks.with_reports(), key=lambda task: task.place)
    shots = sorted(study.shots)
    measured = frames.cells(frames.counted(frame, kind))
    cells = {}
    for task in tasks:
        for number in shots:
            is_s1 = task.card.metric == test_sets.S1  # as are all published figures
            splits = len(study.splits) if number else 1
            score, over_splits, as_set = measured.get((task.name, number), (Score(),) * 3)
            cells[task.name, number] = Cell(
                **vars(replace(score, of=study.annotators * splits)),
                task=task.name,
                shots=number,
                as_set=replace(as_set, remark=""),
                over_splits=replace(over_splits, of=splits),
                published=human_table4().get((name_of(task), number)) if is_s1 else None,
                metric=task.card.metric,
            )
    # Add the further metrics, which are not computed for excluded annotators.
    for key, texts in ({} if with_excluded else metrics.further(study, kind)).items():
        if key in cells:
            cells[key] = replace(cells[key], further=texts)
    left_out = _not_counted(frame, kind)
    return PerformanceTable(study, kind, tasks, shots, cells, left_out, with_excluded)


def versions(study: Study, kind: str, frame: pd.DataFrame) -> list[PerformanceTable]:
    """Return the table for this kind, followed by one with any excluded annotators added."""
    completed = frame[(frame["kind"] == kind) & (frame["status"] == Status.COMPLETED)]
    tables = [performance(study, kind, frame)]
    if not completed["analysed"].all():
        tables.append(performance(study, kind, frame, with_excluded=True))
    return tables


def _not_counted(frame: pd.DataFrame, kind: str) -> list[str]:
    of_kind = frame[frame["kind"] == kind]
    left_out = of_kind.drop(frames.counted(frame, kind).index)
    rows: Iterable[Any] = left_out.itertuples()
    reasons = [
        str(Status(row.status).label)
        if row.status != Status.COMPLETED
        else f"completed in the {row.arm} arm"
        if row.analysed
        else "excluded from the analysis"
        for row in rows
    ]
    return [f"{count} {reason}" for reason, count in sorted(Counter(reasons).items())]


def kinds(study: Study) -> list[str]:
    """Return humans, and any other kinds that took part. Kinds with results come first."""
    rows = study.participations.order_by().values_list("kind")
    analysed = dict(rows.annotate(analysed=Count("pk", filter=ANALYSED)))
    names = [Kind.PERSON, *sorted(set(analysed) - {Kind.PERSON})]
    return sorted(names, key=lambda kind: not analysed.get(kind))


def all_tables(study: Study) -> list[PerformanceTable]:
    frame = frames.annotators(study)
    return [performance(study, kind, frame) for kind in kinds(study)]


def long_rows(table: PerformanceTable) -> Iterator[SimpleNamespace]:
    """Yield one row per shot count and task, for files and the API.

    `set_recipe` is the recipe for the score with all gold answers as one set, and `note` explains
    the two scales. Both are "" if the gold answers form one set anyway.
    """
    is_of_people = table.kind == Kind.PERSON
    late = marks.late_seats(table.study) if is_of_people else {}
    programs = marks.program_counts(table.study) if is_of_people else {}
    for shots in table.shots:
        for task, limits in zip(table.tasks, table.bounds, strict=True):
            is_any_of = task.card.gold_rule == "any_of"
            cell = task.name, shots
            yield SimpleNamespace(
                kind=table.kind, task=task, cell=table.cells[cell], bounds=limits,
                late_seats=late.get(cell, 0), by_program=programs.get(cell, 0),
                recipe=recipe(task.card.gold_rule, metric=task.card.metric),
                set_recipe=recipe("set") if is_any_of else "",
                note=set_note(task, limits.set_ceiling) if is_any_of else "",
            )  # fmt: skip


def all_rows(study: Study) -> list[SimpleNamespace]:
    return [row for table in all_tables(study) for row in long_rows(table)]
