"""A leaderboard for a study's tasks under the CLUES repository's rules.

An entry is a model with predictions for every training split of every size of a task (in CLUES,
five splits of 10, 20 and 30). It is ranked among models of its size class by its mean over splits
at the largest training size. The study's annotators come first, unranked. Published rows are
marked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

from analysis.models.model_runs import Place, mean_of, splits
from analysis.models.models import KIND_NAMES
from analysis.scores import frames
from analysis.scores.columns import SCORE, assuming, between, table_columns
from analysis.scores.findings import curve
from analysis.scores.performance import performance
from analysis.scores.scores import Score, aggregate, human_table4, machine_tables5_6, name_of
from analysis.scores.test_sets import S1, training_files
from annotation.models import Kind, Study
from tasks.columns import NOTHING, Column, grouped, shots_text
from tasks.metrics import SetScore
from tasks.models import LanguageModel, PredictionFile, Task
from tasks.models.predictions import ExternalData, SizeClass

# Texts in the meanings of columns.
WORDS = {
    "labelled": "whether labelled data from outside the training split were used, as stated",
    "unlabelled": "whether unlabelled data of the task's domain were also used, as stated",
    "interval": "95 % interval of the study's own annotators at the largest training size, over"
    " other people and other examples",
}
PEOPLE = "people"
GROUPS = {  # in the order of the page
    PEOPLE: "Annotators",
    SizeClass.BASE: "Base models",
    SizeClass.LARGE: "Large models",
    SizeClass.NOT_STATED: "Models of other or unstated size",
}
SUFFIXES = {"-Base": SizeClass.BASE, "-Large": SizeClass.LARGE}  # suffixes of names in the paper


@dataclass(frozen=True)
class Entry:
    """An entry, with its interval and rank (None: human or unscored) at the largest size."""

    group: str
    name: str
    source: str  # study, uploaded or published
    unit: str  # what the SDs are taken over: annotators or splits
    scores: tuple[Score, ...]
    external_labelled: str = ""
    external_unlabelled: str = ""
    url: str = ""
    rank: int | None = None
    low: float = math.nan
    high: float = math.nan
    no_interval: str = ""

    @property
    def at_largest(self) -> Score:
        return self.scores[-1]

    @property
    def is_published(self) -> bool:
        return self.source == "published"

    @property
    def interval_text(self) -> str:
        if self.source != "study":
            return NOTHING
        return assuming(between((self.low, self.high, self.no_interval)), self.at_largest.n)


@dataclass(frozen=True)
class Board:
    """Entries by group, for all tasks if `task` is None. `left_out` explains any missing models."""

    task: Task | None
    sizes: tuple[int, ...]
    entries: list[Entry]
    left_out: list[str]

    @property
    def heading(self) -> str:
        return "All tasks" if self.task is None else self.task.name

    @property
    def test_text(self) -> str:
        """Name the metric and give the number of test examples if only part of them is used."""
        if self.task is None:
            return ""
        part = f"{self.task.test_part}, " if self.task.test_part else ""
        return f"{part}scored by {self.task.card.metric}"

    @property
    def groups(self) -> list[tuple[str, list[Entry]]]:
        grouped = [
            (title, [entry for entry in self.entries if entry.group == group])
            for group, title in GROUPS.items()
        ]
        return [(title, entries) for title, entries in grouped if entries]


def boards(study: Study, kind: str) -> list[Board]:
    people = performance(study, kind, frames.annotators(study))
    files = PredictionFile.objects.in_cells().filter(task__in=people.tasks)
    uploaded, of = splits(files, people.tasks), training_files(people.tasks)
    models = {model.name: model for model in LanguageModel.objects.filter(files__in=files)}
    all_sizes = {task.name: tuple(task.training_sizes) for task in people.tasks}
    counted = study.participations.counted(kind)
    seats = counted.values_list("pk", "scenario__task__name", "scenario__shots")
    largest = [pk for pk, task, shots in seats if shots in all_sizes[task][-1:]]
    means = {(row.task, row.shots): row for row in curve(study, kind, "shots", largest)[1]}
    of_tasks = []
    for task in people.tasks:
        sizes = all_sizes[task.name]
        if not sizes:
            continue
        cells = [people.cells.get((task.name, size)) for size in sizes]
        annotators = _annotators(study, kind, cells, means.get((task.name, max(sizes))))
        entries, left_out = _uploaded(task, sizes, uploaded, of, models)
        published = _published(task, sizes)
        of_tasks.append(Board(task, sizes, _ranked([*annotators, *entries, *published]), left_out))
    return [*_over_all(of_tasks), *of_tasks]


def _annotators(study: Study, kind: str, cells: Sequence, of_largest: Any) -> Iterator[Entry]:
    """Yield the study's annotators if any completed the task. `of_largest` has the interval."""
    if not any(cell is not None and cell.n for cell in cells):
        return
    seats = study.annotators * len(study.splits)
    scores = tuple(cell or Score(of=seats) for cell in cells)
    entry = Entry(PEOPLE, f"{KIND_NAMES[Kind(kind)]}, this study", "study", "annotators", scores)
    if of_largest is not None:
        ends = {name: getattr(of_largest, name) for name in ("low", "high", "no_interval")}
        entry = replace(entry, **ends)
    yield entry


def _uploaded(
    task: Task,
    sizes: Sequence[int],
    uploaded: dict[Place, list[SetScore]],
    of: Mapping[tuple[int, int | None], int],
    models: dict[str, LanguageModel],
) -> tuple[list[Entry], list[str]]:
    entries, left_out = [], []
    names = sorted({name for name, pk, size in uploaded if pk == task.pk and size in sizes})
    for name in names:
        scores = tuple(
            mean_of(uploaded.get((name, task.pk, size), []), of[task.pk, size]) for size in sizes
        )
        lacks = [
            f"{score.n} of {score.of} splits at {size} shots"
            for size, score in zip(sizes, scores, strict=True)
            if score.n < score.of
        ]
        if lacks:
            left_out.append(f"{name}: {', '.join(lacks)}")
            continue
        model = models[name]
        entries.append(
            Entry(
                model.size_class, name, "uploaded", "splits", scores,
                model.external_labelled, model.external_unlabelled, model.link,
            )
        )  # fmt: skip
    return entries, left_out


def _published(task: Task, sizes: Sequence[int]) -> Iterator[Entry]:
    name = name_of(task) if task.card.metric == S1 else ""
    people = [human_table4().get((name, size)) for size in sizes]
    if all(people):
        scores = tuple(filter(None, people))
        yield Entry(PEOPLE, KIND_NAMES[Kind.PERSON], "published", "annotators", scores)
    figures = machine_tables5_6()
    for model, method in dict.fromkeys((model, method) for model, method, *_place in figures):
        quoted = [figures.get((model, method, name, str(size))) for size in sizes]
        if all(quoted):
            scores = tuple(filter(None, quoted))
            group = next(
                (group for suffix, group in SUFFIXES.items() if model.endswith(suffix)),
                SizeClass.NOT_STATED,
            )
            yield Entry(group, f"{model} {method}", "published", "splits", scores)


def _ranked(entries: Iterable[Entry]) -> list[Entry]:
    """Sort entries by score at the largest size, ranking within groups. Ties share a rank."""

    def order(entry: Entry) -> tuple[bool, float, str]:
        mean = entry.at_largest.mean
        return (math.isnan(mean), 0.0 if math.isnan(mean) else -mean, entry.name)

    placed: list[Entry] = []
    for entry in sorted(entries, key=order):
        mean = entry.at_largest.mean
        if entry.group != PEOPLE and not math.isnan(mean):
            better = [e for e in placed if e.group == entry.group and e.at_largest.mean > mean]
            entry = replace(entry, rank=1 + len(better))
        placed.append(entry)
    return placed


def _over_all(boards: Sequence[Board]) -> Iterator[Board]:
    """Yield the mean over tasks of entries on all boards. SDs assume that tasks are independent."""
    if len(boards) < 2 or len({board.sizes for board in boards}) > 1:
        return
    by_entry = grouped(((e.source, e.name), e) for board in boards for e in board.entries)
    entries = []
    for group in by_entry.values():
        if len(group) == len(boards):
            columns = zip(*(entry.scores for entry in group), strict=True)
            scores = tuple(_mean(column) for column in columns)
            entries.append(replace(group[0], scores=scores, low=math.nan, high=math.nan,
                                   no_interval="see each task", rank=None))  # fmt: skip
    yield Board(None, boards[0].sizes, _ranked(entries), [])


def _mean(scores: Sequence[Score]) -> Score:
    """Return the mean over tasks. `printed` is its SD, and `n` is the smallest n of any task."""
    if any(math.isnan(score.mean) for score in scores):
        return Score(of=min(score.of for score in scores))
    average = aggregate([s.mean for s in scores], [s.spread for s in scores])
    fewest = min(scores, key=lambda score: score.n)
    return Score(average.mean, printed=average.sd_of_average, n=fewest.n, of=fewest.of)


def cells(boards: Sequence[Board]) -> list[SimpleNamespace]:
    return [
        SimpleNamespace(board=board, entry=entry, shots=size, score=score)
        for board in boards
        for _title, entries in board.groups
        for entry in entries
        for size, score in zip(board.sizes, entry.scores, strict=True)
    ]


def external_text(entry: Entry, value: str) -> str:
    return str(ExternalData(value).label) if entry.source == "uploaded" else "–"


def board_columns(board: Board, form: str = "text") -> list[Column]:
    """Return the columns of the board. `form` is the attribute of a score that holds its text."""
    last = len(board.sizes) - 1
    sizes = [
        Column(
            "",
            shots_text(size),
            "mean score x 100 under the task's metric ± SD over training splits (humans: over"
            " annotators), ddof 1; for published rows, as printed; over all tasks, the SD of the"
            " average" + ("; determines rank and order" if place == last else ""),
            SCORE,
            get=partial(lambda place, entry: getattr(entry.scores[place], form), place),
        )
        for place, size in enumerate(board.sizes)
    ]
    rank, *others = table_columns(
        "board",
        WORDS | {"largest": f"at {shots_text(board.sizes[last])}"},
        n=_n,
        external_labelled=lambda entry: external_text(entry, entry.external_labelled),
        external_unlabelled=lambda entry: external_text(entry, entry.external_unlabelled),
    )
    return [rank, *sizes, *others]


def _n(entry: Entry) -> str:
    score = entry.at_largest
    unit = entry.unit if score.n != 1 else entry.unit.removesuffix("s")
    return f"{score.n} {unit}" if entry.is_published else f"{score.n} of {score.of} {entry.unit}"


def _if_largest(name: str, missing: Any) -> Callable[[Any], Any]:
    return lambda cell: getattr(cell.entry, name) if cell.shots == cell.board.sizes[-1] else missing


# Columns for the result of `cells`.
COLUMNS = table_columns(
    "leaderboard",
    WORDS,
    task=lambda cell: cell.board.task.name if cell.board.task else "all",
    task_version=lambda cell: cell.board.task.version if cell.board.task else None,
    low_95=_if_largest("low", math.nan),
    high_95=_if_largest("high", math.nan),
    no_interval=_if_largest("no_interval", ""),
)
