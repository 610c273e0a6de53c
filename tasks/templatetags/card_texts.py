"""The texts of a task among the sentences of a page, each with its own language and direction.

A page speaks the language of the study's interface, the card and the examples that of the task.
What is announced, hyphenated and ordered by the wrong one of the two is misread.
"""

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import pgettext

from tasks.cards import Card
from tasks.tokens import tokens

register = template.Library()


@register.filter
def lang_dir(card: Card) -> SafeString:
    """The attributes of an element that holds a text of the card or of its examples."""
    return _lang_dir(card.language, "rtl" if card.is_rtl else "auto")


@lru_cache
def _lang_dir(language: str, direction: str) -> SafeString:
    return format_html('lang="{}" dir="{}"', language, direction)


@register.filter
def isolated(text: str, card: Card) -> SafeString:
    """A short text of the card inside a sentence of the page, which it cannot turn round."""
    return format_html('<bdi lang="{}">{}</bdi>', card.language, text)


@register.filter
def listed(texts: Iterable[str], card: Card) -> SafeString:
    """Such texts one after the other, each strong: the answers that a sentence names."""
    between = pgettext("between the parts of a list", ", ")
    strong = '<strong><bdi lang="{}">{}</bdi></strong>'
    return format_html_join(between, strong, ((card.language, text) for text in texts))


@register.filter
def in_words(text: str, card: Card) -> SafeString:
    """A piece of a reveal cut as the question's text is, so that its lines break where they did.

    A browser rounds the width of each element: the same words in fewer of them may fit a line.
    """
    ends = {0, len(text), *(end for token in tokens(text, card.granularity) for end in token)}
    return format_html_join(
        "", "<span>{}</span>", ((text[start:end],) for start, end in pairwise(sorted(ends)))
    )
