"""Sign-in through the institution's OpenID Connect provider (docs/operating.md#single-sign-on).

People are matched by the provider's subject, never by an email address. Without a match, an account
is created only for a confirmed address at one of OIDC_DOMAINS. Users connect an existing account on
*Your account*.
"""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from allauth.account.models import EmailAddress
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialLogin
from allauth.socialaccount.providers.openid_connect import views
from allauth.socialaccount.signals import social_account_added
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST
from requests import RequestException

from annotation.models import AuditEntry, Topic
from config.users import awaits_first_owner

log = logging.getLogger("handful.sign_in")
# The provider does not respond, or its replies lack something that OpenID Connect requires.
FAILURES = (
    RequestException, ImproperlyConfigured, LookupError, TypeError, ValueError, AttributeError,
)  # fmt: skip
NO_ACCOUNT = "You have no account on this server yet, and "


class SingleSignOn(DefaultSocialAccountAdapter):
    def populate_user(self, request: HttpRequest, sociallogin: SocialLogin, data: Any) -> User:
        """Fill in the name and address. Nothing else that the provider sends is stored.

        Raises ValueError unless all replies have the same subject (OpenID Connect Core, 5.3.2).
        """
        replies = sociallogin.account.extra_data
        subjects = {part.get("sub") for part in replies.values()}
        if len(subjects) != 1 or not all(isinstance(sub, str) and sub for sub in subjects):
            raise ValueError("The provider's replies have no common subject.")
        sociallogin.account.extra_data = {}
        return super().populate_user(request, sociallogin, data)

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Reject closed accounts. Raises ImmediateHttpResponse."""
        sociallogin.token = None  # don't keep it in the session while a password is confirmed
        if sociallogin.is_existing and not sociallogin.user.is_active:
            raise refused(request, "This account is closed. Ask an administrator to reopen it.")

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Return True if this person gets an account. Otherwise, raises ImmediateHttpResponse."""
        if reason := _refusal_reason(sociallogin):
            raise refused(request, reason)
        return True

    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> User:
        user = super().save_user(request, sociallogin, form)
        # The address is part of the account, and changes with it.
        EmailAddress.objects.filter(user=user).delete()
        action = f"account created by {settings.OIDC_NAME}"
        AuditEntry.objects.record(action, Topic.ACCOUNT, about=str(user), by=user)
        return user

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: SocialAccount) -> str:
        return reverse("your_account")

    def on_authentication_error(self, request: HttpRequest, *_args: Any, **_kwargs: Any) -> None:
        raise refused(request, "The sign-in was cancelled, or the provider reported an error.")


def _refusal_reason(sociallogin: SocialLogin) -> str:
    """Return why no account is created for this person, or "" if one may be."""
    address = next((row.email for row in sociallogin.email_addresses if row.verified is True), "")
    if awaits_first_owner():
        return "This server has no accounts yet. Its log says how to create the first one."
    if not address:
        return f"{NO_ACCOUNT}{settings.OIDC_NAME} did not confirm your email address."
    if address.rpartition("@")[2].lower() not in settings.OIDC_DOMAINS:
        return f"{NO_ACCOUNT}your address does not qualify for one. Ask for an invitation."
    if User.objects.filter(email__iexact=address).exists():
        return (
            "An account with your email address exists. Sign in with its password, then connect it"
            " under Your account."
        )
    return ""


def guarded(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Show a page instead of an error if the provider's response is missing or invalid."""

    @wraps(view)
    def answer(request: HttpRequest, provider_id: str) -> HttpResponse:
        try:
            return view(request, provider_id)
        except FAILURES:
            log.exception("Single sign-on failed")
            return refused(request, f"{settings.OIDC_NAME} did not respond as expected.").response

    return answer


begin, callback = require_POST(guarded(views.login)), guarded(views.callback)


def refused(request: HttpRequest, reason: str) -> ImmediateHttpResponse:
    page = render(request, "account/sign_in_refused.html", {"reason": reason}, status=403)
    return ImmediateHttpResponse(page)


def _log_connection(sociallogin: SocialLogin, **_kwargs: Any) -> None:
    user = sociallogin.user
    action = f"account connected to {settings.OIDC_NAME}"
    AuditEntry.objects.record(action, Topic.ACCOUNT, about=str(user), by=user)


social_account_added.connect(_log_connection)
