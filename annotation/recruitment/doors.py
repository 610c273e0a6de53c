"""What a platform has to say about an arrival: the types that each platform implements.

A door is an address under /join/. It says who arrives, whether that is only a preview, which
scenarios it leads to, and how somebody leaves by it. Which doors there are is in DOORS.
"""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from annotation.models import Kind, Study, Submission

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


class Door:
    """One address under /join/ and what is behind it; each platform has a subclass in DOORS."""

    platform: str  # part of every worker's key
    study: Study
    kind: str = Kind.PERSON
    part: int = 0
    anonymous: bool = False  # anybody can arrive here under any name, as often as they like
    confirms: bool = False  # its platform can be asked later whether a submission is that person's

    @classmethod
    def at(cls, code: str) -> "Door | None":
        """The door at that address, if it is one of these."""
        return None

    @classmethod
    def of(cls, submission: Submission) -> "Door | None":
        """The door that this submission came through, if it is one of these."""
        return None

    def identity(self, request: HttpRequest) -> Identity | None:
        """The identity of the arrival; None if unknown. Raises NotAdmitted."""
        raise NotImplementedError

    def is_preview(self, request: HttpRequest) -> bool:
        """Somebody looks at the study without having accepted it."""
        return False

    def scenarios(self) -> list[int] | None:
        """Keys of the scenarios that it leads to; None for all of the study."""
        return None

    def refusal(self) -> str:
        """Why this door assigns no new seats (a code of refusals.NO_SEAT), or ""."""
        return ""

    def submission_fields(self) -> dict[str, Any]:
        """Which record of ours a submission by this door belongs to: fields of its row."""
        return {}

    def exit(self, outcome: str, identity: Identity | None, own_code: str) -> Exit | None:
        """How somebody leaves with this outcome; None where there is nothing to hand over."""
        raise NotImplementedError


# In the order in which they are asked for an address; each platform adds its own (apps.py).
DOORS: list[type[Door]] = []


def door_at(code: str) -> Door | None:
    """The door at that address, or None."""
    return next(filter(None, (door.at(code) for door in DOORS)), None)


def door_of(submission: Submission) -> Door:
    """The door that this submission came through."""
    return next(door for door in (each.of(submission) for each in DOORS) if door is not None)
