"""The forms on the page of money."""

from typing import Any

from django import forms

from annotation.models import PaymentBatch, Study
from annotation.pages.fields import PageForm, RowField, row_field
from annotation.pages.researcher.forms.annotators import NO_REASON


class ReleaseForm(PageForm):
    """Why an annotator's pay is no longer held."""

    key = "release"
    annotator = forms.CharField(widget=forms.HiddenInput)
    reason = forms.CharField(
        widget=forms.TextInput({"placeholder": "Reason"}), error_messages={"required": NO_REASON}
    )

    def in_row(self, pseudonym: str) -> "ReleaseForm":
        """The form as it stands in that annotator's row."""
        self.auto_id, self.initial = f"release-{pseudonym}-%s", {"annotator": pseudonym}
        self.fields["reason"].widget.attrs["aria-label"] = f"Reason to release {pseudonym}"
        return self


class BatchForm(PageForm):
    """The batch whose button was pressed."""

    key = "batch"
    batch = RowField(PaymentBatch.objects.none(), widget=forms.HiddenInput)

    def __init__(self, study: Study, *args: Any):
        super().__init__(*args)
        row_field(self, "batch").queryset = study.payment_batches.all()
