"""What a kind of answer has to say for itself, and what several of them share."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Protocol

from tasks.cards import Card
from tasks.sentences import Sentence, sentence
from tasks.spans import AnswerError, GivenAnswer

NO_ANSWER = GivenAnswer((), "", True)
# What is wrong with a model's answer (its texts, what could be chosen), in words; {named} are some.
Rule = tuple[Callable[[Sequence[str], frozenset[str]], object], str]
ONE_TEXT: Rule = (
    lambda texts, _options: len(set(texts)) > 1,
    "have more than one text: {named}. One is an answer",
)


class GoldError(ValueError):
    """Gold that no answer of its kind could be; the message says what was expected."""


class Asked(Protocol):
    """What an example asks, without its gold: the stored example and the record both have it."""

    @property
    def context(self) -> Sequence[str]: ...

    @property
    def question(self) -> str: ...

    @property
    def options(self) -> Sequence[str]: ...


class Known(Protocol):
    """What a simulated annotator knows of an example, from its own side."""

    @property
    def card(self) -> Card: ...

    @property
    def segments(self) -> Sequence[str]: ...

    @property
    def options(self) -> Sequence[str]: ...

    @property
    def gold(self) -> Sequence[str]: ...


class Kind:
    """One way to answer: how its form is read, what its gold must be, and how it is simulated.

    Answers are given as their texts; none of them is "no answer".
    """

    name: ClassVar[str]
    words: ClassVar[Mapping[str, str]] = {}  # what a card says where nobody has written it

    def read(self, card: Card, asked: Asked, fields: Mapping[str, str]) -> GivenAnswer:
        """The answer in the fields of the form. Raises AnswerError; nothing is guessed."""
        raise NotImplementedError

    def check_gold(
        self, card: Card, options: Sequence[str], gold: Sequence[str]
    ) -> tuple[str, ...]:
        """The gold as it is stored: in the form in which answers are. Raises GoldError."""
        raise NotImplementedError

    def spelled(self, text: str) -> str:
        """A text from elsewhere, a model's, as answers of this kind spell it."""
        return text

    def rules(self, card: Card) -> list[Rule]:
        """What a model's answer has to keep to as a person's does, each by itself."""
        if card.no_answer:
            return []
        return [
            (lambda texts, _options: not texts, "are “no answer”, which this task does not allow")
        ]

    def fields(self, options: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
        """The fields of the form that hold an answer of these texts."""
        raise NotImplementedError

    def right(self, gold: Sequence[str]) -> list[str]:
        """The right answer: of one text the first alternative."""
        return list(gold[:1])

    def at_random(self, known: Known, rng: random.Random) -> list[str]:
        """Any answer that the form takes."""
        raise NotImplementedError

    def mistaken(self, known: Known, rng: random.Random) -> list[str]:
        """A mistake: another answer than the right one."""
        for _attempt in range(10):
            texts = self.at_random(known, rng)
            if texts[0] not in known.gold:
                break
        return texts


def another(names: Sequence[str], gold: Sequence[str], rng: random.Random) -> list[str]:
    """Any of these names that is not gold."""
    return [rng.choice([name for name in names if name not in gold] or list(names))]


def says_no_answer(card: Card, fields: Mapping[str, str], is_given: bool) -> bool:
    """Is "no answer" chosen? Raises AnswerError where it cannot be, or something else is too."""
    if fields.get("no_answer") != "1":
        return False
    if is_given:
        raise AnswerError("both", sentence("Give either an answer or “no answer”, not both."))
    if not card.no_answer:
        raise AnswerError(
            "no_answer_impossible", sentence("Every example of this task has an answer.")
        )
    return True


def nothing(card: Card, alone: Sentence, or_none: Sentence) -> AnswerError:
    """Nothing was answered: what to do, where "no answer" is impossible or possible."""
    return AnswerError("nothing_chosen", or_none if card.no_answer else alone)


def enough_gold(card: Card, gold: Sequence[str]) -> None:
    """Refuse gold of which an answer of one text cannot be all. Raises GoldError."""
    if not gold and not card.no_answer:
        raise GoldError("empty, but the card says no_answer = false")
    if len(set(gold)) > 1 and card.gold_rule == "set":
        raise GoldError(
            'expected one text: several are alternatives, gold_rule = "any_of" in the card'
        )
