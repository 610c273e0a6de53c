"""Annotators get from the link to the completion code, even if something goes wrong."""

import re

import pytest
from playwright.sync_api import expect

from annotation.models import Answer, Participation, Status
from tests import factories
from tests.browser.conftest import Desk, await_reveal

PLACES = ["Oslo", "Lima", "Cairo", "Kyoto", "Quito", "Turin", "Perth", "Hanoi", "Riga", "Accra"]
SENTENCES = [f"We went to {place} and home." for place in PLACES]
TWO = "Oslo and Rome."
METHODS = {"get", "post", "put", "patch", "delete"}


def posts(page) -> list[str]:
    """Return a growing list of the addresses to which the page posts answers."""
    sent: list[str] = []
    page.on("request", lambda sends: sends.url.endswith("/answer/") and sent.append(sends.url))
    return sent


def drafts(page) -> list[str]:
    return page.evaluate("Object.keys(sessionStorage).filter(key => key.startsWith('draft:'))")


# From the link to the code -----------------------------------------------------------------------


@pytest.mark.journey
def test_from_the_link_to_the_completion_code_by_keyboard_only(page, researcher):
    task = factories.make_task(shots=[2], test_size=2)
    study = factories.make_study(researcher, task, shots=[2], annotators=1)
    page.goto(f"/join/{study.link_code}/")
    enter(page, "Start")
    enter(page, "I agree")
    enter(page, "Start the training")
    page.wait_for_selector("span-answer[data-ready]")
    for step in ("training", "training", "annotation", "annotation"):
        key = page.locator("#turn").get_attribute("data-key")
        page.locator("[name=no_answer]").focus()
        page.keyboard.press("Space")
        enter(page, "Submit")
        if step == "training":
            await_reveal(page)
            assert page.evaluate(
                "document.activeElement.closest('[data-state=reveal] form') !== null"
            )
            enter(page, "Continue")
            page.wait_for_selector(f"#turn:not([data-key='{key}']), [data-state=review]")
            if page.locator("[data-state=review]").count():
                enter(page, "Continue")
        listening = "[data-submit]:not([aria-disabled])"
        page.wait_for_selector(
            f"span-answer[data-ready]:not([data-key='{key}']) {listening}, [data-copy-text]"
        )
    participation = Participation.objects.get()
    expect(page.locator("body")).to_contain_text(participation.completion_code)
    assert participation.status == Status.COMPLETED
    assert Answer.objects.count() == 4


def enter(page, name: str) -> None:
    """Move to a button with Tab and press Enter."""
    button = page.get_by_role("button", name=re.compile(name)).first
    button.wait_for()
    for _ in range(60):
        if button.evaluate("e => e === document.activeElement"):
            break
        page.keyboard.press("Tab")
    else:
        raise AssertionError(f"{name} cannot be reached by Tab")
    expect(button).to_be_enabled()  # Continue is disabled briefly
    page.keyboard.press("Enter")
    page.wait_for_load_state()


def test_declining_shows_a_last_page_without_a_form(page, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0], annotators=1)
    page.goto(f"/join/{study.link_code}/")
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name=re.compile("not agree|No")).click()
    expect(page.locator("main")).to_contain_text("You chose not to take part")
    assert page.locator("main form").count() == 0
    assert Participation.objects.count() == 0


# Drafts ------------------------------------------------------------------------------------------


def test_a_reload_brings_the_highlights_back_and_says_so(desk):
    one = desk(TWO, gold=["Oslo"])
    one.word("Oslo").dblclick()
    one.word("Rome").dblclick()
    one.reload()
    assert one.chips == ["Oslo", "Rome"]
    expect(one.page.locator("[data-live]")).to_contain_text("restored")
    one.reveal()
    assert one.stored == ["Oslo", "Rome"]


def test_a_sent_answer_leaves_no_draft(desk):
    one = desk(TWO, "Rome.", gold=["Oslo"])
    one.word("Oslo").dblclick()
    assert drafts(one.page) != []
    one.reveal()
    assert drafts(one.page) == []
    one.reload()
    assert one.page.locator("[data-state=reveal]").is_visible()
    one.go_on()
    assert one.chips == []


def test_a_chosen_label_survives_a_reload(desk):
    one = desk("It was good.", gold=["positive"], labels=factories.LABELS)
    one.page.get_by_label("negative").check()
    one.reload()
    assert one.page.get_by_label("negative").is_checked()


# One answer, whatever keys are pressed -----------------------------------------------------------


def test_ten_examples_need_no_page_load_nor_extra_listeners(desk):
    one = desk(*SENTENCES, gold=["Oslo"], train=False)
    one.page.evaluate("window.stays = true")
    for place in PLACES[:-1]:
        one.word(place).dblclick()
        assert one.chips == [place]
        one.go_on()
    one.word("Accra").dblclick()
    assert one.chips == ["Accra"]
    one.page.keyboard.press("Control+z")
    assert one.chips == []
    assert one.page.evaluate("window.stays")
    assert list(Answer.objects.order_by("pk").values_list("spans__text", flat=True)) == PLACES[:-1]


def test_a_double_click_on_submit_sends_one_answer(desk):
    one = desk(TWO, "Rome.", gold=["Oslo"], train=False)
    sent = posts(one.page)
    one.word("Oslo").dblclick()
    one.page.locator("[data-submit]").dblclick()
    one.page.locator("text=2 of 2").wait_for()
    one.page.wait_for_load_state("networkidle")
    assert len(sent) == 1
    assert Answer.objects.count() == 1


def test_enter_and_click_on_submit_send_one_answer(desk):
    one = desk(TWO, "Rome.", gold=["Oslo"], train=False)
    sent = posts(one.page)
    one.word("Oslo").dblclick()
    one.page.evaluate(
        "() => { const b = document.querySelector('[data-submit]'); b.form.requestSubmit(b);"
        " b.click(); }"
    )
    one.page.locator("text=2 of 2").wait_for()
    one.page.wait_for_load_state("networkidle")
    assert len(sent) == 1
    assert Answer.objects.count() == 1


def test_an_incomplete_answer_sends_no_request(desk):
    one = desk(TWO, gold=["Oslo"])
    sent = posts(one.page)
    one.submit()
    assert "Highlight at least one answer" in one.error
    one.page.locator("[name=no_answer]").check()
    one.word("Oslo").click()
    one.submit()
    assert "Keep it or cancel" in one.error
    assert sent == []


def test_back_and_forward_never_restore_an_answered_question(desk, server):
    one = desk(TWO, "Rome.", gold=["Oslo"])
    one.page.goto("/")
    one.reload()
    one.word("Oslo").dblclick()
    one.reveal()
    for go in (one.page.go_back, one.page.go_forward, one.page.go_back, one.page.go_forward):
        go()
    assert one.page.url.startswith(server + "/work/")
    one.ready()
    assert one.page.locator("[data-state=reveal]").is_visible()
    assert one.page.locator("form[action$='/answer/']").count() == 0


def test_the_second_of_two_tabs_shows_the_answer_of_the_first(desk):
    one = desk(TWO, gold=["Oslo"])
    other = Desk(one.page.context.new_page(), one.seat)
    one.word("Oslo").dblclick()
    other.word("Rome").dblclick()
    one.reveal()
    other.submit()
    await_reveal(other.page)
    assert other.page.locator(".notice").inner_text() != ""
    assert (
        other.page.locator("[data-state=reveal] form").inner_text()
        == one.page.locator("[data-state=reveal] form").inner_text()
    )
    assert one.stored == ["Oslo"]


# Without JavaScript ------------------------------------------------------------------------------


@pytest.fixture
def plain(open_browser):
    return open_browser(java_script_enabled=False)


def send(page, text: str | None = None) -> None:
    if text is not None:
        page.locator("[name=typed]").fill(text)
    page.locator("[data-submit]").click()


@pytest.mark.journey
def test_without_javascript_a_typed_answer_is_stored(plain, put):
    seat = put("Off to Mar-a-Lago.", "Home.", gold=["Lago"])
    plain.goto(f"/work/{seat.token}/")
    expect(plain.locator("[data-field=context]")).to_have_text("Off to Mar-a-Lago.")
    send(plain, "Laguna")
    expect(plain.locator("[data-error]")).to_contain_text("“Laguna” is not in the text")
    assert plain.locator("[name=typed]").input_value() == "Laguna"
    assert Answer.objects.count() == 0
    send(plain, "Lago")
    expect(plain.locator("[data-state=reveal] form")).to_contain_text("Right")
    plain.get_by_role("button", name="Continue").click()
    expect(plain.locator("[data-field=context]")).to_have_text("Home.")
    plain.locator("[name=no_answer]").check()
    send(plain)
    expect(plain.locator("[data-state=reveal] form")).to_contain_text("Not right")
    assert [answer.as_given.texts for answer in Answer.objects.order_by("pk")] == [["Lago"], []]


def test_without_javascript_a_label_is_stored(plain, put):
    seat = put("It was good.", gold=["positive"], labels=factories.LABELS)
    plain.goto(f"/work/{seat.token}/")
    plain.get_by_label("positive").check()
    send(plain)
    expect(plain.locator("[data-state=reveal] form")).to_contain_text("Right")


# Typing instead of highlighting ------------------------------------------------------------------


def test_a_typed_answer_becomes_a_highlight(desk):
    one = desk("Off to Mar-a-Lago.", gold=["Lago"])
    one.page.get_by_text("Type the answer instead").click()
    one.page.locator("[name=typed]").fill("Lago")
    one.page.locator("[data-add-typed]").click()
    assert one.chips == ["Lago"]
    one.reveal()
    assert one.stored == ["Lago"]


# Labels ------------------------------------------------------------------------------------------


@pytest.fixture
def labels(desk):
    return desk("It was good.", "It was bad.", gold=["positive"], labels=factories.LABELS)


def test_nothing_is_preselected_and_submit_says_what_is_missing(labels):
    assert labels.page.locator("[name=label]:checked").count() == 0
    labels.submit()
    assert "Choose one of the labels" in labels.error
    assert labels.nothing_is_stored()


def test_a_label_is_chosen_by_arrow_keys_or_by_its_number(labels):
    labels.page.locator("[name=label]").first.focus()
    labels.page.keyboard.press("ArrowDown")
    assert labels.page.get_by_label("negative").is_checked()
    labels.page.keyboard.press("1")
    assert labels.page.get_by_label("positive").is_checked()
    labels.page.keyboard.press("Control+Enter")
    await_reveal(labels.page)
    assert "Right" in labels.page.locator("[data-state=reveal] form").inner_text()


@pytest.mark.journey
def test_a_wrong_label_is_shown_with_the_right_one(labels):
    labels.page.get_by_label("negative").check()
    labels.reveal()
    verdict = labels.page.locator("[data-state=reveal] form").inner_text()
    assert "Not right" in verdict
    assert "negative" in verdict
    assert "positive" in verdict


def test_two_help_windows_stay_open_across_examples(labels):
    labels.page.keyboard.press("?")
    for summary in labels.page.locator("#help [data-window] summary").all():
        summary.focus()
        labels.page.keyboard.press("Enter")
    assert labels.page.locator("#help [data-window][open]").count() == 2
    labels.page.keyboard.press("Escape")
    labels.page.get_by_label("positive").check()
    labels.reveal()
    labels.go_on()
    assert labels.page.locator("#help [data-window][open]").count() == 2
    labels.page.keyboard.press("?")
    assert "The writer likes it." in labels.page.locator("#help").inner_text()


# Reachable controls ------------------------------------------------------------------------------


def test_a_swap_moves_the_focus_and_questions_start_at_the_top(desk):
    long = " ".join(SENTENCES * 8)
    one = desk(long, long, gold=["Oslo"])
    one.word("Oslo").dblclick()
    before = one.page.evaluate("() => { scrollTo(0, 500); return scrollY; }")
    assert before > 100
    one.reveal()
    assert "Right" in one.focused
    assert one.page.evaluate("scrollY") == before
    one.go_on()
    assert one.focused == "Which places?"
    assert one.page.evaluate("scrollY") == 0


def test_the_page_shows_step_position_and_time(desk):
    one = desk(TWO, "Rome.", gold=["Oslo"])
    where, done = one.page.locator("#turn header"), one.page.locator(".turn-done").first
    assert "Training" in where.text_content()
    assert "1 of 2" in where.inner_text()
    assert done.get_attribute("width") == "0.0%"
    assert "0 min" in where.inner_text()
    one.word("Oslo").dblclick()
    one.reveal()
    assert float(done.get_attribute("width").removesuffix("%")) > 0
    expect(one.page).to_have_title(re.compile("^Right: Training, 1 of 2"))


def test_the_api_documentation_loads_only_from_this_server(page, researcher):
    page.goto("/sign-in/")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("right horse")
    page.get_by_role("button", name="Sign in").click()
    page.goto("/api/v1/docs/")
    expect(page.locator(".swagger-ui .opblock").first).to_be_visible()
    paths = page.request.get("/api/v1/schema/?format=json").json()["paths"]
    operations = [method for path in paths.values() for method in path if method in METHODS]
    assert page.locator(".opblock").count() == len(operations) > 100
