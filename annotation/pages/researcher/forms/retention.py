"""How long a study's people are known, and deleting the study."""

from django import forms

from annotation.pages.fields import PageForm


class RetentionForm(PageForm):
    """The day after which identities are deleted."""

    key = "retention"
    until = forms.DateField(
        label="Delete identities after",
        required=False,
        widget=forms.DateInput({"type": "date"}),
        error_messages={"invalid": "Write a day, such as 2027-03-31, or leave it empty."},
        help_text="Empty: they are deleted by hand alone.",
    )


class EraseForm(PageForm):
    """The study's name once more, typed to delete it."""

    key = "erase"
    typed = forms.CharField(
        label="Name of the study",
        max_length=200,
        widget=forms.TextInput({"autocomplete": "off", "autocapitalize": "none"}),
        error_messages={"required": "Type the name of the study to delete it."},
    )
