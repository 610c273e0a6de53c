"""The researcher's page of personal links: create them, see their states, download a CSV."""

from typing import Any, ClassVar

from django import forms
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from annotation.models import PersonalLink, Study
from annotation.recruitment.links import LinkError, links_with_states, make_links
from annotation.web.access import signed_in, study_of
from annotation.web.fields import PageForm
from annotation.web.posts import StudyPost, page
from tasks.csv_files import no_formula
from tasks.downloads import csv_download


class LinksForm(PageForm):
    """Names for new links; platforms/links.py parses the lines."""

    key = "links"
    names = forms.CharField(
        label="Names, one per line",
        widget=forms.Textarea({"rows": 6}),
        error_messages={"required": "Enter one name per line: of people, or 1, 2, 3."},
    )


class Links(StudyPost):
    """Create personal links, one for each name."""

    row = "personal_links"
    form_class = LinksForm
    summary = "Make personal links"
    success = 201
    faults: ClassVar = {LinkError: "names"}
    tells = True

    def do(self, about: Study, sent: dict[str, Any], by: User) -> list[PersonalLink]:
        return make_links(about, sent["names"])

    def in_words(self, done: list[PersonalLink]) -> str:
        return f"{len(done)} links were made."


def _page(request: HttpRequest, study: Study, form: LinksForm | None = None) -> HttpResponse:
    rows = [
        {"link": link, "state": state, "address": _address(request, link)}
        for link, state in links_with_states(study)
    ]
    context = {"study": study, "rows": rows, "form": form or LinksForm()}
    status = 422 if form else 200
    return render(request, "recruitment/personal_links.html", context, status=status)


@signed_in("GET")
def links_file(request: HttpRequest, name: str) -> HttpResponse:
    """Download name, link and state, for a mail merge."""
    study = study_of(request, name, "pay")
    rows = (
        [no_formula(link.name), _address(request, link), state]
        for link, state in links_with_states(study)
    )
    return csv_download(f"{study.name}-links.csv", ["name", "link", "state"], rows)


def _address(request: HttpRequest, link: PersonalLink) -> str:
    return request.build_absolute_uri(reverse("landing", args=[link.code]))


def _shown(request: HttpRequest, name: str) -> HttpResponse:
    """Render the links, which requires the right to see identities."""
    return _page(request, study_of(request, name, "pay"))


links = page(Links, _page, to="personal_links", get=_shown)
