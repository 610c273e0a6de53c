"""Many who come at once: slow ones, far too many, for the last seats, and two ticks."""

import http.server
import itertools
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from benchmarks.faults import annotators
from benchmarks.faults.installation import ROOT, Installation, installed, serving
from benchmarks.faults.scene import Result, Size, at_work, set_up

SLOW, STORM, ARRIVALS, SEATS = 200, 1000, 1000, 12


def slow_clients(size: Size) -> Result:
    """Beside the annotators many send their request a byte at a time and read as slowly."""
    with at_work(size) as scene:
        scene.wait_for(0.2)
        end = time.monotonic() + size.seconds
        with ThreadPoolExecutor(SLOW) as crowd:
            sent = sum(crowd.map(lambda n: trickle(scene.site.front, n, end), range(SLOW)))
    did = f"{SLOW} clients that send a byte a second each ({sent:,} in all), {size.seconds:.0f} s"
    return Result(scene.work.outcome, did)


def trickle(port: int, number: int, end: float) -> int:
    """Send one request again and again, a byte a second: how many bytes."""
    request = itertools.cycle(
        f"POST /work/nobody/answer/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 900\r\n\r\nab".encode()
    )
    sent = 0
    while time.monotonic() < end:
        try:
            with socket.create_connection(
                ("127.0.0.1", port), timeout=5, source_address=(annotators.address_of(number), 0)
            ) as server:
                while time.monotonic() < end:
                    server.sendall(bytes([next(request)]))
                    sent += 1
                    time.sleep(1)
        except OSError:
            time.sleep(1)
    return sent


def connection_storm(size: Size) -> Result:
    """A thousand connections are opened at once and held, again and again, each with a request."""
    opened = 0
    with at_work(size) as scene:
        scene.wait_for(0.2)
        end = time.monotonic() + size.seconds
        while time.monotonic() < end:
            held = []
            for number in range(STORM):
                try:
                    server = socket.create_connection(
                        ("127.0.0.1", scene.site.front), timeout=5,
                        source_address=(annotators.address_of(number), 0),
                    )  # fmt: skip
                    server.sendall(b"GET /sign-in/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                    held.append(server)
                except OSError:
                    break
            opened += len(held)
            time.sleep(2)
            for server in held:
                server.close()
    did = f"{opened:,} connections with a request each, up to {STORM:,} at once, dropped unread"
    return Result(scene.work.outcome, did)


def racing_arrivals(size: Size, guarded: bool = True) -> Result:
    """A thousand people want one of twelve seats at the same moment, at both nodes."""
    number = ARRIVALS if size.answers >= ARRIVALS else size.answers
    began = time.monotonic()
    with installed() as site:
        set_up(site)
        code = annotators.make_study(SEATS, SEATS * 6)
        if not guarded:
            lift_seat_guard(site)
        with serving(site):
            told: Counter = Counter()
            gate = threading.Barrier(min(number, size.annotators))

            def arrive(index: int) -> int:
                if index < gate.parties:
                    gate.wait()
                return come(index, site.front, code)

            with ThreadPoolExecutor(gate.parties) as crowd:
                told.update(crowd.map(arrive, range(number)))
        outcome = annotators.compare(annotators.Work([], []))
        outcome.annotators, outcome.seconds = number, time.monotonic() - began
        from annotation.models import Participation

        seated = Participation.objects.seated().count()
        wrong = [] if seated == told[201] == SEATS else [f"{seated} seated, {told[201]} told so"]
    refused = told[409]
    lost = number - told[201] - refused
    wrong += [f"{lost} were told neither: {dict(told)}"] if lost else []
    did = f"{number:,} arrivals on {SEATS} seats: {seated} seated, {refused:,} told that it is full"
    return Result(outcome, did, wrong)


def come(number: int, port: int, code: str) -> int:
    """Somebody new who presses Start and consents: the reply to Start. Waits while it is busy."""
    person = annotators.Annotator(number, port, code)
    status, reply = person.ask("POST", f"/api/v1/join/{code}/", person._arrival)
    if status == 201:
        person.client.connection.close()
        person.client = annotators.program(port, number, reply["token"])
        person.ask("POST", "/api/v1/work/consent/", {"agree": True})
    person.client.connection.close()
    return status


def lift_seat_guard(site: Installation) -> None:
    """The control: no lock of the study, and a seat that is taken is refused by no constraint."""
    for node in site.nodes:
        node.application = "benchmarks.faults.unguarded:application"
    from django.db import connection

    from annotation.models import Participation

    with connection.schema_editor() as editor:
        for constraint in Participation._meta.constraints:
            if "seat" in constraint.name:
                editor.remove_constraint(Participation, constraint)


class Receiver:
    """A receiver of webhooks that counts each event."""

    def __init__(self) -> None:
        self.seen: Counter = Counter()
        seen = self.seen

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                seen[self.headers["webhook-id"]] += 1
                time.sleep(0.1)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def ticks(site: Installation, number: int) -> list[tuple[int, str]]:
    """That many `manage.py tick` at once: exit code and what each said."""
    command = [sys.executable, "manage.py", "tick"]
    environment = os.environ | site.environment
    processes = [
        subprocess.Popen(
            command, cwd=ROOT, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        for _ in range(number)
    ]  # fmt: skip
    return [(process.wait(300), process.stdout.read()) for process in processes]


def two_ticks(size: Size) -> Result:
    """Two ticks at once while people finish: each event is told once."""
    receiver = Receiver()
    hosts = {"HANDFUL_WEBHOOK_HOSTS": f"127.0.0.1:{receiver.port}"}
    runs: list[tuple[int, str]] = []
    with at_work(size, begun=0.0, environment=hosts) as scene:
        told_once(receiver.port)
        for _ in scene.every(1):
            runs += ticks(scene.site, 2)
        for _ in range(2):
            runs += ticks(scene.site, 2)
        wrong = [said[-300:] for code, said in runs if code]
        wrong += wrongly_told(receiver.seen, size.annotators)
        left = sum("another process is at it" in said for _code, said in runs)
    did = (
        f"{len(runs)} ticks, two at a time: {left} left a part to the other; {len(receiver.seen)}"
        f" events for a webhook, {sum(receiver.seen.values())} deliveries"
    )
    return Result(scene.work.outcome, did, wrong)


def told_once(port: int) -> None:
    """Have a webhook of the study told who finishes, and that it is full."""
    from annotation.models import Event, Study
    from annotation.notices import webhooks

    study = Study.objects.get()
    events = [Event.PARTICIPATION_FINISHED.value, Event.SCENARIO_FILLED.value]
    webhooks.make(study, f"http://127.0.0.1:{port}/", events, study.owner)


def wrongly_told(seen: Counter, annotators: int) -> list[str]:
    """Events that came twice, or never: one for each annotator, one for the full scenario."""
    wrong = [f"{count} times: {key}" for key, count in seen.items() if count > 1]
    if len(seen) != annotators + 1:
        wrong.append(f"{len(seen)} events for {annotators} annotators")
    return wrong
