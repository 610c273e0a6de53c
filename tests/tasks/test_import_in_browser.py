"""Import in the browser: real tasks come in as from the terminal, and nothing else comes in."""

import io
import json
import os
import re
import time
import zipfile
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tasks import jobs, upload_jobs, uploads
from tasks.models import Example, Job, Task, TaskUpload
from tests.tasks.test_importing import BAD, BAD_CARDS, card_text, line

GOOD = {
    "task.toml": card_text(),
    "toy_test.jsonl": line(),
    "toy_train_1_1.jsonl": line(id="t", context="We left Lima.", answer=["Lima"]),
}


@pytest.fixture(autouse=True)
def var(settings, tmp_path) -> Path:
    settings.VAR_DIR = tmp_path / "var"
    return settings.VAR_DIR


def files(contents: dict[str, str | bytes]) -> list[SimpleUploadedFile]:
    return [
        SimpleUploadedFile(name, text.encode() if isinstance(text, str) else text)
        for name, text in contents.items()
    ]


def published(clues, folder: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((clues / folder).iterdir())}


def zipped(contents: dict[str, str | bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in contents.items():
            archive.writestr(name, text)
    return made.getvalue()


def send(client, contents, card: str = "", address: str = ""):
    fields = {"card": card, "files": files(contents)}
    return client.post(address or reverse("task_import"), fields, follow=True)


def settle(client, page):
    """Press "Continue" until the page waits for nothing."""
    for _ in range(100):
        if page.context is None or page.context.get("job") is None:
            return page
        upload = page.context["upload"]
        page = client.post(reverse("task_upload_run", args=[upload.pk]), follow=True)
    raise AssertionError("the job does not end")


def act(client, page, name: str, **fields):
    address = reverse(f"task_upload_{name}", args=[page.context["upload"].pk])
    return client.post(address, fields, follow=True)


def text(page) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.content.decode()))


def stored_folders(var: Path) -> list[str]:
    return [path.name for path in (var / "uploads").iterdir()]


# The real thing ----------------------------------------------------------------------------------


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "folder"), [("MNLI", "MNLI"), ("CoNLL03", "CoNLL2003")])
@pytest.mark.parametrize("as_zip", [False, True])
def test_a_task_of_clues_comes_in_as_from_the_terminal(ada, clues, var, name, folder, as_zip):
    contents = published(clues, folder)
    if as_zip:
        inner = {f"CLUES/{folder}/{key}": value for key, value in contents.items()}
        contents = {f"{folder}.zip": zipped({"__MACOSX/._x": b"", "README.md": "", **inner})}
    page = settle(ada, send(ada, contents, name))
    said = text(page)
    assert "Data report" in said
    assert "Nothing is stored yet" in said
    assert len(page.context["shown"]) == 10
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
    assert [one.content_hash for one in Task.objects.all()] == [before]


@pytest.mark.real_data
def test_training_files_are_renumbered_if_asked_for(ada, clues):
    page = settle(ada, send(ada, published(clues, "ReCoRD"), "ReCoRD"))
    assert page.context["may_rechain"]
    act(ada, page, "confirm", rechain="1")
    task = Task.objects.get()
    assert task.rechained
    call_command("import_clues", str(clues), "--task", "ReCoRD", "--rechain", verbosity=0)
    assert Task.objects.get() == task


@pytest.mark.real_data
def test_the_wrong_card_is_recognised_by_the_file_names(ada, clues):
    page = settle(ada, send(ada, published(clues, "SST-2"), "MNLI"))
    assert "the card of MNLI expects files named mnli_..." in text(page)
    page = settle(ada, act(ada, page, "files", card="SST-2"))
    assert "Import SST-2" in text(page)


# Own tasks ---------------------------------------------------------------------------------------


def test_an_own_task_comes_in_with_its_card(ada):
    page = settle(ada, send(ada, GOOD))
    act(ada, page, "confirm")
    task = Task.objects.get()
    assert (task.name, task.training_sizes) == ("toy-places", [1])
    assert task.test_split.examples.get().gold == ["Oslo"]


def test_without_htmx_and_with_it_the_same_happens(ada):
    fields = {"card": "", "files": files(GOOD)}
    reply = ada.post(reverse("task_import"), fields, headers={"HX-Request": "true"})
    assert reply["HX-Redirect"] == reverse("task_upload", args=[TaskUpload.objects.get().pk])


def test_an_upload_says_what_it_will_change(ada):
    act(ada, settle(ada, send(ada, GOOD)), "confirm")
    page = settle(ada, send(ada, GOOD))
    assert "This content is already stored as toy-places v1" in text(page)
    page = act(ada, page, "confirm")
    assert "already existed" in text(page)
    page = settle(ada, send(ada, GOOD | {"toy_test.jsonl": line(question="Where?")}))
    assert "this will be version 2 beside it" in text(page)
    act(ada, page, "confirm")
    assert Task.objects.count() == 2


def test_get_stores_nothing_and_confirms_nothing(ada):
    page = settle(ada, send(ada, GOOD))
    upload = page.context["upload"]
    for name in ("files", "run", "confirm", "discard"):
        reply = ada.get(reverse(f"task_upload_{name}", args=[upload.pk]))
        assert reply["Location"] == reverse("task_upload", args=[upload.pk])
    before = list(Job.objects.values()), list(TaskUpload.objects.values())
    ada.get(reverse("task_upload", args=[upload.pk]))
    ada.get(reverse("task_import"))
    assert before == (list(Job.objects.values()), list(TaskUpload.objects.values()))
    assert not Task.objects.exists()


def test_an_upload_can_be_left_and_found_again_or_discarded(ada, var):
    page = settle(ada, send(ada, GOOD))
    upload = page.context["upload"]
    assert (
        reverse("task_upload", args=[upload.pk]) in ada.get(reverse("task_import")).content.decode()
    )
    page = act(ada, page, "discard")
    assert "discarded" in text(page)
    assert stored_folders(var) == []
    assert not TaskUpload.objects.exists()
    assert not Job.objects.exists()
    assert ada.get(reverse("task_upload", args=[upload.pk])).status_code == 404


def test_an_upload_is_nobody_elses(ada, other_researcher):
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
    assert "Unfinished imports" not in other.get(reverse("task_import")).content.decode()
    assert TaskUpload.objects.exists()


def test_an_upload_is_gone_after_a_day(ada, var):
    upload = settle(ada, send(ada, GOOD)).context["upload"]
    TaskUpload.objects.update(created_at=timezone.now() - timedelta(hours=25))
    for name, hours in (("of-nobody", 2), ("of-nobody-yet", 0)):
        (var / "uploads" / name).mkdir()
        os.utime(var / "uploads" / name, (time.time() - hours * 3600,) * 2)
    call_command("run_jobs")
    assert not TaskUpload.objects.filter(pk=upload.pk).exists()
    assert not Job.objects.exists()
    assert stored_folders(var) == ["of-nobody-yet"]


def test_what_is_large_is_read_part_by_part(ada, monkeypatch):
    monkeypatch.setattr(upload_jobs, "SMALL", 0)
    monkeypatch.setattr(jobs, "POLL", 0)
    page = send(ada, GOOD)
    assert "0 of 4 parts done" in text(page)
    page = act(ada, page, "run")
    assert "1 of 4 parts done" in text(page)
    page = settle(ada, page)
    page = act(ada, page, "confirm")
    assert "Storing the task" in text(page)
    assert ">Remove<" not in page.content.decode()
    assert not Task.objects.exists()
    page = act(ada, page, "files", remove="toy_test.jsonl")
    assert "can no longer be changed" in text(page)
    act(ada, page, "run")
    assert Task.objects.exists()
    assert not TaskUpload.objects.exists()


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


def test_examples_are_shown_as_annotators_will_see_them_and_nothing_is_stored(ada):
    page = settle(ada, send(ada, GOOD))
    training = preview(ada, page, 1)
    assert training.templates[0].name == "worker/work.html"
    said = text(training)
    assert "Preview: nothing that you do here is stored." in said
    assert "Highlight the places, then submit." in said
    assert "Lima" in said
    reveal = preview(ada, page, 1, turn="x", typed="Lima")
    assert reveal.context["turn"].reveal.s1_percent == "100.0"
    annotation = preview(ada, page, 2, turn="x", no_answer="1")
    assert annotation.url == reverse("task_upload", args=[page.context["upload"].pk])
    assert preview(ada, page, 2, turn="x", typed="Atlantis").status_code == 422
    for number in (0, 3, 99):
        assert preview(ada, page, number).status_code == 404
    assert not Task.objects.exists()


@pytest.mark.real_data
def test_the_ten_examples_are_from_all_over_the_files(ada, clues):
    page = settle(ada, send(ada, published(clues, "MNLI"), "MNLI"))
    shown = page.context["shown"]
    assert [one["file"] for one in shown] == ["mnli_train_10_1.jsonl"] * 5 + ["mnli_test.jsonl"] * 5
    assert len({(one["file"], one["id"]) for one in shown}) == 10
    for number in range(1, 11):
        assert preview(ada, page, number).status_code == 200


def test_before_everything_is_right_there_is_nothing_to_preview(ada):
    page = settle(ada, send(ada, GOOD | {"toy_test.jsonl": "{\n"}))
    assert preview(ada, page, 1).status_code == 404


# Bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [case for case in BAD if case != "too long a line"])
def test_a_bad_file_is_named_with_its_place_and_the_others_are_kept(ada, case):
    content, sentence = BAD[case]
    page = settle(ada, send(ada, GOOD | {"toy_test.jsonl": content}))
    said = page.context["problems"]
    assert len(said) == 1
    assert said[0].startswith("toy_test.jsonl")
    assert sentence in said[0]
    assert "Data report" not in text(page)
    act(ada, page, "confirm")
    assert not Task.objects.exists()
    page = settle(ada, act_files(ada, page, {"toy_test.jsonl": line()}))
    assert page.context["problems"] == []
    act(ada, page, "confirm")
    assert Task.objects.exists()


def act_files(client, page, contents, card: str = ""):
    address = reverse("task_upload_files", args=[page.context["upload"].pk])
    return send(client, contents, card, address)


def test_every_bad_file_is_named_at_once(ada):
    page = settle(ada, send(ada, GOOD | {"toy_test.jsonl": "{\n", "toy_train_1_1.jsonl": "[]\n"}))
    assert len(page.context["problems"]) == 2


@pytest.mark.parametrize("case", BAD_CARDS)
def test_a_bad_card_is_named_by_its_key_and_the_files_are_kept(ada, case):
    card, sentence = BAD_CARDS[case]
    page = settle(ada, send(ada, GOOD | {"task.toml": card}))
    (said,) = page.context["problems"]
    assert said.startswith("task.toml")
    assert sentence in said
    page = settle(ada, act_files(ada, page, {"task.toml": card_text()}))
    assert "Data report" in text(page)


def test_a_missing_card_two_cards_no_test_file_and_two_tasks_are_reported(ada):
    bare = {"toy_test.jsonl": line()}
    page = send(ada, bare)
    assert "choose a card of CLUES, or add your own card" in text(page)
    assert "you chose the card of MNLI as well" in text(send(ada, GOOD, "MNLI"))
    train = {name: text for name, text in GOOD.items() if "test" not in name}
    page = settle(ada, send(ada, train))
    assert page.context["problems"] == ["no test file; expected <task>_test.jsonl"]
    page = settle(ada, send(ada, GOOD | {"other_test.jsonl": line()}))
    assert "two tasks in one folder" in text(page)
    page = settle(ada, act(ada, page, "files", remove="other_test.jsonl"))
    assert "Data report" in text(page)


def test_a_file_that_is_no_part_of_a_task_is_named_and_the_others_taken(ada):
    page = settle(ada, send(ada, GOOD | {"notes.txt": "x", "README.md": "x"}))
    (said,) = page.context["not_taken"]
    assert said.startswith("notes.txt: not accepted: unknown file name")
    assert [one["file"] for one in page.context["files"]] == sorted(GOOD)
    assert "Data report" in text(page)


@pytest.mark.parametrize(
    ("contents", "sentence"),
    [
        ({}, "Choose the files of a task first."),
        ({"notes.txt": "x"}, "notes.txt: not accepted: unknown file name"),
        ({"README.md": "x"}, "None of these files is part of a task."),
        ({"broken.zip": b"PK"}, "broken.zip: cannot be unpacked"),
    ],
)
def test_an_upload_of_nothing_useful_is_refused_and_leaves_nothing(ada, var, contents, sentence):
    reply = send(ada, contents)
    assert reply.status_code == 422
    assert sentence in text(reply)
    assert not TaskUpload.objects.exists()
    assert not (var / "uploads").exists() or stored_folders(var) == []


def test_an_unknown_card_is_refused(ada):
    assert send(ada, GOOD, "../../etc/passwd").status_code == 422
    assert not TaskUpload.objects.exists()
    page = settle(ada, send(ada, GOOD))
    assert act(ada, page, "files", card="nobody").status_code == 422
    assert act(ada, page, "files", card="").status_code == 422


@pytest.mark.parametrize(
    "name",
    [
        "../toy_test.jsonl", "/tmp/toy_test.jsonl", "a/../../toy_test.jsonl", "..\\toy_test.jsonl",
        "C:/toy_test.jsonl", "C:toy_test.jsonl",
    ],
)  # fmt: skip
def test_a_path_in_a_zip_that_leads_elsewhere_keeps_the_whole_zip_out(ada, var, tmp_path, name):
    reply = send(ada, {"task.zip": zipped(GOOD | {name: line()})})
    assert reply.status_code == 422
    assert "is a path that leads elsewhere" in text(reply)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_of_a_zip_the_names_alone_are_used(ada, tmp_path):
    page = settle(ada, send(ada, {"a.zip": zipped({f"x/y/{k}": v for k, v in GOOD.items()})}))
    assert [one["file"] for one in page.context["files"]] == sorted(GOOD)
    outside = [p for p in tmp_path.rglob("*.jsonl") if p.parent.parent.name != "uploads"]
    assert outside == []


def test_two_files_of_one_name_are_reported(ada):
    page = send(ada, {"a.zip": zipped(GOOD | {"other/toy_test.jsonl": line()})})
    assert "toy_test.jsonl: there are two files of this name" in text(page)


@pytest.fixture
def small_limit(monkeypatch):
    monkeypatch.setattr(uploads, "MAX_BYTES", 100_000)


def test_a_zip_that_would_unpack_to_too_much_is_refused(ada, var, small_limit):
    """A bomb: a few hundred bytes that say what they become."""
    bomb = zipped({"toy_test.jsonl": b" " * 200_000})
    assert len(bomb) < 1000
    reply = send(ada, {"bomb.zip": bomb})
    assert reply.status_code == 422
    assert "its contents are larger than the limit" in text(reply)
    assert stored_folders(var) == []


def test_a_zip_that_lies_about_its_size_is_refused(ada, var, small_limit):
    bomb = bytearray(zipped({"toy_test.jsonl": b" " * 200_000}))
    told = (200_000).to_bytes(4, "little")
    while told in bomb:
        at = bomb.index(told)
        bomb[at : at + 4] = (100).to_bytes(4, "little")
    reply = send(ada, {"bomb.zip": bytes(bomb)})
    assert reply.status_code == 422
    assert "toy_test.jsonl: cannot be unpacked" in text(reply)
    assert stored_folders(var) == []


def test_a_zip_of_very_many_files_is_refused_unopened(ada, monkeypatch):
    monkeypatch.setattr(uploads, "DIRECTORY", 10_000)
    many = zipped({f"notes-{number}.txt": "" for number in range(300)})
    assert "it contains too many files" in text(send(ada, {"many.zip": many}))


def test_a_zip_with_a_password_is_refused(ada):
    secret = bytearray(zipped({"toy_test.jsonl": line()}))
    for signature, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        secret[secret.index(signature) + at] |= 1
    assert "is encrypted" in text(send(ada, {"secret.zip": bytes(secret)}))


def test_a_damaged_zip_is_refused(ada):
    damaged = bytearray(zipped({"toy_test.jsonl": line() * 50}))
    damaged[60] ^= 0xFF
    assert "cannot be unpacked" in text(send(ada, {"damaged.zip": bytes(damaged)}))


def test_files_that_are_too_large_together_are_refused_one_by_one(ada, small_limit):
    long = line(context="We saw Oslo. " + "x" * 60_000)
    page = send(ada, GOOD | {"toy_test.jsonl": long, "toy_train_1_1.jsonl": long})
    (said,) = page.context["not_taken"]
    assert said.startswith("toy_train_1_1.jsonl: not accepted.")
    assert "200 MB in total" in said
    # The same file again takes the place of itself, and fits.
    page = settle(ada, act_files(ada, page, {"toy_test.jsonl": long}))
    assert page.context["not_taken"] == []


def test_more_than_100_files_at_once_are_refused_in_words(ada):
    ada.raise_request_exception = False
    reply = send(ada, {f"toy_train_1_{number}.jsonl": line() for number in range(1, 102)})
    assert reply.status_code == 400
    assert "at most 100 at once" in text(reply)


def test_names_and_errors_are_escaped(ada):
    record = json.loads(line())
    evil = json.dumps(record | {"<b>x</b>": 1}) + "\n"
    page = settle(ada, send(ada, GOOD | {"toy_test.jsonl": evil, "<b>.txt": "x"}))
    assert "<b>" not in page.content.decode()


# Ways in -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["studies", "tasks", "study_new"])
def test_the_empty_pages_lead_to_the_import(ada, name):
    assert f'href="{reverse("task_import")}"' in ada.get(reverse(name)).content.decode()


def test_the_import_is_for_researchers(client, db):
    reply = client.get(reverse("task_import"))
    assert reply.status_code == 302
    assert client.post(reverse("task_import")).status_code == 302


def test_sweeping_up_leaves_files_that_arrive_at_that_moment(researcher):
    (Path(settings.VAR_DIR) / "uploads").mkdir(parents=True)
    came = []

    def somebody_comes(execute, sql, *arguments):
        """Right after the uploads that there are were looked up."""
        found = execute(sql, *arguments)
        if TaskUpload._meta.db_table in sql and "WHERE" not in sql and not came:
            came.append(TaskUpload(owner=researcher))
            came[0].save()
            uploads.folder_of(came[0]).mkdir()
        return found

    with connection.execute_wrapper(somebody_comes):
        uploads.drop_old()
    assert uploads.folder_of(came[0]).is_dir()
