"""If the database is down, read-only or full, pages say so and the request can be repeated."""

from contextlib import contextmanager

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.urls import reverse

from annotation.models import Answer
from tests import factories
from tests.annotation.participation import both_doors

pytestmark = pytest.mark.engines


@contextmanager
def read_only():
    """Make the database read-only, as an administrator might do temporarily."""
    on, off = (
        ("PRAGMA query_only = ON", "PRAGMA query_only = OFF")
        if connection.vendor == "sqlite"
        else ("SET default_transaction_read_only = on", "SET default_transaction_read_only = off")
    )
    with connection.cursor() as cursor:
        cursor.execute(on)
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(off)


@pytest.fixture
def seat(transactional_db):
    researcher = get_user_model().objects.create_user("ada")
    study = both_doors.make_study(researcher, factories.make_task(), shots=[0])
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=1)
    return seat


def browser() -> Client:
    return Client(raise_request_exception=False)


def answer_to(seat) -> dict[str, str]:
    turn = seat.turns.get(answer=None)
    return {"turn": turn.pk, "no_answer": "1"}


def test_an_answer_during_a_database_outage_gets_503_to_retry(seat):
    address, sent = reverse("answer", args=[seat.token]), answer_to(seat)
    before = Answer.objects.count()
    with read_only():
        reply = browser().post(address, sent)
        assert (reply.status_code, reply["Retry-After"]) == (503, "5")
        assert reply["X-Request-ID"] in reply.content.decode()
        assert "Everything you have already submitted is saved" in reply.content.decode()
    assert Answer.objects.count() == before
    assert browser().post(address, sent).status_code in (200, 302)
    assert Answer.objects.count() == before + 1


def test_a_program_gets_an_error_code(seat):
    header = {"Authorization": f"Bearer {seat.token}"}
    address, turn = reverse("api_answer"), seat.turns.get(answer=None)
    with read_only():
        body = {"turn": turn.pk, "answer": {"no_answer": True}}
        reply = browser().post(address, body, content_type="application/json", headers=header)
    assert (reply.status_code, reply["Retry-After"]) == (503, "5")
    assert reply["Content-Type"] == "application/problem+json"
    assert reply.json()["code"] == "database_away"
    assert reply.json()["request"] == reply["X-Request-ID"]


def test_a_programming_error_is_not_reported_as_database_away(seat):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE annotation_draft RENAME TO gone")
    try:
        reply = browser().post(reverse("answer", args=[seat.token]), answer_to(seat))
        assert reply.status_code == 500
        assert "Retry-After" not in reply
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE gone RENAME TO annotation_draft")
