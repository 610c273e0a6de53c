"""The answer kinds, with a common interface (`kind.Kind`); standard library only.

`KINDS` maps a card's answer kind to its implementation: reading an answer from a form, checking
gold (docs/answers.md), a card's default texts, and simulated answers. tasks/spans.py handles spans.
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
    """Read the answer to an example from its form. Raises tasks.spans.AnswerError."""
    return KINDS[card.answered_by].read(card, asked, fields)


def check_gold(card: Card, options: Sequence[str], gold: Sequence[str]) -> tuple[str, ...]:
    """Return an example's gold as stored. Raises GoldError if no answer could match it."""
    return KINDS[card.answered_by].check_gold(card, options, gold)


def highest_s1(card: Card, asked: Asked, gold: Sequence[str]) -> float:
    """Return the highest possible S1: below 1 if some gold cannot be highlighted."""
    if not card.is_highlighted or card.typed:
        return 1.0
    question = card.selectable_question(asked.question)
    return ceiling(gold, asked.context, card.gold_rule, question, card.granularity)
