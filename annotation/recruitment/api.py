"""Access lists and personal links in the API."""

from datetime import datetime
from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.models import Study
from annotation.recruitment import pages as lists
from annotation.recruitment.links import links_with_states
from annotation.study import lifecycle
from annotation.web.access import study_of
from annotation.web.paging import documented, small, small_list
from annotation.web.problems import Unprocessable
from annotation.web.views import Twin
from annotation.web.wording import join_url
from tasks.columns import Column

RULES = [
    Column("id", meaning="id of the entry", get="pk", kind=int),
    Column("effect", meaning="allow or deny"),
    Column("criterion", meaning="what the entry refers to: task, study or people"),
    Column("value", meaning="name of the task, study or platform"),
    Column(
        "made_by",
        meaning="user name of the researcher who added it",
        get=lambda rule: rule.made_by and rule.made_by.get_username(),
    ),
    Column("ended_at", meaning="UTC; null while it is in force", kind=datetime),
]


class Lists(Twin):
    """Entries that decide who can take part. `{"end": ID}` ends an entry."""

    step = lists.Lists
    more_fields: ClassVar = {
        "end": serializers.IntegerField(required=False, help_text="id of the entry to end")
    }

    @small("Lists", "Entries on the allow and deny lists", documented(RULES))
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "read")
        rules = study.access_rules.select_related("made_by").order_by("pk")
        return small_list({c.name: c.value(rule) for c in RULES} for rule in rules)


class LinkRow(serializers.Serializer):
    name = serializers.CharField()
    link = serializers.CharField()
    state = serializers.CharField()


class Links(Twin):
    """Personal links. POST creates one for each name."""

    step = lists.Links
    more_fields: ClassVar = {
        "names": serializers.ListField(child=serializers.CharField(), help_text="names of links")
    }
    reply = LinkRow(many=True)

    @small(
        "Links", "A study's personal links; requires access to identities", LinkRow().get_fields()
    )
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "pay")
        return small_list(self._rows(request, links_with_states(study)))

    def adapted(self, study: Study, body: dict[str, Any]) -> dict[str, Any]:
        names = body.get("names")
        if isinstance(names, list):
            if not all(isinstance(name, str) and name.strip() for name in names):
                raise Unprocessable({"names": ["Expected a list of non-empty names."]})
            if any(len(name.splitlines()) > 1 for name in names):
                raise Unprocessable({"names": ["A name must be a single line."]})
            return body | {"names": "\n".join(names)}
        return body

    def payload(self, study: Study, result: Any) -> Any:
        return self._rows(self.request, [(link, "unused") for link in result])

    def _rows(self, request: Request, links: Any) -> list[dict[str, str]]:
        return [
            {"name": link.name, "link": join_url(request, link.code), "state": state}
            for link, state in links
        ]


class Switches(Twin):
    """Set switches. Those that are omitted stay unchanged."""

    step = lists.Switches

    def adapted(self, study: Study, body: dict[str, Any]) -> dict[str, Any]:
        wrong = {k: ["Expected true or false."] for k, v in body.items() if not isinstance(v, bool)}
        if wrong:
            raise Unprocessable(wrong)
        return {name: getattr(study, name) for name in lifecycle.SWITCHES} | body
