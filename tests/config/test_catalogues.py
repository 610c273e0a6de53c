"""The catalogue check finds each kind of error, and `renew` keeps valid translations."""

import importlib.util
import shutil
from pathlib import Path

import polib
import pytest

TOOL = Path(__file__).parents[2] / ".ci" / "catalogues.py"


@pytest.fixture
def catalogues():
    spec = importlib.util.spec_from_file_location("catalogues", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def code(catalogues):
    """Three marked sentences: a plain one, one with a placeholder and a tag, and a plural."""
    return {
        catalogues.key(entry): entry
        for entry in (
            polib.POEntry(msgid="Start"),
            polib.POEntry(msgid="<b>%(name)s</b> is right."),
            polib.POEntry(msgid="%(n)s example", msgid_plural="%(n)s examples"),
        )
    }


@pytest.fixture
def german(catalogues, code, settings, tmp_path):
    """A complete German catalogue of these three sentences."""
    settings.LOCALE_PATHS = [tmp_path]
    catalogues.renew("de", code)
    file = polib.pofile(str(catalogues.po("de")))
    start, right, counted = file
    start.msgstr, right.msgstr = "Los", "<b>%(name)s</b> stimmt."
    counted.msgstr_plural = {0: "%(n)s Beispiel", 1: "%(n)s Beispiele"}
    write(file)
    return file


def write(file):
    file.save()
    file.save_as_mofile(str(Path(file.fpath).with_suffix(".mo")))


def test_a_complete_catalogue_passes(catalogues, code, german):
    assert list(catalogues.check("de", code)) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda start, right, counted: setattr(start, "msgstr", ""), "is not translated"),
        (lambda start, right, counted: start.flags.append("fuzzy"), "is fuzzy"),
        (lambda start, right, counted: setattr(start, "msgid", "Begin"), "is not in the code"),
        (lambda start, right, counted: setattr(start, "msgid", "Begin"), "“Start” is missing"),
        (lambda start, right, counted: setattr(start, "obsolete", 1), "obsolete"),
        (
            lambda start, right, counted: setattr(right, "msgstr", "<b>%(nane)s</b> stimmt."),
            "has other placeholders",
        ),
        (lambda start, right, counted: setattr(right, "msgstr", "%(name)s"), "has other tags"),
        (lambda start, right, counted: counted.msgstr_plural.update({1: ""}), "lacks a plural"),
        (
            lambda start, right, counted: counted.msgstr_plural.update({1: "Beispiele"}),
            "has other placeholders",
        ),
    ],
)
def test_each_fault_of_a_catalogue_is_found(catalogues, code, german, change, fault):
    change(*german)
    write(german)
    assert any(fault in line for line in catalogues.check("de", code))


def test_a_stale_binary_is_found(catalogues, code, german):
    german[0].msgstr = "Anfangen"
    german.save()
    (line,) = catalogues.check("de", code)
    assert "django.mo" in line


def test_renewing_retains_unchanged_entries_and_empties_others(catalogues, code, german):
    changed = {
        catalogues.key(entry): entry
        for entry in (
            polib.POEntry(msgid="Start"),
            polib.POEntry(msgid="<b>%(name)s</b> is quite right."),
            polib.POEntry(msgid="%(n)s example", msgid_plural="%(n)s examples"),
        )
    }
    catalogues.renew("de", changed)
    start, right, counted = polib.pofile(str(catalogues.po("de")))
    assert (start.msgstr, right.msgstr, right.fuzzy) == ("Los", "", False)
    assert counted.msgstr_plural == {0: "%(n)s Beispiel", 1: "%(n)s Beispiele"}
    assert len(list(catalogues.check("de", changed))) == 1


@pytest.mark.long
def test_an_offered_language_has_a_catalogue(catalogues, settings, tmp_path, capsys, monkeypatch):
    settings.LOCALE_PATHS = [tmp_path]
    settings.LANGUAGES = [("en", "English")]
    monkeypatch.setattr("sys.argv", ["catalogues.py"])
    assert catalogues.main() == 0
    settings.LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
    assert catalogues.main() == 1
    assert "zh_Hans: there is no catalogue" in capsys.readouterr().out


@pytest.mark.long
def test_sentences_are_found_without_the_programs_of_gettext(catalogues, monkeypatch):
    """Includes singular and plural sentences in templates and in Python."""
    monkeypatch.setenv("PATH", str(Path(shutil.which("git")).parent))
    found = catalogues.marked()
    assert (None, "Skip to content", "") in found
