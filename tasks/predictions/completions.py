"""Answers as one text, as evaluation tools log what a model said, and that text read as answers.

One text stands as it is, none as "", several as a JSON list; a text that would be read as something
else stands in a list of one. `prediction_lines` are the lines of a file of predictions, which
format.py reads. The pure core: no Django.
"""

import json
from collections.abc import Iterable, Sequence


def as_completion(texts: Sequence[str]) -> str:
    """The answer as one text; `texts_of` reads the same texts from it."""
    if not texts:
        return ""
    (first, *more) = texts
    if not more and texts_of(first) == [first]:
        return first
    return json.dumps(list(texts), ensure_ascii=False)


def texts_of(completion: str) -> list[str]:
    """The texts of an answer: those of a JSON list of texts, else the text itself, without blanks
    around it; none of an empty one.
    """
    text = completion.strip()
    if text.startswith("["):
        try:
            listed = json.loads(text)
        except (ValueError, RecursionError):
            listed = None
        if isinstance(listed, list) and all(isinstance(one, str) for one in listed):
            return [one for one in listed if one]
    return [text] if text else []


def prediction_lines(rows: Iterable[tuple[object, Sequence[str]]]) -> bytes:
    """One line for each (id of an example, predicted texts)."""
    lines = (json.dumps({"id": identity, "predicted": list(texts)}) for identity, texts in rows)
    return "".join(f"{line}\n" for line in lines).encode()
