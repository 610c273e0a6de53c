"""Screenshots of the annotators' pages, taken with Playwright and an installed Chromium.

Playwright is optional (the `pictures` extra). Browsers are never downloaded: Playwright uses the
browser that it is given, or the first one on the path.
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
# These flags are added to Playwright's own, which include headless mode and no sandbox. Chromium
# cannot use its sandbox as root, and it only opens our own files here.
FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--allow-file-access-from-files",  # for JavaScript modules in local files
)
SCRIPTS = "".join(
    f'<script type="module" src="../js/{name}.js"></script>\n'
    for name in (*sorted({kind.element for kind in KINDS.values()}), "label-search", "work")
)
PATIENCE = 30  # seconds allowed for each step in the browser


class PictureError(Exception):
    """Raised if screenshots cannot be taken. The message is shown to users."""


# Maps the name of a device to Playwright's options for its pages.
DEVICES: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1280, "height": 800}, "device_scale_factor": 1},
    "phone": {
        "viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True,
        "has_touch": True,
    },
}  # fmt: skip


def browser() -> str | None:
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


def take(folder: Path, path: str) -> list[Path]:
    """Take a screenshot of each page in `folder` on each device and return the PNG paths.

    Pictures are saved as NAME-DEVICE.png in `folder`. Styles are in ../style. If PictureError is
    raised, all screenshots are deleted.
    """
    pages = sorted(folder.glob("*.html"))
    with tempfile.TemporaryDirectory(prefix="handful-pictures-") as temporary:
        copies = _with_scripts(pages, folder.parent / "style", Path(temporary))
        shots = {
            device: [(copy, folder / f"{copy.stem}-{device}.png") for copy in copies]
            for device in DEVICES
        }
        pictures = [png for pairs in shots.values() for _copy, png in pairs]
        # Django refuses queries where an event loop is running, as in Playwright, so use a thread.
        with ThreadPoolExecutor(max_workers=1) as executor:
            try:
                executor.submit(_photograph, shots, path).result()
            except (OSError, PictureError) as error:
                for picture in pictures:
                    picture.unlink(missing_ok=True)
                raise PictureError(f"{path} created no screenshots: {error}") from None
    return pictures


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    """Open the browser. Raises PictureError if anything done with it fails."""
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
    """Open each copy on each device and save it as a PNG. Pairs contain (copy, PNG path)."""
    with _opened(path) as browser:
        for device, pairs in shots.items():
            page = browser.new_page(**DEVICES[device], color_scheme="light")
            page.set_default_timeout(PATIENCE * 1000)
            for copy, png in pairs:
                page.goto(copy.as_uri())
                page.screenshot(path=png, full_page=True)


def _reason(message: str) -> str:
    lines = message.partition("\nCall log:")[0].splitlines()
    errors = [line.partition("[err] ")[2] for line in lines if "[err] " in line]
    return ": ".join([lines[0], *errors[-1:]])


def _with_scripts(pages: Sequence[Path], style: Path, target: Path) -> list[Path]:
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
