"""Rendering of questions: the kind asked for as a coloured word, a placeholder as a gap.

The text never changes: screen readers and copying get the question as stored. WIDGETS lists what
each kind of answer needs on the page, which loads nothing else. Every control works without
scripts; static/js/ enhances them.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from tasks.answer_keys import LABEL, LONG_TEXT, NUMBER, OPTION, OPTIONS, SHORT_TEXT, SPANS
from tasks.cards import Card, QuestionType

COLOURS = 3  # for a card's kinds: --kind-1 to --kind-3
PLACEHOLDER = "@placeholder"
# CLUES created questions of ReCoRD in this form; its instructions say to ignore it.
FRAME = re.compile(r"\AAccording to claims in the suit,|What is @placeholder\?\Z")


def asked_kind(card: Card, question: str) -> QuestionType | None:
    """Return the kind of question that the card recognises in it."""
    return next((kind for kind in card.question_types if kind.match == question), None)


def kind_number(card: Card, kind: QuestionType | None) -> int:
    """Return the number of the kind's colour, from 1; 0 for none."""
    return card.question_types.index(kind) % COLOURS + 1 if kind else 0


@lru_cache(maxsize=2048)
def question_markup(text: str, kind: str = "", number: int = 0, filling: str = "") -> SafeString:
    """Return the escaped question with elements around kind, gaps and frame.

    A reveal writes its answer into the gap (`filling`), at the same size.
    """
    parts = [re.escape(kind)] if kind else []
    named = re.compile(rf"\b(?:{parts[0]})\b", re.IGNORECASE).search(text) if parts else None
    marks = (
        [(*named.span(), f'<em class="turn-kind" data-kind="{number}">', "</em>")] if named else []
    )
    if PLACEHOLDER in FRAME.sub("", text):
        marks += [(*m.span(), '<span class="turn-frame">', "</span>") for m in FRAME.finditer(text)]
    pieces, at = [], 0
    for start, end, opened, closed in sorted(marks):
        pieces += [escape(text[at:start]), opened, escape(text[start:end]), closed]
        at = end
    filled = f' data-filling="{escape(filling)}"' if filling else ""
    gap = f'<span class="turn-gap"{filled}>{PLACEHOLDER}</span>'
    # Inside the frame too: otherwise "What is ...?" would not show the placeholder.
    return mark_safe(gap.join("".join([*pieces, escape(text[at:])]).split(PLACEHOLDER)))


BESIDE = "participation/_beside_question.html"  # for answers next to their text
TYPED = ("answer", "pasting", "texts")


@dataclass(frozen=True)
class Widget:
    """The element (and script) of a kind, its template, and the modules that it imports."""

    element: str
    template: str
    modules: tuple[str, ...]
    # Keyboard input elsewhere in the turn that it receives: static/js/turn-keys.js.
    typing: str = ""


WIDGETS = {
    LABEL: Widget("choice-answer", "participation/_label_question.html", ("answer",)),
    SPANS: Widget(
        "span-answer",
        "participation/_span_question.html",
        ("spans", "span-page", "span-pointer", "span-keyboard"),
        "letters",
    ),
    OPTION: Widget("choice-answer", BESIDE, ("answer",)),
    OPTIONS: Widget("choice-answer", BESIDE, ("answer",)),
    NUMBER: Widget("number-answer", BESIDE, ("answer", "pasting", "numbers"), "digits"),
    SHORT_TEXT: Widget("text-answer", BESIDE, TYPED, "both"),
    LONG_TEXT: Widget("text-answer", BESIDE, TYPED, "both"),
}
