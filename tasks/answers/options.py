"""Several options of the example: a set, stored as their texts in the order of the example."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from tasks.answer_keys import OPTIONS
from tasks.answers.kind import NO_ANSWER, Asked, GoldError, Verbatim, nothing, says_no_answer
from tasks.answers.option import check_options, option_at
from tasks.cards import Card
from tasks.sentences import sentence
from tasks.spans import AnswerError, GivenAnswer

FIELD = "option-"


class Options(Verbatim):
    """A field `option-N` with the value 1 for each chosen option N of the example, from 0."""

    name: ClassVar[str] = OPTIONS

    def read(self, card: Card, asked: Asked, fields: Mapping[str, str]) -> GivenAnswer:
        """Raises AnswerError: nothing_chosen, unknown_option, all_options, and for "no answer"."""
        places = [
            key.removeprefix(FIELD)
            for key in fields
            if key.startswith(FIELD) and fields[key] == "1"
        ]
        chosen = {option_at(place, asked.options) for place in places}
        if says_no_answer(card, fields, bool(chosen)):
            return NO_ANSWER
        if not chosen:
            raise nothing(
                card,
                sentence("Choose at least one of the options."),
                sentence("Choose at least one of the options, or “no answer”."),
            )
        if not card.all_options and chosen == set(asked.options):
            raise AnswerError(
                "all_options",
                sentence("You chose all of the options: in this task never all of them are right."),
            )
        values = dict.fromkeys(text for text in asked.options if text in chosen)
        return GivenAnswer((), "", False, tuple(values))

    def check_gold(
        self, card: Card, options: Sequence[str], gold: Sequence[str]
    ) -> tuple[str, ...]:
        """Some of the options; all or none of them only where the card says so."""
        check_options(options, gold)
        if card.gold_rule != "set":
            raise GoldError('several options are one answer: gold_rule = "set" in the card')
        if not gold and not card.no_answer:
            raise GoldError("empty, but the card says no_answer = false")
        if set(gold) == set(options) and not card.all_options:
            raise GoldError(
                "all of the options; where these can all be right, write all_options = true into"
                " the card"
            )
        return tuple(gold)
