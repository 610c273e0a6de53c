"""Start with an empty server and end with an analyst's two-factor sign-in, all in the browser."""

import re

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from config import users
from tests import factories
from tests.config.test_two_factor import code_of

PASSWORD = "right horse"


def new_account(page, name: str, button: str) -> None:
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Repeat the password").fill(PASSWORD)
    page.get_by_role("button", name=button).click()


def sign_in(page, name: str) -> None:
    page.goto("/sign-in/")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


@pytest.mark.timeout(300)
def test_owner_invitation_and_two_factor_sign_in_work(open_browser, db):
    owner = open_browser()
    owner.goto("/studies/")
    owner.wait_for_url("**/first-owner/")
    owner.get_by_role("textbox", name="Code").fill(users.first_owner_code())
    new_account(owner, "olga", "Create account")
    owner.wait_for_url("**/studies/")
    olga = User.objects.get()
    study = factories.make_study(olga, factories.make_task(), shots=[2], name="pilot")
    owner.goto(f"/studies/{study.name}/settings/")
    owner.get_by_role("button", name="Invite").click()
    link = owner.get_by_label("Invitation link").input_value()

    analyst = open_browser()
    analyst.goto(re.sub(r"https?://[^/]+", "", link))
    expect(analyst.get_by_text("as analyst")).to_be_visible()
    new_account(analyst, "anna", "Create account and join")
    analyst.wait_for_url("**/studies/pilot/")
    analyst.goto("/account/two-factor/")
    analyst.get_by_role("button", name="Turn on").click()
    analyst.get_by_label("Password").fill(PASSWORD)
    analyst.get_by_role("button", name="Confirm").click()
    expect(analyst.get_by_role("img", name="QR code")).to_be_visible()
    secret = analyst.locator("code.secret").inner_text()
    analyst.get_by_role("textbox", name="Code").fill(code_of(secret))
    analyst.get_by_role("button", name="Turn on").click()
    analyst.wait_for_url("**/codes/")
    recovery = analyst.locator(".codes code").first.inner_text()
    analyst.context.clear_cookies()

    sign_in(analyst, "anna")
    analyst.wait_for_url("**/sign-in/code/")
    analyst.get_by_role("textbox", name="Code").fill(code_of(secret, 1))
    analyst.get_by_role("button", name="Sign in").click()
    analyst.wait_for_url("**/studies/")
    expect(analyst.get_by_role("link", name=study.title, exact=True)).to_be_visible()
    analyst.context.clear_cookies()

    sign_in(analyst, "anna")
    analyst.get_by_role("textbox", name="Code").fill(recovery)
    analyst.get_by_role("button", name="Sign in").click()
    analyst.wait_for_url("**/studies/")
