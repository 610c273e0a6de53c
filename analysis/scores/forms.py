"""The forms of the pages of results: they clean and convert input."""

import contextlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from analysis.documents import front
from analysis.documents.checklists import short_form
from analysis.export import publishing
from analysis.stats import arg
from annotation.models import GoldOpinion
from annotation.monitoring.sample import LARGEST_EXPORT
from annotation.web.fields import PageForm, TextField, WholeNumberField, row_field
from tasks import checking
from tasks.formats import FormatError
from tasks.models import Job, LanguageModel, Task
from tasks.models.predictions import ExternalData, Numbering, Seen, SizeClass
from tasks.predictions import store, upload_job
from tasks.predictions.format import LARGEST_FILE, NAMED
from tasks.predictions.store import PredictionUpload

MAX_ANSWER = 5000  # characters
LONGEST_COMMENT = 2000
# Name of an answer of the report -> the question to the researcher.
ASKED = {name: field.label for name, field in short_form.FIELDS.items()} | front.ASKED


class _Files(forms.ClearableFileInput):
    allow_multiple_selected = True


class _FilesField(forms.FileField):
    """One or more files, none of them empty."""

    widget = _Files

    def clean(self, data: Any, initial: Any = None) -> list[Any]:
        return [super(_FilesField, self).clean(file, initial) for file in data or [None]]


def _stated(label: str, choices: Any, help_text: str) -> forms.ChoiceField:
    """A property of a model, with these choices."""
    return forms.ChoiceField(label=label, choices=choices, required=False, help_text=help_text)


class UploadForm(forms.Form):
    """A model and its files: placed by the fields (one file), or by the files' names."""

    name = forms.CharField(
        label="Name of the model",
        max_length=60,
        help_text="A new model or one of yours. Letters, digits, dots, hyphens and underscores.",
    )
    title = forms.CharField(
        label="Description", max_length=200, required=False, help_text="Optional: one line of text."
    )
    link = forms.CharField(
        label="Link",
        max_length=500,
        required=False,
        help_text="Optional: URL of its paper or code.",
    )
    parameters = WholeNumberField(
        label="Number of parameters",
        min_value=1,
        max_value=2**62,
        required=False,
        help_text="Optional, such as 770000000.",
    )
    size_class = _stated("Size class", SizeClass, "Leaderboards rank base and large models apart.")
    external_labelled = _stated(
        "Labelled data from outside",
        ExternalData,
        "Beside the training split, for this task or another.",
    )
    external_unlabelled = _stated(
        "Unlabelled data from outside",
        ExternalData,
        "Of the task's domain, beside what the model was pretrained on.",
    )
    numbering = _stated(
        "Numbers of its training splits",
        Numbering,
        "Which training file a number means. Published SQuADv2 and ReCoRD do not nest.",
    )
    seen_test = _stated(
        "May it have seen the test set?", Seen, "In its training data or its prompt."
    )
    predicted_on = forms.DateField(
        label="Date of the run", required=False, help_text="Such as 2026-05-31."
    )
    revision = forms.CharField(
        label="Revision",
        max_length=100,
        required=False,
        help_text="Of the model or its weights: a version, a commit, a date of the service.",
    )
    files = _FilesField(  # type: ignore[assignment]  # forms take their fields away
        label="Files of predictions", help_text=f"Several files at once if they are named {NAMED}."
    )
    task = forms.ModelChoiceField(
        Task.objects.none(),
        label="Task",
        required=False,
        empty_label="From the file names",
        help_text="Choose a task only for a single file with another name.",
    )
    shots = WholeNumberField(label="Shots", min_value=0, max_value=99999, required=False)
    split_number = WholeNumberField(
        label="Split number", min_value=1, max_value=9999, required=False
    )

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        row_field(self, "task").queryset = Task.objects.order_by("name", "-version")
        self.fields["files"].widget.attrs["accept"] = ".jsonl"

    def clean_files(self) -> list[Any]:
        files = self.cleaned_data["files"]
        problems = [
            f"{file.name}: the file is larger than {LARGEST_FILE:,} bytes"
            for file in files
            if file.size > LARGEST_FILE
        ]
        if problems:
            raise ValidationError(problems)
        return files

    def clean(self) -> dict[str, Any]:
        """Place every file: by the fields, or by its name if no task is chosen."""
        super().clean()
        cleaned = self.cleaned_data
        if self.errors:
            return cleaned
        task, shots, number = cleaned["task"], cleaned["shots"], cleaned["split_number"]
        if task is None and (shots is not None or number is not None):
            self.add_error(
                "task", "Choose the task as well, or leave shots and split number empty."
            )
        elif task is None:
            cleaned["uploads"] = self._by_name(cleaned["files"])
        elif len(cleaned["files"]) > 1:
            self.add_error(
                "task",
                "Choose a task for a single file only; several files are identified by their"
                " names.",
            )
        elif shots is None:
            self.add_error("shots", "Enter the number of shots of these predictions.")
        elif shots and number is None:
            self.add_error("split_number", "Enter the number of the training split.")
        elif not shots and number is not None:
            self.add_error("split_number", "Zero shots have no training split: leave it empty.")
        else:
            (file,) = cleaned["files"]
            cleaned["uploads"] = [PredictionUpload(file.name, file.read(), task, shots, number)]
        return cleaned

    def store(self, user: Any) -> LanguageModel | Job:
        """The model with these files, or the job of a large upload.

        Raises PredictionsError or ValidationError if nothing is stored.
        """
        data = self.cleaned_data
        details = {key: data[key] for key in (*store.DETAILS, *store.RUN)}
        if details["predicted_on"] is not None:
            details["predicted_on"] = details["predicted_on"].isoformat()  # for a job's JSON
        name, sent = data["name"], data["uploads"]
        if not upload_job.is_large(sent):
            with contextlib.suppress(checking.Busy):  # then it waits as a job
                return store.add(name, sent, user, **details)[0].model
        return upload_job.begin(name, sent, user, **details)

    def _by_name(self, files: list[Any]) -> list[PredictionUpload]:
        uploads = []
        for file in files:
            try:
                uploads.append(PredictionUpload.named(file.name, file.read()))
            except FormatError as error:
                self.add_error("files", str(error))
        return uploads


class BundleForm(PageForm):
    """Options of the release bundle."""

    key = "bundle"
    round_times = forms.ChoiceField(
        label="Times of people",
        choices=[(unit, words.capitalize()) for unit, words in publishing.UNITS.items()],
        required=False,
        help_text="Rounded times cannot be joined with the log of a platform. Durations and pay"
        " are not changed.",
    )


class CommentForm(PageForm):
    """A comment of a member of the team on an example."""

    key = "comment"
    text = TextField(
        label="Comment",
        max_length=LONGEST_COMMENT,
        widget=forms.Textarea({"rows": 3}),
        error_messages={"required": "Write something."},
    )
    gold = forms.ChoiceField(
        label="The gold is",
        choices=[("", "not what this is about"), *GoldOpinion.choices],
        required=False,
        help_text="An example marked as wrong stands on Gold audit; no score changes.",
    )


class PlannerForm(forms.Form):
    """The wanted numbers; missing ones have initial values, so that the page starts with a plan."""

    source = forms.ChoiceField(label="Numbers from")
    half_width = forms.FloatField(
        label="Target interval: ± points",
        initial=3.0,
        min_value=0.5,
        max_value=50,
        help_text="Half-width of the 95 % confidence interval, in points of S1 x 100.",
    )
    annotators = WholeNumberField(
        label="Annotators per scenario", initial=3, min_value=2, max_value=1000
    )
    examples = WholeNumberField(label="Test examples", initial=200, min_value=2, max_value=100_000)
    difference = forms.FloatField(
        label="Difference to detect: points",
        initial=5.0,
        min_value=0.1,
        max_value=100,
        help_text="Between two numbers of shots, in points of S1 x 100.",
    )
    comparisons = WholeNumberField(
        label="Comparisons",
        initial=1,
        min_value=1,
        max_value=1000,
        help_text="How many are tested together; each is then tested at .05 over this number, as"
        " Holm's first step.",
    )

    def __init__(self, asked: QueryDict, *, sources: Sequence[tuple[str, str]]):
        first = {name: field.initial for name, field in self.base_fields.items()}
        super().__init__(first | {"source": sources[0][0]} | asked.dict())
        source = self.fields["source"]
        assert isinstance(source, forms.ChoiceField)
        source.choices = sources


class StatedGainForm(forms.Form):
    """Expectations for a cross-task study; the prefix separates its fields from PlannerForm's."""

    base = forms.FloatField(
        label="Mean of the base arm",
        initial=70.0,
        min_value=0,
        max_value=100,
        help_text="Score x 100 of people without the upstream tasks.",
    )
    sd = forms.FloatField(
        label="SD between people: points",
        initial=6.0,
        min_value=0.1,
        max_value=50,
        help_text="Of people's mean scores, in either arm.",
    )
    targets = WholeNumberField(
        label="Unseen tasks",
        initial=1,
        min_value=1,
        max_value=160,
        help_text="Other people in each task.",
    )
    gain = forms.FloatField(
        label="Expected gain: %",
        initial=0.0,
        min_value=-100,
        help_text="(new - base) / base, in percent.",
    )
    width = forms.FloatField(
        label="Target interval of the ARG: ± %",
        initial=5.0,
        min_value=0.1,
        max_value=100,
        help_text="Half-width of its 95 % interval, in percent of the base.",
    )
    people = WholeNumberField(
        label="People an arm at hand",
        initial=10,
        min_value=2,
        max_value=100_000,
        help_text="In each arm of each task: what they would give stands beside.",
    )

    def __init__(self, asked: QueryDict):
        first = {f"arg-{name}": field.initial for name, field in self.base_fields.items()}
        super().__init__(first | asked.dict(), prefix="arg")

    def clean_base(self) -> float:
        base: float = self.cleaned_data["base"]
        if why := arg.why_no_divisor(base / 100):
            raise forms.ValidationError(
                f"{why[0].upper()}{why[1:]} (as a score from 0 to 1): nothing is divided by it."
                " Plan the difference instead, or write the mean x 100."
            )
        return base

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if "base" in cleaned and "gain" in cleaned:
            new = cleaned["base"] * (1 + cleaned["gain"] / 100)
            if new > 100:
                self.add_error(
                    "gain",
                    f"A base of {cleaned['base']:g} with this gain would be {new:g}, above 100:"
                    f" at most {math.floor(1000 * (100 / cleaned['base'] - 1)) / 10:g} % can be"
                    " gained.",
                )
        return cleaned


class AnswersForm(forms.Form):
    """Answers of the short form and of the title page; fields may be missing."""

    def __init__(self, sent: QueryDict):
        sent = sent.copy()
        for name, field in short_form.FIELDS.items():
            if field.choices and f"item-{name}" in sent:
                sent[f"item-{name}"] = ", ".join(filter(None, sent.getlist(f"item-{name}")))
        super().__init__(sent)
        for item, label in ASKED.items():
            too_long = f"{label} Keep the answer under {MAX_ANSWER} characters."
            self.fields[f"item-{item}"] = TextField(
                required=False, max_length=MAX_ANSWER, error_messages={"max_length": too_long}
            )

    def typed(self) -> dict[str, str]:
        """The submitted answers, by item; a restored form may lack some."""
        names = {item: f"item-{item}" for item in ASKED}
        return {item: self.data[name] for item, name in names.items() if name in self.data}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        answers = {item: cleaned.get(f"item-{item}", "") for item in ASKED}
        for item, words in answer_problems(answers).items():
            self.add_error(f"item-{item}", words)
        return cleaned

    def problems(self) -> dict[str, str]:
        """The errors, by item."""
        return {
            name.removeprefix("item-"): " ".join(map(str, problems))
            for name, problems in self.errors.items()
        }


def answer_problems(answers: Mapping[str, str]) -> dict[str, str]:
    """Errors in answers of the report, by item; for the page and the API."""
    found = dict(front.licence_problem(answers))
    for name in short_form.FIELDS:
        if words := short_form.problem(name, answers.get(name, "")):
            found[name] = words
    return found


class SampleForm(PageForm):
    """Prolific's demographic export, which is read and not stored."""

    key = "sample"

    demographics = forms.FileField(
        label="Demographic export of Prolific (CSV)",
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv"}),
        help_text="It is read once and not stored: only the table of counts is kept.",
    )

    def clean_demographics(self) -> str:
        file = self.cleaned_data["demographics"]
        if file.size > LARGEST_EXPORT:
            raise ValidationError(f"Choose a file of at most {LARGEST_EXPORT // 1_000_000} MB.")
        try:
            text: str = file.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValidationError(
                f"Byte {error.start + 1} of the file is no UTF-8. Choose the CSV as Prolific"
                " exports it."
            ) from None
        return text
