"""The columns of each table of findings with their meanings, and the introduction of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from analysis.stats.uncertainty import RESAMPLES
from analysis.tables.columns import between, p_value, points, signed_points, two_digits
from analysis.tables.findings import TABLES, Finding
from tasks import columns
from tasks.columns import Column


@dataclass(frozen=True)
class Table:
    """A table of the page with its rows."""

    name: str
    title: str
    intro: str
    all_columns: Sequence[Column]
    rows: Sequence[Finding]
    is_waiting: bool = False

    @property
    def columns(self) -> list[Column]:
        """Those of the page."""
        return columns.on_page(self.all_columns)

    @property
    def cells(self) -> list[list[str]]:
        return columns.cells(self.all_columns, self.rows)


def _interval(name: str, heading: str, meaning: str) -> list[Column]:
    """One column on the page, two in files."""
    low, high = f"{name}_low", f"{name}_high"
    ends = attrgetter(low, high, "no_interval_over_people")
    return [
        Column("", heading, meaning, "S1 x 100", between, ends),
        Column(low, meaning=f"{meaning}: its low end", unit="S1 x 100"),
        Column(high, meaning=f"{meaning}: its high end", unit="S1 x 100"),
    ]


_WHO = [
    Column("task", "Task"),
    Column("shots", "Shots"),
    Column("n", "n", "number of annotators who completed and are in the analysis"),
]
_ALPHAS = {
    "nominal": "alpha_nominal",
    "Jaccard": "alpha_jaccard",
    "MASI": "alpha_masi",
    "1 - S1": "alpha_s1",
}

COLUMNS: dict[str, list[Column]] = {
    "intervals": [
        *_WHO,
        Column("examples", meaning="test examples that they answered"),
        Column("contexts", meaning="different contexts of these examples"),
        Column("mean", "Mean", "mean over annotators of their mean S1, x 100", "S1 x 100", points),
        *_interval("t", "t", "t interval over annotators, truncated at 0 and 100"),
        *_interval(
            "examples",
            "Other examples",
            "cluster bootstrap over contexts: the same annotators on other examples",
        ),
        *_interval(
            "annotators",
            "Other annotators",
            "bootstrap over annotators: other annotators on these examples; crude for three"
            " annotators, undefined for one or if all scores are equal",
        ),
        *_interval(
            "both",
            "Both",
            "two-way bootstrap: other annotators on other examples; undefined for one annotator"
            " or if all scores are equal",
        ),
        Column(
            "sd_between_annotators",
            "SD annotators",
            "SD between annotators from a two-way random-effects model; a negative variance"
            " estimate is set to 0",
            "points",
            points,
        ),
        Column(
            "sd_between_examples",
            "SD examples",
            "SD between examples from the same model",
            "points",
            points,
        ),
        Column("sd_rest", meaning="residual SD from the same model", unit="points"),
        Column(
            "se_of_mean",
            "SE",
            "standard error of the mean from annotators, examples and residual",
            "points",
            points,
        ),
        Column(
            "no_interval_over_people", meaning="why there is no interval over annotators, if so"
        ),
    ],
    "agreement": [
        *_WHO,
        Column(
            "pairwise_s1",
            "Pairwise S1",
            "mean over examples and pairs of annotators of the S1 between their answers, x 100",
            "S1 x 100",
            points,
        ),
        *(
            Column(
                f"alpha {name}",
                f"α {name}",
                f"Krippendorff's alpha with the {name} distance",
                "-1 to 1",
                two_digits,
                attrgetter(attribute),
            )
            for name, attribute in _ALPHAS.items()
        ),
    ],
    "aggregates": [
        *_WHO,
        Column(
            "individuals",
            "Individuals",
            "mean over annotators of their mean S1",
            "S1 x 100",
            points,
        ),
        Column(
            "majority",
            "Majority",
            "S1 of the texts chosen by more than half of the annotators, or of the most frequent"
            " label (ties count as no answer)",
            "S1 x 100",
            points,
        ),
        Column(
            "dawid_skene",
            "Dawid-Skene",
            "S1 of the most likely labels under Dawid and Skene (1979); weakly identified for three"
            " annotators",
            "S1 x 100",
            points,
        ),
    ],
    "contrasts": [
        Column("task", "Task"),
        Column("", "Shots", get=lambda row: f"{row.from_shots} → {row.to_shots}"),
        Column("from_shots", meaning="the smaller number of shots"),
        Column("to_shots", meaning="the larger number of shots"),
        Column(
            "",
            "n",
            "number of annotators at each number of shots",
            get=lambda row: f"{row.n_from}, {row.n_to}",
        ),
        Column("n_from", meaning="annotators with the smaller number of shots"),
        Column("n_to", meaning="annotators with the larger number of shots"),
        Column(
            "difference",
            "Difference",
            "difference of the means, in points of S1 x 100",
            "points",
            signed_points,
        ),
        Column(
            "permutation_p",
            "p exact",
            "exact permutation test over annotators, two-sided",
            "0 to 1",
            p_value,
        ),
        Column(
            "floor",
            "Smallest p",
            "the smallest p attainable with this number of annotators",
            "0 to 1",
            p_value,
        ),
        Column("welch_p", "p Welch", "Welch's t test, two-sided", "0 to 1", p_value),
        Column(
            "holm_p",
            "p Holm",
            "Welch's p, Holm-corrected over all contrasts of this table",
            "0 to 1",
            p_value,
        ),
        Column(
            "detectable",
            "Detectable",
            "minimum detectable difference in points (80 % power at p < .05), taking the pooled SD"
            " as the true SD",
            "points",
            points,
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
        " the annotator is the unit of analysis.",
    ),
}


def page_tables(findings: Mapping[str, Sequence[Finding]], is_waiting: bool = False) -> list[Table]:
    """The tables in the order of the page; those not there yet are waited for, or empty."""
    return [
        table(name, findings.get(name, []), is_waiting and name not in findings) for name in TABLES
    ]


def table(name: str, rows: Sequence[Finding], is_waiting: bool = False) -> Table:
    """One of TABLES with its words."""
    return Table(name, *_TEXTS[name], COLUMNS[name], rows, is_waiting)
