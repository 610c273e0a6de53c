"""The interface of answer kinds, and functions that several kinds share."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from tasks.sentences import Sentence, sentence
from tasks.spans import AnswerError, GivenAnswer

if TYPE_CHECKING:
    from tasks.cards import Card

NO_ANSWER = GivenAnswer((), "", True)
# A test of a model's answer (its texts, the choices) with its error; {named} lists some.
Rule = tuple[Callable[[Sequence[str], frozenset[str]], object], str]
ONE_TEXT: Rule = (
    lambda texts, _options: len(set(texts)) > 1,
    "have more than one text: {named}. An answer to this task is a single text",
)


class GoldError(ValueError):
    """Gold that no answer of its kind can match; the message says what was expected."""


class Asked(Protocol):
    """An example's content without gold, as in the stored example and in the record."""

    @property
    def context(self) -> Sequence[str]: ...

    @property
    def question(self) -> str: ...

    @property
    def options(self) -> Sequence[str]: ...


class Known(Protocol):
    """The example as a simulated annotator knows it."""

    @property
    def card(self) -> "Card": ...

    @property
    def segments(self) -> Sequence[str]: ...

    @property
    def options(self) -> Sequence[str]: ...

    @property
    def gold(self) -> Sequence[str]: ...


@dataclass(frozen=True)
class MadeUp:
    """An invented example for trying the tool; its question says what to do."""

    text: Sentence
    question: Sentence
    gold: tuple[Sentence, ...]
    options: tuple[Sentence, ...] = ()


class Kind:
    """An answer kind: its words, its control, how it is read, checked as gold, and simulated.

    Answers are lists of texts; an empty list is "no answer".
    """

    name: ClassVar[str]
    argument: ClassVar[str]  # its name as an argument of make_task (--as)
    title: ClassVar[str]  # its name in the form for importing a dataset
    words: ClassVar[Mapping[str, str]] = {}  # a card's default texts
    is_one_text: ClassVar[bool] = True  # at most one text, so that its S1 is 0 or 1
    is_chosen: ClassVar[bool] = False  # of listed choices: a label, one option or several
    is_one_choice: ClassVar[bool] = False  # one listed choice: a label, or one of the options
    is_judged: ClassVar[bool] = True  # right or wrong; long text never equals its gold
    has_options: ClassVar[bool] = False  # each example lists its own options
    # In documents: an answer, how it is given, and the right answer where S1 is 0 or 1.
    noun: ClassVar[str]
    action: ClassVar[str]
    right_noun: ClassVar[str] = ""
    brief: ClassVar[Sentence]  # how it is given, to annotators; %(labels)s: how many labels
    made_up: ClassVar[tuple[MadeUp, ...]]  # three examples for trying the tool
    # In a request of the API: its key, its type (list: of indices) and an explanation.
    sent: ClassVar[tuple[str, type, str | None]] = ("", str, None)
    # On the question page: its element (and script), the modules that this imports, its template,
    # and the keyboard input elsewhere in the turn that it receives (static/js/turn-keys.js).
    element: ClassVar[str]
    modules: ClassVar[tuple[str, ...]] = ("answer",)
    template: ClassVar[str] = "participation/_beside_question.html"
    typing: ClassVar[str] = ""

    def read(self, card: "Card", asked: Asked, fields: Mapping[str, str]) -> GivenAnswer:
        """Read the answer from its form, without guessing. Raises AnswerError."""
        raise NotImplementedError

    def check_gold(
        self, card: "Card", options: Sequence[str], gold: Sequence[str]
    ) -> tuple[str, ...]:
        """Return the gold as stored: in the form of answers. Raises GoldError."""
        raise NotImplementedError

    def tries(self, card: "Card") -> tuple[MadeUp, ...]:
        """Return the examples for trying the tool with that card."""
        return self.made_up

    def highest_s1(self, card: "Card", asked: Asked, gold: Sequence[str]) -> float:
        """Return the highest possible S1: below 1 if some gold cannot be highlighted."""
        return 1.0

    def spelled(self, text: str) -> str:
        """Normalise text from elsewhere, such as a model's, to the spelling of answers."""
        return text

    def rules(self, card: "Card") -> list[Rule]:
        """Return the tests of a model's answer, which correspond to those of a person's."""
        if card.no_answer:
            return []
        return [
            (lambda texts, _options: not texts, "are “no answer”, which this task does not allow")
        ]

    def fields_sent(self, value: Any) -> dict[str, str]:
        """Return the form fields for a value sent to the API."""
        return {self.sent[0]: str(value)}

    def fields(self, options: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
        """Return the form fields for an answer of these texts."""
        raise NotImplementedError

    def trivial(self, options: Sequence[str], most_common: str) -> list[str]:
        """Return an answer without reading: the most common one, or the first option."""
        return list(options[:1]) or [most_common]

    def right(self, gold: Sequence[str]) -> list[str]:
        """Return the correct answer: the first alternative for kinds of one text."""
        return list(gold[:1])

    def at_random(self, known: Known, rng: random.Random) -> list[str]:
        """Return any answer that the form accepts."""
        raise NotImplementedError

    def mistaken(self, known: Known, rng: random.Random) -> list[str]:
        """Return an incorrect answer, unless ten random answers are all correct."""
        for _attempt in range(10):
            texts = self.at_random(known, rng)
            if texts[0] not in known.gold:
                break
        return texts


def another(names: Sequence[str], gold: Sequence[str], rng: random.Random) -> list[str]:
    """Return one of these names that is not gold."""
    return [rng.choice([name for name in names if name not in gold] or list(names))]


def says_no_answer(card: "Card", fields: Mapping[str, str], is_given: bool) -> bool:
    """Is "no answer" chosen? Raises AnswerError if it is impossible, or combined with an answer."""
    if fields.get("no_answer") != "1":
        return False
    if is_given:
        raise AnswerError("both", sentence("Give an answer or choose “No answer”, not both."))
    if not card.no_answer:
        raise AnswerError(
            "no_answer_impossible", sentence("Every example in this task has an answer.")
        )
    return True


def nothing(card: "Card", alone: Sentence, or_none: Sentence) -> AnswerError:
    """Return the error for a missing answer, depending on whether "no answer" is possible."""
    return AnswerError("nothing_chosen", or_none if card.no_answer else alone)


def enough_gold(card: "Card", gold: Sequence[str]) -> None:
    """Check that a single-text answer can match the gold. Raises GoldError."""
    if not gold and not card.no_answer:
        raise GoldError("empty, but the card says no_answer = false")
    if len(set(gold)) > 1 and card.gold_rule == "set":
        raise GoldError(
            'expected one text: several are alternatives, gold_rule = "any_of" in the card'
        )
