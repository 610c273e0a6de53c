"""Few-shot Gym tasks are imported in the browser: files, answer type, confirmation."""

import io
import re
import zipfile
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from tasks import uploads
from tasks.gym import reader
from tasks.models import Task, TaskUpload
from tests.tasks.browser_import import stored_folders, text
from tests.tasks.test_gym import GYM, write


@pytest.fixture(autouse=True)
def var(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"
    return settings.VAR_DIR


def zipped(*folders: Path) -> SimpleUploadedFile:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in folders:
            for path in sorted(folder.iterdir()):
                archive.write(path, f"gym/{folder.name}/{path.name}")
    return SimpleUploadedFile("gym.zip", content.getvalue())


def send(client, *folders: Path):
    return client.post(reverse("task_add"), {"upload": zipped(*folders)}, follow=True)


def confirm(client, page, **changes: str):
    form = page.context["form"]
    assert form.key == "tasks", form.errors
    fields = {"seed": "7", "test": ""}
    for task, take, kind in form.rows:
        fields |= {take.html_name: "on", kind.html_name: task["kind"]}
    fields = {key: value for key, value in (fields | changes).items() if value is not None}
    address = reverse("gym_tasks", args=[page.context["upload"].pk])
    page = client.post(address, fields, follow=True)
    while page.context.get("job"):
        page = client.post(page.context["job_address"], follow=True)
    return page


@pytest.mark.long
@pytest.mark.real_data
def test_real_tasks_are_shown_with_quirks_and_then_imported(ada, var):
    page = send(ada, GYM / "sick", GYM / "limit", GYM / "squad-with_context")
    words = text(page)
    assert "3 Few-shot Gym tasks" in words
    assert "seed 100: 1 input of train is also in test: sick_16_100_test.tsv:51" in words
    assert "1 gold that does not occur in the text: limit_32_13_test.tsv:26" in words
    assert "Inferred: spans (600 of 600 outputs occur in the input)." in words
    assert not Task.objects.exists()
    page = confirm(ada, page, test="25")
    assert "3 tasks imported." in text(page)
    assert sorted(task.name for task in Task.objects.all()) == [
        "limit",
        "sick",
        "squad-with_context",
    ]
    sick = Task.objects.get(name="sick")
    assert (sick.card.test_of, sick.card.test_seed) == (100, 7)
    assert sick.test_split.examples.count() == 25
    assert sick.imported_by.username == "ada"
    assert not TaskUpload.objects.exists()
    assert not stored_folders(var)


@pytest.mark.long
def test_the_kind_of_a_task_can_be_changed_before_confirming(ada, tmp_path):
    page = send(ada, write(tmp_path, "web_questions", {}), write(tmp_path, "glue-rte", {}))
    changes = {"kind-web_questions": "label", "take-glue-rte": None}
    page = confirm(ada, page, **changes)
    task = Task.objects.get()
    assert (task.name, [label.name for label in task.card.labels]) == (
        "web_questions",
        ["no", "yes"],
    )
    assert task.report["made_from"]["why"] == "as you chose"


@pytest.mark.long
def test_a_folder_can_be_uploaded_and_a_repeat_changes_nothing(ada, tmp_path):
    folder = write(tmp_path, "glue-rte", {})
    for words in ("1 task imported.", "0 tasks imported, 1 already existed"):
        files = [SimpleUploadedFile(p.name, p.read_bytes()) for p in sorted(folder.iterdir())]
        page = ada.post(reverse("task_add"), {"folder": files}, follow=True)
        assert words in text(confirm(ada, page))
    assert Task.objects.count() == 1


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"13_train": "a\tyes\n\nb\tno\n"}, "glue-rte_2_13_train.tsv, line 2, field column 1"),
        ({"13_train": b"\xff\tyes\n"}, "line 1: not valid UTF-8"),
    ],
)
def test_a_malformed_file_is_named_and_nothing_is_stored(ada, var, tmp_path, files, said):
    page = send(ada, write(tmp_path, "glue-rte", files))
    assert page.status_code == 422
    assert said in text(page)
    assert not TaskUpload.objects.exists()
    assert not stored_folders(var)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("notes.txt", "notes.txt: unknown file name"),
        ("nothing_2_13_test.tsv", "nothing: expected the files|no dev file|is not one of the Gym"),
        ("../glue-rte_2_13_train.tsv", "points outside the archive"),
    ],
)
def test_unknown_files_are_refused_by_name(ada, name, said):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(name, "a\tyes\n")
        archive.writestr("nothing_2_13_train.tsv", "a\tyes\n")
    sent = SimpleUploadedFile("x.zip", content.getvalue())
    page = ada.post(reverse("task_add"), {"upload": sent}, follow=True)
    assert page.status_code == 422
    assert re.search(said, text(page))
    assert not TaskUpload.objects.exists()


def test_one_impossible_task_prevents_the_whole_import(ada, tmp_path):
    bad = "premise: x [SEP] hypothesis: y\tyes\npremise: x [SEP] hypothesis:  \tno\n"
    parts = (f"{seed}_{part}" for seed in (13, 21) for part in reader.PARTS)
    page = send(
        ada,
        write(tmp_path, "glue-rte", {}),
        write(tmp_path, "glue-qnli", dict.fromkeys(parts, bad)),
    )
    page = confirm(ada, page)
    assert page.status_code == 422
    assert "glue-qnli_2_13_dev.tsv, line 2, field context: expected a non-empty text" in text(page)
    assert not Task.objects.exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"take-glue-rte": None}, "Choose at least one task."),
        ({"kind-glue-rte": ""}, "glue-rte: choose an answer type."),
        ({"kind-glue-rte": "option"}, "Select a valid choice"),
        ({"test": "0"}, "greater than or equal to 1"),
        ({"seed": "-1"}, "greater than or equal to 0"),
    ],
)
def test_an_invalid_form_is_refused_with_the_field(ada, tmp_path, changes, said):
    page = confirm(ada, send(ada, write(tmp_path, "glue-rte", {})), **changes)
    assert page.status_code == 422
    assert said in text(page)
    assert not Task.objects.exists()


def test_a_gym_upload_belongs_to_its_owner_and_can_be_discarded(
    ada, var, other_researcher, tmp_path
):
    page = send(ada, write(tmp_path, "glue-rte", {}))
    upload = page.context["upload"]
    other = Client()
    other.force_login(other_researcher)
    for name in ("gym_tasks", "gym_run"):
        assert other.post(reverse(name, args=[upload.pk])).status_code == 404
    ada.post(reverse("task_upload_discard", args=[upload.pk]))
    assert not TaskUpload.objects.exists()
    assert not stored_folders(var)


def test_an_upload_that_is_too_large_is_refused(ada, tmp_path, monkeypatch):
    monkeypatch.setattr(uploads, "MAX_BYTES", 20)
    page = send(ada, write(tmp_path, "glue-rte", {}))
    assert "larger than" in text(page)
    assert not TaskUpload.objects.exists()
