"""Figures are drawn under the strict CSP, and match the page's colours and width."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests import factories


@pytest.fixture
def study(researcher):
    """A study of two tasks with four annotators each, half of whom always answer wrong."""
    tasks = [factories.make_task(name=name, shots=(2, 10)) for name in ("places", "towns")]
    drawn = factories.make_study(researcher, *tasks, shots=[0, 10], annotators=2)
    for scenario in drawn.scenarios.all():
        factories.work_through(factories.seat(scenario))
        factories.work_through(factories.seat(scenario), lambda turn: [])
    return drawn


def visit(page: Page, study) -> None:
    page.goto("/sign-in/")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("right horse")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/studies/")
    page.goto(f"/studies/{study.name}/figures/")


def drawn(page: Page, number: int = 3, scheme: str = "light") -> None:
    """Wait until this many figures are drawn, which can take long on a busy machine."""
    expect(page.locator(f"vega-figure[data-drawn={scheme}]")).to_have_count(number, timeout=60_000)


def colour(page: Page, part: str, of: str) -> str:
    value = page.locator(f"vega-figure {part}").first.evaluate(f"e => getComputedStyle(e).{of}")
    assert isinstance(value, str)
    return value


@pytest.mark.journey
def test_every_figure_has_marks_in_light_and_dark_mode(page, study):
    visit(page, study)
    drawn(page)
    for figure in page.locator("vega-figure").all():
        # One panel per task, with points in both.
        expect(figure.locator("svg g.mark-group.cell > g")).to_have_count(2)
        assert figure.locator("svg .mark-symbol path").count() >= 4
    light = colour(page, "svg text", "fill")
    page.emulate_media(color_scheme="dark")
    drawn(page, scheme="dark")
    dark = colour(page, "svg text", "fill")
    assert light != dark == page.evaluate("getComputedStyle(document.body).color")


def test_three_panels_fit_into_their_box_at_1280_px(page, researcher):
    tasks = [factories.make_task(name=name, shots=(2, 10)) for name in ("one", "two", "three")]
    study = factories.make_study(researcher, *tasks, shots=[0, 10], annotators=1)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    page.set_viewport_size({"width": 1280, "height": 900})
    visit(page, study)
    drawn(page)
    for figure in page.locator("vega-figure").all():
        beyond = figure.evaluate(
            """box => {
              const right = box.getBoundingClientRect().right + 0.5;
              const drawn = [...box.querySelectorAll("svg, svg text, svg path, svg line")];
              return drawn.filter((e) => e.getBoundingClientRect().right > right).length;
            }"""
        )
        assert beyond == 0, figure.get_attribute("src")


def test_hovering_a_mark_shows_its_values(page, study):
    visit(page, study)
    drawn(page)
    page.locator("vega-figure").first.locator("svg .mark-symbol path").last.hover()
    tip = page.locator(".vg-tooltip.visible")
    expect(tip).to_contain_text(re.compile("Mean score x 100.*75.0", re.S))
    assert tip.evaluate("e => getComputedStyle(e).position") == "fixed"


def test_panels_are_stacked_on_a_phone(page, study):
    visit(page, study)
    drawn(page)
    width = "document.querySelector('vega-figure svg').getBoundingClientRect().width"
    assert page.evaluate(width) > 600
    page.set_viewport_size({"width": 320, "height": 700})
    page.wait_for_function(f"{width} <= 320", timeout=60_000)
    panels = page.locator("vega-figure").first.locator("svg g.mark-group.cell > g")
    assert panels.first.bounding_box()["y"] < panels.last.bounding_box()["y"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_a_figure_that_cannot_be_loaded_says_so(open_browser, study):
    page = open_browser(tolerate="status of 404")
    page.route("**/figures/drift.json*", lambda route: route.fulfill(status=404))
    visit(page, study)
    drawn(page, 2)
    expect(page.get_by_text("This chart could not be loaded")).to_have_count(1)


def test_figures_printed_before_they_are_drawn_are_pictures(page, study):
    page.route("**/figures/*.json*", lambda _route: None)  # never replies
    visit(page, study)
    pictures = page.locator("vega-figure img")
    expect(pictures).to_have_count(3)
    expect(pictures.first).to_be_hidden()
    page.emulate_media(media="print")
    expect(pictures.first).to_be_visible(timeout=60_000)  # an image has no size until it loads
    assert pictures.first.evaluate("picture => picture.naturalWidth") > 200


def test_without_javascript_pictures_and_numbers_are_shown(open_browser, study):
    page = open_browser(java_script_enabled=False)
    visit(page, study)
    pictures = page.locator("vega-figure img")
    expect(pictures).to_have_count(3)
    assert pictures.first.bounding_box()["width"] > 200
    page.get_by_text("Export: Shot curve").click()
    expect(page.get_by_role("link", name="Data for Shot curve as CSV")).to_be_visible()
    page.get_by_text("Numbers for shot curve", exact=True).click()
    expect(page.get_by_role("link", name="Numbers for shot curve as CSV").last).to_be_visible()


def test_numbers_are_loaded_when_they_are_opened(page, study):
    visit(page, study)
    expect(page.get_by_role("cell", name="75.0")).to_have_count(0)
    page.get_by_text("Numbers for shot curve", exact=True).click()
    expect(page.get_by_role("cell", name="75.0").first).to_be_visible()
