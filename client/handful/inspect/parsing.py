"""A model's reply into an answer of the API; what cannot be one is Invalid. Pure functions.

The last line that begins with "Answer:" counts, with all that follows it. Whether spans stand in
the text, on whole words, and whether a number is in its range, the server says.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

MARK = re.compile(r"^\W*answer\W*?:", re.IGNORECASE | re.MULTILINE)
QUOTES = "\"'“”‘’`"


class Invalid(ValueError):
    """Why a reply is no answer, in a sentence that the model is told."""


def parse(task: Mapping[str, Any], asked: Mapping[str, Any], reply: str) -> dict[str, Any]:
    """The `answer` of POST work/answer/. Raises Invalid."""
    given = given_text(reply)
    value, kind = _value(given), task["answer"]["kind"]
    if kind == "label":  # one may be called "none"
        return {"label": _label(task, given if value is None else value, given)}
    if value is None or value in ([], ""):
        if not task["answer"]["no_answer"]:
            raise Invalid("Every example of this task has an answer.")
        return {"no_answer": True}
    if kind == "option":
        return {"option": _place(value, asked["options"])}
    if kind == "options":
        places = value if isinstance(value, list) else [value]
        return {"options": sorted({_place(one, asked["options"]) for one in places})}
    if kind == "number":
        return {"number": _plain(value, given)}
    if kind == "spans":
        return {"typed": _texts(value)}
    return {"text": value if isinstance(value, str) else given}


def given_text(reply: str) -> str:
    """What follows the last "Answer:". Raises Invalid where there is none."""
    marks = list(MARK.finditer(reply))
    if not marks:
        raise Invalid("There is no line that begins with “Answer:”.")
    return reply[marks[-1].end() :].strip().strip("*").strip()


def _value(given: str) -> Any:
    """The JSON at the beginning, or the text itself where it is none."""
    try:
        value, _end = json.JSONDecoder().raw_decode(given)
    except (ValueError, RecursionError):
        first = given.partition("\n")[0].strip()
        return None if first.lower().strip(".") in ("null", "none") else first
    return value


def _label(task: Mapping[str, Any], value: Any, given: str) -> str:
    names = [str(label["name"]) for label in task["labels"]]
    plain = str(value).strip().strip(QUOTES).rstrip(".").strip()
    exact = [name for name in names if name in (value, given, plain)]
    alike = [name for name in names if name.casefold() == plain.casefold()]
    for fitting in (exact, alike):
        if len(fitting) == 1:
            return fitting[0]
    raise Invalid(f"“{plain[:80]}” is not one of the labels: {', '.join(names)}.")


def _place(value: Any, options: Sequence[str]) -> int:
    """The place of an option from 0, by its number from 1 or its very text."""
    if isinstance(value, str) and value in options:
        return list(options).index(value)
    try:
        number = int(str(value).strip().rstrip("."))
    except ValueError:
        number = 0
    if isinstance(value, bool) or not 1 <= number <= len(options):
        raise Invalid(f"Expected the number of an option, 1 to {len(options)}.")
    return number - 1


def _plain(value: Any, given: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise Invalid("Expected a number in plain digits.")
    text = given.split()[0] if isinstance(value, int | float) else value
    return str(text).strip(QUOTES + "*")


def _texts(value: Any) -> list[str]:
    texts = value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) and text.strip() for text in texts):
        raise Invalid("Expected a JSON list of texts.")
    if any("\n" in text for text in texts):
        raise Invalid("A text must not go over the end of a line.")
    return list(dict.fromkeys(texts))
