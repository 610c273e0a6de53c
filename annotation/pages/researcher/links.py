"""The researcher's page of personal links: make them, see their states, take them as a CSV."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from annotation.access import study_of
from annotation.models import PersonalLink, Study
from annotation.pages.researcher.forms.links import LinksForm
from annotation.platforms import personal_links
from annotation.rights import right_to
from tasks.csv_files import no_formula
from tasks.downloads import csv_download


@login_required
@require_http_methods(["GET", "POST"])
def links(request: HttpRequest, name: str) -> HttpResponse:
    """GET lists them for those who may see identities; POST makes one per line of names."""
    study = study_of(
        request, name, right_to("personal_links") if request.method == "POST" else "pay"
    )
    if request.method == "GET":
        return _page(request, study, LinksForm())
    form = LinksForm(request.POST)
    if not form.is_valid():
        return _page(request, study, form)
    try:
        new_links = personal_links.make(study, form.cleaned_data["names"])
    except personal_links.LinkError as error:
        form.add_error("names", str(error))
        return _page(request, study, form)
    messages.success(request, f"{len(new_links)} links were made.")
    return redirect("personal_links", study.name)


def _page(request: HttpRequest, study: Study, form: LinksForm) -> HttpResponse:
    rows = [
        {"link": link, "state": state, "address": _address(request, link)}
        for link, state in personal_links.with_states(study)
    ]
    context = {"study": study, "rows": rows, "form": form}
    status = 422 if form.is_bound else 200
    return render(request, "researcher/personal_links.html", context, status=status)


@login_required
@require_GET
def links_file(request: HttpRequest, name: str) -> HttpResponse:
    """name, link, state: to be sent out by mail merge."""
    study = study_of(request, name, "pay")
    rows = (
        [no_formula(link.name), _address(request, link), state]
        for link, state in personal_links.with_states(study)
    )
    return csv_download(f"{study.name}-links.csv", ["name", "link", "state"], rows)


def _address(request: HttpRequest, link: PersonalLink) -> str:
    return request.build_absolute_uri(reverse("landing", args=[link.code]))
