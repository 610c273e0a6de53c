"""How quantities are put into words for people, in the language of the page."""

from datetime import timedelta
from decimal import Decimal

from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext

from tasks.sentences import Sentence

IN_SECONDS = 120  # below so many, minutes say nothing


def in_words(time: timedelta) -> str:
    """1 h 12 min; 14 s below two minutes."""
    if 0 < time.total_seconds() < IN_SECONDS:
        return gettext("%(seconds)s s") % {"seconds": max(1, round(time.total_seconds()))}
    hours, minutes = divmod(round(time.total_seconds() / 60), 60)
    text = gettext("%(hours)s h %(minutes)s min") if hours else gettext("%(minutes)s min")
    return text % {"hours": hours, "minutes": minutes}


def money(amount: Decimal | str, currency: str) -> str:
    """12.34 USD; in German 12,34 USD."""
    values = {"amount": number_format(Decimal(amount), 2), "currency": currency}
    return gettext("%(amount)s %(currency)s") % values


def invitation(title: str, link: str) -> str:
    """What a researcher sends to people who may take part."""
    text = gettext("You are invited to take part in the study “%(title)s”. Start here: %(link)s")
    return text % {"title": title, "link": link}


def translated(sentence: Sentence) -> str:
    """The sentence with its values, as the catalogue of the page has it; else in English."""
    if sentence.plural:
        text = ngettext(sentence.text, sentence.plural, sentence.number)
    else:
        text = gettext(sentence.text)
    return text % sentence.values
