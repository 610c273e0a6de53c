"""The addresses of the fake Prolific's API, as the reference has them."""

import re
from typing import Any
from urllib.parse import urlencode

from annotation.simulation.fake_prolific.http import Asked, Reply, Route
from annotation.simulation.fake_prolific.rules import FakeError

Fake = Any  # a FakeProlific, which imports this module by way of its site
PAGE_SIZE = 20


def _paged(asked: Asked, rows: list[Any]) -> Reply:
    """A page of rows with the links to the others; a page past the end is 404."""
    number, size = (
        int(text) if re.fullmatch("[1-9][0-9]{0,8}", text) else 0
        for text in (asked.query.get("page", "1"), asked.query.get("page_size", str(PAGE_SIZE)))
    )
    last = max(1, -(-len(rows) // (size or 1)))
    if not size or not 1 <= number <= last:
        raise FakeError(404, "Invalid page.")

    def link(title: str, number: int) -> dict[str, Any]:
        there = urlencode({**asked.query, "page": number})
        href = f"{asked.site}{asked.path}?{there}" if 1 <= number <= last else None
        return {"href": href, "title": title}

    return Reply(
        200,
        {
            "results": rows[(number - 1) * size : number * size],
            "_links": {
                "self": link("Current", number),
                "next": link("Next", number + 1),
                "previous": link("Previous", number - 1),
                "last": link("Last", last),
            },
            "meta": {"count": len(rows)},
        },
    )


def _list(rows: list[Any]) -> Reply:
    nowhere = {"next": {"href": None, "title": "Next"}}
    return Reply(200, {"results": rows, "_links": nowhere, "meta": {"count": len(rows)}})


def _submissions(fake: Fake, asked: Asked) -> Reply:
    if "study" not in asked.query:
        raise FakeError(400, {"study": ["is required"]})
    return _paged(asked, fake.submissions(asked.query["study"], asked.query))


def _project_studies(fake: Fake, asked: Asked, key: str) -> Reply:
    rows = fake.studies(project=key)
    if asked.query.get("ordering", "").startswith("-"):
        rows.reverse()
    return _paged(asked, rows)


def _delete_from_project(fake: Fake, asked: Asked, project: str, key: str) -> Reply:
    if fake.study(key)["project"] != project:
        raise FakeError(404, "the study is in another project")
    fake.delete_study(key)
    return Reply(204)


def _events(fake: Fake, asked: Asked, key: str) -> Reply:
    rows = fake.events(key, asked.query)
    try:
        first, most = (int(asked.query.get(name, "0")) for name in ("offset", "limit"))
    except ValueError:
        raise FakeError(400, {"offset": ["offset and limit are whole numbers"]}) from None
    return _list(rows[first : first + most] if most else rows[first:])


def _subscribe(fake: Fake, asked: Asked) -> Reply:
    subscription = fake.subscribe(asked.body)
    hook_secret = subscription.pop("hook_secret")
    return Reply(201, subscription, (("X-Hook-Secret", hook_secret),))


def _members(fake: Fake, asked: Asked, key: str) -> Reply:
    people = asked.body.get("participant_ids") or []
    verb = {"POST": "add", "DELETE": "remove"}.get(asked.method)
    return Reply(200, fake.members(key, **({verb: people} if verb else {})))


def _gone(nothing: None) -> Reply:
    """What was asked is done; there is nothing to say."""
    return Reply(204, nothing)


def _projected(asked: Asked) -> bool:
    return asked.query.get("is_projected", "").lower() in ("true", "1")


ID = "([^/]+)"
STUDIES: list[Route] = [
    ("GET", "studies/", lambda f, a: _list(f.studies(a.query.get("state", "")))),
    ("POST", "studies/", lambda f, a: Reply(201, f.create_study(a.body))),
    ("GET", f"studies/{ID}/", lambda f, a, key: Reply(200, f.study(key))),
    ("PATCH", f"studies/{ID}/", lambda f, a, key: Reply(200, f.change_study(key, a.body))),
    ("DELETE", f"studies/{ID}/", lambda f, a, key: Reply(200, f.delete_study(key))),
    (
        *("POST", f"studies/{ID}/transition/"),
        lambda f, a, key: Reply(200, f.transition_study(key, a.body)),
    ),
    ("POST", f"studies/{ID}/clone/", lambda f, a, key: Reply(200, f.clone_study(key, a.body))),
    ("POST", f"studies/{ID}/test-study/", lambda f, a, key: Reply(200, f.try_study(key, a.site))),
    ("POST", "researchers/participants/", lambda f, a: Reply(201, f.create_tester(a.body))),
    ("GET", f"studies/{ID}/cost/", lambda f, a, key: Reply(200, f.cost(key, _projected(a)))),
    ("GET", f"studies/{ID}/access-details-progress/", lambda f, a, k: Reply(200, f.progress(k))),
    ("GET", f"studies/{ID}/submissions/", lambda f, a, key: _list(f.submissions(key, a.query))),
    ("GET", f"studies/{ID}/submissions/counts/", lambda f, a, key: Reply(200, f.counts(key))),
    (
        *("POST", f"studies/{ID}/screen-out-submissions/"),
        lambda f, a, key: Reply(200, f.screen_out(key, a.body)),
    ),
    ("GET", f"projects/{ID}/studies/", _project_studies),
    ("DELETE", f"projects/{ID}/studies/{ID}/", _delete_from_project),
    ("GET", "filters/", lambda f, a: _list(f.filters())),
    ("POST", "eligibility-count/", lambda f, a: Reply(200, f.eligible(a.body))),
]
SUBMISSIONS: list[Route] = [
    ("GET", "submissions/", _submissions),
    # Before the addresses with an id: these words are none.
    ("POST", "submissions/bonus-payments/", lambda f, a: Reply(201, f.create_bonuses(a.body))),
    ("POST", "submissions/bulk-approve/", lambda f, a: Reply(200, f.bulk_approve(a.body))),
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
    ("POST", "study-cost-calculator/", lambda f, a: Reply(200, f.calculate_cost(a.body))),
    ("GET", "reward-recommendations/", lambda f, a: Reply(200, f.recommendations(a.query))),
]
PEOPLE: list[Route] = [
    ("GET", "users/me/", lambda f, a: Reply(200, f.me())),
    ("GET", "workspaces/", lambda f, a: _list(f.workspaces())),
    ("POST", "workspaces/", lambda f, a: Reply(201, f.create_workspace(a.body))),
    ("GET", f"workspaces/{ID}/", lambda f, a, key: Reply(200, f.workspace(key))),
    ("PATCH", f"workspaces/{ID}/", lambda f, a, key: Reply(200, f.change_workspace(key, a.body))),
    ("GET", f"workspaces/{ID}/balance/", lambda f, a, key: Reply(200, f.balance(key))),
    ("GET", f"workspaces/{ID}/projects/", lambda f, a, key: _list(f.projects(key))),
    (
        *("POST", f"workspaces/{ID}/projects/"),
        lambda f, a, key: Reply(201, f.create_project(key, a.body)),
    ),
    ("GET", f"projects/{ID}/", lambda f, a, key: Reply(200, f.project(key))),
    ("PATCH", f"projects/{ID}/", lambda f, a, key: Reply(200, f.change_project(key, a.body))),
    ("GET", "participant-groups/", lambda f, a: _list(f.groups(a.query))),
    ("POST", "participant-groups/", lambda f, a: Reply(201, f.create_group(a.body))),
    ("GET", f"participant-groups/{ID}/", lambda f, a, key: Reply(200, f.group(key))),
    (
        *("PATCH", f"participant-groups/{ID}/"),
        lambda f, a, key: Reply(200, f.change_group(key, a.body)),
    ),
    ("DELETE", f"participant-groups/{ID}/", lambda f, a, key: _gone(f.delete_group(key))),
    ("GET", f"participant-groups/{ID}/participants/", _members),
    ("POST", f"participant-groups/{ID}/participants/", _members),
    ("DELETE", f"participant-groups/{ID}/participants/", _members),
    ("GET", "messages/", lambda f, a: _list(f.messages(a.query))),
    ("GET", "messages/unread/", lambda f, a: _list(f.unread())),
    ("POST", "messages/", lambda f, a: _gone(f.send_message(a.body))),
    ("POST", "messages/bulk/", lambda f, a: _gone(f.send_messages(a.body))),
    ("POST", "messages/participant-group/", lambda f, a: _gone(f.send_to_group(a.body))),
]
HOOKS: list[Route] = [
    ("GET", "hooks/event-types/", lambda f, a: _list(f.event_types())),
    ("GET", "hooks/secrets/", lambda f, a: _list(f.secrets(a.query))),
    ("POST", "hooks/secrets/", lambda f, a: Reply(201, f.create_secret(a.body))),
    ("GET", "hooks/subscriptions/", lambda f, a: _list(f.subscriptions(a.query))),
    ("POST", "hooks/subscriptions/", _subscribe),
    ("GET", f"hooks/subscriptions/{ID}/", lambda f, a, key: Reply(200, f.subscription(key))),
    (
        *("POST", f"hooks/subscriptions/{ID}/"),
        lambda f, a, key: Reply(200, f.confirm(key, a.body)),
    ),
    (
        *("PATCH", f"hooks/subscriptions/{ID}/"),
        lambda f, a, key: Reply(200, f.change_subscription(key, a.body)),
    ),
    ("DELETE", f"hooks/subscriptions/{ID}/", lambda f, a, key: _gone(f.unsubscribe(key))),
    ("GET", f"hooks/subscriptions/{ID}/events/", _events),
]
API_ROUTES = [*STUDIES, *SUBMISSIONS, *PEOPLE, *HOOKS]
