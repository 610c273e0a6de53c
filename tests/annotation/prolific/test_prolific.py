"""Studies and statuses on Prolific: Handful talks to a test double over HTTP."""

from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.db.models.signals import pre_save
from django.test import Client
from django.urls import reverse

from annotation.models import (
    Exposure,
    Participation,
    Submission,
)
from annotation.prolific import client as prolific_client
from annotation.prolific import drafts, studies, sync
from annotation.prolific.client import ProlificError
from annotation.recruitment import eligibility
from tests import factories
from tests.annotation.prolific.fixtures import (
    BO,
    HOST,
    IDA,
    arrive,
    begin,
    complete,
    reject_there,
    submission_of,
)  # fmt: skip
from tests.prolific_double.rules import FakeError

# Studies there -----------------------------------------------------------------------------------


def test_each_scenario_is_a_prolific_study_with_its_codes(fake, published):
    there = fake.study(published.external_id)
    assert there["status"] == "ACTIVE"
    assert (there["reward"], there["total_available_places"]) == (1000, 2)
    codes = {
        code["code"]: [a["action"] for a in code["actions"]] for code in there["completion_codes"]
    }
    assert codes[published.codes["completed"]] == ["MANUALLY_REVIEW"]
    assert codes[published.codes["not_qualified"]] == ["FIXED_SCREEN_OUT_PAYMENT"]
    assert codes[published.codes["no_consent"]] == ["REQUEST_RETURN"]
    assert len(codes) == 5
    assert not there["is_external_study_url_secure"]


def test_a_study_is_drafted_once_and_only_when_open(study, published, researcher):
    with pytest.raises(drafts.PlanError, match="already been drafted"):
        drafts.plan(study, 0, researcher)
    other = factories.make_study(researcher, factories.make_task(name="t2"), status="draft")
    with pytest.raises(drafts.PlanError, match="Open it first"):
        drafts.plan(other, 0, researcher)


class StumblesAtPublishing(prolific_client.Client):
    """A client that fails between creation and publication."""

    def __init__(self, fake):
        super().__init__()
        self.fake = fake

    def transition(self, study, action):
        self.fake.mode(fail_next=1)
        return super().transition(study, action)


def test_an_interrupted_publication_continues_where_it_stopped(fake, study, researcher):
    (draft,) = drafts.plan(study, 0, researcher)
    fake.mode(fail_next=2)
    with pytest.raises(ProlificError, match="503"):
        studies.create(draft, HOST)
    with pytest.raises(ProlificError, match="503"):
        studies.create(draft, HOST, StumblesAtPublishing(fake))
    assert draft.status == "UNPUBLISHED"
    studies.create(draft, HOST)
    studies.create(draft, HOST)
    assert len(fake.studies()) == 1
    assert draft.status == "ACTIVE"


def test_two_clicks_on_publish_create_one_study(fake, study, researcher):
    (draft,) = drafts.plan(study, 0, researcher)

    class Overtaken(prolific_client.Client):
        """A client that receives a second click while it creates the study."""

        def create_study(self, asked):
            with pytest.raises(drafts.PlanError, match="already being created"):
                studies.create(study.prolific_studies.get(), HOST)
            return super().create_study(asked)

    studies.create(draft, HOST, Overtaken())
    assert len(fake.studies()) == 1
    assert study.prolific_studies.get().status == "ACTIVE"


def test_a_draft_is_not_changed_during_or_after_its_publication(fake, study, researcher):
    """Otherwise, another reward would be entered here, or the draft be published twice."""
    (draft,) = drafts.plan(study, 0, researcher)
    opened_before = study.prolific_studies.get()

    class Changed(prolific_client.Client):
        """While this one creates the study, another owner saves the draft."""

        def create_study(self, asked):
            with pytest.raises(drafts.PlanError, match="already exists"):
                drafts.change(study.prolific_studies.get(), {"reward_cents": 4321})
            return super().create_study(asked)

    studies.create(draft, HOST, Changed())
    with pytest.raises(drafts.PlanError, match="already exists"):
        drafts.change(opened_before, {"reward_cents": 4321})
    stored = study.prolific_studies.get()
    assert (stored.external_id, stored.reward_cents) == (draft.external_id, draft.reward_cents)


def test_a_slow_creation_is_reported_as_one_too_many(fake, study, researcher, monkeypatch):
    (draft,) = drafts.plan(study, 0, researcher)
    monkeypatch.setattr(studies, "LONGEST_CREATION", -timedelta(seconds=1))

    class Overtaken(prolific_client.Client):
        """A client that is so slow that a second click creates the study too."""

        def create_study(self, asked):
            studies.create(study.prolific_studies.get(), HOST)
            return super().create_study(asked)

    with pytest.raises(drafts.PlanError, match="Delete the duplicate study"):
        studies.create(draft, HOST, Overtaken())
    stored = study.prolific_studies.get()
    assert (stored.status, stored.creation) == ("ACTIVE", "")
    assert stored.external_id != draft.external_id


@pytest.mark.long
def test_the_page_drafts_changes_and_publishes(payer, fake, study):
    address = reverse("recruit", args=[study.name], query={"show": "platforms"})
    payer.post(reverse("prolific_plan", args=[study.name]), {"annotation_parts": "0"})
    draft = study.prolific_studies.get()
    assert draft.name in payer.get(address).content.decode()
    form = reverse("prolific_study", args=[study.name, draft.pk])
    fields = {
        "action": "change", "name": "Short texts", "reward": "2.50", "screen_out": "0.40",
        "minutes": "12", "max_minutes": "60", "places": "2",
    }  # fmt: skip
    amounts = ("x", "NaN", "-1", "1e4", "1_000", "-Infinity", "\u0663")
    wrongs = [{"reward": amount} for amount in amounts]
    wrongs += [{"screen_out": "1e1"}, {"places": ""}, {"places": "\u0663"}]
    for wrong in [*wrongs, {"minutes": "0"}, {"screen_out": "2.50"}]:
        assert payer.post(form, fields | wrong).status_code == 422
    payer.post(form, fields)
    for agreed in ({}, {"agreed": "1.00 GBP"}):
        reply = payer.post(form, {"action": "publish"} | agreed)
        assert reply.status_code == 409
        assert "Not published" in reply.content.decode()
    confirmation = payer.get(f"{address}&ask=prolific&publish={draft.pk}").content.decode()
    assert "2 places" in confirmation
    assert "Publish for 5.00 GBP" in confirmation
    assert "Prolific's price is 6.68 GBP" in confirmation
    draft.refresh_from_db()
    payer.post(form, factories.publishing(draft))
    draft.refresh_from_db()
    assert fake.study(draft.external_id)["reward"] == 250
    assert "active" in payer.get(address).content.decode()
    assert payer.post(form, fields).status_code == 409


def test_without_a_token_publishing_is_refused(payer, fake, study, settings, researcher):
    settings.PROLIFIC_TOKEN = ""
    (draft,) = drafts.plan(study, 0, researcher)
    form = reverse("prolific_study", args=[study.name, draft.pk])
    reply = payer.post(form, factories.publishing(draft))
    assert reply.status_code == 409
    assert "No API token for Prolific is set" in reply.content.decode()


# Statuses ----------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(("leave", "expected"), [("return", "returned"), ("time out", "expired")])
def test_polling_frees_the_seats_of_departed_participants(fake, published, leave, expected):
    session, seat = arrive(fake, published)
    begin(seat)
    (fake.return_submission if leave == "return" else fake.time_out)(session)
    sync.sync_all()
    sync.sync_all()
    seat.refresh_from_db()
    assert (seat.status, seat.seat_number) == (expected, None)


@pytest.mark.long
def test_a_crash_during_a_sync_loses_no_status_change(fake, published):
    session, seat = arrive(fake, published)
    begin(seat)
    fake.return_submission(session)

    def crash(**_signal):
        raise RuntimeError("the process ends here")

    pre_save.connect(crash, sender=Participation)
    try:
        with pytest.raises(RuntimeError):
            sync.sync(seat.study)
    finally:
        pre_save.disconnect(crash, sender=Participation)
    sync.sync(seat.study)
    seat.refresh_from_db()
    assert (seat.status, seat.seat_number) == ("returned", None)


@pytest.mark.long
def test_a_rejection_is_unpaid_and_leaves_work_in_the_analysis(fake, published):
    seat = complete(fake, published)
    reject_there(fake, submission_of(fake, published)["id"])
    sync.sync(seat.study)
    seat.refresh_from_db()
    assert (seat.in_analysis, seat.is_paid, seat.seat_number) == (True, False, 1)
    decisions = seat.decisions.exclude(about="qualification")
    assert [(d.about, d.reason) for d in decisions] == [("pay", "rejected on Prolific")]


def test_submissions_are_read_from_every_page(fake, published, monkeypatch):
    monkeypatch.setattr(prolific_client, "PAGE_SIZE", 1)
    for person in (IDA, BO):
        fake.arrive(published.external_id, person)
    rows = list(prolific_client.Client().submissions(published.external_id))
    assert {row["participant_id"] for row in rows} == {IDA, BO}


@pytest.mark.long
def test_reads_are_retried_and_a_permanent_failure_is_reported(fake, published):
    fake.mode(fail_next=2)
    assert prolific_client.Client(patient=True).me()
    fake.mode(fail_next=50)
    with pytest.raises(sync.NotSynced):
        sync.sync_all()


@pytest.mark.long
def test_a_freed_seat_gets_another_place_on_prolific(fake, study, published, payer):
    seat = complete(fake, published)
    address = reverse("participation_decide", args=[study.name, seat.pseudonym])
    payer.post(address, {"about": "analysis", "outcome": "no", "reason": "too fast"})
    sync.sync(study)
    assert fake.study(published.external_id)["total_available_places"] == 3


@pytest.mark.long
def test_an_ineligible_participant_cannot_arrive(fake, study, published, researcher):
    other = factories.make_study(researcher, study.tasks.get(), shots=[2], currency="GBP")
    (draft,) = drafts.plan(other, 0, researcher)
    studies.create(draft, HOST)
    complete(fake, published)
    sync.sync(other)
    with pytest.raises(FakeError) as refused:
        fake.arrive(draft.external_id, IDA)
    assert refused.value.reason == "not_eligible"
    fake.arrive(draft.external_id, BO)


@pytest.mark.long
def test_a_denied_participant_with_a_known_id_cannot_arrive(fake, study, published, researcher):
    complete(fake, published)
    other = factories.make_study(
        researcher, factories.make_task(name="other"), shots=[2], currency="GBP"
    )
    (draft,) = drafts.plan(other, 0, researcher)
    studies.create(draft, HOST)
    eligibility.add_rule(other, "deny", "people", f"prolific {IDA}", researcher)
    sync.sync(other)
    with pytest.raises(FakeError):
        fake.arrive(draft.external_id, IDA)


@pytest.mark.long
def test_a_purged_participant_is_refused_by_the_hash(fake, study, published, researcher):
    complete(fake, published)
    Submission.objects.update(person="", reference="")
    other = factories.make_study(researcher, study.tasks.get(), shots=[2], currency="GBP")
    (draft,) = drafts.plan(other, 0, researcher)
    studies.create(draft, HOST)
    sync.sync(other)
    arrival = fake.arrive(draft.external_id, IDA)
    address = urlsplit(arrival["url"])
    assert Client().post(f"{address.path}start/?{address.query}").status_code == 409
    assert Exposure.objects.count() == 1


@pytest.mark.long
def test_a_status_that_could_not_be_read_is_read_in_the_next_run(fake, published):
    session, seat = arrive(fake, published)
    fake.return_submission(session)
    fake.mode(fail_next=50)
    with pytest.raises(sync.NotSynced) as problem:
        sync.sync_all()
    assert session not in str(problem.value)  # tick prints it
    seat.refresh_from_db()
    assert seat.status == "arrived"
    fake.mode(fail_next=0)
    sync.sync_all()
    seat.refresh_from_db()
    assert seat.status == "returned"
