"""Columns of the audit log.

Readers see their study's log, and superusers the server's. Only payers see entries on pay.
"""

import json
from datetime import datetime
from typing import Any

from annotation.models import AuditEntry, Study
from annotation.models.audit import AuditQuerySet
from tasks.columns import Column


def in_words(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return "; ".join(f"{name}: {_plain(part)}" for name, part in value.items())


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _name(entry: AuditEntry) -> str:
    return entry.by.get_username() if entry.by else ""


# Columns of the CSV file and the API.
COLUMNS = [
    Column("at", meaning="UTC", kind=datetime),
    Column("by", meaning="user name; empty if the server or a command acted", get=_name),
    Column("token", meaning="name of the API token; empty for actions on a page"),
    Column("topic", meaning="kind of action"),
    Column("what", meaning="what happened"),
    Column("about", meaning="object of the action: annotator, task, account, file"),
    Column("before", meaning="values before the change; null if nothing changed", kind=dict),
    Column("after", meaning="values after the change; null if nothing changed", kind=dict),
]


def of_study(study: Study) -> AuditQuerySet:
    """Return the log entries that the study's reader (visible_to) may see, newest first."""
    return study.events.readable_by(study.rights).select_related("by").order_by("-at", "-pk")
