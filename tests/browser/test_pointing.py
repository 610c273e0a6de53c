"""Exact drags, presses that begin outside a text, and clicks by assistive technology.

These use real mouse events on published names, which an earlier version cut short.
"""

from itertools import accumulate

import pytest

from tasks.formats import Record
from tasks.importing import read_clues
from tasks.spans import Source
from tests.browser.conftest import Desk, edges, seat_before

TEXT = "In 1964, Paul VI went to New York, and M. Waugh met The Super Peasants in SAN ANTONIO."


@pytest.fixture
def one(desk):
    return desk(TEXT, gold=["New York"])


def pull(page, begin, end, steps: int = 8) -> None:
    """Drag from one point to another in several moves, like a hand."""
    page.mouse.move(*begin)
    page.mouse.down()
    page.mouse.move(*end, steps=steps)
    page.mouse.up()


def at(word, share: float) -> tuple[float, float]:
    """Return the point at this fraction of a word's width."""
    edge = edges(word)
    return edge["left"] + share * (edge["right"] - edge["left"]), edge["middle"]


@pytest.mark.parametrize("share", [0.05, 0.5, 0.8, 0.95])
def test_a_pressed_word_is_highlighted_wherever_it_is_pressed(one, share):
    end = edges(one.word("York"))
    pull(one.page, at(one.word("New"), share), (end["right"], end["middle"]))
    assert one.chips == ["New York"]


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.95])
def test_a_backward_drag_includes_the_pressed_word(one, share):
    begin = edges(one.word("New"))
    pull(one.page, at(one.word("York"), share), (begin["left"], begin["middle"]))
    assert one.chips == ["New York"]


@pytest.mark.parametrize(("into", "chosen"), [(3, "New"), (8, "New York")])
def test_the_last_word_is_included_from_six_pixels_on(one, into, chosen):
    end = edges(one.word("York"))
    pull(one.page, at(one.word("New"), 0.9), (end["left"] + into, end["middle"]))
    assert one.chips == [chosen]


@pytest.fixture
def names(page, researcher, clues) -> list[tuple[str, dict[str, float], dict[str, float]]]:
    """The 49 multi-word names with the shortest first words in CoNLL's test file.

    They are in one text. Each is returned with the positions of its first and last word.
    """
    _card, files = read_clues(clues, "CoNLL03")
    tested = next(file.records for file in files if file.kind == "test")
    found = {
        text: len(text.split()[0])
        for record in tested
        for text in record.gold
        if len(text.split()) > 1 and Source(record.context).is_reachable(text)
    }
    chosen = sorted(found, key=lambda text: (found[text], text))[:49]
    record = Record("names", (" , ".join(chosen),), "Which names?", (chosen[0],), None)
    Desk(page, seat_before(researcher, {}, [record], train=True))
    begins = list(accumulate((len(name) + 3 for name in chosen[:-1]), initial=0))
    ends = [begin + len(name) for begin, name in zip(begins, chosen, strict=True)]
    places = page.evaluate(
        """([begins, ends]) => {
            const box = document.querySelector("[data-field=context]");
            const place = (name, at) => {
                const { left, width, top, height } =
                    box.querySelector(`[data-${name}="${at}"]`).getBoundingClientRect();
                return { left, width, y: top + height / 2 };
            };
            return begins.map((begin, i) => [place("s", begin), place("e", ends[i])]);
        }""",
        [begins, ends],
    )
    return [(name, *place) for name, place in zip(chosen, places, strict=True)]


@pytest.mark.real_data
@pytest.mark.parametrize("share", [0.3, 0.5, 0.65, 0.8])
def test_a_drag_over_a_name_includes_its_first_and_last_word(page, names, share):
    wrong = []
    for name, first, last in names:
        begin = (first["left"] + share * first["width"], first["y"])
        end = (last["left"] + last["width"], last["y"])
        start_of_first = (first["left"], first["y"])
        back = (last["left"] + (1 - share) * last["width"], last["y"])
        for press, release in ((begin, end), (back, start_of_first)):
            pull(page, press, release, steps=3)
            chips = page.locator("[data-chip]").all_inner_texts()
            if chips != [name]:
                wrong.append((name, chips))
            page.keyboard.press("Control+z")
    assert len(names) == 49
    assert wrong == []


def test_a_drag_from_the_margin_starts_where_the_line_begins(one):
    box = one.page.locator("[data-field=context]").bounding_box()
    word = edges(one.word("Paul"))
    pull(one.page, (box["x"] - 14, word["middle"]), at(one.word("VI"), 0.9))
    assert one.chips == ["In 1964, Paul VI"]
    assert one.page.evaluate("getSelection().isCollapsed")


@pytest.mark.parametrize("where", ["question", "#turn h1"])
def test_a_drag_from_another_text_leaves_no_selection(one, where):
    other = one.page.locator("#question" if where == "question" else where).bounding_box()
    end = at(one.word("York"), 0.5)
    mouse = one.page.mouse
    mouse.move(other["x"] + 5, other["y"] + other["height"] / 2)
    mouse.down()
    mouse.move(*end, steps=8)
    box = one.page.locator("[data-field=context]")
    shown = "e => getComputedStyle(e.querySelector('[data-t]'), '::selection').backgroundColor"
    assert box.evaluate(shown) == "rgba(0, 0, 0, 0)"
    mouse.up()
    assert one.chips == []
    assert one.page.evaluate("getSelection().isCollapsed")


def test_a_press_in_the_margin_does_nothing(one):
    box = one.page.locator("[data-field=context]").bounding_box()
    one.page.mouse.click(box["x"] - 14, box["y"] + 20)
    pull(one.page, (box["x"] - 14, box["y"] + 10), (box["x"] - 14, box["y"] + 40))
    assert one.chips == []
    assert not one.page.locator("[data-pending]").is_visible()


@pytest.mark.parametrize(
    "click",
    ["e => e.click()", "e => e.dispatchEvent(new MouseEvent('click', {bubbles: true, detail: 1}))"],
    ids=["element.click", "bare event"],
)
def test_synthetic_clicks_choose_words(one, click):
    one.word("New").evaluate(click)
    assert one.page.locator("[data-pending]").is_visible()
    one.word("York").evaluate(click)
    assert one.chips == ["New York"]


def test_a_real_click_is_counted_once(one):
    one.word("York").click()
    assert one.page.locator("[data-pending]").is_visible()
    assert one.chips == []


def test_a_long_press_leaves_no_highlight(phone, put):
    one = Desk(phone, put(TEXT, gold=["York"]))
    finger = phone.context.new_cdp_session(phone)
    box = one.word("York").bounding_box()
    point = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
    phone.wait_for_timeout(900)
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    phone.wait_for_timeout(100)
    assert one.chips == []
    assert not phone.locator("[data-pending]").is_visible()


# An end of a highlight ----------------------------------------------------------------------------


def test_an_end_of_the_selected_highlight_can_be_dragged(one):
    one.drag(one.word("to"), one.word("New"))
    assert one.chips == ["to New"]
    new, york, to = (edges(one.word(text)) for text in ("New", "York", "to"))
    pull(one.page, (new["right"] - 2, new["middle"]), (york["right"] - 4, york["middle"]))
    assert one.chips == ["to New York"]
    pull(one.page, (to["left"] + 1, to["middle"]), (new["left"] + 3, new["middle"]))
    assert one.chips == ["New York"]
    one.page.keyboard.press("Control+z")
    assert one.chips == ["to New York"]


def test_a_drag_from_inside_a_highlight_still_replaces_it(one):
    one.drag(one.word("to"), one.word("New"))
    pull(one.page, at(one.word("New"), 0.5), at(one.word("York"), 0.9))
    assert one.chips == ["New York"]


def test_an_end_dragged_past_the_other_keeps_one_word(one):
    one.drag(one.word("New"), one.word("York"))
    york = edges(one.word("York"))
    pull(one.page, (york["right"] - 2, york["middle"]), at(one.word("to"), 0.3))
    assert one.chips == ["to New"]


def tap_slowly(one: Desk, text: str) -> None:
    """Highlight one word by two slow taps, because a double tap would select the whole name."""
    one.word(text).tap()
    one.page.wait_for_timeout(600)
    one.word(text).tap()


def knob(page, word) -> dict[str, float]:
    """Return the centre of the handle below the end of a word."""
    box = word.bounding_box()
    return {"x": box["x"] + box["width"], "y": box["y"] + box["height"] + 10}


def test_a_finger_drags_the_handle_of_an_end_without_scrolling(phone, put):
    one = Desk(phone, put(f"{TEXT} " * 8, gold=["York"]))
    tap_slowly(one, "New")
    assert one.chips == ["New"]
    finger = phone.context.new_cdp_session(phone)
    begin, end = knob(phone, one.word("New")), edges(one.word("York"))
    finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [begin]})
    for step in range(1, 9):
        point = {
            "x": begin["x"] + (end["right"] - 5 - begin["x"]) * step / 8,
            "y": begin["y"] + step,
        }
        finger.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
        phone.wait_for_timeout(16)
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    phone.wait_for_function("document.querySelector('[data-chip]').textContent === 'New York'")
    assert one.chips == ["New York"]
    assert phone.evaluate("scrollY") == 0


def test_a_tap_on_a_handle_chooses_the_word_under_it(phone, put):
    one = Desk(phone, put(f"{TEXT} " * 8, gold=["York"]))
    tap_slowly(one, "New")
    point = knob(phone, one.word("New"))
    phone.touchscreen.tap(point["x"], point["y"] + 8)
    assert phone.locator("[data-pending]").is_visible()
    assert one.chips == ["New"]
