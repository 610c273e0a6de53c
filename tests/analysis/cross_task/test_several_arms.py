"""Several upstream arms: gains and Holm-adjusted tests, Table 2, documents, replicate_crossfit."""

import csv
import io
from collections.abc import Callable

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from analysis.cross_task import cross_task, learners, upstream
from analysis.stats import arg
from analysis.stats.significance import holm
from annotation.models import Kind, Participation, Scenario, Study
from annotation.study import lifecycle
from tests import factories
from tests.analysis.cross_task.test_model_gains import predict
from tests.annotation.study.test_cross_task import arrive, make_cross_task
from tests.tasks.test_gym import GYM

pytestmark = pytest.mark.long

ARMS = [{"name": "dose-1", "examples": 1}, {"name": "dose-3", "tasks": ["up-two"], "examples": 3}]
WRONG = {"dose-3": 0, "dose-1": 1, "sham": 3, "direct": 3}  # errors on six test examples
PAIRS = {
    ("dose-1", "sham"): "transfer",
    ("dose-3", "sham"): "transfer",
    ("dose-1", "direct"): "transfer and practice",
    ("dose-3", "direct"): "transfer and practice",
    ("sham", "direct"): "practice",
    ("dose-3", "dose-1"): "difference between upstream arms",
}


def score(arm: str) -> list[float]:
    return [1 - wrong / 6 for wrong in (WRONG[arm], WRONG[arm] + 1)]


def work(study: Study, people: int, errors: Callable[[Scenario], int]) -> None:
    """Let people answer all test examples; those in seat 2 make one error more than `errors`."""
    lifecycle.change_status(study, "open")
    for number in range(people):
        person = arrive(study, f"p{number}")
        wrong = errors(person.scenario) + (person.seat_number == 2)

        def answer(turn, wrong=wrong):
            right = turn.example.gold[0]
            is_wrong = turn.step == "annotation" and turn.example.position < wrong
            return [{"positive": "negative", "negative": "positive"}[right] if is_wrong else right]

        factories.work_through(person, answer)


@pytest.fixture
def study(researcher, db):
    """Two people in each arm of each of two unseen tasks."""
    study = make_cross_task(researcher, arms=ARMS)
    work(study, 16, lambda scenario: WRONG[scenario.arm])
    return study


def csv_of(client, study, table: str) -> list[dict[str, str]]:
    text = client.get(reverse("cross_task_file", args=[study.name, table])).content.decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_each_arm_has_gains_and_tests_adjusted_over_arms(study, researcher, client):
    tasks = ("unseen-a", "unseen-b")
    args = {
        (new, base): arg.average_relative_gain([(t, score(base), score(new)) for t in tasks])
        for new, base in PAIRS
    }
    gains = cross_task.gains(study, "person")
    assert len(gains) == 6 * 3
    rows = {(row.new_arm, row.base_arm): row for row in upstream.arm_tests(study, "person")}
    assert {pair: row.meaning for pair, row in rows.items()} == PAIRS
    for pair, row in rows.items():
        assert row.task == "all tasks"
        assert row.gain == pytest.approx(100 * args[pair].arg)
        assert row.p == pytest.approx(args[pair].p)
        assert (row.p < 0.05) == (not row.low <= 0 <= row.high)
        family = [each for each, words in PAIRS.items() if words == row.meaning]
        alone = holm([args[each].p for each in family])[family.index(pair)]
        assert row.p_holm == pytest.approx(alone)
    smaller = min(rows["dose-1", "sham"].p, rows["dose-3", "sham"].p)
    assert smaller * 2 in (rows["dose-1", "sham"].p_holm, rows["dose-3", "sham"].p_holm)

    client.force_login(researcher)
    page = client.get(reverse("cross_task", args=[study.name]), follow=True).content.decode()
    assert '<h2 id="arm-tests">Tests of gains</h2>' in page
    written = csv_of(client, study, "arm-tests")
    assert [(row["new_arm"], row["base_arm"]) for row in written] == list(PAIRS)
    shown = client.get(f"/api/v1/studies/{study.name}/cross-task/arm-tests/").json()["rows"]
    assert [row["p_holm"] for row in shown] == pytest.approx(
        [float(row["p_holm"]) for row in written], abs=1e-4
    )


def test_a_table_has_each_unseen_task_under_each_arm(study, researcher, client):
    client.force_login(researcher)
    rows = csv_of(client, study, "by-task")
    assert [row["task"] for row in rows] == [
        task for task in ("unseen-a", "unseen-b", "all tasks") for _arm in range(3)
    ]
    found = {(row["task"], row["new_arm"]): row for row in rows}
    row = found["unseen-b", "dose-3"]
    assert (row["trained"], row["each"], row["new_people"]) == ("up-two", "3", "2")
    assert float(row["new"]) == pytest.approx(11 / 12)
    assert float(row["base"]) == pytest.approx(5 / 12)
    assert float(row["gain"]) == pytest.approx(1.2)
    assert found["unseen-a", "dose-1"]["trained"] == "up-one, up-two"
    assert found["unseen-a", "sham"]["each"] == "3"


def test_figure_manipulation_and_plan_are_by_arm(study):
    bars = {(row.new_arm, row.base_arm) for row in learners.bars(study, "person")}
    assert bars == {("dose-1", "direct"), ("dose-3", "direct")}
    answers = {(row.arm, row.what): row.answers for row in upstream.manipulation(study, "person")}
    assert answers["dose-1", "up-one"] == answers["dose-1", "up-two"] == 4
    assert answers["dose-3", "up-two"] == answers["sham", "sham"] == 12
    assert {(row.new_arm, row.base_arm) for row in cross_task.plan(study, "person")} == {*PAIRS}
    assert len(list(cross_task.attritions(study, "person"))) == 6 * 2


def test_uploaded_models_have_gains_in_named_arms(study, researcher):
    for arm, right in {"dose-1": 3, "dose-3": 4, "direct": 2}.items():
        for task in ("unseen-a", "unseen-b"):
            predict(researcher, "toy", arm, task, right)
    gains = {
        (row.new_arm, row.base_arm): row.gain
        for row in learners.model_gains(study) if row.task == cross_task.ALL
    }  # fmt: skip
    assert gains == pytest.approx(
        {("dose-1", "direct"): 50, ("dose-3", "direct"): 100, ("dose-3", "dose-1"): 100 / 3}
    )


def test_documents_state_arms_plan_and_adjusted_p(study, researcher, client):
    client.force_login(researcher)
    plan = client.get(reverse("preregistration_file", args=[study.name])).content.decode()
    plan = " ".join(plan.split())
    assert (
        "the dose-1 arm completes 1 example of each of up-one, up-two; the dose-3 arm completes 3"
        " examples of each of up-two with feedback, in random task order; the sham arm completes 3"
        " examples of sham with feedback; the direct arm completes none" in plan
    )
    assert "gain (ARG) of each upstream arm (dose-1, dose-3) over the sham arm" in plan
    assert f"is Holm-adjusted over {cross_task.FAMILY}" in plan
    assert "No p value is computed for a gain." not in plan
    report = client.get(reverse("report_file", args=[study.name])).content.decode()
    assert "Tests of gains" in report
    assert "Unseen tasks under each arm" in report
    assert "the dose-1 arm completed 1 example of each of up-one, up-two" in report


def test_without_named_arms_each_contrast_is_unnamed(researcher, db):
    study = make_cross_task(researcher)
    assert [str(arm) for pair in cross_task.contrasts(study) for arm in pair] == [
        "upstream", "sham", "upstream", "direct", "sham", "direct",
    ]  # fmt: skip


DOSES = """
[[arms]]
name = "dose-1"
examples = 1

[[arms]]
name = "dose-2"
examples = 2
"""


@pytest.mark.real_data
@pytest.mark.timeout(400)
def test_one_command_rehearses_a_study_of_doses(db, tmp_path):
    (tmp_path / "doses.toml").write_text(DOSES)
    out = io.StringIO()
    call_command(
        "replicate_crossfit", str(GYM), arms=tmp_path / "doses.toml", unseen=1, upstream=2,
        test=20, annotators=2, policy="transfer:0.5:dose-1=-1,dose-2=1", seed=1, processes=1,
        verbosity=0, stdout=out,
    )  # fmt: skip
    study = Study.objects.get(name="crossfit")
    done = Participation.objects.filter(study=study, status="completed", kind=Kind.SIMULATED)
    assert done.count() == 4 * 2
    means = {
        (row.new_arm, row.base_arm): row.gain for row in upstream.arm_tests(study, Kind.SIMULATED)
    }
    assert means["dose-1", "direct"] == -100  # the gains set by the policy
    assert means["dose-2", "direct"] > 40
    told = out.getvalue()
    assert "| Interpretation |" in told
    assert "| p Holm |" in told


@pytest.mark.real_data
@pytest.mark.timeout(400)
def test_every_arm_has_the_gain_of_the_default_policy(db, tmp_path):
    (tmp_path / "doses.toml").write_text(DOSES)
    call_command(
        "replicate_crossfit", str(GYM), arms=tmp_path / "doses.toml", unseen=1, upstream=2,
        annotators=4, processes=1, verbosity=0, stdout=io.StringIO(),
    )  # fmt: skip
    study = Study.objects.get(name="crossfit")
    rows = {(row.new_arm, row.base_arm): row for row in upstream.arm_tests(study, Kind.SIMULATED)}
    gains = {pair: 20 * (pair[0] != "sham" and pair[1] in ("sham", "direct")) for pair in rows}
    assert gains["dose-1", "direct"] == gains["dose-2", "sham"] == 20
    assert gains["dose-2", "dose-1"] == gains["sham", "direct"] == 0
    for pair, gain in gains.items():
        assert rows[pair].low < gain < rows[pair].high
        assert rows[pair].gain == pytest.approx(gain, abs=20)  # an SE of 8 with 160 answers an arm


def test_an_arm_with_a_task_outside_the_partition_is_refused(db, tmp_path):
    (tmp_path / "doses.toml").write_text('[[arms]]\nname = "a"\ntasks = ["glue-rte"]\n')
    with pytest.raises(CommandError, match="glue-rte"):
        call_command("replicate_crossfit", str(GYM), arms=tmp_path / "doses.toml")
    (tmp_path / "doses.toml").write_text("[[arms]]\n")
    with pytest.raises(CommandError, match="arms: expected"):
        call_command("replicate_crossfit", str(GYM), arms=tmp_path / "doses.toml")
