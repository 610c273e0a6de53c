"""Notices about a study's required actions (monitoring/todo.py) and past events.

Notices are derived from stored rows by `manage.py tick`, never during a request. However often this
runs, a database constraint ensures that a researcher gets only one notice about an event. If a
researcher has switched off a kind of notice, it is stored as read (page) or without an email, so
that switching it back on does not send old notices. Emails are in plain text, and are retried at
increasing intervals.
"""

import logging
import smtplib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import EmailMessage
from django.db.models import F, Q
from django.urls import reverse

from annotation.models import AuditEntry, Notice, NoticeAbout, NoticeSwitch, Study, StudyStatus
from annotation.models.notices import ENDED, WITH_MAKER
from annotation.models.study import RIGHTS, Role
from annotation.monitoring import progress, todo
from annotation.notices import webhooks
from annotation.pay import budget
from tasks import mail
from tasks.clock import database_now
from tasks.columns import shots_text
from tasks.models import Job, PeriodicPart

# Older jobs and webhooks cause no notice, for example after downtime or an upgrade.
FRESH = timedelta(days=1)
# How long before the deletion of identities owners are notified.
BEFORE_DELETION = timedelta(days=7)
# How long notices are kept after being read.
MAX_AGE = timedelta(days=90)
# Shorter jobs cause no notice unless they fail: users were probably waiting for them.
LONG_JOB = timedelta(minutes=1)


@dataclass(frozen=True)
class Event:
    """An event to report to users with `right`, or only to the user `only`."""

    topic: str
    subject: str
    title: str
    detail: str = ""
    page: str = "study"
    right: str = "see"
    only: int | None = None


def collect() -> str:
    """Store new notices and return a sentence with their number."""
    now, new = database_now(), 0
    open_studies = Study.objects.filter(status__in=(StudyStatus.OPEN, StudyStatus.PAUSED))
    recent = Job.objects.filter(touched_at__gte=now - FRESH).values_list("parameters__study")
    with_jobs = {pk for (pk,) in recent if isinstance(pk, int)}
    soon = now.date() + BEFORE_DELETION
    expiring = Study.objects.filter(Q(identities_until__lte=soon) | Q(answers_until__lte=soon))
    ended = AuditEntry.objects.filter(**_ENDED_WEBHOOKS, at__gte=now - FRESH).order_by()
    with_events = Q(pk__in=with_jobs) | Q(pk__in=ended.values("study"))
    for study in open_studies | Study.objects.filter(with_events) | expiring:
        events = list(study_events(study, now))
        for user, rights in team_of(study):
            new += _store(study, user, rights, events, now)
    new += _imports(now)
    return f"{new} new"


def prune() -> str:
    """Delete old, read notices whose events cannot recur. Return a sentence with their number.

    Except for those about jobs, notices of open studies are kept as a record of events sent.
    """
    is_past = Q(about=NoticeAbout.JOB) | ~Q(
        study__status__in=(StudyStatus.OPEN, StudyStatus.PAUSED)
    )
    old = Notice.objects.filter(is_past, read_at__lt=database_now() - MAX_AGE)
    return f"{old.delete()[0]} deleted"


def study_events(study: Study, now: datetime) -> Iterator[Event]:
    """Yield all current events in the study, including those that already have a notice."""
    if study.is_running:
        for need in todo.all_needs(study, progress.for_study(study), now):
            if need.name in NoticeAbout.values:
                yield Event(
                    need.name, need.subject, need.title, need.detail, need.address, need.right
                )
        yield from _arrivals(study)
        yield from _not_synced(study)
    yield from _deletion(study, now)
    for entry in study.events.filter(**_ENDED_WEBHOOKS, at__gte=now - FRESH):
        title = "A webhook has ended because its creator is no longer an owner of this study"
        detail = "No more events are sent to its URL. If you still need them, create a new webhook."
        yield Event(NoticeAbout.WEBHOOK, f"entry {entry.pk}", title, detail, "team", "own")
    jobs = Job.objects.filter(_ENDED, parameters__study=study.pk, touched_at__gte=now - FRESH)
    yield from filter(None, map(_job_event, jobs))


def _arrivals(study: Study) -> Iterator[Event]:
    first = study.participations.filter(kind="person").order_by("pk").first()
    if first is not None:
        at = f"{first.arrived_at:%Y-%m-%d %H:%M} UTC"
        yield Event(NoticeAbout.FIRST, "study", "The first annotator has started", at, "people")
    for _event, subject, row in webhooks.filled(study):
        title = f"All {row['seats']} seats are taken: {row['task']}, {shots_text(row['shots'])}"
        yield Event(NoticeAbout.CELL, subject, title, page="recruit")
    if reason := budget.notice(study):
        entry = study.events.filter(what=reason).latest("pk")
        title = "The study paused automatically"
        yield Event(NoticeAbout.PAUSED, f"entry {entry.pk}", title, reason)


def _not_synced(study: Study) -> Iterator[Event]:
    """Yield an event if syncing with Prolific is failing. The reason is in the server's log."""
    failing = PeriodicPart.objects.filter(name="platforms").exclude(error="").first()
    if failing and study.prolific_studies.exclude(external_id=None).exists():
        since = failing.succeeded_at
        yield Event(
            NoticeAbout.PLATFORM, f"no sync since {since and since.isoformat()}",
            "The sync with Prolific failed",
            "Statuses and places may be out of date. Sync manually; the page shows the error.",
            "platforms", "own",
        )  # fmt: skip


def _deletion(study: Study, now: datetime) -> Iterator[Event]:
    """Yield events ahead of the deletion of identities or a study, also if its date changes."""
    ids_day, study_day = study.identities_until, study.answers_until
    for day, subject, title, detail in (
        (ids_day, "identities", f"Annotators' ids will be deleted after {ids_day}",
         "This happens once all annotators are paid. To keep the ids longer, change the date."),
        (study_day, "study", f"The study will be deleted after {study_day}, with all answers",
         "This happens once it is closed and paid. Download the bundle, or change the date."),
    ):  # fmt: skip
        if day is not None and day <= now.date() + BEFORE_DELETION:
            topic = NoticeAbout.RETENTION
            yield Event(topic, f"{subject} after {day}", title, detail, "retention", "own")


_ENDED_WEBHOOKS = {"what__startswith": ENDED, "what__endswith": WITH_MAKER}


_ENDED = Q(state__in=(Job.State.DONE, Job.State.FAILED), owner__isnull=False)


def _job_event(job: Job) -> Event | None:
    """Return the event for a job that has ended, or None if it was short and successful."""
    if not job.has_failed and job.touched_at - job.created_at < LONG_JOB:
        return None
    title = f"A job ({job.kind.replace('_', ' ')}) {'failed' if job.has_failed else 'is done'}"
    subject = f"job {job.pk} {job.state}"
    return Event(NoticeAbout.JOB, subject, title, job.error[:400], only=job.owner_id)


def _imports(now: datetime) -> int:
    """Store notices about imports. They are not emailed, because users could not turn that off."""
    ended = Job.objects.filter(_ENDED, touched_at__gte=now - FRESH)
    new = [
        Notice(
            user_id=job.owner_id, about=event.topic, subject=event.subject, what=event.title,
            detail=event.detail, page="models" if job.kind == "predictions" else "tasks",
            created_at=now,
        )
        for job in ended.filter(owner__is_active=True).exclude(parameters__has_key="study")
        if job.owner_id and (event := _job_event(job))
    ]  # fmt: skip
    stored = set(Notice.objects.filter(study=None).values_list("user", "subject"))
    new = [notice for notice in new if (notice.user_id, notice.subject) not in stored]
    Notice.objects.bulk_create(new, ignore_conflicts=True)  # another process may have stored some
    return len(new)


def team_of(study: Study) -> list[tuple[User, frozenset[str]]]:
    team = [(study.owner, RIGHTS[Role.OWNER])]
    team += [
        (member.user, RIGHTS[Role(member.role)]) for member in study.members.select_related("user")
    ]
    return [(user, rights) for user, rights in team if user.is_active]


def _store(
    study: Study, user: User, rights: frozenset[str], events: list[Event], now: datetime
) -> int:
    stored = set(study.notices.filter(user=user).values_list("about", "subject"))
    switch = NoticeSwitch.objects.filter(user=user, study=study).first() or NoticeSwitch()
    can_mail = bool(settings.EMAIL_HOST and user.email)
    new = [
        Notice(
            user=user, study=study, about=event.topic, subject=event.subject[:80],
            what=event.title[:200], detail=event.detail[:400], page=event.page, created_at=now,
            read_at=now if event.topic in switch.page_off else None,
            mail=Notice.MailState.WAITING
            if can_mail and event.topic not in switch.mail_off
            else Notice.MailState.NONE,
            next_at=now,
        )
        for event in events
        if (event.topic, event.subject[:80]) not in stored
        and event.right in rights
        and event.only in (None, user.pk)
    ]  # fmt: skip
    Notice.objects.bulk_create(new, ignore_conflicts=True)  # another process may have stored some
    return len(new)


logger = logging.getLogger(__name__)

GAPS = [timedelta(minutes=m) for m in (2, 10, 60, 360, 1440)]
EMAILS_PER_RUN = 200  # emails per run


def send_mails() -> str:
    waiting = Notice.objects.filter(mail=Notice.MailState.WAITING, next_at__lte=database_now())
    rows = waiting.select_related("user", "study").order_by("next_at", "pk")[:EMAILS_PER_RUN]
    return f"{sum(send(notice) for notice in rows)} sent"


def send(notice: Notice) -> bool:
    """Try to send an email, unless another process is sending it. Return whether it was sent.

    The attempt is counted, and the next one scheduled, before sending, so that the email is retried
    if the process gets killed.
    """
    now, attempts = database_now(), notice.attempts
    gap = GAPS[min(attempts, len(GAPS) - 1)]
    claim = Notice.objects.filter(pk=notice.pk, mail=Notice.MailState.WAITING, attempts=attempts)
    if not claim.update(attempts=F("attempts") + 1, next_at=now + gap):
        return False
    try:
        message(notice).send()
    except (smtplib.SMTPException, OSError) as error:
        logger.warning("The email for notice %s was not sent: %s", notice.pk, type(error).__name__)
        if attempts + 1 > len(GAPS):
            Notice.objects.filter(pk=notice.pk).update(mail=Notice.MailState.FAILED)
        return False
    Notice.objects.filter(pk=notice.pk).update(mail=Notice.MailState.SENT)
    return True


def message(notice: Notice) -> EmailMessage:
    assert notice.study is not None  # all others are only shown on the page
    root = settings.SITE_URL
    lines = [f"{notice.what}.".replace("..", "."), notice.detail, ""]
    lines += [f"Study: {notice.study.title}", root + reverse(notice.page, args=[notice.study.name])]
    off = root + reverse("notice_switches", args=[notice.study.name])
    lines += ["", f"You get this email as a researcher of this study. Turn it off: {off}"]
    subject = f"[{notice.study.name}] {notice.what}"
    return mail.message(subject, "\n".join(lines), notice.user.email)
