"""The reply to a submit is built from cached parts, and equals the page if loaded again."""

import re
from dataclasses import replace
from decimal import Decimal

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse
from django.utils import translation
from lxml import html

from annotation.models import Turn
from annotation.participation.turn import progress_at, turn_page
from tests import factories
from tests.annotation.protocol.test_no_gold_leaks import masked

PACES = [
    progress_at(12, 40, 400.0, 300.0, 3600.0, Decimal("12.50"), None, "USD"),
    progress_at(39, 40, 7400.0, 7300.0, 3600.0, Decimal(9), 7200, "EUR"),
    progress_at(12, 40, 90.0, 60.0, 3600.0),  # unpaid
    progress_at(2, 40, 90.0),  # without an estimate
]


def seat_of(researcher, kind: str, language: str = "en", **design):
    study = factories.make_study(
        researcher, factories.make_kind(kind), shots=[0], interface_language=language, **design
    )
    return factories.seat(study.scenarios.get())


def shown(page: str) -> str:
    """Return the page's turn without the drawer and without white space between elements."""
    turn = html.fromstring(page).xpath("descendant-or-self::*[@id='turn']")[0]
    for child in turn.xpath(".//*[@id='help']/*"):
        child.drop_tree()
    turn.tail = None
    return re.sub(r"\s+", " ", html.tostring(turn, encoding="unicode")).replace("> <", "><")


@pytest.mark.parametrize("kind", factories.KINDS)
def test_each_reply_equals_the_page_loaded_afterwards(client, researcher, kind):
    seat = seat_of(researcher, kind, hourly_rate=12)
    work, answer = (reverse(name, args=[seat.token]) for name in ("work", "answer"))
    client.get(work)
    keys = set()
    for _example in range(3):
        turn = seat.latest_turn()
        fields = factories.fields_for(turn.example, factories.right_texts(turn.example))
        reply = client.post(answer, {"turn": turn.pk, **fields}, headers={"HX-Request": "true"})
        after = shown(reply.content.decode())
        keys.add(str(turn.pk))
        assert f'data-key="{Turn.objects.latest("pk").pk}"' in after
        reply.content, loaded = after.encode(), client.get(work)
        loaded.content = shown(loaded.content.decode()).encode()
        assert masked(reply)[:2] == masked(loaded)[:2]
    assert len(keys) == 3


def test_replies_keep_the_token_of_the_loaded_page(researcher):
    seat, browser = seat_of(researcher, "spans"), Client(enforce_csrf_checks=True)
    page = browser.get(reverse("work", args=[seat.token])).content.decode()
    token = html.fromstring(page).xpath("//*[@id='turn']//*[@name='csrfmiddlewaretoken']/@value")
    for _example in range(2):
        turn = seat.latest_turn()
        fields = factories.fields_for(turn.example, factories.right_texts(turn.example))
        fields |= {"turn": turn.pk, "csrfmiddlewaretoken": token[0]}
        address = reverse("answer", args=[seat.token])
        assert browser.post(address, fields | {"csrfmiddlewaretoken": "x" * 64}).status_code == 403
        reply = browser.post(address, fields, headers={"HX-Request": "true"})
        sent_back = html.fromstring(reply.content).xpath("//*[@name='csrfmiddlewaretoken']/@value")
        assert sent_back == token
        assert not reply.cookies


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("kind", factories.KINDS)
def test_a_cached_turn_equals_a_rendered_one(researcher, kind, language):
    seat = seat_of(researcher, kind, language, refuse_pastes=kind == "number")
    context = {"csrf_token": "csrf", "request": {"htmx": True}}
    with translation.override(language):
        page = turn_page(seat, seat.latest_turn())
        for pace in (*PACES, *PACES):  # the second round uses the caches
            page = replace(page, progress=pace)
            rendered = render_to_string(page.template, context | {"turn": page})
            assert shown(page.reply(page.form("csrf"))) == shown(rendered)


def test_a_draft_and_a_message_are_not_cached(researcher):
    seat = seat_of(researcher, "spans")
    page = turn_page(seat, seat.latest_turn())
    form = page.form("csrf")
    assert page.reply(form)
    assert replace(page, draft=("{}", 1.0)).reply(form) == ""
    noticed = replace(page, notice="Look")
    assert noticed.form("csrf") == noticed.reply(noticed.form("csrf")) == ""
