"""Translation catalogues for tests, which put each sentence of the browser scripts in brackets."""

from collections.abc import Iterable
from pathlib import Path

import polib

OF_SCRIPTS = Path(__file__).parents[1] / "locale" / "de" / "LC_MESSAGES" / "djangojs.po"

ARABIC = (
    "nplurals=6; plural=n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3"
    " : n%100>=11 && n%100<=99 ? 4 : 5;"
)
FORMS = {
    "de": "nplurals=2; plural=n != 1;",
    "es": "nplurals=2; plural=n != 1;",
    "zh-hans": "nplurals=1; plural=0;",
    "ar": ARABIC,
}
LOCALES = {"zh-hans": "zh_Hans"}


def bracket(text: str, form: str = "") -> str:
    return f"⟦{form}{text}⟧"


def sentences() -> list[polib.POEntry]:
    """Return every sentence of the scripts."""
    return list(polib.pofile(str(OF_SCRIPTS)))


def install(settings, folder: Path, language: str) -> None:
    """Translate each sentence of the scripts to ⟦sentence⟧, and plural forms to ⟦0: …⟧, ⟦1: …⟧."""
    write(settings, folder, language, sentences(), "djangojs")


def write(
    settings, folder: Path, language: str, entries: Iterable[polib.POEntry], domain="django"
) -> None:
    """Write a catalogue that translates only these sentences."""
    catalogue = polib.POFile()
    catalogue.metadata = {
        "Content-Type": "text/plain; charset=utf-8",
        "Plural-Forms": FORMS[language],
    }
    number = int(FORMS[language].removeprefix("nplurals=")[0])
    for said in entries:
        if said.msgid_plural:
            forms = {form: bracket(said.msgid_plural, f"{form}: ") for form in range(number)}
            translated = {"msgid_plural": said.msgid_plural, "msgstr_plural": forms}
        else:
            translated = {"msgstr": bracket(said.msgid)}
        catalogue.append(polib.POEntry(msgid=said.msgid, msgctxt=said.msgctxt, **translated))
    path = folder / LOCALES.get(language, language) / "LC_MESSAGES"
    path.mkdir(parents=True, exist_ok=True)
    catalogue.save_as_mofile(str(path / f"{domain}.mo"))
    settings.LANGUAGES = [("en", "English"), (language, language)]
    settings.LOCALE_PATHS = [folder]
