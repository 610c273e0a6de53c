"""The quantile of Student's t in verify.py, which has only Python, equals scipy's."""

import pytest
from scipy import stats

from analysis.export.verify import t_quantile

DFS = (1, 1.001, 1.37, 2, 2.0001, 3, 4.7, 10, 37.3, 199.9, 200.1, 1e4, 1e6)


@pytest.mark.parametrize("df", DFS)
def test_the_quantile_of_95_percent_intervals(df):
    assert t_quantile(df) == pytest.approx(stats.t.ppf(0.975, df), rel=1e-10)
