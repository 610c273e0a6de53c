"""Tasks belong to a team, which alone changes them."""

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse

from tasks import teams
from tests import factories


@pytest.fixture
def task(db):
    return factories.make_task()


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
