"""The process in which uploaded datasets are read. tasks/checking.py starts it.

Unlike tasks/check_process.py, it can import site-packages, namely openpyxl and pyarrow.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tasks import check_process
from tasks.answers import KINDS
from tasks.cards import CardError
from tasks.datasets import making as datasets_making
from tasks.datasets.kinds import Columns, check_kind
from tasks.datasets.making import Made, Plan, TaskSpec, first_example, make
from tasks.datasets.reading import Reading, read
from tasks.datasets.table import Table
from tasks.formats import FormatError, content_hash
from tasks.gym import making
from tasks.gym.findings import shared_inputs
from tasks.gym.reader import PARTS

SHOWN, LONGEST = 5, 80  # number of values shown for a column, and their maximum length
WHOLE = ({"answer_start"}, {"label"})  # fields beside the texts in SQuAD's answers, and in options
COUNTED = 10_000  # distinct values are counted in these rows


def columns(path: str, reading: dict[str, Any]) -> dict[str, Any]:
    """Return {columns: [[name, values, count]], rows, counted, notes}. Raises FormatError.

    `values` are from the first rows, and `count` is the number of distinct values. If the first row
    contains an object, its fields are listed as columns too (doc.text).
    """
    table = read(Path(path), Reading(**reading))
    entries = [[name, *_values(table, name)] for name in _names(table)]
    rows = len(table.rows)
    notes = [f"column {name} cannot be used: {why}" for name, why in table.unread.items()]
    notes += table.notes
    return {"columns": entries, "rows": rows, "counted": min(rows, COUNTED), "notes": notes}


def _names(table: Table) -> list[str]:
    names: list[str] = []
    for name in table.columns:
        value = table.rows[0].values.get(name)
        is_whole = isinstance(value, dict) and isinstance(value.get("text"), list)
        is_object = isinstance(value, dict) and not (is_whole and set(value) - {"text"} in WHOLE)
        names += [f"{name}.{key}" for key in value] if is_object else [name]  # type: ignore[union-attr]
    return names


def _values(table: Table, name: str) -> tuple[list[str], int]:
    values = []
    for row in table.rows[:COUNTED]:
        try:
            value = row.value(name)
        except FormatError:
            value = None
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        values.append(text.encode("utf-8", "replace").decode())
    first = [v if len(v) <= LONGEST else v[: LONGEST - 1] + "…" for v in values[:SHOWN]]
    return first, len(set(values))


def make_files(path: str, folder: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Write the task to an empty folder. Return {made_from, defaults, notes, hash, check}.

    `spec` is a making.TaskSpec in JSON. `check` contains the result of checking each file
    (tasks/upload_jobs.py). Raises FormatError and CardError.
    """
    try:
        task = make(Path(path), _spec_of(**spec))
        datasets_making.write_folder(Path(folder), task.card, task.files)
    except OSError as error:
        return {"errors": [str(error)]}
    return {
        "made_from": task.made_from,
        "defaults": task.defaults,
        "notes": task.notes,
        "hash": content_hash(task.card, task.files),
        "check": _check(Path(folder), task),
    }


def example(path: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return the first example's {card, fields, gold}. Raises FormatError and CardError."""
    card, record = first_example(Path(path), _spec_of(**spec))
    fields = {name: getattr(record, name) for name in ("context", "question", "options")}
    return {"card": card.as_dict(), "fields": fields, "gold": record.gold}


def _spec_of(name: str, columns: Any, plan: Any, reading: Any, **details: Any) -> TaskSpec:
    """Build a TaskSpec from JSON. Raises FormatError."""
    check_kind(columns["kind"])
    return TaskSpec(name, Columns(**columns), Plan(**plan), Reading(**reading), **details)


def _check(folder: Path, task: Made) -> list[dict[str, Any]]:
    card = task.card.as_dict()
    files = sorted(task.files, key=lambda file: file.filename)
    return [
        {"file": datasets_making.CARD_FILE, "card": card},
        *({"file": file.filename, "examples": len(file.records)} for file in files),
        check_process.task(str(folder), card),
    ]


def gym(folder: str, only: list[str] | None) -> dict[str, Any]:
    """Return {tasks, shared} for folders of the Few-shot Gym. A task that fails is {error}.

    `only` contains the names of the tasks to read, or is None for all. A task has the keys name,
    ontology, metric, k, seeds, sizes, kind, typed, why, possible (answer types), texts (names),
    told (sentences), digest, and shown (texts, options and gold of three examples).
    """
    tasks, gym_tasks = [], []
    for path in sorted(Path(folder).iterdir()):
        if only is not None and path.name not in only:
            continue
        try:
            source = making.read_source(path)
        except FormatError as error:
            tasks.append({"error": str(error)})
            continue
        gym_tasks.append(source.task)
        tasks.append(_description(source))
    return {"tasks": tasks, "shared": shared_inputs(gym_tasks)}


def _description(source: making.Source) -> dict[str, Any]:
    task, kind = source.task, source.kind
    lines = making.kept_lines(task)
    return {
        "name": task.name,
        "ontology": source.published.ontology,
        "metric": source.published.metric,
        "k": task.k,
        "seeds": task.seeds,
        "sizes": [len(task.lines[task.seeds[0], part]) for part in PARTS],
        "kind": kind.name,
        "typed": kind.typed,
        "why": kind.reason,
        "possible": [name for name in KINDS if not making.problem(name, lines, source.shape)],
        "texts": [name or "text" for name in source.shape.names],
        "told": source.notes,
        "digest": source.digest,
        "shown": [
            {
                "texts": list(source.shape.texts(line.input)),
                "options": list(source.shape.options(line.input)),
                "golds": list(line.golds),
            }
            for line in lines[:3]
        ],
    }


def gym_make(folder: str, kinds: dict[str, str], sample: dict[str, int] | None) -> dict[str, Any]:
    """Return {errors}, which explain why tasks cannot be made with these answer types."""
    selection = making.Sample(**sample) if sample else None
    errors = []
    for name, kind in kinds.items():
        try:
            making.make(making.read_source(Path(folder) / name).answered_by(kind), selection)
        except (FormatError, CardError) as error:
            errors.append(str(error))
    return {"errors": errors}


WORK: dict[str, Callable[..., dict[str, Any]]] = {
    "columns": columns, "example": example, "make": make_files, "gym": gym, "gym_make": gym_make,
}  # fmt: skip

if __name__ == "__main__":
    check_process.main(WORK)
