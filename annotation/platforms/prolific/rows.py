"""What a run of sync reads and finds: submissions as Prolific tells of them, studies, problems."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from annotation.models import (
    ProlificStudy,
)
from annotation.platforms.prolific.client import status_of
from annotation.platforms.prolific.door import ProlificDoor
from annotation.platforms.prolific.errors import ProlificError, undocumented
from annotation.recruitment import arrivals, identities

# Submissions that hold one of the study's places on Prolific.
TAKE_A_PLACE = {
    "RESERVED", "ACTIVE", "AWAITING_REVIEW", "APPROVED", "PARTIALLY_APPROVED", "PROCESSING",
}  # fmt: skip
UNDER_WAY = {"RESERVED", "ACTIVE"}
RECRUITING = {"ACTIVE", "PAUSED", "AWAITING_REVIEW", "COMPLETED"}


@dataclass
class Synced:
    """What one run did, and what it could not do."""

    submissions: int = 0
    changed: int = 0
    freed: int = 0
    barred: int = 0
    places_added: int = 0
    paused: int = 0
    started: int = 0
    not_confirmed: int = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.submissions} submissions, {self.changed} changed, {self.freed} seats freed,"
            f" {self.places_added} places added, {self.barred} people blocked,"
            f" {self.paused} paused, {self.started} started, {self.not_confirmed} not confirmed"
        )

    @contextmanager
    def noting(self, what: object) -> Iterator[None]:
        """Whatever is odd about this one is told of, and the others go on.

        Raises ProlificError only where Prolific cannot be reached at all.
        """
        try:
            yield
        except ProlificError as error:
            if error.unreachable:
                raise
            self.problems.append(f"{what}: {error}"[:400])
        except identities.LostKey as error:
            self.problems.append(f"{what}: {error}")


@dataclass(frozen=True)
class Row:
    """A submission as Prolific tells of it, checked."""

    session: str
    status: str
    return_requested_at: datetime | None
    completed_at: datetime | None

    @classmethod
    def read(cls, told: Any) -> "Row":
        """Raises ProlificError if this is not a submission."""
        if not isinstance(told, dict) or not isinstance(told.get("id"), str):
            raise undocumented("submission without an id", told)
        return cls(
            told["id"].lower(),
            status_of(told.get("status")),
            _moment(told.get("return_requested")),
            _moment(told.get("completed_at")),
        )

    @property
    def key(self) -> str:
        return arrivals.submission_key(ProlificDoor.platform, self.session)

    @property
    def return_is_open(self) -> bool:
        """The return was asked for, and the participant has not returned it."""
        return self.status == "AWAITING_REVIEW" and self.return_requested_at is not None


def _moment(text: Any) -> datetime | None:
    """A time of Prolific's; None if missing or invalid."""
    try:
        time = parse_datetime(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return time.replace(tzinfo=UTC) if time and timezone.is_naive(time) else time


@dataclass(frozen=True)
class Found:
    """A study on Prolific as this run found it."""

    study: ProlificStudy
    # Submissions that hold a place; how many of them wait for no return, or are on the way here.
    held: int
    kept: int
    coming: int

    @property
    def open_places(self) -> int:
        return self.study.places - self.held

    @property
    def may_let_in(self) -> bool:
        """Is it open to new arrivals, and was it not paused by somebody else?"""
        is_ours = self.study.status != "PAUSED" or self.study.paused_here
        return status_of(self.study.status) in RECRUITING and self.study.part <= 1 and is_ours
