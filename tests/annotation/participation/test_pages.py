"""Rules for all pages: the files they load, their CSS classes, and their templates."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.templatetags.static import static
from django.urls import reverse
from lxml import html

from tests import factories

TEMPLATES = Path(settings.BASE_DIR) / "templates"
# White space between tags in these templates would change the annotator's text.
WHITE_SPACE_IS_TEXT = {"participation/_pieces.html", "examples/_layers.html"}


def assets(response) -> list[tuple[str, str]]:
    """Return a page's style sheets, scripts and other linked files, in order."""
    page = html.fromstring(response.content)
    linked = page.xpath("//link | //script | //meta[@name]")
    return [
        (part.tag + " " + part.get("rel", part.get("type", "")), part.get(name))
        for part in linked
        for name in ("href", "src", "content")
        if part.get(name)
    ]


@pytest.mark.long
@pytest.mark.parametrize("card", [{}, {"labels": factories.LABELS}])
def test_a_preview_loads_exactly_what_annotators_load(client, researcher, card):
    study = factories.make_study(researcher, factories.make_task(**card), shots=[2])
    participation = factories.seat(study.scenarios.get())
    work = reverse("work", args=[participation.token])
    seen_by_annotator = assets(client.get(work))
    assert seen_by_annotator

    client.force_login(researcher)
    address = reverse(
        "scenario_preview", args=[study.name, study.scenarios.get().pk, "training", 0]
    )
    preview = client.get(address)
    bar = ("link stylesheet", static("css/preview.css"))  # for the bar above a preview
    assert [each for each in assets(preview) if each != bar] == seen_by_annotator
    assert assets(client.get(work)) == seen_by_annotator
    assert b'aria-label="Site"' not in preview.content
    assert assets(client.get(reverse("studies"))) != seen_by_annotator


def test_no_line_of_a_template_is_longer_than_160_characters():
    long = {
        f"{path.relative_to(TEMPLATES)}:{number}"
        for path in TEMPLATES.rglob("*.html")
        if str(path.relative_to(TEMPLATES)) not in WHITE_SPACE_IS_TEXT
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > 160
    }
    assert long == set()


# Style sheets ------------------------------------------------------------------------------------

STATIC = Path(settings.BASE_DIR) / "static"
SHEETS = {path.name: path.read_text() for path in (STATIC / "css").glob("*.css")}
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# Classes from Pico, htmx, Vega and Swagger, and those that Django adds to forms.
OTHERS = {"secondary", "outline", "htmx-indicator", "htmx-request", "overflow-auto"}
OTHERS |= {
    "vg-tooltip",
    "visible",
    "key",
    "errorlist",
    "swagger-ui",
    "microlight",
    "highlight-code",
}
# Prefixes of classes that the server completes, with the possible endings.
FILLED = {
    "reveal-": ("right", "partly", "wrong", "partial", "extra", "missed", "compare"),
    "layer-": ("1", "2", "3", "4"),
    "lane-": ("right", "partial", "extra"),
    "state-": ("open", "paused", "closed"),  # drafts have no mark
    "seat-": ("done", "working"),  # free seats have only "seat"
    "money-": ("paid", "due", "open", "left"),
    "result-": ("people", "model-1", "model-2", "model-3", "published"),
}


def classes_with_rules() -> set[str]:
    selectors = re.findall(r"([^{}]+)\{", COMMENT.sub("", "".join(SHEETS.values())))
    return {
        name
        for selector in selectors
        if not selector.strip().startswith("@")
        for name in re.findall(r"\.([a-z][\w-]*)", selector)
    }


def classes_in_use() -> set[str]:
    names: set[str] = set()
    attribute = re.compile(r'class="((?:[^"{]|\{%.*?%\}|\{\{.*?\}\})*)"')
    for path in TEMPLATES.rglob("*.html"):
        for value in attribute.findall(path.read_text()):
            # The server completes the end of a class, as in reveal-{{ verdict }}.
            words = re.sub(r"\{%.*?%\}", " ", re.sub(r"\{\{.*?\}\}", "*", value)).split()
            for word in words:
                start, star, _end = word.partition("*")
                names |= {start + end for end in FILLED[start]} if star else {word}
    for path in (STATIC / "js").glob("*.js"):
        text = path.read_text()
        names |= set(re.findall(r'classList\.\w+\("([\w-]+)"', text))
        names |= set(re.findall(r'className = "([\w-]+)"', text))
        names |= set(
            re.findall(r'(?:closest|matches|querySelector\w*)[?.]*\("[a-z]*\.([\w-]+)', text)
        )
        for look in re.findall(r'"\s?((?:hl-[\w-]+ ?)+)"', text):
            names |= set(look.split())
    for folder in ("annotation", "analysis", "tasks", "config"):
        for path in (Path(settings.BASE_DIR) / folder).rglob("*.py"):
            for value in re.findall(r'class="([\w -]+)"', path.read_text()):
                names |= set(value.split())
    return names


def test_every_class_has_a_rule_and_every_rule_a_class():
    ruled, used = classes_with_rules(), classes_in_use()
    assert len(used) > 80
    assert used - ruled - OTHERS == set()
    assert ruled - used - OTHERS == set()


@pytest.mark.parametrize("name", sorted(SHEETS))
def test_colours_are_named_in_the_files_of_tokens(name):
    colours = re.findall(r"#[0-9a-fA-F]{3,8}\b|\b(?:rgb|hsl)a?\(", COMMENT.sub("", SHEETS[name]))
    assert bool(colours) == name.endswith("tokens.css")


def test_every_token_that_is_used_is_set():
    text = "".join(SHEETS.values()) + "".join(p.read_text() for p in (STATIC / "js").glob("*.js"))
    tokens = set(re.findall(r"(?<![\w-])(--[a-z][\w-]*)\s*:", text))
    used = {name for name in re.findall(r"var\((--[\w-]+)", text) if "--pico-" not in name}
    assert used - tokens == set()
