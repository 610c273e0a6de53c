"""Upstream training in a cross-task study: manipulation check, learning curve, and several arms.

Upstream answers are always scored with S1, whatever the metric of the unseen task.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations, groupby
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

from analysis.cross_task import cross_task, learners
from analysis.cross_task.cross_task import gain_columns
from analysis.heavy import np, pd
from analysis.scores.columns import (
    Table,
    table_columns,
)
from analysis.stats import arg
from analysis.stats.significance import holm
from analysis.stats.uncertainty import sd
from annotation.models import Arm, Kind, Step, Study
from annotation.study.cross_task import training


def upstream_answers(study: Study, kind: str) -> pd.DataFrame:
    """Return one row per answer in the upstream step, in the order in which annotators gave them.

    Columns: annotator, arm, task, score (S1), seconds (active), block (1-based position of the task
    among the annotator's tasks) and number (1-based position of the example within the task).
    """
    people = study.participations.analysed().filter(kind=kind)
    rows = (
        people.answers(Step.UPSTREAM)
        .order_by("turn__participation__pseudonym", "turn__position")
        .values_list(
            "turn__participation__pseudonym", "turn__participation__scenario__arm",
            "turn__example__split__task__name", "s1", "active_seconds",
        )
    )  # fmt: skip
    columns = ["annotator", "arm", "task", "score", "seconds"]
    answers = pd.DataFrame.from_records(rows.iterator(chunk_size=5000), columns=columns)
    tasks = answers.groupby("annotator")["task"]
    answers["block"] = (answers["task"] != tasks.shift()).groupby(answers["annotator"]).cumsum()
    answers["number"] = answers.groupby(["annotator", "block"]).cumcount() + 1
    return answers


def manipulation(study: Study, kind: str) -> list[SimpleNamespace]:
    """Return S1 x 100 by position, then by task, which shows whether trained arms learned."""
    answers = upstream_answers(study, kind)
    answers["position"] = [f"task {block}" for block in answers["block"]]
    return [
        _trained(kind, arm, label, part)
        for arm, of_arm in answers.groupby("arm")
        for by in ("position", "task")
        for label, part in of_arm.groupby(by)
    ]


def _trained(kind: str, arm: Any, label: Any, answers: pd.DataFrame) -> SimpleNamespace:
    groups: Iterable[Any] = answers.groupby("annotator")["score"]
    scores = [group.to_numpy(dtype=float) for _annotator, group in groups]
    halves = (
        np.concatenate([each[: len(each) // 2] for each in scores]),
        np.concatenate([each[len(each) - len(each) // 2 :] for each in scores]),
    )
    first, last = (100 * float(half.mean()) if len(half) else math.nan for half in halves)
    means = [100 * float(each.mean()) for each in scores]
    return SimpleNamespace(
        kind=kind, arm=arm, what=label, people=len(scores), answers=len(answers),
        mean=float(np.mean(means)), sd=sd(means), first=first, last=last,
        active=float(answers["seconds"].median()),
    )  # fmt: skip


MANIPULATION = table_columns("manipulation")


def curve(study: Study, kind: str) -> list[SimpleNamespace]:
    """Return mean S1 x 100 by position within an upstream task, over annotators and tasks."""
    groups: Iterable[Any] = upstream_answers(study, kind).groupby(["arm", "number"])
    return [
        SimpleNamespace(
            kind=kind,
            arm=arm,
            number=number,
            answers=len(part),
            mean=100 * float(np.mean(part["score"].to_numpy(dtype=float))),
            active=float(part["seconds"].median()),
        )
        for (arm, number), part in groups
    ]


CURVE = table_columns("upstream_curve")

# Several upstream arms or shot counts -------------------------------------------------------------


def arm_tests(study: Study, kind: str) -> list[SimpleNamespace]:
    """Return each contrast's gain over all tasks, or [] without named arms or several K."""
    has_tests = kind != Kind.MODEL and (study.arms or len(study.shots) > 1)
    gains = cross_task.gains(study, kind) if has_tests else []
    wholes = groupby(gains, attrgetter("meaning", "new_arm", "base_arm", "shots"))
    return _adjusted([next(group) for _contrast, group in wholes])


def changes(study: Study, kind: str) -> list[SimpleNamespace]:
    """Return how each contrast's gain changes with the shot count (CrossFit, section 5, Q4).

    Each row is listed under the larger shot count. `from_shots` is the smaller one.
    """
    rows, by_shots = [], cross_task.scores(study, kind) if kind != Kind.MODEL else {}
    for (new, base), meaning in cross_task.contrasts(study).items():
        for fewer, more in combinations(by_shots, 2):
            tasks = [
                cross_task.paired_scores(by_shots[shots], new, base) for shots in (fewer, more)
            ]
            names = [task[0] for task in tasks[0]]
            if names and names == [task[0] for task in tasks[1]]:
                of = cross_task.ALL if len(names) > 1 else names[0]
                head = (kind, str(new), str(base), meaning, of, "", more)
                row = cross_task.row_of(head, arg.change(*tasks))
                rows.append(SimpleNamespace(**vars(row), from_shots=fewer))
    return _adjusted(rows)


def _adjusted(rows: Iterable[Any]) -> list[SimpleNamespace]:
    """Return the rows with Holm-adjusted p values. Rows with the same meaning form a family."""
    return [
        SimpleNamespace(**vars(row), p_holm=p)
        for _meaning, group in groupby(rows, attrgetter("meaning"))
        for family in [list(group)]
        for row, p in zip(family, holm([row.p for row in family]), strict=True)
    ]


def by_task(study: Study, kind: str) -> list[SimpleNamespace]:
    """Return each unseen task under each arm, with its distance from the arm's upstream tasks.

    Source: CrossFit, Table 2 (one test task under several partitions).
    """
    trained = training(study)
    tasks = [*study.tasks.all(), *study.trained_tasks]
    categories = {task.name: task.card.ontology or "" for task in tasks}
    rows = []
    for row in cross_task.gains(study, kind):
        if row.base_arm == Arm.DIRECT:
            names, size = trained[row.new_arm]
            distances = [_steps(categories.get(row.task, ""), categories[name]) for name in names]
            rows.append(
                SimpleNamespace(**vars(row), trained=", ".join(names), each=size,
                                distance=float(np.mean(distances)))
            )  # fmt: skip
    return sorted(rows, key=lambda row: (row.task == cross_task.ALL, row.task))


def _steps(a: str, b: str) -> float:
    """Return how many levels to climb in CrossFit's two-level ontology until both names agree.

    >>> _steps("cls/nli", "cls/nli"), _steps("cls/nli", "cls/topic"), _steps("cls/nli", "qa/binary")
    (0, 1, 2)
    """
    if not (a and b):
        return math.nan
    return 0 if a == b else 1 if a.split("/")[0] == b.split("/")[0] else 2


SEVERAL_ARMS = [
    Table(
        "arm-tests",
        "Tests of gains",
        gain_columns("arm_tests"),
        arm_tests,
        {"family": cross_task.FAMILY},
    ),
    Table("by-task", "Unseen tasks under each arm", gain_columns("by_task"), by_task),
    Table("changes", "Gains by shots", gain_columns("changes"), changes),
]


_WORDS = {"question": cross_task.QUESTION, "groups": "arms"}
_TABLES = [
    Table("gains", "Gains of the arms", cross_task.GAINS, cross_task.joint, _WORDS),
    *SEVERAL_ARMS,
    *learners.TABLES,
    Table("completions", "Attrition by arm", cross_task.ATTRITION, cross_task.attritions, _WORDS),
    Table("manipulation", "Upstream tasks", MANIPULATION, manipulation),
    Table("curve", "Learning curve within an upstream task", CURVE, curve),
    Table("plan", "Participants required for the ARG", cross_task.PLAN, cross_task.plan),
]
# Maps names to the additional tables of a cross-task study.
ARM_TABLES = {table.name: table for table in _TABLES}
