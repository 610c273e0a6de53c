"""The fake Prolific over HTTP: its API, the address of completions, and a home page by hand."""

import json
import re
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from http.cookies import SimpleCookie
from socketserver import TCPServer, ThreadingMixIn
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlencode
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from annotation.recruiters.prolific.fake_rules import FakeError

COOKIE = "fake_prolific_submission"
API = "/api/v1/"
Fake = Any  # a FakeProlific, which imports this module


@dataclass
class Asked:
    """One request: `body` is the JSON object or the form, whichever came."""

    method: str
    path: str
    query: dict[str, str]
    body: dict[str, Any]
    is_form: bool
    site: str  # such as http://127.0.0.1:8100
    cookie: str


@dataclass
class Reply:
    status: int
    content: Any = None  # a text is HTML, everything else JSON
    headers: tuple[tuple[str, str], ...] = ()


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
            raise FakeError(503, "the fake was told to fail; nothing was done")
        reply = _routed(API_ROUTES, asked.path.removeprefix(API), self.fake, asked)
        if self.fake.modes["hang_on"] in asked.path.split("/"):
            time.sleep(self.fake.modes["hang"])
        if self.fake.take("fail_after_next"):
            raise FakeError(503, "the fake was told to lose this reply; it was done")
        return reply


Route = tuple[str, str, Callable[..., Reply]]


def _routed(routes: Iterable[Route], path: str, fake: Fake, asked: Asked) -> Reply:
    is_there = False
    for method, pattern, answer in routes:
        if match := re.fullmatch(pattern, path):
            is_there = True
            if method == asked.method:
                return answer(fake, asked, *match.groups())
    if is_there:
        raise FakeError(405, f"{asked.method} is not possible here")
    raise FakeError(404, f"nothing is at {asked.path} (addresses of the API end with a slash)")


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


# The API


def _submissions(fake: Fake, asked: Asked) -> Reply:
    """A page of a study's submissions; a page past the end is 404."""
    if "study" not in asked.query:
        raise FakeError(400, {"study": ["is required"]})
    query = {"ordering": "started_at", "page": "1", "page_size": "20", "status": "", **asked.query}
    rows = fake.submissions(query["study"], query["ordering"], query["status"])
    page_number, size = (
        int(text) if re.fullmatch("[1-9][0-9]{0,8}", text) else 0
        for text in (query["page"], query["page_size"])
    )
    last = max(1, -(-len(rows) // (size or 1)))
    if not size or not 1 <= page_number <= last:
        raise FakeError(404, "Invalid page.")

    def link(title: str, number: int) -> dict[str, Any]:
        there = urlencode({**asked.query, "page": number})
        href = f"{asked.site}{asked.path}?{there}" if 1 <= number <= last else None
        return {"href": href, "title": title}

    return Reply(
        200,
        {
            "results": rows[(page_number - 1) * size : page_number * size],
            "_links": {
                "self": link("Current", page_number),
                "next": link("Next", page_number + 1),
                "previous": link("Previous", page_number - 1),
                "last": link("Last", last),
            },
            "meta": {"count": len(rows)},
        },
    )


def _list(rows: list[Any]) -> Reply:
    nowhere = {"next": {"href": None, "title": "Next"}}
    return Reply(200, {"results": rows, "_links": nowhere, "meta": {"count": len(rows)}})


def _subscribe(fake: Fake, asked: Asked) -> Reply:
    subscription = fake.subscribe(asked.body)
    hook_secret = subscription.pop("hook_secret")
    return Reply(201, subscription, (("X-Hook-Secret", hook_secret),))


def _unsubscribe(fake: Fake, asked: Asked, key: str) -> Reply:
    fake.unsubscribe(key)
    return Reply(204)


def _members(fake: Fake, asked: Asked, key: str) -> Reply:
    people = asked.body.get("participant_ids") or []
    verb = {"POST": "add", "DELETE": "remove"}.get(asked.method)
    return Reply(200, fake.members(key, **({verb: people} if verb else {})))


ID = "([^/]+)"
API_ROUTES: list[Route] = [
    ("GET", "users/me/", lambda f, a: Reply(200, f.me())),
    ("GET", "studies/", lambda f, a: _list(f.studies())),
    ("POST", "studies/", lambda f, a: Reply(201, f.create_study(a.body))),
    ("GET", f"studies/{ID}/", lambda f, a, key: Reply(200, f.study(key))),
    ("PATCH", f"studies/{ID}/", lambda f, a, key: Reply(200, f.change_study(key, a.body))),
    (
        *("POST", f"studies/{ID}/transition/"),
        lambda f, a, key: Reply(200, f.transition_study(key, a.body)),
    ),
    ("GET", f"studies/{ID}/cost/", lambda f, a, key: Reply(200, f.cost(key))),
    (
        *("POST", f"studies/{ID}/screen-out-submissions/"),
        lambda f, a, key: Reply(200, f.screen_out(key, a.body)),
    ),
    ("GET", "submissions/", _submissions),
    # Before the addresses with an id: this word is none.
    ("POST", "submissions/bonus-payments/", lambda f, a: Reply(201, f.create_bonuses(a.body))),
    ("GET", f"submissions/{ID}/", lambda f, a, key: Reply(200, f.submission(key))),
    (
        *("POST", f"submissions/{ID}/transition/"),
        lambda f, a, key: Reply(200, f.transition_submission(key, a.body)),
    ),
    (
        *("POST", f"submissions/{ID}/request-return/"),
        lambda f, a, key: Reply(200, f.request_return(key, a.body)),
    ),
    ("POST", f"bulk-bonus-payments/{ID}/pay/", lambda f, a, key: Reply(202, f.pay_bonuses(key))),
    ("POST", "participant-groups/", lambda f, a: Reply(201, f.create_group(a.body))),
    ("GET", f"participant-groups/{ID}/participants/", _members),
    ("POST", f"participant-groups/{ID}/participants/", _members),
    ("DELETE", f"participant-groups/{ID}/participants/", _members),
    ("POST", "hooks/secrets/", lambda f, a: Reply(201, f.create_secret(a.body))),
    ("GET", "hooks/subscriptions/", lambda f, a: _list(f.subscriptions())),
    ("POST", "hooks/subscriptions/", _subscribe),
    (
        *("POST", f"hooks/subscriptions/{ID}/"),
        lambda f, a, key: Reply(200, f.confirm(key, a.body)),
    ),
    ("DELETE", f"hooks/subscriptions/{ID}/", _unsubscribe),
]


# What participants and the one who rehearses see


def _complete(fake: Fake, asked: Asked) -> Reply:
    """Where a study sends the browser in the end; the code of the address decides."""
    session = asked.query.get("session") or asked.cookie
    code = asked.query.get("cc") or "NOCODE"
    if not session:
        raise FakeError(404, f"who comes back? No cookie {COOKIE} and no &session=")
    done = fake.complete(session, code)
    told = f"<p>You came back with the code <b>{escape(code)}</b>.</p>"
    if done["entered_code"] != code:
        told += f"<p>It changed nothing: {escape(str(done['entered_code']))} came first.</p>"
    if done["return_requested"] and done["status"] == "AWAITING REVIEW":
        told += "<p>The researcher asks you to return this submission. You decide.</p>"
        told += button("return_submission", {"session": session}, "Return")
    return Reply(200, page(f"Your submission is {done['status']}", told))


def _arrive(fake: Fake, asked: Asked) -> Reply:
    again = asked.body.get("again") in (True, "1", "true")
    place = fake.arrive(
        str(asked.body.get("study_id", "")),
        str(asked.body.get("participant_id", "")).strip(),
        again,
    )
    cookie = ("Set-Cookie", f"{COOKIE}={place['session_id']}; Path=/; HttpOnly; SameSite=Lax")
    if asked.is_form:
        return Reply(303, "", (("Location", place["url"]), cookie))
    return Reply(200, place, (cookie,))


def _told(asked: Asked, result: Any) -> Reply:
    return Reply(303, "", (("Location", "/"),)) if asked.is_form else Reply(200, result)


def _of_session(name: str) -> Callable[..., Reply]:
    def answer(fake: Fake, asked: Asked) -> Reply:
        return _told(asked, getattr(fake, name)(str(asked.body.get("session", ""))))

    return answer


def _advance(fake: Fake, asked: Asked) -> Reply:
    try:
        seconds = float(asked.body["seconds"])
    except (KeyError, TypeError, ValueError):
        raise FakeError(400, {"seconds": ["a number is required"]}) from None
    return _told(asked, fake.advance(seconds))


def _flush(fake: Fake, asked: Asked) -> Reply:
    fake.flush_webhooks()
    return _told(asked, {"waiting": 0})


SITE_ROUTES: list[Route] = [
    ("GET", "/", lambda f, a: Reply(200, home(f.overview(), f.books()))),
    ("GET", "/.well-known/study/jwks.json", lambda f, a: Reply(200, f.jwks())),
    ("GET", "/submissions/complete", _complete),
    ("GET", "/fake/books", lambda f, a: Reply(200, f.books())),
    ("POST", "/fake/arrive", _arrive),
    ("POST", "/fake/return_submission", _of_session("return_submission")),
    ("POST", "/fake/time_out", _of_session("time_out")),
    ("POST", "/fake/advance", _advance),
    ("POST", "/fake/mode", lambda f, a: Reply(200, f.mode(**a.body))),
    ("POST", "/fake/flush_webhooks", _flush),
]

STYLE = """
:root { color-scheme: light dark; font-family: system-ui, sans-serif; line-height: 1.5 }
body { margin: 1rem auto; max-width: 70rem; padding: 0 1rem }
section { overflow-x: auto } table { border-collapse: collapse }
th, td { border-bottom: 1px solid #888; padding: .3rem .8rem .3rem 0; text-align: left }
form { display: inline-flex; flex-wrap: wrap; gap: .3rem; margin: .1rem 0 }
"""


def page(title: str, content: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} - fake Prolific</title><style>{STYLE}</style></head>"
        f'<body><p><a href="/">Fake Prolific</a>: no real people, no real money</p><main>'
        f"<h1>{escape(title)}</h1>{content}</main></body></html>"
    )


def said(error: FakeError) -> str:
    if isinstance(error.detail, str):
        return escape(error.detail)
    return escape("; ".join(f"{name}: {', '.join(what)}" for name, what in error.detail.items()))


def home(overview: dict[str, Any], books: dict[str, Any]) -> str:
    """Studies to take part in, everybody's submissions, and who was paid what."""
    names = {study["id"]: study["internal_name"] or study["name"] for study in overview["studies"]}
    studies = [
        [
            escape(names[study["id"]]),
            escape(study["status"]),
            f"{study['places_taken']} of {study['total_available_places']}",
            money(study["reward"]),
            _take_part(study["id"], "", "") if study["status"] == "ACTIVE" else "",
        ]
        for study in overview["studies"]
    ]
    submissions = [
        [
            escape(each["participant"]),
            escape(names[each["study"]]),
            escape(each["status"]),
            escape(each["entered_code"] or ""),
            _buttons(each),
        ]
        for each in overview["submissions"]
    ]
    paid = [
        [
            escape(participant),
            money(person["paid_cents"]),
            escape(", ".join(f"{one['kind']} {money(one['cents'])}" for one in person["entries"])),
        ]
        for participant, person in books.items()
    ]
    return page(
        "Studies",
        table("", ["Study", "Status", "Places taken", "Reward", "Take part as"], studies)
        + table("Submissions", ["Participant", "Study", "Status", "Code", "Do"], submissions)
        + table("Books", ["Participant", "Paid", "For"], paid)
        + "<h2>Time</h2>"
        + button("advance", {"seconds": "3600"}, "An hour later")
        + button("advance", {"seconds": "86400"}, "A day later")
        + button("flush_webhooks", {}, "Send webhooks that are held back"),
    )


def _take_part(study: str, participant: str, again: str) -> str:
    if participant:
        fields = {"study_id": study, "participant_id": participant, "again": again}
        return button("arrive", fields, "Come again")
    return (
        '<form method="post" action="/fake/arrive">'
        f'<input type="hidden" name="study_id" value="{escape(study)}">'
        # A newcomer's id stands there already; anybody else's can be put in its place.
        f'<input name="participant_id" aria-label="Participant" value="{secrets.token_hex(12)}"'
        ' size="26" required>'
        "<button>Take part</button></form>"
    )


def _buttons(submission: dict[str, Any]) -> str:
    session = {"session": submission["id"]}
    if submission["status"] == "ACTIVE":
        return button("return_submission", session, "Return") + button(
            "time_out", session, "Time out"
        )
    if submission["status"] == "AWAITING REVIEW":
        asked = " (asked for)" if submission["return_requested"] else ""
        return button("return_submission", session, f"Return{asked}")
    if submission["status"] == "RETURNED":
        return _take_part(submission["study"], submission["participant"], "1")
    return ""


def button(action: str, fields: dict[str, str], label: str) -> str:
    hidden = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
        for name, value in fields.items()
    )
    return f'<form method="post" action="/fake/{action}">{hidden}<button>{label}</button></form> '


def table(title: str, heads: list[str], rows: list[list[str]]) -> str:
    """A table of cells that are HTML already."""
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    above = f"<h2>{escape(title)}</h2>" if title else ""
    nothing = "" if rows else "<p>Nothing yet.</p>"
    return f"{above}<section><table><tr>{head}</tr>{body}</table></section>{nothing}"


def money(cents: int) -> str:
    return f"{cents / 100:.2f}"


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
