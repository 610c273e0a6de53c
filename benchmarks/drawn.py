"""Simulated studies for benchmarks/coverage.py: people and examples are drawn, answers follow.

Answers are right or wrong, with probability 1 / (1 + exp(-x)), x a mean + the annotator + the
example; the mean is .80, examples have an SD of 1.5 in x, annotators the SD in points that the
design names.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

MEAN, EXAMPLES_SD = 0.8, 1.5  # of scores; of x
CONTEXT_SD = 1.0  # of x, the part of EXAMPLES_SD that the examples of a context share


@dataclass(frozen=True)
class Design:
    """Annotators of one arm, contexts, examples of each; SD between annotators, in points."""

    annotators: int
    contexts: int
    each: int
    sd: float

    def __str__(self) -> str:
        among = "" if self.each == 1 else f" in {self.contexts} contexts"
        return f"{self.annotators} x {self.contexts * self.each}{among}; {self.sd:g}"


NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(30)
WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


def expit(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def smoothed(x: np.ndarray, sd: float) -> np.ndarray:
    """The mean of expit over a normal error of that SD."""
    return sum(w * expit(x + sd * node) for node, w in zip(NODES, WEIGHTS, strict=True))


@cache
def logits(sd: float) -> tuple[float, float]:
    """(mean of x, SD of annotators in x) for that SD of annotators in points."""

    def spread(of_x: float) -> tuple[float, float]:
        low, high = -5.0, 8.0
        for _ in range(60):
            middle = (low + high) / 2
            mean = float(smoothed(np.array(middle), math.hypot(EXAMPLES_SD, of_x)))
            low, high = (middle, high) if mean < MEAN else (low, middle)
        people = smoothed(low + of_x * NODES, EXAMPLES_SD)
        return low, 100 * math.sqrt(WEIGHTS @ (people - MEAN) ** 2)

    low, high = 0.0, 3.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if spread(middle)[1] < sd else (low, middle)
    return spread(low)[0], low


@dataclass(frozen=True)
class Drawn:
    """Some studies: scores, annotators and examples in x, with the arms' own part of examples."""

    design: Design
    scores: np.ndarray  # studies x annotators x examples
    people: np.ndarray  # studies x annotators
    examples: np.ndarray  # studies x examples

    @property
    def values(self) -> np.ndarray:
        """Annotators x contexts, as `two_way.layout` makes them where contexts are equal."""
        shape = (*self.scores.shape[:2], self.design.contexts, self.design.each)
        return self.scores.reshape(shape).mean(-1)


def examples(draw: np.random.Generator, size: int, design: Design, sd: float) -> np.ndarray:
    """What makes examples easy, in x: studies x examples, in the order of their contexts."""
    if design.each == 1:
        return draw.normal(0, sd, (size, design.contexts))
    shared = draw.normal(0, CONTEXT_SD, (size, design.contexts, 1))
    own = draw.normal(0, math.sqrt(sd**2 - CONTEXT_SD**2), (size, design.contexts, design.each))
    return (shared + own).reshape(size, -1)


def answers(draw: np.random.Generator, design: Design, easy: np.ndarray) -> Drawn:
    """What new annotators answer to these examples."""
    mean, sd = logits(design.sd)
    people = draw.normal(0, sd, (len(easy), design.annotators))
    chances = expit((mean + people[:, :, None] + easy[:, None, :]).astype(np.float32))
    scores = draw.random(chances.shape, dtype=np.float32) < chances
    return Drawn(design, scores.astype(float), people, easy)
