"""Send a mail; a mail server that is down raises no exception."""

import logging
from smtplib import SMTPException

from django.core.mail import EmailMessage

logger = logging.getLogger(__name__)


def message(subject: str, text: str, to: str) -> EmailMessage:
    """Return a mail to one address. Line breaks in the subject become spaces."""
    return EmailMessage(" ".join(subject.split()), text, to=[to])


def send(subject: str, text: str, to: str) -> bool:
    """Send a mail now; False if the mail server does not accept it."""
    try:
        return bool(message(subject, text, to).send())
    except (OSError, SMTPException) as error:
        logger.error("A mail was not sent (%s): %s", subject, error)
        return False
