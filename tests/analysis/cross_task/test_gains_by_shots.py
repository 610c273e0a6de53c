"""Cross-task studies with several numbers of shots (CrossFit, section 5, Q4)."""

import math

import numpy as np
import pytest
from django.db.models import Avg
from django.urls import reverse

from analysis.cross_task import cross_task, learners, upstream
from analysis.export.files import write_export
from analysis.figures import data as figures
from analysis.planning import planned_power
from analysis.stats import arg
from analysis.stats.significance import holm
from annotation.models import Answer, Kind, Participation
from annotation.simulation.policies import Knowledge, policy_of
from annotation.simulation.simulated_annotators import InProcess, walk
from annotation.study import lifecycle
from tasks.predictions import store
from tests.analysis.cross_task.test_model_gains import first_right
from tests.analysis.cross_task.test_several_arms import csv_of, work
from tests.analysis.export.tampering import Export
from tests.annotation.study.test_cross_task import make_cross_task
from tests.tasks import predictions

pytestmark = pytest.mark.long

TASKS = ("unseen-a", "unseen-b")
# Errors on six test examples: the gain is lost with more shots.
WRONG = {
    (2, "upstream"): 0, (2, "sham"): 3, (2, "direct"): 3,
    (4, "upstream"): 1, (4, "sham"): 1, (4, "direct"): 1,
}  # fmt: skip


def scored(shots: int, new: str, base: str) -> list[arg.Scores]:
    def score(arm: str) -> list[float]:
        return [1 - wrong / 6 for wrong in (WRONG[shots, arm], WRONG[shots, arm] + 1)]

    return [(task, score(base), score(new)) for task in TASKS]


@pytest.fixture
def study(researcher, db):
    """Two people in each arm of each of two unseen tasks at 2 and at 4 shots."""
    study = make_cross_task(researcher, shots=[2, 4], smaller=[2])
    work(study, 24, lambda scenario: WRONG[scenario.shots, scenario.arm])
    return study


def test_each_number_of_shots_has_its_own_gains(study, tmp_path, capsys):
    assert study.scenarios.count() == 2 * 2 * 3
    rows = {
        (row.shots, row.new_arm, row.base_arm): row
        for row in cross_task.gains(study, "person") if row.task == cross_task.ALL
    }  # fmt: skip
    assert len(rows) == 2 * 3
    for (shots, new, base), row in rows.items():
        expected = arg.average_relative_gain(scored(shots, new, base))
        assert row.gain == pytest.approx(100 * expected.arg)
        assert (row.new_people, row.base_people) == (4, 4)
    assert "Transfer, 2 shots: the upstream arm gains" in " ".join(
        cross_task.sentences(study, "person")
    )
    plans = list(cross_task.plan(study, "person"))
    assert {(row.shots, row.new_arm) for row in plans} == {
        (shots, arm) for shots in (2, 4) for arm in ("upstream", "sham")
    }
    left = list(cross_task.attritions(study, "person"))
    assert {(row.shots, row.began_to) for row in left} == {(2, 2), (4, 2)}
    write_export(study, tmp_path / "export")
    export = Export(tmp_path / "export")
    assert export.verify() == 0, capsys.readouterr().out
    assert {row["shots"] for row in export["gains.csv"]} == {"2", "4"}


def test_a_change_with_more_shots_is_tested(study, researcher, client):
    rows = {(row.new_arm, row.base_arm): row for row in upstream.changes(study, "person")}
    assert [*rows] == [("upstream", "sham"), ("upstream", "direct"), ("sham", "direct")]
    row = rows["upstream", "sham"]
    before, after = (
        arg.average_relative_gain(scored(shots, "upstream", "sham")) for shots in (2, 4)
    )
    assert (row.from_shots, row.shots, row.task) == (2, 4, "all tasks")
    assert row.gain == pytest.approx(100 * (after.arg - before.arg))
    assert row.high < 0  # the gain is lost
    assert row.p < 0.05
    assert row.p_holm == row.p  # the only change in its family
    tests = upstream.arm_tests(study, "person")
    assert len(tests) == 2 * 3
    own = [row for row in tests if row.meaning == "transfer"]
    assert [row.shots for row in own] == [2, 4]
    assert [row.p_holm for row in own] == pytest.approx(list(holm([row.p for row in own])))

    client.force_login(researcher)
    (written, *_others) = csv_of(client, study, "changes")
    assert (written["from_shots"], written["shots"], written["new_arm"]) == ("2", "4", "upstream")
    assert float(written["gain"]) == pytest.approx(row.gain / 100, abs=1e-6)
    page = client.get(reverse("cross_task", args=[study.name]), follow=True).content.decode()
    assert '<h2 id="changes">Gains by shots</h2>' in page
    shown = client.get(f"/api/v1/studies/{study.name}/cross-task/changes/").json()["rows"]
    assert shown[0]["from_shots"] == 2


def test_a_figure_has_a_panel_for_each_number_of_shots(study):
    drawn = figures.data(study, "person", "gains").frame
    assert set(drawn["contrast"]) == {
        f"upstream against direct arm, {shots} shots" for shots in (2, 4)
    }


def test_uploaded_models_have_gains_at_each_number_of_shots(study, researcher):
    for shots, rights in {2: (3, 6), 4: (4, 5)}.items():
        for task in study.tasks.all():
            for arm, right in zip(("direct", "upstream"), rights, strict=True):
                upload = predictions.upload(task, shots=shots, predict=first_right(right))
                store.add("toy", [upload], researcher, arm=arm)
    gains = {row.shots: row.gain for row in learners.model_gains(study) if row.task == "all tasks"}
    assert gains == pytest.approx({2: 100, 4: 25})
    rows = list(learners.learners(study, "person"))
    assert len(rows) == 2 * 3 + 2


def test_documents_state_the_numbers_of_shots(study, researcher, client):
    client.force_login(researcher)
    plan = client.get(reverse("preregistration_file", args=[study.name])).content.decode()
    plan = " ".join(plan.split())
    assert "combines an unseen task (the task that is tested), a shot count, a training" in plan
    assert "Primary outcome, at each number of shots: the average relative gain" in plan
    lasts = "To assess whether a gain persists with more shots, we report how each ARG changes"
    assert lasts in plan
    assert "No p value is computed for a gain." not in plan
    report = client.get(reverse("report_file", args=[study.name])).content.decode()
    assert lasts in " ".join(report.split())
    assert "Gains by shots" in report


def test_one_number_of_shots_has_no_changes(researcher, db):
    study = make_cross_task(researcher)
    work(study, 12, lambda scenario: WRONG[4, scenario.arm])
    assert len(cross_task.gains(study, "person")) == 3 * 3
    assert upstream.changes(study, "person") == upstream.arm_tests(study, "person") == []


def test_gains_of_models_have_no_tests(study):
    Participation.objects.update(kind=Kind.MODEL)
    assert cross_task.gains(study, Kind.MODEL)
    assert upstream.changes(study, Kind.MODEL) == upstream.arm_tests(study, Kind.MODEL) == []


def test_tests_and_changes_are_in_latex(study, client, researcher):
    client.force_login(researcher)
    for table, heading in (("arm-tests", "p Holm"), ("changes", "Change of gain")):
        address = reverse("table_latex", args=[study.name, table])
        text = client.get(address).content.decode()
        assert heading in text, table
        assert text.count("transfer") >= 1, table


def test_simulated_annotators_have_a_known_gain_at_each_k(researcher, db):
    study = make_cross_task(
        researcher, targets=("unseen-a",), shots=[2, 4], smaller=[2], annotators=1, rehearsal=True
    )
    lifecycle.change_status(study, "open")
    knowledge = Knowledge(study)
    address, policy = reverse("landing", args=[study.simulated_link_code]), (
        "transfer:0.5:upstream@2=1,upstream@4=-1"
    )  # fmt: skip
    for number in range(6):
        list(walk(InProcess(), address, policy, knowledge, f"{number}"))
    done = Answer.objects.filter(turn__participation__study=study, turn__step="annotation")
    place = "turn__participation__scenario__arm", "turn__participation__scenario__shots"
    means = {(arm, k): mean for arm, k, mean in
             done.values_list(*place).annotate(Avg("s1")).order_by()}  # fmt: skip
    assert (means["upstream", 2], means["upstream", 4]) == (1, 0)
    assert len(means) == 6
    with pytest.raises(ValueError, match="The study has no arm dose"):
        policy_of("transfer:0.5:dose@2=0.1", knowledge, None)


def test_the_interval_of_a_change_holds_its_nominal_level():
    draw, held, rejected = np.random.default_rng(3), 0, 0
    for _study in range(1000):
        groups = [
            [(str(base), draw.normal(base, 0.06, 5), draw.normal(base * 1.2, 0.06, 5))
             for base in bases]
            for bases in ((0.5, 0.55), (0.6, 0.65))
        ]  # fmt: skip
        found = arg.change(*groups)
        held += found.interval[0] <= 0 <= found.interval[1]
        rejected += found.p < 0.05
    assert held + rejected == 1000
    assert 930 <= held <= 975


def test_a_change_without_a_base_still_has_a_difference():
    fewer = [("a", [0.0, 0.0], [0.5, 0.6])]
    found = arg.change(fewer, [("a", [0.4, 0.5], [0.5, 0.6])])
    assert math.isnan(found.arg)
    assert found.why_no_interval == "a task has no relative gain"
    assert found.difference == pytest.approx(0.1 - 0.55)
    assert found.difference_interval[0] < found.difference < found.difference_interval[1]


def test_the_planner_states_participants_for_a_change():
    wanted = {"base": 70, "sd": 6, "targets": 4, "gain": 0, "width": 7.5, "people": 6}
    by_t, _normal = planned_power.plan(wanted)
    assert (by_t.people, by_t.for_change) == (3, 6)
    assert by_t.for_change_in_all == 2 * 2 * 4 * 6
    scores = ("a", [0.64, 0.76], [0.64, 0.76])
    found = arg.change([scores] * 4, [scores] * 4)
    half = 2 * arg.half_width(list(found.gains), 2, t=True)
    assert found.interval[1] - found.arg == pytest.approx(half)
