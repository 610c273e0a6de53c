"""Prolific's errors in plain language. Details are in the server's log.

Refusals, timeouts and undocumented responses all raise ProlificError. Only after a refusal is it
certain that nothing was done.
"""

import logging

import requests
from urllib3.exceptions import NewConnectionError

logger = logging.getLogger(__name__)

# The refusals documented by Prolific. After any other error, the action may have taken place.
REFUSALS = {400, 402, 403, 404, 422}
NOT_REACHED = (
    "Prolific could not be reached. Nothing was published or paid. Try again in a few minutes."
)
REPLY_LOST = (
    "Prolific could not be reached, or its response was lost. Part of the request may have been"
    " carried out. Try again in a few minutes; nothing is published or paid twice."
)
NO_TOKEN = (
    "No API token for Prolific is set. Set yours on the page Your account, then draft the"
    " studies. An administrator can set one for the server (PROLIFIC_TOKEN)."
)
UNKNOWN_TOKEN = (
    "Prolific does not accept the API token. It may have been deleted there or copied incompletely."
)


class ProlificError(Exception):
    """Prolific refused the request, did not respond, or sent an undocumented response.

    `status` is the HTTP status, or 0 if there was no response. `refused` means that Prolific gave a
    reason and did nothing. `unreachable` means that there was no response, so that further requests
    would fail as well.
    """

    def __init__(
        self, message: str, status: int = 0, *, refused: bool = False, unreachable: bool = False
    ):
        super().__init__(message)
        self.status, self.refused, self.unreachable = status, refused, unreachable


def undocumented(subject: str, received: object, status: int = 0) -> ProlificError:
    """Log `received` and return the error for a response whose `subject` is undocumented."""
    logger.warning("Prolific's %s is undocumented (status %s): %.200r", subject, status, received)
    return ProlificError(
        f"Prolific's {subject} differs from its documentation. Try again in a few minutes.", status
    )


def was_not_sent(error: Exception) -> bool:
    reason = getattr(error.args[0], "reason", None) if error.args else None
    return isinstance(error, requests.ConnectTimeout) or isinstance(reason, NewConnectionError)


def complaint(reply: requests.Response) -> ProlificError:
    status = reply.status_code
    try:
        error = reply.json()["error"]
        detail = error.get("detail") or error.get("title")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        detail = None
    if detail and status < 500 and status != 401:
        message = f"Prolific answered {status}: {str(detail)[:400]}"
        return ProlificError(message, status, refused=status in REFUSALS)
    logger.warning("Prolific answered %s: %.200r", status, reply.text[:200])
    if status == 401:
        return ProlificError(UNKNOWN_TOKEN, status)
    if status == 429:
        message = "Prolific received too many requests. Try again in a minute."
    elif status >= 500:
        message = f"Prolific reported an error (status {status}). Try again in a few minutes."
    else:
        message = f"Prolific responded with status {status} and no reason."
    return ProlificError(message, status)
