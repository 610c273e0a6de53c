"""Findings on a Gym task: irregular lines, listed by file and number."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from tasks.answer_keys import LABEL, SPANS
from tasks.answers import KINDS
from tasks.columns import grouped
from tasks.gym.catalogue import Partition
from tasks.gym.reader import GymTask, Line, Shape

SHOWN = 5  # places to list in a sentence


def findings(task: GymTask, shape: Shape, kind: str) -> Iterator[str]:
    lines = _lines_once(task)
    for problem, on in grouped((line.problem, line) for line in lines if line.problem).items():
        yield from _note(on, "line, which", "lines, each of which", problem)
    several = [line for line in lines if len(line.golds) > 1]
    maximum = max((len(line.golds) for line in several), default=0)
    yield from _note(several, "line with", "lines with", f"several golds (at most {maximum})")
    edged = [line for line in lines if any(gold != gold.strip() for gold in line.golds)]
    yield from _note(edged, "line with", "lines with", "a space at the edge of a gold")
    if kind == LABEL:
        yield from _labels(task)
    texts = [(line, text) for line in lines for text in line.texts]
    if kind == SPANS:
        outside = [line for line, text in texts if text not in line.input]
        yield from _note(outside, "gold that does", "golds that do", "not occur in the text")
    if KINDS[kind].has_options:
        matched = "matched to the option without spaces at the edges"
        yield from _note(edged, "gold is", "golds are", matched)
        offered = [(line, shape.options(line.input)) for line in lines]
        twice = [(line, options) for line, options in offered if len({*options}) < len(options)]
        nouns = ("line whose", "lines whose")
        yield from _note([line for line, _ in twice], *nouns, "options contain a text twice")
        ambiguous = [
            line for line, options in twice
            if any(options.count(gold.strip()) > 1 for gold in line.golds)
        ]  # fmt: skip
        yield from _note(ambiguous, *nouns, "gold is such a text")
        none = [line for line, text in texts if text.strip() not in shape.options(line.input)]
        yield from _note(none, "gold that is", "golds that are", "none of the options")
    yield from _repeated(task, lines)
    yield from _tests(task)


def _counted(number: int, singular: str, plural: str) -> str:
    """Format a count with its noun and verb, for example "1 line has" or "2 lines have"."""
    return f"{number} {singular if number == 1 else plural}"


def _places(lines: Iterable[Line]) -> str:
    """List distinct places as file and line. If there are many, list only the first few."""
    places = list(dict.fromkeys(f"{line.file}:{line.number}" for line in lines))
    remainder = f" and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
    return ", ".join(places[:SHOWN]) + remainder


def _lines_once(task: GymTask) -> list[Line]:
    """Return all lines. If the test files of all seeds are equal, include only one of them."""
    tests = [task.lines[seed, "test"] for seed in task.seeds]
    are_equal = len({tuple((line.input, line.golds) for line in test) for test in tests}) == 1
    return [*task.all_lines("train", "dev"), *(tests[0] if are_equal else task.all_lines("test"))]


def _note(lines: list[Line], singular: str, plural: str, detail: str) -> Iterator[str]:
    if lines:
        yield f"{_counted(len(lines), singular, plural)} {detail}: {_places(lines)}"


def _labels(task: GymTask) -> Iterator[str]:
    for seed in task.seeds:
        counts = Counter(gold for line in task.lines[seed, "train"] for gold in line.golds)
        tested = [line for part in ("dev", "test") for line in task.lines[seed, part]]
        unseen = grouped((g, line) for line in tested for g in line.golds if g not in counts)
        for label, lines in unseen.items():
            yield f"seed {seed}: the label {label!r} is in no training line: {_places(lines)}"
        short = [label for label, number in counts.items() if number < task.k]
        if short:
            names = ", ".join(repr(label) for label in sorted(short)[:SHOWN])
            remainder = f" and {len(short) - SHOWN} more" if len(short) > SHOWN else ""
            yield f"seed {seed}: fewer than {task.k} training lines of {names}{remainder}"


def _repeated(task: GymTask, lines_once: list[Line]) -> Iterator[str]:
    for seed in task.seeds:
        for first, second in (("train", "dev"), ("train", "test"), ("dev", "test")):
            inputs = {line.input for line in task.lines[seed, first]}
            lines = [line for line in task.lines[seed, second] if line.input in inputs]
            nouns = (f"input of {first} is", f"inputs of {first} are")
            yield from (
                f"seed {seed}: {text}" for text in _note(lines, *nouns, f"also in {second}")
            )
    lines_by_input: dict[tuple[str, str], Line] = {}
    repeated, contradicting = [], []
    for line in lines_once:
        earlier = lines_by_input.setdefault((line.file, line.input), line)
        if earlier is not line:
            repeated.append(line)
            if earlier.golds != line.golds:
                contradicting.append(line)
    yield from _note(repeated, "input appears", "inputs appear", "again in the same file")
    yield from _note(contradicting, "of them", "of them", "with another gold")


def _tests(task: GymTask) -> Iterator[str]:
    first, *remaining = task.seeds
    expected = [(line.input, line.golds) for line in task.lines[first, "test"]]
    different = [
        seed
        for seed in remaining
        if [(line.input, line.golds) for line in task.lines[seed, "test"]] != expected
    ]
    if different:
        seeds = ", ".join(map(str, different))
        which = _counted(len(different), "other seed", "other seeds")
        yield (
            f"the test file of seed {first} differs from that of {which}: {seeds}; the test of"
            f" seed {first} is imported"
        )


def shared_inputs(tasks: list[GymTask]) -> list[str]:
    inputs = {  # the questions before their contexts, or the entire inputs
        task.name: {line.input.partition(" context: ")[0].strip() for line in task.all_lines()}
        for task in tasks
    }
    names = sorted(inputs)
    return [
        f"{one} and {other} have {_counted(shared, 'text', 'texts')} in common: assign only one of"
        " them to each person"
        for place, one in enumerate(names)
        for other in names[place + 1 :]
        if (shared := len(inputs[one] & inputs[other]))
    ]


def partition_findings(partition: Partition, names: Collection[str]) -> list[str]:
    present = sum(name in names for name in partition.all)
    return [
        *(
            f"{partition.name}: {name} is both an upstream and a held-out task, as published"
            for name in partition.leaked
        ),
        f"{partition.name}: {present} tasks present, {len(partition.all) - present} missing.",
    ]
