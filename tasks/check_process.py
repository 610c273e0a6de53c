"""The process that reads an uploaded file within limits on time and memory.

`python -m tasks.check_process SECONDS BYTES` (processor time and address space) reads one request
from standard input and writes one reply, both as JSON. It imports only the pure core, and external
packages only for images, XLSX and Parquet, so it starts in about 0.1 s. It never executes anything
from the request. It is started by tasks/checking.py.
"""

import base64
import json
import os
import resource
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tasks import data_report, images
from tasks.answers import KINDS
from tasks.cards import Card, CardError, load_card, parse_card
from tasks.datasets.kinds import Columns, check_kind
from tasks.datasets.making import CARD_FILE, Made, Plan, TaskSpec, first_example, make, write_folder
from tasks.datasets.reading import Reading, read
from tasks.datasets.table import Table
from tasks.folders import read_folder, read_split
from tasks.formats import (
    MAX_WRONG,
    OPTIONAL,
    REQUIRED,
    FormatError,
    Record,
    SplitFile,
    content_hash,
    json_lines,
    json_object,
    read_records,
)
from tasks.gym import making
from tasks.gym.findings import shared_inputs
from tasks.gym.reader import PARTS
from tasks.metrics import score
from tasks.predictions.format import Predicted, disobedient, not_in_context, parse, whole_test

OUT_OF_MEMORY = 3  # exit status if memory runs out
SHOWN = 10  # number of examples in the preview
FIELDS = ("context", "question", "gold", "explanation", "options")  # in the preview
LISTED, LONGEST = 5, 80  # number of values shown for a column, and their maximum length
WHOLE = ({"answer_start"}, {"label"})  # fields beside the texts in SQuAD's answers, and in options
COUNTED = 10_000  # distinct values are counted in these rows


def main() -> None:
    """Answer the request, also with {errors}. The limits are set before its first byte is read."""
    for limit, value in zip((resource.RLIMIT_CPU, resource.RLIMIT_AS), sys.argv[1:], strict=True):
        resource.setrlimit(limit, (int(value), int(value)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(10)  # annotators' pages take priority
    try:
        request = json.load(sys.stdin.buffer)
        try:
            reply = WORK[request.pop("what")](**request)
        except (CardError, FormatError) as error:
            reply = {"errors": error.sentences}
        text = json.dumps(reply)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    sys.stdout.write(text)


def card(path: str) -> dict[str, Any]:
    """Return {card} as JSON data. Raises CardError."""
    return {"card": load_card(Path(path)).as_dict()}


def split(path: str, card: dict[str, Any]) -> dict[str, Any]:
    """Return {examples}, the number of examples in one of the task's files. Raises FormatError."""
    return {"examples": len(read_split(Path(path), _card(card)).records)}


def lines(path: str) -> dict[str, Any]:
    """Return {errors} with the lines of a file that are invalid whatever the card."""
    name, wrong = Path(path).name, []
    try:
        with Path(path).open("rb") as file:
            for number, text in json_lines(file, name):
                try:
                    json_object(text, name, number, REQUIRED, OPTIONAL)
                except FormatError as error:
                    wrong.append(str(error))
    except FormatError as error:  # the rest of the file cannot be read
        wrong.append(str(error))
    return {"errors": wrong[:MAX_WRONG]} if wrong else {}


def task(folder: str, card: dict[str, Any]) -> dict[str, Any]:
    """Return {report, hash, rechained_hash ("" for none), shown (ten examples)}.

    Raises FormatError.
    """
    parsed = _card(card)
    files = read_folder(Path(folder), parsed)
    built = data_report.build(parsed, files)
    rechained = content_hash(parsed, data_report.rechained(files)) if built["renumbering"] else ""
    return {
        "report": built,
        "hash": content_hash(parsed, files),
        "rechained_hash": rechained,
        "shown": _preview(files),
    }


def clean(folder: str, files: list[str]) -> dict[str, Any]:
    images.clean_all(Path(folder), files)
    return {}


def records(path: str, card: dict[str, Any]) -> dict[str, Any]:
    """Return {records} with the fields of each Record, or {error}."""
    try:
        parsed = read_records(Path(path), _card(card))
    except FormatError as error:
        return {"error": [error.file, error.expected, error.line, error.field]}
    return {"records": [asdict(record) for record in parsed]}


def predictions(files: list[dict[str, Any]], tasks: dict[str, Any]) -> dict[str, Any]:
    """Return {files} with {rows, remarks} or {errors} for each file. Rows are [id, texts, S1].

    A file is {filename, data (base64), task}, where `task` is a key of `tasks`. A task is
    {card, examples: {id: [gold, context, question, options]}}.
    """
    return {"files": [_predictions(file, tasks[file["task"]]) for file in files]}


def _predictions(file: dict[str, Any], task: dict[str, Any]) -> dict[str, Any]:
    card, examples, name = _card(task["card"]), task["examples"], file["filename"]
    try:
        data = base64.b64decode(file["data"])
        predicted = parse(data, name, examples, whole_test(card, examples))
    except FormatError as error:
        return {"errors": [str(error)]}
    predicted = {
        key: Predicted(p.line, [*map(card.kind.spelled, p.texts)], frozenset(examples[key][3]))
        for key, p in predicted.items()
    }
    if errors := disobedient(card, predicted.values(), name):
        return {"errors": [str(error) for error in errors]}
    rows = [
        [key, prediction.texts, score(prediction.texts, examples[key][0], card.gold_rule).s1]
        for key, prediction in predicted.items()
    ]
    places = {
        key: [*context, card.selectable_question(question) or ""]
        for key, (_gold, context, question, _options) in examples.items()
    }
    remark = not_in_context(card, predicted, places)
    return {"rows": rows, "remarks": [remark] if remark else []}


def _card(data: dict[str, Any]) -> Card:
    return parse_card(data, "task.toml")


def _preview(files: list[SplitFile]) -> list[dict[str, Any]]:
    """Return ten examples, half from the first training file and half from the test file."""
    test = next(file for file in files if file.kind == "test")
    train = next((file for file in files if file.kind == "train"), None)
    first = _spread(train.records, SHOWN // 2) if train else []
    last = _spread(test.records, SHOWN - len(first))
    return [
        {"step": step, "file": file.filename, "id": record.id}
        | {name: getattr(record, name) for name in FIELDS}
        for step, file, records in (("training", train, first), ("annotation", test, last))
        for record in records
        if file
    ]


def _spread(records: list[Record], number: int) -> list[Record]:
    number = min(number, len(records))
    return [records[index * len(records) // number] for index in range(number)]


# Datasets and the Few-shot Gym -------------------------------------------------------------------


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
    first = [v if len(v) <= LONGEST else v[: LONGEST - 1] + "…" for v in values[:LISTED]]
    return first, len(set(values))


def make_files(path: str, folder: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Write the task to an empty folder. Return {made_from, defaults, notes, hash, check}.

    `spec` is a making.TaskSpec in JSON. `check` contains the result of checking each file
    (tasks/upload_jobs.py). Raises FormatError and CardError.
    """
    try:
        made = make(Path(path), _spec_of(**spec))
        write_folder(Path(folder), made.card, made.files)
    except OSError as error:
        return {"errors": [str(error)]}
    return {
        "made_from": made.made_from,
        "defaults": made.defaults,
        "notes": made.notes,
        "hash": content_hash(made.card, made.files),
        "check": _check(Path(folder), made),
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


def _check(folder: Path, made: Made) -> list[dict[str, Any]]:
    card = made.card.as_dict()
    files = sorted(made.files, key=lambda file: file.filename)
    return [
        {"file": CARD_FILE, "card": card},
        *({"file": file.filename, "examples": len(file.records)} for file in files),
        task(str(folder), card),
    ]


def gym(folder: str) -> dict[str, Any]:
    """Return {tasks, shared} for folders of the Few-shot Gym. A task that fails is {error}.

    A task has the keys name, ontology, metric, k, seeds, sizes, kind, typed, why, possible (answer
    types), texts (names), told (sentences), digest, and shown (texts, options and gold of three
    examples).
    """
    tasks, gym_tasks = [], []
    for path in sorted(Path(folder).iterdir()):
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
    "card": card, "split": split, "lines": lines, "task": task, "records": records,
    "predictions": predictions, "clean": clean, "columns": columns, "example": example,
    "make": make_files, "gym": gym, "gym_make": gym_make,
}  # fmt: skip

if __name__ == "__main__":
    main()
