"""Statistical power, compared with simulated studies and published values."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.stats import power, two_way

SDS = st.floats(0.05, 20)
PEOPLE = st.integers(2, 60)
RESTS = st.floats(0, 1)


@pytest.mark.parametrize(
    ("n", "sds", "expected"),
    # Power of Welch's test in 200,000 studies simulated by others.
    [(3, 3.07, 0.697), (3, 2.0, 0.37), (5, 2.02, 0.777), (10, 1.33, 0.795)],
)
def test_power_of_welchs_test_has_the_expected_values(n, sds, expected):
    assert power.power(sds, n) == pytest.approx(expected, abs=0.005)


def test_power_at_a_corrected_level_is_about_half():
    """At .05 / 36, a pooled t test would detect 8.0 SDs with 80 % power; Welch's has 47 %."""
    assert power.power(8.0, 3, 0.05 / 36) == pytest.approx(0.47, abs=0.005)


@pytest.mark.parametrize(("n", "sds", "rest"), [(3, 3.0, 0.9), (5, 2.0, 0.5), (10, 1.3, 1.0)])
def test_power_matches_the_primary_test_in_simulated_studies(n, sds, rest):
    """It simulates annotators with noise over 60 contexts; `sds` is in SDs between their means."""
    draw, size, contexts = np.random.default_rng(n), 3000, 60
    arms = [
        place
        + draw.normal(0, math.sqrt(1 - rest**2), (size, n, 1))
        + draw.normal(0, rest * math.sqrt(contexts), (size, n, contexts))
        for place in (0, sds)
    ]
    parts = two_way.variances_of_difference(*arms)
    halves = two_way.reach(np.sqrt(parts.people), parts.people_df, *parts.both())
    gaps = arms[1].mean((1, 2)) - arms[0].mean((1, 2))
    found = (np.abs(gaps) > halves).mean()
    assert power.power(sds, n, noise=rest, contexts=contexts) == pytest.approx(found, abs=0.03)


def test_power_without_a_difference_is_the_size_of_the_test():
    """That size is below .05, as Welch's test has only three annotators per arm."""
    draw = np.random.default_rng(1)
    groups = draw.normal(0, 1, (2, 40_000, 3))
    found = (stats.ttest_ind(*groups, axis=1, equal_var=False).pvalue < 0.05).mean()
    assert power.power(0, 3) == pytest.approx(found, abs=0.003)
    assert power.power(0, 3) < 0.04


@pytest.mark.parametrize(("n", "sds"), [(3, 3.51), (5, 2.08), (8, 1.52), (30, 0.74)])
def test_the_smallest_difference_that_a_design_can_show(n, sds):
    assert power.detectable(n) == pytest.approx(sds, abs=0.006)
    assert power.power(power.detectable(n), n) == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("n", "comparisons", "sds"), [(3, 1, 3.51), (3, 36, 13.2), (3, 6, 6.74), (10, 36, 2.14)]
)
def test_the_smallest_difference_that_passes_holms_first_step(n, comparisons, sds):
    """CLUES has 36 contrasts; uncorrected, three annotators seemed to detect 3.51 SDs."""
    found = power.detectable(n, 0.05 / comparisons)
    assert found == pytest.approx(sds, abs=0.05)
    assert power.power(found, n, 0.05 / comparisons) == pytest.approx(0.8)


def test_power_of_arms_with_unequal_sds_matches_welchs_test():
    draw = np.random.default_rng(2)
    groups = draw.normal(0, 1, (40_000, 3)), draw.normal(3.0, 1.6, (40_000, 3))
    found = (stats.ttest_ind(*groups, axis=1, equal_var=False).pvalue < 0.05).mean()
    assert power.power(3.0, 3, ratio=1.6) == pytest.approx(found, abs=0.01)
    assert power.power(3.0, 3, ratio=1.6) < power.power(3.0, 3) - 0.15


@pytest.mark.parametrize(("n", "sds"), [(3, 3.51), (20, 0.92), (30, 0.745)])
def test_the_annotators_a_side_that_a_difference_needs(n, sds):
    assert power.group_needed(sds) == n
    assert power.power(sds, n) >= 0.8 > power.power(sds, n - 1)


def test_an_undetectable_difference_has_no_group_size():
    assert power.group_needed(0.001) is None
    assert power.group_needed(40) == 2
    assert power.detectable(2, level=0.0005) == math.inf
    assert power.detectable(1) == math.inf
    with pytest.raises(ValueError, match="above 0"):
        power.group_needed(0)


@given(SDS, SDS, PEOPLE, RESTS)
def test_a_larger_difference_never_has_less_power(first, second, n, rest):
    less, more = sorted([first, second])
    assert power.power(less, n, noise=rest) <= power.power(more, n, noise=rest) + 1e-12


@given(SDS, PEOPLE, RESTS, st.integers(2, 100))
def test_more_comparisons_never_have_more_power(sds, n, rest, comparisons):
    corrected = power.power(sds, n, 0.05 / comparisons, rest)
    assert corrected <= power.power(sds, n, noise=rest) + 1e-12


@given(SDS, PEOPLE, RESTS, st.sampled_from([20, 200]))
def test_noise_over_examples_never_adds_power(sds, n, rest, contexts):
    assert power.power(sds, n, noise=rest, contexts=contexts) <= power.power(sds, n) + 1e-12


def test_an_sd_from_three_people_leaves_a_wide_range():
    assert power.sd_range(1, 3) == pytest.approx((0.52, 6.28), abs=0.005)
    assert all(math.isnan(end) for end in power.sd_range(1, 1))
    # 5 points seem nearly certain with an SD of 1.2 (SST-2, 10 shots), but only three gave that SD.
    assert power.power(5 / 1.2, 3) > 0.9
    assert power.averaged_power(5 / 1.2, 3, sample_size=3) < 0.7
    # An SD from many people leaves hardly any doubt.
    assert power.averaged_power(5 / 1.2, 3, sample_size=1000) == pytest.approx(
        power.power(5 / 1.2, 3), abs=0.005
    )


@pytest.mark.long
def test_averaged_power_is_the_mean_over_the_possible_sds():
    draw = np.random.default_rng(3)
    sds = np.sqrt(2 / stats.chi2.rvs(2, size=4000, random_state=draw))
    simulated = np.mean([power.power(4.0 / sd, 3) for sd in sds])
    assert power.averaged_power(4.0, 3, sample_size=3) == pytest.approx(simulated, abs=0.02)


def test_annotators_and_examples_needed_for_an_interval():
    assert power.annotators_needed(1.0, sd=1.0) == 7
    assert power.examples_needed(0.05, mean=0.5) == 385
    with pytest.raises(ValueError, match="half width"):
        power.annotators_needed(0, sd=1)


def test_the_annotators_that_an_interval_needs_are_the_fewest():
    def reach(n: int, sd: float) -> float:
        return float(stats.t.ppf(0.975, n - 1)) * sd / math.sqrt(n)

    for width, sd in ((1.0, 1.0), (0.5, 8.0), (3.0, 0.1), (0.1, 30.0)):
        n = power.annotators_needed(width, sd)
        assert reach(n, sd) <= width
        assert n == 2 or reach(n - 1, sd) > width
