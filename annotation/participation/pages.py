"""Annotators' pages: a study's landing page, and the pages of a participation.

GET /work/<token>/ shows the current state of the participation. Each POST performs one step and
returns the new state: as a fragment for htmx, otherwise through a redirect.
"""

import re
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.core import signing
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_http_methods
from django.views.decorators.vary import vary_on_headers
from django_htmx.http import HttpResponseClientRedirect

from annotation.models import Answer, Channel, OwnAnswer, Participation, Status, Turn
from annotation.participation.forms import ComprehensionForm, ConsentForm, OwnForm, ProblemForm
from annotation.participation.landing import count_refusal, landing_page
from annotation.participation.state import (
    exit_form,
    next_instructions,
    own_data_file,
    page_outside_turns,
    try_out_is_offered,
    try_out_page,
)
from annotation.participation.turn import render_turn, tried, turn_page
from annotation.privacy import withdrawal
from annotation.protocol import answering, own_questions, qualification, training_step
from annotation.recruitment import consent as consent_step
from annotation.recruitment import join_errors, seats, visitors
from annotation.recruitment.platform_adapters import Exit, NotAdmitted
from annotation.web import access
from annotation.web.fields import PageForm, by_key
from annotation.web.wording import script_sentences, translated
from tasks.spans import AnswerError


def worker_page(*methods: str) -> Callable[[Callable[..., HttpResponse]], Any]:
    """Decorate an annotator's page: allow these methods, set the language, and handle refusals.

    A refused step shows the unchanged state with the message (docs/protocol.md#replies). After
    declining, the Back button leads to a URL whose participation has been deleted.
    """

    def decorated(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        limited = require_http_methods(methods)(view)

        @wraps(view)
        def guarded(request: access.PageRequest, *args: str, **kwargs: str) -> HttpResponse:
            with translation.override(settings.LANGUAGE_CODE):
                try:
                    try:
                        return limited(request, *args, **kwargs)
                    except (answering.Conflict, join_errors.RecruitmentError) as conflict:
                        participation = visitors.participation_of(kwargs["token"])
                        return _state(request, participation, notice=str(conflict), status=409)
                    except AnswerError as error:
                        participation = visitors.participation_of(kwargs["token"])
                        message = translated(error.sentence)
                        return _state(request, participation, error=message, status=422)
                except NotAdmitted as refused:
                    context = {"reason": refused}
                    return render(request, "participation/not_admitted.html", context, status=403)
                except (Http404, Participation.DoesNotExist, Turn.DoesNotExist):
                    # A withdrawal in another tab erases the turns. Scripts then reload the page.
                    gone = Participation.objects.filter(status=Status.WITHDRAWN)
                    if not request.htmx and gone.filter(token=kwargs.get("token")).exists():
                        participation = visitors.participation_of(kwargs["token"])
                        return _state(request, participation, status=404)
                    translation.activate(visitors.language_of(request))
                    return render(request, "participation/not_found.html", status=404)

        return vary_on_headers("HX-Request")(guarded)

    return decorated


@worker_page("GET")
def landing(request: access.PageRequest, code: str) -> HttpResponse:
    arrival = visitors.arrival(request, code)
    return _landing(request, arrival, arrival.live())


def _landing(
    request: access.PageRequest,
    arrival: visitors.Arrival,
    live: Participation | None = None,
    refused: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {"study": arrival.study, "landing": landing_page(arrival, live, refused)}
    return render(request, "participation/landing.html", context, status=status)


@worker_page("POST")
def start(request: access.PageRequest, code: str) -> HttpResponse:
    arrival = visitors.arrival(request, code, request.POST.get("arrival", ""))
    try:
        participation = arrival.start()
    except join_errors.RecruitmentError as refusal:
        if refusal.code == "busy":
            response = _landing(request, arrival, refused="busy", status=429)
            response["Retry-After"] = str(visitors.WINDOW)
            return response
        # The page of a preview already explains this.
        refused = "" if refusal.code == "preview" else refusal.code
        return _landing(request, arrival, refused=refused, status=409)
    response = redirect("work", participation.token)
    arrival.set_cookie(response, secure=settings.HTTPS)
    return response


@worker_page("POST")
def refused(request: access.PageRequest, code: str) -> HttpResponse:
    """Count a refusal that was shown on the landing page, once per reason and browser."""
    arrival = visitors.arrival(request, code, request.POST.get("arrival", ""))
    response = HttpResponse(status=204)
    count_refusal(request, arrival, response)
    return response


@worker_page("GET")
def work(request: access.PageRequest, token: str) -> HttpResponse:
    return _state(request, visitors.participation_of(token))


@worker_page("POST")
def consent(request: access.PageRequest, token: str) -> HttpResponse:
    form = ConsentForm(request.POST)
    if not form.is_valid():
        participation = visitors.participation_of(token)
        return _state(request, participation, error=gettext("Please choose yes or no."), status=422)
    if form.cleaned_data["agree"] == "yes":
        consent_step.record(visitors.participation_of(token), agree=True)
        return redirect("work", token)
    language = visitors.language_of(request)
    query = {} if language == settings.LANGUAGE_CODE else {"language": language}
    try:
        study_exit = consent_step.decline(token)
    except consent_step.Agreed:
        return redirect("work", token)
    if study_exit is not None:
        query["exit"] = signing.dumps([study_exit.code, study_exit.url, study_exit.platform])
    return redirect(reverse("declined", query=query))


@require_GET
def declined(request: access.PageRequest) -> HttpResponse:
    """Show the page that follows declining, when the participation has been deleted.

    The link back to the platform is therefore signed and passed in the URL.
    """
    try:
        study_exit = Exit(*signing.loads(request.GET.get("exit", "")))
    except signing.BadSignature:
        study_exit = None
    language = request.GET.get("language", "")
    with translation.override(language if language in dict(settings.LANGUAGES) else "en"):
        return render(request, "participation/declined.html", {"exit": study_exit})


@worker_page("POST")
def comprehend(request: access.PageRequest, token: str) -> HttpResponse:
    participation = visitors.participation_of(token)
    if not own_questions.comprehension_is_open(participation):
        return redirect("work", token)
    form = ComprehensionForm(participation.study, request.POST)
    if form.is_valid():
        form.mark(own_questions.answer_comprehension(token, form.cleaned_data))
        participation = visitors.participation_of(token)
    if form.is_valid() or participation.status != Status.WORKING:
        return redirect(f"{reverse('work', args=[token])}#begin")
    return _state(request, participation, form, error=form.message(), status=422)


@worker_page("POST")
def wait(request: access.PageRequest, token: str) -> HttpResponse:
    """Continue if the decision has been made or is overdue; otherwise, return 204 to htmx."""
    participation = qualification.move_on(token)
    if request.htmx and participation.status == Status.WAITING:
        return HttpResponse(status=204)
    if request.htmx:
        return HttpResponseClientRedirect(reverse("work", args=[token]))
    return redirect("work", token)


def turn_of(request: access.PageRequest) -> int:
    """Return the number of the turn from the form, or raise Http404."""
    number = request.POST.get("turn", "").strip()
    if not re.fullmatch(r"[0-9]{1,18}", number):
        raise Http404
    return int(number)


@worker_page("POST")
def ping(request: access.PageRequest, token: str) -> HttpResponse:
    answering.ping(token, turn_of(request), request.POST)
    return HttpResponse(status=204)


@worker_page("POST")
def draft(request: access.PageRequest, token: str) -> HttpResponse:
    try:
        answering.keep_draft(token, turn_of(request), request.POST)
    except AnswerError:
        return HttpResponse(status=400)
    return HttpResponse(status=204)


@worker_page("POST")
def exit_questionnaire(request: access.PageRequest, token: str) -> HttpResponse:
    participation = visitors.participation_of(token)
    form = exit_form(participation, request.POST)
    if form is None:  # it has already been answered
        return redirect("work", token)
    if not form.is_valid():
        return _state(request, participation, form, status=422)
    own_questions.answer_exit(token, form.cleaned_data)
    own_questions.answer(token, OwnAnswer.Moment.AFTER, form.answers())
    return redirect("work", token)


@worker_page("POST")
def custom_questions(request: access.PageRequest, token: str) -> HttpResponse:
    participation = visitors.participation_of(token)
    form = OwnForm(own_questions.unanswered(participation, OwnAnswer.Moment.BEFORE), request.POST)
    if not form.is_valid():
        return _state(request, participation, form, status=422)
    own_questions.answer(token, OwnAnswer.Moment.BEFORE, form.answers())
    return redirect("work", token)


@worker_page("POST")
def resume(request: access.PageRequest, token: str) -> HttpResponse:
    seats.resume(visitors.participation_of(token))
    return redirect("work", token)


@worker_page("GET", "POST")
def withdraw(request: access.PageRequest, token: str) -> HttpResponse:
    participation = visitors.participation_of(token)
    if request.method == "POST":
        withdrawal.withdraw(token)
        return redirect("work", token)
    answers = Answer.objects.filter(turn__participation=participation).count()
    page = {"participation": participation, "answers": answers}
    return render(request, "participation/withdraw.html", page)


@worker_page("GET")
def own_data(request: access.PageRequest, token: str) -> HttpResponse:
    return own_data_file(visitors.participation_of(token))


@worker_page("GET", "POST")
def problem(request: access.PageRequest, token: str) -> HttpResponse:
    participation = visitors.participation_of(token)
    form, turn = ProblemForm(request.POST or None), participation.latest_turn()
    if form.is_valid():
        turn_id, text = turn_of(request), form.cleaned_data["text"]
        answering.report_problem(token, turn_id, text, Channel.PAGE)
        return redirect("problem" if turn and turn.pk == turn_id else "work", token)
    if turn is None or not participation.is_live:
        return redirect("work", token)
    page = {"participation": participation, "turn": turn_page(participation, turn)}
    page |= {"report": getattr(turn, "problem", None), "problem_form": form}
    status = 422 if form.is_bound else 200
    return render(request, "participation/problem.html", page, status=status)


@worker_page("GET", "POST")
def try_tool(request: access.PageRequest, token: str, number: int) -> HttpResponse:
    """Show an invented sentence. POST shows whether the answer is correct, without storing it."""
    participation = visitors.participation_of(token)
    page = try_out_page(participation, number) if try_out_is_offered(participation) else None
    if page is None:
        address = reverse("work", args=[token])
        return HttpResponseClientRedirect(address) if request.htmx else redirect(address)
    status = 200
    if "turn" in request.POST:  # otherwise, Continue was pressed for the previous sentence
        page, status = tried(page, request.POST)
    return render_turn(request, page, status, participation=participation)


@worker_page("POST")
def begin(request: access.PageRequest, token: str) -> HttpResponse:
    training_step.begin(token)
    return redirect("work", token)


@worker_page("POST")
def answer(request: access.PageRequest, token: str) -> HttpResponse:
    """Store an answer. The possible responses are listed in docs/protocol.md#replies."""
    try:
        participation, turn = answering.submit(token, turn_of(request), request.POST)
    except AnswerError:
        if not answering.REPORTED.keys().isdisjoint(request.POST):
            answering.ping(token, turn_of(request), request.POST)
        raise
    return _after_post(request, participation, turn)


@worker_page("POST")
def confidence(request: access.PageRequest, token: str) -> HttpResponse:
    number, channel = turn_of(request), Channel.PAGE
    return _after_post(request, *answering.rate_confidence(token, number, request.POST, channel))


@worker_page("POST")
def go_on(request: access.PageRequest, token: str) -> HttpResponse:
    return _after_post(request, *training_step.go_on(token, request.POST.get("leaving", "")))


@worker_page("POST")
def next_task(request: access.PageRequest, token: str) -> HttpResponse:
    return redirect("work", seats.next_task(visitors.participation_of(token)).token)


def _after_post(
    request: access.PageRequest, participation: Participation, turn: Turn | None
) -> HttpResponse:
    """Return the new state as a fragment for htmx, or redirect so that reloading is safe."""
    translation.activate(participation.scenario.design.interface_language)
    if not request.htmx:
        return redirect("work", participation.token)
    if (
        turn is None
        or participation.status != Status.WORKING
        or (turn.is_revealed and training_step.card_shown_after(participation, turn))
    ):
        return HttpResponseClientRedirect(reverse("work", args=[participation.token]))
    return render_turn(request, turn_page(participation, turn))


def _state(
    request: access.PageRequest,
    participation: Participation,
    form: PageForm | None = None,
    *,
    error: str = "",
    notice: str = "",
    status: int = 200,
) -> HttpResponse:
    is_working = participation.status == Status.WORKING
    turn = participation.latest_turn() if is_working else None
    card = training_step.card_shown_after(participation, turn)
    address = reverse("work", args=[participation.token])
    shared = {
        "study": participation.study,
        "participation": participation,
        "minutes": participation.scenario.estimated_minutes,
        "resume_url": request.build_absolute_uri(address),
    }
    if turn is not None and card is None:
        fields = request.POST.dict() if error else {}
        page = turn_page(participation, turn, error=error, notice=notice, fields=fields)
        return render_turn(request, page, status, **shared)
    if request.htmx:
        return HttpResponseClientRedirect(address)
    content = next_instructions(participation, card) if card else page_outside_turns(participation)
    shared |= {"error": error, "notice": notice, "sentences": script_sentences()}
    if participation.status == Status.COMPLETED:  # unseen tasks are not shown before the end
        shared["card"] = participation.scenario.task.card
    else:
        shared["card"] = content.get("card") or training_step.first_card(participation)
    context = shared | content | by_key(sent=form)
    return render(request, "participation/work.html", context, status=status)
