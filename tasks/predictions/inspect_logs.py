"""Logs of Inspect as a file of predictions: needs inspect-ai (the extra `inspect`).

The log's task is named as a file of predictions is (MNLI_10_3), or the log itself is; its samples
have the ids of the examples, in one epoch. What was predicted is the completion (completions.py).
"""

import importlib.util
from pathlib import Path
from typing import Any

from tasks.formats import FormatError
from tasks.predictions.completions import prediction_lines, texts_of
from tasks.predictions.format import FILE_NAME

MISSING = "reading logs of Inspect needs inspect-ai: pip install inspect-ai (the extra inspect)"


def is_named(filename: str) -> bool:
    """Is the file called as a log of Inspect is?"""
    return filename.endswith((".eval", ".json"))


def converted(path: Path) -> tuple[str, bytes]:
    """The name that a file of these predictions has, and its lines. Raises FormatError."""
    log = _read(path)
    if log.status != "success":
        raise FormatError(
            path.name, None, "status", f"the log says {log.status}: run it again with eval-retry"
        )
    samples = log.samples or []
    if not samples:
        raise FormatError(path.name, None, "samples", "there are no samples in the log")
    rows = [(str(sample.id), _texts(path, sample)) for sample in samples]
    own = f"{path.stem}.jsonl"
    name = own if FILE_NAME.fullmatch(own) else f"{log.eval.task.rpartition('/')[2]}.jsonl"
    return name, prediction_lines(rows)


def _read(path: Path) -> Any:
    if importlib.util.find_spec("inspect_ai") is None:
        raise FormatError(path.name, None, None, MISSING)
    from inspect_ai.log import read_eval_log

    try:
        return read_eval_log(path)
    except Exception as error:  # its readers raise of many kinds
        raise FormatError(
            path.name, None, None, f"Inspect cannot read this log ({str(error)[:200]})"
        ) from None


def _texts(path: Path, sample: Any) -> list[str]:
    if sample.epoch != 1:
        raise FormatError(
            path.name, None, "epoch",
            f"sample {sample.id} has several epochs; write a log of one (epochs=1)",
        )  # fmt: skip
    if sample.error is not None:
        raise FormatError(
            path.name, None, "error", f"sample {sample.id} ended with an error: run it again"
        )
    return texts_of(sample.output.completion)
