"""Deleting a study, including its answers and identities. A tombstone records the counts.

Answers are erased as in a withdrawal, one participation at a time (withdrawal.py), because the
database guards allow nothing else. This includes participations without any answers, because
reasons may have been written about them. REMAINING lists what is kept: insert-only rows without
answers (the ledger, the audit log, comments), and accounting data. Afterwards, the study is no
longer accessible (StudyQuerySet.visible_to).
"""

from datetime import date

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, F, Sum, Value
from django.db.models.functions import Concat

from annotation.models import (
    LIVE,
    Answer,
    AuditEntry,
    Decision,
    LedgerEntry,
    PaymentBatch,
    Study,
    StudyStatus,
    StudyTombstone,
    Turn,
)
from annotation.pay import ledger
from annotation.privacy.withdrawal import REASON, withdraw
from tasks import jobs
from tasks.clock import database_now
from tasks.models import Job

REMAINING = (
    "the name and the frozen design with its hash, its team, platforms and lists, counts, earnings"
    " and payments with the reasons for bonuses (for accounting), decisions without their reasons,"
    " the audit log, researchers' comments on examples, and keyed hashes that prevent annotators"
    " from doing a task twice"
)


class ErasureError(ValueError):
    """The study or its identities were not deleted. The message is shown to users."""


def erase(study: Study, typed: str, by: User) -> StudyTombstone:
    """Delete a study's answers and identities permanently. `typed` must be the study's name.

    Either everything is deleted, or nothing. Raises ErasureError if the name differs, or if the
    study is a draft or still running, or if money is owed.
    """
    if typed.strip() != study.name:
        raise ErasureError(f"Type the name of the study, {study.name}, to delete it.")
    return _erase(study, by, "deleted, with all answers")


def _erase(study: Study, by: User | None, action: str) -> StudyTombstone:
    """Delete a study. If its deletion date has passed, `by` is None."""
    with Study.locking(study.pk) as study:
        if StudyTombstone.objects.filter(study=study).exists():
            raise ErasureError("This study has already been deleted.")
        if study.status != StudyStatus.CLOSED:
            raise ErasureError("Close the study first. Only closed studies can be deleted.")
        if study.participations.filter(status__in=LIVE).exists():
            raise ErasureError("Annotators are still working. Wait until they have finished.")
        tombstone = _tombstone(study, by or study.owner)
        tombstone.identities_purged = _purge(study)
        for token in list(study.participations.values_list("token", flat=True)):
            withdraw(token)
        _erase_study_data(study)
        tombstone.save()
        AuditEntry.objects.record(action, study=study, by=by)
    return tombstone


def _tombstone(study: Study, by: User) -> StudyTombstone:
    people = study.participations.order_by()
    statuses = dict(people.values_list("status").annotate(n=Count("pk")))
    entries = LedgerEntry.objects.filter(participation__study=study, participation__is_paid=True)
    return StudyTombstone(
        study=study,
        manifest_hash=study.manifest_hash,
        by=by,
        participations=statuses,
        turns_erased=Turn.objects.filter(participation__study=study).count(),
        answers_erased=Answer.objects.filter(turn__participation__study=study).count(),
        cents_earned=entries.aggregate(total=Sum("cents"))["total"] or 0,
    )


def _erase_study_data(study: Study) -> None:
    # Some reasons may have been written after the withdrawal.
    Decision.objects.filter(participation__study=study).exclude(reason=REASON).update(reason=REASON)
    study.notices.all().delete()
    study.notice_switches.all().delete()
    study.report_answers.all().delete()
    study.invitations.all().delete()
    study.webhooks.all().delete()
    study.api_tokens.all().delete()
    Study.objects.filter(pk=study.pk).update(
        open_link_on=False, identities_until=None, answers_until=None
    )
    jobs.drop(Job.objects.filter(parameters__study=study.pk))


def keep_until(study: Study, identities: date | None, answers: date | None, by: User) -> None:
    """Set and log the deletion dates of the identities and the study. None: only manually."""
    with Study.locking(study.pk) as locked:
        for subject, old_day, day in (
            ("identities are", locked.identities_until, identities),
            ("the study is", locked.answers_until, answers),
        ):
            if old_day != day:
                outcome = f"deleted after {day}" if day else "kept"
                AuditEntry.objects.record(f"{subject} {outcome}", study=locked, by=by)
        locked.store(identities_until=identities, answers_until=answers)


def purge(study: Study, by: User | None, suffix: str = "") -> int:
    """Delete a study's identities and return their number. Raises ErasureError."""
    with transaction.atomic():
        count = _purge(study)
        # Until that date, later annotators may add identities that must be deleted then, too.
        if by is None or study.status == StudyStatus.CLOSED:
            Study.objects.filter(pk=study.pk).update(identities_until=None)
        AuditEntry.objects.record(f"{count} identities deleted{suffix}", study=study, by=by)
    return count


def _purge(study: Study) -> int:
    """Delete all worker IDs of a study. Raises ErasureError during work and while pay is owed."""
    with Study.locking(study.pk) as study:
        ledger.settle_ended(study)
        people = study.participations.filter(kind="person")
        if people.filter(status__in=LIVE).exists():
            raise ErasureError("Annotators are still working. Close the study and wait.")
        owed = LedgerEntry.objects.filter(participation__in=people.filter(is_paid=True))
        if owed.exclude(payment__batch__state=PaymentBatch.State.PAID).exists():
            raise ErasureError(
                "Not all annotators have been paid. Pay first, or mark the payments as paid."
            )
        submissions = study.submissions.exclude(person="", reference="")
        count = submissions.update(person="", reference="")
        links = study.personal_links.exclude(name__startswith="purged-")
        return count + links.update(name=Concat(Value("purged-"), F("pk")))


def delete_due(today: date | None = None) -> list[tuple[str, str]]:
    """Delete data whose deletion date has passed. Returns (study name, result) pairs.

    Identities are deleted first, followed by entire studies. `manage.py tick` calls this. `today`
    defaults to the database's date (UTC). Studies that have annotators at work, owe money or are
    not closed are postponed, which is stated in their result.
    """
    today, results = today or database_now().date(), []
    for study in Study.objects.filter(identities_until__lt=today).order_by("pk"):
        try:
            count = purge(study, None, ", because their deletion date has passed")
            results.append((study.name, f"{count} identities deleted"))
        except ErasureError as error:
            results.append((study.name, f"waits: {error}"))
    for study in Study.objects.filter(answers_until__lt=today).order_by("pk"):
        try:
            tombstone = _erase(study, None, "deleted, with all answers, on its deletion date")
            results.append((study.name, f"deleted, with {tombstone.answers_erased} answers"))
        except ErasureError as error:
            results.append((study.name, f"waits: {error}"))
    return results
