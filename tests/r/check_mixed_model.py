"""Run the analysis.R of a release bundle and compare it with the estimator of the product."""

import csv
import random
import shutil
import subprocess
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from analysis.cross_task import cross_task
from analysis.export.release import write_data
from analysis.scores import findings
from analysis.stats import two_way
from annotation.models import Kind, Study
from annotation.study import lifecycle
from tasks.importing import read_clues
from tests import factories
from tests.annotation.study.test_cross_task import arrive, make_cross_task

SKILLS = {0: [0.55, 0.7, 0.8], 2: [0.75, 0.8, 0.95]}  # probability of a correct answer, by shots


def answer_all(study: Study) -> None:
    """Annotate with three annotators at each number of shots, with the accuracies in SKILLS."""
    for scenario in study.scenarios.all():
        for skill in SKILLS[scenario.shots]:
            wrong = {"positive": ["negative"], "negative": ["positive"]}
            seed = f"{scenario.shots}:{skill}"

            def answer(turn, seed=seed, skill=skill, wrong=wrong):
                gold = list(dict.fromkeys(turn.example.gold))
                # Seeded by the example: pseudonyms, and therefore orders, differ between runs.
                if random.Random(f"{seed}:{turn.example.source_id}").random() < skill:
                    return gold
                return wrong.get(gold[0], []) if gold else [turn.example.context[0].split()[0]]

            factories.work_through(factories.seat(scenario), answer)


def run(folder: Path, *words: str) -> subprocess.CompletedProcess:
    program = shutil.which("Rscript")
    if program is None:
        pytest.fail(
            "Install R: apt-get install r-base-core r-cran-lme4 r-cran-lmertest", pytrace=False
        )
    return subprocess.run(
        [program, "analysis.R", *words], cwd=folder, capture_output=True, encoding="utf-8",
        check=False,
    )  # fmt: skip


def table(study: Study, folder: Path) -> dict[str, dict[str, float]]:
    """Return what analysis.R writes: row name -> numbers."""
    folder.mkdir()
    write_data(study, folder)
    done = run(folder)
    assert done.returncode == 0, done.stderr
    with (folder / "mixed_model.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        row["what"]: {
            name: float(value) if value not in ("", "TRUE", "FALSE") else value
            for name, value in row.items()
            if name not in ("task", "what")
        }
        for row in rows
    }


def matrices(study: Study) -> tuple[dict[int, np.ndarray], list[str]]:
    """Return shots -> annotators x examples, and the context of each example."""
    frame = findings.answered(study, Kind.PERSON)
    contexts = frame.drop_duplicates("example").set_index("example")["context"]
    found = {
        shots: part.pivot(index="annotator", columns="example", values="s1").to_numpy()
        for shots, part in frame.groupby("shots")
    }
    return found, list(contexts.sort_index())


@pytest.fixture
def labels(researcher) -> Study:
    task = factories.make_task(labels=factories.LABELS, test_size=60)
    study = factories.make_study(researcher, task, shots=[0, 2], annotators=3)
    answer_all(study)
    return study


def test_the_mixed_model_reproduces_means_and_standard_error(labels, tmp_path):
    """Both estimators agree in a balanced layout without negative variances."""
    rows = table(labels, tmp_path / "bundle")
    found, contexts = matrices(labels)
    assert set(rows) == {"0 shots", "2 shots", "2 - 0 shots"}
    for shots, matrix in found.items():
        assert rows[f"{shots} shots"]["estimate"] == pytest.approx(matrix.mean(), abs=1e-6)
    ours = two_way.difference_estimate(found[0], found[2], contexts)
    theirs = rows["2 - 0 shots"]
    assert theirs["estimate"] == pytest.approx(ours.value, abs=1e-6)
    assert theirs["sd_annotator"] > 0
    assert theirs["se"] == pytest.approx(ours.people_se, rel=1e-3)
    assert theirs["df"] == pytest.approx(4, abs=1e-2)
    assert 0 < theirs["p"] < 1


@pytest.mark.real_data
def test_questions_on_one_text_are_nested_in_the_model(researcher, clues, tmp_path):
    """Uses fifteen published sentences with three questions each."""
    card, files = read_clues(clues, "CoNLL03")
    tested = next(file.records for file in files if file.kind == "test")[:45]
    task = factories.make_task(test=tested, **card.as_dict())
    study = factories.make_study(researcher, task, shots=[0, 2], annotators=3)
    answer_all(study)
    rows = table(study, tmp_path / "bundle")
    found, contexts = matrices(study)
    assert len(set(contexts)) == 15
    assert rows["0 shots"]["sd_context"] != ""
    assert rows["0 shots"]["sd_example_context"] != ""
    for shots, matrix in found.items():
        assert rows[f"{shots} shots"]["estimate"] == pytest.approx(matrix.mean(), abs=1e-4)


def test_a_study_without_results_is_an_error(researcher, tmp_path):
    study = factories.make_study(researcher, factories.make_task())
    write_data(study, tmp_path)
    done = run(tmp_path)
    assert done.returncode != 0
    assert "no annotator of this kind has completed" in done.stderr


def test_a_zero_shot_study_of_simulated_annotators_is_accepted(researcher, tmp_path):
    task = factories.make_task(labels=factories.LABELS, test_size=12)
    study = factories.make_study(researcher, task, shots=[0], annotators=2)
    draw = random.Random(3)
    for _ in range(2):
        factories.work_through(
            factories.seat(study.scenarios.get(), Kind.SIMULATED),
            lambda turn: draw.choice([["positive"], ["negative"]]),
        )
    write_data(study, tmp_path)
    done = run(tmp_path, "simulated")
    assert done.returncode == 0, done.stderr
    assert "0 shots" in done.stdout


@pytest.mark.parametrize("shots", [[4], [2, 4]])
def test_the_arms_of_a_cross_task_study_are_not_pooled(researcher, tmp_path, shots):
    """Each arm of each unseen task has the mean of its annotators, as on the study's page."""
    study = make_cross_task(
        researcher, targets=("unseen-a",), annotators=3, shots=shots, smaller=shots[:-1]
    )
    lifecycle.change_status(study, "open")
    wrong = {"upstream": 1, "sham": 2, "direct": 4}
    for number in range(9 * len(shots)):
        person = arrive(study, f"p{number}")
        first = wrong[person.scenario.arm] - (person.seat_number == 2)

        def answer(turn, first=first):
            right = turn.example.gold[0]
            other = {"positive": "negative", "negative": "positive"}[right]
            return [other if turn.step == "annotation" and turn.position < first else right]

        factories.work_through(person, answer)
    rows = table(study, tmp_path / "bundle")
    unit = "arm" if len(shots) == 1 else "shots"
    means = {
        f"{arm}" if unit == "arm" else f"{arm} {k}": float(np.mean(scores))
        for k, by_task in cross_task.scores(study, Kind.PERSON).items()
        for arm, scores in by_task["unseen-a"].items()
    }
    pairs = [*combinations(sorted(means), 2)]
    assert set(rows) == {f"{cell} {unit}" for cell in means} | {
        f"{new} - {base} {unit}" for base, new in pairs
    }
    for cell, mean in means.items():
        assert rows[f"{cell} {unit}"]["estimate"] == pytest.approx(mean, abs=1e-4)
    for base, new in pairs:
        difference = rows[f"{new} - {base} {unit}"]["estimate"]
        assert difference == pytest.approx(means[new] - means[base], abs=1e-4)
