"""The only doors: what turns a request into a study, a participation or a worker.

Not yours and not there look the same: 404. Each door is tested hard, so that views need not be.
"""

import secrets

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from annotation.models import Kind, Participation, PersonalLink, Study
from annotation.personal_links import RECRUITER
from annotation.recruitment import worker_key

COOKIE = "handful_worker"
COOKIE_SALT = "annotation.worker"
COOKIE_AGE = 400 * 24 * 3600  # seconds; the longest that browsers keep


class Arrival:
    """Who stands at a study's link: recruiter, kind and key of the worker.

    On an open link a worker is a browser: a signed first-party cookie. On a personal link the
    worker is whoever holds it (`holder` is its code). The simulated link is another address of the
    same study, so that robots can never be counted as people.
    """

    def __init__(self, request: HttpRequest, study: Study, kind: str, holder: str = ""):
        self.study = study
        self.kind = kind
        if holder:
            self.recruiter, self.identity, self.is_new = RECRUITER, holder, False
            return
        self.recruiter = "link" if kind == Kind.PERSON else "simulated"
        self.identity = request.get_signed_cookie(
            COOKIE, default="", salt=COOKIE_SALT, max_age=COOKIE_AGE
        )
        self.is_new = not self.identity

    @property
    def key(self) -> str:
        """The worker's key; nobody has the key of an unknown browser."""
        return worker_key(self.recruiter, self.identity) if self.identity else ""

    def remember(self) -> None:
        """Give an unknown browser an identity (only on POST: GET never writes)."""
        if self.is_new:
            self.identity = secrets.token_urlsafe(24)

    def set_cookie(self, response: HttpResponse, secure: bool) -> None:
        if self.recruiter == RECRUITER:
            return
        response.set_signed_cookie(
            COOKIE,
            self.identity,
            salt=COOKIE_SALT,
            max_age=COOKIE_AGE,
            httponly=True,
            secure=secure,
            samesite="Lax",
        )


def arrival(request: HttpRequest, code: str) -> Arrival:
    """Who comes to the study of that link; 404 for an unknown code."""
    study = Study.objects.filter(link_code=code).first()
    if study is not None:
        return Arrival(request, study, Kind.PERSON)
    link = PersonalLink.objects.select_related("study").filter(code=code).first()
    if link is not None:
        return Arrival(request, link.study, Kind.PERSON, holder=link.code)
    return Arrival(request, get_object_or_404(Study, simulated_link_code=code), Kind.SIMULATED)


def participation_of(token: str) -> Participation:
    """The participation of that personal link; 404 where there is none."""
    return get_object_or_404(
        Participation.objects.select_related("study", "scenario__task", "worker").defer(
            "study__manifest", "scenario__task__report", "scenario__task__card_data"
        ),
        token=token,
    )


def study_of(request: HttpRequest, name: str) -> Study:
    """The study of that name if it belongs to the researcher who asks; else 404."""
    if not request.user.is_authenticated:
        raise Http404
    return get_object_or_404(Study.objects.of(request.user), name=name)
