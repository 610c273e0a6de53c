"""Prediction files of a model: one JSON Lines file per task, shots and split number.

Each line is `{"id": ..., "predicted": [texts]}`, with one line per test example of the task.
Parsing is strict, and errors give the file, line and field, as for examples (tasks/formats.py). The
card also applies to models, because answers that humans can't give would make scores incomparable.
"""

import io
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from tasks.cards import Card
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


def as_answered(card: Card, predicted: Predicted, options: Sequence[str]) -> Predicted:
    texts = [card.kind.spelled(text) for text in predicted.texts]
    return Predicted(predicted.line, texts, frozenset(options))


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
