"""The estimated minutes that annotators are shown for each task and shot count.

The estimate comes from the first available source: the design's number for the task, its number for
all tasks, the median active time of humans in a pilot with this task, or else WORDS_A_MINUTE and
SECONDS_TO_ANSWER. The last of these is rough and only leads to warnings. Opening the study freezes
the minutes.
"""

import math
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.db.models import Count

from annotation.models import Answer, Arm, Kind, Scenario, Status, Step, Study
from annotation.study import cross_task
from tasks import frozen
from tasks.columns import shots_text
from tasks.models import Split, Task

WORDS_A_MINUTE = 240
SECONDS_TO_ANSWER = 3
MINUTES_BEFORE = 2  # landing page, consent and instructions
# Ratios of expected to promised time beyond which a warning is shown.
TOO_SHORT, TOO_LONG = 2, 10
SHORTEST_TOO_LONG = 30  # minutes; below this, rounding is not misleading


@dataclass(frozen=True)
class Workload:
    """The work in a cell of a design. Attention checks count as examples."""

    task: Task
    shots: int
    training: int
    test: int
    screening: int = 0
    anchors: int = 0
    # Number of upstream examples in the longest arm of a cross-task study.
    upstream: int = 0
    # Words in the median example of the upstream tasks or of the sham task, whichever is larger.
    upstream_words: int = 0
    has_contexts: bool = True

    @property
    def examples(self) -> int:
        return self.upstream + self.anchors + self.training + self.screening + self.test

    @property
    def words(self) -> int:
        """Return the number of words in the text and question of the median example."""
        return frozen.median_words(self.task, self.has_contexts)

    @property
    def seconds_each(self) -> float:
        return _seconds(self.words)

    @property
    def minutes(self) -> int:
        return self.minutes_at(self.seconds_each)

    def minutes_at(self, seconds: float) -> int:
        upstream = self.upstream * _seconds(self.upstream_words)
        own_examples = (self.examples - self.upstream) * seconds
        return MINUTES_BEFORE + math.ceil((upstream + own_examples) / 60)


def _seconds(words: int) -> float:
    return 60 * words / WORDS_A_MINUTE + SECONDS_TO_ANSWER


def workloads(study: Study, tasks: Sequence[Task]) -> list[Workload]:
    """Return the workload for each task and shot count, using a fixed number of queries."""
    kinds = (Split.Kind.TRAIN, Split.Kind.TEST)
    splits = Split.objects.filter(task__in=[task.pk for task in tasks], kind__in=kinds)
    counted = splits.annotate(size=Count("examples"))
    rows = counted.values_list("task", "shots", "number", "size")
    sizes = Counter({(task, shots, number): size for task, shots, number, size in rows})
    # Upstream examples can only be counted for a stored draft.
    upstream = max(cross_task.lengths(study).values(), default=0) if study.pk else 0
    upstream_words = _upstream_words(study) if upstream else 0
    cells = [(shots, True) for shots in sorted(study.shots)]
    cells += [(0, False)] * bool(study.context_free_annotators)
    return [
        Workload(
            task=task,
            shots=shots,
            # 0 if the file is missing, which is reported at its field
            training=max((sizes[task.pk, shots, split] for split in study.splits), default=0)
            if shots
            else 0,
            test=sizes[task.pk, None, None] + study.attention_checks * has_contexts,
            screening=0 if shots else study.screening_examples,
            anchors=study.anchor_examples,
            upstream=upstream,
            upstream_words=upstream_words,
            has_contexts=has_contexts,
        )
        for task in tasks
        for shots, has_contexts in cells
    ]


def _upstream_words(study: Study) -> int:
    """Return the words in an average upstream example or, if longer, in one of the sham task."""
    arms = [list(study.upstream_tasks.all()), [study.sham_task] if study.sham_task else []]
    return max(
        round(statistics.fmean(frozen.median_words(task) for task in tasks))
        for tasks in arms
        if tasks
    )


def doubt(promised: int, load: Workload) -> str:
    """Explain the calculation if the promised minutes are implausible, or return "".

    From 1 / TOO_SHORT to TOO_LONG times the estimate is accepted, and up to SHORTEST_TOO_LONG
    minutes are never too long.
    """
    too_long = max(TOO_LONG * load.minutes, SHORTEST_TOO_LONG)
    if TOO_SHORT * promised >= load.minutes and promised <= too_long:
        return ""
    seconds = f"{60 * promised / load.examples:.1f}".removesuffix(".0")
    trained = load.upstream + load.training
    training = f"{trained} training and " if trained else ""
    training += f"{load.screening} screening and " if load.screening else ""
    training += f"{load.anchors} anchor and " if load.anchors else ""
    upstream = ""
    if load.upstream:
        upstream = (
            f" ({_seconds(load.upstream_words):.0f} for {load.upstream_words} words of each of"
            f" {load.upstream} upstream examples)"
        )
    return (
        f"{promised} minutes are promised, but {load.task.name} at {shots_text(load.shots)} has"
        f" {training}{load.test} test examples: {seconds} seconds each."
        f" Reading {load.words} words (the median) at {WORDS_A_MINUTE} a minute and answering in"
        f" {SECONDS_TO_ANSWER} seconds takes about {load.seconds_each:.0f} seconds{upstream}, which"
        f" makes about {load.minutes} minutes with {MINUTES_BEFORE} for consent and instructions."
    )


MOST = 10_000  # higher than any realistic value
FEWEST_ANSWERS = 20  # required for a median
LATEST_ANSWERS = 2000  # included in the median
STEP = 5  # minutes; estimates are rounded up to a multiple of this
LINE = re.compile(r"(?P<task>\S.*?)\s*:\s*(?P<minutes>[0-9]{1,6})")


@dataclass(frozen=True)
class Minutes:
    """An annotator's time in a cell. `pilot` counts answers measured, or is 0 for an estimate."""

    load: Workload
    seconds_each: float
    pilot: int
    expected: int
    announced: int
    is_stated: bool


def parse(declared: str, tasks: Sequence[str] | None = None) -> dict[str, int]:
    """Parse lines such as "CoNLL03: 90". Raises ValidationError, also for names not in `tasks`."""
    minutes: dict[str, int] = {}
    for number, line in enumerate(declared.splitlines(), start=1):
        if not line.strip():
            continue
        match = LINE.fullmatch(line.strip())
        if match is None:
            raise ValidationError(
                f"Line {number}: expected a task name, a colon and whole minutes, such as CoNLL03:"
                " 90."
            )
        name, value = match["task"], int(match["minutes"])
        if tasks is not None and name not in tasks:
            raise ValidationError(
                f"Line {number}: {name} is not in this study: {', '.join(tasks) or 'none yet'}."
            )
        if name in minutes:
            raise ValidationError(f"Line {number}: {name} already has a line.")
        if not 1 <= value <= MOST:
            raise ValidationError(f"Line {number}: expected 1 to {MOST} minutes.")
        minutes[name] = value
    return minutes


def for_cells(study: Study, tasks: Sequence[Task]) -> list[Minutes]:
    stated = parse(study.task_minutes)
    pilots = {task.pk: pilot(study, task) for task in tasks}
    cells = []
    for load in workloads(study, tasks):
        measured = pilots[load.task.pk] if load.has_contexts else None
        seconds, answers = measured or (load.seconds_each, 0)
        expected = load.minutes_at(seconds)
        declared = stated.get(load.task.name) or study.estimated_minutes
        announced = declared or max(STEP, STEP * math.ceil(expected / STEP))
        cells.append(Minutes(load, seconds, answers, expected, announced, declared is not None))
    return cells


def longest(study: Study, tasks: Sequence[Task]) -> int:
    """Return the longest time in minutes that annotators are shown, or 0 without tasks."""
    return max((cell.announced for cell in for_cells(study, tasks)), default=0)


def doubts(study: Study, tasks: Sequence[Task]) -> list[str]:
    """Return the most serious warning about the minutes of a design, or []."""
    cells = for_cells(study, tasks)
    stated = [cell for cell in cells if cell.is_stated and cell.load.has_contexts]
    short = sorted(stated, key=lambda cell: cell.announced / cell.load.minutes)
    sentences = (doubt(cell.announced, cell.load) for cell in (*short[:1], *short[-1:]))
    return [text for text in sentences if text][:1]


def store(study: Study) -> None:
    announced = {
        (cell.load.task.pk, cell.load.shots, cell.load.has_contexts): cell.announced
        for cell in for_cells(study, list(study.tasks.all()))
    }
    scenarios = list(study.scenarios.all())
    for scenario in scenarios:
        scenario.minutes = announced[scenario.task_id, scenario.shots, not scenario.hides_context]
    Scenario.objects.bulk_update(scenarios, ["minutes"])


def pilot(study: Study, task: Task) -> tuple[float, int] | None:
    """Return (median active seconds per answer, number of answers) for humans on a task.

    Only annotation steps that the study's owner may read are used. Returns None if there are fewer
    than FEWEST_ANSWERS.
    """
    answers = Answer.objects.filter(
        turn__step=Step.ANNOTATION,
        turn__participation__scenario__task=task,
        turn__participation__kind=Kind.PERSON,
        turn__participation__status=Status.COMPLETED,
        turn__participation__study__in=Study.objects.visible_to(study.owner, "read"),
    ).exclude(turn__participation__scenario__arm=Arm.QUESTION)
    seconds = answers.order_by("-pk").values_list("active_seconds", flat=True)[:LATEST_ANSWERS]
    times = list(seconds)
    return (statistics.median(times), len(times)) if len(times) >= FEWEST_ANSWERS else None


def in_words(minutes: Sequence[int]) -> str:
    """Return text such as "20" or "20 to 60", or "" if no minutes are given."""
    lowest, highest = min(minutes, default=0), max(minutes, default=0)
    return "" if not highest else f"{highest}" if lowest == highest else f"{lowest} to {highest}"
