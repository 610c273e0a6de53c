"""Each line of the log has the documented content, and none contains an annotator's link."""

import io
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test import Client
from django.urls import URLResolver, get_resolver, reverse

from annotation.models import Participation
from config.logs import Json, Plain, without_secrets
from tests import factories


@pytest.fixture
def handler():
    """The only log handler."""
    (handler,) = [h for h in logging.getLogger().handlers if isinstance(h.formatter, (Plain, Json))]
    return handler


@pytest.fixture
def log(handler):
    """The handler's output."""
    text = io.StringIO()
    before = handler.setStream(text)
    yield text
    handler.setStream(before)


@pytest.fixture
def everything():
    """Log replies with status 4xx too."""
    logger = logging.getLogger("django.request")
    before = logger.level
    logger.setLevel(logging.DEBUG)
    yield
    logger.setLevel(before)


@pytest.fixture
def seat(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2])
    return factories.seat(study.scenarios.get())


def browser(**options) -> Client:
    return Client(raise_request_exception=False, **options)


def test_a_form_without_a_csrf_token_is_logged_without_the_link(log, seat):
    strict = browser(enforce_csrf_checks=True)
    reply = strict.post(reverse("answer", args=[seat.token]), {"turn": "1"})
    assert reply.status_code == 403
    (line,) = log.getvalue().splitlines()
    assert seat.token not in line
    assert "django.security.csrf: Forbidden (CSRF cookie not set.): /work/…/answer/" in line


def test_each_line_has_time_level_and_request_id(log, seat):
    strict = browser(enforce_csrf_checks=True)
    reply = strict.post(reverse("answer", args=[seat.token]))
    moment, level, request, _rest = log.getvalue().split(" ", 3)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", moment)
    assert (level, request) == ("WARNING", reply["X-Request-ID"])
    other = strict.post(reverse("answer", args=[seat.token]))
    assert other["X-Request-ID"] != reply["X-Request-ID"]


def test_a_missing_page_is_logged_without_link_and_query(log, everything, seat):
    code = seat.study.link_code
    for path in (f"/work/{seat.token}/nothing/", f"/join/{code}/nothing/?PROLIFIC_PID=abc123"):
        reply = browser().get(path)
        assert reply.status_code == 404
        assert reply["X-Request-ID"] in log.getvalue()
    assert "Not Found: /work/…/nothing/" in log.getvalue()
    for secret in (seat.token, code, "abc123"):
        assert secret not in log.getvalue()


def test_an_error_is_logged_with_traceback_and_without_the_link(log, seat):
    factories.work_through(seat, limit=1)
    Participation.objects.update(training_order=5)  # instead of a list of examples
    reply = browser().post(reverse("continue", args=[seat.token]))
    assert reply.status_code == 500
    text = log.getvalue()
    assert (
        f"{reply['X-Request-ID']} django.request: Internal Server Error: /work/…/continue/" in text
    )
    assert "Traceback (most recent call last)" in text
    assert "participation/pages.py" in text
    assert seat.token not in text


def test_database_rows_in_an_error_message_are_cut():
    error = f'new row violates "x"\nDETAIL:  Failing row contains (7, {"t" * 24}, working).'
    assert without_secrets(error) == 'new row violates "x"\nDETAIL: …'


@pytest.mark.sqlite
def test_a_failing_database_logs_one_line_without_a_traceback(log, seat):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE annotation_participation RENAME TO elsewhere")
    try:
        replies = [browser().get(reverse("work", args=[seat.token])) for _ in range(3)]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE elsewhere RENAME TO annotation_participation")
    assert {reply.status_code for reply in replies} == {500}
    lines = log.getvalue().splitlines()
    assert len(lines) == 3
    assert all("OperationalError: no such table" in line for line in lines)
    assert seat.token not in log.getvalue()


@pytest.mark.parametrize(
    ("message", "logged"),
    [
        ("GET /work/abc/answer/ 500", "GET /work/…/answer/ 500"),
        ("https://h.org/join/x-y_z", "https://h.org/join/…"),
        ("/studies/pilot/?page=2&who=ada", "/studies/pilot/?…"),
        ("next=%2Fwork%2Fabc%2F", "next=%2Fwork%2F…%2F"),
        ("Referer 'https://h/work/abc/' is odd", "Referer 'https://h/work/…/' is odd"),
        ("/declined/?exit=abc:def", "/declined/?…"),
        ("Not found: /account/address/confirm/S:1:x/", "Not found: /account/address/confirm/…/"),
        (
            "next=%2Faccount%2Faddress%2Fconfirm%2FS%2F",
            "next=%2Faccount%2Faddress%2Fconfirm%2F…%2F",
        ),
        ("/api/v1/join/abc/", "/api/v1/join/…/"),
        (f"url: /api/v1/submissions/{'5f' * 12}/ (", "url: /api/v1/submissions/…/ ("),
        ("is this a question? yes", "is this a question? yes"),
        ('  File "/work/app/x.py", line 3', '  File "/work/app/x.py", line 3'),
    ],
)
def test_links_and_queries_are_cut_anywhere_in_a_message(message, logged):
    assert without_secrets(message) == logged


CREDENTIALS = {"token", "code", "key"}  # parameter names in routes


def routes(patterns: list, before: str = "") -> Iterator[str]:
    """Yield every address that contains a credential, with S3cret in its place."""
    for pattern in patterns:
        path = before + str(pattern.pattern).removeprefix("^").removesuffix("$")
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, path)
        elif set(pattern.pattern.regex.groupindex) & CREDENTIALS:
            path = re.sub(r"\(\?P<(\w+)>[^)]*\)", r"<\1>", path)  # a regular expression
            path = re.sub(r"<(?:\w+:)?(?:token|code|key)>", "S3cret", path)
            yield "/" + re.sub(r"<[^>]*>", "1", path)


def test_no_log_has_a_credential_of_any_route():
    """Includes the proxy's log, with the shipped configuration."""
    nginx = (django_settings.BASE_DIR / "deploy/nginx.conf").read_text()
    (pattern,) = re.findall(r"~(\^\(\?<handful_door>\S+) \$handful_door", nginx)
    proxy = re.compile(pattern.replace("(?<", "(?P<"))
    found = set(routes(get_resolver().url_patterns))
    assert len(found) > 20
    for address in found:
        assert "S3cret" in address
        assert "S3cret" not in without_secrets(f"Not Found: {address}"), address
        cut = proxy.match(address)
        assert cut is not None, address
        assert "S3cret" not in cut["handful_door"], address


def test_django_loggers_have_no_handlers(handler):
    for name in ("django", "django.request", "django.server", "django.security.csrf"):
        assert logging.getLogger(name).handlers == []


FAILING = """
import django
django.setup()
from config.celery import app
app.log.setup(loglevel="WARNING")

@app.task
def fail():
    raise ValueError("GET /work/abc-secret/?id=zoe")

print(fail.apply().id)
"""


@pytest.mark.long
def test_a_failed_celery_task_is_logged_under_its_id():
    ran = subprocess.run(
        [sys.executable, "-c", FAILING], cwd=django_settings.BASE_DIR, capture_output=True,
        text=True, check=True, timeout=60,
        env=os.environ | {
            "LOG_JSON": "1", "DJANGO_SETTINGS_MODULE": "config.settings",
            "DATABASE_URL": "postgresql://127.0.0.1:1/x", "CELERY_BROKER_URL": "memory://",
        },
    )  # fmt: skip
    (line,) = map(json.loads, ran.stderr.splitlines())
    assert line["request"] == ran.stdout.strip().replace("-", "")[:12]
    assert "ValueError: GET /work/…/?…" in line["traceback"]
    assert "abc-secret" not in ran.stderr
    assert "zoe" not in ran.stderr


@pytest.mark.long
def test_a_variable_switches_to_json_lines():
    code = (
        "import django, logging; django.setup();"
        "logging.getLogger('x').warning('GET %s', '/work/abc/')"
    )
    env = {**os.environ, "LOG_JSON": "1", "DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=env,
        cwd=django_settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    line = json.loads(done.stderr)
    assert line.pop("time")
    assert line == {
        "level": "WARNING",
        "request": "-",
        "logger": "x",
        "message": "GET /work/…/",
    }
