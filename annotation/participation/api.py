"""API with which programs take part in a study, from the consent text to the last question.

Each view calls the same step function as the corresponding page, so both follow one protocol. A GET
request changes nothing. The response to a POST contains the new state or, if the request was
rejected, the unchanged one (docs/researchers/api.md#participants).
"""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import Http404
from django.utils import translation
from django.utils.decorators import method_decorator
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import AuthenticationFailed, NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.models import Channel, OwnAnswer, Participation, Status, Turn
from annotation.participation import api_bodies as bodies
from annotation.participation.api_state import declined, record_of, state_of
from annotation.participation.forms import OwnForm
from annotation.privacy import withdrawal
from annotation.protocol import answering, own_questions, qualification, training_step
from annotation.recruitment import consent as consent_step
from annotation.recruitment import join_errors, seats, visitors
from annotation.recruitment.platform_adapters import NotAdmitted
from annotation.web import problems
from annotation.web.authentication import HoldsParticipation, ParticipationToken, PerParticipation
from annotation.web.problems import Unprocessable
from annotation.web.views import ApiView
from annotation.web.wording import translated
from tasks.spans import AnswerError

UNKNOWN_TOKEN = "No participation has this token. Check the token, or join again."
NO_TURN = "This turn does not belong to this participation."


def parse(body: type[bodies.Body], request: Request) -> dict[str, Any]:
    serializer = body(data=request.data)
    if not serializer.is_valid():
        raise Unprocessable(_flat(serializer.errors))
    return serializer.validated_data


def _flat(errors: Any, path: str = "") -> dict[str, list[str]]:
    """Flatten nested errors into a dict whose keys are paths such as "answer.spans.0.start"."""
    if isinstance(errors, Mapping):
        parts = [_flat(inner, f"{path}.{name}" if path else str(name))
                 for name, inner in errors.items()]  # fmt: skip
    elif any(isinstance(error, Mapping) for error in errors):
        parts = [_flat(inner, f"{path}.{place}") for place, inner in enumerate(errors) if inner]
    else:
        return {path: [str(error) for error in errors]}
    return {name: messages for part in parts for name, messages in part.items()}


class InStudyLanguage(ApiView):
    """A view that responds in the study's language and is never cached, like the pages."""

    @method_decorator(never_cache)
    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        with translation.override(settings.LANGUAGE_CODE):
            return super().dispatch(request, *args, **kwargs)

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, NotAdmitted):
            exc = PermissionDenied(str(exc))
        if isinstance(exc, answering.PeopleUsePages):
            exc = PermissionDenied(str(exc), code="people_use_pages")
        return super().handle_exception(exc)


class Work(InStudyLanguage):
    """Take one step in the study that was joined with this token.

    If the current state does not allow the step, the response is 409 with the code `conflict` and
    that state.
    """

    conflict = "conflict"
    authentication_classes = [ParticipationToken]
    permission_classes = [HoldsParticipation]
    throttle_classes = [PerParticipation]

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, Participation.DoesNotExist):
            exc = AuthenticationFailed(UNKNOWN_TOKEN)
        if isinstance(exc, Turn.DoesNotExist):
            exc = NotFound(NO_TURN)
        if isinstance(exc, answering.Conflict | join_errors.RecruitmentError):
            code = getattr(exc, "code", self.conflict)
            status = HTTPStatus.UNPROCESSABLE_ENTITY if code == "template" else HTTPStatus.CONFLICT
            return reply(current(self.request), status, code, str(exc))
        return super().handle_exception(exc)


def holder(request: Request) -> Participation:
    """Look up the token, and activate the study's language. Raises AuthenticationFailed."""
    try:
        return visitors.participation_of(str(request.auth))
    except Http404:
        raise AuthenticationFailed(UNKNOWN_TOKEN) from None


def current(request: Request) -> Participation:
    """Look up the token, if programs may use this seat. Raises answering.PeopleUsePages."""
    participation = holder(request)
    answering.check_channel(Channel.API, participation.kind, participation.study)
    return participation


def reply(
    participation: Participation,
    status: HTTPStatus,
    code: str,
    message: str,
    fields: Mapping[str, list[str]] | None = None,
) -> Response:
    """Return an error response that includes the unchanged state."""
    members = problems.problem(status, code, message, fields)
    members["state"] = state_of(participation)
    return Response(members, status=status, content_type=problems.MEDIA_TYPE)


# The format of the state depends on `step`: docs/researchers/api.md#participants.
STATE = {200: OpenApiTypes.OBJECT}
REFUSED = {409: OpenApiTypes.OBJECT, 422: OpenApiTypes.OBJECT}


def documented(summary: str, body: Any = None) -> Callable[[Any], Any]:
    return extend_schema(summary=summary, request=body, responses=STATE | REFUSED)


class State(Work):
    @extend_schema(summary="Current state", responses=STATE)
    def get(self, request: Request) -> Response:
        return Response(state_of(current(request)))


class History(Work):
    @extend_schema(summary="Answers so far, with the gold answers already shown", responses=STATE)
    def get(self, request: Request) -> Response:
        return Response(record_of(current(request)))


class Consent(Work):
    @documented("Accept or decline the consent text", bodies.ConsentBody)
    def post(self, request: Request) -> Response:
        participation = current(request)
        if parse(bodies.ConsentBody, request)["agree"]:
            consent_step.record(participation, agree=True)
            return Response(state_of(current(request)))
        try:
            return Response(declined(consent_step.decline(participation.token)))
        except consent_step.Agreed:
            return Response(state_of(current(request)))


class Begin(Work):
    @documented("Show the first example, which cannot be undone")
    def post(self, request: Request) -> Response:
        training_step.begin(current(request).token, Channel.API)
        return Response(state_of(current(request)))


class OwnQuestions(Work):
    @documented("Answer the study's own questions", bodies.OwnBody)
    def post(self, request: Request) -> Response:
        participation, given = current(request), parse(bodies.OwnBody, request)["answers"]
        is_over = participation.status == Status.COMPLETED
        moment = OwnAnswer.Moment.AFTER if is_over else OwnAnswer.Moment.BEFORE
        questions = own_questions.unanswered(participation, moment)
        ids = {question.id for question in questions}
        if questions and (unknown := sorted(set(given) - ids)):
            raise Unprocessable(
                {f"answers.{name}": ["This question does not exist."] for name in unknown}
            )
        form = OwnForm(questions, {f"own-{name}": text for name, text in given.items()})
        if not form.is_valid():
            raise Unprocessable({f"answers.{name.removeprefix('own-')}": list(map(str, errors))
                         for name, errors in form.errors.items()})  # fmt: skip
        own_questions.answer(participation.token, moment, form.answers())
        return Response(state_of(current(request)))


class Comprehension(Work):
    @documented("Answer the comprehension questions (one attempt)", bodies.ComprehensionBody)
    def post(self, request: Request) -> Response:
        participation, given = current(request), parse(bodies.ComprehensionBody, request)["answers"]
        state = state_of(participation)
        if state["step"] != "comprehension":
            return Response(state)
        totals = [len(question["options"]) for question in state["questions"]]
        if len(given) != len(totals):
            raise Unprocessable(
                {"answers": [f"Expected {len(totals)} answers, one for each question."]}
            )
        # A page would not send such an answer either, so it does not count as an attempt.
        if unfit := [number for number, total in enumerate(totals) if given[number] >= total]:
            odd = "This question has no such option. Use its index, from 0."
            raise Unprocessable({f"answers.{number}": [odd] for number in unfit})
        wrong = own_questions.answer_comprehension(
            participation.token,
            {f"question-{number}": str(place) for number, place in enumerate(given, start=1)},
        )
        participation = current(request)
        if not wrong or participation.status != Status.WORKING:
            return Response(state_of(participation))
        message = gettext("This is not right. Please choose again.")
        fields = {f"answers.{number - 1}": [message] for number in wrong}
        return reply(participation, HTTPStatus.UNPROCESSABLE_ENTITY, "wrong", message, fields)


class Answer(Work):
    conflict = "answered"

    @documented("Answer the current question (only the first answer counts)", bodies.AnswerBody)
    def post(self, request: Request) -> Response:
        data = parse(bodies.AnswerBody, request)
        token, fields = str(request.auth), bodies.fields_of(data["answer"])
        try:
            participation, turn = answering.submit(token, data["turn"], fields, Channel.API)
        except AnswerError as error:
            participation = current(request)
            text = translated(error.sentence)
            return reply(
                participation, HTTPStatus.UNPROCESSABLE_ENTITY, error.code, text, {"answer": [text]}
            )
        return Response(state_of(participation, turn))


class Confidence(Work):
    @documented("Rate the confidence in the answer, if asked", bodies.ConfidenceBody)
    def post(self, request: Request) -> Response:
        data = parse(bodies.ConfidenceBody, request)
        point, reason = data.get("confidence"), data.get("reason", "")
        fields = {"skip": "1"} if point is None else {"confidence": str(point), "reason": reason}
        try:
            given = answering.rate_confidence(str(request.auth), data["turn"], fields, Channel.API)
        except AnswerError as error:
            raise Unprocessable({"reason": [translated(error.sentence)]}) from None
        return Response(state_of(*given))


class Problem(Work):
    @documented("Report a problem with an example (only the first counts)", bodies.ProblemBody)
    def post(self, request: Request) -> Response:
        data = parse(bodies.ProblemBody, request)
        turn, text = data["turn"], data["text"]
        given = answering.report_problem(str(request.auth), turn, text, Channel.API)
        return Response(state_of(given))


class Continue(Work):
    @documented("Go on from a reveal, the review or new instructions", bodies.ContinueBody)
    def post(self, request: Request) -> Response:
        leaving = parse(bodies.ContinueBody, request)["leaving"]
        participation, turn = training_step.go_on(str(request.auth), leaving, Channel.API)
        return Response(state_of(participation, turn))


class Wait(Work):
    @documented("Go on if the decision on admission has been made")
    def post(self, request: Request) -> Response:
        qualification.move_on(current(request).token)
        return Response(state_of(current(request)))


class Questionnaire(Work):
    @documented("Answer the optional questions at the end", bodies.QuestionnaireBody)
    def post(self, request: Request) -> Response:
        participation = current(request)
        own_questions.answer_exit(participation.token, parse(bodies.QuestionnaireBody, request))
        return Response(state_of(current(request)))


class Finish(Work):
    @documented("Report a model's run (only the first report counts)", bodies.RunBody)
    def post(self, request: Request) -> Response:
        participation, run = current(request), parse(bodies.RunBody, request)
        answering.note(participation.token, run)
        return Response(state_of(participation))


class Resume(Work):
    @documented("Continue after the seat has expired, if another one is free")
    def post(self, request: Request) -> Response:
        seats.resume(current(request))
        return Response(state_of(current(request)))


class Withdraw(Work):
    """Withdraw from the study. Human annotators may use this too, because it shows nothing."""

    @documented("Leave the study, which erases the answers")
    def post(self, request: Request) -> Response:
        withdrawal.withdraw(str(request.auth))
        return Response(state_of(holder(request)))


class NextTask(Work):
    @extend_schema(
        summary="Start the study's next task, if it allows several",
        request=None,
        responses={201: OpenApiTypes.OBJECT} | REFUSED,
    )
    def post(self, request: Request) -> Response:
        following = seats.next_task(current(request))
        return Response(holding(following), status=HTTPStatus.CREATED)


def holding(participation: Participation) -> dict[str, Any]:
    return {
        "token": participation.token,
        "participation": participation.pseudonym,
        "state": state_of(participation),
    }
