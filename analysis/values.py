"""The forms in which values stand in the CSVs: texts that read back as the same value."""

import json
import math
from collections.abc import Iterable
from typing import Any


def json_list(texts: Iterable[object]) -> str:
    return json.dumps(list(texts), ensure_ascii=False, separators=(",", ":"))


def number(value: float) -> str:
    """A float so that it reads back as the same number; nothing for NaN."""
    return "" if math.isnan(value) else repr(float(value))


def cell(value: Any) -> Any:
    """Any value of a table as a CSV has it: floats with all digits, nothing for what is missing."""
    if value is None:
        return ""
    return number(value) if isinstance(value, float) else value
