"""A participation in Arabic (right to left) and one in Chinese, from landing page to code.

Every page must be fully translated, so the only words in Latin letters are names.
"""

import re

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Participation, Status, Study
from tasks.formats import Record
from tests import factories
from tests.browser.conftest import Desk, await_reveal

# Names, currencies, units and keys, which are the same in every language.
KEPT = re.compile(r"Handful|USD|UTC|Enter|Tab|Shift|Ctrl|\bZ\b|Delete|Esc|Space|Ltd")

ARABIC = {
    "card": {
        "name": "amakin",
        "title": "الأماكن",
        "description": "ابحث عن الأماكن في جملة.",
        "instructions": "اقرأ الجملة.\n\nحدد كل مكان.",
        "submit_hint": "حدد الأماكن ثم أرسل.",
        "segments": ["الجملة"],
        "language": "ar",
        "direction": "rtl",
    },
    "study": {
        "interface_language": "ar",
        "title": "أماكن في الأخبار",
        "consent_text": "ندعوك إلى المشاركة في دراسة.",
    },
    "texts": ("سافرت ليلى من القاهرة إلى بيروت.", "عاد سامي من تونس أمس.", "نام الجميع باكرًا."),
    "question": "ما الأماكن المذكورة؟",
    "gold": (("القاهرة", "بيروت"), ("تونس",), ()),
    "wrong": "ليلى",
}
CHINESE = {
    "card": {
        "name": "difang",
        "title": "地点",
        "description": "在句子中找出地点。",
        "instructions": "请阅读句子。\n\n标记每一个地点。",
        "submit_hint": "标记地点，然后提交。",
        "segments": ["句子"],
        "language": "zh-hans",
        "granularity": "char",
    },
    "study": {
        "interface_language": "zh-hans",
        "title": "新闻中的地点",
        "consent_text": "邀请您参加一项研究。",
    },
    "texts": ("王芳星期天从上海去了南京。", "李明昨天从苏州回来。", "大家都睡得很早。"),
    "question": "提到了哪些地点？",
    "gold": (("上海", "南京"), ("苏州",), ()),
    "wrong": "王芳",
}


def open_study(researcher, told: dict) -> Study:
    """Open a study in this language with two training examples and one test example."""
    train, test = (
        [
            Record(
                f"e{place}", (told["texts"][place],), told["question"], told["gold"][place], None
            )
            for place in places
        ]
        for places in ((0, 1), (2,))
    )
    task = factories.make_task(train={2: train}, shots=[], test=test, **told["card"])
    return factories.make_study(
        researcher,
        task,
        shots=[2],
        annotators=1,
        training_order="file_order",
        try_the_tool=True,
        hourly_rate=12,
        **told["study"],
    )


def foreign(page: Page) -> list[str]:
    """Return the page's untranslated lines, which have Latin letters outside names."""
    spoken = page.evaluate(
        """() => [document.title, ...[...document.querySelectorAll("[aria-label]")]
            .filter((e) => e.checkVisibility()).map((e) => e.ariaLabel)]"""
    )
    code = page.locator("output, code").all_inner_texts()
    shown = page.locator("body").inner_text()
    for text in code:
        shown = shown.replace(text, "")
    shown = re.sub(r"https?://\S+", "", shown)  # the personal link
    lines = [*spoken, *shown.split("\n")]
    return [line for line in lines if re.search("[A-Za-z]", KEPT.sub("", line))]


def go_on(page: Page) -> None:
    """Press the page's main button and wait for the next page."""
    page.locator("main button.main-action").first.click()
    page.wait_for_load_state()


def mark(desk: Desk, words: str) -> None:
    """Highlight text by clicking its first and last word (or character in Chinese)."""
    signs = list(words) if desk.page.locator("html").get_attribute("lang") == "zh-hans" else [words]
    desk.word(signs[0]).click()
    desk.word(signs[-1]).click()


@pytest.mark.parametrize(
    ("told", "direction"), [(ARABIC, "rtl"), (CHINESE, "ltr")], ids=["arabic", "chinese"]
)
def test_a_participation_in_each_language_reaches_the_code(
    open_browser, researcher, told, direction
):
    page = open_browser(viewport={"width": 1366, "height": 657})
    page.goto(f"/join/{open_study(researcher, told).link_code}/")
    expect(page.locator("html")).to_have_css("direction", direction)
    assert foreign(page) == []
    go_on(page)  # start
    assert foreign(page) == []
    page.locator("button[value=yes]").click()
    page.wait_for_load_state()
    assert foreign(page) == []  # instructions
    seat = Participation.objects.get()
    page.locator("main a.main-action, main a[href*='/try/']").first.click()
    for _sentence in range(3):
        page.wait_for_selector("span-answer[data-ready]")
        assert foreign(page) == []
        page.locator("[data-text] [data-t]").first.dblclick()
        page.locator("[data-submit]").click()
        await_reveal(page)
        assert foreign(page) == []
        page.locator("[data-submit]").click()
    page.wait_for_url(f"**/work/{seat.token}/")
    go_on(page)  # begin the training step
    desk = Desk(page, seat)
    assert foreign(page) == []
    mark(desk, told["wrong"])
    mark(desk, told["gold"][0][0])
    assert foreign(page) == []
    desk.reveal()
    assert foreign(page) == []
    page.locator("#help summary").first.click()
    assert foreign(page) == []
    page.locator("#help summary").first.click()
    desk.submit()
    page.wait_for_selector("span-answer[data-ready]")
    desk.submit()  # without an answer, to get the error
    assert foreign(page) == []
    mark(desk, told["gold"][1][0])
    desk.reveal()
    desk.submit()
    page.wait_for_selector("[data-state=review]")
    assert foreign(page) == []
    desk.submit()
    page.wait_for_selector("span-answer[data-ready]")
    assert foreign(page) == []
    page.wait_for_selector("[data-submit]:not([aria-disabled])")
    page.locator("[name=no_answer]").check()
    desk.submit()
    page.wait_for_selector("[data-copy-text]")
    assert foreign(page) == []
    seat.refresh_from_db()
    assert seat.status == Status.COMPLETED
    expect(page.locator("body")).to_contain_text(seat.completion_code)
