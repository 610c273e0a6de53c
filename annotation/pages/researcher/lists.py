"""The researcher's page of what stands outside the frozen design: lists, seats, the log."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from annotation.access import study_of
from annotation.models import AccessRule, Study
from annotation.money import budget, ledger
from annotation.money.amounts import AmountField
from annotation.recruitment import eligibility
from annotation.study import design, lifecycle


@login_required
@require_http_methods(["GET", "POST"])
def lists(request: HttpRequest, name: str) -> HttpResponse:
    """GET shows the lists, the seats and the log; POST makes an entry, or ends one."""
    study = study_of(request, name, "read" if request.method == "GET" else "own")
    if request.method == "GET":
        return _page(request, study)
    ended = request.POST.get("end", "")
    if ended.isdecimal():
        eligibility.end_rule(study, int(ended[:18]), request.user)
        return redirect("lists", study.name)
    fields = {
        field: request.POST.get(field, "") for field in ("effect", "criterion", "value", "platform")
    }
    try:
        rule = eligibility.add_rule(study, **fields, by=request.user)
    except eligibility.RuleError as error:
        return _page(request, study, problem=str(error), status=422)
    if rule.criterion == AccessRule.Criterion.PEOPLE:
        known = eligibility.known(rule)
        messages.success(
            request, f"{rule.listed.count()} on the list; {known} of them have already been here."
        )
    return redirect("lists", study.name)


@login_required
@require_POST
def seats(request: HttpRequest, name: str) -> HttpResponse:
    """Give one scenario more seats."""
    study = study_of(request, name, "own")
    chosen, number = request.POST.get("scenario", ""), request.POST.get("number", "")
    if not chosen.isdecimal() or not number.isdecimal() or len(number) > 5:
        return _page(request, study, problem="Write how many seats to add.", status=422)
    scenario = get_object_or_404(study.scenarios, pk=int(chosen[:18]))
    try:
        lifecycle.add_seats(scenario, int(number), request.user)
    except design.DesignError as error:
        return _page(request, study, problem=str(error), status=422)
    return redirect("lists", study.name)


@login_required
@require_POST
def switches(request: HttpRequest, name: str) -> HttpResponse:
    """The open link on or off; one browser for several people or not."""
    study = study_of(request, name, "own")
    lifecycle.switch(study, {one: one in request.POST for one in lifecycle.SWITCHES}, request.user)
    return redirect("lists", study.name)


@login_required
@require_POST
def raise_budget(request: HttpRequest, name: str) -> HttpResponse:
    """Give the study a larger budget."""
    study = study_of(request, name, "own")
    try:
        amount = AmountField(max_digits=9, decimal_places=2).clean(request.POST.get("amount", ""))
        lifecycle.raise_budget(study, amount, request.user)
    except ValidationError as error:
        return _page(request, study, status=422, budget_problem=" ".join(error.messages))
    except design.DesignError as error:
        return _page(request, study, status=422, budget_problem=str(error))
    return redirect("lists", study.name)


def _page(
    request: HttpRequest, study: Study, problem: str = "", status: int = 200, **said: str
) -> HttpResponse:
    context = {
        "study": study,
        "switches": [
            {
                "name": one,
                "words": Study._meta.get_field(one).verbose_name,
                "on": getattr(study, one),
            }
            for one in lifecycle.SWITCHES
        ],
        "rules": study.access_rules.select_related("made_by", "ended_by"),
        "effects": AccessRule.Effect.choices,
        "criteria": AccessRule.Criterion.choices,
        "platforms": eligibility.platforms(study),
        "scenarios": study.scenarios.select_related("task"),
        "events": study.events.select_related("by"),
        "problem": problem,
        "spent": ledger.in_currency(budget.spent(study)),
        "reserved": ledger.in_currency(budget.reserved(study)),
        "room": budget.room(study),
        "sent": request.POST.dict() if status != 200 else {},
    }
    return render(request, "researcher/lists.html", context | said, status=status)
