"""The columns of the numbers beside each figure."""

from operator import attrgetter

from analysis.figures import humans_models
from analysis.stats import learning
from analysis.stats.two_way import BOTH, PEOPLE
from analysis.tables.columns import (
    SCORE,
    between,
    p_value,
    points,
    seconds,
    signed_between,
    signed_points,
    two_digits,
)
from tasks.columns import Column


def _interval(name: str) -> list[Column]:
    """The t interval of a change: one column on the page, two in files."""
    low, high, why_not = f"{name}_low", f"{name}_high", f"{name}_why_not"
    meaning = f"95 % t interval over annotators, which generalises to {PEOPLE}"
    return [
        Column("", "95 %", meaning, "points", signed_between, attrgetter(low, high, why_not)),
        Column(f"{low}_95", meaning=f"{meaning}: low end", unit="points", get=attrgetter(low)),
        Column(f"{high}_95", meaning=f"{meaning}: high end", unit="points", get=attrgetter(high)),
        Column(
            f"{name}_no_interval",
            meaning="why there is no such interval, if so",
            get=attrgetter(why_not),
        ),
    ]


_GROUP = [Column("task", "Task"), Column("shots", "Shots")]
_WHO = [*_GROUP, Column("n", "n", "number of annotators who completed and are in the analysis")]
_INTERVAL = f"95 % interval, which generalises to {BOTH}"
_SLOPE = "slope of a linear fit of each annotator's S1 on position, averaged over annotators,"

COLUMNS: dict[str, list[Column]] = {
    "shots": [
        *_WHO,
        Column("metric", "Metric", "of the task's card: of all scores of the row"),
        Column(
            "score",
            "Mean",
            "mean over annotators of the score of their test set, x 100",
            SCORE,
            points,
        ),
        Column(
            "",
            "95 % CI",
            f"{_INTERVAL}: the wider of the t interval over annotators and the two-way t interval"
            " over annotators and contexts, truncated at the ends of the metric",
            SCORE,
            between,
            attrgetter("low", "high", "no_interval"),
        ),
        Column("low_95", meaning=f"low end of the {_INTERVAL}", unit=SCORE, get=attrgetter("low")),
        Column(
            "high_95", meaning=f"high end of the {_INTERVAL}", unit=SCORE, get=attrgetter("high")
        ),
        Column("question", meaning="what low_95 and high_95 generalise to", get=lambda _row: BOTH),
        Column("baseline", "Baseline", "score x 100 of the trivial baseline", SCORE, points),
        Column("no_interval", meaning="why there is no interval over annotators, if so"),
    ],
    "models": humans_models.COLUMNS,
    "learning": [
        *_WHO,
        Column("examples", "Examples", "number of examples in the training step"),
        Column(
            "first_block",
            "First block",
            "mean S1 x 100 on the first block",
            "S1 x 100",
            points,
        ),
        Column("last_block", "Last block", "mean S1 x 100 on the last block", "S1 x 100", points),
        Column(
            "slope_per_10",
            "Per 10 examples",
            f"{_SLOPE} in points per ten examples",
            "points",
            signed_points,
        ),
        Column(
            "p",
            "p",
            f"two-sided permutation test of the slope: {learning.RESAMPLES:,} shuffles of the"
            " positions within each annotator, seeded with the study's seed; not corrected for"
            " multiple testing",
            "0 to 1",
            p_value,
        ),
    ],
    "drift": [
        *_WHO,
        Column(
            "test_examples",
            "Examples",
            "number of examples in the annotation step",
            get=attrgetter("examples"),
        ),
        Column(
            "half",
            "Half 2 − half 1",
            "mean S1 in the second half minus mean S1 in the first half, averaged over annotators,"
            " in points; negative values are a decline",
            "points",
            signed_points,
        ),
        *_interval("half"),
        Column(
            "per_100",
            "Per 100 examples",
            f"{_SLOPE} in points per hundred examples",
            "points",
            signed_points,
        ),
        *_interval("per_100"),
    ],
    "speed": [
        *_WHO,
        Column(
            "seconds",
            "Seconds",
            "median over annotators of their median seconds for an answer",
            "seconds",
            seconds,
        ),
        Column(
            "first_half",
            "First half",
            "the same in the first half of the step",
            "seconds",
            seconds,
        ),
        Column(
            "second_half",
            "Second half",
            "the same in the second half of the step",
            "seconds",
            seconds,
        ),
        Column(
            "log_median",
            "Log median",
            "mean over annotators of the natural logarithm of their median seconds",
            "",
            two_digits,
        ),
        Column("log_median_sd", "SD of log median", "SD over annotators (ddof 1)", "", two_digits),
    ],
    "time": [
        Column("annotator", "Annotator", "pseudonym"),
        *_GROUP,
        Column(
            "training_minutes",
            "Training",
            "active minutes on the examples of this step",
            "minutes",
            points,
        ),
        Column(
            "annotation_minutes",
            "Annotation",
            "active minutes on the examples of this step",
            "minutes",
            points,
        ),
        Column("minutes", meaning="the sum of both", unit="minutes"),
        Column(
            "seconds",
            "Seconds",
            "median seconds for an answer in the annotation step",
            "seconds",
            seconds,
        ),
        Column("log_median", meaning="its natural logarithm"),
        Column(
            "standing",
            "SDs from mean",
            "log seconds as a z-score among all annotators of the task (ddof 1). Prolific regards 3"
            " SDs below the mean as too fast; that is only reachable with 11 or more annotators",
            "SDs",
            two_digits,
        ),
    ],
}
