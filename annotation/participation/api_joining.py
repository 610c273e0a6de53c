"""API for joining a study: the content of its landing page, and taking a seat.

Simulated annotators and models join with a researcher's token, and each kind has its own seats. A
program can take a human annotator's seat through the open link or a personal link, but only if the
design allows it (protocol/answering.py).
"""

from http import HTTPStatus
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotAuthenticated, Throttled
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.models import Channel, Kind, ModelAnnotator, Participation, Scenario, Study
from annotation.participation import api_bodies as bodies
from annotation.participation.api import InStudyLanguage, holding, parse
from annotation.participation.landing import landing_page
from annotation.protocol import answering
from annotation.recruitment import join_errors, visitors
from annotation.recruitment.links import ModelAdapter, OpenLink, SimulatedLink
from annotation.recruitment.platform_adapters import adapter_at
from annotation.web import access
from annotation.web.authentication import PerHolder, TokenAuthentication
from annotation.web.problems import MEDIA_TYPE, Unprocessable, problem

LANDING_FIELDS = (
    "title", "by", "anchors", "training", "screening", "test", "words", "minutes", "rate",
    "idle_limit_hours", "state",
)  # fmt: skip


class PerResearcher(PerHolder):
    """Limits requests with a researcher's token. For visitors, only starting is limited."""

    def allow_request(self, request: Request, view: Any) -> bool:
        return access.token_of(request) is None or super().allow_request(request, view)


class Join(InStudyLanguage):
    """Read the landing page of a study, and join. `code` is the code in the study's link."""

    authentication_classes = [TokenAuthentication]
    permission_classes: list[type] = []  # public, like the landing page itself
    throttle_classes = [PerResearcher]

    @extend_schema(
        summary="Content of a study's landing page", responses={200: OpenApiTypes.OBJECT}
    )
    def get(self, request: Request, code: str) -> Response:
        arrival = by_own_link(request, code)
        page = landing_page(arrival, arrival.live())
        return Response(
            {name: page[name] for name in LANDING_FIELDS}
            | {
                "what": [card.description for card in page["what"]],
                "sentence": str(page["sentence"]),
                "arrival": page["ticket"],
            }
        )

    @extend_schema(
        summary="Take a seat",
        description="Returns the token of a new seat (201) or of the one you have (200). Programs"
        " can take human annotators' seats only if the design allows it (403 `people_use_pages`).",
        request=bodies.JoinBody,
        responses={
            200: OpenApiTypes.OBJECT, 201: OpenApiTypes.OBJECT, 409: OpenApiTypes.OBJECT,
            422: OpenApiTypes.OBJECT,
        },
    )  # fmt: skip
    def post(self, request: Request, code: str) -> Response:
        data = parse(bodies.JoinBody, request)
        arrival = by_own_link(request, code, data.get("arrival", ""))
        kind, model = data.get("kind", arrival.kind), None
        if kind != arrival.kind:
            arrival, model = _for_researcher(request, arrival, kind, data)
        answering.check_channel(Channel.API, kind, arrival.study)
        earlier = arrival.live() or arrival.ended()
        try:
            participation = _seated(arrival)
        except join_errors.RecruitmentError as refusal:
            if refusal.code == "busy":
                raise Throttled(visitors.WINDOW, str(refusal)) from None
            members = problem(HTTPStatus.CONFLICT, refusal.code, str(refusal))
            return Response(members, status=HTTPStatus.CONFLICT, content_type=MEDIA_TYPE)
        if model is not None:
            model.worker = participation.worker
            ModelAnnotator.objects.bulk_create([model], ignore_conflicts=True)  # stored only once
        is_returning = earlier is not None and earlier.pk == participation.pk
        return Response(
            holding(participation), status=HTTPStatus.OK if is_returning else HTTPStatus.CREATED
        )


def by_own_link(request: Request, code: str, ticket: str = "") -> visitors.Arrival:
    """Return the arrival for an open or personal link. Raises Http404 for unknown links.

    A platform's link requires an ID on that platform, which programs do not have. For such links,
    it raises answering.PeopleUsePages or, if the design allows programs, Unprocessable.
    """
    adapter = adapter_at(code)
    if adapter is not None and not isinstance(adapter, OpenLink):
        answering.check_channel(Channel.API, adapter.kind, adapter.study)
        raise Unprocessable(
            {"code": ["This link belongs to a platform. It works only in a browser."]}
        )
    return visitors.arrival(request._request, code, ticket)


def _for_researcher(
    request: Request, arrival: visitors.Arrival, kind: str, data: dict[str, Any]
) -> tuple[visitors.Arrival, ModelAnnotator | None]:
    """Return the arrival of a simulated annotator or model, using a researcher's token.

    Raises NotAuthenticated, PermissionDenied, Unprocessable, or Http404 for others' studies.
    """
    if access.token_of(request) is None:
        raise NotAuthenticated("This kind requires a researcher's token with the run scope.")
    study = access.study_of(request, arrival.study.name, "own")
    if type(arrival.adapter) is not OpenLink or kind == Kind.PERSON:
        raise Unprocessable({"kind": [f"This link does not accept the kind {kind}."]})
    visitor = request._request
    if kind == Kind.SIMULATED and not study.rehearsal:
        raise Unprocessable({"kind": ["Simulated annotators can join rehearsals only."]})
    if kind == Kind.SIMULATED:
        code = study.simulated_link_code
        ticket = data.get("arrival", "")
        return visitors.Arrival(visitor, SimulatedLink(study), code, ticket), None
    place = _scenario(study, data["scenario"])
    model = ModelAnnotator(
        task_name=place.task.name, shots=place.shots, split_number=place.split_number,
        arm=place.arm, replicate=data.get("replicate", 1), **data["model"],
    )  # fmt: skip
    adapter = ModelAdapter(place, model.identity)
    return visitors.Arrival(visitor, adapter, study.link_code), model


def _scenario(study: Study, cell: dict[str, Any]) -> Scenario:
    """Return the scenario described in the request. Raises Unprocessable if it does not exist."""
    scenario = study.scenarios.filter(
        task__name=cell["task"], shots=cell["shots"], split_number=cell.get("split"),
        arm=cell.get("arm", ""),
    ).select_related("study", "task").first()  # fmt: skip
    if scenario is None:
        raise Unprocessable({"scenario": ["No scenario has this task, shots, split and arm."]})
    return scenario


def _seated(arrival: visitors.Arrival) -> Participation:
    """Assign a seat, or return the visitor's ended participation. Raises RecruitmentError."""
    try:
        return arrival.start(in_browser=False)
    except join_errors.RecruitmentError:
        ended = arrival.ended()
        if ended is None or not arrival.owns(ended):
            raise
        return ended
