"""The forms of what stands outside the frozen design: lists, switches, seats, budget."""

from typing import Any

from django import forms

from annotation.models import AccessRule, Scenario, Study
from annotation.money.amounts import AmountField
from annotation.pages.fields import OnPage, PageForm, RowField, WholeNumberField, row_field
from annotation.recruitment import eligibility
from annotation.study import lifecycle

NOT_CHOSEN = "Choose to whom the entry applies, and whether they may take part."
UNCHOSEN = {"required": NOT_CHOSEN, "invalid_choice": NOT_CHOSEN}


class RuleForm(PageForm):
    """An entry of the allow and deny lists; recruitment/eligibility.py reads its value."""

    key = "rule"
    effect = forms.ChoiceField(
        label="May take part",
        choices=AccessRule.Effect.choices,
        initial=AccessRule.Effect.DENY,
        error_messages=UNCHOSEN,
    )
    criterion = forms.ChoiceField(
        label="Who", choices=AccessRule.Criterion.choices, error_messages=UNCHOSEN
    )
    platform = forms.ChoiceField(label="Where the ids come from", required=False)
    value = forms.CharField(
        label="Name of the task or the study, or the ids",
        required=False,
        widget=forms.Textarea({"rows": 3}),
        help_text="Ids, one per line. Only their keyed hashes are kept. Annotators at work keep"
        " their seat; those who return after giving it up are refused.",
    )

    def __init__(self, study: Study, *args: Any):
        super().__init__(*args)
        platform = self.fields["platform"]
        assert isinstance(platform, forms.ChoiceField)
        platform.choices = [("", "no ids"), *eligibility.platforms(study)]


class EndForm(PageForm):
    """The entry whose button was pressed."""

    key = "end"
    end = RowField(AccessRule.objects.none(), widget=forms.HiddenInput)

    def __init__(self, study: Study, *args: Any):
        super().__init__(*args)
        row_field(self, "end").queryset = study.access_rules.all()


class SwitchesForm(OnPage, forms.ModelForm):
    """What can be switched while a study runs."""

    key = "switches"

    class Meta:
        model = Study
        fields = lifecycle.SWITCHES


class SeatsForm(PageForm):
    """More seats for a scenario of the study."""

    key = "seats"
    scenario = RowField(Scenario.objects.none(), empty_label=None)
    number = WholeNumberField(
        label="Seats to add",
        initial=1,
        widget=forms.TextInput({"inputmode": "numeric"}),
        error_messages={"required": "Write how many seats to add."},
    )
    confirmed = forms.BooleanField(
        label="Add them although results can be seen",
        required=False,
        help_text=lifecycle.AFTER_RESULTS,
    )

    def __init__(self, study: Study, *args: Any):
        super().__init__(*args)
        if not lifecycle.has_results(study):
            del self.fields["confirmed"]
        row_field(self, "scenario").queryset = study.scenarios.select_related("task")
        row_field(self, "scenario").label_from_instance = self._label  # type: ignore[method-assign, assignment]  # as Django documents

    @staticmethod
    def _label(scenario: Scenario) -> str:
        return f"{scenario}: {scenario.seats} seats"


class BudgetForm(PageForm):
    """A larger budget."""

    key = "budget"
    amount = AmountField(
        max_digits=9, decimal_places=2, widget=forms.TextInput({"inputmode": "decimal"})
    )

    def __init__(self, study: Study, *args: Any):
        super().__init__(*args)
        self.fields["amount"].label = f"Raise the budget to ({study.currency})"
