"""Columns and filters of the audit log.

Readers see the log of their study, superusers that of the server. Only payers see pay.
"""

import json
from datetime import date
from typing import Any

from django.db.models import Q

from annotation.models import AuditEntry, Study
from annotation.models.audit import AuditQuerySet
from tasks.columns import Column


def in_words(value: Any) -> str:
    """Return an old or new value as a page shows it."""
    if value is None:
        return ""
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return "; ".join(f"{name}: {_plain(part)}" for name, part in value.items())


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _name(entry: AuditEntry) -> str:
    return entry.by.get_username() if entry.by else ""


# Columns of the page's CSV and of the API.
COLUMNS = [
    Column("at", meaning="UTC"),
    Column("by", meaning="user name; empty: the server by itself, or a command", get=_name),
    Column("token", meaning="name of the API token by which it was done; empty: on a page"),
    Column("topic", meaning="kind of thing"),
    Column("what", meaning="what was done"),
    Column("about", meaning="whom or what it concerns: annotator, task, account, file"),
    Column("before", meaning="what was changed, as it was; null where nothing was"),
    Column("after", meaning="the same as it is since; null where nothing was"),
]


def of_study(study: Study) -> AuditQuerySet:
    """Return the log of a study as its reader (StudyQuerySet.visible_to) sees it, newest first."""
    return study.events.readable_by(study.rights).select_related("by").order_by("-at", "-pk")


def everywhere() -> AuditQuerySet:
    """Return the log of the whole server, newest first."""
    return AuditEntry.objects.select_related("by", "study").order_by("-at", "-pk")


def reduced(
    entries: AuditQuerySet,
    *,
    topic: str = "",
    who: str = "",
    since: date | None = None,
    until: date | None = None,
    words: str = "",
) -> AuditQuerySet:
    """Filter by all of these; `until` is the last day (UTC) included."""
    if topic:
        entries = entries.filter(topic=topic)
    if who:
        entries = entries.filter(by__username=who)
    if since:
        entries = entries.filter(at__date__gte=since)
    if until:
        entries = entries.filter(at__date__lte=until)
    for word in words.split():
        entries = entries.filter(
            Q(what__icontains=word) | Q(about__icontains=word) | Q(token__icontains=word)
        )
    return entries
