"""A study's cost is limited by a cap, a budget and automatic pausing."""

import json
import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import LedgerEntry, Participation, Study, Topic
from annotation.pay import budget, ledger, promises
from annotation.protocol import qualification, training_step
from annotation.recruitment import consent, identities, join_errors, seats
from tests import factories
from tests.annotation.budgets import make_study, start

pytestmark = pytest.mark.engines


@pytest.fixture
def task(db):
    return factories.make_task()


@pytest.fixture
def study(researcher, task):
    return make_study(researcher, task)


# Opening -----------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(
    ("fields", "lacks"),
    [
        ({"budget": "30"}, "Set the maximum paid hours"),
        ({"max_paid_hours": "0.5"}, "Suggested: 48.00 USD"),
        (
            {"max_paid_hours": "0.5", "budget": "5"},
            "does not cover one annotator, who can earn 6.00",
        ),
        ({"hourly_rate": 0, "base_reward": 2}, "Set the study budget. Suggested: 16.00 USD"),
    ],
)
def test_a_paid_draft_without_cap_or_budget_does_not_open(ada, researcher, task, fields, lacks):
    study = factories.make_study(
        researcher, task, status="draft", shots=[2], annotators=6, estimated_minutes=10, **fields
    )
    assert lacks in ada.get(reverse("study", args=[study.name])).content.decode()
    reply = ada.post(reverse("study_status", args=[study.name]), {"action": "open"})
    assert reply.status_code == 409
    assert lacks in reply.content.decode()
    study.refresh_from_db()
    assert study.is_draft


def test_a_study_of_volunteers_opens_without_a_budget(ada, researcher, task):
    study = factories.make_study(researcher, task, status="draft", hourly_rate=0)
    ada.post(reverse("study_status", args=[study.name]), factories.opening(study))
    study.refresh_from_db()
    assert (study.status, study.budget) == ("open", None)
    assert start(study) == 302


@pytest.mark.long
def test_the_form_suggests_a_cap_and_a_budget_from_the_estimate(ada, researcher, task):
    study = factories.make_study(
        researcher, task, status="draft", shots=[2], annotators=5, estimated_minutes=10
    )
    form = ada.get(reverse("study_design", args=[study.name])).context["form"]
    assert form["max_paid_hours"].value() == Decimal("0.5")
    assert form["budget"].value() == Decimal("36.00")


def test_cap_budget_and_pausing_are_in_the_frozen_design(study):
    frozen = json.loads(study.manifest)
    assert frozen["pay"]["cap"] == "6.00"
    assert frozen["pay"]["budget"] == "12.00"
    assert frozen["max_screen_outs_in_a_row"] == 5


def test_the_landing_page_states_pay_first_then_rate_and_cap(client, study):
    page = client.get(reverse("landing", args=[study.link_code])).content.decode()
    facts = re.findall(r"<dd>(.*?)</dd>", page)
    assert facts[:2] == ["about 2.00 USD", "12.00 USD per hour, at most 6.00 USD per task"]


@pytest.mark.parametrize(
    ("pay", "words"),
    [
        ({"max_paid_hours": None, "budget": None}, "about 2.00 USD (12.00 USD per hour)"),
        ({"base_reward": 3}, "about 3.00 USD (12.00 USD per hour"),
        ({"max_paid_hours": "0.1"}, "about 1.20 USD (12.00 USD per hour, at most 1.20 USD"),
    ],
)
def test_promised_pay_respects_the_cap_and_the_base_reward(study, pay, words):
    for name, value in pay.items():
        setattr(study, name, Decimal(value) if value is not None else None)
    assert promises.promise(study, [10]).startswith(words)
    assert "10.00 USD" not in promises.promise(study, [10])


def test_tasks_of_different_length_have_a_range_of_pay(study):
    assert promises.promise(study, [10, 25]).startswith("about 2.00 USD to 5.00 USD (12.00 USD")


@pytest.mark.long
@pytest.mark.parametrize(
    ("promise", "words"),
    [
        ({"hourly_rate": 0}, "none (you are a volunteer)"),
        ({"hourly_rate": 0, "base_reward": 3}, "at least 3.00 USD if you complete a task"),
        ({"hourly_rate": 0, "minimum_pay": 1}, "at least 1.00 USD once you have seen one example"),
    ],
)
def test_the_landing_page_never_states_a_rate_of_zero(client, researcher, task, promise, words):
    study = factories.make_study(researcher, task, **promise)
    page = client.get(reverse("landing", args=[study.link_code])).content.decode()
    assert words in page
    assert "0.00 USD per hour" not in page


def test_the_preregistration_states_the_limits_of_pay(ada, study):
    page = ada.get(reverse("preregistration", args=[study.name])).content.decode()
    assert "Earnings per annotator and task are capped at 6.00 USD" in page
    assert "The budget for all annotators is 12.00 USD" in page
    # This design screens out no participants, so screen-outs can't pause the study.
    assert "pauses automatically once 5 annotators in a row" not in page


# Seats within the budget -------------------------------------------------------------------------


@pytest.mark.long
def test_no_seat_exceeds_the_budget_and_the_page_says_why(study):
    assert [start(study), start(study), start(study)] == [302, 302, 409]
    page = Client().get(reverse("landing", args=[study.link_code])).content.decode()
    assert "This study has no budget for more places right now" in page
    assert "<button" not in page
    assert study.participations.count() == 2


@pytest.mark.long
def test_an_annotator_below_the_cap_leaves_budget_for_another(study):
    first, _second = factories.join(study), factories.join(study)
    assert join_errors.refusal(study, "unknown", "person") == "budget"
    consent.record(first, agree=True)
    training_step.begin(first.token)
    study.budget = 13
    study.save()
    factories.work_through(first)
    assert start(study) == 302


def test_a_seated_annotator_is_paid_after_the_budget_is_reached(study):
    seat = factories.seat(study.scenarios.get())
    Study.objects.update(budget=Decimal("0.01"))
    factories.work_through(seat)
    seat.refresh_from_db()
    assert seat.status == "completed"
    assert seat.ledger.exists()


@pytest.mark.long
def test_earnings_of_departed_annotators_are_spent(study):
    left = factories.seat(study.scenarios.get())
    factories.work_through(left, limit=2)
    Participation.objects.update(worked_seconds=1800, status="expired", seat_number=None)
    with transaction.atomic():
        left.refresh_from_db()
        ledger.settle(left)
    assert budget.spent(study) == 600
    assert [start(study), start(study)] == [302, 409]


def test_abandoned_seats_reserve_no_budget(study):
    for _ in range(2):
        factories.seat(study.scenarios.get())
    later = timezone.now() + timedelta(days=30)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timezone, "now", lambda: later)
        assert budget.reserved(study) == 0
        assert join_errors.refusal(study, "unknown", "person") == ""


@pytest.mark.long
def test_a_returning_annotator_needs_room_in_the_budget(study):
    Study.objects.update(budget=Decimal("12.50"))
    gone = factories.seat(study.scenarios.get())
    factories.work_through(gone, limit=2)
    Participation.objects.update(status="expired", seat_number=None)
    factories.join(study)
    gone.refresh_from_db()
    assert seats.resume(gone).status == "working"
    Participation.objects.filter(pk=gone.pk).update(status="expired", seat_number=None)
    factories.join(study)
    gone.refresh_from_db()
    with pytest.raises(join_errors.RecruitmentError, match="budget"):
        seats.resume(gone)


def test_simulated_annotators_need_no_budget(study):
    Study.objects.update(budget=Decimal("0.01"))
    study.refresh_from_db()
    assert factories.join(study, kind="simulated").seat_number == 1


@pytest.mark.long
def test_the_budget_of_an_open_study_is_raised_and_logged(ada, study):
    address, before = reverse("budget", args=[study.name]), study.manifest_hash
    assert ada.post(address, {"amount": "18.00"}).status_code == 302
    study.refresh_from_db()
    assert "enough for 3 more" in ada.get(reverse("recruit", args=[study.name])).content.decode()
    assert (study.budget, study.manifest_hash) == (Decimal("18.00"), before)
    assert "raised from 12.00 to 18.00 USD" in study.events.last().what
    assert [start(study) for _ in range(4)] == [302, 302, 302, 409]


@pytest.mark.long
@pytest.mark.parametrize(
    "amount", ["", "x", "-Infinity", "NaN", "1e3", "1_000", "١٢", "11", "9" * 40]
)
def test_a_budget_that_is_not_larger_is_refused_at_its_field(ada, study, amount):
    reply = ada.post(reverse("budget", args=[study.name]), {"amount": amount})
    assert reply.status_code == 422
    assert 'id="budget-amount_error"' in reply.content.decode()
    study.refresh_from_db()
    assert study.budget == Decimal("12.00")


@pytest.mark.long
def test_a_bonus_cannot_exceed_the_budget(ada, study):
    seat = factories.seat(study.scenarios.get())
    address = reverse("participation_bonus", args=[study.name, seat.pseudonym])
    reply = ada.post(address, {"amount": "6.01", "reason": "kind"})
    assert reply.status_code == 422
    assert "0.01 USD short. Raise the budget first" in reply.content.decode()
    assert not LedgerEntry.objects.exists()
    assert ada.post(address, {"amount": "6.00", "reason": "kind"}).status_code == 302
    assert start(study) == 409


# Automatic pausing -------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_a_study_pauses_automatically_when_its_budget_is_reached(ada, researcher, task):
    study = make_study(researcher, task, hourly_rate=0, base_reward=5)
    for _ in range(2):
        factories.work_through(factories.seat(study.scenarios.get()))
    study.refresh_from_db()
    assert study.status == "paused"
    event = study.events.last()
    assert event.by is None
    assert event.what == "Paused automatically: the budget is reached"
    assert event.what in ada.get(reverse("study", args=[study.name])).content.decode()
    sums = study.events.get(topic=Topic.PAY, what__startswith="Budget reached")
    assert "of the budget of 12.00 USD, 10.00 has been earned" in sums.what
    reopen = reverse("study_status", args=[study.name])
    reply = ada.post(reopen, {"action": "reopen"})
    assert reply.status_code == 409
    assert "Raise the budget first" in reply.content.decode()
    ada.post(reverse("budget", args=[study.name]), {"amount": "15"})
    assert ada.post(reopen, {"action": "reopen"}).status_code == 302
    assert (
        "Paused automatically" not in ada.get(reverse("study", args=[study.name])).content.decode()
    )


@pytest.mark.django_db(transaction=True)
def test_a_full_study_does_not_pause_for_its_budget(researcher, task):
    study = make_study(
        researcher, task, hourly_rate=0, base_reward=5, annotators=2, budget=Decimal(10)
    )
    for _ in range(2):
        factories.work_through(factories.seat(study.scenarios.get()))
    study.refresh_from_db()
    assert study.status == "open"


def is_screened_out(study) -> None:
    """Answer the training step wrong as a new participant, who is then screened out."""
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, answer=lambda turn: ["home"], limit=2)
    factories.go_on(seat.token)
    seat.refresh_from_db()
    assert seat.status == "screened_out"


def passes(study) -> None:
    factories.work_through(factories.seat(study.scenarios.get()), limit=3)


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_screen_outs_in_a_row_pause_a_study_and_the_row_restarts(ada, researcher, task):
    study = make_study(
        researcher, task, qualification="minimum", qualification_threshold=90,
        max_screen_outs_in_a_row=2, budget=Decimal(100),
    )  # fmt: skip
    for step in (is_screened_out, passes, is_screened_out):
        step(study)
    study.refresh_from_db()
    assert study.status == "open"
    is_screened_out(study)
    study.refresh_from_db()
    assert study.status == "paused"
    page = ada.get(reverse("study", args=[study.name])).content.decode()
    assert "Paused automatically: 2 annotators in a row were screened out" in page
    ada.post(reverse("study_status", args=[study.name]), {"action": "reopen"})
    is_screened_out(study)
    study.refresh_from_db()
    assert study.status == "open"
    is_screened_out(study)
    study.refresh_from_db()
    assert study.status == "paused"


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("platform", "pauses"), [("link", False), ("panel:SONA", False), ("personal", True)]
)
def test_failed_questions_by_an_open_link_do_not_pause_a_study(
    client, researcher, task, platform, pauses
):
    """One client can use an open link as many people; an invited participant is only one."""
    study = make_study(
        researcher, task, comprehension_questions="Yes?\n* Yes\n- No\n", max_screen_outs_in_a_row=2,
        budget=Decimal(100),
    )  # fmt: skip
    for number in range(2):
        key = identities.worker_key(platform, str(number))
        seat = seats.join(study.pk, key, platform, "person")
        consent.record(seat, agree=True)
        for _attempt in range(study.comprehension_attempts):
            client.post(reverse("comprehend", args=[seat.token]), {"question-1": "1"})
        seat.refresh_from_db()
        assert seat.status == "screened_out"
    study.refresh_from_db()
    assert study.status == ("paused" if pauses else "open")


@pytest.mark.django_db(transaction=True)
def test_screened_out_simulated_annotators_do_not_pause_a_study(researcher, task):
    study = make_study(
        researcher, task, qualification="minimum", qualification_threshold=90,
        max_screen_outs_in_a_row=1,
    )  # fmt: skip
    seat = factories.seat(study.scenarios.get(), kind="simulated")
    factories.work_through(seat, answer=lambda turn: ["home"], limit=2)
    factories.go_on(seat.token)
    study.refresh_from_db()
    assert study.status == "open"


def test_a_waiting_worker_reserves_the_cap(researcher, task):
    study = make_study(researcher, task, qualification="researcher")
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=2)
    factories.go_on(seat.token)
    assert budget.reserved(study) == 600
    qualification.decide(seat.token, False, "no", researcher)
    assert budget.reserved(study) == 0


@pytest.mark.long
def test_unsettled_departures_count_as_spent_in_constant_queries(
    ada, researcher, task, django_assert_max_num_queries
):
    study = make_study(researcher, task, annotators=6, budget=Decimal("60.00"))
    scenario = study.scenarios.get()
    seats_taken = [factories.seat(scenario) for _ in range(5)]
    factories.seat(scenario)  # one annotator is still at work at each measurement
    address, queries = reverse("recruit", args=[study.name]), []
    for number, seat in enumerate(seats_taken):
        factories.work_through(seat, limit=number + 1)
        arrived = timezone.now() - timedelta(minutes=10 * number)
        Participation.objects.filter(pk=seat.pk).update(
            arrived_at=arrived, status="expired", seat_number=None
        )
        with CaptureQueriesContext(connection) as captured:
            reply = ada.get(address)
        queries.append(len(captured))
    assert queries[1:] == queries[1:2] * 4
    with django_assert_max_num_queries(4):
        before = budget.spent(study)
    assert ledger.in_currency(before) in reply.content.decode()
    with transaction.atomic():
        budget.settle_left(study)
    entered = sum(LedgerEntry.objects.values_list("cents", flat=True))
    assert before == budget.spent(study) == entered > 0
