"""An option: one of those of the example. What is stored is its text, never its letter."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from tasks.answer_keys import OPTION
from tasks.answers.kind import (
    NO_ANSWER,
    Asked,
    GoldError,
    Verbatim,
    enough_gold,
    nothing,
    says_no_answer,
)
from tasks.cards import Card
from tasks.sentences import sentence
from tasks.spans import AnswerError, GivenAnswer

MAX_OPTIONS = 100  # of one example
LONGEST_OPTION = 2_000  # characters


class Option(Verbatim):
    """Field `option`: the place of the option in the example's list, from 0."""

    name: ClassVar[str] = OPTION

    def read(self, card: Card, asked: Asked, fields: Mapping[str, str]) -> GivenAnswer:
        """Raises AnswerError: nothing_chosen, unknown_option, both, no_answer_impossible."""
        chosen = fields.get("option", "")
        if says_no_answer(card, fields, bool(chosen)):
            return NO_ANSWER
        if not chosen:
            raise nothing(
                card,
                sentence("Choose one of the options."),
                sentence("Choose one of the options, or “no answer”."),
            )
        return GivenAnswer((), "", False, (option_at(chosen, asked.options),))

    def check_gold(
        self, card: Card, options: Sequence[str], gold: Sequence[str]
    ) -> tuple[str, ...]:
        """One of the options, or alternatives among them."""
        check_options(options, gold)
        enough_gold(card, gold)
        return tuple(gold)


def option_at(place: str, options: Sequence[str]) -> str:
    """The text of that option. Raises AnswerError: unknown_option."""
    if place in map(str, range(len(options))):
        return options[int(place)]
    raise AnswerError("unknown_option", sentence("This is not one of the options."))


def check_options(options: Sequence[str], gold: Sequence[str]) -> None:
    """Refuse an example that cannot be answered by its options. Raises GoldError."""
    if len(set(options)) < 2:
        raise GoldError("expected two different options or more, in the field options")
    for text in gold:
        if text not in options:
            raise GoldError(f"{text[:60]!r} is not one of the example's options")
