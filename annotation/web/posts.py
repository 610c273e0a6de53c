"""POST requests by researchers, each declared once for both the page and the API.

A declaration names a form for the input and a step function for the effect. The required right is
in rights.toml. `page` builds the view for the page, and views.py that for the API.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from annotation.models import Participation, Study
from annotation.web.access import ResearcherRequest, annotator_of, right_to, signed_in, study_of

About = TypeVar("About")


class UnknownAction(Http404):
    """The field `action` does not name any of a POST's actions."""


class Post(Generic[About]):
    """The declaration of a POST request about a study, an annotator or a task.

    If the form depends on the field `action`, `actions` maps its values to forms, or to None for
    actions without fields. `faults` maps exceptions from the step to the field that shows them.
    `conflicts` are exceptions that depend on the current state; the API returns 409 for them.
    """

    row: ClassVar[str]  # URL name of the page, and its key in rights.toml
    path: ClassVar[str] = ""  # such as "seats/"; appended to `below` in the page's and API's URLs
    below: ClassVar[tuple[str, str]] = ("studies/<str:name>/",) * 2
    form_class: ClassVar[Any] = None
    actions: ClassVar[Mapping[str, Any]] = {}
    faults: ClassVar[Mapping[type[Exception], str]] = {}
    conflicts: ClassVar[tuple[type[Exception], ...]] = ()
    conflict_status = 409  # for the page
    summary: ClassVar[str]  # this and the next ones are for the OpenAPI document
    operation_id: ClassVar[str | None] = None
    success = 200
    shows_message = False  # whether the page shows a message on success

    def subject(self, request: HttpRequest, data: Mapping[str, Any], **names: Any) -> About:
        """Return the object that the request is about. Raises Http404 or PermissionDenied."""
        raise NotImplementedError

    def form(self, subject: About, data: Any, files: Any = None) -> Any:
        """Return the bound form, or None if the POST does not have fields."""
        form_class = self.form_for(data)
        return form_class(data, files, subject=subject) if form_class else None

    def form_for(self, data: Any) -> Any:
        """Return the class of the form, and remember the action. Raises UnknownAction."""
        if not self.actions:
            return self.form_class
        self.action = data.get("action")
        if not isinstance(self.action, str) or self.action not in self.actions:
            raise UnknownAction(f"Expected one of {', '.join(self.actions)}.")
        return self.actions[self.action]

    def do(self, subject: About, data: dict[str, Any], by: User) -> Any:
        """Run the step, and return its result, which is usually a sentence.

        `data` is the cleaned data of the form or, without a form, the data of the request.
        """
        raise NotImplementedError

    def in_words(self, result: Any) -> list[str]:
        """Return the result as a sentence, followed by any warnings about it."""
        return [str(result)]

    def fault(self, error: Exception) -> str | None:
        """Return the field at which to show an error, or None for a conflict."""
        return next(field for kind, field in self.faults.items() if isinstance(error, kind))


def sentences(error: Exception) -> list[str]:
    """Return the messages of an exception: one per annotator, if it concerns several."""
    return list(getattr(error, "problems", {}).values()) or [str(error)]


View = Callable[..., HttpResponse]
Views = dict[type[Post[Any]], View]  # maps declarations to the views of their pages


class StudyPost(Post[Study]):
    """A POST about a single study."""

    def subject(self, request: HttpRequest, data: Mapping[str, Any], **names: Any) -> Study:
        return study_of(request, names["name"], right_to(self.row))


class AnnotatorPost(Post[Participation]):
    _study, _one = "studies/<str:name>/", "/<str:pseudonym>/"
    below = (f"{_study}annotators{_one}", f"{_study}participations{_one}")

    def subject(self, request: HttpRequest, data: Mapping[str, Any], **names: Any) -> Participation:
        return annotator_of(request, names["name"], names["pseudonym"], right_to(self.row))


def with_status(response: HttpResponse, status: int = 422) -> HttpResponse:
    """Set the status of a page that shows errors. Redirects stay redirects."""
    if response.status_code == 200:
        response.status_code = status
    return response


def page(kind: type[Post[Any]], show: View, to: str | View, get: View | None = None) -> View:
    """Return a page's view for a POST. `show` displays errors, and success redirects to `to`.

    `to` is the name of a URL with the same parameters, or a function of the request, the result and
    the parameters. `get` handles GET requests to the same URL.
    """

    @signed_in(*(["GET", "POST"] if get else ["POST"]))
    def view(request: ResearcherRequest, **names: Any) -> HttpResponse:
        if get is not None and request.method == "GET":
            return get(request, **names)
        post = kind()
        subject = post.subject(request, request.POST, **names)
        form = post.form(subject, request.POST, request.FILES)
        if form is not None and not form.is_valid():
            return with_status(show(request, subject, form))
        try:
            data = request.POST.dict() if form is None else form.cleaned_data
            result = post.do(subject, data, request.user)
        except (*post.faults, *post.conflicts) as error:
            is_fault = form is not None and isinstance(error, tuple(post.faults))
            if is_fault and (field := post.fault(error)):
                form.add_error(field, sentences(error))
                return with_status(show(request, subject, form))
            return with_status(show(request, subject, problem=str(error)), post.conflict_status)
        if post.shows_message:
            done, *warnings = post.in_words(result)
            messages.success(request, done)
            for warning in warnings:
                messages.warning(request, warning)
        return redirect(to, **names) if isinstance(to, str) else to(request, result, **names)

    return view


def study_page(show: View, right: str = "see") -> View:
    """Return the view for GET requests to a page about a study, for members with this right."""

    @signed_in("GET")
    def view(request: ResearcherRequest, name: str) -> HttpResponse:
        return show(request, study_of(request, name, right))

    return view


def section(kind: type[Post[Any]], show: View, of: str, anchor: str) -> View:
    """Return the view for a POST form in a section of page `of`. GET redirects to the section."""

    def to(request: HttpRequest, *_result: Any, **names: Any) -> HttpResponse:
        return redirect(f"{reverse(of, kwargs=names)}#{anchor}")

    return page(kind, show, to, get=to)
