"""A short text: one line."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from tasks.answer_keys import SHORT_TEXT
from tasks.answers.kind import Asked, GoldError
from tasks.answers.typed_text import check_texts, one_spelling, read_text
from tasks.cards import Card
from tasks.sentences import sentence
from tasks.spans import AnswerError, GivenAnswer


class ShortText:
    """Field `text`: one line."""

    name: ClassVar[str] = SHORT_TEXT

    def read(self, card: Card, asked: Asked, fields: Mapping[str, str]) -> GivenAnswer:
        """Raises AnswerError: several_lines, and what read_text raises."""
        given = read_text(card, fields)
        if any("\n" in text for text in given.values):
            raise AnswerError("several_lines", sentence("The answer must be one line."))
        return given

    def check_gold(
        self, card: Card, options: Sequence[str], gold: Sequence[str]
    ) -> tuple[str, ...]:
        """Lines that could be typed."""
        texts = check_texts(card, gold)
        if any("\n" in text for text in texts):
            raise GoldError('expected one line; answer = "long text" in the card takes several')
        return texts

    def spelled(self, text: str) -> str:
        """Without blanks around it, line breaks in one spelling."""
        return one_spelling(text) or text
