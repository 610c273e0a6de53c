"""An example's page shows its layers of answers to mouse, keyboard and phone, and in print."""

import re

import pytest
from playwright.sync_api import Page, expect

from tasks.formats import Record
from tests import factories
from tests.browser.conftest import settle
from tests.browser.test_accessibility import signed_in, violations

TEXT = "Once \U0001f600 Ann Lee met Bo <b>in</b> New York, and Bo left New York for Rome. " * 3
ANSWERS = [["New York"], ["New York", "Bo"], ["met Bo <b>in</b> New York"], [], ["Lee"], ["Bo"]]


@pytest.fixture
def address(researcher) -> str:
    """The address of an example answered by eighteen people and a simulated annotator."""
    record = Record("it", (TEXT,), "Which places?", ("New York", "Rome"), None)
    task = factories.make_task(test=[record])
    study = factories.make_study(researcher, task, shots=[0], annotators=18)
    zero = study.scenarios.get()
    for answer in ANSWERS * 3:
        factories.work_through(factories.seat(zero), lambda turn, answer=answer: answer)
    factories.work_through(factories.seat(zero, "simulated"))
    return f"/studies/{study.name}/examples/{task.test_split.examples.get().pk}/"


def numbers(page: Page):
    return page.locator(".turn-text .layer-run button")


def open_tip(page: Page):
    return page.locator(".tip-text:popover-open")


@pytest.mark.journey
def test_each_run_is_reached_by_keyboard_with_its_annotators(page, address):
    signed_in(page, address)
    shown = numbers(page).all_inner_texts()
    # Lee, met, Bo, in, New York; then five more places of New York and three of Rome.
    assert [int(text.split()[0]) for text in shown] == [3, 3, 9, 3, 9, *[0] * 8]
    numbers(page).first.focus()
    for index, text in enumerate(shown):
        expect(numbers(page).nth(index)).to_be_focused()
        words = (
            "Nobody." if text.startswith("0") else re.compile(r"^\d of 18 \(\d+ %\): annotator \d")
        )
        expect(open_tip(page)).to_contain_text(words)
        page.keyboard.press("Tab")
    numbers(page).first.focus()
    page.keyboard.press("Escape")
    expect(open_tip(page)).to_have_count(0)


def test_hovering_the_words_shows_the_same_counts(page, address):
    signed_in(page, address)
    page.locator(".turn-text .layer-text", has_text="New York").first.hover()
    expect(open_tip(page)).to_contain_text("9 of 18 (50 %)")
    expect(open_tip(page)).to_contain_text("Part of a gold answer.")
    page.mouse.move(1, 1)
    expect(open_tip(page)).to_have_count(0)


def test_without_javascript_a_click_shows_the_counts(open_browser, address):
    page = open_browser(java_script_enabled=False)
    signed_in(page, address)
    numbers(page).first.click()
    expect(open_tip(page)).to_contain_text("3 of 18 (17 %)")


def test_levels_are_distinguishable_without_colours(open_browser, address):
    page = open_browser(forced_colors="active")
    signed_in(page, address)
    look = """run => { const style = getComputedStyle(run.querySelector(".layer-text"));
        return [style.borderBottomWidth, style.borderTopStyle]; }"""
    runs = page.locator(".turn-text .layer-run")
    looks = [tuple(runs.nth(index).evaluate(look)) for index in (0, 2, 4, 5)]
    assert looks == [("1px", "none"), ("2px", "none"), ("2px", "dotted"), ("0px", "dotted")]


def test_axe_finds_nothing_and_nothing_scrolls_sideways(page, address):
    signed_in(page, address)
    numbers(page).nth(2).focus()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        settle(page)
        for width in (1280, 320):
            page.set_viewport_size({"width": width, "height": 800})
            assert violations(page) == [], f"{scheme}, {width} px"
            assert page.evaluate("document.documentElement.scrollWidth") <= width
