"""Participations by program: listed and decided about; scores stay hidden as on the pages."""

from typing import Any, ClassVar

from django.core.exceptions import PermissionDenied
from django.db.models import Avg, Q, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import annotator_of, study_of
from annotation.api import form_bodies
from annotation.api.paging import RowsView
from annotation.api.problems import Unprocessable
from annotation.api.views import AnnotatorTwin, ApiView, StudyTwin, tagged
from annotation.models import ORDERS, Decision, Kind, Participation, Status, Step, Study
from annotation.money import budget, ledger
from annotation.monitoring import flags
from annotation.pages.fields import PageForm
from annotation.pages.researcher.annotators import DECIDE, page_of_decision
from annotation.pages.researcher.forms.annotators import (
    BonusForm,
    DecisionForm,
    ReviewForm,
    SeatForm,
    TickedForm,
    TogetherForm,
    WithdrawForm,
)
from annotation.platforms.prolific import review as prolific_review
from annotation.platforms.prolific.errors import ProlificError
from annotation.recruitment import expiry
from annotation.steps import blinding, exclusion, qualification, withdrawal
from tasks.columns import Column

COLUMNS = [
    Column("pseudonym", meaning="of the annotator in this study"),
    Column("kind", meaning="person, simulated or model"),
    Column("status", meaning="how far it is"),
    Column("task", meaning="name of the task", get=lambda p: p.scenario.task.name),
    Column("shots", meaning="number of shots", get=lambda p: p.scenario.shots),
    Column("split", meaning="training split", get=lambda p: p.scenario.split_number),
    Column("scenario", meaning="number of the scenario", get=lambda p: p.scenario_id),
    Column("in_analysis", meaning="false where it was excluded"),
    Column("is_paid", meaning="false where pay was refused"),
    Column("qualified", meaning="by the rule; null: not judged"),
    Column("arrived_at", meaning="UTC"),
    Column("consented_at", meaning="UTC"),
    Column("finished_at", meaning="UTC"),
    Column("worked_seconds", meaning="active time of who has ended"),
]
KINDS: dict[str, type[serializers.Field]] = {
    "shots": serializers.IntegerField,
    "split": serializers.IntegerField,
    "scenario": serializers.IntegerField,
    "in_analysis": serializers.BooleanField,
    "is_paid": serializers.BooleanField,
    "qualified": serializers.BooleanField,
    "arrived_at": serializers.DateTimeField,
    "consented_at": serializers.DateTimeField,
    "finished_at": serializers.DateTimeField,
    "worked_seconds": serializers.FloatField,
}
DECISIONS = [
    Column("annotator", meaning="pseudonym", get=lambda row: row.participation.pseudonym),
    Column("about", meaning="analysis, pay, qualification or release"),
    Column("outcome", meaning="yes or no"),
    Column("reason", meaning="as entered"),
    Column("by", meaning="user name; null: by a rule", get=lambda r: r.by and r.by.get_username()),
    Column("score_seen", meaning="could the score be seen before it"),
    Column("at", meaning="UTC"),
]


class Participations(RowsView):
    columns, kinds = COLUMNS, KINDS
    summary = "The participations of a study"
    filters: ClassVar = {
        "status": ("status", Status.values),
        "kind": ("kind", Kind.values),
        "task": ("scenario__task__name", None),
    }

    def rows(self, request: Request, **names: Any) -> QuerySet[Participation]:
        study = study_of(request, names["name"], "see")
        return study.participations.select_related("scenario__task").defer(*ORDERS)


class Decisions(RowsView):
    """Of pay for payers, the others, which tell scores, for readers of results."""

    columns = DECISIONS
    kinds: ClassVar = {
        "outcome": serializers.BooleanField,
        "score_seen": serializers.BooleanField,
        "at": serializers.DateTimeField,
    }
    summary = "What was decided about annotators, and why"
    filters: ClassVar = {"about": ("about", Decision.About.values)}

    def rows(self, request: Request, **names: Any) -> QuerySet[Decision]:
        study = study_of(request, names["name"], "see")
        on_pay = Q(about__in=[Decision.About.PAY, Decision.About.RELEASE])
        seen = Q(pk=None)
        for right, which in (("pay", on_pay), ("read", ~on_pay)):
            if _has(request, study, right):
                seen |= which
        if seen == Q(pk=None):
            raise PermissionDenied("Decisions are for who may read results or pay.")
        decided = Decision.objects.filter(seen, participation__study=study)
        return decided.select_related("participation", "by")


def _has(request: Request, study: Any, right: str) -> bool:
    """May who asks do this in the study, by role and by token?"""
    try:
        study_of(request, study.name, right)
    except PermissionDenied:
        return False
    return True


class AnnotatorShape(serializers.Serializer):
    """A row of the list, with what the page of the annotator shows."""

    def get_fields(self) -> dict[str, Any]:
        made = {c.name: KINDS.get(c.name, serializers.CharField)(allow_null=True) for c in COLUMNS}
        return made | {
            "score_hidden": serializers.BooleanField(
                help_text="until a decision on the analysis; POST show-score shows it"
            ),
            "mean_s1": serializers.FloatField(
                allow_null=True, help_text="S1, 0 to 1, over the annotation step; null while hidden"
            ),
            "flags": serializers.ListField(child=serializers.CharField()),
        }


def as_record(participation: Participation, may_read: bool) -> dict[str, Any]:
    """One participation; flags and scores for who may read results."""
    record = {column.name: column.value(participation) for column in COLUMNS}
    is_hidden = blinding.is_hidden(participation)
    mean, raised = None, []
    if may_read:
        seen = flags.sentences(participation.study, participation.scenario_id)
        raised = seen.get(participation.pk, [])
    if may_read and not is_hidden:
        answered = participation.turns.filter(step=Step.ANNOTATION)
        mean = answered.aggregate(mean=Avg("answer__s1"))["mean"]
    return record | {"score_hidden": is_hidden, "mean_s1": mean, "flags": raised}


class OneParticipation(ApiView):
    @extend_schema(responses=AnnotatorShape, summary="One participation")
    def get(self, request: Request, name: str, pseudonym: str) -> Response:
        annotator = annotator_of(request, name, pseudonym, "see")
        return tagged(request, as_record(annotator, _has(request, annotator.study, "read")))


class Decide(AnnotatorTwin):
    """On the analysis, pay, or admission to the annotation step."""

    page, form_class = "participation_decide", DecisionForm
    summary = "Include or exclude, pay or not, admit or screen out"
    more_fields: ClassVar = {
        "about": serializers.ChoiceField(list(DECIDE)),
        "outcome": serializers.BooleanField(),
    }
    faults: ClassVar = {exclusion.ExclusionError: "reason"}

    def row(self, sent: dict[str, Any]) -> str:
        return page_of_decision(str(sent.get("about")))

    def form(self, about: Participation, sent: dict[str, Any]) -> PageForm:
        if str(sent.get("about")) not in DECIDE:
            raise Unprocessable({"about": [f"Write one of {', '.join(DECIDE)}."]})
        outcome = sent.get("outcome")
        words = {True: "yes", False: "no"}.get(outcome) if isinstance(outcome, bool) else outcome
        return DecisionForm(sent["about"], form_bodies.as_form_data(sent | {"outcome": words}))

    def do(self, about: Participation, sent: dict[str, Any], request: Request) -> dict[str, str]:
        step = DECIDE[Decision.About(sent["about"])]
        step(about, sent["outcome"], sent["reason"], request.user)
        return {"done": "The decision is stored with its reason."}


def pseudonyms(sent: dict[str, Any]) -> list[str]:
    """The annotators that a body names."""
    names = sent.get("annotators")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Unprocessable({"annotators": ["Write a list of pseudonyms."]})
    return names


class DecideTogether(StudyTwin):
    page, form_class = "people_decide", TogetherForm
    operation_id = "participations_decide_together"
    summary = "Admit or screen out several who wait, all of them or none"
    more_fields: ClassVar = {
        "annotators": serializers.ListField(child=serializers.CharField()),
        "outcome": serializers.BooleanField(),
    }

    def form(self, about: Study, sent: dict[str, Any]) -> PageForm:
        names = pseudonyms(sent)
        outcome = sent.get("outcome")
        words = {True: "yes", False: "no"}.get(outcome) if isinstance(outcome, bool) else outcome
        return TogetherForm(names, form_bodies.as_form_data(sent | {"outcome": words}))

    def do(self, about: Study, sent: dict[str, Any], request: Request) -> dict[str, str]:
        try:
            qualification.decide_together(
                about, sent["annotators"], sent["outcome"], sent["reason"], request.user
            )
        except qualification.CannotDecide as error:
            raise Unprocessable({"annotators": list(error.problems.values())}) from None
        return {"done": f"Decided about {len(set(sent['annotators']))}."}


class ExcludeTogether(StudyTwin):
    page, form_class = "behaviour_exclude", TickedForm
    operation_id = "participations_exclude_together"
    summary = "Exclude several from the analysis with one reason, all of them or none"
    more_fields: ClassVar = {"annotators": serializers.ListField(child=serializers.CharField())}

    def form(self, about: Study, sent: dict[str, Any]) -> PageForm:
        return TickedForm(pseudonyms(sent), form_bodies.as_form_data(sent))

    def do(self, about: Study, sent: dict[str, Any], request: Request) -> dict[str, str]:
        try:
            exclusion.exclude_together(about, sent["annotators"], sent["reason"], request.user)
        except exclusion.CannotExclude as error:
            raise Unprocessable({"annotators": list(error.problems.values())}) from None
        return {"done": f"Excluded from the analysis: {len(set(sent['annotators']))}."}


class Exclude(AnnotatorTwin):
    """A decision on the analysis, under a name of its own; /reinstate/ takes it back."""

    page, form_class = "participation_decide", DecisionForm
    more_fields: ClassVar = {"about": None, "outcome": None}
    summary = "Exclude from the analysis, with a reason"
    faults: ClassVar = {exclusion.ExclusionError: "reason"}
    outcome: ClassVar = False

    def form(self, about: Participation, sent: dict[str, Any]) -> PageForm:
        outcome = "yes" if self.outcome else "no"
        fields = sent | {"about": Decision.About.ANALYSIS.value, "outcome": outcome}
        return DecisionForm(Decision.About.ANALYSIS, form_bodies.as_form_data(fields))

    def do(self, about: Participation, sent: dict[str, Any], request: Request) -> dict[str, str]:
        exclusion.decide(about, self.outcome, sent["reason"], request.user)
        return {"done": "The decision is stored with its reason."}


class Reinstate(Exclude):
    summary = "Take an exclusion back, with a reason"
    outcome: ClassVar = True


class ShowScore(AnnotatorTwin):
    page = "participation_score"
    summary = "Show the score before a decision; what is decided later says so"
    reply = AnnotatorShape

    def do(self, about: Participation, sent: dict[str, Any], request: Request) -> Any:
        blinding.show(about, request.user)
        return as_record(about, True)


class Bonus(AnnotatorTwin):
    page, form_class = "participation_bonus", BonusForm
    summary = "A bonus with its reason"
    success = 201
    faults: ClassVar = {ValueError: "amount"}

    def form(self, about: Participation, sent: dict[str, Any]) -> PageForm:
        return BonusForm(about.study, form_bodies.as_form_data(sent))

    def do(self, about: Participation, sent: dict[str, Any], request: Request) -> dict[str, str]:
        amount = ledger.cents(sent["amount"])
        budget.give_bonus(about, amount, sent["reason"], request.user)
        return {"done": f"A bonus of {sent['amount']} {about.study.currency} is entered."}


class FreeSeat(AnnotatorTwin):
    page, form_class = "participation_free_seat", SeatForm
    summary = "Free the seat of an annotator who does not return"
    conflicts = (ValueError,)

    def do(self, about: Participation, sent: dict[str, Any], request: Request) -> dict[str, str]:
        expiry.free_by_hand(about, sent["reason"], request.user)
        return {"done": "The seat is free."}


class Withdraw(AnnotatorTwin):
    page, form_class = "participation_withdraw", WithdrawForm
    summary = "Withdraw an annotator who asked for it: the answers are erased"
    conflicts = (ValueError,)

    def do(self, about: Participation, sent: dict[str, Any], request: Request) -> dict[str, str]:
        withdrawal.withdraw_on_request(about, sent["reason"], request.user)
        return {"done": "The answers are erased."}


class Review(AnnotatorTwin):
    page, form_class = "participation_review", ReviewForm
    summary = "Ask for a return on Prolific, or reject there"
    conflicts = (prolific_review.ReviewError, ProlificError)

    def do(self, about: Participation, sent: dict[str, Any], request: Request) -> dict[str, str]:
        if sent["action"] == "return":
            prolific_review.ask_to_return(about, sent["message"])
            return {"done": "Prolific asks them to return it; they may or may not do so."}
        prolific_review.reject(about, sent["message"], sent["category"], request.user)
        return {"done": "It is rejected on Prolific."}


class Behaviour(ApiView):
    class FlagsShape(serializers.Serializer):
        pseudonym = serializers.CharField()
        flags = serializers.ListField(child=serializers.CharField())

    @extend_schema(
        responses=FlagsShape(many=True), summary="Annotators with quality flags, most first"
    )
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "read")
        rows = flags.ranked(study, flags.sentences(study))
        return Response([{"pseudonym": p.pseudonym, "flags": raised} for p, raised in rows])
