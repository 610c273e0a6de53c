"""Nobody decides on the analysis, or on when to stop, with the scores before their eyes.

Excluding frees the seat for somebody else: whoever sees the score first can choose until it fits.
So the score of a person stays hidden until a decision on them, with its reason, is stored; whoever
asks for it before that can still decide, and the decision says that the score was seen.

A rehearsal decides nothing, so it hides nothing.

Where the design hides test scores nobody sees one of a person before the study is closed: no page
of one person, no table, file or export (optional stopping).
"""

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from annotation.models import (
    AuditEntry,
    Decision,
    Kind,
    Participation,
    ScoreShown,
    Status,
    Study,
    Topic,
)
from tasks.clock import database_now

_BY_HAND = Q(about=Decision.About.ANALYSIS, by__isnull=False)
UNTIL_CLOSED = (
    "The test scores of people are hidden until the study is closed, as its design says, so that no"
    " result decides when to stop."
)


class ScoresHidden(PermissionDenied):
    """What was asked for holds test scores of people in a study that hides them still."""

    def __init__(self, study: Study):
        super().__init__(UNTIL_CLOSED)
        self.study = study


def are_covered(study: Study) -> bool:
    """Are there people in the study whose test scores nobody may see yet?"""
    return study.covers_test_scores and study.participations.filter(kind=Kind.PERSON).exists()


def check_uncovered(study: Study) -> None:
    """Before anything that holds test scores of people. Raises ScoresHidden."""
    if are_covered(study):
        raise ScoresHidden(study)


def undecided(study: Study) -> set[int]:
    """Keys of the people about whose place in the analysis nobody has decided, or seen a score."""
    if study.rehearsal:
        return set()
    decided = Decision.objects.filter(_BY_HAND, participation=OuterRef("pk"))
    shown = ScoreShown.objects.filter(participation=OuterRef("pk"))
    people = study.participations.filter(~Exists(decided), ~Exists(shown), kind=Kind.PERSON)
    return set(people.order_by().values_list("pk", flat=True))


def hidden(study: Study) -> set[int]:
    """Keys of the people whose test scores are hidden."""
    if not study.covers_test_scores:
        return undecided(study)
    people = study.participations.filter(kind=Kind.PERSON)
    return set(people.order_by().values_list("pk", flat=True))


def is_undecided(participation: Participation) -> bool:
    """Is it a person about whom `undecided` holds?"""
    return (
        participation.kind == Kind.PERSON
        and not participation.study.rehearsal
        and not participation.decisions.filter(_BY_HAND).exists()
        and not ScoreShown.objects.filter(participation=participation).exists()
    )


def is_hidden(participation: Participation) -> bool:
    """Is the test score of this participation hidden?"""
    return is_covered(participation) or is_undecided(participation)


def is_covered(participation: Participation) -> bool:
    """Does the design hide the test score of this participation for now?"""
    return participation.kind == Kind.PERSON and participation.study.covers_test_scores


def is_seen(participation: Participation, by: User | None) -> bool | None:
    """What a decision on the analysis says of it: None where no person decides."""
    return None if by is None else not is_hidden(participation)


def hides_training(participation: Participation, is_undecided: bool) -> bool:
    """Are its training answers shown without their gold, too?

    Not of who waits for a decision after that step (or the screening): it is made by these.
    """
    return is_undecided and participation.status != Status.WAITING


def show(participation: Participation, by: User | None) -> None:
    """Show the score from now on; a second time changes nothing.

    Raises ScoresHidden where the design hides it until the study is closed.
    """
    check_uncovered(participation.study)
    with transaction.atomic():
        _row, is_new = ScoreShown.objects.get_or_create(
            participation=participation, defaults={"by": by, "at": database_now()}
        )
        if is_new:
            AuditEntry.objects.record(
                "had the score shown before a decision", Topic.PEOPLE, by=by,
                study=participation.study, about=participation.pseudonym,
            )  # fmt: skip
