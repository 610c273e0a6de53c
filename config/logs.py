"""Log formatters that add a request ID and remove secrets.

A personal link is the only credential of an annotator, so it must never appear in logs. Secrets are
removed from the formatted text, including tracebacks, in the records of all libraries.
"""

import json
import logging
import re
import secrets
import sys
import traceback
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from django.db import OperationalError

from config.addresses import SECRET

request_id: ContextVar[str] = ContextVar("request_id", default="-")

# Longest first, so that "api/v1/join" is matched before "join".
_SECRET = "|".join(sorted(SECRET, key=len, reverse=True)).replace("/", "(?:/|%2F)")
CUT = [
    (
        re.compile(rf"(?:\b|(?<=%2F))({_SECRET})(/|%2F)(?:(?!%2F)[^/\s?'\"<>])+", re.IGNORECASE),
        r"\1\2…",
    ),
    # Query strings can contain participants' IDs or what was entered in a form.
    (re.compile(r"(/[^\s?'\"<>]*)\?[^\s'\"<>]+"), r"\1?…"),
    (re.compile(r"\b[0-9a-f]{24}\b", re.IGNORECASE), "…"),  # IDs on Prolific, as in its API's URLs
    # PostgreSQL includes the entire row in its error messages.
    (re.compile(r"\b(DETAIL|Detail):.*", re.DOTALL), r"\1: …"),
]


def begin_command() -> None:
    """Give a command a request ID and log its uncaught exceptions without secrets."""
    request_id.set(secrets.token_hex(6))
    sys.excepthook = _log_uncaught


def _log_uncaught(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    if not issubclass(kind, Exception) or not logging.getLogger().handlers:  # or no logging yet
        sys.__excepthook__(kind, error, trace)
        return
    logging.getLogger("handful.command").critical("Stopped", exc_info=(kind, error, trace))


def without_secrets(text: str) -> str:
    """Remove secret links, query strings and database rows, keeping source paths in tracebacks."""
    lines = []
    for line in text.splitlines():
        if not line.startswith('  File "'):
            for pattern, shorter in CUT:
                line = pattern.sub(shorter, line)
        lines.append(line)
    return "\n".join(lines)


def entry(record: logging.LogRecord) -> dict[str, str]:
    """Return the fields in order. If the database is down, one line without traceback is enough."""
    parts = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname,
        "request": request_id.get(),
        "logger": record.name,
        "message": without_secrets(record.getMessage()),
    }
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, OperationalError):
        first = next(iter(str(error).splitlines()), "")
        parts["message"] += f" ({type(error).__name__}: {without_secrets(first)})"
    elif error is not None:
        parts["traceback"] = without_secrets("".join(traceback.format_exception(error)))
    return parts


class Plain(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        parts = entry(record)
        trace = "\n" + parts.pop("traceback") if "traceback" in parts else ""
        logger, message = parts.pop("logger"), parts.pop("message")
        return f"{' '.join(parts.values())} {logger}: {message}{trace}"


class Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(entry(record), ensure_ascii=False)
