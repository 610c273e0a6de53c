"""The researcher's documents: preregistration, report and release bundle."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from analysis import checklist, documents, preregistration, release, report
from analysis.views import _download
from annotation import report_answers
from annotation.access import study_of

MARKDOWN = "text/markdown; charset=utf-8"


@login_required
@require_GET
def preregistration_page(request: HttpRequest, name: str) -> HttpResponse:
    """The frozen design in words; a draft says that opening makes it."""
    study = study_of(request, name, "read")
    context = {"study": study, "document": preregistration.of(study)}
    return render(request, "researcher/preregistration.html", context)


@login_required
@require_GET
def preregistration_file(request: HttpRequest, name: str) -> HttpResponse:
    """The same as Markdown."""
    found = preregistration.of(study_of(request, name, "read"))
    if found is None:
        raise Http404
    text = documents.as_markdown(found)
    return _download(text, f"{name}-preregistration.md", MARKDOWN)


@login_required
@require_http_methods(["GET", "POST"])
def report_page(request: HttpRequest, name: str) -> HttpResponse:
    """GET shows the report; POST stores the answers to its checklist (owners alone)."""
    study = study_of(request, name, "own" if request.method == "POST" else "read")
    sent, problem = {}, ""
    if request.method == "POST":
        if study.is_draft:
            raise Http404
        fields = {item: f"item-{item}" for item in checklist.ASKED}
        sent = {i: request.POST[field] for i, field in fields.items() if field in request.POST}
        try:
            changed = report_answers.save(study, sent, request.user)
        except report_answers.ReportAnswerError as error:
            problem = str(error)
        else:
            messages.success(request, f"Saved: {preregistration.count(changed, 'answer')} changed.")
            return redirect("report", study.name)
    address = reverse("report", args=[study.name])
    context = {
        "study": study,
        "document": report.of(study, sent),
        "problem": problem,
        "answers_url": address if "own" in study.rights else "",
        "pictures": reverse("figures", args=[study.name]),
    }
    status = 422 if problem else 200
    return render(request, "researcher/report.html", context, status=status)


@login_required
@require_GET
def report_file(request: HttpRequest, name: str) -> HttpResponse:
    """The same as Markdown."""
    found = report.of(study_of(request, name, "read"))
    if found is None:
        raise Http404
    return _download(documents.as_markdown(found), f"{name}-report.md", MARKDOWN)


@login_required
@require_GET
def release_zip(request: HttpRequest, name: str) -> HttpResponse:
    """The release bundle; where verify.py does not agree there is none, and why is said."""
    study = study_of(request, name, "read")
    if study.is_draft:
        raise Http404
    try:
        bundle = release.zip_release(study)
    except release.ReleaseError as error:
        return HttpResponse(str(error), status=500, content_type="text/plain; charset=utf-8")
    return FileResponse(bundle, as_attachment=True, filename=f"{study.name}-release.zip")
