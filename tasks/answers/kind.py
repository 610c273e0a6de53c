"""The interface of answer types, and functions shared by several of them."""

import random
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from tasks.sentences import Sentence
from tasks.spans import AnswerError, GivenAnswer, refused

if TYPE_CHECKING:
    from tasks.cards import Card

Texts = Sequence[str]
TEXTS = tomllib.loads(Path(__file__).with_name("kinds.toml").read_text("utf-8"))
PLACEHOLDER = re.compile(r"%\((\w+)\)s")
NO_ANSWER = GivenAnswer((), "", True)
# A test for a model's answer (texts, options), and its error. {named} lists some of the answers.
Rule = tuple[Callable[[Texts, frozenset[str]], object], str]
ONE_TEXT: Rule = (
    lambda texts, _options: len(set(texts)) > 1,
    "have more than one text: {named}. An answer to this task is a single text",
)


class GoldError(ValueError):
    """Raised if no answer of this type can match the gold answer. Says what was expected."""


class Prompt(Protocol):
    """The content of an example without its gold answer, as in the database and in records."""

    @property
    def context(self) -> Sequence[str]: ...

    @property
    def question(self) -> str: ...

    @property
    def options(self) -> Sequence[str]: ...


class KnownExample(Protocol):
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
    text: Sentence
    question: Sentence
    gold: tuple[Sentence, ...]
    options: tuple[Sentence, ...]

    @classmethod
    def parse(cls, text: str, question: str, gold: Texts, options: Texts = ()) -> "MadeUp":
        """Build an example, in whose texts the placeholders stand for the gold, in order."""
        right = tuple(map(Sentence, gold))
        names = dict.fromkeys(PLACEHOLDER.findall(text + question))
        values = dict(zip(names, right, strict=False))
        sentences = Sentence(text, values), Sentence(question, values)
        return cls(*sentences, right, tuple(map(Sentence, options)))


class Kind:
    """An answer type. Answers are lists of strings, where an empty list means "no answer"."""

    name: ClassVar[str]
    is_one_text: ClassVar[bool] = True  # at most one text, so S1 is either 0 or 1
    is_chosen: ClassVar[bool] = False  # chosen from a list: a label, or one or more options
    is_one_choice: ClassVar[bool] = False  # exactly one choice: a label or an option
    is_judged: ClassVar[bool] = True  # right or wrong; long text never equals its gold
    has_options: ClassVar[bool] = False  # each example has a list of options
    # In API requests: the key, which is also the form field's name, its type (list for indices),
    # and an explanation.
    api_field: ClassVar[tuple[str, type, str | None]] = ("", str, None)
    # On the question page: the element (and script), its template, and the keyboard input passed to
    # it by the rest of the turn (static/js/turn-keys.js).
    element: ClassVar[str]
    template: ClassVar[str] = "participation/_answer_panel.html"
    typing: ClassVar[str] = ""

    def __init__(self) -> None:
        """Read the texts of this type, which default to those of the type that it extends."""
        texts: dict[str, Any] = {}
        shown: dict[str, Any] = {}
        for cls in reversed(type(self).__mro__):
            texts |= TEXTS.get(vars(cls).get("name", ""), {})
            shown |= texts.get("shown", {})
        self.argument: str = texts["argument"]  # value of make_task's argument --as
        self.title: str = texts["title"]  # name in the form for importing a dataset
        # For documents: the noun for an answer, how it is given, what is correct if S1 is 0 or 1.
        self.noun, self.action = texts["noun"], texts["action"]
        self.right_noun = texts.get("right_noun", "")
        # Tells annotators how to answer. %(labels)s is the number of labels.
        self.brief = Sentence(shown["brief"])
        # Three examples for trying out the tool.
        self.made_up = tuple(MadeUp.parse(**example) for example in shown["made_up"])
        # Messages for a missing answer: without and with "no answer" as a possible answer.
        self.missing = tuple(map(Sentence, shown.get("missing", ())))

    @property
    def default_texts(self) -> dict[str, str]:
        """Return texts for a card that does not have any."""
        return dict(TEXTS[self.name]["card"])

    def read(self, card: "Card", prompt: Prompt, fields: Mapping[str, str]) -> GivenAnswer:
        """Parse the submitted form strictly, without guessing. Raises AnswerError."""
        given = self.given(prompt, fields)
        if says_no_answer(card, fields, bool(given)):
            return NO_ANSWER
        if not given:
            raise AnswerError("nothing_chosen", self.missing[card.no_answer])
        return GivenAnswer((), "", False, self.values(card, prompt, given))

    def given(self, prompt: Prompt, fields: Mapping[str, str]) -> Any:
        """Return the input from the form, or a false value without any. Raises AnswerError."""
        return fields.get(self.api_field[0], "")

    def values(self, card: "Card", prompt: Prompt, given: Any) -> tuple[str, ...]:
        """Return the values of the answer. Raises AnswerError."""
        raise NotImplementedError

    def check_gold(self, card: "Card", options: Texts, gold: Texts) -> tuple[str, ...]:
        """Return the gold answers in the form in which answers are stored. Raises GoldError."""
        if not gold and not card.no_answer:
            raise GoldError("empty, but the card says no_answer = false")
        if self.is_one_text and len(set(gold)) > 1 and card.gold_rule == "set":
            raise GoldError(
                'expected one text: several are alternatives, gold_rule = "any_of" in the card'
            )
        return tuple(gold)

    def tries(self, card: "Card") -> tuple[MadeUp, ...]:
        return self.made_up

    def highest_s1(self, card: "Card", prompt: Prompt, gold: Sequence[str]) -> float:
        """Return the highest possible S1, which is below 1 if the gold can't be highlighted."""
        return 1.0

    def spelled(self, text: str) -> str:
        """Normalise text from other sources, such as a model, in the same way as answers."""
        return text

    def rules(self, card: "Card") -> list[Rule]:
        """Return tests for a model's answer, which correspond to the rules for humans."""
        if card.no_answer:
            return []
        return [
            (lambda texts, _options: not texts, "are “no answer”, which this task does not allow")
        ]

    def fields_sent(self, value: Any) -> dict[str, str]:
        return {self.api_field[0]: str(value)}

    def fields(self, options: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
        """Return the form fields with an answer that isn't empty."""
        return {self.api_field[0]: texts[0]}

    def trivial(self, options: Sequence[str], most_common: str) -> list[str]:
        """Return an answer that needs no reading: the most common one, or the first option."""
        return list(options[:1]) or [most_common]

    def right(self, gold: Sequence[str]) -> list[str]:
        """Return the correct answer. If it is a single text, this is the first alternative."""
        return list(gold[:1])

    def choices(self, example: KnownExample) -> Sequence[str]:
        """Return the possible answers, for types with exactly one choice."""
        raise NotImplementedError

    def at_random(self, example: KnownExample, rng: random.Random) -> list[str]:
        return [rng.choice(self.choices(example))]

    def mistaken(self, example: KnownExample, rng: random.Random) -> list[str]:
        """Return an incorrect answer, or a correct one if ten random answers all happen to be."""
        if self.is_one_choice:
            choices = self.choices(example)
            wrong = [text for text in choices if text not in example.gold]
            return [rng.choice(wrong or choices)]
        for _attempt in range(10):
            texts = self.at_random(example, rng)
            if texts[0] not in example.gold:
                break
        return texts


def says_no_answer(card: "Card", fields: Mapping[str, str], is_given: bool) -> bool:
    """Return whether "no answer" is chosen. Raises AnswerError if the card doesn't allow it."""
    if fields.get("no_answer") != "1":
        return False
    if is_given:
        raise refused("both")
    if not card.no_answer:
        raise refused("no_answer_impossible")
    return True
