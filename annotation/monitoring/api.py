"""Annotators of a study in the API, and decisions about them. Hides scores wherever pages do."""

from typing import Any, ClassVar

from django.core.exceptions import PermissionDenied
from django.db.models import Avg, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.models import ORDERS, Decision, Kind, Participation, Status, Step, Study
from annotation.monitoring import decisions, flags, progress
from annotation.protocol import blinding
from annotation.web.access import annotator_of, study_of
from annotation.web.paging import RowsView, documented, field_of, small, small_list
from annotation.web.problems import Unprocessable
from annotation.web.views import ApiView, Twin, tagged
from tasks.columns import declared

SCENARIOS = declared(__file__, "api_scenarios")
COLUMNS = declared(__file__, "api_annotators")
DECISIONS = declared(__file__, "api_decisions", by=lambda row: row.by and row.by.get_username())


def tasks_of(name: str) -> list[str]:
    """Return the names of a study's tasks, including those of the upstream step."""
    study = Study.objects.get(name=name)
    return sorted(task.name for task in [*study.tasks.all(), *study.trained_tasks])


class Participations(RowsView):
    columns = COLUMNS
    summary = "The annotators of a study"
    filters: ClassVar = {
        "status": ("status", Status.values),
        "kind": ("kind", Kind.values),
        "task": ("scenario__task__name", tasks_of),
    }

    def rows(self, request: Request, **names: Any) -> QuerySet[Participation]:
        study = study_of(request, names["name"], "see")
        return study.participations.select_related("scenario__task").defer(*ORDERS)


class Decisions(RowsView):
    """List decisions. Payers see those on pay. The others reveal scores, so only readers do."""

    columns = DECISIONS
    summary = "Decisions about annotators, with their reasons"
    filters: ClassVar = {"about": ("about", Decision.About.values)}

    def rows(self, request: Request, **names: Any) -> QuerySet[Decision]:
        study = study_of(request, names["name"], "see")
        if study.rights.isdisjoint({"pay", "read"}):
            raise PermissionDenied("You need access to results or pay to see decisions.")
        rows = Decision.objects.readable_by(study.rights).filter(participation__study=study)
        return rows.select_related("participation", "by")


class AnnotatorShape(serializers.Serializer):
    """A row of the list, with more details from the annotator's page."""

    def get_fields(self) -> dict[str, Any]:
        return {column.name: field_of(column, allow_null=True) for column in COLUMNS} | {
            "score_hidden": serializers.BooleanField(
                help_text="true until a decision on inclusion; POST show-score reveals the score"
            ),
            "mean_s1": serializers.FloatField(
                allow_null=True, help_text="mean S1 in the annotation step, 0 to 1; null if hidden"
            ),
            "flags": serializers.ListField(child=serializers.CharField()),
        }


def as_record(participation: Participation, may_read: bool) -> dict[str, Any]:
    """Return the JSON object for an annotator. Only readers (`may_read`) get flags and scores."""
    record = {column.name: column.value(participation) for column in COLUMNS}
    is_hidden = blinding.is_hidden(participation)
    mean = None
    raised = flags.findings_of(participation) if may_read else []
    if may_read and not is_hidden:
        answered = participation.turns.filter(step=Step.ANNOTATION)
        mean = answered.aggregate(mean=Avg("answer__s1"))["mean"]
    return record | {"score_hidden": is_hidden, "mean_s1": mean, "flags": raised}


class ParticipationDetail(ApiView):
    @extend_schema(responses=AnnotatorShape, summary="One annotator in a study")
    def get(self, request: Request, name: str, pseudonym: str) -> Response:
        annotator = annotator_of(request, name, pseudonym, "see")
        return tagged(request, as_record(annotator, "read" in annotator.study.rights))


class Decide(Twin):
    """Decide on inclusion in the analysis, pay or admission to the annotation step."""

    step = decisions.Decide
    more_fields: ClassVar = {"about": serializers.ChoiceField(list(decisions.DECIDE))}

    def form(self, annotator: Participation, body: dict[str, Any]) -> Any:
        if str(body.get("about")) not in decisions.DECIDE:
            raise Unprocessable({"about": [f"Expected one of {', '.join(decisions.DECIDE)}."]})
        return super().form(annotator, body)


class ShowScore(Twin):
    """Show an annotator's score and gold answers. Later decisions record that they were seen."""

    step = decisions.ShowScore
    reply = AnnotatorShape

    def payload(self, annotator: Participation, result: None) -> Any:
        return as_record(annotator, True)


class Scenarios(ApiView):
    """List the scenarios and their seats, all on one page."""

    @small("Scenarios", "A study's scenarios and their seats", documented(SCENARIOS))
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "see")
        rows = progress.for_study(study).seats
        return small_list({c.name: c.value(row) for c in SCENARIOS} for row in rows)


class Progress(ApiView):
    class ProgressShape(serializers.Serializer):
        """A short summary for polling. Send its ETag to get 304 if nothing has changed."""

        status = serializers.CharField()
        seats = serializers.IntegerField(
            source="all_seats", help_text="seats for human annotators in all scenarios"
        )
        completed = serializers.IntegerField()
        time_left = serializers.CharField(help_text="estimated remaining work, in words")

    @extend_schema(responses=ProgressShape, summary="Progress of a study")
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "see")
        return tagged(request, self.ProgressShape(progress.for_study(study)).data)
