"""Dawid-Skene with a Dirichlet prior, checked by enumerating all labellings of small sets."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize

from analysis.stats import agreement

pytestmark = pytest.mark.long

LABELS = "AB"
SMALL = [
    ["AAB", "AAA", "BBA", "BBB", "ABB", "AAB"],
    ["AAA", "BBB", "ABA", "AAA", "BBA"],
    ["AB", "BB", "AA", "AA"],
    ["AAAA", "BBBB", "ABAB", "AABA", "BBBA", "AAAA", "BBAB"],
]


def votes_of(units):
    return [dict(zip("wxyz", unit, strict=False)) for unit in units]


def log_posterior(units, prior, shares, confusion) -> float:
    """Return the log posterior: the votes over every labelling, with a Dirichlet(1 + prior)."""
    likelihood = 0.0
    for truth in itertools.product(range(2), repeat=len(units)):
        chance = 1.0
        for true, unit in zip(truth, units, strict=True):
            chance *= shares[true]
            for person, label in enumerate(unit):
                chance *= confusion[person, true, LABELS.index(label)]
        likelihood += chance
    return math.log(likelihood) + prior * (np.log(shares).sum() + np.log(confusion).sum())


def parameters(units, numbers):
    """Return the label shares and confusion matrices that an optimiser moves as logits."""
    first = 1 / (1 + np.exp(-np.asarray(numbers)))
    pairs = np.stack([first, 1 - first], axis=-1)
    return pairs[0], pairs[1:].reshape(len(units[0]), 2, 2)


def highest(units, prior) -> float:
    """Return the highest log posterior that an optimiser finds from 12 starts."""
    draw = np.random.default_rng(5)
    size = 1 + 2 * len(units[0])

    def minus(numbers):
        return -log_posterior(units, prior, *parameters(units, numbers))

    starts = [draw.normal(0, 1.5, size) for _ in range(12)]
    return -min(optimize.minimize(minus, start, method="BFGS").fun for start in starts)


def chances(units, shares, confusion) -> np.ndarray:
    """Return P(A) of each example under these parameters, over every labelling."""
    weights = {}
    for truth in itertools.product(range(2), repeat=len(units)):
        weights[truth] = math.prod(
            shares[true]
            * math.prod(confusion[p, true, LABELS.index(label)] for p, label in enumerate(unit))
            for true, unit in zip(truth, units, strict=True)
        )
    total = sum(weights.values())
    return np.array([
        sum(weight for truth, weight in weights.items() if truth[place] == 0) / total
        for place in range(len(units))
    ])  # fmt: skip


@pytest.mark.parametrize("units", SMALL)
@pytest.mark.parametrize("prior", [0.5, agreement.PRIOR])
def test_dawid_skene_is_the_mode_of_the_posterior(units, prior):
    """Its labels imply parameters at the optimum, which in turn imply these labels."""
    posteriors, shares = agreement.dawid_skene(votes_of(units), prior=prior, tolerance=1e-12)
    of_a = np.array([posterior["A"] for posterior in posteriors])
    confusion = np.full((len(units[0]), 2, 2), prior)
    for place, unit in enumerate(units):
        for person, label in enumerate(unit):
            confusion[person, :, LABELS.index(label)] += [of_a[place], 1 - of_a[place]]
    confusion /= confusion.sum(2, keepdims=True)
    both = np.array([shares["A"], shares["B"]])
    assert log_posterior(units, prior, both, confusion) == pytest.approx(
        highest(units, prior), abs=1e-6
    )
    assert of_a == pytest.approx(chances(units, both, confusion), abs=1e-9)


def test_an_example_without_votes_has_the_label_shares():
    votes = [*votes_of(["AAB", "AAA", "AAA", "BBB"]), {}]
    for prior in (0, agreement.PRIOR):
        posteriors, shares = agreement.dawid_skene(votes, prior=prior)
        assert not any(math.isnan(p) for posterior in posteriors for p in posterior.values())
        assert posteriors[-1] == pytest.approx(shares, abs=1e-6)


def test_three_weak_annotators_are_not_overruled():
    """Without the prior, Dawid-Skene does worse than the majority at accuracies near .83."""
    gains = {0.0: [], agreement.PRIOR: []}
    draw = np.random.default_rng(1)
    for _ in range(40):
        truth = draw.integers(0, 2, 210)
        right = draw.random((210, 3)) < np.clip(draw.normal(0.83, 0.03, 3), 0.5, 1)
        said = np.where(right, truth[:, None], 1 - truth[:, None])
        majority = (said.sum(1) >= 2) == truth
        votes = [{str(p): LABELS[label] for p, label in enumerate(row)} for row in said]
        for prior, own in gains.items():
            posteriors, _shares = agreement.dawid_skene(votes, prior=prior)
            chosen = np.array([posterior["B"] > 0.5 for posterior in posteriors])
            own.append((chosen == truth).mean() - majority.mean())
    assert np.mean(gains[0.0]) < -0.004
    assert np.mean(gains[agreement.PRIOR]) > -0.002
