"""A new study can start from another study's design."""

import re

import pytest
from django.urls import reverse

from annotation.models import Member, Study
from tasks import teams
from tests import factories


@pytest.fixture
def task(researcher):
    return factories.make_task(by=researcher)


@pytest.fixture
def study(researcher, task):
    return factories.make_study(researcher, task, name="real", shots=[0, 2], hourly_rate=12)


def page(client, name: str, *args, query: str = "") -> str:
    return " ".join(client.get(reverse(name, args=args) + query).content.decode().split())


@pytest.mark.long
def test_a_new_study_can_start_from_another_design(ada, task, study):
    assert '<option value="real">real</option>' in page(ada, "study_new")
    Study.objects.update(rehearsal=True, consent_text="Hello <there>")
    factories.force_options(study, hypotheses="H1")
    shown = ada.get(reverse("study_new"), {"like": "real"})
    form = shown.context["form"]
    assert Study.objects.count() == 1
    assert (form["name"].value(), form["rehearsal"].value()) == ("", False)
    assert (form["shots"].value(), form["consent_text"].value()) == ("0 2", "Hello <there>")
    assert form["tasks"].value() == [task.pk]
    assert '<option value="real" selected>real</option>' in shown.content.decode()
    values = {field.html_name: field.value() for field in form}
    sent = {key: value for key, value in values.items() if value is not None and value is not False}
    reply = ada.post(reverse("study_new") + "?like=real", sent | {"name": "mine"})
    assert reply.status_code == 302, re.findall(r'class="error".*', reply.content.decode())
    made = Study.objects.get(name="mine")
    assert made.scenarios.count() == 2
    assert (made.is_draft, made.rehearsal, made.hypotheses) == (True, False, "H1")


def test_an_archived_task_of_the_copied_design_is_named(ada, task, study):
    shown = page(ada, "study_new", query="?like=real")
    assert "Pre-filled from real. These values won't take effect until you save." in shown
    teams.set_archived(task, True)
    shown = page(ada, "study_new", query="?like=real")
    assert f"Pre-filled from real, excluding {task} (archived). These values" in shown


@pytest.mark.long
def test_a_design_is_offered_only_to_roles_that_may_read_it(client, study, other_researcher):
    client.force_login(other_researcher)
    assert '<option value="real"' not in page(client, "study_new")
    assert client.get(reverse("study_new"), {"like": "real"}).status_code == 404
    Member.objects.create(study=study, user=other_researcher, role="payer")
    assert client.get(reverse("study_new"), {"like": "real"}).status_code == 403
    assert '<option value="real"' not in page(client, "study_new")
    Member.objects.update(role="analyst")
    assert client.get(reverse("study_new"), {"like": "real"}).status_code == 200
