"""A long text: one paragraph or more. The card's number of words is a guide, never a rule."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from tasks.answer_keys import LONG_TEXT
from tasks.answers.kind import Asked
from tasks.answers.typed_text import check_texts, one_spelling, read_text
from tasks.cards import Card
from tasks.spans import GivenAnswer


class LongText:
    """Field `text`."""

    name: ClassVar[str] = LONG_TEXT

    def read(self, card: Card, asked: Asked, fields: Mapping[str, str]) -> GivenAnswer:
        """Raises AnswerError, as read_text says."""
        return read_text(card, fields)

    def check_gold(
        self, card: Card, options: Sequence[str], gold: Sequence[str]
    ) -> tuple[str, ...]:
        """Texts that could be typed."""
        return check_texts(card, gold)

    def spelled(self, text: str) -> str:
        """Without blanks around it, line breaks in one spelling."""
        return one_spelling(text) or text
