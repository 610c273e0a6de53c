"""The data dictionary of the CSVs: datapackage.json (Frictionless), and the types for Parquet."""

from typing import Any

from analysis.export.columns import COLUMNS, READING

INTEGERS = {
    "task_version", "shots", "split", "position", "in_analysis", "start", "end", "n", "training_n",
    "too_fast", "longest_run", "blurs", "pastes", "checks", "checks_passed", "arrival", "outcome",
    "cents", "entries", "of", "nested",
}  # fmt: skip
NUMBERS = {
    "reachable", "s1", "seconds", "active_seconds", "reveal_seconds", "away_seconds", "mean_s1",
    "sd_examples", "training_s1", "modal_share", "longest_absence", "mean", "sd_ddof1", "sd_ddof0",
    "baseline", "ceiling", "published_mean", "published_spread",
}  # fmt: skip
TIMES = {"shown_at", "submitted_at", "at"}


def type_of(column: str) -> str:
    """integer, number, datetime or string: the same in every file."""
    if column in INTEGERS:
        return "integer"
    if column in NUMBERS:
        return "number"
    return "datetime" if column in TIMES else "string"


def datapackage(name: str, title: str) -> dict[str, Any]:
    """The description of all CSVs, as JSON-able data."""
    return {
        "profile": "tabular-data-package",
        "name": name,
        "title": title,
        "description": " ".join(READING.split()),
        "resources": [
            {
                "name": file.removesuffix(".csv"),
                "path": file,
                "profile": "tabular-data-resource",
                "format": "csv",
                "encoding": "utf-8",
                "schema": {
                    "fields": [
                        {"name": column, "type": type_of(column), "description": meaning}
                        for column, meaning in columns.items()
                    ],
                    "missingValues": [""],
                },
            }
            for file, columns in COLUMNS.items()
        ],
    }
