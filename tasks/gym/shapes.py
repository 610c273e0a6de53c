"""What the inputs of a task are made of: named texts, a question, options.

The Gym writes an example as one line: texts joined by " [SEP] ", names before them ("premise: "),
"question: ... context: ...", options as "(A) ... (B) ...". A task has a part only where all of its
lines have it, so that no name is cut off a text that happens to begin like one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.gym.reader import SEPARATOR

NAME = re.compile(r"([a-z][a-z0-9 ]{0,24}): ")
CONTEXT = " context: "
MARKER = re.compile(r"(?:(?<=\s)|^)\(([A-Z])\) ?")


@dataclass(frozen=True)
class Shape:
    """Names of the texts in their order ("" for none), and whether options are among them."""

    names: tuple[str, ...]
    has_context: bool = False
    has_options: bool = False

    def texts(self, line: str) -> tuple[str, ...]:
        """The texts of that input, without names and options."""
        line, _options = self._without_options(line)
        parts = self._parts(line)
        return tuple(
            part[len(name) + 2 :] if name else part
            for name, part in zip(self.names, parts, strict=True)
        )

    def options(self, line: str) -> tuple[str, ...]:
        """The options of that input, in their order; () where the task has none."""
        return self._without_options(line)[1]

    def _without_options(self, line: str) -> tuple[str, tuple[str, ...]]:
        if not self.has_options:
            return line, ()
        end = line.rfind(CONTEXT) if self.has_context else len(line)
        before, options = split_options(line[:end])
        return before + line[end:], options

    def _parts(self, line: str) -> list[str]:
        if self.has_context:
            question, _, context = line.partition(CONTEXT)
            return [question, CONTEXT.lstrip() + context]
        return line.split(SEPARATOR) if len(self.names) > 1 else [line]


def split_options(text: str) -> tuple[str, tuple[str, ...]]:
    """The text before "(A) ...", and the options; none where fewer than (A) and (B) follow.

    >>> split_options("Where? (A) at home (B) abroad")
    ('Where?', ('at home', 'abroad'))
    """
    runs = [_run(marks) for marks in _from_each_a(list(MARKER.finditer(text)))]
    longest = max(map(len, runs), default=0)
    if longest < 2:
        return text, ()
    # Of two that are as long the last one: options stand at the end.
    run = [run for run in runs if len(run) == longest][-1]
    ends = [*(mark.start() for mark in run[1:]), len(text)]
    options = [text[mark.end() : end].strip() for mark, end in zip(run, ends, strict=True)]
    return text[: run[0].start()].rstrip(), tuple(options)


def _from_each_a(marks: list[re.Match[str]]) -> list[list[re.Match[str]]]:
    return [marks[place:] for place, mark in enumerate(marks) if mark[1] == "A"]


def _run(marks: list[re.Match[str]]) -> list[re.Match[str]]:
    """The marks A, B, C ... in that order; others between them belong to a text."""
    run: list[re.Match[str]] = []
    for mark in marks:
        if mark[1] == chr(ord("A") + len(run)):
            run.append(mark)
    return run


def shape_of(inputs: Sequence[str]) -> Shape:
    """The shape that all these inputs have."""
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
    """The name before every one of these texts; "" where they differ or have none."""
    names = {match[1] if (match := NAME.match(text)) else "" for text in texts}
    return names.pop() if len(names) == 1 else ""
