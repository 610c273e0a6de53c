"""Reading an uploaded dataset, in a process of its own (tasks/checking.py starts it).

As tasks/check_process.py, but with site-packages: openpyxl and pyarrow read some formats.
"""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tasks import check_process
from tasks.cards import CardError
from tasks.datasets import layout
from tasks.datasets.kinds import Columns, check_kind
from tasks.datasets.making import Made, Wanted, make
from tasks.datasets.reading import Reading, read
from tasks.datasets.sampler import Plan
from tasks.datasets.table import Table
from tasks.formats import FormatError, content_hash

SHOWN, LONGEST = 3, 80  # values of a column that are shown, and their characters


def columns(path: str, reading: dict[str, Any]) -> dict[str, Any]:
    """{columns: [[name, values]], rows, notes}: names, and what stands in the first rows; {error}.

    Fields of objects in the first row are columns too (doc.text).
    """
    try:
        table = read(Path(path), Reading(**reading))
    except FormatError as error:
        return {"error": str(error)}
    shown = [[name, _values(table, name)] for name in _names(table)]
    return {"columns": shown, "rows": len(table.rows), "notes": table.notes}


def _names(table: Table) -> list[str]:
    names: list[str] = []
    for name in table.columns:
        value = table.rows[0].values.get(name)
        is_object = isinstance(value, dict) and set(value) != {"text", "answer_start"}
        names += [f"{name}.{key}" for key in value] if is_object else [name]  # type: ignore[union-attr]
    return names


def _values(table: Table, name: str) -> list[str]:
    values = []
    for row in table.rows[:SHOWN]:
        try:
            value = table.value(row, name)
        except FormatError:
            value = None
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        text = text.encode("utf-8", "replace").decode()
        values.append(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")
    return values


def make_files(path: str, folder: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """Write the task into that folder, which is empty: {made_from, defaults, notes, hash, check}.

    Or {error}. `wanted` is making.Wanted as JSON; `check` is what the check of these files gives,
    one by one (tasks/upload_jobs.py).
    """
    roles: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in wanted["columns"].items()
    }
    plan = {**wanted["plan"], "shots": tuple(wanted["plan"]["shots"])}
    try:
        check_kind(roles["kind"])
        made = make(
            Path(path),
            dataclasses.replace(
                Wanted(wanted["name"], Columns(**roles), Plan(**plan)),
                reading=Reading(**wanted["reading"]),
                said=wanted["said"],
                definitions=wanted["definitions"],
            ),
        )
        layout.write_folder(Path(folder), made.card, made.files)
    except (FormatError, CardError, OSError) as error:
        return {"error": str(error)}
    return {
        "made_from": made.made_from,
        "defaults": made.defaults,
        "notes": made.notes,
        "hash": content_hash(made.card, made.files),
        "check": _check(Path(folder), made),
    }


def _check(folder: Path, made: Made) -> list[dict[str, Any]]:
    card = made.card.as_dict()
    files = sorted(made.files, key=lambda file: file.filename)
    return [
        {"file": layout.CARD_FILE, "card": card},
        *({"file": file.filename, "examples": len(file.records)} for file in files),
        check_process.task(str(folder), card),
    ]


WORK: dict[str, Callable[..., dict[str, Any]]] = {"columns": columns, "make": make_files}

if __name__ == "__main__":
    check_process.main(WORK)
