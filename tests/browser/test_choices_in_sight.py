"""All choices and their meanings are visible without scrolling, in common windows."""

import pytest

from tasks.formats import Record
from tests.browser.conftest import Desk, seat_before

# 1093x525 is a 1366x657 window at 125 %.
WINDOWS = [(911, 512), (1093, 525), (1280, 480), (1366, 540), (1366, 657), (1920, 1080)]
# Returns the choices and meanings that are partly hidden by the panel or the window.
HIDDEN = """() => {
    const { top, bottom } = document.querySelector(".turn-body").getBoundingClientRect();
    const parts = document.querySelectorAll(".turn-choice, .turn-choice b, .turn-meaning");
    return [...parts].filter((element) => {
        const rect = element.getBoundingClientRect();
        const lowest = Math.min(bottom, innerHeight) + 0.5;
        return rect.height < 12 || rect.top < top - 0.5 || rect.bottom > lowest;
    }).map((element) => element.textContent.trim());
}"""
MEANINGS = [
    ("entailment", "If the premise is true, the hypothesis is definitely true as well."),
    ("neutral", "The hypothesis might be true or false: the premise does not settle it."),
    ("contradiction", "If the premise is true, the hypothesis is definitely false."),
]
TEXTS = [
    "The bridge had been closed since the storm.",
    "Nobody had told the driver about it in time.",
    "The passengers asked him to wait for the train.",
    "There was snow between the two villages.",
    "None of these: the text does not say why.",
]


def seat_by_labels(researcher, meanings=MEANINGS, **study):
    labels = [
        {"name": name, "definition": meaning, "example": "Any."} for name, meaning in meanings
    ]
    records = [
        Record(
            f"l{n}", ("The bus was late.", "The bus was early."), "Which?", ("contradiction",), None
        )
        for n in range(3)
    ]
    card = {"labels": labels, "segments": ["Premise", "Hypothesis"]}
    return seat_before(researcher, card, records, **{"train": True, **study})


@pytest.mark.parametrize("size", WINDOWS)
def test_each_label_is_seen_whole_with_its_meaning(open_browser, researcher, size):
    page = open_browser(viewport={"width": size[0], "height": size[1]})
    desk = Desk(page, seat_by_labels(researcher))
    assert page.evaluate(HIDDEN) == []
    assert page.locator(".turn-choice .turn-meaning").all_inner_texts() == [
        meaning for _name, meaning in MEANINGS
    ]
    page.keyboard.press("1")
    desk.reveal()
    assert page.evaluate(HIDDEN) == []
    assert "definitely false" in page.locator(".turn-is-gold").inner_text()


@pytest.mark.parametrize("size", WINDOWS)
def test_long_meanings_are_shortened_before_any_label(open_browser, researcher, size):
    page = open_browser(viewport={"width": size[0], "height": size[1]})
    Desk(page, seat_by_labels(researcher, [(name, meaning * 6) for name, meaning in MEANINGS]))
    assert page.evaluate(HIDDEN) == []


@pytest.mark.parametrize("size", [(320, 568), (390, 844)])
def test_each_label_is_seen_on_a_phone(open_browser, researcher, size):
    page = open_browser(
        viewport={"width": size[0], "height": size[1]}, has_touch=True, is_mobile=True
    )
    Desk(page, seat_by_labels(researcher))
    names = page.locator(".turn-choice b")
    assert names.all_inner_texts() == [name for name, _meaning in MEANINGS]
    hidden = set(page.evaluate(HIDDEN))
    assert hidden.isdisjoint(names.all_inner_texts())


@pytest.mark.parametrize("size", [(1366, 657), (1920, 1080)])
@pytest.mark.parametrize("answer", ["option", "options"])
def test_five_options_are_visible_in_question_and_reveal(open_browser, researcher, answer, size):
    record = Record("o", ("The bus was late.",), "Why?", (TEXTS[3],), None, options=tuple(TEXTS))
    card = {"answer": answer, "no_answer": False}
    seat = seat_before(researcher, card, [record], train=True)
    page = open_browser(viewport={"width": size[0], "height": size[1]})
    desk = Desk(page, seat)
    assert page.evaluate(HIDDEN) == []
    for key in "12"[: 1 if answer == "option" else 2]:
        page.keyboard.press(key)
    desk.reveal()
    assert page.locator(".turn-choice").count() == 5
    assert page.evaluate(HIDDEN) == []
