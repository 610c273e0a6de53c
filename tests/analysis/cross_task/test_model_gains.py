"""Gains of uploaded and seated models next to those of people: arms of uploads, tables, figure."""

import io

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction

from analysis.models import models
from annotation.models import Kind
from annotation.study import compared_files
from tasks.models import PredictionFile, Task
from tasks.predictions import store, upload_job
from tests import factories
from tests.annotation.study.test_cross_task import make_cross_task
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
    refused = client.post("/api/v1/models/", sent | {"arm": "sideways"}, headers=token)
    assert (refused.status_code, [*refused.json()["fields"]]) == (422, ["arm"])
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
    file.arm = "sideways"
    with pytest.raises(IntegrityError, match="predictions_have_a_known_arm"), transaction.atomic():
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
    assert compared_files.of_arms(study).count() == 2
    rows = models.model_rows(PredictionFile.objects.all())
    assert [(row.run.arm, row.score.mean, row.score.n) for row in rows] == [
        ("direct", 50, 1), ("upstream", 100, 1),
    ]  # fmt: skip
    (table,) = [t for t in models.tables(study, Kind.PERSON) if t.shots == 4]
    (row,) = [row for row in table.rows if row.source == "uploaded"]
    assert row.scores[0].mean == 50
