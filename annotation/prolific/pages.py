"""Recruitment platforms, as a page and in the API: links, panels, and studies on Prolific."""

import tomllib
from pathlib import Path
from typing import Any, ClassVar

from django import forms
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.models import Panel, ProlificStudy, Study
from annotation.pay import budget, ledger
from annotation.prolific import drafts, studies
from annotation.prolific.accounts import account_of, token_of
from annotation.prolific.client import ProlificError
from annotation.prolific.submissions import SyncReport
from annotation.prolific.sync import start_manually, sync
from annotation.recruitment import panel
from annotation.recruitment.platform_adapters import ADAPTERS
from annotation.web import posts
from annotation.web.access import ResearcherRequest, right_to, signed_in, study_of
from annotation.web.fields import AmountField, OnPage, PageForm, WholeNumberField, by_key
from annotation.web.paging import small, small_list
from annotation.web.posts import StudyPost
from annotation.web.views import Twin
from annotation.web.wording import join_url

TEXTS = tomllib.loads(Path(__file__).with_name("forms.toml").read_text(encoding="utf-8"))
NUMBER: dict[str, Any] = {
    "max_value": 10**6, "widget": forms.TextInput({"inputmode": "numeric"}),
}  # fmt: skip
AMOUNT: dict[str, Any] = {
    "max_digits": 7, "decimal_places": 2, "widget": forms.TextInput({"inputmode": "decimal"}),
}  # fmt: skip
AMOUNTS = ("reward", "screen_out")  # of a draft, stored in cents


class PanelForm(OnPage, forms.ModelForm):
    key = "panel"

    class Meta:
        model = Panel
        fields = (
            "name", "id_parameter", "submission_parameter", "completed_url", "completed_code",
            "other_url", "other_code", "turned_away_url", "turned_away_code",
        )  # fmt: skip
        labels: ClassVar = panel.TEXTS["labels"]
        help_texts: ClassVar = panel.TEXTS["help_texts"]

    def clean(self) -> None:
        for field, problem in panel.problems(self.cleaned_data).items():
            if field not in self.errors:
                self.add_error(field, problem)


class NameTaken(ValueError):
    """Raised if another platform of the study already uses this name."""


class NewPanel(StudyPost):
    row = "panel_new"
    form_class = PanelForm
    summary = "Add another platform"
    success = 201
    faults: ClassVar = {NameTaken: "name"}

    def do(self, study: Study, data: dict[str, Any], by: User) -> Panel:
        try:
            with transaction.atomic():
                return Panel.objects.create(study=study, **data)
        except IntegrityError:
            raise NameTaken("This study already has a platform with this name.") from None


class PlanForm(PageForm):
    key = "plan"
    annotation_parts = forms.TypedChoiceField(
        coerce=int, initial=0, widget=forms.RadioSelect, **TEXTS["annotation_parts"]
    )


class Plan(StudyPost):
    row = "prolific_plan"
    form_class = PlanForm
    summary = "Draft the Prolific studies from the design"
    success = 201
    conflicts = (drafts.PlanError,)

    def do(self, study: Study, data: dict[str, Any], by: User) -> None:
        drafts.plan(study, data["annotation_parts"], by)


class DraftForm(PageForm):
    key = "draft"
    name = forms.CharField(max_length=120, **TEXTS["name"])
    reward = AmountField(**AMOUNT, **TEXTS["reward"])
    screen_out = AmountField(min_value=0, **AMOUNT, **TEXTS["screen_out"])
    minutes = WholeNumberField(**NUMBER, **TEXTS["minutes"])
    max_minutes = WholeNumberField(**NUMBER, **TEXTS["max_minutes"])
    places = WholeNumberField(min_value=0, **NUMBER, **TEXTS["places"])
    signed = forms.BooleanField(required=False, **TEXTS["signed"])

    def __init__(self, *args: Any, subject: ProlificStudy):
        super().__init__(*args, subject=subject, auto_id=f"draft-{subject.pk}-%s")
        for name in self.fields:
            self.initial[name] = getattr(subject, name, None)
        for name in AMOUNTS:
            self.initial[name] = ledger.in_currency(getattr(subject, f"{name}_cents"))
        self.fields["reward"].label = f"Reward in {subject.study.currency}"


def _page(
    request: ResearcherRequest,
    study: Study,
    bound: OnPage | None = None,
    draft: ProlificStudy | None = None,
    problem: str = "",
) -> HttpResponse:
    of_drafts = token_of(account_of(request.user))
    first = study.prolific_studies.select_related("account__owner").first()
    presets = panel.TEXTS["presets"]
    preset = presets.get(request.GET.get("preset", ""), presets["other"])
    forms = {draft.pk: bound} if draft else {}
    tried = {request.GET.get("panel", ""): request.GET.get("query")}
    forecasts = _forecasts(request, study)
    context = {
        "study": study, "sent": bound, "problem": problem,
        "links": [
            (label, join_url(request, code), note)
            for adapter in ADAPTERS
            for label, code, note in adapter.links(study)
        ],
        "panels": [
            (row, join_url(request, row.code), panel.visit(row, tried.get(str(row.pk))))
            for row in study.panels.all()
        ],
        "presets": presets, "preset": preset,
        "on_prolific": [
            _prolific_row(draft, forms.get(draft.pk) or DraftForm(subject=draft), forecasts)
            for draft in study.prolific_studies.all()
        ],
        "to_publish": request.GET.get("publish", ""),
        "token": token_of(first.account) if first else of_drafts, "token_of_drafts": of_drafts,
        "may_draft": study.status == "open"
        and not study.prolific_studies.exclude(external_id=None).exists(),
        **forecasts,
    }  # fmt: skip
    proposed = preset["fields"] | {"name": preset["title"]}
    context |= by_key(PanelForm(initial=proposed), PlanForm(), sent=bound)
    return render(request, "prolific/platforms.html", context)


def _forecasts(request: ResearcherRequest, study: Study) -> dict[str, Any]:
    if request.GET.get("ask") != "prolific":
        return {}
    try:
        return {"asked": studies.ask(study)}
    except (drafts.PlanError, ProlificError) as error:
        return {"not_asked": str(error)}


def _prolific_row(draft: ProlificStudy, form: OnPage, forecasts: dict[str, Any]) -> dict:
    submissions = draft.submissions
    costs = {asked.pk: cost for asked, _eligible, cost in forecasts.get("asked", [])}
    return {
        "study": draft, "form": form, "scenarios": list(draft.scenarios.select_related("task")),
        "sum": studies.sum_in_words(draft),
        "may_publish": not draft.external_id or draft.status == "UNPUBLISHED",
        "with_fees": costs.get(draft.pk), "submissions": submissions.count(),
        "free": studies.free_seats(draft),
        "not_confirmed": submissions.filter(verified=False).select_related("participation"),
        "not_asked": submissions.filter(verified=None).count(),
    }  # fmt: skip


@signed_in("GET")
def panel_visit(request: ResearcherRequest, name: str, pk: int) -> HttpResponse:
    query = request.GET.copy()
    query["show"], query["panel"] = "platforms", str(pk)
    return redirect(reverse("recruit", args=[name], query=query) + f"#panel-{pk}")


class ChangeDraft(posts.Post[ProlificStudy]):
    """Change a draft, publish it on Prolific, or restart it there."""

    row = "prolific_study"
    operation_id = "prolific_study_change"
    summary = "Change a draft, publish it on Prolific, or restart it there"
    actions: ClassVar = {"change": DraftForm, "publish": None, "start": None}
    faults: ClassVar = {drafts.PlanError: ""}
    conflicts = (budget.BudgetError, ProlificError)
    shows_message = True

    def subject(self, request: HttpRequest, data: Any, **names: Any) -> ProlificStudy:
        study = study_of(request, names["name"], right_to(self.row))
        self.root = request.build_absolute_uri("/")
        return get_object_or_404(study.prolific_studies, pk=names["pk"])

    def do(self, draft: ProlificStudy, data: dict[str, Any], by: User) -> str:
        if self.action == "change":
            cents = {f"{name}_cents": ledger.cents(data[name]) for name in AMOUNTS}
            stored = {name: data[name] for name in DraftForm.base_fields if name not in AMOUNTS}
            drafts.change(draft, stored | cents)
            return f"{draft.name} was changed."
        if self.action == "publish":
            studies.publish(draft, self.root, by, data.get("agreed", ""))
            return f"{draft.name} was published on Prolific."
        start_manually(draft)
        return f"{draft.name} was restarted on Prolific."

    def fault(self, error: Exception) -> str | None:
        return getattr(error, "field", None)


def _draft_page(
    request: ResearcherRequest, draft: ProlificStudy, form: OnPage | None = None, problem: str = ""
) -> HttpResponse:
    return _page(request, draft.study, form, draft if form else None, problem)


class SyncProlific(StudyPost):
    row, path = "prolific_sync", "prolific/sync/"
    below = ("studies/<str:name>/platforms/", "studies/<str:name>/")
    summary = "Sync with Prolific"
    conflicts = (ProlificError,)
    shows_message = True

    def do(self, study: Study, data: dict[str, Any], by: User) -> SyncReport:
        return sync(study)

    def in_words(self, result: SyncReport) -> list[str]:
        return [f"{result}.", *result.warnings()]


page = posts.study_page(_page, "own")
panel_new = posts.page(
    NewPanel, _page, to=lambda _request, panel, name: redirect("panel_visit", name, panel.pk)
)
prolific_plan = posts.page(Plan, _page, to="platforms")
prolific_study = posts.page(
    ChangeDraft, _draft_page, to=lambda _request, _result, name, pk: redirect("platforms", name)
)
POSTS: posts.Views = {SyncProlific: posts.page(SyncProlific, _page, to="platforms")}


# Platforms in the API.


class PanelShape(serializers.Serializer):
    name = serializers.CharField()
    link = serializers.CharField(help_text="URL to enter on the platform")


class Amount(serializers.CharField):
    """An amount in currency units, which the database stores in cents."""

    def to_representation(self, value: int) -> str:
        return ledger.in_currency(value)


class Panels(Twin):
    """Platforms other than Prolific. Each has its own URL."""

    step = NewPanel
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

    step = Plan
    reply = ThereShape(many=True)

    @small("Prolific", "The studies on Prolific", ThereShape().get_fields())
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "own")
        return small_list(_rows(study))

    def payload(self, study: Study, result: None) -> Any:
        return _rows(study)


class ProlificStudyDetail(Twin):
    """Change a draft, publish it on Prolific, or restart it there."""

    step = ChangeDraft
    reply = ThereShape

    def form(self, draft: ProlificStudy, body: dict[str, Any]) -> Any:
        """Return the form, in which omitted fields stay unchanged."""
        stored = DraftForm(subject=draft).initial
        kept = {name: stored[name] for name in DraftForm.base_fields}
        return super().form(draft, kept | body)

    def do(self, draft: ProlificStudy, data: dict[str, Any], request: Request) -> Response:
        """Run the step. Programs do not confirm the rewards."""
        return super().do(draft, data | {"agreed": None}, request)

    def payload(self, draft: ProlificStudy, result: str) -> Any:
        draft.refresh_from_db()
        return ThereShape(draft).data
