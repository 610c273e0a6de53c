"""S1, the set-based score of one answer (CLUES section 3.3, eval/S1.py), and its recipe string.

With p the set of predicted texts and a the set of gold texts: both empty -> 1; exactly one empty
-> 0; otherwise the harmonic mean of precision |p & a| / |p| and recall |p & a| / |a|, 0 if they
share nothing.
Texts match exactly: case-sensitive, nothing stripped, no Unicode normalisation; duplicates count
once. Equal to the benchmark's own scorer once every spelling of "no answer" is the empty set.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Score(NamedTuple):
    """S1 in [0, 1], and which of the alternatives it was scored against (any_of only)."""

    s1: float
    alternative: int | None


def s1(predicted: Iterable[str], gold: Iterable[str]) -> float:
    """Score one answer; in [0, 1], higher is better.

    >>> s1(["a", "b"], ["b", "c", "d"])
    0.4
    """
    for texts in (predicted, gold):
        if isinstance(texts, str):
            raise TypeError("s1 compares collections of texts; a bare string is not one")
    chosen, right = set(predicted), set(gold)
    if not chosen or not right:
        return float(chosen == right)
    shared = len(chosen & right)
    if not shared:
        return 0.0
    precision, recall = shared / len(chosen), shared / len(right)
    return 2 * precision * recall / (precision + recall)


def score(predicted: Iterable[str], gold: Sequence[str], gold_rule: str) -> Score:
    """Score one answer by the task's gold rule.

    `set`: all golds together. `any_of`: golds are alternatives; the best S1 against one of them
    counts, the first on ties. Without any gold both rules are the same.
    """
    if gold_rule not in ("set", "any_of"):
        raise ValueError(f"gold rule must be set or any_of, not {gold_rule!r}")
    predicted = set(predicted) if not isinstance(predicted, str) else predicted
    if gold_rule == "set" or not gold:
        return Score(s1(predicted, gold), None)
    scores = [s1(predicted, [alternative]) for alternative in gold]
    best = max(scores)
    return Score(best, scores.index(best))


def recipe(gold_rule: str, ddof: int = 1) -> str:
    """Every choice that changes the number, as one string to print beside it."""
    return f"s1|match:exact|empty:1|gold:{gold_rule}|mean:examples|sd:annotators|ddof:{ddof}|v:1"
