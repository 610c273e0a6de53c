"""Monitoring pages: the study list, a study's overview, recruitment, participants."""

from typing import Any

from django.contrib import messages
from django.core.cache import caches
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import translation
from django.views.decorators.http import require_GET

from annotation import guards
from annotation.accounts import first_study
from annotation.models import Study
from annotation.monitoring import flags, overview, participants, progress, todo
from annotation.monitoring.decisions import TickedForm
from annotation.pay import budget
from annotation.recruitment import pages as access
from annotation.study import consequences, design, lifecycle, minutes, screening
from annotation.web import wording
from annotation.web.access import ResearcherRequest, signed_in, study_of
from annotation.web.fields import OnPage
from annotation.web.posts import Views, section
from annotation.web.rights import right_to
from tasks import listing
from tasks.clock import database_now
from tasks.models import Task


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    return render(request, "home.html")


@signed_in("GET")
def studies(request: ResearcherRequest) -> HttpResponse:
    rows = overview.for_studies(Study.objects.visible_to(request.user))
    shown = listing.listing(
        request.GET,
        rows,
        overview.COLUMNS,
        overview.text,
        overview.FILTERS,
        is_archived=lambda row: row.study.archived_at is not None,
    )
    if listing.wants_csv(request.GET):
        return shown.as_csv("studies.csv")
    context = {
        "listing": shown if rows else None,
        "has_tasks": Task.objects.exists(),
        "first_study": first_study.shown_to(request.user, (row.study for row in rows)),
        "missing_guards": guards.missing(connection),
    }
    return render(request, "monitoring/studies.html", context)


@signed_in("GET")
def study(request: ResearcherRequest, name: str) -> HttpResponse:
    context = _overview(request, study_of(request, name, "see"))
    return render(request, "monitoring/study.html", context)


def _overview(request: ResearcherRequest, study: Study) -> dict[str, Any]:
    rule = (study.qualification, study.shots, study.screening_examples)
    sums = consequences.for_study(study) if study.is_draft else None
    return _live(study) | {
        "actions": lifecycle.allowed_actions(study),
        "missing": design.missing(study) if study.is_draft else [],
        "doubts": minutes.doubts(study, list(study.tasks.all())) if study.is_draft else [],
        "sums": sums,
        "sum": sums.sum_in_words if sums else "",
        "unequal": screening.warning(*rule),
        "screened": screening.screened(*rule),
        "notice": budget.notice(study),
        "restrictions": consequences.in_force(study),
        "link": _link(request, study),
    }


def _live(study: Study) -> dict[str, Any]:
    current = progress.for_study(study)
    return {
        "study": study,
        "progress": current,
        "needs": todo.needs(study, current, database_now()),
        "money_bar": current.money.bar(study.budget, study.is_closed),
    }


def _link(request: ResearcherRequest, study: Study) -> str:
    return request.build_absolute_uri(reverse("landing", args=[study.link_code]))


@signed_in("GET")
def recruit(request: ResearcherRequest, name: str) -> HttpResponse:
    return _recruit(request, study_of(request, name, "see"))


def _recruit(request: ResearcherRequest, study: Study, sent: OnPage | None = None) -> HttpResponse:
    link = _link(request, study)
    with translation.override(study.interface_language):
        invitation = wording.invitation(study.title, link)
    context = {
        "study": study, "link": link, "invitation": invitation,
        "progress": progress.for_study(study), **access.sections(study, sent),
    }  # fmt: skip
    return render(request, "monitoring/recruit.html", context, status=422 if sent else 200)


lists = section(access.Lists, _recruit, "recruit", "eligibility")
switches = section(access.Switches, _recruit, "recruit", "open-link")
POSTS: Views = {
    access.Seats: section(access.Seats, _recruit, "recruit", "seats"),
    access.Budget: section(access.Budget, _recruit, "recruit", "budget"),
}


@signed_in("GET")
def people(request: ResearcherRequest, name: str) -> HttpResponse:
    return people_page(request, study_of(request, name, "see"))


def people_page(
    request: ResearcherRequest, study: Study, form: TickedForm | None = None
) -> HttpResponse:
    state = progress.for_study(study)
    # So that a scenario and its task are read once, not once for each annotator.
    scenarios = {row.scenario.pk: row.scenario for row in state.seats}
    rows = list(study.participations.only(*participants.SHOWN).order_by("-arrived_at", "-pk"))
    for row in rows:
        row.scenario = scenarios[row.scenario_id]
    may_read, asks = "read" in study.rights, request.GET.get("show") == participants.FLAGGED
    # Computing the flags of all annotators is expensive and needed only for this filter.
    seen = flags.sentences(study) if may_read and asks else {}
    flagged = {
        participants.FLAGGED: ("Flagged", (lambda p: bool(seen.get(p.pk))) if asks else None)
    }
    text = participants.text_for_payers if "pay" in study.rights else participants.text
    shown = listing.listing(
        request.GET,
        sorted(rows, key=lambda p: -len(seen.get(p.pk, ()))),
        participants.COLUMNS,
        text,
        participants.FILTERS | (flagged if may_read else {}),
        participants.PER_PAGE,
    )
    if listing.wants_csv(request.GET):
        return shown.as_csv(f"{study.name}-people.csv")
    if may_read and not asks:
        seen = flags.sentences(study, {person.scenario_id for person in shown.page})
    participations = participants.participation_rows(study, list(shown.page), seen)
    is_excluded, asked = participants.FILTERS["excluded"][1], request.GET.getlist("undo")
    context = {
        "excluded": [p.pseudonym for p in rows if p.pseudonym in asked and is_excluded(p)],
        "study": study,
        "progress": state,
        "listing": shown,
        "participations": participations,
        "hides": any(row["is_hidden"] for row in participations if row["mean_s1"] is not None),
        "can_select": any(row["may_be_selected"] for row in participations),
        "together": form or TickedForm(),
        "ticked": request.POST.getlist("annotators"),
        "query": request.GET.urlencode(),
    }
    return render(request, "monitoring/people.html", context, status=422 if form else 200)


# Maps ?part= to the template of a part of a page that reloads automatically.
LIVE_PARTS = {
    "overview": "monitoring/_overview_live.html",
    "recruit": "monitoring/_scenarios.html",
    "people": "monitoring/_people_live.html",
}


@signed_in("GET")
def study_progress(request: ResearcherRequest, name: str) -> HttpResponse:
    """Return the part of a page that polls every few seconds, or 204 if it is unchanged."""
    study = study_of(request, name, "see")
    template = LIVE_PARTS.get(request.GET.get("part", "overview"))
    if not request.htmx or template is None:
        return redirect("study", study.name)
    seen = request.GET.get("seen", "")
    stamp = progress.stamp(study) if seen else ""
    if not seen or caches["process"].get(stamp) != seen:
        context = _live(study)
        caches["process"].set(stamp, context["progress"].version, timeout=60)
        if context["progress"].version != seen:
            return render(request, template, context)
    return HttpResponse(status=204)


@signed_in("POST")
def study_status(request: ResearcherRequest, name: str) -> HttpResponse:
    study = study_of(request, name, right_to("study_status"))
    try:
        agreed = request.POST.get("agreed", "")
        lifecycle.change_status(study, request.POST.get("action", ""), request.user, agreed)
    except design.DesignError as error:
        context = _overview(request, study) | {"problem": str(error)}
        return render(request, "monitoring/study.html", context, status=409)
    messages.success(request, f"The study is now {study.status}.")
    return redirect("study", study.name)
