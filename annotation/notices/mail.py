"""Sending notices by mail: plain text, retried with growing gaps, never in a request."""

import logging
import smtplib
from datetime import timedelta

from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models import F
from django.urls import reverse

from annotation.models import Notice
from tasks import mail
from tasks.clock import database_now

logger = logging.getLogger(__name__)

GAPS = [timedelta(minutes=m) for m in (2, 10, 60, 360, 1440)]
AT_ONCE = 200  # mails of one run


def send_due() -> str:
    """Send what is due, the oldest first; how many were sent."""
    due = Notice.objects.filter(mail=Notice.MailState.WAITING, next_at__lte=database_now())
    rows = due.select_related("user", "study").order_by("next_at", "pk")[:AT_ONCE]
    return f"{sum(send(notice) for notice in rows)} sent"


def send(notice: Notice) -> bool:
    """Try once, unless another process does.

    The attempt is counted and the next one set before anything is sent: a process that is killed
    leaves a mail that is tried again.
    """
    now, tried = database_now(), notice.attempts
    gap = GAPS[min(tried, len(GAPS) - 1)]
    mine = Notice.objects.filter(pk=notice.pk, mail=Notice.MailState.WAITING, attempts=tried)
    if not mine.update(attempts=F("attempts") + 1, next_at=now + gap):
        return False
    try:
        message(notice).send()
    except (smtplib.SMTPException, OSError) as error:
        logger.warning("The mail of notice %s was not sent: %s", notice.pk, type(error).__name__)
        if tried + 1 > len(GAPS):
            Notice.objects.filter(pk=notice.pk).update(mail=Notice.MailState.FAILED)
        return False
    Notice.objects.filter(pk=notice.pk).update(mail=Notice.MailState.SENT)
    return True


def message(notice: Notice) -> EmailMessage:
    """Subject: study and event; then what, its detail, and where to look."""
    assert notice.study is not None  # what is of no study is told on the page alone
    root = settings.SITE_URL
    lines = [f"{notice.what}.".replace("..", "."), notice.detail, ""]
    lines += [f"Study: {notice.study.title}", root + reverse(notice.page, args=[notice.study.name])]
    off = root + reverse("notice_switches", args=[notice.study.name])
    lines += ["", f"You get this mail as a researcher of this study. Switch it off: {off}"]
    subject = f"[{notice.study.name}] {notice.what}"
    return mail.message(subject, "\n".join(lines), notice.user.email)
