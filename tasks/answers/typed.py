"""Typed answers: numbers in plain digits, one line of text, or longer text with paragraphs.

Numbers must fit the range and steps on the card, and are stored in canonical form.
"""

import random
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tasks.answer_keys import LONG_TEXT, LONGEST_TEXTS, NUMBER, SHORT_TEXT
from tasks.answers.kind import (
    ONE_TEXT,
    GoldError,
    Kind,
    KnownExample,
    Prompt,
    Rule,
    Texts,
)
from tasks.spans import AnswerError, cut, refuse_broken, refused, trimmed

if TYPE_CHECKING:
    from tasks.cards import Card

LONGEST = 30  # characters
STEPS = 100  # steps for simulated numbers if the card does not set any
OPEN_RANGE = 10  # width of the range for simulated numbers if the card sets no limit
# Only ASCII digits are accepted. Digits of other scripts, 1,5 and 1e400 are ambiguous.
PLAIN = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")


class Number(Kind):
    """A number, sent as it was typed in the form field `number`."""

    name = NUMBER
    api_field = ("number", str, "a plain decimal number, such as 3.5")
    element = "number-answer"
    typing = "digits"

    def given(self, prompt: Prompt, fields: Mapping[str, str]) -> str:
        typed: str = super().given(prompt, fields)
        refuse_broken(typed)
        return typed.strip()

    def values(self, card: "Card", prompt: Prompt, given: str) -> tuple[str, ...]:
        """Return the number. Raises AnswerError (not_a_number, out_of_range, off_step)."""
        value = canonical(given)
        if value is None:
            raise refused("not_a_number", typed=cut(given))
        _check_range(card, Decimal(value))
        return (value,)

    def check_gold(self, card: "Card", options: Texts, gold: Texts) -> tuple[str, ...]:
        """Return the gold numbers in canonical form, provided that annotators can enter them."""
        super().check_gold(card, options, [canonical(text) or text for text in gold])
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

    def at_random(self, example: KnownExample, rng: random.Random) -> list[str]:
        card = example.card
        lowest = Decimal(as_digits(card.lowest or 0))
        if card.highest is None:
            highest = lowest + OPEN_RANGE
        else:
            highest = Decimal(as_digits(card.highest))
            lowest = lowest if card.lowest is not None else min(lowest, highest - OPEN_RANGE)
        step = (highest - lowest) / STEPS if card.step is None else Decimal(as_digits(card.step))
        value = lowest + step * rng.randint(0, int((highest - lowest) / step))
        return [canonical(f"{value:f}") or as_digits(card.lowest or 0)]


def canonical(text: str) -> str | None:
    """Return a number without plus sign or superfluous zeros, or None if it isn't a number."""
    if len(text) > LONGEST or not PLAIN.fullmatch(text):
        return None
    sign = "-" if text.startswith("-") else ""
    integer, _point, decimals = text.lstrip("+-").partition(".")
    digits = integer.lstrip("0") or "0"
    decimals = decimals.rstrip("0")
    value = f"{digits}.{decimals}" if decimals else digits
    return value if value == "0" else sign + value


def as_digits(value: float) -> str:
    """Format a number from the card in plain digits, for example 5, 0.5 or 0.00001."""
    return canonical(f"{Decimal(repr(value)):f}") or repr(value)


def _check_range(card: "Card", value: Decimal) -> None:
    """Raise AnswerError if the number is outside the card's range or between its steps."""
    lowest, highest = (
        None if end is None else Decimal(as_digits(end)) for end in (card.lowest, card.highest)
    )
    too_low = lowest is not None and value < lowest
    too_high = highest is not None and value > highest
    limits = {"lowest": lowest, "highest": highest}
    if (too_low or too_high) and lowest is not None and highest is not None:
        raise refused("out_of_range", **limits)
    if too_low:
        raise refused("out_of_range_low", **limits)
    if too_high:
        raise refused("out_of_range_high", **limits)
    first, step = lowest or Decimal(0), Decimal(as_digits(card.step or 0))
    if step and (value - first) % step:
        raise refused("off_step", step=step, first=first, second=first + step)


# Texts -----------------------------------------------------------------------------------------


class LongText(Kind):
    """Long text, sent in the form field `text`. The word count on the card is only a guide."""

    name = LONG_TEXT
    is_judged = False
    api_field = ("text", str, "a short or long text")
    element = "text-answer"
    typing = "both"

    def given(self, prompt: Prompt, fields: Mapping[str, str]) -> str:
        typed: str = super().given(prompt, fields)
        refuse_broken(typed)
        return _one_spelling(typed)

    def values(self, card: "Card", prompt: Prompt, given: str) -> tuple[str, ...]:
        if len(given) > card.longest_text:
            raise refused("too_long_text", limit=card.longest_text, number=len(given))
        return (given,)

    def check_gold(self, card: "Card", options: Texts, gold: Texts) -> tuple[str, ...]:
        """Return the gold, normalised like answers. Raises GoldError if it can't be typed."""
        super().check_gold(card, options, gold)
        for text in gold:
            if not _one_spelling(text):
                raise GoldError("expected a text of more than blanks")
            if len(text) > card.longest_text:
                raise GoldError(
                    f"a text of {len(text):,} characters; the card allows {card.longest_text:,}"
                    " (longest)"
                )
        return tuple(map(_one_spelling, gold))

    def spelled(self, text: str) -> str:
        return _one_spelling(text) or text

    def rules(self, card: "Card") -> list[Rule]:
        return [*super().rules(card), ONE_TEXT]

    def at_random(self, example: KnownExample, rng: random.Random) -> list[str]:
        words = rng.choice(example.segments).split()
        first = rng.randrange(len(words))
        fewest = example.card.words[0] if example.card.words else 1
        excerpt = words[first : first + max(fewest, rng.randint(1, 3))]
        return [" ".join(excerpt)[: example.card.longest_text]]


class ShortText(LongText):
    """A single line of text, sent in the form field `text`."""

    name = SHORT_TEXT
    is_judged = True

    def values(self, card: "Card", prompt: Prompt, given: str) -> tuple[str, ...]:
        """Return the text. Raises AnswerError (several_lines, and that for long text: too_long)."""
        values = super().values(card, prompt, given)
        if "\n" in given:
            raise refused("several_lines")
        return values

    def check_gold(self, card: "Card", options: Texts, gold: Texts) -> tuple[str, ...]:
        texts = super().check_gold(card, options, gold)
        if any("\n" in text for text in texts):
            raise GoldError('expected one line; answer = "long text" in the card takes several')
        return texts


def _one_spelling(typed: str) -> str:
    """Return the text as stored. Browsers send a line break as two characters."""
    return trimmed(typed.replace("\r\n", "\n").replace("\r", "\n"))


def longest(kind: str, golds: Sequence[str]) -> dict[str, Any]:
    """Return a higher character limit, up to the maximum, if the gold requires it, otherwise {}."""
    usual, maximum = LONGEST_TEXTS[kind]
    needed = max(map(len, golds), default=0)
    return {"longest": min(needed, maximum)} if needed > usual else {}


def guide(golds: Sequence[str]) -> dict[str, Any]:
    """Return the lowest and highest word counts of gold answers, as a guide for long text."""
    lengths = [len(gold.split()) for gold in golds if gold.split()]
    return {"words": [min(lengths), max(lengths)]} if lengths else {}
