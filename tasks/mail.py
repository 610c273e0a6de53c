"""Email functions that don't raise an exception if the mail server is down."""

import logging
from smtplib import SMTPException

from django.core.mail import EmailMessage

logger = logging.getLogger(__name__)


def message(subject: str, text: str, to: str) -> EmailMessage:
    """Build an email to a single address. Line breaks in the subject become spaces."""
    return EmailMessage(" ".join(subject.split()), text, to=[to])


def send(subject: str, text: str, to: str) -> bool:
    """Send an email immediately. Return False if the mail server doesn't accept it."""
    try:
        return bool(message(subject, text, to).send())
    except (OSError, SMTPException) as error:
        logger.error("An email was not sent (%s): %s", subject, error)
        return False
