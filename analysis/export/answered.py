"""Answers with their examples, for export to other tools.

As in answers.csv, annotators appear under pseudonyms, together with their kind. Only answers to
test examples are exported, and none by annotators who withdrew.
"""

from collections.abc import Iterator
from typing import Any

from annotation.models import ANALYSED, Answer, Participation, Status, Step, Study


class NothingAnswered(Exception):
    """Raised if a study has nothing to export. The message is shown to users."""


def tested(study: Study) -> Iterator[tuple[Participation, list[Answer]]]:
    """Yield annotators with their answers to test examples, or raise NothingAnswered if empty."""
    people = study.participations.exclude(status=Status.WITHDRAWN)
    people = people.filter(turns__answer__isnull=False, turns__step=Step.ANNOTATION).distinct()
    people = people.annotate(analysed=ANALYSED).select_related("scenario__task")
    people = people.order_by(
        "scenario__task__name", "scenario__shots", "scenario__split_number", "scenario__arm",
        "pseudonym",
    )  # fmt: skip
    if not people.exists():
        raise NothingAnswered("There are no answers to test examples yet.")
    for participation in people.iterator(chunk_size=500):
        own = Answer.objects.filter(turn__participation=participation, turn__step=Step.ANNOTATION)
        rows = own.select_related("turn__example").prefetch_related("spans").order_by("turn")
        yield participation, list(rows)


def metadata(participation: Participation) -> dict[str, Any]:
    """Return data on an annotator and the scenario. The keys are columns of annotators.csv."""
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
    """Return the task, shots and split as in prediction file names: MNLI@1_10_3 or MNLI@1_0."""
    scenario = participation.scenario
    number = f"_{scenario.split_number}" if scenario.shots else ""
    return f"{scenario.task.name}@{scenario.task.version}_{scenario.shots}{number}"
