"""Annotators earn the promised rate for active time; a ledger and batches record payments."""

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import (
    Activity,
    Answer,
    LedgerEntry,
    Participation,
    PaymentBatch,
    Status,
    Study,
    Turn,
)
from annotation.pay import ledger
from annotation.payout import batches, payments
from annotation.privacy import withdrawal
from annotation.prolific import drafts
from annotation.protocol import answering, qualification, training_step
from annotation.recruitment import consent, seats
from annotation.recruitment.links import make_links
from annotation.study import team
from tests import factories

START = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def stored(module_researcher):
    return factories.make_study(
        module_researcher, factories.make_task(), shots=[2], annotators=3, hourly_rate=12
    ).pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


def earned(participation) -> dict[str, int]:
    return {entry.kind: entry.cents for entry in participation.ledger.all()}


# Active time -------------------------------------------------------------------------------------


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


@pytest.mark.parametrize(("cut", "expected"), [(30, 84), (1000, 410)])
def test_active_time_is_the_sum_of_gaps_up_to_the_cutoff(cut, expected):
    """The example of docs/statistics.md#active-time: events at 0, 5, 9, 70, 75, 400, 410 s."""
    turn = Turn(shown_at=START, worked_before=timedelta())
    turn.prime_empty_relations()
    seconds, last = 0.0, START
    for mark in (5, 9, 70, 75, 400):
        Activity(turn=turn, seconds=seconds, last_at=last)  # also sets turn.activity
        seconds = turn.active_until(at(mark), timedelta(seconds=cut)).total_seconds()
        last = at(mark)
    turn.activity.seconds, turn.activity.last_at = seconds, last
    assert turn.active_until(at(410), timedelta(seconds=cut)).total_seconds() == expected


def test_without_pings_a_gap_counts_up_to_five_minutes():
    turn = Turn(shown_at=START, worked_before=timedelta())
    turn.prime_empty_relations()
    cut = timedelta(seconds=60)
    assert turn.active_until(at(200), cut).total_seconds() == 200
    assert turn.active_until(at(2000), cut).total_seconds() == 300


def test_a_clock_that_was_set_back_does_not_reduce_time(study):
    seat = factories.seat(study.scenarios.get())
    seat.arrived_at, seat.consented_at = at(200), at(0)
    assert seat.worked_before_first(at(30)) == timedelta(seconds=30)


def test_pings_are_stored_and_added_up(client, study):
    seat = factories.seat(study.scenarios.get())
    turn = seat.latest_turn()
    address = reverse("ping", args=[seat.token])
    told = {"turn": turn.pk, "blurs": "2", "away_seconds": "30", "pastes": "1"}
    assert client.post(address, told).status_code == 204
    client.post(address, told)
    stored = Activity.objects.get()
    assert (stored.blurs, stored.away_seconds, stored.pastes) == (4, 60, 2)
    assert stored.last_at > turn.shown_at


@pytest.mark.parametrize("turn", ["0", "x", "", "99999999"])
def test_a_ping_for_another_turn_is_not_stored(client, study, turn):
    seat = factories.seat(study.scenarios.get())
    client.post(reverse("ping", args=[seat.token]), {"turn": turn})
    assert not Activity.objects.exists()


def test_invalid_numbers_in_a_ping_count_as_zero(study):
    seat = factories.seat(study.scenarios.get())
    told = {"blurs": "-1", "away_seconds": "9" * 40, "pastes": "٣"}
    answering.ping(seat.token, seat.latest_turn().pk, told)
    stored = Activity.objects.get()
    assert (stored.blurs, stored.away_seconds, stored.pastes) == (0, 0, 0)


REPORTS = {
    "copies": 3, "left_after_copy": 1, "automated": 1, "no_input": 1, "narrow": 1, "jumps": 2,
}  # fmt: skip


def test_reports_that_come_with_an_answer_are_stored_and_capped(client, study):
    seat = factories.seat(study.scenarios.get())
    turn = seat.latest_turn()
    answering.ping(seat.token, turn.pk, {"copies": "1", "narrow": "1"})
    fields = factories.fields_for(turn.example, turn.example.gold) | {"turn": turn.pk}
    sent = REPORTS | {"copies": "2", "automated": "7"}
    client.post(reverse("answer", args=[seat.token]), fields | sent)
    client.post(reverse("answer", args=[seat.token]), fields | sent)  # sent twice: stored once
    stored = Activity.objects.values(*REPORTS, "seconds", "last_at").get()
    answer = Answer.objects.get()
    assert stored == REPORTS | {"seconds": answer.active_seconds, "last_at": answer.submitted_at}


def test_reports_with_an_invalid_answer_are_kept(client, study):
    seat = factories.seat(study.scenarios.get())
    turn, address = seat.latest_turn(), reverse("answer", args=[seat.token])
    reply = client.post(address, {"turn": turn.pk, "copies": "2", "automated": "1"})
    assert reply.status_code == 422
    fields = factories.fields_for(turn.example, turn.example.gold) | {"turn": turn.pk}
    client.post(address, fields | {"copies": "1"})
    stored = Activity.objects.values("copies", "automated", "no_input", "seconds").get()
    seconds = Answer.objects.get().active_seconds
    assert stored == {"copies": 3, "automated": 1, "no_input": 0, "seconds": seconds}


def test_an_answer_without_reports_stores_no_activity(client, study):
    seat = factories.seat(study.scenarios.get())
    turn = seat.latest_turn()
    reply = client.post(reverse("answer", args=[seat.token]), {"turn": turn.pk})
    assert reply.status_code == 422
    factories.work_through(seat, limit=1)
    assert not Activity.objects.exists()


def test_signs_are_exported_flagged_and_in_the_annotator_s_data(client, ada, study, tmp_path):
    seat = factories.seat(study.scenarios.get())
    turn = seat.latest_turn()
    fields = factories.fields_for(turn.example, turn.example.gold) | {"turn": turn.pk}
    client.post(reverse("answer", args=[seat.token]), fields | REPORTS)
    call_command("export_study", study.name, str(tmp_path / "export"), verbosity=0)
    with (tmp_path / "export" / "answers.csv").open(encoding="utf-8-sig") as file:
        row = next(csv.DictReader(file))
    assert {name: int(row[name]) for name in REPORTS} == REPORTS
    page = ada.get(reverse("participation", args=[study.name, seat.pseudonym])).content.decode()
    for finding in (
        "Copies of the page&#x27;s text: 3",
        "within 10 s of a copy: 1",
        "a program or script: 1",
    ):
        assert finding in page
    data = client.get(reverse("own_data", args=[seat.token])).json()
    assert REPORTS.items() <= data["examples"][0].items()


def test_the_active_time_is_stored_with_the_answer(study):
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=1)
    answer = Answer.objects.get()
    wall = (answer.submitted_at - answer.turn.shown_at).total_seconds()
    assert 0 < answer.active_seconds <= wall


def test_time_and_earnings_are_shown_while_working(client, study):
    seat = factories.seat(study.scenarios.get())
    page = client.get(reverse("work", args=[seat.token])).content.decode()
    assert 'data-earned="12.00"' in page
    assert 'data-cutoff="60"' in page


def test_displayed_earnings_never_exceed_the_cap(client, researcher, monkeypatch):
    limits = {"hourly_rate": 12, "max_paid_hours": Decimal("0.1"), "idle_cutoff_seconds": 600}
    study = factories.make_study(researcher, factories.make_task(), shots=[2], **limits)
    seat = factories.seat(study.scenarios.get())
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now + timedelta(minutes=9))
    page = client.get(reverse("work", args=[seat.token])).content.decode()
    assert 'data-most="360" value="1.20">1.20<' in " ".join(page.split())


# The ledger --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "fields", "expected"),
    [
        (900, {}, {"top_up": 300}),  # $3 in 900 s is $12 per hour (docs/statistics.md)
        (1200, {"base_reward": 3}, {"base": 300, "top_up": 100}),
        (60, {"base_reward": 3}, {"base": 300}),
        (60, {"base_reward": 1, "minimum_pay": 2}, {"base": 100, "top_up": 100}),
        (7200, {"max_paid_hours": Decimal("1.5")}, {"top_up": 1800}),
        (1, {}, {"top_up": 1}),  # 0.33 cents, rounded up
        (900, {"hourly_rate": 0}, {}),
    ],
)
def test_a_completed_annotator_earns_the_larger_of_base_and_rate(study, seconds, fields, expected):
    for name, value in fields.items():
        setattr(study, name, value)
    study.save()
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=5)
    Participation.objects.filter(pk=seat.pk).update(status="completed", worked_seconds=seconds)
    assert earned_after_settling(seat) == expected


def earned_after_settling(seat) -> dict[str, int]:
    with transaction.atomic():
        ledger.settle(Participation.objects.get(pk=seat.pk))
        ledger.settle(Participation.objects.get(pk=seat.pk))
    return earned(seat)


@pytest.mark.parametrize("status", ["screened_out", "returned", "expired"])
def test_partial_work_is_paid_by_the_rate_or_the_minimum(study, status):
    study.minimum_pay = 1
    study.save()
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=1)
    Participation.objects.filter(pk=seat.pk).update(
        status=status, seat_number=None, worked_seconds=600
    )
    assert earned_after_settling(seat) == {"partial": 200}
    other = factories.seat(study.scenarios.get())
    Participation.objects.filter(pk=other.pk).update(
        status=status, seat_number=None, worked_seconds=2
    )
    assert earned_after_settling(other) == {"partial": 100}


def test_completing_settles_at_once_and_says_what_was_earned(client, study):
    study.base_reward = Decimal("2.50")
    study.save()
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat)
    assert earned(seat) == {"base": 250}
    assert "2.50 USD" in client.get(reverse("work", args=[seat.token])).content.decode()


def test_pay_survives_a_withdrawal(study):
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=2)
    turn = Turn.objects.filter(participation=seat).last()
    Activity.objects.create(turn=turn, seconds=1800, last_at=timezone.now())
    withdrawal.withdraw(seat.token)
    assert earned(seat) == {"partial": pytest.approx(600, abs=50)}
    assert not Answer.objects.exists()
    seat.refresh_from_db()
    assert seat.worked_seconds == pytest.approx(1800, abs=150)


def test_an_expired_seat_is_settled_when_a_payment_is_prepared(study):
    seat = factories.seat(study.scenarios.get())
    Participation.objects.filter(pk=seat.pk).update(status="expired", seat_number=None)
    assert earned(seat) == {}
    study.minimum_pay = 1
    study.save()
    batches.prepare(study, None)
    assert earned(seat) == {"partial": 100}


def test_a_resumed_and_completed_seat_is_paid_in_full_once(study):
    study.base_reward = Decimal(3)
    study.save()
    seat = factories.seat(study.scenarios.get())
    Participation.objects.filter(pk=seat.pk).update(status="expired", seat_number=None)
    batches.prepare(study, None)
    before = sum(earned(seat).values())
    seats.resume(Participation.objects.get(pk=seat.pk))
    factories.work_through(seat)
    assert sum(earned(seat).values()) in (300, 300 + before)


def test_the_ledger_is_insert_only(study):
    seat = factories.seat(study.scenarios.get())
    entry = ledger.add_bonus(seat, 50, "thanks", None)
    for change in (
        lambda: LedgerEntry.objects.filter(pk=entry.pk).update(cents=5000),
        lambda: LedgerEntry.objects.filter(pk=entry.pk).delete(),
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()
    entry.refresh_from_db()
    assert entry.cents == 50


def test_payment_and_analysis_are_decided_separately(client, researcher, study):
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat)
    client.force_login(researcher)
    address = reverse("participation_decide", args=[study.name, seat.pseudonym])
    assert client.post(address, {"about": "pay", "outcome": "no"}).status_code == 422
    client.post(address, {"about": "pay", "outcome": "no", "reason": "a robot"})
    seat.refresh_from_db()
    assert (seat.is_paid, seat.in_analysis) == (False, True)
    assert batches.prepare(study, researcher) == []
    pay_page = client.get(reverse("pay", args=[study.name])).content.decode()
    assert "0.00 USD to pay." in pay_page
    client.post(address, {"about": "analysis", "outcome": "no", "reason": "too fast"})
    client.post(address, {"about": "pay", "outcome": "yes", "reason": "no robot after all"})
    seat.refresh_from_db()
    assert (seat.is_paid, seat.in_analysis) == (True, False)
    assert len(batches.prepare(study, researcher)) == 1
    page = client.get(reverse("participation", args=[study.name, seat.pseudonym]))
    assert "no robot after all" in page.content.decode()


@pytest.mark.parametrize(
    ("amount", "reason", "status"),
    [
        ("1.50", "thanks", 302), ("1.50", "", 422), ("much", "x", 422), ("-1", "x", 422),
        ("Infinity", "x", 422), ("NaN", "x", 422), ("1e999999", "x", 422), ("1", "a\0b", 422),
    ],
)  # fmt: skip
def test_a_bonus_needs_an_amount_and_a_reason(client, researcher, study, amount, reason, status):
    seat = factories.seat(study.scenarios.get())
    client.force_login(researcher)
    address = reverse("participation_bonus", args=[study.name, seat.pseudonym])
    reply = client.post(address, {"amount": amount, "reason": reason})
    assert reply.status_code == status
    assert earned(seat) == ({"bonus": 150} if status == 302 else {})


def test_two_clicks_on_a_bonus_enter_it_once(client, researcher, study):
    seat = factories.seat(study.scenarios.get())
    client.force_login(researcher)
    address = reverse("participation_bonus", args=[study.name, seat.pseudonym])
    replies = [client.post(address, {"amount": "1.50", "reason": "thanks"}) for _click in range(2)]
    assert [reply.status_code for reply in replies] == [302, 422]
    assert "just been entered" in replies[1].content.decode()
    assert earned(seat) == {"bonus": 150}


# Wages and batches -------------------------------------------------------------------------------


def test_wages_are_per_active_hour_and_the_page_warns_if_low(client, researcher, study):
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat)
    LedgerEntry.objects.create(
        participation=seat, kind="bonus", cents=300, currency="USD", reason="x"
    )
    total = sum(earned(seat).values())
    Participation.objects.filter(pk=seat.pk).update(worked_seconds=1200)
    (wage,) = ledger.wages(ledger.settled(study))
    assert wage.per_active_hour == pytest.approx(total * 3)
    # The median agrees with the wage in the list, even if the annotator waited for a decision.
    now = timezone.now()
    times = {"waiting_since": now - timedelta(seconds=90), "decided_at": now}
    Participation.objects.filter(pk=seat.pk).update(**times)
    (wage,) = ledger.wages(ledger.settled(study))
    assert ledger.median_wage_of(study) == wage.per_active_hour
    client.force_login(researcher)
    page = client.get(reverse("pay", args=[study.name])).content.decode()
    assert "below the promised rate" in page


@pytest.mark.long
def test_a_manual_batch_has_names_and_each_entry_only_once(client, researcher, study):
    (link,) = make_links(study, "Ida Éclair")
    client.post(reverse("start", args=[link.code]))
    seat = study.participations.get()
    client.post(reverse("consent", args=[seat.token]), {"agree": "yes"})
    training_step.begin(seat.token)
    factories.work_through(seat)
    client.force_login(researcher)
    page = reverse("pay", args=[study.name])
    client.post(page, {"action": "prepare"})
    client.post(page, {"action": "prepare"})
    batch = PaymentBatch.objects.get()
    assert (batch.method, batch.state) == ("hand", "prepared")
    text = client.get(reverse("pay_batch_file", args=[study.name, batch.pk])).content.decode()
    (row,) = csv.DictReader(io.StringIO(text))
    assert (row["platform"], row["id"], row["annotator"]) == (
        "personal", "Ida Éclair", seat.pseudonym,
    )  # fmt: skip
    assert Decimal(row["amount"]) * 100 == sum(earned(seat).values())
    client.post(page, {"action": "mark", "batch": batch.pk})
    assert client.post(page, {"action": "mark", "batch": batch.pk}).status_code == 409
    assert client.post(page, {"action": "cancel", "batch": batch.pk}).status_code == 409
    (wage,) = ledger.wages(ledger.settled(study))
    assert wage.paid == wage.earned


def test_the_pay_page_has_one_primary_button(ada, study):
    def primary() -> list[str]:
        page = ada.get(reverse("pay", args=[study.name])).content.decode()
        return re.findall(r'<button name="action" value="(\w+)">', page)

    assert primary() == []  # nothing to pay
    factories.work_through(factories.seat(study.scenarios.get()))
    assert primary() == ["prepare"]
    ada.post(reverse("pay", args=[study.name]), {"action": "prepare"})
    assert primary() == ["mark"]


def test_entries_of_a_cancelled_batch_can_be_paid_again(client, researcher, study):
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat)
    (batch,) = batches.prepare(study, researcher)
    batches.cancel(batch)
    (again,) = batches.prepare(study, researcher)
    assert factories.total(again) == sum(earned(seat).values())


def both(ada, study, **fields: str) -> tuple[int, str]:
    """Return the status and the sentence of the API, which the page repeats."""
    headers = factories.bearer(study.owner, "pay")
    address = reverse("api_pay", args=[study.name])
    with transaction.atomic():
        reply = Client().post(address, fields, "application/json", headers=headers)
        transaction.set_rollback(True)
    page = ada.post(reverse("pay", args=[study.name]), fields, follow=True)
    assert page.status_code == reply.status_code
    sentence = reply.json().get("done") or reply.json()["detail"]
    assert sentence in page.content.decode()
    return reply.status_code, sentence


def test_page_and_api_reply_the_same_to_a_payment(ada, study):
    factories.work_through(factories.seat(study.scenarios.get()))
    assert both(ada, study, action="prepare") == (200, "1 batch was prepared.")
    batch = str(PaymentBatch.objects.get().pk)
    assert both(ada, study, action="mark", batch=batch) == (
        200,
        f"Batch {batch} is marked as paid.",
    )
    assert both(ada, study, action="cancel", batch=batch)[0] == 409
    assert both(ada, study, action="cancel", batch="0")[0] == 422
    unknown = both(ada, study, action="release", annotator="nobody", reason="a test")
    assert unknown == (422, "No annotator has this pseudonym.")


def test_simulated_annotators_earn_nothing_and_no_pay_is_due(ada, study):
    seat = factories.seat(study.scenarios.get(), "simulated")
    factories.work_through(seat)
    assert batches.prepare(study, None) == []
    address = reverse("participation", args=[study.name, seat.pseudonym])
    assert "<dt>Pay</dt>" not in ada.get(address).content.decode()


def test_pay_pages_of_another_researcher_are_not_found(client, other_researcher, study):
    client.force_login(other_researcher)
    for name in ("pay", "platforms"):
        assert client.get(reverse(name, args=[study.name]), follow=True).status_code == 404
    assert client.post(reverse("pay", args=[study.name]), {"action": "prepare"}).status_code == 404


@pytest.mark.long
def test_pay_page_query_count_is_constant_in_batches(
    ada, study, researcher, django_assert_num_queries
):
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat)
    address = reverse("pay", args=[study.name])

    def prepare_up_to(number: int) -> None:
        while study.payment_batches.count() < number:
            ledger.add_bonus(seat, 10 + study.payment_batches.count(), "kind", researcher)
            batches.prepare(study, researcher)

    prepare_up_to(3)
    ada.get(address)
    with CaptureQueriesContext(connection) as three:
        ada.get(address)
    prepare_up_to(12)
    with django_assert_num_queries(len(three)):
        page = ada.get(address).content.decode()
    assert page.count("CSV of batch") == 12


def test_amounts_due_are_read_in_a_fixed_number_of_queries(
    ada, researcher, django_assert_num_queries
):
    study = factories.make_study(researcher, factories.make_task(), shots=[0], annotators=6)
    address = reverse("api_pay", args=[study.name])

    def earn(number: int) -> None:
        for _person in range(number):
            factories.work_through(factories.seat(study.scenarios.get()))

    earn(2)
    ada.get(address)
    with CaptureQueriesContext(connection) as two:
        ada.get(address)
    earn(4)
    with django_assert_num_queries(len(two)):
        assert len(ada.get(address).json()["due"]) == 6
    (batch,) = batches.prepare(study, researcher)
    with CaptureQueriesContext(connection) as six:
        assert payments.batch_csv(batch).count("\n") == 7
    assert len(six) < 6


@pytest.mark.long
@pytest.mark.parametrize(("role", "finds"), [("payer", True), ("analyst", False)])
def test_payers_find_people_by_a_completion_code_once_shown(
    client, study, other_researcher, role, finds
):
    team.add(study, other_researcher.username, role, study.owner)
    client.force_login(other_researcher)
    seat = factories.seat(study.scenarios.get())

    def seen() -> tuple[bool, bool]:
        asked = {"q": seat.completion_code.lower()}
        found = client.get(reverse("people", args=[study.name]), asked).context["participations"]
        page = client.get(reverse("participation", args=[study.name, seat.pseudonym]))
        return bool(found), seat.completion_code in page.content.decode()

    assert seen() == (False, False)
    # Between two parts, the annotator's page already shows the code.
    type(seat).objects.filter(pk=seat.pk).update(status=Status.BETWEEN)
    assert seen()[0] is finds
    type(seat).objects.filter(pk=seat.pk).update(status=seat.status)
    factories.work_through(seat)
    assert seen() == (finds, finds)


# Waiting and breaks ------------------------------------------------------------------------------


def pings_each_minute(client, monkeypatch, seat, minutes: int) -> None:
    """Ping every minute like an open page, and leave the clock at the last minute."""
    turn, base = seat.latest_turn(), timezone.now()
    for minute in range(1, minutes):
        monkeypatch.setattr(timezone, "now", lambda m=minute: base + timedelta(minutes=m))
        client.post(reverse("ping", args=[seat.token]), {"turn": turn.pk})


def test_waiting_is_paid_once(client, researcher, monkeypatch):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], qualification="researcher",
        decision_minutes=60, hourly_rate=60,
    )  # fmt: skip
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=2)
    factories.go_on(seat.token)
    seat.refresh_from_db()
    pings_each_minute(client, monkeypatch, seat, 60)
    qualification.decide(seat.token, False, "no", researcher)
    assert sum(entry.cents for entry in seat.ledger.all()) < 6100
    assert not Activity.objects.exists()


@pytest.mark.long
def test_a_break_between_two_parts_is_not_paid(client, researcher, study, monkeypatch):
    drafts.plan(study, 1, researcher)
    seat = factories.seat(study.scenarios.get())
    Participation.objects.filter(pk=seat.pk).update(part=1)
    factories.work_through(seat, limit=2)
    factories.go_on(seat.token)
    seat.refresh_from_db()
    assert seat.status == "between"
    pings_each_minute(client, monkeypatch, seat, 120)
    withdrawal.withdraw(seat.token)
    assert not Activity.objects.exists()
    assert sum(earned(seat).values()) < 10


@pytest.mark.long
def test_ten_hours_of_signs_earn_no_more_than_the_cap(client, researcher, monkeypatch):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], annotators=3, estimated_minutes=10
    )
    seat = factories.seat(study.scenarios.get())
    pings_each_minute(client, monkeypatch, seat, 600)
    factories.work_through(seat)
    assert study.max_paid_hours == Decimal("0.5")
    assert sum(earned(seat).values()) == 600


def test_consent_without_work_earns_nothing(study, monkeypatch):
    consented = factories.join(study)
    consent.record(consented, agree=True)
    left = factories.join(study)
    consent.record(left, agree=True)
    Participation.objects.update(consented_at=timezone.now() + timedelta(minutes=6))
    withdrawal.withdraw(left.token)
    Participation.objects.filter(pk=consented.pk).update(status="expired", seat_number=None)
    assert ledger.settle_ended(study) == 0
    assert not LedgerEntry.objects.exists()


def test_waiting_stays_within_the_cap(researcher, monkeypatch):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], qualification="researcher",
        decision_minutes=60, hourly_rate=60, max_paid_hours=Decimal("0.1"),
    )  # fmt: skip
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=2)
    factories.go_on(seat.token)
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now + timedelta(minutes=50))
    qualification.decide(seat.token, False, "no", researcher)
    assert sum(earned(seat).values()) == 600


@pytest.mark.parametrize(
    ("number", "told"),
    [(0, "Nothing new is due."), (1, "1 batch was prepared."), (2, "2 batches were prepared.")],
)
def test_prepared_batches_are_counted_in_words(number, told):
    assert batches.prepared_in_words(number) == told


def test_an_empty_list_of_people_suggests_what_to_do(client, researcher):
    study = factories.make_study(researcher, factories.make_task(name="no-arrivals"))
    client.force_login(researcher)
    page = client.get(reverse("people", args=[study.name])).content.decode()
    text = " ".join(re.sub("<[^>]+>", "", page).split())
    assert "No annotators yet. Share the link to invite annotators. To try out the study" in text
