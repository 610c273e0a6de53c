"""How items tell respondents apart: classical item analysis (numpy only, pure)."""

from __future__ import annotations

import math

from analysis.heavy import np

FOR_2PL = 20  # respondents: about what a two-parameter model needs at the least


def item_rest(scores: np.ndarray) -> list[float]:
    """The item-rest correlation of each item, of a matrix respondents x items without gaps.

    Pearson's r over respondents between the score on the item and the mean over all other items.
    NaN for fewer than three respondents or two items, and where either of the two does not vary:
    an item that everybody gets right (or wrong) tells nobody apart.
    """
    respondents, items = scores.shape
    if respondents < 3 or items < 2:
        return [math.nan] * items
    rests = (scores.sum(1, keepdims=True) - scores) / (items - 1)
    own, other = scores - scores.mean(0), rests - rests.mean(0)
    scale = np.sqrt((own**2).sum(0) * (other**2).sum(0))
    together = (own * other).sum(0)
    varies = (np.ptp(scores, axis=0) > 1e-12) & (np.ptp(rests, axis=0) > 1e-12)
    return [
        float(np.clip(above / below, -1, 1)) if known else math.nan
        for above, below, known in zip(together, scale, varies, strict=True)
    ]
