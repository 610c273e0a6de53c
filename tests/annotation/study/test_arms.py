"""A cross-task study can have several upstream arms with different tasks and doses."""

import json
from collections import Counter

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Avg
from django.urls import reverse

from analysis.export.files import write_export
from annotation.models import Answer, ArmTaken, Exposure, Study
from annotation.participation import landing
from annotation.simulation.policies import Knowledge, policy_of
from annotation.simulation.simulated_annotators import InProcess, walk
from annotation.study import design, lifecycle
from annotation.study.forms import StudyForm
from tests import factories
from tests.analysis.export.tampering import Export
from tests.annotation.study.test_cross_task import (
    arrive,
    label_task,
    make_cross_task,
    refused_fields,
    trained_of,
)

ARMS = [{"name": "dose-1", "examples": 1}, {"name": "mix.b", "tasks": ["up-two"], "examples": 4}]
TRAINED = {
    "dose-1": Counter({"up-one": 1, "up-two": 1}),
    "mix.b": Counter({"up-two": 4}),
    "sham": Counter({"sham": 4}),  # the longest arm's number
    "direct": Counter(),
}


@pytest.fixture
def study(researcher, db):
    study = make_cross_task(researcher, arms=ARMS, targets=("unseen-a",), annotators=1)
    lifecycle.change_status(study, "open")
    return study


def test_the_design_page_states_the_training_of_each_arm(study, ada):
    page = ada.get(reverse("study_design", args=[study.name])).content.decode()
    text = " ".join(page.split("<dt>Arms</dt>")[1].split("</dd>")[0].split())
    assert text == (
        "<dd>dose-1: 1 example of each of up-one, up-two<br>mix.b: 4 examples of up-two<br>"
        "sham: 4 examples of sham<br>direct: no examples"
    )


@pytest.mark.engines
def test_each_arm_trains_on_its_tasks_and_examples(study, tmp_path, capsys):
    assert set(study.scenarios.values_list("arm", flat=True)) == TRAINED.keys()
    people = [arrive(study, f"p{number}") for number in range(4)]
    assert {person.scenario.arm for person in people} == TRAINED.keys()
    for person in people:
        expected = TRAINED[person.scenario.arm]
        assert trained_of(study) == people.index(person)
        assert factories.work_through(person) == expected.total() + 4 + 6
        turns = person.turns.filter(step="upstream").select_related("example__split__task")
        assert Counter(turn.card.name for turn in turns) == expected
        assert len({turn.example_id for turn in turns}) == expected.total()
        met = Exposure.objects.filter(worker_key=person.worker.key)
        assert {*met.values_list("task_name", flat=True)} == {*expected, "unseen-a"}
        taken = ArmTaken.objects.get(study=study, worker_key=person.worker.key)
        assert taken.arm == person.scenario.arm
    write_export(study, tmp_path / "export")
    export = Export(tmp_path / "export")
    assert {row["arm"] for row in export["upstream.csv"]} == TRAINED.keys() - {"direct"}
    assert {row["arm"] for row in export["upstream_pool.csv"]} == {"upstream", "sham"}
    assert export.verify() == 0, capsys.readouterr().out
    row = next(row for row in export["upstream.csv"] if row["arm"] == "mix.b")
    row["arm"] = "dose-1"
    export.write("upstream.csv")
    assert export.verify() == 1


def test_the_landing_page_states_the_range_over_the_arms(study):
    asked = landing.what_it_asks(study)
    assert asked["examples"] == "10 to 14", asked


def test_the_manifest_has_arms_only_if_the_design_names_them(study, researcher):
    frozen = json.loads(study.manifest)["cross_task"]
    assert frozen["arms"] == ["dose-1", "mix.b", "sham", "direct"]
    assert frozen["upstream_arms"] == {
        "dose-1": [["up-one", "up-two"], 1],
        "mix.b": [["up-two"], 4],
        "sham": [["sham"], 4],
        "direct": [[], 0],
    }
    tasks = [label_task("unseen-c", 4)], [label_task("up-three")]
    plain = Study(
        owner=researcher, name="plain", title="Plain", shots=[4], annotators=1, seed=1, budget=900,
        upstream_examples=2, sham_task=label_task("other-sham"), max_paid_hours=1,
    )  # fmt: skip
    design.save_draft(plain, tasks[0], upstream=tasks[1])
    lifecycle.change_status(plain, "open")
    manifest = json.loads(plain.manifest)
    assert "arms" not in manifest
    assert manifest["cross_task"].keys() == {"arms", "partition", "pools", "upstream_examples"}
    assert manifest["cross_task"]["arms"] == ["upstream", "sham", "direct"]


@pytest.mark.parametrize(
    ("arms", "sentence"),
    [
        ([{"name": "Big one"}], "use up to 20 lower-case letters"),
        ([{"name": "sham"}], "sham is the name of a step or of another arm."),
        ([{"name": "training"}], "training is the name of a step"),
        ([{"name": "a"}, {"name": "a"}], "a is named twice."),
        ([{"name": "a", "examples": 0}], "a: enter at least 1 example."),
        ([{"name": "a", "tasks": ["sham", "up-one"]}], "a: sham is not an upstream task."),
        ([{"name": "a", "tasks": ["up-one"]}], "up-two isn't in any arm."),
        ([{"name": "a", "tasks": ["up-one"] * 2}, {"name": "b"}], "a: a task is named twice."),
    ],
)
def test_arms_that_break_a_rule_are_refused(researcher, db, arms, sentence):
    assert sentence in " ".join(refused_fields(researcher, arms=arms)["arms"])


def test_pools_must_suffice_for_the_largest_dose(researcher, db):
    arms = [{"name": "small", "examples": 1}, {"name": "large", "examples": 9}]
    errors = refused_fields(researcher, arms=arms)
    assert "up-one: needs 9 training examples" in " ".join(errors["upstream_tasks"])
    assert "sham: needs 18 training examples" in " ".join(errors["sham_task"])


def test_an_ordinary_study_has_no_arms(researcher, db):
    study = Study(owner=researcher, name="plain", title="Plain", shots=[4], arms=ARMS)
    with pytest.raises(Exception, match="only for cross-task studies"):
        design.save_draft(study, [label_task("unseen-a", 4)])


FILE = """
name = "doses"
tasks = ["unseen-a"]
shots = [4]

[cross_task]
upstream_tasks = ["up-one", "up-two"]
upstream_examples = 3
sham_task = "sham"

[[arms]]
name = "dose-1"
examples = 1

[[arms]]
name = "mix.b"
tasks = ["up-two"]
examples = 4
"""


@pytest.fixture
def tasks(db):
    return [label_task(name, size) for name, size in
            (("unseen-a", 4), ("up-one", 8), ("up-two", 8), ("sham", 8))]  # fmt: skip


def test_file_api_and_form_read_and_show_the_same_arms(tasks, researcher, client, tmp_path):
    path = tmp_path / "doses.toml"
    path.write_text(FILE)
    call_command("create_study", design=path, verbosity=0)
    study = Study.objects.get(name="doses")
    assert study.arms == ARMS
    client.force_login(researcher)
    shown = client.get("/api/v1/studies/doses/").json()["design"]
    assert shown["arms"] == ARMS
    sent = shown | {"name": "again"}
    reply = client.post("/api/v1/studies/", sent, content_type="application/json")
    assert reply.status_code == 201, reply.json()
    again = Study.objects.get(name="again")
    assert again.arms == ARMS
    assert again.scenarios.count() == 4

    address = reverse("study_edit", args=["again"])
    lines = "dose-1: 1\nmix.b: 4: up-two"
    assert f">\n{lines}</textarea>" in client.get(address, follow=True).content.decode()
    form = StudyForm(instance=again)
    data = {name: form[name].value() for name in form.fields if form[name].value() is not None}
    data |= {"arms": "dose-1: 1\r\n\r\n dose-2 :2\r\nmix.c:: up-two, up-one"}
    assert client.post(address, data).status_code == 302
    again.refresh_from_db()
    assert again.arms == [
        {"name": "dose-1", "examples": 1},
        {"name": "dose-2", "examples": 2},
        {"name": "mix.c", "tasks": ["up-two", "up-one"]},
    ]
    page = client.post(address, data | {"arms": "dose-1"}).content.decode()
    assert "dose-1: expected a name, a colon and a number of examples." in page


@pytest.mark.parametrize(
    "wrong", ['arms = "dose-1"', "[[arms]]\nexamples = 1", '[[arms]]\nname = "a"\ngain = 0.1',
              '[[arms]]\nname = "a"\ntasks = [1]', '[[arms]]\nname = "a"\nexamples = true'],
)  # fmt: skip
def test_a_file_with_malformed_arms_is_refused(tasks, researcher, tmp_path, wrong):
    path = tmp_path / "doses.toml"
    path.write_text(f'name = "x"\ntasks = ["unseen-a"]\nshots = [4]\n{wrong}\n')
    with pytest.raises(CommandError, match="arms.*: expected"):
        call_command("create_study", design=path)


@pytest.mark.long
def test_simulated_annotators_have_a_known_gain_in_each_arm(researcher, db):
    study = make_cross_task(
        researcher, arms=ARMS, targets=("unseen-a",), annotators=1, rehearsal=True
    )
    lifecycle.change_status(study, "open")
    knowledge = Knowledge(study)
    address = reverse("landing", args=[study.simulated_link_code])
    for number in range(4):
        list(walk(InProcess(), address, "transfer:0.5:dose-1=-1,mix.b=1", knowledge, f"{number}"))
    done = Answer.objects.filter(turn__participation__study=study, turn__step="annotation")
    rows = done.values_list("turn__participation__scenario__arm").annotate(Avg("s1")).order_by()
    means = dict(rows)
    assert means["dose-1"] == 0
    assert means["mix.b"] == 1
    with pytest.raises(ValueError, match="The study has no arm dose-2"):
        policy_of("transfer:0.5:dose-2=0.1", knowledge, None)
