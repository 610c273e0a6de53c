"""Every reply has security headers, and cookies are limited to this host name.

The tests use the settings that config/settings.py sets for HTTPS=1.
"""

import re
import runpy
from http.cookies import Morsel
from pathlib import Path

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from annotation.recruitment import links
from config import health
from tests import factories
from tests.config.test_hostile_requests import (  # noqa: F401, fixtures
    ADDRESSES,
    filled,
    stored,
    values,
)

ROOT = Path(__file__).parents[2]
YEAR = 365 * 24 * 3600
# Swagger's page uses inline styles.
WITH_INLINE_STYLES = {"/api/v1/docs/"}
# Device features that no page needs.
SENSORS = {"camera", "microphone", "geolocation", "payment", "usb", "display-capture", "midi"}


@pytest.fixture
def https(monkeypatch, settings, tmp_path) -> Client:
    """A client of a server with HTTPS=1."""
    monkeypatch.setenv("HTTPS", "1")
    monkeypatch.setenv("HANDFUL_VAR", str(tmp_path / "var-of-settings"))
    started = runpy.run_path(str(ROOT / "config" / "settings.py"))
    for name, value in started.items():
        if re.match(r"HTTPS$|SECURE_|(SESSION|CSRF|WORKER)_COOKIE_|MESSAGE_STORAGE", name):
            setattr(settings, name, value)
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir(exist_ok=True)
    return Client(raise_request_exception=False)


def policy(text: str) -> dict[str, list[str]]:
    directives = [part.split() for part in text.split(";") if part.strip()]
    return {name: sources for name, *sources in directives}


def faults(reply: HttpResponse, styles: bool = False) -> list[str]:
    """Return headers that are missing or too permissive; `styles` allows inline styles."""
    csp = policy(reply.get("Content-Security-Policy", ""))
    scripts = csp.get("script-src", csp.get("default-src", ["*"]))
    style = csp.get("style-src", csp.get("default-src", ["*"]))
    hsts = re.fullmatch(
        r"max-age=(\d+); includeSubDomains", reply.get("Strict-Transport-Security", "")
    )
    denied = set(re.findall(r"([\w-]+)=\(\)", reply.get("Permissions-Policy", "")))
    loose = {"*", "https:", "http:", "data:", "blob:", "'unsafe-inline'", "'unsafe-eval'"}
    graded = {
        "CSP: all that is not named is forbidden": csp.get("default-src") == ["'none'"],
        "CSP: scripts are our own files": scripts == ["'self'"],
        "CSP: styles": not loose & set(style) - ({"'unsafe-inline'"} if styles else set()),
        "CSP: nowhere a whole scheme or the whole web": not any(
            {"*", "https:", "http:"} & set(sources) for sources in csp.values()
        ),
        "CSP: base": csp.get("base-uri") == ["'none'"],
        "CSP: forms": csp.get("form-action") == ["'self'"],
        "CSP: frames": csp.get("frame-ancestors") == ["'none'"],
        "X-Frame-Options": reply.get("X-Frame-Options") == "DENY",
        "HSTS": bool(hsts and int(hsts[1]) >= YEAR),
        "nosniff": reply.get("X-Content-Type-Options") == "nosniff",
        "Referrer-Policy": reply.get("Referrer-Policy") in ("same-origin", "no-referrer"),
        "COOP": reply.get("Cross-Origin-Opener-Policy") == "same-origin",
        "CORP": reply.get("Cross-Origin-Resource-Policy") == "same-origin",
        "Permissions-Policy": denied >= SENSORS,
        "Cache-Control": bool(
            {"private", "public"} & set(reply.get("Cache-Control", "").split(", "))
        ),
        "no reader from elsewhere": "Access-Control-Allow-Origin" not in reply.headers,
        "no version of a server": not {"Server", "X-Powered-By"} & set(reply.headers),
    }
    return [name for name, holds in graded.items() if not holds] + [
        f"cookie {name}" for name, cookie in reply.cookies.items() if not is_of_this_host(cookie)
    ]


def is_of_this_host(cookie: Morsel) -> bool:
    """Return whether a cookie meets the rules for `__Host-`, and is hidden from scripts."""
    return bool(
        cookie.key.startswith("__Host-")
        and cookie["secure"]
        and cookie["httponly"]
        and cookie["path"] == "/"
        and not cookie["domain"]
        and cookie["samesite"] in ("Lax", "Strict")
    )


def test_a_bare_reply_has_every_security_fault():
    bare = HttpResponse()
    bare.set_cookie("sessionid", "x")
    bare["Access-Control-Allow-Origin"] = "*"
    bare["Server"] = "x/1.0"
    assert len(faults(bare)) == 17


@pytest.mark.long
def test_every_address_is_protected(values, researcher, https):  # noqa: F811
    found, statuses = {}, set()
    for route in ADDRESSES:
        address = filled(route, values)
        for method, is_signed_in in (("get", False), ("post", False), ("get", True)):
            https.logout()
            if is_signed_in:
                https.force_login(researcher)
            reply = getattr(https, method)(address, secure=True)
            statuses.add(reply.status_code)
            if wrong := faults(reply, styles=address in WITH_INLINE_STYLES):
                found[method, address, reply.status_code] = wrong
    assert found == {}
    assert statuses >= {200, 302, 400, 401, 403, 404, 405}


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/static/js/nothing.js", 404),
        ("/nothing/", 404),
        ("/studies", 301),  # a slash is missing
        ("/?kind=%00", 400),
    ],
)
def test_files_and_errors_are_protected(address, status, https, db):
    reply = https.get(address, secure=True)
    assert (reply.status_code, faults(reply)) == (status, [])


@pytest.mark.parametrize("file", ["css/base.css", "js/work.js"])
def test_static_files_have_the_headers_that_apply_to_them(file, https, db):
    """They lack headers that matter only for documents and would be larger than some files."""
    reply = https.get(f"/static/{file}", secure=True)
    of_documents = {"X-Frame-Options", "COOP", "Permissions-Policy", "Referrer-Policy"}
    wrong = {fault for fault in faults(reply) if not fault.startswith("CSP")}
    assert (reply.status_code, wrong) == (200, of_documents)


def test_refusals_are_protected(https, ada):
    strict = Client(enforce_csrf_checks=True)
    for name, reply, status in [
        ("forged form", strict.post(reverse("login"), {"login": "x"}, secure=True), 403),
        ("foreign host", https.get("/", secure=True, headers={"Host": "elsewhere.example"}), 400),
        ("large body", https.post(reverse("login"), {"x": "x" * 3_000_000}, secure=True), 413),
        ("wrong method", https.delete("/help/", secure=True), 405),
        ("no token", https.get("/api/studies/", secure=True), 401),
    ]:
        assert (name, reply.status_code, faults(reply)) == (name, status, [])


def test_a_failing_server_is_protected(https, researcher, monkeypatch):
    def away(*_args):
        raise RuntimeError("a bug")

    https.force_login(researcher)
    with connection.execute_wrapper(away):
        failed = https.get(reverse("studies"), secure=True)
        monkeypatch.setattr(health, "not_migrated", lambda: ["annotation.0001"])
        stale = https.get(reverse("studies"), secure=True)
    assert (failed.status_code, faults(failed)) == (500, [])
    assert (stale.status_code, faults(stale)) == (503, [])


def test_a_request_without_tls_is_only_redirected(https, db):
    reply = https.get("/")
    assert (reply.status_code, reply["Location"]) == (301, "https://testserver/")
    assert faults(reply) == ["HSTS"]  # because browsers accept it only over TLS
    assert not reply.cookies


def test_an_annotator_and_a_researcher_get_cookies_of_this_host(https, researcher):
    researcher.set_password("a long password")
    researcher.save()
    study = factories.make_study(researcher, factories.make_task(), shots=[2])
    landing = reverse("landing", args=[study.link_code])
    page = https.get(landing, secure=True).content.decode()
    (arrival,) = set(re.findall(r'name="arrival" value="([^"]*)"', page))
    https.post(reverse("start", args=[study.link_code]), {"arrival": arrival}, secure=True)
    https.get(reverse("login"), secure=True)
    https.post(
        reverse("login"), {"login": researcher.username, "password": "a long password"},
        secure=True,
    )  # fmt: skip
    kept = {"__Host-handful_worker", "__Host-csrftoken", "__Host-sessionid"}
    assert set(https.cookies) == kept
    assert all(is_of_this_host(cookie) for cookie in https.cookies.values())


def test_a_cookie_without_the_host_prefix_is_ignored(https, rf):
    reply = HttpResponse()
    reply.set_signed_cookie("handful_worker", "visitor", salt=links.COOKIE_SALT)
    request = rf.get("/")
    request.COOKIES["handful_worker"] = reply.cookies["handful_worker"].value
    assert links.browser(request) == ""


def test_researchers_replies_have_a_header_of_random_length(ada, study):
    """Otherwise, the length of a compressed page could reveal secrets in it (BREACH)."""
    for page in ("studies", "search"):
        replies = [ada.get(reverse(page), {"q": "small"}) for _ in range(20)]
        assert len({len(reply["X-Padding"]) for reply in replies}) > 5, page
    assert "X-Padding" not in ada.get("/join/none/")
