"""Calibration of confidence and the point of no further gain recover known true values."""

import random

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

from analysis.scores.confidence import CHANCES, by_unit, measures
from analysis.stats import learning
from analysis.stats.uncertainty import estimate, sums_and_resamples, t_interval
from annotation.simulation.policies import confidence_of


def test_measures_of_a_few_answers():
    answers = [(1, 5, 1), (1, 5, 0), (2, 1, 0), (2, 3, 0.5)]
    sure, right, ece, brier = measures(by_unit(answers).sum(0))
    assert (sure, right) == (2.5 / 4, 1.5 / 4)
    assert ece == pytest.approx((1 + 0 + 0) / 4)  # one of two answers rated 100 % is right
    assert brier == pytest.approx(1 / 4)


def test_the_brier_score_is_that_of_scikit_learn():
    draw = random.Random(3)
    answers = [(n % 7, draw.randrange(1, 6), draw.randrange(2)) for n in range(200)]
    *_others, brier = measures(by_unit(answers).sum(0))
    chances = [CHANCES[point - 1] for _who, point, _s1 in answers]
    assert brier == pytest.approx(brier_score_loss([s1 for *_, s1 in answers], chances))


def simulated(policy: str, seed: int, people: int = 20, answers: int = 60) -> np.ndarray:
    """Confidence of simulated annotators who are right with probability 0.7."""
    draw = random.Random(seed)
    rows = []
    for person in range(people):
        for _answer in range(answers):
            is_right = draw.random() < 0.7
            rows.append((person, confidence_of(policy, is_right, draw), float(is_right)))
    return by_unit(rows)


# Ratings are one point (1/4) too high, unless they are at the highest point (P = .7^4).
TOO_SURE = (1 - 0.7**4) / 4


@pytest.mark.long
@pytest.mark.parametrize(
    ("policy", "truth"), [("noisy:0.7", 0), ("noisy:0.7+confidence:1", TOO_SURE)]
)
def test_intervals_contain_the_known_overconfidence(policy, truth):
    contained = 0
    for seed in range(200):
        sums = sums_and_resamples(simulated(policy, seed), seed, resamples=400)
        sure, right, _ece, _brier = measures(sums)
        _value, low, high, _why = estimate(sure - right, 20)
        contained += low <= truth <= high
    assert 0.92 * 200 <= contained <= 0.98 * 200


def test_the_interval_of_a_mean_is_as_wide_as_its_t_interval():
    draw, people = np.random.default_rng(4), 12
    values = draw.normal(size=people)
    resamples = values[draw.integers(people, size=(200_000, people))].mean(1)
    mean, low, high, _why = estimate(np.array([values.mean(), *resamples]), people)
    t = t_interval(values)
    assert mean == values.mean()
    assert (high - low) == pytest.approx(t.high - t.low, rel=0.03)
    percentiles = np.ptp(np.quantile(resamples, [0.025, 0.975]))
    assert percentiles < 0.9 * (t.high - t.low)


def test_calibrated_annotators_are_right_as_often_as_they_say():
    answers, right, _errors = np.moveaxis(simulated("noisy:0.7", 1, 200, 200).sum(0), -1, 0)
    assert right / answers == pytest.approx(np.array(CHANCES), abs=0.02)


# The point of no further gain -------------------------------------------------------------------


def test_the_plateau_of_curves_without_noise():
    rising = 0.5 + 0.03 * np.minimum(np.arange(30), 10)
    points, gains = learning.plateaus(np.stack([rising, np.arange(30.0), np.ones(30), -rising]))
    assert list(points) == [10, 29, 0, 0]
    assert gains == pytest.approx([0.3, 29, 0, 0])


@pytest.mark.long
def test_intervals_contain_the_point_of_no_further_gain():
    truth = np.clip(0.4 + 0.05 * np.minimum(np.arange(30), 10), 0, 1)
    contained = 0
    for seed in range(200):
        draw = np.random.default_rng(seed)
        group = (draw.random((40, 30)) < truth + draw.normal(0, 0.05, (40, 1))).astype(float)
        points, _gains = learning.plateaus(sums_and_resamples(group, seed, resamples=400) / 40)
        _value, low, high, _why = estimate(points, 40)
        contained += low <= 10 <= high
    assert contained >= 0.92 * 200
