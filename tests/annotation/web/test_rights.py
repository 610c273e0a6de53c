"""Pages and API share one table of rights, in which every POST has an API twin or a reason."""

import re

import pytest
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse

from annotation.models import Role
from annotation.models.study import RIGHTS
from annotation.pay import budget
from annotation.study import team
from annotation.web.access import POSTS
from tests import factories

WORKERS = ("join/", "work/", "declined/", "images/")
# Rows that share another row's address.
PARTS_OF_A_PAGE = {"participation_decide_pay"}


def addresses():
    """Return (name, route, pattern) of all addresses."""

    def walk(patterns, prefix=""):
        for pattern in patterns:
            route = prefix + str(pattern.pattern)
            if isinstance(pattern, URLPattern):
                yield pattern.name, route, pattern
            else:
                yield from walk(pattern.url_patterns, route)

    return list(walk(get_resolver().url_patterns))


# A value for each parameter of an address.
ARGUMENTS = {
    "name": "story", "pseudonym": "p", "pk": 1, "scenario": 1, "step": "training", "position": 0,
    "number": 1, "version": 1, "table": "gains", "figure": "shots", "ext": "json",
    "form": "wei-2025", "path": "x", "address": "x", "action": "open", "code": "x", "token": "x",
    "uidb36": "1", "key": "x",
}  # fmt: skip
UUID = "00000000-0000-0000-0000-000000000000"


def address_of(route: str, name: str) -> str:
    """Return an address for a route with <kind:part> or a regular expression with (?P<part>...)."""
    parts = re.findall(r"<(?:(\w+):)?(\w+)>", route)
    return reverse(name, kwargs={k: UUID if kind == "uuid" else ARGUMENTS[k] for kind, k in parts})


def allowed_methods(client, address: str) -> set[str]:
    """Return the methods that an address allows, by sending one that no address accepts."""
    reply = client.generic("PROPFIND", address)
    if reply.status_code != 405:
        return set()
    return {method.strip() for method in reply["Allow"].split(",")}


@pytest.fixture
def signed_in(client, researcher):
    client.force_login(researcher)
    return client


@pytest.mark.long
def test_every_post_has_an_api_twin_or_a_reason(signed_in):
    posts = set()
    for name, route, pattern in addresses():
        if route.startswith(("api/", *WORKERS)):
            continue
        # On some pages, allauth redirects signed-in users before it checks the method.
        page = getattr(pattern.callback, "view_class", None)
        if hasattr(page, "post") or "POST" in allowed_methods(signed_in, address_of(route, name)):
            posts.add(name)
    assert posts == set(POSTS) - PARTS_OF_A_PAGE


def test_every_api_twin_exists_and_accepts_changes(signed_in):
    routes = {name: route for name, route, _pattern in addresses() if route.startswith("api/")}
    assert all(bool(post.twin) != bool(post.reason) for post in POSTS.values())
    for page, post in POSTS.items():
        if post.twin:
            methods = allowed_methods(signed_in, address_of(routes[post.twin], post.twin))
            assert methods & {"POST", "PATCH", "DELETE"}, page


def test_every_listed_right_belongs_to_a_role():
    known = frozenset().union(*RIGHTS.values()) | {""}
    assert {post.right for post in POSTS.values()} <= known


# The roles and scopes at each twin ----------------------------------------------------------------

SCOPES = {"read": "read", "own": "run", "pay": "pay"}
OF_A_STUDY = sorted(
    (page, post) for page, post in POSTS.items() if post.right and post.twin != "api_job_run"
    and post.twin
)  # fmt: skip


@pytest.fixture
def world(researcher, other_researcher, django_user_model):
    study = factories.make_study(researcher, factories.make_task(), shots=[2], name="story")
    scenario = study.scenarios.get()
    done = factories.seat(scenario)
    factories.work_through(done)
    people = {"owner": researcher, "outsider": other_researcher}
    for role in (Role.ANALYST, Role.PAYER):
        people[role] = django_user_model.objects.create_user(role.value)
        team.add(study, role.value, role, researcher)
    return study, done, people


@pytest.mark.long
@pytest.mark.parametrize(("page", "post"), OF_A_STUDY, ids=[page for page, _ in OF_A_STUDY])
def test_an_api_twin_refuses_the_same_roles_as_its_page(world, page, post):
    _study, done, people = world
    names = {"name": "story"}
    if page.startswith("participation"):
        names["pseudonym"] = done.pseudonym
    if post.twin in ("api_prolific_study", "api_comments"):
        names["pk"] = 1
    address = reverse(post.twin, kwargs=names)
    about = {"participation_decide": "analysis", "participation_decide_pay": "pay"}.get(page)
    body = {"about": about} if about else {}
    browser = Client()
    methods = {"study_edit": browser.patch, "study_delete": browser.delete}
    call = methods.get(page, browser.post)

    def status(who, *scopes) -> int:
        headers = factories.bearer(people[who], *scopes)
        return call(address, body, "application/json", headers=headers).status_code

    every = ("read", "run", "pay")
    assert status("outsider", *every) == 404
    for role in (Role.ANALYST, Role.PAYER):
        if post.right not in RIGHTS[role]:
            assert status(role, *every) == 403, role
    others = [scope for scope in every if scope != SCOPES[post.right]]
    assert status("owner", *others) == 403
    assert status("owner", *every) not in (401, 403, 405)
    assert Client().post(address, body, "application/json").status_code == 401


def test_a_token_of_one_study_cannot_change_shared_objects(researcher, world):
    study, _done, _people = world
    headers = factories.bearer(researcher, "read", "run", "pay", study=study)
    for name in ("api_tasks", "api_datasets", "api_models"):
        assert Client().post(reverse(name), {}, headers=headers).status_code == 403
    refused = Client().post(reverse("api_studies"), {}, "application/json", headers=headers)
    assert refused.status_code == 403


def test_a_token_reads_only_what_its_scope_covers(researcher, world):
    """Also where the reply depends on rights, and where the address names no study."""
    study, done, _people = world
    budget.give_bonus(done, 777, "kind", researcher)
    other = factories.make_study(researcher, factories.make_task(name="other"), shots=[2])

    def reply(path: str, *scopes: str, **limits):
        headers = factories.bearer(researcher, *scopes, **limits)
        return Client(headers=headers).get(f"/api/v1/{path}")

    log = f"studies/{study.name}/events/"
    seen = [b'"cents":777' in reply(log, *scopes).content for scopes in (["read", "pay"], ["read"])]
    assert seen == [True, False]
    record = f"studies/{study.name}/"
    designs = [scope for scope in ("read", "run", "pay") if "design" in reply(record, scope).json()]
    assert designs == ["read", "run"]
    plan = f"planner/?source=person:{study.name}"
    assert reply(plan, "read").status_code == 200
    assert [reply(plan, scope).status_code for scope in ("run", "pay")] == [400, 400]
    assert reply(plan, "read", study=other).status_code == 400
