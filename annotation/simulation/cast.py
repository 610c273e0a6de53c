"""Who and what takes part in a rehearsal: the server, browsers, and participants from Prolific."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urljoin, urlsplit

import lxml.html
import requests
from django.conf import settings

from annotation.models import Participation
from annotation.recruitment import identities
from annotation.simulation.robots import PATIENCE, OverHTTP, walk

if TYPE_CHECKING:  # it imports this module
    from annotation.simulation.rehearsal import Rehearsal


class Failed(Exception):
    """The rehearsal did not end as it should; the text says what differs."""


def expect(holds: bool, what: str) -> None:
    if not holds:
        raise Failed(f"it should be so and is not: {what}")


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
        """Fill in and send a form of that page that posts: whose address holds `leads_to`."""
        _status, page = self.send(address)
        forms = [f for f in lxml.html.fromstring(page).forms if f.method == "POST"]
        forms = [f for f in forms if "sign-out" not in (f.action or "")]
        form = next(f for f in forms if leads_to in (f.action or ""))
        target = urljoin(address, form.action or address)
        status, page = self.send(target, dict(form.form_values()) | fields, timeout)
        if status >= 400:
            alerts = lxml.html.fromstring(page).xpath("//*[@role='alert']")
            words = " ".join(alerts[0].text_content().split()) if alerts else page[:300]
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
        place = self.stage.fake.arrive(external_id, self.id, again)
        self.session, self.address = place["session_id"], place["url"]
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


def two_tabs_over_http(participant: Participant) -> None:
    """Two tabs on one example: the second, other answer is told that the first one counts."""
    participant.work("gold", answers=1)
    address = participant.work_address
    first, second = Browser(participant.stage.server.url), Browser(participant.stage.server.url)
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
    words = page.xpath("//*[@data-passage]")[0].text_content().split()
    return {"typed": words[which]}
