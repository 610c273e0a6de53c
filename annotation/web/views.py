"""Base classes for API views, and the view for unknown URLs."""

import hashlib
import json
from collections.abc import Mapping
from inspect import getdoc
from typing import Any, ClassVar

from django import forms
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder
from rest_framework.views import APIView

from annotation.models import Study
from annotation.web import form_bodies
from annotation.web.access import study_of
from annotation.web.posts import Post, UnknownAction, sentences
from annotation.web.problems import Conflict, Unprocessable
from annotation.web.rights import right_to

OPTIONS = "options"


class ApiView(APIView):
    """Rejects unknown query parameters, so that misspelt parameters are never ignored."""

    parameters: frozenset[str] = frozenset()
    parser_classes: ClassVar[list[type[BaseParser]]] = [form_bodies.StrictJSONParser]
    # OPTIONS would describe DRF's own forms, which are not used. See the OpenAPI document.
    http_method_names: ClassVar[list[str]] = [
        name for name in APIView.http_method_names if name != OPTIONS
    ]

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        """Ignore the Accept header, because each URL has only one format."""
        return super().perform_content_negotiation(request, force=True)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        unknown = sorted(set(request.query_params) - self.parameters)
        if unknown:
            names = ", ".join(sorted(self.parameters)) or "none"
            raise ValidationError(
                {name: [f"Unknown parameter {name!r}. Known: {names}."] for name in unknown}
            )


def tagged(request: Request, data: Any) -> Response:
    """Return a response with an ETag, or 304 if the client already has this content."""
    tag = etag(data)
    headers = {"ETag": tag}
    etags = [part.strip() for part in request.headers.get("If-None-Match", "").split(",")]
    if tag in etags or "*" in etags:
        return Response(status=304, headers=headers)
    return Response(data, headers=headers)


def etag(data: Any) -> str:
    """Return a hash of the content as an ETag. Equal content has equal ETags."""
    text = json.dumps(data, cls=JSONEncoder, sort_keys=True)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


class Twin(ApiView):
    """The API counterpart of a page's POST, with the same right, form and step function.

    `page` is its row in rights.py; `form` binds the page's form to the body; `do` calls the
    step and returns the response. Exceptions from a step return 409 (`conflicts`), or 422 at
    the field that `faults` names.
    """

    page: ClassVar[str]
    form_class: ClassVar[form_bodies.FormClass | None] = None
    more_fields: ClassVar[Mapping[str, serializers.Field | None]] = {}
    reply: ClassVar[Any] = None
    success: ClassVar[int] = 200
    summary: ClassVar[str] = ""
    operation_id: ClassVar[str | None] = None
    conflicts: ClassVar[tuple[type[Exception], ...]] = ()
    faults: ClassVar[Mapping[type[Exception], str]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Document the body and the response. Each subclass gets its own `post` to document."""
        super().__init_subclass__(**kwargs)
        if not cls.summary:
            return
        fields = cls.form_fields()
        fields = {k: f for k, f in {**fields, **cls.more_fields}.items() if f is not None}

        def post(self: Twin, request: Request, **names: Any) -> Response:
            return self.answer(request, **names)

        cls.post = extend_schema(
            summary=cls.summary,
            operation_id=cls.operation_id,
            request=form_bodies.shape(f"{cls.__name__}Body", fields) if fields else None,
            responses={cls.success: cls.reply or form_bodies.shape(f"{cls.__name__}Done", DONE)},
        )(post)

    @classmethod
    def form_fields(cls) -> dict[str, Any]:
        return form_bodies.fields_of(cls.form_class) if cls.form_class else {}

    def answer(self, request: Request, **names: Any) -> Response:
        """Check access, validate the form, run the step function and return the response."""
        body = form_bodies.as_object(request.data)
        subject = self.subject(request, body, **names)
        form_bodies.check_known(body, self.field_names(body))
        form = self.form(subject, self.adapted(subject, body))
        if form is not None:
            form_bodies.check(form)
        try:
            result = self.do(subject, form.cleaned_data if form is not None else body, request)
        except self.conflicts as error:
            raise Conflict(str(error)) from None
        except tuple(self.faults) as error:
            field = next(f for kind, f in self.faults.items() if isinstance(error, kind))
            raise Unprocessable({field: sentences(error)}) from None
        return result if isinstance(result, Response) else Response(result, status=self.success)

    def field_names(self, body: dict[str, Any]) -> set[str]:
        names = set(self.form_class.base_fields) if self.form_class else set()
        hidden = {name for name, field in self.more_fields.items() if field is None}
        return (names | set(self.more_fields)) - hidden

    def adapted(self, subject: Any, body: dict[str, Any]) -> dict[str, Any]:
        """Return the body, converted to the form's field names and values."""
        return body

    def subject(self, request: Request, body: dict[str, Any], **names: Any) -> Any:
        """Check access and return the object that the request is about."""
        raise NotImplementedError

    def form(self, subject: Any, body: dict[str, Any]) -> forms.BaseForm | None:
        """Return the page's bound form, or None if it does not have fields."""
        return self.form_class(form_bodies.as_form_data(body)) if self.form_class else None

    def do(self, subject: Any, data: dict[str, Any], request: Request) -> Any:
        """Run the step with the cleaned form data, and return the JSON of the response."""
        raise NotImplementedError


DONE = {"done": serializers.CharField(help_text="result, as a sentence")}


class StudyTwin(Twin):
    """A POST about a single study."""

    def subject(self, request: Request, body: dict[str, Any], **names: Any) -> Study:
        return study_of(request, names["name"], right_to(self.page))


class PostTwin(Twin):
    """The counterpart of a POST that its page declares (annotation/web/posts.py)."""

    step: ClassVar[type[Post[Any]]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        step = cls.step
        cls.page, cls.form_class, cls.summary = step.row, step.form_class, step.summary
        cls.operation_id, cls.success = step.operation_id, step.success
        cls.faults, cls.conflicts = step.faults, step.conflicts
        super().__init_subclass__(**kwargs)

    @classmethod
    def form_fields(cls) -> dict[str, Any]:
        actions = cls.step.actions
        return form_bodies.fields_of_actions(actions) if actions else super().form_fields()

    def field_names(self, body: dict[str, Any]) -> set[str]:
        if not self.step.actions:
            return super().field_names(body)
        try:
            form_class = self.post_of_page.form_for(body)
        except UnknownAction as error:
            raise Unprocessable({"action": [str(error)]}) from None
        return {"action", *(form_class.base_fields if form_class else ())}

    def subject(self, request: Request, body: dict[str, Any], **names: Any) -> Any:
        self.post_of_page = self.step()
        return self.post_of_page.subject(request, body, **names)

    def form(self, subject: Any, body: dict[str, Any]) -> Any:
        files = self.request.FILES
        data = form_bodies.as_form_data({k: v for k, v in body.items() if k not in files})
        return self.post_of_page.form(subject, data, files)

    def do(self, subject: Any, data: dict[str, Any], request: Request) -> Any:
        result = self.post_of_page.do(subject, data, request.user)
        return Response(self.payload(subject, result), status=self.post_of_page.success)

    def payload(self, subject: Any, result: Any) -> Any:
        return {"done": " ".join(self.post_of_page.in_words(result))}


def twin(step: type[Post[Any]]) -> type[PostTwin]:
    """Return the API view for a POST with a form as its body and a sentence as its result."""
    return type(step.__name__, (PostTwin,), {"step": step, "__doc__": getdoc(step)})


@extend_schema(exclude=True)
class Unknown(APIView):
    """Unknown URLs under /api/: 404, in the same format as all other errors."""

    parser_classes = ApiView.parser_classes

    def get(self, request: Request, path: str) -> Response:
        raise Http404("This URL does not exist. See /api/v1/docs/ for all URLs.")

    post = put = patch = delete = get
