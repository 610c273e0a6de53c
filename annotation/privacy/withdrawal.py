"""Withdrawal: erase the answers, free the seat, and leave a tombstone with the counts.

Only this module deletes answers (docs/protocol.md#invariants): the database guards permit it only
if the participation has a tombstone. Scores in reasons for decisions and in job results are deleted
too. A keyed hash records that this worker has seen the task, so that they never get an example
twice. Earnings and decisions are also kept.
"""

from collections.abc import Collection
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Sum

from annotation.models import (
    ORDERS,
    Answer,
    AnswerSpan,
    AuditEntry,
    ExitAnswers,
    ModelRun,
    OwnAnswer,
    Participation,
    Status,
    Study,
    Tombstone,
    Topic,
)
from annotation.pay import budget, ledger
from annotation.protocol.qualification import NotConfirmed, for_each
from annotation.recruitment import seats
from tasks import jobs
from tasks.clock import database_now
from tasks.models import Job

REASON = "withdrawn"  # replaces all reasons given about a participation


def withdraw(token: str) -> Participation:
    """Erase a participation's answers. Idempotent. Raises Participation.DoesNotExist."""
    with transaction.atomic():
        participation = Participation.objects.lock(token)
        if participation.status == Status.WITHDRAWN:
            return participation
        # Earnings are kept, but they could no longer be computed without the answers.
        worked = ledger.active_time(participation).total_seconds()
        now = database_now()
        _erase_answers(participation, now)
        # Some of the reasons written about the participation contain scores.
        participation.decisions.update(reason=REASON)
        action = seats.freed(participation)
        entries = participation.study.events.filter(what__startswith=action)
        entries.update(what=f"{action}{REASON}")
        participation.store(
            status=Status.WITHDRAWN, seat_number=None, in_analysis=False, worked_seconds=worked,
            finished_at=participation.finished_at or now,
            activity_summary=None, qualified=None, comprehension_attempts_used=0,
            browser="",  # it would link this participation to others in the same browser
            **{order: [] for order in ("upstream_order", *ORDERS)},
        )  # fmt: skip
        # Find all jobs whose files or results include the answers: a release bundle contains the
        # whole study, and the `cells` of an analysis job list its participations.
        job_ids = [
            job.pk
            for job in Job.objects.filter(parameters__study=participation.study_id).defer("result")
            if job.kind == "release"
            or any(participation.pk in people for *_, people in job.parameters.get("cells", ()))
        ]
        jobs.drop(Job.objects.filter(pk__in=job_ids))
        seats.note_outcome(participation, "withdrawn")
        ledger.settle(participation)
        budget.watch(participation.study_id)
        return participation


def withdraw_on_request(participation: Participation, reason: str, by: User) -> None:
    """Withdraw a participant who asked the researchers to do so. The reason is logged.

    The answers are erased as if the participant had withdrawn on the page. Raises ValueError if
    they have already withdrawn.
    """
    with transaction.atomic():
        if Participation.objects.lock(participation.token).status == Status.WITHDRAWN:
            raise ValueError("This participant has already been withdrawn.")
        study = withdraw(participation.token).study
        AuditEntry.objects.record(
            "withdrawn on request", Topic.PEOPLE, study=study, about=participation.pseudonym,
            by=by, after={"reason": reason},
        )  # fmt: skip


def withdraw_in_bulk(
    study: Study, pseudonyms: Collection[str], reason: str, by: User, confirmed: str
) -> None:
    """Withdraw either all of these participants or none. Raises CannotDecide or NotConfirmed."""
    people = study.participations.filter(pseudonym__in=pseudonyms)
    answers = Answer.objects.filter(turn__participation__in=people).count()
    cents = people.aggregate(total=Sum("ledger__cents", default=0))["total"]
    consequence = (
        f"Annotators who asked for this: {len(set(pseudonyms))}. Answers to erase permanently:"
        f" {answers}. Earnings that they keep: {ledger.in_currency(cents)} {study.currency} so far."
    )
    NotConfirmed.check(consequence, confirmed)
    for_each(study, pseudonyms, lambda one: withdraw_on_request(one, reason, by), ValueError)


def _erase_answers(participation: Participation, now: datetime) -> None:
    """Delete turns and answers. The guards require the tombstone to exist first."""
    turns = participation.turns.all()
    Tombstone.objects.create(participation=participation, turns_erased=turns.count(), erased_at=now)
    AnswerSpan.objects.filter(answer__turn__participation=participation).delete()
    Answer.objects.filter(turn__participation=participation).delete()
    turns.delete()
    ExitAnswers.objects.filter(participation=participation).delete()
    OwnAnswer.objects.filter(participation=participation).delete()
    ModelRun.objects.filter(participation=participation).delete()
