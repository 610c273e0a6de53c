"""URL configuration: /join and /work are for annotators, /studies and /tasks for researchers."""

from typing import Any

from allauth.account import views as account
from allauth.mfa.base import views as mfa
from allauth.mfa.recovery_codes import views as recovery_codes
from allauth.mfa.totp import views as totp
from django.conf import settings
from django.contrib.auth.views import LogoutView
from django.urls import include, path, register_converter
from django.urls.converters import StringConverter
from django.views.generic import TemplateView

from annotation.accounts import tokens
from annotation.web import menu
from config import health, sign_in, users
from config.help import help_page, search
from config.saved_forms import SecondStep, SignIn


class Base36(StringConverter):
    """Path converter for the user ID in a password reset link."""

    regex = "[0-9A-Za-z]+"


register_converter(Base36, "base36")


class PasswordReset(account.PasswordResetView):
    """The page that sends a password reset link, if this server sends email."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(sends_mail=bool(settings.EMAIL_HOST), **kwargs)


# The allauth views that we use, under the URL names that allauth expects.
ACCOUNTS = [
    path("sign-in/", SignIn.as_view(), name="account_login"),
    path("sign-in/", SignIn.as_view(), name="login"),
    path("sign-in/oidc/", sign_in.oidc_login, settings.OIDC_PROVIDER,
         name="openid_connect_login"),
    path("sign-in/oidc/callback/", sign_in.oidc_callback, settings.OIDC_PROVIDER,
         name="openid_connect_callback"),
    path("sign-in/code/", SecondStep.as_view(), name="mfa_authenticate"),
    path("users/", users.users, name="users"),
    path("first-owner/", users.first_visit, name="first_owner"),
    path("sign-up/", TemplateView.as_view(template_name="account/signup_closed.html"),
         name="account_signup"),
    path("sign-out/", LogoutView.as_view(), name="logout"),
    path("password/", account.password_change, name="password_change"),
    path("password/set/", users.set_password, name="account_set_password"),
    path("password/reset/", PasswordReset.as_view(), name="account_reset_password"),
    path("password/reset/sent/", account.password_reset_done, name="account_reset_password_done"),
    path(
        "password/reset/key/<base36:uidb36>-<str:key>/",
        account.password_reset_from_key,
        name="account_reset_password_from_key",
    ),
    path(
        "password/reset/done/",
        account.password_reset_from_key_done,
        name="account_reset_password_from_key_done",
    ),
    path("account/", menu.select(users.your_account, prolific=users.prolific), name="your_account"),
    path("tokens/", tokens.tokens, {"show": users.account_page}, name="tokens"),
    path("tokens/<int:pk>/revoke/", tokens.token_revoke, name="token_revoke"),
    path("tokens/prolific/", tokens.prolific_token, {"show": users.account_page},
         name="prolific_token"),
    path("tokens/prolific/<int:pk>/remove/", tokens.prolific_token_remove,
         name="prolific_token_remove"),
    path("account/address/", users.change_address, name="your_address"),
    path("account/address/confirm/<str:token>/", users.confirm_address,
         name="your_address_confirm"),
    path("account/confirm/", account.reauthenticate, name="account_reauthenticate"),
    path("account/confirm/code/", mfa.reauthenticate, name="mfa_reauthenticate"),
    path("account/two-factor/", mfa.index, name="mfa_index"),
    path("account/two-factor/begin/", totp.activate_totp, name="mfa_activate_totp"),
    path("account/two-factor/end/", totp.deactivate_totp, name="mfa_deactivate_totp"),
    path("account/two-factor/codes/", recovery_codes.view_recovery_codes,
         name="mfa_view_recovery_codes"),
    path("account/two-factor/codes/new/", recovery_codes.generate_recovery_codes,
         name="mfa_generate_recovery_codes"),
]  # fmt: skip

handler403 = "config.error_pages.not_allowed"
handler500 = "config.error_pages.server_error"

urlpatterns = [
    path("", include("annotation.urls")),
    path("api/v1/", include("annotation.urls_api")),
    path("", include("analysis.urls")),
    *ACCOUNTS,
    path("search/", search, name="search"),
    path("help/", help_page, name="help_index"),
    path("help/<path:address>", help_page, name="help"),
    path("health/live", health.live, name="health_live"),
    path("health/ready", health.ready, name="health_ready"),
]
