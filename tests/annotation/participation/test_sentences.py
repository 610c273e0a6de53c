"""Sentences in scripts are in the catalogue, and pages contain them in their own language."""

import json
import re
from pathlib import Path

import pytest
from django.conf import settings as project
from django.urls import reverse
from django.utils import translation

from annotation.models import Study
from annotation.web.wording import SAMPLES, script_sentences
from tests import catalogues, factories

SCRIPTS_FOLDER = Path(project.BASE_DIR) / "static/js"
STRING = r'"(?:[^"\\]|\\.)*"'
CALL = re.compile(rf"\b(gettext|ngettext)\(\s*({STRING})(?:,\s*({STRING}))?")
COMMENT = re.compile(r"/\*.*?\*/|(?<![:\"'])//[^\n]*", re.DOTALL)
OF_WORKERS = (
    "work", "copy", "choice-answer", "number-answer", "text-answer", "label-search", "span-answer",
)  # fmt: skip


def source(module: str) -> str:
    return COMMENT.sub("", (SCRIPTS_FOLDER / f"{module}.js").read_text())


def imports_of(module: str) -> set[str]:
    """Return a module and its direct and indirect imports."""
    reached, open_ends = set(), [module]
    while open_ends:
        here = open_ends.pop()
        if here not in reached:
            reached.add(here)
            open_ends += re.findall(r'(?:from|import) "\./([\w-]+)\.js"', source(here))
    return reached


@pytest.fixture(scope="module")
def worker_modules() -> set[str]:
    return set().union(*(imports_of(script) for script in OF_WORKERS))


def test_every_sentence_of_a_script_is_in_the_catalogue(worker_modules):
    """This regular expression and the parser of the extraction find the same sentences."""
    calls = [call for module in worker_modules for call in CALL.findall(source(module))]
    assert {json.loads(first) for _name, first, _second in calls} == {
        entry.msgid for entry in catalogues.sentences()
    }


def test_gettext_in_scripts_is_called_only_with_literals(worker_modules):
    """The test above finds only literals. sentences.js is exempt, because it defines gettext."""
    for module in worker_modules - {"sentences"}:
        script = source(module)
        calls = re.findall(r"\bn?gettext\(", script)
        assert len(calls) == len(CALL.findall(script)), module
        assert len(re.findall(r"\bngettext\(", script)) == sum(
            bool(second) for name, _, second in CALL.findall(script) if name == "ngettext"
        ), module


def test_scripts_have_no_sentences_outside_gettext(worker_modules):
    """Here, a sentence begins with a capital letter and has at least two words."""
    sentence = re.compile(r"""["`](?=[A-Z“][^"`]* )[^"`\n]*["`]""")
    for module in worker_modules:
        rest = CALL.sub("", source(module))
        assert sentence.findall(rest) == [], module


def test_an_english_page_has_no_table():
    assert script_sentences() == {}


def embedded(client, participation) -> dict | None:
    """Return the table of sentences on the participation's current page, if it has one."""
    page = client.get(reverse("work", args=[participation.token])).content.decode()
    table = re.search(r'<script id="sentences" type="application/json">(.*?)</script>', page)
    return table and json.loads(table[1])


def test_a_page_has_the_sentences_of_scripts_in_its_language(
    researcher, client, settings, tmp_path
):
    catalogues.install(settings, tmp_path, "de")
    study = factories.make_study(researcher, factories.make_task(), annotators=3)
    before, english = factories.join(study), factories.seat(study.scenarios.first())
    assert embedded(client, before) is None
    assert embedded(client, english) is None
    Study.objects.update(interface_language="de")
    for seat in (before, english):
        table = embedded(client, seat)
        assert table.keys() == {entry.msgid for entry in catalogues.sentences()}
        assert table["No connection."] == "⟦No connection.⟧"


def test_each_plural_form_comes_with_its_numbers(settings, tmp_path):
    """Arabic has six plural forms, and Chinese only one."""
    for language, expected in {
        "ar": [[0], [1], [2], [3, 4, 5, 6, 7], [11, 20, 21], [100, 1_000_000]],
        "zh-hans": [list(SAMPLES)],
        "de": [[1], [number for number in SAMPLES if number != 1]],
    }.items():
        catalogues.install(settings, tmp_path / language, language)
        with translation.override(language):
            forms = script_sentences()["Replaced %(count)s."]
        assert [numbers for _form, *numbers in forms] == expected, language


def test_an_untranslated_sentence_is_omitted_from_the_table(settings, tmp_path):
    catalogues.install(settings, tmp_path, "de")
    with translation.override("ar"):
        assert script_sentences() == {}
