"""Places on Prolific follow Handful's free seats, also after a return or a rejection."""

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Participation, Submission
from annotation.prolific import client as prolific_client
from annotation.prolific import sync
from annotation.recruitment import consent, join_errors, seats
from annotation.study import lifecycle
from tests import factories
from tests.annotation.prolific.fixtures import (
    BO,
    IDA,
    arrive,
    begin,
    change_there,
    complete,
    reject_there,
    submission_of,
)

CY = "c" * 24
TWENTY_ONE_DAYS = 21 * 24 * 3600


def there(fake, on_prolific) -> dict:
    return fake.study(on_prolific.external_id)


def decline(fake, on_prolific, person=IDA) -> str:
    """Decline consent, and return with the code for declining."""
    session, seat = arrive(fake, on_prolific, person)
    consent.record(seat, agree=False)
    fake.complete(session, on_prolific.codes["no_consent"])
    return session


# Returns -----------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_requested_return_buys_no_new_place(fake, study, published, ada):
    session = decline(fake, published)
    sync.sync(study)
    assert there(fake, published)["total_available_places"] == 2
    page = ada.get(reverse("platforms", args=[study.name]), follow=True).content.decode()
    assert "Requested returns that are still open: 1" in page
    assert "within 21 days" in page
    fake.return_submission(session)
    sync.sync(study)
    assert there(fake, published)["total_available_places"] == 2
    for person in (BO, CY):  # both get a seat
        complete(fake, published, person)
    page = ada.get(reverse("platforms", args=[study.name]), follow=True).content.decode()
    assert "still open" not in page


@pytest.mark.long
def test_automatic_approvals_are_reported_and_places_rebought(fake, study, published, ada):
    decline(fake, published)
    fake.advance(TWENTY_ONE_DAYS + 1)
    sync.sync(study)
    page = ada.get(reverse("platforms", args=[study.name]), follow=True).content.decode()
    told = "Approved on Prolific without work in Handful (not in the ledger): 1"
    assert told in " ".join(page.split())
    assert there(fake, published)["total_available_places"] == 3


@pytest.mark.long
def test_a_requested_return_is_shown_with_the_work(fake, study, published, ada):
    seat = complete(fake, published)
    review = reverse("participation_review", args=[study.name, seat.pseudonym])
    ada.post(review, {"action": "return", "message": "Please return it."})
    page = ada.get(reverse("participation", args=[study.name, seat.pseudonym])).content.decode()
    assert "hasn't returned the submission yet" in page
    fake.return_submission(submission_of(fake, published)["id"])
    sync.sync(study)
    page = ada.get(reverse("participation", args=[study.name, seat.pseudonym])).content.decode()
    assert "hasn't returned the submission yet" not in page


@pytest.mark.long
def test_an_arrival_on_the_way_needs_no_second_place(fake, study, published):
    complete(fake, published)
    fake.arrive(published.external_id, BO)  # has a place on Prolific but has not pressed Start
    sync.sync(study)
    assert there(fake, published)["total_available_places"] == 2


# Pause and start ---------------------------------------------------------------------------------


@pytest.mark.long
def test_prolific_is_paused_while_no_seat_is_free(fake, study, published, ada):
    elsewhere = [factories.join(study, identity=f"other {number}") for number in range(2)]
    sync.sync(study)
    assert there(fake, published)["status"] == "PAUSED"
    page = ada.get(reverse("platforms", args=[study.name]), follow=True).content.decode()
    assert "no seat is free here" in page
    sync.sync(study)
    assert there(fake, published)["status"] == "PAUSED"
    seats.release_seat(elsewhere[0], "returned")
    sync.sync(study)
    assert there(fake, published)["status"] == "ACTIVE"
    complete(fake, published)


def test_pausing_a_study_pauses_it_on_prolific(fake, study, published, researcher):
    lifecycle.change_status(study, "pause", researcher)
    sync.sync_all()
    assert there(fake, published)["status"] == "PAUSED"
    lifecycle.change_status(study, "reopen", researcher)
    sync.sync_all()
    assert there(fake, published)["status"] == "ACTIVE"


def test_a_study_paused_there_remains_so_until_started_manually(fake, study, published, ada):
    prolific_client.Client().transition(published.external_id, "PAUSE")
    sync.sync(study)
    assert there(fake, published)["status"] == "PAUSED"
    page = reverse("recruit", args=[study.name], query={"show": "platforms"})
    assert "It was paused on Prolific, not by Handful" in ada.get(page).content.decode()
    address = reverse("prolific_study", args=[study.name, published.pk])
    ada.post(address, {"action": "start"})
    assert there(fake, published)["status"] == "ACTIVE"
    assert "It was paused" not in ada.get(page).content.decode()
    assert ada.post(address, {"action": "start"}).status_code == 409


@pytest.mark.long
def test_used_up_screen_outs_are_named_as_the_reason_of_a_pause(fake, study, published, ada):
    for code in there(fake, published)["completion_codes"]:
        for action in code["actions"]:
            if "slots" in action:
                action["slots"] = 1
    session, seat = arrive(fake, published)
    begin(seat)
    factories.work_through(seat, lambda turn: ["train"], limit=2)
    factories.go_on(seat.token)
    fake.complete(session, published.codes["not_qualified"])
    assert there(fake, published)["status"] == "PAUSED"
    sync.sync(study)
    page = ada.get(reverse("platforms", args=[study.name]), follow=True).content.decode()
    assert "its 1 paid screen-outs are used up" in page
    assert there(fake, published)["status"] == "PAUSED"


@pytest.mark.long
def test_a_place_freed_after_all_were_filled_is_offered_again(fake, study, published):
    for person in (IDA, BO):
        complete(fake, published, person)
    sync.sync(study)
    assert there(fake, published)["status"] == "AWAITING REVIEW"
    fake.return_submission(submission_of(fake, published)["id"])
    assert there(fake, published)["status"] == "PAUSED"
    seat = Submission.objects.get(pk=Submission.objects.earliest("pk").pk).participation
    Participation.objects.filter(pk=seat.pk).update(in_analysis=False, seat_number=None)
    sync.sync(study)
    assert there(fake, published)["status"] == "ACTIVE"


# Rejections --------------------------------------------------------------------------------------


def state(seat) -> str:
    return Client().get(reverse("work", args=[seat.token])).content.decode()


@pytest.mark.long
def test_a_rejected_participant_gets_no_more_work(fake, study, published):
    session, seat = arrive(fake, published)
    begin(seat)
    factories.work_through(seat, limit=1)
    factories.go_on(seat.token)
    reject_there(fake, session)
    sync.sync(study)
    seat.refresh_from_db()
    assert (seat.status, seat.seat_number, seat.is_paid) == ("rejected", None, False)
    page = state(seat)
    assert "lists your submission as rejected" in page
    assert "continue where you left off" not in page
    assert "paid for the time" not in page
    turn = seat.latest_turn()
    fields = factories.fields_for(turn.example, [])
    late = Client().post(reverse("answer", args=[seat.token]), {"turn": turn.pk, **fields})
    assert late.status_code == 409
    assert "Your last answer was not saved." in late.content.decode()
    Client().post(reverse("resume", args=[seat.token]))
    seat.refresh_from_db()
    assert seat.status == "rejected"
    with pytest.raises(join_errors.RecruitmentError, match="rejected"):
        seats.join(study.pk, seat.worker.key, "prolific", "person", among=None)


@pytest.mark.long
def test_a_rejection_after_the_end_removes_pay_and_next_task(fake, study, published):
    seat = complete(fake, published)
    reject_there(fake, submission_of(fake, published)["id"])
    sync.sync(study)
    page = state(seat)
    assert "lists your submission as rejected" in page
    assert "complete?cc=" not in page
    reply = Client().post(reverse("next_task", args=[seat.token]))
    assert reply.status_code == 409
    assert Participation.objects.count() == 1


@pytest.mark.long
def test_an_undone_rejection_restores_pay(fake, study, published):
    seat = complete(fake, published)
    session = submission_of(fake, published)["id"]
    reject_there(fake, session)
    sync.sync(study)
    seat.refresh_from_db()
    assert (seat.in_analysis, seat.is_paid) == (True, False)
    change_there(fake, session, "UNREJECT")
    sync.sync(study)
    seat.refresh_from_db()
    assert (seat.in_analysis, seat.is_paid, seat.seat_number) == (True, True, 1)
    assert "reversed" in seat.decisions.last().reason


@pytest.mark.long
def test_a_manual_decision_survives_an_undone_rejection(fake, study, published, ada):
    seat = complete(fake, published)
    session = submission_of(fake, published)["id"]
    decide = reverse("participation_decide", args=[study.name, seat.pseudonym])
    ada.post(decide, {"about": "analysis", "outcome": "no", "reason": "used a tool"})
    reject_there(fake, session)
    sync.sync(study)
    change_there(fake, session, "UNREJECT")
    sync.sync(study)
    seat.refresh_from_db()
    assert (seat.in_analysis, seat.is_paid) == (False, True)


@pytest.mark.long
def test_work_can_continue_once_a_rejection_is_undone(fake, study, published):
    session, seat = arrive(fake, published)
    begin(seat)
    factories.work_through(seat, limit=1)
    reject_there(fake, session)
    sync.sync(study)
    change_there(fake, session, "UNREJECT")
    sync.sync(study)
    assert "continue where you left off" in state(seat)
    Client().post(reverse("resume", args=[seat.token]))
    seat.refresh_from_db()
    assert (seat.status, seat.is_paid) == ("working", True)


@pytest.mark.long
def test_a_submission_moves_to_the_new_participation(fake, published):
    """If a submission starts a new participation, its status applies to the new one."""
    session, first = arrive(fake, published)
    seats.release_seat(first, "expired")
    address = f"PROLIFIC_PID={IDA}&STUDY_ID={published.external_id}&SESSION_ID={session}"
    reply = Client().post(reverse("start", args=[published.code]) + f"?{address}")
    again = Participation.objects.get(token=reply.url.split("/")[2])
    assert again != first
    assert again.submissions.count() == 1
    fake.return_submission(session)
    sync.sync(published.study)
    again.refresh_from_db()
    assert again.status == "returned"
