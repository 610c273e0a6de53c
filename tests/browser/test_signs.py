"""With an answer, the page reports signs of copying or programs, but never any text."""

import pytest
from playwright.sync_api import expect

from annotation.models import Activity
from tests import factories
from tests.browser.conftest import Desk
from tests.browser.test_sending import FAILURES

AS_A_PERSON = "Object.defineProperty(Navigator.prototype, 'webdriver', {get: () => false})"
SELECT = "getSelection().selectAllChildren(document.querySelector('[data-passage]'))"
LEAVE = "dispatchEvent(new Event('blur'))"
RETURN = "dispatchEvent(new Event('focus'))"
POINTER_LEAVES = "document.documentElement.dispatchEvent(new Event('pointerleave'))"
PRESS = "document.querySelector('.turn-choice input').click()"
SUBMIT = "document.querySelector('[data-submit]').click()"
CHOICE, GO = ".turn-choice >> nth=0", "[data-submit]"
SIGNS = ("copies", "left_after_copy", "automated", "no_input", "narrow", "jumps")


@pytest.fixture
def seated(open_browser, researcher):
    """Return a function that opens a label task, by default as if no program drove the browser."""

    def make(is_driven: bool = False, **options) -> Desk:
        task = factories.make_task(labels=factories.LABELS, shots=[])
        study = factories.make_study(researcher, task, shots=[0])
        page = open_browser(tolerate=FAILURES, **options)
        if not is_driven:
            page.add_init_script(AS_A_PERSON)
        return Desk(page, factories.seat(study.scenarios.get()))

    return make


def answer(desk: Desk) -> None:
    desk.page.get_by_label("positive").click()
    desk.go_on()


def signs(position: int = 0) -> dict[str, int]:
    """Return the non-zero signs that were stored with the answer at this position."""
    stored = Activity.objects.filter(turn__position=position).values(*SIGNS).first() or {}
    return {name: value for name, value in stored.items() if value}


def copy(desk: Desk) -> None:
    desk.page.evaluate(SELECT)
    desk.page.keyboard.press("Control+c")


def press(desk: Desk, control: str, **how: str) -> None:
    """Press the mouse on a control without moving the pointer, like low-level drivers."""
    box = desk.page.locator(control).bounding_box()
    at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    driver = desk.page.context.new_cdp_session(desk.page)
    for kind in ("mousePressed", "mouseReleased"):
        event = {"type": kind, "button": "left", "clickCount": 1, **at, **how}
        driver.send("Input.dispatchMouseEvent", event)


def test_an_ordinary_answer_by_pointer_or_keys_stores_no_sign(seated):
    desk = seated()
    answer(desk)
    desk.page.keyboard.press("1")
    desk.page.keyboard.press("Enter")
    desk.page.wait_for_selector("[data-where^='Main part, 3'], [data-where*='3 of 4']")
    assert not Activity.objects.exists()


def test_copies_and_absences_after_them_are_counted_with_the_answer(seated):
    desk = seated()
    copy(desk)
    copy(desk)
    desk.page.evaluate(LEAVE)
    desk.page.evaluate(RETURN)
    answer(desk)
    assert signs(0) == {"copies": 2, "left_after_copy": 1}
    desk.page.evaluate(LEAVE)  # within ten seconds, but on the next example
    desk.page.evaluate(RETURN)
    answer(desk)
    assert signs(1).get("copies") is None


def test_a_copy_from_an_answer_field_is_not_counted(page, researcher):
    study = factories.make_study(researcher, factories.make_kind("short text"), shots=[2])
    page.add_init_script(AS_A_PERSON)
    desk = Desk(page, factories.seat(study.scenarios.get()))
    page.locator("[name=text]").fill("Oslo")
    page.locator("[name=text]").select_text()
    page.keyboard.press("Control+c")
    desk.reveal()
    assert signs() == {}


def test_a_script_in_the_page_submits_without_a_press_or_key(seated):
    desk = seated()
    desk.page.evaluate(f"{PRESS}; {SUBMIT}")
    desk.page.wait_for_selector("[data-where*='2 of 4']")
    assert signs() == {"no_input": 1}


def test_a_change_made_by_a_script_is_a_sign_of_a_program(seated):
    desk = seated()
    desk.page.evaluate(
        f"{PRESS}; document.querySelector('.turn-choice input')"
        ".dispatchEvent(new Event('change', {bubbles: true}))"
    )
    desk.go_on()
    assert signs() == {"automated": 1}


def test_a_driven_browser_is_a_sign_of_a_program(seated):
    answer(seated(is_driven=True))
    assert signs() == {"automated": 1}


@pytest.mark.parametrize(("width", "found"), [(2560, {"narrow": 1}), (1600, {})])
def test_a_window_much_narrower_than_the_screen_is_reported(seated, width, found):
    answer(seated(screen={"width": width, "height": 1440}))
    assert signs() == found


def test_mouse_presses_to_which_the_pointer_jumps_are_counted(seated):
    desk = seated()
    for position in (1, 2):  # the first press doesn't count: the pointer's position is unknown
        press(desk, CHOICE)
        press(desk, GO)
        desk.page.wait_for_selector(f"[data-where*='{position + 1} of 4']")
        desk.ready()
    assert [signs(0), signs(1)] == [{"jumps": 1}, {"jumps": 2}]


@pytest.mark.parametrize(
    "before",
    [
        lambda page: page.set_viewport_size({"width": 1200, "height": 700}),
        lambda page: page.evaluate(POINTER_LEAVES),
        lambda page: page.locator(GO).hover(),
    ],
    ids=["resize", "leave", "move"],
)
def test_a_pointer_of_unknown_place_does_not_jump(seated, before):
    desk = seated()
    desk.page.locator(CHOICE).click()
    before(desk.page)
    press(desk, GO)
    desk.page.wait_for_selector("[data-where*='2 of 4']")
    assert signs() == {}


def test_a_still_pointer_over_a_scrolled_page_does_not_jump(seated):
    desk = seated(viewport={"width": 1000, "height": 300})
    desk.page.mouse.move(500, 150)
    desk.page.evaluate("scrollTo(0, 200)")
    desk.page.mouse.down()
    desk.page.mouse.up()
    desk.page.keyboard.press("1")
    desk.page.keyboard.press("Enter")
    desk.page.wait_for_selector("[data-where*='2 of 4']")
    assert signs() == {}


def test_pens_fingers_keys_and_assistive_clicks_do_not_jump(seated):
    desk = seated(has_touch=True)
    desk.page.mouse.move(5, 5)
    press(desk, CHOICE, pointerType="pen")
    desk.page.locator(CHOICE).tap()
    desk.page.evaluate(PRESS)  # a click without a press, as from voice control
    desk.page.locator(GO).tap()
    desk.page.wait_for_selector("[data-where*='2 of 4']")
    assert signs() == {}


@pytest.mark.parametrize("refused", [True, False])
def test_a_copied_example_lacks_a_question_that_readers_get(seated, researcher, refused):
    desk = seated(permissions=["clipboard-read", "clipboard-write"])
    factories.force_options(desk.seat.study, refuse_copies=refused)
    desk.reload()
    question = desk.page.get_by_role("heading", level=1)
    expect(question).to_have_accessible_name(asked := question.inner_text())
    desk.page.keyboard.press("Control+a")
    desk.page.keyboard.press("Control+c")
    copied = desk.page.evaluate("navigator.clipboard.readText()")
    assert desk.page.locator("[data-passage]").inner_text() in copied
    assert (asked in copied) != refused
    answer(desk)
    desk.page.keyboard.press("Control+a")  # the style sheet still applies after a swap
    desk.page.keyboard.press("Control+c")
    assert (asked in desk.page.evaluate("navigator.clipboard.readText()")) != refused


def test_signs_of_an_answer_that_did_not_arrive_are_sent_again(seated):
    desk = seated()
    copy(desk)
    desk.page.route("**/answer/", lambda route: route.abort(), times=1)
    desk.page.get_by_label("positive").click()
    desk.submit()
    desk.page.get_by_role("button", name="Try now").click()
    desk.page.wait_for_selector("[data-where*='2 of 4']")
    assert signs() == {"copies": 1}
