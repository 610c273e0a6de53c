"""Tags of studies, tasks and models, and designs that a new study starts from."""

import re

import pytest
from django.urls import reverse

from annotation.models import AuditEntry, Member, Study
from annotation.study import cloning
from tasks import archive
from tasks.models import LanguageModel, Task
from tests import factories


@pytest.fixture
def task(researcher):
    return factories.make_task(by=researcher)


@pytest.fixture
def study(researcher, task):
    return factories.make_study(researcher, task, name="real", shots=[0, 2], hourly_rate=12)


def page(client, name: str, *args, query: str = "") -> str:
    return client.get(reverse(name, args=args) + query).content.decode()


def test_a_study_is_found_by_its_tags_whatever_its_status(ada, researcher, task, study):
    factories.make_study(researcher, task, name="other", status="draft")
    address = reverse("study_tags", args=["real"])
    reply = ada.post(address, {"tags": " Spring  2026,pilot , PILOT,, <b>"})
    assert reply.url == reverse("study_design", args=["real"])
    study.refresh_from_db()
    assert study.tags == ["<b>", "pilot", "spring 2026"]
    assert "&lt;b&gt;, pilot, spring 2026" in page(ada, "study_design", "real")
    assert 'value="&lt;b&gt;, pilot, spring 2026"' in page(ada, "study_design", "real")
    listed = page(ada, "studies")
    assert "<bdi>spring 2026</bdi>" in listed
    assert "<bdi><b>" not in listed
    for query in ("?tag=spring+2026", "?q=spring"):
        found = page(ada, "studies", query=query)
        assert reverse("study", args=["real"]) in found
        assert reverse("study", args=["other"]) not in found
    written = page(ada, "studies", query="?tag=pilot&format=csv").splitlines()
    assert len(written) == 2
    assert "spring 2026" in written[1]
    (entry,) = AuditEntry.objects.filter(what="tags changed")
    assert (entry.before, entry.after) == ({"tags": []}, {"tags": study.tags})
    ada.post(address, {"tags": "spring 2026, pilot, <b>"})
    assert AuditEntry.objects.filter(what="tags changed").count() == 1
    assert cloning.clone(study, researcher, {"name": "copy"}).tags == study.tags
    ada.post(address, {"tags": ""})
    study.refresh_from_db()
    assert study.tags == []


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (",".join(f"tag {n}" for n in range(11)), "11 tags, but there can be at most 10."),
        ("short," + "x" * 31, f"“{'x' * 31}” has 31 characters; a tag has at most 30."),
        ("x" * 31 + "," + "y" * 40, f"“{'x' * 31}” has 31 characters"),
        ("x" * 31 + "," + "y" * 40, f"“{'y' * 40}” has 40 characters"),
    ],
)
def test_tags_that_are_refused_are_shown_again_beside_what_is_wrong(
    ada, researcher, task, study, sent, words
):
    factories.predict(researcher, "toy", task, 2, 1)
    for address, args, row in [
        ("study_tags", ["real"], study),
        ("task_tags", [task.name, 1], task),
        ("model_tags", ["toy"], LanguageModel.objects.get()),
    ]:
        reply = ada.post(reverse(address, args=args), {"tags": sent})
        assert reply.status_code == 422
        assert words in reply.content.decode()
        assert f'value="{sent}"' in reply.content.decode()
        row.refresh_from_db()
        assert row.tags == []


def test_all_versions_of_a_task_have_its_tags_the_next_one_too(ada, researcher, task):
    second = factories.make_task(title="Later", by=researcher)
    ada.post(reverse("task_tags", args=[task.name, 1]), {"tags": "geography"})
    third = factories.make_task(title="Latest", by=researcher)
    assert third.version == 3
    for each in Task.objects.all():
        assert each.tags == ["geography"]
        assert "<dd>geography</dd>" in page(ada, "task", each.name, each.version)
    assert str(third) in page(ada, "tasks", query="?tag=geography")
    assert str(second) not in page(ada, "tasks", query="?tag=geography")


def test_only_the_team_of_a_task_and_the_uploader_of_a_model_tag_them(
    client, researcher, task, other_researcher
):
    factories.predict(researcher, "toy", task, 2, 1)
    client.force_login(other_researcher)
    for address, args in (("task_tags", [task.name, 1]), ("model_tags", ["toy"])):
        reply = client.post(reverse(address, args=args), {"tags": "mine"})
        assert reply.status_code == (403 if address == "task_tags" else 404)
        assert "Save the tags" not in page(client, address.removesuffix("_tags"), *args)
    assert (Task.objects.get().tags, LanguageModel.objects.get().tags) == ([], [])


def test_programs_set_and_read_all_three(client, researcher, task, study):
    factories.predict(researcher, "toy", task, 2, 1)
    headers = factories.bearer(researcher, "read", "run")
    for name, args in [
        ("study", ["real"]),
        ("task", [task.name, 1]),
        ("model", ["toy"]),
    ]:
        address = reverse(f"api_{name}_tags", args=args)

        def post(body, address=address):
            return client.post(address, body, "application/json", headers=headers)

        assert post({"tags": ["Spring", "pilot"]}).status_code == 200
        shown = client.get(reverse(f"api_{name}", args=args), headers=headers)
        assert shown.json()["tags"] == ["pilot", "spring"]
        for wrong in ({}, {"tags": "pilot"}, {"tags": ["x" * 31]}, {"tags": [], "tag": 1}):
            assert post(wrong).status_code == 422, wrong
        shown = client.get(reverse(f"api_{name}", args=args), headers=headers)
        assert shown.json()["tags"] == ["pilot", "spring"]
        problems = post({"tags": ["one", "two, three"]}).json()["fields"]["tags"]
        assert problems == ["“two, three” holds a comma; send each tag as a text of its own."]
        assert post({"tags": []}).status_code == 200
        assert client.get(reverse(f"api_{name}", args=args), headers=headers).json()["tags"] == []


def test_programs_list_what_has_a_tag(client, researcher, task, study):
    other = factories.make_task(name="other", by=researcher)
    factories.make_study(researcher, other, name="second", status="draft")
    headers = factories.bearer(researcher, "read", "run")
    for several, one, args in [
        ("api_studies", "api_study_tags", ["real"]),
        ("api_tasks", "api_task_tags", [task.name, 1]),
    ]:
        rows = reverse(several)

        def named(tag, address=rows):
            reply = client.get(address, {"tag": tag}, headers=headers)
            return [row["name"] for row in reply.json()["results"]]

        body = {"tags": ["Été %", "pilot"]}
        client.post(reverse(one, args=args), body, "application/json", headers=headers)
        assert named("été %") == named(" ÉTÉ  %") == named("pilot") == args[:1]
        assert named("t") == named("") == []


# Starting from another study ----------------------------------------------------------------------


def test_a_new_study_starts_from_the_design_of_another_and_nothing_is_stored(ada, task, study):
    assert '<option value="real">real</option>' in page(ada, "study_new")
    Study.objects.update(rehearsal=True, consent_text="Hello <there>", hypotheses="H1")
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


def test_what_a_new_study_is_not_offered_is_named(ada, task, study):
    assert "Filled in from real; nothing" in page(ada, "study_new", query="?like=real")
    archive.set_archived(task, True)
    shown = page(ada, "study_new", query="?like=real")
    assert f"Filled in from real, without {task} (archived); nothing is saved yet." in shown


def test_no_design_is_read_by_who_may_not(client, study, other_researcher):
    client.force_login(other_researcher)
    assert '<option value="real"' not in page(client, "study_new")
    assert client.get(reverse("study_new"), {"like": "real"}).status_code == 404
    Member.objects.create(study=study, user=other_researcher, role="payer")
    assert client.get(reverse("study_new"), {"like": "real"}).status_code == 403
    assert '<option value="real"' not in page(client, "study_new")
    Member.objects.update(role="analyst")
    assert client.get(reverse("study_new"), {"like": "real"}).status_code == 200
