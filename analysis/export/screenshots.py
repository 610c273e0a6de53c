"""Pictures of the pages that annotators saw, taken by Playwright with an installed Chromium.

Playwright is optional (the extra `pictures`) and does not download a browser: it uses one on the
path, or the one given.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders

from tasks.answers import KINDS

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Added to Playwright's own flags, which include: headless, no sandbox (only our files are opened,
# and as root Chromium needs it), no background services.
FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--allow-file-access-from-files",  # for modules in local files
)
SCRIPTS = "".join(
    f'<script type="module" src="../js/{name}.js"></script>\n'
    for name in (*sorted({kind.element for kind in KINDS.values()}), "label-search", "work")
)
PATIENCE = 30  # seconds per browser step


class PictureError(Exception):
    """Taking pictures failed; the message is shown to users."""


# Name to the options of its pages in Playwright.
DEVICES: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1280, "height": 800}, "device_scale_factor": 1},
    "phone": {
        "viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True,
        "has_touch": True,
    },
}  # fmt: skip


def browser() -> str | None:
    """Return the Chromium on the path, if there is one."""
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


def take(folder: Path, path: str) -> list[Path]:
    """Take a picture of each page of `folder`, with scripts, on each device; return the PNGs.

    They are NAME-DEVICE.png in `folder`; styles are in ../style. All pictures are deleted if it
    raises PictureError.
    """
    pages = sorted(folder.glob("*.html"))
    with tempfile.TemporaryDirectory(prefix="handful-pictures-") as temporary:
        copies = _with_scripts(pages, folder.parent / "style", Path(temporary))
        shots = {
            device: [(copy, folder / f"{copy.stem}-{device}.png") for copy in copies]
            for device in DEVICES
        }
        pictures = [png for pairs in shots.values() for _copy, png in pairs]
        # In a separate thread, as Playwright runs an event loop, in which Django refuses queries.
        with ThreadPoolExecutor(max_workers=1) as executor:
            try:
                executor.submit(_photograph, shots, path).result()
            except (OSError, PictureError) as error:
                for png in pictures:
                    png.unlink(missing_ok=True)
                raise PictureError(f"{path} created no screenshots: {error}") from None
    return pictures


def print_report(html: Path, path: str) -> Path:
    """Print a document as A4 with page numbers, as a PDF of the same name. Raises PictureError."""
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
    """Yield the open browser; raises PictureError for any error in it."""
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


def _photograph(shots: Mapping[str, Sequence[tuple[Path, Path]]], path: str) -> None:
    """Open the copies (first of each pair) on each device; write the PNGs (second)."""
    with _opened(path) as browser:
        for device, pairs in shots.items():
            page = browser.new_page(**DEVICES[device], color_scheme="light")
            page.set_default_timeout(PATIENCE * 1000)
            for copy, png in pairs:
                page.goto(copy.as_uri())
                page.screenshot(path=png, full_page=True)


def _reason(message: str) -> str:
    """Return the first line of Playwright's message, and the last line that the browser wrote."""
    lines = message.partition("\nCall log:")[0].splitlines()
    written = [line.partition("[err] ")[2] for line in lines if "[err] " in line]
    return ": ".join([lines[0], *written[-1:]])


def _with_scripts(pages: Sequence[Path], style: Path, target: Path) -> list[Path]:
    """Copies of the pages with the scripts of annotators' pages."""
    shutil.copytree(style, target / "style")
    scripts = finders.find("js")
    assert scripts is not None  # part of the source code
    shutil.copytree(scripts, target / "js")
    (target / "seen").mkdir()
    copies = [target / "seen" / page.name for page in pages]
    for page, copy in zip(pages, copies, strict=True):
        html = page.read_text(encoding="utf-8").replace("</head>", f"{SCRIPTS}</head>", 1)
        copy.write_text(html, encoding="utf-8")
    return copies
