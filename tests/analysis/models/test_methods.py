"""How runs were made: method, choice of prompts and settings, full supervision (Tables 5 and 6)."""

import csv
import io

import altair as alt
import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.urls import reverse

from analysis.documents import paper_tables
from analysis.models import differences, leaderboard
from analysis.models import models as model_tables
from analysis.scores import marks
from annotation.models import Kind
from annotation.study import lifecycle
from tasks.models import LanguageModel, PredictionFile, Task
from tests import factories
from tests.tasks.predictions import send

HELD_OUT = "Prompts or settings were chosen on held-out data for tuned,"


@pytest.fixture
def study(researcher, db):
    task = factories.make_task(splits=2)
    study = factories.make_study(researcher, task, shots=[0, 2], annotators=1, splits=[1])
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    return study


def run(folder, study, model, *names, **stated):
    """Import correct predictions from files named after the task plus these names."""
    task = study.tasks.get()
    place = folder / model
    place.mkdir()
    for name in names:
        (place / f"{task.name}_{name}.jsonl").write_bytes(factories.prediction_lines(task))
    options = [part for key, value in stated.items() for part in (f"--{key}", value)]
    call_command("import_predictions", model, str(place), *options, verbosity=0)


def test_a_supervised_run_is_placed_and_shown_but_not_compared(ada, study, tmp_path):
    run(tmp_path, study, "big", "2_1", "2_2", "all", method="FT", tuning="training")
    file = PredictionFile.objects.get(shots=None)
    assert (file.place, file.split_number, file.method) == ("fully supervised", None, "FT")
    tables = {table.shots: table for table in model_tables.tables(study, Kind.PERSON)}
    assert list(tables) == [0, 2, "all"]
    (row,) = tables["all"].rows
    assert (row.name, row.unit, row.scores[0].text) == ("big", "runs", "100.0 ± –")
    assert "fine-tuning; prompts and settings chosen on the training data" in row.run.text
    assert {pair.shots for pair in differences.differences(study, Kind.PERSON)} == {2}
    assert leaderboard.boards(study, Kind.PERSON)
    page = ada.get(reverse("study_models", args=[study.name])).content.decode()
    assert "Fully supervised" in page
    rows = ada.get(reverse("api_models")).json()
    assert [row["shots"] for row in rows] == [2, None]
    assert {row["method"] for row in rows} == {"FT"}
    assert "All" in ada.get(reverse("model", args=["big"])).content.decode()
    with pytest.raises(IntegrityError), transaction.atomic():
        PredictionFile.objects.filter(pk=file.pk).update(split_number=3)
    with pytest.raises(IntegrityError), transaction.atomic():
        PredictionFile.objects.filter(shots=2, split_number=1).update(shots=None, split_number=None)


@pytest.mark.long
def test_runs_tuned_on_held_out_data_are_marked_on_every_table(ada, study, tmp_path):
    run(tmp_path, study, "plain", "0", method="ICL", tuning="fixed")
    assert HELD_OUT not in paper_tables.latex(study, Kind.PERSON, "methods")
    run(tmp_path, study, "tuned", "all", method="PT", tuning="held-out")
    for name in ("study_models", "human_performance", "analysis"):
        page = ada.get(reverse(name, args=[study.name])).content.decode()
        assert HELD_OUT in page, name
    for table in ("models", "methods", "differences", "human-performance", "leaderboard"):
        assert HELD_OUT in paper_tables.latex(study, Kind.PERSON, table), table
    lifecycle.change_status(study, "close")
    assert HELD_OUT in " ".join(marks.sentences(study))
    with pytest.raises(IntegrityError), transaction.atomic():
        PredictionFile.objects.update(tuning="by ear")


@pytest.mark.long
def test_notes_of_a_table_explain_only_what_it_contains(study, tmp_path):
    def notes(name):
        text = paper_tables.latex(study, Kind.PERSON, name).partition("begin{tablenotes}")[2]
        return " ".join(text.split())

    for name in ("human-performance", "intervals", "sensitivity", "figure-shots"):
        assert r"\item" in notes(name)
        assert "textdagger" not in notes(name), name  # no interval has a value
    assert "Annotators, this study:" in notes("models")
    assert "Uploaded models:" not in notes("models")
    assert "Published:" not in notes("models")
    assert "fully supervised" not in notes("methods")
    assert "FT: " not in notes("methods")
    run(tmp_path, study, "big", "2_1", "all", method="FT")
    assert "Uploaded models: Mean" in notes("models")
    assert "Columns: shots; All: fully supervised. Mean" in notes("methods")
    assert "FT: fine-tuning, as stated by the uploader." in notes("methods")
    assert "PT: prompt-based fine-tuning" not in notes("methods")


def test_the_page_states_method_and_tuning_of_an_upload(ada, study):
    task = study.tasks.get()
    file = (f"{task.name}_all.jsonl", factories.prediction_lines(task))
    assert send(ada, file, method="PT", tuning="held-out").status_code == 302
    text = ada.get(reverse("model_file", args=["toy"])).content.decode()
    (row,) = csv.DictReader(io.StringIO(text))
    assert (row["shots"], row["method"], row["tuning"]) == ("", "PT", "held-out")


@pytest.mark.real_data
def test_the_table_by_method_prints_tables_5_and_6(researcher, db, clues, tmp_path):
    call_command("import_clues", str(clues), "--task", "SST-2", verbosity=0)
    task = Task.objects.get()
    study = factories.make_study(researcher, task, shots=[0, 10, 20, 30], annotators=1, splits=[1])
    run(tmp_path, study, "mine", "10_1", "all", method="FT")
    text = paper_tables.latex(study, Kind.PERSON, "methods")
    lines = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert r"\multicolumn{5}{c}{SST-2}" in lines[0]
    assert lines[1] == r" & 0 & 10 & 20 & 30 & All \\"
    assert lines[2].startswith("People, ")
    assert (
        r"BERT-Base FT, published & -- & 46.2 $\pm$ 5.6 & 54.0 $\pm$ 2.8 & 53.6 $\pm$ 5.5 & 98.1"
        r" $\pm$ -- \\"
    ) in lines
    assert r"mine FT, uploaded & -- & 100.0 $\pm$ -- & -- & -- & 100.0 $\pm$ -- \\" in lines


@pytest.mark.long
def test_sds_over_splits_are_drawn_by_model_size(researcher, study, ada):
    page = reverse("figures", args=[study.name])
    assert 'id="sizes"' not in ada.get(page, follow=True).content.decode()
    task = study.tasks.get()
    wrong = {"large": 0, "small": 4, "unsized": 1, "tiny": 4}  # wrong answers on the second split
    for model, errors in wrong.items():
        bad = set(task.test_split.examples.values_list("pk", flat=True)[:errors])
        for number in (1, 2) if model != "tiny" else (1,):
            factories.predict(
                researcher, model, task, 2, number,
                lambda e, n=number, bad=bad: ["bed"] if n == 2 and e.pk in bad else e.gold,
            )  # fmt: skip
    for model, parameters in (("large", 770_000_000), ("small", 1_000_000), ("tiny", 1000)):
        LanguageModel.objects.filter(name=model).update(parameters=parameters)
    text = paper_tables.latex(study, Kind.PERSON, "figure-sizes")
    lines = [line for line in text.splitlines() if line.startswith(task.name)]
    assert lines == [
        rf"{task.name} & 1,000,000 & small & 2 & S1 & 70.71 & 2 of 2 \\",
        rf"{task.name} & 770,000,000 & large & 2 & S1 & 0.00 & 2 of 2 \\",
    ]
    assert 'id="sizes"' in ada.get(page, follow=True).content.decode()
    drawn = ada.get(reverse("figure_file", args=[study.name, "sizes", "json"])).json()
    alt.FacetChart.from_dict(drawn, validate=True)
    (points,) = drawn["datasets"].values()
    assert [(p["model"], p["parameters"], p["shots"]) for p in points] == [
        ("small", 1_000_000, "2"), ("large", 770_000_000, "2"),
    ]  # fmt: skip
    assert [p["sd"] for p in points] == pytest.approx([70.71, 0], abs=0.01)
    line, dots = drawn["spec"]["layer"]
    assert line["encoding"]["y"]["aggregate"] == "mean"
    assert dots["encoding"]["x"]["scale"]["type"] == "log"
    svg = ada.get(reverse("figure_file", args=[study.name, "sizes", "svg"]))
    assert b"Parameters" in svg.content
