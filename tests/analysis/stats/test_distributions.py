"""Tails, quantiles, nodes and roots equal scipy's, over wider ranges than callers use."""

import math

import numpy as np
import pytest
from scipy import optimize, special, stats

from analysis.stats import distributions

DFS = np.concatenate([np.linspace(1, 10, 91), np.geomspace(10, 1e9, 60)])
SHARES = np.concatenate([(np.arange(200) + 0.5) / 200, [0.001, 0.025, 0.975, 0.999]])


def same(found, expected, rel=1e-12, far=1e-14):
    """Compare to 12 digits, except where both are below 1e-14."""
    np.testing.assert_allclose(found, expected, rtol=rel, atol=far)


def t_tails(t, df):
    """Return P(T > t) for t >= 0; for one df and small t, scipy's stdtr has only 9 digits."""
    near = 0.5 - special.betainc(0.5, df / 2, t**2 / (df + t**2)) / 2
    return np.where(t < 0.5, near, special.stdtr(df, -t))


def test_tails_of_t():
    t, df = np.meshgrid(np.concatenate([[0], np.geomspace(1e-9, 1e9, 200)]), DFS)
    tails = distributions.t_tail(t, df)
    same(tails, t_tails(t, df))
    is_seen = tails > 1e-100  # below this, the rounding of e^-s² matters
    np.testing.assert_allclose(tails[is_seen], t_tails(t, df)[is_seen], rtol=1e-12)
    same(distributions.t_tail(-t, df), 1 - t_tails(t, df))


@pytest.mark.parametrize("df", [1, 1.5, 2, 7.3, 1e5, math.inf])
def test_tails_of_t_at_extremes(df):
    assert distributions.t_tail(0, df) == 0.5
    assert distributions.t_tail(10**12, df) == pytest.approx(stats.t.sf(1e12, df), rel=1e-9)
    assert distributions.t_tail(math.inf, df) == 0
    assert distributions.t_tail(-math.inf, df) == 1
    assert math.isnan(distributions.t_tail(math.nan, df))
    assert math.isnan(distributions.t_tail(1, math.nan))


def test_tails_of_t_with_one_and_infinitely_many_degrees_of_freedom():
    t = np.geomspace(1e-9, 1e9, 300)
    np.testing.assert_allclose(distributions.t_tail(t, 1), np.atan2(1, t) / math.pi, rtol=1e-12)
    t = np.geomspace(1e-9, 30, 300)
    np.testing.assert_allclose(distributions.t_tail(t, math.inf), special.ndtr(-t), rtol=1e-12)


@pytest.mark.parametrize("tail", [0.4, 0.25, 0.1, 0.05, 0.025, 0.005, 2.5e-5, 1e-9])
def test_quantiles_of_t(tail):
    """The levels in use are included: .05 one-sided, and two-sided for 1 to 1,000 comparisons."""
    for p in (tail, 1 - tail):
        expected = special.stdtrit(DFS, p)
        np.testing.assert_allclose(distributions.t_quantiles(p, DFS), expected, rtol=5e-14)
    assert distributions.t_quantile(p, 7.3) == pytest.approx(special.stdtrit(7.3, p), rel=5e-14)
    assert distributions.t_quantile(p, math.inf) == pytest.approx(special.ndtri(p), rel=1e-13)


def test_quantiles_of_t_have_the_shape_of_the_degrees_of_freedom():
    df = DFS[:150].reshape(5, 30)
    found = distributions.t_quantiles(0.975, df)
    np.testing.assert_allclose(found, special.stdtrit(df, 0.975), rtol=5e-14)
    unknown = distributions.t_quantiles(0.975, np.array([math.nan, 3]))
    assert math.isnan(unknown[0])
    assert unknown[1] == pytest.approx(stats.t.ppf(0.975, 3), rel=1e-14)
    assert distributions.t_quantile(0.5, 3) == pytest.approx(0, abs=1e-12)


def test_normal_tails():
    x = np.concatenate([np.linspace(-9, 9, 300_001), np.random.default_rng(1).normal(0, 3, 10_000)])
    found = distributions.normal_cdf(x)
    np.testing.assert_allclose(found, special.ndtr(x), rtol=0, atol=5e-16)
    inside = x[x > -8.9]
    np.testing.assert_allclose(distributions.normal_cdf(inside), special.ndtr(inside), rtol=1e-12)
    far = distributions.normal_cdf(np.array([[-1e9, -40, -9.5], [9.5, 40, 1e9]]))
    assert (far[1] == 1).all()
    assert (far[0] < 1.2e-19).all()
    assert (far[0] >= 0).all()


@pytest.mark.parametrize("a", [0.5, 1, 1.5, 2, 3, 4.5, 10, 29.5, 100, 999, 1e4, 1e5, 1e7])
def test_quantiles_of_gamma(a):
    expected = special.gammaincinv(a, SHARES)
    np.testing.assert_allclose(distributions.gamma_quantiles(SHARES, a), expected, rtol=1e-12)


@pytest.mark.parametrize("df", [1, 2, 3, 7, 30, 299, 300, 2.5])
def test_nodes_for_a_beta_distribution(df):
    nodes, weights = distributions.beta_nodes(12, df)
    expected, expected_weights = special.roots_jacobi(12, df / 2 - 1, df / 2 - 1)
    np.testing.assert_allclose(nodes, (expected + 1) / 2, rtol=0, atol=1e-15)
    shares = expected_weights / expected_weights.sum()
    np.testing.assert_allclose(weights, shares, rtol=1e-12, atol=1e-14)
    assert weights.sum() == pytest.approx(1, rel=1e-14)
    for power in range(24):  # 12 nodes are exact for polynomials up to this degree
        moment = special.beta(df / 2 + power, df / 2) / special.beta(df / 2, df / 2)
        assert weights @ nodes**power == pytest.approx(moment, rel=1e-11)


FUNCTIONS = [
    (lambda x: special.ndtr(4 * x - 9) - 0.8, 1e-6, 50),
    (lambda x: x - 1e-6, 0, 1),
    (lambda x: x**9 - 0.5, 0, 1),
    (lambda x: 1 / (x + 1e-3) - 3, 0, 1),
    (lambda x: math.atan(1e3 * (x - 0.3)), 0, 1),
    (lambda x: special.betainc(90, 12, x) - 0.8, 0, 1),
    (lambda x: x - 1, 0, 1),
    (lambda x: (x - 1e6 - 0.3) / 1e6, 0, 1e7),  # floats near the root are over 1e-12 apart
]


@pytest.mark.parametrize(("function", "low", "high"), FUNCTIONS)
def test_roots(function, low, high):
    expected = optimize.brentq(function, low, high, xtol=1e-14)
    calls = []
    found = distributions.root(lambda x: calls.append(x) or function(x), low, high)
    assert found == pytest.approx(expected, rel=0, abs=2e-12)
    assert len(calls) < 60
    assert all(low <= x <= high for x in calls)
