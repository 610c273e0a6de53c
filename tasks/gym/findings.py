"""The data report on a Gym task, which lists irregularities in its files by file and line."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator

from tasks.answers import KINDS
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


def _counted(number: int, one: str, many: str) -> str:
    """Format a count with its noun and verb, such as "1 line has" or "2 lines have"."""
    return f"{number} {one if number == 1 else many}"


def _places(lines: Iterable[Line]) -> str:
    """List distinct places as file and line, or only the first few if there are many."""
    places = list(dict.fromkeys(f"{line.file}:{line.number}" for line in lines))
    more = f" and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
    return ", ".join(places[:SHOWN]) + more


def _once(task: GymTask) -> list[Line]:
    """Return all training and development lines, and one test file if all test files are equal."""
    tests = [task.lines[seed, "test"] for seed in task.seeds]
    same = len({tuple((line.input, line.golds) for line in test) for test in tests}) == 1
    return [*task.all_lines("train", "dev"), *(tests[0] if same else task.all_lines("test"))]


def _said(lines: list[Line], one: str, many: str, what: str) -> Iterator[str]:
    if lines:
        yield f"{_counted(len(lines), one, many)} {what}: {_places(lines)}"


def _lost(task: GymTask) -> Iterator[str]:
    by_problem = defaultdict(list)
    for line in _once(task):
        if line.problem:
            by_problem[line.problem].append(line)
    for problem, lines in by_problem.items():
        yield from _said(lines, "line, which", "lines, each of which", problem)


def _golds(task: GymTask) -> Iterator[str]:
    several = [line for line in _once(task) if len(line.golds) > 1]
    most = max((len(line.golds) for line in several), default=0)
    yield from _said(several, "line with", "lines with", f"several golds (at most {most})")
    yield from _said(_edged(task), "line with", "lines with", "a space at the edge of a gold")


def _edged(task: GymTask) -> list[Line]:
    return [line for line in _once(task) if any(gold != gold.strip() for gold in line.golds)]


def _labels(task: GymTask, kind: Kind) -> Iterator[str]:
    if kind.name != "label":
        return
    for seed in task.seeds:
        known = Counter(gold for line in task.lines[seed, "train"] for gold in line.golds)
        unseen = defaultdict(list)
        for part in ("dev", "test"):
            for line in task.lines[seed, part]:
                for gold in line.golds:
                    if gold not in known:
                        unseen[gold].append(line)
        for label, lines in unseen.items():
            yield f"seed {seed}: the label {label!r} is in no training line: {_places(lines)}"
        short = [label for label, number in known.items() if number < task.k]
        if short:
            names = ", ".join(repr(label) for label in sorted(short)[:SHOWN])
            more = f" and {len(short) - SHOWN} more" if len(short) > SHOWN else ""
            yield f"seed {seed}: fewer than {task.k} training lines of {names}{more}"


def _options(task: GymTask, shape: Shape, kind: Kind) -> Iterator[str]:
    if not KINDS[kind.name].has_options:
        return
    lines = _once(task)
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
    yield from _said(_edged(task), "gold is", "golds are", matched)
    yield from _said(twice, "line whose", "lines whose", "options contain a text twice")
    yield from _said(ambiguous, "line whose", "lines whose", "gold is such a text")
    yield from _said(none, "gold that is", "golds that are", "none of the options")


def _outside(task: GymTask, kind: Kind) -> Iterator[str]:
    if kind.name != "spans":
        return
    lines = [
        line
        for line in _once(task)
        for gold in line.golds
        for text in gold.split(SEPARATOR)
        if text not in line.input
    ]
    yield from _said(lines, "gold that does", "golds that do", "not occur in the text")


def _repeated(task: GymTask) -> Iterator[str]:
    for seed in task.seeds:
        for first, other in (("train", "dev"), ("train", "test"), ("dev", "test")):
            known = {line.input for line in task.lines[seed, first]}
            lines = [line for line in task.lines[seed, other] if line.input in known]
            inputs = (f"input of {first} is", f"inputs of {first} are")
            yield from (
                f"seed {seed}: {said}" for said in _said(lines, *inputs, f"also in {other}")
            )
    seen: dict[tuple[str, str], Line] = {}
    again, contradicting = [], []
    for line in _once(task):
        before = seen.setdefault((line.file, line.input), line)
        if before is not line:
            again.append(line)
            if before.golds != line.golds:
                contradicting.append(line)
    yield from _said(again, "input appears", "inputs appear", "again in the same file")
    yield from _said(contradicting, "of them", "of them", "with another gold")


def _tests(task: GymTask) -> Iterator[str]:
    first, *others = task.seeds
    wanted = [(line.input, line.golds) for line in task.lines[first, "test"]]
    different = [
        seed
        for seed in others
        if [(line.input, line.golds) for line in task.lines[seed, "test"]] != wanted
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


def of_partition(partition: Partition, here: Collection[str]) -> list[str]:
    present = sum(name in here for name in partition.all)
    return [
        *(
            f"{partition.name}: {name} is both an upstream and a held-out task, as published"
            for name in partition.leaked
        ),
        f"{partition.name}: {present} tasks present, {len(partition.all) - present} missing.",
    ]
