"""Jobs in the API: show their progress, run the next chunk, and return the result."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.models import Study
from annotation.web.access import job_of, may_run, study_of
from annotation.web.views import ApiView, tagged
from tasks import jobs, uploads
from tasks.models import Job
from tasks.predictions import upload_job

# Maps kinds of jobs to functions that return a finished job's result. Other packages add to it.
OUTCOMES: dict[str, Callable[[Job], Any]] = {
    uploads.IMPORT: lambda job: job.result[-1],
    uploads.IMPORT_WHOLE: lambda job: job.result[-1],
    uploads.IMPORT_GYM: lambda job: {"tasks": job.result},
    upload_job.KIND: lambda job: job.result[-1],
    "simulate": lambda job: {"answers": [part["answers"] for part in job.result]},
}
# Kinds of jobs that any reader of the study may run. Its other jobs require the right "own".
READERS = {
    "bootstrap", "curves", "differences", "examples", "overlap", "release", "report", "sensitivity"
}  # fmt: skip


class JobShape(serializers.Serializer):
    """Progress of a job. `result` depends on its kind and is null until it is done."""

    id = serializers.IntegerField()
    kind = serializers.CharField()
    state = serializers.ChoiceField(Job.State.choices)
    done = serializers.IntegerField(help_text="number of chunks that are done")
    total = serializers.IntegerField(help_text="number of all chunks")
    queue_is_away = serializers.BooleanField(
        help_text="true if the job waits because no worker could be reached; it is sent again"
    )
    error = serializers.CharField(allow_blank=True, help_text="why the job failed, as a sentence")
    result = serializers.DictField(allow_null=True)


def as_record(job: Job) -> dict[str, Any]:
    outcome = OUTCOMES.get(job.kind)
    record = {name: getattr(job, name) for name in JobShape().fields}
    return record | {"result": outcome(job) if outcome and job.is_done else None}


class JobDetail(ApiView):
    @extend_schema(responses=JobShape, summary="Progress of a job")
    def get(self, request: Request, pk: int) -> Response:
        return tagged(request, as_record(job_of(request, pk)))


class RunJob(ApiView):
    @extend_schema(
        request=None,
        responses=JobShape,
        summary="Run a part of a job",
        description="Does about a second of work, unless another process is running the job."
        " Repeat the request until the job is done. A failed job resumes where it failed.",
    )
    def post(self, request: Request, pk: int) -> Response:
        job = job_of(request, pk)
        if study := Study.objects.filter(pk=job.parameters.get("study")).first():
            study_of(request, study.name, "read" if job.kind in READERS else "own")
        else:
            may_run(request)
        if job.has_failed:
            jobs.retry(job)
        jobs.advance(job)
        return Response(as_record(job))
