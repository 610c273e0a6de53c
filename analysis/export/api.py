"""The same tables and figures as JSON, documented by OpenAPI at /api/v1/docs/.

Requests use a token or the browser's session; other users' studies are not found. Every view calls
the functions that the pages call, and returns the rows of their CSVs with the same digits. Views do
not resample: results that wait for the analysis page's job are null, and `pending` shows the job's
progress; POST analysis/ starts it.
"""

from typing import Any, ClassVar

from csp.decorators import csp_update
from django.http import FileResponse, Http404, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.decorators import method_decorator
from drf_spectacular.utils import extend_schema, inline_serializer
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.export import bundle_job
from analysis.export import pages as export_pages
from analysis.export.pages import zip_of
from annotation.models import Study
from annotation.protocol.blinding import scores_of
from annotation.web import jobs
from annotation.web.problems import Conflict
from annotation.web.rights import right_to
from annotation.web.views import ApiView, StudyTwin
from tasks.models import Job


class Index(ApiView):
    """The starting points of the API."""

    # Name to URL; the OpenAPI document lists what is below each.
    addresses: ClassVar = {
        "studies": "api_studies",
        "tasks": "api_tasks",
        "models": "api_models",
        "compare": "api_compare",
        "planner": "api_planner",
        "document": "schema",
        "explorer": "api_docs",
    }

    @extend_schema(
        responses=inline_serializer("Index", {name: serializers.CharField() for name in addresses}),
        summary="Top-level URLs",
    )
    def get(self, request: Request) -> Response:
        return Response({name: reverse(address) for name, address in self.addresses.items()})


@method_decorator(csp_update({"style-src": ["'unsafe-inline'"]}), name="dispatch")
class Docs(SpectacularSwaggerSplitView):
    """The only page with inline styles, which Swagger writes; its scripts are files."""

    http_method_names = ("get", "head")  # the view has no template for OPTIONS


def _bundle(job: Job) -> dict[str, Any]:
    study = Study.objects.filter(pk=job.parameters["study"]).first()
    address = reverse("api_release_zip", args=[study.name]) if study else None
    return {"archive": address, "made_at": job.result[0]["at"]}


jobs.OUTCOMES[bundle_job.KIND] = _bundle


class ExportZip(ApiView):
    @extend_schema(
        responses={(200, "application/zip"): bytes}, summary="All CSVs with verify.py, streamed"
    )
    def get(self, request: Request, name: str) -> StreamingHttpResponse:
        return zip_of(scores_of(request, name))


class Release(StudyTwin):
    """The release bundle: it is made by a job and stored until it is replaced.

    200 if the existing one is current, 202 while it is being made.
    """

    page = "release_prepare"
    form_class = export_pages.BundleForm
    reply = jobs.JobShape
    success = 202
    summary = "Make the release bundle, as a job"

    def subject(self, request: Request, sent: dict[str, Any], **names: Any) -> Study:
        study = scores_of(request, names["name"], right_to(self.page))
        if study.is_draft:
            raise Conflict("The study is a draft. Open it before you release it.")
        return study

    def do(self, about: Study, sent: dict[str, Any], request: Request) -> Response:
        job = bundle_job.prepare(about, request.user, sent["round_times"])
        return Response(jobs.as_record(job), status=200 if job.is_done else 202)


class ReleaseZip(ApiView):
    @extend_schema(responses={(200, "application/zip"): bytes}, summary="The release bundle")
    def get(self, request: Request, name: str) -> HttpResponseBase:
        study = scores_of(request, name)
        archive = bundle_job.archive_of(bundle_job.job_of(study))
        if archive is None:
            raise Http404("There is no bundle yet. POST release/ creates it.")
        return FileResponse(
            archive.open("rb"), as_attachment=True, filename=f"{study.name}-release.zip"
        )
