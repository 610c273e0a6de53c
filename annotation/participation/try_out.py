"""Try the tool: three invented sentences, so that training teaches the task and not the widget.

They precede the first example and are the same in all of a task's scenarios. They never contain its
labels, questions or text, and are in the interface language. Nothing is stored or scored; the time
counts towards the instructions. The design switches them on (Study.try_the_tool).
"""

from dataclasses import dataclass, replace

from django.conf import settings
from django.urls import reverse
from django.utils.translation import get_language, get_language_bidi, gettext

from annotation.models import Participation, Status, Step
from annotation.participation.progress import Place, Progress
from annotation.participation.turn import TurnPage
from tasks.answer_keys import LABEL, LONG_TEXT, NUMBER, OPTION, OPTIONS, SHORT_TEXT
from tasks.cards import Card, Label
from tasks.clock import database_now
from tasks.models import Example
from tasks.tokens import CHAR, WORD, has_no_spaces


@dataclass(frozen=True)
class MadeUp:
    """One invented example, in the page's language; the question says what to do."""

    text: str
    question: str
    gold: tuple[str, ...]
    options: tuple[str, ...] = ()


def _spans() -> tuple[MadeUp, ...]:
    """Return the sentences for highlighting; translations contain the words to highlight."""
    bicycle, company = gettext("red bicycle"), gettext("Brown & Sons Ltd.")
    kettle = gettext("kettle")
    return (
        MadeUp(
            # Translators: of the made-up sentences with %(words)s, translate those words as they
            # stand in the sentence.
            gettext("The %(words)s stood by the door.") % {"words": bicycle},
            gettext("Highlight the words “%(words)s”.") % {"words": bicycle},
            (bicycle,),
        ),
        MadeUp(
            gettext("She works for %(words)s in the morning.") % {"words": company},
            gettext("Highlight the name “%(words)s”, including the full stop.")
            % {"words": company},
            (company,),
        ),
        MadeUp(
            gettext("The %(words)s was on all evening.") % {"words": kettle},
            gettext("Highlight the word “%(words)s”.") % {"words": kettle},
            (kettle,),
        ),
    )


def _nothing() -> MadeUp:
    """Return the last sentence for tasks that allow "no answer"."""
    return MadeUp(
        gettext("It rained all night."),
        gettext("Highlight every colour. This sentence has none, so choose “No answer”."),
        (),
    )


def _labels() -> tuple[MadeUp, ...]:
    animal, vehicle = (choice.name for choice in _choices())
    asked = gettext("What is the sentence about?")
    return (
        MadeUp(
            gettext("The cat slept on the sofa."),
            gettext("What is the sentence about? Choose “%(label)s”.") % {"label": animal},
            (animal,),
        ),
        MadeUp(gettext("Two lorries waited at the gate."), asked, (vehicle,)),
        MadeUp(gettext("A horse drank from the river."), asked, (animal,)),
    )


def _choices() -> tuple[Label, Label]:
    return (
        Label(
            gettext("animal"),
            gettext("The sentence is about an animal."),
            gettext("A dog barked."),
        ),
        Label(
            gettext("vehicle"),
            gettext("The sentence is about a vehicle."),
            gettext("The bus was late."),
        ),
    )


def _several() -> tuple[MadeUp, ...]:
    cat, table = gettext("cat"), gettext("table")
    things = (cat, table, gettext("river"))
    asked = gettext("Which of these are mentioned?")
    return (
        MadeUp(
            gettext("The cat slept under the table."),
            gettext("Which of these are mentioned? Choose “%(first)s” and “%(second)s”.")
            % {"first": cat, "second": table},
            (cat, table),
            things,
        ),
        MadeUp(gettext("The table was set for two."), asked, (table,), things),
        MadeUp(gettext("The cat looked at the empty table."), asked, (cat, table), things),
    )


def _numbers() -> tuple[MadeUp, ...]:
    return (
        MadeUp(
            gettext("There are 3 cups on the table."),
            gettext("How many cups are there? Enter “3”."),
            ("3",),
        ),
        MadeUp(
            gettext("The walk is 2.5 miles long."), gettext("How many miles long is it?"), ("2.5",)
        ),
        MadeUp(
            gettext("He waited for 10 minutes."), gettext("How many minutes did he wait?"), ("10",)
        ),
    )


def _texts() -> tuple[MadeUp, ...]:
    kettle = gettext("kettle")
    return (
        MadeUp(
            gettext("The %(words)s was on all evening.") % {"words": kettle},
            gettext("What was on? Type “%(words)s”.") % {"words": kettle},
            (kettle,),
        ),
        MadeUp(
            gettext("Two lorries waited at the gate."),
            gettext("Type the word “%(words)s”.") % {"words": gettext("gate")},
            (gettext("gate"),),
        ),
        MadeUp(
            gettext("A horse drank from the river."),
            gettext("Type the word “%(words)s”.") % {"words": gettext("river")},
            (gettext("river"),),
        ),
    )


def _options() -> tuple[MadeUp, ...]:
    names = tuple(choice.name for choice in _choices())
    return tuple(replace(made_up, options=names) for made_up in _labels())


BY_KIND = {
    LABEL: _labels,
    OPTION: _options,
    OPTIONS: _several,
    NUMBER: _numbers,
    SHORT_TEXT: _texts,
    LONG_TEXT: _texts,
}


def is_offered(participation: Participation) -> bool:
    """Is it offered, which is before the first example if the design switches it on?"""
    return (
        participation.study.try_the_tool
        and participation.status == Status.WORKING
        and not participation.turns.exists()
    )


def sentences(card: Card) -> tuple[MadeUp, ...]:
    """Return the three sentences for that kind of answer."""
    if not card.is_highlighted:
        return BY_KIND[card.answered_by]()
    return (*_spans()[:2], _nothing()) if card.no_answer else _spans()


def page(participation: Participation, number: int) -> TurnPage | None:
    """Return that sentence's page, counted from 1, or None after the last one."""
    scenario = participation.scenario
    shown = sentences(scenario.task.card)
    if not 1 <= number <= len(shown):
        return None
    sentence, worked = shown[number - 1], participation.worked_before_first(database_now())
    return TurnPage(
        card=_card(scenario.task.card),
        example=Example(
            context=[sentence.text],
            question=sentence.question,
            gold=list(sentence.gold),
            options=list(sentence.options),
        ),
        place=Place(Step.TRAINING, number, len(shown), trying=True),
        key=f"try-{number}",
        answer_url=reverse("try_tool", args=[participation.token, number]),
        continue_url=reverse("try_tool", args=[participation.token, number + 1]),
        shows_examples=False,
        progress=Progress(worked=worked.total_seconds(), **scenario.promise),
    )


def _card(card: Card) -> Card:
    """Return a card with the same widget, without the task's content."""
    language = get_language() or settings.LANGUAGE_CODE
    texts = " ".join(made_up.text for made_up in sentences(card))
    return Card(
        name="try-the-tool",
        title=gettext("Try the tool"),
        family=card.family,
        description=gettext("Practise with three made-up sentences. Nothing is saved."),
        instructions=gettext(
            "Do what each question says. Then submit your answer. The page shows whether it is"
            " right."
        ),
        submit_hint="",
        segments=(gettext("Sentence"),),
        no_answer=card.no_answer and card.is_highlighted,
        gold_rule="set",
        language=language,
        direction="rtl" if get_language_bidi() else "ltr",
        source="made up",
        licence="CC0",
        max_spans=card.max_spans,
        granularity=CHAR if has_no_spaces(texts) else WORD,
        answer=card.answer,
        typed=card.typed,
        labels=_choices() if card.labels else (),
    )
