"""Column definitions for the findings tables, and an introduction to each table."""

import math
from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from analysis.scores import findings, means, tested
from analysis.scores.anchors import ANCHORS, QUESTION_ALONE
from analysis.scores.attrition import ADMISSION, ATTRITION
from analysis.scores.columns import ASSUMES, CELL, PAIR, SCORE, Table, assuming, between
from analysis.scores.confidence import CALIBRATION, CONFIDENCE
from analysis.scores.findings import ALPHAS
from analysis.scores.training import PLATEAU
from analysis.stats.two_way import BOTH, PEOPLE
from analysis.stats.uncertainty import FEWEST_FOR_BOOTSTRAP, RESAMPLES
from annotation.models import Study
from tasks.columns import Column, cells

# Tables on the *Statistics* page that are computed without a job, in page order.
ARM_TABLES = (ANCHORS, QUESTION_ALONE, CONFIDENCE, CALIBRATION, PLATEAU, ATTRITION, ADMISSION)
OVER_PEOPLE = ("Bootstrap, annotators", "Bootstrap, both")


def _interval(
    name: str, heading: str, meaning: str, *reason: str, few: bool = False
) -> list[Column]:
    """Return one column for the page and two for files. `few` marks fewer than ten annotators."""
    low, high = (f"{name}_low", f"{name}_high") if name else ("low", "high")
    ends = attrgetter(low, high, *reason)
    note, in_files = (f"; {ASSUMES}", f"; {ASSUMES[2:]}") if few else ("", "")
    return [
        Column("", heading, f"{meaning}{note}", SCORE,
               get=lambda row: assuming(between(ends(row)), row.n if few else math.inf)),
        Column(f"{low}_95", meaning=f"{meaning}{in_files}: lower end", unit=SCORE, get=low),
        Column(f"{high}_95", meaning=f"{meaning}{in_files}: upper end", unit=SCORE, get=high),
    ]  # fmt: skip


ALPHA = "Krippendorff's alpha with the {} distance"
COLUMNS: dict[str, list[Column]] = {
    "intervals": [
        *CELL,
        Column("test_examples", meaning="test examples that they answered", get="examples"),
        Column("contexts", meaning="distinct contexts of these examples"),
        Column("mean", "Mean", "mean over annotators of their test-set score under the task's"
               " metric, x 100", SCORE),
        *_interval("", "95 % CI", f"95 % interval, which generalises to {BOTH}: the wider of the t"
                   " interval over annotators and the two-way t interval over annotators and"
                   " contexts, truncated at the ends of the metric", "no_interval", few=True),
        Column("question", meaning="what low_95 and high_95 generalise to", get=lambda _row: BOTH),
        *_interval("t", "Other people", "t interval over annotators, which generalises to"
                   f" {PEOPLE}; truncated at the ends of the metric", "no_interval", few=True),
        *_interval("examples", "Other examples", "cluster bootstrap over contexts, which"
                   " generalises to other examples with the same annotators", "no_examples"),
        *_interval("annotators", OVER_PEOPLE[0], "bootstrap over annotators, which generalises to"
                   f" {PEOPLE}; requires {FEWEST_FOR_BOOTSTRAP} annotators (with three, its"
                   " coverage is about 75 %)"),
        *_interval("both", OVER_PEOPLE[1], f"two-way bootstrap, which generalises to {BOTH};"
                   f" requires {FEWEST_FOR_BOOTSTRAP} annotators"),
        Column("sd_between_annotators", "SD annotators", "SD between annotators from a two-way"
               " random-effects model of annotators and contexts; a negative variance estimate is"
               " set to 0", "points"),
        Column("sd_between_contexts", "SD contexts", "SD between contexts (between examples, if"
               " each has its own context) from the same model", "points"),
        Column("sd_rest", meaning="residual SD from the same model", unit="points"),
        Column("se", "SE", "standard error of the mean over annotators and contexts", "points"),
        Column("df", meaning="Satterthwaite's degrees of freedom for that standard error, at least"
               " the smaller of those for annotators and for contexts"),
        Column("no_interval", meaning="reason for a missing interval over annotators"),
        Column("no_bootstrap", meaning="reason for a missing bootstrap over annotators"),
        Column("no_examples", meaning="reason for a missing bootstrap over examples"),
    ],
    "agreement": [
        *CELL,
        Column("pairwise_s1", "Pairwise S1", "mean over examples and pairs of annotators of the S1"
               " between their answers, x 100", "S1 x 100"),
        *(
            Column(f"alpha_{suffix}", f"α {name}", ALPHA.format(name), "-1 to 1")
            for suffix, name in ALPHAS.items()
        ),
    ],
    "aggregates": [
        *CELL,
        Column("individuals", "Individuals", "mean over annotators of their mean S1", "S1 x 100"),
        Column("majority", "Majority", "S1 of the texts chosen by more than half of the annotators,"
               " or of the most frequent label or option (a tie counts as no answer)", "S1 x 100"),
        Column("dawid_skene", "Dawid-Skene", "S1 of the most likely labels under Dawid and Skene"
               " (1979) with a symmetric Dirichlet prior; weakly identified for three annotators",
               "S1 x 100"),
    ],
    "ceiling": means.CEILING,
    "contrasts": [
        *PAIR,
        Column("", "n", "number of annotators at each number of shots",
               get=lambda row: f"{row.n_from}, {row.n_to}"),
        Column("n_from", meaning="annotators with the smaller number of shots"),
        Column("n_to", meaning="annotators with the larger number of shots"),
        tested.DIFFERENCE,
        *tested.interval_columns(BOTH),
        Column("hedges_g", "g", "Hedges' g: the difference in pooled SDs between annotators,"
               " corrected for small groups", "SDs"),
        *tested.p_columns("all contrasts in this table"),
        *tested.EQUIVALENCE_COLUMNS,
        Column("welch_p", "p Welch", "sensitivity analysis: two-sided Welch's t test over"
               f" annotators (no smallest p); {PEOPLE}", "0 to 1"),
        Column("permutation_p", "p exact", "sensitivity analysis: two-sided permutation test over"
               f" annotators, exact up to 100,000 splits; {PEOPLE}", "0 to 1"),
        Column("smallest_p", "Smallest p", "the smallest p that the exact permutation test can"
               " attain with this number of annotators", "0 to 1", get="floor"),
        *tested.ERROR_COLUMNS,
    ],
}  # fmt: skip

RESAMPLED = f"Bootstraps: {RESAMPLES:,} resamples, seeded with the study's seed."
_WORDS = {"both": BOTH, "resampled": RESAMPLED, "fewest": means.FEWEST_FOR_MAJORITY}


def _rows(name: str, study: Study, kind: str) -> Sequence[Any]:
    return findings.tables(study, kind, name)[name]


class _Intervals(Table):
    def page(self, study: Study, kind: str, rows: Sequence[Any] | None = None) -> dict[str, Any]:
        """Return the template's context. Bootstrap columns without any values are omitted."""
        page = super().page(study, kind, rows)
        reasons = {row.no_bootstrap for row in page["rows"]}
        if reasons and all(reasons):
            page["columns"] = [c for c in page["columns"] if c.heading not in OVER_PEOPLE]
            page["cells"] = cells(page["columns"], page["rows"])
            page["intro"] += (
                f" No bootstrap over annotators is shown: {' or '.join(sorted(reasons))}."
            )
        return page


# The tables of `findings.TABLES`.
TABLES = {
    name: kind(name, title, COLUMNS[name], partial(_rows, name), _WORDS)
    for name, kind, title in (
        ("intervals", _Intervals, "95 % confidence intervals of the mean"),
        ("agreement", Table, "Agreement"),
        ("aggregates", Table, "Aggregated answers"),
        ("ceiling", Table, "Human ceiling"),
        ("contrasts", Table, "Differences between shots"),
    )
}
