"""The researcher's pages of documents: preregistration, and their downloads."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from analysis import documents, preregistration
from analysis.views import _download
from annotation.access import study_of

MARKDOWN = "text/markdown; charset=utf-8"


@login_required
@require_GET
def preregistration_page(request: HttpRequest, name: str) -> HttpResponse:
    """The frozen design in words; a draft says that opening makes it."""
    study = study_of(request, name)
    context = {"study": study, "document": preregistration.of(study)}
    return render(request, "researcher/preregistration.html", context)


@login_required
@require_GET
def preregistration_file(request: HttpRequest, name: str) -> HttpResponse:
    """The same as Markdown."""
    found = preregistration.of(study_of(request, name))
    if found is None:
        raise Http404
    text = documents.as_markdown(found)
    return _download(text, f"{name}-preregistration.md", MARKDOWN)
