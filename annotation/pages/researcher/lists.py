"""The researcher's page of what stands outside the frozen design: lists, seats, budget."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from annotation.access import ResearcherRequest, study_of
from annotation.models import AccessRule, Study
from annotation.money import budget, ledger
from annotation.pages.fields import OnPage, by_key
from annotation.pages.researcher.forms.lists import (
    BudgetForm,
    EndForm,
    RuleForm,
    SeatsForm,
    SwitchesForm,
)
from annotation.recruitment import eligibility
from annotation.rights import right_to
from annotation.study import design, lifecycle


@login_required
@require_http_methods(["GET", "POST"])
def lists(request: ResearcherRequest, name: str) -> HttpResponse:
    """GET shows the lists and the seats; POST makes an entry, or ends one."""
    if request.method == "GET":
        return _page(request, study_of(request, name, "read"))
    study = study_of(request, name, right_to("lists"))
    return _end(request, study) if "end" in request.POST else _add(request, study)


def _end(request: ResearcherRequest, study: Study) -> HttpResponse:
    form = EndForm(study, request.POST)
    if not form.is_valid():
        return _page(request, study, form)
    eligibility.end_rule(study, form.cleaned_data["end"].pk, request.user)
    return redirect("lists", study.name)


def _add(request: ResearcherRequest, study: Study) -> HttpResponse:
    form = RuleForm(study, request.POST)
    if not form.is_valid():
        return _page(request, study, form)
    try:
        rule = eligibility.add_rule(study, **form.cleaned_data, by=request.user)
    except eligibility.RuleError as error:
        form.add_error("value", str(error))
        return _page(request, study, form)
    if rule.criterion == AccessRule.Criterion.PEOPLE:
        messages.success(request, eligibility.in_words(rule))
    return redirect("lists", study.name)


@login_required
@require_POST
def seats(request: ResearcherRequest, name: str) -> HttpResponse:
    """Give one scenario more seats."""
    study = study_of(request, name, right_to("seats"))
    form = SeatsForm(study, request.POST)
    if not form.is_valid():
        return _page(request, study, form)
    try:
        lifecycle.add_seats(**form.cleaned_data, by=request.user)
    except design.DesignError as error:
        field = "confirmed" if str(error) == lifecycle.AFTER_RESULTS else "number"
        form.add_error(field, str(error))
        return _page(request, study, form)
    return redirect("lists", study.name)


@login_required
@require_POST
def switches(request: ResearcherRequest, name: str) -> HttpResponse:
    """The open link on or off; one browser for several people or not."""
    study = study_of(request, name, right_to("switches"))
    form = SwitchesForm(request.POST)
    if not form.is_valid():
        return _page(request, study, form)
    lifecycle.switch(study, form.cleaned_data, request.user)
    return redirect("lists", study.name)


@login_required
@require_POST
def raise_budget(request: ResearcherRequest, name: str) -> HttpResponse:
    """Give the study a larger budget."""
    study = study_of(request, name, right_to("budget"))
    form = BudgetForm(study, request.POST)
    if not form.is_valid():
        return _page(request, study, form)
    try:
        lifecycle.raise_budget(study, form.cleaned_data["amount"], request.user)
    except design.DesignError as error:
        form.add_error("amount", str(error))
        return _page(request, study, form)
    return redirect("lists", study.name)


def _page(request: ResearcherRequest, study: Study, sent: OnPage | None = None) -> HttpResponse:
    spent, reserved = budget.spent(study), budget.reserved(study)
    context = {
        "study": study,
        "sent": sent,
        "rules": study.access_rules.select_related("made_by", "ended_by"),
        "spent": ledger.in_currency(spent),
        "reserved": ledger.in_currency(reserved),
        "room": budget.room(study, spent + reserved),
    }
    blank = (RuleForm(study), SwitchesForm(instance=study), SeatsForm(study), BudgetForm(study))
    context |= by_key(*blank, sent=sent)
    return render(request, "researcher/lists.html", context, status=422 if sent else 200)
