"""Models and their predictions, in the terminal and on pages."""

import csv
import io

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from tasks.models import LanguageModel, Prediction, PredictionFile, Task
from tasks.predictions.store import add
from tests import factories
from tests.tasks.predictions import line, send, upload


@pytest.fixture
def task(db) -> Task:
    return factories.make_task(splits=5, test_size=6)


# The command -------------------------------------------------------------------------------------


def test_the_command_imports_a_folder(researcher, task, tmp_path, capsys):
    for number in (1, 2):
        (tmp_path / f"{task.name}_2_{number}.jsonl").write_bytes(factories.prediction_lines(task))
    (tmp_path / "README.md").write_text("how they were made")
    call_command("import_predictions", "toy", str(tmp_path), "--parameters", "7")
    assert [file.split_number for file in PredictionFile.objects.all()] == [1, 2]
    assert (LanguageModel.objects.get().parameters, LanguageModel.objects.get().uploaded_by) == (
        7,
        researcher,
    )
    assert "S1 100.00 over 6 examples" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("notes.txt", "", "notes.txt: unknown file name"),
        ("nothing_2_1.jsonl", "", "unknown task nothing; imported: toy-places"),
        ("toy-places@9_2_1.jsonl", "", "unknown task toy-places v9"),
        ("toy-places_2_1.jsonl", "{", "toy-places_2_1.jsonl, line 1: not valid JSON"),
    ],
)
def test_the_command_refuses_invalid_files_with_a_reason(
    researcher, task, tmp_path, name, text, reason
):
    (tmp_path / name).write_text(text)
    with pytest.raises(CommandError, match=reason):
        call_command("import_predictions", "toy", str(tmp_path))
    assert not LanguageModel.objects.exists()


def test_the_command_needs_files_and_a_researcher(researcher, other_researcher, task, tmp_path):
    with pytest.raises(CommandError, match="--by USERNAME"):
        call_command("import_predictions", "toy", str(tmp_path))
    with pytest.raises(CommandError, match="No prediction file"):
        call_command("import_predictions", "toy", str(tmp_path), "--by", "ada")
    with pytest.raises(CommandError, match="is not a folder"):
        call_command("import_predictions", "toy", str(tmp_path / "none"), "--by", "ada")


# The pages ---------------------------------------------------------------------------------------


def test_several_files_are_assigned_by_their_names(ada, task):
    data = factories.prediction_lines(task)
    reply = send(ada, (f"{task.name}_2_1.jsonl", data), (f"{task.name}_4_2.jsonl", data))
    assert (reply.status_code, reply.url) == (302, reverse("model", args=["toy"]))
    places = PredictionFile.objects.values_list("shots", "split_number")
    assert sorted(places) == [(2, 1), (4, 2)]
    page = ada.get(reply.url).content.decode()
    assert "2 files stored." in page
    assert "1 of 5" in page
    assert "toy" in ada.get(reverse("models")).content.decode()


@pytest.mark.long
def test_models_and_files_are_listed_in_order(ada, researcher, task):
    for name, shots, number in (("b", 4, 1), ("a", 4, 2), ("a", 2, 5), ("a", 4, 1), ("a", 0, None)):
        factories.predict(researcher, name, task, shots, number)
    shown = ada.get(reverse("models")).context["listing"].page
    assert [(model.name, model.file_count, model.task_count) for model in shown] == [
        ("a", 4, 1),
        ("b", 1, 1),
    ]
    files = ada.get(reverse("model", args=["a"])).context["files"]
    places = [(file.shots, file.split_number) for file, _s1 in files]
    assert places == [(0, None), (2, 5), (4, 1), (4, 2)]


def test_one_file_is_assigned_by_the_fields(ada, task):
    place = {"task": task.pk, "shots": 2, "split_number": 3, "title": "A toy"}
    reply = send(ada, ("out.jsonl", factories.prediction_lines(task)), **place)
    assert reply.status_code == 302
    file = PredictionFile.objects.get()
    assert (file.filename, file.task, file.shots, file.split_number) == (
        "out.jsonl", task, 2, 3,
    )  # fmt: skip
    assert file.model.title == "A toy"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "out.jsonl: unknown file name; expected TASK_SHOTS_SPLIT.jsonl"),
        ({"shots": 2}, "Choose a task as well"),
        ({"task": True}, "Enter the number of shots"),
        ({"task": True, "shots": 2}, "Enter the number of the training split"),
        ({"task": True, "shots": 0, "split_number": 1}, "zero shots have no training split"),
        ({"task": True, "shots": 2, "split_number": 6}, "its numbers are 1, 2, 3, 4, 5"),
        ({"task": True, "shots": 2, "split_number": 1, "name": "a/b"}, "Use letters, digits, dots"),
        ({"task": True, "shots": 2, "split_number": 1, "link": "ftp://x.org"}, "Enter a valid URL"),
        ({"files": []}, "This field is required"),
    ],
)
def test_an_invalid_form_is_refused_and_stores_nothing(ada, task, fields, reason):
    if fields.get("task"):
        fields = fields | {"task": task.pk}
    reply = send(ada, ("out.jsonl", factories.prediction_lines(task)), **fields)
    assert reply.status_code == 422
    assert reason in reply.content.decode()
    assert not LanguageModel.objects.exists()


def test_an_empty_file_is_refused_by_its_name(ada, task):
    right = (f"{task.name}_2_1.jsonl", factories.prediction_lines(task))
    page = send(ada, right, (f"{task.name}_2_2.jsonl", b"")).content.decode()
    assert f"{task.name}_2_2.jsonl, field id: 6 of the 6 test examples have no prediction" in page
    assert not LanguageModel.objects.exists()


def test_an_error_names_the_line_and_escapes_the_quoted_text(ada, task):
    bad = line("<img src=x>").encode()
    reply = send(ada, (f"{task.name}_2_1.jsonl", bad), (f"{task.name}_2_2.jsonl", b"\xff"))
    page = reply.content.decode()
    assert "toy-places_2_1.jsonl, line 1, field id" in page
    assert "toy-places_2_2.jsonl, line 1: not valid UTF-8" in page
    assert "<img src=x>" not in page


@pytest.mark.long
def test_a_file_is_deleted_by_post_and_can_then_be_replaced(ada, researcher, task):
    file = factories.predict(researcher, "toy", task, 2, 1)
    address = reverse("prediction_file_delete", args=["toy", file.pk])
    assert ada.get(address).url == reverse("model", args=["toy"])
    data = factories.prediction_lines(task, lambda _example: [])
    assert send(ada, (f"{task.name}_2_1.jsonl", data)).status_code == 422
    assert ada.post(reverse("model_delete", args=["toy"])).status_code == 302
    assert PredictionFile.objects.count() == 1
    assert ada.post(address).status_code == 302
    assert not Prediction.objects.exists()
    assert send(ada, (f"{task.name}_2_1.jsonl", data)).status_code == 302


def test_a_model_without_files_can_be_deleted(ada, researcher, task):
    factories.predict(researcher, "toy", task, 2, 1).delete()
    assert "Delete this model" in ada.get(reverse("model", args=["toy"])).content.decode()
    assert ada.post(reverse("model_delete", args=["toy"])).url == reverse("models")
    assert not LanguageModel.objects.exists()


def test_other_researchers_can_view_but_not_change_a_model(
    client, researcher, other_researcher, task
):
    file = factories.predict(researcher, "toy", task, 2, 1)
    client.force_login(other_researcher)
    page = client.get(reverse("model", args=["toy"])).content.decode()
    assert file.filename in page
    assert "Delete" not in page
    for name, args in (("prediction_file_delete", [file.pk]), ("model_delete", [])):
        assert client.post(reverse(name, args=["toy", *args])).status_code == 404
    data = factories.prediction_lines(task)
    assert "another researcher" in send(client, (f"{task.name}_2_2.jsonl", data)).content.decode()
    assert PredictionFile.objects.count() == 1


def test_anonymous_visitors_are_sent_to_sign_in(client, researcher, task):
    factories.predict(researcher, "toy", task, 2, 1)
    for name, args in (
        ("models", []), ("models_file", []), ("model", ["toy"]), ("model_file", ["toy"]),
    ):  # fmt: skip
        reply = client.get(reverse(name, args=args))
        assert reply.status_code == 302
        assert reply["Location"].startswith(reverse("login"))
    reply = client.post(reverse("models"), {"name": "x"})
    assert (reply.status_code, "Sign in" in reply.content.decode()) == (401, True)


def test_texts_that_describe_a_model_are_escaped(ada, researcher, task):
    title = "<script>alert(1)</script>"
    add("toy", [upload(task, name="<b>.jsonl")], researcher, title=title)
    for name, args in (("models", []), ("model", ["toy"])):
        page = ada.get(reverse(name, args=args)).content.decode()
        assert "&lt;script&gt;" in page
        assert "<script>alert" not in page
        assert "<b>.jsonl" not in page


def test_scores_can_be_had_as_csv_with_all_digits(ada, researcher, task):
    for number in (1, 2):
        factories.predict(researcher, "toy", task, 2, number, lambda e, n=number: e.gold[:n])
    for name, args in (("models_file", []), ("model_file", ["toy"])):
        text = ada.get(reverse(name, args=args)).content.decode()
        (row,) = csv.DictReader(io.StringIO(text, newline=""))
        assert (row["model"], row["task"], row["shots"]) == ("toy", "toy-places", "2")
        # The two means are 8/9 and 1.
        assert float(row["mean"]) == pytest.approx(17 / 18)
        assert float(row["sd_ddof0"]) == pytest.approx(1 / 18)
        assert (row["n"], row["of"]) == ("2", "5")
        assert row["recipe"] == "s1|match:exact|empty:1|gold:set|mean:examples|sd:splits|ddof:1|v:1"


def test_an_unknown_model_is_not_found(ada, db):
    for name in ("model", "model_file"):
        assert ada.get(reverse(name, args=["unknown"])).status_code == 404
