"""A question as annotators see it: the asked kind as a coloured word, a placeholder as a gap.

The text itself never changes: what is read aloud, copied and looked up is the question as stored.
WIDGETS has what each kind of answer needs on the page: it loads that of its own kind and no other.
Each control works without scripts; what the elements add is in static/js/.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from tasks.answer_keys import LABEL, LONG_TEXT, NUMBER, OPTION, OPTIONS, SHORT_TEXT, SPANS
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
def question_markup(text: str, kind: str = "", number: int = 0, filling: str = "") -> SafeString:
    """The question, escaped, with the name of the kind, gaps and their frame as elements.

    A reveal writes its answer into the gap (`filling`); it takes no more room for it.
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
    # Also in the frame: "What is ...?" would ask for a word that can be seen nowhere.
    return mark_safe(gap.join("".join([*pieces, escape(text[at:])]).split(PLACEHOLDER)))


BESIDE = "worker/_beside_question.html"  # what is answered beside its text
TYPED = ("answer", "pasting", "texts")


@dataclass(frozen=True)
class Widget:
    """The element (and script) of a kind, the fragment around it, the modules that it imports."""

    element: str
    template: str
    modules: tuple[str, ...]
    # What is typed elsewhere in the turn and goes into it: static/js/turn-keys.js.
    typing: str = ""


WIDGETS = {
    LABEL: Widget("choice-answer", "worker/_label_question.html", ("answer",)),
    SPANS: Widget(
        "span-answer",
        "worker/_span_question.html",
        ("spans", "span-page", "span-pointer", "span-keyboard"),
        "letters",
    ),
    OPTION: Widget("choice-answer", BESIDE, ("answer",)),
    OPTIONS: Widget("choice-answer", BESIDE, ("answer",)),
    NUMBER: Widget("number-answer", BESIDE, ("answer", "pasting", "numbers"), "digits"),
    SHORT_TEXT: Widget("text-answer", BESIDE, TYPED, "both"),
    LONG_TEXT: Widget("text-answer", BESIDE, TYPED, "both"),
}
