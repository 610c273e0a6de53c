"""The page and API view for a study's audit log, and the page for the server's log."""

from typing import Any, ClassVar

from django import forms
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from rest_framework.request import Request

from annotation.audit import log as audit_log
from annotation.models import AuditEntry, Study, Topic
from annotation.models.accounts import AuditQuerySet
from annotation.web.access import ResearcherRequest, signed_in, study_of
from annotation.web.fields import PageForm, optional_day, optional_text
from annotation.web.paging import RowsView
from tasks.csv_files import cell, csv_download, no_formula

# Maps filters to lookups. Days are in the reader's time zone; `until` is the last one.
LOOKUPS = {
    "topic": "topic", "who": "by__username", "since": "at__date__gte", "until": "at__date__lte",
}  # fmt: skip


class LogForm(PageForm):
    """Filters in a GET request. Invalid filters are ignored and reported as errors."""

    key = "log"
    topic = forms.ChoiceField(label="Topic", required=False, help_text="What the action is about.")
    who = forms.ChoiceField(label="User", required=False, help_text="Who did it.")
    since = optional_day("From", "First day to include.")
    until = optional_day("To", "Last day to include.")
    words = optional_text("Search", 100, "Words in the action, its object or the token's name.")

    def __init__(self, entries: AuditQuerySet, *args: Any):
        super().__init__(*args)
        self.entries = entries
        names = entries.order_by("by__username").values_list("by__username", flat=True).distinct()
        self.fields["topic"].choices = [("", "Everything"), *Topic.choices]  # type: ignore[attr-defined]
        self.fields["who"].choices = [  # type: ignore[attr-defined]
            ("", "All users"), *((name, name) for name in names if name),
        ]  # fmt: skip

    def reduced(self) -> AuditQuerySet:
        self.is_valid()
        entries = self.entries
        for name, lookup in LOOKUPS.items():
            if value := self.cleaned_data.get(name):
                entries = entries.filter(**{lookup: value})
        for term in self.cleaned_data.get("words", "").split():
            entries = entries.filter(
                Q(what__icontains=term) | Q(about__icontains=term) | Q(token__icontains=term)
            )
        return entries


PER_PAGE = 50


@signed_in("GET")
def log(request: ResearcherRequest, name: str) -> HttpResponse:
    """List the actions in a study, newest first, or download them with `?format=csv`."""
    study = study_of(request, name, "read")
    return _page(request, audit_log.study_entries(study), study)


@signed_in("GET")
def site_log(request: ResearcherRequest) -> HttpResponse:
    if not request.user.is_superuser:
        raise PermissionDenied("Only superusers can read the server's audit log.")
    everywhere = AuditEntry.objects.select_related("by", "study").order_by("-at", "-pk")
    return _page(request, everywhere, None)


def _page(request: ResearcherRequest, entries: AuditQuerySet, study: Study | None) -> HttpResponse:
    form = LogForm(entries, request.GET)
    reduced = form.reduced()
    if request.GET.get("format") == "csv":
        names = [column.name for column in audit_log.COLUMNS]
        rows = (
            [no_formula(str(cell(column.value(entry)))) for column in audit_log.COLUMNS]
            for entry in reduced.iterator(chunk_size=500)
        )
        return csv_download(f"{study.name if study else 'server'}-log.csv", names, rows)
    query = request.GET.copy()
    for name in ("page", "format"):
        query.pop(name, None)
    context = {
        "study": study,
        "form": form,
        "page": Paginator(reduced, PER_PAGE).get_page(request.GET.get("page")),
        "query": query.urlencode(),
    }
    return render(request, "audit/audit_log.html", context)


class Events(RowsView):
    columns = audit_log.COLUMNS
    summary = "A study's audit log, oldest entries first"
    filters: ClassVar = {"topic": ("topic", Topic.values), "by": ("by__username", None)}

    def rows(self, request: Request, **names: Any) -> QuerySet[Any]:
        return audit_log.study_entries(study_of(request, names["name"], "read"))
