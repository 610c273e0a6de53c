"""The forms of tokens: a new API token of ours, and the one of an account on Prolific."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.validators import RegexValidator

from annotation.models import ApiToken, Study
from annotation.pages.fields import PageForm, RowField, row_field
from tasks.clock import database_now

DAYS = ((7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "a year"))
SCOPES = (
    ("read", "read: designs, answers, results and files"),
    ("run", "run: import, design, open, pause and close, decide about annotators"),
    ("pay", "pay: money and identities"),
)


class TokenForm(PageForm):
    """What the token may do, where, and until when."""

    key = "token"
    name = forms.CharField(
        max_length=60, help_text="What uses it, such as the name of a script or machine."
    )
    scopes = forms.MultipleChoiceField(
        label="It may",
        choices=SCOPES,
        initial=["read"],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose one thing or more that it may do."},
    )
    study = RowField(
        Study.objects.none(),
        required=False,
        empty_label="all that you can see",
        help_text="A token never allows more than your role in a study.",
    )
    days = forms.TypedChoiceField(
        label="Valid for", choices=DAYS, initial=90, coerce=int, empty_value=None
    )

    def __init__(self, owner: User, *args: Any):
        super().__init__(*args)
        row_field(self, "study").queryset = Study.objects.visible_to(owner).order_by("name")

    def make(self, owner: User) -> tuple[str, ApiToken]:
        """The token, to be shown this once, and its stored row."""
        sent = self.cleaned_data
        token, row = ApiToken.draw()
        row.owner, row.name, row.study = owner, sent["name"], sent["study"]
        for scope, _words in SCOPES:
            setattr(row, f"may_{scope}", scope in sent["scopes"])
        row.expires_at = database_now() + timedelta(days=sent["days"])
        row.save()
        return token, row


class ProlificTokenForm(PageForm):
    """A token of Prolific's; it is never shown again, nor kept over a lost session."""

    key = "prolific"
    token = forms.CharField(
        label="API token",
        min_length=8,
        max_length=500,
        widget=forms.PasswordInput({"autocomplete": "off"}),
        help_text="On Prolific: Settings, Go to API token page.",
        # Anything else in a header would be refused with the header in the error.
        validators=[RegexValidator(r"\A[!-~]+\Z", "Copy the token alone, without blanks.")],
    )
    workspace = forms.CharField(
        label="Workspace",
        max_length=40,
        required=False,
        help_text="Its id, needed only if the token sees several.",
    )
    project = forms.CharField(
        label="Project",
        max_length=40,
        required=False,
        help_text="Its id, needed only if the workspace has several.",
    )
