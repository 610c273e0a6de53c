"""One answer out of several: what the group says, beside what its members say (pure).

CLUES scores individuals; Nangia and Bowman 2019 and SuperGLUE score the majority of five. The two
are different quantities and never share a table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from analysis.heavy import np

AnyAnswer = TypeVar("AnyAnswer", bound=Hashable)
PRIOR = 2.0  # answers of each kind that Dawid and Skene take as seen before


def majority_set(answers: Sequence[frozenset[str]]) -> frozenset[str]:
    """The texts that more than half of the annotators chose exactly so; may be empty."""
    votes = Counter(text for answer in answers for text in answer)
    return frozenset(text for text, count in votes.items() if 2 * count > len(answers))


def plurality(answers: Sequence[AnyAnswer]) -> AnyAnswer | None:
    """The answer that most annotators gave; None where two are given equally often."""
    ranked = Counter(answers).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def majorities_of_others(
    answers: Sequence[frozenset[str]], is_one_choice: bool
) -> list[frozenset[str] | None]:
    """For each answer to one example, the majority of all other answers.

    None where there is none: nobody else answered, or their choices tie. Sets of texts always have
    one, which is empty where no text was chosen by more than half of the others.
    """
    others = len(answers) - 1
    if not others:
        return [None]
    if is_one_choice:
        given = Counter(answers)
        return [plurality(list((given - Counter([own])).elements())) for own in answers]
    votes = Counter(text for answer in answers for text in answer)
    return [
        frozenset(text for text, count in votes.items() if 2 * (count - (text in own)) > others)
        for own in answers
    ]


def dawid_skene(
    votes: Sequence[Mapping[str, Sequence[str]]],
    rounds: int = 1000,
    tolerance: float = 1e-8,
    prior: float = PRIOR,
) -> tuple[list[dict[str, float]], dict[str, float]]:
    """Dawid and Skene 1979: posteriors of the labels for each example, and the labels' shares.

    `votes` holds one mapping of annotator to labels per example (an annotator may have voted more
    than once; an example without votes gets the shares). EM from the shares of votes to the mode
    under a symmetric Dirichlet(1 + prior) on the labels' shares and on what each annotator says of
    each label: `prior` answers of every kind are taken as seen before. 0 is the maximum likelihood
    of the paper, which three annotators hardly identify.
    Raises ValueError without votes.
    Our own, because no maintained package does it without a framework around it.
    """
    labels = sorted({label for unit in votes for own in unit.values() for label in own})
    people = sorted({person for unit in votes for person in unit})
    if not labels:
        raise ValueError("nobody has voted")
    # counts[e, p, l]: how often person p gave label l of example e.
    counts = np.zeros((len(votes), len(people), len(labels)))
    for example, unit in enumerate(votes):
        for person, own in unit.items():
            for label in own:
                counts[example, people.index(person), labels.index(label)] += 1
    totals = counts.sum(1)
    given = totals.sum(1, keepdims=True)
    posterior = np.where(given > 0, totals / np.maximum(given, 1), 1 / len(labels))
    for _ in range(rounds):
        following = _updated(posterior, counts, prior)
        moved = np.abs(following - posterior).max()
        posterior = following
        if moved < tolerance:
            break
    shares = _shares(posterior, prior)
    return (
        [dict(zip(labels, map(float, row), strict=True)) for row in posterior],
        dict(zip(labels, map(float, shares), strict=True)),
    )


def _shares(posterior: np.ndarray, prior: float) -> np.ndarray:
    weights = posterior.sum(0) + prior
    return weights / weights.sum()


def _updated(posterior: np.ndarray, counts: np.ndarray, prior: float) -> np.ndarray:
    """The posterior after one round of EM: shares and confusions from the old one, then Bayes."""
    # confusion[p, t, l]: how often person p says l where t is true.
    confusion = np.einsum("et,epl->ptl", posterior, counts) + prior
    totals = confusion.sum(2, keepdims=True)
    confusion = np.divide(confusion, totals, out=np.zeros_like(confusion), where=totals > 0)
    with np.errstate(divide="ignore"):
        logs = np.where(confusion > 0, np.log(confusion), -1e3)
        scores = np.log(_shares(posterior, prior)) + np.einsum("epl,ptl->et", counts, logs)
    scores -= scores.max(1, keepdims=True)
    following = np.exp(scores)
    return following / following.sum(1, keepdims=True)
