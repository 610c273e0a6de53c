"""Tasks belong to a team, and only the team can change them."""

import re

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from tasks import teams
from tests import factories


@pytest.fixture
def task(db):
    return factories.make_task()


def test_only_the_team_makes_a_version_of_a_task(researcher, other_researcher):
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
    assert ada.post(team, {"username": "unknown"}).status_code == 422
    assert ada.post(team, {"username": "ada"}).status_code == 302
    get_user_model().objects.update(is_superuser=False)
    assert ada.post(checks, {}).status_code == 422  # allowed, but without a file


def test_only_colleagues_are_added_so_names_cannot_be_guessed(ada, researcher, other_researcher):
    its = factories.make_task(by=researcher)
    pages = reverse("task_team", args=[its.name, its.version])
    program = Client(headers=factories.bearer(researcher, "run"))
    api = reverse("api_task_team", args=[its.name, its.version])
    told = []
    for name in ("grace", "unknown"):
        reply = ada.post(pages, {"username": name})
        assert reply.status_code == 422
        sentence = re.search("You share no study[^<]+", reply.content.decode())[0]
        told.append(sentence.replace(name, "NAME"))
        refused = program.post(api, {"username": name}, content_type="application/json")
        assert refused.status_code == 422
    assert told[0] == told[1]
    assert not teams.may_change(its.name, other_researcher)
    study = factories.make_study(researcher, its, status="draft")
    study.members.create(user=other_researcher, role="analyst")
    assert ada.post(pages, {"username": "grace"}).status_code == 302
    assert teams.may_change(its.name, other_researcher)


def test_the_design_form_offers_every_version_of_a_task(ada, task):
    newer = factories.make_task(test_size=5)
    form = ada.get(reverse("study_new")).context["form"]
    labels = [str(label) for _value, label in form["tasks"].field.choices]
    assert labels[0].startswith(f"{newer} (")
    assert labels[1].startswith(f"{task} (")
    assert labels[1].endswith(", older version")
