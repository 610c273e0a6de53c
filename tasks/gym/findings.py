"""The data report on a Gym task, which lists irregularities in its files by file and line."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from tasks.answers import KINDS
from tasks.columns import grouped
from tasks.gym.catalogue import Partition
from tasks.gym.kinds import Kind
from tasks.gym.reader import SEPARATOR, GymTask, Line, Shape

SHOWN = 5  # places listed in a sentence


def findings(task: GymTask, shape: Shape, kind: Kind) -> list[str]:
    return [
        *_lost(task),
        *_golds(task),
        *_labels(task, kind),
        *_options(task, shape, kind),
        *_outside(task, kind),
        *_repeated(task),
        *_tests(task),
    ]


def _counted(number: int, singular: str, plural: str) -> str:
    """Format a count with its noun and verb, such as "1 line has" or "2 lines have"."""
    return f"{number} {singular if number == 1 else plural}"


def _places(lines: Iterable[Line]) -> str:
    """List distinct places as file and line, or only the first few if there are many."""
    places = list(dict.fromkeys(f"{line.file}:{line.number}" for line in lines))
    remainder = f" and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
    return ", ".join(places[:SHOWN]) + remainder


def _lines_once(task: GymTask) -> list[Line]:
    """Return all training and development lines, and one test file if all test files are equal."""
    tests = [task.lines[seed, "test"] for seed in task.seeds]
    are_equal = len({tuple((line.input, line.golds) for line in test) for test in tests}) == 1
    return [*task.all_lines("train", "dev"), *(tests[0] if are_equal else task.all_lines("test"))]


def _note(lines: list[Line], singular: str, plural: str, detail: str) -> Iterator[str]:
    if lines:
        yield f"{_counted(len(lines), singular, plural)} {detail}: {_places(lines)}"


def _lost(task: GymTask) -> Iterator[str]:
    lost = grouped((line.problem, line) for line in _lines_once(task) if line.problem)
    for problem, lines in lost.items():
        yield from _note(lines, "line, which", "lines, each of which", problem)


def _golds(task: GymTask) -> Iterator[str]:
    several = [line for line in _lines_once(task) if len(line.golds) > 1]
    maximum = max((len(line.golds) for line in several), default=0)
    yield from _note(several, "line with", "lines with", f"several golds (at most {maximum})")
    yield from _note(_edged(task), "line with", "lines with", "a space at the edge of a gold")


def _edged(task: GymTask) -> list[Line]:
    return [line for line in _lines_once(task) if any(gold != gold.strip() for gold in line.golds)]


def _labels(task: GymTask, kind: Kind) -> Iterator[str]:
    if kind.name != "label":
        return
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


def _options(task: GymTask, shape: Shape, kind: Kind) -> Iterator[str]:
    if not KINDS[kind.name].has_options:
        return
    lines = _lines_once(task)
    twice = [
        line
        for line in lines
        if len(set(shape.options(line.input))) < len(shape.options(line.input))
    ]
    ambiguous = [
        line
        for line in twice
        if any(shape.options(line.input).count(gold.strip()) > 1 for gold in line.golds)
    ]
    none = [
        line
        for line in lines
        for gold in line.golds
        for text in gold.split(SEPARATOR)
        if text.strip() not in shape.options(line.input)
    ]
    matched = "matched to the option without spaces at the edges"
    yield from _note(_edged(task), "gold is", "golds are", matched)
    yield from _note(twice, "line whose", "lines whose", "options contain a text twice")
    yield from _note(ambiguous, "line whose", "lines whose", "gold is such a text")
    yield from _note(none, "gold that is", "golds that are", "none of the options")


def _outside(task: GymTask, kind: Kind) -> Iterator[str]:
    if kind.name != "spans":
        return
    lines = [
        line
        for line in _lines_once(task)
        for gold in line.golds
        for text in gold.split(SEPARATOR)
        if text not in line.input
    ]
    yield from _note(lines, "gold that does", "golds that do", "not occur in the text")


def _repeated(task: GymTask) -> Iterator[str]:
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
    for line in _lines_once(task):
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
    inputs = {  # the questions before their contexts, or the whole inputs
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
