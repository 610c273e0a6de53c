"""Retries, paging and errors of the client, against prepared replies."""

import time
from email.utils import formatdate

import httpx
import pytest
from handful import ApiError, HandfulError, NotReachable
from handful.client import store_token, stored_login
from handful.connection import Connection, Jobs
from handful.studies import Studies


class Server:
    """Send prepared replies in order; record the requests and the client's pauses."""

    def __init__(self, *replies):
        self.replies, self.asked, self.pauses = list(replies), [], []

    def __call__(self, request):
        self.asked.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def connection(self, **options):
        return Connection(
            "https://handful.example", "secret", sleep=self.pauses.append,
            transport=httpx.MockTransport(self), **options,
        )  # fmt: skip


def ok(data):
    return httpx.Response(200, json=data)


def test_the_token_is_sent_only_in_the_header():
    server = Server(ok({}))
    server.connection().get("studies/", status="open", kind=None)
    (request,) = server.asked
    assert request.headers["Authorization"] == "Bearer secret"
    assert str(request.url) == "https://handful.example/api/v1/studies/?status=open"


def test_retry_after_is_respected_as_seconds_or_date():
    date = formatdate(time.time() + 30, usegmt=True)
    server = Server(
        httpx.Response(429, headers={"Retry-After": "17"}),
        httpx.Response(503, headers={"Retry-After": date}),
        ok({"done": True}),
    )
    assert server.connection().post("studies/a/open/", {}) == {"done": True}
    assert server.pauses[0] == 17.0
    assert 25 < server.pauses[1] <= 30


def test_pauses_double_and_the_last_failure_is_reported():
    server = Server(*(httpx.ConnectError("refused") for _ in range(4)))
    with pytest.raises(
        NotReachable, match=r"https://handful\.example does not respond \(refused\)"
    ):
        server.connection(attempts=4).get("studies/")
    assert len(server.pauses) == 3
    for seconds, wanted in zip(server.pauses, (0.5, 1.0, 2.0), strict=True):
        assert 0.75 * wanted <= seconds <= 1.25 * wanted


def test_an_uncertain_request_is_not_repeated():
    server = Server(httpx.ReadTimeout("late"))
    with pytest.raises(NotReachable):
        server.connection().post("studies/", {"name": "a"})
    assert len(server.asked) == 1
    server = Server(httpx.ReadTimeout("late"), ok({"step": "reveal"}))
    assert server.connection().post("work/answer/", {}, again=True) == {"step": "reveal"}
    away = httpx.Response(503, headers={"Retry-After": "5"}, json={"code": "database_away"})
    server = Server(away)
    with pytest.raises(ApiError):
        server.connection().post("studies/", {"name": "a"})
    assert len(server.asked) == 1
    server = Server(away, ok({"step": "reveal"}))
    assert server.connection().post("work/answer/", {}, again=True) == {"step": "reveal"}
    assert server.pauses == [5.0]
    server = Server(httpx.Response(502, text="<html>"))
    with pytest.raises(NotReachable, match="Check the server's URL"):
        server.connection().post("studies/", {"name": "a"})


def test_pages_are_requested_lazily():
    first = "https://handful.example/api/v1/studies/s/answers/?cursor=b"
    server = Server(
        ok({"next": first, "results": [{"n": 1}, {"n": 2}]}),
        ok({"next": None, "results": [{"n": 3}]}),
    )
    rows = server.connection().rows("studies/s/answers/")
    assert next(rows) == {"n": 1}
    assert len(server.asked) == 1
    assert [row["n"] for row in rows] == [2, 3]
    assert server.asked[1].url.params["cursor"] == "b"


def test_the_token_goes_to_no_other_host():
    server = Server(
        ok({"next": "https://evil.example/api/v1/x/?cursor=b", "results": []}),
        ok({"next": None, "results": []}),
    )
    assert list(server.connection().rows("x/")) == []
    assert {request.url.host for request in server.asked} == {"handful.example"}
    server = Server(httpx.Response(301, headers={"Location": "https://other.example/"}))
    with pytest.raises(NotReachable, match=r"redirects to https://other\.example/"):
        server.connection().get("studies/")
    assert len(server.asked) == 1


@pytest.mark.parametrize("name", ["a?b", "a#b", "../tasks", "a b"])
def test_a_name_that_no_study_has_is_not_read_as_an_address(name):
    server = Server(httpx.Response(404, json={"status": 404, "detail": "Does not exist."}))
    connection = server.connection()
    with pytest.raises(KeyError, match="No study"):
        Studies(connection, Jobs(connection))[name]
    assert server.asked[0].url.path == f"/api/v1/studies/{name}/"
    assert not server.asked[0].url.query


def test_an_error_names_the_invalid_field():
    problem = {
        "status": 422, "code": "invalid", "detail": "Some values are invalid.",
        "fields": {"shots": ["Write a list."]},
    }  # fmt: skip
    server = Server(httpx.Response(422, json=problem))
    with pytest.raises(ApiError) as refused:
        server.connection().post("studies/", {})
    assert (refused.value.status, refused.value.code) == (422, "invalid")
    assert refused.value.fields == {"shots": ["Write a list."]}
    assert str(refused.value) == "Some values are invalid.\n  shots: Write a list."


@pytest.mark.parametrize(
    ("fields", "detail", "printed"),
    [
        ({"shots": ["Write a list."]}, "Write a list.", "shots: Write a list."),
        ({"a": ["No."], "b": ["Never.", "No."]}, "No. Never. No.", "a: No.\nb: Never. No."),
        ({}, "", ""),
    ],
)
def test_an_error_prints_each_message_once(fields, detail, printed):
    assert str(ApiError({"detail": detail, "fields": fields}, 422)) == printed


def test_an_interrupted_download_leaves_no_file(tmp_path):
    def broken():
        yield b"half"
        raise httpx.ReadError("gone")

    class Stream(httpx.SyncByteStream):
        def __iter__(self):
            yield from broken()

    server = Server(httpx.Response(200, stream=Stream()))
    with pytest.raises(NotReachable):
        server.connection().download("x", tmp_path / "a.zip", progress=False)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "b.zip").write_text("mine")
    with pytest.raises(HandfulError, match="already exists"):
        server.connection().download("x", tmp_path / "b.zip", progress=False)


@pytest.mark.parametrize(
    "address",
    ["handful.example", "ftp://handful.example", "https://me:token@handful.example", "http://[::1"],
)
def test_an_invalid_address_is_refused(address):
    with pytest.raises(HandfulError):
        Connection(address, "secret")


@pytest.mark.parametrize("token", ["schlüssel", "secret\n"])
def test_a_token_that_no_header_can_hold_is_refused(token):
    with pytest.raises(HandfulError, match="contains invalid characters"):
        Connection("https://handful.example", token)


def test_a_token_is_stored_for_its_owner_and_its_server_only(home):
    file = store_token("https://a.example/", "token-a")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    store_token("https://b.example", "token-b")
    assert stored_login(None, None) == ("https://b.example", "token-b")
    assert stored_login("https://a.example", None) == ("https://a.example", "token-a")
    with pytest.raises(HandfulError, match=r"handful login https://c\.example"):
        stored_login("https://c.example", None)


def test_the_environment_overrides_the_stored_login(home, monkeypatch):
    store_token("https://a.example", "token-a")
    monkeypatch.setenv("HANDFUL_SERVER", "https://b.example")
    monkeypatch.setenv("HANDFUL_TOKEN", "token-b")
    assert stored_login(None, None) == ("https://b.example", "token-b")


def test_a_missing_login_is_an_error_that_says_what_to_run(home):
    with pytest.raises(HandfulError, match="Run `handful login"):
        stored_login(None, None)
