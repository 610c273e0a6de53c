"""Uploads of Few-shot Gym tasks, which are shown and confirmed before they are imported.

The files are in a subfolder of the upload (tasks/uploads.py), grouped by the task in their names. A
process with limits reads them, and a job with one chunk per task imports them.
"""

import dataclasses
import json
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction

from tasks import jobs, teams, uploads
from tasks.cards import CardError
from tasks.formats import FormatError
from tasks.gym import making
from tasks.gym.catalogue import partitions
from tasks.gym.findings import partition_findings
from tasks.gym.making import Sample
from tasks.gym.reader import FILE_NAME
from tasks.importing import import_task
from tasks.models import Job, TaskUpload
from tasks.uploads import MAX_FILES, MAX_LISTED, UploadError

FOLDER, SEEN = ".gym", ".gym.json"
TOO_COMPLEX = ("These tasks are ", ". Upload fewer tasks, or use the command import_gym.")


def begin(files: Iterable[UploadedFile], owner: Any, partition: str = "") -> TaskUpload:
    """Read all tasks, or those of a partition. Raises UploadError without storing anything."""
    selection = partitions()[partition] if partition else None
    with uploads.new_upload(owner) as upload:
        _store_all(folder_of(upload), files)
        only = None if selection is None else list(selection.all)
        reply = uploads.check("gym", owner, *TOO_COMPLEX, folder=str(folder_of(upload)), only=only)
        problems = [task["error"] for task in reply["tasks"] if "error" in task]
        if problems:
            raise UploadError(*_first(problems))
        if selection is not None:
            if not reply["tasks"]:
                raise UploadError(f"None of these tasks is in the partition {partition}.")
            names = {task["name"] for task in reply["tasks"]}
            reply["shared"] = [*partition_findings(selection, names), *reply["shared"]]
        (uploads.folder_of(upload) / SEEN).write_text(json.dumps(reply), encoding="utf-8")
    return upload


def folder_of(upload: TaskUpload) -> Path:
    return uploads.folder_of(upload) / FOLDER


def is_gym(upload: TaskUpload) -> bool:
    return folder_of(upload).is_dir()


def inspection(upload: TaskUpload) -> dict[str, Any]:
    """Return {tasks, shared}. See `process.gym` for `tasks`. `shared` contains sentences."""
    return json.loads((uploads.folder_of(upload) / SEEN).read_text(encoding="utf-8"))


def _first(problems: list[str]) -> list[str]:
    surplus = len(problems) - MAX_LISTED
    return problems[:MAX_LISTED] + ([f"{surplus} more problems."] if surplus > 0 else [])


def _store_all(folder: Path, files: Iterable[UploadedFile]) -> None:
    """Write each file, or each member of a ZIP, to the folder of its task. Raises UploadError."""
    folder.mkdir(parents=True)
    space, stored = uploads.MAX_BYTES, 0
    for file in files:
        for name, content in uploads.parts(file):
            if name == "manifest.tsv":
                continue
            matched = FILE_NAME.fullmatch(name)
            if not matched or not uploads.is_plain(name) or matched["task"].startswith("."):
                raise UploadError(
                    f"{name}: unknown file name; expected NAME_K_SEED_train.tsv, ..._dev.tsv,"
                    " ..._test.tsv, as the Few-shot Gym writes them."
                )
            stored += 1
            place = folder / matched["task"] / name
            if place.exists() or stored > MAX_FILES:
                raise UploadError(
                    f"{name}: two files have this name."
                    if place.exists()
                    else f"The upload contains more than {MAX_FILES:,} files."
                )
            place.parent.mkdir(exist_ok=True)
            space = uploads.write(place, name, content, space)
    if not stored:
        raise UploadError("None of these files belongs to the Few-shot Gym.")


def confirm(upload: TaskUpload, kinds: dict[str, str], sample: Sample | None, owner: Any) -> None:
    """Start the import if every task can be made; otherwise, raise UploadError."""
    draw = dataclasses.asdict(sample) if sample else None
    folder = str(folder_of(upload))
    reply = uploads.check("gym_make", owner, *TOO_COMPLEX, folder=folder, kinds=kinds, sample=draw)
    rejections = [str(teams.NotInTeam(n)) for n in kinds if not teams.may_change(n, owner)]
    if problems := [*reply["errors"], *rejections]:
        raise UploadError(*_first(problems))
    digests = {task["name"]: task["digest"] for task in inspection(upload)["tasks"]}
    entries = [[name, kind, digests[name]] for name, kind in kinds.items()]
    parameters = {"upload": str(upload.pk), "tasks": entries, "sample": draw}
    with transaction.atomic():
        job = jobs.start(uploads.IMPORT_GYM, parameters, total=len(entries), owner=owner)
        TaskUpload.objects.filter(pk=upload.pk).update(job=job)
    upload.refresh_from_db()


@jobs.job(uploads.IMPORT_GYM, limit=timedelta(minutes=10))
def _import(job: Job, number: int) -> dict[str, Any]:
    """Import one of the tasks completely. Return {name, version, created}."""
    upload = TaskUpload.objects.filter(pk=job.parameters["upload"]).first()
    if upload is None:
        raise jobs.JobError("The upload was discarded. Tasks already imported remain.")
    name, kind, digest = job.parameters["tasks"][number]
    sample = job.parameters["sample"]
    try:
        source = making.read_source(folder_of(upload) / name).answered_by(kind)
        if source.digest != digest:
            raise jobs.JobError(f"{name}: the files differ from those that were checked.")
        task = making.make(source, Sample(**sample) if sample else None)
        result = import_task(task.card, task.files, by=upload.owner, made_from=task.made_from)
    except (FormatError, CardError, teams.NotInTeam) as error:
        raise jobs.JobError(f"{name} was not imported: {error}") from None
    return {"name": name, "version": result.task.version, "created": result.created}
