"""Predictions from elsewhere as the lines of a file of predictions; format.py reads them."""

import json
from collections.abc import Iterable, Sequence


def prediction_lines(rows: Iterable[tuple[object, Sequence[str]]]) -> bytes:
    """One line for each (id of an example, predicted texts)."""
    lines = (json.dumps({"id": identity, "predicted": list(texts)}) for identity, texts in rows)
    return "".join(f"{line}\n" for line in lines).encode()
