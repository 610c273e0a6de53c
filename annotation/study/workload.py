"""What one seat asks for: how many examples, how long, and whether a promised time is plausible.

The estimate is rough and says how it is made: reading at WORDS_A_MINUTE, then SECONDS_TO_ANSWER. It
warns and refuses nothing: only the researcher knows what the texts ask for.
"""

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count

from annotation.models import Arm, Study
from annotation.study import cross_task
from tasks import frozen
from tasks.models import Split, Task

WORDS_A_MINUTE = 240
SECONDS_TO_ANSWER = 3
MINUTES_BEFORE = 2  # the landing page, consent and instructions
# How many times the expected time may differ from what is promised before it is worth a word.
TOO_SHORT, TOO_LONG = 2, 10
SHORTEST_TOO_LONG = 30  # minutes: below that nobody is misled by a round number


@dataclass(frozen=True)
class Workload:
    """One cell of a design, as its annotators meet it; attention checks count as examples."""

    task: Task
    shots: int
    training: int
    test: int
    screening: int = 0
    # Before it, in the arms of a cross-task study that are trained on other tasks.
    upstream: int = 0
    # Of their median example: of the arm, upstream or sham, that reads more.
    upstream_words: int = 0

    @property
    def examples(self) -> int:
        return self.upstream + self.training + self.screening + self.test

    @property
    def words(self) -> int:
        """Words of the median example: its texts and its question."""
        return frozen.median_words(self.task)

    @property
    def seconds_each(self) -> float:
        return _seconds(self.words)

    @property
    def minutes(self) -> int:
        return self.minutes_at(self.seconds_each)

    def minutes_at(self, seconds: float) -> int:
        """Minutes of one annotator who takes so long for an example of the task."""
        before = self.upstream * _seconds(self.upstream_words)
        own = (self.examples - self.upstream) * seconds
        return MINUTES_BEFORE + math.ceil((before + own) / 60)


def _seconds(words: int) -> float:
    """How long an example of so many words takes."""
    return 60 * words / WORDS_A_MINUTE + SECONDS_TO_ANSWER


def workloads(study: Study, tasks: Sequence[Task]) -> list[Workload]:
    """Those of each task at each number of shots, in a fixed number of queries."""
    sizes = _sizes(tasks)
    # What an arm reads first is known of a stored draft.
    upstream = cross_task.length(study, Arm.UPSTREAM) if study.pk else 0
    upstream_words = _upstream_words(study) if upstream else 0
    return [
        Workload(
            task=task,
            shots=shots,
            # 0 for a file that there is not: the rules of a design refuse it at its field.
            training=max((sizes[task.pk, shots, split] for split in study.splits), default=0)
            if shots
            else 0,
            test=sizes[task.pk, None, None] + study.attention_checks,
            screening=0 if shots else study.screening_examples,
            upstream=upstream,
            upstream_words=upstream_words,
        )
        for task in tasks
        for shots in sorted(study.shots)
    ]


def _upstream_words(study: Study) -> int:
    """Words of the median example before the unseen task, in the arm that reads more.

    One person does as many examples of each upstream task, so theirs is the mean of these medians.
    """
    arms = [list(study.upstream_tasks.all()), [study.sham_task] if study.sham_task else []]
    return max(
        round(statistics.fmean(frozen.median_words(task) for task in tasks))
        for tasks in arms
        if tasks
    )


def _sizes(tasks: Sequence[Task]) -> Counter[tuple[int, int | None, int | None]]:
    """(task, shots, number) of each published file -> how many examples it holds."""
    splits = Split.objects.filter(task__in=[task.pk for task in tasks])
    counted = splits.exclude(kind=Split.Kind.CHECK).annotate(size=Count("examples"))
    rows = counted.values_list("task", "shots", "number", "size")
    return Counter({(task, shots, number): size for task, shots, number, size in rows})


def doubt(promised: int, load: Workload) -> str:
    """What is implausible about promised minutes, if anything is: a sentence with its arithmetic.

    In the order in which it matters: too short a promise is one that people cannot keep.
    """
    too_long = max(TOO_LONG * load.minutes, SHORTEST_TOO_LONG)
    if TOO_SHORT * promised >= load.minutes and promised <= too_long:
        return ""
    each = f"{60 * promised / load.examples:.1f}".removesuffix(".0")
    trained = load.upstream + load.training
    training = f"{trained} training and " if trained else ""
    training += f"{load.screening} screening and " if load.screening else ""
    upstream = ""
    if load.upstream:
        upstream = (
            f" ({_seconds(load.upstream_words):.0f} for {load.upstream_words} words of each of"
            f" {load.upstream} upstream examples)"
        )
    return (
        f"{promised} minutes are promised, but {load.task.name} at {load.shots} shots has"
        f" {training}{load.test} test examples: {each} seconds each."
        f" Reading {load.words} words (the median) at {WORDS_A_MINUTE} a minute and answering in"
        f" {SECONDS_TO_ANSWER} seconds takes about {load.seconds_each:.0f} seconds{upstream}, which"
        f" makes about {load.minutes} minutes with {MINUTES_BEFORE} for consent and instructions."
    )
