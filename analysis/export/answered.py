"""Answers with their examples, for export to other tools.

As in answers.csv, workers appear under pseudonyms with their kind. Withdrawn participations,
attention checks, and upstream-step answers (which belong to other tasks) are excluded.
"""

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet

from annotation.models import ANALYSED, Answer, Participation, Status, Step, Study

STEPS = (Step.ANCHOR, Step.TRAINING, Step.SCREENING, Step.ANNOTATION)


class NothingAnswered(Exception):
    """Raised if a study has nothing to export. Users see the message."""


def participations(study: Study) -> QuerySet[Participation]:
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


def answers(participation: Participation) -> QuerySet[Answer]:
    stored = Answer.objects.filter(turn__participation=participation, turn__step__in=STEPS)
    return stored.select_related("turn__example").prefetch_related("spans").order_by("turn")


def metadata(participation: Participation) -> dict[str, Any]:
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
