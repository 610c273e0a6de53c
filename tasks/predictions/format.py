"""Prediction files of a model: one JSON Lines file per task, shots and split number.

Each line is `{"id": ..., "predicted": [texts]}`, with one line per test example of the task.
Parsing is strict, and errors give the file, line and field, as for examples (tasks/formats.py). The
card also applies to models, because answers that humans can't give would make scores incomparable.

Logs of evaluation tools are converted: samples from lm-evaluation-harness, and logs from Inspect
(which require inspect-ai, the extra `inspect`). In logs, an answer is a single text. No text is "",
several texts are a JSON list, and so is a text that would be parsed differently.
"""

import importlib.util
import io
import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tasks.cards import Card
from tasks.datasets.table import Row
from tasks.datasets.texts import read_json_lines
from tasks.formats import FormatError, example_id, json_lines, json_object, storable_text

FIELDS = ("id", "predicted")
MAX_TEXTS = 1000  # texts predicted for one example
LARGEST_FILE = 20_000_000  # bytes; a file with 600 test examples has about 50,000
FILE_NAME = re.compile(
    r"(?P<task>[^@]+)(?:@(?P<version>[1-9]\d{0,4}))?"
    r"_(?:0|(?P<all>all)|(?P<shots>[1-9]\d{0,4})_(?P<number>[1-9]\d{0,3}))\.jsonl"
)
NAMED = "TASK_SHOTS_SPLIT.jsonl such as MNLI_10_3.jsonl, TASK_0.jsonl at zero shots,"
NAMED += " or TASK_all.jsonl if fully supervised"


class Place(NamedTuple):
    """The task, version, shots and split encoded in a file name. The default version is the newest.

    Zero-shot runs have no split. `shots` is None for a fully supervised run.
    """

    task: str
    version: int | None
    shots: int | None
    split_number: int | None


def place_of(filename: str) -> Place:
    """Parse MNLI_10_3.jsonl, MNLI_0.jsonl, MNLI@1_10_3.jsonl and the like. Raises FormatError."""
    matched = FILE_NAME.fullmatch(filename)
    if not matched:
        raise FormatError(filename, f"unknown file name; expected {NAMED}")
    version, shots, number = (
        int(digits) if digits else None for digits in matched.group("version", "shots", "number")
    )
    return Place(matched["task"], version, None if matched["all"] else shots or 0, number)


class Predicted(NamedTuple):
    line: int
    texts: list[str]
    options: frozenset[str] = frozenset()


def whole_test(card: Card, ids: Collection[str]) -> Collection[str]:
    """Return the ids of the corpus's entire test set, of which the task may use only part (`ids`).

    Ids in the Few-shot Gym consist of a file and a line, such as glue-rte_16_13_test:5.
    """
    files = {identity.rpartition(":")[0] for identity in ids}
    if card.test_of is None or len(files) != 1 or not all(files):
        return ids
    (file,) = files
    return {*ids, *(f"{file}:{line}" for line in range(1, card.test_of + 1))}


def parse(
    data: bytes, filename: str, ids: Collection[str], test_ids: Collection[str] = ()
) -> dict[str, Predicted]:
    """Parse a prediction file and return its predictions by example id.

    Every spelling of "no answer" (`[]`, `[""]`) becomes the empty list, like gold answers on
    import. Each id in `ids` must have exactly one line. Other ids in `test_ids` are ignored, so
    that models are scored on the same examples as humans. Raises FormatError.
    """
    if len(data) > LARGEST_FILE:
        raise FormatError(filename, f"the file is larger than {LARGEST_FILE:,} bytes")
    required, ignored = set(ids), set(test_ids)
    predicted: dict[str, Predicted] = {}
    for line, text in json_lines(io.BytesIO(data), filename):
        fields = json_object(text, filename, line, FIELDS)
        identity = example_id(fields["id"], filename, line)
        if identity not in required and identity not in ignored:
            problem = f"{identity!r} is not the id of a test example of this task"
            raise FormatError(filename, problem, line, "id")
        if identity in predicted:
            problem = f"{identity!r} is already the id of line {predicted[identity].line}"
            raise FormatError(filename, problem, line, "id")
        predicted[identity] = Predicted(line, _texts(fields["predicted"], filename, line))
    missing = [identity for identity in ids if identity not in predicted]
    if missing:
        examples = ", ".join(map(repr, missing[:3])) + (", ..." if len(missing) > 3 else "")
        raise FormatError(
            filename,
            f"{len(missing)} of the {len(required)} test examples have no prediction: {examples}",
            field="id",
        )
    return {identity: predicted[identity] for identity in predicted if identity in required}


def _texts(value: object, filename: str, line: int) -> list[str]:
    if not isinstance(value, list):
        raise FormatError(
            filename, f"expected a list of texts, found {type(value).__name__}", line, "predicted"
        )
    if value == [""]:
        return []
    if len(value) > MAX_TEXTS:
        problem = f"expected at most {MAX_TEXTS:,} texts, found {len(value):,}"
        raise FormatError(filename, problem, line, "predicted")
    for text in value:
        if not storable_text(text, filename, line, "predicted"):
            raise FormatError(
                filename, 'expected non-empty texts, or [""] alone for no answer', line, "predicted"
            )
    return value


def disobedient(card: Card, predicted: Collection[Predicted], filename: str) -> list[FormatError]:
    """Return violations of the card, with one error per rule, at the first line that violates it.

    A label task requires exactly one of its labels. A span task allows at most `max_spans` texts,
    and an empty answer only if the card has "no answer". Options must be among those of the
    example. Numbers must be in plain digits. Repeated texts count once, as in S1.
    """
    errors = []
    for breaks, message in card.kind.rules(card):
        broken = [p for p in predicted if breaks(p.texts, p.options)]
        if not broken:
            continue
        different = list(dict.fromkeys(", ".join(map(repr, p.texts)) for p in broken))
        listed = "; ".join(t if len(t) <= 100 else f"{t[:100]}..." for t in different[:3])
        listed += "; ..." if len(different) > 3 else ""
        reason = f"{len(broken)} of {len(predicted)} predictions {message}"
        reason = reason.replace("{named}", listed)
        errors.append(FormatError(filename, reason, min(p.line for p in broken), "predicted"))
    return errors


def not_in_context(
    card: Card, predicted: Mapping[str, Predicted], places: Mapping[str, Sequence[str]]
) -> str:
    """Return a sentence about texts that humans couldn't have highlighted, or "" if there are none.

    `places` maps ids to the texts that can be highlighted (segments, and the question if the card
    allows it). Such predictions are accepted, because a model may write any text.
    """
    if not card.is_highlighted or card.typed:
        return ""
    texts = [
        (identity, text) for identity, prediction in predicted.items() for text in prediction.texts
    ]
    away = sum(all(text not in place for place in places[identity]) for identity, text in texts)
    return f"{away} of {len(texts)} predicted texts do not occur in their context" if away else ""


# Logs of evaluation tools -----------------------------------------------------------------------


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


# Each line of lm-evaluation-harness (--log_samples, in lm_eval/loggers/evaluation_tracker.py of its
# repository) is {doc, arguments, filtered_resps, filter, ...}. `arguments` contains requests, such
# as gen_args_0: {arg_0: prompt, arg_1: continuation or settings}. In multiple choice, there is one
# per choice, and filtered_resps lists [log-likelihood, is greedy] for each (as strings in newer
# versions). In other tasks, it contains the generated text.


def _read_harness(path: Path) -> bytes:
    table = read_json_lines(path)
    for column in ("doc", "arguments", "filtered_resps"):
        if column not in table.columns:
            problem = "missing; expected samples_*.jsonl as written by lm-evaluation-harness"
            raise table.error(column, problem)
    filters = dict.fromkeys(str(row.values.get("filter", "none")) for row in table.rows)
    if len(filters) > 1:
        raise table.error("filter", f"expected the answers of one filter: {', '.join(filters)}")
    rows = []
    for row in table.rows:
        doc = row.values.get("doc")
        if not isinstance(doc, dict):
            raise row.error("doc", "expected an object")
        if "id" not in doc:
            raise row.error("doc", WITHOUT_ID)
        rows.append((doc["id"], texts_of(_harness_answer(row))))
    return prediction_lines(rows)


def _harness_answer(row: Row) -> str:
    """Return the choice with the highest log-likelihood, or the generated text."""
    responses = row.values.get("filtered_resps")
    if not isinstance(responses, list) or not responses:
        raise row.error("filtered_resps", "expected a list of answers")
    if len(responses) > 1:
        scores = [_score(row, response) for response in responses]
        return _choices(row, len(responses))[scores.index(max(scores))]
    content = responses[0]
    while isinstance(content, list) and content:
        content = content[0]
    if not isinstance(content, str):
        raise row.error("filtered_resps", "expected the generated text")
    return content.strip()


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
        problem = "all choices have the same text; expected choices that differ, not only prompts"
        raise row.error("arguments", problem)
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
