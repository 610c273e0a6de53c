"""Scores without reading the text: chance levels for each metric, and the floors of ReCoRD."""

import csv
import io
import itertools
import math
import subprocess
import sys

import pytest
from django.core.management import call_command
from django.urls import reverse

from analysis.scores import scores
from tasks.formats import Record
from tasks.importing import import_task, read_clues
from tasks.metrics import Answers, over_test_set
from tasks.metrics.test_sets import by_chance
from tests import factories


def verified(study, folder) -> None:
    call_command("export_study", study.name, str(folder), verbosity=0)
    ran = subprocess.run(
        [sys.executable, "-I", str(folder / "verify.py")],
        capture_output=True, text=True, timeout=60, env={}, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout


@pytest.mark.long
@pytest.mark.engines
def test_the_floor_of_a_random_option_is_on_page_and_in_export(ada, researcher, db, tmp_path):
    study = factories.make_study(researcher, factories.make_kind("option"), annotators=1)
    (floor,) = study.tasks.get().report["floors"]
    assert floor["name"] == "a random option"
    page = ada.get(reverse("human_performance", args=[study.name])).content.decode()
    assert "<br><small>a random option" in page
    rows = ada.get(reverse("api_human_performance", args=[study.name])).json()
    assert [row["floor_random"] for row in rows] == pytest.approx([floor["s1"] / 100] * 2)
    verified(study, tmp_path / "out")


CHOSEN = [
    ("label", "S1"), ("label", "ACC"), ("label", "Classification-F1"), ("option", "S1"),
    ("option", "ACC"), ("option", "Rouge-L"), ("option", "Classification-F1"), ("options", "S1"),
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(("kind", "metric"), CHOSEN)
def test_labels_and_options_have_a_chance_level_for_their_metric(
    ada, researcher, db, tmp_path, kind, metric
):
    """The page, Markdown, API and figure show it, and the export verifies."""
    task = factories.make_kind(kind, metric=metric)
    study = factories.make_study(researcher, task, shots=[2], annotators=1)
    factories.work_through(factories.seat(study.scenarios.get()))
    name = "a random label" if kind == "label" else "a random option"
    limits = scores.bounds(task)
    ((known, chance),) = limits.floors
    assert known == name
    assert 0 < chance < 100
    page = ada.get(reverse("human_performance", args=[study.name])).content.decode()
    assert f"{chance:.1f}<br><small>{name}" in page
    text = ada.get(reverse("human_performance_file", args=[study.name, "md"])).content.decode()
    assert f"| floor: {name} | {chance:.1f} |" in text
    # Only highlighted answers have a ceiling by highlighting.
    assert "ceiling by highlighting" not in text
    (row,) = ada.get(reverse("api_human_performance", args=[study.name])).json()
    assert row["floor_random"] == pytest.approx(chance / 100)
    figure = ada.get(reverse("figure_file", args=[study.name, "shots", "csv"]))
    (mark, *_others) = csv.DictReader(io.StringIO(figure.content.decode(), newline=""))
    baseline = 0 if math.isnan(limits.baseline) else limits.baseline
    assert float(mark["baseline"]) == pytest.approx(max(chance, baseline) / 100)
    verified(study, tmp_path / "out")


def test_five_options_have_a_chance_level_of_20_under_acc(db):
    """The Gym scores all multiple-choice tasks with ACC, for which the floor was missing."""
    options = ("a", "b", "c", "d", "e")
    records = [
        Record(f"r{n}", (f"Letter {n}?",), "?", (options[n % 5],), options=options)
        for n in range(10)
    ]
    task = factories.make_kind(
        "option", metric="ACC", test=records[2:], train={2: records[:2]}, shots=[2]
    )
    assert scores.bounds(task).floors == (("a random option", pytest.approx(20)),)


def every_answer(choices, score):
    """Return the mean score over all possible answers, which are equally likely."""
    scores = [score(list(given)) for given in itertools.product(*choices)]
    return sum(scores) / len(scores)


GOLDS = ["a", "a", "b", "c", "a"]


@pytest.mark.parametrize(
    ("metric", "within"), [("S1", 1e-12), ("ACC", 1e-12), ("Classification-F1", 0.02)]
)
def test_a_chance_level_is_the_mean_over_all_answers(metric, within):
    choices = [["a", "b", "c"]] * 5

    def score(given):
        answers = Answers([[text] for text in given], [[g] for g in GOLDS], "set", False, range(5))
        return over_test_set(metric, answers, is_linear=False).value

    expected = every_answer(choices, score)
    found = by_chance(metric, choices, [[gold] for gold in GOLDS], "set", no_answer=False)
    assert found == pytest.approx(expected, abs=within)
    assert found == by_chance(metric, choices, [[gold] for gold in GOLDS], "set", no_answer=False)


@pytest.mark.parametrize(
    ("metric", "labels"),
    [("Matthew-Correlation", ["acceptable", "unacceptable"]), ("Pearson-Correlation", ["1", "2"])],
)
def test_a_correlation_has_a_chance_level_of_0(metric, labels):
    golds = [labels[0], labels[0], labels[1], labels[1], labels[0]]

    def score(given):
        answers = Answers([[text] for text in given], [[g] for g in golds], "set", False, range(5))
        return over_test_set(metric, answers, is_linear=False).value

    scores = [score(list(given)) for given in itertools.product(labels, repeat=5)]
    known = [value for value in scores if not math.isnan(value)]  # undefined for a constant
    assert sum(known) / len(known) == pytest.approx(0, abs=1e-12)
    assert by_chance(metric, [labels] * 5, [[g] for g in golds], "set", no_answer=False) == 0


def test_no_answer_counts_as_a_choice_if_it_is_allowed():
    golds = [["a"], []]
    choices = [["a", "b"], ["a", "b"]]
    assert by_chance("S1", choices, golds, "set", no_answer=True) == pytest.approx(1 / 3)
    assert by_chance("ACC", choices, golds, "set", no_answer=True) == pytest.approx(1 / 3)


@pytest.mark.long
@pytest.mark.real_data
def test_record_has_floors_of_a_random_and_a_frequent_entity(ada, researcher, clues, db, tmp_path):
    card, files = read_clues(clues, "ReCoRD")
    task = import_task(card, files).task
    floors = {floor["name"]: round(floor["s1"], 2) for floor in task.report["floors"]}
    assert floors == {"a random listed entity": 10.04, "the most frequent listed entity": 21.0}
    assert task.report["baseline"] is None
    study = factories.make_study(researcher, task, shots=[0], annotators=1)
    page = ada.get(reverse("human_performance", args=[study.name])).content.decode()
    for words in ("10.0<br><small>a random listed entity", "21.0<br><small>the most frequent"):
        assert words in page
    assert "always “no answer”" not in page
    text = ada.get(reverse("human_performance_file", args=[study.name, "md"])).content.decode()
    assert "| floor: the most frequent listed entity | 21.0 |" in text
    assert "| trivial baseline | – |" in text
    (row,) = ada.get(reverse("api_human_performance", args=[study.name])).json()
    assert (round(row["floor_random"], 4), row["floor_frequent"]) == (0.1004, 0.21)
    assert row["baseline"] is None
    verified(study, tmp_path / "out")


@pytest.mark.long
def test_a_task_without_candidates_states_it_has_no_baseline(ada, researcher, db, tmp_path):
    records = [record for record in factories.place_records("x", 9) if record.gold]
    task = factories.make_task(test=records, train={2: records[:2]}, shots=[2], no_answer=False)
    assert (task.report["baseline"], task.report["floors"]) == (None, [])
    study = factories.make_study(researcher, task, shots=[0], annotators=1)
    factories.work_through(factories.seat(study.scenarios.get()))
    page = ada.get(reverse("human_performance", args=[study.name])).content.decode()
    assert "none: every example has an answer" in page
    assert ada.get(reverse("figures", args=[study.name]), follow=True).status_code == 200
    verified(study, tmp_path / "out")
    draft = factories.make_study(researcher, task, shots=[0], status="draft")
    verified(draft, tmp_path / "draft")


def test_a_table_without_scores_says_what_to_do(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0])
    address = reverse("human_performance", args=[study.name])
    sentence = "No annotator in the analysis has completed this study yet."
    assert sentence in ada.get(address).content.decode()
    factories.work_through(factories.seat(study.scenarios.get()))
    assert sentence not in ada.get(address).content.decode()
