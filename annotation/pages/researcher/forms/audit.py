"""What the audit log is reduced to."""

from typing import Any

from django import forms

from annotation.models import Topic
from annotation.models.audit import AuditQuerySet
from annotation.notices import audit_log
from annotation.pages.fields import PageForm


class LogForm(PageForm):
    """Sent by GET: what is wrong is shown at its field, and reduces nothing."""

    key = "log"
    topic = forms.ChoiceField(label="What", required=False)
    who = forms.ChoiceField(label="Who", required=False)
    since = forms.DateField(label="From", required=False, widget=forms.DateInput({"type": "date"}))
    until = forms.DateField(label="To", required=False, widget=forms.DateInput({"type": "date"}))
    words = forms.CharField(label="Words", required=False, max_length=100)

    def __init__(self, entries: AuditQuerySet, *args: Any):
        super().__init__(*args)
        self.entries = entries
        names = entries.order_by("by__username").values_list("by__username", flat=True).distinct()
        self.fields["topic"].choices = [("", "Everything"), *Topic.choices]  # type: ignore[attr-defined]
        self.fields["who"].choices = [  # type: ignore[attr-defined]
            ("", "Everybody"), *((name, name) for name in names if name),
        ]  # fmt: skip

    def reduced(self) -> AuditQuerySet:
        """The entries that fit the fields which are right."""
        self.is_valid()
        return audit_log.reduced(self.entries, **self.cleaned_data)
