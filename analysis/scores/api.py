"""API views for score tables: human performance, statistics, training, sensitivity."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiParameter,
    extend_schema,
    extend_schema_view,
    inline_serializer,
)
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.scores import (
    findings,
    findings_columns,
    marks,
    overlap,
    performance,
    rendering,
    sensitivity,
    training,
)
from analysis.scores.columns import Table, TableRows, as_records, type_of
from annotation.models import Kind, Study
from annotation.protocol.blinding import scores_of
from annotation.web.access import right_to, study_of
from annotation.web.form_bodies import as_object, check_known
from annotation.web.jobs import JobShape, as_record
from annotation.web.problems import Conflict, Unprocessable
from annotation.web.views import ApiView, tagged
from tasks.columns import Column, in_files
from tasks.models import Job

OBJECT = OpenApiTypes.OBJECT  # rows with the same columns as on the page


class KindOfTable(ApiView):
    """Return a table for each kind of annotators, or for a single kind (`?kind=`)."""

    parameters = frozenset({"kind"})

    def kinds(self, request: Request, study: Study) -> Sequence[str]:
        """Return the requested kinds, or raise ValidationError for one that did not take part."""
        kinds = performance.kinds(study)
        kind = request.query_params.get("kind")
        if kind is None:
            return kinds
        if kind not in kinds:
            raise ValidationError({"kind": [f"Choose one of {', '.join(kinds)}."]})
        return [kind]

    def rows(
        self, request: Request, study: Study, columns: Sequence[Column], rows: TableRows
    ) -> list[dict[str, Any]]:
        kinds = self.kinds(request, study)
        return [row for kind in kinds for row in self.records(kind, columns, rows(study, kind))]

    @staticmethod
    def records(kind: str, columns: Sequence[Column], rows: Any) -> list[dict[str, Any]]:
        """Add the kind to each row."""
        return [{"kind": kind} | record for record in as_records(columns, rows)]


KIND = OpenApiParameter("kind", str, enum=Kind.values, description="only annotators of this kind")


class TableDetail(KindOfTable):
    table = overlap.OVERLAP

    @extend_schema(
        parameters=[KIND], responses=OBJECT, summary="Error overlap with models, or S1 by stratum"
    )
    def get(self, request: Request, name: str) -> Response:
        study = scores_of(request, name)
        rows = self.rows(request, study, self.table.columns, self.table.rows)
        return tagged(request, {"rows": rows})


@extend_schema_view(get=extend_schema(summary="Results under other inclusion criteria"))
class Sensitivity(TableDetail):
    table = Table("sensitivity", "", sensitivity.COLUMNS, sensitivity.table)


def rows_schema(name: str, columns: Sequence[Column]) -> serializers.Serializer:
    return inline_serializer(name, {c.name: field_of(c) for c in in_files(columns)}, many=True)


def field_of(column: Column) -> serializers.Field:
    """Return the schema field for a column. Measured values are nullable."""
    meaning = column.stored_meaning
    if column.unit:
        return serializers.FloatField(allow_null=True, help_text=meaning)
    kind = serializers.IntegerField if type_of(column.name) == "integer" else serializers.CharField
    return kind(help_text=meaning)


class Rows(serializers.ListField):
    """The rows of a table, as dictionaries by column name."""

    child = serializers.DictField()


class HumanPerformance(ApiView):
    @extend_schema(
        responses=rows_schema("HumanPerformance", rendering.PERFORMANCE_FILE),
        summary="The human-performance table, for each kind of annotators",
    )
    def get(self, request: Request, name: str) -> Response:
        study = scores_of(request, name)
        return Response(as_records(rendering.PERFORMANCE_FILE, performance.all_rows(study)))


class Findings(ApiView):
    class Tables(serializers.Serializer):
        """The same rows as in the CSV file of each table. The page explains the columns.

        Scores and differences are on a scale from 0 to 1. Agreement, aggregates, ceilings, anchor
        scores, confidence and plateaus use S1, and all others the metric on the task's card.
        """

        class Pending(serializers.Serializer):
            state = serializers.ChoiceField(["not begun", *Job.State.values])
            done = serializers.IntegerField(help_text="number of chunks that are done")
            total = serializers.IntegerField(help_text="number of all chunks")
            what_to_do = serializers.CharField()

        kind = serializers.ChoiceField(Kind.choices)
        marks = serializers.ListField(
            child=serializers.CharField(), help_text="remarks that apply to all tables of the study"
        )
        pending = Pending(allow_null=True, help_text="null if nothing is pending")
        intervals = Rows(allow_null=True)
        agreement = Rows()
        aggregates = Rows()
        ceiling = Rows()
        contrasts = Rows(allow_null=True)
        anchors = Rows(help_text="balance of the arms, with raw and adjusted contrasts")
        question_alone = Rows(help_text="scores with and without the context, and their difference")
        confidence = Rows(help_text="mean confidence, overconfidence, ECE and Brier score")
        calibration = Rows(help_text="S1 for each level of confidence")
        plateau = Rows(help_text="where further training examples stop raising S1")
        attrition = Rows()
        admission = Rows(help_text="annotators judged and admitted in each arm")

    @extend_schema(
        responses=Tables(many=True),
        summary="Intervals, agreement, aggregates, ceilings and contrasts",
        description="Intervals and contrasts are null until the analysis job is done.",
    )
    def get(self, request: Request, name: str) -> Response:
        study = scores_of(request, name)
        replies, remarks = [], marks.sentences(study)
        for kind in performance.kinds(study):
            tables, job = findings.available_tables(study, kind)
            missing: list[Any] | None = [] if job is None else None
            rows = {
                name: as_records(columns, tables[name]) if name in tables else missing
                for name, columns in findings_columns.COLUMNS.items()
            }
            for table in findings_columns.ARM_TABLES:
                rows[table.name] = as_records(table.columns, table.rows(study, kind))
            pending = job and {
                "state": job.state if job.pk else "not begun",
                "done": job.done,
                "total": job.total,
                "what_to_do": "manage.py run_jobs or the open analysis page continues it; the page"
                " starts it",
            }
            replies.append({"kind": kind, "marks": remarks, "pending": pending, **rows})
        return Response(replies)

    class AnalysisBody(serializers.Serializer):
        kind = serializers.ChoiceField(Kind.choices, default=Kind.PERSON.value, required=False)

    @extend_schema(
        request=AnalysisBody,
        responses={202: JobShape, 200: JobShape},
        summary="Start the job for intervals and contrasts",
    )
    def post(self, request: Request, name: str) -> Response:
        study = scores_of(request, name, right_to("analysis_run"))
        data = as_object(request.data)
        check_known(data, {"kind"})
        kind = data.get("kind", Kind.PERSON.value)
        if kind not in performance.kinds(study):
            raise Unprocessable({"kind": [f"Choose one of {', '.join(performance.kinds(study))}."]})
        job = findings.job_of(study, kind, owner=request.user)
        if job is None:
            raise Conflict("The analysis does not include any annotators yet.")
        return Response(as_record(job), status=200 if job.is_done else 202)


class TrainingTable(ApiView):
    @extend_schema(
        responses=rows_schema("TrainingTable", training.BLOCK_SCORES),
        summary="The training table, for each kind of annotators",
    )
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "read")
        return Response(as_records(training.BLOCK_SCORES, training.block_scores(study)))
