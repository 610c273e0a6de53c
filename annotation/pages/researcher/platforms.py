"""The researcher's page of platforms: links, panels, and studies on Prolific."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import IntegrityError, transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotation.access import ResearcherRequest, study_of
from annotation.models import Panel, ProlificStudy, Study
from annotation.money import budget, ledger
from annotation.pages.fields import OnPage, by_key
from annotation.pages.researcher.forms.platforms import DraftForm, PanelForm, PlanForm
from annotation.platforms import panel
from annotation.platforms.prolific import drafts, studies
from annotation.platforms.prolific.accounts import account_of, token_of
from annotation.platforms.prolific.errors import ProlificError
from annotation.platforms.prolific.places import start_by_hand
from annotation.platforms.prolific.sync import sync
from annotation.rights import right_to


@login_required
@require_GET
def page(request: ResearcherRequest, name: str) -> HttpResponse:
    """Where people can come from."""
    return _page(request, study_of(request, name, "own"))


def _page(
    request: ResearcherRequest,
    study: Study,
    sent: OnPage | None = None,
    draft: ProlificStudy | None = None,
    problem: str = "",
    status: int = 422,
) -> HttpResponse:
    """`sent` is the form to be shown with its errors: that of a `draft`, or another one."""

    def address(code: str) -> str:
        return request.build_absolute_uri(reverse("landing", args=[code]))

    of_drafts = token_of(account_of(request.user))
    first = study.prolific_studies.select_related("account__owner").first()
    preset = panel.PRESETS.get(request.GET.get("preset", ""), panel.PRESETS["other"])
    forms = {draft.pk: sent} if draft else {}
    asked = _asked(request, study)
    proposed = {name: getattr(preset, name) for name in panel.PRESET_FIELDS}
    context = {
        "study": study,
        "sent": sent,
        "problem": problem,
        "open_link": address(study.link_code),
        "panels": [
            {"panel": platform, "address": address(platform.code)}
            for platform in study.panels.all()
        ],
        "presets": panel.PRESETS,
        "preset": preset,
        "on_prolific": [
            _prolific_row(there, forms.get(there.pk) or DraftForm(there), asked)
            for there in study.prolific_studies.all()
        ],
        "to_publish": request.GET.get("publish", ""),
        "token": token_of(first.account) if first else of_drafts,
        "token_of_drafts": of_drafts,
        "may_draft": study.status == "open"
        and not study.prolific_studies.exclude(external_id=None).exists(),
        "costs": drafts.costs(study),
        **asked,
        "webhook": request.build_absolute_uri(reverse("prolific_webhook")),
    }
    context |= by_key(PanelForm(initial=proposed | {"name": preset.title}), PlanForm(), sent=sent)
    status = status if sent or problem else 200
    return render(request, "researcher/platforms.html", context, status=status)


def _asked(request: ResearcherRequest, study: Study) -> dict[str, Any]:
    """What Prolific says of the drafts, where the page is asked to ask it."""
    if request.GET.get("ask") != "prolific":
        return {}
    try:
        return {"asked": studies.ask(study)}
    except (drafts.PlanError, ProlificError) as error:
        return {"not_asked": str(error)}


def _prolific_row(there: ProlificStudy, form: OnPage, asked: dict[str, Any]) -> dict:
    submissions = there.submissions
    costs = {each.draft.pk: each.cost_in_words for each in asked.get("asked", [])}
    return {
        "study": there,
        "form": form,
        "scenarios": list(there.scenarios.select_related("task")),
        "reward": ledger.in_currency(there.reward_cents),
        "screen_out": ledger.in_currency(there.screen_out_cents),
        "sum": studies.sum_in_words(there),
        "may_publish": not there.external_id or there.status == "UNPUBLISHED",
        "with_fees": costs.get(there.pk),
        "submissions": submissions.count(),
        "free": studies.free_seats(there),
        "not_confirmed": submissions.filter(verified=False).select_related("participation"),
        "not_asked": submissions.filter(verified=None).count(),
    }


@login_required
@require_POST
def panel_new(request: ResearcherRequest, name: str) -> HttpResponse:
    """Another platform, with its parameter and its way back."""
    study = study_of(request, name, right_to("panel_new"))
    form = PanelForm(request.POST, instance=Panel(study=study))
    if not form.is_valid():
        return _page(request, study, form)
    try:
        with transaction.atomic():
            platform = form.save()
    except IntegrityError:
        form.add_error("name", "This study has a platform of this name already.")
        return _page(request, study, form)
    return redirect("panel_visit", study.name, platform.pk)


@login_required
@require_GET
def panel_visit(request: ResearcherRequest, name: str, pk: int) -> HttpResponse:
    """A test visit: what an address leads to, and back; it takes no seat and stores nothing."""
    study = study_of(request, name, "own")
    platform = get_object_or_404(study.panels, pk=pk)
    context = {
        "study": study,
        "panel": platform,
        "address": request.build_absolute_uri(reverse("landing", args=[platform.code])),
        "visit": panel.visit(platform, request.GET.get("query")),
    }
    return render(request, "researcher/panel.html", context)


@login_required
@require_POST
def prolific_plan(request: ResearcherRequest, name: str) -> HttpResponse:
    """Draft the studies on Prolific from the design."""
    study = study_of(request, name, right_to("prolific_plan"))
    form = PlanForm(request.POST)
    if not form.is_valid():
        return _page(request, study, form)
    try:
        drafts.plan(study, form.cleaned_data["annotation_parts"], request.user)
    except drafts.PlanError as error:
        return _page(request, study, problem=str(error), status=409)
    return redirect("platforms", study.name)


@login_required
@require_POST
def prolific_study(request: ResearcherRequest, name: str, pk: int) -> HttpResponse:
    """Change a draft, create and publish it on Prolific, or start it again there."""
    study = study_of(request, name, right_to("prolific_study"))
    draft = get_object_or_404(study.prolific_studies, pk=pk)
    action = request.POST.get("action")
    if action not in ("publish", "start"):
        return _change(request, study, draft)
    try:
        if action == "publish":
            budget.check_may_spend(request.user)
            budget.check_publication(study, studies.rewards(draft))
            studies.check_agreed(draft, request.POST.get("agreed", ""))
            studies.create(draft, request.build_absolute_uri("/"))
            messages.success(request, f"{draft.name} is published on Prolific.")
        else:
            start_by_hand(draft)
            messages.success(request, f"{draft.name} was restarted on Prolific.")
    except (drafts.PlanError, budget.BudgetError, ProlificError) as error:
        return _page(request, study, problem=str(error), status=409)
    return redirect("platforms", study.name)


def _change(request: ResearcherRequest, study: Study, draft: ProlificStudy) -> HttpResponse:
    form = DraftForm(draft, request.POST)
    if not form.is_valid():
        return _page(request, study, form, draft)
    try:
        drafts.change(draft, form.values())
    except drafts.PlanError as error:
        if draft.external_id:
            return _page(request, study, problem=str(error), status=409)
        form.add_error(error.field, str(error))
        return _page(request, study, form, draft)
    messages.success(request, f"{draft.name} was changed.")
    return redirect("platforms", study.name)


@login_required
@require_POST
def prolific_sync(request: ResearcherRequest, name: str) -> HttpResponse:
    """Sync with Prolific."""
    study = study_of(request, name, right_to("prolific_sync"))
    try:
        done = sync(study)
    except ProlificError as error:
        return _page(request, study, problem=str(error), status=409)
    messages.success(request, f"{done}.")
    for problem in done.problems[:10]:
        messages.warning(request, f"Not synced: {problem}")
    return redirect("platforms", study.name)
