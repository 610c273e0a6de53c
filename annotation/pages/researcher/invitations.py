"""The page behind the link of an invitation: join with one's account, or make one."""

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from annotation.models import Invitation
from annotation.pages.researcher.forms.accounts import AccountForm
from annotation.study import invitations


@require_http_methods(["GET", "POST"])
@never_cache
@sensitive_post_parameters()
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """GET shows what one is invited to; POST accepts it. 404 once it was used or has ended."""
    found = Invitation.objects.of(token)
    if found is None:
        return render(request, "researcher/invitation.html", status=404)
    if isinstance(request.user, User):
        return (
            _accept(request, found, request.user)
            if request.method == "POST"
            else _page(request, found)
        )
    form = AccountForm(request.POST or None, initial={"email": found.email})
    if request.method == "GET" or not form.is_valid():
        return _page(request, found, form, 422 if request.method == "POST" else 200)
    return _accept(request, found, form.save(commit=False))


def _accept(request: HttpRequest, found: Invitation, user: User) -> HttpResponse:
    is_new = user.pk is None
    try:
        invitations.accept(found, user)
    except invitations.InvitationError as error:
        return render(request, "researcher/invitation.html", {"problem": str(error)}, status=409)
    if is_new:
        login(request, user)
    messages.success(request, "You have joined.")
    return redirect("study", found.study.name) if found.study else redirect("studies")


def _page(
    request: HttpRequest, found: Invitation, form: AccountForm | None = None, status: int = 200
) -> HttpResponse:
    context = {
        "invitation": found,
        "form": form,
        "sign_in": f"{reverse('login')}?next={request.path}",
    }
    return render(request, "researcher/invitation.html", context, status=status)
