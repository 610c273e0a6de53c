"""The fake Prolific over HTTP: a WSGI callable and a server for it."""

import json
import re
import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from http.cookies import SimpleCookie
from socketserver import TCPServer, ThreadingMixIn
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from annotation.simulation.fake_prolific.api import API_ROUTES
from annotation.simulation.fake_prolific.http import Asked, Reply, Route
from annotation.simulation.fake_prolific.pages import COOKIE, SITE_ROUTES, page, said
from annotation.simulation.fake_prolific.rules import FakeError

API = "/api/v1/"
Fake = Any  # a FakeProlific, which imports this module


class Site:
    """WSGI callable. Modes (slow, failing, hanging) concern the API alone."""

    def __init__(self, fake: Fake):
        self.fake = fake

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        raw = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        try:
            reply = self._reply(environ, raw)
        except FakeError as error:
            reply = Reply(error.status, error_body(error))
            if environ.get("CONTENT_TYPE", "").startswith("application/x-www-form-urlencoded"):
                reply = Reply(error.status, page("That does not work", f"<p>{said(error)}</p>"))
        is_page = isinstance(reply.content, str) and not environ["PATH_INFO"].startswith(API)
        kind = "text/html" if is_page else "application/json"
        body = reply.content if is_page else json.dumps(reply.content)
        payload = b"" if reply.content is None else str(body).encode()
        start_response(
            f"{reply.status} {HTTPStatus(reply.status).phrase}",
            [
                ("Content-Type", f"{kind}; charset=utf-8"),
                ("Content-Length", str(len(payload))),
                *reply.headers,
            ],
        )
        return [payload]

    def _reply(self, environ: dict[str, Any], raw: bytes) -> Reply:
        asked = _asked(environ, raw)
        if not asked.path.startswith(API):
            return _routed(SITE_ROUTES, asked.path, self.fake, asked)
        if environ.get("HTTP_AUTHORIZATION") != f"Token {self.fake.token}":
            raise FakeError(401, "Authentication credentials were not provided or are wrong")
        time.sleep(self.fake.modes["slow"])
        if self.fake.take("fail_next"):
            told = "the fake was told to fail; nothing was done"
            raise FakeError(self.fake.modes["fail_with"], told)
        path = asked.path.removeprefix(API)
        # Its official command line leaves the final slash out here and there.
        reply = _routed(API_ROUTES, path if path.endswith("/") else f"{path}/", self.fake, asked)
        if self.fake.modes["hang_on"] in asked.path.split("/"):
            time.sleep(self.fake.modes["hang"])
        if self.fake.take("fail_after_next"):
            told = "the fake was told to lose this reply; it was done"
            raise FakeError(self.fake.modes["fail_with"], told)
        return reply


def _routed(routes: Iterable[Route], path: str, fake: Fake, asked: Asked) -> Reply:
    is_there = False
    for method, pattern, answer in routes:
        if match := re.fullmatch(pattern, path):
            is_there = True
            if method == asked.method:
                return answer(fake, asked, *match.groups())
    if is_there:
        raise FakeError(405, f"{asked.method} is not possible here")
    raise FakeError(404, f"nothing is at {asked.path}")


def _asked(environ: dict[str, Any], raw: bytes) -> Asked:
    is_form = environ.get("CONTENT_TYPE", "").startswith("application/x-www-form-urlencoded")
    try:
        text = raw.decode()
        body = dict(parse_qsl(text)) if is_form else json.loads(text or "{}")
    except ValueError:
        raise FakeError(400, "the body is not JSON") from None
    if not isinstance(body, dict):
        raise FakeError(400, "the body must be a JSON object")
    cookie = SimpleCookie(environ.get("HTTP_COOKIE", "")).get(COOKIE)
    return Asked(
        method=environ["REQUEST_METHOD"],
        path=environ["PATH_INFO"],
        query=dict(parse_qsl(environ.get("QUERY_STRING", ""))),
        body=body,
        is_form=is_form,
        site=f"http://{environ.get('HTTP_HOST', '')}",
        cookie=cookie.value if cookie else "",
    )


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
    def log_message(self, format: str, *args: Any) -> None:
        """Tests and rehearsals have their own output."""


class _Threaded(ThreadingMixIn, WSGIServer):
    daemon_threads = True
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
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
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
