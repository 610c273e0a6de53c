"""Pages have a plain text for screen readers, and browsers don't translate the texts."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation.models import Participation
from annotation.protocol import qualification
from annotation.recruitment import consent
from tests import factories
from tests.browser.conftest import Desk
from tests.factories import LABELS

TEXT = "First line.\n\nThe <b>second</b> names Oslo."


def test_the_plain_text_comes_before_the_words_to_highlight(desk):
    """It precedes the question, so keyboard users don't need another key to reach the words."""
    one = desk(TEXT, gold=["Oslo"])
    one.page.locator("#question").focus()
    one.page.keyboard.press("Shift+Tab")
    assert one.focused == "Read the plain text"
    one.page.keyboard.press("Enter")
    paragraphs = one.page.locator("[data-plain] p")
    assert paragraphs.all_inner_texts() == ["First line.", "The <b>second</b> names Oslo."]
    one.page.keyboard.press("Tab")
    assert one.page.evaluate("document.activeElement.dataset.s") == "0"


def test_the_plain_text_link_takes_no_space_until_focused(desk):
    one = desk(TEXT, gold=["Oslo"])
    text = one.page.locator("[data-field=context]")
    before = text.bounding_box()
    summary = one.page.locator("[data-plain] summary")
    one.page.locator("#question").focus()
    one.page.keyboard.press("Shift+Tab")
    assert summary.bounding_box()["height"] >= 24
    assert text.bounding_box() == before


@pytest.mark.parametrize("scripts", [True, False])
def test_task_texts_are_excluded_from_browser_translation(open_browser, put, scripts):
    page = open_browser(java_script_enabled=scripts)
    page.goto(f"/work/{put(TEXT, gold=['Oslo']).token}/")
    places = "#question", "[data-field=context]", "[data-plain] div", "[data-chips]"
    for place in places:
        assert page.locator(place).evaluate("e => e.translate") is False, place
    assert page.locator("body").evaluate("e => e.translate")


def test_hints_describe_the_gestures_of_the_device(desk, phone, put):
    one = desk(TEXT, gold=["Oslo"])
    assert "Drag" in one.page.locator("[data-hint]").inner_text()
    phone_desk = Desk(phone, put(TEXT, gold=["Oslo"]))
    hint = phone_desk.page.locator("[data-hint]").inner_text()
    assert "Tap" in hint
    assert "Drag" not in hint
    assert "click" not in hint.lower()
    one.page.locator("[data-t]").first.click()
    assert "Esc" in one.page.locator("[data-pending]").inner_text()
    phone.locator("[data-t]").first.tap()
    assert "Esc" not in phone.locator("[data-pending]").inner_text()


def test_without_scripts_no_hint_describes_a_gesture(open_browser, put):
    page = open_browser(java_script_enabled=False)
    page.goto(f"/work/{put(TEXT, gold=['Oslo']).token}/")
    assert page.locator("[data-hint]").inner_text().strip() == ""
    expect(page.get_by_text("Your highlights")).to_be_hidden()
    expect(page.get_by_label("Your answers, one per line")).to_be_visible()


@pytest.mark.parametrize(
    ("zone", "hours", "name"), [("Asia/Kathmandu", 5.75, ""), ("UTC", 0, ""), (None, 0, " UTC")]
)
def test_the_end_of_a_wait_is_in_the_time_of_the_annotator(open_browser, put, zone, hours, name):
    seat = put(TEXT, gold=["Oslo"])
    Participation.objects.filter(pk=seat.pk).update(status="waiting", waiting_since=timezone.now())
    seat.refresh_from_db()
    end = qualification.end_of_wait(seat) + timedelta(hours=hours)
    page = open_browser(java_script_enabled=zone is not None, timezone_id=zone or "Asia/Tokyo")
    page.goto(f"/work/{seat.token}/")
    expect(page.locator("time")).to_have_text(f"{end:%H:%M}{name}")


def test_long_words_in_questions_and_titles_fit_on_a_narrow_page(open_browser, researcher):
    word = "Donaudampfschifffahrtsgesellschaftskapitänsmütze"
    window = {"title": word, "definition": word, "example": word}
    study = factories.make_study(
        researcher, factories.make_task(help=[window]), shots=[2],
        comprehension_questions=f"{word}?\n* {word}\n- no",
    )  # fmt: skip
    seat = factories.join(study)
    consent.record(seat, agree=True)
    page = open_browser(viewport={"width": 320, "height": 640})
    page.goto(f"/work/{seat.token}/")
    expect(page.locator("legend")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_number_keys_are_not_shown_on_a_phone(desk, phone, put):
    shown = 'label:has([name="label"]) kbd'
    assert desk("It was fine.", gold=["positive"], labels=LABELS).page.locator(shown).count() == 2
    one = Desk(phone, put("It was fine.", gold=["positive"], labels=LABELS))
    assert not any(key.is_visible() for key in one.page.locator(shown).all())
    assert all(choice.is_visible() for choice in one.page.locator('[name="label"]').all())


def test_only_highlighted_gaps_are_elements(desk):
    """Texts may have hundreds of words, and slow devices take long to lay out elements."""
    text = "She saw New York City, Mar-a-Lago and Oslo."
    one = desk(text, gold=["Lago"])
    gaps = one.page.locator("[data-passage] > :not([data-t])")
    expect(gaps).to_have_count(0)
    one.drag(one.word("New"), one.word("City"))
    expect(gaps).to_have_text([" ", " "])
    assert one.page.locator("[data-passage]").inner_text() == text
    one.word("-").click()
    one.page.keyboard.press("Enter")
    one.drag(one.word("Mar"), one.word("Mar"), beyond=-8)
    expect(one.page.locator("[data-passage] .hl-seam")).to_have_text(["-"])
    one.reveal()
    # Outside the marks, every second run of text is an element: "She", not " ", then "saw".
    parts = one.page.locator("[data-passage] > :not(mark)")
    expect(parts).to_have_text(["She", "saw", ",", "a", " ", " ", "."], use_inner_text=False)
