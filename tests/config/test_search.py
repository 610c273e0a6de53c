"""The search finds only what the user may open."""

import re
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Role
from annotation.study import team
from tests import factories


@pytest.fixture
def study(researcher):
    return factories.make_study(
        researcher, factories.make_task(), shots=[0], annotators=2, title="Rain <b>in</b> Oslo"
    )


@pytest.fixture
def done(study):
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat)
    seat.refresh_from_db()
    return seat


def found(client, words: str) -> dict[str, str]:
    """Return the results as type -> address."""
    reply = client.get(reverse("search"), {"q": words})
    assert reply.status_code == 200
    listed = reply.content.decode().partition('<div id="found">')[2]
    results = re.findall(r'<a href="([^"]*)"><small>(\w+)</small>', listed)
    return {sort: unescape(address) for address, sort in results}


def test_a_search_finds_studies_people_codes_items_and_help(ada, study, done):
    example = study.tasks.get().test_split.examples.first()
    person = reverse("participation", args=[study.name, done.pseudonym])
    assert found(ada, " rain  <B>in") == {"Study": reverse("study", args=[study.name])}
    assert found(ada, done.pseudonym.lower()) == {"Annotator": person}
    assert found(ada, done.completion_code) == {"Annotator": person}
    item = reverse("example", args=[study.name, example.pk])
    assert found(ada, example.source_id)["Item"] == item
    assert found(ada, "several studies") == {"Help": "/help/researchers/analysis/#several-studies"}
    assert found(ada, "") == {}


def test_a_search_page_escapes_titles_and_words(ada, study):
    page = ada.get(reverse("search"), {"q": "<b>in</b>"}).content.decode()
    assert "Rain &lt;b&gt;in&lt;/b&gt; Oslo" in page
    assert "<b>in</b>" not in page


@pytest.mark.long
@pytest.mark.parametrize("role", [Role.ANALYST, Role.PAYER, None])
def test_a_search_finds_only_what_the_role_may_open(client, study, done, other_researcher, role):
    if role:
        team.add(study, other_researcher.username, role, study.owner)
    client.force_login(other_researcher)
    example = study.tasks.get().test_split.examples.first()
    assert ("Study" in found(client, study.title)) is (role is not None)
    assert ("Annotator" in found(client, done.pseudonym)) is (role is not None)
    assert ("Annotator" in found(client, done.completion_code)) is (role == Role.PAYER)
    assert ("Item" in found(client, example.source_id)) is (role == Role.ANALYST)


def test_a_code_that_its_annotator_has_not_seen_is_not_found(ada, study):
    seat = factories.seat(study.scenarios.get())
    assert found(ada, seat.completion_code) == {}


def test_a_search_needs_an_account():
    reply = Client().get(reverse("search"), {"q": "rain"})
    assert reply["Location"].startswith(reverse("login"))
