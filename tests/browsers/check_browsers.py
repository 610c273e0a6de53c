"""Acceptance cases of the highlighter in Firefox and WebKit.

docs/accessibility.md lists what their drivers can't do: touch, screen readers and forced colours.
"""

import pytest

from annotation.models import Answer
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)

TEXT = "Rodrigo Duterte met Trump's aides at Mar-a-Lago."


def test_a_drag_from_word_to_word_is_one_exact_highlight(sit):
    page = sit(TEXT, gold=["Rodrigo Duterte"])
    page.drag("Rodrigo", "Duterte")
    assert page.chips == ["Rodrigo Duterte"]
    page.submit()
    page.revealed()
    assert page.stored == ["Rodrigo Duterte"]


def test_two_clicks_choose_first_and_last_word_in_either_order(sit):
    page = sit(TEXT, gold=["Rodrigo Duterte"])
    page.click(page.word("Duterte"))
    page.click(page.word("Rodrigo"))
    assert page.chips == ["Rodrigo Duterte"]
    page.submit()
    page.revealed()
    assert page.stored == ["Rodrigo Duterte"]


def test_a_word_is_reached_highlighted_and_sent_by_keyboard(sit):
    page = sit(TEXT, gold=["Lago"])
    page.js("() => document.querySelector('[data-text] [tabindex=\"0\"]').focus()")
    page.press("L", "a", "Enter")
    assert page.chips == ["Lago"]
    page.press("Control+Enter")
    page.revealed()
    assert page.stored == ["Lago"]


def test_shift_and_arrows_mark_words_and_undo_removes_them(sit):
    page = sit(TEXT, gold=["Rodrigo Duterte"])
    page.js("() => document.querySelector('[data-text] [tabindex=\"0\"]').focus()")
    page.press("Home", "Shift+ArrowRight", "Enter")
    assert page.chips == ["Rodrigo Duterte"]
    page.press("Control+z")
    assert page.chips == []


def test_a_double_click_takes_the_whole_name(sit):
    page = sit(TEXT, gold=["Rodrigo Duterte"])
    at = page.word("Rodrigo")
    steps = [{"move": [at["x"], at["y"]]}, *({"press": down} for down in (True, False) * 2)]
    page.browser.do("mouse", steps=steps)
    assert page.chips == ["Rodrigo Duterte"]


def test_an_end_of_the_selected_highlight_can_be_dragged(sit):
    page = sit(TEXT, gold=["Rodrigo Duterte"])
    page.drag("Rodrigo", "met")
    assert page.chips == ["Rodrigo Duterte met"]
    end, to = page.word("met"), page.word("Duterte")
    steps = [{"move": [end["right"] - 2, end["y"]]}, {"press": True}]
    steps += [{"move": [to["x"], to["y"]]}, {"move": [to["right"] - 1, to["y"]]}, {"press": False}]
    page.browser.do("mouse", steps=steps)
    assert page.chips == ["Rodrigo Duterte"]


def test_zero_twice_submits_no_answer(sit):
    page = sit(TEXT, gold=[])
    page.js("() => document.querySelector('h1[data-focus]').focus()")
    page.press("0", "0")
    page.revealed()
    assert Answer.objects.get().no_answer


def test_no_answer_is_stored_as_no_answer(sit):
    page = sit(TEXT, gold=[])
    page.click(page.place("[name=no_answer]"))
    page.submit()
    page.revealed()
    assert Answer.objects.get().no_answer


def test_an_incomplete_answer_is_not_sent(sit):
    page = sit(TEXT, gold=["Lago"])
    page.submit()
    page.wait("() => document.querySelector('[data-error]').textContent !== ''")
    assert Answer.objects.count() == 0


def test_a_label_is_chosen_submitted_and_revealed(sit):
    page = sit("It was good.", gold=["positive"], labels=factories.LABELS)
    page.click(page.place("[name=label]"))
    page.submit()
    page.revealed()
    assert Answer.objects.get().label == "positive"


def test_back_and_forward_never_restore_an_answered_question(sit, server):
    page = sit(TEXT, "Rome.", gold=["Lago"])
    page.click(page.word("Lago"))
    page.click(page.word("Lago"))
    page.submit()
    page.revealed()
    page.browser.do("goto", url=f"{server}/help/annotators/")
    page.browser.do("back")
    page.revealed()
    assert page.js("() => document.querySelector('[data-text]')") is None
    assert Answer.objects.count() == 1


def test_a_reload_brings_the_highlights_back(sit, server):
    page = sit(TEXT, gold=["Lago"])
    page.drag("Rodrigo", "Duterte")
    page.browser.do("goto", url=f"{server}/work/{page.seat.token}/")
    page.wait("() => document.querySelector('[data-chip]') !== null")
    assert page.chips == ["Rodrigo Duterte"]


def test_a_narrow_window_does_not_scroll_sideways(sit):
    page = sit(TEXT * 20, gold=["Lago"])
    assert page.js("() => document.documentElement.scrollWidth <= innerWidth")
    at = page.place("[data-submit]")
    hit = "([x, y]) => document.elementFromPoint(x, y).closest('[data-submit]') !== null"
    assert page.js(hit, [at["x"], at["y"]])
