"""Readers for the gold answer of a row, one for each answer type.

A row can contain options as a list, in several columns, in one cell with a separator, in a cell
such as "(A) at home (B) abroad", or as an object {text, label}, which is common on Hugging Face.
"""

import json
import string
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tasks.answer_keys import LABEL, SPANS
from tasks.answers import KINDS, Kind
from tasks.datasets import tagged
from tasks.datasets.table import DatasetError, Row, Table, message, option
from tasks.gym.reader import split_options

# How gold answers identify an option: by text, by position from 0 or 1, or by letter.
GOLD_IS = ("text", "index", "number", "letter")
LISTED = 5  # number of options listed in an error


@dataclass(frozen=True)
class Offered:
    """The options of a row in order, and the letters by which a gold answer may refer to them."""

    texts: tuple[str, ...]
    letters: tuple[str, ...]


def read_options(row: Row, columns: Sequence[str], separator: str) -> Offered:
    """Read a row's options. Raises DatasetError."""
    texts, letters = [], []
    for column in columns:
        value = _written_out(row, column)
        if isinstance(value, dict) and set(value) == {"text", "label"}:
            letters += _texts(row, column, value["label"])
            value = value["text"]
        if isinstance(value, str) and len(columns) == 1:
            value = value.split(separator) if separator else list(split_options(value)[1])
            if len(value) < 2:
                raise row.error(column, message("one_option"))
        if value is None or value == "":  # this row has fewer options than others
            continue
        texts += _texts(row, column, value if isinstance(value, list) else [value])
    if len(set(texts)) < 2:
        raise row.error(columns[0], "expected at least two different options")
    return Offered(tuple(texts), tuple(letters) or tuple(string.ascii_uppercase[: len(texts)]))


def _written_out(row: Row, column: str) -> Any:
    """Return the value. A cell that contains a list or object is parsed as JSON."""
    value = row.value(column)
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        with suppress(ValueError, RecursionError):
            listed = json.loads(value)
            return value if any(type(item) in (int, float) for item in listed) else listed
    return value


def _texts(row: Row, column: str, values: Any) -> list[str]:
    if not isinstance(values, list):
        raise row.error(column, "expected a list of options")
    texts = [row.text(column, value if value is not None else "").strip() for value in values]
    if not all(texts):
        raise row.error(column, "contains an empty option")
    return texts


def name_option(row: Row, columns: "Columns", gold: str, options: Offered) -> str:
    """Return the text of the option to which a gold answer refers. Raises DatasetError."""
    column, gold_is = columns.gold[0], columns.gold_is
    if gold_is == "text":
        if gold.strip() in options.texts:
            return gold.strip()
        listed = ", ".join(options.texts[:LISTED]) + (", …" if options.texts[LISTED:] else "")
        raise row.error(column, message("unknown_option", gold=gold[:60], listed=listed[:300]))
    if gold_is == "letter":
        place = options.letters.index(gold) if gold in options.letters else -1
    else:
        is_place = gold.isascii() and gold.isdigit() and len(gold) < 10
        place = int(gold) - (gold_is == "number") if is_place else -1
    if not 0 <= place < len(options.texts):
        unknown = f"{gold[:60]!r} does not identify any of the {len(options.texts)} options"
        raise row.error(column, f"{unknown} (--gold-is {gold_is})")
    return options.texts[place]


ANSWERS = {kind.argument: kind for kind in KINDS.values()}  # by value of the argument --as


@dataclass(frozen=True)
class Columns:
    """The roles of a dataset's columns, and how to interpret their values."""

    kind: str
    text: Sequence[str] = option("columns with texts", ())
    gold: Sequence[str] = option("columns with gold answers", ())
    question: str = option("column with each row's question")
    ask: str = option("a single question for all rows")
    id: str = option("column with ids (default: row numbers)")
    stratum: str = option("column with each row's group, for balancing sets")
    separator: str = option("separator between gold answers or options in a cell")
    options: Sequence[str] = option("columns with options", ())
    gold_is: str = option(
        "how gold answers identify an option: by its text, by its position from 0 (index) or 1"
        " (number), or by its letter", GOLD_IS[0], choices=GOLD_IS,
    )  # fmt: skip
    labels: Sequence[str] = option("label values, in order", ())
    names: dict[str, str] = field(default_factory=dict)  # maps values to names for annotators
    no_answer: bool = option("allow “no answer”", False)
    skip_unlabelled: bool = option("skip unlabelled rows", False)

    @property
    def answer(self) -> Kind:
        return ANSWERS[self.kind]

    def name_of(self, label: str) -> str:
        return self.names.get(label, label)


@dataclass(frozen=True)
class RowGold:
    """A question about a row, with its gold answer. `kind` is the question type, if any."""

    gold: tuple[str, ...]
    starts: tuple[int, ...] | None = None
    kind: str = ""
    options: tuple[str, ...] = ()


def check_kind(kind: str) -> None:
    """Raise DatasetError if tasks cannot have this answer type."""
    if kind not in ANSWERS:
        raise DatasetError("", message("unknown_kind", kind=kind, kinds=", ".join(ANSWERS)))


def choice(row: Row, columns: Columns, _texts: Sequence[str]) -> list[RowGold]:
    """Read a label. All rows have the same few labels."""
    if len(columns.gold) != 1:
        raise row.table.error("", "a label is read from one column; set one (--gold)")
    (column,) = columns.gold
    value = row.value(column)
    if isinstance(value, list):
        if len(value) > 1:
            raise row.error(column, message("several_labels", number=len(value)))
        value = value[0] if value else None
    if value is None or not (label := row.text(column, value)).strip():
        raise row.unlabelled(column)
    if columns.labels:
        _check_label(row, columns, label)
    return [RowGold((columns.name_of(label),))]


def spans(row: Row, columns: Columns, texts: Sequence[str]) -> list[RowGold]:
    """Read spans of the text. They answer one question or, if they have labels, one per label."""
    if columns.labels:  # one question per label
        given = labelled(row, columns, texts)
        return [
            RowGold(
                tuple(dict.fromkeys(texts[0][s.start : s.end] for s in given if s.label == label)),
                kind=columns.name_of(label),
            )
            for label in columns.labels
        ]
    gold, starts = _answers(row, columns)
    if not gold and not columns.no_answer:
        raise row.error(columns.gold[0], message("empty_gold"))
    return [RowGold(gold, starts)]


def labelled(row: Row, columns: Columns, texts: Sequence[str]) -> list[tagged.Labelled]:
    """Return the labelled spans of a row. Raises DatasetError."""
    (column,) = columns.gold
    value = _written_out(row, column)
    if value is None or value == []:
        return []
    tokens = row.value(columns.text[0])
    if tagged.is_tagged(tokens, value):
        for number, tag in enumerate(value, 1):
            if not isinstance(tag, str) or not tagged.TAG.fullmatch(tag):
                raise row.error(column, message("bad_tag", number=number, tag=tag))
        return tagged.tagged_spans([str(token) for token in tokens], value)
    if not tagged.are_spans(value):
        raise row.error(column, message("no_spans"))
    return tagged.spans_of(row, column, value, texts[0])


def has_labels(table: Table, columns: Columns) -> bool:
    if columns.kind != "spans" or len(columns.gold) != 1:
        return False
    for row in table.rows:
        value = _written_out(row, columns.gold[0])
        if isinstance(value, list) and value:
            tokens = row.value(columns.text[0])
            return tagged.is_tagged(tokens, value) or tagged.are_spans(value)
    return False


def options(row: Row, columns: Columns, _texts: Sequence[str]) -> list[RowGold]:
    """Read the correct options of a row or, if rows have no options, its labels."""
    if columns.options:
        offered = read_options(row, columns.options, columns.separator)
        chosen = [name_option(row, columns, text, offered) for text in _texts_of(row, columns)]
        return [RowGold(tuple(dict.fromkeys(chosen)), options=offered.texts)]
    gold = _texts_of(row, columns)
    for text in gold if columns.labels else ():
        _check_label(row, columns, text)
    names = tuple(map(columns.name_of, columns.labels))
    return [RowGold(tuple(dict.fromkeys(map(columns.name_of, gold))), options=names)]


def typed(row: Row, columns: Columns, _texts: Sequence[str]) -> list[RowGold]:
    """Read a number or text. If there are several values, each of them is correct."""
    return [RowGold(tuple(dict.fromkeys(_texts_of(row, columns))))]


def _texts_of(row: Row, columns: Columns) -> tuple[str, ...]:
    """Return the texts in all gold columns. Raises Unlabelled if an answer is required."""
    gold, _starts = _answers(row, columns)
    if not gold and not columns.no_answer:
        raise row.unlabelled(columns.gold[0])
    return gold


def _check_label(row: Row, columns: Columns, label: str) -> None:
    if label not in columns.labels:
        problem = f"{label[:60]!r} is not one of the labels {', '.join(columns.labels)}"
        raise row.error(columns.gold[0], problem)


def _answers(row: Row, columns: Columns) -> tuple[tuple[str, ...], tuple[int, ...] | None]:
    """Return the texts in all gold columns, and offsets if these are {text, answer_start}."""
    gold: list[str] = []
    has_lists = columns.answer.has_options or columns.answer.name == SPANS
    for column in columns.gold:
        value = _written_out(row, column) if has_lists else row.value(column)
        if isinstance(value, dict) and set(value) == {"text", "answer_start"}:
            return _squad(row, column, value)
        if value is None or value == "":
            continue
        if isinstance(value, str) and columns.separator:
            value = [part.strip() for part in value.split(columns.separator)]
        items = value if isinstance(value, list) else [value]
        gold += [row.text(column, item if item is not None else "") for item in items]
    return tuple(text for text in gold if text.strip()), None


def _squad(
    row: Row, column: str, value: dict[str, Any]
) -> tuple[tuple[str, ...], tuple[int, ...] | None]:
    texts, starts = value["text"], value["answer_start"]
    if not (isinstance(texts, list) and isinstance(starts, list) and len(texts) == len(starts)):
        raise row.error(column, "expected the same number of texts and answer_start values")
    if not all(type(start) is int for start in starts):
        raise row.error(column, "expected whole numbers in answer_start")
    gold = tuple(row.text(column, text) for text in texts)
    return gold, tuple(starts) if gold else None


def read_gold(row: Row, columns: Columns, texts: Sequence[str]) -> list[RowGold]:
    """Read the gold answers of a row. Raises DatasetError."""
    usual = options if columns.answer.has_options else typed
    return {LABEL: choice, SPANS: spans}.get(columns.answer.name, usual)(row, columns, texts)
