"""Monitoring pages: the study list, a study's overview, its recruitment and its annotators."""

from typing import Any

from django.core.cache import caches
from django.core.paginator import Paginator
from django.db import connection
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import translation

from annotation import guards
from annotation.accounts import pages as accounts
from annotation.models import JUDGED_STEPS, REVEALED, Decision, Participation, Step, Study, Turn
from annotation.monitoring import decisions, flags, overview, participants, progress, todo
from annotation.monitoring.decisions import AnnotatorsForm, SelectionForm
from annotation.participation.reveal import reveal_page
from annotation.participation.state import own_data_file
from annotation.pay import budget, ledger
from annotation.prolific import review as prolific_review
from annotation.protocol import attention_checks, blinding, exclusion
from annotation.recruitment import pages as access
from annotation.recruitment.arrivals import current_exit
from annotation.study import compared_files, consequences, design, lifecycle, minutes, screening
from annotation.study import pages as study_pages
from annotation.web import wording
from annotation.web.access import ResearcherRequest, annotator_of, signed_in, study_of
from annotation.web.fields import OnPage, PageForm, by_key
from annotation.web.posts import Views, page, section, study_page
from annotation.web.wording import in_words
from tasks import listing
from tasks.clock import database_now
from tasks.comparison import compare_answer
from tasks.images import image_in
from tasks.models import Task


@signed_in("GET")
def studies(request: ResearcherRequest) -> HttpResponse:
    rows = overview.for_studies(Study.objects.visible_to(request.user))
    in_file = listing.wants_csv(request.GET)
    if needs_all := in_file or overview.is_counted(request.GET.get("sort", "")):
        overview.add_counts(rows)
    table = listing.listing(
        request.GET,
        rows,
        overview.COLUMNS,
        overview.text,
        overview.FILTERS,
        is_archived=lambda row: row.study.archived_at is not None,
    )
    if in_file:
        return table.as_csv("studies.csv")
    if not needs_all:
        overview.add_counts(table.page)
    context = {
        "listing": table if rows else None,
        "can_compare": sum("read" in row.study.rights for row in table.page) > 1,
        "has_tasks": Task.objects.exists(),
        "first_study": accounts.guide_for(request.user, (row.study for row in rows)),
        "missing_guards": guards.missing(connection),
    }
    return render(request, "monitoring/studies.html", context)


def _overview(request: ResearcherRequest, study: Study, problem: str = "") -> HttpResponse:
    rule = (study.qualification, study.shots, study.screening_examples)
    sums = consequences.for_study(study) if study.is_draft else None
    context = _live(study) | {
        "problem": problem,
        "actions": lifecycle.allowed_actions(study),
        "missing": design.missing(study) if study.is_draft else [],
        "doubts": minutes.doubts(study, list(study.tasks.all())) if study.is_draft else [],
        "sums": sums,
        "sum": sums.sum_in_words if sums else "",
        "unequal": screening.warning(*rule),
        "screened": screening.screened(*rule),
        "notice": budget.notice(study),
        "restrictions": consequences.restrictions(study),
        "link": wording.join_url(request, study.link_code),
    }
    return render(request, "monitoring/study.html", context)


study = study_page(_overview)
study_status = page(study_pages.ChangeStatus, _overview, to="study")


def _live(study: Study, known: progress.Facts | None = None) -> dict[str, Any]:
    current = progress.for_study(study, known)
    return {
        "study": study,
        "progress": current,
        "needs": todo.needs(study, current, database_now()),
        "money_bar": current.money.bar(study.budget, study.is_closed),
    }


def _recruit(request: ResearcherRequest, study: Study, form: OnPage | None = None) -> HttpResponse:
    link = wording.join_url(request, study.link_code)
    with translation.override(study.interface_language):
        invitation = wording.invitation(study.title, link)
    context = {
        "study": study, "link": link, "invitation": invitation,
        "progress": progress.for_study(study), **access.sections(study, form),
    }  # fmt: skip
    return render(request, "monitoring/recruit.html", context)


recruit = study_page(_recruit)
POSTS: Views = {
    access.ListEntries: section(access.ListEntries, _recruit, "recruit", "eligibility"),
    access.StudySwitches: section(access.StudySwitches, _recruit, "recruit", "open-link"),
    access.Seats: section(access.Seats, _recruit, "recruit", "seats"),
    access.Budget: section(access.Budget, _recruit, "recruit", "budget"),
}


def people_page(
    request: ResearcherRequest, study: Study, form: AnnotatorsForm | None = None
) -> HttpResponse:
    state = progress.for_study(study)
    # Read each scenario and task once, rather than once for each annotator.
    scenarios = {row.scenario.pk: row.scenario for row in state.seats}
    found = study.participations.only(*participants.SHOWN)
    rows = list(found.order_by("-arrived_at", "-pk"))
    for row in rows:
        row.scenario = scenarios[row.scenario_id]
    may_read, by_flag = "read" in study.rights, request.GET.get("show") == participants.FLAGGED
    findings = flags.by_name(study) if may_read else {}
    flagged = {participants.FLAGGED: ("Flagged", lambda person: bool(findings.get(person.pk)))}
    if by_flag:
        rows.sort(key=lambda person: -len(findings.get(person.pk, ())))
    text = participants.text_for_payers if "pay" in study.rights else participants.text
    query = request.GET.copy()
    undo = query.pop("undo", [])  # offered once, so not in links to other pages of the list
    in_file, column = listing.wants_csv(query), query.get("sort", "").removeprefix("-")
    if in_file or column in participants.IN_WORK:
        participants.participation_rows(study, rows, findings, "" if in_file else column)
    table = listing.listing(
        query, rows, participants.columns(study), text,
        participants.FILTERS | (flagged if may_read else {}), participants.PER_PAGE,
    )  # fmt: skip
    if in_file:
        return table.as_csv(f"{study.name}-people.csv")
    participations = participants.participation_rows(study, list(table.page), findings)
    if form is not None and "again" in request.POST:
        form.data = request.POST.copy()
        form.data["reason"] = ""  # the reason for undoing does not apply to other decisions
    context = {
        "excluded": [p.pseudonym for p in rows if p.pseudonym in undo and not p.in_analysis],
        "study": study,
        "progress": state,
        "listing": table,
        "participations": participations,
        "hides": any(row["is_hidden"] and row["annotated"] for row in participations),
        "can_select": not study.rights.isdisjoint({"own", "pay"})
        and any(row["may_be_selected"] for row in participations),
        "together": form or SelectionForm(),
        "reason": (form if form and "reason" in form.fields else SelectionForm())["reason"],
        "selected": request.POST.getlist("annotators"),
        "query": query.urlencode(),
    }
    return render(request, "monitoring/people.html", context)


people = study_page(people_page)


# Maps ?part= to the template for a part of a page that reloads automatically.
LIVE_PARTS = {
    "overview": "monitoring/_overview_live.html",
    "recruit": "monitoring/_scenarios.html",
    "people": "monitoring/_people_live.html",
}


@signed_in("GET")
def study_progress(request: ResearcherRequest, name: str) -> HttpResponse:
    """Return the part of a page that is polled every few seconds, or 204 if it is unchanged."""
    study = study_of(request, name, "see")
    template = LIVE_PARTS.get(request.GET.get("part", "overview"))
    if not request.htmx or template is None:
        return redirect("study", study.name)
    version = request.GET.get("seen", "")
    known = progress.facts(study)
    if not version or caches["process"].get(known.stamp) != version:
        context = _live(study, known)
        caches["process"].set(known.stamp, context["progress"].version, timeout=60)
        if context["progress"].version != version:
            return render(request, template, context)
    return HttpResponse(status=204)


ANSWERS_PER_PAGE = 50


@signed_in("GET")
def participation(request: ResearcherRequest, name: str, pseudonym: str) -> HttpResponse:
    return annotator_page(request, annotator_of(request, name, pseudonym, "see"))


@signed_in("GET")
def personal_data_file(request: ResearcherRequest, name: str, pseudonym: str) -> HttpResponse:
    annotator = annotator_of(request, name, pseudonym, "see")
    return own_data_file(annotator, annotator.study.rights)


def annotator_page(
    request: ResearcherRequest, annotator: Participation, form: PageForm | None = None
) -> HttpResponse:
    study = annotator.study
    may_read, may_pay = "read" in study.rights, "pay" in study.rights
    turns = annotator.turns if may_read else annotator.turns.none()
    turns = turns.select_related("example", "answer", "problem").prefetch_related("answer__spans")
    undecided = blinding.is_undecided(annotator)
    is_hidden = blinding.is_covered(annotator) or undecided
    spares_training = not blinding.hides_training(annotator, undecided)
    open_steps = (*JUDGED_STEPS, *REVEALED) if spares_training else ()
    wrong_only = request.GET.get("show") == "wrong"
    if wrong_only:
        # If only correct answers were left out, this would reveal hidden scores.
        turns = turns.filter(answer__s1__lt=1)
        turns = turns.filter(step__in=open_steps) if is_hidden else turns
    study_exit = current_exit(annotator) if may_pay else None
    part = Paginator(turns.order_by("pk"), ANSWERS_PER_PAGE).get_page(request.GET.get("page"))
    rows = [_answer_row(turn, is_hidden and turn.step not in open_steps) for turn in part]
    questions = {row["question"] for row in rows}
    log = list(annotator.decisions.select_related("by").readable_by(study.rights))
    on_prolific = annotator.submissions.exclude(prolific_study=None).last()
    scores = (annotator.activity_summary or {}).get("s1") or {}
    mean, _sd, annotated = scores.get(Step.ANNOTATION) or (0.0, None, 0)
    context: dict[str, Any] = {
        "study": study,
        "participation": annotator,
        "sent": form,
        "page": part,
        "is_hidden": is_hidden,
        "has_models": may_read and compared_files.has_models(study),
        "until_closed": blinding.UNTIL_CLOSED if study.covers_test_scores else "",
        "wrong_only": wrong_only,
        "neighbours": participants.neighbours(annotator),
        "rows": rows,
        "question": questions.pop() if len(questions) == 1 else "",
        "longest": max((row.get("seconds", 0) for row in rows), default=0),
        "decisions": log,
        "exclusion": next((d for d in reversed(log) if d.about == Decision.About.ANALYSIS), None),
        "flags": flags.findings_of(annotator) if may_read else [],
        "behaviour": flags.behaviour_in_words(annotator) if may_read else "",
        "completion_code": study_exit.code if study_exit else "",
        "worked": in_words(ledger.active_time(annotator)),
        "annotated": annotated,
        "mean_s1": 100 * mean,
        "entries": annotator.ledger.all() if may_pay else [],
        "checks": attention_checks.results(annotator) if may_read else (0, 0),
        "is_rejected": exclusion.rejected_elsewhere(study).filter(pk=annotator.pk).exists(),
        "reviewable": prolific_review.reviewable(on_prolific),
        "on_prolific": on_prolific,
    }
    blank = (
        *map(decisions.DecisionForm, decisions.DECIDE), decisions.BonusForm(subject=annotator),
        decisions.SeatForm(), decisions.WithdrawForm(), decisions.ReviewForm(),
    )  # fmt: skip
    context |= by_key(*blank, sent=form)
    return render(request, "monitoring/participation.html", context)


def _answer_row(turn: Turn, is_hidden: bool) -> dict[str, Any]:
    """Return a turn, with gold unless the score is hidden. The current turn has no answer yet."""
    card, example = turn.card, turn.example
    first = example.context[0]
    image = image_in(first)
    row = {
        "turn": turn,
        "question": card.wording(example.question),
        "context": example.context,
        "text": image.alt if image else first,
    }
    if turn.given is None:
        return row
    given = turn.given.as_given
    row |= {"answer": ", ".join(given.texts) or "no answer", "seconds": turn.given.active_seconds}
    if not is_hidden:
        comparison = compare_answer(card, example, given, example.gold)
        golds = dict.fromkeys(example.gold)
        row |= {
            "reveal": reveal_page(card, example, given, comparison),
            "gold": (" or " if card.gold_rule == "any_of" else ", ").join(golds) or "no answer",
        }
    return row


def _back_to_people(request: ResearcherRequest, _message: str, name: str) -> HttpResponse:
    return redirect(f"{reverse('people', args=[name], query=request.GET)}#participations")


def _offer_undo(request: ResearcherRequest, _message: str, name: str) -> HttpResponse:
    query = request.GET.copy()
    query.setlist("undo", request.POST.getlist("annotators"))
    return redirect(f"{reverse('people', args=[name], query=query)}#participations")


show_score = page(decisions.ShowScore, annotator_page, to="participation")
ANNOTATOR_POSTS = (
    decisions.Decide, decisions.Bonus, decisions.FreeSeat, decisions.Withdraw, decisions.Review,
)  # fmt: skip
POSTS |= {post: page(post, annotator_page, to="participation") for post in ANNOTATOR_POSTS} | {
    decisions.BulkDecide: page(decisions.BulkDecide, people_page, to=_back_to_people),
    decisions.BulkExclude: page(decisions.BulkExclude, people_page, to=_offer_undo),
    decisions.BulkPay: page(decisions.BulkPay, people_page, to="pay"),
    decisions.BulkWithdraw: page(decisions.BulkWithdraw, people_page, to=_back_to_people),
}
