"""User accounts: the administrators' page, the first account, and a user's own account.

Administrators invite users, close and reopen accounts, and help with signing in. Creating the first
account requires a code that the server prints at startup. It is derived from SECRET_KEY and the
database's ID, so it isn't stored and each process prints the same code. It becomes invalid once the
Installation row shows that it was used. A new email address is stored when the user opens the link
sent to it, and the old address is notified. A server that doesn't send email stores it immediately.
"""

import base64
import sys
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from itertools import chain
from textwrap import wrap
from typing import Any

from allauth.account import views as account
from allauth.account.adapter import get_adapter
from allauth.account.decorators import reauthentication_required
from allauth.account.forms import default_token_generator
from allauth.account.signals import password_changed, password_reset, password_set
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.models import Permission, User
from django.core import signing
from django.db import DatabaseError, transaction
from django.db.models import Exists, OuterRef
from django.dispatch import receiver
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from annotation.accounts import closing as accounts
from annotation.accounts import tokens
from annotation.accounts.pages import AddressForm, FirstOwnerForm, TimeZoneForm, UserForm
from annotation.models import AuditEntry, Invitation, Preferences, Topic
from annotation.study.team_pages import InvitationForm, invited
from annotation.web.access import ResearcherRequest, signed_in
from annotation.web.fields import PageForm, is_shown_again
from config.sessions import TIME_ZONE
from tasks import mail
from tasks.clock import database_now
from tasks.models import Installation

RECENT = timedelta(minutes=5)


def confirmed(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Ask for the password or code.

    Users who have neither, for example because they signed up through single sign-on, must set a
    password first. allauth alone would let them through.
    """
    guarded = reauthentication_required(view)

    @wraps(view)
    def answer(request: ResearcherRequest) -> HttpResponse:
        user = request.user
        if user.has_usable_password() or Authenticator.objects.filter(user=user).exists():
            return guarded(request)
        messages.error(request, "Set a password first. The page that you opened asks for it.")
        return redirect("account_set_password")

    return answer


@signed_in("GET", "POST")
def set_password(request: ResearcherRequest) -> HttpResponse:
    """Let an account without a password set one, shortly after signing in."""
    if request.user.has_usable_password():
        return redirect("password_change")
    if (start := request.user.last_login) and database_now() - start > RECENT:
        messages.error(request, "Sign out and sign in again, then set a password.")
        return redirect("your_account")
    return account.password_set(request)


@signed_in("GET", "POST")
@never_cache
def users(request: ResearcherRequest) -> HttpResponse:
    """List the accounts, invite a user, or change an account. For administrators only."""
    if not request.user.is_superuser:
        raise Http404
    return _page(request) if request.method == "GET" else _change(request)


@confirmed
def _change(request: ResearcherRequest) -> HttpResponse:
    """Change an account. Asks for the password, in case an administrator left a browser open."""
    if request.POST.get("action") == "invite":
        return _invite(request)
    form = UserForm(request.POST, subject=request.user)
    if not form.is_valid():
        return _page(
            request, 422, problem=" ".join(map(str, chain.from_iterable(form.errors.values())))
        )
    user, action = form.cleaned_data["user"], form.cleaned_data["action"]
    if action == "link":
        AuditEntry.objects.record("password link created", Topic.ACCOUNT, about=str(user))
        _notify(user, "An administrator created a link to change your password.")
        return _page(request, link=_link(user), link_for=user)
    match action:
        case "no_code":
            Authenticator.objects.filter(user=user).delete()
            AuditEntry.objects.record("two-factor sign-in off", Topic.ACCOUNT, about=str(user))
            message = f"{user} can now sign in with only a password."
            notice = "An administrator switched off two-factor authentication of your account."
        case "open":
            accounts.reopen(user)
            message = f"The account {user} was opened."
            notice = "An administrator opened your account again."
        case "close":
            accounts.close(user)
            message = f"The account {user} was closed."
            notice = "An administrator closed your account."
        case "delete":
            try:
                message = f"The account was deleted. Studies and logs show {accounts.erase(user)}."
            except accounts.AccountError as error:
                return _page(request, 409, problem=str(error))
            notice = "An administrator deleted your account."
        case _:
            message = _change_permissions(user, action)
            AuditEntry.objects.record(message, Topic.ACCOUNT, about=str(user))
            notice = f"An administrator changed your permissions: {message}"
    _notify(user, notice)
    messages.success(request, message)
    return redirect("users")


def _change_permissions(user: User, action: str) -> str:
    given = not action.startswith("no_")
    if action.endswith("spend"):
        may = Permission.objects.get(codename="spend", content_type__app_label="annotation")
        change = user.user_permissions.add if given else user.user_permissions.remove
        change(may)
        return f"{user} {'may now' if given else 'may no longer'} spend."
    user.is_staff = user.is_superuser = given
    user.save(update_fields=["is_staff", "is_superuser"])
    return f"{user} is {'now' if given else 'no longer'} an administrator."


def _notify(user: User, message: str) -> None:
    if settings.EMAIL_HOST and user.email:
        text = f"{message} Its name is {user}. If you did not expect this, ask the administrator.\n"
        mail.send("[Handful] Your account", text, user.email)


def _invite(request: ResearcherRequest) -> HttpResponse:
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return _page(request, 422, invitation_form=form)
    return _page(request, 201, **invited(request, None, form))


def _link(user: User) -> str:
    """Return a single-use link for choosing a new password, which expires after three days."""
    key = f"{user_pk_to_url_str(user)}-{default_token_generator.make_token(user)}"
    return str(get_adapter().get_reset_password_from_key_url(key))


def _page(request: ResearcherRequest, status: int = 200, **extra: Any) -> HttpResponse:
    has_code = Authenticator.objects.filter(user=OuterRef("pk"), type=Authenticator.Type.TOTP)
    spending = Permission.objects.filter(codename="spend", user=OuterRef("pk"))
    rows = User.objects.annotate(has_code=Exists(has_code), may_spend=Exists(spending))
    rows = rows.order_by("username")
    waiting = Invitation.objects.open().filter(study=None)
    context = {"rows": rows, "waiting": waiting, "invitation_form": InvitationForm()} | extra
    return render(request, "account/users.html", context, status=status)


def first_owner_code() -> str:
    """Return the code for the first account, 80 bits in base32: "ABCD-EFGH-IJKL-MNOP"."""
    folder_id = str(Installation.objects.get().folder_id)
    digest = salted_hmac("first owner", folder_id, algorithm="sha256").digest()
    return "-".join(wrap(base64.b32encode(digest[:10]).decode(), 4))


def is_first_owner_code(typed: str) -> bool:
    plain = "".join(character for character in typed.upper() if character.isalnum())
    return constant_time_compare(plain, first_owner_code().replace("-", ""))


def awaits_first_owner() -> bool:
    """Return whether there are no accounts, and the first one was never created."""
    return not User.objects.exists() and Installation.objects.filter(owned_since=None).exists()


def create_first_owner(user: User) -> None:
    """Store the first account with all permissions. Raises Http404 if it already exists."""
    with transaction.atomic():
        # If two visitors submit the code at once, the row lock lets only one update succeed.
        updated = Installation.objects.filter(owned_since=None).update(owned_since=database_now())
        if not updated or User.objects.exists():
            raise Http404
        user.is_staff = user.is_superuser = True
        user.save()


def say_first_owner_code() -> None:
    try:
        if not awaits_first_owner():
            return
        message = (
            "No accounts exist yet. Open /first-owner/ and enter this code, which works once:"
            f" {first_owner_code()}"
        )
    except DatabaseError:
        message = "The database has no tables yet. Run python manage.py migrate."
    print(message, file=sys.stderr, flush=True)


@require_http_methods(["GET", "POST"])
@never_cache
@sensitive_post_parameters()
def first_visit(request: HttpRequest) -> HttpResponse:
    """Ask for the code printed by the server on GET, and create the first account on POST.

    Returns 404 once an account exists, including to the second of two simultaneous requests.
    """
    if not awaits_first_owner():
        raise Http404
    form = FirstOwnerForm(is_first_owner_code, request.POST or None)
    if not form.is_valid():
        context = {"form": form}
        return render(
            request, "account/first_owner.html", context, status=422 if request.POST else 200
        )
    user = form.save(commit=False)
    create_first_owner(user)
    login(request, user)
    return redirect("studies")


DAYS = 3  # for which an email confirmation link is valid
SALT = "address of an account"


@signed_in("GET", "POST")
@never_cache
def your_account(request: ResearcherRequest) -> HttpResponse:
    preferences = _preferences(request.user)
    form = TimeZoneForm(request.POST or None, instance=preferences)
    if request.method == "POST" and form.is_valid() and not is_shown_again(request):
        form.save()
        request.session[TIME_ZONE] = preferences.time_zone
        messages.success(request, f"Times are now shown in {preferences.time_zone}.")
        return redirect("your_account")
    return account_page(request, status=422 if form.errors else 200, form=form)


def _preferences(user: User) -> Preferences:
    return Preferences.objects.filter(user=user).first() or Preferences(user=user)


def account_page(
    request: ResearcherRequest, token_form: PageForm | None = None, status: int = 200, **extra: Any
) -> HttpResponse:
    """Render the page. `token_form` is a rejected form, and `extra` is added to the context."""
    context = {
        "form": TimeZoneForm(instance=_preferences(request.user)),
        "is_connected": SocialAccount.objects.filter(user=request.user).exists(),
        "oidc_name": settings.OIDC_NAME,
    }
    context |= tokens.section(request.user, token_form) | extra
    return render(request, "account/your_account.html", context, status=status)


@signed_in("GET")
@reauthentication_required
@never_cache
def prolific(request: ResearcherRequest) -> HttpResponse:
    return account_page(request, tokens.ProlificTokenForm())


@signed_in("GET", "POST")
@confirmed
@never_cache
def change_address(request: ResearcherRequest) -> HttpResponse:
    """Show the form on GET. On POST, email a link to the new address, or store it immediately."""
    form = AddressForm(request.POST or None, initial={"email": request.user.email})
    if request.method == "GET" or is_shown_again(request) or not form.is_valid():
        context = {"form": form, "sends_mail": bool(settings.EMAIL_HOST)}
        return render(request, "account/address.html", context, status=422 if form.errors else 200)
    address = form.cleaned_data["email"]
    if not settings.EMAIL_HOST or not address:
        _store(request.user, address)
        messages.success(request, "Email address stored." if address else "Email address removed.")
    elif _send_link(request, address):
        messages.success(
            request, f"A link was sent to {address}. Open the link to confirm the address."
        )
    else:
        messages.error(request, "The mail server does not respond. Nothing was changed. Try again.")
    return redirect("your_account")


@signed_in("GET", "POST")
@never_cache
def confirm_address(request: ResearcherRequest, token: str) -> HttpResponse:
    """Ask for confirmation on GET, and store the address on POST. Returns 404 for invalid links."""
    change = _address_change(token)
    if change is None or change[0] != request.user:
        return render(request, "account/address_confirm.html", status=404)
    user, address = change
    if request.method == "GET":
        return render(request, "account/address_confirm.html", {"address": address, "of": user})
    _store(user, address)
    messages.success(request, f"{address} is now the email address of {user}.")
    return redirect("your_account")


@receiver(password_changed)
@receiver(password_set)
@receiver(password_reset)
def end_tokens(request: HttpRequest, user: User, **_signal: object) -> None:
    """Revoke the user's API tokens, which someone who knew the old password may have created."""
    if ended := accounts.revoke_tokens(user, by=user):
        messages.info(request, f"API tokens of this account were revoked: {ended}.")


@receiver(password_changed)
@receiver(password_reset)
def end_single_sign_on(user: User, **_signal: object) -> None:
    """Disconnect the account, which someone who knew the old password may have connected."""
    SocialAccount.objects.filter(user=user).delete()


def _send_link(request: ResearcherRequest, address: str) -> bool:
    """Email a confirmation link to the new address. Return False if the mail server is down."""
    user = request.user
    token = signing.dumps([user.pk, user.email, address], salt=SALT)
    link = request.build_absolute_uri(reverse("your_address_confirm", args=[token]))
    text = (
        f"{user} wants to receive emails from Handful at this address. If this is you, open this"
        f" link within {DAYS} days. Otherwise, you can ignore this email.\n\n{link}\n"
    )
    return mail.send("[Handful] Is this your email address?", text, address)


def _address_change(token: str) -> tuple[User, str] | None:
    """Return the user and new address in a link, or None if it has been used or is invalid."""
    try:
        key, old, address = signing.loads(token, salt=SALT, max_age=DAYS * 86400)
    except signing.BadSignature:
        return None
    user = User.objects.filter(pk=key, email=old, is_active=True).first()
    return (user, address) if user and address != old else None


def _store(user: User, address: str) -> None:
    old, user.email = user.email, address
    user.save(update_fields=["email"])
    AuditEntry.objects.record("email address changed", Topic.ACCOUNT, about=str(user), by=user)
    if old and settings.EMAIL_HOST:
        text = (
            f"The email address of {user} at Handful was changed. If you didn't change it, contact"
            " the administrator of the server.\n"
        )
        mail.send("[Handful] Your email address was changed", text, old)
