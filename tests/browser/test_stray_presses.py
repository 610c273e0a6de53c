"""Accidental presses and presses meant for the previous screen don't answer a question."""

from functools import partial

import pytest
from playwright.sync_api import expect

from annotation.models import Answer
from tasks.formats import Record
from tests import factories
from tests.browser.conftest import Desk, await_reveal, seat_before
from tests.browser.test_choices_in_sight import seat_by_labels
from tests.browser.test_panel import GO, WORDS

WINDOWS = [(1366, 657), (1093, 525), (911, 512)]
GAPS = [60, 150, 250, 400]  # ms between the two presses of a double click
PATIENCE = 400  # ms after a swap during which presses are ignored
SINCE_SWAP = [None, 0, 200, 399]


def sentences(researcher, number: int, *, train: bool = False, **study):
    """Seat a participant at this many sentences in which places are highlighted."""
    records = [
        Record(
            f"s{n}", ("We went to Oslo and to Lima on Sunday.",), "Which places?", ("Oslo",), None
        )
        for n in range(number)
    ]
    return seat_before(researcher, {}, records, train, **study)


def center(page) -> tuple[float, float]:
    x, y, width, height = page.evaluate(GO)
    return x + width / 2, y + height / 2


def double_click(page, x: float, y: float, gap: int) -> None:
    """Double-click with `gap` ms between the clicks."""
    page.mouse.move(x, y)
    for count in (1, 2):
        page.mouse.down(click_count=count)
        page.mouse.up(click_count=count)
        page.wait_for_timeout(gap)


def key_of(page) -> str:
    return page.locator("#turn").get_attribute("data-key")


def stopped(page, seat) -> Desk:
    """Open the page and stop its clock, because a busy machine might press too late."""
    page.clock.install()
    desk = Desk(page, seat)
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 5)
    return desk


def press_twice(page, press, gap: int | None) -> None:
    """Press twice: the second time `gap` ms after the swap, or before the reply if None."""
    before, held = key_of(page), []
    page.route("**/answer/", lambda route: held.append(route))
    press()
    while not held:
        page.wait_for_timeout(10)
    if gap is None:
        press()
    held[0].continue_()
    while key_of(page) == before:
        page.clock.run_for(1)
    page.unroute_all()
    if gap is not None:
        page.clock.run_for(gap)
        press()


# Submit never moves ------------------------------------------------------------------------------


@pytest.mark.parametrize("size", WINDOWS)
def test_submit_does_not_move_between_the_first_and_51st_example(open_browser, researcher, size):
    page = open_browser(viewport={"width": size[0], "height": size[1]})
    desk = Desk(page, sentences(researcher, 1, train=True))
    trained = page.evaluate(GO)
    page.keyboard.press("0")
    desk.reveal()
    desk.go_on()
    expect(page.locator(".turn-notices")).to_contain_text("The main part starts")
    assert page.evaluate(GO) == trained
    seat = sentences(researcher, 61)
    factories.work_through(seat, limit=50)
    Desk(page, seat)
    expect(page.locator("[data-milestone]")).to_contain_text("50 examples done")
    assert page.evaluate(GO) == trained


@pytest.mark.parametrize("size", [(1366, 657), (390, 844)])
def test_a_notice_moves_no_word_of_the_text(open_browser, researcher, size):
    page = open_browser(viewport={"width": size[0], "height": size[1]})
    desk = Desk(page, sentences(researcher, 61))
    before = page.evaluate(WORDS)
    factories.work_through(desk.seat, limit=50)
    desk.reload()
    expect(page.locator("[data-milestone]")).to_be_visible()
    assert page.evaluate(WORDS) == before


def test_an_answer_from_another_tab_does_not_move_a_button(page, researcher):
    desk = Desk(page, sentences(researcher, 2, train=True))
    before = page.evaluate(GO)
    other = Desk(page.context.new_page(), desk.seat)
    other.page.keyboard.press("0")
    other.reveal()
    desk.word("Oslo").dblclick()
    desk.submit()
    expect(page.locator("[data-notice]")).to_be_visible()
    assert page.evaluate(GO) == before


# Double clicks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("gap", GAPS)
def test_a_double_click_on_submit_leaves_the_next_example_alone(page, researcher, gap):
    desk = Desk(page, sentences(researcher, 3))
    before = key_of(page)
    desk.word("Oslo").dblclick()
    double_click(page, *center(page), gap)
    page.wait_for_selector(f"#turn:not([data-key='{before}'])")
    desk.ready()
    assert desk.error == ""
    assert not page.locator("[name=no_answer]").is_checked()
    assert Answer.objects.count() == 1


@pytest.mark.parametrize("gap", SINCE_SWAP)
def test_two_clicks_on_submit_leave_the_next_example_alone(page, researcher, gap):
    """The browser treats a slow double click as two clicks."""
    desk = stopped(page, sentences(researcher, 3))
    desk.word("Oslo").dblclick()
    press = partial(page.mouse.click, *center(page))
    press_twice(page, press, gap)
    assert desk.error == ""
    assert not page.locator("[name=no_answer]").is_checked()
    assert Answer.objects.count() == 1
    page.clock.run_for(PATIENCE)
    press()
    assert desk.error != ""


@pytest.mark.parametrize("gap", [120, 200, 300, 480])
def test_with_auto_advance_a_double_click_answers_one_example(page, researcher, gap):
    seat = seat_by_labels(researcher, train=False, auto_advance=True)
    desk = Desk(page, seat)
    before = key_of(page)
    box = page.locator("label.turn-choice").first.bounding_box()
    double_click(page, box["x"] + 30, box["y"] + 20, gap)
    page.wait_for_selector(f"#turn:not([data-key='{before}'])")
    desk.ready()
    page.wait_for_timeout(300)
    assert Answer.objects.count() == 1
    assert page.locator("[name=label]:checked").count() == 0


@pytest.mark.parametrize("gap", SINCE_SWAP)
def test_with_auto_advance_a_double_key_answers_one_example(page, researcher, gap):
    stopped(page, seat_by_labels(researcher, train=False, auto_advance=True))
    press = partial(page.keyboard.press, "1")
    press_twice(page, press, gap)
    assert page.locator("[name=label]:checked").count() == 0
    assert Answer.objects.count() == 1
    page.clock.run_for(PATIENCE)
    page.clock.resume()
    press()
    expect(page.locator("[data-progress]")).to_contain_text("3 of")
    assert Answer.objects.count() == 2


# The swap and the frame that draws it ------------------------------------------------------------


def test_a_key_before_the_first_frame_keeps_its_focus(page, researcher):
    """The new question gets the focus in the next frame, unless a key has moved it already."""
    desk = Desk(page, sentences(researcher, 3))
    page.keyboard.press("0")
    desk.go_on()
    expect(page.locator("#question")).to_be_focused()
    page.evaluate("""() => document.addEventListener("htmx:afterSettle", () =>
        document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "l", bubbles: true})))""")
    page.keyboard.press("0")
    desk.go_on()
    assert desk.focused == "Lima"


def test_a_swap_moves_no_text_of_submit_and_cleans_no_words(page, researcher):
    desk = Desk(page, sentences(researcher, 2))
    label = """() => { const text = document.createRange();
        text.selectNode(document.querySelector("[data-submit]").firstChild);
        return text.getBoundingClientRect().left; }"""
    page.evaluate("""() => { window.cleaned = [];
        addEventListener("htmx:beforeCleanupElement", (e) => cleaned.push(e.target.id)); }""")
    held = []
    page.route("**/answer/", lambda route: held.append(route))
    page.keyboard.press("0")
    before = page.evaluate(label)  # already bold, because there is an answer
    desk.submit()
    expect(page.locator(".htmx-indicator")).to_be_visible()
    assert page.evaluate(label) == before
    held[0].continue_()
    expect(page.locator("[data-progress]")).to_contain_text("2 of")
    assert page.evaluate("cleaned") == ["turn"]


# A click that begins a highlight ------------------------------------------------------------------


def test_the_press_that_closes_the_instructions_is_not_used(page, researcher):
    desk = Desk(page, sentences(researcher, 2, train=True))
    page.keyboard.press("?")
    desk.word("Lima").click()
    assert page.locator("#help[open]").count() == 0
    expect(page.locator("[data-pending]")).to_be_hidden()
    desk.submit()
    assert desk.error != ""
    assert desk.nothing_is_stored()
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.keyboard.press("?")
    tick = page.locator("label.turn-none")
    tick.click(position={"x": 20, "y": 20})
    assert not page.locator("[name=no_answer]").is_checked()
    tick.click(position={"x": 20, "y": 20})
    assert page.locator("[name=no_answer]").is_checked()


@pytest.mark.parametrize("other", ["a highlight", "no answer"])
def test_a_pending_word_with_another_answer_is_asked_about(page, researcher, other):
    desk = Desk(page, sentences(researcher, 2, train=True))
    if other == "a highlight":
        desk.word("Oslo").dblclick()
    else:
        page.keyboard.press("0")
    desk.word("Lima").click()
    desk.submit()
    assert desk.error == "You started to highlight “Lima”. Keep it or cancel?"
    assert desk.nothing_is_stored()
    page.locator("[data-cancel]").click()
    desk.reveal()
    assert desk.stored == (["Oslo"] if other == "a highlight" else [])


def test_a_single_pending_word_is_submitted_as_the_answer(page, researcher):
    desk = Desk(page, sentences(researcher, 2, train=True))
    desk.word("Lima").click()
    desk.reveal()
    assert desk.stored == ["Lima"]


# Keys that the panel prints -----------------------------------------------------------------------


@pytest.fixture
def place(page, researcher):
    return Desk(page, sentences(researcher, 2, train=True))


def test_0_chooses_no_answer_after_a_click_in_the_text(place):
    page = place.page
    place.word("Oslo").dblclick()
    page.keyboard.press("0")
    assert place.chips == []
    assert page.locator("[name=no_answer]").is_checked()
    page.keyboard.press("Enter")
    await_reveal(page)
    assert place.stored == []


def test_0_twice_submits_no_answer_once(place):
    page = place.page
    page.keyboard.press("0")
    assert place.nothing_is_stored()
    page.keyboard.press("0")
    page.keyboard.press("0")
    await_reveal(page)
    assert place.stored == []


def test_0_held_down_chooses_no_answer_and_submits_nothing(place):
    page = place.page
    for _press in range(4):
        page.keyboard.down("0")
    page.keyboard.up("0")
    page.wait_for_timeout(300)
    assert page.locator("[name=no_answer]").is_checked()
    assert place.nothing_is_stored()


def test_0_pressed_three_times_answers_one_example_only(page, researcher):
    desk = Desk(page, sentences(researcher, 3))
    before = key_of(page)
    for _press in range(3):
        page.keyboard.press("0")
        page.wait_for_timeout(150)
    page.wait_for_selector(f"#turn:not([data-key='{before}'])")
    desk.ready()
    assert Answer.objects.count() == 1
    assert not page.locator("[name=no_answer]").is_checked()


def test_enter_on_no_answer_chooses_and_submits_it(place):
    page = place.page
    page.wait_for_timeout(700)  # an earlier Enter would be ignored
    page.locator("[name=no_answer]").focus()
    page.keyboard.press("Enter")
    await_reveal(page)
    assert place.stored == []


@pytest.mark.parametrize("earlier", ["ticked", "highlighted", "removed"])
def test_enter_on_no_answer_overrides_no_earlier_choice(place, earlier):
    page = place.page
    page.wait_for_timeout(700)  # an earlier Enter would be ignored
    tick = page.locator("[name=no_answer]")
    if earlier == "ticked":
        tick.check(force=True)
        tick.uncheck(force=True)
    else:
        place.word("Oslo").dblclick()
    if earlier == "removed":
        page.locator("[data-remove]").press("Enter")
    else:
        tick.focus()
    page.keyboard.press("Enter")
    if earlier == "highlighted":
        await_reveal(page)
        assert place.stored == ["Oslo"]
    else:
        assert "Highlight at least one answer" in place.error
        assert place.nothing_is_stored()


def test_shortcuts_work_after_the_error_of_a_missing_answer(place):
    page = place.page
    page.wait_for_timeout(700)  # an earlier Enter would be ignored
    page.keyboard.press("Enter")
    assert "No answer" in place.error
    page.keyboard.press("0")
    page.keyboard.press("Enter")
    await_reveal(page)
    assert place.stored == []


def test_the_help_key_works_from_the_text(place):
    page = place.page
    place.word("Oslo").dblclick()
    page.keyboard.press("?")
    assert page.locator("#help[open]").count() == 1
    page.keyboard.press("?")
    assert page.locator("#help[open]").count() == 0
    assert place.focused == "Oslo"


def test_escape_leaves_the_text_if_nothing_is_pending(place):
    page = place.page
    place.word("Oslo").dblclick()
    page.keyboard.press("Escape")
    expect(page.locator("#question")).to_be_focused()
    assert place.chips == ["Oslo"]
    page.keyboard.press("0")
    assert page.locator("[name=no_answer]").is_checked()


# Undo in narrow windows --------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["replaced", "removed", "no answer"])
def test_a_highlight_replaced_by_a_tap_can_be_restored(phone, researcher, how):
    desk = Desk(phone, sentences(researcher, 2, train=True))
    lost = phone.locator("[data-lost]")
    desk.word("Oslo").tap()
    desk.word("and").tap()
    assert desk.chips == ["Oslo and"]
    expect(lost).to_be_hidden()
    if how == "replaced":
        desk.word("to").tap()
        desk.word("Oslo").tap()
        assert desk.chips == ["to Oslo"]
        expect(lost).to_contain_text("Replaced “Oslo and”.")
    elif how == "removed":
        phone.locator("[data-remove]").tap()
        expect(lost).to_contain_text("Removed “Oslo and”.")
    else:
        phone.locator("label.turn-none").tap()
        expect(lost).to_contain_text("“No answer” chosen.")
    expect(lost.get_by_role("button")).to_be_in_viewport(ratio=1)
    lost.get_by_role("button", name="Undo").tap()
    assert desk.chips == ["Oslo and"]
    expect(lost).to_be_hidden()
