"""A number in plain digits, within the card's range and steps; stored in canonical form."""

import random
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from tasks.answer_keys import NUMBER
from tasks.answers.kind import (
    NO_ANSWER,
    ONE_TEXT,
    Asked,
    GoldError,
    Kind,
    Known,
    MadeUp,
    Rule,
    enough_gold,
    nothing,
    says_no_answer,
)
from tasks.sentences import Sentence, sentence
from tasks.spans import AnswerError, GivenAnswer, cut, refuse_broken

if TYPE_CHECKING:
    from tasks.cards import Card

LONGEST = 30  # characters
STEPS = 100  # steps of a simulated number if the card sets none
OPEN_RANGE = 10  # width of a simulated range if the card sets no limit
# ASCII digits only: other scripts' digits, 1,5 and 1e400 are ambiguous.
PLAIN = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")


class Number(Kind):
    """Field `number`: the number as typed."""

    name = NUMBER
    argument = "number"
    title = "A number"
    noun = "a number"
    action = "entering a number"
    right_noun = "a number equal to the gold number"
    brief = sentence("You enter a number.")
    sent = ("number", str, "a plain decimal number, such as 3.5")
    element = "number-answer"
    modules = ("answer", "pasting", "numbers")
    typing = "digits"
    words = {
        "description": "Read a text and answer with a number.",
        "instructions": "Read the text. Then enter the number that fits it, in plain digits.",
        "submit_hint": "Enter a number, then submit.",
        "question": "Which number fits?",
    }
    made_up = (
        MadeUp(
            sentence("There are 3 cups on the table."),
            sentence("How many cups are there? Enter “3”."),
            (Sentence("3"),),
        ),
        MadeUp(
            sentence("The walk is 2.5 miles long."),
            sentence("How many miles long is it?"),
            (Sentence("2.5"),),
        ),
        MadeUp(
            sentence("He waited for 10 minutes."),
            sentence("How many minutes did he wait?"),
            (Sentence("10"),),
        ),
    )

    def read(self, card: "Card", asked: Asked, fields: Mapping[str, str]) -> GivenAnswer:
        """Raises AnswerError: not_a_number, out_of_range, off_step, and those of all kinds."""
        typed = fields.get("number", "")
        refuse_broken(typed)
        typed = typed.strip()
        if says_no_answer(card, fields, bool(typed)):
            return NO_ANSWER
        if not typed:
            raise nothing(
                card,
                sentence("Enter a number."),
                sentence("Enter a number, or choose “No answer”."),
            )
        value = canonical(typed)
        if value is None:
            raise AnswerError(
                "not_a_number",
                sentence(
                    "“%(typed)s” is not a number. Use plain digits, such as 12 or 3.5.",
                    typed=cut(typed),
                ),
            )
        _check_range(card, Decimal(value))
        return GivenAnswer((), "", False, (value,))

    def check_gold(
        self, card: "Card", options: Sequence[str], gold: Sequence[str]
    ) -> tuple[str, ...]:
        """Numbers that could be answered, in canonical form."""
        enough_gold(card, tuple(canonical(text) or text for text in gold))
        values = []
        for text in gold:
            value = canonical(text)
            if value is None:
                raise GoldError(f"{text[:60]!r} is not a number in plain digits, such as 12 or 3.5")
            try:
                _check_range(card, Decimal(value))
            except AnswerError as error:
                raise GoldError(f"{text[:60]!r}: {error.sentence}") from None
            values.append(value)
        return tuple(values)

    def spelled(self, text: str) -> str:
        """Return a number in canonical form, or any other text unchanged."""
        return canonical(text.strip()) or text

    def rules(self, card: "Card") -> list[Rule]:
        odd = "are not numbers in plain digits: {named}"
        digits: Rule = (lambda p, _options: any(canonical(text) is None for text in p), odd)
        return [*super().rules(card), ONE_TEXT, digits]

    def fields(self, options: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
        return {"number": texts[0]}

    def at_random(self, known: Known, rng: random.Random) -> list[str]:
        card = known.card
        lowest = Decimal(written(card.lowest or 0))
        if card.highest is None:
            highest = lowest + OPEN_RANGE
        else:
            highest = Decimal(written(card.highest))
            lowest = lowest if card.lowest is not None else min(lowest, highest - OPEN_RANGE)
        step = (highest - lowest) / STEPS if card.step is None else Decimal(written(card.step))
        value = lowest + step * rng.randint(0, int((highest - lowest) / step))
        return [canonical(f"{value:f}") or written(card.lowest or 0)]


def canonical(text: str) -> str | None:
    """Return the number without a plus sign or superfluous zeros, or None for any other text."""
    if len(text) > LONGEST or not PLAIN.fullmatch(text):
        return None
    sign = "-" if text.startswith("-") else ""
    whole, _point, rest = text.lstrip("+-").partition(".")
    digits = whole.lstrip("0") or "0"
    rest = rest.rstrip("0")
    value = f"{digits}.{rest}" if rest else digits
    return value if value == "0" else sign + value


def written(value: float) -> str:
    """Return one of the card's numbers in plain digits: 5, 0.5, 0.00001."""
    return canonical(f"{Decimal(repr(value)):f}") or repr(value)


def _check_range(card: "Card", value: Decimal) -> None:
    lowest, highest = (
        None if limit is None else Decimal(written(limit)) for limit in (card.lowest, card.highest)
    )
    too_low = lowest is not None and value < lowest
    too_high = highest is not None and value > highest
    limits = {"lowest": lowest, "highest": highest}
    if (too_low or too_high) and lowest is not None and highest is not None:
        raise AnswerError(
            "out_of_range",
            sentence("The number must be between %(lowest)s and %(highest)s.", **limits),
        )
    if too_low:
        raise AnswerError(
            "out_of_range", sentence("The number must be %(lowest)s or more.", **limits)
        )
    if too_high:
        raise AnswerError(
            "out_of_range", sentence("The number must be %(highest)s or less.", **limits)
        )
    _check_step(card, value, lowest or Decimal(0))


def _check_step(card: "Card", value: Decimal, first: Decimal) -> None:
    if card.step is None:
        return
    step = Decimal(written(card.step))
    if (value - first) % step:
        raise AnswerError(
            "off_step",
            sentence(
                "The number must be in steps of %(step)s, such as %(first)s or %(second)s.",
                step=step,
                first=first,
                second=first + step,
            ),
        )
