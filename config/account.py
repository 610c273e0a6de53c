"""A researcher's own account: the time zone of their pages, and the address of their mails.

A new address counts when the link is followed that was mailed to it; the old address is told. On a
server that sends no mail it counts at once, as nothing is ever sent to it.
"""

from allauth.account.decorators import reauthentication_required
from allauth.account.signals import password_changed, password_reset, password_set
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core import signing
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.access import ResearcherRequest
from annotation.models import AuditEntry, Preferences, Topic
from annotation.pages.fields import is_shown_again
from annotation.pages.researcher.accounts import AddressForm, TimeZoneForm
from annotation.study import accounts
from config.sessions import TIME_ZONE
from tasks import mail

DAYS = 3  # that a link to confirm an address works
SALT = "address of an account"


@require_http_methods(["GET", "POST"])
@login_required
@never_cache
def your_account(request: ResearcherRequest) -> HttpResponse:
    """GET shows the account; POST stores the time zone, at once for this browser."""
    chosen = Preferences.objects.filter(user=request.user).first() or Preferences(user=request.user)
    form = TimeZoneForm(request.POST or None, instance=chosen)
    if request.method == "POST" and form.is_valid() and not is_shown_again(request):
        form.save()
        request.session[TIME_ZONE] = chosen.time_zone
        messages.success(request, f"Times are shown in {chosen.time_zone} now.")
        return redirect("your_account")
    status = 422 if form.errors else 200
    return render(request, "account/your_account.html", {"form": form}, status=status)


@require_http_methods(["GET", "POST"])
@login_required
@reauthentication_required
@never_cache
def change_address(request: ResearcherRequest) -> HttpResponse:
    """GET shows the form; POST mails a link to the new address, or stores it without mail."""
    form = AddressForm(request.POST or None, initial={"email": request.user.email})
    if request.method == "GET" or is_shown_again(request) or not form.is_valid():
        context = {"form": form, "sends_mail": bool(settings.EMAIL_HOST)}
        return render(request, "account/address.html", context, status=422 if form.errors else 200)
    address = form.cleaned_data["email"]
    if not settings.EMAIL_HOST or not address:
        _store(request.user, address)
        messages.success(request, "The address is stored." if address else "The address is gone.")
    elif _send_link(request, address):
        messages.success(
            request, f"A link was sent to {address}. The address counts once you follow the link."
        )
    else:
        messages.error(request, "The mail server does not answer: nothing was changed. Try again.")
    return redirect("your_account")


@require_http_methods(["GET", "POST"])
@login_required
@never_cache
def confirm_address(request: ResearcherRequest, token: str) -> HttpResponse:
    """GET asks; POST stores the address. 404 for a link that has ended, or of another account."""
    found = _read(token)
    if found is None or found[0] != request.user:
        return render(request, "account/address_confirm.html", status=404)
    user, address = found
    if request.method == "GET":
        return render(request, "account/address_confirm.html", {"address": address, "of": user})
    _store(user, address)
    messages.success(request, f"{address} is the address of {user} now.")
    return redirect("your_account")


@receiver(password_changed)
@receiver(password_set)
@receiver(password_reset)
def end_tokens(request: HttpRequest, user: User, **_signal: object) -> None:
    """A new password also ends tokens that were made by a stranger with the old one."""
    if ended := accounts.revoke_tokens(user, by=user):
        messages.info(request, f"API tokens of this account were revoked: {ended}.")


def _send_link(request: ResearcherRequest, address: str) -> bool:
    """Mail the link to the new address; False where the mail server is away."""
    user = request.user
    token = signing.dumps([user.pk, user.email, address], salt=SALT)
    link = request.build_absolute_uri(reverse("your_address_confirm", args=[token]))
    text = (
        f"{user} wants mails of Handful to be sent to this address. If that is you, open this link"
        f" within {DAYS} days; else do nothing.\n\n{link}\n"
    )
    return mail.send("[Handful] Is this your address?", text, address)


def _read(token: str) -> tuple[User, str] | None:
    """Whose address the link changes and to what; None once it was used, or for another reason."""
    try:
        key, old, address = signing.loads(token, salt=SALT, max_age=DAYS * 86400)
    except signing.BadSignature:
        return None
    user = User.objects.filter(pk=key, email=old, is_active=True).first()
    return (user, address) if user and address != old else None


def _store(user: User, address: str) -> None:
    """Change the address, and tell the old one."""
    old, user.email = user.email, address
    user.save(update_fields=["email"])
    AuditEntry.objects.record("e-mail address changed", Topic.ACCOUNT, about=str(user), by=user)
    if old and settings.EMAIL_HOST:
        text = (
            f"The address of {user} at Handful was changed. If that was not you, ask the"
            " administrator of the server to help.\n"
        )
        mail.send("[Handful] Your address was changed", text, old)
