"""Answers as single texts, as logged by evaluation tools, and the conversion of such logs.

A single text is left unchanged, no text becomes "", and several texts become a JSON list. A text
that would be parsed differently becomes a list with one item. Logs become prediction files, which
format.py reads. Supported are samples from lm-evaluation-harness, and logs from Inspect (which
require inspect-ai, the extra `inspect`). Pure core, without Django.
"""

import importlib.util
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tasks.datasets import harness
from tasks.datasets.table import DatasetError
from tasks.formats import FormatError
from tasks.predictions.format import FILE_NAME

SAMPLES = re.compile(r"samples_(?P<place>.+?)(_\d{4}-\d\d-\d\dT[\d.-]+)?\.jsonl")
WITHOUT_ID = "the documents have no id; use the test file of export_task, which has ids"
MISSING = "reading Inspect logs requires inspect-ai: pip install inspect-ai (the extra inspect)"


def as_completion(texts: Sequence[str]) -> str:
    """Convert an answer to a single text, which can be converted back with `texts_of`."""
    if not texts:
        return ""
    (first, *others) = texts
    if not others and texts_of(first) == [first]:
        return first
    return json.dumps(list(texts), ensure_ascii=False)


def texts_of(completion: str) -> list[str]:
    """Return the texts of an answer, which is a JSON list or a single text ([] if empty)."""
    text = completion.strip()
    if text.startswith("["):
        try:
            listed = json.loads(text)
        except (ValueError, RecursionError):
            listed = None
        if isinstance(listed, list) and all(isinstance(entry, str) for entry in listed):
            return [entry for entry in listed if entry]
    return [text] if text else []


def prediction_lines(rows: Iterable[tuple[object, Sequence[str]]]) -> bytes:
    lines = (json.dumps({"id": identity, "predicted": list(texts)}) for identity, texts in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def read_predictions(path: Path) -> tuple[str, bytes]:
    """Return the name and lines of a prediction file, converting logs from other tools.

    The task in a log is named like a prediction file (MNLI_10_3), and its samples have the ids of
    the examples, as in files from `export_task`. Raises FormatError or OSError.
    """
    if matched := SAMPLES.fullmatch(path.name):
        return f"{matched['place']}.jsonl", _read_harness(path)
    if path.suffix in (".eval", ".json"):
        return _read_inspect(path)
    return path.name, path.read_bytes()


def _read_harness(path: Path) -> bytes:
    table = harness.read(path)
    rows = []
    for row in table.rows:
        doc = row.values["doc"]
        if "id" not in doc:
            raise DatasetError(path.name, WITHOUT_ID, f"{table.unit} {row.number}", "doc")
        rows.append((doc["id"], texts_of(row.values[harness.PREDICTED])))
    return prediction_lines(rows)


def _read_inspect(path: Path) -> tuple[str, bytes]:
    """Convert an Inspect log with a single epoch. It may be named like a prediction file."""
    log = _log(path)
    if log.status != "success":
        problem = f"its status is {log.status}; run it again with eval-retry"
        raise FormatError(path.name, problem, field="status")
    samples = log.samples or []
    if not samples:
        raise FormatError(path.name, "the log contains no samples", field="samples")
    rows = [(str(sample.id), _predicted(path, sample)) for sample in samples]
    file = f"{path.stem}.jsonl"
    name = file if FILE_NAME.fullmatch(file) else f"{log.eval.task.rpartition('/')[2]}.jsonl"
    return name, prediction_lines(rows)


def _log(path: Path) -> Any:
    if importlib.util.find_spec("inspect_ai") is None:
        raise FormatError(path.name, MISSING)
    from inspect_ai.log import read_eval_log

    try:
        return read_eval_log(path)
    except Exception as error:  # readers of logs raise various exceptions
        raise FormatError(path.name, f"Inspect cannot read this log ({str(error)[:200]})") from None


def _predicted(path: Path, sample: Any) -> list[str]:
    if sample.epoch != 1:
        raise FormatError(
            path.name, f"sample {sample.id} has several epochs; use one (epochs=1)", field="epoch"
        )
    if sample.error is not None:
        problem = f"sample {sample.id} ended with an error; run it again"
        raise FormatError(path.name, problem, field="error")
    return texts_of(sample.output.completion)
