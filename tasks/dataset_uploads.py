"""Datasets uploaded in the browser, which are converted to the files of a task.

A dataset is stored in the folder of its upload (tasks/uploads.py). Its name begins with a dot, so
that it isn't part of the task. The generated files are checked and imported like any other upload.
"""

import dataclasses
import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tasks import disk, upload_jobs, uploads
from tasks.datasets.making import TaskSpec
from tasks.datasets.reading import Reading, format_of
from tasks.formats import FormatError
from tasks.models import TaskUpload
from tasks.uploads import UploadError

FOLDER, SEEN, MADE, ORIGIN = ".dataset", ".columns.json", ".made", ".made_from.json"
FIELDS = ".fields.json"


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
    """Return the task's card and its first example (process.example). Raises UploadError."""
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
