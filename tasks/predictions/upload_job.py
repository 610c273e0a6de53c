"""The job for large prediction uploads, which scores them in chunks and then stores all of them.

Small uploads are scored in the request (tasks/predictions/store.py). The files stay in the folder
of the job until it finishes. If any of them can't be stored, none are.
"""

import hashlib
import json
import secrets
import shutil
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from tasks import disk, jobs
from tasks.models import Job, PredictionFile, Task
from tasks.predictions import store as prediction_store
from tasks.predictions.store import PredictionsError, PredictionUpload

KIND = "predictions"
SMALL = 500_000  # bytes of predictions that take less than a second to score and store
MAX_AGE = timedelta(days=1)


def begin(name: str, uploads: Sequence[PredictionUpload], by: Any, **details: Any) -> Job:
    """Start a job that scores and stores the files. Raises the same errors as `store.check`."""
    prediction_store.check(name, uploads, by, **details)
    jobs.drop(Job.objects.filter(kind=KIND, created_at__lt=timezone.now() - MAX_AGE))
    jobs.sweep()
    files = [
        {
            "filename": upload.filename,
            "task": upload.task.pk,
            "shots": upload.shots,
            "split_number": upload.split_number,
            "sha256": hashlib.sha256(upload.data).hexdigest(),
        }
        for upload in uploads
    ]
    # The token makes the job unique, because repeating an upload requires a new outcome.
    parameters = {
        "token": secrets.token_hex(8),
        "model": name,
        "details": details,
        "files": files,
        "parts": prediction_store.parts_by_size([len(upload.data) for upload in uploads]),
    }
    with transaction.atomic():  # commit the job only after its files have been written
        job = jobs.start(KIND, parameters, total=len(parameters["parts"]) + 1, owner=by)
        try:
            with disk.full_errors():
                jobs.folder_of(job).mkdir(parents=True)
                for number, upload in enumerate(uploads):
                    (jobs.folder_of(job) / f"{number}.jsonl").write_bytes(upload.data)
        except disk.DiskFull as error:
            shutil.rmtree(jobs.folder_of(job), ignore_errors=True)
            raise PredictionsError([str(error)]) from None
    return job


@jobs.job(KIND)
def chunk(job: Job, number: int) -> dict[str, Any]:
    """Score a chunk, and return {problems, remarks by file}.

    The last chunk stores all and returns {stored: number, remarks}, or {problems: sentences}.
    """
    if number < job.total - 1:
        return _score(job, job.parameters["parts"][number])
    problems = [problem for part in job.result for problem in part["problems"]]
    if not problems:
        try:
            return _store(job)
        except PredictionsError as error:
            problems = error.problems
        except ValidationError as error:
            problems = error.messages
    shutil.rmtree(jobs.folder_of(job), ignore_errors=True)
    return {"problems": problems}


def _upload(job: Job, number: int) -> PredictionUpload:
    file = job.parameters["files"][number]
    task = Task.objects.filter(pk=file["task"]).first()
    try:
        data = (jobs.folder_of(job) / f"{number}.jsonl").read_bytes()
    except FileNotFoundError:
        data = None
    if task is None or data is None:
        raise jobs.JobError(
            f"{file['filename']} or its task no longer exists. Upload the files again."
        )
    return PredictionUpload(file["filename"], data, task, file["shots"], file["split_number"])


def _score(job: Job, numbers: Sequence[int]) -> dict[str, Any]:
    try:
        results = prediction_store.scored([_upload(job, number) for number in numbers])
    except PredictionsError as error:
        return {"problems": error.problems}
    for number, result in zip(numbers, results, strict=True):
        text = json.dumps(result)
        (jobs.folder_of(job) / f"{number}.scored").write_text(text, encoding="utf-8")
    return {"problems": [], "remarks": [result["remarks"] for result in results]}


def _store(job: Job) -> dict[str, Any]:
    name, files = job.parameters["model"], job.parameters["files"]
    remarks = [sentences for part in job.result for sentences in part["remarks"]]
    if not _is_stored(job):
        if job.owner is None:
            raise jobs.JobError("The account that uploaded this no longer exists.")
        uploads = [_upload(job, number) for number in range(len(files))]
        places = [jobs.folder_of(job) / f"{number}.scored" for number in range(len(files))]
        results = [json.loads(place.read_text(encoding="utf-8")) for place in places]
        prediction_store.store(name, uploads, results, job.owner, job.parameters["details"])
    shutil.rmtree(jobs.folder_of(job), ignore_errors=True)
    lines = [
        f"{file['filename']}: {remark}"
        for file, sentences in zip(files, remarks, strict=True)
        for remark in sentences
    ]
    return {"stored": len(files), "remarks": lines}


def _is_stored(job: Job) -> bool:
    """Return whether a process stored the files and was killed before recording it."""
    names = ("task", "shots", "split_number", "sha256")
    since = PredictionFile.objects.filter(
        model__name=job.parameters["model"], uploaded_at__gte=job.created_at
    ).filter(arm=job.parameters["details"].get("arm") or "")
    expected = {tuple(file[name] for name in names) for file in job.parameters["files"]}
    return expected <= set(since.values_list(*names))
