"""Pay in the API: a dry run listing what is due, and the page's actions."""

from typing import Any, ClassVar

from django.db.models import Sum
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.models import Study
from annotation.pay import budget, holds
from annotation.payout import batches
from annotation.payout import payments as payout
from annotation.payout.pages import BatchForm, ReleaseForm
from annotation.prolific.api import Amount
from annotation.prolific.errors import ProlificError
from annotation.prolific.sync import sync
from annotation.web import form_bodies
from annotation.web.access import study_of
from annotation.web.problems import Conflict, Unprocessable
from annotation.web.views import ApiView, StudyTwin
from tasks.csv_files import download


class DueShape(serializers.Serializer):
    """A ledger entry that is not yet in a batch."""

    annotator = serializers.CharField()
    kind = serializers.CharField()
    amount = serializers.CharField()
    currency = serializers.CharField()
    method = serializers.CharField(allow_blank=True, help_text="empty until chosen")


class BatchShape(serializers.Serializer):
    id = serializers.IntegerField()
    method = serializers.CharField()
    state = serializers.CharField()
    amount = Amount(source="cents")


class PayShape(serializers.Serializer):
    """Amounts due, and the batches."""

    done = serializers.CharField(allow_blank=True)
    due = DueShape(many=True)
    batches = BatchShape(many=True)


def as_record(study: Study, done: str = "") -> dict[str, Any]:
    made = study.payment_batches.annotate(cents=Sum("payments__entry__cents", default=0))
    return {
        "done": done,
        "due": [
            {
                "annotator": entry.participation.pseudonym,
                "kind": entry.kind,
                "amount": str(entry.amount),
                "currency": entry.currency,
                "method": batches.payout_route(entry)[0],
            }
            for entry in batches.unpaid(study)
        ],
        "batches": BatchShape(made, many=True).data,
    }


class Pay(StudyTwin):
    """Pay a study; `{"dry_run": true}` returns what is due without changing anything."""

    page = "pay"
    summary = "Show what is due (dry_run), or prepare, pay, mark, cancel, release"
    more_fields: ClassVar = {
        "dry_run": serializers.BooleanField(required=False, help_text="sent alone: only show"),
        "action": serializers.ChoiceField(
            ["prepare", "pay", "mark", "cancel", "release"], required=False
        ),
        "batch": serializers.IntegerField(required=False, help_text="to pay, mark or cancel"),
        "annotator": serializers.CharField(required=False, help_text="to release"),
        "reason": serializers.CharField(required=False, help_text="to release"),
    }
    reply = PayShape
    conflicts = (batches.PaymentError, ProlificError, budget.BudgetError)

    @extend_schema(responses=PayShape, summary="Amounts due, and the batches")
    def get(self, request: Request, name: str) -> Response:
        return Response(as_record(study_of(request, name, "pay")))

    def form(self, about: Study, sent: dict[str, Any]) -> Any:
        is_dry, action = sent.get("dry_run", False), sent.get("action", "")
        if not isinstance(is_dry, bool):
            raise Unprocessable({"dry_run": ["Expected true or false."]})
        if is_dry == bool(action):
            raise Unprocessable({"action": ["Send an action, or only dry_run: true."]})
        self.action = action
        fields = {k: v for k, v in sent.items() if k not in ("dry_run", "action")}
        if is_dry or action == "prepare":
            form_bodies.check_known(fields, ())
            return None
        data = form_bodies.as_form_data(fields)
        if action == "release":
            form_bodies.check_known(fields, ReleaseForm.base_fields)
            return ReleaseForm(data)
        if action not in ("pay", "mark", "cancel"):
            raise Unprocessable({"action": ["Expected prepare, pay, mark, cancel or release."]})
        form_bodies.check_known(fields, BatchForm.base_fields)
        return BatchForm(about, data)

    def do(self, about: Study, sent: dict[str, Any], request: Request) -> dict[str, Any]:
        match self.action:
            case "":
                return as_record(about, "Nothing was done.")
            case "prepare":
                if about.prolific_studies.exclude(external_id=None).exists():
                    sync(about)
                made = batches.prepare(about, request.user)
                return as_record(about, batches.prepared_in_words(len(made)))
            case "release":
                return as_record(about, self._release(about, sent, request))
            case "pay":
                budget.check_may_spend(request.user)
                payout.pay_batch(sent["batch"])
            case "mark":
                payout.mark_paid(sent["batch"])
            case "cancel":
                batches.cancel(sent["batch"])
        return as_record(about, f"Batch {sent['batch'].pk}: {self.action}.")

    def _release(self, about: Study, sent: dict[str, Any], request: Request) -> str:
        annotator = about.participations.filter(pseudonym=sent["annotator"]).first()
        if annotator is None:
            raise Unprocessable({"annotator": ["No annotator has this pseudonym."]})
        holds.release(annotator, sent["reason"], request.user)
        return f"The earnings of {annotator} can be paid."


class BatchFile(ApiView):
    @extend_schema(responses={(200, "text/csv"): str}, summary="A payment batch as CSV")
    def get(self, request: Request, name: str, pk: int) -> HttpResponse:
        study = study_of(request, name, "pay")
        batch = get_object_or_404(study.payment_batches, pk=min(pk, 2**62))
        try:
            text = payout.batch_csv(batch)
        except batches.PaymentError as error:
            raise Conflict(str(error)) from None
        return download(text, f"{study.name}-batch-{pk}.csv")
