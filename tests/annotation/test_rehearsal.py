"""Three paid studies from an empty database: 46 arrivals, a crash, and the books to the cent.

The acts are those of `manage.py rehearse`. Here they run on PostgreSQL, somebody works in two tabs
of a real browser, and the researcher's pages are opened in it at the end.
"""

import os
import re
from urllib.parse import urlsplit

import pytest
from django.db import connection
from playwright.sync_api import Browser

from annotation.models import Answer, Participation
from annotation.simulation.cast import Participant
from annotation.simulation.rehearsal import PASSWORD, Rehearsal
from tests.browser.conftest import WATCH

pytestmark = [
    pytest.mark.browser,
    pytest.mark.postgres,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(600),  # a server, a browser and forty people
    pytest.mark.long,
]


@pytest.fixture
def stage(monkeypatch, tmp_path, settings):
    """The server works on this test's own database."""
    own = urlsplit(os.environ["DATABASE_URL"])
    name = connection.settings_dict["NAME"]
    monkeypatch.setenv("DATABASE_URL", own._replace(path=f"/{name}").geturl())
    (tmp_path / "static").mkdir()
    monkeypatch.setenv("STATIC_ROOT", str(tmp_path / "static"))
    monkeypatch.setenv("HANDFUL_VAR", str(tmp_path))
    # The database knows its keys: the server that is started on it needs the same.
    for key in ("WORKER_KEY", "IDENTITY_KEY"):
        monkeypatch.setenv(key, getattr(settings, key))
    lines: list[str] = []
    rehearsal = Rehearsal(lines.append)
    rehearsal.lines = lines
    yield rehearsal
    rehearsal.close()


def two_tabs(chromium: Browser, participant: Participant) -> None:
    """The same example in two tabs; the second tab is told that the first answer counts."""
    participant.work("gold", answers=0)
    context = chromium.new_context(base_url=participant.stage.server.url)
    first, second = context.new_page(), context.new_page()
    for tab in (first, second):
        tab.goto(participant.work_address)
        tab.wait_for_selector("span-answer[data-ready], choice-answer")
    assert first.locator("#turn").get_attribute("data-key") == second.locator(
        "#turn"
    ).get_attribute("data-key")
    key = first.locator("#turn").get_attribute("data-key")
    for index, tab in enumerate((first, second)):
        if tab.locator("choice-answer").count():
            tab.locator("choice-answer label").nth(index).click()
        else:
            tab.locator("[data-text] [data-t]").nth(index).click()
        tab.locator("[data-submit]").click()
        tab.wait_for_selector(f"#turn:not([data-key='{key}'])")
    assert "your first answer counts" in second.locator(".notice").first.inner_text()
    assert Answer.objects.filter(turn_id=key).count() == 1
    context.close()


def test_a_whole_paid_study_is_rehearsed(stage, chromium):
    stage.two_tabs = lambda participant: two_tabs(chromium, participant)
    stage.run()
    report = "\n".join(stage.lines)
    assert report.count("3 analysed annotators") == 7
    assert re.search(r"agree to the cent: \d+\.\d\d to \d+ people", report)
    assert report.count("none under 60.00") == 3
    assert "46 arrivals; participations: " in report
    assert Participation.objects.filter(status="screened_out").count() == 7
    print(report)
    open_the_researchers_pages(chromium, stage)


def open_the_researchers_pages(chromium: Browser, stage: Rehearsal) -> None:
    """Every page of the paid study, as the researcher sees it when it is over."""
    context = chromium.new_context(base_url=stage.server.url)
    context.add_init_script(WATCH)
    errors: list[str] = []
    context.on("weberror", lambda error: errors.append(str(error.error)))
    page = context.new_page()
    page.on("console", lambda message: message.type == "error" and errors.append(message.text))
    page.goto("/sign-in/")
    page.fill("[name=login]", "ada")
    page.fill("[name=password]", PASSWORD)
    page.click("main button")
    page.wait_for_url("**/studies/")
    gone = Participation.objects.filter(status="screened_out").first()
    # Its design hides test scores until then.
    stage.ada.submit("/studies/rehearsal/", {"action": "close"}, "/status/")
    for address, holds in {
        "/studies/rehearsal/": "screened out",
        "/studies/rehearsal/pay/": "Median hourly earnings",
        "/studies/rehearsal/platforms/": "Submissions here",
        "/studies/rehearsal/log/?words=drafted": "studies on Prolific drafted",
        f"/studies/{gone.study.name}/annotators/{gone.pseudonym}/": "screened out",
        "/studies/rehearsal/human-performance/": "±",
    }.items():
        page.goto(address)
        assert holds in page.content(), address
    assert errors == []
    context.close()
