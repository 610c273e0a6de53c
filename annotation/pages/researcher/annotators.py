"""The researcher's page of one annotator: answers beside the gold, in the analysis or not."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from annotation.access import study_of
from annotation.models import Decision, Participation, Turn
from annotation.money import budget, ledger
from annotation.money.amounts import read_amount
from annotation.monitoring import flags
from annotation.pages.worker.turn import reveal_page
from annotation.platforms.prolific import review as prolific_review
from annotation.platforms.prolific.client import ProlificError
from annotation.recruitment import seats
from annotation.steps import attention_checks, exclusion, qualification
from annotation.wording import in_words
from tasks.comparison import compare

PER_PAGE = 50


@login_required
@require_GET
def participation(request: HttpRequest, name: str, pseudonym: str) -> HttpResponse:
    """Everything that one annotator answered, in the order in which it was shown.

    Answers are for who may read them, money for who may pay.
    """
    return _page(request, _one(request, name, pseudonym, "see"))


@login_required
@require_POST
def decide(request: HttpRequest, name: str, pseudonym: str) -> HttpResponse:
    """Decide on analysis, pay, or admission to the annotation step."""
    about, reason = request.POST.get("about"), request.POST.get("reason", "")
    one = _one(request, name, pseudonym, "pay" if about == Decision.About.PAY else "own")
    wanted = request.POST.get("outcome") == "yes"
    try:
        if about == Decision.About.ANALYSIS:
            exclusion.decide(one, wanted, reason, request.user)
        elif about == Decision.About.PAY:
            ledger.decide(one, wanted, reason, request.user)
        elif about == Decision.About.QUALIFICATION:
            qualification.decide(
                one.token, wanted, reason.strip() or "no reason given", request.user
            )
        else:
            raise Http404
    except (exclusion.ExclusionError, ValueError) as error:
        return _page(request, one, problem=str(error), status=422)
    return redirect("participation", name, pseudonym)


@login_required
@require_POST
def bonus(request: HttpRequest, name: str, pseudonym: str) -> HttpResponse:
    """A bonus with its reason."""
    one = _one(request, name, pseudonym, "pay")
    try:
        amount = read_amount(request.POST.get("amount", ""))
        if amount > ledger.MAX_BONUS:
            raise ValueError(f"A bonus is at most {ledger.MAX_BONUS} {one.study.currency}.")
        reason = request.POST.get("reason", "")
        budget.give_bonus(one, ledger.cents(amount), reason, request.user)
    except ValueError as error:
        return _page(request, one, problem=str(error), status=422)
    return redirect("participation", name, pseudonym)


@login_required
@require_POST
def free_seat(request: HttpRequest, name: str, pseudonym: str) -> HttpResponse:
    """Free the seat of an annotator who does not return."""
    one = _one(request, name, pseudonym, "own")
    try:
        seats.free_by_hand(one, request.POST.get("reason", ""), request.user)
    except ValueError as error:
        return _page(request, one, problem=str(error), status=422)
    return redirect("participation", name, pseudonym)


@login_required
@require_POST
def review(request: HttpRequest, name: str, pseudonym: str) -> HttpResponse:
    """Ask for a return on Prolific, or reject there."""
    one = _one(request, name, pseudonym, "own")
    message = request.POST.get("message", "")
    try:
        if request.POST.get("action") == "return":
            prolific_review.ask_to_return(one, message)
            messages.success(request, "Prolific asks them to return it; they may or may not do so.")
        else:
            category = request.POST.get("category", "")
            prolific_review.reject(one, message, category, request.user)
            messages.success(request, "It is rejected on Prolific.")
    except (prolific_review.ReviewError, ProlificError) as error:
        return _page(request, one, problem=str(error), status=422)
    return redirect("participation", name, pseudonym)


@login_required
@require_GET
def behaviour_page(request: HttpRequest, name: str) -> HttpResponse:
    """Annotators with quality flags and their reasons, those with most flags first."""
    study = study_of(request, name, "read")
    again = qualification.flagged_again(study)
    found = flags.for_study(study)
    people = study.participations.select_related("scenario__task").order_by("scenario", "pk")
    rows = []
    for one in people.defer("training_order", "annotation_order"):
        _signs, raised = found.get(one.pk, (None, {}))
        said = [*raised.values(), *([again[one.pk]] if one.pk in again else [])]
        if said:
            rows.append({"participation": one, "flags": said})
    rows.sort(key=lambda row: -len(row["flags"]))
    context = {"study": study, "rows": rows, "seen": len(found)}
    return render(request, "researcher/behaviour.html", context)


def _one(request: HttpRequest, name: str, pseudonym: str, right: str) -> Participation:
    participations = study_of(request, name, right).participations.select_related("scenario__task")
    return get_object_or_404(participations, pseudonym=pseudonym)


def _page(
    request: HttpRequest, one: Participation, problem: str = "", status: int = 200
) -> HttpResponse:
    may_read, may_pay = "read" in one.study.rights, "pay" in one.study.rights
    turns = one.turns if may_read else one.turns.none()
    turns = turns.select_related("example", "answer").prefetch_related("answer__spans")
    page = Paginator(turns.order_by("pk"), PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": one.study,
        "participation": one,
        "page": page,
        "rows": [_row(one, turn) for turn in page],
        "decisions": _decisions(one, may_read, may_pay),
        "flags": _flags(one) if may_read else [],
        "worked": in_words(ledger.active_time(one)),
        "entries": one.ledger.all() if may_pay else [],
        "checks": attention_checks.results(one) if may_read else (0, 0),
        "reviewable": prolific_review.reviewable(one),
        "on_prolific": one.submissions.exclude(prolific_study=None).last(),
        "categories": prolific_review.CATEGORIES.items(),
        "problem": problem,
    }
    return render(request, "researcher/participation.html", context, status=status)


def _decisions(one: Participation, may_read: bool, may_pay: bool) -> QuerySet[Decision]:
    """Decisions on pay for payers; the others, which reveal scores, for readers of results."""
    on_pay = Q(about__in=[Decision.About.PAY, Decision.About.RELEASE])
    seen = (on_pay if may_pay else Q(pk=None)) | (~on_pay if may_read else Q(pk=None))
    return one.decisions.select_related("by").filter(seen)


def _flags(one: Participation) -> list[str]:
    """What is worth a look, in sentences."""
    _signs, raised = flags.for_study(one.study, one.scenario_id).get(one.pk, (None, {}))
    again = qualification.flagged_again(one.study).get(one.pk)
    return [*raised.values(), *([again] if again else [])]


def _row(one: Participation, turn: Turn) -> dict:
    """A turn with its answer beside the gold; without one it is the question they are at."""
    card, example = one.scenario.task.card, turn.example
    if turn.given is None:
        return {"turn": turn, "question": card.wording(example.question)}
    given = turn.given.as_given()
    question = card.selectable_question(example.question)
    found = compare(given, example.gold, card.gold_rule, example.context, question)
    return {
        "turn": turn,
        "reveal": reveal_page(card, example, given, found),
        "seconds": (turn.given.submitted_at - turn.shown_at).total_seconds(),
    }
