"""Uploads of task files, which are stored, checked and shown before they are imported.

The files of an upload are in var/uploads/<upload>/, under their published names. ZIPs are unpacked
there, without the paths in them. tasks/upload_jobs.py checks and imports the files.
"""

import contextlib
import lzma
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeVar

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db.models import F, QuerySet
from django.utils import timezone

from tasks import checking, disk
from tasks.folders import FILE_NAME, is_ignored
from tasks.images import CLEAN, FOLDER, files_in, is_image
from tasks.importing import drop_unfinished
from tasks.models import Job, TaskUpload

MAX_BYTES = 200_000_000  # for all files of an upload, unpacked
DIRECTORY = 1_000_000  # maximum size of a ZIP's central directory in bytes
MAX_FILES = 3_000  # in an upload or a ZIP; a CLUES task has 16, the Gym 2,400, and images count
MAX_AGE = timedelta(days=1)
TOO_LARGE = "The files are larger than 200 MB in total, the limit for a task."
MAX_LISTED = 20  # rejected files to list with their messages
View = TypeVar("View", bound=Callable[..., Any])
MAX_BODY = "max_body"  # view attribute: maximum bytes in a request
MAX_FILES_ATTRIBUTE = "max_files"  # view attribute: maximum number of files in a request
CHECK, IMPORT, IMPORT_GYM = "check_upload", "import_upload", "import_gym"
IMPORT_WHOLE = "import_whole"  # check, then import if there are no errors
# Exceptions raised for a broken ZIP, in addition to BadZipFile.
BROKEN = (
    zlib.error, lzma.LZMAError, EOFError, NotImplementedError, OSError, RuntimeError, ValueError,
    struct.error,
)  # fmt: skip


class UploadError(ValueError):
    """Raised if files can't be accepted, read or imported. Messages name the file and reason."""

    def __init__(self, *problems: str):
        super().__init__(" ".join(problems))
        self.problems = list(problems)


@contextlib.contextmanager
def new_upload(owner: Any) -> Iterator[TaskUpload]:
    """Create an upload, which is deleted if the block raises an exception. Raises UploadError."""
    upload = TaskUpload.objects.create(owner=owner)
    try:
        with dropped_on_error(upload):
            yield upload
    except disk.DiskFull as error:
        raise UploadError(str(error)) from None


@contextlib.contextmanager
def dropped_on_error(upload: TaskUpload) -> Iterator[None]:
    """Delete the upload if the block raises an exception. Raises DiskFull."""
    try:
        with disk.full_errors():
            yield
    except BaseException:
        drop(upload)
        raise


def check(name: str, owner: Any, prefix: str, advice: str, **request: Any) -> dict[str, Any]:
    """Run a check, one at a time per account. Raises UploadError (`prefix`, reason, `advice`)."""
    try:
        with checking.one_of(owner.pk, waits=True):
            return checking.run(name, waits=True, **request)
    except checking.TooComplex as error:
        raise UploadError(f"{prefix}{error}{advice}") from None
    except checking.Busy as error:
        raise UploadError(str(error)) from None


def takes_files(max_bytes: int, at_once: int = 100) -> Callable[[View], View]:
    """Decorator for views to which signed-in users may send this many bytes and files."""

    def mark(view: View) -> View:
        # Allow for other fields, and for the boundaries between files.
        setattr(view, MAX_BODY, max_bytes + 1_000_000)
        setattr(view, MAX_FILES_ATTRIBUTE, at_once)
        return view

    return mark


# Files ----------------------------------------------------------------------------------------


def folder_of(upload: TaskUpload) -> Path:
    return Path(settings.VAR_DIR) / "uploads" / str(upload.pk)


def names(upload: TaskUpload) -> list[str]:
    folder = folder_of(upload)
    paths = folder.iterdir() if folder.is_dir() else ()
    return sorted(p.name for p in paths if p.is_file() and not p.name.startswith("."))


def images(upload: TaskUpload) -> list[str]:
    return files_in(folder_of(upload))


def size(upload: TaskUpload) -> int:
    return sum(_sizes(upload).values())


def _sizes(upload: TaskUpload) -> dict[str, int]:
    folder = folder_of(upload)
    paths = [folder / name for name in names(upload)]
    paths += [folder / FOLDER / name for name in images(upload)]
    return {path.name: path.stat().st_size for path in paths}


def add(upload: TaskUpload, files: Iterable[UploadedFile]) -> None:
    """Add files, and unpack ZIPs. Existing files with the same names are replaced.

    Rejected files are listed in `upload.refused`, and all others are stored. Earlier checks become
    invalid. If it raises DiskFull, the file that didn't fit and all later ones are not stored.
    """
    refused: list[str] = []
    stored: set[str] = set()
    try:
        with disk.full_errors():
            folder_of(upload).mkdir(parents=True, exist_ok=True)
            sizes = _sizes(upload)
            for file in files:
                try:
                    for name, content in parts(file):
                        try:
                            _store(upload, name, content, stored, sizes)
                        except UploadError as error:
                            refused.append(str(error))
                except UploadError as error:
                    refused.append(str(error))
    finally:
        surplus = len(refused) - MAX_LISTED
        last = [f"{surplus} more files: not accepted."] if surplus > 0 else []
        upload.refused = refused[:MAX_LISTED] + last
        changed(upload)


def remove(upload: TaskUpload, name: str) -> None:
    """Delete a file from the upload. Unknown names are ignored."""
    if name in names(upload):
        (folder_of(upload) / name).unlink(missing_ok=True)
    upload.refused = []
    changed(upload)


def changed(upload: TaskUpload) -> None:
    TaskUpload.objects.filter(pk=upload.pk).update(
        refused=upload.refused, card_name=upload.card_name, revision=F("revision") + 1, job=None
    )
    jobs_of(upload).delete()
    upload.refresh_from_db()


def _store(
    upload: TaskUpload, name: str, content: Iterable[bytes], stored: set[str], sizes: dict[str, int]
) -> None:
    """Write a file atomically. `sizes` are those of the upload's files. Raises UploadError."""
    is_known = FILE_NAME.fullmatch(name) or name == "task.toml" or is_image(name)
    if not is_known or not is_plain(name):
        raise UploadError(
            f"{name}: not accepted: unknown file name; expected"
            " <task>_train_<shots>_<number>.jsonl, <task>_test.jsonl, task.toml, images, or one ZIP"
            " of these. For a single CSV, XLSX or JSONL file, use Add a task."
        )
    if name in stored:
        raise UploadError(f"{name}: two files have this name; the first was used.")
    if name not in sizes and len(sizes) >= MAX_FILES:
        raise UploadError(f"{name}: not accepted; an upload contains at most {MAX_FILES} files.")
    folder = folder_of(upload)
    place = folder / FOLDER / name if is_image(name) else folder / name
    place.parent.mkdir(exist_ok=True)
    (folder / CLEAN / name).unlink(missing_ok=True)
    others = sum(sizes.values()) - sizes.get(name, 0)
    part = place.with_name(f".{name}.part")
    try:
        space = write(part, name, content, MAX_BYTES - others)
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)
    stored.add(name)
    sizes[name] = MAX_BYTES - others - space


def write(place: Path, name: str, content: Iterable[bytes], space: int) -> int:
    """Write a file with this name. Return how many bytes of `space` remain. Raises UploadError."""
    with place.open("wb") as file:
        for chunk in content:
            space -= len(chunk)
            if space < 0:
                raise UploadError(f"{name}: not accepted. {TOO_LARGE}")
            file.write(chunk)
    return space


def is_plain(name: str) -> bool:
    """Return whether a name is not a path, and can be stored in any file system and database."""
    return name.isprintable() and len(name.encode()) <= 200 and not set(name) & set('/\\:*?"<>|')


# ZIP ------------------------------------------------------------------------------------------


def parts(file: UploadedFile) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield the name and content of the file or, for a ZIP, of each member. Raises UploadError."""
    name = str(file.name)
    if not name.lower().endswith(".zip"):
        if not is_ignored(name):
            yield name, file.chunks()
        return
    if _has_long_directory(file):
        raise UploadError(f"{name}: not accepted; it contains too many files, or is a ZIP64.")
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, *BROKEN) as error:
        raise UploadError(f"{name}: cannot be unpacked ({error}); create it again.") from None
    with archive:
        # Check all names before unpacking.
        if len(archive.infolist()) > MAX_FILES:
            raise UploadError(
                f"{name}: not accepted; it contains {len(archive.infolist()):,} files, and at most"
                f" {MAX_FILES:,} are accepted."
            )
        members = [member for member in archive.infolist() if _is_accepted(member, name)]
        if sum(member.file_size for member in members) > MAX_BYTES:
            problem = f"{name}: not accepted; its contents are larger than the limit. {TOO_LARGE}"
            raise UploadError(problem)
        for member in members:
            if not is_ignored(name := PurePosixPath(member.filename).name):
                yield name, _content(archive, member)


def _is_accepted(member: zipfile.ZipInfo, archive: str) -> bool:
    """Return whether to unpack a member of a ZIP. Raises UploadError for suspicious members."""
    path = PurePosixPath(member.filename)
    odd = not path.parts or path.is_absolute() or ".." in path.parts
    if odd or "\\" in member.filename or ":" in member.filename:
        problem = f"{archive}: not accepted; {member.filename!r} points outside the archive."
        raise UploadError(problem)
    if member.flag_bits & 1:
        raise UploadError(f"{archive}: not accepted; {member.filename!r} is encrypted.")
    if stat.S_ISLNK(member.external_attr >> 16):
        raise UploadError(
            f"{archive}: not accepted; {member.filename!r} is a link to another file. Include the"
            " file itself."
        )
    return not (member.is_dir() or "__MACOSX" in path.parts)


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[bytes]:
    try:
        with archive.open(member) as file:
            while chunk := file.read(1 << 16):
                yield chunk
    except (zipfile.BadZipFile, *BROKEN) as error:
        problem = f"{member.filename}: cannot be unpacked ({error}); create the ZIP again."
        raise UploadError(problem) from None


def _has_long_directory(file: IO[bytes] | UploadedFile) -> bool:
    """Return whether opening a ZIP would read millions of entries. Locates them as zipfile does."""
    file.seek(0, 2)
    file.seek(max(0, file.tell() - 65_557 - 20))
    end = file.read()
    at = len(end) - 22
    if end[at : at + 4] != b"PK\5\6" or end[-2:] != b"\0\0":
        at = end.rfind(b"PK\5\6")
    file.seek(0)
    if at < 0 or len(end) < at + 22:
        return False  # not a ZIP; opening it raises an exception
    (length,) = struct.unpack("<L", end[at + 12 : at + 16])
    return length > DIRECTORY or end[max(0, at - 20) : at].startswith(b"PK\6\7")


# Discarding -----------------------------------------------------------------------------------


def drop(upload: TaskUpload) -> None:
    folder = folder_of(upload)
    jobs_of(upload).delete()
    upload.delete()
    shutil.rmtree(folder, ignore_errors=True)


def drop_old() -> None:
    """Delete uploads that were not confirmed or discarded within a day, and orphaned folders."""
    for upload in TaskUpload.objects.filter(created_at__lt=timezone.now() - MAX_AGE):
        drop(upload)
    drop_unfinished(timezone.now() - MAX_AGE)
    disk.sweep(Path(settings.VAR_DIR) / "uploads", TaskUpload.objects.all())


def jobs_of(upload: TaskUpload) -> QuerySet[Job]:
    return Job.objects.filter(
        kind__in=(CHECK, IMPORT, IMPORT_GYM, IMPORT_WHOLE), parameters__upload=str(upload.pk)
    )
