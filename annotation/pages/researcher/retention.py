"""The page of how long people are known, and of deleting a study; and the list of deleted ones."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation.access import ResearcherRequest, study_of
from annotation.models import Study, StudyTombstone
from annotation.money.ledger import in_currency
from annotation.pages.fields import OnPage, by_key
from annotation.pages.researcher.forms.retention import EraseForm, RetentionForm
from annotation.recruitment import identities
from annotation.rights import right_to
from annotation.steps import erasure


@login_required
@require_http_methods(["GET", "POST"])
def retention(request: ResearcherRequest, name: str) -> HttpResponse:
    """GET shows both forms; POST sets the days after which something is deleted."""
    study = study_of(request, name, right_to("retention"))
    if request.method == "GET":
        return _page(request, study)
    form = RetentionForm.of(study, request.POST)
    if not form.is_valid():
        return _page(request, study, form)
    days = form.cleaned_data
    erasure.keep_until(study, days["until"], days["answers_until"], request.user)
    messages.success(request, "Saved.")
    return redirect("retention", study.name)


@login_required
@require_POST
def erase(request: ResearcherRequest, name: str) -> HttpResponse:
    """Delete the study for good, once its name is typed."""
    study = study_of(request, name, right_to("study_erase"))
    form = EraseForm(request.POST)
    if not form.is_valid():
        return _page(request, study, form)
    try:
        tombstone = erasure.erase(study, form.cleaned_data["typed"], request.user)
    except (erasure.ErasureError, identities.PurgeError) as error:
        form.add_error("typed", str(error))
        return _page(request, study, form)
    messages.success(request, f"{study.name} was deleted, with {tombstone.answers_erased} answers.")
    return redirect("deleted_studies")


@login_required
@require_GET
def deleted(request: ResearcherRequest) -> HttpResponse:
    """What is left of the studies that this researcher owned or deleted."""
    owned = StudyTombstone.objects.filter(study__owner=request.user)
    own = owned | StudyTombstone.objects.filter(by=request.user)
    rows = [
        (stone, in_currency(stone.cents_earned), sum(stone.participations.values()))
        for stone in own.select_related("study", "by")
    ]
    return render(request, "researcher/deleted_studies.html", {"rows": rows})


def _page(request: ResearcherRequest, study: Study, sent: OnPage | None = None) -> HttpResponse:
    blank = (RetentionForm.of(study), EraseForm())
    context = {"study": study, "sent": sent, "kept": erasure.KEPT} | by_key(*blank, sent=sent)
    return render(request, "researcher/retention.html", context, status=422 if sent else 200)
