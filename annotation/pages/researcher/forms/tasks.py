"""The forms of tasks: a file of attention checks, and the card of an upload."""

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.text import get_valid_filename

from annotation.pages.fields import PageForm
from tasks.importing import CLUES

MAX_CHECKS = 1_000_000  # bytes
MAX_NAME = 200  # bytes; file systems take 255


class ChecksForm(PageForm):
    """A file of attention checks."""

    key = "checks"
    checks = forms.FileField(
        label="A JSON Lines file",
        widget=forms.ClearableFileInput({"accept": ".jsonl"}),
        error_messages={"required": "Choose a file of at most 1 MB."},
    )

    def clean_checks(self) -> UploadedFile:
        """The file, with a name that a file system takes."""
        file = self.cleaned_data["checks"]
        if file.size > MAX_CHECKS:
            raise forms.ValidationError("Choose a file of at most 1 MB.")
        file.name = get_valid_filename(file.name)
        if len(file.name.encode()) > MAX_NAME:
            raise forms.ValidationError(f"The name of the file is longer than {MAX_NAME} bytes.")
        return file


class CardForm(forms.Form):
    """The card of a task that is uploaded: one that comes with Handful, or none of these."""

    card = forms.ChoiceField(
        choices=[("", "task.toml, among the files")]
        + [(name, f"{name}: the card that comes with Handful") for name in CLUES],
        required=False,
        error_messages={"invalid_choice": "Choose one of the cards in the list."},
        help_text="The card says how the task is presented to annotators: instructions, labels,"
        " help examples. Six cards for the tasks of CLUES come with Handful.",
    )


class RemoveForm(forms.Form):
    """The file of an upload whose button was pressed."""

    remove = forms.CharField(strip=False)
