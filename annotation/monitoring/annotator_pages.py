"""Researchers' page about one annotator: answers compared with gold, decisions, data."""

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from annotation.models import JUDGED_STEPS, REVEALED, Decision, Participation, Step, Turn
from annotation.monitoring import decisions, flags, participants
from annotation.monitoring.pages import people_page
from annotation.participation.reveal import reveal_page
from annotation.participation.state import own_data_file
from annotation.pay import ledger
from annotation.prolific import review as prolific_review
from annotation.protocol import attention_checks, blinding, exclusion
from annotation.recruitment.registry import current_exit
from annotation.study import compared_files
from annotation.web.access import ResearcherRequest, annotator_of, signed_in
from annotation.web.fields import PageForm, by_key
from annotation.web.posts import Views, page
from annotation.web.wording import in_words
from tasks.comparison import compare_answer
from tasks.images import image_in

PER_PAGE = 50


@signed_in("GET")
def participation(request: ResearcherRequest, name: str, pseudonym: str) -> HttpResponse:
    return _page(request, annotator_of(request, name, pseudonym, "see"))


@signed_in("GET")
def personal_data_file(request: ResearcherRequest, name: str, pseudonym: str) -> HttpResponse:
    annotator = annotator_of(request, name, pseudonym, "see")
    return own_data_file(annotator, annotator.study.rights)


def _page(
    request: ResearcherRequest, annotator: Participation, sent: PageForm | None = None
) -> HttpResponse:
    study = annotator.study
    may_read, may_pay = "read" in study.rights, "pay" in study.rights
    turns = annotator.turns if may_read else annotator.turns.none()
    turns = turns.select_related("example", "answer", "problem").prefetch_related("answer__spans")
    undecided = blinding.is_undecided(annotator)
    is_hidden = blinding.is_covered(annotator) or undecided
    spares_training = not blinding.hides_training(annotator, undecided)
    told_steps = (*JUDGED_STEPS, *REVEALED) if spares_training else ()
    wrong_only = request.GET.get("show") == "wrong"
    if wrong_only:
        # Leaving out only correct answers would reveal hidden scores.
        turns = turns.filter(answer__s1__lt=1)
        turns = turns.filter(step__in=told_steps) if is_hidden else turns
    untold = [step for step in Step if step not in told_steps] if is_hidden else []
    way_out = current_exit(annotator) if may_pay else None
    part = Paginator(turns.order_by("pk"), PER_PAGE).get_page(request.GET.get("page"))
    rows = [_row(turn, is_hidden and turn.step not in told_steps) for turn in part]
    made = list(annotator.decisions.select_related("by").readable_by(study.rights))
    context: dict[str, Any] = {
        "study": study,
        "participation": annotator,
        "sent": sent,
        "page": part,
        "is_hidden": is_hidden,
        "has_models": may_read and compared_files.has_models(study),
        "until_closed": blinding.UNTIL_CLOSED if study.covers_test_scores else "",
        "wrong_only": wrong_only,
        "beside": participants.beside(annotator, untold) if may_read else [],
        "neighbours": participants.neighbours(annotator),
        "rows": rows,
        "longest": max((row.get("seconds", 0) for row in rows), default=0),
        "decisions": made,
        "exclusion": next((d for d in reversed(made) if d.about == Decision.About.ANALYSIS), None),
        "flags": flags.of_one(annotator) if may_read else [],
        "behaviour": flags.behaviour_in_words(annotator) if may_read else "",
        "completion_code": way_out.code if way_out else "",
        "worked": in_words(ledger.active_time(annotator)),
        "entries": annotator.ledger.all() if may_pay else [],
        "checks": attention_checks.results(annotator) if may_read else (0, 0),
        "is_rejected": exclusion.rejected_elsewhere(study).filter(pk=annotator.pk).exists(),
        "reviewable": prolific_review.reviewable(annotator),
        "on_prolific": annotator.submissions.exclude(prolific_study=None).last(),
    }
    blank = (
        *map(decisions.DecisionForm, decisions.DECIDE), decisions.BonusForm(study),
        decisions.SeatForm(), decisions.WithdrawForm(), decisions.ReviewForm(),
    )  # fmt: skip
    context |= by_key(*blank, sent=sent)
    return render(request, "monitoring/participation.html", context, status=422 if sent else 200)


def _row(turn: Turn, is_hidden: bool) -> dict[str, Any]:
    """Return a turn, with gold unless the score is hidden. The current turn has no answer."""
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
    given = turn.given.as_given()
    row |= {"answer": ", ".join(given.texts) or "no answer", "seconds": turn.given.active_seconds}
    if not is_hidden:
        comparison = compare_answer(card, example, given, example.gold)
        golds = dict.fromkeys(example.gold)
        row |= {
            "reveal": reveal_page(card, example, given, comparison),
            "gold": (" or " if card.gold_rule == "any_of" else ", ").join(golds) or "no answer",
        }
    return row


def _back_to_people(request: ResearcherRequest, _done: str, name: str) -> HttpResponse:
    query = request.GET.copy()
    query.setlist("undo", request.POST.getlist("annotators"))
    return redirect(f"{reverse('people', args=[name], query=query)}#participations")


decide = page(decisions.Decide, _page, to="participation")
show_score = page(decisions.ShowScore, _page, to="participation")
OF_ONE = (decisions.Bonus, decisions.FreeSeat, decisions.Withdraw, decisions.Review)
POSTS: Views = {post: page(post, _page, to="participation") for post in OF_ONE}
decide_together = page(decisions.DecideTogether, people_page, to=_back_to_people)
behaviour_exclude = page(decisions.ExcludeTogether, people_page, to=_back_to_people)
