"""The owners' page of a study's team."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from annotation.access import study_of
from annotation.models import Role, Study
from annotation.study import team as members


@login_required
@require_http_methods(["GET", "POST"])
def team(request: HttpRequest, name: str) -> HttpResponse:
    """GET shows who is in the team; POST adds somebody, changes a role, or removes somebody."""
    study = study_of(request, name, "own")
    problem = ""
    if request.method == "POST":
        try:
            _act(request, study)
        except members.TeamError as error:
            problem = str(error)
        else:
            messages.success(request, "The team was changed.")
            still = Study.objects.visible_to(request.user, "own").filter(pk=study.pk).exists()
            return redirect("team", study.name) if still else redirect("studies")
    context = {
        "study": study,
        "members": study.members.select_related("user"),
        "roles": Role.choices,
        "problem": problem,
        "sent": request.POST.dict() if problem else {},
    }
    return render(request, "researcher/team.html", context, status=422 if problem else 200)


def _act(request: HttpRequest, study: Study) -> None:
    """Perform the action of the pressed button. Raises TeamError."""
    role, member = request.POST.get("role", ""), request.POST.get("member", "")
    pk = int(member[:18]) if member.isascii() and member.isdigit() else 0
    match request.POST.get("action"):
        case "add":
            members.add(study, request.POST.get("username", ""), role, request.user)
        case "change":
            members.change(study, pk, role, request.user, request.POST.get("was", ""))
        case "remove":
            members.remove(study, pk, request.user)
        case _:
            raise members.TeamError("This action does not exist.")
