"""Payments, as a page and in the API: earnings, batches, and what is due."""

from decimal import Decimal
from functools import partial
from typing import Any, ClassVar

from django import forms
from django.contrib.auth.models import User
from django.db.models import QuerySet, Sum
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.models import Participation, PaymentBatch, Study
from annotation.pay import budget, holds, ledger
from annotation.payout import batches
from annotation.payout import payments as payout
from annotation.prolific.client import ProlificError
from annotation.prolific.pages import Amount
from annotation.prolific.sync import sync
from annotation.recruitment.arrivals import current_exit
from annotation.web.access import ResearcherRequest, right_to, signed_in, study_of
from annotation.web.fields import NO_REASON, PageForm, RowField
from annotation.web.posts import StudyPost, page, study_page, with_status
from annotation.web.problems import Conflict
from annotation.web.views import ApiView, Twin
from tasks import listing
from tasks.columns import Column
from tasks.csv_files import download


class ReleaseForm(PageForm):
    key = "release"
    annotator = forms.CharField(widget=forms.HiddenInput, help_text="whose earnings to release")
    reason = forms.CharField(
        widget=forms.TextInput({"placeholder": "Reason"}), error_messages={"required": NO_REASON}
    )

    def clean_annotator(self) -> Participation:
        pseudonym = self.cleaned_data["annotator"]
        annotator = self.subject.participations.filter(pseudonym=pseudonym).first()
        if annotator is None:
            raise forms.ValidationError("No annotator has this pseudonym.")
        return annotator

    def in_row(self, pseudonym: str) -> "ReleaseForm":
        self.auto_id, self.initial = f"release-{pseudonym}-%s", {"annotator": pseudonym}
        self.fields["reason"].widget.attrs["aria-label"] = f"Reason to release {pseudonym}"
        return self


class BatchForm(PageForm):
    key = "batch"
    batch = RowField(
        lambda study: study.payment_batches.all(), widget=forms.HiddenInput,
        help_text="the batch to pay, mark or cancel",
    )  # fmt: skip


class Payments(StudyPost):
    """Prepare payments; pay, mark or cancel a batch; release earnings on hold."""

    row = "pay"
    actions: ClassVar = {
        "prepare": None, "pay": BatchForm, "mark": BatchForm, "cancel": BatchForm,
        "release": ReleaseForm,
    }  # fmt: skip
    conflicts = (batches.PaymentError, ProlificError, budget.BudgetError)
    summary = "Prepare, pay, mark or cancel a batch, or release earnings"
    shows_message = True

    def do(self, study: Study, data: dict[str, Any], by: User) -> list[str]:
        match self.action:
            case "prepare":
                return prepare(study, by)
            case "release":
                holds.release(data["annotator"], data["reason"], by)
                return [f"The earnings of {data['annotator']} can be paid."]
            case "pay":
                budget.check_may_spend(by)
                payout.pay_batch(data["batch"])
                state = "paid"
            case "mark":
                payout.mark_paid(data["batch"])
                state = "marked as paid"
            case _:
                batches.cancel(data["batch"])
                state = "cancelled"
        return [f"Batch {data['batch'].pk} is {state}."]

    def in_words(self, result: list[str]) -> list[str]:
        return result


def prepare(study: Study, by: User, *selection: Any) -> list[str]:
    """Sync with Prolific, and prepare payments, of all or of a selection (`batches.prepare`)."""
    is_on_prolific = study.prolific_studies.exclude(external_id=None).exists()
    warnings = sync(study).warnings() if is_on_prolific else []
    return [batches.prepared_in_words(len(batches.prepare(study, by, *selection))), *warnings]


def _amount(name: str, wage: ledger.Wage) -> Decimal | None:
    return ledger.amount(getattr(wage, name))


def _status(wage: ledger.Wage) -> str:
    status = str(wage.participation.get_status_display())
    return status if wage.participation.is_paid else f"{status}, not paid"


WAGES = [
    Column("annotator", "Annotator", get="participation.pseudonym"),
    Column("scenario", "Scenario", get=lambda wage: str(wage.participation.scenario)),
    Column("status", "Status", get=_status),
    Column("active_seconds", "Active time", unit="s"),
    *(
        Column(name, name.replace("_", " ").capitalize(), unit="money", get=partial(_amount, name))
        for name in ("earned", "paid", "per_active_hour", "per_elapsed_hour")
    ),
]


def _page(
    request: ResearcherRequest, study: Study, bound_form: PageForm | None = None, problem: str = ""
) -> HttpResponse:
    wages = ledger.wages(ledger.settled(study))
    median = ledger.median_wage_of(study)
    rate = ledger.cents(study.hourly_rate)
    on_hold = holds.holds(study)
    table = listing.listing(
        request.GET, wages, WAGES, lambda w: " ".join(c.value(w) for c in WAGES[:3])
    )
    if listing.wants_csv(request.GET):
        return table.as_csv(f"{study.name}-earnings.csv")
    held = [entry.pk for hold in on_hold for entry in hold.entries]
    due = batches.unpaid(study).filter(participation__is_paid=True).exclude(pk__in=held)
    context = {
        "study": study,
        "problem": problem,
        "sent": bound_form,
        "listing": table if wages else None,
        "earned": sum(wage.earned for wage in wages),
        "paid": sum(wage.paid for wage in wages),
        "median": median,
        "too_low": median is not None and median < rate,
        "holds": [(hold, _release_form(hold, bound_form)) for hold in on_hold],
        "times": holds.TIMES,
        "batches": _batches(study),
        **_looked_up(study, request.GET.get("code", "").strip()),
        "due": due.aggregate(cents=Sum("cents", default=0))["cents"],
    }
    return render(request, "payout/pay.html", context)


pay_page = page(Payments, _page, to="pay", get=study_page(_page, right_to("pay")))


def _looked_up(study: Study, code: str) -> dict[str, Any]:
    owner = study.participations.filter(completion_code__iexact=code).first() if code else None
    study_exit = current_exit(owner) if owner else None
    is_shown = study_exit is not None and study_exit.code.casefold() == code.casefold()
    return {"code": code[:40], "code_owner": owner if is_shown else None}


def _batches(study: Study) -> "QuerySet[PaymentBatch]":
    return study.payment_batches.annotate(cents=Sum("payments__entry__cents", default=0))


def _release_form(hold: holds.Hold, bound_form: PageForm | None) -> ReleaseForm:
    pseudonym = hold.participation.pseudonym
    form = ReleaseForm(subject=hold.participation.study)
    if isinstance(bound_form, ReleaseForm) and bound_form.data.get("annotator") == pseudonym:
        form = bound_form
    return form.in_row(pseudonym)


@signed_in("GET")
def batch_file(request: ResearcherRequest, name: str, pk: int) -> HttpResponse:
    study = study_of(request, name, "pay")
    batch = get_object_or_404(study.payment_batches, pk=pk)
    try:
        text = payout.batch_csv(batch)
    except batches.PaymentError as error:
        return with_status(_page(request, study, problem=str(error)), 409)
    return download(text, f"{study.name}-batch-{pk}.csv")


# Payments in the API.


class DueShape(serializers.Serializer):
    """A ledger entry that is not yet in a batch."""

    annotator = serializers.CharField(source="participation.pseudonym")
    kind = serializers.CharField()
    amount = serializers.CharField()
    currency = serializers.CharField()
    method = serializers.CharField(allow_blank=True, help_text="empty while it cannot be paid")


class BatchShape(serializers.Serializer):
    id = serializers.IntegerField()
    method = serializers.CharField()
    state = serializers.CharField()
    amount = Amount(source="cents")


class PayShape(serializers.Serializer):
    """The amounts due, and all payment batches."""

    done = serializers.CharField(allow_blank=True)
    due = DueShape(many=True)
    batches = BatchShape(many=True)


def as_record(study: Study, message: str = "") -> dict[str, Any]:
    due = list(batches.unpaid(study))
    for entry in due:
        entry.method = batches.payout_route(entry)[0]  # type: ignore[attr-defined]  # for DueShape
    return PayShape({"done": message, "due": due, "batches": _batches(study)}).data


class Pay(Twin):
    """Pay annotators."""

    step = Payments
    reply = PayShape

    @extend_schema(responses=PayShape, summary="Amounts due, and payment batches")
    def get(self, request: Request, name: str) -> Response:
        return Response(as_record(study_of(request, name, "pay")))

    def payload(self, study: Study, result: list[str]) -> dict[str, Any]:
        return as_record(study, " ".join(result))


class BatchFile(ApiView):
    @extend_schema(responses={(200, "text/csv"): str}, summary="A payment batch as CSV")
    def get(self, request: Request, name: str, pk: int) -> HttpResponse:
        study = study_of(request, name, "pay")
        batch = get_object_or_404(study.payment_batches, pk=pk)
        try:
            text = payout.batch_csv(batch)
        except batches.PaymentError as error:
            raise Conflict(str(error)) from None
        return download(text, f"{study.name}-batch-{pk}.csv")
