"""What a task without an empty answer gives without reading: ReCoRD's floors, measured."""

import subprocess
import sys

import pytest
from django.core.management import call_command
from django.urls import reverse

from tasks.importing import import_task, read_clues
from tasks.models import TaskReport
from tests import factories


def verified(study, folder) -> None:
    call_command("export_study", study.name, str(folder), verbosity=0)
    ran = subprocess.run(
        [sys.executable, "-I", str(folder / "verify.py")],
        capture_output=True, text=True, timeout=60, env={}, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout


@pytest.mark.engines
def test_a_random_option_is_a_floor_of_the_page_and_of_the_export(ada, researcher, db, tmp_path):
    study = factories.make_study(researcher, factories.make_kind("option"), annotators=1)
    (floor,) = study.tasks.get().report["floors"]
    assert floor["name"] == "a random option"
    page = ada.get(reverse("human_performance", args=[study.name])).content.decode()
    assert "<br><small>a random option" in page
    rows = ada.get(reverse("api_human_performance", args=[study.name])).json()
    assert [row["floor_random"] for row in rows] == pytest.approx([floor["s1"]] * 2)
    verified(study, tmp_path / "out")


@pytest.mark.long
@pytest.mark.real_data
def test_record_has_the_floors_of_a_random_and_of_the_most_frequent_entity(
    ada, researcher, clues, db, tmp_path
):
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
    assert (round(row["floor_random"], 2), row["floor_frequent"]) == (10.04, 21.0)
    assert row["baseline"] is None
    verified(study, tmp_path / "out")

    # A report of version 0.1.0 knew no floors, and called what nobody may answer a baseline.
    old = {key: value for key, value in task.report.items() if key != "floors"}
    TaskReport.objects.filter(task=task).update(content=old | {"baseline": 0.0})
    page = ada.get(reverse("human_performance", args=[study.name])).content.decode()
    assert "none: every example has an answer" in page
    again = import_task(card, files)
    assert (again.created, again.task.pk) == (False, task.pk)
    assert len(again.report["floors"]) == 2


def test_a_task_that_lists_no_candidates_says_that_it_has_no_baseline(
    ada, researcher, db, tmp_path
):
    records = [record for record in factories.place_records("x", 9) if record.gold]
    task = factories.make_task(test=records, train={2: records[:2]}, shots=[2], no_answer=False)
    assert (task.report["baseline"], task.report["floors"]) == (None, [])
    study = factories.make_study(researcher, task, shots=[0], annotators=1)
    factories.work_through(factories.seat(study.scenarios.get()))
    page = ada.get(reverse("human_performance", args=[study.name])).content.decode()
    assert "none: every example has an answer" in page
    assert ada.get(reverse("figures", args=[study.name])).status_code == 200
    verified(study, tmp_path / "out")
    draft = factories.make_study(researcher, task, shots=[0], status="draft")
    verified(draft, tmp_path / "draft")
