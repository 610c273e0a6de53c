"""Coverage of the intervals of an average relative gain (analysis/stats/arg.py), for coverage.py.

Each simulated study rehearses a cross-task design in which the transfer parameter of the simulated
annotators is the true gain. Their probability of a right answer is drawn from a beta distribution
with the mean of the arm, base or base · (1 + transfer), and the SD of people. They answer
`examples` examples with that probability. The unseen tasks have the bases below, so the transfer is
the true ARG.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis.stats import arg

BASES = (0.55, 0.62, 0.70, 0.66)
DEFAULT = "**Default: Fieller (one task), delta method (several)**"
QUESTION = "these tasks, other people"


@dataclass(frozen=True)
class Design:
    """A design: tasks, people per arm and task, test examples, SD of people, and true gain."""

    tasks: int
    people: int
    examples: int
    sd: float
    transfer: float

    def __str__(self) -> str:
        tasks = f"{self.tasks} task{'s' if self.tasks > 1 else ''}"
        return f"{tasks} x {self.people}; {100 * self.sd:g}; {self.transfer:+.0%}"


DESIGNS = (
    Design(1, 3, 100, 0.06, 0.10),
    Design(1, 10, 100, 0.06, 0.10),
    Design(1, 23, 100, 0.06, 0.0),
    Design(4, 3, 100, 0.06, 0.10),
    Design(4, 5, 100, 0.12, -0.05),
    Design(4, 10, 100, 0.06, 0.10),
    Design(4, 20, 100, 0.12, 0.20),
)


def study(draw: np.random.Generator, design: Design) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Simulate a rehearsal. Return (task, scores of the direct arm, scores of the upstream arm)."""
    return [
        (f"task-{number}", _scores(draw, design, base), _scores(draw, design, gained))
        for number, base in enumerate(BASES[: design.tasks])
        for gained in [base * (1 + design.transfer)]
    ]


def _scores(draw: np.random.Generator, design: Design, mean: float) -> np.ndarray:
    size = mean * (1 - mean) / design.sd**2 - 1  # of the beta distribution with this SD
    chances = draw.beta(mean * size, (1 - mean) * size, design.people)
    scores: np.ndarray = draw.binomial(design.examples, chances) / design.examples
    return scores


def intervals(design: Design, studies: int, seed: int) -> Iterator[tuple[str, str, float]]:
    """Yield (interval, question, number of studies whose interval contains the true gain)."""
    draw = np.random.default_rng(seed)
    held = 0
    for _number in range(studies):
        low, high = arg.average_relative_gain(study(draw, design)).interval
        held += low <= design.transfer <= high
    yield DEFAULT, QUESTION, held
