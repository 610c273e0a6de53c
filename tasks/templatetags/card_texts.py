"""Template tags for texts of a task, and for their language and direction.

Pages are in the study's interface language, whereas cards and examples are in the task's language.
Without these tags, screen readers, hyphenation and text direction would use the wrong language.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from django import template
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import pgettext

from tasks.cards import Card
from tasks.images import image_in
from tasks.tokens import tokens

register = template.Library()


@register.filter
def lang_dir(card: Card) -> SafeString:
    return _lang_dir(card.language, "rtl" if card.is_rtl else "auto")


@lru_cache
def _lang_dir(language: str, direction: str) -> SafeString:
    return format_html('lang="{}" dir="{}"', language, direction)


@register.filter
def isolated(text: str, card: Card) -> SafeString:
    """Return short text from the card for use in a sentence, isolated from its direction."""
    return format_html('<bdi lang="{}">{}</bdi>', card.language, text)


@register.filter
def listed(texts: Iterable[str], card: Card) -> SafeString:
    """Return a list of such texts in bold, for answers that appear in a sentence."""
    between = pgettext("between the parts of a list", ", ")
    strong = '<strong><bdi lang="{}">{}</bdi></strong>'
    return format_html_join(between, strong, ((card.language, text) for text in texts))


@register.filter
def some(texts: Sequence[str]) -> str:
    """List texts, or only the first ten if there are many."""
    remainder = f" and {len(texts) - 10} more" if len(texts) > 12 else ""
    return ", ".join(texts[:10] if remainder else texts) + remainder


@register.filter
def as_segment(text: str) -> SafeString | str:
    image = image_in(text)
    if image is None:
        return text
    address = reverse("image", args=[image.name])
    return format_html('<img src="{}" alt="{}" loading="lazy">', address, image.alt)


@register.filter
def in_words(text: str, card: Card) -> SafeString:
    """Split a piece of a reveal like the question, so that lines break at the same words.

    Browsers round the width of each part. Only every second part is an element, because elements
    take slow devices a long time to lay out.
    """
    bounds = tokens(text, card.granularity)
    ends = [*sorted({0, len(text), *(end for bound in bounds for end in bound)}), len(text)]
    pairs = zip(ends[::2], ends[1::2], ends[2::2], strict=False)
    parts = ((text[start:middle], text[middle:end]) for start, middle, end in pairs)
    return format_html_join("", "<span>{}</span>{}", parts)
