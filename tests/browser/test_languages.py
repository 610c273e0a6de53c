"""Scripts on annotators' pages show every sentence in the page's language."""

import re

import pytest
from django.utils import translation
from django.utils.translation import gettext
from playwright.sync_api import expect

from annotation.models import Study
from tests import catalogues, factories
from tests.browser.conftest import Desk, await_reveal
from tests.browser.test_sending import FAILURES


@pytest.fixture
def foreign(open_browser, put, settings, tmp_path):
    """Return a function that opens a page whose scripts' translations are in brackets."""

    def make(language: str, *texts: str, **options) -> Desk:
        catalogues.install(settings, tmp_path, language)
        seat = put(*texts, **options)
        Study.objects.update(interface_language=language)
        return Desk(open_browser(tolerate=FAILURES), seat)

    return make


def live(desk: Desk):
    return desk.page.locator("[data-live]")


def test_changes_of_highlights_are_announced_in_the_language(foreign):
    desk = foreign("de", "Oslo and Rome and Bonn.", gold=["Oslo"])
    desk.word("Oslo").click()
    bar = desk.page.locator("[data-pending-text]")
    expect(bar).to_have_text("⟦⟦“Oslo”⟧ selected. Now choose the last word.⟧")
    only = desk.page.locator("[data-only]")
    expect(only).to_have_text("⟦Use only ⟦“Oslo”⟧⟧")
    only.click()
    expect(live(desk)).to_have_text("⟦⟦Highlighted ⟦“Oslo”⟧.⟧ ⟦0: 1 in total.⟧⟧")
    desk.drag(desk.word("Rome"), desk.word("Bonn"))
    expect(live(desk)).to_contain_text("⟦1: 2 in total.⟧")
    desk.drag(desk.word("Oslo"), desk.word("Bonn"))
    expect(live(desk)).to_contain_text("⟦1: Replaced 2.⟧")
    remove = desk.page.locator("[data-remove]")
    expect(remove).to_have_accessible_name("⟦Remove ⟦“Oslo and Rome and Bonn”⟧⟧")
    desk.page.locator("[data-adjust=start-earlier]").click()
    expect(live(desk)).to_have_text("⟦The highlight already starts at the first word.⟧")
    desk.page.locator("[data-undo]").click()
    expect(live(desk)).to_have_text("⟦Undone.⟧")


def test_a_missing_answer_is_reported_in_the_language(foreign):
    desk = foreign("de", "Oslo and Rome.", gold=["Oslo"])
    desk.submit()
    assert desk.error == "⟦Highlight at least one answer, or choose “No answer”.⟧"
    desk.page.get_by_text("Type the answer instead").click()
    desk.page.locator("[name=typed]").fill("oslo")
    desk.submit()
    assert desk.error == "⟦“oslo” does not match the text exactly. Did you mean “Oslo”?⟧"
    assert desk.nothing_is_stored()


def test_a_missing_label_is_reported_in_the_language(open_browser, put):
    """The message is the server's sentence, which the page already contains."""
    seat = put("A film.", gold=[factories.LABELS[0]["name"]], labels=factories.LABELS)
    Study.objects.update(interface_language="de")
    desk = Desk(open_browser(tolerate=FAILURES), seat)
    desk.submit()
    with translation.override("de"):
        said = gettext("Choose one of the labels.")
    assert desk.error == said != "Choose one of the labels."


def test_a_network_failure_is_reported_in_the_language(foreign):
    desk = foreign("de", "Oslo and Rome.", "Rome.", gold=["Oslo"])
    desk.page.route("**/answer/", lambda route: route.abort())
    desk.word("Oslo").dblclick()
    desk.submit()
    notice = desk.page.locator("[data-sending]")
    expect(notice).to_contain_text("⟦No connection.⟧")
    expect(notice).to_contain_text("⟦Your answer is safe on this page.⟧")
    expect(notice.get_by_role("button")).to_have_text("⟦Try now⟧")
    desk.page.unroute_all()
    notice.get_by_role("button").click()
    await_reveal(desk.page)
    assert desk.stored == ["Oslo"]


@pytest.mark.parametrize("language", ["de", "es", "zh-hans", "ar"])
def test_the_page_formats_numbers_like_the_server(foreign, language):
    """If the formats differed, the earnings would change format a second after loading."""
    desk = foreign(language, "Oslo and Rome.", gold=["Oslo"])
    earned = desk.page.locator("[data-earned]")
    served = desk.page.request.get(f"/work/{desk.seat.token}/").text()
    served = re.search(r"data-earned.*?>([^<]*)</data>", served, re.DOTALL)[1]
    written = re.compile("0,[0-9]{2}" if language in ("de", "es") else r"0\.[0-9]{2}")
    assert written.fullmatch(served)
    expect(earned).to_have_text(written)


def test_quoted_text_in_arabic_sentences_is_isolated(foreign):
    """Without isolation, the last full stop of "U.S." would appear on its left."""
    desk = foreign("ar", "the U.S. and Rome.", gold=["Rome"])
    desk.drag(desk.word("U"), desk.word(".", 1), beyond=0)
    expect(live(desk)).to_contain_text("⟦“\u2068U.S.\u2069”⟧")
    expect(live(desk)).to_contain_text("⟦1: 1 in total.⟧")
    assert desk.page.evaluate("document.documentElement.dir") == "rtl"
