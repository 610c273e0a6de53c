"""An error names a full disk, nothing is left behind, and work continues once there is space."""

import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from analysis.export import bundle_job
from tasks import jobs, uploads
from tasks.models import Job, PredictionFile, Task, TaskUpload
from tasks.predictions import upload_job
from tests import factories
from tests.tasks.browser_import import GOOD, act, act_files, send, settle, text
from tests.tasks.test_importing import line

NAMED = "The disk of var/ is full ("
LARGE = "".join(line(id=str(n), context="We saw Oslo. " + "x" * 10_000) for n in range(120))


def test_a_chunk_on_a_full_disk_fails_and_can_be_retried(
    db, monkeypatch, caplog, settings, tmp_path
):
    settings.VAR_DIR = tmp_path
    target = ["/dev/full"]

    def chunk(job, number):
        Path(target[0]).write_text("x")

    monkeypatch.setitem(jobs.KINDS, "writing", (chunk, timedelta(minutes=1)))
    job = jobs.start("writing", {}, total=1, owner=None)
    jobs.advance(job)
    assert job.has_failed
    assert job.error.startswith(NAMED)
    assert "MB free). Free some space, then try again." in job.error
    assert caplog.text == ""
    target[0] = str(tmp_path / "there")
    jobs.retry(job)
    jobs.advance(job)
    assert job.is_done


@pytest.fixture
def disk(settings, tmp_path):
    """Put var/ on a disk of 1 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    subprocess.run(mount, check=True)
    settings.VAR_DIR = folder
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Fill the disk with another user's file."""
    other = disk / "other"
    with pytest.raises(OSError, match="No space left"):
        other.write_bytes(b"x" * 2_000_000)
    return other


def files_in(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]


@pytest.mark.long
@pytest.mark.small_disk
def test_an_upload_on_a_full_disk_is_refused_and_leaves_nothing(ada, disk):
    reply = send(ada, GOOD | {"toy_test.jsonl": LARGE})
    assert reply.status_code == 422
    assert NAMED in text(reply)
    assert files_in(disk) == []
    assert not TaskUpload.objects.exists()
    page = settle(ada, send(ada, GOOD))
    act(ada, page, "confirm")
    assert Task.objects.exists()


@pytest.mark.long
@pytest.mark.small_disk
def test_adding_files_on_a_full_disk_leaves_the_others_unchanged(ada, disk):
    page = settle(ada, send(ada, GOOD))
    before = sorted(files_in(disk))
    page = act_files(ada, page, {"toy_train_1_2.jsonl": LARGE})
    assert NAMED in text(page)
    assert sorted(files_in(disk)) == before
    assert uploads.names(TaskUpload.objects.get()) == sorted(GOOD)


@pytest.mark.small_disk
def test_predictions_on_a_full_disk_are_refused(ada, disk, monkeypatch):
    monkeypatch.setattr(upload_job, "SMALL", 0)
    task = factories.make_task()
    data = factories.prediction_lines(task, lambda example: example.gold)
    other = fill(disk)
    send_file = SimpleUploadedFile(f"{task.name}_2_1.jsonl", data)
    reply = ada.post(reverse("models"), {"name": "T5", "files": [send_file]})
    assert reply.status_code == 422
    assert NAMED in text(reply)
    assert files_in(disk) == ["other"]
    assert not Job.objects.exists()
    other.unlink()
    send_file.seek(0)
    reply = ada.post(reverse("models"), {"name": "T5", "files": [send_file]}, follow=True)
    job = Job.objects.get()
    while not job.is_done:
        jobs.advance(job)
    assert PredictionFile.objects.exists()


@pytest.mark.small_disk
@pytest.mark.long
def test_a_bundle_on_a_full_disk_fails_and_can_be_retried(ada, disk, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2])
    other = fill(disk)
    for _try in range(3):
        job = bundle_job.prepare(study, researcher)
        jobs.advance(job)
        assert job.has_failed
        assert job.error.startswith(NAMED)
        assert [name for name in files_in(disk) if name != "other"] == []
    other.unlink()
    subprocess.run(["mount", "-o", "remount,size=40m", str(disk)], check=True)
    job = bundle_job.prepare(study, researcher)
    while not job.is_done:
        jobs.advance(job)
        assert not job.has_failed, job.error
    archive = bundle_job.archive_of(job)
    assert archive is not None
    assert files_in(disk) == [str(archive.relative_to(disk))]


@pytest.mark.small_disk
def test_form_files_on_a_full_disk_get_an_error(ada, disk, settings):
    settings.FILE_UPLOAD_TEMP_DIR = str(disk)
    large = SimpleUploadedFile("toy_test.jsonl", b"x" * 3_000_000)
    reply = ada.post(reverse("task_add"), {"card": "", "upload": [large]})
    assert reply.status_code == 507
    assert NAMED in text(reply)
    assert files_in(disk) == []
