"""Exports of annotation tools as datasets: doccano's JSON Lines, Label Studio's JSON.

Documented at github.com/doccano/doccano and labelstud.io/guide/task_format. Label Studio's full
export is a list of {data, annotations: [{result, was_cancelled, ground_truth}]}; its short one
(JSON_MIN) a list of flat objects, which reads as any other JSON.
"""

from pathlib import Path
from typing import Any

from tasks.datasets import json_files
from tasks.datasets.table import DatasetError, Row, Table, from_objects

TEXT, GOLD = "text", "label"


def read_doccano(path: Path, *, encoding: str = "") -> Table:
    """{text, label} with labels of the text or [start, end, label] for each of its spans.

    Older and newer exports call it label, labels or entities. Raises FormatError.
    """
    table = json_files.read_lines(path, encoding=encoding)
    found = [key for key in (GOLD, "labels", "entities") if key in table.columns]
    if TEXT not in table.columns or not found:
        hint = "; the older annotations has numbers only" if "annotations" in table.columns else ""
        raise DatasetError(
            path.name, "", "", f"expected fields text and label, as doccano's JSONL has{hint}"
        )
    rows = [Row(row.number, {**row.values, GOLD: row.values.get(found[0])}) for row in table.rows]
    columns = list(dict.fromkeys([*table.columns, GOLD]))
    notes = [*table.notes, "offsets were read as code points: compare the previews with your texts"]
    return Table(table.file, table.unit, columns, rows, notes)


def read_label_studio(path: Path, *, encoding: str = "", records: str = "") -> Table:
    """The fields of `data`, and what its annotation says, under the name of each control.

    Regions become spans with labels, choices a text (or a list of several). Raises FormatError.
    """
    table = json_files.read(path, encoding=encoding, records=records)
    if not any("data" in row.values for row in table.rows):
        return table  # JSON_MIN
    return from_objects(
        table.file, table.unit, ((row.number, _flat(table, row)) for row in table.rows)
    )


def _flat(table: Table, row: Row) -> dict[str, Any]:
    data = table.value(row, "data")
    if not isinstance(data, dict):
        raise table.error(row, "data", "expected an object")
    key = "annotations" if "annotations" in row.values else "completions"
    listed = table.value(row, key)
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise table.error(row, key, "expected a list of annotations")
    given = [one for one in listed if not one.get("was_cancelled")]
    if len(given) > 1:
        given = [one for one in given if one.get("ground_truth")] or given
    if len(given) != 1:
        raise table.error(
            row, key,
            f"{len(given)} annotations; expected one that is right: mark one of them as ground"
            " truth, or leave the example out of the export",
        )  # fmt: skip
    values = {"id": row.values.get("id"), **data}
    for control, value in _results(table, row, key, given[0].get("result")).items():
        if control in values:
            raise table.error(row, control, "is the name of a field of data and of a control")
        values[control] = value
    return values


def _results(table: Table, row: Row, key: str, result: Any) -> dict[str, Any]:
    """Control -> spans, or what was chosen."""
    if not isinstance(result, list):
        raise table.error(row, key, "expected a list of results")
    values: dict[str, Any] = {}
    for region in result:
        kind = region.get("type") if isinstance(region, dict) else None
        value = region.get("value") if isinstance(region, dict) else None
        if not isinstance(kind, str) or not isinstance(value, dict):
            raise table.error(row, key, "expected results with type and value")
        if kind == "relation":
            continue
        said = value.get(kind)
        if not isinstance(said, list):
            raise table.error(row, key, f"a result of type {kind} cannot be read as an answer")
        control = str(region.get("from_name", kind))
        if "start" in value:
            offsets = value.get("globalOffsets", value)
            span = {"start": offsets["start"], "end": offsets["end"], "label": said}
            values.setdefault(control, []).append({**span, "text": value.get("text")})
        else:
            values[control] = said[0] if len(said) == 1 else said
    return values
