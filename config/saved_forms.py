"""Preserve form input if the session ended before the form was submitted.

The response is the sign-in page with the signed input in a hidden field, so nothing is stored on
the server for visitors who aren't signed in. After signing in, the researcher reviews the input and
submits it or opens it in its form; it is never submitted automatically. A form that was opened
before its user signed in again in another tab gets the same page. Annotators' pages don't use this.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from allauth.account.forms import LoginForm
from allauth.account.views import LoginView
from allauth.mfa.base.views import AuthenticateView
from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core import signing
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import Resolver404, resolve
from django.utils import translation
from django.views.csrf import csrf_failure as django_csrf_failure
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails

from annotation.recruitment import visitors
from config import users
from config.addresses import is_of_researchers, page_above
from config.sign_in import TooManyAttempts

MOST = 200_000  # characters in all fields and file names together
SALT = "kept form"
SECRET_FIELDS = ("password", "token")  # if contained in a field's name
# POSTs to these with `show_again` show the form with the input, without storing anything.
REOPENED = {"study_new", "study_edit", "report"}


@dataclass(frozen=True)
class FormInput:
    """Form input, and the URL to which it was sent. Files are included by name only."""

    address: str
    fields: list[tuple[str, str]]
    files: list[str]

    @property
    def page(self) -> str:
        """Return the URL of the page with the form, or that of its parent page."""
        return page_above(self.address.partition("?")[0])

    @property
    def may_be_shown_again(self) -> bool:
        try:
            return resolve(self.address.partition("?")[0]).url_name in REOPENED
        except Resolver404:
            return False


def keep(request: HttpRequest) -> FormInput | None:
    """Return the input of this POST request, or None if it is empty or too large."""
    fields = [
        (name, value)
        for name, values in request.POST.lists()
        for value in values
        if name not in ("kept", "show_again") and not any(part in name for part in SECRET_FIELDS)
    ]
    files = [file.name or "" for _field, uploads in request.FILES.lists() for file in uploads]
    length = sum(len(name) + len(value) for name, value in fields) + sum(map(len, files))
    if not (fields or files) or length > MOST:
        return None
    return FormInput(request.get_full_path(), fields, files)


def pack(form_input: FormInput | None) -> str:
    """Return the signed input as the value of a hidden field, or "" for None."""
    return signing.dumps(asdict(form_input), salt=SALT, compress=True) if form_input else ""


def unpack(text: str) -> FormInput | None:
    """Return the input signed by `pack`, or None if it is invalid or older than a day."""
    try:
        packed = signing.loads(text, salt=SALT, max_age=24 * 3600)
    except signing.BadSignature:
        return None
    return FormInput(packed["address"], [tuple(pair) for pair in packed["fields"]], packed["files"])


class SignIn(LoginView):
    """The sign-in page, which then shows any form input that was preserved."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if users.awaits_first_owner():
            return redirect("first_owner")
        return super().get(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = {"kept": self.request.POST.get("kept", ""), "oidc_name": settings.OIDC_NAME}
        return super().get_context_data(**context | kwargs)

    def form_valid(self, form: LoginForm) -> HttpResponse:
        response = super().form_valid(form)
        packed = self.request.POST.get("kept", "")
        form_input = unpack(packed)
        if form_input is None:
            return response
        if not self.request.user.is_authenticated:  # a second factor is still required
            self.request.session[SALT] = packed
            return response
        return _resend_page(self.request, form_input, 200)


class SecondStep(AuthenticateView):
    """The page for a two-factor code, which then shows any form input that was preserved."""

    def form_valid(self, form: Form) -> HttpResponse:
        response = super().form_valid(form)
        form_input = unpack(self.request.session.pop(SALT, ""))
        if form_input is None or not self.request.user.is_authenticated:
            return response
        return _resend_page(self.request, form_input, 200)


def sign_in_page(request: HttpRequest, status: int, **context: Any) -> HttpResponse:
    view = SignIn()
    view.setup(request)
    form = LoginForm(request=request, initial={"login": request.POST.get("login", "")})
    context = view.get_context_data(form=form, **context)
    return render(request, SignIn.template_name, context, status=status)


def _resend_page(request: HttpRequest, form_input: FormInput, status: int) -> HttpResponse:
    return render(request, "web/saved_form.html", {"form_input": form_input}, status=status)


class PreserveInput:
    """Middleware that replaces redirects and errors on researchers' pages.

    - Instead of a redirect to the sign-in page, a POST gets that page with its form input.
    - GET of a URL that accepts only POST redirects to the parent page. Users get there by
      signing in after submitting a form, with the Back button, or by reloading.
    - TooManyAttempts becomes a 429 response with the sign-in page.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not is_of_researchers(request.path_info):
            return response
        if response.status_code == 405 and request.method == "GET":
            return redirect(page_above(request.path_info))
        if response.status_code == 302 and response["Location"].startswith(
            resolve_url(settings.LOGIN_URL)
        ):
            return _sign_in_instead(request, response)
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, TooManyAttempts):
            return None
        minutes = -(-error.seconds // 60)
        response = sign_in_page(request, 429, seconds=error.seconds, minutes=minutes)
        response["Retry-After"] = str(error.seconds)
        return response


def _sign_in_instead(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    htmx = HtmxDetails(request)
    if htmx and "calculate" in request.POST:
        # Sent by the page while the user types. The form still contains the input.
        return HttpResponse(status=204)
    if htmx:
        # The sign-in form cannot be shown in a fragment of a page.
        to = redirect_to_login(htmx.current_url_abs_path or request.path)
        return HttpResponseClientRedirect(to["Location"])
    form_input = keep(request) if request.method == "POST" else None
    return _sign_in_form(request, form_input) if form_input else response


def _sign_in_form(request: HttpRequest, form_input: FormInput) -> HttpResponse:
    response = sign_in_page(request, 401, kept=pack(form_input), next=form_input.page)
    # HTTP requires this header with 401. For an unknown scheme, browsers show no prompt.
    response["WWW-Authenticate"] = 'Form realm="Handful"'
    return response


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Show a form again with a new token if it was sent from our own page with an old one."""
    origin = f"{request.scheme}://{request.get_host()}"
    if HtmxDetails(request) or request.headers.get("Origin") != origin:
        return _csrf_error(request, reason)
    if request.path == resolve_url(settings.LOGIN_URL):
        return _stale_sign_in(request)
    form_input = keep(request) if is_of_researchers(request.path_info) else None
    if form_input is None:
        return _csrf_error(request, reason)
    if request.user.is_authenticated:
        return _resend_page(request, form_input, 403)
    return _sign_in_form(request, form_input)


def _csrf_error(request: HttpRequest, reason: str) -> HttpResponse:
    with translation.override(visitors.language_of(request)):
        return django_csrf_failure(request, reason)


def _stale_sign_in(request: HttpRequest) -> HttpResponse:
    """Handle a sign-in form from before the user signed in or out in another tab."""
    form_input = unpack(request.POST.get("kept", ""))
    if not request.user.is_authenticated:
        return sign_in_page(request, 403, is_stale=True)
    if form_input is not None:
        return _resend_page(request, form_input, 403)
    return render(request, "web/already_signed_in.html", status=403)
