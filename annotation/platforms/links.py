"""Doors of Handful's own: the open link, personal links, the robots' link, and one for models."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from annotation.models import Kind, PersonalLink, Scenario, Study
from annotation.recruitment.doors import PERSONAL, Exit, Identity

COOKIE_SALT = "annotation.worker"
COOKIE_AGE = 400 * 24 * 3600  # seconds; the longest that browsers keep


def browser(request: HttpRequest) -> str:
    """The random value of this browser's signed cookie; "" for an unknown browser."""
    held = request.get_signed_cookie(
        settings.WORKER_COOKIE_NAME, default="", salt=COOKIE_SALT, max_age=COOKIE_AGE
    )
    return held or ""


class OpenLink:
    """One link for everybody. A worker is a browser: exclusivity holds per browser."""

    platform, kind, part, anonymous, confirms = "link", Kind.PERSON, 0, True, False

    def __init__(self, study: Study):
        self.study = study

    def identity(self, request: HttpRequest) -> Identity | None:
        known = browser(request)
        return Identity(known, verified=True) if known else None

    def is_preview(self, request: HttpRequest) -> bool:
        return False

    def scenarios(self) -> list[int] | None:
        return None

    def refusal(self) -> str:
        return "" if self.study.open_link_on else "link_off"

    def submission_fields(self) -> dict[str, Any]:
        return {}

    def exit(self, outcome: str, identity: Identity | None, own_code: str) -> Exit | None:
        return Exit(code=own_code) if outcome in ("completed", "not_qualified") else None


class SimulatedLink(OpenLink):
    """Another address of the same study, so that robots can never be counted as people."""

    platform, kind, anonymous = "simulated", Kind.SIMULATED, False

    def refusal(self) -> str:
        return ""


class ModelDoor(OpenLink):
    """A researcher seats a model in one scenario; who it is says model_annotators.identity."""

    platform, kind, anonymous = "model", Kind.MODEL, False

    def __init__(self, scenario: Scenario, person: str):
        super().__init__(scenario.study)
        self.scenario, self.person = scenario, person

    def identity(self, request: HttpRequest) -> Identity | None:
        return Identity(self.person, verified=True)

    def scenarios(self) -> list[int] | None:
        return [self.scenario.pk]

    def refusal(self) -> str:
        return ""


class PersonalDoor(OpenLink):
    """A personal link: whoever holds it is the worker, on any device."""

    platform, anonymous = PERSONAL, False

    def __init__(self, link: PersonalLink):
        super().__init__(link.study)
        self.link = link

    def identity(self, request: HttpRequest) -> Identity | None:
        return Identity(self.link.code, verified=True)

    def refusal(self) -> str:
        return ""
