"""The form of personal links."""

from django import forms

from annotation.pages.fields import PageForm


class LinksForm(PageForm):
    """Names for new links; platforms/personal_links.py reads the lines."""

    key = "links"
    names = forms.CharField(
        label="Names, one per line",
        widget=forms.Textarea({"rows": 6}),
        error_messages={"required": "Enter one name per line: of people, or 1, 2, 3."},
    )
