"""How well human annotators do: agreement with each other, and the best and worst scores.

A gold answer is only one annotation. The leave-one-out score measures how well an annotator matches
the majority of the others. It is neither a score against the gold answers nor an upper bound for
models, which can match the majority more often than any annotator does. A majority of fewer than
four others is nearly unanimous, so the score would cover only easy examples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

from analysis.heavy import np, pd
from analysis.scores.columns import CELL
from analysis.stats import agreement
from analysis.stats.learning import by_cell
from tasks.columns import NOTHING, Column, points
from tasks.metrics import s1

FEWEST = 5  # annotators, so that each can be compared with four others
TOO_FEW = "fewer than five annotators"
NO_MAJORITY = "no answer can be compared with a majority"
ROUNDING = 1e-9  # points: sums of the same scores may differ in their last digits


def ceilings(frame: pd.DataFrame, seed: int = 0) -> Iterator[SimpleNamespace]:
    """Yield one row per task and shot count. `frame` comes from `findings.answered`.

    Scores are multiplied by 100. `leave_one_out` is NaN if `no_leave_one_out` gives a reason. The
    others reach a majority for `compared` of the `answers`. `best` and `worst` are the highest and
    lowest mean S1 against the gold answers, each with the first annotator to reach it.
    """
    for task, shots, part in by_cell(frame):
        means = 100 * part.groupby("annotator")["s1"].mean().sort_index()
        scores = _leave_one_out_scores(part) if len(means) >= FEWEST else {}
        # Weight annotators equally, as the cell's mean does.
        majority_means = [math.fsum(each) / len(each) for each in scores.values()]
        leave_one_out = float(100 * np.mean(majority_means)) if majority_means else math.nan
        why_not = "" if scores else NO_MAJORITY if len(means) >= FEWEST else TOO_FEW
        yield SimpleNamespace(
            task=task, shots=shots, n=len(means), leave_one_out=leave_one_out,
            no_leave_one_out=why_not, compared=sum(map(len, scores.values())), answers=len(part),
            best=float(means.max()), worst=float(means.min()),
            best_annotator=str(means.index[means >= means.max() - ROUNDING][0]),
            worst_annotator=str(means.index[means <= means.min() + ROUNDING][0]),
        )  # fmt: skip


def _leave_one_out_scores(part: pd.DataFrame) -> dict[str, list[float]]:
    """Return each annotator's S1 on each example, with the majority of the others as the gold."""
    scores: dict[str, list[float]] = {}
    cache: dict[tuple[Any, ...], list[float | None]] = {}  # with few labels, the same units recur
    for _example, unit in part.groupby("example", sort=False):
        key = tuple(unit["texts"]), bool(unit["is_one_choice"].iloc[0])
        if key not in cache:
            cache[key] = _unit_scores(*key)
        for name, score in zip(unit["annotator"], cache[key], strict=True):
            if score is not None:
                scores.setdefault(name, []).append(score)
    return scores


def _unit_scores(answers: Sequence[frozenset[str]], is_one_choice: bool) -> list[float | None]:
    if len(answers) > 1 and len(set(answers)) == 1:
        return [1.0] * len(answers)  # all others gave the same answer
    majorities = agreement.majorities_of_others(answers, is_one_choice)
    return [
        None if majority is None else s1(answer, majority)
        for answer, majority in zip(answers, majorities, strict=True)
    ]


TITLE = "Human ceiling"
_LEAVE_ONE_OUT = (
    "mean S1 of each annotator against the majority of the others (the most frequent label or"
    " option, or the texts that more than half of them chose), averaged over annotators"
)
COLUMNS = [
    *CELL,
    Column("", "Leave-one-out", f"{_LEAVE_ONE_OUT}; neither a score against the gold nor a bound"
           " for models", "S1 x 100",
           lambda ends: f"{NOTHING} ({ends[1]})" if ends[1] else points(ends[0]),
           attrgetter("leave_one_out", "no_leave_one_out")),
    Column("leave_one_out", meaning=_LEAVE_ONE_OUT, unit="S1 x 100"),
    Column("no_leave_one_out", meaning="reason for a missing leave_one_out"),
    Column("", "Compared", "answers compared with a majority of the others, out of all answers; if"
           " the others tie on labels or options, there is no majority",
           get=lambda row: f"{row.compared} of {row.answers}"),
    Column("compared", meaning="answers compared with a majority of the others"),
    Column("answers", meaning="answers in the annotation step"),
    Column("best", "Best", "highest mean S1 x 100 of an annotator against the gold", "S1 x 100"),
    Column("best_annotator", meaning="annotator with this score (if several, the first by name)"),
    Column("worst", "Worst", "lowest mean S1 x 100 of an annotator against the gold; the range"
           " from worst to best grows with the number of annotators", "S1 x 100"),
    Column("worst_annotator", meaning="annotator with this score (if several, the first by name)"),
]  # fmt: skip
