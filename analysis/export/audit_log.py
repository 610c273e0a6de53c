"""The audit log of a study for publication: what was done and when, by researchers under numbers.

Names of researchers, e-mail addresses and ids of annotators are taken out, and so are the names of
tokens. Left out are entries about those who withdrew, and those that change nothing of what a
bundle is of (LEFT_OUT): so the same study gives the same log, whoever makes the bundle and how.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from django.db.models import QuerySet

from annotation.models import AuditEntry, Status, Study, Topic
from tasks.csv_files import moment

COLUMNS = ["at", "by", "topic", "what", "about", "before", "after"]
# Downloads and what a token reads; jobs of the analysis, bundles, comments, answers to the report's
# checklist (they stand in it); tokens, invitations, switches of notices.
LEFT_OUT = (Topic.DOWNLOAD, Topic.RESULTS, Topic.ACCOUNT)
E_MAIL = re.compile(r"[^\s@\"<>]+@[^\s@\"<>]+\.[^\s@\"<>]+")


def entries(study: Study) -> QuerySet[AuditEntry]:
    """What a bundle tells of the log, oldest first."""
    gone = study.participations.filter(status=Status.WITHDRAWN).values("pseudonym")
    told = study.events.exclude(topic__in=LEFT_OUT).exclude(about__in=gone)
    return told.select_related("by").order_by("at", "pk")


def rows(study: Study, masked: Callable[[str], str]) -> Iterator[list[Any]]:
    """One row for each entry, oldest first, under COLUMNS; `masked` takes out annotators' ids."""
    listed = list(entries(study))
    numbers: dict[str, str] = {}
    for entry in listed:
        for name in _names(entry):
            numbers.setdefault(name, f"researcher {len(numbers) + 1}")
    named = sorted((re.escape(name) for name in numbers), key=len, reverse=True)
    researchers = re.compile(rf"(?<!\w)({'|'.join(named)})(?!\w)") if named else None

    def clean(text: str) -> str:
        text = E_MAIL.sub("[e-mail]", masked(text))
        return researchers.sub(lambda m: numbers[m[0]], text) if researchers else text

    for entry in listed:
        texts = [entry.what, entry.about, _json(entry.before), _json(entry.after)]
        by = numbers[entry.by.get_username()] if entry.by else "the server"
        yield [moment(entry.at), by, entry.topic, *map(clean, texts)]


def _names(entry: AuditEntry) -> list[str]:
    """The user names that stand in an entry, in the order in which they are numbered."""
    names = [entry.by.get_username()] if entry.by else []
    if entry.topic == Topic.TEAM and entry.about:  # an invitation is about no account yet
        names.append(entry.about)
    return names


def _json(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
