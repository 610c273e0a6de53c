"""Requests that no page or client sends are refused with a message, and never cause a 500."""

import json
from collections.abc import Iterator

import pytest
from django.core import mail
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from rest_framework.parsers import MultiPartParser

from annotation.models import Panel, Study
from annotation.web.form_bodies import StrictJSONParser
from tests import factories
from tests.annotation.participation import both_doors
from tests.annotation.study.test_api_studies import DESIGN, Program

NESTED = "[" * 100_000
HUGE = int("9" * 4000)


def views(patterns: list) -> Iterator[type]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from views(pattern.url_patterns)
        elif isinstance(pattern, URLPattern):
            view = getattr(pattern.callback, "cls", None) or getattr(
                pattern.callback, "view_class", None
            )
            if view is not None and hasattr(view, "parser_classes"):
                yield view


def test_every_api_view_uses_the_same_json_parser():
    found = set(views(get_resolver().url_patterns))
    ours = [
        view
        for view in found
        if view.__module__.startswith(("annotation", "analysis"))
        and any(hasattr(view, method) for method in ("post", "put", "patch"))
    ]
    assert len(ours) > 50
    for view in ours:
        assert set(view.parser_classes) <= {StrictJSONParser, MultiPartParser}, view


@pytest.fixture
def study(researcher):
    return both_doors.make_study(researcher, factories.make_task(), shots=[2])


@pytest.mark.parametrize("body", [NESTED, '{"a": NaN}', '{"a": "\\u0000"}', "[" + "9" * 5000 + "]"])
def test_a_body_that_is_not_json_is_400_for_participants_too(study, body):
    seat = factories.seat(study.scenarios.get())
    token = {"Authorization": f"Bearer {seat.token}"}
    for address, headers in [
        (reverse("api_answer"), token),
        (reverse("api_own_questions"), token),
        (reverse("api_join", args=[study.link_code]), {}),
    ]:
        reply = Client().post(address, body, "application/json", headers=headers)
        assert reply.status_code == 400, address


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("own_questions", {"answers": {"\ud800": "x"}}), ("continue", {"leaving": "\ud800"}),
        ("questionnaire", {"\ud800": 1}),
    ],
)  # fmt: skip
def test_a_lone_surrogate_is_400(study, name, body):
    seat = factories.seat(study.scenarios.get())
    headers = {"Authorization": f"Bearer {seat.token}"}
    address = reverse(f"api_{name}")
    reply = Client().post(address, json.dumps(body), "application/json", headers=headers)
    assert reply.status_code == 400


def test_a_platform_link_is_refused_to_programs(study):
    panel = Panel.objects.create(study=study, name="sona", id_parameter="id")
    address = reverse("api_join", args=[panel.code])
    for reply in (Client().get(address), Client().post(address, {}, "application/json")):
        assert reply.status_code == 422
        assert "This link belongs to a platform" in reply.json()["fields"]["code"][0]


@pytest.mark.parametrize("page", ["login", "password_change", "account_reauthenticate"])
def test_an_invalid_next_address_is_ignored(ada, db, page):
    for client in (Client(), ada):
        for method in (client.get, client.post):
            reply = method(f"{reverse(page)}?next=https://[::1", {"next": "https://[::1"})
            assert reply.status_code < 500
            assert "[::1" not in reply.headers.get("Location", "")


def test_a_number_that_is_too_large_is_refused_at_its_field(researcher):
    factories.make_task()
    qualification = {"rule": "minimum", "threshold": HUGE}
    program = Program(researcher)
    reply = program.post("/studies/", DESIGN | {"qualification": qualification})
    assert (reply.status_code, Study.objects.count()) == (422, 0)
    assert program.post("/studies/", DESIGN).status_code == 201
    assert program.patch("/studies/by-api/", {"qualification": qualification}).status_code == 422


@pytest.mark.parametrize(
    ("field", "value"),
    [("title", "Two\nlines"), ("title", "a\rb"), ("consent_text", "[" * 20_001)],
)
def test_a_text_unsafe_for_headers_or_too_slow_is_refused(researcher, field, value):
    factories.make_task()
    reply = Program(researcher).post("/studies/", DESIGN | {field: value})
    assert reply.status_code == 422
    assert list(reply.json()["fields"]) == [field]


def test_a_line_break_in_a_stored_title_does_not_break_a_mail(ada, study, settings):
    settings.EMAIL_HOST = "mail.example"
    Study.objects.update(title="Two\nlines")
    fields = {"action": "invite", "email": "eve@example.org", "role": "analyst"}
    assert ada.post(reverse("team", args=[study.name]), fields).status_code == 201
    (sent,) = mail.outbox
    assert sent.subject == "[Handful] Invitation to the study “Two lines”"


def test_an_address_without_an_account_gets_no_mail(db, settings):
    settings.EMAIL_HOST = "mail.example"
    reply = Client().post(reverse("account_reset_password"), {"email": "stranger@example.org"})
    assert reply.status_code == 302
    assert mail.outbox == []


@pytest.mark.parametrize("header", ["X-Forwarded-Host", "Forwarded", "X-Original-Host"])
def test_no_client_header_sets_the_host_of_a_link_in_a_mail(researcher, settings, header):
    settings.EMAIL_HOST = "mail.example"
    researcher.email = "ada@example.org"
    researcher.save()
    evil = "host=evil.example" if header == "Forwarded" else "evil.example"
    address = reverse("account_reset_password")
    Client().post(address, {"email": researcher.email}, headers={header: evil})
    (sent,) = mail.outbox
    assert "/password/reset/key/" in sent.body
    assert "evil.example" not in sent.body
    assert Client(HTTP_HOST="evil.example").get(address).status_code == 400
