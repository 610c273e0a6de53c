"""An example as annotators see it: the question and text as tokens, and the control for its answer.

The kind asked for is a coloured word, and a placeholder is a gap. The text never changes: screen
readers and copying get the question as stored. The page loads only what its answer kind needs
(tasks/answers/kind.py). Every control works without scripts; static/js/ enhances them.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from annotation.participation.reveal import MAX_DIGITS
from annotation.web.wording import translated
from tasks.answers.typed import written
from tasks.cards import Card, Help, QuestionType
from tasks.models import Example
from tasks.spans import AnswerError
from tasks.tokens import tokens

COLOURS = 3  # for a card's kinds: --kind-1 to --kind-3
PLACEHOLDER = "@placeholder"
# CLUES created ReCoRD questions in this form; its instructions say to ignore it.
FRAME = re.compile(r"\AAccording to claims in the suit,|What is @placeholder\?\Z")


def token_markup(text: str, granularity: str) -> SafeString:
    """Return the text as one line of token elements; gaps are elements too.

    The elements' text concatenates to the whole text, so that the page can compute the token
    offsets, which would make up two thirds of the response. Every piece of text is escaped here;
    nothing else is ever marked safe.
    """
    parts = []
    end_of_last = 0
    for start, end in tokens(text, granularity):
        if start > end_of_last:
            parts.append(f"<span data-gap>{escape(text[end_of_last:start])}</span>")
        parts.append(
            f'<span data-t role="option" aria-selected="false">{escape(text[start:end])}</span>'
        )
        end_of_last = end
    if end_of_last < len(text):
        parts.append(f"<span data-gap>{escape(text[end_of_last:])}</span>")
    # Browsers would drop or replace a literal carriage return.
    return mark_safe("".join(parts).replace("\r", "&#13;"))


@dataclass(frozen=True)
class Segment:
    """One text box: its name on the card, its text, and its tokens as markup."""

    index: int
    name: str
    text: str
    granularity: str

    @property
    def markup(self) -> SafeString:
        return token_markup(self.text, self.granularity)


def question_markup(text: str, kind: str = "", number: int = 0, filling: str = "") -> SafeString:
    """Return the escaped question with elements around the kind, gaps and frame.

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
    # Longer answers get smaller letters, because the words around them do not move.
    steps = (len(filling) > 12) + (len(filling) > 17)
    filled = f' data-filling="{escape(filling)}" data-steps="{steps}"' if filling else ""
    gap = f'<span class="turn-gap"{filled}>{PLACEHOLDER}</span>'
    # Inside the frame too: otherwise "What is ...?" would not show the placeholder.
    return mark_safe(gap.join("".join([*pieces, escape(text[at:])]).split(PLACEHOLDER)))


@dataclass(frozen=True)
class Question:
    """What a page shows of an example and its card; never its gold, except in a reveal's gap.

    `filling` is the answer in that gap.
    """

    card: Card
    example: Example
    filling: str = ""

    @property
    def control(self) -> str:
        """Return the template with the control of a kind that is answered next to the text."""
        return f"participation/answer/{self.card.answered_by.replace(' ', '_')}.html"

    @property
    def missing(self) -> str:
        """Return the server's error for an empty answer; scripts show it before sending."""
        try:
            self.card.kind.read(self.card, self.example, {})
        except AnswerError as error:
            return translated(error.sentence)
        return ""

    @property
    def text(self) -> str:
        return self.card.wording(self.example.question)

    @cached_property
    def kind(self) -> QuestionType | None:
        """Return the kind asked for, if the card distinguishes kinds."""
        kinds = self.card.question_types
        return next((kind for kind in kinds if kind.match == self.example.question), None)

    @cached_property
    def kind_number(self) -> int:
        """Return the kind's colour number, from 1, or 0 for none."""
        return self.card.question_types.index(self.kind) % COLOURS + 1 if self.kind else 0

    @cached_property
    def help_title(self) -> str:
        """Return the help title for the kind asked for, or "" without kinds."""
        rule = self.card.rule_for(self.example.question, ())
        return rule.title if rule else ""

    @property
    def help_windows(self) -> list[Help]:
        """Return the card's help, starting with that for the kind asked for."""
        return sorted(self.card.help_windows, key=lambda help: help.title != self.help_title)

    @property
    def plain(self) -> SafeString:
        """Return the question for reading."""
        name = self.kind.name if self.kind else ""
        filling = self.filling if PLACEHOLDER in self.text else ""
        return question_markup(self.text, name, self.kind_number, filling)

    @cached_property
    def tokens(self) -> SafeString | str:
        """Return the question for highlighting, or "" if the task does not allow that."""
        card = self.card
        return token_markup(self.text, card.granularity) if card.question_selectable else ""

    @cached_property
    def segments(self) -> list[Segment]:
        names, granularity = self.card.segments, self.card.granularity
        return [
            Segment(index, names[index], text, granularity)
            for index, text in enumerate(self.example.context)
        ]

    @property
    def limits(self) -> dict[str, str]:
        """Return a number's range and step in plain digits, as far as the card has them."""
        card = self.card
        stated = {"lowest": card.lowest, "highest": card.highest, "step": card.step}
        return {name: written(value) for name, value in stated.items() if value is not None}

    @cached_property
    def digits(self) -> range:
        """Return the digits that select a label or option; none if two digits would be needed."""
        choices = len(self.card.labels or self.example.options) if self.card.kind.is_chosen else 0
        return range(1, choices + 1 if choices <= MAX_DIGITS else 1)

    @property
    def has_no_answer_key(self) -> bool:
        """Does the key 0 select "no answer"? Not where it may be typed in an answer."""
        return self.card.no_answer and self.card.kind.typing in ("", "letters")

    @property
    def is_searched(self) -> bool:
        """Is the label list long enough to have a search field?"""
        return len(self.card.labels) > MAX_DIGITS
