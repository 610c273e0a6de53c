"""What a card says of a kind of answer where nobody has written it: defaults, named as such."""

from collections.abc import Sequence
from typing import Any

from tasks.answer_keys import LONG_TEXT, LONGEST_TEXTS, NUMBER, OPTION, OPTIONS, SHORT_TEXT

WORDS: dict[str, dict[str, str]] = {
    OPTION: {
        "description": "Read a text and choose the one option that fits it.",
        "instructions": "Read the text and all options. Then choose the one that fits best.",
        "submit_hint": "Choose one, then submit.",
        "question": "Which option fits best?",
    },
    OPTIONS: {
        "description": "Read a text and choose every option that is right.",
        "instructions": "Read the text and all options. Then choose every option that is right;"
        " there may be one or several.",
        "submit_hint": "Choose all that are right, then submit.",
        "question": "Which options are right?",
    },
    NUMBER: {
        "description": "Read a text and answer with a number.",
        "instructions": "Read the text. Then enter the number that fits it, in plain digits.",
        "submit_hint": "Enter a number, then submit.",
        "question": "Which number fits?",
    },
    SHORT_TEXT: {
        "description": "Read a text and type a short answer.",
        "instructions": "Read the text. Then type the answer in a few words.",
        "submit_hint": "Type the answer, then submit.",
        "question": "What is the answer?",
    },
    LONG_TEXT: {
        "description": "Read a text and write one that goes with it.",
        "instructions": "Read the text. Then write the text that goes with it, in your own words.",
        "submit_hint": "Write the text, then submit.",
        "question": "What do you write?",
    },
}


def longest(kind: str, golds: Sequence[str]) -> dict[str, Any]:
    """A higher limit of characters where a gold needs it, as far as cards allow; else nothing."""
    usual, most = LONGEST_TEXTS[kind]
    needed = max(map(len, golds), default=0)
    return {"longest": min(needed, most)} if needed > usual else {}


def guide(golds: Sequence[str]) -> dict[str, Any]:
    """The fewest and the most words of these golds, as the guide of a long text."""
    lengths = [len(gold.split()) for gold in golds if gold.split()]
    return {"words": [min(lengths), max(lengths)]} if lengths else {}
