"""What the page reports with an answer about copies, programs and its window, but never a text."""

import pytest

from annotation.models import Activity
from tests import factories
from tests.browser.conftest import Desk
from tests.browser.test_sending import FAILURES

AS_A_PERSON = "Object.defineProperty(Navigator.prototype, 'webdriver', {get: () => false})"
SELECT = "getSelection().selectAllChildren(document.querySelector('[data-passage]'))"
LEAVE = "dispatchEvent(new Event('blur'))"
RETURN = "dispatchEvent(new Event('focus'))"
PRESS = "document.querySelector('.turn-choice input').click()"
SUBMIT = "document.querySelector('[data-submit]').click()"
SIGNS = ("copies", "left_after_copy", "automated", "no_input", "narrow")


@pytest.fixture
def seated(open_browser, researcher):
    """An annotator before labels without a training step, in a browser that no program drives."""

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
    """The signs on the answer at this position that are not 0."""
    stored = Activity.objects.filter(turn__position=position).values(*SIGNS).first() or {}
    return {name: value for name, value in stored.items() if value}


def copy(desk: Desk) -> None:
    desk.page.evaluate(SELECT)
    desk.page.keyboard.press("Control+c")


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


def test_signs_of_an_answer_that_did_not_arrive_are_sent_again(seated):
    desk = seated()
    copy(desk)
    desk.page.route("**/answer/", lambda route: route.abort(), times=1)
    desk.page.get_by_label("positive").click()
    desk.submit()
    desk.page.get_by_role("button", name="Try now").click()
    desk.page.wait_for_selector("[data-where*='2 of 4']")
    assert signs() == {"copies": 1}
