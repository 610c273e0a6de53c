"""QR codes as inline SVG, without files, scripts or style sheets."""

import qrcode
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe


def svg(text: str) -> SafeString:
    """Return a QR code as an SVG element, with the required quiet zone of four modules.

    The CSS class `qr` (static/css/researcher.css) sets its colours, so that it is dark on light
    even in dark mode. Many QR readers fail on inverted colours.
    """
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
        mark_safe(path),  # contains only our numbers and letters
    )
