"""Automated checks (axe) of WCAG 2.2 AA on account pages and on studies in every state."""

import re

import pytest
from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from django.contrib.auth.models import User
from playwright.sync_api import expect

from analysis.examples import gold_audit
from annotation.models import Kind
from annotation.notices import collecting
from annotation.privacy import erasure
from annotation.protocol import qualification
from annotation.study import lifecycle, team
from config import users
from tests import factories
from tests.browser.test_accessibility import is_accessible, signed_in
from tests.config.test_two_factor import code_of


def look(page, *addresses: str) -> None:
    for address in addresses:
        page.goto(address)
        page.wait_for_load_state("networkidle")
        unfold = "parts => parts.forEach(part => { part.open = true; })"
        page.eval_on_selector_all("main details:not(.export)", unfold)
        is_accessible(page, address)


@pytest.mark.timeout(300)
def test_the_first_account_page_is_accessible(page, db):
    look(page, "/first-owner/")
    page.get_by_label("Code").fill("no")
    page.get_by_role("button", name="Create account").click()
    page.wait_for_selector("#problems")
    is_accessible(page, "the first account, refused")
    assert not User.objects.exists()
    assert users.awaits_first_owner()


@pytest.mark.timeout(300)
def test_pages_without_an_account_are_accessible(open_browser, researcher, settings):
    page = open_browser(tolerate="status of 404")
    study = factories.make_study(researcher, factories.make_task(), shots=[0])
    token, _ = team.invite(study, "analyst", "bob@example.org", researcher)
    key = f"{user_pk_to_url_str(researcher)}-{default_token_generator.make_token(researcher)}"
    look(page, "/sign-in/", "/password/reset/", "/sign-up/", "/password/reset/key/1-set-x/",
         f"/password/reset/key/{key}/", "/password/reset/done/", "/invitation/none/",
         f"/invitation/{token}/")  # fmt: skip
    page.get_by_role("button", name="Create account").click()
    page.wait_for_selector("#problems")
    is_accessible(page, "an invitation, refused")
    settings.EMAIL_HOST = "mail.example.org"
    look(page, "/password/reset/", "/password/reset/sent/")
    page.goto("/sign-in/")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("wrong horse")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_selector("[role=alert]")
    is_accessible(page, "signing in, refused")


@pytest.mark.timeout(300)
def test_two_factor_pages_are_accessible(page, researcher):
    signed_in(page, "/account/two-factor/")
    is_accessible(page, "two-factor, off")
    look(page, "/account/two-factor/begin/")  # asks for the password first
    page.get_by_label("Password").fill("right horse")
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    is_accessible(page, "two-factor, begun")
    secret = page.locator("code.secret").inner_text()
    page.get_by_role("textbox", name="Code").fill(code_of(secret))
    page.get_by_role("button", name="Turn on").click()
    page.wait_for_url("**/codes/")
    is_accessible(page, "recovery codes")
    look(page, "/account/two-factor/", "/account/two-factor/codes/new/",
         "/account/two-factor/end/", "/account/confirm/code/?next=/studies/")  # fmt: skip
    page.context.clear_cookies()
    page.goto("/sign-in/")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("right horse")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/sign-in/code/")
    is_accessible(page, "the second step")


@pytest.fixture
def busy(researcher, other_researcher, settings, tmp_path):
    """A study with a team, comments, notices and a participant who waits for a decision."""
    settings.VAR_DIR = tmp_path
    User.objects.filter(pk=researcher.pk).update(is_superuser=True, is_staff=True)
    task = factories.make_task(by=researcher)
    gone = factories.make_study(researcher, task, shots=[2], annotators=1, hourly_rate=0)
    factories.work_through(factories.seat(gone.scenarios.get()))
    lifecycle.change_status(gone, "close")
    erasure.erase(gone, gone.name, researcher)
    study = factories.make_study(
        researcher, task, name="busy", shots=[2], annotators=5, qualification="researcher"
    )
    for turn in range(3):
        seat = factories.seat(study.scenarios.get())
        factories.work_through(seat, limit=2)
        factories.go_on(seat.token)
        if not turn:
            qualification.decide(seat.token, True, "careful", researcher)
            factories.work_through(seat)
    team.add(study, "grace", "analyst", researcher)
    for address in ("bob@example.org", ""):
        team.invite(study, "payer", address, researcher)
    gold_audit.add(study, task.test_split.examples.last(), "Two golds?\nSee the card.", researcher)
    collecting.collect()
    return study


@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(3))
def test_pages_of_every_state_of_a_study_are_accessible(page, busy, researcher, part):
    """The pages are split into three parts, which can run in parallel."""
    task = busy.scenarios.get().task
    factories.make_study(researcher, task, name="plain", shots=[0])
    factories.make_study(researcher, task, name="a-draft", status="draft")
    trial = factories.make_study(researcher, task, name="trial", shots=[0], rehearsal=True)
    factories.work_through(factories.seat(trial.scenarios.get(), Kind.SIMULATED))
    signed_in(page, "/studies/")
    addresses = [
        *(f"/studies/busy/{name}/" for name in (
            "log", "settings", "latex", "design", "people", "report",
            "leaderboard",
        )),
        "/studies/busy/people/?show=waiting", "/studies/plain/rehearsal/",
        "/studies/trial/rehearsal/",
        f"/studies/busy/examples/{task.test_split.examples.last().pk}/",
        "/users/", "/notices/", "/log/", "/compare/", "/compare/?study=busy&study=plain",
        "/studies/?show=deleted", f"/tasks/{task.name}/1/", f"/tasks/{task.name}/1/?show=edit",
        f"/new-study/?task={task.name}", "/studies/a-draft/design/", "/tasks/add/",
    ]  # fmt: skip
    look(page, *addresses[part::3])


@pytest.mark.timeout(300)
def test_account_pages_are_accessible(page, busy):
    signed_in(page, "/users/")
    page.get_by_role("button", name="Invite").click()  # asks for the password first
    page.get_by_label("Password").fill("right horse")
    is_accessible(page, "a password, asked for again")
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_label("Invitation link")).to_be_visible()
    is_accessible(page, "an invitation, made")
    # The page is now at the address of the password form, but its forms must still work.
    page.get_by_role("button", name="Create a password link for grace").click()
    expect(page.get_by_label("Password link", exact=True)).to_be_visible()
    is_accessible(page, "a link to a new password")
    page.goto("/studies/busy/people/")
    page.get_by_label("Reason").fill("careful")
    page.get_by_role("button", name="Qualify").click()
    page.wait_for_selector("[role=alert]")
    is_accessible(page, "a decision, refused")
    page.goto("/new-study/")
    page.get_by_role("button", name="Save draft").click()
    page.wait_for_selector("#problems")
    is_accessible(page, "a design, refused")


def test_the_side_panel_of_a_design_is_accessible_while_typing(page, busy):
    task = busy.scenarios.get().task
    signed_in(page, f"/new-study/?task={task.name}")
    page.get_by_label("Shots", exact=True).fill("0 2")
    side = page.get_by_role("complementary", name="Summary")
    expect(side.get_by_text("Maximum cost")).to_be_visible(timeout=60_000)
    is_accessible(page, "a design with what follows")


def test_latex_is_copied_by_one_click(open_browser, busy):
    page = open_browser(permissions=["clipboard-read", "clipboard-write"])
    signed_in(page, "/studies/busy/report/")
    page.goto("/studies/busy/report/?show=latex")
    with page.expect_response(re.compile(r"/latex/training\.tex")) as reply:
        page.get_by_role("button", name="Copy Training as LaTeX").click()
    expect(page.get_by_role("status").filter(has_text="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "\\begin{" in copied
    assert copied == reply.value.text()
