"""Published scores are shown for the published test files, whatever a task is called."""

import csv
import io
import subprocess
import sys
from dataclasses import replace

import pytest
from django.core.management import call_command
from django.urls import reverse

from analysis.scores import scores
from tasks.importing import CLUES, import_task, read_clues
from tests import factories

SENTENCE = "SST-2: not compared with CLUES (same name, different data)."


def everywhere(client, study) -> dict[str, str]:
    """Return all places where published figures could appear, as text."""
    table = "human_performance_file"
    return {
        "page": client.get(reverse("human_performance", args=[study.name])).content.decode(),
        **{
            form: client.get(reverse(table, args=[study.name, form])).content.decode()
            for form in ("csv", "md", "tex")
        },
        "report": client.get(reverse("report", args=[study.name])).content.decode(),
        "models": client.get(reverse("study_models", args=[study.name])).content.decode(),
        "scores": client.get(
            reverse("study_models_file", args=[study.name, "scores"])
        ).content.decode(),
    }


def performance_csv(study, folder) -> list[dict]:
    """Export and verify the study; return the rows of human_performance.csv."""
    call_command("export_study", study.name, str(folder), verbosity=0)
    ran = subprocess.run(
        [sys.executable, "-I", str(folder / "verify.py")],
        capture_output=True, text=True, timeout=60, env={}, check=False,
    )  # fmt: skip
    assert ran.stdout.endswith("no external hash was given.\n"), ran.stdout
    text = (folder / "human_performance.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.long
def test_a_task_with_only_the_name_has_no_published_scores(ada, researcher, tmp_path):
    task = factories.make_task(name="SST-2", labels=factories.LABELS, shots=[10])
    study = factories.make_study(researcher, task, shots=[0, 10], annotators=1)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    places = everywhere(ada, study)
    for place, text in places.items():
        assert "83.5" not in text, place
        assert "BERT" not in text, place
    for place in ("page", "md", "tex", "report", "models"):
        assert SENTENCE in places[place].replace("\\", ""), place
    for row in ada.get(reverse("api_human_performance", args=[study.name])).json():
        assert row["published_mean"] is row["published_spread"] is None
    (reply,) = ada.get(reverse("api_study_models", args=[study.name])).json()
    assert {row["source"] for row in reply["scores"]} == {"study"}
    for row in performance_csv(study, tmp_path / "out"):
        assert row["published_mean"] == row["published_spread"] == ""


@pytest.mark.long
@pytest.mark.real_data
def test_shipped_hashes_match_the_published_test_files(db, clues):
    hashes = {}
    for name in CLUES:
        card, files = read_clues(clues, name)
        hashes[import_task(card, files).task.test_hash] = name
    assert hashes == scores.test_files()


@pytest.mark.long
@pytest.mark.real_data
def test_the_published_test_file_is_compared_under_any_name(ada, researcher, clues, tmp_path):
    """A renamed task keeps the published scores; a task with one test example less doesn't."""
    card, files = read_clues(clues, "SST-2")
    renamed = import_task(replace(card, name="movies"), files).task
    study = factories.make_study(researcher, renamed, shots=[0, 10], annotators=1)
    places = everywhere(ada, study)
    for place in ("page", "csv", "md", "tex", "report", "scores"):
        assert ("0.835" if place in ("csv", "scores") else "83.5") in places[place], place
    assert "BERT-Base FT" in places["models"]
    assert "not compared" not in places["page"]
    (ten,) = (row for row in performance_csv(study, tmp_path / "out") if row["shots"] == "10")
    assert (ten["published_mean"], ten["published_spread"]) == ("0.798", "0.012")

    (test,) = (file for file in files if file.kind == "test")
    shorter = [file for file in files if file != test]
    shorter.append(replace(test, records=test.records[1:]))
    other = import_task(card, shorter).task
    study = factories.make_study(researcher, other, shots=[0, 10], annotators=1)
    assert SENTENCE in everywhere(ada, study)["page"]
    assert "83.5" not in everywhere(ada, study)["page"]
