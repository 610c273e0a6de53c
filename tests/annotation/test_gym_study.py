"""A study of real tasks of the Few-shot Gym, one of each kind of answer, from import to tables."""

import csv
import io
import subprocess
import sys

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotation.models import Answer, Participation, Status
from tasks.models import Task
from tests import factories
from tests.tasks.test_gym import GYM

TASKS = (
    "codah", "common_gen", "limit", "squad-with_context", "superglue-cb", "superglue-multirc",
    "web_questions",
)  # fmt: skip
PAGES = ("human_performance", "training_table", "gold_audit", "report", "preregistration")
PAGES_OF_A_KIND = (
    "examples", "analysis", "study_models", "leaderboard", "figures", "sensitivity",
)  # fmt: skip


@pytest.mark.real_data
@pytest.mark.timeout(400)
def test_robots_learn_k_shots_and_annotate_every_kind_of_task(ada, researcher, tmp_path):
    call_command("import_gym", str(GYM), tasks=list(TASKS), test=5, seed=3, stdout=io.StringIO())
    by_size: dict[int, list[Task]] = {}
    for task in Task.objects.order_by("name"):
        by_size.setdefault(task.training_sizes[0], []).append(task)
    assert {size: len(tasks) for size, tasks in by_size.items()} == {16: 1, 32: 6}
    for size, tasks in by_size.items():
        study = factories.make_study(researcher, *tasks, shots=[size], annotators=1)
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
            assert ada.get(reverse(page, args=[study.name])).status_code == 200, page
        for page in PAGES_OF_A_KIND:
            address = reverse(page, args=[study.name])
            assert ada.get(f"{address}?kind=simulated").status_code == 200, page
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
