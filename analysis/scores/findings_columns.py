"""The columns of the findings tables (columns.toml), and an introduction to each table."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from analysis.scores import findings, means, tested
from analysis.scores.anchors import ANCHORS, QUESTION_ALONE
from analysis.scores.attrition import ADMISSION, ATTRITION
from analysis.scores.columns import Table, table_columns
from analysis.scores.confidence import CALIBRATION, CONFIDENCE
from analysis.scores.training import PLATEAU
from analysis.stats.two_way import BOTH
from analysis.stats.uncertainty import RESAMPLES
from annotation.models import Study
from tasks.columns import Column, cells

# Tables on the *Statistics* page that are computed without a job, in page order.
ARM_TABLES = (ANCHORS, QUESTION_ALONE, CONFIDENCE, CALIBRATION, PLATEAU, ATTRITION, ADMISSION)
OVER_PEOPLE = ("Bootstrap, annotators", "Bootstrap, both")


COLUMNS: dict[str, list[Column]] = {
    name: table_columns(name) for name in ("intervals", "agreement", "aggregates")
} | {
    "ceiling": means.CEILING,
    "contrasts": table_columns("contrasts", tested.WORDS, equivalence=tested.equivalence),
}

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
