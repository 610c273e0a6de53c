"""S1 against all accepted answers as one set, for tasks that accept any of them, like SQuADv2."""

import csv
import statistics
import subprocess
import sys

import pytest
from django.core.management import call_command
from django.urls import reverse

from analysis.scores import performance, scores
from tasks.formats import Record
from tasks.importing import import_task, read_clues
from tasks.metrics import s1
from tests import factories

pytestmark = [pytest.mark.engines, pytest.mark.long]

GOLDS = [("Oslo", "Oslo fjord"), ("Oslo",), (), ("Oslo", "Oslo fjord", "fjord", "Oslo")]


def records(prefix: str) -> list[Record]:
    return [
        Record(f"{prefix}-{n}", (f"{prefix} {n}: by the Oslo fjord.",), "Where?", gold, None)
        for n, gold in enumerate(GOLDS)
    ]


@pytest.fixture
def study(researcher, db):
    """Two people: one always gives the first accepted answer, the other always "fjord"."""
    task = factories.make_task(
        train={2: records("train")[:2]}, test=records("test"), shots=[2], gold_rule="any_of",
        max_spans=1, family="reading_comprehension",
    )  # fmt: skip
    other = factories.make_task(name="toy-set")
    study = factories.make_study(researcher, task, other, shots=[0], annotators=2)
    scenario = study.scenarios.get(task=task)
    factories.work_through(factories.seat(scenario), lambda turn: list(turn.example.gold)[:1])
    factories.work_through(factories.seat(scenario), lambda turn: ["fjord"])
    factories.predict(researcher, "toy", task, 0, None, lambda example: list(example.gold)[:1])
    return study


def by_hand(answers: list[list[str]]) -> float:
    return 100 * statistics.fmean(s1(a, g) for a, g in zip(answers, GOLDS, strict=True))


def test_set_score_uses_the_same_answers_with_all_golds_together(ada, study, tmp_path):
    first = by_hand([["Oslo"], ["Oslo"], [], ["Oslo"]])
    second = by_hand([["fjord"]] * 4)
    assert first == pytest.approx(100 * (2 / 3 + 1 + 1 + 1 / 2) / 4)
    cell = performance.performance(study).cells["toy-places", 0]
    assert cell.mean == pytest.approx((100 + 25) / 2)
    assert cell.as_set.mean == pytest.approx(statistics.fmean([first, second]))
    assert cell.as_set.sd_ddof1 == pytest.approx(statistics.stdev([first, second]))
    told = f"as one set {cell.as_set.mean:.1f} ± {cell.as_set.sd_ddof1:.1f}"
    assert f"{cell.set_scale} {cell.as_set.text}" == told
    assert performance.performance(study).cells["toy-set", 0].set_scale == ""
    page = ada.get(reverse("human_performance", args=[study.name])).content.decode()
    note = "the gold answers of an example are alternatives"
    assert told in page
    assert note in page
    ceiling = f"the best possible answers reach {first:.1f}"
    for ext, name in (("md", "| 0 shots, as one set |"), ("tex", "0 shots, as one set &")):
        text = ada.get(reverse("human_performance_file", args=[study.name, ext])).content.decode()
        assert all(part in text for part in (name, note, ceiling)), ext

    folder = tmp_path / "export"
    call_command("export_study", study.name, str(folder), verbosity=0)
    ran = subprocess.run(
        [sys.executable, "-I", str(folder / "verify.py")],
        capture_output=True, text=True, timeout=60, env={}, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    with (folder / "human_performance.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["task"]: row for row in csv.DictReader(file)}
    row = rows["toy-places"]
    assert float(row["set_mean"]) == pytest.approx(cell.as_set.mean / 100)
    assert float(row["set_ceiling"]) == pytest.approx(first / 100)
    assert "gold:any_of" in row["recipe"]
    assert "gold:set" in row["set_recipe"]
    assert note in row["note"]
    for column in ("set_mean", "set_sd_ddof1", "set_ceiling", "set_recipe", "note"):
        assert rows["toy-set"][column] == "", column
    with (folder / "model_scores.csv").open(encoding="utf-8", newline="") as file:
        (model,) = csv.DictReader(file)
    assert (float(model["mean"]), float(model["set_mean"])) == pytest.approx((1, first / 100))
    assert "gold:set" in model["set_recipe"]


@pytest.mark.real_data
def test_squad_set_ceiling_is_88_8_and_published_score_has_note(ada, researcher, clues, db):
    """At 0, 10 and 20 shots, the published mean can't be a mean of 3 x 200 scores of 0 or 1."""
    task = import_task(*read_clues(clues, "SQuADv2")).task
    study = factories.make_study(researcher, task, shots=[0, 10], annotators=1)
    (limits,) = performance.performance(study).bounds
    assert (limits.ceiling, round(limits.set_ceiling, 2)) == (100, 88.80)
    page = ada.get(reverse("human_performance", args=[study.name])).content.decode()
    assert "published 70.6 ± 1.0" in page
    assert "The published figures may be on that scale" in page
    reachable = {round(100 * k / 600, 1) for k in range(601)}
    figures = {shots: scores.human_table4()["SQuADv2", shots].mean for shots in (0, 10, 20, 30)}
    assert [shots for shots, mean in figures.items() if mean not in reachable] == [0, 10, 20]
