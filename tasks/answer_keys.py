"""How a task is answered, and the keys of its card that belong to one kind of answer alone.

The kinds themselves are in tasks/answers/, one module each; a card only has to know their names.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

LABEL, SPANS, OPTION, OPTIONS, NUMBER = "label", "spans", "option", "options", "number"
SHORT_TEXT, LONG_TEXT = "short text", "long text"
ANSWERS = (LABEL, SPANS, OPTION, OPTIONS, NUMBER, SHORT_TEXT, LONG_TEXT)

# Characters of a text that is typed as an answer: where the card says nothing, and at most.
LONGEST_TEXTS = {SHORT_TEXT: (200, 1_000), LONG_TEXT: (4_000, 10_000)}
LONGEST_UNIT = 30  # characters
HIGHEST = 1e15  # of the numbers of a card: whole numbers below it are exact everywhere

# Key -> the kinds that it means something to.
OF_KINDS = {
    "typed": (SPANS,),
    "all_options": (OPTIONS,),
    "max_spans": (SPANS,),
    "question_selectable": (SPANS,),
    "labels": (LABEL,),
    "lowest": (NUMBER,),
    "highest": (NUMBER,),
    "step": (NUMBER,),
    "unit": (NUMBER,),
    "longest": (SHORT_TEXT, LONG_TEXT),
    "words": (LONG_TEXT,),
}
# Of spans alone, and harmless where cards of label tasks have always been free to say them.
LENIENT = ("max_spans", "question_selectable")


def problems(data: Mapping[str, Any], answer: Any) -> Iterator[tuple[str, str]]:
    """(key, what was expected) of each key that does not fit a card answered in that way."""
    if answer not in ANSWERS:
        yield "answer", f"expected one of {', '.join(ANSWERS)}"
        return
    if answer == LABEL and not data.get("labels"):
        yield "labels", "missing; a task that is answered by label has labels"
    for key, kinds in OF_KINDS.items():
        value = data.get(key)
        if value is None or value is False or value == [] or answer in kinds:
            continue
        if answer != LABEL or key not in LENIENT:
            yield key, f"expected only where the answer is {' or '.join(kinds)}"
            return
    yield from _of_number(data)
    yield from _of_text(data, answer)


def _of_number(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key in ("lowest", "highest", "step"):
        value = data.get(key)
        if value is None:
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or abs(value) >= HIGHEST:
            yield key, f"expected a number under {HIGHEST:.0e}"
            return
    step, lowest, highest = (data.get(key) for key in ("step", "lowest", "highest"))
    if step is not None and step <= 0:
        yield "step", "expected a number above 0"
    if lowest is not None and highest is not None and lowest >= highest:
        yield "highest", "expected a number above lowest"
    unit = data.get("unit")
    if unit is not None and not (isinstance(unit, str) and 0 < len(unit.strip()) <= LONGEST_UNIT):
        yield "unit", f"expected a text of at most {LONGEST_UNIT} characters"


def _of_text(data: Mapping[str, Any], answer: str) -> Iterator[tuple[str, str]]:
    longest, words = data.get("longest"), data.get("words")
    if longest is not None:
        _usual, most = LONGEST_TEXTS[answer]
        if type(longest) is not int or not 1 <= longest <= most:
            yield "longest", f"expected a whole number of characters, 1 to {most:,}"
    if words is not None:
        whole = isinstance(words, list) and all(type(number) is int for number in words)
        if not whole or len(words) != 2 or not 1 <= words[0] <= words[1]:
            yield "words", "expected the fewest and the most words, such as [50, 100]"
