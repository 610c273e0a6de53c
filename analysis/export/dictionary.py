"""The types of the columns of the CSVs, their data dictionary, and the CSVs as Parquet."""

import csv
import itertools
from datetime import datetime
from pathlib import Path
from typing import Any

from analysis.export.columns import COLUMNS

INTEGERS = {
    "task_version", "shots", "split", "position", "in_analysis", "start", "end", "n", "training_n",
    "too_fast", "longest_run", "blurs", "pastes", "checks", "checks_passed", "arrival", "outcome",
    "cents", "entries", "of", "nested", "in_shots", "not_in_shots", "test_examples", "contexts",
    "from_shots", "to_shots", "n_from", "n_to", "splits",
    "seats", "arrived", "declined", "consented", "trained", "qualified", "completed", "analysed",
    "at_work", "screened_out", "returned", "expired", "refused", "withdrawn", "rejected",
    "withdrawn_cents", "by_platform", "late_seats", "by_program", "score_seen", "compared",
    "answers",
    "respondents", "unanimous", "against_gold", "annotators", "new_people", "base_people",
    "replicate", "retries", "seed", "input_tokens", "output_tokens", "invalid", "refusals",
    "in_family", "number", "began_from", "completed_from", "began_to", "completed_to",
}  # fmt: skip
NUMBERS = {
    "reachable", "s1", "seconds", "active_seconds", "reveal_seconds", "away_seconds", "mean_s1",
    "sd_examples", "training_s1", "modal_share", "longest_absence", "mean", "sd_ddof1", "sd_ddof0",
    "set_mean", "set_sd_ddof1", "set_sd_ddof0", "set_ceiling", "split_sd_ddof1", "split_sd_ddof0",
    "floor_random",
    "floor_frequent", "baseline", "ceiling",
    "worked_seconds", "waited_seconds", "published_mean", "published_spread",
    "pairwise_s1", "alpha_nominal", "alpha_jaccard", "alpha_masi", "alpha_s1", "individuals",
    "majority", "low_95", "high_95", "t_low_95", "t_high_95", "se", "df", "difference", "hedges_g",
    "p",
    "margin", "p_equivalence", "low_90", "high_90", "smallest_margin", "welch_p", "permutation_p",
    "smallest_p", "people_se", "people_df", "p_holm", "sd_between_annotators",
    "sd_between_contexts", "sd_rest", "leave_one_out", "best", "worst", "right", "right_models",
    "item_rest", "human_mean",
    "model_mean", "se_clustered", "p_sign_flip", "elapsed_seconds", "per_active_hour",
    "per_elapsed_hour", "median_active_seconds", "median_elapsed_seconds", "total_active_seconds",
    "total_elapsed_seconds", "new", "base", "new_sd", "base_sd", "gain", "boot_low_95",
    "boot_high_95",
    "difference_low_95", "difference_high_95", "value", "temperature", "cost_usd",
    "share_from", "share_to", "p_fisher", "trimmed", "lee_low", "lee_high",
}  # fmt: skip
TIMES = {"shown_at", "submitted_at", "at"}
# Type -> its name in pandas; whole numbers may be missing.
IN_PANDAS = {"integer": "Int64", "number": "float64", "datetime": "datetime64", "string": "string"}


def type_of(column: str, file: str = "") -> str:
    """integer, number, datetime or string; `refused` is a count in flow.csv, else a sentence."""
    if column == "refused" and file != "flow.csv":
        return "string"
    if column in INTEGERS:
        return "integer"
    if column in NUMBERS:
        return "number"
    return "datetime" if column in TIMES else "string"


def columns_markdown() -> str:
    """The columns of every file as Markdown tables: the data dictionary."""
    parts = []
    for file, columns in COLUMNS.items():
        rows = "\n".join(
            f"| `{column}` | {IN_PANDAS[type_of(column, file)]} | {text} |"
            for column, text in columns.items()
        )
        parts.append(f"**{file}**\n\n| column | type | meaning |\n|---|---|---|\n{rows}\n")
    return "\n".join(parts)


# CSVs as Parquet, with the same values: through pyarrow. Read and written in pieces, so that memory
# stays bounded. An empty cell is null where a number or a time is expected, and the empty text
# elsewhere.


ROWS = 20_000  # at a time


def write_parquet(source: Path, target: Path) -> int:
    """Write a CSV of an export as Parquet; return the number of rows."""
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
