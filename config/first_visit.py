"""The page on which an empty server gets its first account."""

from django.contrib.auth import login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from annotation.pages.researcher.forms.accounts import FirstOwnerForm
from config import first_owner


@require_http_methods(["GET", "POST"])
@never_cache
@sensitive_post_parameters()
def first_visit(request: HttpRequest) -> HttpResponse:
    """GET asks for the code that the server printed; POST creates the first account.

    404 once there is one: so it is for whoever comes second of two at once.
    """
    if not first_owner.is_awaited():
        raise Http404
    form = FirstOwnerForm(first_owner.is_right, request.POST or None)
    if not form.is_valid():
        context = {"form": form}
        return render(
            request, "account/first_owner.html", context, status=422 if request.POST else 200
        )
    user = form.save(commit=False)
    try:
        first_owner.create(user)
    except first_owner.NoMore:
        raise Http404 from None
    login(request, user)
    return redirect("studies")
