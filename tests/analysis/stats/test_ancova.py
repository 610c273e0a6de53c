"""ANCOVA equals least squares in statsmodels; degenerate cases give a reason."""

import math

import numpy as np
import pytest
import statsmodels.api as sm

from analysis.stats.significance import ancova

DRAW = np.random.default_rng(5)


@pytest.mark.parametrize("sizes", [(3, 3), (4, 7), (30, 12), (2, 2), (1, 3)])
@pytest.mark.parametrize("with_anchor", [True, False])
def test_difference_interval_and_p_are_those_of_statsmodels(sizes, with_anchor):
    anchors = [DRAW.normal(60, 10, size) for size in sizes]
    scores = [0.6 * anchor + DRAW.normal(10 * arm, 5) for arm, anchor in enumerate(anchors)]
    scores = [values + DRAW.normal(0, 4, len(values)) for values in scores]
    own = ancova(tuple(scores), tuple(anchors) if with_anchor else None)
    arm = np.repeat([0.0, 1.0], sizes)
    given = [arm, np.concatenate(anchors)] if with_anchor else [arm]
    fitted = sm.OLS(np.concatenate(scores), sm.add_constant(np.column_stack(given))).fit()
    assert own.difference == pytest.approx(fitted.params[1])
    assert (own.low, own.high) == pytest.approx(tuple(fitted.conf_int()[1]))
    assert own.p == pytest.approx(fitted.pvalues[1])
    if with_anchor:
        assert own.slope == pytest.approx(fitted.params[2])


@pytest.mark.parametrize(
    ("groups", "anchors", "reason"),
    [
        (([], [1.0, 2.0]), ([], [1.0, 2.0]), "an arm is empty"),
        (([1.0], [2.0, 3.0]), ([1.0], [2.0, 3.0]), "too few annotators"),
        (([1.0, 2.0], [2.0, 4.0]), ([5.0, 5.0], [6.0, 6.0]), "constant"),
        (([1.0, math.nan], [2.0, 4.0]), ([5.0, 6.0], [6.0, 7.0]), "unknown"),
        (([7.0, 7.0], [8.0, 8.0]), ([5.0, 6.0], [6.0, 7.0]), "annotators tie"),
    ],
)
def test_degenerate_cases_have_no_interval_but_a_reason(groups, anchors, reason):
    found = ancova(groups, anchors)
    assert math.isnan(found.low)
    assert math.isnan(found.p)
    assert reason in found.why_not
