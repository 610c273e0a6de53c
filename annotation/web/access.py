"""Access checks: the study, participation, worker or model that a request may use.

Missing objects and objects without access both give 404. Views rely on these tested functions. The
checks for annotators activate the study's language; their callers reset it, since threads are
reused.
"""

from collections.abc import Callable
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_http_methods
from django_htmx.middleware import HtmxDetails

from annotation.models import ApiToken, Participation, Study
from annotation.models.accounts import SCOPE_OF_RIGHT
from annotation.models.study import StudyQuerySet
from tasks.models import Job, LanguageModel, TaskUpload
from tasks.predictions import upload_job


class PageRequest(HttpRequest):
    """A request with the attributes that our middleware sets."""

    htmx: HtmxDetails


class ResearcherRequest(PageRequest):
    """A request from a signed-in researcher, as views behind `login_required` receive it."""

    user: User


def signed_in(
    *methods: str,
) -> Callable[[Callable[..., HttpResponse]], Callable[..., HttpResponse]]:
    """Decorate a page for signed-in researchers that accepts these methods."""

    def decorated(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        return login_required(require_http_methods(list(methods))(view))

    return decorated


REFUSALS = {
    "read": "Answers and results are visible to owners and analysts only.",
    "pay": "Pay and identities are visible to owners and payers only.",
    "own": "Only owners may do this.",
}


def studies_of(request: HttpRequest) -> StudyQuerySet:
    """Return the studies visible to this researcher; a token for one study sees only that study."""
    if not isinstance(request.user, User):
        return Study.objects.none()
    visible = Study.objects.visible_to(request.user)
    token = token_of(request)
    return visible.filter(pk=token.study_id) if token and token.study_id else visible


def token_of(request: HttpRequest) -> ApiToken | None:
    """Return the request's API token (web/authentication.py), or None for a page."""
    token = getattr(request, "auth", None)
    return token if isinstance(token, ApiToken) else None


def study_of(request: HttpRequest, name: str, right: str = "own") -> Study:
    """Return the named study, if the researcher has that right in it (models.study.RIGHTS).

    Researchers outside the team get 404; members without the right get 403 with an explanation. A
    token needs the right twice: by its owner's role and by its own scope.
    """
    study = get_object_or_404(studies_of(request), name=name)
    if right not in study.rights:
        raise PermissionDenied(f"Your role in this study is {study.role}. {REFUSALS[right]}")
    token = token_of(request)
    if token and not token.allows(right):
        scopes = " and ".join(token.scopes)
        needed = SCOPE_OF_RIGHT[right]
        raise PermissionDenied(f"This token has the scopes {scopes}; this requires {needed}.")
    return study


def annotator_of(request: HttpRequest, name: str, pseudonym: str, right: str) -> Participation:
    """Return the annotator with that pseudonym, in a study where the researcher has that right."""
    participations = study_of(request, name, right).participations.select_related(
        "scenario__task", "worker"
    )
    return get_object_or_404(participations, pseudonym=pseudonym)


def upload_of(request: HttpRequest, pk: UUID) -> TaskUpload:
    """Return the task upload if it belongs to this researcher, or raise 404."""
    return get_object_or_404(TaskUpload.objects.select_related("job"), pk=pk, owner=request.user)


def predictions_job_of(request: HttpRequest, pk: int) -> Job:
    """Return the job that imports this researcher's large predictions upload, or raise 404."""
    return get_object_or_404(Job, pk=pk, kind=upload_job.KIND, owner=request.user)


def job_of(request: HttpRequest, pk: int) -> Job:
    """Return a job that this researcher may see, or raise 404.

    A study's job requires the read right there, even for the researcher who started it. Other jobs
    are visible to their owner. A token for one study sees only that study's jobs.
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
    """Return the named model if this researcher uploaded it, or raise 404.

    All researchers may view models and tasks; only the uploader may change a model.
    """
    if not request.user.is_authenticated:
        raise Http404
    return get_object_or_404(LanguageModel, name=name, uploaded_by=request.user)
