"""What participants and the one who rehearses see: the way back, and a home page by hand."""

import secrets
from collections.abc import Callable
from html import escape
from typing import Any

from annotation.simulation.fake_prolific.http import Asked, Reply, Route
from annotation.simulation.fake_prolific.rules import FakeError

COOKIE = "fake_prolific_submission"
Fake = Any  # a FakeProlific, which imports this module by way of its site


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
    ("POST", "/fake/write", lambda f, a: Reply(200, f.write(a.body))),
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
