"""Agreement between annotators, and the answer they give as a group (pure).

A unit is the list of answers to one example, where each answer is a set of strings. Under every
distance, two empty sets are equal, and an empty set is as far as possible from any non-empty set.
Units with fewer than two answers are ignored. Sources: Krippendorff 2011, "Computing Krippendorff's
alpha-reliability"; for MASI, Passonneau 2006.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from analysis.heavy import np
from tasks.metrics import s1

Answer = frozenset[str]
Distance = Callable[[Any, Any], float]


def nominal(first: Hashable, second: Hashable) -> float:
    return float(first != second)


def jaccard(first: Answer, second: Answer) -> float:
    together = first | second
    return 1 - len(first & second) / len(together) if together else 0.0


def masi(first: Answer, second: Answer) -> float:
    """Return 1 - J * M, where M is 1 (equal sets), 2/3 (subset), 1/3 (other overlap) or 0 (none).

    J is the Jaccard similarity. If one of the sets is empty, J is 0, so the distance is 1.
    """
    if first == second:
        return 0.0
    shared = first & second
    closeness = 2 / 3 if shared in (first, second) else 1 / 3 if shared else 0.0
    return 1 - closeness * (1 - jaccard(first, second))


def one_minus_s1(first: Answer, second: Answer) -> float:
    """Return the task's own metric as a distance (S1 is symmetric)."""
    return 1 - s1(first, second)


DISTANCES: dict[str, Distance] = {
    "nominal": nominal, "Jaccard": jaccard, "MASI": masi, "1 - S1": one_minus_s1,
}  # fmt: skip


def alpha(units: Iterable[Sequence[Hashable]], distance: Distance = nominal) -> float | None:
    """Return Krippendorff's alpha, or None if all values are equal.

    Alpha is 1 - observed / expected disagreement. It is implemented here because the
    krippendorff package does not accept sets as answers.
    """
    paired = [list(unit) for unit in units if len(unit) >= 2]
    values = Counter(answer for unit in paired for answer in unit)
    total = sum(values.values())
    if len(values) < 2:
        return None
    observed = sum(len(unit) * (observed_disagreement(unit, distance) or 0.0) for unit in paired)
    if all(isinstance(value, frozenset) for value in values):
        expected = _between_sets(values, distance)
    else:
        expected = sum(
            2 * values[a] * values[b] * distance(a, b) for a, b in itertools.combinations(values, 2)
        )
    return 1 - (observed / total) / (expected / (total * (total - 1)))


def observed_disagreement(unit: Sequence[Hashable], distance: Distance = nominal) -> float | None:
    """Return the mean distance over all pairs of answers to one example, or None without pairs."""
    # Most units are nearly unanimous, so compute each pair of distinct answers only once.
    counts, pairs = Counter(unit), math.comb(len(unit), 2)
    apart = (counts[a] * counts[b] * distance(a, b) for a, b in itertools.combinations(counts, 2))
    return sum(apart) / pairs if pairs else None


def _between_sets(values: Counter[Any], distance: Distance) -> float:
    """Return the sum over ordered pairs. Pairs with no string in common are at distance 1."""
    holding = defaultdict(list)
    for value in values:
        for text in value:
            holding[text].append(value)
    near = {
        frozenset(pair) for having in holding.values() for pair in itertools.combinations(having, 2)
    }
    total = sum(values.values())
    apart = total**2 - sum(count**2 for count in values.values())
    shares = (2 * values[a] * values[b] * (1 - distance(a, b)) for a, b in map(tuple, near))
    return apart - math.fsum(shares)  # each unordered pair counts twice


def pairwise_s1(unit: Sequence[Answer]) -> float | None:
    """Return the mean S1 over all pairs of answers to one example, or None without pairs."""
    apart = observed_disagreement(unit, one_minus_s1)
    return None if apart is None else 1 - apart


def mean_pairwise_s1(units: Iterable[Sequence[Answer]]) -> float | None:
    means = [value for value in map(pairwise_s1, units) if value is not None]
    return sum(means) / len(means) if means else None


# Classical item analysis: how well items discriminate between respondents (numpy only, pure).

FOR_2PL = 20  # approximate minimum number of respondents for fitting a two-parameter model


def item_rest(scores: np.ndarray) -> list[float]:
    """Return each item's item-rest correlation in a complete respondents x items matrix.

    This is Pearson's r across respondents between the score on the item and the mean over all other
    items. It is NaN for fewer than three respondents or two items, or if either variable is
    constant. An item that all respondents answer correctly does not discriminate between them.
    """
    respondents, items = scores.shape
    if respondents < 3 or items < 2:
        return [math.nan] * items
    rests = (scores.sum(1, keepdims=True) - scores) / (items - 1)
    deviations, rest_deviations = scores - scores.mean(0), rests - rests.mean(0)
    scale = np.sqrt((deviations**2).sum(0) * (rest_deviations**2).sum(0))
    together = (deviations * rest_deviations).sum(0)
    varies = (np.ptp(scores, axis=0) > 1e-12) & (np.ptp(rests, axis=0) > 1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        return list(map(float, np.where(varies, np.clip(together / scale, -1, 1), math.nan)))


# Aggregating several answers: the answer of the group rather than of its members (pure). CLUES
# scores individuals, whereas Nangia and Bowman 2019 and SuperGLUE score the majority of five. These
# are different quantities, so tables have a column for each.

AnyAnswer = TypeVar("AnyAnswer", bound=Hashable)
ROUNDS = 1000  # maximum number of rounds of expectation and maximisation
PRIOR = 2.0  # Dawid-Skene pseudo-counts for each distinct answer


def majority_set(answers: Sequence[frozenset[str]]) -> frozenset[str]:
    """Return the strings that more than half of the annotators chose, compared exactly."""
    votes = Counter(text for answer in answers for text in answer)
    return frozenset(text for text, count in votes.items() if 2 * count > len(answers))


def plurality(answers: Sequence[AnyAnswer]) -> AnyAnswer | None:
    """Return the answer that most annotators gave, or None if there is a tie."""
    ranked = Counter(answers).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def majorities_of_others(
    answers: Sequence[frozenset[str]], is_one_choice: bool
) -> list[frozenset[str] | None]:
    """Return, for each answer to one example, the majority of all other answers.

    A majority is None without other answers, or if they tie. Sets of strings always have a
    majority, which is empty if no string was chosen by more than half of the others.
    """
    number = len(answers) - 1
    if not number:
        return [None]
    if is_one_choice:
        given = Counter(answers)
        return [plurality(list((given - Counter([answer])).elements())) for answer in answers]
    votes = Counter(text for answer in answers for text in answer)
    return [
        frozenset(text for text, count in votes.items() if 2 * (count - (text in answer)) > number)
        for answer in answers
    ]


def dawid_skene(
    votes: Sequence[Mapping[str, Sequence[str]]], tolerance: float = 1e-8, prior: float = PRIOR
) -> tuple[list[dict[str, float]], dict[str, float]]:
    """Return each example's label posteriors and the label shares (Dawid and Skene 1979).

    `votes` contains one mapping from annotators to labels per example. An annotator may have
    several votes. For examples without votes, the posterior equals the shares. EM starts from the
    vote shares and finds the mode under a symmetric Dirichlet(1 + prior) on the label shares and on
    each annotator's confusions, which adds `prior` pseudo-counts of each kind. A prior of 0 gives
    the paper's maximum likelihood, which three annotators barely identify. Raises ValueError
    without votes. It is implemented here because no maintained package offers it separately.
    """
    labels = sorted({label for unit in votes for choices in unit.values() for label in choices})
    people = sorted({person for unit in votes for person in unit})
    if not labels:
        raise ValueError("no votes")
    # counts[e, p, l] is the number of times annotator p labelled example e as l.
    counts = np.zeros((len(votes), len(people), len(labels)))
    for example, unit in enumerate(votes):
        for person, choices in unit.items():
            for label in choices:
                counts[example, people.index(person), labels.index(label)] += 1
    totals = counts.sum(1)
    given = totals.sum(1, keepdims=True)
    posterior = np.where(given > 0, totals / np.maximum(given, 1), 1 / len(labels))
    for _ in range(ROUNDS):
        before, posterior = posterior, _updated(posterior, counts, prior)
        if np.abs(posterior - before).max() < tolerance:
            break
    shares = dict(zip(labels, _shares(posterior, prior).tolist(), strict=True))
    return [dict(zip(labels, row, strict=True)) for row in posterior.tolist()], shares


def _shares(posterior: np.ndarray, prior: float) -> np.ndarray:
    weights = posterior.sum(0) + prior
    return weights / weights.sum()


def _updated(posterior: np.ndarray, counts: np.ndarray, prior: float) -> np.ndarray:
    """Return the posterior after one EM round: update shares and confusions, then apply Bayes."""
    # confusion[p, t, l] is how often annotator p answers l when the true label is t.
    confusion = np.einsum("et,epl->ptl", posterior, counts) + prior
    totals = confusion.sum(2, keepdims=True)
    confusion = np.divide(confusion, totals, out=np.zeros_like(confusion), where=totals > 0)
    with np.errstate(divide="ignore"):
        logs = np.where(confusion > 0, np.log(confusion), -1e3)
        scores = np.log(_shares(posterior, prior)) + np.einsum("epl,ptl->et", counts, logs)
    scores -= scores.max(1, keepdims=True)
    following = np.exp(scores)
    return following / following.sum(1, keepdims=True)


# Several annotators' highlights in one text (pure). Offsets are code points. The text is split into
# runs wherever a highlight or gold answer starts or ends, so that every character of a run was
# highlighted by the same annotators.

Who = TypeVar("Who")
Place = tuple[int, int]
LEVELS = 4


class Run(NamedTuple, Generic[Who]):
    """A run of text and its annotators. `opens` and `closes` count the gold answers at its ends."""

    start: int
    end: int
    text: str
    who: tuple[Who, ...]
    is_gold: bool
    opens: int
    closes: int


def runs(
    text: str, highlights: Mapping[Who, Sequence[Place]], gold: Sequence[Place]
) -> list[Run[Who]]:
    """Split a text at the ends of all highlights and gold answers, given as (start, end).

    Joining the runs gives the text again. An annotator with overlapping highlights is counted once.
    """
    places = [*gold, *itertools.chain.from_iterable(highlights.values())]
    cuts = sorted({0, len(text), *itertools.chain.from_iterable(places)})
    return [
        Run(
            start, end, text[start:end],
            tuple(name for name, spans in highlights.items() if _covers(spans, start, end)),
            _covers(gold, start, end),
            sum(place[0] == start for place in gold), sum(place[1] == end for place in gold),
        )
        for start, end in itertools.pairwise(cuts)
    ]  # fmt: skip


def _covers(places: Sequence[Place], start: int, end: int) -> bool:
    return any(first <= start and end <= last for first, last in places)


def level(count: int, n: int) -> int:
    """Return a level for a share of annotators: 0 for none, 1 for up to a quarter, ... 4."""
    return -(-LEVELS * count // n) if n else 0


class Group(NamedTuple, Generic[Who]):
    texts: tuple[str, ...]
    who: tuple[Who, ...]


def groups(answers: Iterable[tuple[Who, Sequence[str]]]) -> list[Group[Who]]:
    """Group equal sets of strings, most frequent first, spelled as in the first answer."""
    by_texts: dict[frozenset[str], list[tuple[Who, Sequence[str]]]] = defaultdict(list)
    for annotator, texts in answers:
        by_texts[frozenset(texts)].append((annotator, texts))
    distinct = [
        Group(tuple(dict.fromkeys(given[0][1])), tuple(annotator for annotator, _texts in given))
        for given in by_texts.values()
    ]
    return sorted(distinct, key=lambda group: (-len(group.who), group.texts))
