"""Predictions of models: reading, all-or-nothing storing, scoring, and the pages that do it."""

import csv
import io
import itertools
import json
from html import unescape

import pytest
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.urls import reverse

from tasks.formats import FormatError
from tasks.metrics import s1
from tasks.models import LanguageModel, Prediction, PredictionFile, Task
from tasks.predictions.format import Place, parse, place_of
from tasks.predictions.store import PredictionsError, PredictionUpload, add
from tests import factories

IDS = ["a", "b"]


def line(identity="a", predicted=(), **changes) -> str:
    return json.dumps({"id": identity, "predicted": list(predicted), **changes}) + "\n"


def read(text: str | bytes, ids=IDS) -> dict[str, list[str]]:
    data = text if isinstance(text, bytes) else text.encode()
    return {key: one.texts for key, one in parse(data, "toy_2_1.jsonl", ids).items()}


# Reading -----------------------------------------------------------------------------------------


def test_texts_are_read_as_they_were_written():
    found = read(line("b", [" Oslo ", "Oslo", "e\u0301 <b>"]) + "\n" + line("a", ["x"]))
    assert found == {"a": ["x"], "b": [" Oslo ", "Oslo", "e\u0301 <b>"]}


def test_every_spelling_of_no_answer_is_the_empty_set():
    assert read(line("a", []) + line("b", [""])) == {"a": [], "b": []}


def test_ids_may_be_numbers_as_in_the_published_files():
    assert read(line(7, ["x"]), ["7"]) == {"7": ["x"]}


BAD = {
    "unknown id": (line("c"), "line 1, field id: 'c' is not the id of a test example"),
    "id twice": (line() + line("b") + line(), "line 3, field id: 'a' is already the id of line 1"),
    "missing id": (line("b"), "field id: 1 of the 2 test examples have no prediction: 'a'"),
    "empty file": ("", "field id: 2 of the 2 test examples have no prediction: 'a', 'b'"),
    "a bare text": ('{"id": "a", "predicted": "Oslo"}\n', "field predicted: expected a list of te"),
    "null": ('{"id": "a", "predicted": null}\n', "field predicted: expected a list of texts"),
    "a number in the list": (line(predicted=[1]), "field predicted: expected a text, found int"),
    "a list in the list": (line(predicted=[["x"]]), "field predicted: expected a text, found list"),
    "empty among texts": (line(predicted=["x", ""]), "field predicted: expected non-empty texts"),
    "empty twice": (line(predicted=["", ""]), "field predicted: expected non-empty texts"),
    "U+0000": (line(predicted=["a\0"]), "field predicted: contains U+0000"),
    "half a surrogate": (
        line(predicted=["\ud83d"]),
        "field predicted: contains an unpaired surroga",
    ),
    "id is a boolean": (line(True), "field id: expected a text, found bool"),
    "no field predicted": ('{"id": "a"}\n', "line 1, field predicted: the field is missing"),
    "another field": (line(score=1), "field score: unknown field; expected id, predicted"),
    "field twice": ('{"id": "a", "id": "b", "predicted": []}\n', "field id: the field appears"),
    "bad JSON": (line() + '{"id":\n', "line 2: not valid JSON"),
    "NaN": ('{"id": NaN}\n', "line 1: NaN is not valid JSON"),
    "not an object": ("[]\n", "line 1: expected a JSON object"),
    "not UTF-8": (b'{"id": "\xff"}\n', "line 1: not valid UTF-8"),
    "byte order mark": (b"\xef\xbb\xbf" + line().encode(), "line 1: begins with a byte order mark"),
    "too long a line": ("x" * 1_000_001, "line 1: the line is longer than"),
    "too large a file": (b"\n" * 20_000_001, "the file is larger than 20,000,000 bytes"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_refused_with_its_place(case):
    text, sentence = BAD[case]
    with pytest.raises(FormatError) as refused:
        read(text)
    assert str(refused.value).startswith("toy_2_1.jsonl")
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("MNLI_10_3.jsonl", ("MNLI", None, 10, 3)),
        ("SST-2_30_5.jsonl", ("SST-2", None, 30, 5)),
        ("MNLI_0.jsonl", ("MNLI", None, 0, None)),
        ("my_task_10_20_3.jsonl", ("my_task_10", None, 20, 3)),
        ("MNLI@2_10_3.jsonl", ("MNLI", 2, 10, 3)),
    ],
)
def test_the_name_of_a_file_says_what_it_is_of(name, place):
    assert place_of(name) == Place(*place)


@pytest.mark.parametrize(
    "name", ["MNLI.jsonl", "MNLI_10.jsonl", "MNLI_10_3.json", "_10_3.jsonl", "MNLI_0_3.jsonl"]
)
def test_other_names_are_refused(name):
    with pytest.raises(FormatError, match=f"{name}: unknown file name; expected TASK_SHOTS_SPLIT"):
        place_of(name)


# Storing -----------------------------------------------------------------------------------------


@pytest.fixture
def task(db) -> Task:
    return factories.make_task(splits=5, test_size=6)


def upload(task, *, shots=2, number=1, name="", data=None, predict=None) -> PredictionUpload:
    name = name or f"{task.name}_{shots}_{number}.jsonl"
    data = factories.prediction_lines(task, predict) if data is None else data
    return PredictionUpload(name, data, task, shots, number)


def test_each_prediction_is_scored_like_an_answer(researcher, task):
    file = factories.predict(researcher, "toy", task, 2, 1, lambda e: e.gold[:1])
    golds = {e.pk: e.gold for e in task.test_split.examples.all()}
    scores = {p.example_id: p.s1 for p in Prediction.objects.filter(file=file)}
    assert scores == {pk: s1(gold[:1], gold) for pk, gold in golds.items()}
    # One place, two places and none, twice each: 1, 2/3 and 1.
    assert file.mean_s1 == pytest.approx((1 + 2 / 3 + 1) / 3)
    assert file.examples == 6


def test_alternatives_in_the_gold_count_as_they_do_for_people(researcher):
    task = factories.make_task(gold_rule="any_of", test_size=3)
    file = factories.predict(researcher, "toy", task, 2, 1, lambda e: e.gold[:1])
    assert file.mean_s1 == 1


def test_both_spellings_of_no_answer_score_on_an_empty_gold(researcher, task):
    for number, spelling in ((1, []), (2, [""])):
        file = factories.predict(researcher, "toy", task, 2, number, lambda e, s=spelling: s)
        assert file.mean_s1 == pytest.approx(1 / 3)
    assert set(map(str, Prediction.objects.values_list("predicted", flat=True))) == {"[]"}


def test_if_one_file_does_not_do_nothing_is_stored_and_each_is_named(researcher, task):
    good, bad, worse = (
        upload(task, number=1),
        upload(task, number=2, data=b"{\n"),
        upload(task, number=3, data=line("nobody").encode()),
    )
    with pytest.raises(PredictionsError) as refused:
        add("toy", [good, bad, worse], researcher)
    assert [problem.split(":")[0] for problem in refused.value.problems] == [
        "toy-places_2_2.jsonl, line 1",
        "toy-places_2_3.jsonl, line 1, field id",
    ]
    assert not LanguageModel.objects.exists()
    assert not Prediction.objects.exists()


def test_predictions_are_not_overwritten(researcher, task):
    factories.predict(researcher, "toy", task, 2, 1)
    with pytest.raises(PredictionsError, match="at 2 shots, split 1 already .*delete that file"):
        add("toy", [upload(task, number=2), upload(task, number=1)], researcher, title="New")
    assert PredictionFile.objects.count() == 1
    assert LanguageModel.objects.get().title == ""
    factories.predict(researcher, "other", task, 2, 1)


def test_zero_shots_has_one_run_and_no_split(researcher, task):
    factories.predict(researcher, "toy", task, 0)
    with pytest.raises(PredictionsError, match="at 0 shots already"):
        factories.predict(researcher, "toy", task, 0)
    model = LanguageModel.objects.get()
    for shots, number in ((0, 1), (2, None), (2, 0), (0, None)):
        with pytest.raises(IntegrityError), transaction.atomic():
            PredictionFile.objects.create(
                model=model, task=task, shots=shots, split_number=number, filename="x", sha256="x"
            )


def test_two_files_of_the_same_are_refused_together(researcher, task):
    with pytest.raises(
        PredictionsError, match=r"b\.jsonl: covers the same task, shots and split as a\.jsonl"
    ):
        add("toy", [upload(task, name="a.jsonl"), upload(task, name="b.jsonl")], researcher)


@pytest.mark.parametrize(
    ("shots", "number", "reason"),
    [(2, 6, "with number 6; its numbers are 1, 2, 3, 4, 5"), (3, 1, "of 3 shots.*; it has 2, 4")],
)
def test_a_training_file_that_the_task_does_not_have_is_refused(
    researcher, task, shots, number, reason
):
    with pytest.raises(PredictionsError, match=reason):
        factories.predict(researcher, "toy", task, shots, number)


def test_details_are_kept_and_an_empty_one_leaves_what_is_there(researcher, task):
    details = {"title": "A toy", "link": "https://example.org", "parameters": 7_000_000}
    add("toy", [upload(task, number=1)], researcher, **details)
    add("toy", [upload(task, number=2)], researcher, title="", link="", parameters=None)
    model = LanguageModel.objects.get()
    assert (model.title, model.link, model.parameters) == tuple(details.values())


@pytest.mark.parametrize(
    ("name", "details"),
    [("a/b", {}), ("", {}), ("toy", {"link": "javascript:alert(1)"}), ("toy", {"parameters": -1})],
)
def test_a_name_or_detail_that_does_not_do_stores_nothing(researcher, task, name, details):
    with pytest.raises(ValidationError):
        add(name, [upload(task)], researcher, **details)
    assert not LanguageModel.objects.exists()


def test_somebody_elses_model_cannot_be_added_to(researcher, other_researcher, task):
    factories.predict(other_researcher, "toy", task, 2, 1)
    with pytest.raises(ValidationError, match="another researcher"):
        factories.predict(researcher, "toy", task, 2, 2)


@pytest.mark.real_data
def test_the_published_empty_rows_are_those_of_always_no_answer(researcher, db, clues):
    """BERT's 51.3 and 62.8 in Table 6: docs/statistics.md#worked-examples."""
    call_command("import_clues", str(clues), "--task", "CoNLL03", "WikiANN", verbosity=0)
    for name, score in (("CoNLL03", 51.33), ("WikiANN", 62.83)):
        task = Task.objects.get(name=name)
        for number, spelling in ((1, []), (2, [""])):
            file = factories.predict(
                researcher, "empty", task, 10, number, lambda _example, s=spelling: s
            )
            assert 100 * file.mean_s1 == pytest.approx(score, abs=0.005)
            assert file.examples == 600


# What the card does not allow --------------------------------------------------------------------


def lines_of(task, *predicted) -> bytes:
    """A file with these predictions, for the test examples in turn."""
    wanted = itertools.cycle(predicted)
    return factories.prediction_lines(task, lambda _example: next(wanted))


@pytest.fixture
def labels(db) -> Task:
    return factories.make_task(name="toy-labels", labels=factories.LABELS, test_size=6)


@pytest.mark.parametrize(
    ("predicted", "problems"),
    [
        (
            [["Positive"]],
            ["line 1, field predicted: 6 of 6 predictions are not labels of this task: 'Positive'."
             " Its labels are: positive, negative"],
        ),
        (
            [["positive"], [" negative"], ["contraction"]],
            ["line 2, field predicted: 4 of 6 predictions are not labels of this task: ' negative';"
             " 'contraction'. Its labels are: positive, negative"],
        ),
        (
            [["positive", "negative"]],
            ["line 1, field predicted: 6 of 6 predictions are more than one label: 'positive',"
             " 'negative'. Its labels are: positive, negative; one of them is an answer"],
        ),
        (
            [["positive"], [], ["negative", "x"]],
            ["line 3, field predicted: 2 of 6 predictions are not labels of this task: 'negative',"
             " 'x'. Its labels are: positive, negative",
             "line 2, field predicted: 2 of 6 predictions are “no answer”, which this task does"
             " not allow. Its labels are: positive, negative"],
        ),
    ],
)  # fmt: skip
def test_a_model_has_one_button_as_people_have(researcher, labels, predicted, problems):
    """Every label at once scored 66.7 where people who know nothing score 50."""
    good = upload(labels, number=1, name="good.jsonl")
    bad = upload(labels, shots=4, name="bad.jsonl", data=lines_of(labels, *predicted))
    with pytest.raises(PredictionsError) as refused:
        add("toy", [good, bad], researcher)
    assert refused.value.problems == [f"bad.jsonl, {problem}" for problem in problems]
    assert not LanguageModel.objects.exists()
    assert not Prediction.objects.exists()


def test_a_span_task_takes_no_more_texts_than_its_card_and_no_empty_answer(researcher):
    task = factories.make_task(max_spans=1, no_answer=False, test_size=6)
    data = lines_of(task, ["home"], ["home", "home"], [""], ["home", "bed"])
    with pytest.raises(PredictionsError) as refused:
        add("toy", [upload(task, name="bad.jsonl", data=data)], researcher)
    assert refused.value.problems == [
        "bad.jsonl, line 3, field predicted: 1 of 6 predictions are “no answer”, which this task"
        " does not allow",
        "bad.jsonl, line 4, field predicted: 1 of 6 predictions have more than 1 text: 'home',"
        " 'bed'. This task takes 1 at most",
    ]
    assert not LanguageModel.objects.exists()


def test_the_form_and_the_command_list_the_labels_and_store_nothing(ada, labels, tmp_path):
    data = lines_of(labels, ["<b>"])
    reply = send(ada, ("toy-labels_2_1.jsonl", data))
    assert reply.status_code == 422
    page = reply.content.decode()
    assert "6 of 6 predictions are not labels of this task: &#x27;&lt;b&gt;&#x27;" in page
    assert "Its labels are: positive, negative" in page
    (tmp_path / "toy-labels_2_1.jsonl").write_bytes(data)
    with pytest.raises(CommandError, match="6 of 6 .* Its labels are: positive, negative"):
        call_command("import_predictions", "toy", str(tmp_path))
    assert not LanguageModel.objects.exists()


def test_texts_that_nobody_could_highlight_are_stored_and_counted(ada, task, tmp_path, capsys):
    name, sentence = (
        f"{task.name}_2_1.jsonl",
        "6 of 9 predicted texts do not occur in their context",
    )
    data = lines_of(task, ["home", "Home"], ["Which places"])
    reply = send(ada, (name, data))
    assert reply.status_code == 302
    assert f"{name}: {sentence}" in ada.get(reply.url).content.decode()
    PredictionFile.objects.all().delete()
    (tmp_path / name).write_bytes(data)
    call_command("import_predictions", "toy", str(tmp_path))
    assert f"{name}: {sentence}" in capsys.readouterr().out
    assert PredictionFile.objects.get().remarks == [sentence]


def test_a_question_that_can_be_highlighted_is_a_place_for_predicted_texts(researcher):
    task = factories.make_task(question_selectable=True, question="Which places?")
    factories.predict(researcher, "toy", task, 2, 1, lambda _example: ["Which places"])
    assert PredictionFile.objects.get().remarks == []


def test_files_from_before_are_named_as_not_held_against_the_card(ada, researcher, task):
    file = factories.predict(researcher, "toy", task, 2, 1)
    address = reverse("model", args=["toy"])
    assert "Stored before" not in ada.get(address).content.decode()
    PredictionFile.objects.update(remarks=None)
    page = ada.get(address).content.decode()
    page = " ".join(unescape(page).split())
    assert "Stored before predictions were validated against the task's card" in page
    assert f"cannot give: {file.filename}. To be sure, delete and upload" in page


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
        ("nothing_2_1.jsonl", "", "there is no task nothing; imported: toy-places"),
        ("toy-places@9_2_1.jsonl", "", "there is no task toy-places v9"),
        ("toy-places_2_1.jsonl", "{", "toy-places_2_1.jsonl, line 1: not valid JSON"),
    ],
)
def test_the_command_names_what_does_not_do(researcher, task, tmp_path, name, text, reason):
    (tmp_path / name).write_text(text)
    with pytest.raises(CommandError, match=reason):
        call_command("import_predictions", "toy", str(tmp_path))
    assert not LanguageModel.objects.exists()


def test_the_command_wants_files_and_a_researcher(researcher, other_researcher, task, tmp_path):
    with pytest.raises(CommandError, match="--by USERNAME"):
        call_command("import_predictions", "toy", str(tmp_path))
    with pytest.raises(CommandError, match="There is no file"):
        call_command("import_predictions", "toy", str(tmp_path), "--by", "ada")
    with pytest.raises(CommandError, match="is no folder"):
        call_command("import_predictions", "toy", str(tmp_path / "none"), "--by", "ada")


# The pages ---------------------------------------------------------------------------------------


def send(client, *files: tuple[str, bytes], **fields):
    sent = [SimpleUploadedFile(name, data) for name, data in files]
    return client.post(reverse("models"), {"name": "toy", "files": sent, **fields})


def test_several_files_are_placed_by_their_names(ada, task):
    data = factories.prediction_lines(task)
    reply = send(ada, (f"{task.name}_2_1.jsonl", data), (f"{task.name}_4_2.jsonl", data))
    assert (reply.status_code, reply.url) == (302, reverse("model", args=["toy"]))
    places = PredictionFile.objects.values_list("shots", "split_number")
    assert sorted(places) == [(2, 1), (4, 2)]
    page = ada.get(reply.url).content.decode()
    assert "2 files stored." in page
    assert "1 of 5" in page
    assert "toy" in ada.get(reverse("models")).content.decode()


def test_models_and_files_are_listed_in_order(ada, researcher, task):
    for name, shots, number in (("b", 4, 1), ("a", 4, 2), ("a", 2, 5), ("a", 4, 1), ("a", 0, None)):
        factories.predict(researcher, name, task, shots, number)
    shown = ada.get(reverse("models")).context["models"]
    assert [(one.name, one.file_count, one.task_count) for one in shown] == [
        ("a", 4, 1),
        ("b", 1, 1),
    ]
    files = ada.get(reverse("model", args=["a"])).context["files"]
    places = [(file.shots, file.split_number) for file, _s1 in files]
    assert places == [(0, None), (2, 5), (4, 1), (4, 2)]


def test_one_file_of_any_name_is_placed_by_the_fields(ada, task):
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
        ({"shots": 2}, "Choose the task as well"),
        ({"task": True}, "Enter the number of shots"),
        ({"task": True, "shots": 2}, "Enter the number of the training split"),
        ({"task": True, "shots": 0, "split_number": 1}, "Zero shots have no training split"),
        ({"task": True, "shots": 2, "split_number": 6}, "its numbers are 1, 2, 3, 4, 5"),
        ({"task": True, "shots": 2, "split_number": 1, "name": "a/b"}, "Use letters, digits, dots"),
        ({"task": True, "shots": 2, "split_number": 1, "link": "ftp://x.org"}, "Enter a valid URL"),
        ({"files": []}, "This field is required"),
    ],
)
def test_the_form_says_what_does_not_do_and_stores_nothing(ada, task, fields, reason):
    if fields.get("task"):
        fields = fields | {"task": task.pk}
    reply = send(ada, ("out.jsonl", factories.prediction_lines(task)), **fields)
    assert reply.status_code == 422
    assert reason in reply.content.decode()
    assert not LanguageModel.objects.exists()


def test_the_form_names_the_line_and_escapes_what_it_quotes(ada, task):
    bad = line("<img src=x>").encode()
    reply = send(ada, (f"{task.name}_2_1.jsonl", bad), (f"{task.name}_2_2.jsonl", b"\xff"))
    page = reply.content.decode()
    assert "toy-places_2_1.jsonl, line 1, field id" in page
    assert "toy-places_2_2.jsonl, line 1: not valid UTF-8" in page
    assert "<img src=x>" not in page


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


def test_others_look_at_a_model_but_do_not_change_it(client, researcher, other_researcher, task):
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


def test_nobody_is_sent_to_sign_in(client, researcher, task):
    factories.predict(researcher, "toy", task, 2, 1)
    for name, args in (
        ("models", []), ("models_file", []), ("model", ["toy"]), ("model_file", ["toy"]),
    ):  # fmt: skip
        reply = client.get(reverse(name, args=args))
        assert reply.status_code == 302
        assert reply["Location"].startswith(reverse("login"))
    reply = client.post(reverse("models"), {"name": "x"})
    assert (reply.status_code, "Sign in" in reply.content.decode()) == (401, True)


def test_what_a_researcher_writes_of_a_model_is_escaped(ada, researcher, task):
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
        # 8/9 and 1.
        assert float(row["mean"]) == pytest.approx(100 * 17 / 18)
        assert float(row["sd_ddof0"]) == pytest.approx(100 / 18)
        assert (row["n"], row["of"]) == ("2", "5")
        assert row["recipe"] == "s1|match:exact|empty:1|gold:set|mean:examples|sd:splits|ddof:1|v:1"


def test_an_unknown_model_is_not_found(ada, db):
    for name in ("model", "model_file"):
        assert ada.get(reverse(name, args=["nobody"])).status_code == 404
