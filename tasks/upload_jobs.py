"""Checking the files of an upload, and making them a task: both are jobs (tasks/jobs.py).

Nothing is a task before all files were found right and somebody has confirmed; the files that are
imported are those that were checked.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import transaction

from tasks import checking, data_report, disk, exporting, jobs, teams, uploads
from tasks.cards import Card, CardError, load_card, parse_card
from tasks.datasets.layout import write_folder
from tasks.formats import FormatError, content_hash, layout, read_folder
from tasks.importing import CARDS, CLUES, import_task
from tasks.models import Job, Task, TaskUpload
from tasks.uploads import CHECK, IMPORT, IMPORT_WHOLE, folder_of, names, size

SMALL = 3_000_000  # bytes that are checked, or imported, in about a second


def _own_card(upload: TaskUpload) -> Path | None:
    """The task.toml among the files, or None where a card of CLUES was chosen. Raises CardError."""
    own = folder_of(upload) / "task.toml"
    if upload.card_name and own.exists():
        raise CardError(
            f"task.toml: you chose the card of {upload.card_name} as well; remove one of them"
        )
    if upload.card_name:
        return None
    if not own.exists():
        raise CardError("task.toml: missing; choose a card of CLUES, or add your own card")
    return own


def files_of(upload: TaskUpload) -> list[Path]:
    """The stored files of the one task. Raises FormatError."""
    paths = layout(folder_of(upload))
    if upload.card_name:
        _folder, prefix = CLUES[upload.card_name]
        if not paths[0].name.startswith(f"{prefix}_"):
            raise FormatError(
                paths[0].name, None, None,
                f"the card of {upload.card_name} expects files named {prefix}_...",
            )  # fmt: skip
    return paths


def problems(upload: TaskUpload) -> list[str]:
    """What is wrong with the list of files before any is read, and what the check found in them."""
    faults = []
    try:
        _own_card(upload)
    except CardError as error:
        faults.append(str(error))
    try:
        files_of(upload)
    except FormatError as error:
        # The folder has no name that anybody gave it.
        faults.append(str(error).removeprefix(f"{upload.pk}: "))
    return faults + [sentence for part in parts(upload) for sentence in part.get("errors", ())]


def parts(upload: TaskUpload) -> list[dict[str, Any]]:
    """What the check has given so far, as `_check` says."""
    job = upload.job
    return job.result if job and job.kind in (CHECK, IMPORT_WHOLE) else []


def of_task(task: Task, card: Card, owner: Any) -> TaskUpload:
    """An upload of the task's files with another card, being checked: a new version to confirm.

    Raises DiskFull; then nothing is left of it.
    """
    upload = TaskUpload.objects.create(owner=owner)
    try:
        with disk.named():
            folder = folder_of(upload)
            folder.mkdir(parents=True)
            write_folder(folder, card, exporting.files_of(task))
    except BaseException:
        uploads.drop(upload)
        raise
    uploads.changed(upload)
    start_check(upload, owner)
    return upload


def start_check(upload: TaskUpload, owner: Any) -> None:
    """Begin to read the files: the card, each of them, and the report of all of them."""
    total = len([name for name in names(upload) if name != "task.toml"])
    try:
        _own_card(upload)
    except CardError:
        return
    if total:
        _begin(upload, CHECK, {}, total + 2, owner)


def import_whole(upload: TaskUpload, owner: Any, rechain: bool) -> None:
    """Begin to check the files and, where nothing is wrong, to make them a task at once.

    For programs, which look at no report in between. A list of files that cannot be a task is told
    by `problems` before.
    """
    total = len([name for name in names(upload) if name != "task.toml"])
    _begin(upload, IMPORT_WHOLE, {"rechain": rechain}, total + 3, owner)


def record_check(upload: TaskUpload, result: list[dict[str, Any]], owner: Any) -> None:
    """The check of files that were read, as `_check` reads them, when they were made."""
    parameters = {"upload": str(upload.pk), "revision": upload.revision}
    with transaction.atomic():
        job = jobs.record(CHECK, parameters, result=result, owner=owner)
        current = TaskUpload.objects.filter(pk=upload.pk, revision=upload.revision)
        if not current.update(job=job):  # another tab has changed them
            job.delete()
    upload.refresh_from_db()


def _begin(upload: TaskUpload, kind: str, more: dict[str, Any], total: int, owner: Any) -> None:
    parameters = {"upload": str(upload.pk), "revision": upload.revision, **more}
    with transaction.atomic():
        job = jobs.start(kind, parameters, total=total, owner=owner)
        # Another tab may have changed the files: then this job is about nothing that is there.
        current = TaskUpload.objects.filter(pk=upload.pk, revision=upload.revision)
        if not current.update(job=job):
            job.delete()
    upload.refresh_from_db()
    if upload.job and size(upload) <= SMALL:
        jobs.advance(upload.job)


def _upload_of(job: Job) -> TaskUpload:
    """What the job is about. Raises JobError where it was discarded or changed meanwhile."""
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
    """What was found in the card, then in each file, then in all: each {errors} or what is right.

    The card: {file, card}. A file: {file, examples}. All: {report, hash, rechained_hash, shown};
    the hashes tell whether the task is stored already, `shown` are the examples of the preview.
    {} where something before it is wrong.
    """
    return _checked_part(_upload_of(job), job, number, job.total - 1)


def _checked_part(upload: TaskUpload, job: Job, number: int, last: int) -> dict[str, Any]:
    """One part of a check whose `last` part is about the task as a whole."""
    if number == 0:
        return _check_card(upload)
    card = job.result[0].get("card")
    if number < last:
        name = [name for name in names(upload) if name != "task.toml"][number - 1]
        path = folder_of(upload) / name
        if not card:  # what is wrong whatever the card will say
            return {"file": name, **_checked(name, "lines", path=str(path))}
        return {"file": name, **_checked(name, "split", path=str(path), card=card)}
    if not card or any(part.get("errors") for part in job.result) or problems(upload):
        return {}
    return _checked("The task as a whole", "task", folder=str(folder_of(upload)), card=card)


def _check_card(upload: TaskUpload) -> dict[str, Any]:
    try:
        own = _own_card(upload)
    except CardError as error:
        return {"errors": error.sentences}
    if own is None:
        return {"card": load_card(CARDS / f"{upload.card_name.lower()}.toml").as_dict()}
    return {"file": own.name, **_checked(own.name, "card", path=str(own))}


def _checked(name: str, what: str, **request: Any) -> dict[str, Any]:
    try:
        return checking.run(what, **request)
    except checking.TooComplex as error:
        return {"errors": [f"{name}: {error}"]}


def checked(upload: TaskUpload) -> dict[str, Any]:
    """What the check found where everything is right, as `_check` says; {} before that."""
    job, last = upload.job, parts(upload)[-1:]
    return last[0] if job and job.is_done and last and "hash" in last[0] else {}


def card_of(upload: TaskUpload) -> Card:
    """The card of an upload in which everything is right."""
    return parse_card(parts(upload)[0]["card"], "task.toml")


def may_change(upload: TaskUpload) -> bool:
    """Not while it is being imported."""
    job = upload.job
    return job is None or job.kind == CHECK or job.has_failed


def confirm(
    upload: TaskUpload, owner: Any, rechain: bool, made_from: dict[str, Any] | None = None
) -> None:
    """Begin to make it a task, where the check found nothing wrong; else nothing happens.

    `made_from` says from which dataset the files were made.
    """
    seen = checked(upload)
    if seen:
        card = parts(upload)[0]["card"]
        more = {"rechain": rechain, "hash": seen["hash"], "card": card, "made_from": made_from}
        _begin(upload, IMPORT, more, 1, owner)


@jobs.job(IMPORT, limit=timedelta(minutes=30))
def _import(job: Job, number: int) -> dict[str, Any]:
    """Make it a task, all or nothing: {name, version, created}."""
    made_of = job.parameters
    return _make(_upload_of(job), made_of["card"], made_of["hash"], made_of)


@jobs.job(IMPORT_WHOLE, limit=timedelta(minutes=30))
def _import_whole(job: Job, number: int) -> dict[str, Any]:
    """The parts of the check, and at last the task: {name, version, created}, or {problems}."""
    upload = _upload_of(job)
    if number < job.total - 1:
        return _checked_part(upload, job, number, job.total - 2)
    if faults := problems(upload):
        return {"problems": faults}
    return _make(upload, job.result[0]["card"], job.result[-1]["hash"], job.parameters)


def _make(
    upload: TaskUpload, card_data: dict[str, Any], checked_hash: str, made_of: dict[str, Any]
) -> dict[str, Any]:
    """The task of files that were checked: {name, version, created}. JobError."""
    rechain = made_of["rechain"]
    card = parse_card(card_data, "task.toml")
    try:
        files = read_folder(folder_of(upload), card)
    except FormatError as error:
        raise jobs.JobError(f"Nothing was imported: {error}") from None
    if content_hash(card, files) != checked_hash:
        raise jobs.JobError("The files differ from those that were checked. Nothing was imported.")
    try:
        done = import_task(
            card, data_report.rechained(files) if rechain else files, rechain, upload.owner,
            made_from=made_of.get("made_from"),
        )  # fmt: skip
    except teams.NotInTeam as error:
        raise jobs.JobError(f"Nothing was imported: {error}") from None
    return {"name": done.task.name, "version": done.task.version, "created": done.created}
