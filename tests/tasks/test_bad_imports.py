"""Import in the browser: each error is named with its place, and nothing faulty is kept."""

import json
from pathlib import Path

import pytest

from tasks import uploads
from tasks.models import Task, TaskUpload
from tests.tasks.browser_import import (
    GOOD,
    act,
    act_files,
    send,
    settle,
    stored_folders,
    text,
    zipped,
)
from tests.tasks.test_importing import BAD, BAD_CARDS, card_text, line


@pytest.fixture(autouse=True)
def var(settings, tmp_path) -> Path:
    settings.VAR_DIR = tmp_path / "var"
    return settings.VAR_DIR


@pytest.mark.long
@pytest.mark.parametrize("case", [case for case in BAD if case != "too long a line"])
def test_a_bad_file_is_named_with_its_place_and_can_be_replaced(ada, case):
    content, sentence = BAD[case]
    page = settle(ada, send(ada, GOOD | {"toy_test.jsonl": content}))
    problems = page.context["problems"]
    assert len(problems) == 1
    assert problems[0].startswith("toy_test.jsonl")
    assert sentence in problems[0]
    assert "Data report" not in text(page)
    act(ada, page, "confirm")
    assert not Task.objects.exists()
    page = settle(ada, act_files(ada, page, {"toy_test.jsonl": line()}))
    assert page.context["problems"] == []
    act(ada, page, "confirm")
    assert Task.objects.exists()


@pytest.mark.long
def test_every_bad_file_is_reported_together(ada):
    page = settle(ada, send(ada, GOOD | {"toy_test.jsonl": "{\n", "toy_train_1_1.jsonl": "[]\n"}))
    assert len(page.context["problems"]) == 2


@pytest.mark.long
@pytest.mark.parametrize("case", BAD_CARDS)
def test_a_bad_card_is_named_by_its_key_and_can_be_replaced(ada, case):
    card, sentence = BAD_CARDS[case]
    page = settle(ada, send(ada, GOOD | {"task.toml": card}))
    (problem,) = page.context["problems"]
    assert problem.startswith("task.toml")
    assert sentence in problem
    page = settle(ada, act_files(ada, page, {"task.toml": card_text()}))
    assert "Data report" in text(page)


@pytest.mark.long
def test_missing_or_conflicting_cards_and_files_are_reported(ada):
    bare = {name: text for name, text in GOOD.items() if name != "task.toml"}
    page = send(ada, bare)
    assert "choose a CLUES card, or add your own card" in text(page)
    assert "you also chose the MNLI card" in text(send(ada, GOOD, "MNLI"))
    train = {name: text for name, text in GOOD.items() if "test" not in name}
    page = settle(ada, send(ada, train))
    assert page.context["problems"] == ["no test file; expected <task>_test.jsonl"]
    page = settle(ada, send(ada, GOOD | {"other_test.jsonl": line()}))
    assert "two tasks in one folder" in text(page)
    page = settle(ada, act(ada, page, "files", remove="other_test.jsonl"))
    assert "Data report" in text(page)


@pytest.mark.long
def test_an_unknown_file_is_named_and_the_others_are_taken(ada):
    page = settle(ada, send(ada, GOOD | {"notes.txt": "x", "README.md": "x"}))
    (refusal,) = page.context["not_taken"]
    assert refusal.startswith("notes.txt: not accepted: unknown file name")
    assert refusal.endswith("For a single CSV, XLSX or JSONL file, use Add a task.")
    assert [file["file"] for file in page.context["files"]] == sorted(GOOD)
    assert "Data report" in text(page)


@pytest.mark.parametrize(
    ("contents", "sentence"),
    [
        ({}, "Found no files. Expected one labelled dataset, or files named"),
        ({"notes.txt": "x", "b.csv": "a"}, "Found notes.txt, b.csv. Expected one labelled dataset"),
        ({f"{n}.txt": "x" for n in range(12)}, "8.txt, 9.txt and 2 more. Expected one labelled"),
        ({"README.md": "x"}, "Found no files. Expected"),
        ({"broken.zip": b"PK"}, "broken.zip: cannot be unpacked"),
    ],
)
def test_a_useless_upload_is_refused_and_leaves_nothing(ada, var, contents, sentence):
    reply = send(ada, contents)
    assert reply.status_code == 422
    assert sentence in text(reply)
    assert not TaskUpload.objects.exists()
    assert not (var / "uploads").exists() or stored_folders(var) == []


@pytest.mark.long
def test_an_unknown_card_is_refused(ada):
    assert send(ada, GOOD, "../../etc/passwd").status_code == 422
    assert not TaskUpload.objects.exists()
    page = settle(ada, send(ada, GOOD))
    assert act(ada, page, "files", card="unknown").status_code == 422
    assert act(ada, page, "files", card="").status_code == 422


@pytest.mark.parametrize(
    "name",
    [
        "../toy_test.jsonl", "/tmp/toy_test.jsonl", "a/../../toy_test.jsonl", "..\\toy_test.jsonl",
        "C:/toy_test.jsonl", "C:toy_test.jsonl",
    ],
)  # fmt: skip
def test_a_zip_with_a_path_outside_is_refused_as_a_whole(ada, var, tmp_path, name):
    reply = send(ada, {"task.zip": zipped(GOOD | {name: line()})})
    assert reply.status_code == 422
    assert "points outside the archive" in text(reply)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.long
def test_only_the_file_names_in_a_zip_are_used(ada, tmp_path):
    page = settle(ada, send(ada, {"a.zip": zipped({f"x/y/{k}": v for k, v in GOOD.items()})}))
    assert [file["file"] for file in page.context["files"]] == sorted(GOOD)
    outside = [p for p in tmp_path.rglob("*.jsonl") if p.parent.parent.name != "uploads"]
    assert outside == []


def test_two_files_of_one_name_are_reported(ada):
    page = send(ada, {"a.zip": zipped(GOOD | {"other/toy_test.jsonl": line()})})
    assert "toy_test.jsonl: two files have this name" in text(page)


@pytest.fixture
def small_limit(monkeypatch):
    monkeypatch.setattr(uploads, "MAX_BYTES", 100_000)


def test_a_zip_that_would_unpack_to_too_much_is_refused(ada, var, small_limit):
    """This zip of under 1,000 bytes honestly declares the size of its contents."""
    bomb = zipped({"toy_test.jsonl": b" " * 200_000})
    assert len(bomb) < 1000
    reply = send(ada, {"bomb.zip": bomb})
    assert reply.status_code == 422
    assert "its contents are larger than the limit" in text(reply)
    assert stored_folders(var) == []


def test_a_zip_with_a_false_size_is_refused(ada, var, small_limit):
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


@pytest.mark.long
def test_files_beyond_the_total_limit_are_refused_singly(ada, small_limit):
    long = line(context="We saw Oslo. " + "x" * 60_000)
    page = send(ada, GOOD | {"toy_test.jsonl": long, "toy_train_1_1.jsonl": long})
    (refusal,) = page.context["not_taken"]
    assert refusal.startswith("toy_train_1_1.jsonl: not accepted.")
    assert "200 MB in total" in refusal
    # The same file replaces its earlier version, so it fits.
    page = settle(ada, act_files(ada, page, {"toy_test.jsonl": long}))
    assert page.context["not_taken"] == []


def test_more_than_100_files_are_refused_with_a_message(ada):
    ada.raise_request_exception = False
    page = send(ada, GOOD)
    many = {f"toy_train_1_{number}.jsonl": line() for number in range(1, 102)}
    reply = act_files(ada, page, many)
    assert reply.status_code == 400
    assert "put them in one ZIP file" in text(reply)


@pytest.mark.long
def test_names_and_errors_are_escaped(ada):
    record = json.loads(line())
    evil = json.dumps(record | {"<b>x</b>": 1}) + "\n"
    page = settle(ada, send(ada, GOOD | {"toy_test.jsonl": evil, "<b>.txt": "x"}))
    assert "<b>" not in page.content.decode()


def test_all_mistakes_of_all_files_are_reported_together(ada):
    bad = line() + "no JSON\n" + line(id="2", answer="Lima") + line(id="3", context=7)
    sent = GOOD | {"toy_test.jsonl": bad, "toy_train_1_1.jsonl": line(id="t", colour="red")}
    problems = settle(ada, send(ada, sent)).context["problems"]
    assert [problem.partition(":")[0] for problem in problems] == [
        "toy_test.jsonl, line 2",
        "toy_test.jsonl, line 3, field answer",
        "toy_test.jsonl, line 4, field context",
        "toy_train_1_1.jsonl, line 1, field colour",
    ]


@pytest.mark.long
def test_a_wrong_card_does_not_hide_other_problems(ada):
    """Two keys are wrong, one is misspelt, and a line of a file isn't JSON."""
    card = card_text(title=" ", family="parsing", source=None, sourc="here")
    page = settle(ada, send(ada, GOOD | {"task.toml": card, "toy_test.jsonl": "no JSON\n"}))
    problems = page.context["problems"]
    assert any("unknown key sourc; did you mean source?" in problem for problem in problems)
    assert not any("missing key source" in problem for problem in problems)
    assert any("key title: expected a non-empty text" in problem for problem in problems)
    assert any("key family: expected one of" in problem for problem in problems)
    assert any(problem.startswith("toy_test.jsonl, line 1") for problem in problems)
    assert f"{len(problems)} errors" in text(page)
    assert not Task.objects.exists()


def test_twenty_bad_lines_of_a_file_are_named(ada):
    problems = settle(ada, send(ada, GOOD | {"toy_test.jsonl": "no JSON\n" * 50})).context[
        "problems"
    ]
    assert len(problems) == 20
