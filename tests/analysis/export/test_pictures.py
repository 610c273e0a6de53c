"""Screenshots of what annotators saw: whole pages as on a desktop and on a phone."""

import io
import struct
import sys
import zlib
from pathlib import Path

import pytest
from django.core.management import call_command

from analysis.export import pages_seen, screenshots
from tasks.models import Example
from tests import factories
from tests.annotation.protocol.test_no_gold_leaks import GOLDS, records

pytestmark = pytest.mark.long

# The underline of a right answer (--right in tokens.css).
GREEN = bytes.fromhex("11693a")
NAMES = ("instructions", "question", "reveal")


@pytest.fixture
def study(researcher):
    """A span task at 0 and 2 shots, with a question about the instructions."""
    return factories.make_study(
        researcher, factories.make_task(test_size=2),
        comprehension_questions="What is wanted?\n* places\n- people",
    )  # fmt: skip


def released(study, target: Path, *options: str) -> tuple[Path, str]:
    """Release the study; return the folder and the errors that the command printed."""
    errors = io.StringIO()
    call_command(
        "release_study", study.name, str(target), *options, stdout=io.StringIO(), stderr=errors
    )
    return target, errors.getvalue()


def readme(bundle: Path) -> str:
    return " ".join((bundle / "README.md").read_text().split())


def pixels(path: Path) -> tuple[int, int, list[bytes]]:
    """Return (width, height, three bytes per pixel) of a PNG with eight bits and no alpha."""
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height, *kind = struct.unpack(">IIBBBBB", content[16:29])
    assert kind == [8, 2, 0, 0, 0]
    packed, at = b"", 8
    while at < len(content):
        (length,) = struct.unpack(">I", content[at : at + 4])
        if content[at + 4 : at + 8] == b"IDAT":
            packed += content[at + 8 : at + 8 + length]
        at += length + 12
    raw, size, colours = zlib.decompress(packed), 3 * width, []
    above = bytes(size)
    for start in range(0, len(raw), size + 1):
        above = unfiltered(raw[start], raw[start + 1 : start + 1 + size], above)
        colours += [above[i : i + 3] for i in range(0, size, 3)]
    assert len(colours) == width * height
    return width, height, colours


def unfiltered(kind: int, line: bytes, above: bytes) -> bytes:
    """Undo the filter of a row with three bytes per pixel (PNG specification, section 9)."""
    row = bytearray(line)
    for i, value in enumerate(line):
        left, up = row[i - 3] if i > 2 else 0, above[i]
        corner = above[i - 3] if i > 2 else 0
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = up
        elif kind == 3:
            guess = (left + up) // 2
        elif kind == 4:
            near = left + up - corner
            guess = min((left, up, corner), key=lambda near_by: abs(near - near_by))
        else:
            guess = 0
        row[i] = (value + guess) % 256
    return bytes(row)


@pytest.mark.browser
def test_the_bundle_has_desktop_and_phone_pictures_of_each_page(study, tmp_path):
    bundle, errors = released(study, tmp_path / "out")
    assert errors == ""
    pages = {path.stem for path in (bundle / "seen").glob("*.html")}
    assert pages == {"consent", *(f"toy-places-{name}" for name in NAMES)}
    pictures = {path.stem: path for path in (bundle / "seen").glob("*.png")}
    assert set(pictures) == {
        f"{page}-{device}" for page in pages for device in ("desktop", "phone")
    }
    for name, path in pictures.items():
        width, height = struct.unpack(">II", path.read_bytes()[16:24])
        # A phone has two by two dots per pixel of the page.
        assert width == (1280 if name.endswith("desktop") else 780)
        assert height >= (800 if name.endswith("desktop") else 1688)
    listed = (bundle / "SHA256SUMS.bundle").read_text()
    assert "seen/toy-places-reveal-phone.png" in listed
    assert "-phone.png" in readme(bundle)


@pytest.mark.browser
def test_only_a_reveal_picture_shows_the_right_answer_colour(study, tmp_path):
    bundle, _said = released(study, tmp_path / "out")
    shown = {
        name: set(pixels(bundle / "seen" / f"toy-places-{name}-desktop.png")[2])
        for name in ("question", "reveal")
    }
    assert len(shown["question"]) > 20
    assert GREEN in shown["reveal"]
    assert GREEN not in shown["question"]


@pytest.mark.browser
def test_a_picture_of_a_long_page_covers_all_of_it(researcher, tmp_path):
    long = factories.make_task(instructions="Read.\n\n" * 60, test_size=2)
    study = factories.make_study(researcher, long, shots=[0])
    bundle, _said = released(study, tmp_path / "out")
    width, height, colours = pixels(bundle / "seen" / "toy-places-instructions-desktop.png")
    assert height > 2000
    # The last part isn't blank: it shows the end of the page with the start button and the link.
    assert len(set(colours[-400 * width :])) > 20


@pytest.mark.browser
def test_a_picture_is_made_with_scripts_but_the_page_has_none(study, tmp_path, monkeypatch):
    with_scripts, _said = released(study, tmp_path / "one")
    monkeypatch.setattr(screenshots, "SCRIPTS", "")
    without, _said = released(study, tmp_path / "two")
    name = "seen/toy-places-question-desktop.png"
    assert (with_scripts / name).read_bytes() != (without / name).read_bytes()
    assert "<script" not in (with_scripts / "seen" / "toy-places-question.html").read_text()


def test_without_a_browser_the_bundle_says_how_to_make_pictures(study, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    bundle, errors = released(study, tmp_path / "out")
    assert "Chromium is not on the path" in errors
    assert list((bundle / "seen").glob("*.png")) == []
    assert "The bundle contains no screenshots of these pages. To create them, open and" in readme(
        bundle
    )


def test_pictures_can_be_left_out(study, tmp_path):
    bundle, errors = released(study, tmp_path / "out", "--no-pictures")
    assert errors == ""
    assert list((bundle / "seen").glob("*.png")) == []


@pytest.mark.parametrize(
    ("script", "reason"),
    [("echo no display here >&2; exit 3", "no display here"), ("exec sleep 60", "Timeout 1000ms")],
)
def test_a_broken_browser_is_reported_and_the_bundle_is_made(
    study, tmp_path, monkeypatch, script, reason
):
    monkeypatch.setattr(screenshots, "PATIENCE", 1)
    broken = tmp_path / "broken"
    broken.write_text(f"#!/bin/sh\n{script}\n")
    broken.chmod(0o755)
    bundle, errors = released(study, tmp_path / "out", "--browser", str(broken))
    assert f"{broken} created no screenshots: " in errors
    assert reason in errors
    assert (bundle / "verify.txt").read_text().endswith("no external hash was given.\n")
    assert "The bundle contains no screenshots" in readme(bundle)


def test_a_missing_browser_is_reported(study, tmp_path):
    _bundle, errors = released(study, tmp_path / "out", "--browser", str(tmp_path / "nothing"))
    assert "nothing created no screenshots: " in errors
    assert "executable doesn't exist" in errors


def test_without_playwright_the_bundle_says_how_to_make_pictures(study, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)  # as if it were not installed
    bundle, errors = released(study, tmp_path / "out", "--browser", "chromium")
    assert "Playwright is not installed" in errors
    assert "The bundle contains no screenshots of these pages. To create them, open and" in readme(
        bundle
    )


# The pages ----------------------------------------------------------------------------------------


def pages_with(researcher, gold) -> dict[str, str]:
    task = factories.make_task(
        name=f"toy-{len(gold[0])}", train={3: records("train", gold)}, shots=[],
        test=records("test", gold),
    )  # fmt: skip
    study = factories.make_study(researcher, task, shots=[0, 3])
    return {name.removeprefix(task.name): html for name, html in pages_seen.pages(study).items()}


def test_other_gold_changes_only_the_reveal_page(researcher):
    pages, other = (pages_with(researcher, gold) for gold in GOLDS)
    assert set(pages) == {"consent", "-instructions", "-question", "-reveal"}
    differing = {name for name in pages if pages[name] != other[name]}
    assert differing == {"-reveal"}


def test_the_reveal_is_of_an_example_that_has_an_answer(study):
    html = pages_seen.pages(study)["toy-places-reveal"]
    shown = Example.objects.get(split__kind="train", split__shots=2, position=1)
    assert shown.gold
    assert "Training, example 2 of 2" in html
    assert 'data-verdict="right" class="reveal-mark reveal-right' in html


def test_help_examples_are_shown_only_where_annotators_had_them(researcher):
    labels = factories.make_task(labels=factories.LABELS)
    zero = factories.make_study(researcher, labels, shots=[0, 2])
    two = factories.make_study(researcher, labels, shots=[2])
    assert "I loved the soup." not in pages_seen.pages(zero)["toy-places-question"]
    assert "I loved the soup." in pages_seen.pages(two)["toy-places-question"]


def test_instructions_are_those_of_the_fewest_shots(study):
    html = pages_seen.pages(study)["toy-places-instructions"]
    assert "examples (right answers not shown)." in " ".join(html.split())
    assert "Training:" not in html
    assert "What is wanted?" in html
    assert "/work/" not in html
