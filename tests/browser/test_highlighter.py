"""Acceptance tests for highlighting by mouse, keyboard and touch.

Each test checks at the end what the server stored, or that it stored nothing.
"""

import pytest
from playwright.sync_api import expect

from annotation.models import AnswerSpan
from tests.browser.conftest import Desk, await_reveal

NAMES = (
    "Yesterday Rodrigo Duterte met Mary in Mar-a-Lago, U.S., and Wham! sang for Lothar de Maizière."
)


@pytest.fixture
def names(desk):
    return desk(NAMES, gold=["Lago"])


@pytest.mark.parametrize(
    ("into", "beyond"), [(20, -20), (1, -1), (2, 4)], ids=["middles", "edges", "past the end"]
)
def test_a_drag_takes_whole_words(names, into, beyond):
    names.drag(names.word("Rodrigo"), names.word("Duterte"), into=into, beyond=beyond)
    assert names.chips == ["Rodrigo Duterte"]
    names.reveal()
    assert names.stored == ["Rodrigo Duterte"]


def test_a_drag_backwards_takes_the_same_words(names):
    begin = names.word("Duterte").bounding_box()
    end = names.word("Rodrigo").bounding_box()
    mouse = names.page.mouse
    mouse.move(begin["x"] + begin["width"] - 1, begin["y"] + 10)
    mouse.down()
    mouse.move(end["x"] + 1, end["y"] + 10, steps=8)
    mouse.up()
    assert names.chips == ["Rodrigo Duterte"]


def test_a_drag_can_begin_at_the_left_edge_of_a_focused_word(names):
    names.word("Rodrigo").click()
    names.page.keyboard.press("Escape")
    names.drag(names.word("Rodrigo"), names.word("Duterte"), into=1)
    assert names.chips == ["Rodrigo Duterte"]


def test_a_release_takes_a_comma_only_past_its_middle(desk):
    one = desk("He left Cuba, they say.", gold=["Cuba"])
    comma = one.word(",").bounding_box()["width"]
    one.drag(one.word("Cuba"), one.word("Cuba"), beyond=1)
    assert one.chips == ["Cuba"]
    one.page.keyboard.press("Control+z")
    one.drag(one.word("Cuba"), one.word(","), beyond=-comma * 0.2)
    assert one.chips == ["Cuba,"]


def test_a_double_click_takes_one_word_of_a_compound_name(names):
    names.word("Lago").dblclick()
    names.word("Mary").dblclick()
    assert sorted(names.chips) == ["Lago", "Mary"]


def test_a_double_click_takes_the_whole_name_around_a_word(names):
    names.word("Duterte").dblclick()
    assert names.chips == ["Rodrigo Duterte"]  # "Yesterday" is only a first word
    names.reveal()
    assert names.stored == ["Rodrigo Duterte"]


def test_two_taps_take_the_whole_name_or_slowly_one_word(phone, put):
    one = Desk(phone, put(NAMES, gold=["Lago"]))
    for _tap in range(2):
        one.word("Rodrigo").tap()
    assert one.chips == ["Rodrigo Duterte"]
    one.page.locator("[data-remove]").tap()
    one.word("Rodrigo").tap()
    one.page.wait_for_timeout(600)  # too slow for a double tap
    one.word("Rodrigo").tap()
    assert one.chips == ["Rodrigo"]


def test_two_clicks_work_in_either_order_or_on_one_word(names):
    names.word("Duterte").click()
    names.word("Rodrigo").click()
    names.word("Mary").click()
    names.word("Mary").click()
    assert names.chips == ["Rodrigo Duterte", "Mary"]


def test_one_click_adds_nothing_until_submit_takes_the_word(names):
    names.word("Mary").click()
    assert names.chips == []
    names.page.keyboard.press("Escape")
    names.submit()
    assert "Highlight at least one answer" in names.error
    assert names.nothing_is_stored()
    names.word("Mary").click()
    expect(names.page.locator("[data-live]").first).to_contain_text("Or submit to use only this.")
    names.reveal()
    assert names.stored == ["Mary"]


def test_submit_asks_about_a_pending_word_next_to_highlights(names):
    names.word("Rodrigo").dblclick()
    names.word("Mary").click()
    names.submit()
    assert names.error == "You started to highlight “Mary”. Keep it or cancel?"
    names.page.locator("[data-only]").click()
    names.reveal()
    assert names.stored == ["Rodrigo Duterte", "Mary"]


def test_submit_takes_no_pending_word_that_replaces_an_answer(desk):
    one = desk("Oslo or Rome.", gold=["Rome"], max_spans=1)
    one.word("Rome").dblclick()
    one.word("Oslo").click()
    one.submit()
    assert "You started to highlight “Oslo”" in one.error
    one.page.keyboard.press("Escape")
    one.page.locator("[name=no_answer]").check()
    one.word("Oslo").click()
    one.submit()
    assert "You started to highlight “Oslo”" in one.error
    assert one.nothing_is_stored()


def test_submit_refuses_an_unfinished_range(names):
    to_box(names)
    press(names, "Shift+ArrowRight")
    names.submit()
    assert "Finish or cancel the highlight you started" in names.error
    assert names.nothing_is_stored()


def test_a_bar_under_the_text_takes_or_cancels_a_pending_word(names):
    names.word("Mary").click()
    bar = names.page.locator("[data-pending]")
    text = names.page.locator("[data-field=context]").bounding_box()
    assert 0 <= bar.bounding_box()["y"] - (text["y"] + text["height"]) < 60
    assert bar.get_by_role("button").all_inner_texts()[0] == "Use only “Mary”"
    bar.get_by_role("button").first.click()
    assert names.chips == ["Mary"]
    assert not bar.is_visible()
    names.word("Wham").click()
    bar.get_by_role("button", name="Cancel").click()
    assert names.chips == ["Mary"]
    assert not bar.is_visible()


def test_punctuation_of_a_name_can_be_highlighted(names):
    names.word("U").click()
    names.word(".", 1).click()
    names.word("Wham").dblclick()
    names.page.locator("[data-adjust=end-later]").click()
    assert names.chips == ["U.S.", "Wham!"]
    names.reveal()
    assert names.stored == ["U.S.", "Wham!"]


def test_shift_click_extends_the_active_highlight(names):
    names.word("Lothar").dblclick()
    names.word("Maizière").click(modifiers=["Shift"])
    assert names.chips == ["Lothar de Maizière"]


def test_an_overlapping_highlight_replaces_another_until_undone(names):
    names.word("Lothar").dblclick()
    names.drag(names.word("for"), names.word("Maizière"))
    assert names.chips == ["for Lothar de Maizière"]
    names.page.locator("[data-undo]").click()
    assert names.chips == ["Lothar"]


def test_the_same_text_twice_counts_once(desk):
    one = desk("Oslo, then Rome, then Oslo.", gold=["Oslo"])
    one.word("Oslo", 0).dblclick()
    one.word("Oslo", 1).dblclick()
    assert len(one.chips) == 2
    assert "counts once" in one.page.locator("[data-chips]").inner_text()
    one.reveal()
    assert one.stored == ["Oslo"]


@pytest.mark.journey
def test_highlights_are_removed_by_chip_by_key_and_by_undo(desk):
    one = desk("Oslo, Rome, Lima, Bern.", gold=["Oslo"])
    for text in ("Oslo", "Rome", "Lima", "Bern"):
        one.word(text).dblclick()
    one.page.get_by_role("button", name="Remove").nth(1).click()
    assert one.chips == ["Oslo", "Lima", "Bern"]
    one.page.keyboard.press("Control+z")
    assert one.chips == ["Oslo", "Rome", "Lima", "Bern"]


def test_no_answer_and_highlights_clear_each_other(names):
    names.word("Lago").dblclick()
    box = names.page.locator("[name=no_answer]")
    box.check()
    assert names.chips == []
    names.page.keyboard.press("Control+z")
    assert names.chips == ["Lago"]
    box.check()
    names.word("Mary").dblclick()
    assert not box.is_checked()


def test_no_answer_is_sent_as_the_empty_set(desk):
    one = desk("Nobody was there.")
    one.page.locator("[name=no_answer]").check()
    one.reveal()
    assert one.stored == []
    assert "this example has no answer" in one.page.locator("[data-state=reveal] form").inner_text()


# Keyboard ----------------------------------------------------------------------------------------


def to_box(one) -> None:
    """Move from the question to the text with Tab."""
    one.page.locator("#question").focus()
    one.page.keyboard.press("Tab")


def press(one, *keys: str) -> None:
    for key in keys:
        one.page.keyboard.press(key)


@pytest.mark.journey
def test_a_typed_letter_focuses_the_first_word_with_that_letter(desk):
    """This works without Tab. Letters typed quickly extend the search. A setting disables it."""
    desk = desk("Oslo and Lima, or Lisbon.", gold=["Lisbon"])
    desk.page.locator("[data-focus]").first.focus()
    desk.page.keyboard.press("o")
    assert desk.focused == "Oslo"
    desk.page.locator("[data-focus]").first.focus()
    desk.page.wait_for_timeout(800)  # a pause starts a new search
    # Send all letters at once, so that a slow machine makes no difference.
    desk.page.evaluate(
        """() => [..."lis"].forEach((key) => document.activeElement.dispatchEvent(
            new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true})))"""
    )
    assert desk.focused == "Lisbon"
    desk.page.keyboard.press("Enter")
    assert desk.chips == ["Lisbon"]
    desk.page.evaluate("localStorage.setItem('single-keys', 'off')")
    desk.page.locator("[data-focus]").first.focus()
    desk.page.keyboard.press("o")
    assert desk.focused != "Oslo"


def test_a_letter_after_enter_starts_a_new_search(desk):
    desk = desk("Oslo and Lima, or Rome.", gold=["Lima"])
    desk.page.locator("[data-focus]").first.focus()
    for key in ("l", "Enter", "r", "Enter"):
        desk.page.keyboard.press(key)
    assert desk.chips == ["Lima", "Rome"]


def test_a_highlight_reaches_the_reveal_by_keyboard_only(names):
    to_box(names)
    assert names.focused == "Yesterday"
    names.page.keyboard.type("lag")
    assert names.focused == "Lago"
    press(names, "Enter")
    assert names.chips == ["Lago"]
    tabs = 0
    while "submit" not in names.page.evaluate("Object.keys(document.activeElement.dataset)"):
        press(names, "Tab")
        tabs += 1
        assert tabs <= 10
    press(names, "Enter")
    await_reveal(names.page)
    assert names.stored == ["Lago"]
    assert "Right" in names.focused
    press(names, "Tab")
    assert names.focused == "Lago is right."  # the focus frames the mark
    press(names, "Tab")
    assert names.focused.startswith("Continue")


def test_enter_on_words_highlights_each_without_submitting(names):
    to_box(names)
    press(names, "Enter", "ArrowRight", "Enter")
    assert len(names.chips) == 2
    assert names.nothing_is_stored()


def test_a_second_enter_on_a_marked_word_submits(names):
    to_box(names)
    names.page.keyboard.type("lag")
    press(names, "Enter", "Enter")
    await_reveal(names.page)
    assert names.stored == ["Lago"]


def test_enter_marks_a_pending_range_without_submitting(names):
    to_box(names)
    press(names, "Enter", "Shift+ArrowRight", "Enter")
    assert names.chips == ["Yesterday Rodrigo"]
    assert names.nothing_is_stored()


def test_shift_and_arrows_select_several_words(names):
    to_box(names)
    names.page.keyboard.type("rod")
    press(names, "Shift+ArrowRight", "Enter")
    assert names.chips == ["Rodrigo Duterte"]


def test_space_starts_and_ends_without_shift(names):
    to_box(names)
    press(names, "ArrowRight", "Space", "ArrowRight", "Space")
    assert names.chips == ["Rodrigo Duterte"]


def test_delete_removes_the_highlight_under_the_focus(names):
    to_box(names)
    press(names, "Enter", "Delete")
    assert names.chips == []


def test_home_end_and_arrow_keys_move_between_lines(desk):
    one = desk("\n".join(f"line{n} alpha beta gamma" for n in range(4)), gold=["alpha"])
    to_box(one)
    press(one, "ArrowRight", "ArrowDown")
    assert one.page.evaluate("document.activeElement.dataset.s") == "29"
    press(one, "ArrowUp", "End")
    assert one.focused == "gamma"
    press(one, "Home")
    assert one.focused == "line0"
    press(one, "Control+End")
    assert one.page.evaluate("document.activeElement.dataset.e") == str(4 * 22 + 3)
    press(one, "Control+Home", "Shift+End", "Enter")
    assert one.chips == ["line0 alpha beta gamma"]


def test_typing_letters_finds_accented_words_and_signs(desk):
    one = desk("Ann saw Élodie (twice).", gold=["Ann"])
    to_box(one)
    one.page.keyboard.insert_text("é")
    one.page.keyboard.press("(")
    one.page.wait_for_timeout(800)
    one.page.keyboard.press("(")
    assert one.focused == "("


# Text --------------------------------------------------------------------------------------------


def test_offsets_are_code_points_and_the_text_is_shown_as_it_is(desk):
    text = "😀 Lago  e\u0301\n(x_1) <b>&amp; end"
    one = desk(text, gold=["Lago"])
    assert one.page.locator("[data-field=context]").evaluate("e => e.textContent") == text
    one.word("Lago").dblclick()
    one.drag(one.word("e\u0301"), one.word("x_1"))
    one.reveal()
    found = list(AnswerSpan.objects.values_list("start", "end", "text"))
    assert found == [(2, 6, "Lago"), (8, 15, "e\u0301\n(x_1")]


def test_the_question_is_highlightable_only_if_the_task_says_so(desk):
    one = desk("Oslo is far.", gold=["Oslo"])
    assert one.page.locator("[data-field=question]").count() == 0
    question = one.page.locator("#question").bounding_box()
    one.page.mouse.move(question["x"] + 5, question["y"] + 5)
    one.page.mouse.down()
    word = one.word("Oslo").bounding_box()
    one.page.mouse.move(word["x"] + 10, word["y"] + 10, steps=5)
    one.page.mouse.up()
    assert one.chips == []


def test_the_question_can_be_highlighted_where_it_is_allowed(desk):
    one = desk("Oslo is far.", gold=["places"], question_selectable=True)
    one.word("places").dblclick()
    one.reveal()
    assert one.stored == ["places"]
    assert (
        one.page.locator("[data-question] mark[data-verdict=right]").text_content()
        == "[right: places]"
    )


def test_right_to_left_text_is_marked_by_keyboard_and_mouse(desk):
    one = desk("היא נסעה לירושלים ואז לחיפה", gold=["לירושלים"], language="he", direction="rtl")
    to_box(one)
    press(one, "ArrowLeft", "ArrowLeft", "Enter")
    one.reveal()
    assert one.stored == ["לירושלים"]


def test_a_second_highlight_replaces_the_only_allowed_one(desk):
    one = desk("Oslo or Rome.", gold=["Rome"], max_spans=1)
    one.word("Oslo").dblclick()
    one.word("Rome").dblclick()
    assert one.chips == ["Rome"]


# Touch -------------------------------------------------------------------------------------------


def tap(page, word, dx: float = 0, dy: float = 0) -> None:
    box = word.bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] / 2 + dx, box["y"] + box["height"] / 2 + dy)


def test_on_a_phone_one_tap_and_the_only_button_take_a_word(phone, put):
    one = Desk(phone, put(NAMES, gold=["Mary"]))
    tap(phone, one.word("Mary"))
    bar = phone.locator("[data-pending]")
    assert "Esc" not in bar.inner_text()
    bar.get_by_role("button", name="Use only “Mary”").tap()
    assert one.chips == ["Mary"]


@pytest.mark.journey
def test_on_a_phone_two_taps_highlight_a_range_or_a_word(phone, put):
    one = Desk(phone, put(NAMES, gold=["Wham!"]))
    tap(phone, one.word("Wham"))
    assert phone.locator("[data-pending]").is_visible()
    tap(phone, one.word("!"))
    assert one.chips == ["Wham!"]
    tap(phone, one.word("Mary"), dy=6)
    tap(phone, one.word("Mary"), dx=6)
    assert "Mary" in one.chips
    one.page.locator("[data-submit]").tap()
    await_reveal(phone)
    assert one.stored == ["Mary", "Wham!"]


def touch(finger, kind: str, y: float | None = None) -> None:
    points = [] if y is None else [{"x": 200, "y": y}]
    finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def test_a_swipe_on_the_text_scrolls_and_adds_nothing(phone, put):
    one = Desk(phone, put(" ".join([NAMES] * 12), gold=["Wham!"]))
    finger = phone.context.new_cdp_session(phone)
    touch(finger, "touchStart", y=600)
    for step in range(1, 21):
        touch(finger, "touchMove", y=600 - 15 * step)
        phone.wait_for_timeout(16)
    touch(finger, "touchEnd")
    phone.wait_for_function("scrollY > 100")
    assert one.chips == []
    assert not phone.locator("[data-pending]").is_visible()
