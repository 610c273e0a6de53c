"""Drafts on the server: the last write wins, and a draft never becomes an answer."""

import json
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from analysis.export.columns import COLUMNS
from annotation import guards
from annotation.models import Answer, Draft
from annotation.privacy import withdrawal
from tasks.spans import LONGEST_PAYLOAD
from tests import factories

DRAFT = {"v": 1, "no_answer": False, "spans": [{"field": "context", "start": 0, "end": 5}]}


@pytest.fixture
def seat(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2])
    return factories.seat(study.scenarios.get())


def keep(seat, draft=DRAFT, turn=None, client=None):
    text = draft if isinstance(draft, str) else json.dumps(draft)
    fields = {"turn": turn or seat.latest_turn().pk, "draft": text}
    return (client or Client()).post(reverse("draft", args=[seat.token]), fields)


def page(seat) -> str:
    """Return the page on another device, whose browser has no stored data."""
    return Client().get(reverse("work", args=[seat.token])).content.decode()


def test_another_device_gets_the_latest_draft(seat):
    assert "data-draft=" not in page(seat)
    assert keep(seat).status_code == 204
    keep(seat, DRAFT | {"no_answer": True, "spans": []})
    assert Draft.objects.count() == 1
    html = page(seat)
    assert "&quot;no_answer&quot;: true" in html
    assert 0 <= float(html.partition('data-draft-age="')[2].partition('"')[0]) < 60


def test_the_age_of_a_draft_is_measured_by_the_server_clock(seat):
    keep(seat)
    Draft.objects.update(saved_at=timezone.now() - timedelta(minutes=2))
    assert 'data-draft-age="12' in page(seat)


def test_reading_a_draft_writes_nothing(seat):
    keep(seat)
    before = Draft.objects.values().get()
    page(seat)
    assert Draft.objects.values().get() == before


def test_an_answer_deletes_the_draft_and_later_ones_are_ignored(seat):
    turn = seat.latest_turn()
    keep(seat)
    factories.work_through(seat, limit=1)
    assert not Draft.objects.exists()
    assert keep(seat, turn=turn.pk).status_code == 204
    assert not Draft.objects.exists()
    assert "data-draft=" not in page(seat)


def test_a_draft_for_another_turn_is_ignored(seat):
    assert keep(seat, turn=seat.latest_turn().pk + 1).status_code == 204
    assert not Draft.objects.exists()


def test_withdrawing_deletes_the_draft(seat):
    keep(seat)
    withdrawal.withdraw(seat.token)
    assert not Draft.objects.exists()
    keep(seat, turn=1)
    assert not Draft.objects.exists()


@pytest.mark.parametrize(
    "bad",
    ["", "[]", "null", "{", "[" * 10_000, json.dumps({"v": "x" * LONGEST_PAYLOAD})],
    ids=["empty", "list", "null", "broken", "deep", "long"],
)
def test_an_invalid_draft_is_refused(seat, bad):
    assert keep(seat, bad).status_code == 400
    assert not Draft.objects.exists()


@pytest.mark.engines
@pytest.mark.parametrize("odd", ["\\u0000", "\\ud83d", "😀</script>\\\"'"])
def test_any_text_of_a_draft_is_stored_and_escaped(seat, odd):
    assert keep(seat, f'{{"label": "{odd}"}}').status_code == 204
    assert "</script>" not in Draft.objects.get().content or "&lt;/script&gt;" in page(seat)
    assert page(seat).count("data-draft=") == 1


def test_a_draft_is_not_an_answer(seat):
    keep(seat, {"v": 1, "label": "positive"})
    assert not Answer.objects.exists()
    assert seat.latest_turn().given is None


def test_a_draft_cannot_be_stored_without_a_seat(seat):
    reply = Client().post(reverse("draft", args=["unknown"]), {"turn": 1, "draft": "{}"})
    assert reply.status_code == 404
    assert Client().get(reverse("draft", args=[seat.token])).status_code == 405


def test_drafts_are_not_guarded_and_not_exported():
    assert Draft._meta.db_table not in guards.GUARDED
    assert not any("draft" in column for columns in COLUMNS.values() for column in columns)
