"""Fixtures for tests in Chromium, which check every page for CSP violations and script errors."""

import contextlib
import os
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.servers.basehttp import WSGIRequestHandler
from django.test import override_settings
from django.test.testcases import LiveServerThread
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from annotation.models import Answer, Participation
from tasks.formats import Record
from tasks.importing import read_clues
from tests import factories

# Playwright's sync API runs an event loop in this thread, in which Django refuses the ORM.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
# Waits end when the page is ready. On a machine with much other work, 5 seconds are not enough.
expect.set_options(timeout=20_000)

WATCH = (
    "addEventListener('securitypolicyviolation',"
    " e => console.error('CSP violation: ' + e.violatedDirective + ' ' + e.blockedURI))"
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "/browser/" in str(item.path):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.django_db(transaction=True))


class Counted:
    """A WSGI application that can wait for unfinished replies and refuse addresses.

    If a page is closed before the reply to its request, the test's rows must exist until then.
    A page can also send a last request while it closes. Playwright's routes may no longer handle
    that request, so only the server can refuse it.
    """

    def __init__(self, application: Any):
        self.application = application
        self.refused = ""  # a pattern of paths
        self.begun = 0
        self.changed = threading.Condition()

    def __call__(self, environ: Any, start_response: Any) -> Iterator[bytes]:
        with self.changed:
            is_refused = self.refused and re.search(self.refused, environ["PATH_INFO"])
            self.count(0 if is_refused else 1)
        if is_refused:
            start_response("503 Service Unavailable", [("Content-Length", "0")])
            return
        try:
            with contextlib.closing(self.application(environ, start_response)) as response:
                yield from response
        finally:
            self.count(-1)

    def count(self, by: int) -> None:
        with self.changed:
            self.begun += by
            self.changed.notify_all()

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """Serve during a test. Then refuse all requests, and wait for unfinished replies."""
        self.refused = ""
        yield
        with self.changed:
            self.refused = "/"
            assert self.changed.wait_for(lambda: self.begun == 0, timeout=30)


@pytest.fixture(scope="session")
def live(django_db_setup) -> Iterator[LiveServerThread]:
    """A live server with collected, hashed static files, as in production.

    pytest-django's `live_server` would serve them under their plain names.
    """
    call_command("collectstatic", interactive=False, verbosity=0)
    # The head and the body are sent separately. With Nagle's algorithm, the body could wait 40 ms.
    WSGIRequestHandler.disable_nagle_algorithm = True
    thread = LiveServerThread("localhost", static_handler=Counted)
    thread.daemon = True
    compresses = ["django.middleware.gzip.GZipMiddleware", *settings.MIDDLEWARE]
    with override_settings(MIDDLEWARE=compresses):  # as nginx does in production
        thread.start()
        assert thread.is_ready.wait(timeout=60)
    if thread.error:
        raise thread.error
    yield thread
    thread.terminate()


@pytest.fixture(scope="session")
def server(live) -> str:
    """The address of the server."""
    return f"http://localhost:{live.port}"


class Watched:
    """A browser context that records policy violations and script errors."""

    def __init__(self, browser: Browser, expected: Callable[[str], bool], **options: Any):
        self.context: BrowserContext = browser.new_context(**options)
        self.context.set_default_timeout(30_000)
        self.context.add_init_script(WATCH)
        self.expected = expected
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.context.on("weberror", lambda error: self.errors.append(str(error.error)))
        self.context.on("console", self.hear)

    def hear(self, message: Any) -> None:
        # The browser logs a refused form (401, 409, 422) as a failed resource. Leaving a page
        # aborts its requests, for which htmx logs sendAbort and afterRequest.
        usual = r"status of 4(01|09|22)|^htmx:(sendAbort|afterRequest),"
        if message.type == "error" and not re.search(usual, message.text):
            self.errors.append(f"{message.text} {message.location['url']}".strip())


@pytest.fixture
def open_browser(live, server, chromium) -> Iterator[Callable[..., Page]]:
    """Open a page in a new context; check at the end that no context had errors."""
    opened: list[Watched] = []

    def make(tolerate: str = "^$", **options: Any) -> Page:
        options = {"viewport": {"width": 1280, "height": 800}, **options}
        watched = Watched(
            chromium,
            lambda text: bool(re.search(tolerate, text)),
            base_url=server,
            **options,
        )
        opened.append(watched)
        return watched.context.new_page()

    with live.httpd.get_app().serving():
        yield make
        for watched in opened:
            watched.context.remove_listener("console", watched.hear)
            watched.context.close()
    problems = [text for each in opened for text in each.errors if not each.expected(text)]
    hosts = [url for each in opened for url in each.requests if not url.startswith(server)]
    assert problems == []
    assert hosts == []


@pytest.fixture
def page(open_browser) -> Page:
    return open_browser()


@pytest.fixture
def phone(open_browser) -> Page:
    return open_browser(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)


def settle(page: Page) -> None:
    """Finish all animations.

    Animations that are not drawn, as in a closed `<details>`, would never end.
    """
    page.evaluate(
        """() => { for (const animation of document.getAnimations()) {
            const endless = animation.effect.getComputedTiming().endTime === Infinity;
            if (endless) animation.cancel(); else animation.finish();
        } }"""
    )


def await_reveal(page: Page) -> None:
    """Wait for the reveal, and for the frame in which the page focuses and folds it."""
    page.wait_for_selector("[data-state=reveal]")
    next_frame(page)


def next_frame(page: Page) -> None:
    page.evaluate("new Promise(requestAnimationFrame)")


def answer_within(page: Page, promise: str, argument: Any = None, seconds: int = 60) -> Any:
    """Return the value of a promise in the page, or raise an error after `seconds`."""
    return page.evaluate(
        f"""argument => Promise.race([({promise})(argument), new Promise((_, reject) => setTimeout(
            () => reject(new Error("no answer within {seconds} s")), {seconds} * 1000))])""",
        argument,
    )


def seat_before(researcher, card: dict[str, Any], records: list[Record], train: bool, **study: Any):
    """Seat a participant at the first of these training (if `train`) or test examples."""
    end = [replace(records[-1], id="the-last", question="Which is the last?")]
    task = factories.make_task(
        train={len(records): records} if train else {},
        shots=[],
        test=end if train else records,
        **card,
    )
    options = {"training_order": "file_order", "annotation_order": "file_order", **study}
    shots = [len(records) if train else 0]
    drawn = factories.make_study(researcher, task, shots=shots, annotators=1, **options)
    return factories.seat(drawn.scenarios.get())


@pytest.fixture
def put(researcher) -> Callable[..., Participation]:
    """Return a function that seats a participant at examples with these texts and this `gold`."""

    def make(*contexts: str, gold=(), train: bool = True, **card: Any) -> Participation:
        records = [
            Record(f"e{index}", (text,), "Which places?", tuple(gold), None)
            for index, text in enumerate(contexts)
        ]
        return seat_before(researcher, card, records, train)

    return make


@pytest.fixture
def put_published(researcher, clues) -> Callable[..., Participation]:
    """Return a function that seats a participant at published test examples."""

    def make(name: str, *ids: str, wanted=None, train: bool = True, **study: Any) -> Participation:
        card, files = read_clues(clues, name)
        tested = next(file.records for file in files if file.kind == "test")
        if ids:
            records = [
                next(record for record in tested if record.id == identity) for identity in ids
            ]
        else:
            records = wanted(tested)
        return seat_before(researcher, card.as_dict(), records, train, **study)

    return make


class Desk:
    """The annotator's page, with methods for what a user does there."""

    def __init__(self, page: Page, seat: Participation):
        self.page, self.seat = page, seat
        self.reload()

    def reload(self) -> None:
        self.page.goto(f"/work/{self.seat.token}/")
        self.ready()

    def ready(self) -> None:
        """Wait until the page handles answers and accepts input, which it ignores after a swap."""
        self.page.wait_for_selector(
            ".turn-work[data-ready] [data-submit]:not([aria-disabled]), [data-state=reveal]"
        )

    def word(self, text: str, nth: int = 0) -> Locator:
        exact = re.compile(f"^{re.escape(text)}$")
        return self.page.locator("[data-text] [data-t]").filter(has_text=exact).nth(nth)

    def drag(self, first: Locator, last: Locator, *, into: float = 2, beyond: float = 0) -> None:
        """Drag from `into` px inside the first word to `beyond` px past the end of the last."""
        first.scroll_into_view_if_needed()
        begin, end = edges(first), edges(last)
        mouse = self.page.mouse
        mouse.move(begin["left"] + into, begin["middle"])
        mouse.down()
        mouse.move(end["right"] + beyond, end["middle_of_last"], steps=8)
        mouse.up()

    @property
    def chips(self) -> list[str]:
        return self.page.locator("[data-chip]").all_inner_texts()

    @property
    def error(self) -> str:
        return self.page.locator("[data-error]").inner_text()

    def submit(self) -> None:
        self.page.locator("[data-submit]").click()

    def reveal(self) -> None:
        self.submit()
        await_reveal(self.page)

    @property
    def stored(self) -> list[str]:
        """Return the texts of the participation's only stored answer."""
        return Answer.objects.get(turn__participation=self.seat).as_given.texts

    def go_on(self) -> None:
        """Submit and wait for the next example: after a reveal, or in the annotation step."""
        key = self.page.locator("#turn").get_attribute("data-key")
        self.submit()
        moved_on = f"#turn:not([data-key='{key}'])"
        self.page.wait_for_selector(f"{moved_on}, [data-state=review]")
        if self.page.locator("[data-state=review]").count():
            self.submit()
            self.page.wait_for_selector(moved_on)
        self.ready()
        next_frame(self.page)

    @property
    def focused(self) -> str:
        next_frame(self.page)
        return self.page.evaluate("document.activeElement.innerText")

    def nothing_is_stored(self) -> bool:
        return not Answer.objects.filter(turn__participation=self.seat).exists()


def edges(word: Locator) -> dict[str, float]:
    """Return where a word begins and ends on the screen; it may wrap over two lines."""
    return word.evaluate(
        """e => { const r = [...e.getClientRects()], a = r[0], z = r[r.length - 1];
        return {left: a.left, right: z.right, middle: (a.top + a.bottom) / 2,
                middle_of_last: (z.top + z.bottom) / 2}; }"""
    )


@pytest.fixture
def desk(page, put) -> Callable[..., Desk]:
    return lambda *contexts, **options: Desk(page, put(*contexts, **options))
