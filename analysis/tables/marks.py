"""What every table of a study says of itself: parts of tests, programs in people's seats, choices
with results at hand.
"""

from django.db.models import Count, Exists, OuterRef, Sum

from annotation.models import (
    AddedSeats,
    Answer,
    Channel,
    Decision,
    Kind,
    ParticipationQuerySet,
    Status,
    Study,
)
from annotation.study import compared_files


def late_seats(study: Study) -> dict[tuple[str, int], int]:
    """(task, shots) -> seats added after results could be seen, where there are any."""
    added = AddedSeats.objects.filter(scenario__study=study, results_seen=True)
    return {
        (task, shots): number
        for task, shots, number in added.order_by("scenario__task__name", "scenario__shots")
        .values_list("scenario__task__name", "scenario__shots")
        .annotate(Sum("number"))
    }


def scenarios_were_chosen(study: Study) -> bool:
    """Did a study on Prolific lead its arrivals to some of the scenarios only?

    By what is stored of the studies there, whatever the design says: before there was a choice,
    each scenario had one of its own.
    """
    doors = study.prolific_studies.exclude(external_id=None).filter(part__lte=1)
    led = list(doors.annotate(led=Count("scenarios")).values_list("led", flat=True))
    return bool(led) and min(led) < study.scenarios.count()


def sentences(study: Study) -> list[str]:
    """Parts of tests, chosen scenarios, programs as people, late seats, scores seen."""
    marks = []
    parts = {task.name: task.test_part for task in study.tasks.with_reports().order_by("name")}
    told = [f"{name}, {part}" for name, part in parts.items() if part]
    if told:
        has_models = compared_files.files(study).exists()
        same = " Uploaded models are scored on the same examples." if has_models else ""
        marks.append(f"Not all of an imported test file: {'; '.join(told)}.{same}")
    if study.is_cross_task:
        marks.append(
            "A cross-task study: tables and figures by task and shots, with their n, show the"
            " direct arm alone, which had nothing before the task."
        )
    if scenarios_were_chosen(study):
        marks.append(
            "On Prolific participants chose their scenario: each was a study of its own there."
            " Differences between scenarios can be differences between the people who chose them."
        )
    if programs := programs_mark(study):
        marks.append(f"{programs} Sensitivity has the cells without them.")
    cells = [
        f"{number} in {task}, {shots} shots" for (task, shots), number in late_seats(study).items()
    ]
    if cells:
        marks.append(
            f"Seats added after results could be seen: {'; '.join(cells)}. Adding people until a"
            " result fits makes p values too small and intervals too narrow."
        )
    excluded = study.participations.filter(status=Status.COMPLETED, in_analysis=False)
    seen = Decision.objects.filter(
        participation__in=excluded, about=Decision.About.ANALYSIS, outcome=False, score_seen=True
    )
    people = seen.values("participation").distinct().count()
    if people:
        marks.append(
            f"Excluded by hand after the score could be seen: {people}. The table with those"
            " excluded stands beside this one."
        )
    return marks


# People for whom a program answered, by the API, where the design allows it. The mark is of the
# channel: a program that drives the pages cannot be told from a person (docs/protocol.md#programs).


def by_program(study: Study) -> ParticipationQuerySet:
    """The people of a study with at least one answer by the API, in whatever step.

    Where the design does not allow it the database stores none (annotation/guards.py), and no
    answer is read.
    """
    if not study.programs_as_people:
        return study.participations.none()
    answers = Answer.objects.filter(turn__participation=OuterRef("pk"), channel=Channel.API)
    return study.participations.filter(Exists(answers), kind=Kind.PERSON)


def people_by_program(study: Study) -> int:
    """How many people included in the analysis have at least one answer by the API."""
    return by_program(study).analysed().count()


def of_cells(study: Study) -> dict[tuple[str, int], int]:
    """(task, shots) -> how many of the people of that cell these are, where there are any."""
    people = by_program(study).analysed().in_cells().order_by()
    cells = people.values_list("scenario__task__name", "scenario__shots").annotate(Count("pk"))
    return {(task, shots): number for task, shots, number in cells}


def programs_mark(study: Study) -> str:
    """What every table and figure says where a program answered for people; "" elsewhere."""
    number = people_by_program(study)
    if not number:
        return ""
    people = study.participations.analysed().filter(kind=Kind.PERSON).count()
    return f"A program answered, by the API, for {number} of the {people} people in the analysis."
