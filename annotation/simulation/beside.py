"""What robots answer where nothing is highlighted: labels, options, numbers and texts.

Pure, and from the robot's own side: the card, what can be chosen, the texts and the gold.
"""

import random
from collections.abc import Sequence
from decimal import Decimal

from tasks.answer_keys import NUMBER, OPTION, OPTIONS
from tasks.answers.number import canonical, written
from tasks.cards import Card

STEPS = 100  # of the range of a number whose card names no step
OPEN_RANGE = 10  # how far a number goes up where the card does not say


def right(card: Card, gold: Sequence[str]) -> list[str]:
    """The right answer: of one text the first alternative."""
    return list(dict.fromkeys(gold)) if card.answered_by == OPTIONS else list(gold[:1])


def at_random(
    card: Card, options: Sequence[str], segments: Sequence[str], rng: random.Random
) -> list[str]:
    """Any label or option, any number of the range, or some words of the text."""
    if card.labels:
        return [rng.choice(card.labels).name]
    if card.answered_by == OPTION:
        return [rng.choice(options)]
    if card.answered_by == OPTIONS:
        different = list(dict.fromkeys(options))
        return rng.sample(different, rng.randint(1, len(different) - 1))
    if card.answered_by == NUMBER:
        return [_any_number(card, rng)]
    return [_any_words(card, segments, rng)]


def mistaken(
    card: Card,
    options: Sequence[str],
    segments: Sequence[str],
    gold: Sequence[str],
    rng: random.Random,
) -> list[str]:
    """A mistake: another label, option, number or text; an option too many or too few."""
    if card.answered_by == OPTIONS:
        return _other_set(card, options, gold, rng)
    if card.labels or card.answered_by == OPTION:
        names = [label.name for label in card.labels] or list(options)
        return [rng.choice([name for name in names if name not in gold] or names)]
    for _attempt in range(10):
        texts = at_random(card, options, segments, rng)
        if texts[0] not in gold:
            break
    return texts


def fields_for(card: Card, options: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
    """The fields of the form that holds that answer; without texts it is "no answer"."""
    if not texts:
        return {"no_answer": "1"}
    if card.labels:
        return {"label": texts[0]}
    if card.answered_by == OPTION:
        return {"option": str(list(options).index(texts[0]))}
    if card.answered_by == OPTIONS:
        return {f"option-{list(options).index(text)}": "1" for text in texts}
    return {"number" if card.answered_by == NUMBER else "text": texts[0]}


def _other_set(
    card: Card, options: Sequence[str], gold: Sequence[str], rng: random.Random
) -> list[str]:
    chosen = [text for text in dict.fromkeys(options) if text in gold]
    others = [text for text in dict.fromkeys(options) if text not in gold]
    if len(chosen) > 1 and (rng.random() < 0.5 or not others):
        chosen.remove(rng.choice(chosen))
        return chosen
    extra = rng.choice(others) if others else ""
    if len(others) > 1 or card.all_options:
        return [text for text in dict.fromkeys(options) if text in {*chosen, extra}]
    return [extra]


def _any_number(card: Card, rng: random.Random) -> str:
    lowest = Decimal(written(card.lowest or 0))
    if card.highest is None:
        highest = lowest + OPEN_RANGE
    else:
        highest = Decimal(written(card.highest))
        lowest = lowest if card.lowest is not None else min(lowest, highest - OPEN_RANGE)
    step = (highest - lowest) / STEPS if card.step is None else Decimal(written(card.step))
    value = lowest + step * rng.randint(0, int((highest - lowest) / step))
    return canonical(f"{value:f}") or written(card.lowest or 0)


def _any_words(card: Card, segments: Sequence[str], rng: random.Random) -> str:
    words = rng.choice(segments).split()
    first = rng.randrange(len(words))
    fewest = card.words[0] if card.words else 1
    return " ".join(words[first : first + max(fewest, rng.randint(1, 3))])[: card.longest_text]
