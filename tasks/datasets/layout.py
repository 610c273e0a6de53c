"""Write a task as files of the published layout, which formats.py and cards.py can read."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.cards import Card
from tasks.formats import Record, SplitFile

CARD_FILE = "task.toml"


def write_folder(folder: Path, card: Card, files: Sequence[SplitFile]) -> None:
    """Write the card and every file into an existing folder that has none of them."""
    (folder / CARD_FILE).write_text(toml(card.as_dict()), encoding="utf-8")
    for file in files:
        with (folder / file.filename).open("x", encoding="utf-8", newline="\n") as lines:
            for record in file.records:
                lines.write(json.dumps(line(record), ensure_ascii=False) + "\n")


def line(record: Record) -> dict[str, Any]:
    """Return a record as the object of its line."""
    answer: list[Any] = list(record.gold)
    if record.gold_starts is not None:
        answer = [
            {"text": text, "answer_start": start}
            for text, start in zip(record.gold, record.gold_starts, strict=True)
        ]
    fields: dict[str, Any] = {
        "id": record.id,
        "context": record.context[0] if len(record.context) == 1 else list(record.context),
        "question": record.question,
        "answer": answer,
    }
    fields |= {"options": list(record.options)} if record.options else {}
    return fields | ({"explanation": record.explanation} if record.explanation else {})


def toml(card: Mapping[str, Any]) -> str:
    """Return a card as task.toml: its keys, then its tables (labels, question types, help)."""
    keys, tables = [], []
    for key, value in card.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            for part in value:
                tables += ["", f"[[{key}]]", *(f"{k} = {_value(v)}" for k, v in part.items())]
        else:
            keys.append(f"{key} = {_value(value)}")
    return "\n".join([*keys, *tables]) + "\n"


def _value(value: Any) -> str:
    """Return a TOML value; JSON strings are basic strings, except for U+007F to U+009F."""
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[\x7f-\x9f]", lambda sign: f"\\u{ord(sign[0]):04x}", text)
