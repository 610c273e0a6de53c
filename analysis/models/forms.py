"""The form for uploading predictions."""

import contextlib
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from annotation.web.fields import FilesField, WholeNumberField, optional_text, row_field
from tasks import checking
from tasks.formats import FormatError
from tasks.models import Job, LanguageModel, Task
from tasks.models.choices import ARM_NAME
from tasks.models.predictions import ExternalData, Method, Numbering, Seen, SizeClass, Tuning
from tasks.predictions import store, upload_job
from tasks.predictions.format import LARGEST_FILE, NAMED
from tasks.predictions.store import PredictionUpload


def _stated(label: str, choices: Any, help_text: str) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, choices=choices, required=False, help_text=help_text)


OF_ONE_FILE = "Needed only if you choose a task; otherwise, it is read from the file names."


class UploadForm(forms.Form):
    """A form for a model and its files. Fields identify a single file; names identify several."""

    name = forms.CharField(
        label="Name of the model",
        max_length=60,
        help_text="A new model, or one of yours. Use letters, digits, dots, hyphens and"
        " underscores.",
    )
    title = optional_text("Description", 200, "Optional. One line of text.")
    link = optional_text("Link", 500, "Optional. URL of the model's paper or code.")
    parameters = WholeNumberField(
        label="Number of parameters", min_value=1, max_value=2**62, required=False,
        help_text="Optional, such as 770000000.",
    )  # fmt: skip
    size_class = _stated("Size class", SizeClass, "Base and large models are ranked separately.")
    external_labelled = _stated(
        "External labelled data",
        ExternalData,
        "Whether it used labelled data besides the training split, for this or another task.",
    )
    external_unlabelled = _stated(
        "External unlabelled data",
        ExternalData,
        "Whether it used unlabelled data from the task's domain, in addition to pretraining data.",
    )
    numbering = _stated(
        "Numbering of training splits",
        Numbering,
        "Training file for each number. Published SQuADv2 and ReCoRD splits are not nested.",
    )
    seen_test = _stated(
        "Could the model have seen the test set?", Seen, "In its training data or its prompt."
    )
    arm = forms.RegexField(
        ARM_NAME, label="Arm of a cross-task study", required=False,
        help_text="Such as upstream, sham or direct.",
    )  # fmt: skip
    predicted_on = forms.DateField(
        label="Date of the run", required=False, help_text="Such as 2026-05-31."
    )
    revision = optional_text(
        "Revision", 100, "Version, commit or service date of the model or its weights."
    )
    method = _stated("Method", Method, "How the model was adapted to the task.")
    tuning = _stated(
        "How were prompts and settings chosen?",
        Tuning,
        "Runs that chose them on held-out data are marked in every table because their scores are"
        " inflated.",
    )
    witness = forms.BooleanField(
        label="Witness",
        required=False,
        help_text="Use these predictions only for error overlap, and leave them out of all tables.",
    )
    files = FilesField(  # type: ignore[assignment]  # Django removes the fields from form classes
        label="Prediction files",
        allow_empty_file=True,  # the error then names the file
        help_text=f"Select several files if they are named {NAMED}.",
    )
    task = forms.ModelChoiceField(
        Task.objects.none(), label="Task", required=False, empty_label="From the file names",
        help_text="Needed only for a single file with a different name.",
    )  # fmt: skip
    shots = WholeNumberField(
        label="Shots", min_value=0, max_value=99999, required=False, help_text=OF_ONE_FILE
    )
    split_number = WholeNumberField(
        label="Split number", min_value=1, max_value=9999, required=False, help_text=OF_ONE_FILE
    )

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        row_field(self, "task").queryset = Task.objects.order_by("name", "-version")
        self.fields["files"].widget.attrs["accept"] = ".jsonl"

    def clean_files(self) -> list[Any]:
        files = self.cleaned_data["files"]
        problems = [
            f"{file.name} is larger than {LARGEST_FILE:,} bytes"
            for file in files
            if file.size > LARGEST_FILE
        ]
        if problems:
            raise ValidationError(problems)
        return files

    def clean(self) -> dict[str, Any]:
        """Assign every file to a task by the fields or, if no task is chosen, by its file name."""
        super().clean()
        cleaned = self.cleaned_data
        if self.errors:
            return cleaned
        task, shots, number = cleaned["task"], cleaned["shots"], cleaned["split_number"]
        if task is None and (shots is not None or number is not None):
            self.add_error(
                "task", "Choose a task as well, or leave the shots and split number empty."
            )
        elif task is None:
            cleaned["uploads"] = self._by_name(cleaned["files"])
        elif len(cleaned["files"]) > 1:
            self.add_error(
                "task",
                "Choose a task only if you upload a single file. Several files are identified by"
                " their names.",
            )
        elif shots is None:
            self.add_error("shots", "Enter the number of shots of these predictions.")
        elif shots and number is None:
            self.add_error("split_number", "Enter the number of the training split.")
        elif not shots and number is not None:
            self.add_error("split_number", "Leave this blank: zero shots have no training split.")
        else:
            (file,) = cleaned["files"]
            cleaned["uploads"] = [PredictionUpload(file.name, file.read(), task, shots, number)]
        return cleaned

    def store(self, user: Any) -> LanguageModel | Job | None:
        """Store the files or start a job. If this fails, add the errors and return None."""
        data = self.cleaned_data
        details = {key: data[key] for key in store.STATED}
        if details["predicted_on"] is not None:
            details["predicted_on"] = details["predicted_on"].isoformat()  # jobs store JSON
        name, uploads = data["name"], data["uploads"]
        try:
            if sum(len(upload.data) for upload in uploads) <= upload_job.SMALL:
                with contextlib.suppress(checking.Busy):  # if busy, store it in a job
                    return store.add(name, uploads, user, **details)[0].model
            return upload_job.begin(name, uploads, user, **details)
        except store.PredictionsError as error:
            self.add_error("files", error.problems)
        except ValidationError as error:
            self.add_error(None, error)
        return None

    def _by_name(self, files: list[Any]) -> list[PredictionUpload]:
        uploads = []
        for file in files:
            try:
                uploads.append(PredictionUpload.from_filename(file.name, file.read()))
            except FormatError as error:
                self.add_error("files", str(error))
        return uploads
