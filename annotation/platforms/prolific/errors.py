"""What goes wrong with Prolific, in plain words; what it sent is in the log.

Whatever Prolific does that the documents do not foresee (no JSON, null, another type, an error, a
time-out) is one ProlificError, and says whether it is a refusal: only then nothing was done.
"""

import logging

import requests
from urllib3.exceptions import NewConnectionError

logger = logging.getLogger(__name__)

# What Prolific documents as "no", with its own body. Anything else may have been done all the same.
REFUSALS = {400, 402, 403, 404, 422}
NOT_REACHED = (
    "Prolific could not be reached: nothing was published, nothing was paid. Try again in a few"
    " minutes."
)
REPLY_LOST = (
    "Prolific could not be reached, or its reply was lost: it may have done a part of what was"
    " requested. Try again in a few minutes: nothing is published twice, nobody is paid twice."
)
UNKNOWN_TOKEN = (
    "Prolific does not accept the API token: it was deleted there, or it was copied incompletely."
)


class ProlificError(Exception):
    """Prolific refused, answered oddly or could not be reached; the text says what and why.

    `status` is that of HTTP, 0 for none. `refused`: Prolific itself said no, in its own words, so
    nothing was done. `unreachable`: there was no reply, nor will there be one to the next question.
    """

    def __init__(
        self, sentence: str, status: int = 0, *, refused: bool = False, unreachable: bool = False
    ):
        super().__init__(sentence)
        self.status, self.refused, self.unreachable = status, refused, unreachable


def odd(what: str, told: object, status: int = 0) -> ProlificError:
    """Prolific's `what` is not as it documents it; `told` is for the log."""
    logger.warning("Prolific's %s is not as documented (status %s): %.200r", what, status, told)
    return ProlificError(
        f"Prolific's {what} is not as it documents it. Try again in a few minutes.", status
    )


def never_left(error: Exception) -> bool:
    """Did this request fail before anything was sent?"""
    reason = getattr(error.args[0], "reason", None) if error.args else None
    return isinstance(error, requests.ConnectTimeout) or isinstance(reason, NewConnectionError)


def complaint(reply: requests.Response) -> ProlificError:
    """What Prolific says is wrong, in one line, and whether it is a refusal of its own."""
    status = reply.status_code
    try:
        error = reply.json()["error"]
        detail = error.get("detail") or error.get("title")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        detail = None
    if detail and status < 500:
        sentence = f"Prolific answered {status}: {str(detail)[:400]}"
        return ProlificError(sentence, status, refused=status in REFUSALS)
    logger.warning("Prolific answered %s: %.200r", status, reply.text[:200])
    if status == 401:
        return ProlificError(UNKNOWN_TOKEN, status)
    if status == 429:
        sentence = "Prolific received too many requests. Try again in a minute."
    elif status >= 500:
        sentence = f"Prolific has a fault (status {status}). Try again in a few minutes."
    else:
        sentence = f"Prolific answered with status {status} and no reason."
    return ProlificError(sentence, status)
