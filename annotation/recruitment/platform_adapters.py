"""Base types of platform adapters, which describe what a platform knows about an arrival.

An adapter handles a URL under /join/. It determines the identity behind an arrival, whether it is a
preview, its scenarios, and the exit. ADAPTERS contains the registered classes.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

from django.db.models import Q
from django.http import HttpRequest
from django.utils.translation import gettext

from annotation.models import Kind, Study, Submission

# Outcomes distinguished by platforms. Each has its own completion code.
OUTCOMES = {
    "completed": "completed",
    "not_qualified": "not qualified after training (paid)",
    "no_consent": "did not consent",
    "study_full": "study full or closed",
    "incompatible_device": "incompatible device",
}


@dataclass(frozen=True)
class Identity:
    """A person's ID on a platform, and the ID of their work on it.

    `verified` means that it can't be someone else, either because the platform has confirmed the ID
    or because the ID is one of our secrets. Plain IDs in a URL don't prove anything.
    """

    person: str
    submission: str = ""
    verified: bool = False


@dataclass(frozen=True)
class Exit:
    """How a participant leaves: with a code to enter, a return URL, or both."""

    code: str = ""
    url: str = ""
    platform: str = ""


@dataclass(frozen=True)
class Source:
    """A platform whose IDs can be used in lists of people. `codes` maps names to IDs."""

    platform: str
    label: str
    codes: Mapping[str, str] | None = None


LINK_ERRORS = tomllib.loads(Path(__file__).with_name("link_errors.toml").read_text("utf-8"))


class NotAdmitted(Exception):
    """Raised if the arrival may be forged or stale. `code` is a key of LINK_ERRORS."""

    def __init__(self, code: str, /, **values: str):
        text = LINK_ERRORS[code]["text"]
        super().__init__(gettext(text) % values)


class PlatformAdapter:
    """An adapter for a URL under /join/. Each platform has a subclass in ADAPTERS."""

    platform: str  # part of every worker's key, so it must never change
    label: str = ""  # where participants came from, as named in documents
    study: Study
    kind: str = Kind.PERSON
    part: int = 0
    anonymous: bool = False  # visitors can arrive repeatedly under any name
    invited: bool = False  # researchers gave the URL to people they know
    confirms: bool = False  # the platform can later confirm whose submission it is
    own_codes: bool = False  # IDs are case-sensitive: Handful's codes or model names

    @classmethod
    def query(cls, field: str) -> Q:
        """Return a condition that `field` is one of this class's platforms."""
        return Q((field, cls.platform))

    @classmethod
    def sources(cls, study: Study) -> list[Source]:
        """Return the sources of IDs for lists of people in this study."""
        return []

    @classmethod
    def at(cls, code: str) -> "PlatformAdapter | None":
        """Return the adapter for a code, or None if it is handled by another class."""
        return None

    @classmethod
    def links(cls, study: Study) -> list[tuple[str, str, str]]:
        """Return (label, code, explanation) for each link to show under Platforms."""
        return []

    @classmethod
    def of(cls, submission: Submission) -> "PlatformAdapter | None":
        """Return the adapter of a submission, or None if it is handled by another class."""
        return None

    def identity(self, request: HttpRequest) -> Identity | None:
        """Return the identity of the arrival, or None if it is unknown. Raises NotAdmitted."""
        raise NotImplementedError

    def is_preview(self, request: HttpRequest) -> bool:
        return False

    def scenarios(self) -> list[int] | None:
        """Return the keys of the scenarios behind this URL, or None for all."""
        return None

    def refusal(self) -> str:
        """Return why the adapter assigns no seats (a code in join_errors.NO_SEAT), or ""."""
        return ""

    def submission_fields(self) -> dict[str, Any]:
        return {}

    def exit(self, outcome: str, identity: Identity | None, own_code: str) -> Exit | None:
        """Return the exit for an outcome, or None if it does not have one."""
        raise NotImplementedError


# Tried in this order. Each platform adds its own classes (apps.py).
ADAPTERS: list[type[PlatformAdapter]] = []


def adapter_at(code: str) -> PlatformAdapter | None:
    return next(filter(None, (adapter.at(code) for adapter in ADAPTERS)), None)


def source_of(platform: str) -> str:
    """Return the display name of a platform. For a panel, this is its name without the prefix."""
    labels = {adapter.platform: adapter.label for adapter in ADAPTERS}
    return labels.get(platform) or platform[platform.find(":") + 1 :]


def adapters_with(trait: str, field: str) -> Q:
    """Return a condition that `field` is the platform of an adapter with this attribute."""
    return reduce(or_, (adapter.query(field) for adapter in ADAPTERS if getattr(adapter, trait)))


def adapter_of(submission: Submission) -> PlatformAdapter:
    return next(
        adapter for adapter in (kind.of(submission) for kind in ADAPTERS) if adapter is not None
    )
