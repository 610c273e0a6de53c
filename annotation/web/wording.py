"""Quantities in words, in the page's language, and translations for its scripts."""

from datetime import timedelta
from decimal import Decimal
from functools import lru_cache

from django.conf import settings
from django.utils.formats import number_format
from django.utils.translation import get_language, gettext, ngettext
from django.utils.translation.trans_real import DjangoTranslation
from django.views.i18n import JavaScriptCatalog

from tasks.sentences import Sentence

# Forms of a sentence with a number, each with the numbers that take it.
Forms = list[list[str | int]]
# Numbers that cover every plural category of every language (CLDR's cardinal rules).
SAMPLES = (0, 1, 2, 3, 4, 5, 6, 7, 11, 20, 21, 100, 1_000_000)

IN_SECONDS = 120  # below it, seconds are shown


def in_words(time: timedelta) -> str:
    """Return text such as "1 h 12 min", or "14 s" below two minutes."""
    if 0 < time.total_seconds() < IN_SECONDS:
        return gettext("%(seconds)s s") % {"seconds": max(1, round(time.total_seconds()))}
    hours, minutes = divmod(round(time.total_seconds() / 60), 60)
    text = gettext("%(hours)s h %(minutes)s min") if hours else gettext("%(minutes)s min")
    return text % {"hours": hours, "minutes": minutes}


def money(amount: Decimal | str, currency: str) -> str:
    """Return text such as "12.34 USD", or "12,34 USD" in German."""
    values = {"amount": number_format(Decimal(amount), 2), "currency": currency}
    return gettext("%(amount)s %(currency)s") % values


def invitation(title: str, link: str) -> str:
    """Return a researcher's invitation to participants."""
    text = gettext("You are invited to take part in the study “%(title)s”. Start here: %(link)s")
    return text % {"title": title, "link": link}


def translated(sentence: Sentence) -> str:
    """Return the sentence with its values, translated if the page's catalogue has it."""
    if sentence.plural:
        text = ngettext(sentence.text, sentence.plural, sentence.number)
    else:
        text = gettext(sentence.text)
    values = sentence.values.items()
    return text % {k: translated(v) if isinstance(v, Sentence) else v for k, v in values}


def of_scripts() -> dict[str, str | Forms]:
    """Return the translations for the page's scripts by English sentence; {} for an English page.

    A script calls `gettext("...")` with the English sentence (static/js/sentences.js). A sentence
    with a number is listed under its English singular.
    """
    language = get_language() or settings.LANGUAGE_CODE
    if language == settings.LANGUAGE_CODE:
        return {}
    return _of_catalogue(language, tuple(map(str, settings.LOCALE_PATHS)))


@lru_cache
def _of_catalogue(language: str, folders: tuple[str, ...]) -> dict[str, str | Forms]:
    view = JavaScriptCatalog()
    view.translation = DjangoTranslation(language, domain="djangojs", localedirs=list(folders))
    takes = view.translation.plural

    def forms(texts: list[str]) -> Forms:
        return [
            [text, *(number for number in SAMPLES if takes(number) == form)]
            for form, text in enumerate(texts)
        ]

    said = view.get_catalog().items()
    return {key: forms(text) if isinstance(text, list) else text for key, text in said}
