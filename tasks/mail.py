"""Sending one mail: its subject is one line, and a mail server that is away raises nothing."""

import logging
from smtplib import SMTPException

from django.core.mail import EmailMessage

logger = logging.getLogger(__name__)


def message(subject: str, text: str, to: str) -> EmailMessage:
    """A mail to one address. Line breaks in the subject become spaces: a header is one line."""
    return EmailMessage(" ".join(subject.split()), text, to=[to])


def send(subject: str, text: str, to: str) -> bool:
    """Send a mail now; False where the mail server does not take it."""
    try:
        return bool(message(subject, text, to).send())
    except (OSError, SMTPException) as error:
        logger.error("A mail was not sent (%s): %s", subject, error)
        return False
