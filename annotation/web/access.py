"""Access checks, which return the study, participation, upload, job or model that is used.

Objects that are missing and those that are inaccessible both lead to 404; members of a study who
lack a right get 403. A page and its API counterpart look up the same row of rights.toml
(`right_to`), so both require the same right. tests/annotation/web/test_rights.py compares the rows
with the URLs that exist.
"""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_http_methods
from django_htmx.middleware import HtmxDetails

from annotation.models import ApiToken, Participation, Study, Topic
from annotation.models.accounts import SCOPE_OF_RIGHT
from annotation.models.study import StudyQuerySet
from tasks.models import Job, LanguageModel, TaskUpload
from tasks.predictions import upload_job

View = Callable[..., HttpResponseBase]


class PageRequest(HttpRequest):
    htmx: HtmxDetails


class ResearcherRequest(PageRequest):
    """The request of a signed-in researcher, for views decorated with `login_required`."""

    user: User


def signed_in(*methods: str) -> Callable[[View], Callable[..., Any]]:
    """Restrict a page or file to signed-in users and to these methods."""

    def decorated(view: View) -> Callable[..., Any]:
        return login_required(require_http_methods(list(methods))(view))

    return decorated


@dataclass(frozen=True)
class RightsRow:
    """The right that a page's POST request requires, and its API counterpart.

    `right` is one of models.study.RIGHTS, or "" for pages outside studies, where users may change
    their own objects. `topic` is that of the audit log entry that the middleware adds if the step
    did not write one (config/audit.py), or None if signals write all entries or `unlogged` explains
    why none are written. Polling (`is_polled`) is recorded at most once an hour. `twin` is the URL
    name of the API counterpart, and `reason` explains why it is missing.
    """

    right: str = ""
    topic: Topic | None = None
    twin: str = ""
    reason: str = ""
    is_polled: bool = False
    unlogged: str = ""


_TABLES = tomllib.loads(Path(__file__).with_name("rights.toml").read_text(encoding="utf-8"))


def _post(row: dict[str, Any]) -> RightsRow:
    """Convert a row. Raises KeyError, ValueError or TypeError if it contains an unknown name."""
    topic = Topic(row["topic"]) if "topic" in row else None
    reasons = {key: _TABLES["reasons"][row[key]] for key in ("reason", "unlogged") if key in row}
    return RightsRow(**row | reasons | {"topic": topic})


POSTS = {name: _post(row) for name, row in _TABLES["posts"].items()}


def right_to(page: str) -> str:
    return POSTS[page].right


REFUSALS = {
    "read": "Answers and results are visible to owners and analysts only.",
    "pay": "Pay and identities are visible to owners and payers only.",
    "own": "Only owners may do this.",
}


def studies_of(request: HttpRequest, right: str = "see") -> StudyQuerySet:
    """Return the studies for which this user, and any token, has this right."""
    token = token_of(request)
    if not isinstance(request.user, User) or (token and not token.allows(right)):
        return Study.objects.none()
    visible = Study.objects.visible_to(request.user, right)
    return visible.filter(pk=token.study_id) if token and token.study_id else visible


def token_of(request: HttpRequest) -> ApiToken | None:
    """Return the API token of the request (web/authentication.py), or None on pages."""
    token = getattr(request, "auth", None)
    return token if isinstance(token, ApiToken) else None


def may_run(request: HttpRequest) -> None:
    """Raise PermissionDenied if the token may not change objects outside studies.

    All researchers share tasks and models, so a token must have the scope run and no study limit.
    """
    token = token_of(request)
    if token is None:
        return
    if not token.allows("own"):
        scopes = " and ".join(token.scopes)
        raise PermissionDenied(f"This token has the scopes {scopes}; this requires run.")
    if token.study_id:
        raise PermissionDenied("This token is limited to one study; this URL belongs to no study.")


def study_of(request: HttpRequest, name: str, right: str = "own") -> Study:
    """Return the study with this name if the researcher has the right (models.study.RIGHTS).

    Researchers outside the team get 404, and members without the right get 403. For an API token,
    the right must be part of both its owner's role and its scope.
    """
    study = get_object_or_404(studies_of(request), name=name)
    if right not in study.rights:
        raise PermissionDenied(f"Your role in this study is {study.role}. {REFUSALS[right]}")
    if token := token_of(request):
        study.scope = frozenset(filter(token.allows, study.scope))
        if right not in study.rights:
            scopes, needed = " and ".join(token.scopes), SCOPE_OF_RIGHT[right]
            raise PermissionDenied(f"This token has the scopes {scopes}; this requires {needed}.")
    return study


def annotator_of(request: HttpRequest, name: str, pseudonym: str, right: str) -> Participation:
    study = study_of(request, name, right)
    participations = study.participations.select_related("scenario__task", "worker")
    participation = get_object_or_404(participations, pseudonym=pseudonym)
    participation.scenario.study = study  # this saves a query
    return participation


def upload_of(request: HttpRequest, pk: UUID) -> TaskUpload:
    """Return a task upload by this researcher, or raise Http404."""
    return get_object_or_404(TaskUpload.objects.select_related("job"), pk=pk, owner=request.user)


def predictions_job_of(request: HttpRequest, pk: int) -> Job:
    """Return this researcher's job for importing a prediction file, or raise Http404."""
    return get_object_or_404(Job, pk=pk, kind=upload_job.KIND, owner=request.user)


def job_of(request: HttpRequest, pk: int) -> Job:
    """Return a job that this researcher may see, or raise Http404.

    The job of a study requires the read right, even for the researcher who started it. Other jobs
    are visible to their owner. A token for a single study only gives access to that study's jobs.
    """
    token = token_of(request)
    job = get_object_or_404(Job, pk=pk)
    if not isinstance(request.user, User):
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
    """Return a model, which only its uploader may change, or raise Http404 for other users."""
    if not request.user.is_authenticated:
        raise Http404
    return get_object_or_404(LanguageModel, name=name, uploaded_by=request.user)
