"""Datasets and Few-shot Gym tasks uploaded in the browser, which become the files of tasks.

They are stored in the folder of their upload (tasks/uploads.py), under names that begin with a dot,
so that they aren't part of a task. A process with limits reads them. The files made from a dataset
are checked and imported like any other upload, and a job with one chunk per task imports Gym tasks.
"""

import dataclasses
import json
import shutil
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction

from tasks import disk, jobs, teams, upload_jobs, uploads
from tasks.cards import CardError
from tasks.datasets.making import TaskSpec
from tasks.datasets.reading import Reading, format_of
from tasks.formats import FormatError
from tasks.gym import making
from tasks.gym.making import Sample
from tasks.gym.reader import FILE_NAME
from tasks.importing import import_task
from tasks.models import Job, TaskUpload
from tasks.uploads import MAX_FILES, MAX_LISTED, UploadError

FOLDER, GYM_FOLDER, MADE = ".dataset", ".gym", ".made"
SEEN, FIELDS, ORIGIN = ".seen.json", ".fields.json", ".made_from.json"
TOO_COMPLEX = ("These tasks are ", ". Upload fewer tasks, or use the command import_gym.")


def begin(name: str, content: Iterable[bytes], reading: Reading, owner: Any) -> TaskUpload:
    """Store the file and read its columns. Raises UploadError, in which case nothing is stored."""
    try:
        format_of(Path(name), reading.format)
    except FormatError as error:
        raise UploadError(str(error)) from None
    if not uploads.is_plain(name):
        problem = "The file name is too long or contains invalid characters. Rename the file."
        raise UploadError(problem)
    with uploads.new_upload(owner) as upload:
        folder = uploads.folder_of(upload) / FOLDER
        folder.mkdir(parents=True)
        if uploads.write(folder / name, name, content, uploads.MAX_BYTES) == uploads.MAX_BYTES:
            raise UploadError(f"{name}: empty. Choose a file that is not empty.")
        options = dataclasses.asdict(reading)
        reply = _checked("columns", name, owner, path=str(folder / name), reading=options)
        reply["reading"] = options
        (uploads.folder_of(upload) / SEEN).write_text(json.dumps(reply), encoding="utf-8")
    return upload


def _checked(check: str, name: str, owner: Any, **request: Any) -> dict[str, Any]:
    advice = "; the command make_task has no such limit"
    reply = uploads.check(check, owner, f"{name}: ", advice, **request)
    if "errors" in reply:
        raise UploadError("; ".join(reply["errors"]))
    return reply


def path_of(upload: TaskUpload) -> Path | None:
    folder = uploads.folder_of(upload) / FOLDER
    return next(folder.iterdir(), None) if folder.is_dir() else None


def inspection(upload: TaskUpload) -> dict[str, Any]:
    """Return what the process found (see `check_process.columns` and `check_process.gym`)."""
    content = (uploads.folder_of(upload) / SEEN).read_text(encoding="utf-8")
    return json.loads(content)


def fields(upload: TaskUpload) -> dict[str, Any]:
    """Return the latest values of the columns form, or {} if it has not been used."""
    place = uploads.folder_of(upload) / FIELDS
    return json.loads(place.read_text(encoding="utf-8")) if place.is_file() else {}


def store_fields(upload: TaskUpload, values: dict[str, Any]) -> None:
    """Store the input from the columns form. Raises DiskFull."""
    with disk.full_errors():
        (uploads.folder_of(upload) / FIELDS).write_text(json.dumps(values), encoding="utf-8")


def example(upload: TaskUpload, spec: TaskSpec, owner: Any) -> dict[str, Any]:
    """Return the task's card and its first example (check_process.example). Raises UploadError."""
    path, options = path_of(upload), dataclasses.asdict(spec)
    assert path is not None
    return _checked("example", path.name, owner, path=str(path), spec=options)


def make(upload: TaskUpload, spec: TaskSpec, owner: Any) -> None:
    """Replace the files and check them. Raises UploadError, in which case nothing changes."""
    path = path_of(upload)
    if path is None:
        raise UploadError("The file no longer exists. Upload it again.")
    if not upload_jobs.may_change(upload):
        raise UploadError("The upload is being imported and can no longer be changed.")
    folder = uploads.folder_of(upload)
    output = folder / MADE
    shutil.rmtree(output, ignore_errors=True)
    try:
        with disk.full_errors():
            output.mkdir()
            reply = _checked(
                "make", path.name, owner, path=str(path), folder=str(output),
                spec=dataclasses.asdict(spec),
            )  # fmt: skip
            check = reply.pop("check")
            (output / ORIGIN).write_text(json.dumps(reply), encoding="utf-8")
            for name in uploads.names(upload):
                (folder / name).unlink()
            for file in output.iterdir():
                file.rename(folder / file.name)
    except disk.DiskFull as error:
        raise UploadError(str(error)) from None
    finally:
        shutil.rmtree(output, ignore_errors=True)
    upload.refused = []
    uploads.changed(upload)
    upload_jobs.record_check(upload, check, owner)


def origin(upload: TaskUpload) -> dict[str, Any]:
    """Return {made_from, defaults, notes, hash} of generated files, or {} for other files."""
    place = uploads.folder_of(upload) / ORIGIN
    return json.loads(place.read_text(encoding="utf-8")) if place.is_file() else {}


# The Few-shot Gym ---------------------------------------------------------------------------------


def begin_gym(files: Iterable[UploadedFile], owner: Any) -> TaskUpload:
    """Read all tasks. Raises UploadError without storing anything."""
    with uploads.new_upload(owner) as upload:
        _store_gym(gym_folder_of(upload), files)
        reply = uploads.check("gym", owner, *TOO_COMPLEX, folder=str(gym_folder_of(upload)))
        problems = [task["error"] for task in reply["tasks"] if "error" in task]
        if problems:
            raise UploadError(*_first(problems))
        (uploads.folder_of(upload) / SEEN).write_text(json.dumps(reply), encoding="utf-8")
    return upload


def gym_folder_of(upload: TaskUpload) -> Path:
    return uploads.folder_of(upload) / GYM_FOLDER


def is_gym(upload: TaskUpload) -> bool:
    return gym_folder_of(upload).is_dir()


def _first(problems: list[str]) -> list[str]:
    surplus = len(problems) - MAX_LISTED
    return problems[:MAX_LISTED] + ([f"{surplus} more problems."] if surplus > 0 else [])


def _store_gym(folder: Path, files: Iterable[UploadedFile]) -> None:
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


def confirm_gym(
    upload: TaskUpload, kinds: dict[str, str], sample: Sample | None, owner: Any
) -> None:
    """Start the import if every task can be made; otherwise, raise UploadError."""
    draw = dataclasses.asdict(sample) if sample else None
    folder = str(gym_folder_of(upload))
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
def _import_gym(job: Job, number: int) -> dict[str, Any]:
    """Import one of the tasks completely. Return {name, version, created}."""
    upload = TaskUpload.objects.filter(pk=job.parameters["upload"]).first()
    if upload is None:
        raise jobs.JobError("The upload was discarded. Tasks already imported remain.")
    name, kind, digest = job.parameters["tasks"][number]
    sample = job.parameters["sample"]
    try:
        source = making.read_source(gym_folder_of(upload) / name).answered_by(kind)
        if source.digest != digest:
            raise jobs.JobError(f"{name}: the files differ from those that were checked.")
        task = making.make(source, Sample(**sample) if sample else None)
        result = import_task(task.card, task.files, by=upload.owner, made_from=task.made_from)
    except (FormatError, CardError, teams.NotInTeam) as error:
        raise jobs.JobError(f"{name} was not imported: {error}") from None
    return {"name": name, "version": result.task.version, "created": result.created}
