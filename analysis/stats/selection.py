"""How much a rule of admission moves a group's mean by itself (numpy only, pure).

Whoever is screened out is replaced. A group that is judged before the annotation step so ends with
better people than one that is not, whatever it has learnt.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from analysis.heavy import np

STUDIES = 1000
ARRIVALS = 50  # a place of the group is tried by at most so many

Passes = Callable[[float, Sequence[float]], bool]


@dataclass(frozen=True)
class Gain:
    """Points by which admission raises the mean: over simulated studies, and of 95 % of them.

    NaN where hardly anybody would be admitted.
    """

    mean: float
    low: float
    high: float


NO_GAIN = Gain(0.0, 0.0, 0.0)
UNKNOWN = Gain(math.nan, math.nan, math.nan)


def gain(
    mean: float, sd: float, k: int, people: int, passes: Passes, seed: int, studies: int = STUDIES
) -> Gain:
    """The gain of a group of `people` with these abilities, each judged by k examples.

    Abilities are normal with this mean and SD (S1 x 100), cut at 0 and 100; an example is right
    with that chance, and what is judged is the share of k that is right. `passes(own, others)` is
    the rule: own share and those of all who were judged before, x 100. Nothing is learnt: a study's
    gain is the mean ability of those admitted minus that of as many first arrivals.
    """
    if not (math.isfinite(mean) and math.isfinite(sd)):
        return UNKNOWN
    draw = np.random.default_rng([seed, k, people])
    most = ARRIVALS * people
    gains = []
    for _ in range(studies):
        abilities = np.clip(draw.normal(mean, sd, most), 0, 100)
        shares = 100 * draw.binomial(k, abilities / 100) / k
        admitted = _admitted(shares.tolist(), people, passes)
        if len(admitted) < people:
            return UNKNOWN
        gains.append(abilities[admitted].mean() - abilities[:people].mean())
    low, high = np.quantile(gains, [0.025, 0.975])
    return Gain(float(np.mean(gains)), float(low), float(high))


def _admitted(shares: Sequence[float], people: int, passes: Passes) -> list[int]:
    """The places of the first so many who pass, in order of arrival."""
    admitted: list[int] = []
    for place, own in enumerate(shares):
        if passes(own, shares[:place]):
            admitted.append(place)
            if len(admitted) == people:
                break
    return admitted
