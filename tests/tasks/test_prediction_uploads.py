"""Large uploads of predictions are scored file by file, and stored together or not at all."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from tasks import jobs
from tasks.models import Job, LanguageModel, PredictionFile
from tasks.predictions import store as prediction_store
from tasks.predictions import upload_job as prediction_upload
from tests import factories


@pytest.fixture(autouse=True)
def var(settings, tmp_path, monkeypatch):
    """Every upload counts as large, each file is a part, and each press runs one part."""
    monkeypatch.setattr(prediction_upload, "SMALL", 0)
    monkeypatch.setattr(prediction_store, "PART", 0)
    monkeypatch.setattr(jobs, "POLL", 0)
    settings.VAR_DIR = tmp_path
    return tmp_path


@pytest.fixture
def task(db):
    return factories.make_task(splits=5, test_size=6)


def files(task, *numbers: int, **contents: bytes) -> list[SimpleUploadedFile]:
    data = factories.prediction_lines(task, lambda example: example.gold[:1])
    return [
        SimpleUploadedFile(f"{task.name}_2_{number}.jsonl", contents.get(f"n{number}", data))
        for number in numbers
    ]


def send(client, sent, name="toy", **fields):
    return client.post(reverse("models"), {"name": name, "files": sent, **fields})


def go_on(client) -> Job:
    job = Job.objects.get()
    client.post(reverse("model_upload", args=[job.pk]))
    job.refresh_from_db()
    return job


def address() -> str:
    return reverse("models", query={"upload": Job.objects.get().pk})


def shown(client) -> str:
    return client.get(address()).content.decode()


@pytest.mark.long
def test_files_are_scored_one_by_one_and_stored_together(ada, researcher, task, var):
    reply = send(ada, files(task, 1, 2, 3), title="A model")
    assert reply.url == f"{address()}#upload"
    former = ada.get(reverse("model_upload", args=[Job.objects.get().pk]))
    assert former.url == reply.url
    for done in range(4):
        assert f"{done} of 4 parts done" in shown(ada)
        assert not PredictionFile.objects.exists()
        assert not LanguageModel.objects.exists()
        go_on(ada)
    page = shown(ada)
    assert "3 files stored." in page
    assert reverse("model", args=["toy"]) in page
    assert LanguageModel.objects.get().title == "A model"
    assert not list((var / "jobs").iterdir())
    # An upload in one request stores the same.
    stored = PredictionFile.objects.with_scores().get(split_number=2)
    data = files(task, 2)[0].read()
    upload = prediction_store.PredictionUpload(stored.filename, data, task, 2, 2)
    (other,) = prediction_store.add("other", [upload], researcher)
    rows = ("example", "predicted", "s1")
    assert list(stored.predictions.values_list(*rows)) == list(other.predictions.values_list(*rows))
    assert stored.sha256 == other.sha256


@pytest.mark.long
def test_a_large_upload_reports_texts_not_in_the_context(ada, task):
    away = factories.prediction_lines(task, lambda _example: ["Atlantis"])
    send(ada, files(task, 1, 2, n2=away))
    while not go_on(ada).is_done:
        pass
    sentence = f"{task.name}_2_2.jsonl: 6 of 6 predicted texts do not occur in their context"
    assert sentence in shown(ada)
    assert sentence in ada.get(reverse("model", args=["toy"])).content.decode()


def test_a_large_upload_that_violates_the_card_is_refused(ada):
    task = factories.make_task(name="toy-labels", labels=factories.LABELS, splits=2)
    wrong = factories.prediction_lines(task, lambda _example: ["Positive"])
    send(ada, files(task, 1, 2, n2=wrong))
    while not go_on(ada).is_done:
        pass
    assert "4 of 4 predictions are not labels of this task: &#x27;Positive&#x27;" in shown(ada)
    assert not LanguageModel.objects.exists()


def test_small_files_are_scored_together_and_each_bad_one_named(ada, task, monkeypatch):
    sent = files(task, 1, 2, 3, 4, n2=b"x", n3=b"y")
    monkeypatch.setattr(prediction_store, "PART", sent[0].size + 1)
    send(ada, sent)
    assert Job.objects.get().parameters["parts"] == [[0, 1], [2, 3]]
    while not go_on(ada).is_done:
        pass
    page = shown(ada)
    for number, is_bad in ((1, False), (2, True), (3, True), (4, False)):
        assert (f"{task.name}_2_{number}.jsonl, line 1" in page) is is_bad


def test_a_small_upload_is_stored_in_the_request(ada, task, monkeypatch):
    monkeypatch.setattr(prediction_upload, "SMALL", 10_000)
    assert send(ada, files(task, 1)).url == reverse("model", args=["toy"])
    assert not Job.objects.exists()


@pytest.mark.long
def test_one_invalid_file_stores_nothing_and_each_is_named(ada, task, var):
    bad = b'{"id": "unknown", "predicted": []}\n'
    send(ada, files(task, 1, 2, 3, n1=bad, n3=b"<b>\n"))
    while not go_on(ada).is_done:
        pass
    page = shown(ada)
    assert "Nothing was stored." in page
    assert f"{task.name}_2_1.jsonl, line 1, field id: &#x27;unknown&#x27;" in page
    assert f"{task.name}_2_3.jsonl, line 1" in page
    assert f"{task.name}_2_2.jsonl" not in page
    assert not LanguageModel.objects.exists()
    assert not list((var / "jobs").iterdir())


@pytest.mark.long
def test_problems_visible_without_scoring_are_shown_at_the_form(
    ada, researcher, other_researcher, task
):
    factories.predict(researcher, "toy", task, 2, 1)
    factories.predict(other_researcher, "theirs", task, 2, 1)
    for name, sent, reason in (
        ("toy", files(task, 1), "already"),
        ("theirs", files(task, 2), "is another researcher"),
        ("toy", files(task, 2, 2), "covers the same task, shots and split as"),
        ("toy", files(task, 9), "has no training file"),
    ):
        reply = send(ada, sent, name)
        assert reply.status_code == 422
        assert reason in reply.content.decode()
    assert not Job.objects.exists()
    assert PredictionFile.objects.count() == 2
    assert send(ada, files(task, 2), "new").status_code == 302
    assert not LanguageModel.objects.filter(name="new").exists()


@pytest.mark.long
def test_a_conflict_during_the_upload_is_reported_at_the_end(ada, researcher, task):
    send(ada, files(task, 1, 2))
    go_on(ada)
    factories.predict(researcher, "toy", task, 2, 2)
    go_on(ada)
    go_on(ada)
    assert "has predictions for" in shown(ada)
    assert PredictionFile.objects.get().split_number == 2


@pytest.mark.long
def test_every_part_of_a_job_can_be_repeated(ada, task):
    send(ada, files(task, 1, 2))
    for number in range(3):
        # Done, but stopped before this was stored.
        prediction_upload.chunk(Job.objects.get(), number)
        go_on(ada)
    assert "2 files stored." in shown(ada)
    assert PredictionFile.objects.count() == 2


def test_missing_files_are_reported(ada, task, var):
    send(ada, files(task, 1))
    for path in (var / "jobs").rglob("*.jsonl"):
        path.unlink()
    go_on(ada)
    assert "or its task no longer exists. Upload the files again." in shown(ada)


def test_an_upload_of_another_researcher_is_not_found(ada, client, other_researcher, task):
    send(ada, files(task, 1))
    job = Job.objects.get()
    client.force_login(other_researcher)
    assert client.get(address()).status_code == 404
    assert client.post(reverse("model_upload", args=[job.pk])).status_code == 404
    client.logout()
    assert client.post(reverse("model_upload", args=[job.pk])).status_code == 302
    job.refresh_from_db()
    assert job.done == 0


def test_viewing_writes_nothing(ada, task):
    send(ada, files(task, 1))
    before = Job.objects.values().get()
    shown(ada)
    assert Job.objects.values().get() == before
