"""The forms on the page of one annotator: decisions, a bonus, the seat, the review on Prolific."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.validators import MaxValueValidator

from annotation.models import Decision, Study
from annotation.money import ledger
from annotation.money.amounts import AmountField
from annotation.pages.fields import PageForm, PressedField
from annotation.platforms.prolific import review

NO_REASON = "Give a reason: it is stored with the decision."


class DecisionForm(PageForm):
    """A decision on analysis, pay, or admission to the annotation step.

    Screening out and letting go on are done in a hurry: there the reason may be missing.
    """

    about = forms.ChoiceField(choices=Decision.About.choices, widget=forms.HiddenInput)
    outcome = PressedField(
        choices=[("yes", "yes"), ("no", "no")],
        error_messages={"required": "Press one of the buttons."},
    )
    reason = forms.CharField(max_length=500, error_messages={"required": NO_REASON})

    def __init__(self, about: str, *args: Any):
        self.key = about
        super().__init__(*args, initial={"about": about})
        if about == Decision.About.QUALIFICATION:
            reason = self.fields["reason"]
            assert isinstance(reason, forms.CharField)
            reason.required, reason.empty_value = False, "no reason given"
            reason.widget.attrs["required"] = True

    def clean_outcome(self) -> bool:
        return self.cleaned_data["outcome"] == "yes"


class TickedForm(PageForm):
    """One decision with one reason about several; which were ticked stands in the list."""

    key = "together"
    reason = forms.CharField(max_length=500, error_messages={"required": NO_REASON})
    annotators = forms.MultipleChoiceField(
        widget=forms.MultipleHiddenInput, error_messages={"required": "Tick somebody."}
    )

    def __init__(self, ticked: Sequence[str] = (), *args: Any):
        super().__init__(*args)
        # Whether it is possible for each of them is said by the step, for each.
        annotators = self.fields["annotators"]
        assert isinstance(annotators, forms.MultipleChoiceField)
        annotators.choices = [(name, name) for name in ticked]


class TogetherForm(TickedForm):
    """On admission, about several who wait."""

    outcome = PressedField(
        choices=[("yes", "yes"), ("no", "no")],
        error_messages={"required": "Press one of the buttons."},
    )

    def __init__(self, ticked: Sequence[str] = (), *args: Any):
        super().__init__(ticked, *args)
        self.fields["annotators"].error_messages["required"] = "Tick somebody who waits."

    def clean_outcome(self) -> bool:
        return self.cleaned_data["outcome"] == "yes"


class BonusForm(PageForm):
    """A bonus with its reason."""

    key = "bonus"
    amount = AmountField(
        min_value=0.01,
        max_digits=9,
        decimal_places=2,
        widget=forms.TextInput({"inputmode": "decimal"}),
    )
    reason = forms.CharField(max_length=200)

    def __init__(self, study: Study, *args: Any):
        super().__init__(*args)
        limit = f"A bonus is at most {ledger.MAX_BONUS} {study.currency}."
        self.fields["amount"].label = f"Amount in {study.currency}"
        self.fields["amount"].validators.append(MaxValueValidator(ledger.MAX_BONUS, limit))


class SeatForm(PageForm):
    """Why a seat is freed by hand."""

    key = "seat"
    reason = forms.CharField(
        max_length=150, error_messages={"required": "Give a reason: it is stored in the log."}
    )


class WithdrawForm(PageForm):
    """Why a researcher withdraws a participant, and the confirmation."""

    key = "withdraw"
    reason = forms.CharField(
        max_length=150,
        help_text="Such as: asked by e-mail. Do not write names or addresses here.",
        error_messages={"required": "Give a reason: it is stored in the log."},
    )
    confirm = forms.BooleanField(
        label="The participant asked for it. Erase the answers for good.",
        error_messages={"required": "Confirm that the participant asked for it."},
    )


class ReviewForm(PageForm):
    """What is asked of Prolific for one submission: its return, or its rejection."""

    key = "review"
    action = PressedField(choices=[("return", "Ask to return"), ("reject", "Reject")])
    category = forms.ChoiceField(
        label="Reason for rejection",
        choices=list(review.CATEGORIES.items()),
        required=False,
        error_messages={"invalid_choice": "Choose the reason."},
    )
    message = forms.CharField(
        label=f"Message to the participant (at least {review.SHORTEST_MESSAGE} characters to"
        " reject)",
        required=False,
        widget=forms.Textarea({"rows": 3}),
    )
