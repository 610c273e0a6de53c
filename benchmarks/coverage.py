"""Compare the coverage of intervals and the size of tests with their nominal values.

`python benchmarks/coverage.py` simulates studies with the designs of docs/statistics.md#coverage
and prints the tables of that section in Markdown, with a mark at each miss. People and examples are
samples, so each study draws its own. Answers are right with probability 1 / (1 + exp(-x)), where x
is a mean + the annotator + the example. The mean is .80, examples have an SD of 1.5 in x, and
annotators have the SD of the design in points of S1 x 100 (drawn.py). Annotators are normal in x,
except in the designs of NOT_NORMAL and the last of UNEQUAL. Intervals and tests are those of
analysis/stats, on arrays of many studies. Bootstraps draw 1,000 resamples. coverage_arg.py
simulates cross-task studies (`--arg 200` runs only those, 200 per design), and
coverage_of_metrics.py covers metrics of whole test sets.
"""

import argparse
import itertools
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).parents[1]))

from analysis.stats import two_way
from benchmarks import coverage_arg, coverage_of_metrics
from benchmarks.drawn import (
    EXAMPLES_SD,
    MEAN,
    SHAPES,
    Design,
    answers,
    examples,
    expit,
    logits,
    smoothed,
)

SHIFT_SD = 0.5  # SD in x of the part that differs between the arms of a contrast
SHARED = 0.5  # share of the difficulty for people that also applies to the model
RESAMPLES = 1000
AT_ONCE = 250  # studies
STUDIES, SEED = 4000, 12
LOWEST, HIGHEST, LARGEST_SIZE = 0.92, 0.98, 0.09

# Rows of the tables.
DEFAULT = "**Default: wider of t over annotators and the two-way t**"
SATTERTHWAITE = "Satterthwaite's two-way t alone"
NORMAL = "wider of t over annotators and 1.96 SE"
ONLY_NORMAL = "mean ± 1.96 SE"
T_PEOPLE = "t over annotators"


DESIGNS = (
    Design(3, 200, 1, 1.2),
    Design(3, 200, 1, 3.0),
    Design(3, 200, 1, 7.2),
    Design(3, 200, 3, 2.4),
    Design(5, 200, 1, 3.0),
    Design(10, 200, 1, 3.0),
)
# Annotators who are not normal in x. Intervals from few of them cannot be right.
NOT_NORMAL = (
    Design(3, 200, 1, 11.7, "one-sided"),
    Design(10, 200, 1, 11.7, "one-sided"),
    Design(3, 200, 1, 14.1, "one faulty in three"),
    Design(10, 200, 1, 9.3, "one faulty in ten"),
)
# Two arms with different SDs, sizes and shapes.
UNEQUAL = (
    (Design(3, 200, 1, 1.2), Design(3, 200, 1, 7.2)),
    (Design(3, 200, 1, 7.2), Design(6, 200, 1, 1.2)),
    (Design(3, 200, 1, 1.2), Design(2, 200, 1, 7.2)),
    (Design(3, 200, 1, 11.7), Design(6, 200, 1, 1.2)),
    (Design(3, 200, 1, 3.0), Design(3, 200, 1, 14.1, "one faulty in three")),
)


# Intervals of a cell ------------------------------------------------------------------------------


def cell(draw: np.random.Generator, design: Design, size: int) -> Iterator[tuple[str, str, float]]:
    """Yield (interval, its question, number of studies whose interval contains the truth)."""
    study = answers(draw, design, examples(draw, size, design, EXAMPLES_SD))
    mean, sd = logits(design.sd, design.shape)
    truths = {
        two_way.BOTH: np.full(size, MEAN),
        two_way.PEOPLE: smoothed(mean + study.examples, sd, design.shape).mean(1),
        "the same people, other examples": smoothed(mean + study.people, EXAMPLES_SD).mean(1),
    }
    both, people, own = truths
    values = study.values
    centre = values.mean((1, 2))
    reaches = half_widths(two_way.variances(values))
    for name, half in reaches.items():
        question = people if name == T_PEOPLE else both
        yield name, question, (np.abs(centre - truths[question]) <= half).sum()
    half = reaches[T_PEOPLE]
    yield T_PEOPLE, both, (np.abs(centre - truths[both]) <= half).sum()
    for name, question, means in bootstraps(draw, values, (own, people, both)):
        low, high = np.quantile(means, [0.025, 0.975], axis=0)
        truth = truths[question]
        yield name, question, ((low <= truth) & (truth <= high)).sum()


def half_widths(parts: two_way.Variances, level: float = 0.95) -> dict[str, np.ndarray]:
    """Return half widths of the intervals. They are NaN if annotators tie and contain no value."""
    ties = ~(parts.people > 0)
    se, df = parts.both()
    people_se, people_df = np.sqrt(parts.people), np.where(ties, 1, parts.people_df)
    tail = (1 + level) / 2
    t_people = stats.t.ppf(tail, people_df) * people_se
    normal = stats.norm.ppf(tail) * se
    halves = {
        DEFAULT: two_way.reach(people_se, people_df, se, df, level),
        SATTERTHWAITE: stats.t.ppf(tail, df) * se,
        NORMAL: np.maximum(t_people, normal),
        ONLY_NORMAL: normal,
        T_PEOPLE: t_people,
    }
    return {name: np.where(ties, math.nan, half) for name, half in halves.items()}


def bootstraps(
    draw: np.random.Generator, values: np.ndarray, questions: tuple[str, str, str]
) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield the percentile bootstraps of uncertainty.bootstrap as (name, question, means).

    The means are an array of resamples x studies.
    """
    _size, annotators, contexts = values.shape
    of_people = draw.multinomial(annotators, np.full(annotators, 1 / annotators), RESAMPLES)
    of_contexts = draw.multinomial(contexts, np.full(contexts, 1 / contexts), RESAMPLES)
    people, weights = of_people / annotators, (of_contexts / contexts).astype(np.float32)
    own, same, both = questions
    yield "bootstrap over examples", own, weights @ values.mean(1).T
    yield "bootstrap over annotators", same, people @ values.mean(2).T
    means = sum(
        people[:, [one]] * (weights @ values[:, one].T.astype(np.float32))
        for one in range(annotators)
    )
    yield "two-way bootstrap", both, means


# Tests of a difference ----------------------------------------------------------------------------


def contrast(
    draw: np.random.Generator, first: Design, second: Design, size: int
) -> Iterator[tuple[str, float]]:
    """Yield (test, number of differences at p < .05) for equal population means."""
    shared = examples(draw, size, first, math.sqrt(EXAMPLES_SD**2 - SHIFT_SD**2))
    arms = [
        answers(draw, design, shared + draw.normal(0, SHIFT_SD, shared.shape)).values
        for design in (first, second)
    ]
    parts = two_way.variances_of_difference(*arms)
    means = [arm.mean(2) for arm in arms]
    gap = means[1].mean(1) - means[0].mean(1)
    halves = half_widths(parts)
    for name in (DEFAULT, SATTERTHWAITE, NORMAL):
        yield name, (np.abs(gap) > halves[name]).sum()
    yield "Welch over annotators", (np.abs(gap) > halves[T_PEOPLE]).sum()
    yield "permutation over annotators", (permutation(draw, *means) < 0.05).sum()
    # The true difference is exactly at the margin, so the lower of the two tests decides.
    yield "equivalence at its margin", (gap < -half_widths(parts, 0.9)[DEFAULT]).sum()


def permutation(draw: np.random.Generator, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the p of each study over all splits up to 300, otherwise over a sample of 300."""
    pooled = np.concatenate([first, second], 1)
    number, size = pooled.shape[1], first.shape[1]
    total = pooled.sum(1)

    def gap(sums: np.ndarray) -> np.ndarray:
        return np.abs(sums / size - (total - sums) / (number - size))

    observed = gap(first.sum(1)) - 1e-9
    if math.comb(number, size) <= 300:
        splits = np.array(list(itertools.combinations(range(number), size)))
        return np.mean([gap(pooled[:, split].sum(1)) >= observed for split in splits], 0)
    splits = np.array([draw.permutation(number)[:size] for _ in range(299)])
    reached = sum(gap(pooled[:, split].sum(1)) >= observed for split in splits)
    return (reached + 1) / 300


def against_a_model(
    draw: np.random.Generator, design: Design, size: int
) -> Iterator[tuple[str, float]]:
    """Yield the same for people against one run of a model with the same average score."""
    easy = examples(draw, size, design, EXAMPLES_SD)
    people = answers(draw, design, easy)
    mean, sd = logits(design.sd, design.shape)
    own = draw.normal(0, math.sqrt(1 - SHARED**2) * EXAMPLES_SD, easy.shape)
    x = mean + SHARED * easy + own + sd * SHAPES[design.shape].draw(draw, easy.shape)
    model = (draw.random(x.shape) < expit(x)).astype(float)
    gaps = people.scores - model[:, None, :]
    values = gaps.reshape(size, design.annotators, design.contexts, design.each).mean(-1)
    centre = values.mean((1, 2))
    halves = half_widths(two_way.variances(values))
    for name in (DEFAULT, SATTERTHWAITE, NORMAL):
        yield name, (np.abs(centre) > halves[name]).sum()
    sums = values.mean(1)
    signs = draw.choice((-1.0, 1.0), (RESAMPLES - 1, sums.shape[1])).astype(np.float32)
    edge = np.abs(sums.sum(1)) - 1e-6
    reached = (np.abs(signs @ sums.T.astype(np.float32)) >= edge).sum(0)
    yield "sign flip over examples", ((reached + 1) / RESAMPLES < 0.05).sum()


# The tables ---------------------------------------------------------------------------------------

Shares = dict[tuple[str, ...], float]


def shares(make: Iterator[tuple], studies: int) -> Shares:
    """Convert the counts of portions to shares of the studies, by row of the table."""
    counts: dict[tuple[str, ...], float] = defaultdict(float)
    for *row, count in make:
        counts[tuple(row)] += float(count)
    return {row: count / studies for row, count in counts.items()}


def sizes(studies: int) -> list[int]:
    """Return the sizes of the portions in which the studies are simulated."""
    return [min(AT_ONCE, studies - begin) for begin in range(0, studies, AT_ONCE)]


def intervals(design: Design, studies: int = STUDIES, seed: int = SEED) -> Shares:
    """Return the coverage in a cell of this design by (interval, question)."""
    draw = np.random.default_rng(seed)
    return shares((row for size in sizes(studies) for row in cell(draw, design, size)), studies)


def false_alarms(first: Design, second: Design, studies: int = STUDIES, seed: int = SEED) -> Shares:
    """Return the share of false differences between shots by (test,)."""
    draw = np.random.default_rng(seed)
    portions = sizes(studies)
    return shares((row for n in portions for row in contrast(draw, first, second, n)), studies)


def false_alarms_of_models(design: Design, studies: int = STUDIES, seed: int = SEED) -> Shares:
    """Return the same for people against a model."""
    draw = np.random.default_rng(seed)
    portions = sizes(studies)
    return shares((row for n in portions for row in against_a_model(draw, design, n)), studies)


def is_covered(share: float) -> bool:
    return LOWEST <= share <= HIGHEST


def is_kept(share: float) -> bool:
    return share <= LARGEST_SIZE


def printed(
    title: str, nominal: str, columns: dict[str, Shares], is_right: Callable[[float], bool]
) -> str:
    """Format a Markdown table with a mark at each miss."""
    rows = list(max(columns.values(), key=len))
    first = ["method", "question"][: len(rows[0])]
    heading = [*first, "nominal", *columns]
    lines = [f"**{title}**", "", f"| {' | '.join(heading)} |", "|---" * len(heading) + "|"]
    for row in rows:
        values = [held.get(row, math.nan) for held in columns.values()]
        cells = [
            f"{share:.3f}".removeprefix("0") + ("" if is_right(share) else " misses")
            if not math.isnan(share)
            else "–"
            for share in values
        ]
        lines.append(f"| {' | '.join([*row, nominal, *cells])} |")
    return "\n".join([*lines, ""])


def gains(studies: int, seed: int) -> str:
    """Return tables on how often intervals of the average relative gain contain the known gain."""
    tables = []
    for title, is_one in (("one unseen task", True), ("several unseen tasks", False)):
        columns = {
            str(design): shares(coverage_arg.intervals(design, studies, seed), studies)
            for design in coverage_arg.DESIGNS
            if (design.tasks == 1) == is_one
        }
        title = f"Coverage, average relative gain, {title}"
        tables.append(printed(title, ".95", columns, is_covered))
    return "\n".join(tables)


def complement(held: Shares) -> Shares:
    """Return the coverage of the default interval of a difference whose true value is 0."""
    return {(DEFAULT, two_way.BOTH): 1 - held[DEFAULT,]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=STUDIES)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--arg", type=int, help="average relative gain alone, so many studies")
    parser.add_argument(
        "--metric-studies",
        type=int,
        default=coverage_of_metrics.STUDIES,
        help="studies for each metric of whole test sets; its jackknife takes longer",
    )
    options = parser.parse_args()
    if options.arg:
        print(gains(options.arg, options.seed))
        return
    drawn = (options.studies, options.seed)
    print(
        f"{options.studies:,} studies a design, seed {options.seed}, numpy {np.__version__}; the"
        f" SE of a share of .95 is {math.sqrt(0.95 * 0.05 / options.studies):.4f}. Columns:"
        " annotators x examples; SD between annotators. Misses: coverage outside"
        f" {LOWEST} to {HIGHEST}, size above {LARGEST_SIZE}.\n"
    )
    cells = {str(design): intervals(design, *drawn) for design in DESIGNS}
    print(printed("Coverage, one cell", ".95", cells, is_covered))
    arms = {str(design): false_alarms(design, design, *drawn) for design in DESIGNS}
    models = {str(design): false_alarms_of_models(design, *drawn) for design in DESIGNS}
    for title, held in (("two numbers of shots", arms), ("people minus a model", models)):
        covered = {name: complement(own) for name, own in held.items()}
        print(printed(f"Coverage, {title}", ".95", covered, is_covered))
        print(printed(f"Size, {title}", ".05", held, is_kept))
    of_shape = {str(design): intervals(design, *drawn) for design in NOT_NORMAL}
    print(printed("Coverage, one cell, annotators not normal", ".95", of_shape, is_covered))
    for title, tests in (
        ("two numbers of shots", lambda design: false_alarms(design, design, *drawn)),
        ("people minus a model", lambda design: false_alarms_of_models(design, *drawn)),
    ):
        held = {str(design): tests(design) for design in NOT_NORMAL}
        print(printed(f"Size, {title}, annotators not normal", ".05", held, is_kept))
    print(coverage_of_metrics.table(options.metric_studies, options.seed))
    for title, pairs in (
        ("different SDs in the arms", UNEQUAL[:3]),
        ("SDs that differ tenfold or one arm not normal", UNEQUAL[3:]),
    ):
        odd = {f"{a} against {b}": false_alarms(a, b, *drawn) for a, b in pairs}
        print(printed(f"Size, two numbers of shots, {title}", ".05", odd, is_kept))
    print(gains(*drawn))


if __name__ == "__main__":
    main()
