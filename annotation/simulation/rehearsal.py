"""A rehearsal of three paid studies: what can happen on a panel, without people and money.

A server of Handful, a fake Prolific and 46 arrivals speak real HTTP with each other: people who
complete, who are screened out, who return, run out of time, withdraw or say no; forged, stale and
replayed addresses; two tabs; and a crash of the server in the middle of a payment. At the end the
seats, the ledger and the fake's books are compared. `manage.py rehearse` runs it on a database of
its own; tests/annotation/test_rehearsal.py runs it with some of the pages in a real browser.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import jwt
import lxml.html
import requests
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings

from annotation.models import Answer, Kind, Participation, Study
from annotation.simulation.audit import audit
from annotation.simulation.cast import (
    Browser,
    Failed,
    Participant,
    Server,
    expect,
    two_tabs_over_http,
)
from annotation.simulation.fake_prolific.platform import FakeProlific
from annotation.simulation.fake_prolific.rules import PAY
from annotation.simulation.robots import PATIENCE, Knowledge
from tasks.models import Task

TOKEN = "rehearsal-token"
PASSWORD = "a right rehearsal horse"
QUESTIONS = "How often can you change an answer?\n- As often as I like\n* Never"
DESIGN = {
    "splits": "1", "annotators": "3", "training_order": "shuffled_apart",
    "annotation_order": "shuffled_apart", "seed": "7", "tasks_per_worker": "1",
    "hourly_rate": "60", "currency": "GBP", "base_reward": "0", "minimum_pay": "0.10",
    "max_paid_hours": "0.3", "budget": "1000", "max_screen_outs_in_a_row": "100",
    "estimated_minutes": "6", "idle_limit_hours": "48", "idle_cutoff_seconds": "60",
    "comprehension_questions": QUESTIONS, "comprehension_attempts": "2",
    "qualification": "minimum", "qualification_threshold": "50", "decision_minutes": "15",
    "attention_checks": "0", "screening_examples": "0", "exit_questionnaire": "on",
    "consent_text": "You are **free** to go.",
}  # fmt: skip


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
        """An empty database, tasks, a researcher, three studies on Prolific, webhooks."""
        self.command("migrate", "--verbosity", "0")
        for task in ("sentiment", "entities", "questions"):
            self.command("import_task", f"tasks/demo/{task}")
        export = self.command("subscribe_prolific", self.server.url)
        self.environment["PROLIFIC_WEBHOOK_SECRET"] = export.strip().partition("=")[2]
        self.environment["DJANGO_SUPERUSER_PASSWORD"] = PASSWORD
        self.command(
            "createsuperuser", "--noinput", "--username", "ada", "--email", "ada@example.org"
        )
        self.server.start()
        self.ada = Browser(self.server.url)
        self.ada.submit("/sign-in/", {"login": "ada", "password": PASSWORD})
        # Who comes by which door is written down here, so each scenario has a door of its own.
        self._design(
            "rehearsal", ["demo-sentiment", "demo-entities"], "0 10", parts="0",
            participants_choose_scenario="on",
        )  # fmt: skip
        self._design("parts", ["demo-questions"], "10", parts="1")
        self._design("assigned", ["demo-sentiment"], "0 10", parts="0")
        self.study = Study.objects.get(name="rehearsal")
        self.assigned = Study.objects.get(name="assigned")
        self.parts = Study.objects.get(name="parts")
        self.knowledge = Knowledge(self.study)
        self.say("Three studies were designed, opened and published on Prolific.")

    def _design(self, name: str, tasks: list[str], shots: str, parts: str, **more: str) -> None:
        chosen = list(Task.objects.filter(name__in=tasks).values_list("pk", flat=True))
        fields = DESIGN | {"name": name, "title": f"Reading, {name}", "shots": shots}
        self.ada.submit("/new-study/", fields | more | {"tasks": chosen})
        study, page = f"/studies/{name}/", f"/studies/{name}/platforms/"
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
            self.ada.submit(f"{page}?publish={draft.pk}", {"action": "publish"}, form)

    def trained(self) -> list[str]:
        """Prolific's ids of the studies whose scenario has a training step."""
        rows = self.study.prolific_studies.filter(scenarios__shots__gt=0).order_by("pk")
        return [row.id_there for row in rows]

    def untrained(self) -> list[str]:
        rows = self.study.prolific_studies.filter(scenarios__shots=0).order_by("pk")
        return [row.id_there for row in rows]

    def gatecrashers(self) -> None:
        """Addresses that are forged, stale, of another study, replayed, or only looked at."""
        first = self.trained()[0]
        guest = self.somebody().arrive(first)
        outsider = Browser(self.server.url)
        self._forgeries(outsider, guest)
        self.shift = -7200.0
        late = self.somebody().arrive(first)
        self.shift = 0.0
        self._refused(outsider, late.address, "a stale signature")
        path = urlsplit(guest.address).path
        _status, page = outsider.send(f"{path}?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}")
        expect("This is a preview" in page, "a preview offers no seat")
        before = Participation.objects.count()
        guest.work("gold", answers=2)
        _status, page = outsider.send(guest.address)
        expect("You continue where you stopped" in page, "a replay shows the stored state")
        expect(Participation.objects.count() == before + 1, "a replay takes no seat")
        guest.work("gold")
        expect(guest.leave() == "AWAITING REVIEW", "a completed submission awaits review")
        self.arrivals += 6
        self.say(
            "Forged, stale, altered and replayed addresses were refused, and so was a preview."
        )

    def _forgeries(self, outsider: Browser, guest: Participant) -> None:
        """Addresses made from somebody's own."""
        address = guest.address
        self._refused(outsider, signed_by_another(address), "a forged signature")
        self._refused(outsider, address.replace(guest.id, "f" * 24), "another person's id")
        self._refused(outsider, address.partition("&prolific_token")[0], "no signature")
        others = self.study.prolific_studies.exclude(external_id=self.trained()[0])
        other = others.exclude(part__gt=0)[0]
        elsewhere = urlsplit(address)._replace(path=f"/join/{other.code}/").geturl()
        self._refused(outsider, elsewhere, "the address of another study")

    def _refused(self, browser: Browser, address: str, what: str) -> None:
        expect(browser.send(address)[0] == 403, f"{what} is refused")
        path = urlsplit(address)
        start = path._replace(path=f"{path.path}start/").geturl()
        # With a right CSRF token, from a page that does let people in.
        _status, page = browser.send(f"/join/{self.study.link_code}/")
        (form,) = lxml.html.fromstring(page).forms
        status, page = browser.send(start, dict(form.form_values()))
        expect(status == 403 and "This link is not valid" in page, f"{what}, refused at Start")

    def leavers(self) -> None:
        """No consent, a return, a time-out, a late return, failed questions, a withdrawal."""
        for external in (self.trained()[0], self.untrained()[0]):
            unwilling = self.somebody().arrive(external)
            self._asked_to_return(
                unwilling, self._decline(unwilling), "without consent a return is asked for"
            )
        self._returned_and_timed_out()
        self._returned_without_a_webhook()
        unsure = self.somebody().arrive(self.untrained()[0])
        self._fail_questions(unsure)
        self._asked_to_return(unsure, unsure.leave(), "without training the paid exit asks for it")
        self._withdrawn()
        self.say(
            "People declined, returned, ran out of time, came back, failed the questions and"
            " withdrew; every seat was free again."
        )

    def _returned_and_timed_out(self) -> None:
        """Webhooks tell of both."""
        first, second = self.trained()
        returned = self.somebody().arrive(first).work("gold", answers=4)
        self.fake.return_submission(returned.session)
        timed_out = self.somebody().arrive(second).work("gold", answers=15)
        self.fake.time_out(timed_out.session)
        self.fake.flush_webhooks()
        self.command("sync_prolific", "--events")
        for participant, status in ((returned, "returned"), (timed_out, "expired")):
            expect(participant.participation.status == status, f"a webhook says {status}")
            expect(participant.participation.seat_number is None, "the seat is free again")

    def _returned_without_a_webhook(self) -> None:
        """Webhooks that never come: the polling command sees the return, and it can be undone."""
        self.fake.mode(webhooks="off")
        gone = self.somebody().arrive(self.trained()[0]).work("gold", answers=1)
        self.fake.return_submission(gone.session)
        self.command("sync_prolific", "rehearsal")
        expect(gone.participation.status == "returned", "polling finds a return")
        self.fake.mode(webhooks="duplicate")
        gone.arrive(self.trained()[0], again=True).work("gold")
        expect(gone.participation.status == "completed", "a late return goes on")
        gone.leave()

    def _withdrawn(self) -> None:
        """A withdrawal erases what was answered."""
        quitter = self.somebody().arrive(self.trained()[1]).work("gold", answers=16)
        expect(self._answers(quitter) == 16, "sixteen answers are stored")
        Browser(self.server.url).submit(f"{quitter.work_address}withdraw/", {}, "withdraw")
        expect(self._answers(quitter) == 0, "a withdrawal erases the answers")
        expect(quitter.participation.status == "withdrawn", "and says so")
        self.fake.return_submission(quitter.session)

    def _answers(self, participant: Participant) -> int:
        return Answer.objects.filter(turn__participation=participant.participation).count()

    def _asked_to_return(self, participant: Participant, status: str, what: str) -> None:
        """Prolific only asks for a return: the place is free when the participant does it."""
        expect(status == "AWAITING REVIEW", what)
        self.fake.return_submission(participant.session)

    def _decline(self, participant: Participant) -> str:
        browser = Browser(self.server.url)
        browser.submit(participant.address, {}, "/start/")
        page = browser.submit(participant.work_address, {"agree": "no"}, "/consent/")
        return participant.leave(page)

    def _fail_questions(self, participant: Participant) -> None:
        browser = Browser(self.server.url)
        browser.submit(participant.address, {}, "/start/")
        work = participant.work_address
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
            low = self.somebody().arrive(external).work("noisy:0")
            expect(low.participation.status == "screened_out", "a low training is screened out")
            expect(low.leave() == "SCREENED OUT", "Prolific pays the screen-out reward")
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
                scenario = self.study.prolific_studies.get(external_id=external).scenarios.get()
                done = scenario.participations.analysed().filter(kind=Kind.PERSON).count()
                if done >= scenario.seats:
                    break
                able = self.somebody().arrive(external).work("noisy:0.9")
                expect(able.participation.status != "screened_out", "a high training goes on")
                able.leave()
        self.say(f"The seats of the first study are full after {self.arrivals} arrivals.")

    def _sync(self, study: Study) -> None:
        """Press the researcher's button that does what the polling command does."""
        self.ada.submit(f"/studies/{study.name}/platforms/", {}, "/prolific/sync/")

    def in_parts(self) -> None:
        """The second study: the training step first, the annotation step for who qualified."""
        knowledge, self.knowledge = self.knowledge, Knowledge(self.parts)
        training, annotation = self.parts.prolific_studies.order_by("part")
        low = self.somebody().arrive(training.id_there).work("noisy:0")
        expect(low.participation.status == "screened_out", "part 1 screens out")
        expect(low.leave() == "AWAITING REVIEW", "and is paid in full for part 1")
        # People who are screened out keep their place there: the free seat needs another one.
        self._sync(self.parts)
        for _seat in range(3):
            able = self.somebody().arrive(training.id_there).work("gold")
            expect(able.participation.status == "between", "the seat is kept between parts")
            able.leave()
            able.arrive(annotation.id_there).work("gold")
            expect(able.participation.status == "completed", "part 2 goes on to the end")
            able.leave()
        self.knowledge = knowledge
        self.say("The second study was done in two parts, in and out by Prolific's group.")

    def in_one_study(self) -> None:
        """The third study: all scenarios are one study there, and each arrival is assigned."""
        there = self.assigned.prolific_studies.get()
        shots = []
        for _seat in range(6):
            able = self.somebody().arrive(there.id_there).work("gold")
            shots.append(able.participation.scenario.shots)
            able.leave()
        expect(sorted(shots) == [0, 0, 0, 10, 10, 10], "arrivals are shared out evenly")
        self.say("In the third study arrivals at one address were shared out over the scenarios.")

    def latecomers(self) -> None:
        """Those who arrive when all seats are taken are told so; 46 arrivals in all."""
        link = f"/join/{self.study.link_code}/"
        while self.arrivals < 46:
            browser = Browser(self.server.url)
            status, page = browser.send(link)
            expect(status == 200 and "All places" in page, "a full study says so at once")
            self.arrivals += 1
        self.say(f"{self.arrivals} arrivals in all.")

    def pay(self) -> None:
        """Pay all studies; the server is killed in the middle, and nobody is paid twice."""
        page = "/studies/rehearsal/pay/"
        self.ada.submit(page, {"action": "prepare"})
        batches = self.study.payment_batches.filter(state="prepared").order_by("pk")
        for batch in batches.filter(method="approval"):
            self._pay(page, batch.pk)
        hanging = batches.filter(method="bonus")[0]
        self.fake.mode(hang_on="pay", hang=20)
        with contextlib.suppress(requests.RequestException, Failed):
            self._pay(page, hanging.pk, timeout=2)
        self.server.kill()
        self.fake.mode(hang_on=None)
        hanging.refresh_from_db()
        expect(hanging.state == "paying", "a killed payment is found as such")
        self.server.start()
        self.say("The server was killed in the middle of a payment and started again.")
        self._pay(page, hanging.pk)
        hanging.refresh_from_db()
        expect(hanging.state == "paid", "the payment was found to have arrived")
        for study in ("rehearsal", "parts", "assigned"):
            self.command("pay_study", study)
            expect("Nothing" in self.command("pay_study", study), "a second run pays nothing")

    def _pay(self, page: str, batch: int, timeout: float = PATIENCE) -> None:
        _status, html = self.ada.send(page)
        token = lxml.html.fromstring(html).xpath("//input[@name='csrfmiddlewaretoken']/@value")[0]
        fields = {"csrfmiddlewaretoken": token, "batch": str(batch), "action": "pay"}
        status, reply = self.ada.send(page, fields, timeout)
        if status >= 400:
            raise Failed(f"paying batch {batch} answered {status}: {reply[:200]}")

    def run(self) -> None:
        """All acts in order, then the audit."""
        self.set_up()
        self.gatecrashers()
        self.leavers()
        self.screened_out()
        self.fill()
        self.in_parts()
        self.in_one_study()
        self.latecomers()
        self.pay()
        paid = {person: account["paid_cents"] for person, account in self.fake.books().items()}
        for line in audit((self.study, self.parts, self.assigned), paid, self.arrivals):
            self.say(line)


def signed_by_another(address: str) -> str:
    """The same claims, signed with a key that is not Prolific's."""
    token = parse_qs(urlsplit(address).query)["prolific_token"][0]
    claims = jwt.decode(token, options={"verify_signature": False})
    kid = jwt.get_unverified_header(token)["kid"]
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    forged = jwt.encode(claims, key, algorithm="RS256", headers={"kid": kid})
    return address.replace(token, forged)
