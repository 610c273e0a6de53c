"""Pictures of figures in exactly the width of a paper's columns, with legible text.

A specification is first laid out for the width (panels per row, their size, rows of the legend);
then its SVG is scaled to the exact width; PDF and PNG are made from that SVG.
"""

import json
import re
from typing import Any

INCHES = {"single": 3.25, "double": 6.75}  # of one column and of both
DOTS = 300  # per inch, of PNG
POINTS = 72  # per inch
PIXELS = 96  # per inch, in browsers
AXIS = 50  # pixels around a panel, at least: labels, title, spacing
MAX_PANELS = {"single": 2, "double": 3}  # per row


def laid_out(spec: dict[str, Any], width: str, spare: float = 0) -> dict[str, Any]:
    """The specification of facets for `width`, one of INCHES; panels share `spare` more pixels."""
    panels = len({row["task"] for rows in spec.get("datasets", {}).values() for row in rows})
    # One column has two panels one above the other; three or more would be too high.
    columns = 1 if width == "single" and panels == 2 else max(1, min(MAX_PANELS[width], panels))
    room = (INCHES[width] * PIXELS + spare) / columns - AXIS
    sized = json.loads(json.dumps(spec))
    sized["columns"] = columns
    sized["spacing"] = 14
    sized["spec"] |= {"width": round(room), "height": round(max(100, min(170, 0.72 * room)))}
    sized["config"]["legend"] |= {"orient": "bottom", "columns": 2 if width == "single" else 4,
        "labelFontSize": 10, "titleFontSize": 10,
    }  # fmt: skip
    sized["config"]["axis"] |= {"labelFontSize": 10, "titleFontSize": 10}
    sized["config"]["header"] |= {"labelFontSize": 11}
    return sized


def svg(spec: dict[str, Any], width: str) -> str:
    """Return the picture in that width. Raises ImportError without vl-convert."""
    return _scaled(_drawn(spec, width), f"{INCHES[width]}in", INCHES[width], "in")


def picture(spec: dict[str, Any], ext: str, width: str) -> bytes:
    """Return the picture as svg, pdf or png (300 dpi)."""
    import vl_convert

    if ext == "svg":
        return svg(spec, width).encode()
    # For PDF and PNG the library reads pixels as points.
    points = INCHES[width] * POINTS
    drawn = _scaled(_drawn(spec, width), f"{points:g}", points, "")
    if ext == "pdf":
        return vl_convert.svg_to_pdf(drawn)
    return vl_convert.svg_to_png(drawn, ppi=DOTS)


def _drawn(spec: dict[str, Any], width: str) -> str:
    """Drawn twice: the size of axes and legend is known only after drawing."""
    natural = _side(_vega(laid_out(spec, width)))
    return _vega(laid_out(spec, width, INCHES[width] * PIXELS - natural))


def _vega(spec: dict[str, Any]) -> str:
    import vl_convert

    # Our specifications contain no URLs, and this setting blocks all of them.
    text = json.dumps(spec, allow_nan=False)
    return vl_convert.vegalite_to_svg(text, allowed_base_urls=[])


def _side(drawn: str, name: str = "width") -> float:
    """Width or height of an SVG of vl-convert, in pixels."""
    match = re.search(rf'<svg[^>]*? {name}="([\d.]+)"', drawn)
    assert match is not None  # vl-convert writes both
    return float(match[1])


def _scaled(drawn: str, width: str, size: float, unit: str) -> str:
    """The SVG with this width; its height and its letters, which the layout has sized, follow."""
    was, high = _side(drawn), _side(drawn, "height")
    sides = f'width="{width}" height="{size * high / was:.4f}{unit}"'
    return re.sub(r'width="[\d.]+" height="[\d.]+"', sides, drawn, count=1)
