"""If there are more labels than digit keys, annotators choose from a searchable list."""

import pytest
from playwright.sync_api import Locator, expect

from annotation.models import Answer
from tests import factories
from tests.browser.conftest import Desk, await_reveal
from tests.browser.test_accessibility import is_accessible
from tests.browser.test_panel import GO, WORDS, after_the_guard, moved
from tests.browser.test_visit import MOST, weigh

VERBS = ("activate", "cancel", "change", "explain", "find", "lose", "order", "pay", "renew", "stop")
THINGS = (
    "account", "address", "card", "cheque", "credit", "currency", "direct debit", "exchange rate",
    "fee", "gift voucher", "identity check", "interest", "limit", "mortgage", "overdraft",
    "passcode", "pension", "refund", "savings", "transfer",
)  # fmt: skip
NAMES = [f"{verb}_{thing.replace(' ', '_')}" for verb in VERBS for thing in THINGS]
LABELS = [
    {
        "name": name,
        "definition": f"Somebody wants to {name.replace('_', ' ')}.",
        "example": f"How can I {name.replace('_', ' ')}?",
    }
    for name in NAMES
]
TEXTS = ("I never want to see that overdraft again.", "My card is gone.")
LABEL = {"labels": LABELS, "gold": ["stop_overdraft"]}


@pytest.fixture
def listed(desk) -> Desk:
    return desk(*TEXTS, **LABEL)


def shown(page) -> list[str]:
    return page.locator(".turn-choice:visible").all_inner_texts()


def choice(page, name: str) -> Locator:
    return page.locator("label.turn-choice").filter(has_text=name)


def label(desk: Desk) -> str:
    return Answer.objects.get(turn__participation=desk.seat).label


@pytest.mark.journey
def test_a_label_of_two_hundred_is_found_and_sent_by_keyboard(listed):
    page = listed.page
    assert len(shown(page)) == 200
    page.keyboard.type("stop overd")
    assert shown(page) == ["stop_overdraft"]
    expect(page.locator("[data-found]")).to_have_text("1 label")
    page.keyboard.press("Enter")
    assert page.get_by_label("stop_overdraft").is_checked()
    assert listed.nothing_is_stored()
    page.keyboard.press("Enter")
    await_reveal(page)
    assert label(listed) == "stop_overdraft"
    expect(page.locator("li.turn-choice")).to_have_count(1)
    expect(page.locator(".turn-is-gold")).to_contain_text("stop_overdraft")


def test_arrow_keys_move_from_the_search_through_its_results(listed):
    page = listed.page
    page.get_by_role("searchbox").fill("LIMIT")
    for _press in range(3):
        page.keyboard.press("ArrowDown")
    assert page.get_by_label("change_limit").is_checked()
    page.keyboard.press("ArrowUp")
    assert page.get_by_label("cancel_limit").is_checked()
    page.keyboard.press("Enter")
    await_reveal(page)
    assert label(listed) == "cancel_limit"


def test_the_nearest_label_is_marked_and_escape_shows_all(listed):
    page = listed.page
    field = page.get_by_role("searchbox")
    field.fill("card")
    assert page.locator("[data-nearest]").inner_text() == "activate_card"
    field.fill("pay cr")
    assert page.locator("[data-nearest]").inner_text() == "pay_credit"
    field.fill("there is no such label")
    expect(page.locator("[data-found]")).to_have_text("0 labels")
    field.press("Enter")
    assert page.locator("[name=label]:checked").count() == 0
    field.press("Escape")
    assert len(shown(page)) == 200


def test_the_chosen_label_stays_visible_during_a_search(listed):
    page = listed.page
    choice(page, "find_fee").click()
    page.get_by_role("searchbox").fill("passcode")
    assert len(shown(page)) == 11
    assert "find_fee" in shown(page)
    choice(page, "renew_passcode").click()
    assert "find_fee" not in shown(page)


def test_a_restored_label_is_chosen_and_visible(listed):
    page = listed.page
    page.keyboard.type("transfer")
    choice(page, "renew_transfer").click()
    listed.reload()
    assert page.get_by_label("renew_transfer").is_checked()
    expect(choice(page, "renew_transfer")).to_be_in_viewport()
    assert len(shown(page)) == 200


def test_the_reveal_shows_chosen_and_right_labels_without_moving(listed):
    page = listed.page
    go, words = page.evaluate(GO), page.evaluate(WORDS)
    choice(page, "find_fee").click()
    assert (page.evaluate(GO), moved(words, page.evaluate(WORDS))) == (go, [])
    listed.reveal()
    assert (page.evaluate(GO), moved(words, page.evaluate(WORDS))) == (go, [])
    names = page.locator("li.turn-choice b[translate=no]").all_inner_texts()
    assert names == ["find_fee", "stop_overdraft"]
    assert "explain_cheque" not in page.locator("form").inner_text()
    after_the_guard(page)
    listed.go_on()
    assert page.get_by_role("searchbox").input_value() == ""
    assert len(shown(page)) == 200


def test_with_auto_advance_a_found_label_is_submitted(page, put):
    seat = put(*TEXTS, train=False, **LABEL)
    factories.force_options(seat.study, auto_advance=True)
    one = Desk(page, seat)
    page.keyboard.type("stop over")
    page.keyboard.press("Enter")
    page.wait_for_selector("#turn >> text=My card is gone.")
    assert label(one) == "stop_overdraft"


@pytest.mark.journey
def test_submit_stays_visible_by_touch_on_a_phone(phone, put):
    one = Desk(phone, put(*TEXTS, **LABEL))
    go = phone.evaluate(GO)
    assert go[1] + go[3] <= 844
    phone.get_by_role("searchbox").tap()
    phone.keyboard.type("overdraft")
    assert phone.evaluate(GO) == go
    choice(phone, "stop_overdraft").tap()
    phone.locator("[data-submit]").tap()
    await_reveal(phone)
    assert phone.evaluate(GO) == go
    assert label(one) == "stop_overdraft"


@pytest.mark.journey
def test_without_javascript_the_whole_list_is_shown(open_browser, put):
    seat = put(*TEXTS, **LABEL)
    page = open_browser(java_script_enabled=False)
    page.goto(f"/work/{seat.token}/")
    expect(page.get_by_role("searchbox")).to_be_hidden()
    choice(page, "stop_overdraft").click()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="Right")).to_be_visible()
    assert Answer.objects.get(turn__participation=seat).label == "stop_overdraft"


def test_axe_finds_nothing_and_nothing_overflows(listed):
    page = listed.page
    is_accessible(page, "the list")
    page.get_by_role("searchbox").fill("card")
    is_accessible(page, "a search")
    choice(page, "lose_card").click()
    listed.reveal()
    is_accessible(page, "the reveal")


def test_a_first_visit_with_many_labels_is_below_60_kb(open_browser, put):
    seat = put("I never want to see that overdraft again. " * 60, train=False, **LABEL)
    assert weigh(open_browser(), f"/work/{seat.token}/") <= MOST
