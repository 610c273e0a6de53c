"""Pages for data retention, deleting studies, and listing deleted studies."""

from datetime import date
from typing import Any, ClassVar

from django import forms
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from annotation.models import Study, StudyTombstone
from annotation.pay.ledger import in_currency
from annotation.privacy import erasure
from annotation.web.access import ResearcherRequest, signed_in
from annotation.web.fields import OnPage, PageForm, by_key, optional_day
from annotation.web.posts import StudyPost
from tasks.clock import database_now


class RetentionForm(PageForm):
    key = "retention"
    until = optional_day(
        "Delete identities after",
        "Leave blank to delete them only manually.",
        error_messages={"invalid": "Enter a date, such as 2027-03-31, or leave it empty."},
    )
    answers_until = optional_day(
        "Delete the study after",
        "All answers are deleted too, as described below. Leave blank to delete the study only"
        " manually.",
        error_messages={"invalid": "Enter a date, such as 2037-03-31, or leave it empty."},
    )
    now = forms.BooleanField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, subject: Study):
        days = {"until": subject.identities_until, "answers_until": subject.answers_until}
        super().__init__(*args, subject=subject, initial=days)

    def clean_answers_until(self) -> date | None:
        """Reject dates in the past, on which the study would be deleted within the hour.

        A stored date that has passed is accepted: the study is deleted once nothing prevents it.
        """
        day = self.cleaned_data["answers_until"]
        is_set = day == self.initial.get("answers_until")
        if day is not None and not is_set and day <= database_now().date():
            raise forms.ValidationError(
                "Choose a future date, or delete the study now (below).", code="past"
            )
        return day


class Retention(StudyPost):
    """Set the deletion dates, or delete the identities now."""

    row, path = "retention", "retention/"
    form_class = RetentionForm
    summary = "Set deletion dates for identities and the study, or delete the identities now"
    faults: ClassVar = {erasure.ErasureError: "until"}
    shows_message = True

    def do(self, study: Study, data: dict[str, Any], by: User) -> str:
        if data["now"]:
            return f"{erasure.purge(study, by)} identities were deleted."
        erasure.keep_until(study, data["until"], data["answers_until"], by)
        return (
            f"Deletion dates: identities {data['until'] or 'none'}, study"
            f" {data['answers_until'] or 'none'}."
        )


class EraseForm(PageForm):
    key = "erase"
    typed = forms.CharField(
        label="Study name", max_length=200, help_text="As in its address, to confirm.",
        widget=forms.TextInput({"autocomplete": "off", "autocapitalize": "none"}),
        error_messages={"required": "Type the name of the study to delete it."},
    )  # fmt: skip


class Erase(StudyPost):
    """Delete a study permanently; a tombstone remains."""

    row, path = "study_erase", "erase/"
    form_class = EraseForm
    summary = "Delete a closed study, whose name must be repeated in `typed`"
    faults: ClassVar = {erasure.ErasureError: "typed"}
    shows_message = True

    def do(self, study: Study, data: dict[str, Any], by: User) -> str:
        tombstone = erasure.erase(study, data["typed"], by)
        return f"{study.name} was deleted, with {tombstone.answers_erased} answers."


@signed_in("GET")
def deleted(request: ResearcherRequest) -> HttpResponse:
    """List studies that this researcher owned or deleted, with what remains of their data."""
    owned = StudyTombstone.objects.filter(study__owner=request.user)
    tombstones = owned | StudyTombstone.objects.filter(by=request.user)
    rows = [
        (tombstone, in_currency(tombstone.cents_earned), sum(tombstone.participations.values()))
        for tombstone in tombstones.select_related("study", "by")
    ]
    return render(request, "privacy/deleted_studies.html", {"rows": rows})


def section(study: Study, form: OnPage | None = None) -> dict[str, Any]:
    blank = (RetentionForm(subject=study), EraseForm())
    return {"kept": erasure.REMAINING} | by_key(*blank, sent=form)


def to_deleted(request: ResearcherRequest, message: str, name: str) -> HttpResponse:
    return redirect(reverse("studies", query={"show": "deleted"}))
