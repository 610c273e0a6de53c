"""A text as the whole answer: one line, or longer text in paragraphs."""

import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tasks.answer_keys import LONG_TEXT, LONGEST_TEXTS, SHORT_TEXT
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
from tasks.sentences import counted, sentence
from tasks.spans import AnswerError, GivenAnswer, refuse_broken, trimmed

if TYPE_CHECKING:
    from tasks.cards import Card

KETTLE, GATE, RIVER = sentence("kettle"), sentence("gate"), sentence("river")


class LongText(Kind):
    """Field `text`. The card's word count is only a guide."""

    name = LONG_TEXT
    argument = "long-text"
    title = "Long text"
    is_judged = False
    noun = "a long text"
    action = "typing a long text"
    right_noun = "exactly the gold text"
    brief = sentence("You write an answer in your own words.")
    sent = ("text", str, "a short or long text")
    element = "text-answer"
    modules = ("answer", "pasting", "texts")
    typing = "both"
    words = {
        "description": "Read a text and write an answer to it.",
        "instructions": "Read the text. Then write your answer in your own words.",
        "submit_hint": "Write your answer, then submit.",
        "question": "What is your answer?",
    }
    made_up = (
        MadeUp(
            sentence("The %(words)s was on all evening.", words=KETTLE),
            sentence("What was on? Type “%(words)s”.", words=KETTLE),
            (KETTLE,),
        ),
        MadeUp(
            sentence("Two lorries waited at the gate."),
            sentence("Type the word “%(words)s”.", words=GATE),
            (GATE,),
        ),
        MadeUp(
            sentence("A horse drank from the river."),
            sentence("Type the word “%(words)s”.", words=RIVER),
            (RIVER,),
        ),
    )

    def read(self, card: "Card", asked: Asked, fields: Mapping[str, str]) -> GivenAnswer:
        """Raises AnswerError, see _read_text."""
        return _read_text(card, fields)

    def check_gold(
        self, card: "Card", options: Sequence[str], gold: Sequence[str]
    ) -> tuple[str, ...]:
        return _check_texts(card, gold)

    def spelled(self, text: str) -> str:
        """Strip outer blanks and normalise line breaks."""
        return _one_spelling(text) or text

    def rules(self, card: "Card") -> list[Rule]:
        return [*super().rules(card), ONE_TEXT]

    def fields(self, options: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
        return {"text": texts[0]}

    def at_random(self, known: Known, rng: random.Random) -> list[str]:
        words = rng.choice(known.segments).split()
        first = rng.randrange(len(words))
        fewest = known.card.words[0] if known.card.words else 1
        chosen = words[first : first + max(fewest, rng.randint(1, 3))]
        return [" ".join(chosen)[: known.card.longest_text]]


class ShortText(LongText):
    """Field `text`: one line."""

    name = SHORT_TEXT
    argument = "short-text"
    title = "Short text"
    is_judged = True
    noun = "a short text"
    action = "typing a short text"
    brief = sentence("You type a few words.")
    words = {
        "description": "Read a text and type a short answer.",
        "instructions": "Read the text. Then type the answer in a few words.",
        "submit_hint": "Type the answer, then submit.",
        "question": "What is the answer?",
    }

    def read(self, card: "Card", asked: Asked, fields: Mapping[str, str]) -> GivenAnswer:
        """Raises AnswerError: several_lines, and those of _read_text."""
        given = _read_text(card, fields)
        if any("\n" in text for text in given.values):
            raise AnswerError("several_lines", sentence("Write the answer on one line."))
        return given

    def check_gold(
        self, card: "Card", options: Sequence[str], gold: Sequence[str]
    ) -> tuple[str, ...]:
        texts = _check_texts(card, gold)
        if any("\n" in text for text in texts):
            raise GoldError('expected one line; answer = "long text" in the card takes several')
        return texts


def _read_text(card: "Card", fields: Mapping[str, str]) -> GivenAnswer:
    """Read the field `text`, without outer blanks and with normalised line breaks.

    Raises AnswerError: nothing_chosen, too_long, bad_characters, and those of "no answer".
    """
    typed = fields.get("text", "")
    refuse_broken(typed)
    text = _one_spelling(typed)
    if says_no_answer(card, fields, bool(text)):
        return NO_ANSWER
    if not text:
        raise nothing(
            card, sentence("Type an answer."), sentence("Type an answer, or choose “No answer”.")
        )
    if len(text) > card.longest_text:
        raise AnswerError(
            "too_long",
            counted(
                "The answer can have at most %(limit)s character. Yours has %(number)s.",
                "The answer can have at most %(limit)s characters. Yours has %(number)s.",
                card.longest_text,
                limit=card.longest_text,
                number=len(text),
            ),
        )
    return GivenAnswer((), "", False, (text,))


def _one_spelling(typed: str) -> str:
    """Return the text as stored: browsers send a line break as two characters."""
    return trimmed(typed.replace("\r\n", "\n").replace("\r", "\n"))


def _check_texts(card: "Card", gold: Sequence[str]) -> tuple[str, ...]:
    """Return the gold in the spelling of answers. Raises GoldError if it could not be typed."""
    enough_gold(card, gold)
    for text in gold:
        if not _one_spelling(text):
            raise GoldError("expected a text of more than blanks")
        if len(text) > card.longest_text:
            raise GoldError(
                f"a text of {len(text):,} characters; the card allows {card.longest_text:,}"
                " (longest)"
            )
    return tuple(map(_one_spelling, gold))


def longest(kind: str, golds: Sequence[str]) -> dict[str, Any]:
    """Return a higher character limit if the gold needs it, up to the maximum, or else {}."""
    usual, most = LONGEST_TEXTS[kind]
    needed = max(map(len, golds), default=0)
    return {"longest": min(needed, most)} if needed > usual else {}


def guide(golds: Sequence[str]) -> dict[str, Any]:
    """Return the lowest and highest word counts of these golds, as the guide for a long text."""
    lengths = [len(gold.split()) for gold in golds if gold.split()]
    return {"words": [min(lengths), max(lengths)]} if lengths else {}
