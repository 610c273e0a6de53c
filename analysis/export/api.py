"""API views for answers, spans and the release bundle, and the page of the OpenAPI document.

Requests are authenticated by a token or by the browser's session. Requests for other users' studies
return 404. Lists have the columns of the CSV files, and scores are hidden wherever pages hide them.
"""

from typing import Any, ClassVar

from django.conf import settings
from django.db.models import QuerySet
from django.http import FileResponse, Http404
from django.http.response import HttpResponseBase
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.request import Request

from analysis.export import bundle_job
from analysis.export import pages as export_pages
from analysis.export.columns import ANSWERS, LOOKUPS, TEXTS
from analysis.scores.columns import table_columns, type_of
from annotation.models import JUDGED_STEPS, REVEALED, AnswerSpan, Kind, Step, Study, Turn
from annotation.monitoring.api import tasks_of
from annotation.protocol import blinding
from annotation.protocol.blinding import scores_of
from annotation.web import jobs
from annotation.web.access import study_of
from annotation.web.paging import Choices, RowsView
from annotation.web.views import ApiView, Twin
from tasks.columns import KINDS, Column
from tasks.models import Job
from tasks.spans import QUESTION


class Docs(SpectacularSwaggerSplitView):
    """The Swagger page. No other page has inline styles, which are added by Swagger itself."""

    http_method_names = ("get", "head")  # the view has no template with which to answer OPTIONS

    @property
    def default_response_headers(self) -> dict[str, str]:
        policy = settings.CONTENT_SECURITY_POLICY.replace("style-src", "style-src 'unsafe-inline'")
        return super().default_response_headers | {"Content-Security-Policy": policy}


def _bundle(job: Job) -> dict[str, Any]:
    study = Study.objects.filter(pk=job.parameters["study"]).first()
    address = reverse("api_release_zip", args=[study.name]) if study else None
    return {"archive": address, "made_at": job.result[0]["at"]}


jobs.OUTCOMES[bundle_job.KIND] = _bundle


class Release(Twin):
    """Build the release bundle in a job. The bundle is stored until another one replaces it.

    Returns 200 if the stored bundle is current, and 202 while a bundle is being built.
    """

    step = export_pages.PrepareBundle
    reply = jobs.JobShape

    def payload(self, study: Study, result: Job) -> dict[str, Any]:
        return jobs.as_record(result)


class ReleaseZip(ApiView):
    @extend_schema(responses={(200, "application/zip"): bytes}, summary="The release bundle")
    def get(self, request: Request, name: str) -> HttpResponseBase:
        study = scores_of(request, name)
        archive = bundle_job.archive_of(bundle_job.job_of(study))
        if archive is None:
            raise Http404("No bundle has been built yet. POST release/ builds one.")
        return FileResponse(
            archive.open("rb"), as_attachment=True, filename=f"{study.name}-release.zip"
        )


# Answers and spans. Researchers must not see a person's score before deciding on inclusion in the
# analysis (protocol/blinding.py). Until then, the S1 and gold of these answers are null, as on the
# annotator's page. If the design hides test scores, the values for the annotation step stay null
# until the study is closed.


def _shots_of(name: str) -> list[str]:
    return [str(number) for number in Study.objects.get(name=name).shots]


def _pseudonyms_of(name: str) -> list[str]:
    return [*Study.objects.get(name=name).participations.values_list("pseudonym", flat=True)]


TURN_FILTERS: dict[str, tuple[str, Choices]] = {
    "task": ("example__split__task__name", tasks_of),
    "shots": ("participation__scenario__shots", _shots_of),
    "step": ("step", Step.values),
    "kind": ("participation__kind", Kind.values),
    "annotator": ("participation__pseudonym", _pseudonyms_of),
}
COLUMNS = TEXTS["api_answers"]
ANSWER_LOOKUPS = {name: lookup for name, lookup in LOOKUPS["answers"].items() if name in COLUMNS}
JOINED = {lookup.rpartition("__")[0] for lookup in ANSWER_LOOKUPS.values()} - {""}
ANSWER_KINDS: dict[str, Any] = {"answer": list[str], "gold": list[str], "hidden": bool}


class Answers(RowsView):
    """List the answers: one row for each example that an annotator was shown, in that order."""

    columns = [
        Column(
            name,
            meaning=meaning or ANSWERS[name],
            kind=ANSWER_KINDS.get(name, KINDS[type_of(name)]),
        )
        for name, meaning in COLUMNS.items()
    ]
    summary = "Answers"
    description = (
        "Gold and S1 are null for human annotators until a researcher has decided whether to"
        " include them in the analysis. If the design hides test scores, those of test examples"
        " are also null until the study is closed."
    )
    filters: ClassVar = TURN_FILTERS

    def rows(self, request: Request, **names: Any) -> QuerySet[Turn]:
        study = study_of(request, names["name"], "read")
        self.hidden, self.undecided = blinding.hidden(study), blinding.undecided(study)
        turns = Turn.objects.filter(participation__study=study)
        return turns.select_related(*JOINED).prefetch_related("answer__spans")

    def record(self, row: Turn) -> dict[str, Any]:
        record: dict[str, Any] = {}
        for column in COLUMNS:
            value: Any = row  # None if a related row is missing
            for name in ANSWER_LOOKUPS.get(column, "").split("__"):
                value = getattr(value, name, None)
            record[column] = value
        participation = row.participation
        # Whether this turn's gold may be shown, as on the annotator's page.
        is_open = row.given is not None
        if is_open and participation.pk in self.hidden:
            is_undecided = participation.pk in self.undecided
            is_open = not blinding.hides_training(participation, is_undecided)
            is_open = is_open and row.step in (*JUDGED_STEPS, *REVEALED)
        record |= {"hidden": not is_open, "answer": row.given and list(row.given.as_given.texts)}
        return record if is_open else record | {"gold": None, "s1": None}


# The task is that of the example, which is not the scenario's in the upstream step.
SPANS = table_columns(
    "spans", segment=lambda span: "question" if span.segment == QUESTION else str(span.segment)
)


class Spans(RowsView):
    """List the spans that annotators highlighted, one per row."""

    columns = SPANS
    summary = "Highlighted spans"
    filters: ClassVar = {
        name: (f"answer__turn__{lookup}", choices)
        for name, (lookup, choices) in TURN_FILTERS.items()
    }

    def rows(self, request: Request, **names: Any) -> QuerySet[AnswerSpan]:
        study = study_of(request, names["name"], "read")
        spans = AnswerSpan.objects.filter(answer__turn__participation__study=study)
        return spans.select_related(
            "answer__turn__participation__scenario", "answer__turn__example__split__task"
        )
