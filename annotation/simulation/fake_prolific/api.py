"""The views of the fake Prolific's API that are more than one call of the platform."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.http import HttpResponse

from annotation.simulation.fake_prolific.http import Request, reply
from annotation.simulation.fake_prolific.rules import FakeError

if TYPE_CHECKING:  # it imports this module by way of its site
    from annotation.simulation.fake_prolific.platform import FakeProlific

PAGE_SIZE = 20


View = Callable[..., HttpResponse]  # of (fake, request, *ids of the address)


def by_method(**views: View) -> View:
    """The view of an address: it asks the one of the request's method."""

    def view(request: Request, **ids: str) -> HttpResponse:
        if request.method not in views:
            raise FakeError(405, f"{request.method} is not possible here")
        return views[request.method](request.fake, request, *ids.values())

    view.methods = tuple(views)  # type: ignore[attr-defined]
    return view


def calls(name: str, takes: str = "", status: int = 200) -> View:
    """A view that calls the platform's method of that name with the ids of the address.

    `takes` is "data" or "query" where the method wants these too.
    """

    def view(fake: "FakeProlific", request: Request, *ids: str) -> HttpResponse:
        arguments = [getattr(request, takes)] if takes else []
        result = getattr(fake, name)(*ids, *arguments)
        return listed(result) if isinstance(result, list) else reply(result, status)

    return view


def paged(request: Request, rows: list[Any]) -> HttpResponse:
    """A page of rows with the links to the others; a page past the end is 404."""
    number, size = (
        int(text) if re.fullmatch("[1-9][0-9]{0,8}", text) else 0
        for text in (request.query.get("page", "1"), request.query.get("page_size", str(PAGE_SIZE)))
    )
    last = max(1, -(-len(rows) // (size or 1)))
    if not size or not 1 <= number <= last:
        raise FakeError(404, "Invalid page.")

    def link(title: str, number: int) -> dict[str, Any]:
        there = urlencode({**request.query, "page": number})
        href = f"{request.site}{request.path}?{there}" if 1 <= number <= last else None
        return {"href": href, "title": title}

    return reply(
        {
            "results": rows[(number - 1) * size : number * size],
            "_links": {
                "self": link("Current", number),
                "next": link("Next", number + 1),
                "previous": link("Previous", number - 1),
                "last": link("Last", last),
            },
            "meta": {"count": len(rows)},
        }
    )


def listed(rows: list[Any]) -> HttpResponse:
    nowhere = {"next": {"href": None, "title": "Next"}}
    return reply({"results": rows, "_links": nowhere, "meta": {"count": len(rows)}})


def submissions(fake: "FakeProlific", request: Request) -> HttpResponse:
    if "study" not in request.query:
        raise FakeError(400, {"study": ["is required"]})
    return paged(request, fake.submissions(request.query["study"], request.query))


def project_studies(fake: "FakeProlific", request: Request, key: str) -> HttpResponse:
    rows = fake.studies(project=key)
    if request.query.get("ordering", "").startswith("-"):
        rows.reverse()
    return paged(request, rows)


def delete_from_project(
    fake: "FakeProlific", request: Request, project: str, key: str
) -> HttpResponse:
    if fake.study(key)["project"] != project:
        raise FakeError(404, "the study is in another project")
    fake.delete_study(key)
    return reply(status=204)


def events(fake: "FakeProlific", request: Request, key: str) -> HttpResponse:
    rows = fake.events(key, request.query)
    try:
        first, most = (int(request.query.get(name, "0")) for name in ("offset", "limit"))
    except ValueError:
        raise FakeError(400, {"offset": ["offset and limit are whole numbers"]}) from None
    return listed(rows[first : first + most] if most else rows[first:])


def subscribe(fake: "FakeProlific", request: Request) -> HttpResponse:
    subscription = fake.subscribe(request.data)
    hook_secret = subscription.pop("hook_secret")
    return reply(subscription, 201, **{"X-Hook-Secret": hook_secret})


def members(fake: "FakeProlific", request: Request, key: str) -> HttpResponse:
    people = request.data.get("participant_ids") or []
    verb = {"POST": "add", "DELETE": "remove"}.get(request.method or "")
    return reply(fake.members(key, **({verb: people} if verb else {})))


def studies(fake: "FakeProlific", request: Request) -> HttpResponse:
    return listed(fake.studies(request.query.get("state", "")))


def cost(fake: "FakeProlific", request: Request, key: str) -> HttpResponse:
    is_projected = request.query.get("is_projected", "").lower() in ("true", "1")
    return reply(fake.cost(key, is_projected))


def recommendations(fake: "FakeProlific", request: Request) -> HttpResponse:
    return reply(fake.recommendations(request.query))  # a bare list


def try_study(fake: "FakeProlific", request: Request, key: str) -> HttpResponse:
    return reply(fake.try_study(key, request.site))
