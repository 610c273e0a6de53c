"""The forms of the report."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from analysis.documents import front
from analysis.documents.checklists import short_form
from annotation.monitoring.sample import LARGEST_EXPORT
from annotation.web.fields import PageForm, TextField

MAX_ANSWER = 5000  # characters


# Name of an answer of the report -> the question to the researcher.
ASKED = {name: field.label for name, field in short_form.FIELDS.items()} | front.ASKED


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
