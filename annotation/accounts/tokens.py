"""API tokens for Handful and for Prolific accounts, shown as sections of the account page.

That page is rendered by `show` (config/users.py), which takes the request and, optionally, a
rejected form, a status and additional context.
"""

from datetime import timedelta
from typing import Any

from allauth.account.decorators import reauthentication_required
from allauth.core.exceptions import ReauthenticationRequired
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.validators import RegexValidator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from annotation.models import ApiToken, ProlificAccount, Study
from annotation.prolific.accounts import set_token
from annotation.prolific.client import ProlificError
from annotation.web.access import ResearcherRequest, signed_in
from annotation.web.fields import PageForm, RowField, by_key, optional_text
from annotation.web.posts import View
from tasks import mail
from tasks.clock import database_now

DAYS = ((7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "a year"))
SCOPES = (
    ("read", "read: designs, answers, results and files"),
    ("run", "run: import tasks; design, open, pause and close studies; decide on annotators"),
    ("pay", "pay: money and identities"),
)


class TokenForm(PageForm):
    key = "token"
    name = forms.CharField(
        max_length=60, help_text="Where the token is used, such as a script or machine."
    )
    scopes = forms.MultipleChoiceField(
        label="Scopes", choices=SCOPES, initial=["read"], widget=forms.CheckboxSelectMultiple,
        help_text="What a script with this token can do.",
        error_messages={"required": "Choose at least one scope."},
    )  # fmt: skip
    study = RowField(
        lambda owner: Study.objects.visible_to(owner).order_by("name"),
        required=False, empty_label="all studies you can access",
        help_text="A token never grants more access than your role in a study.",
    )  # fmt: skip
    days = forms.TypedChoiceField(
        label="Valid for", choices=DAYS, initial=90, coerce=int, empty_value=None,
        help_text="After this, scripts will need a new token.",
    )  # fmt: skip

    def make(self, owner: User) -> tuple[str, ApiToken]:
        """Create the token. Return its plain text (shown only once) and its row."""
        data = self.cleaned_data
        token, row = ApiToken.draw()
        row.owner, row.name, row.study = owner, data["name"], data["study"]
        for scope, _label in SCOPES:
            setattr(row, f"may_{scope}", scope in data["scopes"])
        row.expires_at = database_now() + timedelta(days=data["days"])
        row.save()
        return token, row


class ProlificTokenForm(PageForm):
    """The form for a Prolific token, which is discarded if the session has expired."""

    key = "prolific"
    token = forms.CharField(
        label="API token", min_length=8, max_length=500,
        widget=forms.PasswordInput({"autocomplete": "off"}),
        help_text="On Prolific, choose Settings, then “Go to API token page”.",
        # Any other character would make requests fail with an error that contains the header.
        validators=[RegexValidator(r"\A[!-~]+\Z", "Enter only the token, without spaces.")],
    )  # fmt: skip
    workspace = optional_text(
        "Workspace", 40, "Workspace id. Needed only if the token has access to several workspaces."
    )
    project = optional_text(
        "Project", 40, "Project id. Needed only if the workspace has several projects."
    )


@signed_in("GET", "POST")
@reauthentication_required(allow_get=True)
@never_cache
def tokens(request: ResearcherRequest, show: View) -> HttpResponse:
    if request.method == "GET":
        return _section("tokens")
    form = TokenForm(request.POST, subject=request.user)
    if not form.is_valid():
        return show(request, form, 422)
    token, row = form.make(request.user)
    if settings.EMAIL_HOST and request.user.email:
        scopes = ", ".join(row.scopes)
        text = (
            f"The token “{row.name}” was created for your account {request.user}. Scopes: {scopes}."
            " If you didn't create it, revoke it under API tokens and change your password.\n"
        )
        mail.send("[Handful] A new API token", text, request.user.email)
    return show(request, None, 201, token=token, made=row)


def section(owner: User, form: PageForm | None = None) -> dict[str, Any]:
    now = database_now()
    tokens = ApiToken.objects.filter(owner=owner).select_related("study")
    rows = [(token, token.is_over(now)) for token in tokens]
    accounts = ProlificAccount.objects.filter(owner=owner).exclude(token="")
    return {"rows": rows, "accounts": accounts} | by_key(TokenForm(subject=owner), sent=form)


def _section(anchor: str, **query: str) -> HttpResponse:
    return redirect(reverse("your_account", query=query) + f"#{anchor}")


@signed_in("POST")
def token_revoke(request: ResearcherRequest, pk: int) -> HttpResponse:
    token = get_object_or_404(ApiToken, pk=pk, owner=request.user)
    token.revoke()
    messages.success(request, f"The token “{token.name}” was revoked.")
    return _section("tokens")


@signed_in("GET", "POST")
@sensitive_post_parameters("token")
@never_cache
def prolific_token(request: ResearcherRequest, show: View) -> HttpResponse:
    """Store a token.

    If this requires the password again, the page is shown again, because allauth would store the
    request, including the plain-text token, in the session.
    """
    if request.method == "GET":
        return _section("prolific", show="prolific")
    try:
        return _prolific_token(request, show)
    except ReauthenticationRequired:
        return show(request, None, 403, is_late=True)


@reauthentication_required
def _prolific_token(request: ResearcherRequest, show: View) -> HttpResponse:
    form = ProlificTokenForm(request.POST)
    if not form.is_valid():
        return show(request, form, 422)
    try:
        account = set_token(request.user, **form.cleaned_data)
    except ProlificError as error:
        form.add_error(None, str(error))
        return show(request, form, 422)
    messages.success(request, f"Prolific accepts the token ending in {account.last_characters}.")
    return _section("prolific")


@signed_in("POST")
@reauthentication_required
def prolific_token_remove(request: ResearcherRequest, pk: int) -> HttpResponse:
    account = get_object_or_404(ProlificAccount, pk=pk, owner=request.user)
    account.remove_token()
    messages.success(request, f"The token ending in {account.last_characters} was removed.")
    return _section("prolific")
