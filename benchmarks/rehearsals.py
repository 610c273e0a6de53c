"""Measure how often rehearsals of the papers' open questions recover their known effects.

`python benchmarks/rehearsals.py` simulates studies (five minutes on one processor, without a
database) and prints the table of docs/statistics.md#known-effects. Simulated annotators have known
gains, anchor scores and confidence, as in `replicate_crossfit --arms`, `replicate_clues --anchors`
and `--confidence`, and known learning curves and strata, as with the policies `learning` and
`strata`. Their answers are drawn as arrays, and analysed by the functions of the product.
"""

import argparse
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import django
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()  # models are imported, but no database is used

from analysis.scores.confidence import CHANCES, measures  # noqa: E402
from analysis.stats import arg, learning, uncertainty  # noqa: E402
from analysis.stats.significance import ancova, holm  # noqa: E402

STUDIES = 2000
BASES = (0.55, 0.62, 0.70, 0.66)  # of the unseen tasks
DOSES = {"dose-1": 0.05, "dose-2": 0.1, "dose-4": 0.2}  # gains of the upstream arms
EXAMPLES = 100  # in each test
SD = 0.06  # between annotators
RIGHT = 0.7  # probability of a right answer of the annotators who state their confidence
POINT = "point of no further gain"  # a whole number, so its interval is wider than it has to be
SIZE = "false alarm: "  # of tests that should be positive in at most .05 of the studies
Found = Iterator[tuple[str, bool]]  # what is true of a study, and whether it is


def scores(draw: np.random.Generator, mean: float, people: int, sd: float = SD) -> np.ndarray:
    """Return a group's scores, whose chances of a right answer have a beta distribution."""
    size = mean * (1 - mean) / sd**2 - 1
    chances = draw.beta(mean * size, (1 - mean) * size, people)
    found: np.ndarray = draw.binomial(EXAMPLES, chances) / EXAMPLES
    return found


def tasks(draw: np.random.Generator, people: int, gain: float) -> list[arg.Scores]:
    return [
        (str(base), scores(draw, base, people), scores(draw, base * (1 + gain), people))
        for base in BASES
    ]


def arms(draw: np.random.Generator, people: int) -> Found:
    """Yield results for three upstream arms that share the base arm, with and without gains."""
    bases = [scores(draw, base, people) for base in BASES]
    for is_null in (False, True):
        found = []
        for gain in DOSES.values():
            own = [
                (str(base), given, scores(draw, base * (1 + gain * (not is_null)), people))
                for base, given in zip(BASES, bases, strict=True)
            ]
            found.append((gain, arg.average_relative_gain(own)))
        if is_null:
            adjusted = holm([result.p for _gain, result in found])
            yield f"{SIZE}any of three gains, Holm, {people} people", min(adjusted) < 0.05
            continue
        for (gain, result), name in zip(found, DOSES, strict=True):
            low, high = result.interval
            yield f"gain of {gain:+.0%} ({name}), {people} people", low <= gain <= high


def shots(draw: np.random.Generator, people: int) -> Found:
    """Yield results for the change of a gain with more shots."""
    for before, after in ((0.2, 0.05), (0.1, 0.1)):
        fewer, more = (tasks(draw, people, gain) for gain in (before, after))
        found = arg.change(fewer, more)
        if before == after:
            yield f"{SIZE}change of a gain, {people} people", found.p < 0.05
        else:
            name = f"change of a gain from {before:+.0%} to {after:+.0%}, {people} people"
            yield name, found.interval[0] <= after - before <= found.interval[1]


def anchors(draw: np.random.Generator, people: int, number: int = 12) -> Found:
    """Yield results for a contrast adjusted for anchors. The second arm is better by 5 points."""
    ability = np.clip(draw.normal(RIGHT, 0.1, (2, people)), 0, 0.95)
    given = draw.binomial(number, ability) / number
    for gap in (0.05, 0.0):
        found = draw.binomial(200, ability + np.array([[0], [gap]])) / 200
        own = ancova(tuple(found), tuple(given))
        if gap:
            held = own.low <= gap <= own.high
            yield f"difference of 5 points, adjusted for {number} anchors, {people} people", held
        else:
            yield f"{SIZE}adjusted difference, {people} people", own.p < 0.05


def confidence(draw: np.random.Generator, people: int, answers: int = 60) -> Found:
    """Yield results for calibration, and for doubt that grows with more shots.

    Annotators at fewer shots are too sure by one point, those at more shots are calibrated.
    """
    found, truths = [], []
    for shift in (1, 0):
        group = rated(draw, people, answers, shift)
        sums = uncertainty.sums_and_resamples(group, int(draw.integers(2**31)), 1000)
        found.append(measures(sums))
        truths.append(truth(shift))
    (sure, right, ece, brier), (later, *_rest) = found
    (true_sure, true_right, true_ece, true_brier), (true_later, *_true) = truths
    for name, values, expected in (
        ("overconfidence", sure - right, true_sure - true_right),
        ("ECE", ece, true_ece),
        ("Brier score", brier, true_brier),
        ("change of confidence with more shots", later - sure, true_later - true_sure),
    ):
        _value, low, high, _why = uncertainty.estimate(values, people)
        yield f"{name} ({expected:+.3f}), {people} people", low <= expected <= high


def rated(draw: np.random.Generator, people: int, answers: int, shift: int) -> np.ndarray:
    """Return annotators x points x (answers, sum of S1, sum of squared errors).

    Points are those of simulated annotators: three trials with probability RIGHT, and one more
    success if the answer is right.
    """
    chance = np.clip(draw.normal(RIGHT, 0.05, (people, 1)), 0, 1)
    right = draw.random((people, answers)) < chance
    points = np.minimum(4, draw.binomial(3, RIGHT, (people, answers)) + right + shift)
    parts = np.stack([np.ones(right.shape), right, (right - np.array(CHANCES)[points]) ** 2], -1)
    return np.stack([np.where(points[..., None] == p, parts, 0).sum(1) for p in range(5)], 1)


def truth(shift: int) -> np.ndarray:
    """Return the expected confidence, S1, ECE and Brier score, from the distribution of points."""
    trials = [(1 - RIGHT) ** 3, 3 * RIGHT * (1 - RIGHT) ** 2, 3 * RIGHT**2 * (1 - RIGHT), RIGHT**3]
    expected = np.zeros((5, 3))
    for successes, share in enumerate(trials):
        for is_right, own in ((1, RIGHT), (0, 1 - RIGHT)):
            point = min(4, successes + is_right + shift)
            error = (is_right - CHANCES[point]) ** 2
            expected[point] += share * own * np.array([1, is_right, error])
    return measures(expected)


def plateau(draw: np.random.Generator, people: int, examples: int = 30) -> Found:
    """Yield results for learning that stops after ten examples of the training step."""
    for start, rise, point in ((0.4, 0.5, 10), (0.6, 0.3, 10)):
        chances = start + rise * np.minimum(np.arange(examples), point) / point
        right = (draw.random((people, examples)) < chances).astype(float)
        sums = uncertainty.sums_and_resamples(right, int(draw.integers(2**31)))
        points, gains = learning.plateaus(sums / people)
        for name, values, truth in (
            (f"{POINT} ({point} examples", points, point),
            (f"gain until that point ({rise:+.0%}", gains, rise),
        ):
            _value, low, high, _why = uncertainty.estimate(values, people)
            yield f"{name}, from {start:.0%}), {people} people", low <= truth <= high


def strata(draw: np.random.Generator, people: int, examples: int = 50) -> Found:
    """Yield results for the difference of a stratum of the test from the three others."""
    for gap in (-0.2, 0.0):
        chances = np.clip(draw.normal(RIGHT, SD, people), 0, 1)
        own = draw.binomial(examples, np.clip(chances + gap, 0, 1)) / examples
        others = draw.binomial(3 * examples, chances) / (3 * examples)
        interval = uncertainty.t_interval(own - others)
        held = interval.low <= gap <= interval.high
        if gap:
            yield f"difference of a stratum of {100 * gap:+.0f} points, {people} people", held
        else:
            yield f"{SIZE}difference of a stratum, {people} people", not held


def learners(draw: np.random.Generator, unseen: int, correlation: float = 0.66) -> Found:
    """Yield results for two learners' gains on unseen tasks, whose rank correlation is known."""
    linear = 2 * np.sin(np.pi * correlation / 6)  # of normal values with this rank correlation
    gains = draw.multivariate_normal((0, 0), ((1, linear), (linear, 1)), unseen).T
    found = arg.spearman(*gains)
    yield f"Spearman's correlation ({correlation}), {unseen} tasks", (
        found.low <= correlation <= found.high
    )  # fmt: skip
    shares = {"above": 0.5147, "within": 0.3593, "below": 0.126}  # as in the paper
    drawn = draw.choice((0.1, 0, -0.1), unseen, p=list(shares.values()))
    for name, (_share, low, high) in arg.bands(list(drawn)).items():
        held = low <= shares[name] <= high
        yield f"tasks {name} the band of ±5% ({shares[name]:.1%}), {unseen} tasks", held


def recovered(studies: int, seed: int) -> dict[str, float]:
    """Return the share of studies in which each thing is true."""
    draw, counts = np.random.default_rng(seed), defaultdict[str, int](int)
    for _study in range(studies):
        for of, sizes in (
            (arms, (3, 10)), (shots, (3, 10)), (anchors, (3, 10)), (confidence, (20,)),
            (plateau, (20, 40)), (strata, (3, 10)), (learners, (20,)),
        ):  # fmt: skip
            for people in sizes:
                for name, is_true in of(draw, people):
                    counts[name] += is_true
    return {name: count / studies for name, count in counts.items()}


def table(shares: dict[str, float]) -> str:
    """Format a Markdown table, with a mark at each miss."""
    lines = ["| known effect | nominal | share |", "|---|---|---|"]
    for name, share in shares.items():
        is_size = name.startswith(SIZE)
        is_right = share <= 0.08 if is_size else 0.92 <= share <= 0.98
        cell = f"{share:.3f}".removeprefix("0") + ("" if is_right else " misses")
        lines.append(f"| {name} | {'.05 at most' if is_size else '.95'} | {cell} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=STUDIES)
    parser.add_argument("--seed", type=int, default=12)
    options = parser.parse_args()
    print(f"{options.studies:,} studies, seed {options.seed}, numpy {np.__version__}")
    print(table(recovered(options.studies, options.seed)))


if __name__ == "__main__":
    main()
