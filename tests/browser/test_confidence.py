"""Between an answer and the next example, annotators can state their confidence by keyboard."""

import re

import pytest
from playwright.sync_api import expect

from annotation.models import Confidence
from tests import factories
from tests.browser.conftest import Desk


@pytest.fixture
def rating(page, researcher):
    """An annotator who has answered an example and is asked how sure they are."""
    task = factories.make_task(shots=[])
    study = factories.make_study(
        researcher, task, shots=[0], confidence_share=1, asks_reasons=True, try_the_tool=False
    )
    desk = Desk(page, factories.seat(study.scenarios.get()))
    page.keyboard.press("0")
    page.keyboard.press("0")
    expect(page.locator("[data-state=confidence] h1")).to_be_focused()
    page.wait_for_timeout(1500)  # earlier presses would be ignored
    return desk


def test_a_digit_chooses_a_point_and_enter_sends_it(rating):
    page = rating.page
    expect(page).to_have_title(re.compile("^Main part, 1 of"))
    page.keyboard.press("4")
    expect(page.get_by_label("Quite sure")).to_be_checked()
    page.keyboard.press("Enter")
    expect(page.locator("[data-state=question]")).to_be_visible()
    assert list(Confidence.objects.values_list("value", "reason")) == [(4, "")]


def test_the_question_can_be_skipped_with_a_point_chosen(rating):
    page = rating.page
    page.get_by_label("Half sure").check(force=True)
    page.get_by_role("button", name="Skip this question").click()
    expect(page.locator("[data-state=question]")).to_be_visible()
    assert list(Confidence.objects.values_list("value", "reason")) == [(None, "")]


@pytest.mark.parametrize("width", [320, 1366])
def test_points_are_in_one_column_and_fit_the_page(rating, width):
    page = rating.page
    page.set_viewport_size({"width": width, "height": 700})
    boxes = [choice.bounding_box() for choice in page.locator("label.turn-choice").all()]
    assert len(boxes) == 5
    assert len({box["x"] for box in boxes}) == 1
    assert [box["y"] for box in boxes] == sorted(box["y"] for box in boxes)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
