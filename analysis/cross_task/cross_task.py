"""Gains between the arms of a cross-task study. Upstream training itself is in upstream.py.

An annotator's score is computed on the test set of the unseen task with the metric on its card, as
in all tables. Gains over the study's unseen tasks are computed by analysis/stats/arg.py.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations, product
from types import SimpleNamespace
from typing import Any

from analysis.scores import attrition, frames, marks
from analysis.scores.columns import (
    signed_between,
    signed_percent,
    signed_points,
    table_columns,
)
from analysis.scores.markup import rendered, texts
from analysis.scores.scores import rows_of
from analysis.stats import arg
from annotation.models import Study
from annotation.study.cross_task import arms
from tasks.columns import Column, shots_text
from tasks.gym import catalogue

ALL = "all tasks"
Scores = dict[int, dict[str, dict[str, list[float]]]]  # by shots, then unseen task, then arm
QUESTION = "other people on these tasks and test examples"
FAMILY = "all gains of the same interpretation, such as transfer, at all numbers of shots"
BOTH, BETWEEN = "transfer and practice", "difference between upstream arms"


def contrasts(study: Study) -> dict[tuple[str, str], str]:
    """Map (new arm, base arm) to what the gain means. Primary contrasts come first."""
    if not study.is_cross_task:
        return {}
    *upstream, sham, direct = arms(study)
    return {
        **{(arm, sham): "transfer" for arm in upstream},
        **{(arm, direct): BOTH for arm in upstream},
        (sham, direct): "practice",
        **{(new, base): BETWEEN for base, new in combinations(upstream, 2)},
    }


def scores(study: Study, kind: str, left_out: Collection[int] = ()) -> Scores:
    """Return the scores of one kind's analysed annotators, by shots, unseen task and arm.

    Scores are computed on the test set with the metric on the task's card. The best possible score
    is 1, and undefined scores are NaN. Annotators in `left_out` (keys) are not included.
    """
    frame = frames.annotators(study)
    frame = frame[frame["analysed"].astype(bool) & (frame["kind"] == kind)]
    frame = frame[~frame["participation"].isin(left_out)]
    by_shots: Scores = {}
    groups: Iterable[Any] = frame.groupby(["shots", "task", "arm"])["score"]
    for (shots, task, arm), part in groups:
        by_shots.setdefault(int(shots), {}).setdefault(task, {})[arm] = part.tolist()
    return by_shots


def gains(study: Study, kind: str, left_out: Collection[int] = ()) -> list[SimpleNamespace]:
    return list(gains_of(study, kind, scores(study, kind, left_out)))


def gains_of(study: Study, kind: str, scores: Scores) -> Iterator[SimpleNamespace]:
    """Yield one row per contrast and shots across tasks, then one per task scored in both arms.

    Scores are multiplied by 100 and gains are percentages. A single task's interval covers that
    task alone. `refused` explains why a relative gain is missing.
    """
    metrics = {task.name: task.card.metric for task in study.tasks.all()}
    for (new, base), meaning in contrasts(study).items():
        for shots, scored in scores.items():
            tasks = paired_scores(scored, new, base)
            groups = {task[0]: [task] for task in tasks}
            if len(tasks) > 1:
                groups = {ALL: tasks} | groups
            for name, group in groups.items():
                metric = "; ".join(dict.fromkeys(metrics[task] for task, _base, _new in group))
                gain = arg.average_relative_gain(group)
                yield row_of((kind, str(new), str(base), meaning, name, metric, shots), gain)


def paired_scores(
    scored: dict[str, dict[str, list[float]]], new: str, base: str
) -> list[arg.Scores]:
    """Return (task, scores in the base arm, scores in the new arm) for tasks that have both."""
    both = sorted((task, arms) for task, arms in scored.items() if {new, base} <= arms.keys())
    return [(task, arms[base], arms[new]) for task, arms in both]


HEAD = ("kind", "new_arm", "base_arm", "meaning", "task", "metric", "shots")
NUMBERS = (
    "new", "base", "new_sd", "base_sd", "low", "high", "difference", "difference_low",
    "difference_high", "p",
)  # fmt: skip


def row_of(head: tuple[str, str, str, str, str, str, int], result: arg.Arg) -> SimpleNamespace:
    """Convert `result` to a table row. Rows that span several gains omit means and SDs."""
    gains, numbers = result.gains, dict.fromkeys(NUMBERS[:4], math.nan)
    if len(gains) == 1:
        numbers = {name: 100 * getattr(gains[0], name) for name in numbers}
    for name, interval in (("", result.interval), ("difference_", result.difference_interval)):
        numbers[f"{name}low"], numbers[f"{name}high"] = (100 * end for end in interval)
    return SimpleNamespace(
        **dict(zip(HEAD, head, strict=True)),
        new_people=sum(gain.new_people for gain in gains),
        base_people=sum(gain.base_people for gain in gains),
        gain=100 * result.arg,
        method=result.method,
        no_interval=result.why_no_interval,
        difference=100 * result.difference,
        p=result.p,
        refused="; ".join(
            gain.refused if len(gains) == 1 else f"{gain.task}: {gain.refused}"
            for gain in result.refused
        ),
        **numbers,
    )


def gain_columns(table: str, **get: Callable[[Any], Any]) -> list[Column]:
    """Return the columns of a table of cross-task studies."""
    words = {"question": QUESTION, "family_of_gains": FAMILY}
    return table_columns(table, words, **get)


GAINS = gain_columns("gains")


def attritions(study: Study, kind: str) -> Iterator[SimpleNamespace]:
    for shots, scored in scores(study, kind).items():
        groups = {
            (task, arm): [100 * score for score in scores_of_arm]
            for task, arms in scored.items()
            for arm, scores_of_arm in arms.items()
        }
        pairs = [
            (task, base, new)
            for new, base in contrasts(study)
            for task, _base, _new in paired_scores(scored, new, base)
        ]
        people = study.participations.filter(scenario__shots=shots)
        for row in attrition.compared(people, kind, "arm", groups, pairs):
            yield SimpleNamespace(**vars(row), shots=shots)


ATTRITION = gain_columns("completions_of_arms")


# Planning a new study with this one as the pilot --------------------------------------------------

WIDTHS = (2.5, 5.0, 7.5, 10.0)  # half-widths of the interval for the ARG, in percent


def plan(study: Study, kind: str) -> Iterator[SimpleNamespace]:
    """Yield how many annotators per arm and task are needed for an ARG within ± `width` %.

    The plan uses this study's means and SDs. It is computed both with the t quantile, as the
    interval is, and with the normal quantile. A contrast needs a relative gain on all its tasks.
    """
    by_shots = scores(study, kind)
    for (new, base), (shots, scored) in product(contrasts(study), by_shots.items()):
        gains = [
            arg.task_gain(*task)
            for task in paired_scores(scored, new, base)
            if min(len(arm_scores) for arm_scores in task[1:]) > 1
        ]
        if any(gain.refused for gain in gains) or not any(
            gain.new_sd > 0 or gain.base_sd > 0 for gain in gains
        ):
            continue
        for width in WIDTHS:
            people, normal = (
                arg.people_needed(width / 100, gains, t=by_t) for by_t in (True, False)
            )
            yield SimpleNamespace(
                kind=kind,
                shots=shots,
                new_arm=str(new),
                base_arm=str(base),
                tasks=len(gains),
                width=width,
                people=people,
                people_normal=normal,
                people_in_all=people * len(gains) * 2,
            )


PLAN = gain_columns("plan")


# Published models ---------------------------------------------------------------------------------


@cache
def published() -> tuple[SimpleNamespace, ...]:
    """Load the ARG in percent for multi-task learning and MAML by partition (CrossFit, Table 1)."""
    return tuple(
        SimpleNamespace(partition=row["partition"], method=row["method"], gain=float(row["arg"]))
        for row in rows_of("crossfit_table1.csv")
    )


def published_for(study: Study) -> list[SimpleNamespace]:
    if catalogue.is_pilot(study.partition, study.tasks.values_list("name", flat=True)):
        return []
    return [row for row in published() if row.partition == study.partition]


def joint(study: Study, kind: str) -> list[SimpleNamespace]:
    """Return the study's gains, then the published model gains, or [] if the study has none."""
    others = dict.fromkeys(NUMBERS, math.nan) | dict.fromkeys(
        ("shots", "new_people", "base_people")
    )
    rows = gains(study, kind)
    for row in published_for(study) if rows else ():
        rows.append(
            SimpleNamespace(
                kind="published",
                new_arm=row.method,
                base_arm="direct fine-tuning",
                meaning="models, as published",
                task=f"test tasks of {row.partition}",
                metric="of each task",
                gain=row.gain,
                no_interval="as published",
                method="",
                refused="",
                **others,
            )
        )
    return rows


PUBLISHED = table_columns("published_gains")


def sentences(study: Study, kind: str) -> Iterator[str]:
    yield from _sentences(gains(study, kind))
    programs = marks.by_program(study).analysed().filter(kind=kind).values_list("pk", flat=True)
    if programs:
        for text in _sentences(gains(study, kind, programs)):
            yield f"Without humans for whom a program answered. {text}"


def _sentences(rows: Sequence[SimpleNamespace]) -> Iterator[str]:
    has_several = len({row.shots for row in rows}) > 1
    has_mean = any(row.task == ALL for row in rows)
    for row in rows:
        if has_mean and row.task != ALL:
            continue
        values = {
            "row": row,
            "is_mean": has_mean,
            "shots": shots_text(row.shots) if has_several else "",
            "gain": signed_percent(row.gain),
            "interval": signed_between((row.low, row.high, row.no_interval)),
            "difference": signed_points(row.difference),
        }
        yield from texts(rendered("gains", values))
