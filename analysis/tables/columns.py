"""The columns of each table of findings with their meanings, and the same rows as CSV."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.stats.uncertainty import RESAMPLES
from analysis.tables.findings import TABLES, Row
from tasks.csv_files import csv_text


@dataclass(frozen=True)
class Column:
    """A column of the page: its heading, its meaning, and the text of a cell."""

    heading: str
    meaning: str
    text: Callable[[Row], str]


@dataclass(frozen=True)
class Table:
    """A table of the page with its rows as text."""

    name: str
    title: str
    intro: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    is_waiting: bool = False

    @property
    def cells(self) -> list[list[str]]:
        return [[column.text(row) for column in self.columns] for row in self.rows]


def _points(key: str) -> Callable[[Row], str]:
    return lambda row: "–" if math.isnan(row[key]) else f"{row[key]:.1f}"


def _ratio(key: str) -> Callable[[Row], str]:
    return lambda row: "–" if math.isnan(row[key]) else f"{row[key]:.2f}"


def _p(key: str) -> Callable[[Row], str]:
    return lambda row: (
        "–" if math.isnan(row[key]) else "< .001" if row[key] < 0.001 else f"{row[key]:.3f}"
    )


def between(low: str, high: str) -> Callable[[Row], str]:
    """An interval; a dash where there is none, with the reason where the row has one."""

    def text(row: Row) -> str:
        if math.isnan(row[low]):
            why_not = row.get("no_interval_over_people")
            return f"– ({why_not})" if why_not else "–"
        return f"{row[low]:.1f} to {row[high]:.1f}"

    return text


def _plain(key: str) -> Callable[[Row], str]:
    return lambda row: str(row[key])


_WHO = [
    Column("Task", "", _plain("task")),
    Column("Shots", "", _plain("shots")),
    Column("n", "number of annotators who completed and are in the analysis", _plain("n")),
]

_COLUMNS: dict[str, list[Column]] = {
    "intervals": [
        *_WHO,
        Column("Mean", "mean over annotators of their mean S1, x 100", _points("mean")),
        Column(
            "t", "t interval over annotators, truncated at 0 and 100", between("t_low", "t_high")
        ),
        Column(
            "Other examples",
            "cluster bootstrap over contexts: the same annotators on other examples",
            between("examples_low", "examples_high"),
        ),
        Column(
            "Other annotators",
            "bootstrap over annotators: other annotators on these examples; crude for three"
            " annotators, undefined for one or if all scores are equal",
            between("annotators_low", "annotators_high"),
        ),
        Column(
            "Both",
            "two-way bootstrap: other annotators on other examples; undefined for one annotator"
            " or if all scores are equal",
            between("both_low", "both_high"),
        ),
        Column(
            "SD annotators",
            "SD between annotators from a two-way random-effects model; a negative variance"
            " estimate is set to 0",
            _points("sd_between_annotators"),
        ),
        Column(
            "SD examples", "SD between examples from the same model", _points("sd_between_examples")
        ),
        Column(
            "SE",
            "standard error of the mean from annotators, examples and residual",
            _points("se_of_mean"),
        ),
    ],
    "agreement": [
        *_WHO,
        Column(
            "Pairwise S1",
            "mean over examples and pairs of annotators of the S1 between their answers, x 100",
            _points("pairwise_s1"),
        ),
        *(
            Column(
                f"α {name}",
                f"Krippendorff's alpha with the {name} distance",
                _ratio(f"alpha {name}"),
            )
            for name in ("nominal", "Jaccard", "MASI", "1 - S1")
        ),
    ],
    "aggregates": [
        *_WHO,
        Column("Individuals", "mean over annotators of their mean S1", _points("individuals")),
        Column(
            "Majority",
            "S1 of the texts chosen by more than half of the annotators, or of the most frequent"
            " label (ties count as no answer)",
            _points("majority"),
        ),
        Column(
            "Dawid-Skene",
            "S1 of the most likely labels under Dawid and Skene (1979); weakly identified for three"
            " annotators",
            _points("dawid_skene"),
        ),
    ],
    "contrasts": [
        Column("Task", "", _plain("task")),
        Column("Shots", "", lambda row: f"{row['from_shots']} → {row['to_shots']}"),
        Column(
            "n",
            "number of annotators at each number of shots",
            lambda row: f"{row['n_from']}, {row['n_to']}",
        ),
        Column(
            "Difference",
            "difference of the means, in points of S1 x 100",
            lambda row: f"{row['difference']:+.1f}",
        ),
        Column("p exact", "exact permutation test over annotators, two-sided", _p("permutation_p")),
        Column(
            "Smallest p", "the smallest p attainable with this number of annotators", _p("floor")
        ),
        Column("p Welch", "Welch's t test, two-sided", _p("welch_p")),
        Column(
            "p Holm", "Welch's p, Holm-corrected over all contrasts of this table", _p("holm_p")
        ),
        Column(
            "Detectable",
            "minimum detectable difference in points (80 % power at p < .05), taking the pooled SD"
            " as the true SD",
            _points("detectable"),
        ),
    ],
}

_TEXTS = {
    "intervals": (
        "95 % confidence intervals of the mean",
        "Each interval generalises to other examples, other annotators, or both."
        f" {RESAMPLES:,} resamples, seeded with the study's seed.",
    ),
    "agreement": (
        "Agreement",
        "Agreement among annotators, regardless of gold. Two empty answers agree.",
    ),
    "aggregates": (
        "Aggregated answers",
        "Scores of the group's aggregated answer beside the mean of its members. They are different"
        " quantities: CLUES scores individuals.",
    ),
    "contrasts": (
        "Differences between shots",
        "Whether performance differs by the number of shots. The groups are different people, so"
        " the"
        " annotator is the unit of analysis.",
    ),
}


def page_tables(found: dict[str, list[Row]], is_waiting: bool = False) -> list[Table]:
    """The tables in the order of the page; those not found are waited for, or empty."""
    return [table(name, found.get(name, []), is_waiting and name not in found) for name in TABLES]


def table(name: str, rows: Sequence[Row], is_waiting: bool = False) -> Table:
    """One of TABLES with its words."""
    return Table(name, *_TEXTS[name], _COLUMNS[name], rows, is_waiting)


def as_csv(kind: str, rows: Sequence[Row]) -> str:
    """The rows with all digits; empty cells where there is no number."""
    names = list(rows[0]) if rows else []
    cells = ([kind, *(_cell(row[name]) for name in names)] for row in rows)
    return csv_text(["kind", *names], cells)


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(float(value))
    return value
