"""Where people come from: one module for each recruiter, behind one small interface.

A recruiter opens doors: addresses under /join/. A door says who stands before it, whether that is
only a look, which scenarios it leads to, and how somebody leaves by it.
"""

import logging
from dataclasses import dataclass
from typing import Protocol

from django.http import HttpRequest

from annotation.models import Panel, Participation, PersonalLink, ProlificStudy, Study

logger = logging.getLogger(__name__)

# How a participation can end, as recruiters tell it apart: each has a completion code of its own.
OUTCOMES = {
    "completed": "completed",
    "not_qualified": "not qualified after training (paid)",
    "no_consent": "did not consent",
    "study_full": "study full or closed",
    "incompatible_device": "incompatible device",
}


@dataclass(frozen=True)
class Identity:
    """Who somebody is at a recruiter, and what it calls this piece of their work.

    `verified` says that it is nobody else: the recruiter vouched for it, or it is a secret of ours.
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

    recruiter: str  # part of every worker's key
    kind: str
    study: Study
    part: int
    anonymous: bool  # anybody can arrive here under any name, as often as they like

    def identity(self, request: HttpRequest) -> Identity | None:
        """Who stands here; None for nobody known. Raises NotAdmitted."""

    def is_preview(self, request: HttpRequest) -> bool:
        """Somebody looks at the study without having accepted it."""

    def scenarios(self) -> list[int] | None:
        """Keys of the scenarios that it leads to; None for all of the study."""

    def refusal(self) -> str:
        """Why this door gives nobody a new seat (a code of recruitment.NO_SEAT), or ""."""

    def exit(self, outcome: str, identity: Identity | None, own_code: str) -> Exit | None:
        """How somebody leaves with this outcome; None where there is nothing to hand over."""


def door(code: str) -> Door | None:
    """The door at that address, or None."""
    from annotation.platforms import links, panel
    from annotation.platforms.prolific.door import ProlificDoor

    study = Study.objects.filter(link_code=code).first()
    if study is not None:
        return links.OpenLink(study)
    personal = PersonalLink.objects.select_related("study").filter(code=code).first()
    if personal is not None:
        return links.PersonalDoor(personal)
    of_panel = Panel.objects.select_related("study").filter(code=code).first()
    if of_panel is not None:
        return panel.PanelDoor(of_panel)
    on_prolific = ProlificStudy.objects.select_related("study").filter(code=code).first()
    if on_prolific is not None:
        return ProlificDoor(on_prolific)
    study = Study.objects.filter(simulated_link_code=code).first()
    return links.SimulatedLink(study) if study is not None else None


def exit_of(participation: Participation, outcome: str) -> Exit | None:
    """How this participation leaves: by the door that its latest submission came through.

    With a further task, whatever becomes of it, as the submission itself ended.
    """
    from annotation.platforms import links, panel
    from annotation.platforms.prolific.door import ProlificDoor
    from annotation.recruitment import identities

    latest = participation.latest_submission()
    if latest is None:
        return links.OpenLink(participation.study).exit(
            outcome, None, participation.completion_code
        )
    if latest.participation_id != participation.pk:
        outcome = latest.outcome or outcome
    came_by: Door
    if latest.prolific_study is not None:
        came_by = ProlificDoor(latest.prolific_study)
    else:
        came_by = panel.PanelDoor(latest.panel)
    try:
        who = Identity(identities.show(latest.person), identities.show(latest.reference))
    except ValueError as error:
        # The last page of a worker is no place for this: their code is shown, the operator told.
        logger.error("%s", error)
        who = None
    return came_by.exit(outcome, who, participation.completion_code)
