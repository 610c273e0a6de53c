"""Answers with their examples, for export to Inspect, lm-evaluation-harness and other tools.

As in answers.csv, workers appear under pseudonyms with their kind. Withdrawn participations,
attention checks, and upstream-step answers (which belong to other tasks) are excluded.
"""

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.db.models import QuerySet

from annotation.models import ANALYSED, Answer, Participation, Status, Step, Study
from tasks.cards import Card
from tasks.spans import QUESTION

STEPS = (Step.ANCHOR, Step.TRAINING, Step.SCREENING, Step.ANNOTATION)
ANY_ANSWER = "answer"  # span name if the card has no question types
BETWEEN = "\n\n"  # separates texts in tools that show an example as one text


class NothingAnswered(Exception):
    """Raised if a study has nothing to export. Users see the message."""


class Place(NamedTuple):
    """A span in the joined texts, with offsets in code points. `name` is the question type."""

    start: int
    end: int
    name: str
    text: str


def participations(study: Study) -> QuerySet[Participation]:
    """Return non-withdrawn participations that have answers, with `analysed`, in a fixed order."""
    people = study.participations.exclude(status=Status.WITHDRAWN)
    people = people.filter(turns__answer__isnull=False, turns__step__in=STEPS).distinct()
    people = people.annotate(analysed=ANALYSED).select_related("scenario__task")
    return people.order_by(
        "scenario__task__name", "scenario__shots", "scenario__split_number", "scenario__arm",
        "pseudonym",
    )  # fmt: skip


def tested(study: Study) -> Iterator[tuple[Participation, list[Answer]]]:
    """Yield participations with their answers to test examples. Raises NothingAnswered."""
    is_empty = True
    for participation in participations(study).iterator(chunk_size=500):
        rows = [row for row in answers(participation) if row.turn.step == Step.ANNOTATION]
        if rows:
            is_empty = False
            yield participation, rows
    if is_empty:
        raise NothingAnswered("There are no answers to test examples yet.")


def by_task(study: Study) -> Iterator[tuple[Card, Iterator[tuple[Participation, list[Answer]]]]]:
    """Group the output from `tested` by task. Raises NothingAnswered."""
    groups = itertools.groupby(tested(study), key=lambda row: row[0].scenario.task)
    return ((task.card, people) for task, people in groups)


def answers(participation: Participation) -> QuerySet[Answer]:
    """Return a participation's answers in order of submission."""
    stored = Answer.objects.filter(turn__participation=participation, turn__step__in=STEPS)
    return stored.select_related("turn__example").prefetch_related("spans").order_by("turn")


def about(participation: Participation) -> dict[str, Any]:
    """Return the participation and its scenario, keyed by the columns of annotators.csv."""
    study, scenario = participation.study, participation.scenario
    return {
        "study": study.name,
        "manifest": study.manifest_hash,
        "task": scenario.task.name,
        "task_version": scenario.task.version,
        "shots": scenario.shots,
        "split": scenario.split_number,
        "arm": scenario.arm,
        "annotator": participation.pseudonym,
        "kind": participation.kind,
        "status": participation.status,
        "in_analysis": bool(participation.analysed),  # type: ignore[attr-defined]  # annotated
    }


def place_name(participation: Participation) -> str:
    """Return the place as in prediction file names, for example MNLI@1_10_3 or MNLI@1_0."""
    scenario = participation.scenario
    number = f"_{scenario.split_number}" if scenario.shots else ""
    return f"{scenario.task.name}@{scenario.task.version}_{scenario.shots}{number}"


def joined(card: Card, answer: Answer) -> tuple[str, list[Place]]:
    """Return the example's texts as one string, with the spans and their offsets in it.

    The question comes first if it can be highlighted. This never fails: stored spans have valid
    offsets, and they are only shifted here.
    """
    example = answer.turn.example
    question = card.selectable_question(example.question)
    texts = {} if question is None else {QUESTION: question}
    texts |= dict(enumerate(example.context))
    starts, at = {}, 0
    for number, text in texts.items():
        starts[number] = at
        at += len(text) + len(BETWEEN)
    name = card.question_type(example.question) or ANY_ANSWER
    places = [
        Place(starts[span.segment] + span.start, starts[span.segment] + span.end, name, span.text)
        for span in answer.as_given().spans
    ]
    return BETWEEN.join(texts.values()), places


def beside(answer: Answer) -> list[str]:
    """Return an answer without spans as strings: a label, options, a number or typed text."""
    given = answer.as_given()
    return [given.label] if given.label else list(given.values)
