"""A paid study on Prolific, run by clicks of a researcher and an annotator to the last cent.

A double replaces Prolific, and participants arrive through its signed links. One of them works in
two browser tabs; the others are simulated. A payment is killed after Prolific has received it.
"""

import os
import re
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
import requests
from django.db import connection
from playwright.sync_api import Page, expect

from annotation.models import Answer, LedgerEntry, Participation, Study
from annotation.pay import ledger
from annotation.prolific import sync
from annotation.recruitment import identities
from annotation.simulation.policies import Knowledge
from annotation.simulation.simulated_annotators import walk
from tests import factories
from tests.annotation.prolific.fixtures import pay_all
from tests.browser.conftest import await_reveal
from tests.prolific_double.site import Server

IDA, BO, CY, DEE = (letter * 24 for letter in "abcd")
PAY = """
from annotation.models import Study
from tests.annotation.prolific.fixtures import pay_all
pay_all(Study.objects.get(name="paid"))
"""
NEXT = ".turn-work[data-ready] [data-submit]:not([aria-disabled])"


class Held:
    """A proxy that delays the double's replies to payments until released."""

    def __init__(self, app):
        self.app, self.asked, self.let_go = app, threading.Event(), threading.Event()

    def __call__(self, environ, start_response):
        reply = self.app(environ, start_response)
        if environ["PATH_INFO"].endswith("/pay/"):
            self.asked.set()
            self.let_go.wait(60)
        return reply


@pytest.fixture
def held(fake, settings):
    fake.mode(signing="on")
    held = Held(fake.app)
    with Server(held) as server:
        settings.PROLIFIC_URL = server.url
        yield held
        held.let_go.set()


@pytest.fixture
def paid_study(researcher, held) -> Study:
    """A study for two people."""
    factories.may_spend(researcher)
    return factories.make_study(
        researcher, factories.make_task(labels=factories.LABELS), name="paid", shots=[2],
        annotators=2, currency="GBP", hourly_rate=60, estimated_minutes=10,
        qualification="minimum", qualification_threshold=50,
    )  # fmt: skip


def publish(page: Page) -> None:
    """Sign in, draft the study with signed addresses and publish it."""
    page.goto("/sign-in/?next=/studies/paid/platforms/")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("right horse")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Draft the studies").click()
    page.get_by_text("Change reward, times and places").click()
    page.get_by_label(re.compile("sign the URL")).check()
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Create and publish on Prolific").click()
    page.get_by_role("button", name=re.compile("^Publish for 20.00 GBP")).click()
    expect(page.get_by_text("active", exact=True)).to_be_visible()


class OverHTTP:
    """Access to the pages of a server over HTTP, for a simulated annotator."""

    def __init__(self, root):
        self.root = root
        self.session = requests.Session()

    def get(self, address) -> str:
        return self._read(self.session.get(urljoin(self.root, address), timeout=60))

    def post(self, address, fields, *, htmx=False) -> str:
        headers = {"Referer": self.root} | ({"HX-Request": "true"} if htmx else {})
        url = urljoin(self.root, address)
        reply = self.session.post(url, dict(fields), headers=headers, timeout=60)
        redirect = reply.headers.get("HX-Redirect")
        return self.get(redirect) if redirect else self._read(reply)

    def _read(self, reply) -> str:
        if reply.status_code != 200:
            raise AssertionError(f"{urlsplit(reply.url).path} answered {reply.status_code}")
        return reply.text


class Person:
    """A participant on Prolific who takes a place in the study."""

    def __init__(self, fake, server, study, person):
        there = study.prolific_studies.get()
        self.fake, self.server, self.id, self.study = fake, server, person, study
        place = fake.arrive(there.external_id, person)
        self.session, self.address = place["session_id"], place["url"]

    def walk(self, policy: str, answers: int = 100) -> Participation:
        """Work as a simulated annotator over HTTP, to the end or for this many answers."""
        site = OverHTTP(self.server)
        steps = walk(site, self.address, policy, Knowledge(self.study), self.id)
        for given, _step in enumerate(steps):  # yielded before it is sent
            if given == answers:
                break
        return self.participation

    @property
    def participation(self) -> Participation:
        return Participation.objects.latest("pk")

    def leave(self) -> str:
        """Return to Prolific through the last page's link; return the submission's status."""
        page = OverHTTP(self.server).get(f"/work/{self.participation.token}/")
        code = re.search(r"/submissions/complete\?cc=(\w+)", page)[1]
        self.fake.complete(self.session, code)
        return self.fake.submission(self.session)["status"]


def work_in_two_tabs(open_browser, person: Person) -> None:
    """Answer an example in two tabs; the second tab reports that the first answer counts."""
    first = open_browser()
    first.goto(person.address)
    first.get_by_role("button", name="Start").click()
    first.get_by_role("button", name="Yes, I agree").click()
    first.get_by_role("button", name="Start the training").click()
    first.wait_for_selector(NEXT)
    second = first.context.new_page()
    second.goto(f"/work/{person.participation.token}/")
    for number, tab in enumerate((first, second)):
        tab.wait_for_selector(NEXT)
        key = tab.locator("#turn").get_attribute("data-key")
        tab.locator("[data-labels] input").nth(number).check()
        tab.locator("[data-submit]").click()
        await_reveal(tab)
    assert "Your first answer counts" in second.locator(".notice").first.inner_text()
    assert Answer.objects.filter(turn_id=key).count() == 1
    second.close()
    factories.work_through(person.participation)
    first.reload()
    expect(first.get_by_role("button", name="Back to Prolific")).to_be_visible()


def kill_a_payment(held: Held, settings, tmp_path) -> None:
    """Kill a payment when Prolific has paid but not yet replied."""
    own = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}")
    environment = os.environ | {
        "DATABASE_URL": own.geturl(), "HANDFUL_VAR": str(tmp_path),
        "PROLIFIC_URL": settings.PROLIFIC_URL, "PROLIFIC_TOKEN": settings.PROLIFIC_TOKEN,
        # The process needs the same keys, because the database stores checks of its keys.
        "WORKER_KEY": settings.WORKER_KEY, "IDENTITY_KEY": settings.IDENTITY_KEY,
    }  # fmt: skip
    command = [sys.executable, "manage.py", "shell", "-c", PAY]
    paying = subprocess.Popen(command, cwd=Path(__file__).parents[2], env=environment)
    assert held.asked.wait(60)
    paying.kill()
    paying.wait()
    held.let_go.set()


@pytest.mark.long
@pytest.mark.postgres
def test_a_paid_study_pays_the_exact_amounts(
    page, open_browser, server, fake, held, paid_study, settings, tmp_path
):
    publish(page)

    returned = Person(fake, server, paid_study, IDA)
    seat = returned.walk("gold", answers=1)
    fake.return_submission(returned.session)
    sync.sync_all()
    seat.refresh_from_db()
    assert (seat.status, seat.seat_number) == ("returned", None)

    low = Person(fake, server, paid_study, BO)
    assert low.walk("noisy:0").status == "screened_out"
    assert low.leave() == "SCREENED OUT"

    in_tabs = Person(fake, server, paid_study, CY)
    work_in_two_tabs(open_browser, in_tabs)
    assert in_tabs.leave() == "AWAITING REVIEW"
    ledger.add_bonus(in_tabs.participation, 123, "It was long.", paid_study.owner)
    able = Person(fake, server, paid_study, DEE)
    assert able.walk("gold").status == "completed"
    able.leave()
    page.get_by_role("button", name="Sync with Prolific").click()
    expect(page.get_by_text("awaiting review", exact=True)).to_be_visible()

    kill_a_payment(held, settings, tmp_path)
    page.goto("/studies/paid/pay/")
    page.get_by_role("button", name="Check status").click()
    batches = page.get_by_role("region", name="Batches").locator("tbody tr")
    expect(batches.filter(has_text="paying")).to_have_count(0)
    expect(batches.filter(has_text="paid")).to_have_count(3)
    pay_all(paid_study)

    earned: Counter[str] = Counter()
    for entry in LedgerEntry.objects.all():
        earned[identities.decrypt(entry.participation.submissions.get().person)] += entry.cents
    assert {person: account["paid_cents"] for person, account in fake.books().items()} == earned
    rate = ledger.cents(paid_study.hourly_rate)
    assert all(wage.per_active_hour >= rate for wage in ledger.wages(ledger.settled(paid_study)))
