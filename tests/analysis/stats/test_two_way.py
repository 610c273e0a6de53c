"""The estimator of docs/statistics.md: worked numbers, and properties that hold for all scores."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.stats import two_way, uncertainty

MATRIX = np.array([[1, 1, 0, 1], [1, 0.5, 0, 1], [0, 1, 0, 1]])


def scores(seed: int, people: int, examples: int) -> np.ndarray:
    """Draw scores of 0 or 1 that depend on both the person and the example."""
    draw = np.random.default_rng(seed)
    logits = 1 + draw.normal(0, 0.7, (people, 1)) + draw.normal(0, 1.5, (1, examples))
    return (draw.random((people, examples)) < 1 / (1 + np.exp(-logits))).astype(float)


SEEDS = st.integers(0, 10_000)
SIZES = st.tuples(st.integers(2, 6), st.integers(2, 30))


def test_the_worked_matrix_below_the_floor():
    """Mean squares .0625, .576389 and .118056: people + contexts - rest is below contexts."""
    estimate = two_way.mean_estimate(MATRIX)
    assert estimate.value == 0.625
    assert estimate.se**2 == pytest.approx(0.576389 / 12, abs=1e-6)
    # By hand: .048032^2 / (.005208^2 / 2 + .048032^2 / 3 + .009838^2 / 6).
    assert estimate.df == pytest.approx(2.8885, abs=1e-4)
    assert estimate.people_se == pytest.approx(0.125 / math.sqrt(3))
    assert estimate.people_df == 2
    assert estimate.reach() == pytest.approx(stats.t.ppf(0.975, estimate.df) * 0.2191630)
    # Variance components that may not be negative give the same.
    parts = two_way.components(MATRIX).variances(3, 4)
    assert estimate.se**2 == pytest.approx(parts.both()[0] ** 2)


@given(SEEDS, SIZES)
def test_the_standard_error_equals_that_of_the_mean_squares(seed, sizes):
    """Both follow from sums of squares and Satterthwaite's degrees of freedom."""
    matrix = scores(seed, *sizes)
    a, b = sizes
    rows, columns, grand = matrix.mean(1), matrix.mean(0), matrix.mean()
    people = b * sum((row - grand) ** 2 for row in rows) / (a - 1)
    contexts = a * sum((column - grand) ** 2 for column in columns) / (b - 1)
    rest = sum(
        (matrix[i, j] - rows[i] - columns[j] + grand) ** 2 for i in range(a) for j in range(b)
    ) / ((a - 1) * (b - 1))
    estimate = two_way.mean_estimate(matrix)
    if people < 1e-12:
        assert estimate.why_not == "annotators tie"
        assert math.isnan(estimate.reach())
        return
    total = max(people + contexts - rest, people, contexts)
    df = total**2 / (people**2 / (a - 1) + contexts**2 / (b - 1) + rest**2 / ((a - 1) * (b - 1)))
    assert estimate.df == pytest.approx(max(df, min(a, b) - 1))
    assert estimate.se**2 == pytest.approx(total / (a * b))


@pytest.mark.parametrize("people_are_larger", [True, False])
def test_the_degrees_of_freedom_are_continuous_at_the_floor(people_are_larger):
    """The floor applies once the residual mean square exceeds the smaller of the other two."""

    def both(hair: float) -> tuple[float, float]:
        rest = 2.0 - hair
        people, contexts = (9.0, 2.0) if people_are_larger else (2.0, 9.0)
        se, df = two_way.Variances(people, 2, contexts, 19, rest, 38).both()
        return float(se), float(df)

    at_the_floor = both(0)
    for hair in (1e-9, -1e-9):
        assert both(hair) == pytest.approx(at_the_floor, rel=1e-6)
    weights = 81 / 2 + 4 / 19 + 4 / 38 if people_are_larger else 4 / 2 + 81 / 19 + 4 / 38
    assert at_the_floor == pytest.approx((3, max(81 / weights, 2)))


def test_a_shift_common_to_both_arms_does_not_change_the_se():
    first, second = scores(1, 3, 40), scores(2, 4, 40)
    harder = np.linspace(-1, 1, 40)
    plain = two_way.difference_estimate(first, second)
    shifted = two_way.difference_estimate(first + harder, second + harder)
    assert shifted.se == pytest.approx(plain.se)
    assert plain.value == pytest.approx(second.mean() - first.mean())
    means = first.mean(1), second.mean(1)
    welch = stats.ttest_ind(*means, equal_var=False)
    assert plain.people_df == pytest.approx(welch.df)
    assert 2 * stats.t.sf(abs(plain.value) / plain.people_se, plain.people_df) == pytest.approx(
        welch.pvalue
    )


def test_contexts_are_weighted_by_their_examples():
    """Each annotator's mean over contexts equals the mean over examples, despite unequal sizes."""
    values = two_way.layout(MATRIX, list("aaab"))
    assert values.mean(1) == pytest.approx(MATRIX.mean(1))
    assert values.shape == (3, 2)
    # By hand: .625 + 2 / 4 of the sum of deviations in the context.
    assert values[0] == pytest.approx([0.625 + (2 - 3 * 0.625) / 2, 0.625 + 0.375 / 2])
    # The SE of contexts is Miller's (2024) clustered SE, apart from the correction 2 / 1.
    parts = two_way.variances(two_way.layout(MATRIX, list("aaab")))
    gaps = MATRIX.mean(0) - MATRIX.mean()
    clustered = (gaps[:3].sum() ** 2 + gaps[3] ** 2) / 4**2
    assert parts.contexts == pytest.approx(clustered * 2 / 1)


def test_contexts_of_equal_size_are_averaged():
    assert two_way.layout(MATRIX, list("abab")) == pytest.approx(
        (MATRIX[:, :2] + MATRIX[:, 2:]) / 2
    )


@pytest.mark.parametrize(
    ("matrix", "contexts", "why_not"),
    [
        (np.empty((0, 4)), None, "no annotator"),
        (MATRIX[:1], None, "one annotator"),
        (np.full((3, 4), 0.7), None, "annotators tie"),
        (np.array([[1.0, 0, 1], [0, 1, 1], [1, 1, 0]]), None, "annotators tie"),
        (MATRIX, list("aaaa"), "one context"),
        (np.where(MATRIX == 0.5, np.nan, MATRIX), None, "values are missing"),
    ],
)
def test_without_variation_an_estimate_has_a_reason_not_interval(matrix, contexts, why_not):
    estimate = two_way.mean_estimate(matrix, contexts)
    assert estimate.why_not == why_not
    assert all(math.isnan(end) for end in estimate.interval())
    assert math.isnan(estimate.p())
    assert math.isnan(estimate.p_equivalence(5))


@pytest.mark.filterwarnings("error")
def test_no_interval_has_zero_width():
    for right in range(201):
        tied = two_way.mean_estimate(np.tile(np.arange(200) < right, (3, 1)).astype(float))
        assert tied.why_not == "annotators tie"
    arms = np.tile(np.arange(10) < 7, (3, 1)), np.tile(np.arange(10) < 5, (3, 1))
    both = two_way.difference_estimate(*(arm.astype(float) for arm in arms))
    assert both.why_not == "annotators tie"
    assert both.value == pytest.approx(-0.2)


@given(SEEDS, SIZES, st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_p_and_interval_agree(seed, sizes, level):
    first, second = scores(seed, *sizes), scores(seed + 1, *sizes)
    estimate = two_way.difference_estimate(first, second)
    low, high = estimate.interval(level)
    if estimate.why_not or math.isclose(abs(estimate.value), estimate.reach(level)):
        return
    assert (estimate.p() < 1 - level) == (low > 0 or high < 0)


@given(SEEDS, SIZES, st.floats(0.01, 1))
def test_equivalence_is_the_90_percent_interval_in_the_margin(seed, sizes, margin):
    estimate = two_way.difference_estimate(scores(seed, *sizes), scores(seed + 1, *sizes))
    low, high = estimate.interval(0.9)
    if estimate.why_not or math.isclose(max(-low, high), margin):
        return
    assert (estimate.p_equivalence(margin) < 0.05) == (-margin < low and high < margin)


@given(SEEDS, SIZES, st.sampled_from([0.9, 0.95]))
def test_a_more_general_interval_is_never_narrower(seed, sizes, level):
    matrix = scores(seed, *sizes)
    estimate = two_way.mean_estimate(matrix)
    if estimate.why_not:
        return
    people = uncertainty.t_interval(matrix.mean(1), level)
    assert estimate.reach(level) >= (people.high - people.low) / 2 - 1e-12
    assert estimate.se >= estimate.people_se - 1e-12


def test_many_studies_computed_together_equal_each_alone():
    matrices = np.array([scores(seed, 3, 12) for seed in range(20)])
    parts = two_way.variances(matrices)
    ses, dfs = parts.both()
    for index, matrix in enumerate(matrices):
        own = two_way.mean_estimate(matrix)
        if not own.why_not:
            assert (ses[index], dfs[index]) == pytest.approx((own.se, own.df))


def test_the_components_of_variance():
    parts = two_way.components(MATRIX)
    assert parts.annotators == 0
    assert (parts.contexts, parts.rest) == pytest.approx((0.152778, 0.118056), abs=1e-6)
    variances = parts.variances(3, 4)
    assert variances.people + variances.contexts - variances.rest == pytest.approx(
        0.048032, abs=1e-6
    )
    assert two_way.components(MATRIX[:1]) is None
    # By hand, the mean squares over contexts are .09375 and .03125, with three people.
    assert two_way.components(MATRIX, list("aabb")).contexts == pytest.approx(0.0625 / 3)


def test_hedges_g_is_corrected_exactly():
    """J = .7979 for four degrees of freedom; d = 10 / 4, from pooled variance (13 + 19) / 2."""
    assert two_way.hedges_g([70, 71, 78], [80, 82, 87]) == pytest.approx(0.797885 * 2.5, abs=1e-5)
    assert math.isnan(two_way.hedges_g([0.7] * 3, [0.5] * 3))
    assert math.isnan(two_way.hedges_g([0.7], [0.5, 0.6]))
