"""Answers chosen from a list: one of the card's labels, or one or more of the example's options.

Labels are the same for every example. An option is stored as its text, never as its letter.
"""

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tasks.answer_keys import LABEL, OPTION, OPTIONS
from tasks.answers.kind import (
    ONE_TEXT,
    TEXTS,
    GoldError,
    Kind,
    KnownExample,
    Prompt,
    Rule,
    Texts,
    says_no_answer,
)
from tasks.sentences import Sentence
from tasks.spans import GivenAnswer, cut, refuse_broken, refused

if TYPE_CHECKING:
    from tasks.cards import Card

LISTED = 9  # maximum number of labels to list in a default question
# Labels for the made-up examples, as (name, definition, example).
MADE_UP_LABELS = [tuple(map(Sentence, texts)) for texts in TEXTS[LABEL]["shown"]["labels"]]
NO_EXAMPLE = "No example is given."


class Label(Kind):
    """A single label, sent by name in the form field `label`."""

    name = LABEL
    is_chosen = True
    is_one_choice = True
    api_field = ("label", str, "the name of a label")
    element = "choice-answer"
    template = "participation/_label_question.html"

    def read(self, card: "Card", prompt: Prompt, fields: Mapping[str, str]) -> GivenAnswer:
        """Read the form. Raises AnswerError (nothing_chosen, unknown_label, both, and others)."""
        label = fields.get("label", "")
        refuse_broken(label)
        says_no_answer(card, fields, bool(label))
        if not label:
            raise refused("no_label")
        if label not in [option.name for option in card.labels]:
            raise refused("unknown_label", label=cut(label))
        return GivenAnswer((), label, False)

    def check_gold(self, card: "Card", options: Texts, gold: Texts) -> tuple[str, ...]:
        names = [label.name for label in card.labels]
        if len(gold) != 1 or gold[0] not in names:
            raise GoldError(f"expected exactly one of the labels {', '.join(names)}")
        return tuple(gold)

    def rules(self, card: "Card") -> list[Rule]:
        labels = {label.name for label in card.labels}
        listed = f"Its labels are: {', '.join(label.name for label in card.labels)}"
        return [
            (lambda p, _: set(p) - labels, f"are not labels of this task: {{named}}. {listed}"),
            (lambda p, _: not p, f"are “no answer”, which this task does not allow. {listed}"),
            (
                lambda p, _: len(set(p)) > 1 and set(p) <= labels,
                f"are more than one label: {{named}}. {listed}; an answer is exactly one of them",
            ),
        ]

    def choices(self, example: KnownExample) -> Sequence[str]:
        return [label.name for label in example.card.labels]


def label_texts(names: Sequence[str]) -> dict[str, str]:
    """Return default texts for a card, which list the labels if there are only a few."""
    texts = Label().default_texts
    if len(names) <= LISTED:
        listed = alternatives(names)
        texts["description"] = f"Read a text and choose what fits it: {listed}."
        texts["question"] = f"{listed}?"
    return texts


def alternatives(names: Sequence[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def defined(name: str, definition: str | None = None, example: str = NO_EXAMPLE) -> dict[str, str]:
    """Return a label for a card, with a generic definition by default."""
    if definition is None:
        definition = f"Choose this where “{name}” fits best."
    return {"name": name, "definition": definition, "example": example}


# Options ---------------------------------------------------------------------------------------


MAX_OPTIONS = 100  # per example
LONGEST_OPTION = 2_000  # characters
FIELD = "option-"
IS_OPTION: Rule = (lambda p, listed: set(p) - listed, "are not options of their example: {named}")


class Option(Kind):
    """A single option, sent in the form field `option` as its index in the example."""

    name = OPTION
    is_chosen = True
    is_one_choice = True
    has_options = True
    api_field = ("option", int, "its index in the list, from 0")
    element = "choice-answer"

    def values(self, card: "Card", prompt: Prompt, given: str) -> tuple[str, ...]:
        return (option_at(given, prompt.options),)

    def check_gold(self, card: "Card", options: Texts, gold: Texts) -> tuple[str, ...]:
        check_options(options, gold)
        return super().check_gold(card, options, gold)

    def rules(self, card: "Card") -> list[Rule]:
        return [*super().rules(card), IS_OPTION, ONE_TEXT]

    def fields(self, options: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
        return {"option": str(list(options).index(texts[0]))}

    def choices(self, example: KnownExample) -> Sequence[str]:
        return example.options


class Options(Kind):
    """Several options, stored in order. The field `option-N` is 1 if option N is chosen."""

    name = OPTIONS
    is_one_text = False
    is_chosen = True
    has_options = True
    api_field = ("options", list, None)
    element = "choice-answer"

    def given(self, prompt: Prompt, fields: Mapping[str, str]) -> set[str]:
        chosen = [key for key in fields if key.startswith(FIELD) and fields[key] == "1"]
        return {option_at(key.removeprefix(FIELD), prompt.options) for key in chosen}

    def values(self, card: "Card", prompt: Prompt, given: set[str]) -> tuple[str, ...]:
        """Return the options in order. Raises AnswerError (all_options)."""
        if not card.all_options and given == set(prompt.options):
            raise refused("all_options")
        return tuple(dict.fromkeys(text for text in prompt.options if text in given))

    def check_gold(self, card: "Card", options: Texts, gold: Texts) -> tuple[str, ...]:
        """Return the gold, which may be all or none of the options if the card allows it."""
        check_options(options, gold)
        if card.gold_rule != "set":
            raise GoldError('several options are one answer: gold_rule = "set" in the card')
        super().check_gold(card, options, gold)
        if set(gold) == set(options) and not card.all_options:
            raise GoldError(
                "all of the options; where these can all be right, write all_options = true into"
                " the card"
            )
        return tuple(gold)

    def rules(self, card: "Card") -> list[Rule]:
        rules = [*super().rules(card), IS_OPTION]
        if card.all_options:
            return rules
        return [*rules, (lambda p, options: set(p) == options, "are all options of their example")]

    def fields(self, options: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
        return self.fields_sent(list(options).index(text) for text in texts)

    def fields_sent(self, value: Any) -> dict[str, str]:
        return {f"{FIELD}{place}": "1" for place in value}

    def right(self, gold: Sequence[str]) -> list[str]:
        return list(dict.fromkeys(gold))

    def at_random(self, example: KnownExample, rng: random.Random) -> list[str]:
        different = list(dict.fromkeys(example.options))
        return rng.sample(different, rng.randint(1, len(different) - 1))

    def mistaken(self, example: KnownExample, rng: random.Random) -> list[str]:
        texts = [text for text in dict.fromkeys(example.options) if text in example.gold]
        distractors = [text for text in dict.fromkeys(example.options) if text not in example.gold]
        if len(texts) > 1 and (rng.random() < 0.5 or not distractors):
            texts.remove(rng.choice(texts))
            return texts
        extra = rng.choice(distractors) if distractors else ""
        if len(distractors) > 1 or example.card.all_options:
            return [text for text in dict.fromkeys(example.options) if text in {*texts, extra}]
        return [extra]


def option_at(place: str, options: Sequence[str]) -> str:
    """Return the text of an option. Raises AnswerError (unknown_option)."""
    if place in map(str, range(len(options))):
        return options[int(place)]
    raise refused("unknown_option")


def drawn_order(choices: Sequence[str], seed: str) -> list[int]:
    """Return the indexes of labels or options, sorted by a hash of their texts.

    Any two texts have the same relative order in every list that contains both.
    """
    hashes = [hashlib.sha256(f"{seed}:{text}".encode()).hexdigest() for text in choices]
    return sorted(range(len(choices)), key=hashes.__getitem__)


def check_options(options: Sequence[str], gold: Sequence[str]) -> None:
    """Check that the example can be answered with its options. Raises GoldError."""
    if len(set(options)) < 2:
        raise GoldError("expected at least two different options in the field options")
    for text in gold:
        if text not in options:
            raise GoldError(f"{text[:60]!r} is not one of the example's options")
