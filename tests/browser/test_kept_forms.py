"""If the session ends while a user edits a design, the form is restored after signing in."""

import pytest
from playwright.sync_api import expect

from tests import factories
from tests.browser.test_accessibility import signed_in, violations


@pytest.mark.journey
def test_a_design_form_is_restored_after_signing_in_again(page, researcher):
    task = factories.make_task()
    draft = factories.make_study(researcher, task, shots=[2], name="draft", status="draft")
    signed_in(page, "/studies/draft/design/")
    page.get_by_label("Title").fill("Typed at night")
    page.get_by_role("heading", name="Consent and questions").click()
    page.get_by_label("Consent text").fill("Line one\n\nLine <two>")
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("input was saved")).to_be_visible()
    assert violations(page) == []
    page.get_by_label("Name", exact=True).fill("ada")
    page.get_by_label("Password").fill("right horse")
    page.locator("main form button").click()
    expect(page.get_by_role("heading", name="Form not sent")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Open the form again").click()
    expect(page.get_by_label("Title")).to_have_value("Typed at night")
    expect(page.get_by_label("Consent text")).to_have_value("Line one\n\nLine <two>")
    page.get_by_role("button", name="Save draft").click()
    page.wait_for_url("**/studies/draft/")
    draft.refresh_from_db()
    assert draft.title == "Typed at night"


def test_a_conflicting_save_shows_what_the_other_tab_stored(page, researcher):
    task = factories.make_task()
    draft = factories.make_study(researcher, task, shots=[2], name="draft", status="draft")
    signed_in(page, "/studies/draft/design/")
    other = page.context.new_page()
    other.goto("/studies/draft/design/")
    other.get_by_label("Hourly rate").fill("20")
    other.get_by_role("button", name="Save draft").click()
    other.wait_for_url("**/studies/draft/")
    page.get_by_label("Title").fill("Typed here")
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("Hourly rate: 20.00")).to_be_visible()
    expect(page.get_by_label("Title")).to_have_value("Typed here")
    assert violations(page) == []
    draft.refresh_from_db()
    assert draft.hourly_rate == 20
