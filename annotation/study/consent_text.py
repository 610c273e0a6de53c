"""Convert researchers' consent texts and other Markdown to safe HTML, and version them."""

from functools import lru_cache

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

from annotation.models import ConsentText, Study

TAGS = {"p", "br", "hr", "em", "strong", "code", "blockquote", "ul", "ol", "li", "a",
        "h2", "h3", "h4"}  # fmt: skip


@lru_cache(maxsize=256)
def as_html(markdown: str) -> SafeString:
    """Convert Markdown, without raw HTML or images, with web and email links only, headings from
    h2.
    """
    tokens = MarkdownIt("commonmark", {"html": False, "breaks": True})
    parsed = tokens.parse(markdown.replace("\0", ""))
    for token in parsed:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 4)}"
    html = tokens.renderer.render(parsed, tokens.options, {})
    clean = nh3.clean(
        html,
        tags=TAGS,
        attributes={"a": {"href"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
    )
    return mark_safe(clean)


def freeze(study: Study) -> ConsentText:
    """Return the current version of the study's consent text. Create one if the text changed."""
    newest = study.consent_texts.order_by("-version").first()
    if newest is not None and newest.text == study.consent_text:
        return newest
    number = newest.version + 1 if newest else 1
    return study.consent_texts.create(version=number, text=study.consent_text)
