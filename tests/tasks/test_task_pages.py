"""The page of a task: what annotators read, examples, downloads, and its card as a form."""

import io
import tomllib
import zipfile

import pytest
from django.urls import reverse

from annotation.study import consequences, design
from tasks import data_report, upload_jobs
from tasks.cards import parse_card
from tasks.folders import read_folder
from tasks.formats import content_hash
from tasks.models import Task, TaskUpload
from tests import factories
from tests.tasks.browser_import import act, settle

pytestmark = pytest.mark.django_db


@pytest.fixture
def task(researcher):
    return factories.make_task(shots=(2,), by=researcher)


def page(ada, name, task, query="") -> str:
    reply = ada.get(reverse(name, args=[task.name, task.version]) + query, follow=True)
    assert reply.status_code == 200
    return " ".join(reply.content.decode().split())


def test_the_page_has_instructions_labels_and_help(ada, researcher):
    task = factories.make_kind("label")
    shown = page(ada, "task", task)
    for text in (task.card.instructions, *(label.definition for label in task.card.labels)):
        assert all(" ".join(line.split()) in shown for line in text.splitlines())
    assert all(window.title in shown for window in task.card.help_windows)


def test_examples_are_listed_searched_and_exported(ada, task):
    test = task.test_split.examples.order_by("position")
    first = test[0]
    shown = page(ada, "task_examples", task)
    assert first.context[0] in shown
    assert "toy_train_2_1.jsonl" in shown
    alone = page(ada, "task_examples", task, f"?q={first.source_id}")
    assert first.context[0] in alone
    assert test[1].context[0] not in alone
    of_file = page(ada, "task", task, "?show=examples&file=toy_train_2_1.jsonl")
    assert f"<td>{first.context[0]}" not in of_file
    assert 'href="?show=examples">All' in of_file
    address = reverse("task_examples", args=[task.name, 1]) + "?format=csv"
    assert ada.get(f"{address}&show=x.jsonl")["Location"].endswith("file=x.jsonl")
    csv = ada.get(address, follow=True).content.decode()
    assert csv.splitlines()[0] == "example,file,text,question,options,gold"
    assert len(csv.splitlines()) == 1 + 2 + 4


def test_downloaded_card_and_files_equal_the_imported_ones(ada, task, tmp_path):
    card = ada.get(reverse("task_card", args=[task.name, 1])).content.decode()
    assert parse_card(tomllib.loads(card), "task.toml") == task.card
    packed = ada.get(reverse("task_files", args=[task.name, 1])).content
    zipfile.ZipFile(io.BytesIO(packed)).extractall(tmp_path)
    assert content_hash(task.card, read_folder(tmp_path, task.card)) == task.content_hash


def sent(ada, task, **changes) -> dict:
    reply = ada.get(reverse("task_edit", args=[task.name, task.version]), follow=True)
    form = reply.context["form"]
    return {name: form[name].value() for name in form.fields} | changes


@pytest.mark.long
def test_an_edited_card_is_checked_and_makes_a_new_version(ada, task):
    address = reverse("task_edit", args=[task.name, task.version])
    sent_card = sent(ada, task, instructions="Mark each place.\nOnce.")
    page = settle(ada, ada.post(address, sent_card, follow=True))
    upload = TaskUpload.objects.get()
    assert page.redirect_chain[0][0] == reverse("task_upload", args=[upload.pk])
    assert upload_jobs.problems(upload) == []
    assert Task.objects.count() == 1
    settle(ada, act(ada, page, "confirm"))
    new = Task.objects.get(version=2)
    assert new.card.instructions == "Mark each place.\nOnce."
    assert new.test_hash == task.test_hash
    assert Task.objects.get(version=1).card == task.card


def test_an_unchanged_card_or_an_empty_text_is_refused(ada, task):
    address = reverse("task_edit", args=[task.name, task.version])
    reply = ada.post(address, sent(ada, task))
    assert reply.status_code == 422
    assert "Nothing changed" in reply.content.decode()
    reply = ada.post(address, sent(ada, task, instructions=" "))
    assert reply.status_code == 422
    assert "instructions" in reply.context["form"].errors
    assert not TaskUpload.objects.exists()


def test_the_card_of_another_researchers_task_cannot_be_edited(ada, other_researcher):
    task = factories.make_task(by=other_researcher)
    address = reverse("task_edit", args=[task.name, task.version])
    assert ada.get(address, follow=True).status_code == 403
    assert ada.post(address, {"title": "Mine"}).status_code == 403
    assert not TaskUpload.objects.exists()


def test_the_link_of_a_version_selects_it_in_a_new_study(ada, task):
    other = factories.make_task(shots=(2,), title="Places again", by=task.imported_by)
    assert other.version == 2
    form = ada.get(reverse("study_new") + f"?task={task.name}@1").context["form"]
    assert form.initial["tasks"] == [task]
    assert f"?task={task.name}@1" in page(ada, "task", task)
    assert ada.get(reverse("study_new") + "?task=nothing@9").status_code == 200


# Leakage and ceilings ----------------------------------------------------------------------------


@pytest.fixture
def leaking(researcher):
    """A task whose test set repeats training examples and has a gold missing from its text."""
    records = factories.place_records("same", 4)
    return factories.make_task(train={2: records[:2]}, test=records, shots=(2,))


def test_the_data_report_separates_warnings_from_counts(ada, leaking):
    report = leaking.report
    assert [line for line in data_report.warnings(report) if "leakage" in line]
    assert not [line for line in data_report.counts(report) if "leakage" in line]
    told = data_report.warnings(report) + data_report.counts(report)
    assert sorted(data_report.lines(report)) == sorted(told)
    assert "1 warning" in page(ada, "task", leaking)


@pytest.mark.long
def test_a_study_with_leakage_opens_only_after_recorded_consent(ada, researcher, leaking):
    study = factories.make_study(
        researcher, leaking, status="draft", shots=[2], max_paid_hours=1, budget=100
    )
    told = "2 of the training examples of toy_train_2_1.jsonl are also test examples"
    edit = ada.get(reverse("study_design", args=[study.name]))
    assert told in " ".join(edit.content.decode().split())
    assert 'name="accepts_leakage"' in edit.content.decode()
    opening = reverse("study_status", args=[study.name])
    reply = ada.post(opening, factories.opening(study))
    assert (reply.status_code, design.LEAKAGE in reply.content.decode()) == (409, True)
    study.accepts_leakage = True
    study.save()
    assert ada.post(opening, factories.opening(study)).status_code == 302
    study.refresh_from_db()
    assert '"accepts_leakage":true' in study.manifest
    accepted = "The leakage was known and accepted before the study opened."
    for name, says in (("study_design", False), ("preregistration", True), ("report", True)):
        shown = " ".join(ada.get(reverse(name, args=[study.name])).content.decode().split())
        assert (told in shown, accepted in shown) == (True, says), name


def test_leakage_at_other_shots_is_not_reported(researcher, leaking):
    study = factories.make_study(researcher, leaking, shots=[0])
    assert consequences.leaks(study, [leaking]) == []
    assert study.status == "open"


@pytest.mark.long
def test_a_design_without_leakage_has_no_consent_field(ada, researcher, task):
    study = factories.make_study(researcher, task, status="draft")
    assert (
        'name="accepts_leakage"'
        not in ada.get(reverse("study_design", args=[study.name])).content.decode()
    )
