"""Coverage of jackknife intervals for metrics that score a whole test set, for coverage.py.

Studies are drawn in the same way (drawn.py). A wrong answer is another label, or a rating one step
off. The true value is the mean over PEOPLE people of the score on EXAMPLES examples, which
approximates the mean on infinitely many examples. Scores and parts are those of tasks/metrics, and
the interval is that of analysis/stats/two_way.py.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from analysis.stats import two_way
from benchmarks.drawn import EXAMPLES_SD, Design, answers, examples
from tasks.metrics import METRICS, Answers, over_test_set

STUDIES = 500
PEOPLE, EXAMPLES = 200, 10_000
LOWEST, HIGHEST = 0.92, 0.98
DESIGNS = (Design(3, 200, 1, 3.0), Design(3, 200, 3, 2.4), Design(10, 200, 1, 3.0))


@dataclass(frozen=True)
class Asked:
    """A metric's task: labels, their shares in the gold, and the answer given in an error."""

    labels: tuple[str, ...]
    shares: tuple[float, ...]
    slip: Callable[[np.random.Generator, np.ndarray], np.ndarray]


def other_label(number: int) -> Callable[[np.random.Generator, np.ndarray], np.ndarray]:
    """Return a function that draws another label, each with equal probability."""
    return lambda draw, gold: (gold + draw.integers(1, number, gold.shape)) % number


def next_rating(draw: np.random.Generator, gold: np.ndarray) -> np.ndarray:
    """Move one step up or down. At an end of the scale, take the only possible step."""
    step = draw.choice([-1, 1], gold.shape)
    return np.where((gold + step < 0) | (gold + step > 4), gold - step, gold + step)


ASKED = {
    "Classification-F1": Asked(("a", "b", "c"), (0.6, 0.3, 0.1), other_label(3)),
    "Matthew-Correlation": Asked(("acceptable", "unacceptable"), (0.7, 0.3), other_label(2)),
    "Pearson-Correlation": Asked(tuple("12345"), (0.1, 0.2, 0.4, 0.2, 0.1), next_rating),
}


def answered(
    draw: np.random.Generator, asked: Asked, design: Design, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw golds (studies x examples) and answers (studies x annotators x examples) as numbers."""
    right = answers(draw, design, examples(draw, size, design, EXAMPLES_SD)).scores > 0
    gold = draw.choice(len(asked.labels), (size, right.shape[2]), p=asked.shares)
    shown = np.broadcast_to(gold[:, None, :], right.shape)
    return gold, np.where(right, shown, asked.slip(draw, shown))


def truth(metric: str, design: Design, seed: int) -> float:
    """Return the mean over people of the score on infinitely many examples."""
    draw, asked = np.random.default_rng(seed), ASKED[metric]
    many = Design(PEOPLE, EXAMPLES, 1, design.sd)
    gold, said = answered(draw, asked, many, 1)
    golds = [[asked.labels[number]] for number in gold[0]]
    scores = [METRICS[metric].corpus([asked.labels[n] for n in own], golds) for own in said[0]]
    return math.fsum(scores) / len(scores)


def covered(metric: str, design: Design, studies: int, seed: int) -> float:
    """Return the share of studies whose interval contains the truth. Missing intervals do not."""
    draw, asked = np.random.default_rng(seed), ASKED[metric]
    aim, held = truth(metric, design, seed + 1), 0
    contexts = [number // design.each for number in range(design.contexts * design.each)]
    for _study in range(studies):
        gold, said = answered(draw, asked, design, 1)
        golds = [[asked.labels[number]] for number in gold[0]]
        matrix = np.array(
            [
                over_test_set(
                    metric, Answers([[asked.labels[n]] for n in own], golds, "set", False, contexts)
                ).values
                for own in said[0]
            ]
        )
        estimate = two_way.mean_estimate(matrix, contexts)
        if not estimate.why_not:
            low, high = estimate.interval()
            held += low <= aim <= high
    return held / studies


def table(studies: int = STUDIES, seed: int = 12) -> str:
    """Return the Markdown table with a mark at each miss."""
    heading = ["metric", "question", "nominal", *map(str, DESIGNS)]
    lines = [
        f"**Coverage, one cell, metrics of whole test sets** ({studies:,} studies)",
        "",
        f"| {' | '.join(heading)} |",
        "|---" * len(heading) + "|",
    ]
    for metric in ASKED:
        shares = [covered(metric, design, studies, seed) for design in DESIGNS]
        cells = [
            f"{share:.3f}".removeprefix("0") + ("" if LOWEST <= share <= HIGHEST else " misses")
            for share in shares
        ]
        lines.append(f"| {' | '.join([metric, two_way.BOTH, '.95', *cells])} |")
    return "\n".join([*lines, ""])
