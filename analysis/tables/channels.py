"""People for whom a program answered, by the API, where the design allows it.

The mark is of the channel: a program that drives the pages cannot be told from a person
(docs/protocol.md#programs).
"""

from django.db.models import Count, Exists, OuterRef

from annotation.models import Answer, Channel, Kind, ParticipationQuerySet, Study


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


def mark(study: Study) -> str:
    """What every table and figure says where a program answered for people; "" elsewhere."""
    number = people_by_program(study)
    if not number:
        return ""
    people = study.participations.analysed().filter(kind=Kind.PERSON).count()
    return f"A program answered, by the API, for {number} of the {people} people in the analysis."
