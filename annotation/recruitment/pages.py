"""Settings outside the frozen design: lists, switches, seats, budget and personal links.

Except for personal links, their forms are sections of the Recruit page (monitoring/pages.py).
"""

import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

from django import forms
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.models import AccessRule, PersonalLink, Study
from annotation.pay import budget, ledger
from annotation.recruitment import eligibility
from annotation.recruitment.links import LinkError, links_with_states, make_links
from annotation.study import design, lifecycle
from annotation.web.access import study_of
from annotation.web.fields import (
    AmountField,
    OnPage,
    PageForm,
    RowField,
    WholeNumberField,
    by_key,
    row_field,
)
from annotation.web.menu import moved
from annotation.web.paging import documented, small, small_list
from annotation.web.posts import StudyPost, page, study_page
from annotation.web.problems import Unprocessable
from annotation.web.views import Twin
from annotation.web.wording import join_url
from tasks import listing
from tasks.columns import Column, declared

TEXTS = tomllib.loads(Path(__file__).with_name("forms.toml").read_text(encoding="utf-8"))
NOT_CHOSEN = "Choose which annotators the entry applies to, and whether they may take part."
UNCHOSEN = {"required": NOT_CHOSEN, "invalid_choice": NOT_CHOSEN}


class RuleForm(PageForm):
    key = "rule"
    effect = forms.ChoiceField(
        choices=AccessRule.Effect.choices, initial=AccessRule.Effect.DENY, error_messages=UNCHOSEN,
        **TEXTS["effect"],
    )  # fmt: skip
    criterion = forms.ChoiceField(
        choices=AccessRule.Criterion.choices, error_messages=UNCHOSEN, **TEXTS["criterion"]
    )
    platform = forms.ChoiceField(required=False, **TEXTS["platform"])
    value = forms.CharField(required=False, widget=forms.Textarea({"rows": 3}), **TEXTS["value"])

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        platform = self.fields["platform"]
        assert isinstance(platform, forms.ChoiceField)
        sources = eligibility.sources(self.subject).values()
        platform.choices = [("", "no ids"), *((row.platform, row.label) for row in sources)]


class EndForm(PageForm):
    key = "end"
    end = RowField(lambda study: study.access_rules.all(), widget=forms.HiddenInput)


class ListEntries(StudyPost):
    row, path = "lists", "lists/"
    form_class = RuleForm
    summary = "Add an entry to a list, or end one"
    success = 201
    faults: ClassVar = {eligibility.RuleError: "value"}

    def form_for(self, data: Any) -> type[RuleForm | EndForm]:
        return EndForm if "end" in data else RuleForm

    def do(self, study: Study, data: dict[str, Any], by: User) -> str:
        if "end" in data:
            eligibility.end_rule(study, data["end"].pk, by)
            self.success = 200
            return "The entry was ended."
        rule = eligibility.add_rule(study, **data, by=by)
        self.shows_message = rule.criterion == AccessRule.Criterion.PEOPLE
        return eligibility.in_words(rule) if self.shows_message else f"{rule}."


class SwitchesForm(OnPage, forms.ModelForm):
    key = "switches"

    class Meta:
        model = Study
        fields = lifecycle.SWITCHES


class StudySwitches(StudyPost):
    row, path = "switches", "switches/"
    form_class = SwitchesForm
    summary = "Turn the open link and the limits on shared browsers and addresses on or off"

    def do(self, study: Study, data: dict[str, Any], by: User) -> str:
        lifecycle.switch(study, data, by)
        states = ", ".join(f"{name} {'on' if data[name] else 'off'}" for name in lifecycle.SWITCHES)
        return f"{states}."


class SeatsForm(PageForm):
    key = "seats"
    scenario = RowField(
        lambda study: study.scenarios.select_related("task"), empty_label=None, **TEXTS["scenario"]
    )
    number = WholeNumberField(
        initial=1, widget=forms.TextInput({"inputmode": "numeric"}), **TEXTS["number"]
    )
    confirmed = forms.BooleanField(
        label="Add the seats although results are visible",
        required=False,
        help_text=lifecycle.AFTER_RESULTS,
    )

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        if not lifecycle.has_results(self.subject):
            del self.fields["confirmed"]
        row_field(self, "scenario").label_from_instance = lambda row: f"{row}: {row.seats} seats"  # type: ignore[method-assign, assignment]  # as Django documents


class Seats(StudyPost):
    """Add seats to a scenario."""

    row, path = "seats", "seats/"
    form_class = SeatsForm
    summary = "Add seats to a scenario"
    faults: ClassVar = {lifecycle.ResultsSeen: "confirmed", design.DesignError: "number"}

    def do(self, study: Study, data: dict[str, Any], by: User) -> str:
        lifecycle.add_seats(**data, by=by)
        return f"{data['number']} seats were added to {data['scenario']}."


class BudgetForm(PageForm):
    key = "budget"
    amount = AmountField(
        max_digits=9, decimal_places=2, widget=forms.TextInput({"inputmode": "decimal"}),
        **TEXTS["amount"],
    )  # fmt: skip

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.fields["amount"].label = f"Raise the budget to ({self.subject.currency})"


class Budget(StudyPost):
    """Raise the budget, which limits what participants can earn from then on."""

    row, path = "budget", "budget/"
    form_class = BudgetForm
    summary = "Raise the budget of a study"
    faults: ClassVar = {design.DesignError: "amount"}

    def do(self, study: Study, data: dict[str, Any], by: User) -> str:
        lifecycle.raise_budget(study, data["amount"], by)
        return f"The budget is now {data['amount']} {study.currency}."


def sections(study: Study, bound_form: OnPage | None = None) -> dict[str, Any]:
    spent, reserved = budget.spent(study), budget.reserved(study)
    context = {
        "sent": bound_form, "rules": study.access_rules.select_related("made_by", "ended_by"),
        "active_rules": study.access_rules.filter(ended_at=None).count(),
        "spent": ledger.in_currency(spent), "reserved": ledger.in_currency(reserved),
        "room": budget.room(study, spent + reserved),
    }  # fmt: skip
    blank = (form(subject=study) for form in (RuleForm, SeatsForm, BudgetForm))
    return context | by_key(*blank, SwitchesForm(instance=study), sent=bound_form)


class LinksForm(PageForm):
    key = "links"
    names = forms.CharField(widget=forms.Textarea({"rows": 6}), **TEXTS["names"])


class NewLinks(StudyPost):
    row = "personal_links"
    form_class = LinksForm
    summary = "Create personal links"
    success = 201
    faults: ClassVar = {LinkError: "names"}
    shows_message = True

    def do(self, study: Study, data: dict[str, Any], by: User) -> list[PersonalLink]:
        return make_links(study, data["names"])

    def in_words(self, result: list[PersonalLink]) -> list[str]:
        return [f"{len(result)} links were created."]


LINK_COLUMNS = [Column("name", "Name"), Column("link", "Link"), Column("state", "Status")]


def _links_page(request: HttpRequest, study: Study, form: LinksForm | None = None) -> HttpResponse:
    rows = [
        SimpleNamespace(name=link.name, link=join_url(request, link.code), state=state)
        for link, state in links_with_states(study)
    ]
    states = sorted({row.state for row in rows})
    filters = {
        state: (state.capitalize(), lambda row, state=state: row.state == state) for state in states
    }
    table = listing.listing(
        request.GET, rows, LINK_COLUMNS, lambda row: row.name, filters, by="state"
    )
    if listing.wants_csv(request.GET):
        return table.as_csv(f"{study.name}-links.csv")
    context = {"study": study, "listing": table if rows else None, "form": form or LinksForm()}
    return render(request, "recruitment/personal_links.html", context)


def _to_links(request: HttpRequest, *_result: Any, name: str) -> HttpResponse:
    return moved(request, name=name, to="recruit", show="links")


links_page = study_page(_links_page, "pay")
links = page(NewLinks, _links_page, to=_to_links, get=_to_links)


# API ---------------------------------------------------------------------------------------------

RULES = declared(
    __file__, "rules", made_by=lambda rule: rule.made_by and rule.made_by.get_username()
)


class Lists(Twin):
    """Entries that decide who can take part. `{"end": ID}` ends an entry."""

    step = ListEntries
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

    step = NewLinks
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

    step = StudySwitches

    def adapted(self, study: Study, body: dict[str, Any]) -> dict[str, Any]:
        wrong = {k: ["Expected true or false."] for k, v in body.items() if not isinstance(v, bool)}
        if wrong:
            raise Unprocessable(wrong)
        return {name: getattr(study, name) for name in lifecycle.SWITCHES} | body
