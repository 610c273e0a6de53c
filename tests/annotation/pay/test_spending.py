"""Only payers spend money, unusual amounts need a review, and invalid amounts are refused."""

import csv
import io
import re
import statistics
from decimal import Decimal

import pytest
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.db.models import Sum
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import LedgerEntry, Panel, Participation, Study
from annotation.pay import budget, holds, ledger
from annotation.payout import batches
from annotation.payout import payments as payout
from annotation.prolific import drafts
from annotation.protocol import training_step
from annotation.recruitment import consent
from annotation.recruitment.links import make_links
from tests import factories
from tests.annotation.budgets import make_study, works_for
from tests.annotation.study.test_design import fields


@pytest.fixture
def task(db):
    return factories.make_task()


@pytest.fixture
def study(researcher, task):
    return make_study(researcher, task)


# The permission to spend -------------------------------------------------------------------------


def test_a_fresh_account_cannot_publish_on_prolific(ada, researcher, study):
    (draft,) = drafts.plan(study, 0, researcher)
    reply = ada.post(
        reverse("prolific_study", args=[study.name, draft.pk]), factories.publishing(draft)
    )
    assert reply.status_code == 403
    assert "may not spend money" in reply.content.decode()


@pytest.mark.engines
def test_a_fresh_account_prepares_a_batch_but_does_not_pay_it(ada, researcher, study):
    factories.work_through(factories.seat(study.scenarios.get()))
    (batch,) = batches.prepare(study, researcher)
    reply = ada.post(reverse("pay", args=[study.name]), {"action": "pay", "batch": batch.pk})
    assert reply.status_code == 403
    batch.refresh_from_db()
    assert batch.state == "prepared"


@pytest.mark.long
@pytest.mark.parametrize("gets", ["permission", "superuser"])
def test_a_budget_above_the_limit_needs_the_permission_to_spend(
    ada, researcher, task, settings, gets
):
    settings.STUDY_BUDGET_LIMIT = Decimal(50)
    study = factories.make_study(
        researcher, task, status="draft", max_paid_hours="0.5", budget="50.01"
    )
    opening = reverse("study_status", args=[study.name])
    reply = ada.post(opening, {"action": "open"})
    assert reply.status_code == 403
    assert "is above 50 USD" in reply.content.decode()
    Study.objects.update(budget=50)
    study.refresh_from_db()
    assert ada.post(opening, factories.opening(study)).status_code == 302
    raising = reverse("budget", args=[study.name])
    assert ada.post(raising, {"amount": "60"}).status_code == 403
    study.refresh_from_db()
    assert study.budget == 50
    if gets == "superuser":
        get_user_model().objects.update(is_superuser=True)
    else:
        factories.may_spend(researcher)
    assert ada.post(raising, {"amount": "60"}).status_code == 302


@pytest.mark.long
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"reward_cents": 601}, "above the maximum that the study pays one annotator, 6.00 USD"),
        ({"reward_cents": 600, "places": 3}, "above the study&#x27;s budget, 12.00 USD"),
    ],
)
@pytest.mark.engines
def test_prolific_is_not_asked_to_pay_more_than_cap_and_budget(
    ada, researcher, study, settings, fields, reason
):
    settings.PROLIFIC_TOKEN = ""  # Prolific is not called in this test
    factories.may_spend(researcher)
    (draft,) = drafts.plan(study, 0, researcher)
    study.prolific_studies.update(**fields)
    reply = ada.post(
        reverse("prolific_study", args=[study.name, draft.pk]), factories.publishing(draft)
    )
    assert reply.status_code == 409
    assert reason in reply.content.decode()


def test_the_command_line_may_spend():
    budget.check_may_spend(None)


def test_a_refusal_to_spend_names_the_administrator(researcher):
    with pytest.raises(PermissionDenied, match="An administrator of this server"):
        budget.check_may_spend(researcher)


# What payers review ------------------------------------------------------------------------------


@pytest.fixture
def slow(researcher, task):
    """Three participants who worked for ten minutes, and one for over an hour."""
    study = make_study(researcher, task, max_paid_hours=Decimal(2), budget=Decimal(500))
    for seconds in (600, 600, 600, 4000):
        works_for(factories.seat(study.scenarios.get()), seconds)
    return study


@pytest.mark.long
@pytest.mark.engines
def test_earnings_far_above_the_others_are_held_for_review(ada, slow):
    (hold,) = holds.holds(slow)
    assert (hold.usual, hold.earned) == (200, 1334)
    address = reverse("pay", args=[slow.name])
    page = ada.get(address).content.decode()
    assert "Earnings on hold" in page
    assert str(hold.participation) in page
    ada.post(address, {"action": "prepare"})
    (batch,) = slow.payment_batches.all()
    assert factories.total(batch) == 600
    assert sum(entry.cents for entry in batches.unpaid(slow)) == 1334
    assert batches.prepare(slow, None) == []


@pytest.mark.long
def test_a_payer_releases_it_with_a_stored_reason(ada, researcher, slow):
    address, (hold,) = reverse("pay", args=[slow.name]), holds.holds(slow)
    name = hold.participation.pseudonym
    reply = ada.post(address, {"action": "release", "annotator": name, "reason": " "})
    assert reply.status_code == 422
    ada.post(address, {"action": "release", "annotator": name, "reason": "dyslexic, wrote to us"})
    decision = hold.participation.decisions.get()
    assert (decision.about, decision.by) == ("release", researcher)
    assert holds.holds(slow) == []
    ada.post(address, {"action": "prepare"})
    assert factories.total(slow.payment_batches.get()) == 1934


@pytest.mark.engines
def test_earnings_of_few_people_are_compared_with_the_estimate(researcher, task):
    study = make_study(researcher, task, max_paid_hours=Decimal(2), budget=Decimal(500))
    works_for(factories.seat(study.scenarios.get()), 1799)
    assert holds.holds(study) == []
    works_for(factories.seat(study.scenarios.get()), 1810)
    (hold,) = holds.holds(study)
    assert (hold.usual, hold.earned) == (200, 604)


@pytest.mark.engines
def test_ten_hours_in_an_uncapped_study_are_held(researcher, task):
    study = make_study(researcher, task)
    Study.objects.update(max_paid_hours=None, budget=None)
    seat = factories.seat(study.scenarios.get())
    works_for(Participation.objects.get(pk=seat.pk), 36000)
    (hold,) = holds.holds(study)
    assert hold.waiting == 12000
    assert batches.prepare(study, researcher) == []


@pytest.mark.engines
def test_usual_earnings_are_the_median_of_the_others(researcher, task):
    limits = {"annotators": 8, "max_paid_hours": Decimal(9), "budget": Decimal(900)}
    study = make_study(researcher, task, **limits)
    for seconds in (600, 600, 600, 4000, 2100, 300, 300, 9000):
        works_for(factories.seat(study.scenarios.get()), seconds)
    people = study.participations.annotate(cents=Sum("ledger__cents"))
    earned = dict(people.values_list("pk", "cents"))
    expected = {}
    for pk, own in earned.items():
        usual = statistics.median(cents for other, cents in earned.items() if other != pk)
        if own > 3 * usual:
            expected[pk] = (own, usual)
    found = {hold.participation.pk: (hold.earned, hold.usual) for hold in holds.holds(study)}
    assert len(expected) == 3
    assert found == expected


@pytest.mark.long
def test_pay_page_lists_fifty_annotators_in_constant_queries(ada, researcher, task):
    study = make_study(researcher, task, annotators=60)
    address = reverse("pay", args=[study.name])

    def visit(page: int = 1) -> tuple[int, int]:
        with CaptureQueriesContext(connection) as captured:
            shown = ada.get(address, {"page": page})
        return len(captured), len(shown.context["listing"].page)

    for _ in range(2):
        works_for(factories.seat(study.scenarios.get()), 600)
    visit()
    queries, _two = visit()
    for _ in range(51):
        works_for(factories.seat(study.scenarios.get()), 600)
    assert visit() == (queries, 50)
    assert visit(2) == (queries, 3)


def test_unpaid_earnings_are_not_held(researcher, slow):
    (hold,) = holds.holds(slow)
    ledger.decide(hold.participation, False, "a script", researcher)
    assert holds.holds(slow) == []


# Amounts, ids and files --------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(
    "amount",
    ["-Infinity", "NaN", "-1e999999", "1e999", "1_000", "1e4", "١٢", "+1", "1.234", ""],
)
def test_an_invalid_amount_is_refused_wherever_money_is_entered(ada, study, task, amount):
    seat = factories.seat(study.scenarios.get())
    address = reverse("participation_bonus", args=[study.name, seat.pseudonym])
    assert ada.post(address, {"amount": amount, "reason": "kind"}).status_code == 422
    for field in ("hourly_rate", "base_reward", "minimum_pay", "max_paid_hours", "budget"):
        if amount == "" and field in ("max_paid_hours", "budget"):
            continue  # a draft may lack them
        reply = ada.post(reverse("study_new"), fields(task, **{field: amount}))
        assert reply.status_code == 422
        assert field in reply.context["form"].errors
    assert not LedgerEntry.objects.exists()
    assert Study.objects.count() == 1


def test_simulated_annotators_get_no_bonus(ada, study):
    seat = factories.seat(study.scenarios.get(), kind="simulated")
    address = reverse("participation_bonus", args=[study.name, seat.pseudonym])
    reply = ada.post(address, {"amount": "1.00", "reason": "kind"})
    assert reply.status_code == 422
    assert "Only human annotators are paid" in reply.content.decode()


@pytest.mark.parametrize("person", ['=HYPERLINK("x")', "a b", "a,b", "ä", "+1", "x" * 201])
def test_an_id_with_invalid_characters_is_refused(study, person):
    panel = Panel.objects.create(study=study, name="SONA", id_parameter="id")
    address = reverse("start", args=[panel.code])
    reply = Client().post(address, query_params={"id": person})
    assert reply.status_code == 403
    assert "contains an invalid character" in reply.content.decode()
    assert not Participation.objects.exists()


@pytest.mark.long
def test_cells_of_a_batch_are_escaped_against_formulas(study, researcher):
    names = ["=1+1", "+1", "-1", "@SUM(A1)", "Dora"]
    make_links(study, "\n".join(names))
    Study.objects.update(budget=500)
    for link in study.personal_links.order_by("pk"):
        Client().post(reverse("start", args=[link.code]))
    for seat in study.participations.all():
        consent.record(seat, agree=True)
        training_step.begin(seat.token)
        seat.refresh_from_db()
        factories.work_through(seat)
    (batch,) = batches.prepare(study, researcher)
    rows = list(csv.DictReader(io.StringIO(payout.batch_csv(batch))))
    assert [row["id"] for row in rows] == ["'=1+1", "'+1", "'-1", "'@SUM(A1)", "Dora"]
    assert not any(re.match(r"[=+@\t\r-]", cell) for row in rows for cell in row.values())
