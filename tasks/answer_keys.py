"""Names of the answer types in tasks/answers/, and checks for values on cards."""

import math
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

LABEL, SPANS, OPTION, OPTIONS, NUMBER = "label", "spans", "option", "options", "number"
SHORT_TEXT, LONG_TEXT = "short text", "long text"

# Maximum length of a typed answer: the default, and the highest value that a card may set.
LONGEST_TEXTS = {SHORT_TEXT: (200, 1_000), LONG_TEXT: (4_000, 10_000)}
LONGEST_UNIT = 30  # characters
HIGHEST = 1e15  # limit for numbers on a card; smaller whole numbers are exact in floating point
# The longest name in the Few-shot Gym has 52 characters.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")  # a simplified BCP 47 tag
MAX_SEED = 2**63 - 1

# Checks yield errors as (location within the value, what was expected).
Wrong = Iterator[tuple[str, str]]


def check_text(value: Any) -> Wrong:
    if not isinstance(value, str) or not value.strip():
        yield "", "expected a non-empty text"
    elif "\0" in value:
        yield "", "U+0000 cannot be stored"


def check_name(value: Any) -> Wrong:
    if not isinstance(value, str) or not NAME.fullmatch(value):
        yield "", "expected 1 to 60 letters, digits, dots, hyphens or underscores"


def check_language(value: Any) -> Wrong:
    if isinstance(value, str) and value.strip() and not LANGUAGE.fullmatch(value):
        yield "", "expected a language tag (BCP 47), such as en or pt-BR"


def check_one_of(allowed: Sequence[str]) -> partial[Wrong]:
    """Return a check that accepts only these values, which are in its `args`."""
    return partial(_one_of, allowed)


def _one_of(allowed: Sequence[str], value: Any) -> Wrong:
    if value not in allowed:
        yield "", f"expected one of {', '.join(allowed)}"


def check_segments(value: Any) -> Wrong:
    if not isinstance(value, list) or not value:
        yield "", "expected a list of one or more names"
        return
    for index, name in enumerate(value):
        yield from ((f"[{index}]", expected) for _within, expected in check_text(name))


def check_flag(value: Any) -> Wrong:
    if not isinstance(value, bool):
        yield "", "expected true or false"


def check_count(value: Any) -> Wrong:
    if type(value) is not int or value < 1:
        yield "", "expected a whole number of at least 1"


def check_number(value: Any) -> Wrong:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or abs(value) >= HIGHEST:
        yield "", f"expected a number under {HIGHEST:.0e}"


def check_step(value: Any) -> Wrong:
    yield from (wrong := list(check_number(value)))
    if not wrong and value <= 0:
        yield "", "expected a number above 0"


def check_unit(value: Any) -> Wrong:
    if not isinstance(value, str) or not 0 < len(value.strip()) <= LONGEST_UNIT:
        yield "", f"expected a text of at most {LONGEST_UNIT} characters"


def check_words(value: Any) -> Wrong:
    are_numbers = isinstance(value, list) and all(type(number) is int for number in value)
    if not are_numbers or len(value) != 2 or not 1 <= value[0] <= value[1]:
        yield "", "expected the fewest and the most words, such as [50, 100]"


def _is_seed(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MAX_SEED


def check_seed(value: Any) -> Wrong:
    if not _is_seed(value):
        yield "", "expected a whole number from 0"


def check_seeds(value: Any) -> Wrong:
    if not isinstance(value, list | tuple) or not all(map(_is_seed, value)):
        yield "", "expected a list of whole numbers from 0"
