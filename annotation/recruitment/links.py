"""Handful's links: the open link, personal links, and links for simulated annotators and models.

Personal links are created in bulk, with names chosen by the researcher. The name is stored with the
link and never exported. The worker is identified by the keyed hash of the link code. A model with
another training file is a different annotator, because it has a different context. Another run of
the same model on the same file is a numbered replicate (docs/protocol.md#invariants).
"""

from collections.abc import Sequence

from django.conf import settings
from django.core.signing import BadSignature
from django.db import transaction
from django.http import HttpRequest

from annotation.models import LIVE, AuditEntry, Kind, PersonalLink, Scenario, Status, Study, Topic
from annotation.recruitment.identities import worker_key
from annotation.recruitment.platform_adapters import Exit, Identity, PlatformAdapter, Source

COOKIE_SALT = "annotation.worker"
COOKIE_AGE = 400 * 24 * 3600  # in seconds; browsers don't allow more


def browser(request: HttpRequest) -> str:
    """Return the random value in this browser's signed cookie, or "" without a valid cookie."""
    cookie = request.get_signed_cookie(
        settings.WORKER_COOKIE_NAME, default="", salt=COOKIE_SALT, max_age=COOKIE_AGE
    )
    return cookie or ""


class OpenLink(PlatformAdapter):
    """A link for everyone. Each browser is treated as a worker, and may participate once."""

    platform, label = "link", "an open link"
    anonymous = own_codes = True

    def __init__(self, study: Study):
        self.study = study

    @classmethod
    def at(cls, code: str) -> PlatformAdapter | None:
        study = Study.objects.filter(link_code=code).first()
        return cls(study) if study is not None else None

    @classmethod
    def links(cls, study: Study) -> list[tuple[str, str, str]]:
        return [("Open link", study.link_code, "")] if cls is OpenLink else []

    def identity(self, request: HttpRequest) -> Identity | None:
        person = browser(request)
        return Identity(person, verified=True) if person else None

    def refusal(self) -> str:
        return "link_off" if type(self) is OpenLink and not self.study.open_link_on else ""

    def exit(self, outcome: str, identity: Identity | None, own_code: str) -> Exit | None:
        return Exit(code=own_code) if outcome in ("completed", "not_qualified") else None


class SimulatedLink(OpenLink):
    """The link for simulated annotators, which is separate so that they never count as human."""

    platform, kind, anonymous = "simulated", Kind.SIMULATED, False

    @classmethod
    def at(cls, code: str) -> PlatformAdapter | None:
        # Simulated annotators exist only in rehearsals, so other studies have no such link.
        try:
            link_code = Study.simulated_links.unsign(code)
        except BadSignature:
            return None
        study = Study.objects.filter(link_code=link_code, rehearsal=True).first()
        return cls(study) if study is not None else None


class ModelAdapter(OpenLink):
    """The adapter for a researcher's model in a scenario (see `ModelAnnotator.identity`)."""

    platform, kind, anonymous = "model", Kind.MODEL, False

    @classmethod
    def at(cls, code: str) -> PlatformAdapter | None:
        return None  # models join through the API

    def __init__(self, scenario: Scenario, person: str):
        super().__init__(scenario.study)
        self.scenario, self.person = scenario, person

    def identity(self, request: HttpRequest) -> Identity | None:
        return Identity(self.person, verified=True)

    def scenarios(self) -> list[int] | None:
        return [self.scenario.pk]


class PersonalLinkAdapter(OpenLink):
    platform, label = "personal", "personal one-time links"
    anonymous, invited = False, True

    def __init__(self, link: PersonalLink):
        super().__init__(link.study)
        self.link = link

    @classmethod
    def at(cls, code: str) -> PlatformAdapter | None:
        link = PersonalLink.objects.select_related("study").filter(code=code).first()
        return cls(link) if link is not None else None

    @classmethod
    def sources(cls, study: Study) -> list[Source]:
        codes = dict(study.personal_links.values_list("name", "code"))
        return [Source(cls.platform, "Personal links (their names)", codes)] if codes else []

    def identity(self, request: HttpRequest) -> Identity | None:
        return Identity(self.link.code, verified=True)


# Personal links ---------------------------------------------------------------------------------


MOST = 1000
LONGEST_NAME = 200

# Maps the status of the worker's latest participation to the state of the link.
STATES = dict.fromkeys(LIVE, "active") | {
    Status.SCREENED_OUT: "done",
    Status.RETURNED: "expired",
    Status.COMPLETED: "done",
    Status.EXPIRED: "expired",
    Status.REFUSED: "had done the task before",
    Status.WITHDRAWN: "withdrawn",
    Status.REJECTED: "rejected",
}


class LinkError(ValueError):
    """Raised if the links weren't created. The message contains the number of the name."""


def make_links(study: Study, text: str) -> list[PersonalLink]:
    """Create links either for all names (one per line) or for none. Raises LinkError."""
    names = [line.strip() for line in text.splitlines() if line.strip()]
    if len(names) > MOST:
        raise LinkError(f"At most {MOST} links can be created at once; you entered {len(names)}.")
    existing = set(study.personal_links.values_list("name", flat=True))
    for number, name in enumerate(names, start=1):
        if len(name) > LONGEST_NAME:
            raise LinkError(f"Name {number} is longer than {LONGEST_NAME} characters.")
        if name in existing:
            raise LinkError(f"Name {number}, “{name}”, already exists, but names must differ.")
        existing.add(name)
    with transaction.atomic():
        AuditEntry.objects.record(
            "personal links created", Topic.PLATFORM, study=study, after={"links": len(names)}
        )
        return PersonalLink.objects.bulk_create(
            PersonalLink(study=study, name=name) for name in names
        )


def links_with_states(study: Study) -> list[tuple[PersonalLink, str]]:
    """Return a study's links, oldest first, with their states: unused, active, done, ..."""
    links: Sequence[PersonalLink] = list(study.personal_links.order_by("pk"))
    keys = {worker_key(PersonalLinkAdapter.platform, link.code): link.pk for link in links}
    participations = study.participations.filter(
        PersonalLinkAdapter.query("worker__platform")
    ).order_by("pk")
    states = {
        keys[key]: STATES[Status(status)]
        for key, status in participations.values_list("worker__key", "status")
        if key in keys
    }
    return [(link, states.get(link.pk, "unused")) for link in links]
