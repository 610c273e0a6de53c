"""The audit log of a study in the API."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request

from annotation.audit import log as audit_log
from annotation.models import Topic
from annotation.web.access import study_of
from annotation.web.paging import RowsView


class Events(RowsView):
    columns = audit_log.COLUMNS
    kinds: ClassVar = {
        "at": serializers.DateTimeField,
        **dict.fromkeys(("before", "after"), serializers.JSONField),
    }
    summary = "The audit log of a study: what anybody did, newest last"
    filters: ClassVar = {"topic": ("topic", Topic.values), "by": ("by__username", None)}
    streams = True

    def rows(self, request: Request, **names: Any) -> QuerySet[Any]:
        return audit_log.of_study(study_of(request, names["name"], "read"))
