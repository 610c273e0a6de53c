"""An error page shows the request's id, by which it can be found in the log."""

import subprocess
import sys
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse

from annotation.models import ApiToken, Participation
from tasks.clock import database_now
from tests import factories


@pytest.fixture
def seat(researcher):
    """A participation whose next page fails, because its order is a number instead of a list."""
    study = factories.make_study(researcher, factories.make_task(), shots=[2])
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=1)
    Participation.objects.update(training_order=5)
    return seat


def browser(**options) -> Client:
    return Client(raise_request_exception=False, **options)


def test_an_annotator_sees_the_id_of_the_request(seat, caplog):
    reply = browser().post(reverse("continue", args=[seat.token]))
    assert reply.status_code == 500
    assert f"include this number: {reply['X-Request-ID']}</p>" in reply.content.decode()
    assert "Something went wrong" in reply.content.decode()
    other = browser().post(reverse("continue", args=[seat.token]))
    assert other["X-Request-ID"] not in reply.content.decode()


def test_a_script_gets_one_line_with_the_request_id(seat):
    reply = browser().post(reverse("continue", args=[seat.token]), headers={"HX-Request": "true"})
    assert reply.status_code == 500
    assert reply["Content-Type"].startswith("text/plain")
    assert reply["X-Request-ID"] in reply.content.decode()
    assert "<" not in reply.content.decode()


def away(*_args):
    raise OperationalError("connection refused")


def test_a_researcher_sees_the_request_id_without_a_database(researcher):
    client = browser()
    client.force_login(researcher)
    with connection.execute_wrapper(away):
        reply = client.get(reverse("studies"))
    assert (reply.status_code, reply["Retry-After"]) == (503, "5")
    assert reply["X-Request-ID"] in reply.content.decode()


def test_a_program_gets_problem_json_while_the_database_is_away(researcher):
    token, row = ApiToken.draw()
    row.owner, row.name, row.expires_at = researcher, "x", database_now() + timedelta(days=1)
    row.save()
    with connection.execute_wrapper(away):
        reply = browser().get("/api/v1/studies/", headers={"Authorization": f"Bearer {token}"})
    assert (reply.status_code, reply["Content-Type"]) == (503, "application/problem+json")
    told = reply.json()
    assert told["request"] == reply["X-Request-ID"]
    assert (told["status"], told["code"]) == (503, "database_away")


def test_the_request_id_is_shown_even_without_templates(seat, settings):
    templates = settings.TEMPLATES[0]
    settings.TEMPLATES = [templates | {"DIRS": [], "APP_DIRS": False}]
    reply = browser().post(reverse("continue", args=[seat.token]))
    assert reply.status_code == 500
    assert reply["X-Request-ID"] in reply.content.decode()


@pytest.mark.long
def test_a_command_that_fails_writes_no_link_of_an_annotator():
    """An uncaught exception in any command (here `shell -c`) is logged with the link cut."""
    code = "raise ValueError('GET /work/abc-secret/?id=zoe')"
    ran = subprocess.run(
        [sys.executable, "manage.py", "shell", "-v0", "-c", code],
        cwd=settings.BASE_DIR, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert ran.returncode == 1
    assert "Traceback" in ran.stderr
    assert "ValueError: GET /work/…/?…" in ran.stderr
    assert "zoe" not in ran.stderr
