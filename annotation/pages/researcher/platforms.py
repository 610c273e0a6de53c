"""The researcher's page of platforms: links, panels, and studies on Prolific."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotation.access import study_of
from annotation.models import Panel, ProlificStudy, Study
from annotation.money import budget, ledger
from annotation.money.amounts import read_amount
from annotation.platforms import panel
from annotation.platforms.prolific import studies
from annotation.platforms.prolific.client import Client, ProlificError
from annotation.platforms.prolific.sync import start, sync
from annotation.recruitment.doors import NotAdmitted

PANEL_FIELDS = (
    "name", "id_parameter", "submission_parameter", "completed_url", "completed_code", "other_url",
    "other_code", "turned_away_url", "turned_away_code",
)  # fmt: skip
DRAFT_NUMBERS = ("minutes", "max_minutes", "places")


@login_required
@require_GET
def recruiters(request: HttpRequest, name: str) -> HttpResponse:
    """Where people can come from."""
    return _page(request, study_of(request, name, "own"))


def _page(request: HttpRequest, study: Study, status: int = 200, **said: object) -> HttpResponse:
    def address(code: str) -> str:
        return request.build_absolute_uri(reverse("landing", args=[code]))

    preset = panel.PRESETS.get(request.GET.get("preset", ""), panel.PRESETS["other"])
    context = {
        "study": study,
        "open_link": address(study.link_code),
        "panels": [{"panel": one, "address": address(one.code)} for one in study.panels.all()],
        "presets": panel.PRESETS,
        "preset": preset,
        "on_prolific": [_prolific_row(one) for one in study.prolific_studies.all()],
        "has_token": bool(settings.PROLIFIC_TOKEN),
        "may_draft": study.status == "open"
        and not study.prolific_studies.exclude(external_id=None).exists(),
        "webhook": request.build_absolute_uri(reverse("prolific_webhook")),
        "sent": request.POST.dict() if said else {},
    }
    return render(request, "researcher/recruiters.html", context | said, status=status)


def _prolific_row(one: ProlificStudy) -> dict:
    return {
        "study": one,
        "scenarios": list(one.scenarios.select_related("task")),
        "reward": ledger.in_currency(one.reward_cents),
        "screen_out": ledger.in_currency(one.screen_out_cents),
        "submissions": one.submissions.count(),
        "free": studies.free_seats(one),
        "not_confirmed": one.submissions.filter(verified=False).select_related("participation"),
        "not_asked": one.submissions.filter(verified=None).count(),
    }


@login_required
@require_POST
def panel_new(request: HttpRequest, name: str) -> HttpResponse:
    """Another platform, with its parameter and its way back."""
    study = study_of(request, name, "own")
    made = Panel(study=study, **{f: request.POST.get(f, "").strip() for f in PANEL_FIELDS})
    try:
        panel.check(made)
        made.full_clean(exclude=["study", "code"])
        with transaction.atomic():
            made.save()
    except ValidationError as error:
        problems = [
            f"{field.replace('_', ' ')}: {' '.join(texts)}"
            for field, texts in error.message_dict.items()
        ]
        return _page(request, study, status=422, panel_problems=problems)
    except IntegrityError:
        return _page(request, study, status=422, panel_problems=["name: this study has it already"])
    return redirect("panel_visit", study.name, made.pk)


@login_required
@require_GET
def panel_visit(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """A test visit: what an address leads to, and back; it takes no seat and stores nothing."""
    study = study_of(request, name, "own")
    one = get_object_or_404(study.panels, pk=pk)
    query = request.GET.get("query")
    if query is None:
        query = f"{one.id_parameter}=TEST-PERSON"
        if one.submission_parameter:
            query += f"&{one.submission_parameter}=TEST-SUBMISSION"
    visit = QueryDict(query.lstrip("?"))
    door, who, problem = panel.PanelDoor(one), None, ""
    try:
        who = door.read(visit)
    except NotAdmitted as refused:
        problem = str(refused)
    context = {
        "study": study,
        "panel": one,
        "address": request.build_absolute_uri(reverse("landing", args=[one.code])),
        "query": query,
        "who": who,
        "problem": problem,
        "is_preview": door.is_placeholder(visit),
        "completed": door.exit("completed", who, "OWN-CODE") if who else None,
        "not_qualified": door.exit("not_qualified", who, "OWN-CODE") if who else None,
        "turned_away": door.exit("study_full", who, "OWN-CODE") if who else None,
    }
    return render(request, "researcher/panel.html", context)


@login_required
@require_POST
def prolific_plan(request: HttpRequest, name: str) -> HttpResponse:
    """Draft the studies on Prolific from the design."""
    study = study_of(request, name, "own")
    parts = request.POST.get("annotation_parts", "0")
    try:
        studies.plan(study, int(parts[:18]) if parts.isdecimal() else -1, request.user)
    except studies.PlanError as error:
        return _page(request, study, status=409, problem=str(error))
    return redirect("recruiters", study.name)


@login_required
@require_POST
def prolific_study(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Change a draft, or create and publish it on Prolific."""
    study = study_of(request, name, "own")
    draft = get_object_or_404(study.prolific_studies, pk=pk)
    try:
        if request.POST.get("action") == "publish":
            budget.check_may_spend(request.user)
            budget.check_publication(study, studies.rewards(draft))
            root = request.build_absolute_uri("/")
            studies.create(draft, root)
            messages.success(request, f"{draft.name} is published on Prolific.")
        elif request.POST.get("action") == "start":
            if not draft.external_id or draft.status != "PAUSED":
                raise studies.PlanError(f"{draft.name} is not paused on Prolific.")
            start(draft, Client())
            messages.success(request, f"{draft.name} was restarted on Prolific.")
        else:
            try:
                fields = _draft_fields(request)
            except studies.PlanError as error:
                return _page(request, study, status=422, problem=str(error))
            studies.change(draft, fields)
            messages.success(request, f"{draft.name} was changed.")
    except (studies.PlanError, budget.BudgetError, ProlificError) as error:
        return _page(request, study, status=409, problem=str(error))
    return redirect("recruiters", study.name)


def _draft_fields(request: HttpRequest) -> dict[str, int | str | bool]:
    """The fields of the form. Raises PlanError, naming the field."""
    fields: dict[str, int | str | bool] = {
        "name": request.POST.get("name", "").strip(),
        "signed": request.POST.get("signed") == "on",
    }
    for name in DRAFT_NUMBERS:
        text = request.POST.get(name, "")
        if not text.isascii() or not text.isdecimal() or len(text) > 6:
            raise studies.PlanError(f"{name.replace('_', ' ')}: write a whole number.")
        fields[name] = int(text)
    for name in ("reward", "screen_out"):
        try:
            fields[f"{name}_cents"] = ledger.cents(read_amount(request.POST.get(name, "")))
        except ValueError as error:
            raise studies.PlanError(f"{name.replace('_', ' ')}: {error}") from None
    return fields


@login_required
@require_POST
def prolific_sync(request: HttpRequest, name: str) -> HttpResponse:
    """Sync with Prolific."""
    study = study_of(request, name, "own")
    try:
        done = sync(study)
    except ProlificError as error:
        return _page(request, study, status=409, problem=str(error))
    messages.success(request, f"{done}.")
    for problem in done.problems[:10]:
        messages.warning(request, f"Not synced: {problem}")
    return redirect("recruiters", study.name)
