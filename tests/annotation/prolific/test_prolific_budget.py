"""Places on Prolific stay within the study's budget and need the permission to spend."""

from decimal import Decimal

import pytest
from django.urls import reverse

from annotation.models import Study
from annotation.pay import budget
from annotation.prolific import drafts, studies, sync
from annotation.recruitment import consent, seats
from annotation.study import lifecycle
from tests import factories
from tests.annotation.prolific.fixtures import HOST, IDA, arrive, begin

CAP = 30  # GBP per person: half an hour at 60 per hour; a place on Prolific pays 10


def there(fake, draft) -> dict:
    return fake.study(draft.external_id)


def allow(study, people: int, seats: int = 0) -> None:
    """Set a budget for this many people at once, and add seats to each scenario."""
    Study.objects.filter(pk=study.pk).update(budget=people * CAP)
    study.refresh_from_db()
    for scenario in study.scenarios.all():
        scenario.seats += seats
        scenario.save()


@pytest.fixture
def two(fake, study, researcher):
    """A study with two scenarios, each of which is a study with two places on Prolific."""
    study = factories.make_study(
        researcher, factories.make_task(name="other"), shots=[2, 4], currency="GBP",
        hourly_rate=60, estimated_minutes=10, participants_choose_scenario=True,
    )  # fmt: skip
    for draft in drafts.plan(study, 0, researcher):
        studies.create(draft, HOST)
    return list(study.prolific_studies.all())


# Seats and the permission to spend ---------------------------------------------------------------


def test_adding_seats_on_prolific_needs_permission_to_spend(ada, researcher, study, published):
    scenario = study.scenarios.get()
    address = reverse("seats", args=[study.name])
    reply = ada.post(address, {"scenario": scenario.pk, "number": "1000"})
    assert reply.status_code == 403
    assert "may not spend money" in reply.content.decode()
    scenario.refresh_from_db()
    assert scenario.seats == 2
    factories.may_spend(researcher)
    assert ada.post(address, {"scenario": scenario.pk, "number": "3"}).status_code == 302
    scenario.refresh_from_db()
    assert scenario.seats == 5


def test_adding_seats_of_an_unpublished_draft_costs_nothing(ada, researcher, study):
    drafts.plan(study, 0, researcher)
    address = reverse("seats", args=[study.name])
    reply = ada.post(address, {"scenario": study.scenarios.get().pk, "number": "3"})
    assert reply.status_code == 302


# Places within the budget ------------------------------------------------------------------------


def test_places_are_bought_only_up_to_the_room_in_the_budget(fake, study, published):
    allow(study, people=5, seats=1000)
    sync.sync(study)
    sync.sync(study)
    assert there(fake, published)["total_available_places"] == 5
    assert there(fake, published)["status"] == "ACTIVE"


def test_an_arrival_that_has_not_started_takes_budget_room(fake, study, published):
    allow(study, people=2, seats=10)
    fake.arrive(published.external_id, IDA)  # has a place on Prolific but has not pressed Start
    sync.sync(study)
    assert there(fake, published)["total_available_places"] == 2


@pytest.mark.long
def test_prolific_is_paused_while_the_budget_has_no_room(fake, study, published, ada):
    allow(study, people=2, seats=10)
    elsewhere = [factories.join(study, identity=f"other {number}") for number in range(2)]
    assert budget.room(study) == 0
    sync.sync(study)
    assert there(fake, published)["status"] == "PAUSED"
    page = ada.get(reverse("platforms", args=[study.name]), follow=True).content.decode()
    assert "the budget is exhausted" in page
    sync.sync(study)
    assert there(fake, published)["status"] == "PAUSED"
    seats.release_seat(elsewhere[0], "returned")
    sync.sync(study)
    assert there(fake, published)["status"] == "ACTIVE"
    page = ada.get(reverse("platforms", args=[study.name]), follow=True).content.decode()
    assert "the budget is exhausted" not in page
    _session, seat = arrive(fake, published)
    begin(seat)
    assert there(fake, published)["total_available_places"] == 2


def test_a_pause_states_the_current_reason(fake, study, published, researcher):
    allow(study, people=2, seats=10)
    for number in range(2):
        factories.join(study, identity=f"other {number}")
    lifecycle.change_status(study, "pause", researcher)
    sync.sync(study)
    published.refresh_from_db()
    assert published.pause_reason == sync.NOT_OPEN
    lifecycle.change_status(study, "reopen", researcher)
    sync.sync(study)
    published.refresh_from_db()
    assert (published.pause_reason, published.paused_here) == (sync.NO_ROOM, True)


@pytest.mark.long
def test_no_place_is_bought_beyond_rewards_the_budget_covers(fake, study, published):
    allow(study, people=2)
    study.prolific_studies.update(reward_cents=CAP * 100)  # 2 x 30.00 use the whole budget
    session, seat = arrive(fake, published)
    consent.record(seat, agree=False)
    fake.complete(session, published.codes["no_consent"])
    fake.advance(21 * 24 * 3600 + 1)  # approved and paid automatically, without any work
    sync.sync(study)
    assert there(fake, published)["total_available_places"] == 2
    Study.objects.filter(pk=study.pk).update(budget=3 * CAP)
    sync.sync(study)
    assert there(fake, published)["total_available_places"] == 3


# Several studies there, one budget ---------------------------------------------------------------


def test_budget_room_is_shared_by_all_prolific_studies(fake, two):
    allow(two[0].study, people=6, seats=100)
    sync.sync(two[0].study)
    assert [there(fake, draft)["total_available_places"] for draft in two] == [3, 3]


@pytest.mark.long
def test_with_room_for_one_person_one_of_two_studies_is_active(fake, two):
    allow(two[0].study, people=1, seats=100)
    sync.sync(two[0].study)
    assert sorted(there(fake, draft)["status"] for draft in two) == ["ACTIVE", "PAUSED"]
    allow(two[0].study, people=4)
    sync.sync(two[0].study)
    assert [there(fake, draft)["status"] for draft in two] == ["ACTIVE", "ACTIVE"]


@pytest.mark.long
def test_a_manually_paused_study_there_takes_no_room(fake, two):
    sync.sync(two[0].study)
    fake.transition_study(two[0].external_id, {"action": "PAUSE"})
    allow(two[0].study, people=1, seats=100)
    sync.sync(two[0].study)
    assert [there(fake, draft)["status"] for draft in two] == ["PAUSED", "ACTIVE"]


def test_drafts_whose_sum_exceeds_the_budget_are_not_published(ada, researcher, study, settings):
    settings.PROLIFIC_TOKEN = ""  # Prolific is not called in this test
    factories.may_spend(researcher)
    study = factories.make_study(
        researcher, factories.make_task(name="other"), shots=[2, 4], annotators=1,
        currency="GBP", hourly_rate=60, estimated_minutes=10, max_paid_hours="0.5",
        budget=Decimal(30),
    )  # fmt: skip
    planned = drafts.plan(study, 0, researcher)
    study.prolific_studies.update(reward_cents=CAP * 100)  # each uses the whole budget
    for draft in planned:
        address = reverse("prolific_study", args=[study.name, draft.pk])
        reply = ada.post(address, factories.publishing(draft))
        assert reply.status_code == 409
        assert "amount to 60.00 GBP, above the study&#x27;s budget" in (reply.content.decode())
