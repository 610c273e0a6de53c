"""Nobody decides on the analysis with the score before their eyes.

Excluding frees the seat for somebody else: whoever sees the score first can choose until it fits.
So the score of a person stays hidden until a decision on them, with its reason, is stored; whoever
asks for it before that can still decide, and the decision says that the score was seen.
"""

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q

from annotation.models import Decision, Kind, Participation, ScoreShown, Status, Study
from tasks.clock import database_now

_BY_HAND = Q(about=Decision.About.ANALYSIS, by__isnull=False)


def hidden(study: Study) -> set[int]:
    """Keys of the people whose scores are hidden."""
    decided = Decision.objects.filter(_BY_HAND, participation=OuterRef("pk"))
    shown = ScoreShown.objects.filter(participation=OuterRef("pk"))
    people = study.participations.filter(~Exists(decided), ~Exists(shown), kind=Kind.PERSON)
    return set(people.order_by().values_list("pk", flat=True))


def is_hidden(participation: Participation) -> bool:
    """Is the score of this participation hidden?"""
    return (
        participation.kind == Kind.PERSON
        and not participation.decisions.filter(_BY_HAND).exists()
        and not ScoreShown.objects.filter(participation=participation).exists()
    )


def hides_training(participation: Participation) -> bool:
    """Are its training answers shown without their gold, too?

    Not of who waits for a decision after that step (or the screening): it is made by these.
    """
    return participation.status != Status.WAITING


def show(participation: Participation, by: User | None) -> None:
    """Show the score from now on; a second time changes nothing."""
    ScoreShown.objects.get_or_create(
        participation=participation, defaults={"by": by, "at": database_now()}
    )
