"""Load from annotators, as threads with keep-alive connections to 127.0.0.1, and latencies."""

import gzip
import http.client
import json
import re
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import unescape
from http.cookies import SimpleCookie
from urllib.parse import urlencode


class Browser:
    """A connection with cookies and little overhead, because it shares the machine."""

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.cookies: dict[str, str] = {}

    def send(self, method: str, path: str, fields: dict[str, str] | None = None) -> tuple[int, str]:
        headers = {"Accept-Encoding": "gzip", "HX-Request": "true"} if fields else {}
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        body = None
        if fields is not None:
            body = urlencode(fields)
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        self.connection.request(method, path, body, headers)
        reply = self.connection.getresponse()
        content = reply.read()
        for cookie in reply.headers.get_all("Set-Cookie") or []:
            self.cookies.update({k: m.value for k, m in SimpleCookie(cookie).items()})
        if reply.headers.get("Content-Encoding") == "gzip":
            content = gzip.decompress(content)
        return reply.status, content.decode()


TURN = re.compile(r'name="turn" value="(\d+)"')
PASSAGE = re.compile(r"data-passage[^>]*>(.*?)</div>", re.DOTALL)
PIECE = re.compile(
    r"(<span data-t\b[^>]*>)?([^<>]+)(?:</span>)?"
)  # a word, or the text between words
CSRF = re.compile(r'name="csrfmiddlewaretoken" value="(\w+)"')


def two_highlights(page: str) -> dict[str, str]:
    """Return the fields of an answer to this page, with its second and fourth word."""
    words, end = [], 0
    for piece in PIECE.finditer(PASSAGE.search(page)[1]):
        start, end = end, end + len(unescape(piece[2]))
        if piece[1]:
            words.append({"field": "context", "index": 0, "start": start, "end": end})
        if len(words) == 4:
            break
    spans = [words[1], words[3]]
    answer = json.dumps({"v": 1, "no_answer": False, "spans": spans}, separators=(",", ":"))
    turn, csrf = TURN.search(page), CSRF.search(page)
    return {"turn": turn[1], "csrfmiddlewaretoken": csrf[1], "answer": answer}


def annotate(port: int, tokens: Iterator[str]) -> Iterator[Callable[[], bool]]:
    """Act as one annotator, who starts another participation at the end of one.

    Each cycle is a POST of two highlights, whose reply contains the next example. Yields a prepared
    cycle, so that only the request is timed. The cycle returns whether it succeeded.
    """
    for token in tokens:
        browser = Browser(port)
        status, page = browser.send("GET", f"/work/{token}/")
        assert status == 200, status
        while 'name="turn"' in page:
            fields = two_highlights(page)
            reply: list[str] = []

            def cycle(browser=browser, token=token, fields=fields, reply=reply) -> bool:
                status, text = browser.send("POST", f"/work/{token}/answer/", fields)
                reply.append(text)
                return status == 200

            yield cycle
            page = reply[0]


WORD = re.compile(r"(?<=\s)[A-Za-z]+(?=\s)")


class Program:
    """A connection with the token of a participation and little overhead."""

    def __init__(self, port: int, token: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.headers = {"Authorization": f"Bearer {token}", "Accept-Encoding": "gzip"}

    def send(self, method: str, path: str, sent: dict | None = None) -> tuple[int, dict]:
        body = None if sent is None else json.dumps(sent)
        kind = {} if sent is None else {"Content-Type": "application/json"}
        self.connection.request(method, path, body, self.headers | kind)
        reply = self.connection.getresponse()
        content = reply.read()
        if reply.headers.get("Content-Encoding") == "gzip":
            content = gzip.decompress(content)
        return reply.status, json.loads(content)


def measure_up(port: int) -> Iterator[Callable[[], bool]]:
    """Act as one visitor of the yardstick. A cycle is a GET of the page and a POST of the form."""
    browser = Browser(port)

    def cycle() -> bool:
        status, page = browser.send("GET", "/")
        csrf = CSRF.search(page)
        fields = {"answer": "two highlights", "csrfmiddlewaretoken": csrf[1]}
        stored, _page = browser.send("POST", "/", fields)
        return status == 200 and stored == 302

    while True:
        yield cycle


@dataclass
class Load:
    """Measurements of simultaneous clients."""

    seconds: float
    latencies: list[float] = field(default_factory=list)
    errors: int = 0

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds

    def percentile(self, share: int) -> float:
        """Return a percentile of the latencies in milliseconds."""
        return 1000 * statistics.quantiles(self.latencies, n=100)[share - 1]


def run(people: list[Iterator[Callable[[], bool]]], cycles: int, think: float = 0.0) -> Load:
    """Run the cycles of all clients simultaneously, with `think` seconds between them."""
    load = Load(0.0)
    lock = threading.Lock()
    ready = threading.Barrier(len(people) + 1)

    def work(number: int, person: Iterator[Callable[[], bool]]) -> None:
        prepared = next(person)
        ready.wait()
        time.sleep(think * number / len(people))
        for _ in range(cycles):
            began = time.perf_counter()
            well = prepared()
            took = time.perf_counter() - began
            with lock:
                load.latencies.append(took)
                load.errors += not well
            prepared = next(person)
            time.sleep(think)

    threads = [threading.Thread(target=work, args=item) for item in enumerate(people)]
    for thread in threads:
        thread.start()
    ready.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    load.seconds = time.perf_counter() - began
    return load
