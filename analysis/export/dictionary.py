"""The data dictionary, the types of the CSV columns, and the conversion of CSVs to Parquet."""

import csv
import itertools
from datetime import datetime
from pathlib import Path
from typing import Any

from analysis.export.columns import COLUMNS
from analysis.scores.columns import type_of

# Maps a type to its name in pandas. Int64 allows missing values.
IN_PANDAS = {"integer": "Int64", "number": "float64", "datetime": "datetime64", "string": "string"}


def columns_markdown() -> str:
    parts = []
    for file, columns in COLUMNS.items():
        rows = "\n".join(
            f"| `{column}` | {IN_PANDAS[type_of(column, file)]} | {text} |"
            for column, text in columns.items()
        )
        parts.append(f"**{file}**\n\n| column | type | meaning |\n|---|---|---|\n{rows}\n")
    return "\n".join(parts)


# Parquet files have the same values as the CSVs. They are written in pieces with pyarrow to limit
# memory use. An empty cell becomes null in columns of numbers or times, and an empty string in
# others.


ROWS = 20_000  # per piece


def write_parquet(source: Path, target: Path) -> int:
    import pyarrow
    import pyarrow.parquet

    types = {
        "integer": pyarrow.int64(),
        "number": pyarrow.float64(),
        "datetime": pyarrow.timestamp("us", tz="UTC"),
        "string": pyarrow.string(),
    }
    count = 0
    with source.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file, strict=True)
        kinds = [(name, type_of(name, source.name)) for name in next(reader)]
        schema = pyarrow.schema([(name, types[kind]) for name, kind in kinds])
        with pyarrow.parquet.ParquetWriter(target, schema, compression="zstd") as writer:
            while rows := list(itertools.islice(reader, ROWS)):
                count += len(rows)
                cells = [
                    [_typed(cell, kind) for cell in column]
                    for (_name, kind), column in zip(kinds, zip(*rows, strict=True), strict=True)
                ]
                writer.write_table(pyarrow.table(cells, schema=schema))
    return count


def _typed(cell: str, kind: str) -> Any:
    if kind == "string":
        return cell
    if not cell:
        return None
    if kind == "integer":
        return int(cell)
    return float(cell) if kind == "number" else datetime.fromisoformat(cell)
