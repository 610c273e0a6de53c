"""Handful checks Prolific's rules for studies, pay and rejections before it sends a request."""

import json
import math

import pytest
from django.urls import reverse

from annotation.models import Participation
from annotation.prolific import client as prolific_client
from annotation.prolific import drafts, review, studies, sync
from annotation.prolific.client import ProlificError
from annotation.protocol import attention_checks
from tests import factories
from tests.annotation.prolific.fixtures import (
    HOST,
    IDA,
    arrive,
    begin,
    complete,
    pay_all,
    submission_of,
)

MESSAGE = "We looked at your answers together and found what this message says. " * 2


def make_study(researcher, **fields):
    fields = {"shots": [2], "currency": "GBP", "hourly_rate": 60, "estimated_minutes": 10} | fields
    number = str(Participation.objects.count()) + fields.pop("name", "x")
    return factories.make_study(researcher, factories.make_task(name=f"t-{number}"), **fields)


# Times -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("minutes", [1, 2, 3, 4, 60, 664, 692])
def test_the_maximum_time_respects_prolifics_minimum(fake, researcher, minutes):
    study = make_study(researcher, estimated_minutes=minutes)
    (draft,) = drafts.plan(study, 0, researcher)
    least = math.ceil(2 + 2 * minutes + 2 * math.sqrt(minutes))
    assert least <= draft.max_minutes < 24 * 60
    studies.create(draft, HOST)
    assert fake.study(draft.external_id)["maximum_allowed_time"] == draft.max_minutes


def test_work_longer_than_a_day_must_be_drafted_in_parts(fake, researcher, ada):
    study = make_study(researcher, estimated_minutes=1000)
    reply = ada.post(reverse("prolific_plan", args=[study.name]), {"annotation_parts": "0"})
    assert reply.status_code == 409
    assert "less than a day" in reply.content.decode()
    assert len(drafts.plan(study, 2, researcher)) == 3


def test_a_maximum_time_out_of_bounds_is_refused(fake, study, researcher):
    (draft,) = drafts.plan(study, 0, researcher)
    with pytest.raises(drafts.PlanError, match="must be 29 to 1439 minutes"):
        drafts.change(draft, {"max_minutes": 28})
    with pytest.raises(drafts.PlanError, match="less than a day"):
        drafts.change(draft, {"minutes": 693, "max_minutes": 1439, "reward_cents": 10**6})


# Pay ---------------------------------------------------------------------------------------------


def test_a_reward_below_the_minimum_is_neither_saved_nor_created(fake, researcher):
    study = make_study(researcher, hourly_rate=1, estimated_minutes=60)
    (draft,) = drafts.plan(study, 0, researcher)
    with pytest.raises(drafts.PlanError, match=r"at least 6.00 GBP an hour, that is 6.00"):
        studies.create(draft, HOST)
    assert fake.studies() == []
    assert studies.ProlificStudy.objects.get().status == "not created"
    with pytest.raises(drafts.PlanError, match="at least"):
        drafts.change(draft, {"reward_cents": 599})
    drafts.change(draft, {"reward_cents": 600})


def test_a_raised_minimum_of_prolific_is_respected(fake, researcher):
    study = make_study(researcher, hourly_rate=6, estimated_minutes=60)
    (draft,) = drafts.plan(study, 0, researcher)

    class Dearer(prolific_client.Client):
        """A client that sees a raised minimum wage."""

        def minimum_hourly(self, workspace, currency):
            return super().minimum_hourly(workspace, currency) + 300

    with pytest.raises(drafts.PlanError, match=r"at least \d+.00 GBP an hour"):
        studies.create(draft, HOST, Dearer())


def test_a_screen_out_reward_respects_prolifics_minimum(fake, study, researcher):
    (draft,) = drafts.plan(study, 0, researcher)
    with pytest.raises(drafts.PlanError, match="at least 0.10 GBP"):
        drafts.change(draft, {"screen_out_cents": 9})
    drafts.change(draft, {"screen_out_cents": 0})


def test_a_study_in_another_currency_is_not_drafted(fake, researcher, ada):
    study = make_study(researcher, currency="USD")
    reply = ada.post(reverse("prolific_plan", args=[study.name]), {"annotation_parts": "0"})
    assert reply.status_code == 409
    assert "pays in GBP, but this study pays in USD" in reply.content.decode()
    assert not study.prolific_studies.exists()


def test_the_currency_is_compared_again_on_creation(fake, study, researcher):
    (draft,) = drafts.plan(study, 0, researcher)
    fake.mode(currency="USD")
    with pytest.raises(drafts.PlanError, match="pays in USD, but this study pays in GBP"):
        studies.create(draft, HOST)
    assert fake.studies() == []


def test_an_unsupported_currency_is_refused_without_a_request(researcher):
    study = make_study(researcher, currency="EUR")
    with pytest.raises(drafts.PlanError, match="GBP or USD"):
        drafts.plan(study, 0, researcher)


# Workspace and project ---------------------------------------------------------------------------


def test_a_study_and_its_groups_use_the_chosen_workspace(fake, study, researcher, settings):
    workspace = fake.first_workspace
    project = fake.create_project(workspace, "Second")
    (draft,) = drafts.plan(study, 0, researcher)
    with pytest.raises(ProlificError, match=r"set PROLIFIC_PROJECT to one of .*Second"):
        studies.create(draft, HOST)
    settings.PROLIFIC_WORKSPACE, settings.PROLIFIC_PROJECT = workspace, project
    studies.create(draft, HOST)
    assert fake.study(draft.external_id)["project"] == project
    assert {group["workspace_id"] for group in fake.groups()} == {workspace}


def test_a_workspace_invisible_to_the_token_is_reported(fake, study, researcher, settings):
    (draft,) = drafts.plan(study, 0, researcher)
    settings.PROLIFIC_WORKSPACE = "nonsense"
    with pytest.raises(ProlificError, match="PROLIFIC_WORKSPACE is nonsense, which your token"):
        studies.create(draft, HOST)


# Missing features of the workspace ---------------------------------------------------------------


def test_without_paid_screen_outs_the_page_suggests_parts(fake, study, researcher, ada):
    fake.mode(screen_out=False)
    factories.may_spend(researcher)
    (draft,) = drafts.plan(study, 0, researcher)
    form = reverse("prolific_study", args=[study.name, draft.pk])
    reply = ada.post(form, factories.publishing(draft)).content.decode()
    assert "set that reward to 0" in reply
    assert "in parts" in reply
    ada.post(reverse("prolific_plan", args=[study.name]), {"annotation_parts": "1"})
    assert [draft.part for draft in study.prolific_studies.all()] == [1, 2]
    for part in (1, 2):
        studies.create(study.prolific_studies.get(part=part), HOST)
    with pytest.raises(drafts.PlanError, match="already been drafted"):
        drafts.plan(study, 0, researcher)


@pytest.mark.long
def test_without_paid_screen_outs_a_zero_reward_is_paid_by_bonus(fake, study, researcher):
    fake.mode(screen_out=False)
    (draft,) = drafts.plan(study, 0, researcher)
    drafts.change(draft, {"screen_out_cents": 0})
    studies.create(draft, HOST)
    session, seat = arrive(fake, draft)
    begin(seat)
    factories.work_through(seat, lambda turn: ["train"], limit=2)
    factories.go_on(seat.token)
    Participation.objects.filter(pk=seat.pk).update(worked_seconds=90)
    fake.complete(session, draft.codes["not_qualified"])
    sync.sync(study)
    pay_all(study)
    assert fake.books()[IDA]["paid_cents"] == 150


def test_without_signed_addresses_the_error_names_the_checkbox(fake, study, researcher):
    (draft,) = drafts.plan(study, 0, researcher)
    drafts.change(draft, {"signed": True})
    with pytest.raises(ProlificError, match="clear that checkbox"):
        studies.create(draft, HOST)
    drafts.change(draft, {"signed": False})
    studies.create(draft, HOST)


def test_the_description_says_that_not_all_continue(fake, published):
    assert "Not all participants continue" in fake.study(published.external_id)["description"]


# Rejections --------------------------------------------------------------------------------------


def reject(ada, seat, category, message=MESSAGE):
    address = reverse("participation_review", args=[seat.study.name, seat.pseudonym])
    return ada.post(address, {"action": "reject", "category": category, "message": message})


def with_checks(study, folder) -> None:
    """Give the study's task two attention checks, and a design that asks for them."""
    lines = [
        {"id": number, "context": f"This is a check: mark word{number}.", "question": "Where?",
         "answer": [f"word{number}"]}
        for number in range(2)
    ]  # fmt: skip
    file = folder / "checks.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    attention_checks.import_checks(study.tasks.get(), file)
    factories.force_options(study, attention_checks=2)


@pytest.mark.long
@pytest.mark.parametrize(
    ("minutes", "failed", "allowed"),
    [(10, 0, False), (10, 1, False), (10, 2, True), (4, 0, False), (4, 1, True)],
)
def test_enough_failed_checks_are_a_ground_for_rejection(
    fake, published, ada, tmp_path, minutes, failed, allowed
):
    with_checks(published.study, tmp_path)
    type(published).objects.filter(pk=published.pk).update(minutes=minutes)
    session, seat = arrive(fake, published)
    begin(seat)
    wrong = iter([True] * failed + [False] * 2)

    def answer(turn):
        if turn.step == "check":
            return ["check"] if next(wrong) else turn.example.gold
        return list(dict.fromkeys(turn.example.gold))

    factories.work_through(seat, answer)
    fake.complete(session, published.codes["completed"])
    sync.sync(published.study)
    reply = reject(ada, seat, "FAILED_CHECK")
    seat.refresh_from_db()
    assert (reply.status_code == 302, not seat.is_paid) == (allowed, allowed)
    if not allowed:
        assert f"{failed} attention checks were failed" in reply.content.decode()


@pytest.mark.long
@pytest.mark.parametrize(
    ("times", "own", "allowed"),
    [
        ([600, 620, 640, 660], 10, False),  # too few annotators to compare
        ([600, 610, 620, 630, 640], 590, False),
        ([600, 610, 620, 630, 640], 60, True),
        ([60, 300, 600, 900, 1200], 1, False),  # annotators vary too much
    ],
)
def test_too_fast_means_three_standard_deviations_below_the_mean(
    fake, study, published, ada, times, own, allowed
):
    type(study.scenarios.get()).objects.update(seats=10)
    for number, seconds in enumerate(times):
        other = factories.join(study, identity=f"other {number}")
        begin(other)
        factories.work_through(other)
        Participation.objects.filter(pk=other.pk).update(worked_seconds=seconds)
    seat = complete(fake, published)
    Participation.objects.filter(pk=seat.pk).update(worked_seconds=own)
    reply = reject(ada, seat, "TOO_QUICKLY")
    assert (reply.status_code == 302) == allowed
    if not allowed:
        assert "exceptionally fast" in reply.content.decode()


@pytest.mark.long
@pytest.mark.parametrize(
    "category", ["OTHER", "FAILED_INSTRUCTIONS", "TOO_SLOWLY", "MALINGERING", ""]
)
def test_a_rejection_category_that_prolific_lacks_is_refused(fake, published, ada, category):
    seat = complete(fake, published)
    assert reject(ada, seat, category).status_code == 422
    assert submission_of(fake, published)["status"] == "AWAITING REVIEW"
    assert "OTHER" not in review.CATEGORIES


@pytest.mark.long
def test_a_submission_with_answers_is_not_rejected_for_no_data(fake, published, ada):
    seat = complete(fake, published)
    reply = reject(ada, seat, "NO_DATA")
    assert "The participant has given answers" in reply.content.decode()


@pytest.mark.long
def test_a_screened_out_participant_cannot_be_rejected(fake, researcher, ada):
    study = make_study(researcher, qualification="minimum", qualification_threshold=50)
    first, _second = drafts.plan(study, 1, researcher)
    studies.create(first, HOST)
    session, seat = arrive(fake, first)
    begin(seat)
    factories.work_through(seat, lambda turn: ["train"], limit=2)
    factories.go_on(seat.token)
    fake.complete(session, first.codes["not_qualified"])
    sync.sync(study)
    reply = reject(ada, seat, "LOW_EFFORT")
    assert reply.status_code == 422
    assert "Screened-out annotators must be paid" in reply.content.decode()


@pytest.mark.long
@pytest.mark.parametrize("how", ["return_submission", "time_out"])
def test_a_finished_submission_cannot_be_reviewed(fake, study, published, ada, how):
    session, seat = arrive(fake, published)
    begin(seat)
    factories.work_through(seat)
    getattr(fake, how)(session)
    sync.sync(study)
    seat.refresh_from_db()
    assert review.reviewable(seat.submissions.get()) is None
    assert reject(ada, seat, "LOW_EFFORT").status_code == 422
