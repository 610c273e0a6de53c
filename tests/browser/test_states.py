"""Compare twelve states of the annotator's pages, in four looks, with the pictures in `states/`.

Pictures are scaled to a quarter before the comparison, so that slight differences in font
smoothing between browser versions don't matter. `make states` takes new pictures; review them
before you commit. The pages use Noto fonts and test data, and hide times.
"""

import io
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from PIL import Image, ImageChops
from playwright.sync_api import Page, expect

from annotation.models import Study
from tasks.formats import Record
from tests import factories
from tests.browser.conftest import Desk, settle

PICTURES = Path(__file__).parent / "states"
SHRUNK = 4  # page pixels per side of one compared pixel
VISIBLE = 24  # of 255; smaller differences are ignored
MOST = 0.004  # share of compared pixels that may differ, about two words in a paragraph

FONTS = ("NotoSans-", "NotoSansArabic-", "NotoSansCJK-")  # prefixes of file names
LAPTOP = {"viewport": {"width": 1366, "height": 657}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
LOOKS = {"laptop": LAPTOP, "phone": PHONE, "arabic": LAPTOP}
STILL = {"reduced_motion": "reduce", "bypass_csp": True}
# Use one font for all languages, and hide text that depends on time or chance.
FIXED = """
  :root { --font: "Noto Sans", "Noto Sans Arabic", "Noto Sans CJK SC",
                  "Noto Sans Symbols2" !important; }
  .turn-left, .visit-numbers dd:not(.visit-words), [data-copy] :is(input, output) {
    visibility: hidden !important;
  }
"""


class Story(NamedTuple):
    """The texts of a study in one language; an annotator marks `marked` in the first text."""

    language: str
    title: str
    description: str
    consent: str
    instructions: str
    texts: tuple[str, ...]
    asked: str
    gold: tuple[tuple[str, ...], ...]
    marked: tuple[str, ...]
    feeling: str
    feeling_hint: str
    meals: tuple[str, ...]
    labels: dict[str, str]


ENGLISH = Story(
    "en",
    "Places in the news",
    "Find the places in news sentences.",
    "We study how well people find places. Taking part is voluntary.",
    "Highlight each place.",
    (
        "Anna Berg of Northwind told reporters in Oslo that the ferry to Bergen leaves on Sunday.",
        "The choir of Saint Clare sang in Lima and in Quito before it went home to Turin.",
    ),
    "Which places are named?",
    (("Oslo", "Bergen"), ("Lima", "Quito", "Turin")),
    ("Oslo", "Northwind"),
    "How does the writer feel?",
    "Choose the feeling, then submit.",
    ("The soup was cold, and nobody said sorry.", "A feast from the first spoon on."),
    {"negative": "The writer dislikes it.", "positive": "The writer likes it."},
)
ARABIC = Story(
    "ar",
    "الأماكن في الأخبار",
    "ابحث عن الأماكن في جمل إخبارية.",
    "ندرس مدى إجادة الناس لإيجاد الأماكن. المشاركة طوعية.",
    "حدد كل مكان.",
    (
        "سافرت ليلى حداد من القاهرة إلى بيروت يوم الأحد مع فريق النهر.",
        "غنت الجوقة في تونس قبل أن تعود إلى دمشق.",
    ),
    "ما الأماكن المذكورة؟",
    (("القاهرة", "بيروت"), ("تونس", "دمشق")),
    ("بيروت", "ليلى"),
    "ما شعور الكاتب؟",
    "اختر الشعور ثم أرسل.",
    ("كان الحساء باردًا ولم يعتذر أحد.", "وليمة من أول ملعقة."),
    {"سلبي": "لم يعجب الكاتب.", "إيجابي": "أعجب الكاتب."},
)


def spoken(story: Story) -> dict[str, str]:
    direction = "rtl" if story.language == "ar" else "ltr"
    return {
        "title": story.title,
        "description": story.description,
        "language": story.language,
        "direction": direction,
    }


def places(story: Story) -> tuple[dict[str, Any], list[Record]]:
    card = {
        "question_selectable": False,
        "instructions": story.instructions,
        "submit_hint": story.instructions,
    }
    records = [
        Record(f"s{index}", (text,), story.asked, gold, None)
        for index, (text, gold) in enumerate(zip(story.texts, story.gold, strict=True))
    ]
    return card | spoken(story), records


def feelings(story: Story) -> tuple[dict[str, Any], list[Record]]:
    card = {
        "name": "toy-feeling",
        "labels": [
            {"name": name, "definition": meaning, "example": meal}
            for (name, meaning), meal in zip(story.labels.items(), story.meals, strict=True)
        ],
        "submit_hint": story.feeling_hint,
    }
    records = [
        Record(f"l{index}", (text,), story.feeling, (label,), None)
        for index, (text, label) in enumerate(zip(story.meals, story.labels, strict=True))
    ]
    return card | spoken(story), records


def study_of(researcher, story: Story, task=places) -> Study:
    """Create a study with one training example and one test example."""
    card, records = task(story)
    made = factories.make_task(train={1: records[:1]}, shots=[], test=records[1:], **card)
    return factories.make_study(
        researcher,
        made,
        shots=[1],
        title=story.title,
        interface_language=story.language,
        consent_text=story.consent,
        hourly_rate=12,
    )


def desk(page: Page, researcher, story: Story, task=places) -> Desk:
    return Desk(page, factories.seat(study_of(researcher, story, task).scenarios.get()))


def landing(page: Page, researcher, story: Story) -> None:
    page.goto(f"/join/{study_of(researcher, story).link_code}/")


def consent(page: Page, researcher, story: Story) -> None:
    page.goto(f"/work/{factories.join(study_of(researcher, story)).token}/")


def instructions(page: Page, researcher, story: Story) -> None:
    consent(page, researcher, story)
    page.locator("button[value=yes]").click()
    page.locator(".visit-side").wait_for()


def question(page: Page, researcher, story: Story) -> Desk:
    asked = desk(page, researcher, story)
    for word in story.marked:
        asked.word(word).dblclick()
    return asked


def reveal(page: Page, researcher, story: Story) -> None:
    question(page, researcher, story).reveal()


def drawer(page: Page, researcher, story: Story) -> None:
    question(page, researcher, story)
    page.locator("#help summary").first.click()


def label_question(page: Page, researcher, story: Story) -> Desk:
    asked = desk(page, researcher, story, feelings)
    page.locator("[name=label]").last.check(force=True)
    return asked


def label_reveal(page: Page, researcher, story: Story) -> None:
    label_question(page, researcher, story).reveal()


def review(page: Page, researcher, story: Story) -> Desk:
    asked = desk(page, researcher, story)
    asked.word(story.gold[0][0]).dblclick()
    asked.reveal()
    asked.submit()
    page.wait_for_selector("[data-state=review]")
    return asked


def main_part(page: Page, researcher, story: Story) -> None:
    asked = review(page, researcher, story)
    asked.submit()
    page.wait_for_selector("[data-state=question]")
    asked.ready()


def end(page: Page, researcher, story: Story) -> None:
    asked = desk(page, researcher, story)
    factories.work_through(asked.seat)
    page.goto(f"/work/{asked.seat.token}/")


def withdrawn(page: Page, researcher, story: Story) -> None:
    asked = desk(page, researcher, story)
    factories.work_through(asked.seat, limit=1)
    page.goto(f"/work/{asked.seat.token}/withdraw/")
    with page.expect_navigation():
        page.locator(".visit-erase").click()


REACH = {
    each.__name__.replace("_", "-"): each
    for each in (
        landing, consent, instructions, question, reveal, drawer,
        label_question, label_reveal, review, main_part, end, withdrawn,
    )
}  # fmt: skip
FORCED_COLOURS = "label-question-forced-colours"
STATES: dict[str, tuple[Callable[..., object], dict, Story]] = {
    f"{state}-{look}": (reach, setting, ARABIC if look == "arabic" else ENGLISH)
    for state, reach in REACH.items()
    for look, setting in LOOKS.items()
} | {FORCED_COLOURS: (label_question, LAPTOP | {"forced_colors": "active"}, ENGLISH)}


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
def test_the_page_matches_its_stored_pictures(open_browser, researcher, request, tmp_path, state):
    """Each page is also taken in dark colours on a laptop."""
    reach, setting, story = STATES[state]
    page = open_browser(**{"color_scheme": "light"} | setting | STILL)
    reach(page, researcher, story)
    pictures = {state: take(page)}
    if state.endswith("-laptop"):
        page.emulate_media(color_scheme="dark")
        pictures[state.replace("-laptop", "-dark")] = take(page)
    differing = {}
    for name, taken in pictures.items():
        if request.config.getoption("--renew-states"):
            taken.quantize(64).save(PICTURES / f"{name}.png", optimize=True)
        taken.save(tmp_path / f"{name}.png")
        kept = Image.open(PICTURES / f"{name}.png").convert("RGB")
        share = share_that_differs(taken, kept)
        if share > MOST:
            differing[name] = f"{share:.1%}"
    assert differing == {}, f"compare {PICTURES} with {tmp_path}"


def test_the_position_in_the_review_is_not_cut(open_browser, researcher):
    page = open_browser(**LAPTOP)
    review(page, researcher, ENGLISH)
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
    page = open_browser(**{"color_scheme": "light"} | LAPTOP | STILL)
    question(page, researcher, ENGLISH)
    before = take(page)
    page.add_style_tag(content=change)
    assert share_that_differs(take(page), before) > MOST
