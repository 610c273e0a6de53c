"""Other workers' turns, other researchers' studies and unknown links are not found."""

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Answer, Study, StudyStatus
from tests import factories


@pytest.fixture(scope="module")
def stored(module_researcher):
    return factories.make_study(module_researcher, factories.make_task(), shots=[2]).pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


@pytest.fixture
def seats(study):
    return [factories.seat(study.scenarios.get()) for _ in range(2)]


def test_another_workers_turn_is_not_found_and_nothing_is_stored(client, seats):
    mine, theirs = seats
    turn = theirs.latest_turn()
    fields = factories.fields_for(turn.example, turn.example.gold)
    reply = client.post(reverse("answer", args=[mine.token]), {"turn": turn.pk, **fields})
    assert reply.status_code == 404
    assert not Answer.objects.exists()


@pytest.mark.parametrize("turn", ["", "x", "-1", "0", "9" * 30, "١", "1 OR 1=1"])
def test_an_unknown_turn_is_not_found(client, seats, turn):
    reply = client.post(reverse("answer", args=[seats[0].token]), {"turn": turn, "typed": "x"})
    assert reply.status_code == 404


@pytest.mark.parametrize("name", ["work", "consent", "begin", "answer", "continue", "next_task"])
def test_an_unknown_personal_link_is_not_found(client, db, name):
    address = reverse(name, args=["unknown"])
    reply = (
        client.get(address)
        if name == "work"
        else client.post(address, {"turn": "1", "agree": "yes"})
    )
    assert reply.status_code == 404


@pytest.mark.parametrize("name", ["landing", "start"])
def test_an_unknown_study_link_is_not_found(client, db, name):
    address = reverse(name, args=["unknown"])
    assert (client.get if name == "landing" else client.post)(address).status_code == 404


@pytest.mark.parametrize("name", ["consent", "begin", "answer", "continue", "next_task"])
def test_get_never_writes(client, seats, name):
    assert client.get(reverse(name, args=[seats[0].token])).status_code == 405


def test_start_refuses_get(client, study):
    assert client.get(reverse("start", args=[study.link_code])).status_code == 405


def test_posts_need_the_csrf_token(study):
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(reverse("start", args=[study.link_code])).status_code == 403
    assert study.participations.count() == 0


def test_the_cookie_of_a_worker_cannot_be_forged(client, study):
    client.cookies["handful_worker"] = "visitor:1abc:forged"
    client.post(reverse("start", args=[study.link_code]))
    first = study.participations.get()
    assert client.cookies["handful_worker"].value != "visitor:1abc:forged"
    client.post(reverse("start", args=[study.link_code]))
    assert study.participations.get() == first


RESEARCHER_PAGES = ["study", "human_performance", "training", "export_zip"]


@pytest.mark.parametrize("name", RESEARCHER_PAGES)
def test_another_researchers_study_is_not_found(client, study, other_researcher, name):
    client.force_login(other_researcher)
    assert client.get(reverse(name, args=[study.name]), follow=True).status_code == 404


@pytest.mark.parametrize("name", RESEARCHER_PAGES)
def test_anonymous_visitors_are_sent_to_sign_in(client, study, name):
    reply = client.get(reverse(name, args=[study.name]))
    assert reply.status_code == 302
    assert reply["Location"].startswith(reverse("login"))


@pytest.mark.parametrize("action", ["pause", "close", "draft", "open"])
def test_another_researcher_cannot_change_the_status(client, study, other_researcher, action):
    client.force_login(other_researcher)
    address = reverse("study_status", args=[study.name])
    assert client.post(address, {"action": action}).status_code == 404
    assert Study.objects.get().status == StudyStatus.OPEN


def test_the_owner_can_open_every_page(client, study, researcher):
    client.force_login(researcher)
    for name in RESEARCHER_PAGES:
        assert client.get(reverse(name, args=[study.name]), follow=True).status_code == 200, name


@pytest.mark.parametrize(
    "path",
    ["studies/a%00/", "join/a%00/", "work/a%00/", "tasks/a%00/1/", "models/a%00/",
     "api/v1/studies/a%00/"],
)  # fmt: skip
def test_a_name_with_invalid_characters_is_not_found(client, researcher, path):
    client.force_login(researcher)
    assert client.get(f"/{path}").status_code == 404


MALFORMED = [
    ("pay", {"action": "pay", "batch": "²"}, 422),
    ("lists", {"end": "²"}, 422),
    ("lists", {"effect": "deny", "criterion": "task", "value": "a\0b"}, 422),
    ("lists", {"effect": "deny", "criterion": "study", "value": "a\0b"}, 422),
    ("lists", {"effect": "deny", "criterion": "people", "value": "a\0b c"}, 422),
    ("seats", {"scenario": "²", "number": "1"}, 422),
    ("seats", {"scenario": "1", "number": "²"}, 422),
    ("seats", {"scenario": "9" * 40, "number": "1"}, 422),
    ("team", {"action": "add", "username": "a\0b", "role": "payer"}, 422),
    ("team", {"action": "remove", "username": "a\0b"}, 422),
    ("panel_new", {"name": "a\0b", "id_parameter": "id"}, 422),
    ("panel_new", {"name": "a", "id_parameter": "id", "other_code": "\0"}, 422),
    ("prolific_plan", {"annotation_parts": "²"}, 422),
    ("prolific_plan", {"annotation_parts": "9" * 5000}, 422),
]


@pytest.mark.parametrize(("name", "fields", "status"), MALFORMED)
def test_malformed_fields_of_a_researcher_get_an_error_message(
    client, study, researcher, name, fields, status
):
    client.force_login(researcher)
    reply = client.post(reverse(name, args=[study.name]), fields)
    assert reply.status_code == status
    assert status == 404 or 'role="alert"' in reply.content.decode()
