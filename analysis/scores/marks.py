"""Remarks on all tables of a study: partial tests, answers by programs, late choices."""

from django.db.models import Count, Exists, OuterRef, Sum

from analysis.scores.markup import rendered, texts
from annotation import models
from annotation.models import AddedSeats, Answer, Channel, Decision, Kind, Status, Study
from annotation.study import compared_files, cross_task
from tasks.columns import shots_text
from tasks.models.predictions import Tuning


def late_seats(study: Study) -> dict[tuple[str, int], int]:
    added = AddedSeats.objects.filter(scenario__study=study, results_seen=True)
    return {
        (task, shots): number
        for task, shots, number in added.order_by("scenario__task__name", "scenario__shots")
        .values_list("scenario__task__name", "scenario__shots")
        .annotate(Sum("number"))
    }


def scenarios_were_chosen(study: Study) -> bool:
    """Return whether participants on Prolific were offered only some of the scenarios.

    This reads the stored Prolific studies rather than the design because, in earlier versions, each
    scenario had its own Prolific study.
    """
    studies = study.prolific_studies.exclude(external_id=None).filter(part__lte=1)
    led = list(studies.annotate(led=Count("scenarios")).values_list("led", flat=True))
    return bool(led) and min(led) < study.scenarios.count()


def sentences(study: Study) -> list[str]:
    """Return those remarks from templates/documents/marks.txt that apply to the study."""
    parts = {task.name: task.test_part for task in study.tasks.with_reports().order_by("name")}
    runs = compared_files.files(study) | compared_files.supervised(study)
    tuned = runs.filter(tuning=Tuning.HELD_OUT).order_by().values_list("model__name", flat=True)
    programs = programs_mark(study)
    excluded = study.participations.filter(status=Status.COMPLETED, in_analysis=False)
    decisions = Decision.objects.filter(
        participation__in=excluded, about=Decision.About.ANALYSIS, outcome=False, score_seen=True
    )
    values = {
        "study": study,
        "parts": "; ".join(f"{name}, {part}" for name, part in parts.items() if part),
        "has_models": compared_files.files(study).exists,
        "tuned": "; ".join(sorted(set(tuned))),
        "left_out": study.is_cross_task and cross_task.left_out(study),
        "scenarios_were_chosen": scenarios_were_chosen(study),
        "programs": programs,
        "has_cells": programs and program_counts(study),
        "late_seats": "; ".join(
            f"{number} in {task}, {shots_text(shots)}"
            for (task, shots), number in late_seats(study).items()
        ),
        "seen": decisions.values("participation").distinct().count(),
    }
    return texts(rendered("marks", values))


# Human annotators for whom a program answered through the API, if the design allows it. The remark
# concerns the channel: a program that uses the pages looks human (docs/protocol.md#programs).


def by_program(study: Study) -> models.ParticipationQuerySet:
    if not study.programs_as_people:
        return study.participations.none()
    answers = Answer.objects.filter(turn__participation=OuterRef("pk"), channel=Channel.API)
    return study.participations.filter(Exists(answers), kind=Kind.PERSON)


def program_counts(study: Study) -> dict[tuple[str, int], int]:
    """Count annotators with answers sent through the API by (task, shots), omitting empty cells."""
    people = by_program(study).analysed().in_cells().order_by()
    cells = people.values_list("scenario__task__name", "scenario__shots").annotate(Count("pk"))
    return {(task, shots): number for task, shots, number in cells}


def programs_mark(study: Study) -> str:
    """Return the remark about programs that answered for humans, or "". It counts people once."""
    number = by_program(study).analysed().values("worker").distinct().count()
    if not number:
        return ""
    humans = study.participations.analysed().filter(kind=Kind.PERSON)
    people = humans.values("worker").distinct().count()
    return f"Programs answered through the API for {number} of {people} humans in the analysis."
