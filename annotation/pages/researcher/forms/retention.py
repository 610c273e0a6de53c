"""How long a study's people are known, and deleting the study."""

from datetime import date
from typing import Any

from django import forms

from annotation.models import Study
from annotation.pages.fields import PageForm
from tasks.clock import database_now


class RetentionForm(PageForm):
    """The days after which identities, and the study with all answers, are deleted."""

    key = "retention"
    until = forms.DateField(
        label="Delete identities after",
        required=False,
        widget=forms.DateInput({"type": "date"}),
        error_messages={"invalid": "Write a day, such as 2027-03-31, or leave it empty."},
        help_text="Empty: they are deleted by hand alone.",
    )
    answers_until = forms.DateField(
        label="Delete the study after",
        required=False,
        widget=forms.DateInput({"type": "date"}),
        error_messages={"invalid": "Write a day, such as 2037-03-31, or leave it empty."},
        help_text="With all answers, as described below. Empty: by hand alone.",
    )

    @classmethod
    def of(cls, study: Study, sent: Any = None) -> "RetentionForm":
        """With the days that are set now."""
        days = {"until": study.identities_until, "answers_until": study.answers_until}
        return cls(sent, initial=days)

    def clean_answers_until(self) -> date | None:
        """A slip of the year would delete everything within the hour.

        A day that has passed may stay: the study is deleted as soon as nothing holds it up.
        """
        day = self.cleaned_data["answers_until"]
        is_set = day == self.initial.get("answers_until")
        if day is not None and not is_set and day <= database_now().date():
            raise forms.ValidationError(
                "Choose a day to come, or delete the study below, at once.", code="past"
            )
        return day


class EraseForm(PageForm):
    """The study's name once more, typed to delete it."""

    key = "erase"
    typed = forms.CharField(
        label="Name of the study",
        max_length=200,
        widget=forms.TextInput({"autocomplete": "off", "autocapitalize": "none"}),
        error_messages={"required": "Type the name of the study to delete it."},
    )
