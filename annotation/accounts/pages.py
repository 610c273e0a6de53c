"""Pages and forms for accounts, the page of an invitation, and the guide for a first study."""

import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from annotation.accounts.closing import DELETED
from annotation.models import (
    Invitation,
    Kind,
    Participation,
    Preferences,
    Status,
    Study,
    StudyStatus,
)
from annotation.models.accounts import time_zones
from annotation.study import team
from annotation.web.access import ResearcherRequest, signed_in
from annotation.web.fields import PageForm, PressedField, RowField
from tasks.cards import load_card
from tasks.folders import read_folder
from tasks.importing import import_task
from tasks.models import Task


class AccountForm(UserCreationForm):
    class Meta:
        model = User
        fields = ("username", "email")
        labels = {"username": "Name", "email": "Email (optional)"}
        help_texts = {
            "username": "Used to sign in. Visible to the teams of your studies.",
            "email": "Used for notices and to reset a forgotten password.",
        }

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.fields["password1"].help_text = "At least eight characters, and not a common password."
        self.fields["password2"].label = "Repeat the password"
        self.fields["password2"].help_text = ""

    def clean_username(self) -> str:
        """Reject names reserved for deleted accounts (annotation/accounts/closing.py)."""
        name = str(super().clean_username())
        if name.lower().startswith(DELETED):
            raise forms.ValidationError("Choose another name. This form is for deleted accounts.")
        return name

    def clean_email(self) -> str:
        """Return the email address in lower case, as lookups expect it."""
        return str(self.cleaned_data["email"]).lower()


class TimeZoneForm(forms.ModelForm):
    time_zone = forms.ChoiceField(
        label="Time zone", help_text="Used for times on pages. Files, exports and the API use UTC."
    )

    class Meta:
        model = Preferences
        fields = ("time_zone",)

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        zones = self.fields["time_zone"]
        assert isinstance(zones, forms.ChoiceField)
        zones.choices = [(name, name.replace("_", " ")) for name in time_zones()]


class AddressForm(forms.Form):
    email = forms.EmailField(
        label="Email", required=False, max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
        help_text="Used for notices and to reset a forgotten password.",
    )  # fmt: skip

    def clean_email(self) -> str:
        """Return the email address in lower case, as lookups expect it."""
        return str(self.cleaned_data["email"]).lower()


class FirstOwnerForm(AccountForm):
    code = forms.CharField(
        label="Code",
        max_length=40,
        help_text="The server printed this code in its terminal or log when it started.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    field_order = ["code", "username", "email"]

    def __init__(self, is_right: Callable[[str], bool], *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.is_right = is_right

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        if not self.is_right(code):
            raise forms.ValidationError(
                "This code is incorrect. Use the latest code in the server's log."
            )
        return code


ACTIONS = (
    "open", "close", "link", "no_code", "delete", "spend", "no_spend", "administrator",
    "no_administrator",
)  # fmt: skip


class UserForm(PageForm):
    key = "user"
    user = RowField(
        lambda by: User.objects.exclude(pk=by.pk),
        error_messages={
            "required": "Choose an account.",
            "invalid_choice": "This account does not exist, or it is your own.",
        },
    )
    action = PressedField(
        choices=[(name, name) for name in ACTIONS],
        error_messages={"invalid_choice": "This action does not exist."},
    )
    # Only used by "delete", which cannot be undone.
    typed = forms.CharField(required=False)

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        user = data.get("user")
        if user and data.get("action") == "delete" and data["typed"] != user.username:
            self.add_error("typed", "Type the account name to delete the account.")
        return data


@require_http_methods(["GET", "POST"])
@never_cache
@sensitive_post_parameters()
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Show an invitation on GET, and accept it on POST. Returns 404 if it is used or expired."""
    invite = Invitation.objects.of(token)
    if invite is None:
        return render(request, "accounts/invitation.html", status=404)
    if isinstance(request.user, User):
        if request.method == "POST":
            return _accept(request, invite, request.user)
        return _page(request, invite)
    form = AccountForm(request.POST or None, initial={"email": invite.email})
    if request.method == "GET" or not form.is_valid():
        return _page(request, invite, form, 422 if request.method == "POST" else 200)
    return _accept(request, invite, form.save(commit=False))


def _accept(request: HttpRequest, invite: Invitation, user: User) -> HttpResponse:
    is_new = user.pk is None
    try:
        team.accept(invite, user)
    except team.InvitationError as error:
        return render(request, "accounts/invitation.html", {"problem": str(error)}, status=409)
    if is_new:
        login(request, user)
    messages.success(request, "You have accepted the invitation.")
    return redirect("study", invite.study.name) if invite.study else redirect("studies")


def _page(
    request: HttpRequest, invite: Invitation, form: AccountForm | None = None, status: int = 200
) -> HttpResponse:
    sign_in = f"{reverse('login')}?next={request.path}"
    context = {"invitation": invite, "form": form, "sign_in": sign_in}
    return render(request, "accounts/invitation.html", context, status=status)


SAMPLE_FOLDER = settings.BASE_DIR / "tasks" / "demo" / "sentiment"  # written for Handful
SAMPLE_TASK = "demo-sentiment"


_GUIDE = Path(__file__).with_name("first_study.toml").read_text(encoding="utf-8")
STEPS = tomllib.loads(_GUIDE)["steps"]


def guide_for(user: User, studies: Iterable[Study]) -> list[dict[str, Any]]:
    """Return the steps, or [] if the user has opened any of these studies or skipped the guide.

    Each step has a `title`, a `text`, `is_done` and an `address`, except that the first one is a
    button without an address.
    """
    has_opened = (
        study.owner_id == user.pk and not study.rehearsal and not study.is_draft
        for study in studies
    )
    if any(has_opened) or Preferences.objects.filter(user=user, skips_first_study=True).exists():
        return []
    task = Task.objects.filter(name=SAMPLE_TASK, archived_at=None).exists()
    own_studies = Study.objects.filter(owner=user).order_by("-pk")
    study = own_studies.filter(rehearsal=False).first()
    rehearsal = own_studies.filter(rehearsal=True).first()
    simulated = Participation.objects.filter(
        study__owner=user, study__rehearsal=True, kind=Kind.SIMULATED, status=Status.COMPLETED
    )
    new_study = f"{reverse('study_new')}?task={SAMPLE_TASK}" if task else reverse("study_new")
    last = _address("study" if study is None or study.is_draft else "recruit", study)
    states = [
        (task or Task.objects.exists(), ""),
        (study is not None, new_study),
        (simulated.exists(), _address("rehearsal", rehearsal) or _address("study_design", study)),
        (study is not None and study.status != StudyStatus.DRAFT, last),
    ]
    return [
        step | {"is_done": is_done, "address": address}
        for step, (is_done, address) in zip(STEPS, states, strict=True)
    ]


def _address(page: str, study: Study | None) -> str:
    return reverse(page, args=[study.name]) if study else ""


@signed_in("POST")
def first_study(request: ResearcherRequest) -> HttpResponse:
    """Import the sample task if it doesn't exist yet, skip the guide, or show it again."""
    action = request.POST.get("action")
    if action == "import":
        if not Task.objects.filter(name=SAMPLE_TASK).exists():
            card = load_card(SAMPLE_FOLDER / "task.toml")
            import_task(card, read_folder(SAMPLE_FOLDER, card), by=request.user)
        messages.success(request, "The sample task was imported.")
    elif action in ("skip", "show"):
        skips = {"skips_first_study": action == "skip"}
        Preferences.objects.update_or_create(user=request.user, defaults=skips)
    return redirect("studies")
