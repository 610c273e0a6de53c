"""What a page that is not allowed answers."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.defaults import permission_denied

from annotation.steps.blinding import ScoresHidden


def not_allowed(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403 with the reason; of results that are hidden still, within the pages of their study."""
    if isinstance(exception, ScoresHidden):
        context = {"study": exception.study, "reason": str(exception)}
        return render(request, "researcher/scores_hidden.html", context, status=403)
    return permission_denied(request, exception)
