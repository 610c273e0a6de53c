"""How many minutes annotators are told for each task and number of shots.

The number that the design gives this task, or else the one that it gives all; where it gives none,
what the examples take: by a pilot where people have done this very task (the median of their active
seconds), else by the reading speed of study/workload.py. Opening freezes them with the scenarios.
"""

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from annotation.models import Answer, Kind, Scenario, Status, Step, Study
from annotation.study import workload
from annotation.study.workload import Workload
from tasks.models import Task

MOST = 10_000  # more than anybody can mean
FEWEST_ANSWERS = 20  # before their median says how long an example takes
LATEST_ANSWERS = 2000  # that are looked at
STEP = 5  # what is calculated is told in steps of so many minutes: it is no more exact
LINE = re.compile(r"(?P<task>\S.*?)\s*:\s*(?P<minutes>[0-9]{1,6})")


class MinutesError(ValueError):
    """What is wrong with the declaration; names the line."""


@dataclass(frozen=True)
class Minutes:
    """Of one annotator in one cell: what the examples take, and what is told.

    `pilot` is the number of answers that the seconds come from; 0: by reading speed.
    """

    load: Workload
    seconds_each: float
    pilot: int
    expected: int
    told: int
    is_stated: bool


def parse(declared: str, tasks: Sequence[str] | None = None) -> dict[str, int]:
    """Task -> minutes, of lines such as "CoNLL03: 90". Raises MinutesError.

    With the names of the study's `tasks`, another name is refused too.
    """
    minutes: dict[str, int] = {}
    for number, line in enumerate(declared.splitlines(), start=1):
        if not line.strip():
            continue
        read = LINE.fullmatch(line.strip())
        if read is None:
            raise MinutesError(
                f"Line {number}: write the name of a task, a colon and whole minutes, such as"
                " CoNLL03: 90."
            )
        name, value = read["task"], int(read["minutes"])
        if tasks is not None and name not in tasks:
            raise MinutesError(
                f"Line {number}: {name} is no task of this study: {', '.join(tasks) or 'none yet'}."
            )
        if name in minutes:
            raise MinutesError(f"Line {number}: {name} has a line already.")
        if not 1 <= value <= MOST:
            raise MinutesError(f"Line {number}: write 1 to {MOST} minutes.")
        minutes[name] = value
    return minutes


def for_cells(study: Study, tasks: Sequence[Task]) -> list[Minutes]:
    """Those of each task at each number of shots."""
    stated = parse(study.task_minutes)
    pilots = {task.pk: pilot(study, task) for task in tasks}
    cells = []
    for load in workload.workloads(study, tasks):
        seconds, answers = pilots[load.task.pk] or (load.seconds_each, 0)
        expected = load.minutes_at(seconds)
        own = stated.get(load.task.name) or study.estimated_minutes
        told = own or max(STEP, STEP * math.ceil(expected / STEP))
        cells.append(Minutes(load, seconds, answers, expected, told, own is not None))
    return cells


def longest(study: Study, tasks: Sequence[Task]) -> int:
    """The most minutes that an annotator is told; 0 without a task."""
    return max((cell.told for cell in for_cells(study, tasks)), default=0)


def doubts(study: Study, tasks: Sequence[Task]) -> list[str]:
    """What is implausible about the minutes that the design states: the worst of it, if any."""
    stated = [cell for cell in for_cells(study, tasks) if cell.is_stated]
    short = sorted(stated, key=lambda cell: cell.told / cell.load.minutes)
    sentences = (workload.doubt(cell.told, cell.load) for cell in (*short[:1], *short[-1:]))
    return [sentence for sentence in sentences if sentence][:1]


def store(study: Study) -> None:
    """Write the minutes of a draft into its scenarios."""
    told = {
        (cell.load.task.pk, cell.load.shots): cell.told
        for cell in for_cells(study, list(study.tasks.all()))
    }
    scenarios = list(study.scenarios.all())
    for scenario in scenarios:
        scenario.minutes = told[scenario.task_id, scenario.shots]
    Scenario.objects.bulk_update(scenarios, ["minutes"])


def pilot(study: Study, task: Task) -> tuple[float, int] | None:
    """(median active seconds of an answer, how many answers) of people who did this very task.

    In studies that the owner of this one may read, and in the annotation step; None while they
    are fewer than FEWEST_ANSWERS.
    """
    answers = Answer.objects.filter(
        turn__step=Step.ANNOTATION,
        turn__participation__scenario__task=task,
        turn__participation__kind=Kind.PERSON,
        turn__participation__status=Status.COMPLETED,
        turn__participation__study__in=Study.objects.visible_to(study.owner, "read"),
    )
    seconds = answers.order_by("-pk").values_list("active_seconds", flat=True)[:LATEST_ANSWERS]
    known = list(seconds)
    return (statistics.median(known), len(known)) if len(known) >= FEWEST_ANSWERS else None


def in_words(minutes: Sequence[int]) -> str:
    """Such as "20", or "20 to 60"; "" where there are none."""
    least, most = min(minutes, default=0), max(minutes, default=0)
    return "" if not most else f"{most}" if least == most else f"{least} to {most}"
