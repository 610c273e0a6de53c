"""Hiding scores, so that they can't influence decisions about the analysis or when to stop.

Excluding an annotator frees the seat for someone else. A user who saw scores first could repeat
this until the result is as desired. Therefore, a human annotator's score stays hidden until a
decision about them is stored with a reason. A user may look at the score first, but this is
recorded with the decision. Rehearsals involve no such decisions, so nothing is hidden in them.

If the design hides test scores, human annotators' scores stay hidden until the study is closed, on
annotators' pages and in tables, files and exports, to prevent optional stopping.
"""

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.http import HttpRequest

from annotation.models import (
    AuditEntry,
    Decision,
    Kind,
    Participation,
    ParticipationQuerySet,
    ScoreShown,
    Status,
    Study,
    Topic,
)
from annotation.web.access import study_of
from tasks.clock import database_now

UNTIL_CLOSED = (
    "Human test scores are hidden until the study is closed, as its design specifies, so that"
    " results can't influence the decision to stop."
)


class ScoresHidden(PermissionDenied):
    def __init__(self, study: Study):
        super().__init__(UNTIL_CLOSED)
        self.study = study


def are_covered(study: Study) -> bool:
    return study.covers_test_scores and study.participations.filter(kind=Kind.PERSON).exists()


def check_uncovered(study: Study) -> None:
    """Raise ScoresHidden if human test scores are hidden. Call this before using any."""
    if are_covered(study):
        raise ScoresHidden(study)


def _undecided(study: Study) -> ParticipationQuerySet:
    """Return human participations with neither a manual decision nor a shown score."""
    if study.rehearsal:
        return study.participations.none()
    decided = Decision.objects.filter(
        participation=OuterRef("pk"), about=Decision.About.ANALYSIS, by__isnull=False
    )
    score_shown = ScoreShown.objects.filter(participation=OuterRef("pk"))
    return study.participations.filter(~Exists(decided), ~Exists(score_shown), kind=Kind.PERSON)


def undecided(study: Study) -> set[int]:
    return set(_undecided(study).order_by().values_list("pk", flat=True))


def hidden(study: Study) -> set[int]:
    """Return the keys of human participations whose test scores are hidden."""
    if not study.covers_test_scores:
        return undecided(study)
    people = study.participations.filter(kind=Kind.PERSON)
    return set(people.order_by().values_list("pk", flat=True))


def is_undecided(participation: Participation) -> bool:
    return _undecided(participation.study).filter(pk=participation.pk).exists()


def is_hidden(participation: Participation) -> bool:
    return is_covered(participation) or is_undecided(participation)


def is_covered(participation: Participation) -> bool:
    return participation.kind == Kind.PERSON and participation.study.covers_test_scores


def is_seen(participation: Participation, by: User | None) -> bool | None:
    """Return whether the score was visible for a decision on the analysis. None if automatic."""
    return None if by is None else not is_hidden(participation)


def hides_training(participation: Participation, is_undecided: bool) -> bool:
    """Return whether training gold is hidden, too. It is visible while a decision is pending."""
    return is_undecided and participation.status != Status.WAITING


def show(participation: Participation, by: User | None) -> None:
    """Show the score from now on. Raises ScoresHidden if it is hidden until the study closes."""
    check_uncovered(participation.study)
    with transaction.atomic():
        _row, is_new = ScoreShown.objects.get_or_create(
            participation=participation, defaults={"by": by, "at": database_now()}
        )
        if is_new:
            AuditEntry.objects.record(
                "viewed the score before a decision", Topic.PEOPLE, by=by,
                study=participation.study, about=participation.pseudonym,
            )  # fmt: skip


def scores_of(request: HttpRequest, name: str, right: str = "read") -> Study:
    """Return the study for pages, files and API views with results. Raises ScoresHidden."""
    study = study_of(request, name, right)
    check_uncovered(study)
    return study
