"""Static files as served: smaller than in static/, with the same appearance."""

import re
from pathlib import Path

from django.conf import settings

from config.static import without_unused

ROOT = Path(settings.BASE_DIR)
PICO = next((ROOT / "static/vendor").glob("pico-*.css")).read_text()
PAGES = [*(ROOT / "templates").rglob("*.html"), *(ROOT / "static/js").glob("*.js")]


def test_only_whole_unused_css_rules_are_removed():
    css = (
        "a:is(b,c),dialog{x:y}@media print{dialog{x:y}}@media print{p{x:'}'}dialog,q{x:y}}"
        "@font-face{src:url(dialog)}.grid{x:y}input:not([type=range],[type=file]){x:y}"
    )
    assert without_unused(css) == (
        "a:is(b,c){x:y}@media print{p{x:'}'}q{x:y}}@font-face{src:url(dialog)}"
        "input:not([type=range],[type=file]){x:y}"
    )


def test_the_reduced_pico_is_smaller_and_has_balanced_braces():
    left = without_unused(PICO)
    assert len(left) < 0.75 * len(PICO)
    assert left.count("{") == left.count("}")


def test_no_page_uses_a_removed_css_rule():
    names = re.compile(
        r"<dialog|<hgroup|data-tooltip|data-placement|aria-busy|data-theme|role=\"(?:switch|search)"
        r"|type=\"(?:range|color|date|time|month|week|search)"
        r"|aria-invalid=\"false|class=\"(?:[^\"]* )?(?:modal|dropdown|grid|container)[ \"]"
    )
    # Parts of the question's page, which does not load Pico: a search field and a dialog.
    of_questions = {"_label_question.html", "_image.html"}
    for path in [page for page in PAGES if page.name not in of_questions]:
        assert not names.search(path.read_text()), path.name
