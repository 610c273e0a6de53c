"""Compare twelve states of the annotator's pages with the pictures in `states/`.

Pictures are scaled to a quarter before the comparison, so that slight differences in font
smoothing between browser versions don't matter. `make states` takes new pictures; review them
before you commit. The pages use Noto fonts and test data, and hide times.
"""

import io
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image, ImageChops
from playwright.sync_api import Page, expect

from annotation.models import Participation
from tasks.formats import Record
from tests import factories
from tests.browser.conftest import Desk, seat_before, settle

PICTURES = Path(__file__).parent / "states"
SHRUNK = 4  # page pixels per side of one compared pixel
VISIBLE = 24  # of 255; smaller differences are ignored
MOST = 0.004  # share of compared pixels that may differ, about two words in a paragraph

FONTS = ("NotoSans-", "NotoSansArabic-", "NotoSansCJK-")  # prefixes of file names
DESKTOP = {"viewport": {"width": 1366, "height": 657}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
LOOK = {"reduced_motion": "reduce", "bypass_csp": True}
# Use one font for all languages, and hide text that depends on time or chance.
FIXED = """
  :root { --font: "Noto Sans", "Noto Sans Arabic", "Noto Sans CJK SC",
                  "Noto Sans Symbols2" !important; }
  .turn-left, .visit-numbers dd, .code { visibility: hidden !important; }
"""

ENGLISH = (
    "Anna Berg of Northwind told reporters in Oslo that the ferry to Bergen leaves on Sunday.",
    "The choir of Saint Clare sang in Lima and in Quito before it went home to Turin.",
)
ARABIC = ("سافرت ليلى حداد من القاهرة إلى بيروت يوم الأحد مع فريق النهر.",)
PLACES = {"title": "Places", "question_selectable": False}


def span_seat(
    researcher,
    texts=ENGLISH,
    asked="Which places are named?",
    gold=("Oslo", "Bergen"),
    interface="en",
    **card,
) -> Participation:
    """Seat a participant at these training texts, with this interface language."""
    records = [
        Record(f"s{index}", (text,), asked, tuple(gold), None) for index, text in enumerate(texts)
    ]
    study = {"title": "Places in the news", "interface_language": interface}
    return seat_before(researcher, PLACES | card, records, True, **study)


def label_seat(researcher) -> Participation:
    records = [
        Record("l0", ("The soup was cold, and nobody said sorry.",), "How does the writer feel?",
               ("negative",), None),
        Record("l1", ("A feast from the first spoon on.",), "How does the writer feel?",
               ("positive",), None),
    ]  # fmt: skip
    card = {
        "name": "toy-feeling",
        "title": "Feeling",
        "labels": factories.LABELS,
        "submit_hint": "Choose how the writer feels, then submit.",
    }
    return seat_before(researcher, card, records, True, title="Feelings about food")


def mark(desk: Desk, *words: str) -> Desk:
    for word in words:
        desk.word(word).dblclick()
    return desk


def landing(page: Page, researcher) -> None:
    task = factories.make_task(train={2: factories.place_records("a", 2)}, shots=[], **PLACES)
    study = factories.make_study(
        researcher, task, shots=[2], title="Places in the news", hourly_rate=12
    )
    page.goto(f"/work/{factories.join(study).token}/")


def question(page: Page, researcher) -> Desk:
    return mark(Desk(page, span_seat(researcher)), "Oslo", "Northwind")


def reveal(page: Page, researcher) -> Desk:
    desk = question(page, researcher)
    desk.reveal()
    return desk


def label_question(page: Page, researcher) -> Desk:
    desk = Desk(page, label_seat(researcher))
    page.locator("[name=label]").first.check(force=True)
    return desk


def label_reveal(page: Page, researcher) -> None:
    label_question(page, researcher).reveal()


def review(page: Page, researcher) -> None:
    desk = Desk(page, span_seat(researcher, ENGLISH[:1]))
    mark(desk, "Oslo").reveal()
    desk.submit()
    page.wait_for_selector("[data-state=review]")


def drawer(page: Page, researcher) -> None:
    question(page, researcher)
    page.locator("#help summary").first.click()


def arabic_question(page: Page, researcher) -> Desk:
    card = {"language": "ar", "direction": "rtl", "instructions": "حدد كل مكان."}
    asked, gold = "ما الأماكن المذكورة؟", ("القاهرة", "بيروت")
    seat = span_seat(researcher, ARABIC, asked, gold, interface="ar", title="الأماكن", **card)
    return mark(Desk(page, seat), "ليلى")


def arabic_reveal(page: Page, researcher) -> None:
    arabic_question(page, researcher).reveal()


DARK = {"color_scheme": "dark"}
STATES: dict[str, tuple[Callable[..., object], dict]] = {
    "landing": (landing, PHONE),
    "question": (question, DESKTOP),
    "question-dark": (question, DESKTOP | DARK),
    "question-phone": (question, PHONE),
    "reveal": (reveal, DESKTOP),
    "reveal-phone-dark": (reveal, PHONE | DARK),
    "label-forced-colours": (label_question, DESKTOP | {"forced_colors": "active"}),
    "label-reveal": (label_reveal, DESKTOP),
    "review": (review, DESKTOP),
    "drawer": (drawer, DESKTOP),
    "arabic-question": (arabic_question, DESKTOP),
    "arabic-reveal-phone": (arabic_reveal, PHONE),
}


@pytest.fixture(scope="module", autouse=True)
def letters() -> None:
    """Check that the pictures' fonts are installed."""
    installed = subprocess.run(["fc-list"], capture_output=True, text=True, check=True).stdout
    if missing := [name for name in FONTS if name not in installed]:
        raise pytest.UsageError(f"{missing}: apt-get install fonts-noto-core fonts-noto-cjk")


def take(page: Page) -> Image.Image:
    page.add_style_tag(content=FIXED)
    page.evaluate("document.fonts.ready")
    page.mouse.move(0, 0)
    expect(page.locator(".turn-go[aria-disabled]")).to_have_count(0)  # until it accepts presses
    settle(page)
    return Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB")


def share_that_differs(taken: Image.Image, kept: Image.Image) -> float:
    """Return the share of reduced pixels that differ visibly; 1 if the sizes differ."""
    if taken.size != kept.size:
        return 1.0
    small = [picture.reduce(SHRUNK) for picture in (taken, kept)]
    bands = ImageChops.difference(*small).split()
    largest = ImageChops.lighter(ImageChops.lighter(bands[0], bands[1]), bands[2])
    return sum(largest.histogram()[VISIBLE + 1 :]) / (largest.width * largest.height)


@pytest.mark.parametrize("state", STATES)
def test_the_page_matches_its_stored_picture(open_browser, researcher, request, tmp_path, state):
    reach, options = STATES[state]
    page = open_browser(**{"color_scheme": "light"} | options | LOOK)
    reach(page, researcher)
    taken = take(page)
    path = PICTURES / f"{state}.png"
    if request.config.getoption("--renew-states"):
        taken.quantize(64).save(path, optimize=True)
    kept = Image.open(path).convert("RGB")
    differing = share_that_differs(taken, kept)
    seen = tmp_path / f"{state}.png"
    taken.save(seen)
    assert differing <= MOST, f"{differing:.1%} of {state} differs: compare {path} with {seen}"


def test_the_position_in_the_review_is_not_cut(open_browser, researcher):
    page = open_browser(**DESKTOP)
    review(page, researcher)
    assert page.locator("[data-progress]").evaluate("e => e.scrollWidth - e.clientWidth") <= 0


@pytest.mark.parametrize(
    "change",
    [
        ".turn-panel { translate: 0 6px }",
        "[data-text] .hl-chosen { background: none !important; box-shadow: none !important }",
        ".hl-chip { visibility: hidden }",
    ],
)
def test_a_changed_page_differs_from_its_picture(open_browser, researcher, change):
    page = open_browser(**{"color_scheme": "light"} | DESKTOP | LOOK)
    question(page, researcher)
    before = take(page)
    page.add_style_tag(content=change)
    assert share_that_differs(take(page), before) > MOST
