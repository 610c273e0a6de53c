"""The administrators' page of accounts: invite, close and open again, help with signing in."""

from itertools import chain
from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.decorators import reauthentication_required
from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.access import ResearcherRequest
from annotation.models import AuditEntry, Invitation, Topic
from annotation.pages.researcher.accounts import InvitationForm, UserForm
from annotation.study import accounts, team
from tasks import mail


@require_http_methods(["GET", "POST"])
@login_required
@never_cache
def users(request: ResearcherRequest) -> HttpResponse:
    """GET lists the accounts; POST invites somebody, or changes one. 404 but for administrators."""
    if not request.user.is_superuser:
        raise Http404
    return _page(request) if request.method == "GET" else _change(request)


@reauthentication_required
def _change(request: ResearcherRequest) -> HttpResponse:
    """Whoever finds the browser of an administrator open has to know the password."""
    if request.POST.get("action") == "invite":
        return _invite(request)
    form = UserForm(request.user, request.POST)
    if not form.is_valid():
        return _page(
            request,
            422,
            problem=" ".join(str(error) for error in chain.from_iterable(form.errors.values())),
        )
    user, action = form.cleaned_data["user"], form.cleaned_data["action"]
    if action == "link":
        AuditEntry.objects.record("link to a new password made", Topic.ACCOUNT, about=str(user))
        _tell(user, "An administrator made a link by which your password can be changed.")
        return _page(request, link=_link(user), link_for=user)
    match action:
        case "no_code":
            Authenticator.objects.filter(user=user).delete()
            AuditEntry.objects.record("second step switched off", Topic.ACCOUNT, about=str(user))
            done = f"{user} signs in with the password alone now."
            _tell(user, "An administrator switched off the second step of signing in.")
        case "open":
            accounts.reopen(user)
            done = f"The account {user} is open."
            _tell(user, "An administrator opened your account again.")
        case "close":
            accounts.close(user)
            done = f"The account {user} is closed."
            _tell(user, "An administrator closed your account.")
        case _:
            try:
                done = f"The account is deleted. Studies and logs show {accounts.erase(user)}."
            except accounts.AccountError as error:
                return _page(request, 409, problem=str(error))
            _tell(user, "An administrator deleted your account.")
    messages.success(request, done)
    return redirect("users")


def _tell(user: User, sentence: str) -> None:
    """Mail the account what was done to it."""
    if settings.EMAIL_HOST and user.email:
        text = (
            f"{sentence} Its name is {user}. If you did not expect this, ask the administrator.\n"
        )
        mail.send("[Handful] Your account", text, user.email)


def _invite(request: ResearcherRequest) -> HttpResponse:
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return _page(request, 422, invitation_form=form)
    token, invitation = team.invite(None, None, form.cleaned_data["email"], request.user)
    link = request.build_absolute_uri(reverse("invitation", args=[token]))
    sent = team.send(invitation, link)
    return _page(request, 201, invitation=invitation, invitation_link=link, is_sent=sent)


def _link(user: User) -> str:
    """Where that account chooses a new password, once, within three days."""
    key = f"{user_pk_to_url_str(user)}-{default_token_generator.make_token(user)}"
    return str(get_adapter().get_reset_password_from_key_url(key))


def _page(request: ResearcherRequest, status: int = 200, **more: Any) -> HttpResponse:
    has_code = Authenticator.objects.filter(user=OuterRef("pk"), type=Authenticator.Type.TOTP)
    rows = User.objects.annotate(has_code=Exists(has_code)).order_by("username")
    waiting = Invitation.objects.open().filter(study=None)
    context = {"rows": rows, "waiting": waiting, "invitation_form": InvitationForm()} | more
    return render(request, "account/users.html", context, status=status)
