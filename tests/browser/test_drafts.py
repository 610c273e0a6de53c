"""Drafts on the server let annotators start an answer in one browser and finish it in another."""

import re

import pytest
from playwright.sync_api import expect

from annotation.models import Answer, Draft, Turn
from tests import factories
from tests.browser.conftest import Desk

TWO = "We went to Oslo and then to Rome."


@pytest.fixture
def desks(open_browser, put):
    """Return a function that opens a participation in one browser, and then in another."""

    def make(*contexts, **options):
        seat = put(*contexts, **options)
        return Desk(open_browser(), seat), lambda: Desk(open_browser(), seat)

    return make


def keeps(one: Desk, act) -> None:
    """Run the action and wait until the server has stored the draft."""
    with one.page.expect_response(re.compile(r"/draft/$")) as reply:
        act()
    assert reply.value.status == 204


def test_highlights_can_be_continued_on_another_device(desks):
    laptop, another = desks(TWO, gold=["Oslo", "Rome"])
    laptop.word("Oslo").dblclick()
    keeps(laptop, laptop.word("Rome").dblclick)
    tablet = another()
    assert tablet.chips == ["Oslo", "Rome"]
    expect(tablet.page.locator("[data-live]")).to_contain_text("restored")
    tablet.reveal()
    assert tablet.stored == ["Oslo", "Rome"]
    assert not Draft.objects.exists()


def test_the_newer_of_two_drafts_wins(desks):
    laptop, another = desks(TWO, gold=["Oslo"])
    keeps(laptop, laptop.word("Oslo").dblclick)
    tablet = another()
    keeps(tablet, tablet.word("Rome").dblclick)
    laptop.reload()
    assert laptop.chips == ["Oslo", "Rome"]
    # If a change hasn't reached the server, this browser's draft is newer.
    laptop.page.route(re.compile(r"/draft/$"), lambda route: route.fulfill(status=204))
    laptop.word("went").dblclick()
    laptop.reload()
    assert laptop.chips == ["went", "Oslo", "Rome"]


def test_a_draft_label_is_stored_when_the_tab_closes(desks):
    laptop, another = desks("It was good.", gold=["positive"], labels=factories.LABELS)
    laptop.page.get_by_label("negative").check()
    laptop.page.goto("about:blank")
    turn = Turn.objects.get()
    for _try in range(100):
        if Draft.objects.filter(turn=turn).exists():
            break
        laptop.page.wait_for_timeout(50)
    assert another().page.get_by_label("negative").is_checked()


def test_restored_highlights_hide_the_notice_of_none(desks):
    laptop, another = desks(TWO, gold=["Oslo"])
    keeps(laptop, laptop.word("Oslo").dblclick)
    laptop.reload()
    for one in (laptop, another()):
        assert one.chips == ["Oslo"]
        expect(one.page.locator("[data-no-chips]")).to_be_hidden()


# Labels that submit at once ----------------------------------------------------------------------


@pytest.fixture
def advancing(open_browser, researcher):
    """A label task in a study that submits a label as soon as it is chosen."""
    task = factories.make_task(labels=factories.LABELS, shots=[2])
    study = factories.make_study(
        researcher, task, shots=[2], auto_advance=True, training_order="file_order"
    )
    return Desk(open_browser(), factories.seat(study.scenarios.get()))


def test_auto_advance_submits_labels_in_the_annotation_step_only(advancing):
    one, page = advancing, advancing.page
    for label in ("negative", "positive"):
        page.get_by_label(label).click()
        page.wait_for_timeout(300)
        assert page.locator("[data-state=question]").count() == 1
        one.reveal()
        one.go_on()
    for done in (3, 4):
        key = page.locator("#turn").get_attribute("data-key")
        page.get_by_label("positive").click()
        page.wait_for_selector(f"#turn:not([data-key='{key}'])")
        one.ready()
        assert Answer.objects.count() == done


def test_arrow_keys_move_through_labels_without_submitting(advancing):
    page = advancing.page
    for label in ("negative", "positive"):
        page.get_by_label(label).click()
        advancing.reveal()
        advancing.go_on()
    page.get_by_label("positive").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.wait_for_timeout(300)
    assert Answer.objects.count() == 2
