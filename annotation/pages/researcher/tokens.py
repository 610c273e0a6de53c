"""The researcher's own tokens: API tokens of ours, and those of accounts on Prolific."""

from allauth.account.decorators import reauthentication_required
from allauth.core.exceptions import ReauthenticationRequired
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from annotation.access import ResearcherRequest
from annotation.models import ApiToken, ProlificAccount
from annotation.pages.researcher.forms.tokens import ProlificTokenForm, TokenForm
from annotation.platforms.prolific.accounts import set_token
from annotation.platforms.prolific.errors import ProlificError
from tasks import mail
from tasks.clock import database_now


@require_http_methods(["GET", "POST"])
@login_required
@reauthentication_required(allow_get=True)
@never_cache
def tokens(request: ResearcherRequest) -> HttpResponse:
    """GET lists the researcher's own; POST makes one, and its reply alone shows it."""
    if request.method == "GET":
        return _page(request, TokenForm(request.user))
    form = TokenForm(request.user, request.POST)
    if not form.is_valid():
        return _page(request, form, 422)
    token, row = form.make(request.user)
    if settings.EMAIL_HOST and request.user.email:
        scopes = " and ".join(row.scopes)
        text = (
            f"A token “{row.name}” of your account {request.user} was made; it may {scopes}. If"
            " that was not you, revoke it on the page API tokens and change your password.\n"
        )
        mail.send("[Handful] A new API token", text, request.user.email)
    return _page(request, TokenForm(request.user), 201, token=token, made=row)


def _page(
    request: ResearcherRequest, form: TokenForm, status: int = 200, **more: object
) -> HttpResponse:
    now = database_now()
    rows = [
        (token, token.is_over(now))
        for token in ApiToken.objects.filter(owner=request.user).select_related("study")
    ]
    context = {"form": form, "rows": rows, **more}
    return render(request, "researcher/tokens.html", context, status=status)


@login_required
@require_POST
def token_revoke(request: ResearcherRequest, pk: int) -> HttpResponse:
    """End one of the researcher's own tokens."""
    token = get_object_or_404(ApiToken, pk=pk, owner=request.user)
    token.revoke()
    messages.success(request, f"The token “{token.name}” was revoked.")
    return redirect("tokens")


@require_http_methods(["GET", "POST"])
@login_required
@sensitive_post_parameters("token")
@never_cache
def prolific_token(request: ResearcherRequest) -> HttpResponse:
    """GET asks for the password, and shows the researcher's own accounts; POST stores a token.

    allauth would keep a POST that comes too late in the session, with the token in plain text.
    """
    try:
        return _prolific_token(request)
    except ReauthenticationRequired:
        if request.method == "GET":
            raise
        return _prolific_page(request, None, 403)


@reauthentication_required
def _prolific_token(request: ResearcherRequest) -> HttpResponse:
    form = ProlificTokenForm(request.POST or None)
    if request.method == "GET" or not form.is_valid():
        return _prolific_page(request, form, 422 if form.errors else 200)
    try:
        account = set_token(request.user, **form.cleaned_data)
    except ProlificError as error:
        form.add_error(None, str(error))
        return _prolific_page(request, form, 422)
    messages.success(request, f"Prolific accepts the token ending {account.last_characters}.")
    return redirect("prolific_token")


def _prolific_page(
    request: ResearcherRequest, form: ProlificTokenForm | None, status: int
) -> HttpResponse:
    accounts = ProlificAccount.objects.filter(owner=request.user).exclude(token="")
    context = {"form": form, "accounts": accounts}
    return render(request, "researcher/prolific_token.html", context, status=status)


@login_required
@require_POST
def prolific_token_remove(request: ResearcherRequest, pk: int) -> HttpResponse:
    """Remove the token of one of the researcher's own accounts on Prolific."""
    account = get_object_or_404(ProlificAccount, pk=pk, owner=request.user)
    account.remove_token()
    messages.success(request, f"The token ending {account.last_characters} was removed.")
    return redirect("prolific_token")
