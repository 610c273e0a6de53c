"""Firefox and WebKit, each started once, with the server and seats of tests/browser."""

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Answer, Participation

pytest_plugins = ["tests.conftest", "tests.browser.conftest"]

HERE = Path(__file__).parent
# Requirement -> the command that installs it.
NEEDED = {
    "firefox": ({"firefox-esr"}, "Install Firefox: apt-get install firefox-esr"),
    "webkit": (
        {"WebKitWebDriver", "xvfb-run"},
        "Install WebKit: apt-get install webkit2gtk-driver xvfb xauth",
    ),
}


class Driven:
    """A browser driven by driver.mjs."""

    def __init__(self, name: str):
        self.name = name
        self.process = subprocess.Popen(
            ["node", str(HERE / "driver.mjs"), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def do(self, what: str, **order: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"do": what, **order}) + "\n")
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline() or '{"error": "the browser is gone"}')
        assert "error" not in reply, reply["error"]
        return reply["ok"]

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)


@pytest.fixture(scope="session", params=list(NEEDED))
def driven(request) -> Iterator[Driven]:
    programs, sentence = NEEDED[request.param]
    if any(shutil.which(program) is None for program in programs):
        pytest.fail(sentence, pytrace=False)
    browser = Driven(request.param)
    yield browser
    browser.close()


class Seat:
    """The annotator's page in that browser, with the actions of a user."""

    def __init__(self, browser: Driven, server: str, seat: Participation):
        self.browser, self.seat = browser, seat
        browser.do("goto", url=f"{server}/work/{seat.token}/")
        self.wait("() => document.querySelector('[data-ready], [data-state=reveal]') !== null")

    def js(self, source: str, *args: Any) -> Any:
        return self.browser.do("js", source=source, args=list(args))

    def wait(self, source: str, *args: Any) -> None:
        until = time.monotonic() + 30
        while not self.js(source, *args):
            assert time.monotonic() < until, f"in vain: {source}"
            time.sleep(0.1)

    def place(self, selector: str, text: str = "") -> dict[str, float]:
        """Return the position of the element with that selector (and text) on the screen."""
        return self.js(
            """(selector, text) => {
                const all = [...document.querySelectorAll(selector)];
                const it = text ? all.find((e) => e.textContent.trim() === text) : all[0];
                it.scrollIntoView({ block: "center" });
                const r = it.getClientRects()[0];
                return { left: r.left, right: r.right, x: (r.left + r.right) / 2,
                    y: (r.top + r.bottom) / 2 };
            }""",
            selector,
            text,
        )

    def word(self, text: str) -> dict[str, float]:
        return self.place("[data-text] [data-t]", text)

    def click(self, at: dict[str, float]) -> None:
        where = [at["x"], at["y"]]
        self.browser.do("mouse", steps=[{"move": where}, {"press": True}, {"press": False}])

    def drag(self, first: str, last: str) -> None:
        begin, end = self.word(first), self.word(last)
        path = [[end["x"], end["y"]], [end["right"] - 1, end["y"]]]
        steps = [{"move": [begin["x"], begin["y"]]}, {"press": True}]
        self.browser.do("mouse", steps=[*steps, *({"move": at} for at in path), {"press": False}])

    def press(self, *keys: str) -> None:
        """Press each of these keys or combinations, such as "Control+Enter"."""
        for combination in keys:
            self.browser.do("keys", keys=combination.split("+"))

    @property
    def chips(self) -> list[str]:
        return self.js(
            "() => [...document.querySelectorAll('[data-chip]')].map((e) => e.textContent.trim())"
        )

    def submit(self) -> None:
        self.click(self.place("[data-submit]"))

    def revealed(self) -> None:
        self.wait("() => document.querySelector('[data-state=reveal]') !== null")

    @property
    def stored(self) -> list[str]:
        return Answer.objects.get(turn__participation=self.seat).as_given.texts


@pytest.fixture
def sit(driven, live, server, put) -> Iterator[Callable[..., Seat]]:
    """Open a seat with these texts."""
    with live.httpd.get_app().serving():
        yield lambda *texts, **options: Seat(driven, server, put(*texts, **options))
        driven.do("goto", url="about:blank")
