"""Durations, amounts, links and script strings for pages, and Markdown as safe HTML."""

from datetime import timedelta
from decimal import Decimal
from functools import lru_cache

import nh3
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext, ngettext
from django.utils.translation.trans_real import DjangoTranslation
from django.views.i18n import JavaScriptCatalog
from markdown_it import MarkdownIt

from tasks.sentences import Sentence

# Plural forms of a sentence. Each form is followed by the numbers for which it is used.
Forms = list[list[str | int]]
# Numbers that cover all plural categories of all languages (CLDR cardinal rules).
SAMPLES = (0, 1, 2, 3, 4, 5, 6, 7, 11, 20, 21, 100, 1_000_000)

# Elements that are allowed in researchers' Markdown.
TAGS = {"p", "br", "hr", "em", "strong", "code", "blockquote", "ul", "ol", "li", "a",
        "h2", "h3", "h4"}  # fmt: skip
MAX_IN_SECONDS = 120  # shorter durations are shown in seconds


def in_words(time: timedelta) -> str:
    """Format a duration as "1 h 12 min", or as "14 s" if it is below two minutes."""
    if 0 < time.total_seconds() < MAX_IN_SECONDS:
        return gettext("%(seconds)s s") % {"seconds": max(1, round(time.total_seconds()))}
    hours, minutes = divmod(round(time.total_seconds() / 60), 60)
    text = gettext("%(hours)s h %(minutes)s min") if hours else gettext("%(minutes)s min")
    return text % {"hours": hours, "minutes": minutes}


def money(amount: Decimal | str, currency: str) -> str:
    """Format an amount as "12.34 USD", or "12,34 USD" in German."""
    values = {"amount": number_format(Decimal(amount), 2), "currency": currency}
    return gettext("%(amount)s %(currency)s") % values


def join_url(request: HttpRequest, code: str) -> str:
    """Return the absolute URL of the landing page for a link code."""
    return request.build_absolute_uri(reverse("landing", args=[code]))


def invitation(title: str, link: str) -> str:
    text = gettext("You are invited to take part in the study “%(title)s”. Start here: %(link)s")
    return text % {"title": title, "link": link}


def translated(sentence: Sentence) -> str:
    if sentence.plural:
        text = ngettext(sentence.text, sentence.plural, sentence.number)
    else:
        text = gettext(sentence.text)
    values = sentence.values.items()
    return text % {k: translated(v) if isinstance(v, Sentence) else v for k, v in values}


def script_sentences() -> dict[str, str | Forms]:
    """Map English sentences in the page's scripts to translations, or return {} for English.

    Scripts call `gettext("...")` with the English sentence (static/js/sentences.js). Sentences that
    contain a number are listed under their English singular.
    """
    language = get_language() or settings.LANGUAGE_CODE
    if language == settings.LANGUAGE_CODE:
        return {}
    return _catalogue(language, tuple(map(str, settings.LOCALE_PATHS)))


@lru_cache
def _catalogue(language: str, folders: tuple[str, ...]) -> dict[str, str | Forms]:
    view = JavaScriptCatalog()
    view.translation = DjangoTranslation(language, domain="djangojs", localedirs=list(folders))
    takes = view.translation.plural

    def forms(texts: list[str]) -> Forms:
        return [
            [text, *(number for number in SAMPLES if takes(number) == form)]
            for form, text in enumerate(texts)
        ]

    catalogue = view.get_catalog().items()
    return {key: forms(text) if isinstance(text, list) else text for key, text in catalogue}


@lru_cache(maxsize=256)
def as_html(markdown: str) -> SafeString:
    """Convert Markdown, without raw HTML or images; only web and email links; headings from h2."""
    tokens = MarkdownIt("commonmark", {"html": False, "breaks": True})
    parsed = tokens.parse(markdown.replace("\0", ""))
    for token in parsed:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 4)}"
    return safe(tokens.renderer.render(parsed, tokens.options, {}), TAGS, {"a": {"href"}})


def safe(html: str, tags: set[str], attributes: dict[str, set[str]]) -> SafeString:
    """Remove everything from HTML except these elements and attributes, and web and email links."""
    schemes, rel = {"http", "https", "mailto"}, "noopener noreferrer"
    clean = nh3.clean(html, tags=tags, attributes=attributes, url_schemes=schemes, link_rel=rel)
    return mark_safe(clean)
