"""Every address replies to any request, with a 4xx status if the request is invalid."""

import copy
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django import forms
from django.core.files.uploadedfile import SimpleUploadedFile
from django.template import engines
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from annotation.models import PersonalLink
from tests import factories

LONG = "x" * 400
NUL = "a\0b"
HUGE = "\uff19" * 40  # full-width digits


def patterns(routes, prefix: str = "/") -> list[str]:
    """Return every URL pattern of the project."""
    every = []
    for pattern in routes:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            every += patterns(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            every.append(route)
    return every


ADDRESSES = sorted(set(patterns(get_resolver().url_patterns)))


@pytest.fixture(autouse=True)
def var(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()


@pytest.fixture(scope="module")
def stored(module_researcher):
    """Return existing values for the parameters of addresses, with their study and task."""
    task = factories.make_task()
    study = factories.make_study(module_researcher, task, shots=[2])
    seat = factories.seat(study.scenarios.get())
    PersonalLink.objects.create(study=study, name="one")
    named = {"code": study.link_code, "token": seat.token, "version": "1", "number": "1"}
    named |= {"pseudonym": seat.pseudonym, "pk": "1", "upload": str(uuid.uuid4())}
    return named, study, task


@pytest.fixture
def values(stored, db):
    return copy.deepcopy(stored)


def filled(route: str, values) -> str:
    named, study, task = values

    def value(match: re.Match) -> str:
        kind, name = match[1] or "str", match[2]
        if kind == "uuid":
            return named["upload"]
        if name == "name":
            return task.name if route.startswith("/tasks/") else study.name
        return named.get(name, "1" if kind == "int" else "x")

    return re.sub(r"<(?:(\w+):)?(\w+)>", value, route)


def fields_of(form: type[forms.BaseForm]) -> set[str]:
    """Return the fields of all the project's forms that derive from this class."""
    ours = form.__module__.startswith(("annotation.", "analysis.", "config."))
    fields = set(getattr(form, "base_fields", ())) if ours else set()
    return fields.union(*map(fields_of, form.__subclasses__()))


FIELDS = sorted(
    fields_of(forms.BaseForm)
    | {
        name
        for folder in engines["django"].engine.dirs
        for path in Path(folder).rglob("*.html")
        for name in re.findall(r'\bname="([\w-]+)"', path.read_text())
    }
    | {"username", "login", "password", "item-1.9", "question-1"}
)


def requests(address: str) -> Iterator[tuple[str, dict]]:
    """Yield (kind, arguments) of odd requests: `data` of a form, or others for Client.generic."""
    for method in ("GET", "HEAD", "OPTIONS", "DELETE"):
        yield method, {"method": method}
    for value in (LONG, NUL):
        query = urlencode({"kind": value, "page": value, "next": value})
        yield "query", {"method": "GET", "QUERY_STRING": query}
    for value in (LONG, NUL, HUGE, "9" * 40):
        yield "form", {"data": dict.fromkeys(FIELDS, value)}
    for kind in (
        "application/x-www-form-urlencoded; charset=utf-7",
        "application/x-www-form-urlencoded; charset=rot13",
        "multipart/form-data; boundary=x; charset=latin-1",
        "multipart/form-data; boundary=x",
        "multipart/form-data",
    ):
        yield kind, {"method": "POST", "data": b"card=%FF+AGE-", "content_type": kind}
    file = SimpleUploadedFile(LONG + ".jsonl", b"{}")
    yield "long file name", {"data": {"files": file, "checks": file, "name": "m"}}
    for token in ("é", LONG, "a b", ""):
        yield "token", {"method": "GET", "headers": {"Authorization": f"Bearer {token}"}}
    cookie = 'sessionid="\\000abcdefgh"; handful_worker="\\000a"'
    yield "cookie", {"method": "GET", "headers": {"Cookie": cookie}}


@pytest.mark.long
@pytest.mark.parametrize("route", ADDRESSES)
def test_no_request_to_any_address_is_a_server_error(route, values, researcher):
    address = filled(route, values)
    for signed_in in (False, True):
        client = Client(raise_request_exception=False)
        for what, sent in requests(address):
            if signed_in and what != "cookie":
                client.force_login(researcher)
            send = client.generic if "method" in sent else client.post
            reply = send(path=address, **sent)
            assert reply.status_code < 500, (what, signed_in, reply.status_code)


def test_head_equals_get_without_the_body(client, db):
    got, head = client.get("/"), client.head("/")
    assert (head.status_code, head.content) == (200, b"")
    assert head["Content-Type"] == got["Content-Type"]
    assert client.head("/join/unknown/").status_code == 404


@pytest.mark.parametrize("route", ADDRESSES)
def test_head_is_answered_wherever_get_is_answered(route, values, researcher):
    address = filled(route, values)
    for signed_in in (False, True):
        client = Client(raise_request_exception=False)
        if signed_in:
            client.force_login(researcher)
        got, head = client.get(address), client.head(address)
        assert (head.status_code, head.getvalue()) == (got.status_code, b""), signed_in


def test_head_of_a_page_with_a_form_is_answered(ada):
    assert ada.head(reverse("task_add")).status_code == 200
    assert ada.head(reverse("study_new")).status_code == 200


@pytest.mark.parametrize("charset", ["utf-7", "latin-1"])
def test_another_charset_than_utf_8_is_refused_in_a_sentence(client, db, charset):
    kind = f"application/x-www-form-urlencoded; charset={charset}"
    reply = client.post(reverse("login"), b"username=ada", content_type=kind)
    assert reply.status_code == 415
    assert "Send the request in UTF-8" in reply.content.decode()


def test_an_impossible_user_name_is_an_ordinary_sign_in_failure(client, db):
    reply = client.post(reverse("login"), {"login": LONG, "password": "wrong"})
    assert reply.status_code == 200
    assert "Location" not in reply


# Bodies ------------------------------------------------------------------------------------------


class Unread:
    """A request body that must not be read."""

    def read(self, *_size):
        raise AssertionError("the body was read")

    readline = read


def large(client: Client, address: str, size: int, **headers):
    """Send a POST that declares this size; return the reply."""
    return client.post(
        address,
        content_type="multipart/form-data; boundary=x",
        headers=headers,
        CONTENT_LENGTH=str(size),
        **{"wsgi.input": Unread()},
    )


TAKE_FILES = {"/tasks/add/", "/models/", "/tasks/<str:name>/<int:version>/checks/",
              "/tasks/import/<uuid:pk>/files/",
              "/studies/<str:name>/report/sample/"}  # fmt: skip


def marked(routes, prefix: str = "/"):
    for pattern in routes:
        if isinstance(pattern, URLResolver):
            yield from marked(pattern.url_patterns, prefix + str(pattern.pattern))
        elif hasattr(pattern.callback, "max_body"):
            yield prefix + str(pattern.pattern)


# Their API twins.
TWINS = {f"/api/v1{route}" for route in ("/tasks/", "/models/", "/tasks/datasets/",
         "/tasks/<str:name>/<int:version>/checks/", "/studies/<str:name>/sample/")}  # fmt: skip


def test_the_addresses_that_take_files_are_as_listed():
    assert set(marked(get_resolver().url_patterns)) == TAKE_FILES | TWINS


def test_a_program_needs_a_valid_token_to_send_files(researcher):
    headers = factories.bearer(researcher, "run")
    with pytest.raises(AssertionError, match="the body was read"):
        large(Client(), "/api/v1/tasks/", 3_000_000, **headers)
    wrong = large(Client(), "/api/v1/tasks/", 3_000_000, Authorization="Bearer handful_x")
    assert (wrong.status_code, wrong.json()["status"]) == (413, 413)


@pytest.mark.parametrize("route", ADDRESSES)
def test_a_large_anonymous_body_is_refused_unread(route, values, db):
    reply = large(Client(enforce_csrf_checks=True), filled(route, values), 190_000_000)
    assert reply.status_code in (413, 404)
    if reply.status_code == 413:
        assert "Nothing was stored" in reply.content.decode()


def test_signed_in_users_send_large_bodies_only_where_files_go(ada, values):
    assert large(ada, reverse("study_new"), 2_500_001).status_code == 413
    assert large(ada, reverse("task_add"), 300_000_000).status_code == 413
    with pytest.raises(AssertionError, match="the body was read"):
        large(ada, reverse("task_add"), 190_000_000)


def test_a_script_gets_only_the_error_sentence(client, db):
    reply = large(client, reverse("task_add"), 190_000_000, **{"HX-Request": "true"})
    assert reply.content.decode() == "Nothing was stored. Sign in first, then send the files."


@pytest.mark.parametrize("length", ["abc", "-1", "1.5", "٣", "1_0", "+5", "9" * 5000])
def test_a_length_that_is_not_a_number_is_refused(client, db, length):
    reply = large(client, reverse("login"), length)
    assert reply.status_code == 400
    assert "Content-Length is not a number" in reply.content.decode()
