"""A decision about several waiting participants applies to all of them or to none."""

import pytest
from django.urls import reverse

from annotation.models import Decision, Participation, Status
from annotation.protocol import qualification
from tests import factories


@pytest.fixture
def study(researcher):
    return factories.make_study(
        researcher, factories.make_task(), shots=[2], annotators=4, qualification="researcher"
    )


@pytest.fixture
def waiting(study):
    """Three participants who have finished the training step."""
    seats = [factories.seat(study.scenarios.get()) for _ in range(3)]
    for seat in seats:
        factories.work_through(seat, limit=2)
        factories.go_on(seat.token)
    return seats


def send(client, study, seats, outcome="yes", reason="careful", query=""):
    sent = {"annotators": [seat.pseudonym for seat in seats], "outcome": outcome, "reason": reason}
    return client.post(reverse("people_decide", args=[study.name]) + query, sent)


def statuses(seats) -> list[str]:
    return [Participation.objects.get(pk=seat.pk).status for seat in seats]


def test_a_joint_decision_equals_one_made_alone(ada, study, waiting):
    reply = send(ada, study, waiting[:2], query="?show=waiting")
    assert reply.url == f"{reverse('people', args=[study.name])}?show=waiting#participations"
    assert statuses(waiting) == [Status.WORKING, Status.WORKING, Status.WAITING]
    qualification.decide(waiting[2].token, True, "careful", study.owner)
    rows = Decision.objects.order_by("participation").values_list(
        "about", "outcome", "reason", "by"
    )
    assert len(set(rows)) == 1
    assert len(rows) == 3


@pytest.mark.long
def test_annotators_screened_out_together_lose_their_seats(ada, study, waiting):
    send(ada, study, waiting, outcome="no", reason="too many wrong")
    assert statuses(waiting) == [Status.SCREENED_OUT] * 3
    assert {seat.seat_number for seat in study.participations.all()} == {None}
    logged = study.events.filter(what="screened out", by=study.owner)
    assert {entry.about for entry in logged} == {seat.pseudonym for seat in waiting}


def test_a_joint_decision_needs_every_annotator_to_be_waiting(ada, study, waiting):
    qualification.decide(waiting[1].token, True, "first", study.owner)
    reply = send(ada, study, waiting)
    page = reply.content.decode()
    assert reply.status_code == 422
    assert f"{waiting[1].pseudonym}: not waiting, but in progress." in page
    assert statuses(waiting) == [Status.WAITING, Status.WORKING, Status.WAITING]
    assert Decision.objects.count() == 1
    assert 'value="careful"' in page
    assert page.count(" checked>") == 3  # so that one can be left out


@pytest.mark.long
def test_a_joint_decision_needs_a_reason_and_an_annotator(ada, study, waiting):
    for seats, reason, words in [(waiting, " ", "Enter a reason"), ([], "fine", "Select a")]:
        reply = send(ada, study, seats, reason=reason)
        assert reply.status_code == 422
        assert words in reply.content.decode()
    assert not Decision.objects.exists()


@pytest.mark.long
def test_an_annotator_of_another_study_is_refused(ada, researcher, study, waiting):
    other = factories.make_study(researcher, study.tasks.get(), shots=[0], name="other")
    stranger = factories.seat(other.scenarios.get())
    page = send(ada, study, [*waiting, stranger]).content.decode()
    assert f"The annotator {stranger.pseudonym} does not exist in this study." in page
    assert statuses(waiting) == [Status.WAITING] * 3


@pytest.mark.long
def test_owners_see_a_checkbox_for_each_waiting_annotator(client, study, waiting, ada):
    address = reverse("people", args=[study.name])
    assert ada.get(address).content.decode().count('name="annotators"') == 3
    analyst = type(study.owner).objects.create_user("bob")
    study.members.create(user=analyst, role="analyst")
    client.force_login(analyst)
    assert 'name="annotators"' not in client.get(address).content.decode()


def test_a_program_decides_about_several_annotators(client, study, waiting):
    headers = factories.bearer(study.owner, "run")
    address = reverse("api_bulk_decide", args=[study.name])
    names = [seat.pseudonym for seat in waiting]

    def post(body):
        return client.post(address, body, "application/json", headers=headers)

    body = {"annotators": [*names, "A-NOONE"], "outcome": True, "reason": "fine"}
    refused = post(body)
    assert refused.status_code == 422
    assert refused.json()["fields"]["annotators"] == [
        "The annotator A-NOONE does not exist in this study."
    ]
    assert statuses(waiting) == [Status.WAITING] * 3
    assert post(body | {"annotators": names}).status_code == 200
    assert statuses(waiting) == [Status.WORKING] * 3
    assert post(body | {"annotators": "all"}).status_code == 422
