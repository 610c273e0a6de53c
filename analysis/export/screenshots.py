"""Pictures of the pages that annotators saw, taken by Playwright with this machine's Chromium.

Playwright is optional (the extra `pictures`) and downloads nothing here: the browser is one that is
on the path, or the one that is named.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders

from annotation.pages.worker.question import WIDGETS

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Beside what Playwright starts it with: headless, without a sandbox (it shows our own files alone,
# and would not start for root), nothing in the background.
FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--allow-file-access-from-files",  # else it loads no modules from a disk
)
SCRIPTS = "".join(
    f'<script type="module" src="../js/{name}.js"></script>\n'
    for name in (*sorted({widget.element for widget in WIDGETS.values()}), "label-search", "work")
)
PATIENCE = 30  # seconds for one step of the browser


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
    with tempfile.TemporaryDirectory(prefix="handful-pictures-") as temporary:
        copies = _with_scripts(pages, folder.parent / "style", Path(temporary))
        shots = {
            device: [(copy, folder / f"{copy.stem}-{device.name}.png") for copy in copies]
            for device in DEVICES
        }
        pictures = [png for pairs in shots.values() for _copy, png in pairs]
        # In a thread of its own: Playwright runs an event loop, where Django refuses the database.
        with ThreadPoolExecutor(max_workers=1) as executor:
            try:
                executor.submit(_photograph, shots, path).result()
            except (OSError, PictureError) as error:
                for png in pictures:
                    png.unlink(missing_ok=True)
                raise PictureError(f"{path} made no pictures: {error}") from None
    return pictures


def print_report(html: Path, path: str) -> Path:
    """Print a document as A4, beside it as PDF, page numbers and all. Raises PictureError."""
    pdf = html.with_suffix(".pdf")
    with ThreadPoolExecutor(max_workers=1) as executor:
        try:
            executor.submit(_print, html, pdf, path).result()
        except (OSError, PictureError) as error:
            pdf.unlink(missing_ok=True)
            raise PictureError(f"{path} printed nothing: {error}") from None
    return pdf


def _print(html: Path, pdf: Path, path: str) -> None:
    with _opened(path) as browser:
        page = browser.new_page(color_scheme="light")
        page.set_default_timeout(PATIENCE * 1000)
        page.goto(html.absolute().as_uri())
        page.pdf(path=pdf, prefer_css_page_size=True, print_background=True)


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    """The browser, open; raises PictureError for whatever goes wrong in it."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        raise PictureError("Playwright is not installed (pip install playwright).") from None
    try:
        with (
            sync_playwright() as playwright,
            playwright.chromium.launch(
                executable_path=path, args=FLAGS, timeout=PATIENCE * 1000
            ) as browser,
        ):
            yield browser
    except Error as error:
        raise PictureError(_reason(error.message)) from None


def _photograph(shots: Mapping[Device, Sequence[tuple[Path, Path]]], path: str) -> None:
    """Open the copies (first of each pair) on each device; write the PNGs (second)."""
    with _opened(path) as browser:
        for device, pairs in shots.items():
            page = browser.new_page(
                viewport={"width": device.width, "height": device.height},
                device_scale_factor=device.dots,
                is_mobile=device.touch,
                has_touch=device.touch,
                color_scheme="light",
            )
            page.set_default_timeout(PATIENCE * 1000)
            for copy, png in pairs:
                page.goto(copy.as_uri())
                page.screenshot(path=png, full_page=True)


def _reason(message: str) -> str:
    """What Playwright says first, and the last line that the browser wrote before it ended."""
    lines = message.partition("\nCall log:")[0].splitlines()
    written = [line.partition("[err] ")[2] for line in lines if "[err] " in line]
    return ": ".join([lines[0], *written[-1:]])


def _with_scripts(pages: Sequence[Path], style: Path, target: Path) -> list[Path]:
    """Copies of the pages with the scripts that annotators' pages have."""
    shutil.copytree(style, target / "style")
    scripts = finders.find("js")
    assert scripts is not None  # they are ours
    shutil.copytree(scripts, target / "js")
    (target / "seen").mkdir()
    copies = [target / "seen" / page.name for page in pages]
    for page, copy in zip(pages, copies, strict=True):
        html = page.read_text(encoding="utf-8").replace("</head>", f"{SCRIPTS}</head>", 1)
        copy.write_text(html, encoding="utf-8")
    return copies
