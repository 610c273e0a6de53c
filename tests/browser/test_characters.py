"""Highlighting in texts without spaces, and of characters with several code points."""

import pytest

from tests.browser.conftest import edges
from tests.browser.test_pointing import at, pull

TEXTS = {
    "Chinese": ("昨天下午，李明在上海图书馆遇见了王芳和她的弟弟。", "上海图书馆"),
    "Japanese": ("東京都庁で小池百合子知事が記者会見を開いた。", "小池百合子"),
    "Thai": ("เมื่อวานนี้สมชายเดินทางไปน่านกับมาลี", "สมชาย"),
}


@pytest.fixture(params=TEXTS, ids=list(TEXTS))
def one(request, desk):
    text, name = TEXTS[request.param]
    made = desk(text, gold=[name], granularity="char", language=request.param[:2].lower())
    made.name, made.start = name, text.index(name)
    made.first = made.page.locator(f"[data-field=context] [data-s='{made.start}']")
    made.last = made.page.locator(f"[data-field=context] [data-e='{made.start + len(name)}']")
    return made


def test_a_drag_highlights_the_characters_it_covers(one):
    end = edges(one.last)
    pull(one.page, at(one.first, 0.6), (end["right"], end["middle"]))
    assert one.chips == [one.name]
    one.reveal()
    assert one.stored == [one.name]


def test_two_clicks_highlight_the_characters_between_them(one):
    one.first.click()
    one.last.click()
    assert one.chips == [one.name]


def type_key(page, key: str) -> None:
    """Press a key that types this letter."""
    keys = page.context.new_cdp_session(page)
    keys.send("Input.dispatchKeyEvent", {"type": "keyDown", "key": key, "text": key})
    keys.send("Input.dispatchKeyEvent", {"type": "keyUp", "key": key})


def test_typing_and_arrow_keys_highlight_characters(one):
    one.page.locator("[data-field=context] [tabindex='0']").focus()
    for letter in one.name[:2]:
        type_key(one.page, letter)
    assert one.page.evaluate("Number(document.activeElement.dataset.s)") == one.start
    tokens = one.page.evaluate(
        """([start, end]) => [...document.querySelectorAll("[data-field=context] [data-t]")]
            .filter(e => e.dataset.s >= start && e.dataset.e <= end).length""",
        [one.start, one.start + len(one.name)],
    )
    for _ in range(tokens - 1):
        one.page.keyboard.press("Shift+ArrowRight")
    one.page.keyboard.press("Enter")
    assert one.chips == [one.name]


def test_arrow_keys_move_to_the_same_place_of_the_next_line(desk):
    one = desk("東京都庁で小池百合子知事が" * 30, gold=["東京"], granularity="char")
    one.page.locator("[data-field=context] [tabindex='0']").focus()
    for _ in range(3):
        one.page.keyboard.press("ArrowRight")
    first = one.page.locator("[data-field=context] [data-s='3']")
    left = edges(first)["left"]
    one.page.keyboard.press("ArrowDown")
    focused = one.page.locator(":focus")
    assert abs(edges(focused)["left"] - left) < 2
    assert edges(focused)["middle"] > edges(first)["middle"] + 10
    one.page.keyboard.press("ArrowUp")
    assert one.page.evaluate("document.activeElement.dataset.s") == "3"


FAMILY, FLAG = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "\U0001f1e9\U0001f1ea"


def test_a_family_emoji_and_a_flag_are_one_token_each(desk):
    one = desk(f"Hello {FAMILY} from {FLAG}!", gold=[FAMILY])
    for sign in (FAMILY, FLAG):
        one.word(sign).dblclick()
    assert one.chips == [FAMILY, FLAG]
    one.reveal()
    assert one.stored == [FAMILY, FLAG]


def test_words_after_special_characters_have_the_servers_offsets(desk):
    """Covers characters beyond the BMP, entities, line breaks and spaces before the words."""
    signs = f"{FAMILY} <b>&amp; \u00a0\r\n\t\"A\u0301\" 'x' \r"
    one = desk(f"{signs} Oslo, {FLAG} Rome.", gold=["Rome"])
    for name in ("Oslo", "Rome"):
        one.word(name).dblclick()
    one.reveal()
    assert one.stored == ["Oslo", "Rome"]
