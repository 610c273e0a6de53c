"""What a study may cost: cap and budget, pausing by itself, who may spend, what payers look at."""

import csv
import io
import json
import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import LedgerEntry, Panel, Participation, Study
from annotation.money import batches, budget, holds, ledger, payout
from annotation.platforms import personal_links
from annotation.platforms.prolific import drafts
from annotation.recruitment import consent, refusals, seats
from annotation.steps import qualification, training_step
from annotation.study import design, lifecycle
from tasks import teams
from tests import factories
from tests.annotation.test_design import fields

pytestmark = pytest.mark.engines


@pytest.fixture
def task(db):
    return factories.make_task()


def make_study(researcher, task, **fields):
    """12 per hour for at most half an hour, so a cap of 6.00; a budget for two people at once."""
    limits = {
        "shots": [2], "annotators": 6, "estimated_minutes": 10, "budget": Decimal("12.00"),
        "max_paid_hours": Decimal("0.5"),
    }  # fmt: skip
    return factories.make_study(researcher, task, **(limits | fields))


@pytest.fixture
def study(researcher, task):
    return make_study(researcher, task)


def start(study, client=None) -> int:
    return (client or Client()).post(reverse("start", args=[study.link_code])).status_code


def works_for(seat, seconds: float) -> None:
    """This participation ends, with that much time worked in its ledger."""
    factories.work_through(seat)
    Participation.objects.filter(pk=seat.pk).update(worked_seconds=seconds)
    seat.refresh_from_db()
    with transaction.atomic():
        ledger.settle(seat)


# Opening -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "lacks"),
    [
        ({"budget": "30"}, "Set the maximum paid hours"),
        ({"max_paid_hours": "0.5"}, "Suggested: 48.00 USD"),
        ({"max_paid_hours": "0.5", "budget": "5"}, "does not cover one person, who may earn 6.00"),
        ({"hourly_rate": 0, "base_reward": 2}, "Set the budget of the study. Suggested: 16.00 USD"),
    ],
)
def test_a_paid_draft_without_cap_or_budget_says_so_and_does_not_open(
    ada, researcher, task, fields, lacks
):
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
    ada.post(reverse("study_status", args=[study.name]), {"action": "open"})
    study.refresh_from_db()
    assert (study.status, study.budget) == ("open", None)
    assert start(study) == 302


def test_the_form_suggests_three_times_the_estimate_and_that_for_each_seat(ada, researcher, task):
    study = factories.make_study(
        researcher, task, status="draft", shots=[2], annotators=5, estimated_minutes=10
    )
    form = ada.get(reverse("study_edit", args=[study.name])).context["form"]
    assert form["max_paid_hours"].value() == Decimal("0.5")
    assert form["budget"].value() == Decimal("36.00")


def test_cap_and_budget_and_pausing_are_part_of_the_frozen_design(study):
    frozen = json.loads(study.manifest)
    assert frozen["pay"]["cap"] == "6.00"
    assert frozen["pay"]["budget"] == "12.00"
    assert frozen["max_screen_outs_in_a_row"] == 5


def test_workers_are_told_the_cap_before_they_start(client, study):
    page = client.get(reverse("landing", args=[study.link_code])).content.decode()
    assert "12.00 USD per hour, for at most 0.5 hours (6.00 USD) per task" in page


@pytest.mark.parametrize(
    ("promise", "words"),
    [
        ({"hourly_rate": 0}, "none: you take part as a volunteer"),
        ({"hourly_rate": 0, "base_reward": 3}, "at least 3.00 USD for completing a task"),
        ({"hourly_rate": 0, "minimum_pay": 1}, "at least 1.00 USD once you have seen an example"),
    ],
)
def test_the_landing_page_never_promises_nothing_per_hour(client, researcher, task, promise, words):
    study = factories.make_study(researcher, task, **promise)
    page = client.get(reverse("landing", args=[study.link_code])).content.decode()
    assert words in page
    assert "0.00 USD per hour" not in page


def test_the_preregistration_tells_the_limits(ada, study):
    page = ada.get(reverse("preregistration", args=[study.name])).content.decode()
    assert "Earnings per participation are capped at 6.00 USD" in page
    assert "The budget for all annotators is 12.00 USD" in page
    assert "pauses automatically once 5 annotators in a row are screened out" in page


# Seats within the budget -------------------------------------------------------------------------


def test_no_seat_is_given_out_beyond_the_budget_and_the_page_says_why(study):
    assert [start(study), start(study), start(study)] == [302, 302, 409]
    page = Client().get(reverse("landing", args=[study.link_code])).content.decode()
    assert "The budget of this study is fully committed at the moment" in page
    assert "<button" not in page
    assert study.participations.count() == 2


def test_who_ends_below_the_cap_makes_room_for_somebody_else(study):
    first, _second = factories.join(study), factories.join(study)
    assert refusals.refusal(study, "nobody", "person") == "budget"
    consent.record(first, agree=True)
    training_step.begin(first.token)
    study.budget = 13
    study.save()
    factories.work_through(first)
    assert start(study) == 302


def test_who_is_seated_finishes_and_is_paid_though_the_budget_is_reached(study):
    seat = factories.seat(study.scenarios.get())
    Study.objects.update(budget=Decimal("0.01"))
    factories.work_through(seat)
    seat.refresh_from_db()
    assert seat.status == "completed"
    assert seat.ledger.exists()


def test_what_the_departed_earned_is_spent(study):
    left = factories.seat(study.scenarios.get())
    factories.work_through(left, limit=2)
    Participation.objects.update(worked_seconds=1800, status="expired", seat_number=None)
    with transaction.atomic():
        left.refresh_from_db()
        ledger.settle(left)
    assert budget.spent(study) == 600
    assert [start(study), start(study)] == [302, 409]


def test_abandoned_places_keep_no_money(study):
    for _ in range(2):
        factories.seat(study.scenarios.get())
    later = timezone.now() + timedelta(days=30)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timezone, "now", lambda: later)
        assert budget.reserved(study) == 0
        assert refusals.refusal(study, "nobody", "person") == ""


def test_who_comes_back_is_seated_only_within_the_budget(study):
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
    with pytest.raises(refusals.RecruitmentError, match="budget"):
        seats.resume(gone)


def test_robots_need_no_budget(study):
    Study.objects.update(budget=Decimal("0.01"))
    study.refresh_from_db()
    assert factories.join(study, kind="simulated").seat_number == 1


def test_a_study_opened_before_there_were_budgets_continues(study):
    Study.objects.update(budget=None, max_paid_hours=None, max_screen_outs_in_a_row=None)
    for _person in range(6):
        assert start(study) == 302
        study.participations.filter(status="arrived").update(status="working")
    study.refresh_from_db()
    lifecycle.change_status(study, "pause")
    lifecycle.change_status(study, "reopen")
    assert study.status == "open"


def test_the_budget_is_raised_while_the_study_runs_and_the_log_keeps_it(ada, study):
    address, before = reverse("budget", args=[study.name]), study.manifest_hash
    assert ada.post(address, {"amount": "18.00"}).status_code == 302
    study.refresh_from_db()
    assert "room for 3 more" in ada.get(reverse("lists", args=[study.name])).content.decode()
    assert (study.budget, study.manifest_hash) == (Decimal("18.00"), before)
    assert "raised from 12.00 to 18.00 USD" in study.events.last().what
    assert [start(study) for _ in range(4)] == [302, 302, 302, 409]


@pytest.mark.parametrize(
    "amount", ["", "x", "-Infinity", "NaN", "1e3", "1_000", "١٢", "11", "9" * 40]
)
def test_a_budget_that_is_no_larger_amount_is_refused_at_its_field(ada, study, amount):
    reply = ada.post(reverse("budget", args=[study.name]), {"amount": amount})
    assert reply.status_code == 422
    assert 'id="budget-amount_error"' in reply.content.decode()
    study.refresh_from_db()
    assert study.budget == Decimal("12.00")


def test_a_bonus_goes_no_further_than_the_budget(ada, study):
    seat = factories.seat(study.scenarios.get())
    address = reverse("participation_bonus", args=[study.name, seat.pseudonym])
    reply = ada.post(address, {"amount": "6.01", "reason": "kind"})
    assert reply.status_code == 422
    assert "Raise the budget first" in reply.content.decode()
    assert not LedgerEntry.objects.exists()
    assert ada.post(address, {"amount": "6.00", "reason": "kind"}).status_code == 302
    assert start(study) == 409


# Pausing by itself -------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_a_study_pauses_by_itself_when_its_budget_is_reached(ada, researcher, task):
    study = make_study(researcher, task, hourly_rate=0, base_reward=5)
    for _ in range(2):
        factories.work_through(factories.seat(study.scenarios.get()))
    study.refresh_from_db()
    assert study.status == "paused"
    said = study.events.last()
    assert said.by is None
    assert said.what.startswith("Paused automatically: of the budget of 12.00 USD, 10.00 is earned")
    assert said.what in ada.get(reverse("study", args=[study.name])).content.decode()
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
def test_a_study_whose_seats_are_filled_does_not_pause_for_its_budget(researcher, task):
    study = make_study(
        researcher, task, hourly_rate=0, base_reward=5, annotators=2, budget=Decimal(10)
    )
    for _ in range(2):
        factories.work_through(factories.seat(study.scenarios.get()))
    study.refresh_from_db()
    assert study.status == "open"


def is_screened_out(study) -> None:
    """Somebody answers the training step all wrong, and is judged."""
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, answer=lambda turn: ["home"], limit=2)
    factories.go_on(seat.token)
    seat.refresh_from_db()
    assert seat.status == "screened_out"


def passes(study) -> None:
    factories.work_through(factories.seat(study.scenarios.get()), limit=3)


@pytest.mark.django_db(transaction=True)
def test_a_study_pauses_after_screen_outs_in_a_row_and_starts_counting_again(ada, researcher, task):
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
    assert "Paused automatically: 2 people in a row were screened out" in page
    ada.post(reverse("study_status", args=[study.name]), {"action": "reopen"})
    is_screened_out(study)
    study.refresh_from_db()
    assert study.status == "open"
    is_screened_out(study)
    study.refresh_from_db()
    assert study.status == "paused"


@pytest.mark.django_db(transaction=True)
def test_robots_who_are_screened_out_pause_nothing(researcher, task):
    study = make_study(
        researcher, task, qualification="minimum", qualification_threshold=90,
        max_screen_outs_in_a_row=1,
    )  # fmt: skip
    seat = factories.seat(study.scenarios.get(), kind="simulated")
    factories.work_through(seat, answer=lambda turn: ["home"], limit=2)
    factories.go_on(seat.token)
    study.refresh_from_db()
    assert study.status == "open"


# Thresholds on their scale -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "threshold", "reason"),
    [
        ("minimum", "500", "0 to 100, such as 60"),
        ("minimum", "0.8", "write 80 for 80 %"),
        ("points_below", "101", "0 to 100 points"),
        ("sds_below", "20", "0 to 10 standard deviations"),
        ("sds_below", "", "This rule needs a threshold"),
        ("none", "101", "At most 100"),
    ],
)
def test_a_threshold_off_its_scale_is_refused_at_its_field(
    ada, researcher, task, rule, threshold, reason
):
    wrong = fields(task, qualification=rule, qualification_threshold=threshold)
    reply = ada.post(reverse("study_new"), wrong)
    assert reply.status_code == 422
    assert reason in " ".join(reply.context["form"].errors["qualification_threshold"])
    assert not Study.objects.exists()


def test_the_database_refuses_a_drafted_threshold_off_its_scale(researcher, task):
    study = factories.make_study(researcher, task, status="draft")
    with pytest.raises(IntegrityError), transaction.atomic():
        Study.objects.update(qualification_threshold=500)
    # What was frozen before there were bounds stays as it was, and can be drafted again.
    design.suggest_limits(study, [task])
    study.save()
    lifecycle.change_status(study, "open")
    Study.objects.update(qualification_threshold=500)
    study.refresh_from_db()
    lifecycle.change_status(study, "draft")
    assert study.qualification_threshold is None


# Who may spend -----------------------------------------------------------------------------------


def test_a_fresh_account_cannot_publish_on_prolific(ada, researcher, study):
    (draft,) = drafts.plan(study, 0, researcher)
    reply = ada.post(reverse("prolific_study", args=[study.name, draft.pk]), {"action": "publish"})
    assert reply.status_code == 403
    assert "may not spend money" in reply.content.decode()


def test_a_fresh_account_prepares_a_batch_but_does_not_pay_it(ada, researcher, study):
    factories.work_through(factories.seat(study.scenarios.get()))
    (batch,) = batches.prepare(study, researcher)
    reply = ada.post(reverse("pay", args=[study.name]), {"action": "pay", "batch": batch.pk})
    assert reply.status_code == 403
    batch.refresh_from_db()
    assert batch.state == "prepared"


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
    assert ada.post(opening, {"action": "open"}).status_code == 302
    raising = reverse("budget", args=[study.name])
    assert ada.post(raising, {"amount": "60"}).status_code == 403
    study.refresh_from_db()
    assert study.budget == 50
    if gets == "superuser":
        get_user_model().objects.update(is_superuser=True)
    else:
        factories.may_spend(researcher)
    assert ada.post(raising, {"amount": "60"}).status_code == 302


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"reward_cents": 601}, "above the maximum that the study pays one person, 6.00 USD"),
        ({"reward_cents": 600, "places": 3}, "above the study&#x27;s budget, 12.00 USD"),
    ],
)
def test_prolific_is_not_asked_to_pay_more_than_cap_and_budget(
    ada, researcher, study, settings, fields, reason
):
    settings.PROLIFIC_TOKEN = ""  # nobody is asked in this test
    factories.may_spend(researcher)
    (draft,) = drafts.plan(study, 0, researcher)
    study.prolific_studies.update(**fields)
    reply = ada.post(reverse("prolific_study", args=[study.name, draft.pk]), {"action": "publish"})
    assert reply.status_code == 409
    assert reason in reply.content.decode()


def test_the_command_line_may_spend():
    budget.check_may_spend(None)


def test_who_may_not_spend_is_told_whom_to_ask(researcher):
    with pytest.raises(PermissionDenied, match="An administrator of this server"):
        budget.check_may_spend(researcher)


# What a payer looks at ---------------------------------------------------------------------------


@pytest.fixture
def slow(researcher, task):
    """Three who earned 2.00 each, and one whose page gave signs of work for an hour and more."""
    study = make_study(researcher, task, max_paid_hours=Decimal(2), budget=Decimal(500))
    for seconds in (600, 600, 600, 4000):
        works_for(factories.seat(study.scenarios.get()), seconds)
    return study


def test_what_is_far_above_the_others_waits_for_a_payers_word(ada, slow):
    (hold,) = holds.holds(slow)
    assert (hold.usual, hold.earned) == (200, 1334)
    address = reverse("pay", args=[slow.name])
    page = ada.get(address).content.decode()
    assert "On hold: review before paying" in page
    assert str(hold.participation) in page
    ada.post(address, {"action": "prepare"})
    (batch,) = slow.payment_batches.all()
    assert batches.total(batch) == 600
    assert sum(entry.cents for entry in batches.unpaid(slow)) == 1334
    assert any("HELD, NOT PAID" in line for line in payout.pay_all(slow, None))


def test_a_payer_releases_it_with_a_reason_that_is_kept(ada, researcher, slow):
    address, (hold,) = reverse("pay", args=[slow.name]), holds.holds(slow)
    name = hold.participation.pseudonym
    reply = ada.post(address, {"action": "release", "annotator": name, "reason": " "})
    assert reply.status_code == 422
    ada.post(address, {"action": "release", "annotator": name, "reason": "dyslexic, wrote to us"})
    decision = hold.participation.decisions.get()
    assert (decision.about, decision.by) == ("release", researcher)
    assert holds.holds(slow) == []
    ada.post(address, {"action": "prepare"})
    assert batches.total(slow.payment_batches.get()) == 1934


def test_few_people_are_compared_with_the_estimate(researcher, task):
    study = make_study(researcher, task, max_paid_hours=Decimal(2), budget=Decimal(500))
    works_for(factories.seat(study.scenarios.get()), 1799)
    assert holds.holds(study) == []
    works_for(factories.seat(study.scenarios.get()), 1810)
    (hold,) = holds.holds(study)
    assert (hold.usual, hold.earned) == (200, 604)


def test_ten_hours_in_a_study_without_a_cap_are_held(researcher, task):
    study = make_study(researcher, task)
    Study.objects.update(max_paid_hours=None, budget=None)
    seat = factories.seat(study.scenarios.get())
    works_for(Participation.objects.get(pk=seat.pk), 36000)
    (hold,) = holds.holds(study)
    assert hold.waiting == 12000
    assert batches.prepare(study, researcher) == []


def test_who_is_not_paid_is_not_held_either(researcher, slow):
    (hold,) = holds.holds(slow)
    ledger.decide(hold.participation, False, "a script", researcher)
    assert holds.holds(slow) == []


# Amounts, ids and files --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "amount", ["-Infinity", "NaN", "-1e999999", "1e999", "1_000", "1e4", "١٢", "+1", "1.234", ""]
)
def test_what_is_no_amount_is_refused_wherever_money_is_typed(ada, study, task, amount):
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


def test_robots_are_given_no_bonus(ada, study):
    seat = factories.seat(study.scenarios.get(), kind="simulated")
    address = reverse("participation_bonus", args=[study.name, seat.pseudonym])
    reply = ada.post(address, {"amount": "1.00", "reason": "kind"})
    assert reply.status_code == 422
    assert "Only people are paid" in reply.content.decode()


@pytest.mark.parametrize("person", ['=HYPERLINK("x")', "a b", "a,b", "ä", "+1", "x" * 201])
def test_an_id_with_odd_signs_is_refused_at_a_panels_door(study, person):
    panel = Panel.objects.create(study=study, name="SONA", id_parameter="id")
    address = reverse("start", args=[panel.code])
    reply = Client().post(address, query_params={"id": person})
    assert reply.status_code == 403
    assert "contains an invalid character" in reply.content.decode()
    assert not Participation.objects.exists()


def test_no_cell_of_a_batch_is_a_formula(study, researcher):
    names = ["=1+1", "+1", "-1", "@SUM(A1)", "Dora"]
    personal_links.make(study, "\n".join(names))
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


# Tasks belong to a team --------------------------------------------------------------------------


def test_nobody_else_makes_a_version_of_somebodys_task(researcher, other_researcher):
    first = factories.make_task(by=researcher)
    with pytest.raises(teams.NotInTeam, match="choose another name"):
        factories.make_task(by=other_researcher, test_size=5)
    assert factories.make_task(by=other_researcher) == first  # the same content changes nothing
    teams.add(first.name, "grace", researcher)
    second = factories.make_task(by=other_researcher, test_size=5)
    assert (second.version, second.imported_by) == (2, other_researcher)
    assert teams.owner(first.name) == researcher


def test_a_task_without_an_owner_is_for_superusers(task, researcher, other_researcher):
    assert not teams.may_change(task.name, researcher)
    researcher.is_superuser = True
    assert teams.may_change(task.name, researcher)
    teams.add(task.name, "grace", researcher)
    assert teams.may_change(task.name, other_researcher)


def test_only_the_team_attaches_checks_and_adds_members(ada, task, researcher):
    checks = reverse("task_checks", args=[task.name, task.version])
    team = reverse("task_team", args=[task.name, task.version])
    for address in (checks, team):
        reply = ada.post(address, {"username": "ada"})
        assert reply.status_code == 403
        assert "belongs to other researchers" in reply.content.decode()
    get_user_model().objects.update(is_superuser=True)
    assert ada.post(team, {"username": "nobody"}).status_code == 422
    assert ada.post(team, {"username": "ada"}).status_code == 302
    get_user_model().objects.update(is_superuser=False)
    assert ada.post(checks, {}).status_code == 422  # no file, but admitted


def test_the_design_form_offers_every_version(ada, task):
    newer = factories.make_task(test_size=5)
    form = ada.get(reverse("study_new")).context["form"]
    labels = [str(label) for _value, label in form["tasks"].field.choices]
    assert labels[0].startswith(f"{newer} (")
    assert labels[1].startswith(f"{task} (")
    assert labels[1].endswith(", older version")


def test_a_waiting_worker_reserves_the_cap(researcher, task):
    study = make_study(researcher, task, qualification="researcher")
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=2)
    factories.go_on(seat.token)
    assert budget.reserved(study) == 600
    qualification.decide(seat.token, False, "no", researcher)
    assert budget.reserved(study) == 0
