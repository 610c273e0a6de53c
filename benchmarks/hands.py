"""Measure the effort of giving an answer, and the cost of 300 examples in Chromium.

`python benchmarks/hands.py` serves invented examples from a temporary SQLite file. It tries each
way to answer several times, and checks what was stored. Times in seconds follow the
keystroke-level model (Card, Moran and Newell), without time to think: 0.2 for a key (K), 1.1 for
pointing (P), and 0.1 for pressing or releasing a button (B). It then answers 300 examples in one
session, and multiplies the processor time of each of the page's tasks by four, as on a slow phone.
Other work on the machine hardly changes processor times. Each line says whether the target was met.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.run import served  # noqa: E402

SECONDS = {"K": 0.2, "P": 1.1, "B": 0.1}
ROUNDS, SLOWER, LONG = 3, 4, 50  # a task is long from 50 ms on
SETTLED = 20  # examples before the first measurement of memory
NOT_READY = 1.2  # seconds; longer than Submit waits after a swap, even on a busy machine
TEXT = "In {0} the council met Rodrigo Duterte near the old town hall of Ghent."
TASKS = "disabled-by-default-devtools.timeline"  # the trace category that has them
READY = ".turn-work[data-ready] [data-submit]:not([aria-disabled])"
WATCH = """() => {
    window.shift = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
        if (!entry.hadRecentInput) shift += entry.value;
    })).observe({type: "layout-shift"});
}"""


def seats(examples: int) -> dict[str, str]:
    """Seat an annotator for each answer type and for the session; return their tokens."""
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.core.management import call_command

    from tasks.formats import Record
    from tests import factories
    from tests.browser.conftest import seat_before

    call_command("migrate", verbosity=0)
    owner = User.objects.create_user("bench")
    labels = factories.card_data(labels=factories.LABELS), ("positive",), 40
    kinds = {
        "spans": (factories.card_data(), (), 40),
        "label": labels,
        "advancing": labels,
        "session": (factories.card_data(), (), examples + 1),
    }
    return {
        kind: seat_before(
            owner, {**card, "name": kind},
            [Record(f"e{n}", (TEXT.format(1000 + n),), "Who?", gold, None) for n in range(number)],
            train=False, name=kind, auto_advance=kind == "advancing",
        ).token
        for kind, (card, gold, number) in kinds.items()
    }  # fmt: skip


def word(text: str) -> str:
    return f"[data-text] [data-t]:text-is('{text}')"


class Hand:
    """Performs gestures and records them."""

    def __init__(self, page: Any, token: str) -> None:
        self.page, self.noted = page, ""
        page.goto(f"/work/{token}/")
        page.wait_for_selector(READY)

    def keys(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
            self.noted += "K"

    def point(self, selector: str, share: float = 0.5) -> None:
        """Point at this share of an element's width."""
        box = self.page.locator(selector).first.bounding_box()
        x, y = box["x"] + share * box["width"], box["y"] + box["height"] / 2
        self.page.mouse.move(x, y, steps=4)
        self.noted += "P"

    def click(self, selector: str, times: int = 1) -> None:
        self.point(selector)
        box = self.page.locator(selector).first.bounding_box()
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        self.page.mouse.click(*middle, click_count=times)
        self.noted += "BB" * times

    def drag(self, first: str, last: str, share: float = 0.1) -> None:
        self.point(word(first), share)
        self.page.mouse.down()
        self.point(word(last), 0.9)
        self.page.mouse.up()
        self.noted += "BB"

    def finish(self, action: Callable[[], object]) -> None:
        """Perform the action, and wait for the next example."""
        key = self.page.locator("#turn").get_attribute("data-key")
        action()
        self.page.wait_for_selector(f"#turn:not([data-key='{key}']) {READY}")


class Way(NamedTuple):
    """A way to answer: gestures before, counted gestures, gestures after, stored answer, limit."""

    name: str
    before: Callable[[], object]
    counted: Callable[[], object]
    after: Callable[[], object]
    stored: list[str]
    most: float


def ways(hand: Hand, kind: str) -> list[Way]:
    def nothing() -> None: ...

    def enter() -> None:
        hand.keys("Enter")

    def then(*actions: Callable[[], object]) -> Callable[[], object]:
        return lambda: [action() for action in actions]

    hall, label = "old town hall", "label:has([name=label])"
    drag = lambda: hand.drag("old", "hall")  # noqa: E731
    submit = lambda: hand.click("[data-submit]")  # noqa: E731
    zeros = lambda: hand.keys("0", "0")  # noqa: E731
    to_text = then(lambda: hand.click(word("old")), lambda: hand.keys("Escape"))
    choose = lambda: hand.click(label)  # noqa: E731
    if kind == "advancing":
        return [Way("label: click, auto_advance", nothing, choose, nothing, ["positive"], 2.4)]
    if kind == "label":
        digit = lambda: hand.keys("1", "Enter")  # noqa: E731
        return [
            Way("label: digit, Enter", nothing, digit, nothing, ["positive"], 0.4),
            Way("label: click, Enter", nothing, then(choose, enter), nothing, ["positive"], 2.4),
            Way("label: click, Submit", nothing, then(choose, submit), nothing, ["positive"], 2.4),
        ]
    name = lambda: hand.click(word("Duterte"), 2)  # noqa: E731
    chip = lambda: hand.click("[data-adjust=end-earlier]")  # noqa: E731
    end = lambda: hand.drag("hall", "town", 0.98)  # noqa: E731
    more = "Shift", "Shift+ArrowRight", "Shift+ArrowRight"
    typed = lambda: hand.keys("o", *more, "Enter", "Enter")  # noqa: E731
    both = ["Rodrigo Duterte"]
    return [
        Way("no answer: 0, 0", nothing, zeros, nothing, [], 0.4),
        Way("no answer: 0, 0 on a word of the text", to_text, zeros, nothing, [], 0.4),
        Way("no answer: 0, 0 after an early Enter", enter, zeros, nothing, [], 0.4),
        Way("several words: drag, Enter", nothing, then(drag, enter), nothing, [hall], 2.4),
        Way("several words: its letter, Shift+→", nothing, typed, nothing, [hall], 2.4),
        Way("a name: double click, Enter", nothing, then(name, enter), nothing, both, 2.4),
        Way("change an end: ‹ on the chip", drag, chip, submit, ["old town"], 1.3),
        Way("change an end: drag it", drag, end, submit, ["old town"], 1.3),
    ]


def show(what: str, figure: str, target: str, reached: bool) -> None:
    print(f"| {what} | {figure} | {target} | {'reached' if reached else 'MISSED'} |", flush=True)


def measure_hands(page: Any, token: str, kind: str) -> None:
    from annotation.models import Answer

    hand = Hand(page, token)
    for way in ways(hand, kind):
        exact, seconds = 0, 0.0
        for _round in range(ROUNDS):

            def answer(way: Way = way) -> None:
                nonlocal seconds
                way.before()
                hand.noted = ""
                way.counted()
                seconds = sum(SECONDS[sign] for sign in hand.noted)
                way.after()

            hand.finish(answer)
            given = Answer.objects.filter(turn__participation__token=token).latest("pk").as_given
            exact += ([given.label] if given.label else given.texts) == way.stored
        figure = f"{seconds:.1f} s, {exact} of {ROUNDS} exact"
        show(way.name, figure, f"{way.most} s", seconds <= way.most + 1e-9 and exact == ROUNDS)


def task_times(trace: bytes) -> list[float]:
    """Return the processor times of the page's tasks in ms, on a slower processor."""
    events = json.loads(trace)["traceEvents"]
    threads = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    return [
        SLOWER * event.get("tdur", 0) / 1000  # a task that is still running has none
        for event in events
        if event["name"] == "RunTask" and (event["pid"], event["tid"]) in threads
    ]


def measure_session(page: Any, token: str, examples: int) -> None:
    """Use only input events and replies, because looking up elements would cost the page time."""
    tools = page.context.new_cdp_session(page)
    hand = Hand(page, token)
    begin, end = (page.locator(word(text)).bounding_box() for text in ("old", "hall"))
    page.evaluate(WATCH)
    tools.send("Performance.enable")
    browser = page.context.browser

    def memory() -> dict[str, float]:
        tools.send("HeapProfiler.collectGarbage")
        found = tools.send("Performance.getMetrics")["metrics"]
        return {metric["name"]: metric["value"] for metric in found}

    before: dict[str, float] = {}
    times: list[float] = []
    for number in range(examples):
        if number % SETTLED == 0:  # in parts, because a trace of all would be large
            if number:
                times += task_times(browser.stop_tracing())
                before = before or memory()
            browser.start_tracing(page=page, categories=[TASKS])
        with page.expect_response("**/answer/"):
            if number % 2:
                hand.keys("0", "0")
            else:
                page.mouse.move(begin["x"] + 2, begin["y"] + begin["height"] / 2)
                page.mouse.down()
                page.mouse.move(end["x"] + 9, end["y"] + end["height"] / 2, steps=6)
                page.mouse.up()
                hand.keys("Enter")
        time.sleep(NOT_READY)
    times += task_times(browser.stop_tracing())
    after, shift = memory(), page.evaluate("shift")
    show(f"layout shift in {examples} examples", f"{shift:.3f}", "0", shift == 0)
    long = sum(each > LONG for each in times)
    figure = f"{long}, longest {max(times):.0f} ms"
    show(f"tasks above {LONG} ms, {SLOWER} times slower", figure, "none", not long)
    for name in ("JSHeapUsedSize", "Nodes", "JSEventListeners"):
        figure = f"{before[name]:.0f} after {SETTLED}, {after[name]:.0f} after {examples}"
        show(name, figure, "at most 10 % more", after[name] <= 1.1 * before[name])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=300, help="of the session (300)")
    examples = parser.parse_args().examples
    from playwright.sync_api import sync_playwright

    from analysis.export.screenshots import browser as chromium

    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with tempfile.TemporaryDirectory(prefix="handful-hands-") as folder:
        environment = {
            "DATABASE_URL": f"sqlite:///{folder}/hands.sqlite3", "HANDFUL_VAR": folder,
            "DJANGO_SETTINGS_MODULE": "config.settings", "DEBUG": "1",
        }  # fmt: skip
        os.environ |= environment
        tokens = seats(examples)
        print("| what | measured | target | |\n|---|---|---|---|")
        with (
            served("granian", "config.wsgi:application", environment) as port,
            sync_playwright() as p,
        ):
            browser = p.chromium.launch(
                executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"]
            )
            for kind, token in tokens.items():
                page = browser.new_page(
                    base_url=f"http://127.0.0.1:{port}", viewport={"width": 1366, "height": 657}
                )
                if kind == "session":
                    measure_session(page, token, examples)
                else:
                    measure_hands(page, token, kind)
                page.close()
            browser.close()


if __name__ == "__main__":
    main()
