"""The quantiles of Student's t, as verify.py computes them with Python alone, against scipy."""

import itertools

import pytest
from scipy import stats

from analysis.export.verify import t_quantile

DFS = (1, 1.37, 2, 2.0001, 3, 4.7, 10, 37.3, 199.9, 200.1, 1e4, 1e6)


@pytest.mark.parametrize(("df", "share"), itertools.product(DFS, (0.9, 0.95, 0.975, 0.995)))
def test_quantiles(df, share):
    assert t_quantile(share, df) == pytest.approx(stats.t.ppf(share, df), rel=1e-9)
