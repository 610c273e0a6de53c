"""A question as annotators see it: the asked kind as a coloured word, a placeholder as a gap.

The text itself never changes: what is read aloud, copied and looked up is the question as stored.
"""

import re
from functools import lru_cache

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from tasks.cards import Card, QuestionType

COLOURS = 3  # of the kinds that a card tells apart: --kind-1 to --kind-3
PLACEHOLDER = "@placeholder"
# How the questions of ReCoRD were made in CLUES; its instructions say to read past it.
FRAME = re.compile(r"\AAccording to claims in the suit,|What is @placeholder\?\Z")


def asked_kind(card: Card, question: str) -> QuestionType | None:
    """The kind of question that the card recognises in it."""
    return next((kind for kind in card.question_types if kind.match == question), None)


def kind_number(card: Card, kind: QuestionType | None) -> int:
    """Which colour the kind has, from 1; 0 for none."""
    return card.question_types.index(kind) % COLOURS + 1 if kind else 0


@lru_cache(maxsize=2048)
def question_markup(text: str, kind: str = "", number: int = 0) -> SafeString:
    """The question, escaped, with the name of the kind, gaps and their frame as elements."""
    parts = [re.escape(kind)] if kind else []
    named = re.compile(rf"\b(?:{parts[0]})\b", re.IGNORECASE).search(text) if parts else None
    marks = (
        [(*named.span(), f'<em class="turn-kind" data-kind="{number}">', "</em>")] if named else []
    )
    if PLACEHOLDER in FRAME.sub("", text):
        marks += [(*m.span(), '<span class="turn-frame">', "</span>") for m in FRAME.finditer(text)]
    framed = [(start, end) for start, end, _open, _close in marks]
    marks += [
        (*gap.span(), '<span class="turn-gap">', "</span>")
        for gap in re.finditer(PLACEHOLDER, text)
        if not any(start <= gap.start() < end for start, end in framed)
    ]
    pieces, at = [], 0
    for start, end, opened, closed in sorted(marks):
        pieces += [escape(text[at:start]), opened, escape(text[start:end]), closed]
        at = end
    return mark_safe("".join([*pieces, escape(text[at:])]))
