"""A text that is the whole answer: what a short and a long one share."""

from collections.abc import Mapping, Sequence

from tasks.answers.kind import NO_ANSWER, GoldError, enough_gold, nothing, says_no_answer
from tasks.cards import Card
from tasks.sentences import counted, sentence
from tasks.spans import AnswerError, GivenAnswer, refuse_broken, trimmed


def read_text(card: Card, fields: Mapping[str, str]) -> GivenAnswer:
    """Field `text`: without blanks around it, line breaks in one spelling.

    Raises AnswerError: nothing_chosen, too_long, bad_characters, and for "no answer".
    """
    typed = fields.get("text", "")
    refuse_broken(typed)
    text = one_spelling(typed)
    if says_no_answer(card, fields, bool(text)):
        return NO_ANSWER
    if not text:
        raise nothing(
            card, sentence("Type an answer."), sentence("Type an answer, or choose “no answer”.")
        )
    if len(text) > card.longest_text:
        raise AnswerError(
            "too_long",
            counted(
                "The answer may have at most %(limit)s character, and yours has %(number)s.",
                "The answer may have at most %(limit)s characters, and yours has %(number)s.",
                card.longest_text,
                limit=card.longest_text,
                number=len(text),
            ),
        )
    return GivenAnswer((), "", False, (text,))


def one_spelling(typed: str) -> str:
    """The text as it is stored: browsers send a line break as two characters."""
    return trimmed(typed.replace("\r\n", "\n").replace("\r", "\n"))


def check_texts(card: Card, gold: Sequence[str]) -> tuple[str, ...]:
    """Gold that could be typed, in the spelling of answers. Raises GoldError."""
    enough_gold(card, gold)
    for text in gold:
        if not one_spelling(text):
            raise GoldError("expected a text of more than blanks")
        if len(text) > card.longest_text:
            raise GoldError(
                f"a text of {len(text):,} characters; the card allows {card.longest_text:,}"
                " (longest)"
            )
    return tuple(map(one_spelling, gold))
