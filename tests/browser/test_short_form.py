"""The report's short form works by keyboard, on a phone and without JavaScript."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from annotation.models import ReportAnswer
from tests import factories
from tests.browser.test_accessibility import RULES, signed_in

AXE = Axe()


@pytest.fixture
def report(researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0, 2], annotators=2, title="A study",
        own_questions="native, before, choice: Is English your first language?\n- Yes\n- No",
    )  # fmt: skip
    return f"/studies/{study.name}/report/"


def test_it_is_filled_in_by_keyboard_and_errors_link_to_fields(page, report):
    signed_in(page, report)
    page.get_by_role("link", name="Checklist questions").press("Enter")
    page.get_by_label("Did an ethics board approve or exempt the study?").focus()
    page.keyboard.type("Yes, Board 7")
    page.keyboard.press("Tab")
    page.keyboard.type("data: here\ndata: there")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator('[id="item-5.2_error"]')).to_contain_text("Line 2: “data:” appears twice")
    assert not ReportAnswer.objects.exists()
    wrong = page.get_by_label("What is public, and where?")
    expect(wrong).to_have_attribute("aria-invalid", "true")
    wrong.fill("data: https://example.org/data")
    page.get_by_label("Age", exact=True).press("Space")
    page.get_by_role("button", name="Save answers").press("Enter")
    expect(page.get_by_text("Saved: 3 answers changed.")).to_be_visible()
    expect(page.get_by_text("1.9 Ethics review: Yes")).to_be_visible()
    expect(page.get_by_text("2.1.1 Characteristics of that population: Age")).to_be_visible()


def test_it_works_on_a_phone_and_without_javascript(open_browser, report):
    phone = open_browser(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True,
    )  # fmt: skip
    signed_in(phone, report)
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    assert AXE.run(phone, options=RULES).response["violations"] == []
    state = phone.context.storage_state()
    plain = open_browser(
        java_script_enabled=False, storage_state=state, viewport={"width": 390, "height": 844},
    )  # fmt: skip
    plain.goto(report)
    plain.get_by_label("Was there a pilot study?").fill("No")
    plain.get_by_role("button", name="Save answers").click()
    assert ReportAnswer.objects.get().text == "No"
