"""Gains of models, uploaded or in a seat, next to people's: arms of uploads, tables, figure."""

import csv
import io
import math

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.urls import reverse
from scipy import stats

from analysis.cross_task import cross_task, learners, upstream
from analysis.documents import blocks, checklists, preregistration, report
from analysis.documents.checklists.facts import Facts
from analysis.export.files import write_export
from analysis.figures import data as figures
from analysis.models import models
from analysis.stats import arg
from analysis.stats.uncertainty import wilson
from annotation.models import Kind, Participation
from annotation.study import compared_files, lifecycle
from tasks.models import PredictionFile, Task
from tasks.predictions import store, upload_job
from tests import factories
from tests.analysis.export.tampering import Export
from tests.annotation.participation.test_participants_api import join, post
from tests.annotation.protocol.test_model_annotators import wanted
from tests.annotation.study.test_cross_task import arrive, label_task, make_cross_task
from tests.tasks import predictions

pytestmark = pytest.mark.long


def first_right(number: int):
    """Return predictions of which the first `number` are right and the others wrong."""
    other = {"positive": "negative", "negative": "positive"}
    return lambda e: e.gold if e.position < number else [other[e.gold[0]]]


def predict(owner, model: str, arm: str, task: str, right: int, split: int = 1) -> None:
    found = Task.objects.get(name=task)
    upload = predictions.upload(found, shots=4, number=split, predict=first_right(right))
    store.add(model, [upload], owner, arm=arm)


@pytest.fixture
def study(researcher, db):
    return make_cross_task(researcher)


def test_an_upload_states_its_arm_by_form_api_and_command(study, researcher, client, tmp_path):
    task = Task.objects.get(name="unseen-a")
    data = factories.prediction_lines(task)
    client.force_login(researcher)
    predictions.send(client, ("unseen-a_4_1.jsonl", data), arm="upstream")
    token = factories.bearer(researcher, "read", "run")
    sent = {"name": "toy", "arm": "direct", "files": SimpleUploadedFile("unseen-a_4_1.jsonl", data)}
    reply = client.post("/api/v1/models/", sent, headers=token)
    assert reply.status_code == 201, reply.content
    assert [file["arm"] for file in reply.json()["files"]] == ["direct", "upstream"]
    (tmp_path / "unseen-a_4_1.jsonl").write_bytes(data)
    call_command("import_predictions", "toy", str(tmp_path), arm="sham", stdout=io.StringIO())
    assert set(PredictionFile.objects.values_list("arm", flat=True)) == {
        "upstream", "direct", "sham",
    }  # fmt: skip
    assert sorted(score["arm"] for score in client.get("/api/v1/models/toy/").json()["scores"]) == [
        "direct", "sham", "upstream",
    ]  # fmt: skip
    sent["files"] = SimpleUploadedFile("unseen-b_4_1.jsonl", data)
    refused = client.post("/api/v1/models/", sent | {"arm": "Sideways"}, headers=token)
    assert (refused.status_code, [*refused.json()["fields"]]) == (422, ["arm"])
    with pytest.raises(CommandError, match="--arm: expected the name"):
        call_command("import_predictions", "toy", str(tmp_path), arm="Sideways")
    with pytest.raises(CommandError, match="already has predictions for .* sham arm"):
        call_command("import_predictions", "toy", str(tmp_path), arm="sham")


def test_no_arm_and_the_direct_arm_are_one_place(study, researcher):
    predict(researcher, "toy", "", "unseen-a", 6)
    with pytest.raises(store.PredictionsError, match="already has predictions"):
        predict(researcher, "toy", "direct", "unseen-a", 6)
    file = PredictionFile.objects.get()
    file.pk, file.arm = None, "direct"
    with pytest.raises(IntegrityError), transaction.atomic():
        file.save(force_insert=True)
    file.arm = "Sideways"
    with (
        pytest.raises(IntegrityError, match="predictions_have_a_named_arm_or_none"),
        transaction.atomic(),
    ):
        file.save(force_insert=True)


def test_a_large_upload_stores_its_arm(study, researcher):
    task = Task.objects.get(name="unseen-a")
    upload = predictions.upload(task, shots=4)
    job = upload_job.begin("toy", [upload], researcher, arm="upstream")
    for number in range(job.total):
        job.result = [*job.result, upload_job.chunk(job, number)]
    assert PredictionFile.objects.get().arm == "upstream"


def test_tables_by_task_and_shots_leave_out_trained_models(study, researcher):
    predict(researcher, "toy", "direct", "unseen-a", 3)
    predict(researcher, "toy", "upstream", "unseen-a", 6)
    (file,) = compared_files.files(study)
    assert file.arm == "direct"
    assert compared_files.arm_files(study).count() == 2
    rows = models.model_rows(PredictionFile.objects.all())
    assert [(row.run.arm, row.score.mean, row.score.n) for row in rows] == [
        ("direct", 50, 1), ("upstream", 100, 1),
    ]  # fmt: skip
    (table,) = [t for t in models.tables(study, Kind.PERSON) if t.shots == 4]
    (row,) = [row for row in table.rows if row.source == "uploaded"]
    assert row.scores[0].mean == 50


TARGETS = ("unseen-a", "unseen-b", "unseen-c")
RIGHT = {"upstream": (6, 5, 4), "sham": (4, 4, 4), "direct": (3, 3, 4)}  # of six, by task


def work(person, right: int) -> None:
    """Answer `right` test examples and all earlier examples correctly."""
    said = first_right(right)
    factories.work_through(
        person, lambda t: said(t.example) if t.step == "annotation" else t.example.gold
    )


@pytest.fixture
def answered(researcher, db):
    return answered_with_model(researcher)


def answered_with_model(researcher):
    """Two people in each arm of three tasks, and a model whose gains rank the tasks alike."""
    study = make_cross_task(
        researcher, targets=TARGETS, metrics=("S1",) * 3, ontology="cls/nli", annotators=2,
        sham_task=label_task("neutral", ontology="cls/topic"),
    )  # fmt: skip
    lifecycle.change_status(study, "open")
    for number in range(18):
        person = arrive(study, f"p{number}")
        right = RIGHT[person.scenario.arm][TARGETS.index(person.scenario.task.name)]
        work(person, right - (person.seat_number == 2))
    for task, direct, trained in zip(TARGETS, (2, 4, 6), (4, 5, 3), strict=True):
        predict(researcher, "toy", "direct", task, direct)
        predict(researcher, "toy", "upstream", task, trained)
    return study


def test_models_gain_on_the_splits_that_both_arms_have(researcher, db):
    study = make_cross_task(researcher, splits=(1, 2), targets=("unseen-a", "unseen-b"))
    for split, right in ((1, 2), (2, 4)):
        predict(researcher, "toy", "direct", "unseen-a", right, split)
    predict(researcher, "toy", "upstream", "unseen-a", 3, 1)
    predict(researcher, "toy", "direct", "unseen-b", 0)
    predict(researcher, "toy", "upstream", "unseen-b", 6)
    whole, first, second = learners.model_gains(study)
    assert (first.kind, first.new_people, first.base_people) == ("toy", 1, 1)
    assert (first.base, first.new) == pytest.approx((100 / 3, 50))
    assert (first.gain, first.difference) == pytest.approx((50, 50 / 3))
    assert (second.refused, second.difference) == ("the base is at or below zero", 100)
    assert math.isnan(second.gain)
    assert (whole.task, whole.refused) == ("all tasks", "unseen-b: the base is at or below zero")
    assert math.isnan(whole.gain)


def test_a_model_in_a_seat_has_a_gain_of_its_own(answered, researcher):
    runs = factories.bearer(researcher, "run")
    for name, arms in {"one": {"direct": 2, "upstream": 3}, "two": {"direct": 4}}.items():
        for arm, right in arms.items():
            scenario = {"task": "unseen-a", "shots": 4, "split": 1, "arm": arm}
            joined = join(answered.link_code, wanted(name=name) | {"scenario": scenario}, **runs)
            assert joined.status_code == 201, joined.json()
            token = joined.json()["token"]
            post("consent", token, {"agree": True})
            post("begin", token)
            work(Participation.objects.get(token=token), right)
    gains = [row for row in learners.model_gains(answered) if row.kind != "toy"]
    ((title, gain),) = [(row.kind, row.gain) for row in gains]
    assert title.startswith("one r1, prompt")
    assert gain == pytest.approx(50)


def test_people_and_models_share_a_table_and_only_people_have_an_interval(answered):
    every = list(learners.learners(answered, "person"))
    (people, toy) = [row for row in every if row.contrast == ("upstream", "direct", 4)]
    assert (people.kind, toy.kind) == ("People", "toy")
    (of_people,) = [
        row
        for row in cross_task.gains(answered, "person")
        if (row.task, row.new_arm, row.base_arm) == ("all tasks", "upstream", "direct")
    ]
    assert (people.gain, people.low) == (of_people.gain, of_people.low)
    assert math.isfinite(people.low)
    assert (math.isnan(toy.low), toy.no_interval) == (True, "")
    assert toy.gain == pytest.approx((100 + 25 - 50) / 3)
    shares = [toy.above.share, toy.within.share, toy.below.share]
    assert shares == pytest.approx([2 / 3, 0, 1 / 3])
    assert toy.above[1:] == wilson(2, 3)
    assert len(every) == 4  # people have two more contrasts


def test_documents_state_gains_of_models(answered):
    sentence = "For a model with runs in several arms (in an annotator's seat, or uploaded), gains "
    plan = blocks.as_markdown(preregistration.for_study(answered))
    assert f"{sentence}are computed in the same way" in plan
    document = report.for_study(answered)
    (text,) = [part for part in document.sections if part.title == "Methods"]
    assert f"{sentence}were computed" in " ".join(part.text for part in text.blocks)
    evidence = checklists.for_study(Facts(answered), {})["wei-2025"].entries
    assert any(f"{sentence}were computed" in entry.evidence for entry in evidence)


def test_gains_of_people_and_models_correlate_by_rank(answered):
    (row,) = learners.correlations(answered, "person")
    assert (row.people, row.kind, row.shared.pairs) == ("People", "toy", 3)
    assert row.shared.rho == pytest.approx(1)
    (category,) = [c for c in learners.categories(answered, "person") if c.kind == "toy"]
    assert (category.task, len(category.tasks), category.seen) == ("cls/nli", 3, 2)
    assert category.gain == pytest.approx(25)


def test_gains_are_shown_next_to_the_distance_of_the_tasks(answered):
    rows = upstream.by_task(answered, "person")
    assert [(row.task, row.new_arm, row.distance) for row in rows[:2]] == [
        (TARGETS[0], "upstream", 0), (TARGETS[0], "sham", 1),
    ]  # fmt: skip
    assert rows[-1].task == "all tasks"
    assert math.isnan(rows[-1].distance)


@pytest.mark.parametrize("ties", [False, True])
def test_spearman_equals_scipy(ties):
    draw = np.random.default_rng(3)
    first = draw.normal(size=20)
    second = first + draw.normal(size=20)
    if ties:
        first, second = first.round(), second.round()
    found, expected = arg.spearman(list(first), list(second)), stats.spearmanr(first, second)
    assert (found.rho, found.p) == pytest.approx((expected.statistic, expected.pvalue))
    reach = stats.norm.ppf(0.975) * math.sqrt((1 + found.rho**2 / 2) / 17)
    ends = np.tanh(np.arctanh(found.rho) + np.array([-reach, reach]))
    assert (found.low, found.high) == pytest.approx(tuple(ends))


def test_a_correlation_over_20_tasks_has_the_p_printed_in_crossfit():
    """CrossFit prints 0.66 (p .0015); these 20 ranks have a sum of squared differences of 452."""
    order = list(range(20))
    order[0], order[15], order[1], order[2] = 15, 0, 2, 1
    found = arg.spearman(range(20), order)
    assert (round(found.rho, 2), round(found.p, 4)) == (0.66, 0.0015)


def test_a_correlation_of_equal_gains_is_undefined():
    found = arg.spearman([1, 1, 1], [1, 2, 3])
    assert all(map(math.isnan, (found.rho, found.low, found.p)))


def test_page_files_figure_and_report_show_gains_of_models(answered, researcher, client):
    client.force_login(researcher)
    page = client.get(reverse("cross_task", args=[answered.name]), follow=True).content.decode()
    assert "ARG of annotators and models" in page
    assert "66.7 % (20.8 to 93.9)" in page
    assert "cls/nli" in page
    for table, number in (("learners", 4), ("model-gains", 4), ("correlations", 1)):
        text = client.get(reverse("cross_task_file", args=[answered.name, table])).content.decode()
        assert len(text.splitlines()) == number + 1, table
    figure = figures.figure(answered, "person", "gains")
    assert [(row["who"], row["task"]) for _at, row in figure.frame.iterrows()] == [
        (who, task) for who in ("People", "toy") for task in (*TARGETS, "all tasks")
    ]
    has_interval = figure.frame.assign(low=figure.frame["low"].notna())
    assert set(has_interval.query("task == 'all tasks' and low")["who"]) == {"People"}
    assert not has_interval.query("who == 'toy'")["low"].any()
    assert "gains" in [figure.name for figure in figures.page_figures(answered, "person", set())]
    for ext in ("svg", "png", "pdf"):
        reply = client.get(reverse("figure_file", args=[answered.name, "gains", ext]))
        assert reply.status_code == 200, ext
    report = client.get(reverse("report_file", args=[answered.name])).content.decode()
    assert "Gains of annotators and models" in report


def test_a_study_without_arms_has_no_figure_of_gains(researcher, client):
    study = factories.make_study(researcher, factories.make_task())
    client.force_login(researcher)
    assert "gains" not in [figure.name for figure in figures.page_figures(study, "person", set())]
    address = reverse("figure_file", args=[study.name, "gains", "json"])
    assert client.get(address).status_code == 404


def test_model_gains_are_exported_with_their_columns(answered, tmp_path, capsys):
    write_export(answered, tmp_path / "export")
    with (tmp_path / "export" / "model_gains.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["model"], row["task"]) for row in rows] == [
        ("toy", task) for task in ("all tasks", *TARGETS)
    ]
    assert (rows[1]["base"], rows[1]["new"], rows[1]["gain"]) == (
        "0.333333333333333", "0.666666666666667", "1.0",
    )  # fmt: skip
    with (tmp_path / "export" / "predictions.csv").open(newline="") as file:
        assert {row["arm"] for row in csv.DictReader(file)} == {"upstream", "direct"}
    assert Export(tmp_path / "export").verify() == 0, capsys.readouterr().out
