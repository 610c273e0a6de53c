"""Reader for samples that EleutherAI's lm-evaluation-harness logs (--log_samples).

Each line is {doc_id, doc, target, arguments, resps, filtered_resps, filter, ...}. `arguments`
contains requests, such as gen_args_0: {arg_0: prompt, arg_1: continuation or settings}. In
multiple-choice tasks, there is one per choice, and filtered_resps lists [log-likelihood, is greedy]
for each (as strings in newer versions). In other tasks, it contains the generated text. `target` is
the index or text of the correct choice.

Source: lm_eval/loggers/evaluation_tracker.py and lm_eval/evaluator.py in its repository.
"""

import math
from pathlib import Path
from typing import Any

from tasks.datasets import texts
from tasks.datasets.table import DatasetError, Row, Table, from_objects

PREDICTED, CHOICES, TARGET, NUMBER = "predicted", "choices", "target", "doc_id"
WANTED = (NUMBER, "doc", TARGET, "arguments", "filtered_resps")


def read(path: Path, *, encoding: str = "", filter: str = "") -> Table:
    """Read samples as rows with doc.NAME for each field, target, prediction and choices.

    If the log contains the answers of several filters, `filter` selects one. Raises FormatError.
    """
    table = texts.read_json_lines(path, encoding=encoding)
    for column in WANTED:
        if column not in table.columns:
            problem = "missing; expected samples_*.jsonl as written by lm-evaluation-harness"
            raise DatasetError(path.name, problem, field=column)
    filters = list(dict.fromkeys(str(row.values.get("filter", "none")) for row in table.rows))
    if filter and filter not in filters:
        problem = f"unknown filter {filter!r}; there are: {', '.join(filters)}"
        raise DatasetError(path.name, problem, field="filter")
    if len(filters) > 1 and not filter:
        raise DatasetError(
            path.name,
            f"the answers have several filters; select one with --filter: {', '.join(filters)}",
            field="filter",
        )
    rows = [
        row for row in table.rows if not filter or str(row.values.get("filter", "none")) == filter
    ]
    return from_objects(path.name, "line", ((row.number, _sample(row)) for row in rows))


def _sample(row: Row) -> dict[str, Any]:
    values = row.values
    if not isinstance(values.get("doc"), dict):
        raise row.error("doc", "expected an object")
    sample = {NUMBER: values.get(NUMBER), "doc": values["doc"]}
    responses = values.get("filtered_resps")
    if not isinstance(responses, list) or not responses:
        raise row.error("filtered_resps", "expected a list of answers")
    if len(responses) == 1:
        content = responses[0]
        while isinstance(content, list) and content:
            content = content[0]
        if not isinstance(content, str):
            raise row.error("filtered_resps", "expected the generated text")
        return {**sample, TARGET: values.get(TARGET), PREDICTED: content.strip()}
    choices = _choices(row, len(responses))
    scores = [_score(row, response) for response in responses]
    return {
        **sample,
        CHOICES: choices,
        TARGET: _target(row, choices),
        PREDICTED: choices[scores.index(max(scores))],
    }


def _choices(row: Row, number: int) -> list[str]:
    arguments = row.values.get("arguments")
    requests: list[Any] = []
    if isinstance(arguments, dict):
        requests = [arguments.get(f"gen_args_{place}") for place in range(len(arguments))]
        requests = [entry.get("arg_1") if isinstance(entry, dict) else None for entry in requests]
    elif isinstance(arguments, list):  # before version 0.4.3
        requests = [
            entry[1] if isinstance(entry, list) and len(entry) == 2 else None for entry in arguments
        ]
    choices = [entry.strip() if isinstance(entry, str) else "" for entry in requests]
    if len(choices) != number or not all(choices):
        problem = f"expected a choice for each of the {number} answers of the model"
        raise row.error("arguments", problem)
    if len(set(choices)) < number:
        raise row.error(
            "arguments",
            "all choices have the same text; multiple choice that differs only in the prompts"
            " cannot be converted to labels",
        )
    return choices


def _score(row: Row, response: Any) -> float:
    first = response[0] if isinstance(response, list) and response else response
    try:
        score = float(first)
    except (TypeError, ValueError, OverflowError):
        score = math.nan
    if math.isnan(score):
        raise row.error("filtered_resps", "expected the log-likelihood of each choice")
    return score


def _target(row: Row, choices: list[str]) -> str:
    """Return the text of the correct choice, which `target` gives as an index or as text."""
    target = row.values.get(TARGET)
    text = str(target).strip()
    if text in choices:
        return text
    if text.isascii() and text.isdigit() and len(text) < 10 and int(text) < len(choices):
        return choices[int(text)]
    problem = f"{text[:60]!r} is neither the index of a choice nor one of: {choices}"
    raise row.error(TARGET, problem[:400])
