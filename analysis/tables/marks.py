"""What every table of a study says of itself: parts of tests, programs in people's seats, choices
with results at hand.
"""

from django.db.models import Count, Sum

from analysis.tables import channels
from annotation.models import AddedSeats, Decision, Status, Study
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
    if programs := channels.mark(study):
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
