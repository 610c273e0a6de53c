"""What participants and the one who rehearses see: the way back, and a home page by hand."""

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from django.template.loader import render_to_string

from annotation.simulation.fake_prolific.http import Request, SeeOther, reply
from annotation.simulation.fake_prolific.rules import FakeError

if TYPE_CHECKING:  # it imports this module by way of its site
    from annotation.simulation.fake_prolific.platform import FakeProlific

COOKIE = "fake_prolific_submission"


def page(template: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
    return HttpResponse(render_to_string(f"simulation/{template}.html", context), status=status)


def refusal(error: FakeError) -> HttpResponse:
    """What a form is answered that asks for something impossible."""
    detail = error.detail
    if isinstance(detail, dict):
        detail = "; ".join(f"{field}: {', '.join(texts)}" for field, texts in detail.items())
    return page("refused", {"detail": detail}, error.status)


def home(fake: "FakeProlific", request: Request) -> HttpResponse:
    """Studies to take part in, everybody's submissions, and who was paid what."""
    overview = fake.overview()
    names = {study["id"]: study["internal_name"] or study["name"] for study in overview["studies"]}
    return page(
        "home",
        {
            "studies": [
                # A newcomer's id stands in the form already; another can be put in its place.
                study
                | {
                    "title": names[study["id"]],
                    "reward": money(study["reward"]),
                    "newcomer": secrets.token_hex(12),
                }
                for study in overview["studies"]
            ],
            "submissions": [
                submission | {"title": names[submission["study"]]}
                for submission in overview["submissions"]
            ],
            "books": [
                (
                    participant,
                    money(account["paid_cents"]),
                    [f"{entry['kind']} {money(entry['cents'])}" for entry in account["entries"]],
                )
                for participant, account in fake.books().items()
            ],
        },
    )


def money(cents: int) -> str:
    return f"{cents / 100:.2f}"


def complete(fake: "FakeProlific", request: Request) -> HttpResponse:
    """Where a study sends the browser in the end; the code of the address decides."""
    session = request.query.get("session") or request.COOKIES.get(COOKIE)
    code = request.query.get("cc", "NOCODE")
    if not session:
        raise FakeError(404, f"who comes back? No cookie {COOKIE} and no &session=")
    return page("complete", {"code": code, "submission": fake.complete(session, code)})


def arrive(fake: "FakeProlific", request: Request) -> HttpResponse:
    place = fake.arrive(
        str(request.data.get("study_id", "")),
        str(request.data.get("participant_id", "")).strip(),
        request.data.get("again") in (True, "1", "true"),
        request.data.get("about") if isinstance(request.data.get("about"), dict) else None,
    )
    response = SeeOther(place["url"]) if request.is_form else reply(place)
    response.set_cookie(COOKIE, place["session_id"], httponly=True, samesite="Lax")
    return response


def of_session(name: str) -> Callable[..., HttpResponse]:
    """A view of something that the participant of a submission does."""

    def view(fake: "FakeProlific", request: Request) -> HttpResponse:
        return _done(request, getattr(fake, name)(str(request.data.get("session", ""))))

    return view


def advance(fake: "FakeProlific", request: Request) -> HttpResponse:
    try:
        seconds = float(request.data["seconds"])
    except (KeyError, TypeError, ValueError):
        raise FakeError(400, {"seconds": ["a number is required"]}) from None
    return _done(request, fake.advance(seconds))


def mode(fake: "FakeProlific", request: Request) -> HttpResponse:
    return reply(fake.mode(**request.data))


def flush_webhooks(fake: "FakeProlific", request: Request) -> HttpResponse:
    fake.flush_webhooks()
    return _done(request, {"waiting": 0})


def _done(request: Request, result: Any) -> HttpResponse:
    return SeeOther("/") if request.is_form else reply(result)
