"""The researcher's page of API tokens: make one, see their use, revoke one."""

from allauth.account.decorators import reauthentication_required
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.access import ResearcherRequest
from annotation.models import ApiToken
from annotation.pages.researcher.forms.tokens import TokenForm
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
