"""Annotators that record each acknowledged answer, to compare them with the database.

Like the page, they repeat failed requests, in three of ten cases with another answer. Half of them
use the pages and half the API. Each arrives through the link of the study and stays to the end.
"""

import contextlib
import dataclasses
import http.client
import json
import random
import re
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from benchmarks.load import CSRF, TURN, WORD, Browser, Program

PATIENCE = 240.0  # seconds without a good reply after which an annotator is stuck
PAUSE = 0.5  # seconds between two attempts
TRAINING = 4  # examples
LEAVING = re.compile(r'name="leaving" value="(\w+)"')

Spans = tuple[tuple[int, int], ...]


def answer(rng: random.Random, text: str) -> Spans:
    """Choose two different words anywhere in the text."""
    words = [match.span() for match in WORD.finditer(text)]
    return tuple(sorted(rng.sample(words, 2)))


def address_of(number: int) -> str:
    """Return a separate IP address for each annotator, because requests are limited by address."""
    return f"127.0.{1 + number // 250}.{1 + number % 250}"


def program(port: int, number: int, token: str = "") -> Program:
    """Return a connection with the token of a participation, or without one for a visitor."""
    client = Program(port, token)
    client.connection.source_address = (address_of(number), 0)
    if not token:
        del client.headers["Authorization"]
    return client


@dataclass
class Annotator:
    """An annotator with the answers sent and the acknowledgements received."""

    number: int
    port: int
    code: str
    token: str = ""
    acknowledged: dict[int, Spans] = field(default_factory=dict)  # turn -> answer as sent
    sent: dict[int, set[Spans]] = field(default_factory=dict)
    blocked: list[float] = field(default_factory=list)  # seconds from an error to a good reply
    failures: Counter = field(default_factory=Counter)  # by status, 0 for no reply
    odd: list[str] = field(default_factory=list)  # unexplained replies
    is_stuck: bool = False
    has_completed: bool = False
    ticket: str = ""

    def __post_init__(self) -> None:
        self.rng = random.Random(self.number)
        self.client: Browser | Program | None = None

    def ask(self, method: str, path: str, sent=None) -> tuple[int, object]:
        """Return the reply, with retries while the server is down. Raises TimeoutError."""
        began = time.monotonic()
        failed = 0
        while True:
            status, reply = self._once(method, path, sent)
            if 0 < status < 500 and status != 429:
                break
            if status != 429:  # 429: people without consent occupy a third of the seats
                self.failures[status] += 1
                failed += 1
            if time.monotonic() - began > PATIENCE:
                raise TimeoutError(path)
            time.sleep(PAUSE)
        if failed:
            self.blocked.append(time.monotonic() - began)
        return status, reply

    def _once(self, method: str, path: str, sent) -> tuple[int, object]:
        try:
            if self.client is None:
                self.client = self._new_client()
            return self.client.send(method, path, sent() if callable(sent) else sent)
        except (OSError, http.client.HTTPException, ValueError):
            # Cut off, or an error page where JSON was requested.
            if self.client is not None:
                self.client.connection.close()
                self._forget_connection()
            return 0, None

    def _forget_connection(self) -> None:
        self.client = None

    def _new_client(self) -> Browser | Program:
        return program(self.port, self.number, self.token)

    def join(self) -> None:
        """Go from the link to the first example through the API."""
        status, reply = self.ask("POST", f"/api/v1/join/{self.code}/", self._arrival)
        if status not in (200, 201):
            raise RuntimeError(f"join: {status} {reply}")
        self.token, self.client = reply["token"], program(self.port, self.number, reply["token"])
        status, reply = self.ask("POST", "/api/v1/work/consent/", {"agree": True})
        status, reply = self.ask("POST", "/api/v1/work/begin/", {})
        self.client.connection.close()
        self._forget_connection()

    def _arrival(self) -> dict:
        """Repeat Start with the ticket. Without it, a lost reply would take a second seat."""
        if not self.ticket:
            status, told = self.client.send("GET", f"/api/v1/join/{self.code}/")
            if status != 200:
                raise ValueError(status)
            self.ticket = told["arrival"]
        return {"arrival": self.ticket}

    def work(self) -> None:
        """Go from the link to the end, or until the annotator is stuck."""
        try:
            self.join()
            self.annotate()
        except TimeoutError:
            self.is_stuck = True
        except Exception as error:
            self.odd.append(f"{type(error).__name__}: {error}"[:300])
            self.is_stuck = True

    def annotate(self) -> None:
        """Answer each example and leave each reveal through the API."""
        _status, state = self.ask("GET", "/api/v1/work/")
        while state["step"] != "finished":
            if state["step"] == "question":
                turn = state["question"]["turn"]
                text = state["question"]["segments"][0]["text"]
                status, state = self.submit(turn, text, "/api/v1/work/answer/", self.as_json)
                if status != 200:
                    _status, state = self.ask("GET", "/api/v1/work/")
            elif state["step"] in ("reveal", "review"):
                sent = {"leaving": state["step"]}
                _status, state = self.ask("POST", "/api/v1/work/continue/", sent)
            else:
                raise RuntimeError(f"unexpected step {state['step']}: {state}")
        self.has_completed = True

    @staticmethod
    def as_json(turn: int, spans: Spans) -> dict:
        return {
            "turn": turn,
            "answer": {"spans": [{"segment": 0, "start": a, "end": b} for a, b in spans]},
        }

    def submit(self, turn: int, text: str, path: str, form: Callable) -> tuple[int, object]:
        """Send an answer until a reply arrives, and record the acknowledged answer."""
        chosen = answer(self.rng, text)

        def next_form():
            nonlocal chosen
            if turn in self.sent and self.rng.random() < 0.3:
                chosen = answer(self.rng, text)
            self.sent.setdefault(turn, set()).add(chosen)
            return form(turn, chosen)

        status, reply = self.ask("POST", path, next_form)
        if status == 200:
            self.acknowledged[turn] = chosen
        elif status != 409:  # 409: an earlier answer was stored, but its reply was lost
            self.odd.append(f"{status} {str(reply)[:200]}")
            raise RuntimeError(f"answer: {status}")
        return status, reply


BOX, TAG = re.compile(r"data-index=[^>]*>(.*?)</div>", re.DOTALL), re.compile("<[^>]*>")


class OnPages(Annotator):
    """The same annotator with a browser, from the first example to the last."""

    is_on_pages: bool = False

    def _new_client(self) -> Browser | Program:
        return Browser(self.port) if self.is_on_pages else super()._new_client()

    def annotate(self) -> None:
        self.is_on_pages = True
        here = f"/work/{self.token}/"
        _status, page = self.ask("GET", here)
        while True:
            if "data-text" in page and 'name="answer"' in page and (turn := TURN.search(page)):
                csrf = CSRF.search(page)[1]
                text = TAG.sub("", "".join(BOX.findall(page)))
                status, page = self.submit(
                    int(turn[1]), text, f"{here}answer/",
                    lambda turn, spans, csrf=csrf: self.as_form(turn, spans, csrf),
                )  # fmt: skip
                if status != 200:
                    _status, page = self.ask("GET", here)
            elif leaving := LEAVING.search(page):
                sent = {"leaving": leaving[1], "csrfmiddlewaretoken": CSRF.search(page)[1]}
                _status, page = self.ask("POST", f"{here}continue/", sent)
            else:
                break
        self.is_on_pages, self.client = False, None
        _status, state = self.ask("GET", "/api/v1/work/")
        if state["step"] != "finished":
            raise RuntimeError(f"the page ended at {state['step']}")
        self.has_completed = True

    @staticmethod
    def as_form(turn: int, spans: Spans, csrf: str) -> dict[str, str]:
        places = [{"field": "context", "index": 0, "start": a, "end": b} for a, b in spans]
        sent = {"v": 1, "no_answer": False, "spans": places}
        told = json.dumps(sent, separators=(",", ":"))
        return {"turn": str(turn), "csrfmiddlewaretoken": csrf, "answer": told}

    def _forget_connection(self) -> None:
        """Open a new connection of the same browser."""
        before, self.client = self.client, None
        if isinstance(before, Browser):
            self.client = Browser(self.port)
            self.client.cookies = before.cookies


@dataclass
class Outcome:
    """Comparison of acknowledged and stored answers. `faults` is empty if all conditions hold."""

    annotators: int
    stored: int
    acknowledged: int
    lost: int  # acknowledged, but missing or different
    doubled: int  # stored twice, or never sent
    overfilled: int  # participations on a seat that does not exist or is occupied
    stuck: int
    failures: Counter
    blocked: list[float]
    seconds: float
    odd: list[str]

    @property
    def holds(self) -> bool:
        return not (self.lost or self.doubled or self.overfilled or self.stuck or self.odd)

    def row(self) -> str:
        told = " ".join(
            f"{count} × {status or 'cut off'}" for status, count in sorted(self.failures.items())
        )
        if self.blocked:
            longest, median = max(self.blocked), statistics.median(self.blocked)
            blocked = f"{median:.1f} / {longest:.1f}"
        else:
            blocked = "none"
        return (
            f"{self.annotators} | {self.stored:,} | {self.acknowledged:,} | {self.lost} |"
            f" {self.doubled} | {self.overfilled} | {self.stuck} | {blocked} | {told or 'none'} |"
            f" {self.seconds:.0f}"
        )


def make_study(annotators: int, answers: int) -> str:
    """Create a study for a number of people and answers. Return the code of its link."""
    from django.contrib.auth.models import User

    from tests import factories

    size = max(answers // annotators - TRAINING, 2)
    records = longer(factories.place_records("test", size))
    train = {TRAINING: longer(factories.place_records("train", TRAINING))}
    owner = User.objects.create_user("owner")
    task = factories.make_task(train=train, test=records, name=f"toy-{size}-{annotators}")
    study = factories.make_study(
        owner, task, shots=[TRAINING], annotators=annotators, programs_as_people=True
    )
    study.shared_address = True  # all of them are on this machine
    study.save(update_fields=["shared_address"])
    return study.link_code


def longer(records: list) -> list:
    """Extend the texts, so that they have enough words for two different highlights."""
    before, after = "It was late", "nobody came along to us on that day"
    return [
        dataclasses.replace(each, context=(f"{before} {each.context[0]} {after}",))
        for each in records
    ]


def start(port: int, code: str, number: int) -> tuple[list[Annotator], list[threading.Thread]]:
    """Start simultaneous annotators, alternately on pages and through the API."""
    people = [(Annotator, OnPages)[index % 2](index, port, code) for index in range(number)]
    threads = [threading.Thread(target=person.work, daemon=True) for person in people]
    for thread in threads:
        thread.start()
    return people, threads


def answered(people: list[Annotator]) -> int:
    return sum(len(person.acknowledged) for person in people)


@contextlib.contextmanager
def working(port: int, code: str, number: int) -> Iterator["Work"]:
    """Let the annotators work during the block, and wait for them at its end."""
    began = time.monotonic()
    people, threads = start(port, code, number)
    work = Work(people, threads)
    yield work
    for thread in threads:
        thread.join()
    work.seconds = time.monotonic() - began


@dataclass
class Work:
    people: list[Annotator]
    threads: list[threading.Thread]
    seconds: float = 0.0
    outcome: "Outcome | None" = None

    def goes_on(self) -> bool:
        return any(thread.is_alive() for thread in self.threads)

    def wait_for(self, share: float, total: int) -> None:
        """Wait until a share of all answers is acknowledged."""
        while self.goes_on() and answered(self.people) < share * total:
            time.sleep(0.2)


def compare(work: Work) -> Outcome:
    """Compare with the database through the ORM of this process."""
    from annotation.models import Answer, Participation, Turn

    tokens = {person.token: person for person in work.people}
    participations = Participation.objects.filter(token__in=tokens)
    stored: dict[int, Spans] = {}
    doubled = 0
    rows = Answer.objects.filter(turn__participation__in=participations)
    for row in rows.prefetch_related("spans").iterator(chunk_size=2000):
        doubled += row.pk in stored
        stored[row.pk] = tuple(sorted((span.start, span.end) for span in row.spans.all()))
    acknowledged = {t: s for person in work.people for t, s in person.acknowledged.items()}
    sent = {t: s for person in work.people for t, s in person.sent.items()}
    lost = sum(stored.get(turn) != spans for turn, spans in acknowledged.items())
    doubled += sum(spans not in sent.get(turn, ()) for turn, spans in stored.items())
    shown = Turn.objects.filter(participation__in=participations)
    pairs = list(shown.values_list("participation", "example"))
    doubled += len(pairs) - len(set(pairs))
    return Outcome(
        len(work.people), len(stored), len(acknowledged), lost, doubled, overfilled(),
        sum(person.is_stuck or not person.has_completed for person in work.people),
        sum((person.failures for person in work.people), Counter()),
        [seconds for person in work.people for seconds in person.blocked],
        work.seconds, [text for person in work.people for text in person.odd],
    )  # fmt: skip


def overfilled() -> int:
    """Count participations on a missing seat, or on one occupied by another of their kind."""
    from annotation.models import Participation

    taken: Counter = Counter()
    above = 0
    for person in Participation.objects.seated().select_related("scenario__study"):
        taken[person.scenario_id, person.kind, person.seat_number] += 1
        above += person.seat_number > person.scenario.seats_for(person.kind)
    return above + sum(count - 1 for count in taken.values())
