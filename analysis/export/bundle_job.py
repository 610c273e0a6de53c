"""The job that builds a release bundle. A study has only one bundle, which each build replaces.

The first part reads all data from the database in a single snapshot, so that the files are
consistent even if annotators continue to answer. The other parts write the Parquet files, run
verify.py and write the ZIP. Each part can safely be repeated, because files of a stopped process
are ignored.
"""

import hashlib
import secrets
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db.models import Count, Max, QuerySet, Sum
from django.utils import timezone

from analysis.export import files, publishing, release
from analysis.export.columns import COLUMNS
from analysis.scores.findings import study_of
from annotation import models
from annotation.models import Study
from annotation.study import compared_files
from tasks import jobs
from tasks.models import Job

KIND = "release"
VERSION = 12  # increase this whenever the content of a bundle changes
TURN_MODELS: tuple[Any, ...] = (models.Answer, models.Confidence, models.ProblemReport)
PARTICIPATION_MODELS: tuple[Any, ...] = (models.Decision, models.ExitAnswers, models.LedgerEntry)
PARTS = ("data", *COLUMNS, "verify", "zip")


def state(study: Study) -> str:
    """Return a hash of a bundle's data. It only counts turns and answers, which never change."""
    seats = study.participations.order_by("pk").values_list(
        "pk", "status", "in_analysis", "is_paid", "qualified", "consented_at", "comprehended_at",
        "finished_at", "returned_at", "worked_seconds",
    )  # fmt: skip
    grown: list[QuerySet[Any]] = [
        models.Turn.objects.filter(participation__study=study),
        *(model.objects.filter(turn__participation__study=study) for model in TURN_MODELS),
        *(model.objects.filter(participation__study=study) for model in PARTICIPATION_MODELS),
        models.Allocation.objects.filter(study=study),
        study.events.filter(topic=models.Topic.STUDY),  # the report lists changes
        study.consent_texts.all(),
    ]
    activity = models.Activity.objects.filter(turn__participation__study=study).aggregate(
        Count("pk"), Max("last_at"), Sum("blurs"), Sum("pastes")
    )
    files = (compared_files.all_files(study) | compared_files.for_overlap(study)).order_by("pk")
    made_of = [
        VERSION, study.manifest_hash, study.title, study.status, list(seats),
        [sorted(rows.aggregate(n=Count("pk"), last=Max("pk")).items()) for rows in grown],
        sorted(activity.items()),
        list(study.scenarios.order_by("pk").values_list("pk", "seats", "declined")),
        list(study.report_answers.order_by("item").values_list("item", "text")),
        list(study.payment_batches.order_by("pk").values_list("pk", "state")),
        list(files.values_list("pk", "model__name")),
        list(study.refused_arrivals.values_list("reason", "number")),
    ]  # fmt: skip
    return hashlib.sha256(repr(made_of).encode()).hexdigest()


def job_of(study: Study) -> Job | None:
    jobs_by_unit = (jobs.find(KIND, _parameters(study, unit)) for unit in publishing.UNITS)
    return next((job for job in jobs_by_unit if job is not None), None)


def _parameters(study: Study, round_times: str) -> dict[str, Any]:
    return {"study": study.pk} | ({"round_times": round_times} if round_times else {})


def rounding_of(job: Job) -> str:
    return job.parameters.get("round_times", "")


def archive_of(job: Job | None) -> Path | None:
    if job is None or not job.is_done:
        return None
    path = _archive(job)
    return path if path.exists() else None


def is_current(study: Study, job: Job) -> bool:
    return job.result[0]["state"] == state(study)


def prepare(study: Study, owner: Any, round_times: str = "") -> Job:
    """Return the study's job if it is running or up to date; otherwise, start a new one.

    An old job with a different rounding is deleted first. Concurrent requests get the same job, as
    finished jobs are deleted by key and the database accepts only one job per study and rounding.
    """
    parameters = _parameters(study, round_times)
    old = job_of(study)
    if old is not None and (old.is_done or old.has_failed or old.parameters != parameters):
        if old.parameters == parameters and archive_of(old) and is_current(study, old):
            return old
        jobs.drop(Job.objects.filter(pk=old.pk))
    jobs.sweep()
    return jobs.start(KIND, parameters, total=len(PARTS), owner=owner)


@jobs.job(KIND, limit=timedelta(minutes=10))
def chunk(job: Job, number: int) -> dict[str, str]:
    """Run one of PARTS. The first part returns {folder, state, at} and the others return {}."""
    study = study_of(job)
    try:
        return _data(study, job) if number == 0 else _further(PARTS[number], study, job)
    except release.ReleaseError as error:
        raise jobs.JobError(str(error)) from None


def _data(study: Study, job: Job) -> dict[str, str]:
    # Files from an earlier attempt would not be used again, and could fill the disk.
    shutil.rmtree(jobs.folder_of(job), ignore_errors=True)
    # Use a unique name, because another process may repeat this part and also write files.
    name = secrets.token_hex(8)
    folder = jobs.folder_of(job) / name / study.name
    try:
        folder.mkdir(parents=True)
        with files.snapshot():
            study.refresh_from_db()
            at, current = timezone.now(), state(study)
            release.write_data(study, folder, rounding_of(job))
        release.write_readme(folder)
    except OSError:
        shutil.rmtree(folder.parent, ignore_errors=True)
        raise
    return {"folder": name, "state": current, "at": at.isoformat()}


def _further(part: str, study: Study, job: Job) -> dict[str, str]:
    folder = jobs.folder_of(job) / job.result[0]["folder"] / study.name
    if part == "zip" and _archive(job).exists():
        return {}  # written by a process that was stopped before it reported
    if not folder.is_dir():
        raise jobs.JobError("The prepared files no longer exist. Prepare the bundle again.")
    if part == "verify":
        release.verify(folder)
    elif part == "zip":
        building = folder.with_name(f"{secrets.token_hex(8)}.part")
        try:
            files.zip_folder(folder, building)
            building.replace(_archive(job))
        finally:
            building.unlink(missing_ok=True)
        for entry in jobs.folder_of(job).iterdir():
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
    else:
        release.write_parquet(folder, part)
    return {}


def _archive(job: Job) -> Path:
    return jobs.folder_of(job) / f"{job.result[0]['folder']}.zip"
