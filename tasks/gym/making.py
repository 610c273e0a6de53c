"""Conversion of a Gym task: read it, infer its answer type, and make its card and files.

The answer types are those of task cards (docs: researchers/tasks.md). The inferred type is shown
with the reason and can be changed before the import. Seeds become training splits 1 to n, each with
its development file, and K becomes the number of shots. Lines without an input or output are
reported, but not imported.
"""

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tasks.answer_keys import (
    LABEL,
    LONG_TEXT,
    LONGEST_TEXTS,
    NUMBER,
    OPTION,
    OPTIONS,
    SHORT_TEXT,
    SPANS,
)
from tasks.answers import KINDS
from tasks.answers.choices import defined, label_texts
from tasks.answers.typed import canonical, guide, longest
from tasks.cards import LONGEST_LABEL, Card, parse_card
from tasks.datasets import making
from tasks.datasets.making import Made
from tasks.formats import FormatError, Record, SplitFile
from tasks.gym import catalogue
from tasks.gym.catalogue import Published
from tasks.gym.findings import findings
from tasks.gym.reader import (
    SEPARATOR,
    GymTask,
    Line,
    Shape,
    read_task,
    shape_of,
    split_options,
)

METHOD = "gym-sha256-1"  # the method of `_sampled`; change this name if the method changes
MAX_LABELS = 200  # discovery, which has the most labels in the Gym, has 174
LONG_TEXTS = ("qa/long-form qa", "cg/summarization", "cg/dialogue", "other/generate explanation")


@dataclass(frozen=True)
class Kind:
    """An answer type and the reason for choosing it.

    `name` is label, option, options, spans, number, short text or long text. `typed` means that
    answers may also be typed, because some gold answers don't appear in the text.
    """

    name: str
    reason: str
    typed: bool = False


def infer(task: GymTask, shape: Shape, published: Published) -> Kind:
    category = published.ontology
    if category.startswith("cls/") or category in ("qa/binary", "other/linguistic phenomenon"):
        labels = {gold for line in task.all_lines("train") for gold in line.golds}
        return Kind("label", f"{category}: {len(labels)} different outputs in training")
    if shape.has_options:
        several = any(SEPARATOR in gold for line in task.all_lines() for gold in line.golds)
        if several:
            return Kind("options", "options (A) ... in every input, several right ones joined")
        return Kind("option", "options (A) ... in every input, the output is the text of one")
    if category == "other/regression":
        return Kind("number", category)
    if category in LONG_TEXTS or published.metric == "Rouge-L":
        return Kind("long text", f"{category}, scored by {published.metric}")
    return _from_texts(task, category)


def _from_texts(task: GymTask, category: str) -> Kind:
    """Return spans if the gold answers are in the inputs, otherwise short text."""
    found = [text in line.input for line in task.all_lines() for text in line.texts]
    inside, golds = sum(found), len(found)
    if category == "qa/closed-book qa" or golds == 0 or inside / golds < 0.9:
        return Kind("short text", f"{category}: {inside} of {golds} outputs occur in the input")
    return Kind("spans", f"{inside} of {golds} outputs occur in the input", typed=inside < golds)


def problem(name: str, lines: Sequence[Line], shape: Shape) -> str:
    """Return why these lines do not allow this answer type, or "" if they do."""
    golds = [gold for line in lines for gold in line.golds]
    if name not in KINDS:
        return f"unknown answer type {name!r}; expected one of {', '.join(KINDS)}"
    if name == "label":
        if any(len(line.golds) > 1 for line in lines):
            return "has several golds on a line; a label must be one"
        if len(set(golds)) > MAX_LABELS:
            return f"has {len(set(golds))} different outputs; at most {MAX_LABELS} can be labels"
        if any(len(gold) > LONGEST_LABEL for gold in golds):
            return f"has an output longer than {LONGEST_LABEL} characters, the limit of a label"
    if KINDS[name].has_options and not shape.has_options:
        return "has inputs without options (A) ... (B) ..."
    if name == "options" and any(len(line.golds) > 1 for line in lines):
        return "has several golds on a line; several options must be one gold"
    if name == "number" and not all(map(canonical, golds)):
        return "has outputs that are not numbers in plain digits"
    if name in LONGEST_TEXTS and any(len(gold) > LONGEST_TEXTS[name][1] for gold in golds):
        return f"has an output longer than {LONGEST_TEXTS[name][1]:,} characters, the limit"
    return ""


def is_typed(name: str, lines: Sequence[Line]) -> bool:
    """Return whether a span task has gold that is not in its text and must be typed."""
    return name == "spans" and any(text not in line.input for line in lines for text in line.texts)


# The task ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """A task that was read, with published facts, the shape of its inputs, and its answer type."""

    task: GymTask
    published: Published
    shape: Shape
    kind: Kind
    digest: str

    @property
    def asks(self) -> bool:
        """Return whether the first text in an input is the example's question."""
        return self.shape.has_context and self.kind.name != LABEL

    @property
    def notes(self) -> list[str]:
        notes = list(findings(self.task, self.shape, self.kind.name))
        lost = sum(line.is_lost for line in _used_lines(self.task))
        if lost:
            notes.append(f"{lost} of these lines no longer contain an example and are not imported")
        return notes

    def answered_by(self, name: str) -> "Source":
        """Return the task with another answer type. Raises FormatError if its files don't fit."""
        if name == self.kind.name:
            return self
        lines = kept_lines(self.task)
        if reason := problem(name, lines, self.shape):
            raise FormatError(self.task.name, reason)
        return replace(self, kind=Kind(name, "as you chose", is_typed(name, lines)))


@dataclass(frozen=True)
class Sample:
    size: int
    seed: int


def read_source(folder: Path) -> Source:
    """Read the folder of a task. Raises FormatError, also if it isn't one of the Gym's tasks."""
    published = catalogue.tasks().get(folder.name)
    if published is None:
        raise FormatError(folder.name, "is not one of the Gym's 160 tasks")
    task = read_task(folder)
    shape = shape_of([line.input for line in task.all_lines() if not line.is_lost])
    return Source(
        task, published, shape, infer(task, shape, published), making.digest(folder, "*.tsv")
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
        SplitFile(*split, name, [record_of(line, source) for line in rows])
        for split, (name, rows) in zip(lines, places.items(), strict=True)
    ]
    every = list(itertools.chain.from_iterable(lines.values()))
    card = card_of(source, every)
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


# The card and its examples ----------------------------------------------------------------------


def record_of(line: Line, source: Source) -> Record:
    """Build an example from a line. Its id is the line's place, as in glue-rte_16_13_train:5."""
    shape, kind = source.shape, source.kind
    texts, question = shape.texts(line.input), ""
    if source.asks:
        question, texts = texts[0], texts[1:]
    place = f"{line.file.removesuffix('.tsv')}:{line.number}"
    options = shape.options(line.input) if KINDS[kind.name].has_options else ()
    return Record(place, texts, question, _gold(line, kind, options), options=options)


def _gold(line: Line, kind: Kind, options: Sequence[str]) -> tuple[str, ...]:
    """Return the gold answers: parts of a set, or options without surrounding whitespace."""
    texts = list(line.golds) if KINDS[kind.name].is_one_text else line.texts
    if options:
        texts = [text if text in options else text.strip() for text in texts]
    return tuple(dict.fromkeys(texts))


def card_of(source: Source, lines: Sequence[Line]) -> Card:
    """Build the card for the examples in `lines`. Raises CardError.

    The Gym does not provide instructions or label definitions, so defaults are used. The metric
    is the Gym's if it fits the answer type, otherwise S1.
    """
    published, kind, task = source.published, source.kind, source.task
    are_several = kind.name != OPTIONS and any(len(line.golds) > 1 for line in lines)
    data = {
        "name": task.name,
        "title": task.name,
        "family": _family(published.ontology, kind),
        "no_answer": False,
        "gold_rule": "any_of" if are_several else "set",
        "language": "en",
        "direction": "ltr",
        "source": f"NLP Few-shot Gym (CrossFit), {published.ontology}",
        "licence": "not stated; see the licence of the corpus",
        "ontology": published.ontology,
        "shots_per_label": any(len(task.lines[seed, "train"]) != task.k for seed in task.seeds),
        "training_seeds": task.seeds,
        "segments": _segments(source.shape.names[source.asks :]),
    }
    texts = {**KINDS[kind.name].default_texts, **_more_texts(kind, lines)}
    if source.asks:
        texts.pop("question", None)
    card = parse_card({**data, "answer": kind.name, **texts}, task.name)
    # The Gym's metric may be undefined if another answer type was chosen.
    return card if card.misfit(published.metric) else replace(card, metric=published.metric)


def _family(ontology: str, kind: Kind) -> str:
    if ontology.startswith("qa/"):
        return "reading_comprehension"
    if ontology.startswith("cls/") or kind.name in (LABEL, OPTION, OPTIONS, NUMBER):
        return "classification"
    return "sequence_labelling" if kind.name == SPANS else "generation"


def _segments(names: Sequence[str]) -> list[str]:
    """Return titles for the texts, such as Premise and Hypothesis, or Text 1 and Text 2."""
    return [
        name[:1].upper() + name[1:] if name else "Text" + (f" {place}" if len(names) > 1 else "")
        for place, name in enumerate(names, 1)
    ]


def _more_texts(kind: Kind, lines: Sequence[Line]) -> dict[str, Any]:
    """Return the card's texts that depend on the task's lines. Others are defaults of the type."""
    golds = [gold for line in lines for gold in line.golds]
    if kind.name == LABEL:
        names = sorted(set(golds))
        return {**label_texts(names), "labels": [defined(name) for name in names]}
    if kind.name == SPANS:
        data: dict[str, Any] = {"typed": kind.typed}
        if kind.typed:
            instructions = KINDS[SPANS].default_texts["instructions"]
            data["instructions"] = f"{instructions} An answer that is not in the text can be typed."
        is_set = any(SEPARATOR in gold for gold in golds)
        return data | ({"gold_rule": "set"} if is_set else {"max_spans": 1})
    if kind.name == OPTIONS:
        offered = ((line, set(split_options(line.input)[1])) for line in lines)
        are_all = any({text.strip() for text in line.texts} >= of for line, of in offered)
        return {"all_options": are_all}
    if kind.name == SHORT_TEXT:
        return {
            "description": "Read a question and type a short answer.",
            "instructions": "Read the text. Then type the answer in a few words, from your own"
            " knowledge. Do not search for it.",
            **longest(SHORT_TEXT, golds),
        }
    if kind.name == LONG_TEXT:
        trained = [line for line in lines if line.file.endswith("_train.tsv")]
        words = guide([gold for line in trained for gold in line.golds])
        return words | longest(LONG_TEXT, golds)
    return {}
