"""The annotator's pages: the landing page of a study, and one address for everything after Start.

GET /work/<token>/ shows the state of the participation, whatever it is; every POST moves it by one
step and answers with the new state. With htmx the reply is the fragment, without it a redirect.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import wraps

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers
from django_htmx.http import HttpResponseClientRedirect

from annotation import access, answering, recruitment, training_step, withdrawal
from annotation.models import Answer, Participation, Step, Turn
from annotation.turn_page import TurnPage, reveal_page
from tasks.spans import AnswerError

GONE = {
    Participation.Status.EXPIRED: "Nothing happened here for longer than this study allows, so your"
    " place was given up. If it is still free you can go on where you stopped.",
    Participation.Status.REFUSED: training_step.ALREADY_DONE,
    Participation.Status.WITHDRAWN: "You have withdrawn: all of your answers were erased. What you"
    " have earned so far is not affected.",
}


def worker_page(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Never cached: Back must not bring an answered question to life again."""
    return wraps(view)(never_cache(vary_on_headers("HX-Request")(view)))


@worker_page
@require_GET
def landing(request: HttpRequest, code: str) -> HttpResponse:
    """What it is, how long it takes, what it pays; Start, or why there is no seat."""
    arrival = access.arrival(request, code)
    theirs = arrival.study.participations.filter(worker__key=arrival.key).order_by("-pk")
    return _landing(request, arrival, theirs.live().first() or theirs.expired_at_work().first())


def _landing(
    request: HttpRequest,
    arrival: access.Arrival,
    live: Participation | None = None,
    refused: str = "",
    status: int = 200,
) -> HttpResponse:
    study = arrival.study
    state = refused or recruitment.refusal(study, arrival.key, arrival.kind) or "open"
    page = {
        "title": study.title,
        "what": sorted({s.task.card.description for s in study.scenarios.select_related("task")}),
        "minutes": study.estimated_minutes,
        "rate": f"{study.hourly_rate} {study.currency} per hour",
        "idle_limit_hours": study.idle_limit_hours,
        "state": "open" if live else state,
        "sentence": recruitment.NO_SEAT.get(state, ""),
        "resume_url": reverse("work", args=[live.token]) if live else "",
        "start_url": request.path
        if request.method == "POST"
        else reverse("start", args=[request.resolver_match.kwargs["code"]]),
    }
    return render(request, "worker/landing.html", {"study": study, "landing": page}, status=status)


@worker_page
@require_POST
def start(request: HttpRequest, code: str) -> HttpResponse:
    """Take a seat; without one, say why at once."""
    arrival = access.arrival(request, code)
    arrival.remember()
    try:
        participation = recruitment.join(
            arrival.study.pk, arrival.key, arrival.recruiter, arrival.kind
        )
    except recruitment.RecruitmentError as refusal:
        return _landing(request, arrival, refused=refusal.code, status=409)
    response = redirect("work", participation.token)
    arrival.set_cookie(response, secure=settings.HTTPS)
    return response


@worker_page
@require_GET
def work(request: HttpRequest, token: str) -> HttpResponse:
    """The state of the participation: consent, instructions, question, reveal or the end."""
    return _state(request, access.participation_of(token))


@worker_page
@require_POST
def consent(request: HttpRequest, token: str) -> HttpResponse:
    agree = request.POST.get("agree")
    if agree not in ("yes", "no"):
        return _state(
            request, access.participation_of(token), error="Please choose yes or no.", status=422
        )
    if agree == "no":
        # A second click finds nothing any more: the first has left nothing.
        for one in Participation.objects.filter(token=token):
            recruitment.consent(one, agree=False)
        return redirect("declined")
    recruitment.consent(access.participation_of(token), agree=True)
    return redirect("work", token)


@require_GET
def declined(request: HttpRequest) -> HttpResponse:
    """The same page for everybody who did not consent: nothing of them is kept."""
    return render(request, "worker/declined.html")


@worker_page
@require_POST
def come_back(request: HttpRequest, token: str) -> HttpResponse:
    """After the seat had expired: go on if one is free."""
    participation = access.participation_of(token)
    try:
        recruitment.come_back(participation)
    except recruitment.RecruitmentError as refusal:
        return _state(request, participation, notice=str(refusal), status=409)
    return redirect("work", token)


@worker_page
@require_http_methods(["GET", "POST"])
def withdraw(request: HttpRequest, token: str) -> HttpResponse:
    """GET asks once more; POST erases."""
    participation = access.participation_of(token)
    if request.method == "POST":
        withdrawal.withdraw(token)
        return redirect("work", token)
    answers = Answer.objects.filter(turn__participation=participation).count()
    page = {"participation": participation, "answers": answers}
    return render(request, "worker/withdraw.html", page)


@worker_page
@require_POST
def begin(request: HttpRequest, token: str) -> HttpResponse:
    participation = access.participation_of(token)
    try:
        training_step.begin(token)
    except answering.Conflict as conflict:
        return _state(request, participation, notice=str(conflict), status=409)
    return redirect("work", token)


@worker_page
@require_POST
def answer(request: HttpRequest, token: str) -> HttpResponse:
    """An answer arrives: DESIGN section 2's reply table."""
    turn_id = request.POST.get("turn", "")
    if not turn_id.isascii() or not turn_id.isdigit() or len(turn_id) > 18:
        raise Http404
    try:
        participation, turn = answering.submit(token, int(turn_id), request.POST)
    except (Participation.DoesNotExist, Turn.DoesNotExist):
        raise Http404 from None
    except answering.Conflict as conflict:
        return _state(request, access.participation_of(token), notice=str(conflict), status=409)
    except AnswerError as error:
        return _state(request, access.participation_of(token), error=str(error), status=422)
    return _after_post(request, participation, turn)


@worker_page
@require_POST
def go_on(request: HttpRequest, token: str) -> HttpResponse:
    """Continue after a reveal."""
    try:
        participation, turn = training_step.go_on(token)
    except Participation.DoesNotExist:
        raise Http404 from None
    return _after_post(request, participation, turn)


@worker_page
@require_POST
def next_task(request: HttpRequest, token: str) -> HttpResponse:
    """Start the next task of the study, where it allows more than one per worker."""
    participation = access.participation_of(token)
    worker = participation.worker
    try:
        following = recruitment.join(
            participation.study_id, worker.key, worker.recruiter, worker.kind
        )
    except recruitment.RecruitmentError as refusal:
        return _state(request, participation, notice=str(refusal), status=409)
    return redirect("work", following.token)


def _after_post(
    request: HttpRequest, participation: Participation, turn: Turn | None
) -> HttpResponse:
    """The new state: as a fragment for htmx, else by redirect (so that reload repeats nothing)."""
    if not request.htmx:
        return redirect("work", participation.token)
    if turn is None or not _shows_turn(participation):
        return HttpResponseClientRedirect(reverse("work", args=[participation.token]))
    return render(request, "worker/_turn.html", {"turn": turn_page(participation, turn)})


def _shows_turn(participation: Participation) -> bool:
    return participation.status == Participation.Status.WORKING


def _state(
    request: HttpRequest,
    participation: Participation,
    *,
    error: str = "",
    notice: str = "",
    status: int = 200,
) -> HttpResponse:
    """Show where this participation stands, as a page or (htmx, at a turn) as a fragment."""
    turn = participation.latest_turn() if _shows_turn(participation) else None
    said = {"error": error, "notice": notice}
    if turn is not None:
        page = turn_page(participation, turn, **said, sent=request.POST.dict() if error else {})
        if request.htmx:
            return render(request, "worker/_turn.html", {"turn": page}, status=status)
        context = {"turn": page, "stage": "turn"}
    else:
        if request.htmx:
            return HttpResponseClientRedirect(reverse("work", args=[participation.token]))
        context = {**_around_the_turns(participation), **said}
    study, scenario = participation.study, participation.scenario
    shared = {
        "study": study,
        "participation": participation,
        "card": scenario.task.card,
        "minutes": study.estimated_minutes,
        "resume_url": request.build_absolute_uri(reverse("work", args=[participation.token])),
    }
    return render(request, "worker/work.html", shared | context, status=status)


def _around_the_turns(participation: Participation) -> dict:
    """What the pages before the first and after the last turn show."""
    token, scenario = participation.token, participation.scenario
    if participation.status == Participation.Status.ARRIVED:
        return {
            "stage": "consent",
            "consent_paragraphs": paragraphs(participation.study.consent_text),
            "consent_url": reverse("consent", args=[token]),
        }
    if participation.status == Participation.Status.WORKING:
        card, training = scenario.task.card, 0
        if scenario.shots:
            training = scenario.task.train_split(
                scenario.shots, scenario.split_number
            ).examples.count()
        return {
            "stage": "instructions",
            "instructions": paragraphs(card.instructions),
            "help_windows": card.help_windows,
            "show_examples": scenario.shows_help_examples,
            "shots": scenario.shots,
            "training_total": training,
            "test_total": scenario.task.test_split.examples.count(),
            "begin_url": reverse("begin", args=[token]),
        }
    if participation.status == Participation.Status.COMPLETED:
        last = participation.latest_turn()
        return {
            "stage": "finished",
            "code": participation.completion_code,
            "worked": in_words(last.worked_until(last.answer.submitted_at)),
            "next_task": recruitment.next_task_is_offered(participation),
            "next_task_url": reverse("next_task", args=[token]),
        }
    return {
        "stage": "gone",
        "reason": GONE[Participation.Status(participation.status)],
        "may_come_back": participation.status == Participation.Status.EXPIRED,
        # Withdrawing does not touch what was earned: the code must still be there to be entered.
        "code": participation.completion_code if participation.finished_at else "",
    }


def turn_page(participation: Participation, turn: Turn, **said) -> TurnPage:
    """The page of a turn: its question, or (training step, answered) its reveal."""
    scenario = participation.scenario
    card = scenario.task.card
    turn.participation = participation
    revealed = None
    if turn.step == Step.TRAINING and turn.given is not None:
        revealed = reveal_page(
            card, turn.example, turn.answer.as_given(), training_step.reveal(turn)
        )
    return TurnPage(
        card=card,
        example=turn.example,
        step=turn.step,
        number=turn.position + 1,
        total=len(participation.order_of(turn.step)),
        key=str(turn.pk),
        answer_url=reverse("answer", args=[participation.token]),
        continue_url=reverse("continue", args=[participation.token]),
        shows_examples=scenario.shows_help_examples,
        training_total=len(participation.training_order),
        worked_seconds=int(turn.worked_until(timezone.now()).total_seconds()),
        reveal=revealed,
        **said,
    )


def in_words(time: timedelta) -> str:
    """1 h 12 min."""
    hours, minutes = divmod(round(time.total_seconds() / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def paragraphs(text: str) -> list[str]:
    """Split plain text at blank lines."""
    return [part.strip() for part in text.replace("\r\n", "\n").split("\n\n") if part.strip()]
