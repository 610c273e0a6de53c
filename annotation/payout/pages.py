"""Payments, as a page and in the API: earnings, batches, and what is due."""

from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db.models import Sum
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.models import PaymentBatch, Study
from annotation.pay import budget, holds, ledger
from annotation.payout import batches
from annotation.payout import payments as payout
from annotation.prolific.api import Amount
from annotation.prolific.errors import ProlificError
from annotation.prolific.sync import sync
from annotation.recruitment.registry import current_exit
from annotation.web import form_bodies
from annotation.web.access import ResearcherRequest, signed_in, study_of
from annotation.web.fields import NO_REASON, PageForm, RowField, row_field
from annotation.web.problems import Conflict, Unprocessable
from annotation.web.rights import right_to
from annotation.web.views import ApiView, StudyTwin
from annotation.web.wording import in_words
from tasks.csv_files import download
from tasks.listing import PER_PAGE


class ReleaseForm(PageForm):
    key = "release"
    annotator = forms.CharField(widget=forms.HiddenInput)
    reason = forms.CharField(
        widget=forms.TextInput({"placeholder": "Reason"}), error_messages={"required": NO_REASON}
    )

    def in_row(self, pseudonym: str) -> "ReleaseForm":
        self.auto_id, self.initial = f"release-{pseudonym}-%s", {"annotator": pseudonym}
        self.fields["reason"].widget.attrs["aria-label"] = f"Reason to release {pseudonym}"
        return self


class BatchForm(PageForm):
    key = "batch"
    batch = RowField(PaymentBatch.objects.none(), widget=forms.HiddenInput)

    def __init__(self, study: Study, *args: Any):
        super().__init__(*args)
        row_field(self, "batch").queryset = study.payment_batches.all()


@signed_in("GET", "POST")
def pay_page(request: ResearcherRequest, name: str) -> HttpResponse:
    study = study_of(request, name, right_to("pay"))
    if request.method == "GET":
        return _page(request, study)
    action = request.POST.get("action", "")
    if action == "release":
        return _release(request, study)
    try:
        text = _prepare(request, study) if action == "prepare" else _batch(request, study, action)
    except (batches.PaymentError, ProlificError) as error:
        return _page(request, study, problem=str(error), status=409)
    messages.success(request, text)
    return redirect("pay", study.name)


def _prepare(request: ResearcherRequest, study: Study) -> str:
    if study.prolific_studies.exclude(external_id=None).exists():
        for problem in sync(study).problems[:10]:
            messages.warning(request, f"Sync with Prolific failed: {problem}")
    prepared = batches.prepare(study, request.user)
    return batches.prepared_in_words(len(prepared))


def _batch(request: ResearcherRequest, study: Study, action: str) -> str:
    """Pay, mark or cancel one of a study's batches. Raises Http404, PaymentError, ProlificError."""
    form = BatchForm(study, request.POST)
    if not form.is_valid():
        raise Http404
    batch = form.cleaned_data["batch"]
    return f"Batch {batch.pk} is {act(action, batch, request.user)}."


def act(action: str, batch: PaymentBatch, by: User) -> str:
    """Pay, mark or cancel a batch. Return its new state. Raises PaymentError, ProlificError."""
    match action:
        case "pay":
            budget.check_may_spend(by)
            payout.pay_batch(batch)
            return "paid"
        case "mark":
            payout.mark_paid(batch)
            return "marked as paid"
        case "cancel":
            batches.cancel(batch)
            return "cancelled"
    raise batches.PaymentError("This action does not exist.")


def _release(request: ResearcherRequest, study: Study) -> HttpResponse:
    form = ReleaseForm(request.POST)
    if not form.is_valid():
        return _page(request, study, form)
    data = form.cleaned_data
    annotator = get_object_or_404(study.participations, pseudonym=data["annotator"])
    holds.release(annotator, data["reason"], request.user)
    messages.success(request, f"The earnings of {annotator} can be paid.")
    return redirect("pay", study.name)


def _page(
    request: ResearcherRequest,
    study: Study,
    bound_form: ReleaseForm | None = None,
    problem: str = "",
    status: int = 422,
) -> HttpResponse:
    wages = ledger.wages(ledger.settled(study))
    median = ledger.median_wage(wages)
    rate = ledger.cents(study.hourly_rate)
    on_hold = holds.holds(study)
    page = Paginator(wages, PER_PAGE).get_page(request.GET.get("page"))
    unpaid = batches.unpaid(study).aggregate(cents=Sum("cents", default=0))["cents"]
    context = {
        "study": study,
        "problem": problem,
        "sent": bound_form,
        "page": page,
        "earned": ledger.in_currency(sum(wage.earned for wage in wages)),
        "paid": ledger.in_currency(sum(wage.paid for wage in wages)),
        "median": median,
        "too_low": median is not None and median < rate,
        "holds": [_hold_row(hold, bound_form) for hold in on_hold],
        "times": holds.TIMES,
        "batches": [
            {"batch": batch, "amount": ledger.in_currency(batch.cents)}
            for batch in study.payment_batches.annotate(
                cents=Sum("payments__entry__cents", default=0)
            )
        ],
        **_looked_up(study, request.GET.get("code", "").strip()),
        "due": ledger.in_currency(unpaid - sum(hold.waiting for hold in on_hold)),
        "states": PaymentBatch.State,
    }
    status = status if bound_form or problem else 200
    return render(request, "payout/pay.html", context, status=status)


def _looked_up(study: Study, code: str) -> dict[str, Any]:
    owner = study.participations.filter(completion_code__iexact=code).first() if code else None
    study_exit = current_exit(owner) if owner else None
    is_shown = study_exit is not None and study_exit.code.casefold() == code.casefold()
    return {"code": code[:40], "code_owner": owner if is_shown else None}


def _hold_row(hold: holds.Hold, bound_form: ReleaseForm | None) -> dict:
    pseudonym = hold.participation.pseudonym
    form = ReleaseForm()
    if bound_form is not None and bound_form.data.get("annotator") == pseudonym:
        form = bound_form
    return {
        "annotator": hold.participation,
        "form": form.in_row(pseudonym),
        "worked": in_words(ledger.active_time(hold.participation)),
        "earned": ledger.in_currency(hold.earned),
        "usual": ledger.in_currency(round(hold.usual)),
        "waiting": ledger.in_currency(hold.waiting),
    }


@signed_in("GET")
def batch_file(request: ResearcherRequest, name: str, pk: int) -> HttpResponse:
    study = study_of(request, name, "pay")
    batch = get_object_or_404(study.payment_batches, pk=pk)
    try:
        text = payout.batch_csv(batch)
    except batches.PaymentError as error:
        return _page(request, study, problem=str(error), status=409)
    return download(text, f"{study.name}-batch-{pk}.csv")


# Payments in the API.


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


def as_record(study: Study, message: str = "") -> dict[str, Any]:
    stored = study.payment_batches.annotate(cents=Sum("payments__entry__cents", default=0))
    return {
        "done": message,
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
        "batches": BatchShape(stored, many=True).data,
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

    def form(self, study: Study, body: dict[str, Any]) -> Any:
        is_dry, action = body.get("dry_run", False), body.get("action", "")
        if not isinstance(is_dry, bool):
            raise Unprocessable({"dry_run": ["Expected true or false."]})
        if is_dry == bool(action):
            raise Unprocessable({"action": ["Send an action, or only dry_run: true."]})
        self.action = action
        fields = {k: v for k, v in body.items() if k not in ("dry_run", "action")}
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
        return BatchForm(study, data)

    def do(self, study: Study, data: dict[str, Any], request: Request) -> dict[str, Any]:
        match self.action:
            case "":
                return as_record(study, "Nothing was done.")
            case "prepare":
                if study.prolific_studies.exclude(external_id=None).exists():
                    sync(study)
                prepared = batches.prepare(study, request.user)
                return as_record(study, batches.prepared_in_words(len(prepared)))
            case "release":
                return as_record(study, self._release(study, data, request))
        act(self.action, data["batch"], request.user)
        return as_record(study, f"Batch {data['batch'].pk}: {self.action}.")

    def _release(self, study: Study, data: dict[str, Any], request: Request) -> str:
        annotator = study.participations.filter(pseudonym=data["annotator"]).first()
        if annotator is None:
            raise Unprocessable({"annotator": ["No annotator has this pseudonym."]})
        holds.release(annotator, data["reason"], request.user)
        return f"The earnings of {annotator} can be paid."


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
