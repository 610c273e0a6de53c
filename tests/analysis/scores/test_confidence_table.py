"""Confidence and the point of no further gain: page, CSV, API, LaTeX, export and documents."""

import csv
import io
import json

import altair as alt
import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from analysis.documents import report, results
from analysis.documents.blocks import Picture, as_markdown
from analysis.documents.study_record import StudyRecord
from analysis.figures import data
from analysis.scores.confidence import CONFIDENCE
from analysis.scores.training import PLATEAU
from tests import factories
from tests.analysis.export.tampering import Export
from tests.annotation.participation import both_doors
from tests.annotation.protocol.test_model_annotators import RUN, at_work, post

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(researcher):
    """One annotator per arm: sure and right at 0 shots, half sure with one error at 4 shots."""
    task = factories.make_task(labels=factories.LABELS, name="toy-labels", shots=(4,), test_size=4)
    study = factories.make_study(
        researcher, task, shots=[0, 4], annotators=1, hide_test_scores=False, confidence_share=1,
        asks_reasons=True,
    )  # fmt: skip
    for scenario, point, wrong in zip(study.scenarios.order_by("shots"), "53", (0, 1), strict=True):
        rate = {"confidence": point, "reason": f"It is, {point}"}
        factories.work_through(
            factories.seat(scenario), _mistaking(wrong),
            rate=lambda turn, rate=rate: {"skip": "1"} if turn.position == 3 else rate,
        )  # fmt: skip
    return study


def _mistaking(left):
    def answer(turn):
        (gold,) = turn.example.gold
        is_wrong = turn.step == "annotation" and turn.position < left
        return [("negative" if gold == "positive" else "positive") if is_wrong else gold]

    return answer


def rows_of(ada, study, table) -> list[dict]:
    reply = ada.get(reverse("analysis_file", args=[study.name, table]))
    assert reply.status_code == 200
    return list(csv.DictReader(io.StringIO(reply.content.decode())))


def test_page_csv_api_and_latex_show_confidence_and_its_change(ada, study):
    page = ada.get(reverse("analysis", args=[study.name])).content.decode()
    for name in ("confidence", "calibration", "plateau"):
        assert f'<h2 id="{name}">' in page
    zero, four = rows_of(ada, study, "confidence")
    assert (zero["answers"], zero["skipped"], zero["change"]) == ("3", "1", "")
    assert [float(zero[name]) for name in ("mean_confidence", "ece", "brier")] == [1, 0, 0]
    assert float(four["overconfidence"]) == pytest.approx(0.5 - 2 / 3)
    assert float(four["brier"]) == pytest.approx(0.25)
    assert float(four["change"]) == -0.5
    assert four["ece_no_interval"] == "fewer than 10 annotators"
    (right, half) = rows_of(ada, study, "calibration")
    assert (right["point"], float(right["s1_rated"])) == ("5", 1)
    assert (half["point"], float(half["s1_rated"])) == ("3", pytest.approx(2 / 3))
    api = ada.get(reverse("api_analysis", args=[study.name])).json()[0]
    assert api["confidence"][1]["brier"] == pytest.approx(0.25)
    assert [row["plateau"] for row in api["plateau"]] == [0]
    tex = ada.get(reverse("table_latex", args=[study.name, "confidence"])).content.decode()
    assert "Overconfidence" in tex


def test_the_calibration_curve_is_next_to_its_table(ada, study):
    (section,) = [s for s in report.for_study(study).sections if s.title.startswith("Confidence")]
    captions = [getattr(part, "caption", "").partition(".")[0] for part in section.blocks]
    assert captions[:3] == ["Confidence", "Calibration", "Calibration curve"]
    assert isinstance(section.blocks[2], Picture)
    page = ada.get(reverse("analysis", args=[study.name])).content.decode()
    address = reverse("human_performance", args=[study.name]) + "?show=figures"
    assert f'<a href="{address}&amp;kind=person#calibration">Calibration curve</a>' in page
    page = ada.get(address).content.decode()
    assert '<h2 id="calibration">Calibration curve</h2>' in page
    files = {ext: ada.get(reverse("figure_file", args=[study.name, "calibration", ext]))
             for ext in ("csv", "json", "svg", "pdf")}  # fmt: skip
    assert {reply.status_code for reply in files.values()} == {200}
    rows = list(csv.DictReader(io.StringIO(files["csv"].content.decode())))
    assert [(row["chance"], row["answers"]) for row in rows] == [("0.5", "3"), ("1", "3")]
    numbers = ada.get(reverse("figure_numbers", args=[study.name, "calibration"]))
    assert b"kind,task,name,point,chance,answers,s1_rated" in numbers.content


def test_a_design_without_confidence_has_no_calibration_curve(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0], annotators=1)
    factories.work_through(factories.seat(study.scenarios.get()))
    assert b"Calibration curve" not in ada.get(reverse("figures", args=[study.name])).content
    assert (
        ada.get(reverse("figure_file", args=[study.name, "calibration", "svg"])).status_code == 404
    )
    assert "Calibration curve" not in as_markdown(report.for_study(study))


def test_the_export_has_points_and_reasons_and_agrees(study, tmp_path, capsys):
    call_command("export_study", study.name, str(tmp_path / "export"), verbosity=0)
    export = Export(tmp_path / "export")
    assert export.verify() == 0, capsys.readouterr().out
    rated = [(row["confidence"], row["reason"]) for row in export["answers.csv"]]
    assert rated.count(("5", "It is, 5")) == 3
    assert rated.count(("3", "It is, 3")) == 6  # three in training, three in the test
    assert rated.count(("", "")) == 3
    assert [row["mean_confidence"] for row in export["confidence.csv"]] == ["1.0", "0.5"]
    assert len(export["calibration.csv"]) == 2
    assert [row["training_n"] for row in export["plateau.csv"]] == ["4"]


def test_each_seated_model_has_its_own_calibration(ada, researcher):
    """Equally sure, one model is always right, one always wrong, and one right on half."""
    task = factories.make_task(
        labels=factories.LABELS, name="toy-places", shots=(2,), test_size=12, splits=2
    )
    study = both_doors.make_study(
        researcher, task, shots=[0, 2], splits=[1, 2], annotators=1, confidence_share=1
    )
    run = factories.bearer(researcher, "run")
    sure, half = {"confidence": "5"}, {"confidence": "3"}
    for name, answer in (("a/right", None), ("b/wrong", wrong), ("c/half", positive)):
        for shots, split, rate in ((0, None, sure), (2, 1, half), (2, 2, sure)):
            seat = at_work(study, run, name=name, shots=shots, split=split)
            factories.work_through(seat, answer, rate=lambda turn, rate=rate: rate)
            assert post("finish", seat.token, RUN).status_code == 200
    reply = ada.get(reverse("analysis_file", args=[study.name, "confidence"]) + "?kind=model")
    rows = {
        (row["name"].split()[0], row["shots"]): row
        for row in csv.DictReader(io.StringIO(reply.content.decode()))
    }
    assert [(*cell, row["n"], row["answers"]) for cell, row in rows.items()] == [
        ("a/right", "0", "1", "12"), ("a/right", "2", "2", "24"),
        ("b/wrong", "0", "1", "12"), ("b/wrong", "2", "2", "24"),
        ("c/half", "0", "1", "12"), ("c/half", "2", "2", "24"),
    ]  # fmt: skip
    briers = [float(row["brier"]) for row in rows.values()]
    assert briers == pytest.approx([0, 0.125, 1, 0.625, 0.5, 0.375])
    always_wrong, half_right = rows["b/wrong", "2"], rows["c/half", "0"]
    assert (float(always_wrong["ece"]), float(always_wrong["change"])) == (0.75, -0.25)
    # Intervals are over contexts, so a run is enough; changes are paired by context.
    assert always_wrong["ece_no_interval"] == "contexts tie"
    assert rows["c/half", "2"]["change_no_interval"] == "contexts tie"
    assert 0.1 < float(half_right["ece_low"]) < 0.5 < float(half_right["ece_high"]) < 0.9
    page = ada.get(reverse("analysis", args=[study.name]) + "?kind=model").content.decode()
    assert "a/right" in page.partition('id="calibration"')[2]
    person = factories.seat(study.scenarios.get(shots=0))
    factories.work_through(person, rate=lambda turn: sure)
    shown, *_others = results.calibration(StudyRecord(study))
    names = [row[2].split()[0] for row in shown.rows]
    assert names == ["People", *("a/right",) * 2, *("b/wrong",) * 2, *("c/half",) * 2]

    figure = data.figure(study, "person", "calibration")
    assert [(row["who"].split()[0], row["chance"], row["s1"]) for row in records(figure)] == [
        ("People", 100, 100),
        ("a/right", 50, 100), ("a/right", 100, 100), ("b/wrong", 50, 0), ("b/wrong", 100, 0),
        ("c/half", 50, 50), ("c/half", 100, 50),
    ]  # fmt: skip
    assert figure.cells[1][2:5] == ["3", "50.0", "12"]
    alt.FacetChart.from_dict(figure.spec, validate=True)
    assert b"a/right" in data.picture(figure, "svg")


def records(figure):
    return figure.frame.to_dict("records")


def positive(turn):
    return ["positive"]


def wrong(turn):
    (gold,) = turn.example.gold
    return ["negative" if gold == "positive" else "positive"]


def test_a_design_without_confidence_has_no_such_table(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), hide_test_scores=False)
    page = ada.get(reverse("analysis", args=[study.name])).content.decode()
    assert 'id="confidence"' not in page
    assert 'id="calibration"' not in page


@pytest.mark.long
def test_simulated_annotators_have_the_declared_confidence(researcher):
    task = factories.make_task(labels=factories.LABELS, name="toy-labels", shots=(4,), test_size=30)
    study = factories.make_study(
        researcher, task, shots=[0, 4], annotators=10, rehearsal=True, confidence_share=1
    )
    call_command("simulate_workers", study.name, policy="noisy:0.7+confidence:1", processes=1)
    zero, four = CONFIDENCE.rows(study, "simulated")
    assert (zero.n, four.n, zero.answers) == (10, 10, 300)
    assert zero.over[1] <= 100 * (1 - 0.7**4) / 4 + 5
    assert zero.over[1] > 0  # the interval shows overconfidence
    assert four.change[1] < 0 < four.change[2]
    (plateau,) = PLATEAU.rows(study, "simulated")
    assert plateau.point[1] == 0


def test_the_manifest_and_preregistration_state_the_share(ada, study):
    manifest = json.loads(study.manifest)
    assert (manifest["confidence_share"], manifest["asks_reasons"]) == (1, True)
    page = ada.get(reverse("preregistration", args=[study.name])).content.decode()
    assert "how confident they are that their answer is correct" in " ".join(page.split())


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("analysis", 'FROM "annotation_confidence"'),
        ("study_models", 'SUM("annotation_answer"."active_seconds")'),
    ],
)
def test_pages_query_no_confidence_or_effort_that_is_absent(ada, researcher, name, asked):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0], hide_test_scores=False
    )
    factories.work_through(factories.seat(study.scenarios.get()))
    with CaptureQueriesContext(connection) as seen:
        assert ada.get(reverse(name, args=[study.name])).status_code == 200
    assert not any(asked in query["sql"] for query in seen)


def test_control_confidence_is_queried_where_it_was_asked(ada, study):
    with CaptureQueriesContext(connection) as seen:
        assert ada.get(reverse("analysis", args=[study.name])).status_code == 200
    assert any('FROM "annotation_confidence"' in query["sql"] for query in seen)
