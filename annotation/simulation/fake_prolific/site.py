"""The fake Prolific over HTTP: Django's URLs, views and templates, without Handful's middleware."""

import time
from collections.abc import Callable
from http import HTTPStatus
from socketserver import TCPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.http import HttpResponse
from django.urls import Resolver404, resolve

from annotation.simulation.fake_prolific.http import Request, reply
from annotation.simulation.fake_prolific.pages import refusal
from annotation.simulation.fake_prolific.rules import FakeError

if TYPE_CHECKING:  # it imports this module
    from annotation.simulation.fake_prolific.platform import FakeProlific

API = "/api/v1/"
URLS = "annotation.simulation.fake_prolific.urls"


class Site:
    """WSGI callable. Modes (slow, failing, hanging) concern the API alone."""

    def __init__(self, fake: "FakeProlific"):
        self.fake = fake

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        request = Request(environ, self.fake)
        try:
            response = self._respond(request)
        except FakeError as error:
            is_form = request.is_form
            response = refusal(error) if is_form else reply(error_body(error), error.status)
        response["Content-Length"] = str(len(response.content))
        cookies = [("Set-Cookie", morsel.OutputString()) for morsel in response.cookies.values()]
        start_response(
            f"{response.status_code} {response.reason_phrase}", [*response.items(), *cookies]
        )
        return [response.content]

    def _respond(self, request: Request) -> HttpResponse:
        _ = request.data  # a body that cannot be read is refused before anything is done
        if not request.path.startswith(API):
            return self._ask_view(request, request.path)
        if request.headers.get("Authorization") != f"Token {self.fake.token}":
            raise FakeError(401, "Authentication credentials were not provided or are wrong")
        time.sleep(self.fake.modes["slow"])
        if self.fake.take("fail_next"):
            message = "the fake was told to fail; nothing was done"
            raise FakeError(self.fake.modes["fail_with"], message)
        # Its official command line leaves the final slash out here and there.
        response = self._ask_view(request, f"{request.path.rstrip('/')}/")
        if self.fake.modes["hang_on"] in request.path.split("/"):
            time.sleep(self.fake.modes["hang"])
        if self.fake.take("fail_after_next"):
            message = "the fake was told to lose this reply; it was done"
            raise FakeError(self.fake.modes["fail_with"], message)
        return response

    def _ask_view(self, request: Request, path: str) -> HttpResponse:
        try:
            match = resolve(path, URLS)
        except Resolver404:
            raise FakeError(404, f"nothing is at {request.path}") from None
        response: HttpResponse = match.func(request, **match.kwargs)
        return response


def error_body(error: FakeError) -> dict[str, Any]:
    """Prolific's envelope; the reason of a refused arrival stands in additional_information."""
    return {
        "error": {
            "status": error.status,
            "error_code": 140000 + error.status,
            "title": HTTPStatus(error.status).phrase,
            "detail": error.detail,
            "additional_information": error.reason,
        }
    }


class _Quiet(WSGIRequestHandler):
    # Head and body are sent apart: without this the body waits 40 ms for the other side's word.
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Tests and rehearsals have their own output."""


class _Threaded(ThreadedWSGIServer):
    request_queue_size = 128

    def server_bind(self) -> None:
        # Not HTTPServer's: that asks the name service for this machine's name, which may be slow.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]
        self.setup_environ()


class Server:
    """Serves from the moment it is made until `close()`; also a context manager."""

    def __init__(self, app: Callable[..., Any], port: int = 0):
        self._server = _Threaded(("127.0.0.1", port), _Quiet)
        self._server.set_app(app)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()
