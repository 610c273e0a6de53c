"""The forms of where people come from: other platforms, and drafts of studies on Prolific."""

from typing import Any, ClassVar

from django import forms

from annotation.models import Panel, ProlificStudy
from annotation.money import ledger
from annotation.money.amounts import AmountField
from annotation.pages.fields import OnPage, PageForm, WholeNumberField
from annotation.platforms import panel

ONE_EACH = "(empty: one for each person)"
NUMERIC = {"inputmode": "numeric"}
DECIMAL = {"inputmode": "decimal"}


class PanelForm(OnPage, forms.ModelForm):
    """Another platform, with its parameters and its return addresses."""

    key = "panel"

    class Meta:
        model = Panel
        fields = (
            "name", "id_parameter", "submission_parameter", "completed_url", "completed_code",
            "other_url", "other_code", "turned_away_url", "turned_away_code",
        )  # fmt: skip
        labels: ClassVar[dict[str, str]] = {
            "id_parameter": "Parameter that holds the person's id",
            "submission_parameter": "Parameter that holds the assignment's id, if there is one",
            "completed_url": "Return address when completed",
            "completed_code": f"Code when completed {ONE_EACH}",
            "other_url": "Return address when screened out (paid for what was done)",
            "other_code": f"Code when screened out {ONE_EACH}",
            "turned_away_url": "Return address for those who never started (no consent, full; not"
            " paid)",
            "turned_away_code": "Code for those who never started (empty: none)",
        }
        help_texts: ClassVar[dict[str, str]] = {
            "completed_url": "{id}, {submission} and {code} are filled in. Leave it empty to show a"
            " code only.",
        }

    def _post_clean(self) -> None:
        """Let the rules of panels speak at the fields."""
        super()._post_clean()  # type: ignore[misc]  # no public hook is called as late
        try:
            panel.check(self.instance)
        except forms.ValidationError as error:
            for field, sentences in error.message_dict.items():
                if field not in self.errors:
                    self.add_error(field, sentences)


class PlanForm(PageForm):
    """In how many studies on Prolific a design is done."""

    key = "plan"
    annotation_parts = forms.TypedChoiceField(
        label="How",
        coerce=int,
        initial=0,
        widget=forms.RadioSelect,
        choices=[
            (0, "In one sitting; those screened out after the training step receive a smaller"
             " fixed reward"),
            (1, "In two parts: a study for the training step, and one for the annotation step that"
             " only those who qualified may enter"),
            (2, "In three parts: the annotation step in two sittings"),
            (3, "In four parts"),
        ],
    )  # fmt: skip


class DraftForm(PageForm):
    """What a draft will ask of Prolific; platforms/prolific/drafts.py holds the rules."""

    key = "draft"
    name = forms.CharField(label="Name that people see", max_length=120)
    reward = AmountField(max_digits=7, decimal_places=2, widget=forms.TextInput(DECIMAL))
    screen_out = AmountField(
        label="Reward for being screened out (0: by bonus)",
        min_value=0,
        max_digits=7,
        decimal_places=2,
        widget=forms.TextInput(DECIMAL),
    )
    minutes = WholeNumberField(
        label="Estimated minutes", max_value=10**6, widget=forms.TextInput(NUMERIC)
    )
    max_minutes = WholeNumberField(
        label="Longest time in minutes", max_value=10**6, widget=forms.TextInput(NUMERIC)
    )
    places = WholeNumberField(min_value=0, max_value=10**6, widget=forms.TextInput(NUMERIC))
    signed = forms.BooleanField(
        label="Ask Prolific to sign the address (in certain workspaces only; without it each"
        " arrival is confirmed afterwards)",
        required=False,
    )

    def __init__(self, draft: ProlificStudy, *args: Any):
        initial = {name: getattr(draft, name, None) for name in self.base_fields}
        initial["reward"] = ledger.in_currency(draft.reward_cents)
        initial["screen_out"] = ledger.in_currency(draft.screen_out_cents)
        super().__init__(*args, initial=initial, auto_id=f"draft-{draft.pk}-%s")
        self.fields["reward"].label = f"Reward in {draft.study.currency}"

    def values(self) -> dict[str, Any]:
        """The fields of the draft, with amounts in cents."""
        amounts = ("reward", "screen_out")
        sent = self.cleaned_data
        cents = {f"{name}_cents": ledger.cents(sent[name]) for name in amounts}
        return {name: value for name, value in sent.items() if name not in amounts} | cents
