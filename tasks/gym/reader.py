"""Files of the Gym -> examples: `NAME/NAME_K_SEED_{train,dev,test}.tsv`.

A line is read as the Gym reads it: `line.strip().split("\\t")`, the input first and every further
column a gold. Nothing is repaired: what that rule loses is told (`Line.problem`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tasks.formats import LONGEST_LINE, MAX_ANSWERS, FormatError

FILE_NAME = re.compile(
    r"(?P<task>.+)_(?P<k>[1-9]\d{0,3})_(?P<seed>\d{1,6})_(?P<part>train|dev|test)\.tsv"
)
PARTS = ("train", "dev", "test")
SEPARATOR = " [SEP] "  # between the texts of an input, and between the golds of a set
OUTPUT_VANISHED = "has no output after the Gym's own rule of reading"
INPUT_VANISHED = "begins with a tab: the Gym's rule of reading takes its first output as the input"
BLANK_TAKEN = "begins with a blank, which the Gym's rule of reading takes away"


@dataclass(frozen=True)
class Line:
    """One example: where it stands, its input and its golds, and what reading it lost ("")."""

    file: str
    number: int
    input: str
    golds: tuple[str, ...]
    problem: str = ""

    @property
    def is_lost(self) -> bool:
        """Is it no example any more, as its input or its output vanished?"""
        return self.problem in (INPUT_VANISHED, OUTPUT_VANISHED)


@dataclass(frozen=True)
class GymTask:
    """The files of one task: K, and the lines of each seed and part, seeds ascending."""

    name: str
    k: int
    lines: dict[tuple[int, str], list[Line]]

    @property
    def seeds(self) -> list[int]:
        return sorted({seed for seed, _part in self.lines})

    def all_lines(self, *parts: str) -> Iterator[Line]:
        """Every line of these parts (default: of all), seed by seed."""
        for (_seed, part), lines in self.lines.items():
            if part in (parts or PARTS):
                yield from lines


def read_task(folder: Path) -> GymTask:
    """Read the task in that folder: of every seed a train, a dev and a test file.

    Raises FormatError, which names the file, the line and the column.
    """
    name = folder.name
    files: dict[tuple[int, str], Path] = {}
    sizes = set()
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "README", "LICEN")):
            continue
        matched = FILE_NAME.fullmatch(path.name)
        if not matched or matched["task"] != name or not path.is_file():
            raise FormatError(
                path.name,
                None,
                None,
                f"expected {name}_K_SEED_train.tsv, ..._dev.tsv, ..._test.tsv",
            )
        sizes.add(int(matched["k"]))
        files[int(matched["seed"]), matched["part"]] = path
    if len(sizes) != 1:
        sizes_text = ", ".join(map(str, sorted(sizes))) or "no file"
        raise FormatError(name, None, None, f"expected the files of one K, found {sizes_text}")
    seeds = sorted({seed for seed, _part in files})
    for seed in seeds:
        for part in PARTS:
            if (seed, part) not in files:
                raise FormatError(name, None, None, f"no {part} file of seed {seed}")
    ordered = [(seed, part) for seed in seeds for part in PARTS]
    return GymTask(name, sizes.pop(), {key: read_lines(files[key]) for key in ordered})


def read_lines(path: Path) -> list[Line]:
    """The examples of one file. Raises FormatError; a blank line is one."""
    lines = [
        _line(raw, path.name, number)
        for number, raw in enumerate(path.read_bytes().splitlines(), 1)
    ]
    if not lines:
        raise FormatError(path.name, None, None, "the file is empty")
    return lines


def _line(raw: bytes, file: str, number: int) -> Line:
    if len(raw) > LONGEST_LINE:
        raise FormatError(file, number, None, f"the line is longer than {LONGEST_LINE:,} bytes")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(
            file, number, None, f"not UTF-8 (byte {error.start + 1}): save the file as UTF-8"
        ) from None
    if text.startswith("\ufeff"):
        raise FormatError(file, number, None, "a byte order mark; save the file as UTF-8 without")
    if "\0" in text:
        raise FormatError(file, number, None, "the character U+0000 cannot be stored")
    if not text.strip():
        raise FormatError(file, number, "column 1", "the line is blank; expected input<TAB>output")
    read, *golds = text.strip().split("\t")
    if len(golds) > MAX_ANSWERS:
        raise FormatError(file, number, None, f"{len(golds)} outputs; at most {MAX_ANSWERS}")
    for place, gold in enumerate(golds, 2):
        if not gold.strip():
            raise FormatError(file, number, f"column {place}", "is blank; expected an output")
    problem = ""
    if not text.split("\t")[0].strip():
        problem = INPUT_VANISHED
    elif not golds:
        problem = OUTPUT_VANISHED
    elif text[0].isspace():
        problem = BLANK_TAKEN
    return Line(file, number, read, tuple(golds), problem)
