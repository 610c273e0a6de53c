"""The words of a check: in order, a warning, or a failure; what it is and how to fix it."""

from dataclasses import dataclass

OK, WARN, FAIL = "ok", "warn", "fail"


@dataclass(frozen=True)
class Finding:
    """One line of what, and one of how to fix it (empty where nothing has to be fixed)."""

    state: str
    what: str
    fix: str = ""


def ok(what: str) -> Finding:
    return Finding(OK, what)


def warn(what: str, fix: str) -> Finding:
    """It works, and is not meant or will fail some day."""
    return Finding(WARN, what, fix)


def fail(what: str, fix: str) -> Finding:
    """Something does not work, or harms."""
    return Finding(FAIL, what, fix)
