"""Recruitment platforms in the API: studies on Prolific, and other panels."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.models import Panel, ProlificStudy, Study
from annotation.pay import ledger
from annotation.prolific import pages as platforms
from annotation.web.access import study_of
from annotation.web.paging import small, small_list
from annotation.web.views import Twin
from annotation.web.wording import join_url


class PanelShape(serializers.Serializer):
    name = serializers.CharField()
    link = serializers.CharField(help_text="URL to enter on the platform")


class Amount(serializers.CharField):
    """An amount in currency units, which the database stores in cents."""

    def to_representation(self, value: int) -> str:
        return ledger.in_currency(value)


class Panels(Twin):
    """Platforms other than Prolific. Each has its own URL."""

    step = platforms.NewPanel
    reply = PanelShape

    @small("Panels", "Platforms other than Prolific", PanelShape().get_fields())
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "own")
        return small_list(self._row(request, panel) for panel in study.panels.all())

    def payload(self, study: Study, result: Panel) -> dict[str, str]:
        return self._row(self.request, result)

    def _row(self, request: Request, panel: Panel) -> dict[str, str]:
        return {"name": panel.name, "link": join_url(request, panel.code)}


class ThereShape(serializers.Serializer):
    id = serializers.IntegerField()
    name = serializers.CharField()
    status = serializers.CharField(allow_blank=True)
    external_id = serializers.CharField(allow_null=True)
    reward = Amount(source="reward_cents")
    places = serializers.IntegerField()
    scenarios = serializers.ListField(child=serializers.CharField(), source="scenarios.all")
    minutes = serializers.IntegerField()
    max_minutes = serializers.IntegerField()


def _rows(study: Study) -> Any:
    studies = study.prolific_studies.prefetch_related("scenarios__task")
    return ThereShape(studies, many=True).data


class Prolific(Twin):
    """A study's counterparts on Prolific, which are drafted from the design."""

    step = platforms.Plan
    reply = ThereShape(many=True)

    @small("Prolific", "The studies on Prolific", ThereShape().get_fields())
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "own")
        return small_list(_rows(study))

    def payload(self, study: Study, result: None) -> Any:
        return _rows(study)


class ProlificStudyDetail(Twin):
    """Change a draft, publish it on Prolific, or restart it there."""

    step = platforms.ChangeDraft
    reply = ThereShape

    def form(self, draft: ProlificStudy, body: dict[str, Any]) -> Any:
        """Return the form, in which omitted fields stay unchanged."""
        stored = platforms.DraftForm(subject=draft).initial
        kept = {name: stored[name] for name in platforms.DraftForm.base_fields}
        return super().form(draft, kept | body)

    def do(self, draft: ProlificStudy, data: dict[str, Any], request: Request) -> Response:
        """Run the step. Programs do not confirm the rewards."""
        return super().do(draft, data | {"agreed": None}, request)

    def payload(self, draft: ProlificStudy, result: str) -> Any:
        draft.refresh_from_db()
        return ThereShape(draft).data
