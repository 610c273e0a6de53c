"""Pages for downloading a study's files: the export and the release bundle."""

import zipfile
from datetime import datetime
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from analysis.documents import front
from analysis.documents.pages import opened_study
from analysis.export import bundle_job, files, publishing
from annotation.models import Study
from annotation.protocol.blinding import scores_of
from annotation.web.access import ResearcherRequest, right_to, signed_in
from annotation.web.fields import PageForm
from annotation.web.posts import StudyPost, page
from tasks.csv_files import saved_as
from tasks.jobs import go_to, poll
from tasks.models import Job


class BundleForm(PageForm):
    key = "bundle"
    round_times = forms.ChoiceField(
        label="Times of human annotators",
        choices=[(unit, label.capitalize()) for unit, label in publishing.UNITS.items()],
        required=False,
        help_text="Rounded times can't be linked to a platform's log. Durations and pay aren't"
        " affected.",
    )


@signed_in("GET")
def export_zip(request: HttpRequest, name: str) -> StreamingHttpResponse:
    study = scores_of(request, name)
    return StreamingHttpResponse(
        files.stream_export(study),
        content_type="application/zip",
        headers=saved_as(f"{study.name}.zip"),
    )


@signed_in("GET")
def release_page(request: ResearcherRequest, name: str) -> HttpResponse:
    return _release(request, opened_study(request, name))


def _release(
    request: ResearcherRequest, study: Study, rejected: BundleForm | None = None
) -> HttpResponse:
    job = bundle_job.job_of(study)
    rounding = bundle_job.rounding_of(job) if job else ""
    form = rejected or BundleForm(initial={"round_times": rounding})
    answers = dict(study.report_answers.values_list("item", "text"))
    context: dict[str, object] = {
        "study": study, "job": job, "form": form, **front.to_publish(study, answers),
        "has_parquet": files.writes_parquet(),
        "in_progress": study.participations.live().count(),
    }  # fmt: skip
    archive = bundle_job.archive_of(job)
    if job is not None and archive is not None:
        with zipfile.ZipFile(archive) as bundle:
            output = bundle.read(f"{study.name}/verify.txt").decode()
        context |= {
            "verified": output,
            "anchors": output.rpartition("Hashes: ")[2].partition("\n")[0],
            "size": archive.stat().st_size,
            "created_at": datetime.fromisoformat(job.result[0]["at"]),  # of the snapshot
            "is_current": bundle_job.is_current(study, job),
            "times": publishing.UNITS[rounding] if rounding else "",
        }
    return render(request, "export/release.html", context, status=422 if rejected else 200)


class PrepareBundle(StudyPost):
    row, form_class = "release_prepare", BundleForm
    success = 202
    summary = "Build the release bundle in a job"

    def subject(self, request: HttpRequest, data: Any, **names: Any) -> Study:
        return opened_study(request, names["name"], right_to(self.row))

    def do(self, study: Study, data: dict[str, Any], by: User) -> Job:
        job = bundle_job.prepare(study, by, data["round_times"])
        self.success = 200 if job.is_done else 202
        return job


release_prepare = page(PrepareBundle, _release, to="release")


@signed_in("POST")
def release_run(request: ResearcherRequest, name: str, pk: int) -> HttpResponse:
    study = opened_study(request, name)
    address = reverse("release", args=[study.name])
    job = bundle_job.job_of(study)
    if job is None or job.pk != pk:
        return go_to(request, address)
    return poll(request, job, address)


@signed_in("GET")
def release_zip(request: ResearcherRequest, name: str) -> HttpResponseBase:
    study = opened_study(request, name)
    archive = bundle_job.archive_of(bundle_job.job_of(study))
    if archive is None:
        return redirect("release", study.name)
    filename = f"{study.name}-release.zip"
    return FileResponse(archive.open("rb"), as_attachment=True, filename=filename)
