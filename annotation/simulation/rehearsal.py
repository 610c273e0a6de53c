"""A rehearsal of two paid studies: everything that can happen on a panel, without people and money.

A server of Handful, a fake Prolific and forty arrivals speak real HTTP with each other: people who
complete, who are screened out, who return, run out of time, withdraw or say no; forged, stale and
replayed addresses; two tabs; and a crash of the server in the middle of a payment. At the end the
seats, the ledger and the fake's books are compared. `manage.py rehearse` runs it on a database of
its own; tests/annotation/test_rehearsal.py runs it with some of the pages in a real browser.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import jwt
import lxml.html
import requests
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings
from django.db.models import Sum

from annotation.models import Answer, Kind, LedgerEntry, Participation, Study
from annotation.money import ledger
from annotation.recruitment import identities
from annotation.simulation.fake_prolific.platform import FakeProlific
from annotation.simulation.fake_prolific.rules import PAY
from annotation.simulation.robots import PATIENCE, Knowledge, OverHTTP, walk
from tasks.models import Task

TOKEN = "rehearsal-token"
PASSWORD = "a right rehearsal horse"
QUESTIONS = "How often can you change an answer?\n- As often as I like\n* Never"
DESIGN = {
    "split_number": "1", "annotators": "3", "training_order": "shuffled_apart",
    "annotation_order": "shuffled_apart", "seed": "7", "tasks_per_worker": "1",
    "hourly_rate": "60", "currency": "GBP", "base_reward": "0", "minimum_pay": "0.10",
    "max_paid_hours": "0.3", "budget": "1000", "max_screen_outs_in_a_row": "100",
    "estimated_minutes": "6", "idle_limit_hours": "48", "idle_cutoff_seconds": "60",
    "comprehension_questions": QUESTIONS, "comprehension_attempts": "2",
    "qualification": "minimum", "qualification_threshold": "50", "decision_minutes": "15",
    "attention_checks": "0", "exit_questionnaire": "on", "consent_text": "You are **free** to go.",
}  # fmt: skip


class Failed(Exception):
    """The rehearsal did not end as it should; the text says what differs."""


class Server:
    """Handful itself, as it is deployed, on a port of its own; it can be killed."""

    def __init__(self, environment: dict[str, str]):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = environment
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        granian = str(Path(sys.executable).with_name("granian"))
        self.process = subprocess.Popen(
            [granian, "--interface", "wsgi", "--port", str(self.port), "--workers", "1",
             "--blocking-threads", "4", "--no-ws", "--log-level", "error",
             "config.wsgi:application"],
            cwd=settings.BASE_DIR, env=self.environment, start_new_session=True,
        )  # fmt: skip
        for _try in range(300):
            try:
                requests.get(f"{self.url}/sign-in/", timeout=2).raise_for_status()
                return
            except requests.RequestException:
                time.sleep(0.1)
        raise Failed("the server did not start")

    def kill(self) -> None:
        """Not even a goodbye: the whole process group, at once."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


class Browser:
    """Cookies of one browser, and pages with whatever status they have."""

    def __init__(self, root: str):
        self.root = root
        self.session = requests.Session()

    def send(
        self, address: str, fields: dict[str, Any] | None = None, timeout: float = PATIENCE
    ) -> tuple[int, str]:
        """GET, or POST these fields; status and page after redirects."""
        reply = self.session.request(
            "GET" if fields is None else "POST",
            urljoin(self.root, address),
            data=fields,
            headers={"Referer": self.root},
            timeout=timeout,
        )
        return reply.status_code, reply.text

    def submit(
        self, address: str, fields: dict[str, Any], leads_to: str = "", timeout: float = PATIENCE
    ) -> str:
        """Fill in and send a form of that page: the one whose address holds `leads_to`."""
        _status, page = self.send(address)
        forms = [f for f in lxml.html.fromstring(page).forms if "sign-out" not in (f.action or "")]
        form = next(f for f in forms if leads_to in (f.action or ""))
        target = urljoin(address, form.action or address)
        status, page = self.send(target, dict(form.form_values()) | fields, timeout)
        if status >= 400:
            said = lxml.html.fromstring(page).xpath("//*[@role='alert']")
            words = " ".join(said[0].text_content().split()) if said else page[:300]
            raise Failed(f"{target} answered {status}: {words}")
        return page


class Participant:
    """Somebody on Prolific, with a browser, who comes to a study there."""

    def __init__(self, stage: "Rehearsal", number: int):
        self.stage, self.id = stage, f"{number:024x}"
        self.site = OverHTTP(stage.server.url)
        self.session = self.address = ""
        self.has_begun = False

    def arrive(self, external_id: str, again: bool = False) -> "Participant":
        found = self.stage.fake.arrive(external_id, self.id, again)
        self.session, self.address = found["session_id"], found["url"]
        self.has_begun = False
        self.stage.arrivals += 1
        return self

    def work(self, policy: str, answers: int = 10_000) -> "Participant":
        """Go on from the study's address: to the end, or up to that many answers."""
        # The signature of the address is good for two minutes: who has begun goes on in their tab.
        address = self.work_address if self.has_begun else self.address
        self.has_begun = True
        steps = walk(self.site, address, policy, self.stage.knowledge, self.id)
        for given, _step in enumerate(steps):  # each is said before it is sent
            if given == answers:
                break
        return self

    def page(self) -> str:
        return self.site.get(self.work_address)

    @property
    def work_address(self) -> str:
        """The personal link, as the study's address leads to it."""
        participation = self.participation
        return f"/work/{participation.token}/"

    @property
    def participation(self) -> Participation:
        key = identities.worker_key("prolific", self.id)
        return Participation.objects.filter(worker__key=key).latest("pk")

    def leave(self, page: str = "") -> str:
        """Press the way back to Prolific that stands on the page; the status there."""
        html = lxml.html.fromstring(page or self.page())
        ways = html.xpath("//a[contains(@href, '/submissions/complete?cc=')]/@href")
        if not ways:
            raise Failed(f"no way back for {self.id}: {html.text_content()[:200]}")
        code = parse_qs(urlsplit(ways[0]).query)["cc"][0]
        return str(self.stage.fake.complete(self.session, code)["status"])


class Rehearsal:
    """The stage: a server, a fake Prolific, a researcher, and everybody who comes."""

    def __init__(self, say: Callable[[str], None]):
        self.say = say
        self.shift = 0.0
        self.fake = FakeProlific(token=TOKEN, now=lambda: time.time() + self.shift)
        self.fake.mode(signing="on")
        self.prolific = self.fake.serve()
        self.environment = os.environ | {
            "PROLIFIC_URL": self.prolific.url,
            "PROLIFIC_APP_URL": self.prolific.url,
            "PROLIFIC_TOKEN": TOKEN,
        }
        self.server = Server(self.environment)
        self.arrivals = 0
        self.numbers = iter(range(1, 1000))
        self.two_tabs: Callable[[Participant], None] = two_tabs_over_http

    def close(self) -> None:
        self.server.kill()
        self.prolific.close()

    def command(self, *arguments: str) -> str:
        """Run one of Handful's commands beside the server."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=settings.BASE_DIR, env=self.environment, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            raise Failed(f"{' '.join(arguments)}: {done.stdout} {done.stderr}")
        return done.stdout

    def somebody(self) -> Participant:
        return Participant(self, next(self.numbers))

    # Acts ----------------------------------------------------------------------------------------

    def set_up(self) -> None:
        """An empty database, tasks, a researcher, two studies on Prolific, webhooks."""
        self.command("migrate", "--verbosity", "0")
        for task in ("sentiment", "entities", "questions"):
            self.command("import_task", f"tasks/demo/{task}")
        told = self.command("subscribe_prolific", self.server.url)
        self.environment["PROLIFIC_WEBHOOK_SECRET"] = told.strip().partition("=")[2]
        self.environment["DJANGO_SUPERUSER_PASSWORD"] = PASSWORD
        self.command(
            "createsuperuser", "--noinput", "--username", "ada", "--email", "ada@example.org"
        )
        self.server.start()
        self.ada = Browser(self.server.url)
        self.ada.submit("/sign-in/", {"username": "ada", "password": PASSWORD})
        self._design("rehearsal", ["demo-sentiment", "demo-entities"], "0 10", parts="0")
        self._design("parts", ["demo-questions"], "10", parts="1")
        self.study = Study.objects.get(name="rehearsal")
        self.parts = Study.objects.get(name="parts")
        self.knowledge = Knowledge(self.study)
        self.say("Two studies were designed, opened and published on Prolific.")

    def _design(self, name: str, tasks: list[str], shots: str, parts: str) -> None:
        chosen = list(Task.objects.filter(name__in=tasks).values_list("pk", flat=True))
        fields = DESIGN | {"name": name, "title": f"Reading, {name}", "shots": shots}
        self.ada.submit("/new-study/", fields | {"tasks": chosen})
        study, page = f"/studies/{name}/", f"/studies/{name}/recruiters/"
        self.ada.submit(study, {"action": "open"}, "/status/")
        self.ada.submit(page, {"annotation_parts": parts}, "/prolific/")
        drafts = list(Study.objects.get(name=name).prolific_studies.order_by("part", "pk"))
        for index, draft in enumerate(drafts):
            form, changes = f"/prolific/{draft.pk}/", {"action": "change", "signed": "on"}
            if index % 2:
                # A reward far below the promise, the least that Prolific takes: the ledger has to
                # top it up.
                least, _, screen_out = PAY["GBP"]
                changes["reward"] = f"{least / 60 * draft.minutes / 100:.2f}"
                if draft.screen_out_cents:
                    changes["screen_out"] = f"{screen_out / 100:.2f}"
            self.ada.submit(page, changes, form)
            self.ada.submit(page, {"action": "publish"}, form)

    def trained(self) -> list[str]:
        """Prolific's ids of the studies whose scenario has a training step."""
        rows = self.study.prolific_studies.filter(scenarios__shots__gt=0).order_by("pk")
        return list(rows.values_list("external_id", flat=True))

    def untrained(self) -> list[str]:
        rows = self.study.prolific_studies.filter(scenarios__shots=0).order_by("pk")
        return list(rows.values_list("external_id", flat=True))

    def gatecrashers(self) -> None:
        """Addresses that are forged, stale, of another study, replayed, or only looked at."""
        first = self.trained()[0]
        one = self.somebody().arrive(first)
        outsider = Browser(self.server.url)
        forged = self._signed_by_another(one.address)
        self._refused(outsider, forged, "a forged signature")
        self._refused(outsider, one.address.replace(one.id, "f" * 24), "another person's id")
        self._refused(outsider, one.address.partition("&prolific_token")[0], "no signature")
        self.shift = -7200.0
        late = self.somebody().arrive(first)
        self.shift = 0.0
        self._refused(outsider, late.address, "a stale signature")
        other = self.study.prolific_studies.exclude(external_id=first).exclude(part__gt=0).first()
        elsewhere = urlsplit(one.address)._replace(path=f"/join/{other.code}/").geturl()
        self._refused(outsider, elsewhere, "the address of another study")
        path = urlsplit(one.address).path
        _status, page = outsider.send(f"{path}?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}")
        self._expect("This is a preview" in page, "a preview offers no seat")
        before = Participation.objects.count()
        one.work("gold", answers=2)
        _status, page = outsider.send(one.address)
        self._expect(
            "You go on where you stopped" in page, "a replayed address shows the stored state"
        )
        self._expect(Participation.objects.count() == before + 1, "a replay takes no seat")
        one.work("gold")
        self._expect(one.leave() == "AWAITING REVIEW", "who completes awaits review")
        self.arrivals += 6
        self.say("Forged, stale, altered and replayed addresses let nobody in; a preview neither.")

    def _signed_by_another(self, address: str) -> str:
        """The same claims, signed with a key that is not Prolific's."""
        token = parse_qs(urlsplit(address).query)["prolific_token"][0]
        claims = jwt.decode(token, options={"verify_signature": False})
        kid = jwt.get_unverified_header(token)["kid"]
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        forged = jwt.encode(claims, key, algorithm="RS256", headers={"kid": kid})
        return address.replace(token, forged)

    def _refused(self, browser: Browser, address: str, what: str) -> None:
        self._expect(browser.send(address)[0] == 403, f"{what} is refused")
        path = urlsplit(address)
        start = path._replace(path=f"{path.path}start/").geturl()
        # With a right CSRF token, from a page that does let people in.
        _status, page = browser.send(f"/join/{self.study.link_code}/")
        (form,) = lxml.html.fromstring(page).forms
        status, page = browser.send(start, dict(form.form_values()))
        self._expect(
            status == 403 and "This link is not valid" in page, f"{what}, refused at Start"
        )

    def leavers(self) -> None:
        """No consent, a return, a time-out, a late return, failed questions, a withdrawal."""
        first, second = self.trained()
        for external in (first, self.untrained()[0]):
            no = self.somebody().arrive(external)
            self._asked_to_return(no, self._decline(no), "who does not consent is asked to return")
        returned = self.somebody().arrive(first).work("gold", answers=4)
        self.fake.return_submission(returned.session)
        timed_out = self.somebody().arrive(second).work("gold", answers=15)
        self.fake.time_out(timed_out.session)
        self.fake.flush_webhooks()
        self.command("sync_prolific", "--events")
        for one, status in ((returned, "returned"), (timed_out, "expired")):
            self._expect(one.participation.status == status, f"a webhook says {status}")
            self._expect(one.participation.seat_number is None, "the seat is free again")
        # Webhooks that never come: the polling command finds it.
        self.fake.mode(webhooks="off")
        gone = self.somebody().arrive(first).work("gold", answers=1)
        self.fake.return_submission(gone.session)
        self.command("sync_prolific", "rehearsal")
        self._expect(gone.participation.status == "returned", "polling finds a return")
        self.fake.mode(webhooks="duplicate")
        gone.arrive(first, again=True).work("gold")
        self._expect(gone.participation.status == "completed", "a late return goes on")
        gone.leave()
        unsure = self.somebody().arrive(self.untrained()[0])
        self._fail_questions(unsure)
        self._asked_to_return(unsure, unsure.leave(), "without training the paid exit asks for it")
        quits = self.somebody().arrive(second).work("gold", answers=16)
        self._expect(self._answers(quits) == 16, "sixteen answers are stored")
        Browser(self.server.url).submit(f"{quits.work_address}withdraw/", {}, "withdraw")
        self._expect(self._answers(quits) == 0, "a withdrawal erases the answers")
        self._expect(quits.participation.status == "withdrawn", "and says so")
        self.fake.return_submission(quits.session)
        self.say(
            "People declined, returned, ran out of time, came back, failed the questions and"
            " withdrew; every seat was free again."
        )

    def _answers(self, one: Participant) -> int:
        return Answer.objects.filter(turn__participation=one.participation).count()

    def _asked_to_return(self, one: Participant, status: str, what: str) -> None:
        """Prolific only asks for a return: the place is free when the participant does it."""
        self._expect(status == "AWAITING REVIEW", what)
        self.fake.return_submission(one.session)

    def _decline(self, one: Participant) -> str:
        browser = Browser(self.server.url)
        browser.submit(one.address, {}, "/start/")
        work = one.work_address
        page = browser.submit(work, {"agree": "no"}, "/consent/")
        return one.leave(page)

    def _fail_questions(self, one: Participant) -> None:
        browser = Browser(self.server.url)
        browser.submit(one.address, {}, "/start/")
        work = one.work_address
        browser.submit(work, {"agree": "yes"}, "/consent/")
        wrong = {"question-1": "0"}
        _status, page = browser.send(work)
        form = next(f for f in lxml.html.fromstring(page).forms if "comprehend" in f.action)
        for _attempt in range(2):
            browser.send(form.action, dict(form.form_values()) | wrong)

    def screened_out(self) -> None:
        """Five people whose training was far too low leave by the paid exit."""
        first, second = self.trained()
        for external in (first, second, first, second, first):
            one = self.somebody().arrive(external).work("noisy:0")
            self._expect(
                one.participation.status == "screened_out", "a low training is screened out"
            )
            self._expect(one.leave() == "SCREENED OUT", "Prolific pays the screen-out reward")
        self.say("Five were screened out after the training step, and paid.")

    def fill(self) -> None:
        """Everybody else: until each scenario has its three annotators."""
        tabs = self.somebody().arrive(self.untrained()[1])
        self.two_tabs(tabs)
        tabs.work("noisy:0.8")
        tabs.leave()
        for external in (*self.trained(), *self.untrained()):
            while True:
                self._sync(self.study)
                found = self.study.prolific_studies.get(external_id=external)
                scenario = found.scenarios.get()
                done = scenario.participations.analysed().filter(kind=Kind.PERSON).count()
                if done >= scenario.seats:
                    break
                one = self.somebody().arrive(external).work("noisy:0.9")
                if one.participation.status == "screened_out":
                    raise Failed("somebody who did well was screened out")
                one.leave()
        self.say(f"The seats of the first study are full after {self.arrivals} arrivals.")

    def _sync(self, study: Study) -> None:
        """Press the researcher's button that does what the polling command does."""
        self.ada.submit(f"/studies/{study.name}/recruiters/", {}, "/prolific/sync/")

    def in_parts(self) -> None:
        """The second study: the training step first, the annotation step for who qualified."""
        knowledge, self.knowledge = self.knowledge, Knowledge(self.parts)
        training, annotation = self.parts.prolific_studies.order_by("part")
        low = self.somebody().arrive(training.external_id).work("noisy:0")
        self._expect(low.participation.status == "screened_out", "part 1 screens out")
        self._expect(low.leave() == "AWAITING REVIEW", "and is paid in full for part 1")
        # Who was screened out keeps a place there: the free seat needs another one.
        self._sync(self.parts)
        for _seat in range(3):
            one = self.somebody().arrive(training.external_id).work("gold")
            self._expect(one.participation.status == "between", "the seat is kept between parts")
            one.leave()
            one.arrive(annotation.external_id).work("gold")
            self._expect(one.participation.status == "completed", "part 2 goes on to the end")
            one.leave()
        self.knowledge = knowledge
        self.say("The second study was done in two parts, in and out by Prolific's group.")

    def latecomers(self) -> None:
        """Who comes when all is taken is told so, until there have been forty arrivals."""
        link = f"/join/{self.study.link_code}/"
        while self.arrivals < 40:
            browser = Browser(self.server.url)
            status, page = browser.send(link)
            self._expect(status == 200 and "All places" in page, "a full study says so at once")
            self.arrivals += 1
        self.say(f"{self.arrivals} arrivals in all.")

    def pay(self) -> None:
        """Pay both studies; the server is killed in the middle, and nobody is paid twice."""
        page = "/studies/rehearsal/pay/"
        self.ada.submit(page, {"action": "prepare"})
        batches = self.study.payment_batches.filter(state="prepared").order_by("pk")
        for batch in batches.filter(method="approval"):
            self._pay(page, batch.pk)
        hanging = batches.filter(method="bonus").first()
        self.fake.mode(hang_on="pay", hang=20)
        with contextlib.suppress(requests.RequestException, Failed):
            self._pay(page, hanging.pk, timeout=2)
        self.server.kill()
        self.fake.mode(hang_on=None)
        hanging.refresh_from_db()
        self._expect(hanging.state == "paying", "a killed payment is found as such")
        self.server.start()
        self.say("The server was killed in the middle of a payment and started again.")
        self._pay(page, hanging.pk)
        hanging.refresh_from_db()
        self._expect(hanging.state == "paid", "the payment was found to have arrived")
        for study in ("rehearsal", "parts"):
            self.command("pay_study", study)
            self._expect("Nothing" in self.command("pay_study", study), "a second run pays nothing")

    def _pay(self, page: str, batch: int, timeout: float = PATIENCE) -> None:
        _status, html = self.ada.send(page)
        token = lxml.html.fromstring(html).xpath("//input[@name='csrfmiddlewaretoken']/@value")[0]
        fields = {"csrfmiddlewaretoken": token, "batch": str(batch), "action": "pay"}
        status, reply = self.ada.send(page, fields, timeout)
        if status >= 400:
            raise Failed(f"paying batch {batch} answered {status}: {reply[:200]}")

    # The end -------------------------------------------------------------------------------------

    def report(self) -> Iterator[str]:
        """Compare seats, ledger and books; yields what was found. Raises Failed."""
        for study in (self.study, self.parts):
            for scenario in study.scenarios.select_related("task"):
                people = scenario.participations.analysed().filter(kind=Kind.PERSON)
                self._expect(people.count() == 3, f"{scenario}: three analysed annotators")
                yield f"{study}, {scenario}: {people.count()} analysed annotators"
        books = {person: one["paid_cents"] for person, one in self.fake.books().items()}
        owed = self._ledger()
        for person in sorted(books.keys() | owed.keys()):
            found, expected = books.get(person, 0), owed.get(person, 0)
            self._expect(found == expected, f"{person}: {expected} earned, {found} paid")
        amount = ledger.in_currency(sum(owed.values()))
        yield f"The ledger and Prolific's books agree to the cent: {amount} to {len(owed)} people"
        for study in (self.study, self.parts):
            wages = ledger.wages(ledger.settled(study))
            rate = float(ledger.cents(study.hourly_rate))
            low = [w for w in wages if w.active_seconds and w.per_active_hour < rate]
            self._expect(not low, f"{study}: nobody earned under the rate")
            median = ledger.in_currency(int(ledger.median_wage(wages) or 0))
            yield f"{study}: {len(wages)} wages, none under {study.hourly_rate}, median {median}"
        statuses = Participation.objects.order_by("status").values_list("status", flat=True)
        counts = {status: list(statuses).count(status) for status in dict.fromkeys(statuses)}
        yield f"{self.arrivals} arrivals; participations: " + ", ".join(
            f"{count} {status}" for status, count in counts.items()
        )

    def _ledger(self) -> dict[str, int]:
        """Id on Prolific -> cents earned."""
        sums: dict[str, int] = {}
        for row in LedgerEntry.objects.values("participation").annotate(total=Sum("cents")):
            one = Participation.objects.get(pk=row["participation"])
            person = identities.decrypt(one.submissions.latest("pk").person)
            sums[person] = sums.get(person, 0) + row["total"]
        return sums

    def _expect(self, holds: bool, what: str) -> None:
        if not holds:
            raise Failed(f"it should be so and is not: {what}")

    def run(self) -> None:
        """All acts in order, then the report."""
        self.set_up()
        self.gatecrashers()
        self.leavers()
        self.screened_out()
        self.fill()
        self.in_parts()
        self.latecomers()
        self.pay()
        for line in self.report():
            self.say(line)


def two_tabs_over_http(one: Participant) -> None:
    """Two tabs on one example: the second, other answer is told that the first one counts."""
    one.work("gold", answers=1)
    address = one.work_address
    first, second = Browser(one.stage.server.url), Browser(one.stage.server.url)
    pages = [lxml.html.fromstring(tab.send(address)[1]) for tab in (first, second)]
    forms = [next(f for f in page.forms if "/answer/" in f.action) for page in pages]
    statuses = [
        tab.send(form.action, dict(form.form_values()) | fields)[0]
        for tab, form, fields in zip(
            (first, second), forms, (_an_answer(pages[0], 0), _an_answer(pages[0], 1)), strict=True
        )
    ]
    if statuses != [200, 409]:
        raise Failed(f"two tabs were answered {statuses}, not 200 and 409")


def _an_answer(page: Any, which: int) -> dict[str, str]:
    """One of two different answers to the example on the page, as a form without JavaScript."""
    labels = page.xpath("//*[@name='label']/@value")
    if labels:
        return {"label": labels[which]}
    words = page.find_class("text")[0].text_content().split()
    return {"typed": words[which]}
