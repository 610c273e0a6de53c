"""Annotators can enlarge an image by keyboard, mouse or touch, on phones too."""

import pytest
from django.core.management import call_command
from playwright.sync_api import Page, expect

from annotation.models import Answer
from tasks.models import Task
from tests import factories
from tests.browser.conftest import Desk
from tests.browser.test_accessibility import is_accessible
from tests.tasks import pictures


@pytest.fixture
def seat(db, researcher, tmp_path):
    call_command("import_task", pictures.write(tmp_path, pictures.files()), verbosity=0)
    study = factories.make_study(
        researcher, Task.objects.get(), shots=[0], annotators=1, try_the_tool=False
    )
    return factories.seat(study.scenarios.get())


def width(page: Page) -> float:
    return page.locator("dialog img").bounding_box()["width"]


def test_the_keyboard_enlarges_and_does_not_answer(page, seat):
    Desk(page, seat)
    link = page.get_by_role("link", name="A disc (and a frame). Enlarge")
    link.focus()
    page.keyboard.press("Enter")
    expect(page.locator("dialog")).to_be_visible()
    fitting = width(page)
    page.keyboard.press("+")
    page.keyboard.press("+")
    assert width(page) == pytest.approx(2.25 * fitting, rel=0.02)
    place = page.locator(".zoom-place")
    before = place.evaluate("place => place.scrollLeft")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("x => document.querySelector('.zoom-place').scrollLeft > x", arg=before)
    for key in ["-", "-", "-"]:
        page.keyboard.press(key)
    assert width(page) == pytest.approx(fitting, rel=0.02)
    for key in ["1", "2", "Enter"]:
        page.keyboard.press(key)
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_be_hidden()
    expect(link).to_be_focused()
    assert page.locator("input[name=label]:checked").count() == 0
    assert not Answer.objects.exists()


def test_axe_finds_nothing_with_and_without_the_dialog(open_browser, seat):
    page = open_browser()
    Desk(page, seat)
    is_accessible(page, "image")
    page.locator("a[data-zoom]").click()
    is_accessible(page, "enlarged image")


def test_the_mouse_enlarges_and_closes(page, seat):
    Desk(page, seat)
    page.locator("a[data-zoom]").click()
    fitting = width(page)
    page.locator("dialog img").click()
    assert width(page) > 1.4 * fitting
    page.get_by_role("button", name="Zoom out").click()
    assert width(page) == pytest.approx(fitting, rel=0.02)
    page.get_by_role("button", name="Close").click()
    expect(page.locator("dialog")).to_be_hidden()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator("[data-state=question]")).to_be_visible()
    page.wait_for_function("document.querySelectorAll('.turn-image img').length === 2")


def test_a_phone_shows_and_enlarges_the_whole_image(phone, seat):
    Desk(phone, seat)
    image = phone.locator(".turn-image a img")
    phone.wait_for_function("document.querySelector('.turn-image a img').naturalWidth > 0")
    box, panel = image.bounding_box(), phone.locator(".turn-panel").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert box["y"] + box["height"] <= panel["y"]
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    phone.locator("a[data-zoom]").tap()
    expect(phone.locator("dialog")).to_be_visible()
    fitting = width(phone)
    zoom_in = phone.get_by_role("button", name="Zoom in")
    assert zoom_in.bounding_box()["height"] >= 44
    zoom_in.tap()
    assert width(phone) > 1.4 * fitting
    phone.get_by_role("button", name="Close").tap()
    expect(phone.locator("dialog")).to_be_hidden()


def test_an_image_begins_where_the_texts_of_its_card_begin(phone, researcher, tmp_path):
    call_command("import_task", pictures.write(tmp_path, pictures.files()), verbosity=0)
    options = {"shots": [2], "annotators": 2, "try_the_tool": False, "interface_language": "ar"}
    study = factories.make_study(researcher, Task.objects.get(), **options)
    seat = factories.seat(study.scenarios.get())

    def lefts(*names: str) -> list[float]:
        return [round(phone.locator(name).first.bounding_box()["x"]) for name in names]

    phone.goto(f"/join/{study.link_code}/")
    assert len({*lefts(".visit-example img", ".visit-text")}) == 1
    Desk(phone, seat)
    assert len({*lefts(".turn-image a", ".turn-text")}) == 1


def test_words_next_to_an_image_can_be_highlighted(page, researcher, tmp_path):
    made = pictures.files(labels=None, family="sequence_labelling")
    call_command("import_task", pictures.write(tmp_path, made), verbosity=0)
    study = factories.make_study(
        researcher, Task.objects.get(), shots=[2], annotators=1, try_the_tool=False
    )
    desk = Desk(page, factories.seat(study.scenarios.get()))
    desk.word("caption").dblclick()
    assert desk.chips == ["caption"]
    page.locator("[data-submit]").click()
    expect(page.locator("[data-state=reveal] .turn-image a img")).to_be_visible()
    assert Answer.objects.get().spans.get().segment == 1


def test_text_tasks_load_nothing_for_images(page, researcher):
    study = factories.make_study(
        researcher, factories.make_task(shots=[]), shots=[0], try_the_tool=False
    )
    Desk(page, factories.seat(study.scenarios.get()))
    assert "images" not in page.content()
