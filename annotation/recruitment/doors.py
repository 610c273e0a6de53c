"""What a platform has to say about an arrival: the types that each platform implements.

A door is an address under /join/. It says who stands before it, whether that is only a preview,
which scenarios it leads to, and how somebody leaves by it. Which doors exist is known to
platforms/registry.py.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from django.http import HttpRequest

from annotation.models import Study

# Those who were invited by personal links: part of their worker's key, stored, so never renamed.
PERSONAL = "personal"

# How a participation can end, as platforms distinguish it: each has a completion code of its own.
OUTCOMES = {
    "completed": "completed",
    "not_qualified": "not qualified after training (paid)",
    "no_consent": "did not consent",
    "study_full": "study full or closed",
    "incompatible_device": "incompatible device",
}


@dataclass(frozen=True)
class Identity:
    """Who somebody is at a platform, and what it calls this piece of their work.

    `verified` says that it is nobody else: the platform vouched for it, or it is a secret of ours.
    An address with plain ids verifies nobody.
    """

    person: str
    submission: str = ""
    verified: bool = False


@dataclass(frozen=True)
class Exit:
    """How somebody leaves: a code to enter, an address to go back to, or both."""

    code: str = ""
    url: str = ""
    platform: str = ""


class NotAdmitted(Exception):
    """This arrival cannot be told from a forged or stale one; the text is for people."""


class Door(Protocol):
    """One address under /join/ and what stands behind it."""

    # Part of every worker's key.
    @property
    def platform(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def study(self) -> Study: ...

    @property
    def part(self) -> int: ...

    # Anybody can arrive here under any name, as often as they like.
    @property
    def anonymous(self) -> bool: ...

    # Its platform can be asked later whether a submission is that person's.
    @property
    def confirms(self) -> bool: ...

    def identity(self, request: HttpRequest) -> Identity | None:
        """The identity of the arrival; None if unknown. Raises NotAdmitted."""

    def is_preview(self, request: HttpRequest) -> bool:
        """Somebody looks at the study without having accepted it."""

    def scenarios(self) -> list[int] | None:
        """Keys of the scenarios that it leads to; None for all of the study."""

    def refusal(self) -> str:
        """Why this door assigns no new seats (a code of seats.NO_SEAT), or ""."""

    def submission_fields(self) -> dict[str, Any]:
        """Which record of ours a submission by this door belongs to: fields of its row."""

    def exit(self, outcome: str, identity: Identity | None, own_code: str) -> Exit | None:
        """How somebody leaves with this outcome; None where there is nothing to hand over."""
