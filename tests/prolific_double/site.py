"""The double's WSGI site, which maps each address that Handful calls to a platform method."""

import json
import re
from http import HTTPStatus
from socketserver import TCPServer
from threading import Thread
from urllib.parse import parse_qsl

from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler

from tests.prolific_double.rules import FakeError

# HTTP method and address -> the platform's method, its argument other than ids, and the status.
ADDRESSES = {
    "GET users/me/": ("me", "", 200),
    "GET workspaces/": ("workspaces", "", 200),
    "GET workspaces/ID/projects/": ("projects", "", 200),
    "GET workspaces/ID/balance/": ("balance", "", 200),
    "GET reward-recommendations/": ("recommendations", "query", 200),
    "GET filters/": ("filters", "", 200),
    "POST eligibility-count/": ("eligible", "body", 200),
    "POST study-cost-calculator/": ("cost", "body", 200),
    "POST studies/": ("create_study", "body", 201),
    "GET studies/ID/": ("study", "", 200),
    "PATCH studies/ID/": ("change_study", "body", 200),
    "DELETE studies/ID/": ("delete_study", "", 200),
    "POST studies/ID/transition/": ("transition_study", "body", 200),
    "GET submissions/": ("list_submissions", "query", 200),
    # These precede the addresses with an id, which would match these words.
    "POST submissions/bonus-payments/": ("create_bonuses", "body", 201),
    "POST submissions/bulk-approve/": ("bulk_approve", "body", 200),
    "GET submissions/ID/": ("submission", "", 200),
    "POST submissions/ID/transition/": ("transition_submission", "body", 200),
    "POST submissions/ID/request-return/": ("request_return", "body", 200),
    "POST bulk-bonus-payments/ID/pay/": ("pay_bonuses", "", 202),
    "POST participant-groups/": ("create_group", "body", 201),
    "GET participant-groups/ID/participants/": ("members", "", 200),
    "POST participant-groups/ID/participants/": ("add_members", "body", 200),
}
PATTERNS = {re.compile(name.replace("ID", "([^/]+)")): name for name in ADDRESSES}
API, KEYS = "/api/v1/", "/.well-known/study/jwks.json"
BARE_LISTS = {"reward-recommendations/"}  # other lists are in `results`


class Site:
    """The WSGI application. Modes, such as failing, affect only the API."""

    def __init__(self, fake):
        self.fake = fake

    def __call__(self, environ, start_response):
        try:
            with self.fake.lock:
                status, told = self._answer(environ)
        except FakeError as error:
            status, told = error.status, error_body(error)
        content = json.dumps(told).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(content))}
        start_response(f"{status} {HTTPStatus(status).phrase}", list(headers.items()))
        return [content]

    def _answer(self, environ):
        path, modes = environ["PATH_INFO"], self.fake.modes
        if path == KEYS:
            return 200, self.fake.jwks()
        if environ.get("HTTP_AUTHORIZATION") != f"Token {self.fake.token}":
            raise FakeError(401, "Authentication credentials were not provided or are wrong")
        if modes["fail_next"]:
            modes["fail_next"] -= 1
            raise FakeError(modes["fail_with"], "the double was set to fail; nothing was done")
        reply = self._call(environ["REQUEST_METHOD"], path.removeprefix(API), environ)
        if modes["fail_after_next"]:
            modes["fail_after_next"] -= 1
            raise FakeError(modes["fail_with"], "the double was set to lose this reply")
        return reply

    def _call(self, method, path, environ):
        name, ids = address_of(method, path)
        does, takes, status = ADDRESSES[name]
        given = []
        if takes == "query":
            given = [dict(parse_qsl(environ.get("QUERY_STRING", "")))]
        elif takes == "body":
            raw = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            given = [json.loads(raw or b"{}")]
        told = getattr(self.fake, does)(*ids, *given)
        if isinstance(told, list) and path not in BARE_LISTS:
            nowhere = {"next": {"href": None, "title": "Next"}}
            told = {"results": told, "_links": nowhere, "meta": {"count": len(told)}}
        return status, told


def address_of(method, path):
    """Return the name of an address in ADDRESSES, and the ids in it."""
    for pattern, name in PATTERNS.items():
        if found := pattern.fullmatch(f"{method} {path}"):
            return name, found.groups()
    raise FakeError(404, f"{method} {path}: Handful does not call it")


def error_body(error):
    """Return an error like Prolific's; additional_information is why an arrival was refused."""
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
    # The head and the body are sent separately. With Nagle's algorithm, the body could wait 40 ms.
    disable_nagle_algorithm = True

    def log_message(self, format, *args):
        """Print nothing."""


class _Threaded(ThreadedWSGIServer):
    request_queue_size = 128

    def server_bind(self):
        # HTTPServer's method looks up this machine's name, which may be slow.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]
        self.setup_environ()


class Server:
    """Serve a WSGI application until `close()`. This is also a context manager."""

    def __init__(self, app):
        self._server = _Threaded(("127.0.0.1", 0), _Quiet)
        self._server.set_app(app)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()
