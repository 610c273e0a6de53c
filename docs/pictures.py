"""Take the pictures of these documents from the demo: `make pictures`.

The program serves a temporary demo, which a headless Chromium visits as a researcher and as an
annotator. It does not touch an existing installation.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
# Picture -> the page of the demo, the heading at its upper edge ("": the page title), its height.
PAGES = {
    "study": ("/studies/demo/", "", 1000),
    "results": ("/studies/demo/human-performance/", "Simulated annotators (not people)", 420),
    "analysis": ("/studies/demo/analysis/?kind=simulated", "", 900),
    "task": ("/tasks/demo-sentiment/1/", "Data report", 700),
}
SENTENCE = "The Bank of Tonga has lent money to Pacific Tuna Inc. again."
QUESTION = "Which organisations are named?"
PATIENCE = 600  # seconds until the demo is served, and for the bootstraps


@contextlib.contextmanager
def demo(folder: Path) -> Iterator[str]:
    """A demo in that folder, with a second study for the reveal; yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    variables = {"HANDFUL_VAR": str(folder / "var"), "STATIC_ROOT": str(folder / "static")}
    environment = {k: v for k, v in os.environ.items() if k != "DATABASE_URL"} | variables
    command = [sys.executable, "manage.py"]
    process = subprocess.Popen(
        [*command, "demo", "--port", str(port)], cwd=ROOT, env=environment, start_new_session=True
    )
    try:
        wait_for(f"http://127.0.0.1:{port}/", process)
        subprocess.run(
            [*command, "create_study", "reveal", "--tasks", "demo-entities", "--shots", "10",
             "--annotators", "1", "--training-order", "file_order", "--title", "Names",
             "--hourly-rate", "0", "--open"],
            cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        yield f"http://127.0.0.1:{port}"
    finally:
        with contextlib.suppress(ProcessLookupError):  # it has already ended
            os.killpg(process.pid, signal.SIGKILL)  # the server and its workers
        process.wait()


def wait_for(address: str, process: subprocess.Popen) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(address, timeout=20).close()
            return
        time.sleep(1)
    raise SystemExit("The demo was not served.")


def visit(browser: Browser, root: str) -> Page:
    page = browser.new_page(viewport={"width": 1180, "height": 800}, color_scheme="light")
    page.goto(root)
    return page


def sign_in(page: Page, password: str) -> None:
    page.goto(page.url + "sign-in/")
    page.get_by_label("Name").fill("demo")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/studies/")


def take(page: Page, name: str, height: int, heading: str = "") -> None:
    """Take the part of the page from that heading on, or from the top."""
    page.set_viewport_size({"width": 1180, "height": height})
    if heading:
        # Below the bar, which stays at the top: the page's scroll padding says how far (frame.css).
        page.get_by_role("heading", name=heading).evaluate("element => element.scrollIntoView()")
    path = DOCS / ("reveal.png" if name == "reveal" else f"pictures/{name}.png")
    page.screenshot(path=path)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1024} kB")


def reveal(page: Page, link: str) -> None:
    """Answer as an annotator does until the sentence of the picture is there, partly right."""
    page.goto(link)
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="Yes, I agree").click()
    page.locator("main form button.main-action").click()
    text = page.locator("[data-text][data-index='0']")
    while True:
        # For a moment after each swap, presses are ignored.
        page.locator("[data-ready] [data-submit]:not([aria-disabled])").wait_for()
        question = page.locator("#question").inner_text()
        wanted = text.inner_text() == SENTENCE and question == QUESTION
        if wanted:
            break
        page.get_by_label("No answer").check()
        page.get_by_role("button", name="Submit").click()
        page.get_by_role("button", name="Continue").click()
    for first, last in (("Bank", "Tonga"), ("Pacific", "Tuna")):
        text.get_by_text(first, exact=True).click()
        text.get_by_text(last, exact=True).click()
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("button", name="Continue").wait_for()
    page.wait_for_timeout(1500)  # it ignores early presses
    take(page, "reveal", 640)


def main() -> None:
    from analysis.export import screenshots

    (DOCS / "pictures").mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="handful-docs-") as folder,
        demo(Path(folder)) as root,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=screenshots.browser())
        researcher = visit(browser, f"{root}/")
        sign_in(researcher, (Path(folder) / "var" / "demo-password.txt").read_text())
        for name, (address, heading, height) in PAGES.items():
            researcher.goto(root + address)
            # The page of the analysis advances its job.
            researcher.locator("form.job").wait_for(state="detached", timeout=PATIENCE * 1000)
            take(researcher, name, height, heading)
        researcher.goto(f"{root}/studies/reveal/recruit/")
        link = researcher.locator("#study-link").input_value()
        reveal(visit(browser, f"{root}/"), link)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
