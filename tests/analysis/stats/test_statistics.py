"""Statistics equal published examples, or values enumerated over all cases."""

import itertools
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.stats import agreement, significance, uncertainty
from tasks.metrics import s1

MATRIX = np.array([[1, 1, 0, 1], [1, 0.5, 0, 1], [0, 1, 0, 1]])
SETS = [
    [{"Ekeus", "Allawi"}, {"Ekeus", "Allawi"}, {"Ekeus"}],
    [set(), set(), set()],
    [{"EU"}, {"EU", "UN"}, set()],
    [{"Paris"}, {"Paris"}, {"Paris"}],
]
UNITS = [[frozenset(answer) for answer in unit] for unit in SETS]


# Uncertainty -------------------------------------------------------------------------------------


def test_the_t_interval_of_three_annotators():
    interval = uncertainty.t_interval([80, 82, 87])
    assert (interval.low, interval.high) == pytest.approx((74.04, 91.96), abs=0.005)


def test_one_annotator_has_no_t_interval():
    assert math.isnan(uncertainty.t_interval([80]).low)
    assert uncertainty.why_no_interval([80]) == "one annotator"


@pytest.mark.parametrize("total", [200, 210, 600])
def test_annotators_who_tie_have_no_t_interval_despite_rounding(total):
    for right in range(total + 1):
        for score in (right / total, 100 * right / total):
            assert uncertainty.sd([score] * 3) == 0
            assert math.isnan(uncertainty.t_interval([score] * 3).low)
            assert uncertainty.why_no_interval([score] * 3) == "annotators tie"


def test_a_t_interval_of_scores_is_limited_to_possible_scores():
    interval = uncertainty.t_interval_of_scores([0.5, 0.7, 1.0])
    assert interval.high == 1.0
    assert interval.low == pytest.approx(uncertainty.t_interval([0.5, 0.7, 1.0]).low)


@pytest.mark.parametrize(
    ("right", "total", "low", "high"), [(175, 210, 0.7770, 0.8777), (0, 10, 0, 0.2775)]
)
def test_wilson(right, total, low, high):
    assert uncertainty.wilson(right, total) == pytest.approx((low, high), abs=5e-5)


def exact(over: str) -> list[float]:
    """Return the mean of each equally likely resample."""
    people, examples = MATRIX.shape
    rows = [range(people)] if over == "examples" else itertools.product(range(3), repeat=people)
    columns = (
        [range(examples)] if over == "annotators" else itertools.product(range(4), repeat=examples)
    )
    return [MATRIX[np.ix_(r, c)].mean() for r, c in itertools.product(list(rows), list(columns))]


@pytest.mark.parametrize(
    ("over", "sd", "low", "high"),
    [
        ("both", 0.210750, 0.166667, 1.0),
        ("examples", 0.189801, 0.208333, 0.916667),
        ("annotators", 0.058926, 0.5, 0.75),
    ],
)
def test_the_bootstrap_comes_near_the_exact_one(over, sd, low, high):
    every = exact(over)
    assert np.std(every) == pytest.approx(sd, abs=1e-6)
    interval = uncertainty.bootstrap(MATRIX, over, seed=1, resamples=40_000)
    assert interval.sd == pytest.approx(sd, rel=0.02)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.045)


def test_the_same_seed_gives_the_same_interval():
    first, same, other = (uncertainty.bootstrap(MATRIX, "both", seed=seed) for seed in (3, 3, 4))
    assert first == same
    assert first.sd != other.sd


def test_examples_of_one_context_are_drawn_together():
    alone = uncertainty.bootstrap(MATRIX, "examples", seed=1)
    together = uncertainty.bootstrap(MATRIX, "examples", clusters=list("aabb"), seed=1)
    one_context = uncertainty.bootstrap(MATRIX, "examples", clusters=list("aaaa"), seed=1)
    assert one_context.sd == pytest.approx(0)
    assert together.sd != pytest.approx(alone.sd, rel=0.02)


def test_an_answer_that_is_missing_is_not_counted_as_wrong():
    gap = MATRIX.copy()
    gap[2, 0] = np.nan
    interval = uncertainty.bootstrap(gap, "annotators", seed=1, resamples=20_000)
    assert (interval.low + interval.high) / 2 > 0.55
    assert interval.high == pytest.approx(0.75)


@pytest.mark.parametrize("matrix", [np.empty((0, 4)), np.full((3, 4), np.nan)])
def test_an_empty_matrix_cannot_be_resampled(matrix):
    with pytest.raises(ValueError, match="no answers"):
        uncertainty.bootstrap(matrix, "both")


# Agreement ---------------------------------------------------------------------------------------

CODERS = [
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
]


def coded() -> list[list[int]]:
    columns = zip(*(row.split() for row in CODERS), strict=True)
    return [[int(value) for value in column if value != "."] for column in columns]


def test_alpha_of_krippendorffs_published_example():
    """Krippendorff (2011), data C: nominal .743, interval .849."""
    assert agreement.alpha(coded()) == pytest.approx(0.7434, abs=5e-5)
    squared = agreement.alpha(coded(), lambda a, b: (a - b) ** 2)
    assert squared == pytest.approx(0.8491, abs=5e-5)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("nominal", 0.5089), ("Jaccard", 0.6468), ("MASI", 0.6000), ("1 - S1", 0.6944)],
)
def test_alpha_on_sets(name, expected):
    alpha = agreement.alpha(UNITS, agreement.DISTANCES[name])
    assert alpha == pytest.approx(expected, abs=5e-5)


@given(
    st.lists(
        st.lists(st.frozensets(st.sampled_from("abcd"), max_size=3), min_size=2, max_size=4),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from(sorted(agreement.DISTANCES)),
)
def test_alpha_of_sets_equals_the_computation_over_all_pairs(units, name):
    distance = agreement.DISTANCES[name]
    # Tuples don't take the shortcut for sets, but go through all pairs.
    long_way = agreement.alpha(
        [[tuple(sorted(answer)) for answer in unit] for unit in units],
        lambda a, b: distance(frozenset(a), frozenset(b)),
    )
    assert agreement.alpha(units, distance) == pytest.approx(long_way)


@given(
    st.lists(st.lists(st.frozensets(st.sampled_from("abcd"), max_size=2), max_size=4), max_size=6),
    st.sampled_from(sorted(agreement.DISTANCES)),
)
def test_alpha_with_unanimous_examples_equals_the_definition(units, name):
    """Both are computed from their definitions, over every pair of answers."""
    distance = agreement.DISTANCES[name]
    paired = [unit for unit in units if len(unit) > 1]
    pooled = [answer for unit in paired for answer in unit]
    within = sum(
        distance(a, b) / (len(unit) - 1)
        for unit in paired
        for a, b in itertools.permutations(unit, 2)
    )
    between = sum(distance(a, b) for a, b in itertools.permutations(pooled, 2))
    expected = 1 - within * (len(pooled) - 1) / between if between else None
    assert agreement.alpha(units, distance) == (
        expected if expected is None else pytest.approx(expected, abs=1e-12)
    )
    pairs = [[s1(a, b) for a, b in itertools.combinations(unit, 2)] for unit in paired]
    means = [sum(own) / len(own) for own in pairs]
    mean = agreement.mean_pairwise_s1(units)
    assert mean == (pytest.approx(sum(means) / len(means), abs=1e-12) if means else None)


@pytest.mark.parametrize("name", agreement.DISTANCES)
def test_empty_sets_are_equal_and_wholly_different_from_others(name):
    distance = agreement.DISTANCES[name]
    assert distance(frozenset(), frozenset()) == 0
    assert distance(frozenset(), frozenset("a")) == distance(frozenset("a"), frozenset()) == 1


def test_masi():
    assert agreement.masi(frozenset({1, 2}), frozenset({1, 2, 3, 4})) == pytest.approx(2 / 3)


def test_alpha_is_undefined_without_variation():
    assert agreement.alpha([["a", "a"], ["a", "a"]]) is None
    assert agreement.alpha([["a"], ["b"]]) is None


@pytest.mark.parametrize(
    ("name", "first"),
    # Two annotators answer {Ekeus, Allawi} and one {Ekeus}. Of the three pairs, one is equal; the
    # other two are at distance 1, 1 - 1/2, 1 - 2/3 x 1/2 or 1 - 2/3.
    [("nominal", 2 / 3), ("Jaccard", 1 / 3), ("MASI", 4 / 9), ("1 - S1", 2 / 9)],
)
def test_the_disagreement_on_one_example(name, first):
    distance = agreement.DISTANCES[name]
    assert agreement.observed_disagreement(UNITS[0], distance) == pytest.approx(first)
    assert agreement.observed_disagreement(UNITS[1], distance) == 0
    assert agreement.observed_disagreement(UNITS[0][:1], distance) is None


def test_alpha_observed_disagreement_is_the_mean_over_examples():
    # By hand, the nominal D_o is 5 / 12. All four examples have three answers.
    disagreements = [agreement.observed_disagreement(unit) for unit in UNITS]
    assert sum(disagreements) / len(disagreements) == pytest.approx(0.4167, abs=5e-5)


def test_pairwise_s1():
    scores = [agreement.pairwise_s1(unit) for unit in UNITS]
    assert scores == pytest.approx([0.777778, 1, 0.222222, 1], abs=1e-6)
    assert agreement.mean_pairwise_s1(UNITS) == pytest.approx(0.75)
    assert agreement.pairwise_s1(UNITS[0][:1]) is None


# Aggregation -------------------------------------------------------------------------------------


def test_the_majority_of_sets():
    majorities = [agreement.majority_set(unit) for unit in UNITS]
    assert majorities == [{"Allawi", "Ekeus"}, set(), {"EU"}, {"Paris"}]


def test_plurality_of_tied_labels_is_none():
    assert agreement.plurality(["a", "b", "a"]) == "a"
    assert agreement.plurality(["a", "b"]) is None


def test_dawid_and_skene_may_go_against_the_majority():
    units = ["AAB", "AAA", "BBA", "BBB", "ABB", "AAB"]
    votes = [dict(zip("xyz", unit, strict=True)) for unit in units]
    posteriors, shares = agreement.dawid_skene(votes, prior=0)
    best = [max(posterior, key=posterior.get) for posterior in posteriors]
    assert best == list("AABBAA")
    assert shares == pytest.approx({"A": 2 / 3, "B": 1 / 3}, abs=1e-3)


# Significance ------------------------------------------------------------------------------------


def test_the_exact_permutation_reaches_its_floor():
    assert significance.permutation([80, 82, 87], [70, 71, 78]) == pytest.approx(0.1)
    assert significance.smallest_p(3, 3) == pytest.approx(0.1)
    assert significance.smallest_p(4, 4) == pytest.approx(0.029, abs=5e-4)
    assert significance.smallest_p(5, 5) == pytest.approx(0.0079, abs=5e-5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("total", "seeming_to_vary"), [(200, 37), (210, 38), (600, 94)])
def test_two_groups_that_each_tie_have_no_welch_p(total, seeming_to_vary):
    scores = [right / total for right in range(total + 1)]
    # In floating point, the variance of three equal scores is often not 0.
    assert sum(np.var([score] * 3) > 0 for score in scores) == seeming_to_vary
    for score in scores:
        assert math.isnan(significance.welch([0.5] * 3, [score] * 3))
    assert math.isnan(significance.welch([147 / 210] * 3, [149 / 210] * 3))


@pytest.mark.filterwarnings("error")
def test_welch_tests_a_group_that_ties_against_one_that_does_not():
    tied, other = [0.7] * 3, [0.5, 0.6, 0.7]
    # By hand: t = 0.1 / (0.1 / sqrt(3)) with 2 degrees of freedom.
    assert significance.welch(tied, other) == pytest.approx(0.2254033)


def test_welch():
    assert significance.welch([80, 82, 87], [70, 71, 78]) == pytest.approx(0.0393, abs=5e-5)
    assert math.isnan(significance.welch([80], [70, 71]))


def test_quantiles_and_tails_are_those_of_scipy():
    draw = np.random.default_rng(5)
    for _ in range(50):
        began = draw.integers(1, 40, size=2)
        done = [int(draw.integers(0, whole + 1)) for whole in began]
        table = [[one, int(whole) - one] for one, whole in zip(done, began, strict=True)]
        p = significance.fisher((done[0], done[1]), (int(began[0]), int(began[1])))
        assert p == pytest.approx(stats.fisher_exact(table).pvalue, rel=1e-12)
        right, total = done[0], int(began[0])
        interval = stats.binomtest(right, total).proportion_ci(method="wilson")
        assert uncertainty.wilson(right, total) == pytest.approx(tuple(interval), abs=1e-12)
        first, second = draw.random(draw.integers(2, 9)), 2 * draw.random(draw.integers(2, 9))
        expected = stats.ttest_ind(first, second, equal_var=False).pvalue
        assert significance.welch(first, second) == pytest.approx(expected, rel=1e-10)


def test_holm():
    corrected = significance.holm([0.01, 0.04, 0.03, 0.005])
    assert corrected == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert math.isnan(significance.holm([math.nan, 0.01])[0])


def test_sign_flips():
    p = significance.sign_flips([[0.33, 0, -1, 0.67, 0.33, 1, 0, 0.33]])[0]
    assert p == pytest.approx(0.4375)


@pytest.mark.parametrize(("pairs", "smallest"), [(0, 1), (1, 1), (3, 0.25), (16, 2**-15)])
def test_the_smallest_sign_flip_p_is_reached_if_all_signs_agree(pairs, smallest):
    assert significance.smallest_sign_flip_p([0.5] * pairs + [0.0]) == smallest
    assert significance.sign_flips([[0.5] * pairs + [0.0]]) == [smallest]
    assert significance.smallest_sign_flip_p([0.5] * 17) == 1 / 10_001


@pytest.mark.parametrize("n", [30, 40, 301])
def test_sign_flips_in_chunks_equal_one_draw(n):
    differences = np.round(np.random.default_rng(n).normal(0.3, 3, n)) / 3  # with many ties
    differences = differences[differences != 0]
    signs = np.random.default_rng(5).choice((-1, 1), (10_000, len(differences)))
    reached = int((np.abs(signs @ differences) >= abs(differences.sum()) - 1e-12).sum())
    assert significance.sign_flips([differences], 5) == [(reached + 1) / 10_001]


def test_sign_flips_of_several_samples_equal_those_of_each():
    draw = np.random.default_rng(11)
    several = [draw.normal(0.05, 0.4, n).tolist() for n in (3, 16, 17, 50, 17, 61, 200)]
    alone = [significance.sign_flips([differences], 7)[0] for differences in several]
    assert significance.sign_flips(several, 7) == alone
    assert len(set(alone)) == len(alone)


ALPHA = """
import random
from analysis.stats import agreement
draw = random.Random(3)
texts = ["Anna Berg", "Anna", "Oslo city", "Oslo", "Rome now", "Rome"]
units = [[frozenset(draw.sample(texts, draw.randint(0, 3))) for _ in range(5)] for _ in range(60)]
print(repr(agreement.alpha(units, agreement.one_minus_s1)))
"""


def test_alpha_does_not_depend_on_the_hash_seed():
    alphas = {
        subprocess.check_output(
            [sys.executable, "-c", ALPHA], env=os.environ | {"PYTHONHASHSEED": seed}, text=True
        )
        for seed in "1234"
    }
    assert len(alphas) == 1, alphas
