"""Pictures of the pages that annotators saw, taken by a Chromium that is on this machine.

The browser is driven over its DevTools pipe (--remote-debugging-pipe: JSON messages that end with a
zero byte), as `--screenshot` knows neither the height of a page nor a window as narrow as a phone.
https://chromedevtools.github.io/devtools-protocol/
"""

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--headless",
    "--no-sandbox",  # it shows nothing but our own files, and would not start for root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--allow-file-access-from-files",  # else it loads no modules from a disk
    "--remote-debugging-pipe",
]
# Its pipe is on the descriptors 3 and 4; ours are the only ones that every shell can hand on.
TO_PIPE = 'exec "$0" "$@" 3<&0 4>&1 >/dev/null'
SCRIPTS = "".join(
    f'<script type="module" src="../js/{name}.js"></script>\n'
    for name in ("span-answer", "label-answer", "work")
)
PATIENCE = 30  # seconds for one reply of the browser


class PictureError(Exception):
    """Why there are no pictures; the text is for people."""


@dataclass(frozen=True)
class Device:
    """A screen: its size in CSS pixels, how many dots make one of them, and whether by touch."""

    name: str
    width: int
    height: int
    dots: int
    touch: bool


DEVICES = (Device("desktop", 1280, 800, 1, False), Device("phone", 390, 844, 2, True))


def browser() -> str | None:
    """The Chromium that is on the path, if there is one."""
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


def take(folder: Path, path: str) -> list[Path]:
    """Picture every page of `folder`, with scripts, whole, on each device; return the PNGs.

    They are NAME-DEVICE.png beside the pages, whose styles lie in ../style. Raises PictureError,
    and then leaves none behind.
    """
    pages = sorted(folder.glob("*.html"))
    made: list[Path] = []
    with tempfile.TemporaryDirectory(prefix="handful-pictures-") as temporary:
        copies = _with_scripts(pages, folder.parent / "style", Path(temporary))
        try:
            with _Browser(path, Path(temporary) / "profile") as one:
                for device in DEVICES:
                    one.become(device)
                    for page, copy in zip(pages, copies, strict=True):
                        made.append(page.with_name(f"{page.stem}-{device.name}.png"))
                        made[-1].write_bytes(one.picture(copy.as_uri(), device))
        except (OSError, PictureError) as error:
            for picture in made:
                picture.unlink(missing_ok=True)
            raise PictureError(f"{path} made no pictures: {error}") from None
    return made


def _with_scripts(pages: Sequence[Path], style: Path, target: Path) -> list[Path]:
    """Copies of the pages with the scripts that annotators' pages have."""
    shutil.copytree(style, target / "style")
    shutil.copytree(finders.find("js"), target / "js")
    (target / "seen").mkdir()
    copies = [target / "seen" / page.name for page in pages]
    for page, copy in zip(pages, copies, strict=True):
        html = page.read_text(encoding="utf-8").replace("</head>", f"{SCRIPTS}</head>", 1)
        copy.write_text(html, encoding="utf-8")
    return copies


class _Browser:
    """A headless Chromium with one tab; it ends with the block."""

    def __init__(self, path: str, profile: Path):
        self.numbers = itertools.count(1)
        self.read = b""
        self.session = ""
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the browser
        self.process = subprocess.Popen(
            ["sh", "-c", TO_PIPE, path, *FLAGS, f"--user-data-dir={profile}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
            start_new_session=True,
        )  # fmt: skip

    def __enter__(self) -> "_Browser":
        try:
            tab = self.ask("Target.createTarget", url="about:blank")["targetId"]
            attached = self.ask("Target.attachToTarget", targetId=tab, flatten=True)
            self.session = attached["sessionId"]
            self.ask("Page.enable")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error: Any) -> None:
        # It has helpers of its own, all in the session that was started for it.
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()
        self.errors.close()

    def become(self, device: Device) -> None:
        """Show pages as on that device."""
        self._size(device, device.height)
        self.ask("Emulation.setTouchEmulationEnabled", enabled=device.touch, maxTouchPoints=1)
        light = [{"name": "prefers-color-scheme", "value": "light"}]
        self.ask("Emulation.setEmulatedMedia", features=light)

    def picture(self, address: str, device: Device) -> bytes:
        """The whole page as PNG."""
        self._size(device, device.height)
        self.ask("Page.navigate", url=address)
        self._hear(lambda said: said.get("method") == "Page.loadEventFired")
        # Modules run before the load event; two frames later everything is drawn.
        drawn = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        self.ask("Runtime.evaluate", expression=drawn, awaitPromise=True)
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        self._size(device, max(device.height, round(size["height"])))
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])

    def _size(self, device: Device, height: int) -> None:
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=device.width, height=height,
            deviceScaleFactor=device.dots, mobile=device.touch,
        )  # fmt: skip

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask for something and wait for the reply."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        assert self.process.stdin
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\0")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise PictureError(self._last_words()) from None
        reply = self._hear(lambda said: said.get("id") == number)
        if "error" in reply:
            raise PictureError(f"{method}: {reply['error'].get('message')}")
        return reply["result"]

    def _hear(self, wanted) -> dict[str, Any]:
        """The next message of that sort; others are events that nobody waits for."""
        until = time.monotonic() + PATIENCE
        while True:
            message, end, rest = self.read.partition(b"\0")
            if end:
                self.read = rest
                try:
                    said = json.loads(message)
                except ValueError:
                    raise PictureError("it does not speak the language of Chromium.") from None
                if wanted(said):
                    return said
            else:
                self.read += self._more(until)

    def _more(self, until: float) -> bytes:
        assert self.process.stdout
        left = until - time.monotonic()
        if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
            raise PictureError(f"it did not reply within {PATIENCE} seconds.")
        found = os.read(self.process.stdout.fileno(), 1 << 20)
        if not found:
            raise PictureError(self._last_words())
        return found

    def _last_words(self) -> str:
        """The last line that it wrote before it ended."""
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        return f"it ended: {lines[-1] if lines else 'without a word.'}"
