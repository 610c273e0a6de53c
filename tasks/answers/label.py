"""A label from the card; the same labels apply to every example."""

import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tasks.answer_keys import LABEL
from tasks.answers.kind import Asked, GoldError, Kind, Known, MadeUp, Rule, another
from tasks.sentences import sentence
from tasks.spans import AnswerError, GivenAnswer, cut, refuse_broken

if TYPE_CHECKING:
    from tasks.cards import Card

LISTED = 9  # maximum number of labels listed in a default question
ANIMAL, VEHICLE = sentence("animal"), sentence("vehicle")
ABOUT = sentence("What is the sentence about?")
# The labels of the made-up examples: name, definition and example.
MADE_UP_LABELS = (
    (ANIMAL, sentence("The sentence is about an animal."), sentence("A dog barked.")),
    (VEHICLE, sentence("The sentence is about a vehicle."), sentence("The bus was late.")),
)
NO_EXAMPLE = "No example is given."


class Label(Kind):
    """Field `label`: the name of the label."""

    name = LABEL
    argument = "choice"
    title = "One label"
    is_chosen = True
    is_one_choice = True
    noun = "a label"
    action = "choosing a label"
    brief = sentence("You choose one of %(labels)s labels.")
    sent = ("label", str, "the name of a label")
    element = "choice-answer"
    template = "participation/_label_question.html"
    words = {
        "description": "Read a text and choose the label that fits it.",
        "instructions": "Read the text. Then choose the label that fits it best.",
        "submit_hint": "Choose one, then submit.",
        "question": "Which label fits the text?",
    }
    made_up = (
        MadeUp(
            sentence("The cat slept on the sofa."),
            sentence("What is the sentence about? Choose “%(label)s”.", label=ANIMAL),
            (ANIMAL,),
        ),
        MadeUp(sentence("Two lorries waited at the gate."), ABOUT, (VEHICLE,)),
        MadeUp(sentence("A horse drank from the river."), ABOUT, (ANIMAL,)),
    )

    def read(self, card: "Card", asked: Asked, fields: Mapping[str, str]) -> GivenAnswer:
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
        self, card: "Card", options: Sequence[str], gold: Sequence[str]
    ) -> tuple[str, ...]:
        names = [label.name for label in card.labels]
        if len(gold) != 1 or gold[0] not in names:
            raise GoldError(f"expected exactly one of the labels {', '.join(names)}")
        return tuple(gold)

    def rules(self, card: "Card") -> list[Rule]:
        labels = {label.name for label in card.labels}
        wanted = f"Its labels are: {', '.join(label.name for label in card.labels)}"
        return [
            (lambda p, _: set(p) - labels, f"are not labels of this task: {{named}}. {wanted}"),
            (lambda p, _: not p, f"are “no answer”, which this task does not allow. {wanted}"),
            (
                lambda p, _: len(set(p)) > 1 and set(p) <= labels,
                f"are more than one label: {{named}}. {wanted}; an answer is exactly one of them",
            ),
        ]

    def fields(self, options: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
        return {"label": texts[0]}

    def at_random(self, known: Known, rng: random.Random) -> list[str]:
        return [rng.choice(known.card.labels).name]

    def mistaken(self, known: Known, rng: random.Random) -> list[str]:
        return another([label.name for label in known.card.labels], known.gold, rng)


def words_of(names: Sequence[str]) -> dict[str, str]:
    """Return the a card's default texts; they list the labels if there are only a few."""
    if len(names) > LISTED:
        return dict(Label.words)
    what = alternatives(names)
    described = {"description": f"Read a text and choose what fits it: {what}."}
    return {**Label.words, **described, "question": f"{what}?"}


def alternatives(names: Sequence[str]) -> str:
    """Join names: a; a or b; a, b or c."""
    return " or ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def defined(name: str, definition: str | None = None, example: str = NO_EXAMPLE) -> dict[str, str]:
    """Return a label for a card, with a generic definition if none is given."""
    if definition is None:
        definition = f"Choose this where “{name}” fits best."
    return {"name": name, "definition": definition, "example": example}
