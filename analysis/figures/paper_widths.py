"""Figures laid out for the exact column widths of a paper, with legible text.

The specification is first laid out for the width (panels per row, panel size, legend rows). The
resulting SVG is then scaled to exactly that width and converted to PDF or PNG.
"""

import json
import re
from typing import Any

from analysis.figures import charts

INCHES = {"single": 3.25, "double": 6.75}  # one column, or both columns
DOTS = 300  # per inch in PNG files
POINTS = 72  # per inch
PIXELS = 96  # per inch in browsers
AXIS = 50  # minimum number of pixels around a panel for labels, title and spacing
MAX_PANELS = {"single": 2, "double": 3}  # panels per row


def laid_out(spec: dict[str, Any], width: str, spare: float = 0) -> dict[str, Any]:
    """Lay out a facet chart for `width` (a key of INCHES). Panels share `spare` extra pixels."""
    panel = spec["facet"]["field"]
    panels = len({row[panel] for rows in spec.get("datasets", {}).values() for row in rows})
    # In a single column, two panels are stacked. Three or more would be too tall.
    is_stacked = width == "single" and panels == 2
    columns = 1 if is_stacked else charts.columns_of(panels, MAX_PANELS[width])
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


def picture(spec: dict[str, Any], ext: str, width: str) -> bytes:
    import vl_convert

    drawn, inches = _draw(spec, width), INCHES[width]
    if ext == "svg":
        return _scaled(drawn, f"{inches}in", inches, "in").encode()
    # For PDF and PNG, the library treats pixels as points.
    image = _scaled(drawn, f"{inches * POINTS:g}", inches * POINTS, "")
    if ext == "pdf":
        return vl_convert.svg_to_pdf(image)
    return vl_convert.svg_to_png(image, ppi=DOTS)


def _draw(spec: dict[str, Any], width: str) -> str:
    """Draw the figure twice, because the sizes of axes and legends are only known after drawing."""
    natural = _side(_vega(laid_out(spec, width)))
    return _vega(laid_out(spec, width, INCHES[width] * PIXELS - natural))


def _vega(spec: dict[str, Any]) -> str:
    import vl_convert

    # Specifications contain no URLs, and this setting blocks access to any.
    text = json.dumps(spec, allow_nan=False)
    return vl_convert.vegalite_to_svg(text, allowed_base_urls=[])


def _side(image: str, name: str = "width") -> float:
    """Return the width or height in pixels of an SVG produced by vl-convert."""
    match = re.search(rf'<svg[^>]*? {name}="([\d.]+)"', image)
    assert match is not None  # vl-convert always writes both
    return float(match[1])


def _scaled(image: str, width: str, size: float, unit: str) -> str:
    """Scale the SVG to this width, and its height and font sizes with it."""
    was, high = _side(image), _side(image, "height")
    sides = f'width="{width}" height="{size * high / was:.4f}{unit}"'
    return re.sub(r'width="[\d.]+" height="[\d.]+"', sides, image, count=1)
