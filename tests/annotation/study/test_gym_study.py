"""A study of real Few-shot Gym tasks with each answer type, from import to tables."""

import csv
import io
import json
import subprocess
import sys

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotation.models import Answer, Participation, Status
from tasks.models import PredictionFile, Task
from tasks.predictions.store import PredictionsError, PredictionUpload, add
from tests import factories
from tests.tasks.test_gym import GYM

TASKS = (
    "codah", "common_gen", "limit", "squad-with_context", "superglue-cb", "superglue-multirc",
    "web_questions",
)  # fmt: skip
PAGES = ("human_performance", "training", "gold_audit", "report", "preregistration")
PAGES_OF_A_KIND = (
    "examples", "analysis", "study_models", "study_differences", "leaderboard", "figures",
    "sensitivity",
)  # fmt: skip


@pytest.mark.long
@pytest.mark.real_data
@pytest.mark.timeout(400)
def test_simulated_annotators_complete_every_kind_of_gym_task(ada, researcher, tmp_path):
    call_command("import_gym", str(GYM), tasks=list(TASKS), test=5, seed=3, stdout=io.StringIO())
    by_size: dict[int, list[Task]] = {}
    for task in Task.objects.order_by("name"):
        by_size.setdefault(task.training_sizes[0], []).append(task)
    assert {size: len(tasks) for size, tasks in by_size.items()} == {16: 1, 32: 6}
    for size, tasks in by_size.items():
        study = factories.make_study(researcher, *tasks, shots=[size], annotators=1, rehearsal=True)
        call_command(
            "simulate_workers", study.name, policy="noisy:0.8", seed=1, processes=1, verbosity=0
        )
        for walk in Participation.objects.filter(study=study):
            assert walk.status == Status.COMPLETED
            split = walk.scenario.task.train_split(size, walk.scenario.split_number)
            given = Answer.objects.filter(turn__participation=walk)
            assert given.filter(turn__step="training").count() == split.examples.count()
            assert given.filter(turn__step="annotation").count() == 5
        for page in PAGES:
            assert ada.get(reverse(page, args=[study.name]), follow=True).status_code == 200, page
        for page in PAGES_OF_A_KIND:
            address = reverse(page, args=[study.name])
            assert ada.get(f"{address}?kind=simulated", follow=True).status_code == 200, page
        _export_is_right(study, tmp_path / str(size))


def _export_is_right(study, folder) -> None:
    call_command("export_study", study.name, str(folder), stdout=io.StringIO())
    ran = subprocess.run(
        [sys.executable, "-I", str(folder / "verify.py")], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    with (folder / "human_performance.csv").open(newline="") as file:
        rows = {row["task"]: row for row in csv.DictReader(file) if row["kind"] == "simulated"}
    assert set(rows) == {task.name for task in study.tasks.all()}


@pytest.mark.long
@pytest.mark.real_data
def test_people_and_models_are_scored_on_the_same_part_of_a_test(ada, researcher):
    call_command("import_gym", str(GYM), tasks=["glue-rte"], test=6, seed=3, stdout=io.StringIO())
    task = Task.objects.get()
    study = factories.make_study(researcher, task, shots=[16], annotators=1)
    factories.work_through(factories.seat(study.scenarios.get()))
    whole = (GYM / "glue-rte" / "glue-rte_16_13_test.tsv").read_text().splitlines()
    lines = [
        json.dumps({"id": f"glue-rte_16_13_test:{number}", "predicted": [line.split("\t")[1]]})
        for number, line in enumerate(whole, 1)
    ]
    for number in range(1, 6):
        upload = PredictionUpload(
            f"glue-rte_16_{number}.jsonl", "\n".join(lines).encode(), task, 16, number
        )
        (file,) = add("right", [upload], researcher)
    scored = PredictionFile.objects.with_scores().get(pk=file.pk)
    assert (scored.examples, scored.mean_s1) == (6, 1)
    said = "6 of 60 test examples (drawn with seed 3)"
    for page in ("human_performance", *PAGES_OF_A_KIND, "training", "gold_audit", "report"):
        reply = ada.get(reverse(page, args=[study.name]), follow=True)
        assert said in reply.content.decode(), page
    for ext in ("csv", "md", "tex"):
        reply = ada.get(reverse("human_performance_file", args=[study.name, ext]))
        assert said in reply.content.decode(), ext
    prereg = ada.get(reverse("preregistration_file", args=[study.name])).content.decode()
    assert "glue-rte, 6 of 60 test examples drawn with seed 3" in prereg
    assert "(for glue-rte: k per correct answer)" in prereg


@pytest.mark.real_data
def test_a_prediction_for_an_unknown_line_is_refused(researcher):
    call_command("import_gym", str(GYM), tasks=["glue-rte"], test=6, seed=3, stdout=io.StringIO())
    task = Task.objects.get()
    line = json.dumps({"id": "glue-rte_16_13_test:61", "predicted": ["entailment"]}).encode()
    data = factories.prediction_lines(task) + line
    with pytest.raises(PredictionsError, match="61' is not the id of a test example"):
        add("wrong", [PredictionUpload("x.jsonl", data, task, 16, 1)], researcher)
