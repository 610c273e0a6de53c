"""Simulated studies for benchmarks/coverage.py, which draw people, examples and answers.

Answers are right with probability 1 / (1 + exp(-x)), where x is a mean + the annotator + the
example. The mean is .80, examples have an SD of 1.5 in x, and annotators have the SD of the design
in points. Annotators are normal in x, or have one of the shapes below.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

MEAN, EXAMPLES_SD = 0.8, 1.5  # mean score, SD in x
CONTEXT_SD = 1.0  # SD in x that the examples of a context share, part of EXAMPLES_SD


NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(30)
WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
OWN = 0.25  # SD within each kind of annotator if a share is faulty


@dataclass(frozen=True)
class Shape:
    """A distribution of annotators in x, with mean 0 and an SD of about 1.

    `nodes` and `weights` integrate over it, and `draw` draws a given number of annotators.
    """

    nodes: np.ndarray
    weights: np.ndarray
    draw: Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def faulty(share: float) -> Shape:
    """Return a shape with faulty and good annotators, each normal with an SD of OWN."""
    good, bad = math.sqrt(share / (1 - share)), -math.sqrt((1 - share) / share)
    return Shape(
        np.concatenate([good + OWN * NODES, bad + OWN * NODES]),
        np.concatenate([(1 - share) * WEIGHTS, share * WEIGHTS]),
        lambda draw, size: (
            np.where(draw.random(size) < share, bad, good) + draw.normal(0, OWN, size)
        ),
    )


_LAGUERRE = np.polynomial.laguerre.laggauss(30)
SHAPES = {
    "": Shape(NODES, WEIGHTS, lambda draw, size: draw.normal(0, 1, size)),
    "one-sided": Shape(
        1 - _LAGUERRE[0], _LAGUERRE[1], lambda draw, size: 1 - draw.exponential(1, size)
    ),
    "one faulty in three": faulty(1 / 3),
    "one faulty in ten": faulty(1 / 10),
}


@dataclass(frozen=True)
class Design:
    """Annotators of an arm, contexts, examples per context, and SD between annotators in points.

    `shape` is one of SHAPES. "" means normal annotators.
    """

    annotators: int
    contexts: int
    each: int
    sd: float
    shape: str = ""

    def __str__(self) -> str:
        among = "" if self.each == 1 else f" in {self.contexts} contexts"
        shape = self.shape and f", {self.shape}"
        return f"{self.annotators} x {self.contexts * self.each}{among}; {self.sd:g}{shape}"


def expit(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def smoothed(x: np.ndarray, sd: float, shape: str = "") -> np.ndarray:
    """Return the mean of expit over an error with this SD and shape."""
    of = SHAPES[shape]
    return sum(w * expit(x + sd * node) for node, w in zip(of.nodes, of.weights, strict=True))


@cache
def logits(points: float, shape: str = "") -> tuple[float, float]:
    """Return (mean of x, SD of annotators in x) for an SD of annotators in points."""
    of = SHAPES[shape]

    def spread(of_x: float) -> tuple[float, float]:
        low, high = -5.0, 12.0
        for _ in range(60):
            middle = (low + high) / 2
            mean = of.weights @ smoothed(middle + of_x * of.nodes, EXAMPLES_SD)
            low, high = (middle, high) if mean < MEAN else (low, middle)
        people = smoothed(low + of_x * of.nodes, EXAMPLES_SD)
        return low, 100 * math.sqrt(of.weights @ (people - MEAN) ** 2)

    low, high = 0.0, 3.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if spread(middle)[1] < points else (low, middle)
    return spread(low)[0], low


@dataclass(frozen=True)
class Drawn:
    """Several studies: scores, annotators and examples in x, including the arms' own part."""

    design: Design
    scores: np.ndarray  # studies x annotators x examples
    people: np.ndarray  # studies x annotators
    examples: np.ndarray  # studies x examples

    @property
    def values(self) -> np.ndarray:
        """Return annotators x contexts, like `two_way.layout` for contexts of equal size."""
        shape = (*self.scores.shape[:2], self.design.contexts, self.design.each)
        return self.scores.reshape(shape).mean(-1)


def examples(draw: np.random.Generator, size: int, design: Design, sd: float) -> np.ndarray:
    """Draw the easiness of examples in x (studies x examples), in the order of their contexts."""
    if design.each == 1:
        return draw.normal(0, sd, (size, design.contexts))
    shared = draw.normal(0, CONTEXT_SD, (size, design.contexts, 1))
    own = draw.normal(0, math.sqrt(sd**2 - CONTEXT_SD**2), (size, design.contexts, design.each))
    return (shared + own).reshape(size, -1)


def answers(draw: np.random.Generator, design: Design, easy: np.ndarray) -> Drawn:
    """Draw the answers of new annotators to these examples."""
    mean, sd = logits(design.sd, design.shape)
    people = sd * SHAPES[design.shape].draw(draw, (len(easy), design.annotators))
    chances = expit((mean + people[:, :, None] + easy[:, None, :]).astype(np.float32))
    scores = draw.random(chances.shape, dtype=np.float32) < chances
    return Drawn(design, scores.astype(float), people, easy)
