"""The only doors: what turns a request into a study, a participation, a worker or one's model.

Not yours and not there look the same: 404. Each door is tested hard, so that views need not be.
The doors of annotators make the page speak the language of the study; `in_study_language` ends it.
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import translation
from django.views.decorators.http import require_http_methods
from django_htmx.middleware import HtmxDetails

from annotation.models import ApiToken, Kind, Participation, Status, Study
from annotation.models.api_token import SCOPE_OF_RIGHT
from annotation.models.study import StudyQuerySet
from annotation.platforms.links import COOKIE_AGE, COOKIE_SALT, OpenLink, browser
from annotation.recruitment import arrivals, doors, refusals, start_limit
from annotation.recruitment.doors import Identity
from annotation.recruitment.identities import worker_key
from annotation.recruitment.start_limit import client_address
from annotation.steps import blinding
from tasks.models import Job, LanguageModel, TaskUpload
from tasks.predictions import upload_job

TICKET_SALT = "annotation.arrival"
# Long enough to read the landing page and be called away; an address that was copied is worth
# nothing a few hours later, and a platform holds a place no longer before the work begins.
TICKET_AGE = 2 * 3600  # seconds


class PageRequest(HttpRequest):
    """A request as our middleware hands it on."""

    htmx: HtmxDetails


class ResearcherRequest(PageRequest):
    """A request of a researcher who is signed in: what views behind `login_required` get."""

    user: User


def signed_in(
    *methods: str,
) -> Callable[[Callable[..., HttpResponse]], Callable[..., HttpResponse]]:
    """A page of researchers who are signed in, for these methods."""

    def decorated(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        return login_required(require_http_methods(list(methods))(view))

    return decorated


ENDED = (Status.COMPLETED, Status.SCREENED_OUT, Status.WITHDRAWN, Status.REJECTED)


class Arrival:
    """Who stands at a door: platform, kind and key of the worker, and the browser they use."""

    def __init__(self, request: HttpRequest, door: doors.Door, code: str, ticket: str = ""):
        self.door, self.study, self.kind, self.code = door, door.study, door.kind, code
        self.is_preview = door.is_preview(request)
        held = self._of_ticket(ticket)
        # Of two clicks on the first Start neither has the cookie yet: the form holds what is drawn.
        self.drawn = held.get("browser") or secrets.token_urlsafe(24)
        self.browser = browser(request) or self.drawn
        self.who = None
        if not self.is_preview:
            who = held.get("who")
            self.who = Identity(**who) if who else door.identity(request)
        self.query = request.META.get("QUERY_STRING", "")
        self.lacks_computer = self.study.computer_only and _is_phone(request)
        self.address = client_address(request) or ""

    @property
    def ticket(self) -> str:
        """Who stands here, and a browser without a cookie, signed by us for the form of the page.

        A platform's own signature lives for two minutes: it is checked once, when the page is
        shown, and Start believes this field instead. What the cookie holds stays in the cookie.
        """
        known = self.browser != self.drawn
        who = self.who if self.who and self.who.person != self.browser else None
        held = {
            "door": self.code,
            "browser": "" if known else self.drawn,
            "who": asdict(who) if who else None,
        }
        return signing.dumps(held, salt=TICKET_SALT)

    def _of_ticket(self, ticket: str) -> dict[str, Any]:
        """What that `ticket` holds; nothing without one, or for a stale or foreign one."""
        try:
            held = signing.loads(ticket, salt=TICKET_SALT, max_age=TICKET_AGE)
        except signing.BadSignature:
            return {}
        return held if held["door"] == self.code else {}

    @property
    def key(self) -> str:
        """The worker's key; nobody has the key of an unknown browser."""
        return worker_key(self.door.platform, self.who.person) if self.who else ""

    def refusal(self) -> str:
        """Why they would get no seat now (a code of refusals.NO_SEAT), or ""."""
        if self.lacks_computer:
            return "device"
        browser = worker_key("browser", self.browser) if self.kind == Kind.PERSON else ""
        return self.door.refusal() or refusals.refusal(
            self.study, self.key, self.kind, self.door.scenarios(), browser
        )

    def begun(self) -> Participation | None:
        """What they are at here, or would go on with; perhaps somebody else's of that id."""
        theirs = self.study.participations.filter(worker__key=self.key).order_by("-pk")
        return theirs.live().first() or theirs.expired_at_work().first()

    def ended(self) -> Participation | None:
        """What they have ended here: its page leads out, as it did the first time.

        Where the platform has ids of the work, only that of this very one: another was in vain.
        """
        theirs = self.study.participations.filter(worker__key=self.key, status__in=ENDED)
        if self.who and self.who.submission:
            key = arrivals.submission_key(self.door.platform, self.who.submission)
            theirs = theirs.filter(submissions__key=key)
        return theirs.order_by("-pk").first()

    def owns(self, participation: Participation) -> bool:
        """Is it theirs, so that its personal link may be shown to them?

        An id that nobody verified is known to others too: then only the browser that began counts.
        """
        if self.who is None or self.who.verified:
            return self.who is not None
        return participation.browser == worker_key("browser", self.browser)

    def start(self, in_browser: bool = True) -> Participation:
        """Take a seat; an unknown browser is the identity that was drawn for it.

        By the page and by the API: what keeps an arrival out is decided here, for both. Not
        `in_browser`, no browser is stored. Raises recruitment.RecruitmentError.
        """
        self._check_may_start()
        self.who = self.who or Identity(self.browser, verified=True)
        stored = self.browser if in_browser and self.kind == Kind.PERSON else ""
        try:
            return arrivals.arrive(self.door, self.who, stored)
        except refusals.RecruitmentError as refusal:
            if refusal.code == "elsewhere":
                arrivals.note_elsewhere(self.door, self.who)
            raise

    def _check_may_start(self) -> None:
        """Refuse previews, phones where a computer is needed, and too many Starts of one address.

        Annotators at work keep their seat: they go on, on any device.
        """
        if self.is_preview:
            raise refusals.RecruitmentError("preview")
        begun = self.begun()
        if self.lacks_computer and not begun:
            raise refusals.RecruitmentError("device")
        known = begun or self.ended()
        if not self.door.anonymous or (known is not None and self.owns(known)):
            return
        if not start_limit.admit(self.address):
            raise refusals.RecruitmentError("busy")
        by_open_link = type(self.door) is OpenLink
        if by_open_link and not start_limit.admit_to(self.study, self.address):
            raise refusals.RecruitmentError("address")

    def set_cookie(self, response: HttpResponse, secure: bool) -> None:
        response.set_signed_cookie(
            settings.WORKER_COOKIE_NAME,
            self.browser,
            salt=COOKIE_SALT,
            max_age=COOKIE_AGE,
            httponly=True,
            secure=secure,
            samesite="Lax",
        )


def _is_phone(request: HttpRequest) -> bool:
    """Does the browser call itself a phone? Read here, stored nowhere."""
    hint = request.headers.get("Sec-CH-UA-Mobile", "")
    return hint == "?1" or (not hint and "Mobi" in request.headers.get("User-Agent", ""))


def arrival(request: HttpRequest, code: str, ticket: str = "") -> Arrival:
    """Who comes to the study of that link; 404 for an unknown code.

    `ticket` is what the landing page gave them (Arrival.ticket). Raises doors.NotAdmitted for a
    forged or stale address.
    """
    door = doors.door_at(code)
    if door is None:
        raise Http404
    translation.activate(door.study.interface_language)
    return Arrival(request, door, code, ticket)


def participation_of(token: str) -> Participation:
    """The participation of that personal link; 404 where there is none."""
    participation = get_object_or_404(
        Participation.objects.select_related("study", "scenario__task", "worker").defer(
            "scenario__task__card_data"
        ),
        token=token,
    )
    translation.activate(participation.study.interface_language)
    return participation


def speak_to(participation: Participation) -> None:
    """The language of its study, for a participation that a step has found."""
    translation.activate(participation.scenario.interface_language)


@contextmanager
def in_study_language(language: str = settings.LANGUAGE_CODE) -> Iterator[None]:
    """English until a door, or that language, says otherwise; afterwards what was before.

    A thread serves one request after the other: without this the next one, of anybody, would speak
    the language of the last.
    """
    with translation.override(language):
        yield


def language_of(request: HttpRequest) -> str:
    """The language of the study whose annotator sends this; English where none is known.

    For pages that are shown where no door was reached.
    """
    named = request.resolver_match.kwargs if request.resolver_match else {}
    if "token" in named:
        theirs = Participation.objects.filter(token=named["token"])
        return theirs.values_list("study__interface_language", flat=True).first() or "en"
    door = doors.door_at(named["code"]) if "code" in named else None
    return door.study.interface_language if door else "en"


REFUSALS = {
    "read": "Answers and results are visible to owners and analysts only.",
    "pay": "Pay and identities are visible to owners and payers only.",
    "own": "Only owners may do this.",
}


def studies_of(request: HttpRequest) -> StudyQuerySet:
    """The studies that the researcher who asks can see; by a token of one study, that one."""
    if not isinstance(request.user, User):
        return Study.objects.none()
    visible = Study.objects.visible_to(request.user)
    token = token_of(request)
    return visible.filter(pk=token.study_id) if token and token.study_id else visible


def token_of(request: HttpRequest) -> ApiToken | None:
    """The token by which a program asks (annotation/api); None for a page."""
    token = getattr(request, "auth", None)
    return token if isinstance(token, ApiToken) else None


def study_of(request: HttpRequest, name: str, right: str = "own") -> Study:
    """The study of that name, if the researcher who asks has that right in it (models.RIGHTS).

    A researcher outside its team gets 404; a member without that right, 403 with a sentence. A
    program needs the right twice: by its owner's role, and by the scope of its token.
    """
    study = get_object_or_404(studies_of(request), name=name)
    if right not in study.rights:
        raise PermissionDenied(f"Your role in this study is {study.role}. {REFUSALS[right]}")
    token = token_of(request)
    if token and not token.allows(right):
        scopes = " and ".join(token.scopes)
        raise PermissionDenied(f"This token may {scopes} only: this needs {SCOPE_OF_RIGHT[right]}.")
    return study


def scores_of(request: HttpRequest, name: str, right: str = "read") -> Study:
    """The study for who may read its results, where test scores of people may be seen now.

    The door of every page, file and answer of the API with results. Raises blinding.ScoresHidden.
    """
    study = study_of(request, name, right)
    blinding.check_uncovered(study)
    return study


def annotator_of(request: HttpRequest, name: str, pseudonym: str, right: str) -> Participation:
    """The annotator of that pseudonym in a study in which the researcher has that right."""
    participations = study_of(request, name, right).participations.select_related(
        "scenario__task", "worker"
    )
    return get_object_or_404(participations, pseudonym=pseudonym)


def upload_of(request: HttpRequest, pk: UUID) -> TaskUpload:
    """The upload of a task if it belongs to the researcher who asks; else 404."""
    return get_object_or_404(TaskUpload.objects.select_related("job"), pk=pk, owner=request.user)


def predictions_job_of(request: HttpRequest, pk: int) -> Job:
    """The job of a large upload of predictions by the researcher who asks; else 404."""
    return get_object_or_404(Job, pk=pk, kind=upload_job.KIND, owner=request.user)


def job_of(request: HttpRequest, pk: int) -> Job:
    """A job by its number: of a study by the right to read it, of no study one's own; else 404.

    Who began a job of a study sees it no longer than the study. By a token of one study only the
    jobs of that study.
    """
    token = token_of(request)
    job = get_object_or_404(Job, pk=pk) if pk < 2**63 else None
    if job is None or not isinstance(request.user, User):
        raise Http404
    if "study" in job.parameters:
        study = studies_of(request).filter(pk=job.parameters["study"]).first()
        may_see = study is not None and "read" in study.rights
    else:
        may_see = job.owner_id == request.user.pk and not (token and token.study_id)
    if not may_see:
        raise Http404
    return job


def own_model(request: HttpRequest, name: str) -> LanguageModel:
    """The model of that name if the researcher who asks uploaded it; else 404.

    Every researcher may look at it, as at a task; only this door leads to changing it.
    """
    if not request.user.is_authenticated:
        raise Http404
    return get_object_or_404(LanguageModel, name=name, uploaded_by=request.user)
