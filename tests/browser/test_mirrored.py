"""Right-to-left pages with texts in either direction."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from annotation.recruitment import consent
from tasks.formats import Record
from tests import factories
from tests.browser.conftest import Desk, seat_before
from tests.browser.test_panel import GO

TEXTS = {
    "ltr": ("en", "Anna Berg of Northwind told reporters in Oslo.", "Anna", "Berg"),
    "rtl": ("ar", "سافرت ليلى حداد من القاهرة إلى بيروت.", "سافرت", "ليلى"),
}
DESKTOP = {"viewport": {"width": 1366, "height": 657}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def mirrored(open_browser, researcher, settings):
    """Return a function that opens an Arabic page with a text in this direction."""
    settings.LANGUAGES = [("en", "English"), ("ar", "العربية")]

    def make(direction: str, **options) -> Desk:
        language, text, first, second = TEXTS[direction]
        card = {"language": language, "direction": direction}
        records = [Record("r0", (text,), "؟", (f"{first} {second}",))]
        seat = seat_before(researcher, card, records, True, interface_language="ar")
        return Desk(open_browser(**(options or DESKTOP)), seat)

    return make


@pytest.fixture
def asked(open_browser, researcher):
    """An Arabic page on a phone with a question of the study."""

    def make(question: str) -> Page:
        study = factories.make_study(
            researcher, factories.make_task(), shots=[2], interface_language="ar",
            own_questions=f"age, before, choice: {question}\n- 18-30\n- 31-50",
        )  # fmt: skip
        seat = factories.join(study)
        consent.record(seat, agree=True)
        page = open_browser(**PHONE)
        page.goto(reverse("work", args=[seat.token]))
        return page

    return make


@pytest.mark.parametrize(("question", "edge"), [("كم عمرك؟", 374), ("How old are you?", 16)])
def test_choices_without_letters_begin_below_their_question(asked, question, edge):
    for choice in asked(question).locator("fieldset label input").all():
        box = choice.bounding_box()
        assert edge in (box["x"], box["x"] + box["width"])


def test_choices_are_high_enough_for_a_finger(asked):
    for choice in asked("كم عمرك؟").locator("fieldset label").all():
        assert choice.bounding_box()["height"] >= 44


def place(desk: Desk, selector: str) -> dict[str, float]:
    return desk.page.locator(selector).first.bounding_box()


def mark(desk: Desk, direction: str) -> None:
    _language, _text, first, second = TEXTS[direction]
    desk.word(first).click()
    desk.word(second).click()
    assert desk.chips == [f"{first} {second}"]


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("direction", TEXTS)
def test_submit_does_not_move_and_nothing_overflows(mirrored, direction, size):
    desk = mirrored(direction, **size)
    assert desk.page.evaluate("document.documentElement.dir") == "rtl"
    go = desk.page.evaluate(GO)
    assert desk.page.evaluate(OVERFLOW) == 0
    if size is DESKTOP:
        panel, text = place(desk, ".turn-panel"), place(desk, ".turn-sheet")
        assert panel["x"] + panel["width"] < text["x"]
    mark(desk, direction)
    assert desk.page.evaluate(GO) == go
    assert desk.page.evaluate(OVERFLOW) == 0
    desk.reveal()
    assert desk.page.evaluate(GO) == go
    assert desk.page.evaluate(OVERFLOW) == 0


@pytest.mark.parametrize("direction", TEXTS)
def test_keys_and_chips_follow_the_direction_of_the_text(mirrored, direction):
    desk = mirrored(direction)
    desk.page.locator("[data-passage] [tabindex='0']").focus()
    desk.page.keyboard.press("Shift+ArrowRight" if direction == "ltr" else "Shift+ArrowLeft")
    desk.page.keyboard.press("Enter")
    _language, _text, first, second = TEXTS[direction]
    assert desk.chips == [f"{first} {second}"]
    desk.page.locator("[data-chip]").click()
    earlier, later = (
        place(desk, "[data-adjust=start-earlier]"),
        place(desk, "[data-adjust=end-later]"),
    )
    assert (earlier["x"] < later["x"]) == (direction == "ltr")


def test_the_first_pages_fit_on_a_phone(open_browser, researcher, settings):
    settings.LANGUAGES = [("en", "English"), ("ar", "العربية")]
    study = factories.make_study(researcher, factories.make_task(), interface_language="ar")
    page = open_browser(**PHONE)
    page.goto(reverse("landing", args=[study.link_code]))
    assert page.evaluate(OVERFLOW) == 0
    page.locator("button.main-action").click()
    page.locator("[name=agree][value=yes]").click()
    page.wait_for_selector("#resume-link", state="attached")  # in the section "Leave the study"
    assert page.evaluate(OVERFLOW) == 0


@pytest.mark.parametrize("direction", TEXTS)
def test_the_right_answer_begins_at_the_edge_of_the_verdict(mirrored, direction):
    desk = mirrored(direction)
    desk.page.locator("[data-t]").last.dblclick()
    desk.reveal()
    line, answer = place(desk, ".reveal-answer"), place(desk, ".reveal-whole")
    assert answer["x"] + answer["width"] == pytest.approx(line["x"] + line["width"], abs=1)
