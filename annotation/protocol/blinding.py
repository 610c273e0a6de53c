"""Decisions on the analysis and on stopping are made without knowing the scores.

Excluding an annotator frees the seat for someone else: users who see scores first could repeat this
until the result fits. So a person's score stays hidden until a decision on them, with its reason,
is stored. A user who looks at the score first can still decide, but the decision records this.

Rehearsals have no such decisions, so they hide nothing.

Where the design hides test scores, those of human annotators stay hidden until the study is closed,
on annotators' pages and in tables, files and exports (optional stopping).
"""

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.http import HttpRequest

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
from annotation.web.access import study_of
from tasks.clock import database_now

_BY_HAND = Q(about=Decision.About.ANALYSIS, by__isnull=False)
UNTIL_CLOSED = (
    "Human test scores are hidden until the study is closed, as its design specifies, so that"
    " results cannot influence when to stop."
)


class ScoresHidden(PermissionDenied):
    """The requested data contain human test scores that the study still hides."""

    def __init__(self, study: Study):
        super().__init__(UNTIL_CLOSED)
        self.study = study


def are_covered(study: Study) -> bool:
    """Does the study have human annotators whose test scores are still hidden?"""
    return study.covers_test_scores and study.participations.filter(kind=Kind.PERSON).exists()


def check_uncovered(study: Study) -> None:
    """Raise ScoresHidden while human test scores are hidden; call it before using them."""
    if are_covered(study):
        raise ScoresHidden(study)


def undecided(study: Study) -> set[int]:
    """Return the keys of humans with no manual decision on the analysis and no score shown."""
    if study.rehearsal:
        return set()
    decided = Decision.objects.filter(_BY_HAND, participation=OuterRef("pk"))
    shown = ScoreShown.objects.filter(participation=OuterRef("pk"))
    people = study.participations.filter(~Exists(decided), ~Exists(shown), kind=Kind.PERSON)
    return set(people.order_by().values_list("pk", flat=True))


def hidden(study: Study) -> set[int]:
    """Return the keys of human annotators whose test scores are hidden."""
    if not study.covers_test_scores:
        return undecided(study)
    people = study.participations.filter(kind=Kind.PERSON)
    return set(people.order_by().values_list("pk", flat=True))


def is_undecided(participation: Participation) -> bool:
    """Is it a human annotator's, and in `undecided`?"""
    return (
        participation.kind == Kind.PERSON
        and not participation.study.rehearsal
        and not participation.decisions.filter(_BY_HAND).exists()
        and not ScoreShown.objects.filter(participation=participation).exists()
    )


def is_hidden(participation: Participation) -> bool:
    """Is this participation's test score hidden?"""
    return is_covered(participation) or is_undecided(participation)


def is_covered(participation: Participation) -> bool:
    """Does the design hide this participation's test score for now?"""
    return participation.kind == Kind.PERSON and participation.study.covers_test_scores


def is_seen(participation: Participation, by: User | None) -> bool | None:
    """Return whether the score was visible to a decision on the analysis; None if automatic."""
    return None if by is None else not is_hidden(participation)


def hides_training(participation: Participation, is_undecided: bool) -> bool:
    """Are its training answers shown without gold too?

    They are not while a participation waits after that step (or screening) for a decision.
    """
    return is_undecided and participation.status != Status.WAITING


def show(participation: Participation, by: User | None) -> None:
    """Show the score from now on; repeating changes nothing.

    Raises ScoresHidden if the design hides it until the study is closed.
    """
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
    """Return the study if the user may read results and human test scores are not hidden.

    Every page, file and API response with results uses it. Raises ScoresHidden.
    """
    study = study_of(request, name, right)
    check_uncovered(study)
    return study
