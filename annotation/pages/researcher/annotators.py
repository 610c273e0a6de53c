"""The researcher's page of one annotator: answers beside the gold, in the analysis or not."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotation.access import ResearcherRequest, annotator_of, study_of
from annotation.models import (
    JUDGED_STEPS,
    REVEALED,
    Decision,
    Participation,
    Status,
    Step,
    Study,
    Turn,
)
from annotation.money import budget, ledger
from annotation.monitoring import beside, flags, participants
from annotation.pages.fields import PageForm, by_key
from annotation.pages.own_data import own_data_file
from annotation.pages.researcher.forms.annotators import (
    BonusForm,
    DecisionForm,
    ReviewForm,
    SeatForm,
    TickedForm,
    TogetherForm,
    WithdrawForm,
)
from annotation.pages.researcher.studies import people_page
from annotation.pages.worker.reveal import reveal_page
from annotation.platforms.prolific import review as prolific_review
from annotation.platforms.prolific.errors import ProlificError
from annotation.platforms.registry import current_exit
from annotation.recruitment import expiry
from annotation.rights import right_to
from annotation.steps import (
    attention_checks,
    blinding,
    exclusion,
    qualification,
    withdrawal,
)
from annotation.wording import in_words
from tasks.comparison import compare_answer

PER_PAGE = 50


def _qualify(annotator: Participation, passes: bool, reason: str, by: User) -> None:
    qualification.decide(annotator.token, passes, reason, by)


DECIDE = {
    Decision.About.ANALYSIS: exclusion.decide,
    Decision.About.PAY: ledger.decide,
    Decision.About.QUALIFICATION: _qualify,
}


def page_of_decision(about: str) -> str:
    """The row of annotation/rights.py that a decision about this is."""
    return "participation_decide" + ("_pay" if about == Decision.About.PAY else "")


@login_required
@require_GET
def participation(request: ResearcherRequest, name: str, pseudonym: str) -> HttpResponse:
    """Everything that one annotator answered, in the order in which it was shown.

    Answers are for who may read them, money for who may pay.
    """
    return _page(request, annotator_of(request, name, pseudonym, "see"))


@login_required
@require_GET
def personal_data_file(request: ResearcherRequest, name: str, pseudonym: str) -> HttpResponse:
    """What this annotator may ask for, as far as the researcher may read it."""
    annotator = annotator_of(request, name, pseudonym, "see")
    return own_data_file(annotator, annotator.study.rights)


@login_required
@require_POST
def decide(request: ResearcherRequest, name: str, pseudonym: str) -> HttpResponse:
    """Decide on analysis, pay, or admission to the annotation step."""
    about = request.POST.get("about", "")
    annotator = annotator_of(request, name, pseudonym, right_to(page_of_decision(about)))
    if about not in DECIDE:
        raise Http404
    form = DecisionForm(about, request.POST)
    if not form.is_valid():
        return _page(request, annotator, form)
    sent = form.cleaned_data
    try:
        DECIDE[Decision.About(about)](annotator, sent["outcome"], sent["reason"], request.user)
    except exclusion.ExclusionError as error:
        form.add_error("reason", str(error))
        return _page(request, annotator, form)
    return redirect("participation", name, pseudonym)


@login_required
@require_POST
def decide_together(request: ResearcherRequest, name: str) -> HttpResponse:
    """One decision on admission about all who are ticked in the list, or about none of them."""
    study = study_of(request, name, right_to("people_decide"))
    ticked = request.POST.getlist("annotators")
    form = TogetherForm(ticked, request.POST)
    if not form.is_valid():
        return people_page(request, study, form)
    sent = form.cleaned_data
    try:
        qualification.decide_together(
            study, sent["annotators"], sent["outcome"], sent["reason"], request.user
        )
    except qualification.CannotDecide as error:
        return people_page(request, study, form, error.problems)
    messages.success(request, f"Decided about {len(set(ticked))}.")
    return redirect(f"{reverse('people', args=[name])}?{request.GET.urlencode()}#participations")


@login_required
@require_POST
def show_score(request: ResearcherRequest, name: str, pseudonym: str) -> HttpResponse:
    """Show the score and the gold before a decision; what is decided later says so."""
    blinding.show(
        annotator_of(request, name, pseudonym, right_to("participation_score")), request.user
    )
    return redirect("participation", name, pseudonym)


@login_required
@require_POST
def bonus(request: ResearcherRequest, name: str, pseudonym: str) -> HttpResponse:
    """A bonus with its reason."""
    annotator = annotator_of(request, name, pseudonym, right_to("participation_bonus"))
    form = BonusForm(annotator.study, request.POST)
    if not form.is_valid():
        return _page(request, annotator, form)
    amount = ledger.cents(form.cleaned_data["amount"])
    try:
        budget.give_bonus(annotator, amount, form.cleaned_data["reason"], request.user)
    except ValueError as error:
        form.add_error("amount", str(error))
        return _page(request, annotator, form)
    return redirect("participation", name, pseudonym)


@login_required
@require_POST
def free_seat(request: ResearcherRequest, name: str, pseudonym: str) -> HttpResponse:
    """Free the seat of an annotator who does not return."""
    annotator = annotator_of(request, name, pseudonym, right_to("participation_free_seat"))
    form = SeatForm(request.POST)
    if not form.is_valid():
        return _page(request, annotator, form)
    try:
        expiry.free_by_hand(annotator, form.cleaned_data["reason"], request.user)
    except ValueError as error:
        form.add_error("reason", str(error))
        return _page(request, annotator, form)
    return redirect("participation", name, pseudonym)


@login_required
@require_POST
def withdraw(request: ResearcherRequest, name: str, pseudonym: str) -> HttpResponse:
    """Withdraw an annotator who asked the researchers for it."""
    annotator = annotator_of(request, name, pseudonym, right_to("participation_withdraw"))
    form = WithdrawForm(request.POST)
    if not form.is_valid():
        return _page(request, annotator, form)
    try:
        withdrawal.withdraw_on_request(annotator, form.cleaned_data["reason"], request.user)
    except ValueError as error:
        form.add_error("reason", str(error))
        return _page(request, annotator, form)
    messages.success(request, "Withdrawn: the answers are erased.")
    return redirect("participation", name, pseudonym)


@login_required
@require_POST
def review(request: ResearcherRequest, name: str, pseudonym: str) -> HttpResponse:
    """Ask for a return on Prolific, or reject there."""
    annotator = annotator_of(request, name, pseudonym, right_to("participation_review"))
    form = ReviewForm(request.POST)
    if not form.is_valid():
        return _page(request, annotator, form)
    sent = form.cleaned_data
    try:
        if sent["action"] == "return":
            prolific_review.ask_to_return(annotator, sent["message"])
            messages.success(request, "Prolific asks them to return it; they may or may not do so.")
        else:
            prolific_review.reject(annotator, sent["message"], sent["category"], request.user)
            messages.success(request, "It is rejected on Prolific.")
    except (prolific_review.ReviewError, ProlificError) as error:
        form.add_error("message", str(error))
        return _page(request, annotator, form)
    return redirect("participation", name, pseudonym)


@login_required
@require_GET
def behaviour_page(request: ResearcherRequest, name: str) -> HttpResponse:
    """Annotators with quality flags and their reasons, those with most flags first."""
    return _behaviour(request, study_of(request, name, "read"))


def _behaviour(
    request: ResearcherRequest,
    study: Study,
    form: TickedForm | None = None,
    problems: dict[str, str] | None = None,
) -> HttpResponse:
    """The list, with an exclusion of several at once that was refused, if one was."""
    seen = flags.sentences(study)
    rows = flags.ranked(study, seen)
    context = {
        "study": study,
        "rows": rows,
        "seen": len(seen),
        "can_exclude": any(
            annotator.status == Status.COMPLETED and annotator.in_analysis for annotator, _f in rows
        ),
        "together": form or TickedForm(),
        "ticked": request.POST.getlist("annotators"),
        "problems": list((problems or {}).values()),
    }
    return render(request, "researcher/behaviour.html", context, status=422 if form else 200)


@login_required
@require_POST
def behaviour_exclude(request: ResearcherRequest, name: str) -> HttpResponse:
    """Exclude all who are ticked among those with quality flags, or none of them."""
    study = study_of(request, name, right_to("behaviour_exclude"))
    ticked = request.POST.getlist("annotators")
    form = TickedForm(ticked, request.POST)
    if not form.is_valid():
        return _behaviour(request, study, form)
    sent = form.cleaned_data
    try:
        exclusion.exclude_together(study, sent["annotators"], sent["reason"], request.user)
    except exclusion.CannotExclude as error:
        return _behaviour(request, study, form, error.problems)
    messages.success(request, f"Excluded from the analysis: {len(set(ticked))}.")
    return redirect("behaviour", name)


def _code(annotator: Participation) -> str:
    """The completion code that their last page shows; "" before their end."""
    way_out = current_exit(annotator)
    return way_out.code if way_out else ""


def _page(
    request: ResearcherRequest, annotator: Participation, sent: PageForm | None = None
) -> HttpResponse:
    study = annotator.study
    may_read, may_pay = "read" in study.rights, "pay" in study.rights
    turns = annotator.turns if may_read else annotator.turns.none()
    turns = turns.select_related("example", "answer").prefetch_related("answer__spans")
    undecided = blinding.is_undecided(annotator)
    is_hidden = blinding.is_covered(annotator) or undecided
    spares_training = not blinding.hides_training(annotator, undecided)
    told_steps = (*JUDGED_STEPS, *REVEALED) if spares_training else ()
    wrong_only = request.GET.get("show") == "wrong"
    if wrong_only:
        # What is hidden is not told by leaving the right ones out either.
        turns = turns.filter(answer__s1__lt=1)
        turns = turns.filter(step__in=told_steps) if is_hidden else turns
    page = Paginator(turns.order_by("pk"), PER_PAGE).get_page(request.GET.get("page"))

    def hides(turn: Turn) -> bool:
        return is_hidden and turn.step not in told_steps

    context: dict[str, Any] = {
        "study": study,
        "participation": annotator,
        "sent": sent,
        "page": page,
        "is_hidden": is_hidden,
        "until_closed": blinding.UNTIL_CLOSED if study.covers_test_scores else "",
        "wrong_only": wrong_only,
        "beside": _beside(annotator, is_hidden, told_steps) if may_read else [],
        "neighbours": participants.neighbours(annotator),
        "rows": [_row(annotator, turn, hides(turn)) for turn in page],
        "decisions": _decisions(annotator, may_read, may_pay),
        "flags": _flags(annotator) if may_read else [],
        "completion_code": _code(annotator) if may_pay else "",
        "worked": in_words(ledger.active_time(annotator)),
        "entries": annotator.ledger.all() if may_pay else [],
        "checks": attention_checks.results(annotator) if may_read else (0, 0),
        "is_rejected": exclusion.rejected_elsewhere(study).filter(pk=annotator.pk).exists(),
        "reviewable": prolific_review.reviewable(annotator),
        "on_prolific": annotator.submissions.exclude(prolific_study=None).last(),
    }
    blank = (*map(DecisionForm, DECIDE), BonusForm(study), SeatForm(), WithdrawForm(), ReviewForm())
    context |= by_key(*blank, sent=sent)
    return render(request, "researcher/participation.html", context, status=422 if sent else 200)


def _decisions(annotator: Participation, may_read: bool, may_pay: bool) -> QuerySet[Decision]:
    """Decisions on pay for payers; the others, which reveal scores, for readers of results."""
    on_pay = Q(about__in=[Decision.About.PAY, Decision.About.RELEASE])
    seen = (on_pay if may_pay else Q(pk=None)) | (~on_pay if may_read else Q(pk=None))
    return annotator.decisions.select_related("by").filter(seen)


def _beside(
    annotator: Participation, is_hidden: bool, told_steps: tuple[Step, ...]
) -> list[beside.Beside]:
    """This annotator beside the others, as far as scores may be seen."""
    untold = [step for step in Step if step not in told_steps] if is_hidden else []
    return beside.beside(annotator, untold)


def _flags(annotator: Participation) -> list[str]:
    return flags.sentences(annotator.study, annotator.scenario_id).get(annotator.pk, [])


def _row(annotator: Participation, turn: Turn, is_hidden: bool) -> dict:
    """A turn with its answer beside the gold; without one it is the question they are at.

    While the score is hidden it is the answer alone.
    """
    card, example = turn.card, turn.example
    if turn.given is None:
        return {"turn": turn, "question": card.wording(example.question)}
    given = turn.given.as_given()
    if is_hidden:
        return {
            "turn": turn,
            "question": card.wording(example.question),
            "context": example.context,
            "answer": ", ".join(given.texts) or "no answer",
            "seconds": (turn.given.submitted_at - turn.shown_at).total_seconds(),
        }
    comparison = compare_answer(card, example, given, example.gold)
    return {
        "turn": turn,
        "reveal": reveal_page(card, example, given, comparison),
        "seconds": (turn.given.submitted_at - turn.shown_at).total_seconds(),
    }
