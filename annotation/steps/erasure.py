"""Deleting a study: its answers and who gave them go, a tombstone says what there was.

Answers are erased as by a withdrawal, one participation at a time (steps/withdrawal.py), so that
the guards of the database let their rows go; so are those of whoever left without an answer, as
reasons were written about them, too. Kept is what KEPT says: insert-only rows that hold no answer
(the ledger, the audit log, comments), and what the books need. Nobody reaches the study any more
(StudyQuerySet.visible_to).
"""

from datetime import date

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Sum

from annotation.models import (
    LIVE,
    Answer,
    AuditEntry,
    Decision,
    LedgerEntry,
    Study,
    StudyStatus,
    StudyTombstone,
    Turn,
)
from annotation.recruitment import identities
from annotation.steps.withdrawal import REASON, withdraw
from tasks import jobs
from tasks.clock import database_now
from tasks.models import Job

KEPT = (
    "the name and the frozen design with its hash, its team, platforms and lists, counts, what was"
    " earned and paid with the reasons of bonuses (for the books), decisions without their reasons,"
    " the audit log, what researchers commented on examples, and keyed hashes that keep people from"
    " doing a task twice"
)


class ErasureError(ValueError):
    """Why a study is not deleted; the text is for people."""


def erase(study: Study, typed: str, by: User) -> StudyTombstone:
    """Delete the answers and identities of a study for good; `typed` is its name once more.

    All or nothing. Raises ErasureError while it runs, for a draft, and where the name differs;
    identities.PurgeError while somebody is owed money.
    """
    if typed.strip() != study.name:
        raise ErasureError(f"Type the name of the study, {study.name}, to delete it.")
    return _erase(study, by, "deleted, with all answers")


def _erase(study: Study, by: User | None, words: str) -> StudyTombstone:
    """The same for a date of deletion too, which nobody (`by`) has to be there for."""
    with transaction.atomic():
        study = Study.objects.locked().get(pk=study.pk)
        if StudyTombstone.objects.filter(study=study).exists():
            raise ErasureError("This study was deleted already.")
        if study.status != StudyStatus.CLOSED:
            raise ErasureError("Close the study first: only a closed study is deleted here.")
        if study.participations.filter(status__in=LIVE).exists():
            raise ErasureError("Somebody is still working: wait until they have ended.")
        tombstone = _tombstone(study, by or study.owner)
        tombstone.identities_purged = identities.purge(study)
        for token in list(study.participations.values_list("token", flat=True)):
            withdraw(token)
        _erase_the_rest(study)
        tombstone.save()
        AuditEntry.objects.record(words, study=study, by=by)
    return tombstone


def _tombstone(study: Study, by: User) -> StudyTombstone:
    """What there is, counted before it goes."""
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


def _erase_the_rest(study: Study) -> None:
    """What else tells of people or opens doors: links, tokens, notices, report, files of jobs."""
    # Of those who had withdrawn before, a reason may have been written since.
    Decision.objects.filter(participation__study=study).exclude(reason=REASON).update(reason=REASON)
    study.notices.all().delete()
    study.notice_switches.all().delete()
    study.report_answers.all().delete()
    study.invitations.all().delete()
    study.webhooks.all().delete()
    study.api_tokens.all().delete()
    Study.objects.filter(pk=study.pk).update(
        open_link_on=False, identities_until=None, answers_until=None, deleted_at=database_now()
    )
    jobs.drop(Job.objects.filter(parameters__study=study.pk))


def keep_until(study: Study, identities: date | None, answers: date | None, by: User) -> None:
    """Set the days after which who somebody was, and the whole study, are deleted. Logged.

    None: by hand alone.
    """
    with transaction.atomic():
        locked = Study.objects.locked().get(pk=study.pk)
        if locked.identities_until != identities:
            words = f"deleted after {identities}" if identities else "kept"
            AuditEntry.objects.record(f"identities are {words}", study=locked, by=by)
        if locked.answers_until != answers:
            words = f"deleted after {answers}" if answers else "kept"
            AuditEntry.objects.record(f"the study is {words}", study=locked, by=by)
        locked.identities_until, locked.answers_until = identities, answers
        locked.save(update_fields=["identities_until", "answers_until"])


def delete_due(today: date | None = None) -> list[tuple[str, str]]:
    """Delete what is to be deleted by its day: the name of each study, and what was done.

    First the identities, then whole studies. For `manage.py tick`, and `purge_identities --due`;
    `today` is that of the database (UTC). A study in which somebody works or is owed money waits,
    and so does one that is not closed; the words say so.
    """
    today, done = today or database_now().date(), []
    for study in Study.objects.filter(identities_until__lt=today).order_by("pk"):
        try:
            with transaction.atomic():
                count = identities.purge(study)
                Study.objects.filter(pk=study.pk).update(identities_until=None)
                what = f"{count} identities deleted, as the date of deletion was over"
                AuditEntry.objects.record(what, study=study)
            done.append((study.name, f"{count} identities deleted"))
        except identities.PurgeError as error:
            done.append((study.name, f"waits: {error}"))
    for study in Study.objects.filter(answers_until__lt=today).order_by("pk"):
        try:
            tombstone = _erase(study, None, "deleted, with all answers, as its day was over")
            done.append((study.name, f"deleted, with {tombstone.answers_erased} answers"))
        except (ErasureError, identities.PurgeError) as error:
            done.append((study.name, f"waits: {error}"))
    return done
