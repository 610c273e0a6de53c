"""Panels: platforms that append an ID to the study's URL and expect a code or a redirect.

CloudResearch Connect and SONA are presets (panels.toml). Researchers set parameter names and return
URLs.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.db.models import Q
from django.http import HttpRequest, QueryDict

from annotation.models import Panel, Study, Submission
from annotation.recruitment.platform_adapters import (
    Exit,
    Identity,
    NotAdmitted,
    PlatformAdapter,
    Source,
)

CODES = ("completed_code", "other_code", "turned_away_code")
URLS = ("completed_url", "other_url", "turned_away_url")
PLACEHOLDERS = ("{id}", "{submission}", "{code}")
HOST_OF_THEIRS = re.compile(r"https?://[^/?#]*[{}@\\]")
# Characters allowed in IDs, none of which has a meaning in URLs, spreadsheets or logs.
SAFE_ID = r"[A-Za-z0-9_.:@-]{0,200}"

# The `presets`, and the `labels` and `help_texts` of the form.
TEXTS = tomllib.loads(Path(__file__).with_name("panels.toml").read_text(encoding="utf-8"))


def problems(values: Mapping[str, str]) -> dict[str, str]:
    """Return the reasons, by field, why a panel with these values can't work."""
    errors = {}
    for field in ("id_parameter", "submission_parameter"):
        name = values.get(field, "")
        if (name or field == "id_parameter") and not re.fullmatch(r"[A-Za-z0-9_.-]{1,60}", name):
            errors[field] = "Enter the name of the parameter only, such as participantId."
    codes = [values[field] for field in CODES if values.get(field)]
    for field in CODES[1:]:
        if codes.count(values.get(field, "")) > 1:
            errors[field] = "Each outcome needs its own code: a platform pays by the code."
    for field in URLS:
        template = values.get(field, "")
        if not template:
            continue
        bare = template
        for placeholder in PLACEHOLDERS:
            bare = bare.replace(placeholder, "")
        if not re.match(r"https?://[^\s/]+", template):
            errors[field] = "Enter a complete URL that starts with https://"
        elif HOST_OF_THEIRS.match(template):
            errors[field] = "Placeholders can only appear after the host."
        elif "{" in bare or "}" in bare:
            errors[field] = f"Only {', '.join(PLACEHOLDERS)} can appear in braces."
        elif re.search(r"\b(PROJECT|SCHOOL|TOKEN)\b", template):
            errors[field] = "Replace the words in capitals with your own values."
    return errors


class PanelAdapter(PlatformAdapter):
    platform, anonymous = "panel:", True  # followed by the panel's name

    def __init__(self, panel: Panel):
        self.panel, self.study = panel, panel.study
        # The same ID on another platform is a different person, so the name is part of `platform`.
        self.platform, self.label = self.platform + panel.name, panel.name

    @classmethod
    def query(cls, field: str) -> Q:
        return Q((f"{field}__startswith", cls.platform))

    @classmethod
    def sources(cls, study: Study) -> list[Source]:
        return [Source(adapter.platform, adapter.label) for adapter in map(cls, study.panels.all())]

    @classmethod
    def at(cls, code: str) -> PlatformAdapter | None:
        panel = Panel.objects.select_related("study").filter(code=code).first()
        return cls(panel) if panel is not None else None

    @classmethod
    def of(cls, submission: Submission) -> PlatformAdapter | None:
        return cls(submission.panel) if submission.panel is not None else None

    def identity(self, request: HttpRequest) -> Identity:
        person = request.GET.get(self.panel.id_parameter, "").strip()
        submission = request.GET.get(self.panel.submission_parameter, "").strip()
        if not person:
            raise NotAdmitted("no_id", parameter=self.panel.id_parameter, platform=self.panel.name)
        if not all(re.fullmatch(SAFE_ID, name) for name in (person, submission)):
            raise NotAdmitted("invalid_id", platform=self.panel.name)
        return Identity(person, submission)

    def is_preview(self, request: HttpRequest) -> bool:
        """Return whether the ID is a placeholder, as in previews by Connect and other platforms."""
        return bool(re.match(r"[%{\[$]", request.GET.get(self.panel.id_parameter, "")))

    def submission_fields(self) -> dict[str, Any]:
        return {"panel": self.panel}

    def exit(self, outcome: str, identity: Identity | None, own_code: str) -> Exit | None:
        if outcome == "completed":
            code, url = self.panel.completed_code or own_code, self.panel.completed_url
        elif outcome == "not_qualified":
            code, url = self.panel.other_code or own_code, self.panel.other_url
        else:
            code, url = self.panel.turned_away_code, self.panel.turned_away_url
        if identity is None and ("{id}" in url or "{submission}" in url):
            url = ""  # no destination
        if HOST_OF_THEIRS.match(url):
            url = ""  # a worker's ID must not determine the host
        values = (identity.person, identity.submission, code) if identity else ("", "", code)
        for placeholder, value in zip(PLACEHOLDERS, values, strict=True):
            url = url.replace(placeholder, quote(value, safe=""))
        return Exit(code, url, self.panel.name) if code or url else None


def visit(panel: Panel, query: str | None) -> dict[str, Any]:
    """Return what a panel's URL leads to: the identity and the exits, or a problem.

    If `query` is None, an example is used.
    """
    if query is None:
        query = f"{panel.id_parameter}=TEST-PERSON"
        if panel.submission_parameter:
            query += f"&{panel.submission_parameter}=TEST-SUBMISSION"
    adapter, request = PanelAdapter(panel), HttpRequest()
    request.GET = QueryDict(query.lstrip("?"))
    try:
        identity = adapter.identity(request)
    except NotAdmitted as refused:
        return {"query": query, "problem": str(refused)}
    return {
        "query": query,
        "identity": identity,
        "is_preview": adapter.is_preview(request),
        "completed": adapter.exit("completed", identity, "OWN-CODE"),
        "not_qualified": adapter.exit("not_qualified", identity, "OWN-CODE"),
        "turned_away": adapter.exit("study_full", identity, "OWN-CODE"),
    }
