"""If an answer doesn't reach the server, the annotator's page says so and retries."""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Answer, Draft
from tests import factories
from tests.browser.conftest import Desk, await_reveal
from tests.browser.test_journey import posts
from tests.browser.test_panel import GO

TWO = "Oslo and Rome."
FAILURES = "status of (40[034]|429|50[0-9])|Code (40[034]|429|50[0-9])|ERR_|htmx:"


@pytest.fixture
def shaky(open_browser, put):
    """Return a function that opens a page whose network and cookies may fail."""
    return lambda *texts, **options: Desk(
        open_browser(tolerate=FAILURES), put(*(texts or (TWO, "Rome.")), gold=["Oslo"], **options)
    )


def notice(desk: Desk):
    return desk.page.locator("[data-sending]")


def sign_in_elsewhere(page: Page) -> None:
    """Sign in as a researcher in another tab, which changes the CSRF token."""
    tab = page.context.new_page()
    tab.goto("/sign-in/")
    tab.get_by_label("Name").fill("ada")
    tab.get_by_label("Password").fill("right horse")
    tab.get_by_role("button", name="Sign in").click()
    tab.wait_for_url(re.compile("/studies/"))
    tab.close()


# Loaded again ------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["signed in elsewhere", "cookies cleared"])
def test_a_page_with_an_old_token_reloads_and_retains_the_answer(shaky, how):
    desk = shaky()
    desk.word("Oslo").dblclick()
    if how == "cookies cleared":
        desk.page.context.clear_cookies()
    else:
        sign_in_elsewhere(desk.page)
    desk.submit()
    why = desk.page.get_by_role("alert").filter(has_text="We reloaded this page")
    expect(why).to_contain_text("its cookies had changed")
    desk.ready()
    assert desk.chips == ["Oslo"]
    assert desk.nothing_is_stored()
    desk.reveal()
    assert desk.stored == ["Oslo"]
    expect(why).to_have_count(0)
    desk.reload()
    expect(why).to_have_count(0)


@pytest.mark.parametrize("size", [(1366, 657), (390, 844)])
def test_the_reason_of_a_reload_is_visible_and_moves_no_button(shaky, size):
    desk = shaky(f"{TWO} It is far from the one to the other. " * 12)
    desk.page.set_viewport_size({"width": size[0], "height": size[1]})
    before = desk.page.evaluate(GO)
    desk.word("Oslo").dblclick()
    desk.page.evaluate("scrollTo(0, 75)")
    desk.page.context.clear_cookies()
    desk.submit()
    why = desk.page.get_by_role("alert").filter(has_text="We reloaded this page")
    expect(why).to_be_visible()
    desk.page.wait_for_load_state()
    desk.page.wait_for_timeout(200)
    assert desk.page.evaluate("scrollY") == 0
    expect(why).to_be_in_viewport(ratio=1)
    assert desk.page.evaluate(GO) == before


def test_a_withdrawal_in_another_tab_is_shown(shaky):
    desk = shaky()
    desk.word("Oslo").dblclick()
    other = desk.page.context.new_page()
    other.goto(f"/work/{desk.seat.token}/withdraw/")
    other.get_by_role("button", name="erase my answers").click()
    expect(other.locator("main")).to_contain_text("You have withdrawn")
    other.close()
    desk.submit()
    expect(desk.page.locator("main")).to_contain_text("You have withdrawn")
    expect(desk.page.get_by_role("alert")).to_contain_text("This is where you are now")


def test_a_page_that_is_refused_again_is_not_reloaded_again(shaky):
    desk = shaky()
    desk.page.route("**/answer/", lambda route: route.fulfill(status=403, body="no"))
    desk.word("Oslo").dblclick()
    desk.submit()
    expect(desk.page.get_by_role("alert").filter(has_text="We reloaded this page")).to_be_visible()
    desk.ready()
    desk.page.evaluate("window.old = true")
    sent = posts(desk.page)
    desk.submit()
    expect(notice(desk)).to_contain_text("Reloading the page did not help")
    assert desk.page.evaluate("window.old")
    assert len([url for url in sent if url.endswith("/answer/")]) == 1
    assert desk.chips == ["Oslo"]
    desk.page.unroute_all()
    with desk.page.expect_navigation():
        notice(desk).get_by_role("button").click()
    desk.ready()
    desk.reveal()
    assert desk.stored == ["Oslo"]


# Sent again --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "reason"),
    [(0, "No connection."), (503, "The server has a problem."), (429, "The server is busy.")],
)
def test_a_temporary_failure_is_retried_by_the_page(shaky, failure, reason):
    desk = shaky()

    def fail(route) -> None:
        if failure:
            route.fulfill(status=failure, body="broken")
        else:
            route.abort("internetdisconnected")

    desk.page.route("**/answer/", fail, times=1)
    desk.word("Oslo").dblclick()
    desk.submit()
    expect(notice(desk)).to_have_text(
        re.compile(
            re.escape(reason)
            + r" Trying again in [12] s\. Your answer is safe on this page\.\s*Try now"
        )
    )
    await_reveal(desk.page)
    expect(notice(desk)).to_have_count(0)
    assert desk.stored == ["Oslo"]


def test_the_retry_button_sends_at_once_and_the_answer_is_locked(shaky):
    desk = shaky()
    desk.page.clock.install()
    desk.page.route("**/answer/", lambda route: route.abort("internetdisconnected"))
    desk.word("Oslo").dblclick()
    desk.submit()
    again = notice(desk).get_by_role("button", name="Try now")
    expect(again).to_be_focused()
    desk.word("Rome").dblclick(force=True)
    assert desk.chips == ["Oslo"]
    desk.page.unroute_all()
    again.click()
    await_reveal(desk.page)
    assert desk.stored == ["Oslo"]


def test_a_lost_reply_is_requested_again_and_stored_once(shaky):
    desk = shaky()

    def lose(route) -> None:
        route.fetch()
        route.abort("connectionreset")

    desk.page.route("**/answer/", lose, times=1)
    desk.word("Oslo").dblclick()
    desk.submit()
    await_reveal(desk.page)
    assert Answer.objects.count() == 1
    assert desk.page.locator(".notice").count() == 0


def test_continue_is_retried_too(shaky):
    desk = shaky()
    desk.word("Oslo").dblclick()
    desk.reveal()
    desk.page.wait_for_timeout(700)
    desk.page.context.set_offline(True)
    desk.submit()
    expect(notice(desk)).to_contain_text("Nothing is lost.")
    desk.page.context.set_offline(False)  # retries without waiting for the pause
    desk.page.wait_for_selector("[data-state=question]")


def test_retries_end_after_minutes_and_the_answer_is_editable(shaky):
    desk = shaky()
    desk.page.clock.install()
    desk.page.route("**/answer/", lambda route: route.abort("internetdisconnected"))
    desk.word("Oslo").dblclick()
    desk.submit()
    for _ in range(20):
        expect(notice(desk).get_by_role("button")).to_be_visible()
        if notice(desk).get_by_role("button", name="Try again").count():
            break
        with desk.page.expect_event("requestfailed"):
            desk.page.clock.run_for(31_000)
    expect(notice(desk)).to_contain_text(
        "Not sent. No connection. Your answer is safe on this page."
    )
    desk.word("Rome").dblclick()
    assert desk.chips == ["Oslo", "Rome"]
    desk.page.unroute_all()
    desk.reveal()
    assert desk.stored == ["Oslo", "Rome"]


# While it is sent --------------------------------------------------------------------------------


def test_an_answer_is_locked_while_it_is_being_saved(shaky):
    desk = shaky()
    held = []
    desk.page.route("**/answer/", lambda route: held.append(route))
    desk.word("Oslo").dblclick()
    desk.submit()
    expect(notice(desk)).to_have_text("Saving…")
    desk.word("Rome").dblclick(force=True)
    desk.page.keyboard.press("Control+Enter")
    assert desk.chips == ["Oslo"]
    assert len(held) == 1
    held[0].continue_()
    await_reveal(desk.page)
    expect(notice(desk)).to_have_count(0)
    assert desk.stored == ["Oslo"]


def test_a_label_cannot_be_changed_while_it_is_sent(open_browser, put):
    seat = put("It was good.", gold=["positive"], labels=factories.LABELS)
    desk = Desk(open_browser(tolerate=FAILURES), seat)
    held = []
    desk.page.route("**/answer/", lambda route: held.append(route))
    desk.page.get_by_label("negative").check()
    desk.submit()
    expect(notice(desk)).to_have_text("Saving…")
    desk.page.keyboard.press("1")
    desk.page.locator("[name=label]").first.click(force=True)
    assert desk.page.get_by_label("negative").is_checked()
    held[0].continue_()
    await_reveal(desk.page)
    assert Answer.objects.get().label == "negative"


# A tab that is closed meanwhile ------------------------------------------------------------------

UNSENT = "Object.keys(localStorage).filter((name) => name.startsWith('unsent:')).length"


def closed_after(desk: Desk, status: int, *paths: str) -> BrowserContext:
    """Highlight, submit, and close the tab once requests to these paths have failed."""

    def fail(route) -> None:
        if status:
            route.fulfill(status=status, body="broken")
        else:
            route.abort("internetdisconnected")

    context = desk.page.context
    for path in paths:
        context.route(path, fail)
    desk.word("Oslo").dblclick()
    desk.submit()
    expect(notice(desk)).to_contain_text("Your answer is safe on this page.")
    desk.page.wait_for_timeout(300)
    desk.page.close()
    context.unroute_all()
    return context


@pytest.mark.parametrize("status", [0, 500])
def test_an_unsent_answer_survives_the_tab(shaky, status, live):
    desk = shaky()
    live.httpd.get_app().refused = "/draft/$"
    context = closed_after(desk, status, "**/answer/", "**/draft/")
    again = Desk(context.new_page(), desk.seat)
    assert again.chips == ["Oslo"]
    assert not Draft.objects.exists()
    again.reveal()
    assert again.stored == ["Oslo"]
    assert again.page.evaluate(UNSENT) == 0


def test_the_server_stores_an_unsent_answer_as_a_draft(shaky, open_browser):
    desk = shaky()
    closed_after(desk, 500, "**/answer/")
    another = Desk(open_browser(), desk.seat)
    assert another.chips == ["Oslo"]


def test_after_the_last_answer_no_data_remain_in_the_browser(shaky):
    desk = shaky("Oslo.", train=False)
    desk.page.keyboard.press("0")
    desk.submit()
    expect(desk.page.locator("main")).to_contain_text("Thank you")
    assert desk.page.evaluate(UNSENT) == 0
