"""The researcher's page of money: what was earned, what is paid, what to pay next."""

from datetime import timedelta

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from annotation.access import study_of
from annotation.models import PaymentBatch, Study
from annotation.money import budget, holds, ledger, payout
from annotation.platforms.prolific.client import ProlificError
from annotation.platforms.prolific.sync import sync
from annotation.wording import in_words
from tasks.downloads import download


@login_required
@require_http_methods(["GET", "POST"])
def pay_page(request: HttpRequest, name: str) -> HttpResponse:
    """GET shows wages and batches; POST prepares, pays, cancels, or marks as paid."""
    study = study_of(request, name, "pay")
    if request.method == "GET":
        return _page(request, study)
    try:
        messages.success(request, _act(request, study))
    except (payout.PaymentError, ProlificError) as error:
        return _page(request, study, problem=str(error), status=409)
    except ValueError as error:
        return _page(request, study, problem=str(error), status=422)
    return redirect("pay", study.name)


def _act(request: HttpRequest, study: Study) -> str:
    """Perform the action of the pressed button; return a sentence for the page.

    Raises PaymentError, ProlificError, and ValueError for a release without a reason.
    """
    action, pk = request.POST.get("action"), request.POST.get("batch", "")
    if action == "prepare":
        if study.prolific_studies.exclude(external_id=None).exists():
            for problem in sync(study).problems[:10]:
                messages.warning(request, f"Sync with Prolific failed: {problem}")
        made = payout.prepare(study, request.user)
        return f"{len(made)} batches were prepared." if made else "Nothing new is due."
    if action == "release":
        pseudonym = request.POST.get("annotator", "")
        one = get_object_or_404(study.participations, pseudonym=pseudonym.replace("\0", ""))
        holds.release(one, request.POST.get("reason", ""), request.user)
        return f"What {one} earned can be paid."
    batch = get_object_or_404(study.payment_batches, pk=int(pk[:18]) if pk.isdecimal() else 0)
    if action == "pay":
        budget.check_may_spend(request.user)
        payout.pay_batch(batch)
        return f"Batch {batch.pk} is paid."
    if action == "mark":
        payout.mark_paid(batch)
        return f"Batch {batch.pk} is marked as paid."
    if action == "cancel":
        payout.cancel(batch)
        return f"Batch {batch.pk} is cancelled."
    raise payout.PaymentError("This action does not exist.")


def _page(request: HttpRequest, study: Study, problem: str = "", status: int = 200) -> HttpResponse:
    wages = ledger.wages(ledger.settled(study))
    median = ledger.median_wage(wages)
    rate = ledger.cents(study.hourly_rate)
    context = {
        "study": study,
        "problem": problem,
        "wages": [
            {
                "annotator": wage.participation,
                "worked": in_words(timedelta(seconds=wage.active_seconds)),
                "earned": ledger.in_currency(wage.earned),
                "paid": ledger.in_currency(wage.paid),
                "per_active_hour": _hourly(wage.per_active_hour),
                "per_elapsed_hour": _hourly(wage.per_elapsed_hour),
            }
            for wage in wages
        ],
        "earned": ledger.in_currency(sum(wage.earned for wage in wages)),
        "paid": ledger.in_currency(sum(wage.paid for wage in wages)),
        "median": _hourly(median),
        "too_low": median is not None and median < rate,
        "holds": [
            {
                "annotator": hold.participation,
                "worked": in_words(ledger.active_time(hold.participation)),
                "earned": ledger.in_currency(hold.earned),
                "usual": ledger.in_currency(round(hold.usual)),
                "waiting": ledger.in_currency(hold.waiting),
            }
            for hold in holds.holds(study)
        ],
        "times": holds.TIMES,
        "batches": [
            {"batch": batch, "amount": ledger.in_currency(batch.cents)}
            for batch in study.payment_batches.annotate(
                cents=Sum("payments__entry__cents", default=0)
            )
        ],
        "due": sum(entry.cents for entry in payout.payable(study)),
        "states": PaymentBatch.State,
    }
    context["due"] = ledger.in_currency(context["due"])
    return render(request, "researcher/pay.html", context, status=status)


def _hourly(cents: float | None) -> str:
    return "" if cents is None else ledger.in_currency(int(cents))


@login_required
@require_GET
def batch_file(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """A batch as CSV: to be paid by hand, or Prolific's own bonus format."""
    study = study_of(request, name, "pay")
    batch = get_object_or_404(study.payment_batches, pk=pk)
    try:
        text = payout.batch_csv(batch)
    except payout.PaymentError as error:
        return _page(request, study, problem=str(error), status=409)
    return download(text, f"{study.name}-batch-{pk}.csv")
