"""Try the tool: three made-up sentences, so that training teaches the task and not the widget.

They stand before the first example, the same in all scenarios of a task, whatever it asks: never
its labels, questions or texts. Nothing is stored, so nothing is scored; the time counts as time at
the instructions. Whether they are offered is declared in the design (Study.try_the_tool).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.urls import reverse

from annotation.models import Participation, Status, Step
from annotation.pages.worker.turn import TurnPage, reveal_page
from annotation.steps.answering import read_answer
from tasks.cards import Card, Label
from tasks.clock import database_now
from tasks.comparison import compare
from tasks.models import Example


@dataclass(frozen=True)
class Sentence:
    """One made-up example: what to do stands in the question."""

    text: str
    question: str
    gold: tuple[str, ...]


SPANS = (
    Sentence(
        "The red bicycle stood by the door.", "Mark the words “red bicycle”.", ("red bicycle",)
    ),
    Sentence(
        "She works for Brown & Sons Ltd. in the morning.",
        "Mark the name “Brown & Sons Ltd.”, with its full stop.",
        ("Brown & Sons Ltd.",),
    ),
    Sentence("The kettle was on all evening.", "Mark the word “kettle”.", ("kettle",)),
)
# In place of the last one, where a task knows "no answer".
NOTHING = Sentence(
    "It rained all night.", "Mark every colour. Here is none: choose “No answer”.", ()
)
LABELS = (
    Sentence(
        "The cat slept on the sofa.", "What is the sentence about? Choose “animal”.", ("animal",)
    ),
    Sentence("Two lorries waited at the gate.", "What is the sentence about?", ("vehicle",)),
    Sentence("A horse drank from the river.", "What is the sentence about?", ("animal",)),
)
CHOICES = (
    Label("animal", "The sentence is about an animal.", "A dog barked."),
    Label("vehicle", "The sentence is about a vehicle.", "The bus was late."),
)


def is_offered(participation: Participation) -> bool:
    """Only before the first example, and where the design says so."""
    return (
        participation.study.try_the_tool
        and participation.status == Status.WORKING
        and not participation.turns.exists()
    )


def sentences(card: Card) -> tuple[Sentence, ...]:
    """The three of that kind of answer."""
    if card.labels:
        return LABELS
    return (*SPANS[:2], NOTHING) if card.no_answer else SPANS


def page(participation: Participation, number: int) -> TurnPage | None:
    """The page of that sentence, counted from 1; None behind the last one."""
    scenario = participation.scenario
    shown = sentences(scenario.task.card)
    if not 1 <= number <= len(shown):
        return None
    sentence = shown[number - 1]
    rate, currency, max_hours = scenario.promise
    return TurnPage(
        card=_card(scenario.task.card),
        example=Example(
            context=[sentence.text], question=sentence.question, gold=list(sentence.gold)
        ),
        step=Step.TRAINING,
        trying=True,
        number=number,
        total=len(shown),
        key=f"try-{number}",
        answer_url=reverse("try_tool", args=[participation.token, number]),
        continue_url=reverse("try_tool", args=[participation.token, number + 1]),
        shows_examples=False,
        worked_seconds=int(participation.worked_before_first(database_now()).total_seconds()),
        hourly_rate=rate,
        currency=currency,
        max_paid_seconds=None if max_hours is None else int(max_hours * 3600),
    )


def answered(shown: TurnPage, fields: Mapping[str, str]) -> TurnPage:
    """The same page with its reveal. Raises spans.AnswerError. Nothing is stored."""
    card, example = shown.card, shown.example
    given = read_answer(example, card, fields)
    comparison = compare(given, example.gold, card.gold_rule, example.context)
    return replace(shown, reveal=reveal_page(card, example, given, comparison))


def _card(card: Card) -> Card:
    """A card with the same widget, and nothing of what the task asks."""
    return Card(
        name="try-the-tool",
        title="Try the tool",
        family=card.family,
        description="Three made-up sentences, to try how answers are given. Nothing is stored.",
        instructions="Do what each question says. Then submit, and see whether it was right.",
        submit_hint="",
        segments=("Sentence",),
        no_answer=card.no_answer,
        gold_rule="set",
        language="en",
        direction="ltr",
        source="made up",
        licence="CC0",
        max_spans=card.max_spans,
        labels=CHOICES if card.labels else (),
    )
