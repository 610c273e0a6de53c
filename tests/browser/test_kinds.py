"""Each answer type works by mouse, touch and keyboard, and without JavaScript."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from annotation.models import Answer, Participation, Study
from annotation.web.wording import translated
from tasks.spans import AnswerError
from tests import factories
from tests.browser.conftest import Desk, await_reveal
from tests.browser.test_accessibility import is_accessible
from tests.browser.test_panel import GO, WORDS, after_the_guard, moved
from tests.browser.test_visit import MOST, weigh

BESIDE = ("option", "options", "number", "short text", "long text")
ALL = ("label", "spans", "typed", *BESIDE)
# For each kind, the right answer to the first example as stored (tests/factories.py: KINDS).
RIGHT = {
    "label": ["negative"],
    "typed": ["Oslo", "Village 0"],
    "option": ["Oslo"],
    "options": ["Oslo"],
    "number": ["0"],
    "short text": ["Oslo"],
    "long text": ["Because of the rain nobody left the house on day 0."],
}


@pytest.fixture
def seated(researcher) -> Callable[..., Participation]:
    """Return a function that seats a participant at the first training example of this kind."""

    def make(kind: str, card: dict | None = None, **study) -> Participation:
        task = factories.make_kind(kind, **(card or {}))
        design = {"training_order": "file_order", "annotators": 1, **study}
        drawn = factories.make_study(researcher, task, shots=[2], **design)
        return factories.seat(drawn.scenarios.get())

    return make


def given(seat: Participation) -> list[str]:
    """Return the texts of the only stored answer."""
    return Answer.objects.get(turn__participation=seat).as_given.texts


def choice(page: Page, text: str) -> Locator:
    return page.locator("label.turn-choice").filter(has_text=text)


def answer_by_pointer(page: Page, kind: str, press: str) -> None:
    """Answer by pointer, where `press` is "click" or "tap"."""
    if kind in ("label", "option", "options"):
        getattr(choice(page, RIGHT[kind][0]), press)()
    elif kind == "number":
        getattr(page.get_by_role("button", name="One step up"), press)()
    elif kind == "typed":
        page.locator("[name=typed]").fill("Oslo\nVillage 0")
    else:
        getattr(page.locator("[name=text]"), press)()
        page.keyboard.insert_text(RIGHT[kind][0])
    getattr(page.locator("[data-submit]"), press)()


KEYS: dict[str, list[str]] = {
    "label": ["2", "Enter"],
    "option": ["1", "Enter"],
    "options": ["2", "1", "2", "Enter"],
    "number": ["0", "Enter"],
    "short text": [*"Oslo", "Enter"],
    "long text": [*RIGHT["long text"][0], "Control+Enter"],
}


# `make test` runs every kind by mouse and keys, and one in three by touch and without scripts.
SOME_AS_JOURNEYS = [
    pytest.param(kind, marks=[] if index % 3 else [pytest.mark.journey])
    for index, kind in enumerate(RIGHT)
]


@pytest.mark.journey
@pytest.mark.parametrize("kind", RIGHT)
def test_each_kind_can_be_answered_by_mouse(page, seated, kind):
    desk = Desk(page, seated(kind))
    answer_by_pointer(page, kind, "click")
    await_reveal(page)
    assert given(desk.seat) == RIGHT[kind]
    expect(page.locator("#verdict")).to_have_text("Right")


@pytest.mark.parametrize("kind", SOME_AS_JOURNEYS)
def test_each_kind_can_be_answered_by_touch_with_submit_visible(phone, seated, kind):
    desk = Desk(phone, seated(kind))
    go = phone.evaluate(GO)
    assert go[1] + go[3] <= 844
    answer_by_pointer(phone, kind, "tap")
    await_reveal(phone)
    assert phone.evaluate(GO) == go
    assert given(desk.seat) == RIGHT[kind]


@pytest.mark.journey
@pytest.mark.parametrize("kind", KEYS)
def test_each_kind_can_be_answered_by_keyboard_only(page, seated, kind):
    desk = Desk(page, seated(kind))
    for key in KEYS[kind]:
        page.keyboard.press(key)
    await_reveal(page)
    assert given(desk.seat) == RIGHT[kind]
    after_the_guard(page)
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-state=question]")


@pytest.mark.parametrize("kind", SOME_AS_JOURNEYS)
def test_each_kind_works_without_javascript_and_shows_errors(open_browser, seated, kind):
    seat = seated(kind)
    page = open_browser(java_script_enabled=False)
    page.goto(f"/work/{seat.token}/")
    if kind != "label":  # the browser itself requires a radio button
        page.get_by_role("button", name="Submit").click()
        expect(page.get_by_role("alert")).not_to_be_empty()
        assert not Answer.objects.exists()
    if kind in ("label", "option", "options"):
        choice(page, RIGHT[kind][0]).click()
    elif kind == "typed":
        page.locator("[name=typed]").fill("\n".join(RIGHT[kind]))
    else:
        page.locator("[name=number], [name=text]").fill(RIGHT[kind][0])
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="Right")).to_be_visible()
    assert given(seat) == RIGHT[kind]


@pytest.mark.parametrize("kind", BESIDE)
def test_nothing_is_sent_before_an_answer_is_given(page, seated, kind):
    desk = Desk(page, seated(kind))
    said = page.locator("[data-missing]").get_attribute("data-missing")
    posts = []
    page.on("request", lambda r: posts.append(r.url) if r.method == "POST" else None)
    desk.submit()
    assert desk.error == said != ""
    assert not [url for url in posts if url.endswith("/answer/")]


@pytest.mark.parametrize("kind", BESIDE)
def test_submit_continue_and_the_words_do_not_move(page, seated, kind):
    desk = Desk(page, seated(kind))
    go, words = page.evaluate(GO), page.evaluate(WORDS)
    answer_by_pointer(page, kind, "click")
    await_reveal(page)
    assert page.evaluate(GO) == go
    assert moved(words, page.evaluate(WORDS)) == []
    expect(page.locator(".turn-hint")).to_be_hidden()
    after_the_guard(page)
    desk.go_on()
    assert page.evaluate(GO) == go


@pytest.mark.parametrize("kind", [*BESIDE, "typed"])
def test_a_draft_is_restored(page, seated, kind):
    desk = Desk(page, seated(kind))
    if kind in ("option", "options"):
        choice(page, "Lima").click()
    elif kind == "typed":
        page.locator("[name=typed]").fill("Village 0")
    else:
        page.locator("[name=number], [name=text]").fill("2")
    desk.reload()
    expect(page.locator("[data-live]")).to_have_text("Your unfinished answer was restored.")
    desk.reveal()
    assert given(desk.seat) == {"typed": ["Village 0"]}.get(
        kind, ["Lima"] if kind.startswith("option") else ["2"]
    )


@pytest.mark.parametrize("kind", ALL)
def test_a_page_loads_only_its_widget_and_is_below_60_kb(open_browser, seated, kind):
    page = open_browser()
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    assert weigh(page, f"/work/{seated(kind).token}/") <= MOST
    widgets = {"choice-answer", "span-answer", "number-answer", "text-answer"}
    own = {name for name in widgets if any(f"/{name}." in url for url in loaded)}
    assert own == {
        {"spans": "span-answer", "typed": "span-answer", "number": "number-answer"}.get(
            kind, "text-answer" if "text" in kind else "choice-answer"
        )
    }


@pytest.mark.parametrize("kind", [*BESIDE, "typed"])
def test_axe_finds_nothing_and_nothing_overflows_at_320_px(page, seated, kind):
    desk = Desk(page, seated(kind))
    is_accessible(page, f"{kind}, question")
    desk.submit()
    is_accessible(page, f"{kind}, what is missing")
    page.set_viewport_size({"width": 1280, "height": 800})
    answer_by_pointer(page, kind, "click")
    await_reveal(page)
    is_accessible(page, f"{kind}, reveal")


# Several options ---------------------------------------------------------------------------------


def test_digits_toggle_options_and_the_reveal_marks_each(page, seated):
    desk = Desk(page, seated("options"))
    for key in ("1", "2", "3", "2"):
        page.keyboard.press(key)
    desk.reveal()
    assert given(desk.seat) == ["Oslo", "Cairo"]
    shown = page.locator("li.turn-choice")
    expect(shown.nth(0)).to_contain_text("the right answer")
    expect(shown.nth(2)).to_contain_text("your answer")
    expect(page.locator("#verdict")).to_have_text("Partly right")


def test_no_answer_clears_the_choice_and_can_be_undone(page, seated):
    desk = Desk(page, seated("options", {"no_answer": True}))
    page.keyboard.press("1")
    page.keyboard.press("0")
    assert page.locator(".turn-choice :checked").count() == 0
    page.keyboard.press("0")
    assert page.locator(".turn-choice :checked").count() == 1
    page.keyboard.press("0")
    page.keyboard.press("2")
    assert not page.locator("[name=no_answer]").is_checked()
    desk.reveal()
    assert given(desk.seat) == ["Lima"]


@pytest.mark.parametrize("kind", BESIDE)
def test_no_answer_is_submitted_for_each_kind(page, seated, kind):
    desk = Desk(page, seated(kind, {"no_answer": True}))
    page.locator("[name=no_answer]").check()
    page.get_by_role("button", name="Submit").click()
    await_reveal(page)
    assert given(desk.seat) == []


# A number ----------------------------------------------------------------------------------------

ODD = [
    "", " ", "1,5", "1e400", "٣", "NaN", "inf", "-0", "+2", "007", ".5", "5.", "5.5", "-0.5",
    "0.25", "1" * 30, "1" * 31, "0.50000000000000000000000000", " 2\u00a0", "\ufeff2", "2\u2003",
    "２", "1_0", "--1", "0x1", "1 000", "4.999999999999999999999", "½", "²",
]  # fmt: skip


def test_page_and_server_accept_the_same_numbers(page, seated):
    desk = Desk(page, seated("number"))
    element, field = page.locator("number-answer"), page.locator("[name=number]")
    turn = page.locator("#turn").get_attribute("data-key")
    for typed in ODD:
        field.fill(typed)
        hint = element.evaluate("e => e.isComplete ? e.problem() : e.dataset.missing")
        said = server_says(desk.seat, turn, {"number": typed})
        assert hint == said, typed
    assert desk.nothing_is_stored()


def server_says(seat: Participation, turn: str, fields: dict[str, str]) -> str:
    """Return the server's error for an answer, or "" if it is valid, without storing it."""
    example = seat.latest_turn().example
    card = seat.scenario.task.card
    try:
        card.kind.read(card, example, fields)
    except AnswerError as error:
        return translated(error.sentence)
    return ""


def test_arrow_keys_and_buttons_step_within_the_range(page, seated):
    Desk(page, seated("number"))
    field = page.locator("[name=number]")
    field.focus()
    for _press in range(3):
        page.keyboard.press("ArrowUp")
    assert field.input_value() == "1"
    for _press in range(4):
        page.get_by_role("button", name="One step down").click()
    assert field.input_value() == "0"
    expect(page.locator("[data-live]")).to_have_text("0")
    field.fill("4.9")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert field.input_value() == "5"
    assert field.get_attribute("inputmode") == "decimal"


# Texts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["short text", "long text"])
def test_a_text_that_is_too_long_is_refused_with_its_length(page, seated, kind):
    desk = Desk(page, seated(kind, {"longest": 20}))
    field, length = page.locator("[name=text]"), page.locator("[data-length]")
    field.fill("😀" * 18)
    expect(length).to_have_text("2 characters left")
    field.fill("😀" * 21)
    expect(length).to_have_text("1 character too many")
    desk.submit()
    assert "at most 20 characters. Yours has 21" in desk.error
    assert desk.nothing_is_stored()
    field.fill("  " + "😀" * 20 + "  ")
    desk.reveal()
    assert given(desk.seat) == ["😀" * 20]


def test_the_page_counts_the_words_of_a_long_text(page, seated):
    Desk(page, seated("long text"))
    page.locator("[name=text]").fill("Nobody left\nthe house.")
    expect(page.locator("[data-length]")).to_have_text("4 words")
    page.keyboard.press("Enter")
    assert page.locator("[name=text]").input_value().endswith("\n")
    assert page.locator("[data-state=question]").count() == 1


@pytest.mark.parametrize("kind", ["number", "short text", "long text"])
def test_a_paste_is_refused_if_the_study_says_so(page, seated, kind):
    desk = Desk(page, seated(kind, refuse_pastes=True))
    field = page.locator("[name=number], [name=text]")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("navigator.clipboard.writeText('3')")
    expect(page.locator(".turn-limits")).to_contain_text("You cannot paste text in this study")
    field.focus()
    page.keyboard.press("Control+V")
    assert field.input_value() == ""
    assert "You cannot paste text in this study" in desk.error
    page.keyboard.type("3")
    assert (field.input_value(), desk.error) == ("3", "")


def test_a_paste_is_accepted_by_default(page, seated):
    Desk(page, seated("short text"))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("navigator.clipboard.writeText('Oslo')")
    page.locator("[name=text]").focus()
    page.keyboard.press("Control+V")
    assert page.locator("[name=text]").input_value() == "Oslo"


def test_only_a_small_remaining_length_is_read_aloud(page, seated):
    Desk(page, seated("long text", {"longest": 20}))
    page.locator("[name=text]").fill("Nobody left.")
    expect(page.locator("[data-length]")).to_have_attribute("aria-live", "off")
    page.locator("[name=text]").fill("Nobody left here, so")
    expect(page.locator("[data-length]")).to_have_attribute("aria-live", "polite")


# Typed answers with highlights -------------------------------------------------------------------


@pytest.mark.journey
def test_highlights_and_typed_answers_are_combined_by_keyboard(page, seated):
    desk = Desk(page, seated("typed"))
    page.keyboard.type("osl")
    page.keyboard.press("Enter")
    assert desk.chips == ["Oslo"]
    page.locator("[name=typed]").focus()
    page.keyboard.type("Village 0")
    page.keyboard.press("Control+Enter")
    await_reveal(page)
    assert given(desk.seat) == RIGHT["typed"]


def test_no_answer_and_a_typed_answer_exclude_each_other(page, seated):
    desk = Desk(page, seated("typed", {"no_answer": True}))
    typed, tick = page.locator("[name=typed]"), page.locator("[name=no_answer]")
    typed.fill("Village 0")
    tick.check()
    assert typed.input_value() == ""
    typed.fill("Village 0")
    assert not tick.is_checked()
    desk.reveal()
    assert given(desk.seat) == ["Village 0"]


# Mirrored ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BESIDE)
def test_an_arabic_page_does_not_move_submit(phone, seated, kind):
    desk = Desk(phone, seated(kind))
    Study.objects.update(interface_language="ar")
    desk.reload()
    assert phone.evaluate("document.documentElement.dir") == "rtl"
    go = phone.evaluate(GO)
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    if kind.startswith("option"):
        choice(phone, "Oslo").tap()
    else:
        phone.locator("[name=number], [name=text]").fill("2")
    desk.reveal()
    assert phone.evaluate(GO) == go
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
