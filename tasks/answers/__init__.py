"""The kinds of answer, behind one interface (`kind.Kind`); standard library only.

Begin at `KINDS`: what a card calls the way it is answered -> how such an answer is read from a
form, what gold of it must be (docs/answers.md), the words of a card where nobody has written them,
and how it is simulated. Spans themselves are in tasks/spans.py.
"""

from collections.abc import Mapping, Sequence

from tasks.answers.kind import Asked, GoldError, Kind
from tasks.answers.label import Label
from tasks.answers.number import Number
from tasks.answers.options import Option, Options
from tasks.answers.spans import Spans
from tasks.answers.texts import LongText, ShortText
from tasks.cards import Card
from tasks.spans import GivenAnswer, ceiling

__all__ = ["KINDS", "Asked", "GoldError", "Kind", "check_gold", "highest_s1", "read"]

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (Label(), Spans(), Option(), Options(), Number(), ShortText(), LongText())
}


def read(card: Card, asked: Asked, fields: Mapping[str, str]) -> GivenAnswer:
    """The answer to that example in the fields of its form. Raises tasks.spans.AnswerError."""
    return KINDS[card.answered_by].read(card, asked, fields)


def check_gold(card: Card, options: Sequence[str], gold: Sequence[str]) -> tuple[str, ...]:
    """The gold of an example as it is stored. Raises GoldError where nobody could give it."""
    return KINDS[card.answered_by].check_gold(card, options, gold)


def highest_s1(card: Card, asked: Asked, gold: Sequence[str]) -> float:
    """The best S1 that an answer to it can have: under 1 where gold cannot be highlighted."""
    if not card.is_highlighted or card.typed:
        return 1.0
    question = card.selectable_question(asked.question)
    return ceiling(gold, asked.context, card.gold_rule, question, card.granularity)
