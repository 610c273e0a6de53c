"""Metrics other than S1: tables, pages and files name them, and verify.py agrees."""

import csv
import io
import json
import math
import random
import re
import statistics
from pathlib import Path

import pytest
from django.core.management import call_command
from django.urls import reverse

from analysis.export import verify
from analysis.models import differences
from analysis.models import models as model_tables
from analysis.scores import findings, frames, means, metrics, performance, tested
from analysis.scores.rendering import as_latex, as_markdown
from annotation.models import Kind, Study
from annotation.protocol import exclusion
from tasks.formats import Record
from tasks.metrics import METRICS
from tests import factories
from tests.analysis.export.tampering import Export, make_agree

pytestmark = pytest.mark.long


def _rated(prefix: str, number: int) -> list[Record]:
    """Return texts to rate from 1 to 3, with two questions about each."""
    return [
        Record(
            f"{prefix}-{n}", (f"{prefix} text {n // 2}.",), f"{n % 2}?", (str(n % 3 + 1),), None
        )
        for n in range(number)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def stored(module_researcher):
    """Three tasks with three metrics; people, a simulated annotator and a model."""
    ratings = factories.make_task(
        name="ratings", answer="number", no_answer=False, lowest=1, highest=3, step=1,
        metric="Pearson-Correlation", shots=[2],
        train={2: _rated("train", 2)}, test=_rated("test", 8),
    )  # fmt: skip
    moods = factories.make_task(
        name="moods", labels=factories.LABELS, metric="Classification-F1", shots=[2], test_size=6
    )
    places = factories.make_task(name="places", metric="QA-F1", shots=[2], test_size=6)
    study = factories.make_study(
        module_researcher, ratings, moods, places, shots=[0, 2], annotators=3,
        metrics=["S1", "EM", "Classification-F1", "Rouge-L"],
    )  # fmt: skip
    rng = random.Random(3)
    for scenario in study.scenarios.order_by("pk"):
        for _seat in range(3):
            factories.work_through(factories.seat(scenario), lambda turn: _answer(turn, rng))
    robot = study.scenarios.get(task=places, shots=0)
    factories.work_through(factories.seat(robot, Kind.SIMULATED), lambda turn: ["home"])
    factories.predict(module_researcher, "toy", ratings, 2, 1, lambda e: ["2"])
    factories.predict(module_researcher, "toy", moods, 2, 1, lambda e: ["positive"])
    factories.predict(module_researcher, "toy", places, 0, None, lambda e: e.gold[:1])
    factories.predict(module_researcher, "toy", places, 2, 1, lambda e: ["home"])
    return study.pk


def _answer(turn, rng):
    card, gold = turn.example.split.task.card, list(dict.fromkeys(turn.example.gold))
    if card.labels:
        return gold if rng.random() < 0.7 else [rng.choice([label.name for label in card.labels])]
    if card.answered_by == "number":
        return gold if rng.random() < 0.7 else [rng.choice("123")]
    return gold if rng.random() < 0.6 else ["went to"]


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


@pytest.fixture
def export(study, tmp_path):
    call_command("export_study", study.name, str(tmp_path / "export"), verbosity=0)
    return Export(tmp_path / "export")


def _own(export, kind, task, shots):
    """Return each annotator's (answer, gold) pairs in a cell, as texts in the test file's order."""
    position = {
        row["example"]: int(row["position"])
        for row in export["examples.csv"]
        if row["task"] == task and row["file_kind"] == "test"
    }
    own = {}
    for row in export["answers.csv"]:
        cell = (row["kind"], row["task"], row["shots"], row["step"])
        if cell == (kind, task, shots, "annotation"):
            answers = own.setdefault(row["annotator"], {})
            texts = json.loads(row["answer"]), json.loads(row["gold"])
            answers[position[row["example"]]] = texts
    return [[answers[place] for place in sorted(answers)] for answers in own.values()]


@pytest.mark.engines
def test_a_cell_is_the_mean_over_annotators_of_the_card_s_metric(study, export):
    table = performance.performance(study)
    for name, metric in (("ratings", "Pearson-Correlation"), ("moods", "Classification-F1")):
        scores = [
            100 * METRICS[metric].corpus([said for (said,), _ in one], [gold for _, gold in one])
            for one in _own(export, "person", name, "2")
        ]
        cell = table.cells[name, 2]
        assert len(scores) == cell.n == 3
        assert cell.mean == pytest.approx(statistics.fmean(scores), abs=1e-9)
        assert cell.sd_ddof1 == pytest.approx(statistics.stdev(scores), abs=1e-9)
        assert (cell.metric, cell.remark) == (metric, "")


def test_two_empty_answers_are_right_under_text_metrics(study, export):
    table = performance.performance(study)
    by_person = []
    for one in _own(export, "person", "places", "0"):
        scores = [
            float(not said and not gold)
            if not (said and gold)
            else METRICS["QA-F1"].example(
                " [SEP] ".join(sorted(said)), [" [SEP] ".join(sorted(gold))]
            )
            for said, gold in one
        ]
        by_person.append(100 * statistics.fmean(scores))
    assert table.cells["places", 0].mean == pytest.approx(statistics.fmean(by_person), abs=1e-9)
    assert any(not gold for _said, gold in one)


@pytest.mark.engines
def test_the_export_verifies_and_has_every_metric(export, capsys):
    assert export.verify() == 0, capsys.readouterr().out
    assert {row["metric"] for row in export["metrics.csv"]} == {
        "S1", "EM", "QA-F1", "Rouge-L", "Classification-F1", "Pearson-Correlation",
    }  # fmt: skip


def test_an_altered_answer_cannot_agree_with_the_spans(export, monkeypatch, capsys):
    row = next(
        row
        for row in export["answers.csv"]
        if (row["task"], row["step"]) == ("places", "annotation") and row["answer"] != row["gold"]
    )
    row["answer"] = row["gold"]
    make_agree(export, monkeypatch)
    capsys.readouterr()
    assert export.verify() == 1
    assert "spans.csv" in capsys.readouterr().out


def test_a_constant_annotator_leaves_the_correlation_undefined(study, ada, module_researcher):
    scenario = study.scenarios.get(task__name="ratings", shots=0)
    seat = scenario.participations.first()
    exclusion.decide(seat, False, "made room", module_researcher)
    constant = factories.seat(scenario)
    factories.work_through(constant, lambda turn: ["2"])
    cell = performance.performance(study).cells["ratings", 0]
    assert math.isnan(cell.mean)
    assert cell.text == "undefined: constant prediction (1 of 3)"
    (row,) = [
        row for row in metrics.rows(study)
        if (row.who, row.task.name, row.shots, row.metric)
        == ("person", "ratings", 0, "Pearson-Correlation")
    ]  # fmt: skip
    assert (row.interval, row.score.text) == ("– (undefined: constant prediction)", cell.text)
    answered = findings.answered(study, Kind.PERSON)
    (mean,) = [row for row in means.means(answered) if (row.task, row.shots) == ("ratings", 0)]
    assert mean.no_interval == "values are missing"
    (gap,) = [row for row in tested.contrasts(answered) if row.task == "ratings"]
    assert math.isnan(gap.permutation_p)
    page = ada.get(reverse("human_performance", args=[study.name])).content.decode()
    assert "undefined: constant prediction (1 of 3)" in page
    for address in _addresses(study):
        text = ada.get(address).content.decode()
        assert not re.search(r"(?<![A-Za-z])nan(?![A-Za-z])", text, re.I), address


def _addresses(study):
    names = [study.name]
    return [
        reverse("human_performance", args=names),
        *(reverse("human_performance_file", args=[*names, ext]) for ext in ("csv", "md", "tex")),
        reverse("study_models", args=names),
        reverse("study_models", args=names, query={"show": "differences"}),
        reverse("study_models_file", args=[*names, "metrics"]),
        reverse("study_models_file", args=[*names, "scores"]),
        reverse("analysis", args=names),
        reverse("api_study_models", args=names),
        reverse("api_human_performance", args=names),
    ]


def test_pages_files_and_api_show_every_metric_of_both_kinds(study, ada):
    page = ada.get(reverse("study_models", args=[study.name])).content.decode()
    assert "All metrics" in page
    assert page.count("Rouge-L") >= 4  # people and the model, at 0 and 2 shots
    text = ada.get(reverse("study_models_file", args=[study.name, "metrics"])).content.decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    places = {
        (row["kind"], row["metric"]): row
        for row in rows
        if (row["task"], row["shots"]) == ("places", "0")
    }
    every = {"QA-F1", "S1", "EM", "Rouge-L"}
    assert set(places) == {(who, m) for who in ("person", "simulated", "uploaded") for m in every}
    assert places["uploaded", "QA-F1"]["role"] == "card"
    assert places["uploaded", "EM"]["role"] == "further"
    assert float(places["person", "EM"]["low_95"]) <= float(places["person", "EM"]["mean"])
    reply = ada.get(reverse("api_study_models", args=[study.name])).json()
    assert {row["metric"] for row in reply[0]["metrics"]} >= every
    assert {row["kind"] for row in reply[0]["metrics"]} == {"person", "uploaded"}
    assert "" not in [row["remark"] for row in reply[0]["metrics"]]


def test_a_constant_model_is_reported_next_to_its_score(study):
    (table,) = [table for table in model_tables.tables(study, Kind.PERSON) if table.shots == 2]
    (row,) = [row for row in table.rows if row.source == "uploaded"]
    by_task = {task.name: score for task, score in zip(row.tasks, row.scores, strict=True)}
    assert by_task["ratings"].text == "undefined: constant prediction (1 of 1)"
    assert by_task["moods"].mean == pytest.approx(100 / 3)  # the mean of F1 2/3 and F1 0
    assert row.aggregate is None


def test_the_table_names_its_metric_wherever_it_is_printed(study):
    table = performance.performance(study)
    for text in (as_markdown(table), as_latex(table)):
        for named in (
            "Classification-F1 (moods)",
            "Pearson-Correlation (ratings)",
            "QA-F1 (places)",
        ):
            assert named in text
        assert "0 shots, EM" in text
        assert "0 shots, Rouge-L" in text
        assert "qa-f1" in text
        assert "each annotator's score x 100 on the test set" in text


def test_the_difference_from_a_model_is_that_of_the_two_means(study):
    rows = {(row.task, row.shots): row for row in differences.differences(study, Kind.PERSON)}
    people = performance.performance(study).cells
    under = {row.model: row for row in rows.values()}
    assert set(under) == {"toy"}
    for (task, shots), row in rows.items():
        if task != "ratings":
            assert row.difference == pytest.approx(row.human_mean - row.model_mean, abs=1e-9)
            assert row.human_mean == pytest.approx(people[task, shots].mean, abs=1e-9)
    assert rows["moods", 2].model_mean == pytest.approx(100 / 3)
    assert math.isnan(rows["ratings", 2].difference)


def test_intervals_of_the_page_are_those_of_the_table_of_metrics(study):
    answered = findings.answered(study, Kind.PERSON)
    under = {
        (row.task.name, row.shots): row
        for row in metrics.rows(study)
        if row.who == "person" and row.role == metrics.CARD
    }
    assert len(under) == 6
    for mean in means.means(answered):
        row = under[mean.task, mean.shots]
        assert mean.mean == pytest.approx(row.score.mean, abs=1e-9)
        assert (mean.low, mean.high) == pytest.approx((row.low, row.high), abs=1e-9, nan_ok=True)


def test_the_shot_curve_names_each_metric_and_learning_uses_s1(study, ada):
    def of(figure, ext):
        return ada.get(reverse("figure_file", args=[study.name, figure, ext]))

    rows = list(csv.DictReader(io.StringIO(of("shots", "csv").content.decode(), newline="")))
    cards = {task.name: task.card.metric for task in study.tasks.all()}
    assert {(row["task"], row["metric"]) for row in rows} == set(cards.items())
    cells = performance.performance(study).cells
    for row in rows:
        if row["what"] == "mean":
            mean = cells[row["task"], int(row["shots"])].mean
            assert 100 * float(row["score"]) == pytest.approx(mean)
    picture = of("shots", "svg").content.decode()
    for name, metric in cards.items():
        assert f">{name} ({metric})<" in picture
    assert ">Score x 100<" in picture
    assert "S1" not in picture
    assert ">S1 x 100 of single answers<" in of("learning", "svg").content.decode()
    page = ada.get(reverse("figures", args=[study.name]), follow=True).content.decode()
    assert "Pearson-Correlation (ratings)" in page


FITTING = {
    "option": "Classification-F1", "options": "EM", "short text": "QA-F1", "long text": "Rouge-L",
}  # fmt: skip


def test_a_study_that_mixes_kinds_and_metrics_verifies(researcher, tmp_path, capsys):
    tasks = [
        factories.make_kind(kind, metric=metric, test_size=3) for kind, metric in FITTING.items()
    ]
    study = factories.make_study(researcher, *tasks, shots=[0], annotators=2, metrics=["ACC"])
    for number, scenario in enumerate(study.scenarios.order_by("pk")):
        texts = factories.right_texts if number % 2 else factories.wrong_texts
        for answer in (factories.right_texts, texts):
            factories.work_through(
                factories.seat(scenario), lambda turn, of=answer: of(turn.example)
            )
    call_command("export_study", study.name, str(tmp_path / "export"), verbosity=0)
    export = Export(tmp_path / "export")
    assert export.verify() == 0, capsys.readouterr().out
    capsys.readouterr()
    rows = export["metric_values.csv"]
    assert {row["metric"] for row in rows} == {*FITTING.values(), "ACC"}
    assert len(rows) == 2 * 2 * len(FITTING)


def test_a_study_of_s1_alone_shows_no_table_of_metrics(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0])
    factories.work_through(factories.seat(study.scenarios.get()))
    assert metrics.page_rows(study, Kind.PERSON) == []
    page = ada.get(reverse("study_models", args=[study.name])).content.decode()
    assert "All metrics" not in page
    (row,) = metrics.rows(study)
    frame = frames.annotators(study)
    assert (row.metric, row.score.mean) == ("S1", 100 * frame["mean_s1"].mean())


def test_verify_in_the_export_is_the_unchanged_program(export):
    assert Path(verify.__file__).read_text() == (export.folder / "verify.py").read_text()
