"""Errors that an annotator shares with a model: the statistic, its null, and its table."""

import itertools
from dataclasses import asdict

import numpy as np
import pytest

from analysis.stats import error_overlap
from analysis.stats.error_overlap import UNKNOWN, overlaps
from analysis.stats.significance import holm
from benchmarks import ai_use


def test_shares_are_those_computed_by_hand():
    # Ten examples; the model is wrong on the first six, with the code 1.
    model = np.array([1] * 6 + [0] * 4)
    people = np.array(
        [
            [1, 1, 1, 1, 1, 0, 1, 0, 0, 0],  # six errors, five of them the model's
            [1, 0, 0, 2, 0, 0, 1, 1, 1, 0],  # five errors, one of them the model's
            [1, 0, 0, 0, 2, 2, 1, 0, 2, 0],  # five errors, one of them the model's
        ]
    )
    own = overlaps(people, [model])[0][0]
    assert (own.errors, own.same, own.model_errors) == (6, 5, 6)
    # On the six examples, each of the others gives the model's answer once.
    assert own.share == pytest.approx(5 / 6)
    assert own.others == pytest.approx(1 / 6)
    assert own.difference == pytest.approx(4 / 6)
    # Wilson's interval of 5 of 6, minus 1/6.
    assert (own.low, own.high) == pytest.approx((0.43649 - 1 / 6, 0.96995 - 1 / 6), abs=1e-4)
    # More than half are right on the second, third and sixth; the others never say 1 there.
    assert (own.telling, own.telling_same, own.telling_others) == (3, 2, 0)


def test_p_is_that_of_all_permutations_with_these_errors(monkeypatch):
    people = np.array(
        [[1, 1, 1, 1, 1, 0, 0, 0], [1, 0, 0, 0, 1, 1, 1, 1], [0, 1, 0, 1, 0, 1, 1, 1]]
    )
    model = np.array([1, 1, 1, 1, 1, 0, 0, 0])
    columns = [
        [c for c in itertools.product((0, 1), repeat=3) if sum(c) == total]
        for total in people.sum(0)
    ]
    every = (np.array(chosen).T for chosen in itertools.product(*columns))
    alike = [one for one in every if (one.sum(1) == people.sum(1)).all()]
    # With one wrong answer for each example, the statistic grows with the number of shared errors.
    values = np.array([_excess(one, model) for one in alike])
    exact = (values >= _excess(people, model) - 1e-9).mean()
    monkeypatch.setattr(error_overlap, "DRAWS", 10_000)
    monkeypatch.setattr(error_overlap, "ENOUGH", 10**9)
    assert len(alike) > 100
    assert overlaps(people, [model])[0][0].p == pytest.approx(exact, abs=0.01)


def _excess(people: np.ndarray, model: np.ndarray) -> float:
    """The first annotator's shared errors minus the mean of the others, written out."""
    wrong = [e for e in range(len(model)) if people[0, e]]
    shared = [[people[p, e] == model[e] for e in wrong] for p in range(len(people))]
    return sum(shared[0]) - float(np.mean([sum(own) for own in shared[1:]]))


def test_permutations_keep_examples_and_numbers_of_errors():
    people, _models = ai_use.crowd(np.random.default_rng(3), annotators=7, examples=40)
    drawn = next(error_overlap._permutations(people, np.random.default_rng(1)))
    assert (np.sort(drawn, axis=1) == np.sort(people, axis=0)).all()
    assert ((drawn > 0).sum(-1) == (people > 0).sum(-1)).all()
    assert (drawn != people).any()


def test_a_copier_is_found_and_honest_annotators_are_not():
    people, model = ai_use.crowd(np.random.default_rng(5), annotators=10, copiers=2)
    ps = holm([own.p for own in overlaps(people, [model])[0]])
    assert max(ps[:2]) < 0.01 < min(ps[2:])


def test_without_copiers_small_p_values_are_rare():
    ps = []
    for seed in range(40):
        # Abilities differ widely, so that the numbers of errors do too.
        people, model = ai_use.crowd(
            np.random.default_rng(seed), annotators=6, examples=120, copiers=0, spread=1.0
        )
        ps += [own.p for own in overlaps(people, [model], seed)[0] if not own.why_not]
    assert np.mean(np.array(ps) < 0.1) == pytest.approx(0.1, abs=0.05)


def test_names_of_answers_and_easy_examples_do_not_matter():
    people, model = ai_use.crowd(np.random.default_rng(2), annotators=6, examples=80)
    first = overlaps(people, [model], seed=4)
    renamed = np.where(people > 0, 50 - people, 0), np.where(model > 0, 50 - model, 0)
    easy = np.zeros((6, 30), int)
    longer = np.hstack([people, easy]), np.hstack([model, easy[0]])
    for others, models in (renamed, longer):
        again = overlaps(others, [models], seed=4)
        assert [asdict(own) for own in again[0]] == [asdict(own) for own in first[0]]


def test_the_seed_decides_the_p_value():
    people, model = ai_use.crowd(np.random.default_rng(2), annotators=6, copiers=0)
    first, again, other = (overlaps(people, [model], seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("people", "model", "why_not"),
    [
        (np.ones((2, 9), int), np.ones(9, int), "fewer than 3 annotators"),
        (np.ones((3, 9), int), np.array([1] * 4 + [0] * 5), "the model has fewer than 5 errors"),
        (np.zeros((3, 9), int), np.ones(9, int), "fewer than 5 errors"),
        (np.ones((3, 9), int), np.full(9, UNKNOWN), "the model has fewer than 5 errors"),
    ],
)
def test_where_it_cannot_work_there_is_a_reason(people, model, why_not):
    own = overlaps(people, [model])[0][0]
    assert own.why_not == why_not
    assert np.isnan([own.share, own.difference, own.low, own.p]).all()


def test_examples_without_the_models_answer_are_left_out():
    people, model = ai_use.crowd(np.random.default_rng(2), annotators=6, examples=80)
    unknown = np.where(np.arange(80) < 10, UNKNOWN, model)
    own = overlaps(people, [unknown])[0][0]
    assert own.errors == (people[0, 10:] > 0).sum()
    assert own.model_errors == (model[10:] > 0).sum()
