"""Measure how often shared errors reveal copying from a model (docs/statistics.md#error-overlap).

`python benchmarks/ai_use.py` simulates crowds and prints the tables of that section in Markdown
(about half an hour on one processor). Answers are right with probability 1 / (1 + exp(-x)), where x
is a mean + the annotator - the example. People are right on .80 on average, and half of the
variance of an example's difficulty is shared with the model. A wrong answer is the example's
popular wrong answer with a probability that depends on the task, otherwise any wrong answer.
Copiers give the model's answer with probability .80, otherwise their own.
"""

import argparse
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from analysis.stats.error_overlap import overlaps
from analysis.stats.significance import holm
from benchmarks.drawn import EXAMPLES_SD, expit

SEEDS, OF_OTHERS = 200, 100  # crowds per row of the first and second table
ALARMS = 0.01
PEOPLE = 0.8  # mean accuracy of people
SHARED = 0.5  # share of the variance of the difficulty for people that also applies to the model

# Maps task families to (number of different answers, probability of the popular wrong one).
FAMILIES = {
    "2 labels (SST-2)": (2, 1.0),
    "3 labels (MNLI)": (3, 0.5),
    "10 options (ReCoRD)": (10, 0.5),
    "spans (CoNLL03, SQuADv2)": (40, 0.3),
    "numbers and short texts": (200, 0.3),
}
ACCURACIES = (0.7, 0.8, 0.9, 0.95, 0.98)  # of the model
# Other crowds, with three labels and a model that is right on .80.
OTHERS: dict[str, dict[str, Any]] = {
    "as above": {},
    "3 annotators, 1 copier": {"annotators": 3, "copiers": 1},
    "5 annotators, 1 copier": {"annotators": 5, "copiers": 1},
    "20 annotators, 4 copiers": {"annotators": 20, "copiers": 4},
    "50 examples": {"examples": 50},
    "copies on .40 of the examples": {"copy": 0.4},
    "copies on .20 of the examples": {"copy": 0.2},
    "half of the annotators copy": {"copiers": 5},
    "all but two copy": {"copiers": 8},
    "copies another model": {"other": True},
    "no copiers": {"copiers": 0},
    "no copiers, abilities spread twice as widely": {"copiers": 0, "spread": 1.0},
    "no copiers, two find the same examples hard as the model": {"copiers": 0, "alike": 2},
    "no copiers, the model has people's difficulties": {"copiers": 0, "shared": 1.0},
}


def crowd(
    draw: np.random.Generator,
    annotators: int = 10,
    examples: int = 200,
    copiers: int = 2,
    copy: float = 0.8,
    answers: int = 3,
    popular: float = 0.5,
    accuracy: float = 0.8,
    spread: float = 0.5,
    shared: float = SHARED,
    alike: int = 0,
    other: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes of the annotators' answers, copiers first, and of the model's answers.

    `spread` is the SD of abilities. Of the honest annotators, `alike` have the difficulties of the
    model. With `other`, copiers use another model of the same accuracy.
    """
    common = draw.choice(np.arange(1, answers), examples)

    def coded(wrong: np.ndarray) -> np.ndarray:
        own = draw.integers(1, answers, wrong.shape)
        return np.where(wrong, np.where(draw.random(wrong.shape) < popular, common, own), 0)

    def machine() -> tuple[np.ndarray, np.ndarray]:
        noise = draw.normal(0, EXAMPLES_SD, examples)
        own = np.sqrt(shared) * hard + np.sqrt(1 - shared) * noise
        return own, coded(draw.random(examples) > expit(_mean(accuracy, own) - own))

    hard = draw.normal(0, EXAMPLES_SD, examples)
    difficulty, model = machine()
    theirs = np.tile(hard, (annotators, 1))
    theirs[copiers : copiers + alike] = difficulty
    ability = draw.normal(0, spread, (annotators, 1))
    people = coded(draw.random(theirs.shape) > expit(_mean(PEOPLE, hard) + ability - theirs))
    copied = machine()[1] if other else model
    copies = draw.random((copiers, examples)) < copy
    people[:copiers] = np.where(copies, copied, people[:copiers])
    return people, model


def _mean(accuracy: float, hard: np.ndarray) -> float:
    """Return the mean of x that results in this accuracy on the examples, by bisection."""
    low, high = -10.0, 10.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(middle - hard).mean() < accuracy else (low, middle)
    return low


def measured(seeds: int, **of: Any) -> list[str]:
    """Return the cells of a row, with one crowd per seed."""
    copiers = of.get("copiers", 2)
    theirs, honest, areas = [], [], []
    found = flagged = crowds = none = total = errors = telling = 0
    for seed in range(seeds):
        people, model = crowd(np.random.default_rng(seed), **of)
        rows = overlaps(people, [model], seed)[0]
        errors, telling = errors + rows[0].model_errors, telling + rows[0].telling
        ps = np.array([own.p for own in rows])
        none, total = none + int(np.isnan(ps).sum()), total + len(ps)
        flags = np.array(holm(list(ps))) < ALARMS
        found, flagged = found + int(flags[:copiers].sum()), flagged + int(flags[copiers:].sum())
        crowds += bool(flags[copiers:].any())
        ranked = np.nan_to_num(ps, nan=1.0)
        theirs, honest = [*theirs, *ranked[:copiers]], [*honest, *ranked[copiers:]]
        if copiers:
            below = ranked[:copiers, None] < ranked[None, copiers:]
            areas.append((below + 0.5 * (ranked[:copiers, None] == ranked[None, copiers:])).mean())
    # At most 1 % of the honest annotators have a p below this limit.
    limit = np.sort(honest)[int(ALARMS * len(honest))]
    at_limit = np.mean(np.array(theirs) < limit) if theirs else np.nan
    return [
        f"{errors / seeds:.0f}",
        f"{telling / seeds:.0f}",
        f"{np.mean(areas):.3f}" if areas else "–",
        f"{at_limit:.3f}" if theirs else "–",
        f"{found / len(theirs):.3f}" if theirs else "–",
        f"{flagged / max(len(honest), 1):.4f}",
        f"{crowds / seeds:.3f}",
        f"{none / total:.3f}",
    ]


HEADINGS = (
    "model's errors", "telling", "AUC", "found at 1 %", "copiers flagged",
    "honest flagged", "crowds with one", "no result",
)  # fmt: skip


def by_family(seeds: int) -> Iterator[str]:
    """Yield the lines of the first table."""
    yield _line("answers", "model's accuracy", *HEADINGS)
    yield "|---" * (2 + len(HEADINGS)) + "|"
    for family, (answers, popular) in FAMILIES.items():
        for accuracy in ACCURACIES:
            row = measured(seeds, answers=answers, popular=popular, accuracy=accuracy)
            yield _line(family, f"{accuracy:.2f}".lstrip("0"), *row)


def by_crowd(seeds: int) -> Iterator[str]:
    """Yield the lines of the second table."""
    yield _line("crowd", *HEADINGS)
    yield "|---" * (1 + len(HEADINGS)) + "|"
    for name, of in OTHERS.items():
        yield _line(name, *measured(seeds, **of))


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--others", type=int, default=OF_OTHERS)
    chosen = parser.parse_args()
    for line in itertools.chain(by_family(chosen.seeds), [""], by_crowd(chosen.others)):
        print(line, flush=True)
