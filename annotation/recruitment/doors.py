"""Base types of platform adapters ("doors"): what a platform knows about an arrival.

A door is an address under /join/. It determines the identity of the arrival, whether it is a
preview, its scenarios, and the exit. DOORS lists the registered classes.
"""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from annotation.models import Kind, Study, Submission

# Workers invited by personal links: stored in their worker keys, so never rename it.
PERSONAL = "personal"

# Outcomes that platforms distinguish; each has a separate completion code.
OUTCOMES = {
    "completed": "completed",
    "not_qualified": "not qualified after training (paid)",
    "no_consent": "did not consent",
    "study_full": "study full or closed",
    "incompatible_device": "incompatible device",
}


@dataclass(frozen=True)
class Identity:
    """A person's identity at a platform, and the platform's id of their work.

    `verified` means that it cannot be another person: the platform vouched for it, or it is a
    secret of ours. An address with plain ids verifies nothing.
    """

    person: str
    submission: str = ""
    verified: bool = False


@dataclass(frozen=True)
class Exit:
    """How a participant leaves: a code to enter, a return address, or both."""

    code: str = ""
    url: str = ""
    platform: str = ""


class NotAdmitted(Exception):
    """This arrival may be forged or stale; the text is for people."""


class Door:
    """One address under /join/; each platform has a subclass in DOORS."""

    platform: str = ""  # part of every worker's key
    source: str = ""  # the platform in documents: "12 via SOURCE"
    study: Study
    kind: str = Kind.PERSON
    part: int = 0
    anonymous: bool = False  # visitors can arrive repeatedly under any name
    confirms: bool = False  # the platform can confirm later whose submission it is

    @classmethod
    def at(cls, code: str) -> "Door | None":
        """Return the door at that address, if it belongs to this class."""
        return None

    @classmethod
    def links(cls, study: Study) -> list[tuple[str, str, str]]:
        """Return its links to the study, for the page *Platforms*: label, code, explanation."""
        return []

    @classmethod
    def lists(cls, study: Study) -> list[tuple[str, str]]:
        """Return (platform in hashes, label) if allow and deny lists can contain its ids."""
        return []

    @classmethod
    def of(cls, submission: Submission) -> "Door | None":
        """Return the door of this submission, if it belongs to this class."""
        return None

    def identity(self, request: HttpRequest) -> Identity | None:
        """Return the identity of the arrival; None if unknown. Raises NotAdmitted."""
        raise NotImplementedError

    def is_preview(self, request: HttpRequest) -> bool:
        """Is this a preview, without accepting the study?"""
        return False

    def scenarios(self) -> list[int] | None:
        """Return keys of the scenarios that it leads to; None for the whole study."""
        return None

    def refusal(self) -> str:
        """Return why this door assigns no new seats (a code of refusals.NO_SEAT), or ""."""
        return ""

    def submission_fields(self) -> dict[str, Any]:
        """Return the fields of a submission's row that identify this door."""
        return {}

    def exit(self, outcome: str, identity: Identity | None, own_code: str) -> Exit | None:
        """Return the exit for this outcome; None if there is none."""
        raise NotImplementedError


# In the order in which addresses are tried; each platform adds its classes (apps.py).
DOORS: list[type[Door]] = []


def door_at(code: str) -> Door | None:
    return next(filter(None, (door.at(code) for door in DOORS)), None)


def source_of(platform: str) -> str:
    """Return the platform of a worker, as documents name it; a panel has its own name."""
    own = next((door.source for door in DOORS if door.platform == platform), "")
    return own or platform.removeprefix("panel:")


def door_of(submission: Submission) -> Door:
    """Return the door that this submission came through."""
    return next(door for door in (each.of(submission) for each in DOORS) if door is not None)
