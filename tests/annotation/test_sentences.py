"""The sentences of the scripts: each stands in the table of its module, and a page has its own."""

import json
import re
from pathlib import Path

import pytest
from django.conf import settings as project
from django.urls import reverse
from django.utils import translation

from annotation.models import Study
from annotation.pages.worker.sentences import MODULES, SAMPLES, SCRIPTS, sentences_of
from tests import catalogues, factories

SCRIPTS_FOLDER = Path(project.BASE_DIR) / "static/js"
STRING = r'"(?:[^"\\]|\\.)*"'
CALL = re.compile(rf"\b(gettext|ngettext)\(\s*({STRING})(?:,\s*({STRING}))?")
COMMENT = re.compile(r"/\*.*?\*/|(?<![:\"'])//[^\n]*", re.DOTALL)


def source(module: str) -> str:
    return COMMENT.sub("", (SCRIPTS_FOLDER / f"{module}.js").read_text())


def said_in(script: str) -> list[str | tuple[str, str]]:
    """Every sentence of a script, as its table has it."""
    calls = CALL.findall(script)
    return [
        (json.loads(first), json.loads(second)) if name == "ngettext" else json.loads(first)
        for name, first, second in calls
    ]


def imports_of(module: str) -> set[str]:
    """A module and all that it imports, also by way of others."""
    reached, open_ends = set(), [module]
    while open_ends:
        here = open_ends.pop()
        if here not in reached:
            reached.add(here)
            open_ends += re.findall(r'(?:from|import) "\./([\w-]+)\.js"', source(here))
    return reached


@pytest.fixture(scope="module")
def worker_modules() -> set[str]:
    return set().union(*(imports_of(script) for script in SCRIPTS))


def test_every_sentence_of_a_script_stands_in_its_table_and_the_other_way_round(worker_modules):
    said = {module: set(said_in(source(module))) for module in worker_modules}
    assert {module: sentences for module, sentences in said.items() if sentences} == {
        module: set(sentences) for module, sentences in MODULES.items()
    }


def test_a_table_has_each_sentence_once():
    for module, sentences in MODULES.items():
        assert len(sentences) == len(set(sentences)), module


def test_no_sentence_is_made_where_it_is_asked_for(worker_modules):
    """Only a literal can be found by the test above; sentences.js hands on what it is given."""
    for module in worker_modules - {"sentences"}:
        script = source(module)
        calls = re.findall(r"\bn?gettext\(", script)
        assert len(calls) == len(CALL.findall(script)), module
        assert len(re.findall(r"\bngettext\(", script)) == sum(
            bool(second) for name, _, second in CALL.findall(script) if name == "ngettext"
        ), module


def test_no_script_says_anything_past_the_tables(worker_modules):
    """A sentence begins with a capital letter and has two words at least."""
    sentence = re.compile(r"""["`](?=[A-Z“][^"`]* )[^"`\n]*["`]""")
    for module in worker_modules:
        rest = CALL.sub("", source(module))
        assert sentence.findall(rest) == [], module


def test_a_page_has_the_tables_of_all_that_it_loads_and_of_nothing_else():
    for script, modules in SCRIPTS.items():
        assert set(modules) == imports_of(script) & set(MODULES), script


def test_a_page_in_english_has_no_table():
    assert sentences_of(*SCRIPTS) == {}


# More than there are digits: a list that is searched.
MANY = [
    *factories.LABELS,
    *({"name": f"label {n}", "definition": "It is.", "example": "So."} for n in range(8)),
]


def embedded(client, participation) -> dict | None:
    """The table on the page where that participation stands."""
    page = client.get(reverse("work", args=[participation.token])).content.decode()
    table = re.search(r'<script id="sentences" type="application/json">(.*?)</script>', page)
    return table and json.loads(table[1])


def keys_of(*scripts: str) -> set[str]:
    modules = {module for script in scripts for module in SCRIPTS[script]}
    return {
        sentence if isinstance(sentence, str) else sentence[0]
        for module in modules
        for sentence in MODULES[module]
    }


@pytest.mark.parametrize(
    ("card", "scripts"),
    [
        ({}, ("work", "span-answer")),
        ({"labels": factories.LABELS}, ("work", "choice-answer")),
        ({"labels": MANY}, ("work", "choice-answer", "label-search")),
        (factories.KINDS["options"][0], ("work", "choice-answer")),
        (factories.KINDS["number"][0], ("work", "number-answer")),
        (factories.KINDS["long text"][0], ("work", "text-answer")),
    ],
)
def test_a_page_has_the_sentences_of_its_own_scripts_in_its_language(
    researcher, client, settings, tmp_path, card, scripts
):
    catalogues.install(settings, tmp_path, "de")
    study = factories.make_study(researcher, factories.make_task(**card), annotators=3)
    before, english = factories.join(study), factories.seat(study.scenarios.first())
    assert embedded(client, before) is None
    assert embedded(client, english) is None
    Study.objects.update(interface_language="de")
    assert embedded(client, before).keys() == keys_of("work", "copy")
    table = embedded(client, english)
    assert table.keys() == keys_of(*scripts)
    assert table["No connection."] == "⟦No connection.⟧"


def test_a_form_of_the_language_comes_with_the_numbers_that_take_it(settings, tmp_path):
    """One form for each: Arabic distinguishes six, Chinese none."""
    for language, expected in {
        "ar": [[0], [1], [2], [3, 4, 5, 6, 7], [11, 20, 21], [100, 1_000_000]],
        "zh-hans": [list(SAMPLES)],
        "de": [[number for number in SAMPLES if number != 1], [1]],
    }.items():
        catalogues.install(settings, tmp_path / language, language)
        with translation.override(language):
            forms = sentences_of("span-answer")["Replaced %(count)s."]
        assert [numbers for _form, *numbers in forms] == expected, language


def test_a_sentence_without_a_translation_is_left_to_the_script(settings, tmp_path):
    catalogues.install(settings, tmp_path, "de")
    with translation.override("ar"):
        assert sentences_of(*SCRIPTS) == {}
