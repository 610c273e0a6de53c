"""Three invented sentences for trying out the tool, so that training only has to teach the task.

They are shown before the first example, and are the same in all scenarios of a task. They are in
the interface language, and never contain the task's labels, questions or text. Nothing is stored or
scored, and the time counts as instruction time. Study.try_the_tool switches them on.
"""

from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils.translation import get_language, get_language_bidi, gettext

from annotation.models import Participation, Status, Step
from annotation.participation.question import Place, Question
from annotation.participation.reveal import reveal_page
from annotation.participation.turn import Progress, TurnPage
from annotation.web.wording import translated
from tasks.answers.choices import MADE_UP_LABELS
from tasks.cards import Card, Label
from tasks.clock import database_now
from tasks.comparison import compare_answer
from tasks.models import Example
from tasks.spans import GivenAnswer, Source
from tasks.tokens import CHAR, WORD, has_no_spaces


def is_offered(participation: Participation) -> bool:
    """Return whether to offer the try-out: before the first example, if the design includes it."""
    return (
        participation.study.try_the_tool
        and participation.status == Status.WORKING
        and not participation.turns.exists()
    )


def examples(card: Card) -> list[Example]:
    return [
        Example(
            context=[translated(made_up.text)],
            question=translated(made_up.question),
            gold=list(map(translated, made_up.gold)),
            options=list(map(translated, made_up.options)),
        )
        for made_up in card.kind.tries(card)
    ]


def page(participation: Participation, number: int) -> TurnPage | None:
    """Return the page for the sentence with this (1-based) number, or None after the last one."""
    scenario = participation.scenario
    sentences = examples(scenario.task.card)
    if not 1 <= number <= len(sentences):
        return None
    worked = participation.worked_before_first(database_now())
    return TurnPage(
        card=_card(scenario.task.card),
        example=sentences[number - 1],
        place=Place(Step.TRAINING, number, len(sentences), trying=True),
        key=f"try-{number}",
        answer_url=reverse("try_tool", args=[participation.token, number]),
        continue_url=reverse("try_tool", args=[participation.token, number + 1]),
        shows_examples=False,
        progress=Progress(worked=worked.total_seconds(), **scenario.promise),
    )


def worked(card: Card) -> dict[str, Any]:
    """Return the first invented example with its reveal, for participation/_example.html."""
    tool_card, example = _card(card), examples(card)[0]
    gold = tuple(example.gold)
    spans = tuple(
        next(Source(example.context).anywhere(text)) for text in gold * card.is_highlighted
    )
    label = gold[0] if card.labels else ""
    given = GivenAnswer(spans, label, False, () if spans or label else gold)
    reveal = reveal_page(tool_card, example, given, compare_answer(tool_card, example, given, gold))
    return {"card": tool_card, "question": Question(tool_card, example), "reveal": reveal}


def _card(card: Card) -> Card:
    """Return a card with the same control, but without any content of the task."""
    language = get_language() or settings.LANGUAGE_CODE
    texts = " ".join(example.context[0] for example in examples(card))
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
        labels=tuple(Label(*map(translated, texts)) for texts in MADE_UP_LABELS if card.labels),
    )
