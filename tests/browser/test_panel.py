"""The answer panel doesn't move, keys act only where they should, and no reveal is skipped.

Positions are measured with `getBoundingClientRect`, on published examples where available.
"""

import re
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from annotation.models import Answer
from tasks.formats import Record
from tests import factories
from tests.browser.conftest import Desk, await_reveal, seat_before, settle

VIEWPORTS = [(1366, 657), (1920, 1080), (390, 844)]
GO = """() => { const r = document.querySelector("[data-submit]").getBoundingClientRect();
    return [r.x, r.y, r.width, r.height].map((n) => Math.round(n * 10) / 10); }"""
# Returns the position of each word (a run without spaces), whatever elements it consists of.
WORDS = """() => {
    const found = [];
    for (const box of document.querySelectorAll("[data-passage]")) {
        const walk = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
        let before = " ";
        while (walk.nextNode()) {
            const node = walk.currentNode;
            if (node.parentElement.closest("[data-said]")) continue;
            [...node.data].forEach((sign, i) => {
                if (/\\S/u.test(sign) && /\\s/u.test(before)) {
                    const range = document.createRange();
                    range.setStart(node, i);
                    range.setEnd(node, i + 1);
                    const { x, y } = range.getBoundingClientRect();
                    found.push([sign, x + scrollX, y + scrollY]);
                }
                before = sign;
            });
        }
    }
    return found;
}"""
MANY = ", ".join(f"Place{number}" for number in range(14)) + "."


def moved(before: list, after: list) -> list:
    """Return the words that moved by more than half a pixel."""
    assert [word for word, _x, _y in before] == [word for word, _x, _y in after]
    return [
        (one, other)
        for one, other in zip(before, after, strict=True)
        if abs(one[1] - other[1]) > 0.5 or abs(one[2] - other[2]) > 0.5
    ]


def choose(desk: Desk) -> None:
    """Choose any answer: the first label, or the second word."""
    if desk.page.locator("[name=label]").count():
        desk.page.locator("[name=label]").first.check(force=True)
    else:
        desk.page.locator("[data-field=context] [data-t]").nth(1).dblclick()


@pytest.mark.real_data
@pytest.mark.parametrize("size", VIEWPORTS)
@pytest.mark.parametrize("task", ["CoNLL03", "SQuADv2", "ReCoRD", "MNLI"])
def test_submit_continue_and_the_words_do_not_move(open_browser, put_published, task, size):
    """Checks ten examples of each of four tasks, in three states and three windows."""
    phone = {"has_touch": True, "is_mobile": True} if size[0] < 900 else {}
    page = open_browser(viewport={"width": size[0], "height": size[1]}, **phone)
    desk = Desk(page, put_published(task, wanted=lambda records: list(records[:10])))
    places = []
    for _example in range(10):
        places.append(page.evaluate(GO))
        words = page.evaluate(WORDS)
        choose(desk)
        places.append(page.evaluate(GO))
        assert moved(words, page.evaluate(WORDS)) == []
        desk.reveal()
        places.append(page.evaluate(GO))
        assert moved(words, page.evaluate(WORDS)) == []
        desk.go_on()
    x, y, width, height = places[0]
    assert [place for place in places if place != places[0]] == []
    assert x >= 0
    assert y >= 0
    assert x + width <= size[0]
    assert y + height <= size[1]


@pytest.mark.parametrize("size", [*VIEWPORTS, (1280, 600), (360, 640)])
def test_fourteen_highlights_do_not_move_submit(open_browser, put, size):
    page = open_browser(viewport={"width": size[0], "height": size[1]})
    desk = Desk(page, put(MANY, gold=["Place1"]))
    before = page.evaluate(GO)
    for number in range(14):
        desk.word(f"Place{number}").dblclick()
    assert len(desk.chips) == 14
    assert page.evaluate(GO) == before
    assert before[1] + before[3] <= size[1]
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_at_400_percent_nothing_has_a_sticky_position(open_browser, put):
    page = open_browser(viewport={"width": 320, "height": 256})
    Desk(page, put(MANY * 3, gold=["Place1"]))
    stuck = """[...document.querySelectorAll("#turn *")].filter((element) => {
        const shown = !element.closest("details:not([open])");
        return shown && ["sticky", "fixed"].includes(getComputedStyle(element).position);
    }).map((element) => element.className)"""
    assert page.evaluate(stuck) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


# Keys --------------------------------------------------------------------------------------------


@pytest.fixture
def labels(desk):
    return desk("It was good.", "It was bad.", gold=["positive"], labels=factories.LABELS)


def after_the_guard(page) -> None:
    page.wait_for_selector("[data-state=reveal] [data-submit]:not([aria-disabled])")


@pytest.mark.journey
def test_a_label_needs_two_keys_and_continue_one(labels):
    page = labels.page
    page.keyboard.press("1")
    assert page.get_by_label("positive").is_checked()
    page.keyboard.press("Enter")
    await_reveal(page)
    after_the_guard(page)
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-state=question]")
    labels.ready()
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    await_reveal(page)
    labels_given = Answer.objects.order_by("pk").values_list("label", flat=True)
    assert list(labels_given) == ["positive", "negative"]


@pytest.mark.journey
def test_no_answer_needs_one_key_and_enter(desk):
    one = desk("Nobody was there.", "Nor here.")
    one.page.keyboard.press("0")
    assert one.page.locator("[name=no_answer]").is_checked()
    one.page.keyboard.press("Enter")
    await_reveal(one.page)
    assert one.stored == []


def test_enter_with_nothing_chosen_sends_nothing(desk):
    one = desk("Oslo is far.", gold=["Oslo"])
    one.page.keyboard.press("Enter")
    assert one.nothing_is_stored()
    assert one.page.locator("[data-state=question]").count() == 1


def test_digits_in_the_passage_move_the_focus_only(desk):
    one = desk("In 2020 and 0 others.", gold=["2020"])
    one.page.locator("#question").focus()
    one.page.keyboard.press("Tab")
    one.page.keyboard.press("0")
    assert one.focused == "0"
    assert not one.page.locator("[name=no_answer]").is_checked()


@pytest.mark.parametrize("closing", ["Escape", "?"])
def test_closing_the_instructions_returns_the_keyboard_focus(labels, closing):
    """If the drawer's button kept the focus, Enter would open it again."""
    page = labels.page
    for key in ("1", "?", closing, "Enter"):
        page.keyboard.press(key)
    await_reveal(page)
    page.wait_for_selector("[data-submit]:not([aria-disabled=true])")
    for key in ("?", closing, "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector("[data-state=question], [data-state=review]")
    assert page.locator("#help[open]").count() == 0


def test_single_key_shortcuts_can_be_disabled_permanently(labels):
    page = labels.page
    page.keyboard.press("?")
    assert page.locator("#help").get_attribute("open") is not None
    page.locator("[data-single-keys]").uncheck()
    page.keyboard.press("Escape")
    labels.reload()
    page.keyboard.press("1")
    page.keyboard.press("?")
    assert page.locator("[name=label]:checked").count() == 0
    assert page.locator("#help").get_attribute("open") is None
    page.locator("[name=label]").first.check(force=True)
    page.keyboard.press("Control+Enter")
    await_reveal(page)


# Continue has the place of Submit ----------------------------------------------------------------

# Makes a hundred double presses on one page. Each time, the reveal is pressed some ms after it
# appears, and must still be there. Submissions by Continue are only counted.
PRESSES = """async () => {
    const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
    const old = document.querySelector("#turn").outerHTML;
    let sent = 0;
    document.addEventListener("submit", (event) => {
        sent += 1;
        event.preventDefault();
        event.stopImmediatePropagation();
    });
    const press = (kind) => {
        const button = document.querySelector("[data-submit]");
        const common = { bubbles: true, cancelable: true };
        if (kind === "key") {
            const enter = new KeyboardEvent("keydown", { key: "Enter", ...common });
            document.querySelector("#verdict").dispatchEvent(enter);
            return;
        }
        for (const type of ["pointerdown", "pointerup"]) {
            button.dispatchEvent(new PointerEvent(type, { pointerType: kind, ...common }));
        }
        button.click();
    };
    const skipped = [];
    const kinds = ["mouse", "touch", "key"];
    const rounds = Array.from({ length: 100 }, (_, i) => [50 + 5 * i + (i % 2), kinds[i % 3]]);
    for (const [after, kind] of rounds) {
        document.querySelector("#turn").outerHTML = old;
        const shown = performance.now();
        const settled = new CustomEvent("htmx:afterSettle", { bubbles: true });
        document.querySelector("#turn").dispatchEvent(settled);
        const wait = after - (performance.now() - shown);
        await sleep(Math.max(0, wait));
        // A machine under load may wake up too late: then this round says nothing.
        if (performance.now() - shown >= 590) continue;
        const before = sent;
        press(kind);
        if (sent > before) skipped.push([after, kind]);
    }
    await sleep(700);
    const before = sent;
    press("mouse");
    return { skipped, works: sent === before + 1 };
}"""


def test_repeated_double_presses_skip_no_reveal(labels):
    labels.page.keyboard.press("1")
    labels.reveal()
    assert labels.page.evaluate(PRESSES) == {"skipped": [], "works": True}


def test_a_double_click_on_submit_stops_at_the_reveal(labels):
    page = labels.page
    page.keyboard.press("1")
    x, y, width, height = page.evaluate(GO)
    for _click in range(2):
        page.mouse.click(x + width / 2, y + height / 2)
    await_reveal(page)
    page.mouse.click(x + width / 2, y + height / 2)
    assert page.locator("[data-submit]").get_attribute("aria-disabled") in ("true", None)
    assert page.locator("[data-state=reveal]").count() == 1


def test_a_key_held_down_from_submit_on_does_not_continue(labels):
    page = labels.page
    page.keyboard.press("1")
    page.keyboard.down("Enter")
    await_reveal(page)
    after_the_guard(page)
    page.keyboard.down("Enter")  # a repeated key
    page.keyboard.up("Enter")
    assert page.locator("[data-state=reveal]").count() == 1


# The phone ---------------------------------------------------------------------------------------

LONG = "Oslo is far away and cold in winter, as everybody knows who went there once. " * 12


def test_on_a_phone_the_reveal_shows_the_first_wrong_mark(phone, put):
    one = Desk(phone, put(f"{LONG} Lima.", gold=["Lima"]))
    phone.locator("[name=no_answer]").check()
    one.reveal()
    mark = phone.locator("mark").first.bounding_box()
    panel = phone.locator("[data-state=reveal] form").bounding_box()
    assert mark["y"] + mark["height"] <= panel["y"]
    assert mark["y"] > 0


def test_a_tap_and_submit_need_no_swipe_on_a_phone(phone, put):
    Desk(phone, put(LONG, gold=["Oslo"]))
    submit = phone.locator("[data-submit]").bounding_box()
    assert submit["y"] + submit["height"] <= 844
    assert phone.evaluate("scrollY") == 0


GONE = "Lima is warm. " + LONG * 2


@pytest.mark.parametrize("size", [(390, 844), (320, 568)])
def test_on_a_phone_a_missed_right_answer_is_visible(open_browser, put, size):
    page = open_browser(
        viewport={"width": size[0], "height": size[1]}, has_touch=True, is_mobile=True
    )
    one = Desk(page, put(f"{GONE} Quito.", gold=["Quito"], max_spans=1))
    one.word("Lima").dblclick()
    one.reveal()
    gold = page.locator("mark.reveal-missed").bounding_box()
    panel = page.locator("[data-state=reveal] form").bounding_box()
    question = page.locator("[data-question]").bounding_box()
    assert question["y"] + question["height"] <= gold["y"]
    assert gold["y"] + gold["height"] <= panel["y"]
    assert panel["height"] <= 0.4 * size[1] + 1


def test_a_tap_on_a_finding_scrolls_to_its_mark(phone, put):
    one = Desk(phone, put(f"{GONE} Quito.", gold=["Quito"]))
    one.word("Lima").dblclick()
    one.reveal()
    expect(phone.locator("mark.reveal-missed")).to_be_in_viewport()
    after_the_guard(phone)
    phone.locator("[data-finding=extra]").tap()
    expect(phone.locator("mark.reveal-extra")).to_be_in_viewport()
    phone.locator("[data-finding=missed]").tap()
    expect(phone.locator("mark.reveal-missed")).to_be_in_viewport()


def test_a_finding_frames_its_marks_on_hover_focus_and_press(desk):
    one = desk("Anna Berg went to Lima.", gold=["Anna Berg", "Lima"])
    one.word("Anna").click()
    one.page.locator("[data-only]").click()
    one.reveal()
    page = one.page
    after_the_guard(page)
    framed = page.locator("[data-framed]")
    expect(framed).to_have_count(0)
    page.locator("[data-finding=too_short] a").hover()
    expect(framed).to_have_text([re.compile("Anna"), re.compile("Berg")])
    page.mouse.move(5, 300)
    expect(framed).to_have_count(0)
    page.locator("#verdict").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(framed).to_have_text([re.compile("Lima")])
    page.keyboard.press("Enter")
    expect(framed).to_have_text([re.compile("Lima")])
    assert page.locator("[data-state=reveal]").count() == 1
    assert page.url.endswith(f"/work/{one.seat.token}/")


@pytest.mark.parametrize("size", [(390, 844), (320, 568)])
def test_on_a_phone_the_reveal_of_a_label_leaves_room_for_text(open_browser, put, size):
    page = open_browser(
        viewport={"width": size[0], "height": size[1]}, has_touch=True, is_mobile=True
    )
    one = Desk(page, put("It was good.", gold=["positive"], labels=factories.LABELS))
    page.locator("[name=label]").nth(1).check(force=True)
    one.reveal()
    panel = page.locator("[data-state=reveal] form").bounding_box()
    text = page.locator("[data-passage]").first.bounding_box()
    assert panel["height"] <= 0.4 * size[1] + 1
    assert text["y"] + 30 <= panel["y"]


def test_at_400_percent_the_verdict_is_not_cut_off(open_browser, put):
    page = open_browser(viewport={"width": 342, "height": 192})
    one = Desk(page, put("It was good.", gold=["positive"], labels=factories.LABELS))
    page.locator("[name=label]").nth(1).check(force=True)
    one.reveal()
    cut = "(e) => e.scrollHeight - e.clientHeight"
    assert page.locator(".turn-body").evaluate(cut) <= 1


def test_a_folded_question_still_shows_its_gap(phone, researcher):
    asked = "According to claims in the suit, " + "the town by the river " * 6
    asked += "is called @placeholder by all. What is @placeholder?"
    records = [Record("g", (LONG * 2,), asked, ("Oslo",), None)]
    Desk(phone, seat_before(researcher, {}, records, train=True))
    phone.evaluate("scrollTo(0, 200)")
    phone.wait_for_selector("[data-question][data-folded]")
    question = phone.locator("[data-question]").bounding_box()
    gap = phone.locator(".turn-gap").first.bounding_box()
    assert question["y"] <= gap["y"]
    assert gap["y"] + gap["height"] <= question["y"] + question["height"]


@pytest.mark.parametrize("scrolled", [0, 12, 60, 120, 170, 260])
def test_scrolling_leaves_no_blank_band_below_the_question(phone, researcher, scrolled):
    asked = "The town by the river, " * 9 + "is called @placeholder by all. What is @placeholder?"
    records = [Record("g", (LONG * 2,), asked, ("Oslo",), None)]
    Desk(phone, seat_before(researcher, {}, records, train=True))
    phone.evaluate(f"scrollTo(0, {scrolled})")
    settle(phone)
    phone.evaluate("new Promise(requestAnimationFrame)")
    question = phone.locator("[data-question]").bounding_box()
    below = phone.locator(".turn-hint").first.bounding_box()
    assert below["y"] <= question["y"] + question["height"] + 1


def test_on_a_phone_the_gold_is_seen_below_a_question_that_folds(phone, researcher):
    asked = "The town by the river, " * 14 + "is called @placeholder by all. What is @placeholder?"
    text = "Lima is warm. " + "Oslo is far away and cold in winter. " * 12 + "Quito. " + LONG
    records = [Record("g", (text,), asked, ("Quito",), None)]
    one = Desk(phone, seat_before(researcher, {"max_spans": 1}, records, train=True))
    one.word("Lima").dblclick()
    one.reveal()
    expect(phone.locator("[data-question][data-folded]")).to_be_visible()
    gold = phone.locator("mark.reveal-missed").bounding_box()
    panel = phone.locator("[data-state=reveal] form").bounding_box()
    question = phone.locator("[data-question]").bounding_box()
    assert question["y"] + question["height"] <= gold["y"]
    assert gold["y"] + gold["height"] <= panel["y"]


# Returns by how many px each line of a fill extends beyond its last letter.
BEYOND = """(filled) => {
    const lines = [...filled.getClientRects()].map((line) => ({ line, end: 0 }));
    const walk = document.createTreeWalker(filled, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const node = walk.currentNode;
        if (node.parentElement.closest("[data-said]")) continue;
        [...node.data].forEach((sign, i) => {
            if (!/\\S/u.test(sign)) return;
            const range = document.createRange();
            range.setStart(node, i);
            range.setEnd(node, i + 1);
            const { top, bottom, right } = range.getBoundingClientRect();
            const middle = (top + bottom) / 2;
            const its = lines.find(({ line }) => line.top < middle && middle < line.bottom);
            its.end = Math.max(its.end, right);
        });
    }
    return lines.map(({ line, end }) => line.right - end);
}"""


@pytest.mark.parametrize("filled", ["mark", ".reveal-whole"])
def test_the_fill_of_a_right_answer_ends_with_the_letters_of_a_line(phone, put, filled):
    answer = "State Street Bank Llanfairpwllgwyngyllgogery"
    one = Desk(phone, put(f"{answer} said no.", gold=[answer]))
    one.word("said").dblclick()
    one.reveal()
    beyond = phone.locator(filled).first.evaluate(BEYOND)
    assert len(beyond) > 1
    assert max(beyond) < 2


def test_a_marked_text_with_several_spaces_in_a_row_keeps_them(desk):
    one = desk("We saw Anna   Berg  there.", gold=["Anna   Berg"])
    words = one.page.evaluate(WORDS)
    one.word("saw").dblclick()
    one.reveal()
    assert moved(words, one.page.evaluate(WORDS)) == []


def test_a_question_that_takes_the_focus_has_no_frame_of_a_control(labels):
    page = labels.page
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    await_reveal(page)
    after_the_guard(page)
    page.keyboard.press("Enter")
    labels.ready()
    question = page.locator("#question")
    expect(question).to_be_focused()
    expect(question).to_have_css("outline-color", "rgba(0, 0, 0, 0)")
    expect(question).not_to_have_css("box-shadow", "none")


@pytest.mark.parametrize("size", VIEWPORTS)
def test_the_personal_link_and_its_button_are_in_one_row_of_the_drawer(open_browser, put, size):
    page = open_browser(viewport={"width": size[0], "height": size[1]})
    Desk(page, put("Oslo."))
    page.locator("#help summary").first.click()
    field, button = page.locator("#resume-link"), page.locator("[data-copy-button]")
    link, copy = field.bounding_box(), button.bounding_box()
    assert copy["x"] >= link["x"] + link["width"] + 4
    assert copy["y"] < link["y"] + link["height"]
    after = page.locator(".copy + p").bounding_box()
    assert after["y"] >= copy["y"] + copy["height"] + 8


def test_the_frame_of_the_typed_answer_leaves_its_label_free(desk):
    page = desk("Oslo.", gold=["Oslo"], typed=True, no_answer=False).page
    label = page.locator("label[for=typed]").bounding_box()
    frame = 5  # px: the outline and its offset
    assert label["y"] + label["height"] + frame <= page.locator("#typed").bounding_box()["y"]


def test_a_sentence_about_an_answer_is_24_px_high(desk):
    one = desk("Lima and Oslo.", gold=["Oslo"])
    one.word("Lima").dblclick()
    one.reveal()
    links = one.page.locator("[data-finding] a").all()
    assert len(links) == 2
    assert min(link.bounding_box()["height"] for link in links) >= 24


def test_one_wrong_answer_has_one_sign_and_frames_both_places(desk):
    one = desk("Lima and Oslo.", gold=["Oslo"], max_spans=1)
    one.word("Lima").dblclick()
    one.reveal()
    sign = "(e) => getComputedStyle(e, '::after').content"
    signs = [mark.evaluate(sign) for mark in one.page.locator("mark").all()]
    assert [shown != "none" for shown in signs] == [True, False]
    one.page.locator("[data-finding=instead] a").focus()
    expect(one.page.locator("[data-framed]")).to_have_count(2)


def test_filling_the_gap_moves_no_word_of_the_question(page, researcher):
    asked = "The town by the river is called @placeholder by all. What is @placeholder?"
    records = [Record("g", ("Oslo and Llanfairpwllgwyngyllgogerychwyrndrobwll.",), asked, (name,))
               for name in ("Oslo", "Llanfairpwllgwyngyllgogerychwyrndrobwll")]  # fmt: skip
    records[1] = replace(records[1], id="h")
    one = Desk(page, seat_before(researcher, {}, records, train=True))
    for name in ("Oslo", "Llanfairpwllgwyngyllgogerychwyrndrobwll"):
        box = page.locator("[data-question]").bounding_box()
        one.word(name).dblclick()
        one.reveal()
        assert page.locator("[data-question]").bounding_box() == box
        filling = "(e) => getComputedStyle(e, '::after').content"
        assert page.locator(".turn-gap").first.evaluate(filling) == f'"{name}"'
        one.go_on()


def test_the_personal_link_is_copied_from_the_open_instructions(open_browser, put):
    page = open_browser(permissions=["clipboard-read", "clipboard-write"])
    one = Desk(page, put("He was in Rome.", gold=["Rome"]))
    page.keyboard.press("?")
    drawer = page.locator("[data-drawer]")
    drawer.get_by_role("button", name="Copy").click()
    expect(drawer.locator("[data-copied]")).to_have_text("Copied.")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.endswith(f"/work/{one.seat.token}/")


# Note whether each measurement of an element, which lays out the page, is part of a swap's task.
NOTE = """() => {
    window.measured = [];
    let isSettling = false;
    const measure = Element.prototype.getBoundingClientRect;
    Element.prototype.getBoundingClientRect = function () {
        measured.push(isSettling);
        return measure.call(this);
    };
    document.addEventListener("htmx:afterSettle", () => { isSettling = true; }, true);
    document.addEventListener("htmx:afterSettle", () => { isSettling = false; });
}"""


def test_the_task_of_a_swap_does_not_lay_out_the_page(desk):
    """With the swap, it is the longest task; the frame that follows lays out the page anyway."""
    one = desk("Oslo and Rome.", "Rome.", gold=["Oslo"])
    one.page.evaluate(NOTE)
    one.word("Oslo").dblclick()
    one.page.evaluate("measured = []")
    one.reveal()
    one.go_on()
    measured = one.page.evaluate("measured")
    assert measured
    assert not any(measured)


def test_swaps_leave_no_nodes_behind(desk):
    one = desk("He was in Rome.", "She was in Oslo.", gold=["Rome"])
    nodes = "document.querySelector('main').childNodes.length"
    one.page.keyboard.press("0")
    one.reveal()
    after_one = one.page.evaluate(nodes)
    one.go_on()
    assert one.page.evaluate(nodes) == after_one
