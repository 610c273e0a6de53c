"""Conversion of a Gym task: read it, confirm its answer type, and create its files.

Seeds become training splits 1 to n, each with its development file, and K becomes the shot count.
Lines without input or output are only reported.
"""

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tasks.cards import Card
from tasks.datasets import making
from tasks.datasets.making import Made
from tasks.formats import FormatError, SplitFile
from tasks.gym import catalogue, kinds, reader
from tasks.gym.catalogue import Published
from tasks.gym.findings import findings
from tasks.gym.kinds import Kind, card_of, record_of
from tasks.gym.reader import GymTask, Line, Shape, read_task

METHOD = "gym-sha256-1"  # The method of `_sampled`. Change this name whenever the method changes.


@dataclass(frozen=True)
class Source:
    """A task as read, with published facts, the structure of its inputs, and the answer type."""

    task: GymTask
    published: Published
    shape: Shape
    kind: Kind
    digest: str

    @property
    def notes(self) -> list[str]:
        notes = findings(self.task, self.shape, self.kind)
        lost = sum(line.is_lost for line in _used_lines(self.task))
        if lost:
            notes.append(f"{lost} of these lines no longer contain an example and are not imported")
        return notes

    def answered_by(self, name: str) -> "Source":
        """Return the task with another answer type. Raises FormatError if its files don't fit."""
        if name == self.kind.name:
            return self
        lines = kept_lines(self.task)
        if problem := kinds.problem(name, lines, self.shape):
            raise FormatError(self.task.name, problem)
        return replace(self, kind=Kind(name, "as you chose", kinds.is_typed(name, lines)))


@dataclass(frozen=True)
class Sample:
    size: int
    seed: int


def read_source(folder: Path) -> Source:
    """Read a folder. Raises FormatError, including if the Gym has no task with that name."""
    published = catalogue.tasks().get(folder.name)
    if published is None:
        raise FormatError(folder.name, "is not one of the Gym's 160 tasks")
    task = read_task(folder)
    shape = reader.shape_of([line.input for line in task.all_lines() if not line.is_lost])
    return Source(
        task, published, shape, kinds.infer(task, shape, published), making.digest(folder, "*.tsv")
    )


def _used_lines(task: GymTask) -> list[Line]:
    return [*task.all_lines("train", "dev"), *task.lines[task.seeds[0], "test"]]


def kept_lines(task: GymTask) -> list[Line]:
    return [line for line in _used_lines(task) if not line.is_lost]


def make(source: Source, sample: Sample | None = None) -> Made:
    """Make and check the card and files. Raises FormatError with file and line, and CardError."""
    task = source.task
    pool = task.lines[task.seeds[0], "test"]
    test = _sampled([line for line in pool if not line.is_lost], sample)
    lines: dict[tuple[str, int | None, int | None], list[Line]] = {
        (part, task.k, number): [line for line in task.lines[seed, part] if not line.is_lost]
        for number, seed in enumerate(task.seeds, 1)
        for part in ("train", "dev")
    } | {("test", None, None): test}
    places = {
        "_".join([task.name, *(str(part) for part in split if part)]) + ".jsonl": rows
        for split, rows in lines.items()
    }
    files = [
        SplitFile(*split, name, [record_of(line, source.shape, source.kind) for line in rows])
        for split, (name, rows) in zip(lines, places.items(), strict=True)
    ]
    every = list(itertools.chain.from_iterable(lines.values()))
    card = card_of(source.published, source.shape, source.kind, task, every)
    if len(test) < len(pool):
        is_drawn = sample is not None and sample.size == len(test)
        seed = sample.seed if sample is not None and is_drawn else None
        card = replace(card, test_of=len(pool), test_seed=seed)
    return Made(card, _checked(card, files, places), _made_from(source, len(test), len(pool), card))


def _sampled(lines: Sequence[Line], sample: Sample | None) -> list[Line]:
    """Return a simple random sample in file order, or all lines if `sample` is None or too big.

    Lines are ordered by the SHA-256 of seed, number and input, which is the same on every machine.
    """
    if sample is None or sample.size >= len(lines):
        return list(lines)

    def order(line: Line) -> bytes:
        return hashlib.sha256(f"{sample.seed}/{line.number}/{line.input}".encode()).digest()

    numbers = {line.number for line in sorted(lines, key=order)[: sample.size]}
    return [line for line in lines if line.number in numbers]


def _checked(card: Card, files: list[SplitFile], places: dict[str, list[Line]]) -> list[SplitFile]:
    """Return the files as an import would read them. Raises FormatError."""
    try:
        return making.as_imported(card, files)
    except FormatError as error:
        if error.line is None or error.file not in places:
            raise
        line = places[error.file][error.line - 1]
        raise FormatError(line.file, error.expected, line.number, error.field) from None


def _made_from(source: Source, test_size: int, available: int, card: Card) -> dict[str, Any]:
    return {
        "format": "gym", "file": source.task.name, "sha256": source.digest, "k": source.task.k,
        "seeds": source.task.seeds, "ontology": source.published.ontology,
        "metric": source.published.metric, "answer": source.kind.name, "why": source.kind.reason,
        "test": test_size, "test_of": available, "seed": card.test_seed, "method": METHOD,
        "notes": source.notes,
    }  # fmt: skip
