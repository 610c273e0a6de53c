"""The form of the release bundle."""

from django import forms

from analysis.export import publishing
from annotation.web.fields import PageForm


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
