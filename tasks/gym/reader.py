"""Readers for the Gym's files `NAME/NAME_K_SEED_{train,dev,test}.tsv`.

Lines are read as in the Gym: they are stripped and split at tabs. The first column is the input,
and each other column is a gold answer. What is lost by this is only reported (`Line.problem`).

The input of an example is one line, in which " [SEP] " separates texts. Names ("premise: ") may
precede them. Questions have the form "question: ... context: ...", and options "(A) ... (B) ...".
To avoid mistaking the start of a text for a name, a part is recognised only if all lines have it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.formats import MAX_ANSWERS, FormatError, decoded

FILE_NAME = re.compile(
    r"(?P<task>.+)_(?P<k>[1-9]\d{0,3})_(?P<seed>\d{1,6})_(?P<part>train|dev|test)\.tsv"
)
PARTS = ("train", "dev", "test")
SEPARATOR = " [SEP] "  # between the texts of an input, and between the gold answers in a set
OUTPUT_VANISHED = "has no output according to the Gym's reading rule"
INPUT_VANISHED = "begins with a tab: the Gym's reading rule takes its first output as the input"
BLANK_TAKEN = "begins with a space, which the Gym's reading rule removes"


@dataclass(frozen=True)
class Line:
    """An example with its place, input and gold. `problem` says what was lost in reading it."""

    file: str
    number: int
    input: str
    golds: tuple[str, ...]
    problem: str = ""

    @property
    def texts(self) -> list[str]:
        """Return the texts of all gold answers, each of which may be a set."""
        return [text for gold in self.golds for text in gold.split(SEPARATOR)]

    @property
    def is_lost(self) -> bool:
        """Return whether the line lost its input or output, so that it is no longer an example."""
        return self.problem in (INPUT_VANISHED, OUTPUT_VANISHED)


@dataclass(frozen=True)
class GymTask:
    """The files of a task, as K and lines by (seed, part). Seeds are in ascending order."""

    name: str
    k: int
    lines: dict[tuple[int, str], list[Line]]

    @property
    def seeds(self) -> list[int]:
        return sorted({seed for seed, _part in self.lines})

    def all_lines(self, *parts: str) -> Iterator[Line]:
        """Yield all lines of these parts, one seed after another. The default is all parts."""
        for (_seed, part), lines in self.lines.items():
            if part in (parts or PARTS):
                yield from lines


def read_task(folder: Path) -> GymTask:
    """Read train, dev and test for each seed. Raises FormatError with file, line and column."""
    name = folder.name
    files: dict[tuple[int, str], Path] = {}
    sizes = set()
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "README", "LICEN")):
            continue
        matched = FILE_NAME.fullmatch(path.name)
        if not matched or matched["task"] != name or not path.is_file():
            raise FormatError(
                path.name, f"expected {name}_K_SEED_train.tsv, ..._dev.tsv, ..._test.tsv"
            )
        sizes.add(int(matched["k"]))
        files[int(matched["seed"]), matched["part"]] = path
    if len(sizes) != 1:
        sizes_text = ", ".join(map(str, sorted(sizes))) or "no file"
        raise FormatError(name, f"expected the files of one K, found {sizes_text}")
    seeds = sorted({seed for seed, _part in files})
    for seed in seeds:
        for part in PARTS:
            if (seed, part) not in files:
                raise FormatError(name, f"no {part} file for seed {seed}")
    ordered = [(seed, part) for seed in seeds for part in PARTS]
    return GymTask(name, sizes.pop(), {key: read_lines(files[key]) for key in ordered})


def read_lines(path: Path) -> list[Line]:
    """Read the examples in one file. Raises FormatError, including for blank lines."""
    lines = [
        _line(raw, path.name, number)
        for number, raw in enumerate(path.read_bytes().splitlines(), 1)
    ]
    if not lines:
        raise FormatError(path.name, "the file is empty")
    return lines


def _line(raw: bytes, file: str, number: int) -> Line:
    text = decoded(raw, file, number)
    if "\0" in text:
        raise FormatError(file, "the character U+0000 cannot be stored", number)
    if not text.strip():
        raise FormatError(file, "the line is blank; expected input<TAB>output", number, "column 1")
    content, *golds = text.strip().split("\t")
    if len(golds) > MAX_ANSWERS:
        raise FormatError(file, f"{len(golds)} outputs; at most {MAX_ANSWERS}", number)
    for place, gold in enumerate(golds, 2):
        if not gold.strip():
            raise FormatError(file, "is blank; expected an output", number, f"column {place}")
    problem = ""
    if not text.split("\t")[0].strip():
        problem = INPUT_VANISHED
    elif not golds:
        problem = OUTPUT_VANISHED
    elif text[0].isspace():
        problem = BLANK_TAKEN
    return Line(file, number, content, tuple(golds), problem)


# Structure of inputs ---------------------------------------------------------------------------


NAME = re.compile(r"([a-z][a-z0-9 ]{0,24}): ")
CONTEXT = " context: "
MARKER = re.compile(r"(?:(?<=\s)|^)\(([A-Z])\) ?")


@dataclass(frozen=True)
class Shape:
    """The texts' names in order ("" for none), and whether inputs contain options."""

    names: tuple[str, ...]
    has_context: bool = False
    has_options: bool = False

    def texts(self, line: str) -> tuple[str, ...]:
        line, _options = self._without_options(line)
        parts = self._parts(line)
        return tuple(
            part[len(name) + 2 :] if name else part
            for name, part in zip(self.names, parts, strict=True)
        )

    def options(self, line: str) -> tuple[str, ...]:
        """Return the options of an input in order, or () if the task does not have any."""
        return self._without_options(line)[1]

    def _without_options(self, line: str) -> tuple[str, tuple[str, ...]]:
        if not self.has_options:
            return line, ()
        end = line.rfind(CONTEXT) if self.has_context else len(line)
        start, options = split_options(line[:end])
        return start + line[end:], options

    def _parts(self, line: str) -> list[str]:
        if self.has_context:
            question, _, context = line.partition(CONTEXT)
            return [question, CONTEXT.lstrip() + context]
        return line.split(SEPARATOR) if len(self.names) > 1 else [line]


def split_options(text: str) -> tuple[str, tuple[str, ...]]:
    """Split a text into what precedes "(A) ...", and the options, of which there must be two.

    >>> split_options("Where? (A) at home (B) abroad")
    ('Where?', ('at home', 'abroad'))
    """
    marks = list(MARKER.finditer(text))
    runs = [_run(marks[place:]) for place, mark in enumerate(marks) if mark[1] == "A"]
    longest = max(map(len, runs), default=0)
    if longest < 2:
        return text, ()
    # Use the last of the longest runs, because options come at the end.
    run = [run for run in runs if len(run) == longest][-1]
    ends = [*(mark.start() for mark in run[1:]), len(text)]
    options = [text[mark.end() : end].strip() for mark, end in zip(run, ends, strict=True)]
    return text[: run[0].start()].rstrip(), tuple(options)


def _run(marks: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return the marks A, B, C and so on in this order. Other marks are part of a text."""
    run: list[re.Match[str]] = []
    for mark in marks:
        if mark[1] == chr(ord("A") + len(run)):
            run.append(mark)
    return run


def shape_of(inputs: Sequence[str]) -> Shape:
    has_context = all(line.startswith("question: ") and CONTEXT in line for line in inputs)
    heads = [line[: line.rfind(CONTEXT)] if has_context else line for line in inputs]
    has_options = all(split_options(head)[1] for head in heads)
    if has_context:
        return Shape(("question", "context"), True, has_options)
    if has_options:
        heads = [split_options(head)[0] for head in heads]
    cut = [head.split(SEPARATOR) for head in heads]
    if len({len(parts) for parts in cut}) != 1:
        return Shape(("",), has_options=has_options)
    columns = zip(*cut, strict=True)
    return Shape(tuple(_common_name(column) for column in columns), has_options=has_options)


def _common_name(texts: Sequence[str]) -> str:
    """Return the name that precedes all of these texts, or "" if there is none."""
    names = {match[1] if (match := NAME.match(text)) else "" for text in texts}
    return names.pop() if len(names) == 1 else ""
