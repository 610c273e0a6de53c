"""The process that reads an uploaded file within limits on time and memory.

`python -m tasks.check_process SECONDS BYTES` (processor time and address space) reads one request
from standard input and writes one reply, both as JSON. It imports only the pure core, and Pillow
for images, so it starts in about 50 ms, and it never executes anything from the request. It is
started by tasks/checking.py.
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
from tasks.cards import Card, CardError, load_card, parse_card
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
from tasks.metrics import score
from tasks.predictions.format import Predicted, disobedient, not_in_context, parse, whole_test

OUT_OF_MEMORY = 3  # exit status if memory runs out
SHOWN = 10  # number of examples in the preview
FIELDS = ("context", "question", "gold", "explanation", "options")  # in the preview


def main(work: dict[str, Callable[..., dict[str, Any]]]) -> None:
    """Answer the request, also with {errors}. The limits are set before its first byte is read."""
    for limit, value in zip((resource.RLIMIT_CPU, resource.RLIMIT_AS), sys.argv[1:], strict=True):
        resource.setrlimit(limit, (int(value), int(value)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(10)  # annotators' pages take priority
    try:
        request = json.load(sys.stdin.buffer)
        try:
            reply = work[request.pop("what")](**request)
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


def predictions(files: list[dict[str, Any]], tasks: list[dict[str, Any]]) -> dict[str, Any]:
    """Return {files} with {rows, remarks} or {errors} for each file. Rows are [id, texts, S1].

    A file is {filename, data (base64), task}, where `task` is an index into `tasks`. A task is
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


WORK: dict[str, Callable[..., dict[str, Any]]] = {
    "card": card, "split": split, "lines": lines, "task": task, "records": records,
    "predictions": predictions, "clean": clean,
}  # fmt: skip

if __name__ == "__main__":
    main(WORK)
