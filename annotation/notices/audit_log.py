"""The audit log as it is read: its columns, and what it can be reduced to.

A study's is for its readers, that of the whole server for superusers. Pay is shown to payers alone.
"""

import json
from datetime import date
from typing import Any

from django.db.models import Q

from annotation.models import AuditEntry, Study
from annotation.models.audit import AuditQuerySet
from tasks.columns import Column


def in_words(value: Any) -> str:
    """What a change was from or to, as a page shows it."""
    if value is None:
        return ""
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return "; ".join(f"{name}: {_plain(part)}" for name, part in value.items())


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _name(entry: AuditEntry) -> str:
    return entry.by.get_username() if entry.by else ""


# Of the page's CSV and of the API alike.
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
    """What the reader of that study (StudyQuerySet.visible_to) sees of its log, newest first."""
    return study.events.readable_by(study.rights).select_related("by").order_by("-at", "-pk")


def everywhere() -> AuditQuerySet:
    """The log of the whole server, newest first."""
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
    """Those that all of these allow; `until` is the last day (UTC) that is shown."""
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
