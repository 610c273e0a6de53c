"""What can be chosen in a row, and which of it the gold names.

Options are a list in one column, the cells of several columns, a cell with a sign between them, a
cell such as "(A) at home (B) abroad", or an object of Hugging Face's {text, label}.
"""

import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tasks.datasets.table import Row, Table
from tasks.gym.shapes import split_options

# How the gold names an option: by its text, by its place from 0 or from 1, or by its letter.
TEXT, INDEX, NUMBER, LETTER = "text", "index", "number", "letter"
GOLD_IS = (TEXT, INDEX, NUMBER, LETTER)
LISTED = 5  # options that an error lists


@dataclass(frozen=True)
class Offered:
    """The options of a row in their order, and the letters by which its gold may name them."""

    texts: tuple[str, ...]
    letters: tuple[str, ...]


def offered(table: Table, row: Row, columns: Sequence[str], separator: str) -> Offered:
    """The options of that row. Raises DatasetError."""
    if not columns:
        raise table.error(None, "", "name the column with the options (--options)")
    texts, letters = [], []
    for column in columns:
        value = table.value(row, column)
        if isinstance(value, dict) and set(value) == {"text", "label"}:
            letters += _texts(table, row, column, value["label"])
            value = value["text"]
        if isinstance(value, str) and len(columns) == 1:
            value = value.split(separator) if separator else list(split_options(value)[1])
            if len(value) < 2:
                raise table.error(
                    row, column, "holds one text: expected a list of options, \"(A) ... (B) ...\","
                    " a sign between them (--separator), or a column for each",
                )  # fmt: skip
        if value is None or value == "":  # fewer options than other rows have
            continue
        texts += _texts(table, row, column, value if isinstance(value, list) else [value])
    if len(set(texts)) < 2:
        raise table.error(row, columns[0], "expected two different options or more")
    return Offered(tuple(texts), tuple(letters) or tuple(string.ascii_uppercase[: len(texts)]))


def _texts(table: Table, row: Row, column: str, values: Any) -> list[str]:
    if not isinstance(values, list):
        raise table.error(row, column, "expected a list of options")
    texts = [
        table.text(row, column, value if value is not None else "").strip() for value in values
    ]
    if not all(texts):
        raise table.error(row, column, "holds an empty option")
    return texts


def named(
    table: Table, row: Row, column: str, gold: str, options: Offered, gold_is: str
) -> str:  # fmt: skip
    """The text of the option that the gold names. Raises DatasetError."""
    if gold_is == TEXT:
        if gold.strip() in options.texts:
            return gold.strip()
        listed = ", ".join(options.texts[:LISTED]) + (", …" if options.texts[LISTED:] else "")
        raise table.error(
            row, column, f"{gold[:60]!r} is none of the options {listed[:300]}; if the column holds"
            " their places, from 0 or from 1, or their letters, say so (--gold-is)",
        )  # fmt: skip
    if gold_is == LETTER:
        place = options.letters.index(gold) if gold in options.letters else -1
    else:
        place = int(gold) - (gold_is == NUMBER) if gold.isascii() and gold.isdigit() else -1
    if not 0 <= place < len(options.texts):
        raise table.error(
            row, column, f"{gold[:60]!r} names none of the {len(options.texts)} options"
            f" (--gold-is {gold_is})",
        )  # fmt: skip
    return options.texts[place]
