"""Annotators see how many examples remain, how long they take, and what they will earn."""

from decimal import Decimal

import pytest
from django.urls import reverse

from annotation.participation.turn import progress_at, turn_page
from tests import factories


def test_before_five_answers_the_studys_estimate_is_used():
    way = progress_at(4, 630, worked=500, on_examples=4, estimated=3600, hourly_rate=Decimal(12))
    assert way["minutes_left"] == round(60 * 626 / 630)
    assert way["expected_in_words"] == Decimal("13.59")  # (500 s + 3577 s) at 12 an hour


def test_from_five_answers_on_the_annotators_pace_is_used():
    way = progress_at(30, 630, worked=400, on_examples=300, estimated=3600, hourly_rate=Decimal(12))
    assert way["minutes_left"] == 100
    assert way["expected_in_words"] == Decimal("21.33")


def test_expected_pay_never_exceeds_the_cap():
    way = progress_at(30, 630, 400, 300, 3600, hourly_rate=Decimal(12), max_paid_seconds=3600)
    assert way["expected_in_words"] == Decimal("12.00")


def test_minutes_left_is_at_least_one_until_the_end():
    assert progress_at(99, 100, on_examples=99)["minutes_left"] == 1
    assert progress_at(100, 100, on_examples=99)["minutes_left"] == 0


def test_without_an_estimate_nothing_is_expected():
    assert progress_at(0, 10)["minutes_left"] is None
    assert progress_at(0, 10, estimated=60)["expected_in_words"] is None


def test_a_break_is_suggested_every_fifty_examples_but_the_last():
    proposed = [n for n in range(206) if progress_at(n, 205)["is_milestone"]]
    assert proposed == [50, 100, 150]


def test_progress_of_a_turn_counts_both_steps(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2])
    seat = factories.seat(study.scenarios.get())
    ways = []
    for _answered in range(3):
        ahead = turn_page(seat, seat.latest_turn()).progress
        ways.append((ahead["answered"], ahead["total"]))
        factories.work_through(seat, limit=1)
        seat.refresh_from_db()
    # The first two are at reveals; the annotation step shows the next question immediately.
    assert ways == [(0, 6), (1, 6), (2, 6)]


def test_the_page_shows_time_left_and_expected_pay(client, researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], estimated_minutes=45, hourly_rate=12
    )
    seat = factories.seat(study.scenarios.get())
    html = client.get(reverse("work", args=[seat.token])).content.decode()
    assert 'data-minutes-left="45"' in html
    assert "you will earn about 9.0" in html


@pytest.mark.parametrize(("anchors", "said"), [(0, True), (1, False)])
def test_only_training_says_that_the_main_part_has_no_feedback(client, researcher, anchors, said):
    task = factories.make_task(test_size=5)
    study = factories.make_study(researcher, task, shots=[2], anchor_examples=anchors)
    seat = factories.seat(study.scenarios.get())
    page = client.get(reverse("work", args=[seat.token])).content.decode()
    assert ("without feedback" in page) is said
