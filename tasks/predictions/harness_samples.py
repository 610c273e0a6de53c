"""Samples of lm-evaluation-harness as a file of predictions.

The harness's task is named as a file of predictions is (MNLI_10_3), and its documents carry the id
of the example, as the files of `export_task` do.
"""

import re
from pathlib import Path

from tasks.datasets import harness
from tasks.datasets.table import DatasetError
from tasks.predictions.completions import prediction_lines, texts_of

NAME = re.compile(r"samples_(?P<place>.+?)(_\d{4}-\d\d-\d\dT[\d.-]+)?\.jsonl")
WITHOUT_ID = (
    "the documents have no id: give the harness the test file of export_task, whose lines have one"
)


def is_named(filename: str) -> bool:
    """Is the file called as the harness calls its samples?"""
    return NAME.fullmatch(filename) is not None


def converted(path: Path) -> tuple[str, bytes]:
    """The name that a file of these predictions has, and its lines. Raises FormatError."""
    matched = NAME.fullmatch(path.name)
    assert matched is not None  # is_named
    table = harness.read(path)
    rows = []
    for row in table.rows:
        doc = row.values["doc"]
        if "id" not in doc:
            raise DatasetError(path.name, f"{table.unit} {row.number}", "doc", WITHOUT_ID)
        rows.append((doc["id"], texts_of(row.values[harness.PREDICTED])))
    return f"{matched['place']}.jsonl", prediction_lines(rows)
