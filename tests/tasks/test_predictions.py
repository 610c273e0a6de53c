"""Predictions are read strictly, stored as a whole or not at all, and scored like answers."""

import json

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction

from tasks.formats import FormatError
from tasks.metrics import s1
from tasks.models import LanguageModel, Prediction, PredictionFile, Task
from tasks.predictions.format import Place, place_of, read_predictions
from tasks.predictions.store import PredictionsError, add
from tests import factories
from tests.tasks.datasets import files
from tests.tasks.predictions import line, lines_of, read, send, upload

# Reading -----------------------------------------------------------------------------------------


def test_predicted_texts_are_read_unaltered():
    texts = read(line("b", [" Oslo ", "Oslo", "e\u0301 <b>"]) + "\n" + line("a", ["x"]))
    assert texts == {"a": ["x"], "b": [" Oslo ", "Oslo", "e\u0301 <b>"]}


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
        ("MNLI_all.jsonl", ("MNLI", None, None, None)),
        ("my_task_10_20_3.jsonl", ("my_task_10", None, 20, 3)),
        ("MNLI@2_10_3.jsonl", ("MNLI", 2, 10, 3)),
    ],
)
def test_the_name_of_a_file_gives_task_shots_and_split(name, place):
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


def test_each_prediction_is_scored_like_an_answer(researcher, task):
    file = factories.predict(researcher, "toy", task, 2, 1, lambda e: e.gold[:1])
    golds = {e.pk: e.gold for e in task.test_split.examples.all()}
    scores = {p.example_id: p.s1 for p in Prediction.objects.filter(file=file)}
    assert scores == {pk: s1(gold[:1], gold) for pk, gold in golds.items()}
    # Two examples each have one place, two places and none, and score 1, 2/3 and 1.
    assert file.mean_s1 == pytest.approx((1 + 2 / 3 + 1) / 3)
    assert file.examples == 6


def test_one_of_several_alternative_golds_scores_1(researcher):
    task = factories.make_task(gold_rule="any_of", test_size=3)
    file = factories.predict(researcher, "toy", task, 2, 1, lambda e: e.gold[:1])
    assert file.mean_s1 == 1


def test_both_spellings_of_no_answer_score_1_on_an_empty_gold(researcher, task):
    for number, spelling in ((1, []), (2, [""])):
        file = factories.predict(researcher, "toy", task, 2, number, lambda e, s=spelling: s)
        assert file.mean_s1 == pytest.approx(1 / 3)
    assert set(map(str, Prediction.objects.values_list("predicted", flat=True))) == {"[]"}


def test_one_invalid_file_stores_nothing_and_each_is_named(researcher, task):
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
    with pytest.raises(
        PredictionsError,
        match="already has predictions for .* at 2 shots, split 1 .*delete that file",
    ):
        add("toy", [upload(task, number=2), upload(task, number=1)], researcher, title="New")
    assert PredictionFile.objects.count() == 1
    assert LanguageModel.objects.get().title == ""
    factories.predict(researcher, "other", task, 2, 1)


def test_zero_shots_has_one_run_and_no_split(researcher, task):
    factories.predict(researcher, "toy", task, 0)
    with pytest.raises(PredictionsError, match="already has predictions for .* at 0 shots"):
        factories.predict(researcher, "toy", task, 0)
    model = LanguageModel.objects.get()
    for shots, number in ((0, 1), (2, None), (2, 0), (0, None)):
        with pytest.raises(IntegrityError), transaction.atomic():
            PredictionFile.objects.create(
                model=model, task=task, shots=shots, split_number=number, filename="x", sha256="x",
                remarks=[],
            )  # fmt: skip


def test_two_files_for_the_same_split_are_refused(researcher, task):
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


def test_details_are_stored_and_an_empty_one_changes_nothing(researcher, task):
    details = {"title": "A toy", "link": "https://example.org", "parameters": 7_000_000}
    add("toy", [upload(task, number=1)], researcher, **details)
    add("toy", [upload(task, number=2)], researcher, title="", link="", parameters=None)
    model = LanguageModel.objects.get()
    assert (model.title, model.link, model.parameters) == tuple(details.values())


@pytest.mark.parametrize(
    ("name", "details"),
    [("a/b", {}), ("", {}), ("toy", {"link": "javascript:alert(1)"}), ("toy", {"parameters": -1})],
)
def test_an_invalid_name_or_detail_stores_nothing(researcher, task, name, details):
    with pytest.raises(ValidationError):
        add(name, [upload(task)], researcher, **details)
    assert not LanguageModel.objects.exists()


def test_a_model_of_another_researcher_cannot_be_extended(researcher, other_researcher, task):
    factories.predict(other_researcher, "toy", task, 2, 1)
    with pytest.raises(ValidationError, match="another researcher"):
        factories.predict(researcher, "toy", task, 2, 2)


@pytest.mark.long
@pytest.mark.real_data
def test_always_no_answer_reproduces_the_published_rows(researcher, db, clues):
    """They are BERT's 51.3 and 62.8 in Table 6 (docs/statistics.md#worked-examples)."""
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
             " 'negative'. Its labels are: positive, negative; an answer is exactly one of them"],
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
def test_a_model_may_predict_only_one_label_per_example(researcher, labels, predicted, problems):
    """Predicting both labels for every example used to score 66.7, where guessing gives 50."""
    good = upload(labels, number=1, name="good.jsonl")
    bad = upload(labels, shots=4, name="bad.jsonl", data=lines_of(labels, *predicted))
    with pytest.raises(PredictionsError) as refused:
        add("toy", [good, bad], researcher)
    assert refused.value.problems == [f"bad.jsonl, {problem}" for problem in problems]
    assert not LanguageModel.objects.exists()
    assert not Prediction.objects.exists()


def test_span_predictions_respect_the_limits_of_the_card(researcher):
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


def test_form_and_command_list_the_labels_and_store_nothing(ada, labels, tmp_path):
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


def test_texts_that_cannot_be_highlighted_are_stored_and_counted(ada, task, tmp_path, capsys):
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


def test_predicted_texts_may_be_in_a_selectable_question(researcher):
    task = factories.make_task(question_selectable=True, question="Which places?")
    factories.predict(researcher, "toy", task, 2, 1, lambda _example: ["Which places"])
    assert PredictionFile.objects.get().remarks == []


# Samples of lm-evaluation-harness ---------------------------------------------------------------


def sample(n, *, best=0, target=0, **changes):
    scores = [["-1.5", "True"], ["-2.5", "False"]]
    return {
        "doc_id": n,
        "doc": {"id": str(n), "sentence": f"Film {n}", "label": target},
        "target": str(target),
        "arguments": {
            f"gen_args_{place}": {"arg_0": f"Film {n}: good?", "arg_1": f" {word}"}
            for place, word in enumerate(("no", "yes"))
        },
        "resps": [[score] for score in scores],
        "filtered_resps": scores if best == 0 else scores[::-1],
        "filter": "none",
        "acc": float(best == target),
        **changes,
    }


def logged(tmp_path, samples):
    return files.write_jsonl(tmp_path / "samples_MNLI_10_3_2026-01-02T03-04-05.jsonl", samples)


def test_the_prediction_of_samples_is_a_choice_or_the_generated_text(tmp_path):
    samples = [sample(n, best=n % 3 == 0, target=n % 2) for n in range(60)]
    name, data = read_predictions(logged(tmp_path, samples))
    expected = [["no", "yes"][n % 3 == 0] for n in range(60)]
    assert name == "MNLI_10_3.jsonl"
    rows = [json.loads(line) for line in data.splitlines()]
    assert rows == [{"id": str(n), "predicted": [text]} for n, text in enumerate(expected)]
    generated = {"arguments": {"gen_args_0": {"arg_0": "q", "arg_1": {"until": []}}}}
    samples = [
        sample(n, target="yes", filtered_resps=said, **generated)
        for n, said in enumerate(([["yes "]], ["no"]))
    ]
    _name, data = read_predictions(logged(tmp_path, samples))
    assert [json.loads(line)["predicted"] for line in data.splitlines()] == [["yes"], ["no"]]


BAD_SAMPLES = {
    "field": ([{"doc": {}}], "column arguments: missing; expected samples_*.jsonl"),
    "doc": ([sample(1, doc="text")], "line 1, column doc: expected an object"),
    "id": ([sample(1, doc={})], "line 1, column doc: the documents have no id"),
    "answers": ([sample(1, filtered_resps=[["x", ""]] * 2)], "expected the log-likelihood"),
    "nan": ([sample(1, filtered_resps=[["nan", ""]] * 2)], "expected the log-likelihood"),
    "choices": ([sample(1, arguments={})], "expected a choice for each of the 2 answers"),
    "prompts": ([sample(1, arguments=[["a", " x"], ["b", " x"]])], "choices have the same text"),
    "filters": ([sample(1), sample(1, filter="strict")], "answers of one filter: none, strict"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_SAMPLES)
def test_samples_that_cannot_be_read_are_refused(tmp_path, case):
    samples, sentence = BAD_SAMPLES[case]
    with pytest.raises(FormatError) as refused:
        read_predictions(logged(tmp_path, samples))
    assert sentence in str(refused.value)
