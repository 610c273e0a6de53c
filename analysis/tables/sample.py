"""The table of the sample, for pages, documents and files; counted in annotation/monitoring."""

from __future__ import annotations

from annotation.models import Study
from annotation.monitoring.sample import FEWEST, SMALL, WITHHELD, Row, own_rows, stored_rows
from tasks.columns import NOTHING, Column

TITLE = "Sample"
NOTE = (
    "People in the analysis, each counted once. n and share are of those who answered. Cells of"
    f" fewer than {FEWEST} people are hidden ({SMALL}), and further ones are {WITHHELD} where such"
    " a cell could be computed from them. Answers in free text are not tabulated."
)


def rows(study: Study) -> list[Row]:
    """The study's own questions first, then the table of a demographic export."""
    return [*own_rows(study), *stored_rows(study)]


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:g}"


def _quartiles(row: Row) -> str:
    return NOTHING if row.low is None else f"{_number(row.low)} to {_number(row.high)}"


def _percent(share: float | None) -> str:
    return NOTHING if share is None else f"{share:.0%}"


COLUMNS = [
    Column("question", "Question", "of the study's own, or a column of the platform's export"),
    Column("answer", "Answer", "one of its choices; empty where the answer is a number"),
    Column(
        "of",
        "Answered",
        "people who answered the question",
        show=lambda of: SMALL if of is None else str(of),
    ),
    Column("n", "", "people with that answer; empty where it is hidden"),
    Column("hidden", "", f"{SMALL} or {WITHHELD} where n is hidden"),
    Column("", "n", "people with that answer", get=lambda row: row.hidden or str(row.n)),
    Column("share", "Share", "of those who answered", "share", _percent),
    Column("median", "Median", "of an answer that is a number", show=_number),
    Column("lower_quartile", "", "of an answer that is a number", get="low"),
    Column("upper_quartile", "", "of an answer that is a number", get="high"),
    Column("", "Quartiles", "lower and upper, by linear interpolation", get=_quartiles),
]
