"""Jobs that check the files of an upload and import them as a task (tasks/jobs.py).

Files are imported only if all of them are valid. In the browser, users also confirm the import. The
imported files are exactly those that were checked.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import transaction

from tasks import checking, exporting, images, jobs, teams, uploads
from tasks.cards import Card, CardError, load_card, parse_card
from tasks.folders import layout, read_folder
from tasks.formats import FormatError, content_hash
from tasks.importing import CARDS, CLUES, import_task
from tasks.models import Image, Job, Task, TaskUpload
from tasks.uploads import CHECK, IMPORT, IMPORT_WHOLE, folder_of, names, size

SMALL = 3_000_000  # bytes that take about a second to check or import


def _own_card(upload: TaskUpload) -> Path | None:
    """Return the task.toml among the files, or None for a CLUES card. Raises CardError."""
    path = folder_of(upload) / "task.toml"
    if upload.card_name and path.exists():
        problem = f"task.toml: you also chose the {upload.card_name} card; remove one of them"
        raise CardError(problem)
    if upload.card_name:
        return None
    if not path.exists():
        raise CardError("task.toml: missing; choose a CLUES card, or add your own card")
    return path


def files_of(upload: TaskUpload) -> list[Path]:
    """Return the stored files of the task. Raises FormatError."""
    paths = layout(folder_of(upload))
    if upload.card_name:
        _folder, prefix = CLUES[upload.card_name]
        if not paths[0].name.startswith(f"{prefix}_"):
            raise FormatError(
                paths[0].name, f"the {upload.card_name} card expects files named {prefix}_..."
            )
    return paths


def problems(upload: TaskUpload) -> list[str]:
    faults = []
    try:
        _own_card(upload)
    except CardError as error:
        faults.append(str(error))
    try:
        files_of(upload)
    except FormatError as error:
        # The name of the folder is internal.
        faults.append(str(error).removeprefix(f"{upload.pk}: "))
    return faults + [problem for part in parts(upload) for problem in part.get("errors", ())]


def parts(upload: TaskUpload) -> list[dict[str, Any]]:
    """Return the results of the check so far, as described in `_check`."""
    job = upload.job
    return job.result if job and job.kind in (CHECK, IMPORT_WHOLE) else []


def with_card(task: Task, card: Card, owner: Any) -> TaskUpload:
    """Check a task's files with another card, as a new upload. Raises DiskFull."""
    upload = TaskUpload.objects.create(owner=owner)
    with uploads.dropped_on_error(upload):
        folder_of(upload).mkdir(parents=True)
        exporting.write_folder(folder_of(upload), task, card, exporting.files_of(task))
    uploads.changed(upload)
    start_check(upload, owner)
    return upload


def _between(upload: TaskUpload) -> list[Any]:
    """Return what a check covers between the card and the whole: batches of images, then files."""
    files = [name for name in names(upload) if name != "task.toml"]
    return [*images.batches(folder_of(upload)), *files]


def start_check(upload: TaskUpload, owner: Any) -> None:
    total = len(_between(upload))
    try:
        _own_card(upload)
    except CardError:
        return
    if total:
        _begin(upload, CHECK, {}, total + 2, owner)


def import_whole(upload: TaskUpload, owner: Any, rechain: bool) -> None:
    """Start checking and importing without confirmation, for programs that called `problems`."""
    _begin(upload, IMPORT_WHOLE, {"rechain": rechain}, len(_between(upload)) + 3, owner)


def record_check(upload: TaskUpload, result: list[dict[str, Any]], owner: Any) -> None:
    """Store the check of generated files, with results as in `_check`."""
    number = len(result)
    _attach(upload, CHECK, {}, number, owner, state=Job.State.DONE, done=number, result=result)


def _begin(upload: TaskUpload, kind: str, details: dict[str, Any], total: int, owner: Any) -> None:
    _attach(upload, kind, details, total, owner)
    if upload.job and size(upload) <= SMALL:
        jobs.advance(upload.job)


def _attach(
    upload: TaskUpload, kind: str, details: dict[str, Any], total: int, owner: Any, **fields: Any
) -> None:
    """Attach a job for the current files, unless another tab has changed them."""
    files = {"upload": str(upload.pk), "revision": upload.revision}
    with transaction.atomic():
        job = jobs.start(kind, files | details, total=total, owner=owner, **fields)
        current = TaskUpload.objects.filter(pk=upload.pk, revision=upload.revision)
        if not current.update(job=job):
            job.delete()
    upload.refresh_from_db()


def _upload_of(job: Job) -> TaskUpload:
    """Return the upload of a job. Raises JobError if it has been discarded or changed."""
    upload = TaskUpload.objects.filter(
        pk=job.parameters["upload"], revision=job.parameters["revision"]
    ).first()
    if upload is None:
        raise jobs.JobError(
            "The files were changed or discarded in the meantime. Please check the current ones."
        )
    return upload


@jobs.job(CHECK, limit=timedelta(minutes=10))
def _check(job: Job, number: int) -> dict[str, Any]:
    """Check the card, clean the images, then check each file and the task. Return the results.

    The result is {errors}, or {file, card} for the card, {file, examples} for a file, and {report,
    hash, rechained_hash, shown} for the task. The hashes show whether the task is already stored,
    and `shown` contains the examples for the preview. After errors, the task's result is {}.
    """
    return _checked_part(_upload_of(job), job, number, job.total - 1)


def _checked_part(upload: TaskUpload, job: Job, number: int, last: int) -> dict[str, Any]:
    """Run one part of a check. The part `last` covers the task as a whole."""
    if number == 0:
        return _check_card(upload)
    card = job.result[0].get("card")
    if number < last:
        name = _between(upload)[number - 1]
        if isinstance(name, list):
            return _clean(upload, name)
        path = folder_of(upload) / name
        if not card:  # errors that don't depend on the card
            return {"file": name, **_checked(upload, name, "lines", path=str(path))}
        return {"file": name, **_checked(upload, name, "split", path=str(path), card=card)}
    if not card or any(part.get("errors") for part in job.result) or problems(upload):
        return {}
    title = "The task as a whole"
    return _checked(upload, title, "task", folder=str(folder_of(upload)), card=card)


def _check_card(upload: TaskUpload) -> dict[str, Any]:
    try:
        path = _own_card(upload)
    except CardError as error:
        return {"errors": error.sentences}
    if path is None:
        return {"card": load_card(CARDS / f"{upload.card_name.lower()}.toml").as_dict()}
    return {"file": path.name, **_checked(upload, path.name, "card", path=str(path))}


def _clean(upload: TaskUpload, files: list[str]) -> dict[str, Any]:
    folder = folder_of(upload)
    reply = _checked(upload, ", ".join(files), "clean", folder=str(folder), files=files)
    Image.objects.store(folder, files)
    return reply


def _checked(upload: TaskUpload, name: str, check: str, **request: Any) -> dict[str, Any]:
    try:
        with checking.one_of(upload.owner_id):
            return checking.run(check, has_images=bool(uploads.images(upload)), **request)
    except checking.TooComplex as error:
        return {"errors": [f"{name}: {error}"]}


def checked(upload: TaskUpload) -> dict[str, Any]:
    """Return the results for all files (`_check`) if no errors were found, otherwise {}."""
    job, last = upload.job, parts(upload)[-1:]
    return last[0] if job and job.is_done and last and "hash" in last[0] else {}


def card_of(upload: TaskUpload) -> Card:
    return parse_card(parts(upload)[0]["card"], "task.toml")


def may_change(upload: TaskUpload) -> bool:
    job = upload.job
    return job is None or job.kind == CHECK or job.has_failed


def confirm(
    upload: TaskUpload, owner: Any, rechain: bool, made_from: dict[str, Any] | None = None,
    then: str = "",  # the form's `next`
) -> None:  # fmt: skip
    """Start the import if the check found no errors. `made_from` describes the dataset used."""
    reply = checked(upload)
    if reply:
        card = parts(upload)[0]["card"]
        extra = {"rechain": rechain, "hash": reply["hash"], "card": card, "made_from": made_from}
        extra["then"] = then
        _begin(upload, IMPORT, extra, 1, owner)


@jobs.job(IMPORT, limit=timedelta(minutes=30))
def _import(job: Job, number: int) -> dict[str, Any]:
    """Import the entire task, or nothing. Return {name, version, created}."""
    made_of = job.parameters
    return _make(_upload_of(job), made_of["card"], made_of["hash"], made_of)


@jobs.job(IMPORT_WHOLE, limit=timedelta(minutes=30))
def _import_whole(job: Job, number: int) -> dict[str, Any]:
    """Run a part of the check, then import: {name, version, created} or {problems}."""
    upload = _upload_of(job)
    if number < job.total - 1:
        return _checked_part(upload, job, number, job.total - 2)
    if faults := problems(upload):
        return {"problems": faults}
    return _make(upload, job.result[0]["card"], job.result[-1]["hash"], job.parameters)


def _make(
    upload: TaskUpload, card_data: dict[str, Any], checked_hash: str, made_of: dict[str, Any]
) -> dict[str, Any]:
    """Import files that were checked. Return {name, version, created}. Raises JobError."""
    card = parse_card(card_data, "task.toml")
    try:
        files = read_folder(folder_of(upload), card)
    except FormatError as error:
        raise jobs.JobError(f"Nothing was imported: {error}") from None
    if content_hash(card, files) != checked_hash:
        raise jobs.JobError("The files differ from those that were checked. Nothing was imported.")
    Image.objects.store(folder_of(upload), uploads.images(upload))
    try:
        made_from = made_of.get("made_from")
        result = import_task(card, files, made_of["rechain"], upload.owner, made_from=made_from)
    except teams.NotInTeam as error:
        raise jobs.JobError(f"Nothing was imported: {error}") from None
    return {"name": result.task.name, "version": result.task.version, "created": result.created}
