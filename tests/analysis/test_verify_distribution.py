"""Student's t distribution, as verify.py computes it with nothing but Python, against scipy."""

import itertools

import pytest
from scipy import stats

from analysis.export.verify import t_beyond, t_quantile

DFS = (0.5, 1, 1.37, 2, 2.0001, 3, 4.7, 10, 37.3, 199.9, 200.1, 1e4, 1e6)


@pytest.mark.parametrize(
    ("df", "t"), list(itertools.product(DFS, (-3, -0.5, 0, 1e-6, 0.01, 0.3, 1, 2.5, 7, 30, 500)))
)
def test_tails(df, t):
    assert t_beyond(t, df) == pytest.approx(stats.t.sf(t, df), rel=1e-10, abs=1e-14)


@pytest.mark.parametrize(("df", "share"), list(itertools.product(DFS, (0.9, 0.95, 0.975, 0.995))))
def test_quantiles(df, share):
    assert t_quantile(share, df) == pytest.approx(stats.t.ppf(share, df), rel=1e-11)
