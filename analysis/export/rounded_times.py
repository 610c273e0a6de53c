"""Times of a bundle rounded down, so that they cannot be joined with the log of a platform.

To the start of their hour or day, UTC, in every file that has times of people; who came first is
kept. Durations stay as they were measured: response times and pay follow from them.
"""

import csv
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from analysis.export.columns import COLUMNS
from tasks.csv_files import moment, write_csv

HOUR, DAY = "hour", "day"
UNITS = {
    "": "as they were stored",
    HOUR: "rounded down to the hour",
    DAY: "rounded down to the day",
}
KEY = "times_rounded_to"  # in versions.json, which the sums cover
COLUMNS_OF_TIMES = {
    "answers.csv": ("shown_at", "submitted_at"),
    "upstream.csv": ("shown_at", "submitted_at"),
    "allocations.csv": ("at",),
    "decisions.csv": ("at",),
}
# Times within texts: of the audit log (ISO 8601) and of the report ("2026-11-21 20:03:00 UTC").
IN_TEXT = re.compile(
    r"(\d{4}-\d\d-\d\d)([T ])(\d\d):\d\d:\d\d(\.\d+)?(Z|\+00:00| UTC)",
)
README = """
## Rounded times

All times of people (`shown_at`, `submitted_at`, `at`) are rounded down to the {unit}, UTC; so are
those of `audit_log.csv`, of `versions.json`, and of the report, but for the opening there.
`versions.json` says so. Durations and pay are not changed: a reader with the log of a platform may
still recognise people by how long they took.
"""


def round_cell(text: str, unit: str) -> str:
    """A cell that holds a time, at the start of its hour or day; "" stays."""
    if not text:
        return ""
    at = datetime.fromisoformat(text).astimezone(UTC)
    start = at.replace(minute=0, second=0, microsecond=0)
    return moment(start.replace(hour=0) if unit == DAY else start)


def in_text(text: str, unit: str) -> str:
    """The times that stand in a text, rounded in the form in which they stand there."""

    def start(found: re.Match[str]) -> str:
        day, between, hour, fraction, zone = found.groups()
        zeros = re.sub(r"\d", "0", fraction or "")
        return f"{day}{between}{'00' if unit == DAY else hour}:00:00{zeros}{zone}"

    return IN_TEXT.sub(start, text)


def change_columns(path: Path, columns: Mapping[str, Callable[[str], str]]) -> None:
    """Change cells of these columns of a CSV, row by row."""
    original = path.rename(path.with_suffix(".original"))
    with (
        original.open(encoding="utf-8", newline="") as source,
        path.open("w", encoding="utf-8", newline="") as target,
    ):
        reader = csv.DictReader(source, strict=True)
        rows = (row | {name: to(row[name]) for name, to in columns.items()} for row in reader)
        write_csv(target, list(COLUMNS[path.name]), (row.values() for row in rows))
    original.unlink()


def round_files(folder: Path, unit: str) -> None:
    """Round the times of the CSVs in a folder, and say so in its versions.json and README.md."""
    for name, columns in COLUMNS_OF_TIMES.items():
        change_columns(folder / name, dict.fromkeys(columns, lambda text: round_cell(text, unit)))
    versions = folder / "versions.json"
    said = json.loads(versions.read_text(encoding="utf-8")) | {KEY: unit}
    # Arrivals are rounded down too: none may then be earlier than the opening.
    for name in ("opened_at", "closed_at"):
        said[name] = round_cell(said[name] or "", unit) or None
    versions.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    with (folder / "README.md").open("a", encoding="utf-8") as readme:
        readme.write(README.format(unit=unit))
