"""What researchers decide about annotators: inclusion, pay, admission, bonuses and reviews.

Each decision has a form and a POST declaration, which the page and the API share.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django import forms
from django.contrib.auth.models import User
from django.core.validators import MaxValueValidator
from django.http import Http404, HttpRequest

from annotation.models import Decision, Participation, Study
from annotation.pay import budget, ledger
from annotation.payout import pages as payments
from annotation.privacy import withdrawal
from annotation.prolific import review
from annotation.prolific.client import ProlificError
from annotation.protocol import blinding, exclusion, qualification
from annotation.recruitment import seats
from annotation.web.access import annotator_of, right_to
from annotation.web.fields import NO_REASON, AmountField, PageForm, PressedField, YesNoField
from annotation.web.posts import AnnotatorPost, StudyPost

NO_REASON_TO_LOG = "Enter a reason. It is stored in the log."


def _reason(longest: int, problem: str = NO_REASON, help_text: str = "") -> forms.CharField:
    messages = {"required": problem}
    return forms.CharField(max_length=longest, help_text=help_text, error_messages=messages)


DECIDE: dict[str, Callable[..., object]] = {
    Decision.About.ANALYSIS: exclusion.decide,
    Decision.About.PAY: ledger.decide,
    Decision.About.QUALIFICATION: lambda one, *choice: qualification.decide(one.token, *choice),
}


class DecisionForm(PageForm):
    """The form for a decision. For admission, which is urgent, only browsers require a reason."""

    about = forms.ChoiceField(choices=Decision.About.choices, widget=forms.HiddenInput)
    outcome = YesNoField()
    reason = _reason(500)

    def __init__(self, topic: str, *args: Any):
        self.key = topic
        super().__init__(*args, initial={"about": topic})
        if topic == Decision.About.QUALIFICATION:
            reason = self.fields["reason"]
            assert isinstance(reason, forms.CharField)
            reason.required, reason.empty_value = False, "no reason given"
            reason.widget.attrs["required"] = True


class Decide(AnnotatorPost):
    row, path = "participation_decide", "decide/"
    form_class = DecisionForm
    summary = "Decide on an annotator's inclusion, pay or admission"
    faults: ClassVar = {exclusion.ExclusionError: "reason"}

    def subject(self, request: HttpRequest, data: Mapping[str, Any], **names: Any) -> Participation:
        row = self.row + ("_pay" if data.get("about") == Decision.About.PAY else "")
        return annotator_of(request, names["name"], names["pseudonym"], right_to(row))

    def form(self, annotator: Participation, data: Any, files: Any = None) -> DecisionForm:
        if data.get("about") not in DECIDE:
            raise Http404
        return DecisionForm(data["about"], data)

    def do(self, annotator: Participation, data: dict[str, Any], by: User) -> str:
        DECIDE[Decision.About(data["about"])](annotator, data["outcome"], data["reason"], by)
        return "The decision is stored with its reason."


class AnnotatorsField(forms.MultipleChoiceField):
    """Pseudonyms. The step function checks for each annotator whether the decision is possible."""

    widget = forms.MultipleHiddenInput

    def valid_value(self, value: Any) -> bool:
        return True


class AnnotatorsForm(PageForm):
    key = "together"
    annotators = AnnotatorsField(error_messages={"required": "Select an annotator."})


class SelectionForm(AnnotatorsForm):
    reason = _reason(500)


class BulkForm(SelectionForm):
    outcome = YesNoField()


class ExclusionForm(SelectionForm):
    again = forms.BooleanField(required=False)


class BulkExclude(StudyPost):
    """Exclude the selected annotators or, with `again`, include them again: all or none."""

    row, path = "behaviour_exclude", "exclude/"
    below = ("studies/<str:name>/people/", "studies/<str:name>/participations/")
    form_class: ClassVar[Any] = ExclusionForm
    operation_id = "participations_exclude_together"
    summary = "Exclude several annotators from the analysis, or include them again"
    faults: ClassVar = {qualification.CannotDecide: "annotators"}
    shows_message = True

    def do(self, study: Study, data: dict[str, Any], by: User) -> Any:
        includes = data["again"]
        exclusion.decide_in_bulk(study, data["annotators"], includes, data["reason"], by)
        outcome = "Included in the analysis again" if includes else "Excluded from the analysis"
        return f"{outcome}: {len(set(data['annotators']))}."


class BulkDecide(BulkExclude):
    """Apply the decision to all selected annotators or, if that is impossible, to none."""

    row, path = "people_decide", "decide/"
    form_class = BulkForm
    operation_id = "participations_decide_together"
    summary = "Admit or screen out several waiting annotators"

    def do(self, study: Study, data: dict[str, Any], by: User) -> str:
        qualification.decide_in_bulk(study, data["annotators"], data["outcome"], data["reason"], by)
        return f"Decided: {len(set(data['annotators']))}."


class ShowScore(AnnotatorPost):
    row = "participation_score"
    summary = "Show an annotator's score before the decision, which is then marked"

    def do(self, annotator: Participation, data: dict[str, Any], by: User) -> None:
        blinding.show(annotator, by)


class BonusForm(PageForm):
    key = "bonus"
    amount = AmountField(
        min_value=0.01,
        max_digits=9,
        decimal_places=2,
        widget=forms.TextInput({"inputmode": "decimal"}),
    )
    reason = forms.CharField(max_length=200, help_text="Stored in the ledger with the amount.")

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        currency = self.subject.study.currency
        limit = f"A bonus is at most {ledger.MAX_BONUS} {currency}."
        self.fields["amount"].label = f"Amount in {currency}"
        self.fields["amount"].validators.append(MaxValueValidator(ledger.MAX_BONUS, limit))


class Bonus(AnnotatorPost):
    """Add a bonus for an annotator to the ledger."""

    row, path = "participation_bonus", "bonus/"
    form_class = BonusForm
    summary = "Add a bonus for an annotator"
    success = 201
    faults: ClassVar = {ValueError: "amount"}

    def do(self, annotator: Participation, data: dict[str, Any], by: User) -> str:
        budget.give_bonus(annotator, ledger.cents(data["amount"]), data["reason"], by)
        return f"A bonus of {data['amount']} {annotator.study.currency} was entered."


class SeatForm(PageForm):
    key = "seat"
    reason = _reason(150, NO_REASON_TO_LOG)


class FreeSeat(AnnotatorPost):
    """Free the seat of an annotator who is at work."""

    row, path = "participation_free_seat", "free-seat/"
    form_class = SeatForm
    summary = "Free the seat of an annotator who has not returned"
    faults: ClassVar = {ValueError: "reason"}
    conflicts = (ValueError,)

    def do(self, annotator: Participation, data: dict[str, Any], by: User) -> str:
        seats.free_by_hand(annotator, data["reason"], by)
        return "The seat was freed."


class WithdrawForm(PageForm):
    key = "withdraw"
    reason = _reason(
        150, NO_REASON_TO_LOG, "For example: requested by email. Do not enter names or addresses."
    )
    confirm = forms.BooleanField(
        label="The participant requested this. Erase the answers permanently.",
        error_messages={"required": "Confirm that the participant requested it."},
    )


class Withdraw(AnnotatorPost):
    """Withdraw a participant, who could also do this on the study's page."""

    row, path = "participation_withdraw", "withdraw/"
    form_class = WithdrawForm
    summary = "Withdraw an annotator who requested it, which erases the answers"
    faults: ClassVar = {ValueError: "reason"}
    conflicts = (ValueError,)
    shows_message = True

    def do(self, annotator: Participation, data: dict[str, Any], by: User) -> str:
        withdrawal.withdraw_on_request(annotator, data["reason"], by)
        return "The answers were erased."


class ReviewForm(PageForm):
    key = "review"
    action = PressedField(choices=[("return", "Request a return"), ("reject", "Reject")])
    category = forms.ChoiceField(
        label="Reason for rejection",
        choices=list(review.CATEGORIES.items()),
        required=False,
        help_text="Needed only to reject a submission.",
        error_messages={"invalid_choice": "Choose a reason."},
    )
    message = forms.CharField(
        label="Message to the participant",
        help_text="Prolific shows it to the participant. To reject a submission, write at least"
        f" {review.SHORTEST_MESSAGE} characters.",
        required=False,
        widget=forms.Textarea({"rows": 3}),
    )


class Review(AnnotatorPost):
    """Ask a participant to return a submission on Prolific, or reject it."""

    row, path = "participation_review", "review/"
    form_class = ReviewForm
    summary = "Request the return of a submission on Prolific, or reject it"
    faults: ClassVar = {review.ReviewError: "message", ProlificError: "message"}
    conflicts = (review.ReviewError, ProlificError)
    shows_message = True

    def do(self, annotator: Participation, data: dict[str, Any], by: User) -> str:
        if data["action"] == "return":
            review.ask_to_return(annotator, data["message"])
            return "Prolific asked the participant to return the submission."
        review.reject(annotator, data["message"], data["category"], by)
        return "The submission was rejected on Prolific."


class PayForm(AnnotatorsForm):
    confirmed = forms.CharField(
        required=False, widget=forms.HiddenInput, help_text="the refusal's sentence, to confirm it"
    )


class BulkPay(BulkExclude):
    """Prepare payments to all selected annotators or none, once the sum has been confirmed."""

    row, path = "people_pay", "pay/"
    form_class: ClassVar[Any] = PayForm
    operation_id = "participations_pay_together"
    summary = "Prepare payments to several annotators"
    faults: ClassVar = {
        qualification.CannotDecide: "annotators", qualification.NotConfirmed: "confirmed",
        ProlificError: "annotators",
    }  # fmt: skip
    conflicts = (ProlificError,)
    in_words = payments.Payments.in_words

    def do(self, study: Study, data: dict[str, Any], by: User) -> Any:
        return payments.prepare(study, by, data["annotators"], data["confirmed"])


class BulkWithdrawForm(PayForm):
    reason = _reason(150)


class BulkWithdraw(BulkPay):
    """Withdraw all selected annotators or none, once it is confirmed what will be erased."""

    row, path = "people_withdraw", "withdraw/"
    form_class = BulkWithdrawForm
    operation_id = "participations_withdraw_together"
    summary = "Withdraw several annotators who requested it"

    def do(self, study: Study, data: dict[str, Any], by: User) -> list[str]:
        names = data["annotators"]
        withdrawal.withdraw_in_bulk(study, names, data["reason"], by, data["confirmed"])
        return [f"Withdrawn, and the answers erased: {len(set(names))}."]
