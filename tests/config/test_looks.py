"""Styles of researchers' pages use few sizes, and take their colours from tokens."""

import re
from pathlib import Path

import pytest

CSS = sorted((Path(__file__).parents[2] / "static" / "css").glob("*.css"))
OF_RESEARCHERS = [
    path for path in CSS if path.stem in ("frame", "overview", "researcher", "print", "design")
]
SIZES = {f"var(--text-{name})" for name in ("xs", "sm", "md", "read", "xl")}
NAMED = "white|black|red|green|blue|yellow|orange|gr[ae]y|silver|purple|navy|gold"
COLOUR = re.compile(
    rf"#[0-9a-f]{{3,8}}\b|\b(?:rgb|hsl|oklch|color)a?\(|:\s[^;{{]*(?<![-\w])(?:{NAMED})(?![-\w])"
)


def rules(path: Path) -> str:
    """Return the style sheet without its comments."""
    return re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("path", CSS, ids=lambda path: path.stem)
def test_no_file_but_the_tokens_names_a_colour(path):
    named = COLOUR.findall(rules(path))
    assert bool(named) is path.stem.endswith("tokens"), named


@pytest.mark.parametrize("path", OF_RESEARCHERS, ids=lambda path: path.stem)
def test_researchers_pages_have_five_sizes_of_type(path):
    assert set(re.findall(r"font-size:\s*([^;]+);", rules(path))) <= SIZES


def test_fields_have_16_px_on_a_phone():
    """Phones zoom in on fields with smaller text. The size of all fields is --text-md."""
    (frame,) = (rules(path) for path in CSS if path.stem == "frame")
    fields = r"@media \(pointer: coarse\) \{\s*:is\(input, select, textarea\) \{\s*--text-md: 1rem"
    assert re.search(fields, frame)
    assert re.search(r":is\(input, select, textarea[^{]*\{\s*font-size: var\(--text-md\)", frame)


def test_the_api_documentation_supports_dark_mode(ada):
    shown = ada.get("/api/v1/docs/").content.decode()
    assert "css/api-docs" in shown
    assert 'name="color-scheme" content="light dark"' in shown
