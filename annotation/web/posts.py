"""A researcher's POST, declared once for its page and the API.

Its right is declared here or in rights.py, its input is a form, and its effect a step function.
`page` builds the page's view; views.py builds the API's.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from annotation.models import Participation, Study
from annotation.web.access import ResearcherRequest, annotator_of, signed_in, study_of
from annotation.web.rights import right_to

About = TypeVar("About")


class Post(Generic[About]):
    """One POST about a study, an annotator or a task.

    Exceptions from the step are shown at the field that `faults` names. `conflicts` depend on the
    current state: the API responds to them with 409.
    """

    row: ClassVar[str]  # the page's URL name, also its key in rights.py if `right` is unset
    right: ClassVar[str] = ""
    path: ClassVar[str] = ""  # "seats/", after `below`: the page's and API's URLs follow
    below: ClassVar[tuple[str, str]] = ("studies/<str:name>/",) * 2
    form_class: ClassVar[Any] = None
    faults: ClassVar[Mapping[type[Exception], str]] = {}
    conflicts: ClassVar[tuple[type[Exception], ...]] = ()
    summary: ClassVar[str]  # this and those below: for the OpenAPI document
    operation_id: ClassVar[str | None] = None
    success = 200
    tells = False  # Does the page show a sentence about the result?

    @classmethod
    def twin(cls) -> str:
        """Return the API's URL name for `path`."""
        return f"api_{cls.path.strip('/').replace('-', '_')}"

    def about(self, request: HttpRequest, sent: Mapping[str, Any], **names: Any) -> About:
        """Return the subject, after the access check. Raises Http404, PermissionDenied."""
        raise NotImplementedError

    def form(self, about: About, sent: Any, files: Any = None) -> Any:
        """Return the bound form, or None if there is nothing to fill in."""
        return self.form_class(sent) if self.form_class else None

    def do(self, about: About, sent: dict[str, Any], by: User) -> Any:
        """Call the step with the cleaned form; return the result, usually a sentence."""
        raise NotImplementedError

    def in_words(self, done: Any) -> str:
        """Return the result as a sentence."""
        return str(done)

    def fault(self, error: Exception) -> str:
        """Return the field at which that exception is shown."""
        return next(field for kind, field in self.faults.items() if isinstance(error, kind))


def sentences(error: Exception) -> list[str]:
    """Return an exception's sentences: more than one if it concerns several annotators."""
    return list(getattr(error, "problems", {}).values()) or [str(error)]


View = Callable[..., HttpResponse]
Views = dict[type[Post[Any]], View]  # of pages


class StudyPost(Post[Study]):
    def about(self, request: HttpRequest, sent: Mapping[str, Any], **names: Any) -> Study:
        return study_of(request, names["name"], self.right or right_to(self.row))


class AnnotatorPost(Post[Participation]):
    _study, _one = "studies/<str:name>/", "/<str:pseudonym>/"
    below = (f"{_study}annotators{_one}", f"{_study}participations{_one}")

    def about(self, request: HttpRequest, sent: Mapping[str, Any], **names: Any) -> Participation:
        right = self.right or right_to(self.row)
        return annotator_of(request, names["name"], names["pseudonym"], right)


def page(kind: type[Post[Any]], show: View, to: str | View, get: View | None = None) -> View:
    """Return the page's view of a POST: `show` displays errors, success redirects `to` a page.

    `to` is the name of a URL with the same parameters, or a function of request, result and
    parameters. `get` handles GET requests to the same URL.
    """

    @signed_in(*(["GET", "POST"] if get else ["POST"]))
    def view(request: ResearcherRequest, **names: Any) -> HttpResponse:
        if get is not None and request.method == "GET":
            return get(request, **names)
        post = kind()
        about = post.about(request, request.POST, **names)
        form = post.form(about, request.POST, request.FILES)
        if form is not None and not form.is_valid():
            return show(request, about, form)
        try:
            done = post.do(about, form.cleaned_data if form is not None else {}, request.user)
        except tuple(post.faults) as error:
            form.add_error(post.fault(error), sentences(error))
            return show(request, about, form)
        except post.conflicts as error:
            return show(request, about, problem=str(error), status=409)
        if post.tells:
            messages.success(request, post.in_words(done))
        return redirect(to, **names) if isinstance(to, str) else to(request, done, **names)

    return view


def section(kind: type[Post[Any]], show: View, of: str, anchor: str) -> View:
    """Return the view of a POST from a section of the page `of`: GET and success lead there."""

    def to(request: HttpRequest, *_done: Any, **names: Any) -> HttpResponse:
        return redirect(f"{reverse(of, kwargs=names)}#{anchor}")

    return page(kind, show, to, get=to)
