"""A study can use several training splits, each of which is a scenario with separate seats."""

import csv
import json
import statistics
import subprocess
import sys
from collections import Counter, defaultdict

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.urls import reverse

from analysis.scores import performance, training
from annotation.models import Kind, Scenario, Study
from annotation.protocol import training_step
from annotation.recruitment import consent, seats
from annotation.recruitment.identities import worker_key
from annotation.recruitment.join_errors import RecruitmentError
from tasks.cards import parse_card
from tasks.formats import SplitFile
from tasks.importing import import_task
from tests import factories

pytestmark = [pytest.mark.engines, pytest.mark.long]


def task_of_splits(name: str = "toy-places", numbers: int = 3):
    """Import a task with nested training files of 2 and 4 examples for each split number."""
    files = []
    for number in range(1, numbers + 1):
        records = factories.place_records(f"train{number}", 4)
        files += [
            SplitFile("train", size, number, f"toy_train_{size}_{number}.jsonl", records[:size])
            for size in (2, 4)
        ]
    test = factories.place_records("test", 6)
    files.append(SplitFile("test", None, None, "toy_test.jsonl", test))
    return import_task(parse_card(factories.card_data(name=name), "test card"), files).task


def arrive(study, number: int):
    """Join through the link, consent and begin."""
    participation = seats.join(study.pk, worker_key("link", f"w-{number}"), "link", Kind.PERSON)
    consent.record(participation, agree=True)
    training_step.begin(participation.token)
    return participation


@pytest.fixture
def study(researcher, db):
    """A study completed by two people on each of three splits at 2 and 4 shots, and two at 0."""
    study = factories.make_study(
        researcher, task_of_splits(), shots=[0, 2, 4], splits=[3, 1, 2], annotators=2
    )
    for number in range(14):
        person = arrive(study, number)
        split = person.scenario.split_number or 0
        # Splits differ in their number of mistakes, and the second annotator makes one more.
        wrong = {0: 3, 1: 0, 2: 2, 3: 4}[split] + person.seat_number - 1
        factories.work_through(
            person,
            lambda turn, wrong=wrong: (
                ["home"]
                if turn.step == "annotation" and turn.position < wrong
                else list(turn.example.gold)
            ),
        )
    return study


def test_each_split_is_a_scenario_with_separate_seats(study):
    assert study.splits == [1, 2, 3]
    cells = study.scenarios.order_by("shots", "split_number")
    assert [(s.shots, s.split_number, s.seats) for s in cells] == [
        (0, None, 2),
        *((shots, split, 2) for shots in (2, 4) for split in (1, 2, 3)),
    ]
    assert [(s["shots"], s["split"]) for s in json.loads(study.manifest)["scenarios"]] == [
        (s.shots, s.split_number) for s in cells
    ]
    held = Counter(study.participations.values_list("scenario", flat=True))
    assert set(held.values()) == {2}
    with pytest.raises(RecruitmentError) as full:
        arrive(study, 99)
    assert full.value.code == "full"
    assert str(cells[1]) == "toy-places, 2 shots, split 1"
    assert str(cells[0]) == "toy-places, 0 shots"


def test_annotators_train_only_on_the_split_of_their_scenario(study):
    for person in study.participations.select_related("scenario"):
        trained = person.turns.filter(step="training")
        numbers = set(trained.values_list("example__split__number", flat=True))
        assert numbers == ({person.scenario.split_number} if person.scenario.shots else set())
        assert trained.count() == person.scenario.shots


def test_a_worker_cannot_do_two_splits_of_a_task(researcher, db):
    study = factories.make_study(researcher, task_of_splits(), shots=[2], splits=[1, 2])
    first = arrive(study, 1)
    factories.work_through(first)
    with pytest.raises(RecruitmentError) as refused:
        arrive(study, 1)
    assert refused.value.code == "done"


def test_the_database_knows_each_cell_once(study):
    for shots, split in ((0, None), (2, 3)):
        copy = study.scenarios.get(shots=shots, split_number=split)
        with pytest.raises(IntegrityError), transaction.atomic():
            Scenario.objects.create(
                study=study, task=copy.task, shots=shots, split_number=split, seats=1
            )


def scores_by_split(folder, shots: str) -> dict[str, list[float]]:
    """Map each split to its annotators' mean S1 x 100, read from annotators.csv."""
    with (folder / "annotators.csv").open(encoding="utf-8", newline="") as file:
        by_split = defaultdict(list)
        for row in csv.DictReader(file):
            if row["shots"] == shots:
                by_split[row["split"]].append(100 * float(row["mean_s1"]))
    return by_split


def test_tables_show_the_spread_between_splits_and_verify_passes(ada, study, tmp_path):
    folder = tmp_path / "export"
    call_command("export_study", study.name, str(folder), verbosity=0)
    ran = subprocess.run(
        [sys.executable, "-I", str(folder / "verify.py")],
        capture_output=True, text=True, timeout=60, env={}, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    with (folder / "human_performance.csv").open(encoding="utf-8", newline="") as file:
        written = {row["shots"]: row for row in csv.DictReader(file)}
    assert (written["0"]["n"], written["0"]["splits"]) == ("2", "0")
    assert written["0"]["split_sd_ddof1"] == ""
    for shots in ("2", "4"):
        by_split = scores_by_split(folder, shots)
        everybody = [score for scores in by_split.values() for score in scores]
        means = [statistics.fmean(scores) for scores in by_split.values()]
        row = written[shots]
        assert (row["n"], row["splits"]) == ("6", "3")
        expected = {
            "mean": statistics.fmean(everybody),
            "sd_ddof1": statistics.stdev(everybody),
            "split_sd_ddof1": statistics.stdev(means),
            "split_sd_ddof0": statistics.pstdev(means),
        }
        assert {name: 100 * float(row[name]) for name in expected} == pytest.approx(expected)
        assert statistics.stdev(means) > 10
        told = f"between 3 splits ± {statistics.stdev(means):.1f}"
        assert performance.performance(study).cells["toy-places", int(shots)].split_text == told
        for page in (
            reverse("human_performance", args=[study.name]),
            reverse("human_performance_file", args=[study.name, "md"]),
        ):
            assert told in ada.get(page).content.decode()
    with (folder / "scenarios.csv").open(encoding="utf-8", newline="") as file:
        assert [(row["shots"], row["split"], row["n"]) for row in csv.DictReader(file)] == [
            (s, n, "2") for s, n in [("0", ""), *((s, n) for s in "24" for n in "123")]
        ]
    assert len(training.training(study)) == 6


def test_pages_and_documents_name_the_splits(ada, study):
    page = ada.get(reverse("people", args=[study.name])).content.decode()
    assert "toy-places, 4 shots, split 3" in page
    for name in ("preregistration", "report"):
        text = ada.get(reverse(name, args=[study.name])).content.decode()
        assert "a combination of task, number of shots and training split" in text, name
    assert "training splits 1, 2 and 3" in text
    assert "6 and 6" in ada.get(reverse("preregistration", args=[study.name])).content.decode()
    assert "<th" in ada.get(reverse("training", args=[study.name]), follow=True).content.decode()


def test_a_design_file_names_splits(researcher, tmp_path, db):
    task_of_splits()
    for line, splits in (("splits = [1, 3]", [1, 3]), ("splits = [2]", [2])):
        file = tmp_path / "design.toml"
        name = f"s{len(splits)}"
        file.write_text(f'name = "{name}"\ntasks = ["toy-places"]\nshots = [2]\n{line}\n')
        call_command("create_study", "--design", str(file), verbosity=0)
        study = Study.objects.get(name=name)
        assert study.splits == splits
        assert study.scenarios.count() == len(splits)
    call_command(
        "create_study", "flags", "--tasks", "toy-places", "--shots", "2", "--splits", "1", "2"
    )
    assert Study.objects.get(name="flags").scenarios.count() == 2
