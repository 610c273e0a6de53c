"""Power of a design that is still being edited, for contrasts between shots and gains between arms.

The test is the primary test of the preregistration (documents/preregistration.py), at the first
step of Holm's correction over the whole family. Differences in points require an SD between
annotators, either from a study of the task that the owner may read, or from CLUES if the task uses
this test file.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from operator import itemgetter
from types import SimpleNamespace
from typing import Any

from django.db.models import Avg, Q

from analysis.planning.planner import COMPARISONS, LEVEL, POWER, Known
from analysis.scores.columns import table_columns
from analysis.scores.markup import rendered
from analysis.scores.scores import human_table4, name_of
from analysis.scores.test_sets import S1
from analysis.stats import arg, power, uncertainty
from annotation.models import Arm, Kind, Participation, Step, Study
from annotation.study import design
from tasks.columns import Column, shots_text
from tasks.models import Task

FEWEST = 3  # annotators required for using the SD of an earlier study
WANTED = 0.10  # the difference in [0, 1] for which power is shown


def contrasts(study: Study, tasks: Sequence[Task]) -> list[str]:
    """Describe the contrast between each task's smallest and largest number of shots."""
    shots = sorted(study.shots)
    if len(shots) < 2 or study.is_cross_task:  # cross-task studies plan for a gain instead
        return []
    cells = [number for number, _split, arm in design.cells(study) if arm == Arm.NONE]
    n = min(cells.count(shots[0]), cells.count(shots[-1])) * study.annotators
    family = len(tasks) * math.comb(len(shots), 2)
    return [_contrast(study, task, shots, n, family) for task in tasks]


def _contrast(study: Study, task: Task, shots: list[int], n: int, family: int) -> str:
    mean, sd, source = _sd(study, task, (shots[0], shots[-1]))
    has_sd = sd > 0
    lowest = math.nan
    if has_sd and n > 1:
        cell = Known(task.name, shots[-1], mean, sd, n, None, is_right_or_wrong=False)
        examples = task.test_split.examples.count()
        # Use the direction in which the SD of the other group is larger.
        lowest = min(
            cell.power(sign * WANTED, n, examples, LEVEL / family)
            for sign in COMPARISONS
            if 0 <= mean + sign * WANTED <= 1
        )
    sds = power.detectable(n, LEVEL / family, POWER)
    verdict = detectable(sds, 100 * sd if has_sd else math.nan, source, lowest)
    return (
        f"{task.name}, {shots[0]} against {shots_text(shots[-1])}, {n} annotators each: {verdict}"
    )


def detectable(sds: float, sd: float, source: str, lowest: float) -> str:
    """Describe a detectable difference of `sds` SDs. The SD is x 100, or NaN if unknown."""
    values = {
        "sds": sds if math.isfinite(sds) else None, "points": sds * sd, "power": POWER,
        "sd": sd if math.isfinite(sd) else None, "source": source, "lowest": lowest,
        "wanted": 100 * WANTED,
    }  # fmt: skip
    return rendered("power", values)["detectable"]


def _sd(study: Study, task: Task, shots: tuple[int, int]) -> tuple[float, float, str]:
    """Return (mean, SD, source) of the cell with the larger SD, in [0, 1] or NaN if unknown."""
    by_shots = _study_cells(study, task) if task.card.metric == S1 else {}
    if by_shots:
        return *max(by_shots.values(), key=itemgetter(1)), "your annotators"
    printed = [human_table4().get((name_of(task), number)) for number in shots]
    cells = [(cell.mean / 100, cell.spread / 100) for cell in printed if cell is not None]
    if not cells:
        return math.nan, math.nan, ""
    return *max(cells, key=itemgetter(1)), "CLUES, Table 4"


def _study_cells(study: Study, task: Task) -> dict[int, tuple[float, float]]:
    """Return the mean and SD by shots, from studies whose test scores the owner may read."""
    readable = Study.objects.visible_to(study.owner, "read").filter(tasks=task)
    open_scores = [other for other in readable if not other.covers_test_scores]
    counted = Participation.objects.counted(Kind.PERSON)
    people = counted.filter(scenario__task=task, study__in=open_scores)
    mean = Avg("turns__answer__s1", filter=Q(turns__step=Step.ANNOTATION))
    rows = people.annotate(mean=mean).exclude(mean=None).order_by("scenario__shots")
    by_shots = {
        shots: [value for _shots, value in group]
        for shots, group in itertools.groupby(
            rows.values_list("scenario__shots", "mean"), key=lambda row: row[0]
        )
    }
    return {
        shots: (sum(values) / len(values), uncertainty.sd(values))
        for shots, values in by_shots.items()
        if len(values) >= FEWEST and len(set(values)) > 1
    }


# How many annotators an ARG within ± w requires, given stated means and SDs rather than a pilot (as
# in `cross_task.plan`). Both use `analysis/stats/arg.py` and the same interval.


def plan(inputs: dict[str, Any]) -> Iterator[SimpleNamespace]:
    """Yield plans with the t and normal quantiles. `inputs` is StatedGainForm's cleaned data.

    A plan gives the number of annotators per arm and task for a width (half the interval in %), and
    vice versa.
    """
    base, spread = inputs["base"] / 100, inputs["sd"] / 100
    new = base * (1 + inputs["gain"] / 100)
    gain = arg.TaskGain("", base, new, spread, spread, 2, 2, arg.why_no_divisor(base))
    gains = [gain] * inputs["targets"]  # the same expected gain for all unseen tasks
    for name, by_t in (("t", True), ("normal", False)):
        people = arg.people_needed(inputs["width"] / 100, gains, t=by_t)
        width = 100 * arg.half_width(gains, inputs["people"], t=by_t)
        in_all = 2 * people * len(gains)
        # The half-width for a change is that of the mean over both shot counts, times 2.
        change = arg.people_needed(inputs["width"] / 200, gains * 2, t=by_t)
        yield SimpleNamespace(
            quantile=name, people=people, people_in_all=in_all, width=width,
            for_change=change, for_change_in_all=4 * change * len(gains),
        )  # fmt: skip


def columns(inputs: dict[str, Any]) -> list[Column]:
    words = {"width": f"{inputs['width']:g}", "people": inputs["people"]}
    return table_columns("planned_gains", words)
