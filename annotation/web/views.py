"""Base classes for API views, and the view for unknown URLs."""

import hashlib
import json
from collections.abc import Callable, Mapping
from inspect import getdoc, unwrap
from typing import Any, ClassVar

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder
from rest_framework.views import APIView

from annotation.web import form_bodies
from annotation.web.posts import Post, UnknownAction, sentences
from annotation.web.problems import Conflict, Unprocessable

OPTIONS = "options"


class ApiView(APIView):
    # Unknown query parameters are rejected, so that misspelt ones are never ignored. A docstring
    # here would become the description of each view that lacks one in the OpenAPI document.
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
    etags = [strong(part) for part in request.headers.get("If-None-Match", "").split(",")]
    if tag in etags or "*" in etags:
        return Response(status=304, headers=headers)
    return Response(data, headers=headers)


def strong(tag: str) -> str:
    """Return an ETag as it was sent, because proxies mark compressed replies as weak (W/)."""
    return tag.strip().removeprefix("W/")


def etag(data: Any) -> str:
    """Return a hash of the content to be used as its ETag."""
    text = json.dumps(data, cls=JSONEncoder, sort_keys=True)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


NO_CONTENT = 204
DONE = {"done": serializers.CharField(help_text="what was done, as a sentence")}


class Twin(ApiView):
    # The API counterpart of a page's POST (annotation/web/posts.py), with the same form and step
    # function. `more_fields` documents fields that the form lacks, or whose help is for browsers.
    # Exceptions in `conflicts` result in 409, and others in 422 at the field that `fault` names.
    # A docstring here would become the description of each view that lacks one.
    step: ClassVar[type[Post[Any]]]
    method = "post"
    more_fields: ClassVar[Mapping[str, serializers.Field]] = {}
    reply: ClassVar[Any] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Document the body and response. Each subclass gets a handler, so that they can differ."""
        super().__init_subclass__(**kwargs)
        step, name = cls.step, cls.__name__
        fields = dict(cls.more_fields)
        if step.actions:
            fields = form_bodies.fields_of_actions(step.actions) | fields
        elif step.form_class:
            fields = form_bodies.fields_of(step.form_class) | fields

        def handle(self: Twin, request: Request, **names: Any) -> Response:
            return self.answer(request, **names)

        reply = cls.reply or form_bodies.shape(f"{name}Done", DONE)
        documented = extend_schema(
            summary=step.summary,
            operation_id=step.operation_id,
            request=form_bodies.shape(f"{name}Body", fields) if fields else None,
            responses={step.success: None if step.success == NO_CONTENT else reply},
        )
        setattr(cls, cls.method, documented(handle))

    def answer(self, request: Request, **names: Any) -> Response:
        """Check access, validate the form, run the step, and return the response."""
        body = form_bodies.as_object(request.data)
        self.post_of_page = self.step()
        subject = self.post_of_page.subject(request, body, **names)
        form_bodies.check_known(body, self.field_names(body))
        form = self.form(subject, self.adapted(subject, body))
        if form is not None:
            form_bodies.check(form)
        return self.do(subject, form.cleaned_data if form is not None else body, request)

    def field_names(self, body: dict[str, Any]) -> set[str]:
        try:
            form_class = self.post_of_page.form_for(body)
        except UnknownAction as error:
            raise Unprocessable({"action": [str(error)]}) from None
        further = {"action"} if self.step.actions else self.more_fields
        return {*further, *(form_class.base_fields if form_class else ())}

    def adapted(self, subject: Any, body: dict[str, Any]) -> dict[str, Any]:
        """Return the body, converted to the names and values of form fields."""
        return body

    def form(self, subject: Any, body: dict[str, Any]) -> Any:
        """Return the page's bound form, or None if the request has no fields."""
        files = self.request.FILES
        data = form_bodies.as_form_data({k: v for k, v in body.items() if k not in files})
        return self.post_of_page.form(subject, data, files)

    def do(self, subject: Any, data: dict[str, Any], request: Request) -> Response:
        post = self.post_of_page
        try:
            result = post.do(subject, data, request.user)
        except post.conflicts as error:
            raise Conflict(str(error)) from None
        except tuple(post.faults) as error:
            if (field := post.fault(error)) is None:
                raise Conflict(str(error)) from None
            raise Unprocessable({field: sentences(error)}) from None
        return Response(self.payload(subject, result), status=post.success)

    def payload(self, subject: Any, result: Any) -> Any:
        """Return the JSON content of the response, or None if it is empty."""
        if self.step.success == NO_CONTENT:
            return None
        return {"done": " ".join(self.post_of_page.in_words(result))}


def twin(step: type[Post[Any]]) -> type[Twin]:
    """Return the API view for a POST whose body is its form and whose result is a sentence."""
    return type(step.__name__, (Twin,), {"step": step, "__doc__": getdoc(step)})


def file_view(page: Callable[..., Any], media_type: str, kind: type, summary: str) -> Any:
    """Return the API view for a file that is also offered by a page (with `signed_in`)."""

    class File(ApiView):
        @extend_schema(responses={(200, media_type): kind}, summary=summary)
        def get(self, request: Request, **names: Any) -> Any:
            return unwrap(page)(request, **names)

    return File.as_view()


@extend_schema(exclude=True)
class Unknown(APIView):
    """Responds to unknown URLs under /api/ with 404, in the format of all other errors."""

    parser_classes = ApiView.parser_classes

    def get(self, request: Request, path: str) -> Response:
        raise Http404("This URL does not exist. See /api/v1/docs/ for all URLs.")

    post = put = patch = delete = get
