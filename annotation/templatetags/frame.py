"""Template tags for researchers' pages: menu, notices, help links, times and numeric cells.

Numbers are right-aligned so that their decimal points line up.
"""

import re
from datetime import datetime
from typing import Any

from django import template
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone
from django.utils.dateformat import format as date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from annotation.audit import log as audit_log
from annotation.models import Notice, Study
from annotation.pay import ledger
from annotation.web import menu as menus
from annotation.web.menu import place_of
from annotation.web.wording import in_words

register = template.Library()


@register.simple_tag(takes_context=True)
def menu(context: dict[str, Any]) -> dict[str, Any] | None:
    request = context.get("request")
    if request is None or request.resolver_match is None or not request.user.is_authenticated:
        return None
    match = request.resolver_match
    study = context.get("study")
    if isinstance(study, Study) and study.pk and study.rights:
        return menus.for_study(study, match.url_name, request.GET)
    return None


@register.simple_tag(takes_context=True)
def unread(context: dict[str, Any]) -> int:
    user = context.get("user")
    return Notice.objects.filter(user=user, read_at=None).count() if isinstance(user, User) else 0


@register.simple_tag(takes_context=True)
def help_here(context: dict[str, Any]) -> str:
    request = context.get("request")
    if request is None or request.resolver_match is None:
        return reverse("help_index")
    show = request.GET.get("show", "")
    return reverse("help_index") + place_of(request.resolver_match.url_name, show)


@register.filter
def moment(at: datetime | None, shape: str = "Y-m-d H:i") -> str:
    """Render a time as a <time> element in the reader's time zone, or "" for None."""
    if at is None:
        return ""
    own = timezone.localtime(at)
    shown = date_format(own, shape)
    return format_html('<time datetime="{}">{} {}</time>', at.isoformat(), shown, own.tzname())


# Format cents in units of the currency, and None as "".
register.filter("money", lambda cents: "" if cents is None else ledger.in_currency(int(cents)))
register.filter("change_in_words", audit_log.in_words)
register.filter("duration", in_words)


@register.simple_tag(takes_context=True)
def section(context: dict[str, Any]) -> str:
    """Return the first part of the page's URL, which identifies the section of the site."""
    path = getattr(context.get("request"), "path", "")
    first = path.strip("/").split("/")[0]
    of_studies = ("new-study", "compare")
    return "studies" if first in of_studies else first


# Matches 12, 83.7 ± 0.6, 28.4 to 100.0, 3 of 4, < .001, -8.8, 12 min, – (missing), 8 (n=5).
_UNIT = r"((to|of|min|s|h|[A-Z]{3})\b[^a-zA-Z]*)*"
_ONE = rf"([-−+±<≤>≥≈ ]*\.?\d[^a-zA-Z]*?{_UNIT}|–|\d[\d.]* ± –)( ?\([^()]*\))?"
_NUMBER = re.compile(f"{_ONE}(, {_ONE})?")  # 80.0 ± 5.0 (n=3), 72.6 to 87.4


@register.filter
def reasons(cells: list[list[Any]]) -> set[str]:
    return {cell.reason for row in cells for cell in row if hasattr(cell, "reason")}


@register.filter
def is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(str(cell).strip()) is not None


@register.filter
def qr(text: str) -> SafeString:
    """Return a QR code as an SVG element, including the quiet zone of four modules.

    Its colours are set by the CSS class `qr` (static/css/researcher.css), so that it is dark on
    light even in dark mode: many QR readers fail on inverted colours.
    """
    import qrcode  # on first use: without it and Pillow, a server needs 1.5 MB less

    code = qrcode.QRCode(error_correction=qrcode.constants.ERROR_CORRECT_M, border=4)
    code.add_data(text)
    rows = code.get_matrix()
    path = "".join(
        f"M{x},{y}h1v1h-1z" for y, row in enumerate(rows) for x, dark in enumerate(row) if dark
    )
    return format_html(
        '<svg class="qr" viewBox="0 0 {0} {0}" role="img" aria-label="QR code"'
        ' shape-rendering="crispEdges"><rect width="{0}" height="{0}"/><path d="{1}"/></svg>',
        len(rows),
        mark_safe(path),  # it only contains our numbers and letters
    )
