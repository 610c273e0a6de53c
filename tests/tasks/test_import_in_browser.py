"""Import in the browser: real tasks become the same as from the terminal; the rest is refused."""

import os
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tasks import jobs, upload_jobs, uploads
from tasks.models import Example, Job, Task, TaskUpload
from tests.tasks.browser_import import (
    GOOD,
    act,
    files,
    published,
    send,
    settle,
    stored_folders,
    text,
    zipped,
)
from tests.tasks.test_importing import line


@pytest.fixture(autouse=True)
def var(settings, tmp_path) -> Path:
    settings.VAR_DIR = tmp_path / "var"
    return settings.VAR_DIR


# The real thing ----------------------------------------------------------------------------------


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "folder"), [("MNLI", "MNLI"), ("CoNLL03", "CoNLL2003")])
@pytest.mark.parametrize("as_zip", [False, True])
@pytest.mark.long
def test_a_clues_task_imports_as_by_the_command(ada, clues, var, name, folder, as_zip):
    contents = published(clues, folder)
    if as_zip:
        inner = {f"CLUES/{folder}/{key}": value for key, value in contents.items()}
        contents = {f"{folder}.zip": zipped({"__MACOSX/._x": b"", "README.md": "", **inner})}
    page = settle(ada, send(ada, contents, name))
    shown = text(page)
    assert "Data report" in shown
    assert "The task hasn't been imported yet" in shown
    assert len(page.context["examples"]) == 10
    assert not Task.objects.exists()
    page = settle(ada, act(ada, page, "confirm"))
    task = Task.objects.get()
    assert page.redirect_chain[-1][0] == reverse("task", args=[name, 1])
    assert f"{name} v1 is imported" in text(page)
    assert not TaskUpload.objects.exists()
    assert not Job.objects.exists()
    assert stored_folders(var) == []
    before = task.content_hash
    call_command("import_clues", str(clues), "--task", name, verbosity=0)
    assert [task.content_hash for task in Task.objects.all()] == [before]


@pytest.mark.real_data
@pytest.mark.long
def test_training_files_are_renumbered_if_asked_for(ada, clues):
    page = settle(ada, send(ada, published(clues, "ReCoRD"), "ReCoRD"))
    assert page.context["may_rechain"]
    act(ada, page, "confirm", rechain="1")
    task = Task.objects.get()
    assert task.rechained
    call_command("import_clues", str(clues), "--task", "ReCoRD", "--rechain", verbosity=0)
    assert Task.objects.get() == task


@pytest.mark.real_data
@pytest.mark.long
def test_the_wrong_card_is_recognised_by_the_file_names(ada, clues):
    page = settle(ada, send(ada, published(clues, "SST-2"), "MNLI"))
    assert "the MNLI card expects files named mnli_..." in text(page)
    page = settle(ada, act(ada, page, "files", card="SST-2"))
    assert "Import SST-2" in text(page)


# Own tasks ---------------------------------------------------------------------------------------


@pytest.mark.long
def test_an_own_task_comes_in_with_its_card(ada):
    page = settle(ada, send(ada, GOOD))
    act(ada, page, "confirm")
    task = Task.objects.get()
    assert (task.name, task.training_sizes) == ("toy-places", [1])
    assert task.test_split.examples.get().gold == ["Oslo"]


def test_with_htmx_an_upload_redirects_to_its_page(ada):
    fields = {"card": "", "upload": files(GOOD)}
    reply = ada.post(reverse("task_add"), fields, headers={"HX-Request": "true"})
    assert reply["HX-Redirect"] == reverse("task_upload", args=[TaskUpload.objects.get().pk])


@pytest.mark.long
def test_an_upload_states_what_it_will_change(ada):
    act(ada, settle(ada, send(ada, GOOD)), "confirm")
    page = settle(ada, send(ada, GOOD))
    assert "This content has already been imported as toy-places v1" in text(page)
    page = act(ada, page, "confirm")
    assert "already existed" in text(page)
    page = settle(ada, send(ada, GOOD | {"toy_test.jsonl": line(question="Where?")}))
    assert "this import will become version 2" in text(page)
    act(ada, page, "confirm")
    assert Task.objects.count() == 2


@pytest.mark.long
def test_get_stores_nothing_and_confirms_nothing(ada):
    page = settle(ada, send(ada, GOOD))
    upload = page.context["upload"]
    for name in ("files", "run", "confirm", "discard"):
        reply = ada.get(reverse(f"task_upload_{name}", args=[upload.pk]))
        assert reply["Location"] == reverse("task_upload", args=[upload.pk])
    before = list(Job.objects.values()), list(TaskUpload.objects.values())
    ada.get(reverse("task_upload", args=[upload.pk]))
    ada.get(reverse("task_add"))
    assert before == (list(Job.objects.values()), list(TaskUpload.objects.values()))
    assert not Task.objects.exists()


@pytest.mark.long
def test_an_unfinished_upload_is_listed_and_can_be_discarded(ada, var):
    page = settle(ada, send(ada, GOOD))
    upload = page.context["upload"]
    assert reverse("task_upload", args=[upload.pk]) in ada.get(reverse("task_add")).content.decode()
    page = act(ada, page, "discard")
    assert "discarded" in text(page)
    assert stored_folders(var) == []
    assert not TaskUpload.objects.exists()
    assert not Job.objects.exists()
    assert ada.get(reverse("task_upload", args=[upload.pk])).status_code == 404


@pytest.mark.long
def test_an_upload_belongs_to_its_owner(ada, other_researcher):
    upload = settle(ada, send(ada, GOOD)).context["upload"]
    other = Client()
    for name in ("task_upload", "task_upload_preview"):
        args = [upload.pk, 1] if name.endswith("preview") else [upload.pk]
        assert other.get(reverse(name, args=args)).status_code == 302
    other.force_login(other_researcher)
    assert other.get(reverse("task_upload", args=[upload.pk])).status_code == 404
    assert other.get(reverse("task_upload_preview", args=[upload.pk, 1])).status_code == 404
    for name in ("files", "run", "confirm", "discard"):
        assert other.post(reverse(f"task_upload_{name}", args=[upload.pk])).status_code == 404
    assert "Unfinished imports" not in other.get(reverse("task_add")).content.decode()
    assert TaskUpload.objects.exists()


@pytest.mark.long
def test_an_upload_is_deleted_after_a_day(ada, var):
    upload = settle(ada, send(ada, GOOD)).context["upload"]
    TaskUpload.objects.update(created_at=timezone.now() - timedelta(hours=25))
    for name, hours in (("without-a-row", 2), ("without-a-row-yet", 0)):
        (var / "uploads" / name).mkdir()
        os.utime(var / "uploads" / name, (time.time() - hours * 3600,) * 2)
    call_command("run_jobs")
    assert not TaskUpload.objects.filter(pk=upload.pk).exists()
    assert not Job.objects.exists()
    assert stored_folders(var) == ["without-a-row-yet"]


@pytest.mark.long
def test_a_large_upload_is_read_in_parts(ada, monkeypatch):
    monkeypatch.setattr(upload_jobs, "SMALL", 0)
    monkeypatch.setattr(jobs, "POLL", 0)
    page = send(ada, GOOD)
    assert "0 of 4 parts done" in text(page)
    page = act(ada, page, "run")
    assert "1 of 4 parts done" in text(page)
    page = settle(ada, page)
    page = act(ada, page, "confirm", next="study")
    assert "Storing the task" in text(page)
    assert ">Remove<" not in page.content.decode()
    assert not Task.objects.exists()
    page = act(ada, page, "files", remove="toy_test.jsonl")
    assert "can no longer be changed" in text(page)
    page = act(ada, page, "run")
    assert Task.objects.exists()
    assert page.redirect_chain[-1][0] == f"{reverse('study_new')}?task=toy-places"
    assert not TaskUpload.objects.exists()


@pytest.mark.long
def test_the_command_imports_what_was_confirmed(ada, monkeypatch):
    page = settle(ada, send(ada, GOOD))
    monkeypatch.setattr(upload_jobs, "SMALL", 0)
    page = act(ada, page, "confirm")
    call_command("run_jobs")
    task = Task.objects.get()
    address = reverse("task_upload", args=[page.context["upload"].pk])
    assert ada.get(address).url == reverse("task", args=[task.name, 1])


def test_files_that_changed_after_the_check_are_not_imported(ada, var):
    page = settle(ada, send(ada, GOOD))
    upload = page.context["upload"]
    (uploads.folder_of(upload) / "toy_test.jsonl").write_text(line(question="Who?"))
    page = act(ada, page, "confirm")
    assert "differ from those that were checked" in text(page)
    assert not Task.objects.exists()
    assert not Example.objects.exists()


@pytest.mark.long
def test_nothing_is_half_stored_when_the_import_breaks(ada):
    page = settle(ada, send(ada, GOOD))

    def breaks(execute, sql, *rest):
        if 'INTO "tasks_example"' in sql:
            raise OSError("the disk is full")
        return execute(sql, *rest)

    with connection.execute_wrapper(breaks):
        page = act(ada, page, "confirm")
    assert "An unexpected error occurred (OSError)" in text(page)
    assert not Task.objects.exists()
    act(ada, page, "run", again="1")
    assert Task.objects.get().test_split.examples.count() == 1


# Preview -----------------------------------------------------------------------------------------


def preview(client, page, number: int, **fields):
    address = reverse("task_upload_preview", args=[page.context["upload"].pk, number])
    return client.post(address, fields) if fields else client.get(address)


@pytest.mark.long
def test_examples_are_previewed_as_annotators_will_see_them(ada):
    page = settle(ada, send(ada, GOOD))
    training = preview(ada, page, 1)
    assert training.templates[0].name == "participation/work.html"
    shown = text(training)
    assert "Preview: nothing you do here is saved." in shown
    assert "Highlight the places, then submit." in shown
    assert "Lima" in shown
    reveal = preview(ada, page, 1, turn="x", typed="Lima")
    assert reveal.context["turn"].reveal.s1_percent == "100.0"
    annotation = preview(ada, page, 2, turn="x", no_answer="1")
    assert annotation.url == reverse("task_upload", args=[page.context["upload"].pk])
    assert preview(ada, page, 2, turn="x", typed="Atlantis").status_code == 422
    for number in (0, 3, 99):
        assert preview(ada, page, number).status_code == 404
    assert not Task.objects.exists()


@pytest.mark.real_data
@pytest.mark.long
def test_the_ten_previews_are_from_training_and_test(ada, clues):
    page = settle(ada, send(ada, published(clues, "MNLI"), "MNLI"))
    shown = page.context["examples"]
    assert [example["file"] for example in shown] == ["mnli_train_10_1.jsonl"] * 5 + [
        "mnli_test.jsonl"
    ] * 5
    assert len({(example["file"], example["id"]) for example in shown}) == 10
    for number in range(1, 11):
        assert preview(ada, page, number).status_code == 200


def test_a_faulty_upload_has_no_preview(ada):
    page = settle(ada, send(ada, GOOD | {"toy_test.jsonl": "{\n"}))
    assert preview(ada, page, 1).status_code == 404


# Ways in -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("old", ["dataset", "gym", "import"])
def test_the_former_import_pages_redirect_to_the_page_for_all(ada, old):
    assert ada.get(f"/tasks/{old}/").url == reverse("task_add")


@pytest.mark.parametrize(
    ("contents", "template"),
    [
        (GOOD, "import_upload"),
        ({"a.zip": zipped({"toy/README.md": "x", **GOOD})}, "import_upload"),
        ({"task.toml": GOOD["task.toml"]}, "import_upload"),
        ({"moods.csv": "text,mood\na,b\n"}, "dataset_columns"),
        ({"a.zip": zipped({"__MACOSX/._m": b"", "d/moods.csv": "text,mood\na,b\n"})},
         "dataset_columns"),
        ({"toy_test.jsonl": GOOD["toy_test.jsonl"]}, "dataset_columns"),
        ({"moods_16_13_train.tsv": "text\tmood\na\tb\n"}, "dataset_columns"),
    ],
)  # fmt: skip
def test_the_layout_is_recognised_from_the_file_names(ada, contents, template):
    reply = send(ada, contents)
    upload = TaskUpload.objects.get()
    assert reply.redirect_chain == [(reverse("task_upload", args=[upload.pk]), 302)]
    assert f"library/{template}.html" in [used.name for used in reply.templates]


def test_a_test_file_with_a_chosen_card_is_a_task(ada):
    page = send(ada, {"toy_test.jsonl": GOOD["toy_test.jsonl"]}, "MNLI")
    assert page.context["form"].initial == {"card": "MNLI"}
    assert [part["file"] for part in page.context["files"]] == ["toy_test.jsonl"]


def test_a_refused_upload_retains_what_was_typed(ada):
    fields = {"upload": files({"a.txt": "x", "b.txt": "x"}), "card": "MNLI", "sheet": "Answers"}
    reply = ada.post(reverse("task_add"), fields)
    assert reply.status_code == 422
    kept = {name: reply.context["form"][name].value() for name in ("card", "sheet")}
    assert kept == {"card": "MNLI", "sheet": "Answers"}


@pytest.mark.parametrize("name", ["studies", "tasks"])
def test_empty_pages_link_to_the_import(ada, name):
    assert f'href="{reverse("task_add")}"' in ada.get(reverse(name)).content.decode()


def test_the_import_is_for_researchers(client, db):
    reply = client.get(reverse("task_add"))
    assert reply.status_code == 302
    assert client.post(reverse("task_add")).status_code == 302


def test_the_clean_up_does_not_delete_arriving_files(researcher):
    (Path(settings.VAR_DIR) / "uploads").mkdir(parents=True)
    came = []

    def somebody_comes(execute, sql, *arguments):
        """Add an upload right after the clean-up has looked up the existing ones."""
        result = execute(sql, *arguments)
        if TaskUpload._meta.db_table in sql and "WHERE" not in sql and not came:
            came.append(TaskUpload(owner=researcher))
            came[0].save()
            uploads.folder_of(came[0]).mkdir()
        return result

    with connection.execute_wrapper(somebody_comes):
        uploads.drop_old()
    assert uploads.folder_of(came[0]).is_dir()
