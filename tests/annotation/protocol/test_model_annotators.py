"""Models take part as annotators with separate seats, and pages compare them with people."""

import csv
import hashlib
import subprocess
import sys

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.db.models import Avg
from django.test import Client
from django.urls import reverse

from annotation.models import (
    MODEL_SEATS,
    Answer,
    Kind,
    ModelAnnotator,
    ModelRun,
    Participation,
    Status,
    Study,
    Worker,
)
from annotation.privacy import withdrawal
from annotation.protocol import exclusion
from tests import factories
from tests.annotation.participation import both_doors
from tests.annotation.participation.test_participants_api import get, join, post

pytestmark = pytest.mark.django_db
TEMPLATE = "Read $text and answer."
HASH = hashlib.sha256(TEMPLATE.encode()).hexdigest()
RUN = {
    "template": TEMPLATE, "harness": "tests", "examples": "answered", "context": "each",
    "temperature": 0.5, "seed": 3, "retries": 2, "input_tokens": 1200, "output_tokens": 60,
    "cost_usd": "0.012345", "answers": 6, "invalid": 1, "refusals": 0, "seconds": 12.5,
}  # fmt: skip


@pytest.fixture(scope="module")
def stored(module_researcher):
    return both_doors.make_study(
        module_researcher, factories.make_task(splits=2), shots=[0, 2], splits=[1, 2], annotators=1
    ).pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


@pytest.fixture
def runs(researcher):
    return factories.bearer(researcher, "run")


def wanted(shots=2, split=1, name="openai/toy", replicate=1, **changes):
    scenario = {"task": "toy-places", "shots": shots, "split": split}
    model = {"name": name, "revision": "r1", "prompt_hash": HASH} | changes
    return {"kind": "model", "model": model, "scenario": scenario, "replicate": replicate}


def at_work(study, runs, **who) -> Participation:
    """A model at its first example."""
    joined = join(study.link_code, wanted(**who), **runs)
    assert joined.status_code == 201, joined.json()
    token = joined.json()["token"]
    post("consent", token, {"agree": True})
    post("begin", token)
    return Participation.objects.get(token=token)


def done(study, runs, answer=None, **who) -> Participation:
    seat = at_work(study, runs, **who)
    factories.work_through(seat, answer)
    assert post("finish", seat.token, RUN).status_code == 200
    return seat


# Identity and seats -------------------------------------------------------------------------------


@pytest.mark.long
def test_the_same_model_resumes_its_seat(study, runs):
    first = join(study.link_code, wanted(), **runs)
    again = join(study.link_code, wanted(), **runs)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["token"] == again.json()["token"]
    others = [
        {"name": "OpenAI/toy"}, {"revision": "r2"}, {"prompt_hash": "0" * 64}, {"split": 2},
        {"shots": 0, "split": None}, {"replicate": 2},
    ]  # fmt: skip
    for who in others:
        assert join(study.link_code, wanted(**who), **runs).status_code == 201, who
    assert Worker.objects.filter(kind=Kind.MODEL).count() == 1 + len(others)
    stored = ModelAnnotator.objects.get(worker__participations__token=first.json()["token"])
    assert (stored.name, stored.shots, stored.split_number) == ("openai/toy", 2, 1)


def test_a_model_gets_no_other_scenario_as_a_next_task(researcher, runs):
    """A model chooses its scenario when it joins, so the scenario is part of its identity."""
    tasks = [factories.make_task(name=name) for name in ("toy-places", "toy-towns")]
    study = both_doors.make_study(researcher, *tasks, shots=[2], tasks_per_worker=2)
    seat = done(study, runs)
    assert get("work", seat.token).json()["next_task"] is False
    assert post("next_task", seat.token).status_code == 409
    assert study.participations.count() == 1


@pytest.mark.long
def test_a_model_does_a_task_once_in_any_study(study, runs, researcher):
    done(study, runs)
    ended = join(study.link_code, wanted(), **runs)
    assert (ended.status_code, ended.json()["state"]["step"]) == (200, "finished")
    second = factories.make_study(researcher, *study.tasks.all(), shots=[2], annotators=1)
    assert join(second.link_code, wanted(), **runs).status_code == 409
    assert join(second.link_code, wanted(replicate=2), **runs).status_code == 201


@pytest.mark.long
def test_seats_of_models_are_separate_from_those_of_people(study, runs):
    seat = factories.seat(study.scenarios.get(shots=2, split_number=1))
    for replicate in (1, 2, 3):
        assert join(study.link_code, wanted(replicate=replicate), **runs).status_code == 201
    models = study.participations.filter(kind=Kind.MODEL)
    assert sorted(models.values_list("seat_number", flat=True)) == [1, 2, 3]
    assert seat.seat_number == 1


@pytest.mark.long
def test_the_number_of_model_seats_is_limited(study, runs, monkeypatch):
    assert MODEL_SEATS == study.scenarios.first().seats_for(Kind.MODEL) == 100
    monkeypatch.setattr("annotation.models.scenario.MODEL_SEATS", 2)
    replies = [
        join(study.link_code, wanted(replicate=number), **runs).status_code for number in (1, 2, 3)
    ]
    assert replies == [201, 201, 409]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"shots": 4}, "scenario"),
        ({"prompt_hash": "x"}, "model.prompt_hash"),
        ({"name": ""}, "model.name"),
        ({"replicate": 0}, "replicate"),
    ],
)
def test_an_invalid_description_of_a_model_is_refused(study, runs, change, field):
    reply = join(study.link_code, wanted(**change), **runs)
    assert reply.status_code == 422
    assert field in reply.json()["fields"]
    assert not Participation.objects.exists()


def test_a_model_needs_a_researcher_with_the_run_scope(study, researcher, other_researcher):
    assert join(study.link_code, wanted()).status_code == 401
    assert join(study.link_code, wanted(), **factories.bearer(researcher)).status_code == 403
    foreign = factories.bearer(other_researcher, "run")
    assert join(study.link_code, wanted(), **foreign).status_code == 404
    assert not Participation.objects.exists()


# Answers ------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("kind", factories.KINDS)
def test_a_model_may_give_up_in_every_kind_and_a_person_may_not(researcher, runs, kind):
    task = factories.make_kind(kind)
    study = both_doors.make_study(researcher, task, shots=[2], annotators=1)
    body = wanted() | {"scenario": {"task": task.name, "shots": 2, "split": 1}}
    token = join(study.link_code, body, **runs).json()["token"]
    post("consent", token, {"agree": True})
    turn = post("begin", token).json()["question"]["turn"]
    gives_up = {"turn": turn, "answer": {"gives_up": True}}
    assert post("answer", token, gives_up).json()["answer"]["texts"] == []
    assert post("answer", token, gives_up).status_code == 200
    person = factories.seat(study.scenarios.get())
    gives_up["turn"] = person.latest_turn().pk
    assert post("answer", person.token, gives_up).status_code == 422
    assert Answer.objects.get().no_answer


# The run ------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_model_run_is_reported_once_at_the_end(study, runs):
    seat = at_work(study, runs)
    early = post("finish", seat.token, RUN)
    assert (early.status_code, early.json()["code"]) == (409, "not_finished")
    factories.work_through(seat)
    other = post("finish", seat.token, RUN | {"template": "another"})
    assert (other.status_code, other.json()["code"]) == (422, "template")
    assert post("finish", seat.token, RUN).json()["step"] == "finished"
    assert post("finish", seat.token, RUN | {"invalid": 0}).status_code == 200
    assert ModelRun.objects.get().invalid == 1
    person = factories.seat(study.scenarios.get(shots=0))
    factories.work_through(person)
    assert post("finish", person.token, RUN).status_code == 409
    assert post("finish", seat.token, RUN | {"invalid": 7}).status_code == 422


@pytest.mark.engines
def test_the_database_refuses_to_change_a_run(study, runs):
    seat = done(study, runs)
    for change in (
        lambda: ModelRun.objects.update(invalid=0),
        lambda: ModelRun.objects.all().delete(),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            change()
    withdrawal.withdraw(seat.token)
    assert not ModelRun.objects.exists()


# Pages and exports --------------------------------------------------------------------------------


def exported(study, folder) -> dict[str, list[dict[str, str]]]:
    call_command("export_study", study.name, str(folder), verbosity=0)
    verified = subprocess.run(
        [sys.executable, folder / "verify.py"], capture_output=True, check=False
    )
    assert verified.returncode == 0, verified.stdout.decode()
    files = {}
    for name in (
        "model_annotators.csv", "human_performance.csv", "annotators.csv", "flow.csv",
        "model_differences.csv",
    ):  # fmt: skip
        with (folder / name).open(newline="", encoding="utf-8") as file:
            files[name] = list(csv.DictReader(file))
    return files


@pytest.mark.long
def test_the_export_describes_each_model_and_does_not_count_it(study, runs, tmp_path):
    factories.work_through(factories.seat(study.scenarios.get(shots=0)), lambda turn: [])
    seat = done(study, runs)
    unfinished = at_work(study, runs, split=2)
    files = exported(study, tmp_path / "export")
    told = {row["annotator"]: row for row in files["model_annotators.csv"]}
    row = told[seat.pseudonym]
    assert (row["model"], row["revision"], row["prompt_hash"]) == ("openai/toy", "r1", HASH)
    assert (row["invalid"], row["cost_usd"], row["template"]) == ("1", "0.012345", TEMPLATE)
    assert told[unfinished.pseudonym]["template"] == ""
    people = [row for row in files["human_performance.csv"] if row["kind"] == "person"]
    assert sum(int(row["n"]) for row in people) == 1
    seats = {row["seats"] for row in files["flow.csv"] if row["kind"] == "model"}
    assert seats == {str(MODEL_SEATS)}


# Compared with people, example by example ---------------------------------------------------------


def half_right(turn):
    """Answer every second example correctly, and the others with "no answer"."""
    return turn.example.gold[:1] if turn.example.position % 2 else []


def first_wrong(turn):
    """Answer the first example wrong and the others correctly."""
    example = turn.example
    return factories.wrong_texts(example) if example.position == 0 else example.gold[:1]


@pytest.fixture
def compared(study, runs):
    """Seat one person on each split, and a model twice on split 1 and once on split 2."""
    for number, answer in ((1, None), (2, half_right)):
        scenario = study.scenarios.get(shots=2, split_number=number)
        factories.work_through(factories.seat(scenario), answer)
    return [
        done(study, runs, lambda turn: []),
        done(study, runs, half_right, replicate=2),
        done(study, runs, split=2),
    ]


def mean_of(seat) -> float:
    answers = Answer.objects.filter(turn__participation=seat, turn__step="annotation")
    return answers.aggregate(mean=Avg("s1"))["mean"]


def differences(client, study, kind="person") -> list[dict[str, str]]:
    address = reverse("study_models_file", args=[study.name, "differences"])
    return list(csv.DictReader(client.get(address, {"kind": kind}).content.decode().splitlines()))


@pytest.mark.long
def test_a_seated_model_is_compared_with_people_by_example(study, compared, ada):
    factories.predict(study.owner, "toy", study.tasks.get(), 2, 1)
    empty, half, right = map(mean_of, compared)
    assert empty < half < right
    seated, uploaded = differences(ada, study)
    assert uploaded["model"] == "toy"
    assert seated["model"] == f"openai/toy r1, prompt {HASH[:8]} (model in the annotator's seat)"
    assert float(seated["model_mean"]) == pytest.approx(((empty + half) / 2 + right) / 2)
    assert float(seated["human_mean"]) == pytest.approx((right + half) / 2)
    assert (seated["splits"], seated["split_numbers"]) == ("3", "1; 2")
    assert (seated["training"], uploaded["training"]) == ("same splits", "some of people's splits")
    family = sorted([float(seated["p"]), float(uploaded["p"])])
    assert float(seated["low_95"]) < float(seated["difference"]) < float(seated["high_95"])
    holm = sorted([float(seated["p_holm"]), float(uploaded["p_holm"])])
    assert holm[0] == pytest.approx(min(1, 2 * family[0]))


@pytest.mark.long
def test_examples_of_a_seated_model_are_listed_with_peoples(study, compared, ada):
    page = ada.get(reverse("study_differences", args=[study.name]), follow=True).content.decode()
    assert "largest differences between humans and" in page
    (row,) = differences(ada, study)
    address = reverse("study_models_file", args=[study.name, "examples"])
    reply = ada.get(address, {"pair": f"toy-places/2/{row['model']}"}).content.decode()
    examples = list(csv.DictReader(reply.splitlines()))
    assert len(examples) == int(row["test_examples"])
    mean = sum(float(example["model_mean"]) for example in examples) / len(examples)
    assert mean == pytest.approx(float(row["model_mean"]))


@pytest.mark.long
def test_excluded_models_are_not_compared_nor_models_with_models(study, compared, ada):
    (before,) = differences(ada, study)
    exclusion.decide(compared[0], False, "a wrong endpoint", study.owner)
    (after,) = differences(ada, study)
    assert (before["splits"], after["splits"]) == ("3", "2")
    assert float(after["model_mean"]) > float(before["model_mean"])
    assert differences(ada, study, Kind.MODEL) == []


@pytest.mark.long
def test_the_comparison_uses_the_metric_of_the_card(researcher, runs, ada, tmp_path):
    task = factories.make_task(labels=factories.LABELS, metric="Classification-F1")
    study = factories.make_study(researcher, task, shots=[2], annotators=2)
    for answer in (None, first_wrong):
        factories.work_through(factories.seat(study.scenarios.get()), answer)
    seat = at_work(study, runs)
    factories.work_through(seat, first_wrong)
    (row,) = differences(ada, study)
    metrics = f"/api/v1/studies/{study.name}/human-performance/"
    reply = Client().get(metrics, headers=factories.bearer(researcher)).json()
    model = next(cell for cell in reply if cell["kind"] == "model")
    assert float(row["model_mean"]) == pytest.approx(model["mean"])
    assert float(row["model_mean"]) != pytest.approx(mean_of(seat))
    exported(study, tmp_path / "export")


@pytest.mark.long
def test_the_page_shows_each_model_over_its_splits_with_people(study, runs, ada):
    factories.work_through(factories.seat(study.scenarios.get(shots=2, split_number=1)))
    done(study, runs, split=1)
    done(study, runs, split=2, answer=lambda turn: [])
    page = ada.get(reverse("study_models", args=[study.name])).content.decode()
    assert "openai/toy r1, prompt" in page
    assert "(model in the annotator&#x27;s seat)" in page
    assert "Time and cost per answer" in page
    reply = Client().get(
        f"/api/v1/studies/{study.name}/models/", headers=factories.bearer(study.owner)
    ).json()[0]  # fmt: skip
    (row,) = [row for row in reply["scores"] if "openai/toy" in row["name"]]
    assert (row["n"], row["sd_over"]) == (2, "splits")
    assert row["sd_ddof1"] > 0
    people = [row for row in reply["scores"] if row["name"] == "People" and row["shots"] == 2]
    assert people[0]["mean"] == 1
    effort = {row["kind"]: row for row in reply["effort"]}
    assert effort["model"]["invalid_share"] == pytest.approx(1 / 6)
    assert effort["model"]["cost_per_answer"] == pytest.approx(0.012345 / 6)
    assert effort["person"]["answers"] == 6


@pytest.mark.long
def test_a_withdrawn_model_leaves_no_row(study, runs, tmp_path):
    seat = done(study, runs)
    withdrawal.withdraw(seat.token)
    assert exported(study, tmp_path / "export")["model_annotators.csv"] == []
    assert get("work", seat.token).json()["status"] == Status.WITHDRAWN


@pytest.mark.long
def test_verify_accepts_answers_that_a_model_gave_up(researcher, runs, tmp_path):
    tasks = [factories.make_kind(kind) for kind in ("label", "number", "options", "spans")]
    study = factories.make_study(researcher, *tasks, shots=[2], annotators=1)
    for task in tasks:
        body = wanted() | {"scenario": {"task": task.name, "shots": 2, "split": 1}}
        token = join(study.link_code, body, **runs).json()["token"]
        post("consent", token, {"agree": True})
        state = post("begin", token).json()
        while state["step"] != "finished":
            if state["step"] == "question":
                answer = {"turn": state["question"]["turn"], "answer": {"gives_up": True}}
                state = post("answer", token, answer).json()
            else:
                state = post("continue", token, {"leaving": state["step"]}).json()
    assert len(exported(study, tmp_path / "export")["model_annotators.csv"]) == 4
