"""Pictures of figures in the widths of a paper's columns: exactly so wide, and legible there.

A specification is laid out for the width first (panels in a row, their size, rows of the legend),
then its SVG is scaled to the very width; PDF and PNG are made of that SVG.
"""

import json
import re
from typing import Any

INCHES = {"single": 3.25, "double": 6.75}  # of one column and of both
DOTS = 300  # an inch, of PNG
POINTS = 72  # an inch
PIXELS = 96  # an inch, as a browser lays out
AXIS = 50  # pixels beside a panel, at least: labels, title, spacing
MAX_PANELS = {"single": 2, "double": 3}  # in a row


def laid_out(spec: dict[str, Any], width: str, spare: float = 0) -> dict[str, Any]:
    """The specification of facets for `width`, one of INCHES; panels share `spare` pixels more."""
    panels = len({row["task"] for rows in spec.get("datasets", {}).values() for row in rows})
    # Two panels stand over each other in one column; more would be too high.
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
    """The picture, so wide. Raises ImportError without vl-convert."""
    return _scaled(_drawn(spec, width), f"{INCHES[width]}in", INCHES[width], "in")


def picture(spec: dict[str, Any], ext: str, width: str) -> bytes:
    """The picture as svg, pdf or png (300 dots an inch)."""
    import vl_convert

    if ext == "svg":
        return svg(spec, width).encode()
    # Of these the library takes a pixel for a point.
    points = INCHES[width] * POINTS
    drawn = _scaled(_drawn(spec, width), f"{points:g}", points, "")
    if ext == "pdf":
        return vl_convert.svg_to_pdf(drawn)
    return vl_convert.svg_to_png(drawn, ppi=DOTS)


def _drawn(spec: dict[str, Any], width: str) -> str:
    """Drawn twice: what axes and legend take is known when they are there."""
    natural = _side(_vega(laid_out(spec, width)))
    return _vega(laid_out(spec, width, INCHES[width] * PIXELS - natural))


def _vega(spec: dict[str, Any]) -> str:
    import vl_convert

    # Nothing in a specification of ours has an address; none could be fetched either.
    text = json.dumps(spec, allow_nan=False)
    return vl_convert.vegalite_to_svg(text, allowed_base_urls=[])


def _side(drawn: str, name: str = "width") -> float:
    """Width or height of an SVG of vl-convert, in pixels."""
    match = re.search(rf'<svg[^>]*? {name}="([\d.]+)"', drawn)
    assert match is not None  # vl-convert writes both
    return float(match[1])


def _scaled(drawn: str, width: str, size: float, unit: str) -> str:
    """The SVG with this width; its height follows, and its letters, which the layout has sized."""
    was, high = _side(drawn), _side(drawn, "height")
    sides = f'width="{width}" height="{size * high / was:.4f}{unit}"'
    return re.sub(r'width="[\d.]+" height="[\d.]+"', sides, drawn, count=1)
