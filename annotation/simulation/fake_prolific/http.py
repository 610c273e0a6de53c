"""A request to the fake Prolific, as its views take it, and their usual replies."""

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse

from annotation.simulation.fake_prolific.rules import FakeError

if TYPE_CHECKING:  # it imports this module by way of its site
    from annotation.simulation.fake_prolific.platform import FakeProlific


class Request(WSGIRequest):
    """A request, with the platform that it is about."""

    def __init__(self, environ: dict[str, Any], fake: "FakeProlific"):
        super().__init__(environ)
        self.fake = fake

    @property
    def is_form(self) -> bool:
        return self.content_type == "application/x-www-form-urlencoded"

    @cached_property
    def data(self) -> dict[str, Any]:
        """The JSON object or the form, whichever came."""
        if self.is_form:
            return self.POST.dict()
        try:
            body = json.loads(self.body or b"{}")
        except ValueError:
            raise FakeError(400, "the body is not JSON") from None
        if not isinstance(body, dict):
            raise FakeError(400, "the body must be a JSON object")
        return body

    @cached_property
    def query(self) -> dict[str, str]:
        return {name: str(value) for name, value in self.GET.items() if value}

    @property
    def site(self) -> str:  # type: ignore[override]  # django.contrib.sites is not installed
        """Such as http://127.0.0.1:8100; not `get_host`, whose hosts are those of Handful."""
        return f"http://{self.META.get('HTTP_HOST', '')}"


def reply(content: Any = None, status: int = 200, **headers: str) -> HttpResponse:
    """JSON, or nothing."""
    if content is None:
        return HttpResponse(status=status, headers=headers, content_type="application/json")
    return JsonResponse(content, status=status, headers=headers, safe=False)


class SeeOther(HttpResponseRedirect):
    status_code = 303
