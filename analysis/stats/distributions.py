"""Distribution tails and quantiles, quadrature nodes, and root finding (numpy only, pure).

Densities are integrated by Gauss-Legendre quadrature, in a variable in which they are smooth and
nearly normal, up to where they are e^-37 of their maximum (less than rounding). They are divided by
their total area, so no gamma function is needed. The tests compare everything with scipy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from statistics import NormalDist
from typing import Any

from analysis.heavy import np

EXPONENT = 37
STEPS, LIMIT = 2048, 9  # of the table of normal probabilities: steps per SD, and its last SD


@cache
def _legendre(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Gauss-Legendre nodes and weights on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(number)
    return (nodes + 1) / 2, weights / 2


@cache
def _normal_table() -> np.ndarray:
    """Return the Taylor coefficients of P(Z <= x), by power, around many values of x."""
    x = np.arange(-LIMIT * STEPS, LIMIT * STEPS + 1) / STEPS
    density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    density[[0, -1]] = 0  # treated as constant beyond
    below = [math.erfc(-x) / 2 for x in (x / math.sqrt(2)).tolist()]
    return np.array([below, density, -x / 2 * density, (x**2 - 1) / 6 * density])


def normal_cdf(x: np.ndarray) -> np.ndarray:
    """Return P(Z <= x) for an array of finite numbers. Values below -9 are treated as -9 (1e-19).

    Uses a third-order Taylor series around the nearest tabulated x, with values from `math.erfc`.
    """
    place = np.rint(x * STEPS)
    index, gap = (place + LIMIT * STEPS).astype(int), x - place / STEPS
    value, first, second, third = _normal_table().take(index, axis=1, mode="clip")
    return value + gap * (first + gap * (second + gap * third))


def _density(s: np.ndarray, df: np.ndarray) -> np.ndarray:
    """Return the density of s = sqrt(df / 2 · log(1 + t² / df)) for Student's t, up to a factor."""
    x = 2 * s**2 / df
    return np.exp(-(s**2)) * np.sqrt(x / -np.expm1(-x))


def _beyond(s: np.ndarray, df: np.ndarray) -> np.ndarray:
    """Return the area under `_density` beyond s >= 0."""
    nodes, weights = _legendre(36)
    width = EXPONENT / (s + np.sqrt(s**2 + EXPONENT))
    return width * (_density(s[..., None] + width[..., None] * nodes, df[..., None]) @ weights)


def t_tail(t: Any, df: Any) -> np.ndarray:
    """Return P(T > t) for Student's t with df >= 1, for numbers or arrays. NaN gives NaN."""
    t, df = np.broadcast_arrays(np.asarray(t, float), np.minimum(df, 1e300))
    s = np.minimum(np.sqrt(df / 2 * np.log1p(t * t / df)), 40)
    tail, half = _beyond(np.stack([s, np.zeros_like(s)]), df)
    return np.where(t < 0, 1 - tail / half / 2, tail / half / 2)


def t_quantiles(p: float, df: np.ndarray) -> np.ndarray:
    """Return t with P(T <= t) = p for Student's t with df >= 1 (any shape), for 0 < p < 1.

    Uses Halley's method on the logarithm of the tail, starting as in Wallace (1959).
    """
    tail, df, step = min(p, 1 - p), np.minimum(df, 1e300), math.inf
    s = max(-NormalDist().inv_cdf(tail), 1e-9) / math.sqrt(2) * (8 * df + 3) / (8 * df + 1)
    target = 2 * tail * _beyond(np.zeros_like(s), df)
    while np.any(np.abs(step) > 1e-5):  # the error is cubed in each step
        beyond, x = _beyond(s, df), 2 * s**2 / df
        hazard = _density(s, df) / beyond
        step = np.log(beyond / target) / hazard
        step /= 1 + step / 2 * (hazard - 2 * s + (1 - x / np.expm1(x)) / s)
        s = s + step
    return np.copysign(np.sqrt(df * np.expm1(2 * s**2 / df)), p - 0.5)


@lru_cache(maxsize=4096)
def t_quantile(p: float, df: float) -> float:
    """Return `t_quantiles` for a single number of degrees of freedom."""
    return float(t_quantiles(p, np.array(df)))


def gamma_quantiles(p: np.ndarray, a: float) -> np.ndarray:
    """Return x with P(X <= x) = p for the gamma distribution with shape a and scale 1.

    `p` is one-dimensional, from 0.001 to 0.999; a is between 1/2 and 1e7. The variable is u =
    sqrt(x). Newton's method starts at the edge of one of 64 panels at which the density is larger.
    """
    nodes, weights = _legendre(8)
    middle, reach, step = math.sqrt(a), math.sqrt(EXPONENT) + 0.5, math.inf
    edges = np.linspace(max(1e-300, middle - reach), middle + reach, 65)

    def density(u: np.ndarray) -> np.ndarray:
        return np.exp((2 * a - 1) * np.log(u / middle) - u**2 + a)

    def area(begin: np.ndarray, width: np.ndarray) -> np.ndarray:
        return width * (density(begin[:, None] + width[:, None] * nodes) @ weights)

    below = np.concatenate([[0.0], np.cumsum(area(edges[:-1], np.diff(edges)))])
    target, at_edges = p * below[-1], density(edges)
    panel = np.searchsorted(below, target) - 1
    u = edges[panel + (at_edges[panel] < at_edges[panel + 1])]
    while np.any(np.abs(step) > 1e-8):  # the error is squared in each step
        step = (below[panel] + area(edges[panel], u - edges[panel]) - target) / density(u)
        u = u - step
    return u**2


@cache
def beta_nodes(number: int, df: float) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights for integrals over a share with beta(df / 2, df / 2), df >= 1.

    These are derived from the eigenvalues of the Gegenbauer recurrence (Golub and Welsch 1969).
    """
    k = np.arange(2, number)
    squares = [1 / (df + 1), *(k * (k + df - 2) / (2 * k + df - 1) / (2 * k + df - 3))]
    nodes, vectors = np.linalg.eigh(np.diag(np.sqrt(squares), 1), UPLO="U")
    return (nodes + 1) / 2, vectors[0] ** 2


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return x with function(x) = 0, to 1e-12. The signs at `low` and `high` must differ.

    Uses false position, weighted as proposed by Anderson and Björck (1973).
    """
    at_low, at_high = function(low), function(high)
    while abs(step := at_high * (high - low) / (at_high - at_low)) > 1e-12 + 4e-16 * abs(high):
        x = high - step
        at_x = function(x)
        if at_x * at_high < 0:
            low, at_low = high, at_high
        else:
            at_low *= max(1 - at_x / at_high, 0) or 0.5
        high, at_high = x, at_x
    return high - step
