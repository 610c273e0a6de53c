"""The leaderboard follows the rules of the CLUES repository."""

import csv
import io

import pytest
from django.core.management import call_command
from django.urls import reverse
from lxml.html import fromstring

from analysis.models import leaderboard
from annotation.models import Kind
from tasks.models import LanguageModel, Task
from tests import factories
from tests.conftest import CLUES

pytestmark = pytest.mark.long


def wrong(share: int):
    """Return predictions of which every `share`th is wrong."""
    count = iter(range(10_000))
    return lambda example: ["x"] if next(count) % share == 0 else example.gold


def predict_all(owner, name: str, task: Task, size_class: str, share: int) -> None:
    for shots in task.training_sizes:
        for number in task.split_numbers(shots):
            factories.predict(owner, name, task, shots, number, wrong(share))
    LanguageModel.objects.filter(name=name).update(size_class=size_class, external_labelled="yes")


@pytest.fixture
def study(researcher):
    """One task at 2 and 4 shots, with five splits each; two people at 4 shots."""
    task = factories.make_task(test_size=6, splits=5, shots=(2, 4))
    study = factories.make_study(researcher, task, shots=[4], annotators=2)
    factories.work_through(factories.seat(study.scenarios.get()))
    factories.work_through(factories.seat(study.scenarios.get()), lambda turn: [])
    predict_all(researcher, "small", task, "base", 3)
    predict_all(researcher, "big-a", task, "large", 3)
    predict_all(researcher, "big-b", task, "large", 6)
    predict_all(researcher, "unstated", task, "", 6)
    for number in (1, 2, 3):
        factories.predict(researcher, "partial", task, 4, number)
    return study


def test_an_entry_needs_all_splits_and_sizes_rank_separately(study):
    (board,) = leaderboard.boards(study, Kind.PERSON)
    assert board.sizes == (2, 4)
    assert [
        (words, [(entry.name, entry.rank) for entry in entries]) for words, entries in board.groups
    ] == [
        ("Annotators", [("People, this study", None)]),
        ("Base models", [("small", 1)]),
        ("Large models", [("big-b", 1), ("big-a", 2)]),
        ("Models of other or unstated size", [("unstated", 1)]),
    ]
    assert board.left_out == ["partial: 0 of 5 splits at 2 shots, 3 of 5 splits at 4 shots"]


def test_the_ranking_uses_the_largest_size(researcher, study):
    task = study.tasks.get()
    file = task.prediction_files.get(model__name="big-b", shots=2, split_number=1)
    file.delete()
    factories.predict(researcher, "big-b", task, 2, 1, lambda _example: ["x"])
    (board,) = leaderboard.boards(study, Kind.PERSON)
    large = dict(board.groups)["Large models"]
    assert [(entry.name, entry.scores[1].mean > entry.scores[0].mean) for entry in large] == [
        ("big-b", True),
        ("big-a", False),
    ]


def test_people_have_n_spread_and_an_interval(study):
    (board,) = leaderboard.boards(study, Kind.PERSON)
    people = board.entries[[e.group for e in board.entries].index("people")]
    assert (people.at_largest.n, people.at_largest.of) == (2, 2)
    assert people.low < people.at_largest.mean < people.high or people.no_interval
    assert people.scores[0].text == "–"  # no annotator was trained on two examples


def test_a_board_without_scores_at_the_largest_size_names_no_best(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(shots=(2, 4)), shots=[2])
    factories.work_through(factories.seat(study.scenarios.get()))
    page = ada.get(reverse("leaderboard", args=[study.name]), follow=True).content.decode()
    (summary,) = fromstring(page).xpath("//main//details[@open]/summary[h3]")
    assert " ".join(summary.text_content().split()) == "toy-places scored by S1"


def test_page_csv_and_json_say_the_same(ada, study):
    page = ada.get(reverse("leaderboard", args=[study.name]), follow=True).content.decode()
    for words in ("Large models", "5 of 5 splits", "partial: 0 of 5 splits"):
        assert words in page, words
    (summary,) = fromstring(page).xpath("//main//details[@open]/summary[h3]")
    (board,) = leaderboard.boards(study, Kind.PERSON)
    best = board.entries[0]
    said = f"toy-places scored by S1; best: {best.name} {best.at_largest.text}"
    assert " ".join(summary.text_content().split()) == said
    assert reverse("study_models", args=[study.name], query={"show": "leaderboard"}) in (
        ada.get(reverse("study_models", args=[study.name])).content.decode()
    )
    reply = ada.get(reverse("leaderboard_file", args=[study.name]))
    rows = list(csv.DictReader(io.StringIO(reply.content.decode(), newline="")))
    (kind,) = ada.get(reverse("api_leaderboard", args=[study.name])).json()
    assert [(row["name"], int(row["shots"])) for row in rows] == [
        (row["name"], row["shots"]) for row in kind["entries"]
    ]
    best = next(row for row in rows if row["name"] == "big-b" and row["shots"] == "4")
    assert (best["rank"], best["n"], best["group"]) == ("1", "5", "large")
    assert (best["external_labelled"], best["external_unlabelled"]) == ("yes", "")
    assert kind["left_out"] == [
        "toy-places: partial: 0 of 5 splits at 2 shots, 3 of 5 splits at 4 shots"
    ]


def test_the_overall_board_needs_a_model_on_every_board(researcher):
    tasks = [factories.make_task(name=name, test_size=4, splits=2) for name in ("one", "two")]
    study = factories.make_study(researcher, *tasks)
    for task in tasks:
        predict_all(researcher, "everywhere", task, "base", 2)
    predict_all(researcher, "once", tasks[0], "base", 4)
    whole, first, second = leaderboard.boards(study, Kind.PERSON)
    assert whole.heading == "All tasks"
    assert [entry.name for entry in whole.entries] == ["everywhere"]
    means = [
        {entry.name: entry for entry in board.entries}["everywhere"].at_largest.mean
        for board in (first, second)
    ]
    assert whole.entries[0].at_largest.mean == pytest.approx(sum(means) / 2)


@pytest.mark.real_data
def test_published_rows_are_included_and_marked(ada, researcher):
    call_command("import_clues", str(CLUES), "--task", "SST-2", stdout=io.StringIO())
    study = factories.make_study(researcher, Task.objects.get(), shots=[10])
    (board,) = leaderboard.boards(study, Kind.PERSON)
    assert board.sizes == (10, 20, 30)
    groups = {words: [entry.name for entry in entries] for words, entries in board.groups}
    assert groups["Annotators"] == ["People"]
    assert groups["Base models"][0].startswith("BERT-Base")
    large = dict(board.groups)["Large models"]
    means = [entry.at_largest.mean for entry in large]
    assert means == sorted(means, reverse=True)
    assert [entry.rank for entry in large] == list(range(1, len(large) + 1))
    assert all(entry.is_published for entry in board.entries)
    assert "<small>published</small>" in (
        ada.get(reverse("leaderboard", args=[study.name]), follow=True).content.decode()
    )


def test_size_and_external_data_come_with_the_upload(ada, study):
    task = study.tasks.get()
    lines = io.BytesIO(factories.prediction_lines(task))
    lines.name = f"{task.name}_2_1.jsonl"
    sent = {
        "name": "new", "size_class": "large", "external_labelled": "no",
        "external_unlabelled": "yes", "files": lines,
    }  # fmt: skip
    assert ada.post(reverse("models"), sent).status_code == 302
    model = LanguageModel.objects.get(name="new")
    assert (model.size_class, model.external_labelled, model.external_unlabelled) == (
        "large", "no", "yes",
    )  # fmt: skip
    page = ada.get(reverse("model", args=["new"])).content.decode()
    assert "External unlabelled data</dt><dd>yes" in page
