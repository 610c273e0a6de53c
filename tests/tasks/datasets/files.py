"""The same rows as files of every format, written as the usual programs write them."""

import csv
import json
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow
from pyarrow import parquet

Rows = list[dict[str, Any]]
ROWS: Rows = [
    {"text": "We saw Oslo, at last.", "label": "good", "n": 1},
    {"text": 'He said "no"\nand left 🎉', "label": "bad", "n": 2},
    {"text": "  ärger  ", "label": "bad", "n": 3},
]


def write_csv(path: Path, rows: Rows, delimiter: str = ",", encoding: str = "utf-8") -> Path:
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_jsonl(path: Path, rows: Rows, end: str = "\n") -> Path:
    path.write_bytes("".join(json.dumps(row) + end for row in rows).encode())
    return path


def write_xlsx(path: Path, rows: Rows, more: tuple[str, ...] = ()) -> Path:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(list(rows[0]))
    for row in rows:
        sheet.append(list(row.values()))
    for title in more:
        book.create_sheet(title)
    book.save(path)
    return path


def write_parquet(path: Path, rows: Rows, features: dict[str, Any] | None = None) -> Path:
    table = pyarrow.Table.from_pylist(rows)
    if features:
        described = json.dumps({"info": {"features": features}})
        table = table.replace_schema_metadata({"huggingface": described})
    parquet.write_table(table, path)
    return path


def write_all(folder: Path, rows: Rows) -> dict[str, Path]:
    """Write the rows in every format; return format -> path."""
    folder.mkdir(exist_ok=True)
    (folder / "rows.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return {
        "csv": write_csv(folder / "rows.csv", rows),
        "excel's csv": write_csv(folder / "mark.csv", rows, ";", "utf-8-sig"),
        "utf-16": write_csv(folder / "wide.csv", rows, encoding="utf-16"),
        "tsv": write_csv(folder / "rows.tsv", rows, "\t"),
        "json": folder / "rows.json",
        "jsonl": write_jsonl(folder / "rows.jsonl", rows),
        "crlf": write_jsonl(folder / "crlf.jsonl", rows, "\r\n"),
        "xlsx": write_xlsx(folder / "rows.xlsx", rows),
        "parquet": write_parquet(folder / "rows.parquet", rows),
    }


OPTIONS: dict[str, dict[str, Any]] = {
    "excel's csv": {"delimiter": "semicolon"},
    "tsv": {"quoted": True},
}
