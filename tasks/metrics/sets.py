"""S1, the set-based score of one answer (CLUES section 3.3, eval/S1.py).

Let p be the set of predicted texts and a the set of gold texts. S1 is 1 if both are empty, and 0 if
exactly one is empty. Otherwise, it is the harmonic mean of precision |p & a| / |p| and recall |p &
a| / |a|, or 0 if they are disjoint.

Texts must match exactly, including case and whitespace. Duplicates count once. The result equals
that of the benchmark's own scorer if every spelling of "no answer" is the empty set.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

GOLD_RULES = ("set", "any_of")


class Score(NamedTuple):
    """S1 in [0, 1], and the index of the alternative that was scored (only for any_of)."""

    s1: float
    alternative: int | None


def s1(predicted: Iterable[str], gold: Iterable[str]) -> float:
    """Return the S1 score of one answer, in [0, 1].

    Raises TypeError for a single string, which is iterable but not a collection of strings.

    >>> s1(["a", "b"], ["b", "c", "d"])
    0.4
    """
    if isinstance(predicted, str | bytes) or isinstance(gold, str | bytes):
        raise TypeError("S1 compares collections of texts; a bare string is not one")
    answer, right = set(predicted), set(gold)
    if not answer or not right:
        return float(answer == right)
    shared = len(answer & right)
    if not shared:
        return 0.0
    precision, recall = shared / len(answer), shared / len(right)
    return 2 * precision * recall / (precision + recall)


def score(predicted: Collection[str], gold: Sequence[str], gold_rule: str) -> Score:
    """Return the score of an answer under its task's gold rule.

    With `set`, all gold answers form one set. With `any_of`, they are alternatives, and the result
    is the best S1 against any of them (the first if tied). Without gold, both rules are equivalent.
    Raises ValueError for other rules, and TypeError for a single string.
    """
    check_rule(gold_rule)
    of_set = s1(predicted, gold)
    if gold_rule == "set" or not gold:
        return Score(of_set, None)
    scores = [s1(predicted, [alternative]) for alternative in gold]
    best = max(scores)
    return Score(best, scores.index(best))


def check_rule(gold_rule: str) -> None:
    """Raise ValueError for an unknown gold rule."""
    if gold_rule not in GOLD_RULES:
        raise ValueError(f"gold rule must be set or any_of, not {gold_rule!r}")
