"""A label: one of those of the card, the same for every example."""

import random
from collections.abc import Mapping, Sequence
from typing import ClassVar

from tasks.answer_keys import LABEL
from tasks.answers.kind import Asked, GoldError, Kind, another
from tasks.cards import Card
from tasks.sentences import sentence
from tasks.spans import AnswerError, GivenAnswer, cut, refuse_broken


class Label(Kind):
    """Field `label`: the name of the label."""

    name: ClassVar[str] = LABEL

    def read(self, card: Card, asked: Asked, fields: Mapping[str, str]) -> GivenAnswer:
        """Raises AnswerError: nothing_chosen, unknown_label, bad_characters."""
        label = fields.get("label", "")
        refuse_broken(label)
        if not label:
            raise AnswerError("nothing_chosen", sentence("Choose one of the labels."))
        if label not in [known.name for known in card.labels]:
            raise AnswerError(
                "unknown_label",
                sentence("“%(label)s” is not one of the labels.", label=cut(label)),
            )
        return GivenAnswer((), label, False)

    def check_gold(
        self, card: Card, options: Sequence[str], gold: Sequence[str]
    ) -> tuple[str, ...]:
        """Exactly one of the labels."""
        names = [label.name for label in card.labels]
        if len(gold) != 1 or gold[0] not in names:
            raise GoldError(f"expected exactly one of the labels {', '.join(names)}")
        return tuple(gold)

    def fields(self, options: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
        return {"label": texts[0]}

    def at_random(
        self, card: Card, options: Sequence[str], segments: Sequence[str], rng: random.Random
    ) -> list[str]:
        return [rng.choice(card.labels).name]

    def mistaken(
        self,
        card: Card,
        options: Sequence[str],
        segments: Sequence[str],
        gold: Sequence[str],
        rng: random.Random,
    ) -> list[str]:
        return another([label.name for label in card.labels], gold, rng)
