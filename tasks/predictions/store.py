"""Storage of model predictions, scored like answers. Each upload is all-or-nothing."""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from tasks import checking
from tasks.columns import shots_text
from tasks.formats import FormatError
from tasks.models import LanguageModel, Prediction, PredictionFile, Task
from tasks.models.choices import CELL_ARMS
from tasks.predictions.format import place_of

# Fields of the model.
DETAILS = (
    "title", "link", "parameters", "size_class", "external_labelled", "external_unlabelled",
)  # fmt: skip
# Fields of the model's files.
RUN = ("numbering", "seen_test", "predicted_on", "revision", "method", "tuning", "arm")
FILE_FIELDS = (*RUN, "witness")
STATED = (*DETAILS, *FILE_FIELDS)
PART = 200_000  # bytes to read together; a larger file is read separately


class PredictionsError(ValueError):
    """Raised if nothing was stored. Contains one message per problem, each with the file name."""

    def __init__(self, problems: Sequence[str]):
        super().__init__("\n".join(problems))
        self.problems = list(problems)


@dataclass(frozen=True)
class PredictionUpload:
    filename: str
    data: bytes
    task: Task
    shots: int | None  # None: fully supervised
    split_number: int | None

    @classmethod
    def from_filename(cls, filename: str, data: bytes) -> "PredictionUpload":
        """Build an upload from a file whose name gives its place. Raises FormatError."""
        place = place_of(filename)
        versions = Task.objects.filter(name=place.task)
        if place.version:
            versions = versions.filter(version=place.version)
        task = versions.order_by("-version").first()
        if task is None:
            names = (
                ", ".join(newest.name for newest in Task.objects.latest_versions()) or "none yet"
            )
            version = f" v{place.version}" if place.version else ""
            raise FormatError(filename, f"unknown task {place.task}{version}; imported: {names}")
        return cls(filename, data, task, place.shots, place.split_number)

    def check_place(self) -> None:
        """Check that the task has this training file. Raises FormatError."""
        if not self.shots:
            return
        numbers = self.task.split_numbers(self.shots)
        if self.split_number not in numbers:
            sizes = ", ".join(map(str, self.task.training_sizes)) or "none"
            listed = ", ".join(map(str, numbers))
            has = f"its numbers are {listed}" if numbers else f"it has {sizes}"
            problem = f"{self.task} has no training file of {shots_text(self.shots)} with number"
            raise FormatError(self.filename, f"{problem} {self.split_number}; {has}")


def add(
    name: str, uploads: Sequence[PredictionUpload], by: User, **details: Any
) -> list[PredictionFile]:
    """Score and store a model's predictions, creating the model if it doesn't exist.

    `details` describe the model (DETAILS; empty: unchanged) and the run (RUN; date as ISO 8601).
    Raises PredictionsError, which lists every invalid file, ValidationError for the name or a
    detail, or checking.Busy. In any of these cases, nothing is stored.
    """
    check(name, uploads, by, **details)
    # Reading and scoring take longer than storing, and don't require a lock.
    with checking.one_of(by.pk):
        results = scored(uploads)
    return store(name, uploads, results, by, details)


def delete_model(model: LanguageModel) -> None:
    """Delete a model. Raises PredictionsError if it has files."""
    try:
        model.delete()
    except ProtectedError:
        raise PredictionsError(["Delete its files first."]) from None


def delete(file: PredictionFile) -> None:
    """Delete a prediction file. Raises PredictionsError if a closed study compares it."""
    try:
        with transaction.atomic():
            # While a study is being closed, it locks the files that it compares.
            for locked in PredictionFile.objects.select_for_update().filter(pk=file.pk):
                locked.delete()
    except ProtectedError:
        raise PredictionsError(
            [
                f"{file.filename} cannot be deleted, because a closed study compared it with its"
                " annotators, and Holm's correction includes this comparison."
            ]
        ) from None


def check(name: str, uploads: Sequence[PredictionUpload], by: User, **details: Any) -> None:
    """Raise the same errors as `add`, except those about the contents of files. Stores nothing."""
    if problems := list(_misplaced(uploads)) if uploads else ["No prediction file was found."]:
        raise PredictionsError(problems)
    with transaction.atomic():
        _free_model(name, uploads, by, details)
        transaction.set_rollback(True)


def store(
    name: str,
    uploads: Sequence[PredictionUpload],
    results: Sequence[dict[str, Any]],
    by: User,
    details: dict[str, Any],
) -> list[PredictionFile]:
    """Store either all scored files or none. Raises the same errors as `add`."""
    try:
        with transaction.atomic():
            model = _free_model(name, uploads, by, details)
            of_file = {key: details[key] for key in FILE_FIELDS if details.get(key)}
            return [
                _store(model, upload, result, of_file)
                for upload, result in zip(uploads, results, strict=True)
            ]
    except IntegrityError:
        # The above check passed, so the same model or place must have been stored concurrently.
        raise PredictionsError(
            ["The same predictions were uploaded at the same time. Check the list, then try again."]
        ) from None


def _free_model(
    name: str, uploads: Sequence[PredictionUpload], by: User, details: dict[str, Any]
) -> LanguageModel:
    """Return the model. Raises PredictionsError if a place already has predictions."""
    model, arm = _model(name, by, details), details.get("arm") or ""
    files = model.files.filter(arm__in=CELL_ARMS if arm in CELL_ARMS else [arm])
    problems = [
        f"{upload.filename}: {model} already has predictions for {upload.task} at {file.place}"
        f" ({file.filename}); delete that file first"
        for upload in uploads
        for file in files.filter(
            task=upload.task, shots=upload.shots, split_number=upload.split_number
        )
    ]
    if problems:
        raise PredictionsError(problems)
    return model


def _misplaced(uploads: Sequence[PredictionUpload]) -> Iterator[str]:
    first: dict[tuple[int, int | None, int | None], str] = {}
    for upload in uploads:
        try:
            upload.check_place()
        except FormatError as error:
            yield str(error)
            continue
        place = (upload.task.pk, upload.shots, upload.split_number)
        if place in first:
            problem = f"covers the same task, shots and split as {first[place]}"
            yield str(FormatError(upload.filename, problem))
        else:
            first[place] = upload.filename


def scored(uploads: Sequence[PredictionUpload]) -> list[dict[str, Any]]:
    """Read, check and score files in processes. Return {rows, remarks} for each, as in `_read`.

    Raises PredictionsError, checking.Busy.
    """
    tasks = {upload.task.pk: upload.task for upload in uploads}
    described = {str(key): _description(task) for key, task in tasks.items()}
    replies: list[dict[str, Any]] = []
    for part in parts_by_size([len(upload.data) for upload in uploads]):
        replies += _read([uploads[number] for number in part], described)
    if problems := [problem for reply in replies for problem in reply.get("errors", ())]:
        raise PredictionsError(problems)
    return replies


def parts_by_size(sizes: Sequence[int]) -> list[list[int]]:
    parts: list[list[int]] = []
    space = 0
    for number, size in enumerate(sizes):
        if not parts or size > space:
            parts.append([])
            space = PART
        parts[-1].append(number)
        space -= size
    return parts


def _description(task: Task) -> dict[str, Any]:
    fields = ("source_id", "gold", "context", "question", "options")
    examples = task.test_split.examples.values_list(*fields)
    return {"card": task.card.as_dict(), "examples": {key: rest for key, *rest in examples}}


def _read(
    uploads: Sequence[PredictionUpload], described: dict[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return {rows, remarks} or {errors} for each file. Rows are [id, texts, S1]."""
    files = [
        {
            "filename": upload.filename,
            "data": base64.b64encode(upload.data).decode("ascii"),
            "task": str(upload.task.pk),
        }
        for upload in uploads
    ]
    tasks = {file["task"]: described[file["task"]] for file in files}
    try:
        return checking.run("predictions", waits=True, files=files, tasks=tasks)["files"]
    except checking.TooComplex as error:
        if len(uploads) > 1:  # find out which file exceeds the limits
            return [_read([upload], described)[0] for upload in uploads]
        return [{"errors": [f"{uploads[0].filename}: {error}"]}]


def _model(name: str, by: User, details: dict[str, Any]) -> LanguageModel:
    model = LanguageModel.objects.filter(name=name).first() or LanguageModel(
        name=name, uploaded_by=by
    )
    if model.uploaded_by_id != by.pk:
        raise ValidationError(
            {"name": f"{name} is another researcher's model. Choose another name."}
        )
    new = {key: details[key] for key in DETAILS if details.get(key)}
    if model.pk is None or new:
        for key, value in new.items():
            setattr(model, key, value)
        model.full_clean()
        model.save()
    return model


def _store(
    model: LanguageModel, upload: PredictionUpload, result: dict[str, Any], run: dict[str, Any]
) -> PredictionFile:
    file = PredictionFile.objects.create(
        model=model, task=upload.task, shots=upload.shots, split_number=upload.split_number,
        filename=upload.filename, sha256=hashlib.sha256(upload.data).hexdigest(),
        remarks=result["remarks"], **run,
    )  # fmt: skip
    examples = dict(upload.task.test_split.examples.values_list("source_id", "pk"))
    predictions = [
        Prediction(file=file, example_id=examples[key], predicted=texts, s1=s1)
        for key, texts, s1 in result["rows"]
    ]
    Prediction.objects.bulk_create(predictions, batch_size=1000)
    return file
