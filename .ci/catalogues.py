"""Check that the catalogues of the interface are complete and up to date (`make lint`).

`catalogues.py` checks every folder of locale/. The catalogue must contain exactly the marked
sentences with all plural forms, no entry may be fuzzy, placeholders and tags must match, and the
.mo must match the .po. Sentences in scripts are in djangojs.po, all others in django.po. Every
language in settings.LANGUAGES has both. `catalogues.py renew [LOCALE ...]` (`make messages`)
rewrites the files and adds the given locales. It preserves translations of unchanged sentences and
leaves the others empty. The gettext programs are not required.
"""

import argparse
import io
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import django
import polib
from babel.messages.extract import extract_javascript, extract_python
from django.conf import settings
from django.utils.translation import to_locale
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("config", "tasks", "annotation", "analysis", "templates")
# The functions that mark a sentence, and the meaning of their arguments. "": not a sentence.
ONE, COUNTED = ("msgid",), ("msgid", "msgid_plural")
KEYWORDS = {
    "_": ONE, "gettext": ONE, "gettext_lazy": ONE, "gettext_noop": ONE,
    "ngettext": COUNTED, "ngettext_lazy": COUNTED,
    "pgettext": ("msgctxt", *ONE), "pgettext_lazy": ("msgctxt", *ONE),
    "npgettext": ("msgctxt", *COUNTED), "npgettext_lazy": ("msgctxt", *COUNTED),
    # `sentence` and `counted` stand for texts in TOML files (code_of).
    "sentence": ONE, "counted": COUNTED, "AnswerError": ("", *ONE),
}  # fmt: skip
DOMAINS = ("django", "djangojs")  # the second is for scripts
Key = tuple[str | None, str, str]
PLACEHOLDER = re.compile(r"%\((\w+)\)[a-z]")
TAG = re.compile(r"<[^<>]+>")


def sources(domain: str) -> list[Path]:
    folders, ends = SOURCES, (".py", ".html", "answers/kinds.toml", "_errors.toml")
    if domain == "djangojs":
        folders, ends = ["static/js"], ".js"
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", *folders],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    paths = [ROOT / name for name in sorted(listed) if name.endswith(ends)]
    return [path for path in paths if path.exists() and "migrations" not in path.parts]


def code_of(path: Path) -> str:
    """Return the file as Python code. Templates are converted by Django, without indentation.

    In TOML files, the texts of errors are sentences, and so are the texts of answer types that are
    shown to annotators, except for numbers.
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".toml":
        tables = tomllib.loads(text).values()
        errors = [t for t in tables if "text" in t]
        calls = [f"counted({t['text']!r}, {t['plural']!r})" for t in errors if "plural" in t]
        shown = [t["text"] for t in errors if "plural" not in t]
        shown += texts_in([t["shown"] for t in tables if "shown" in t])
        return "\n".join([*calls, *(f"sentence({s!r})" for s in shown if not s[0].isdigit())])
    if path.suffix != ".html":
        return text
    return "\n".join(line.strip() for line in templatize(text, str(path)).split("\n"))


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        return
    for part in value.values() if isinstance(value, dict) else value:
        yield from texts_in(part)


def marked(domain: str = "django") -> dict[Key, polib.POEntry]:
    """Return all sentences marked in the code, with the files that contain them."""
    code: dict[Key, polib.POEntry] = {}
    extract = extract_javascript if domain == "djangojs" else extract_python
    options = {"encoding": "utf-8", "parse_template_string": True}
    for path in sources(domain):
        text = io.BytesIO(code_of(path).encode())
        for _line, function, texts, comments in extract(
            text, list(KEYWORDS), ["Translators:"], options
        ):
            entry = told(function, texts)
            if entry is None:
                continue
            entry = code.setdefault(key(entry), entry)
            place = (str(path.relative_to(ROOT)), "")
            if place not in entry.occurrences:
                entry.occurrences.append(place)
            entry.comment = "\n".join(filter(None, [entry.comment, *comments]))
    return code


def told(function: str, texts: Any) -> polib.POEntry | None:
    """Return an untranslated entry for a call, or None if its texts are missing."""
    given = texts if isinstance(texts, (list, tuple)) else (texts,)
    names = KEYWORDS[function]
    if len(given) < len(names) or not all(given[: len(names)]):
        return None
    parts = {name: text for name, text in zip(names, given, strict=False) if name}
    flags = ["python-format"] if PLACEHOLDER.search("".join(parts.values())) else []
    return polib.POEntry(**parts, flags=flags, occurrences=[])


def folder() -> Path:
    return Path(settings.LOCALE_PATHS[0])


def po(locale: str, domain: str = "django") -> Path:
    return folder() / locale / "LC_MESSAGES" / f"{domain}.po"


def locales() -> list[str]:
    return sorted(path.parts[-3] for path in folder().glob("*/LC_MESSAGES/django.po"))


def forms_of(entry: polib.POEntry) -> list[str]:
    """Return the translations, one per plural form."""
    if entry.msgid_plural:
        return [text for _number, text in sorted(entry.msgstr_plural.items())]
    return [entry.msgstr]


def faults(entry: polib.POEntry, plurals: int) -> Iterator[str]:
    """Yield the errors in the translation of an entry."""
    texts = [entry.msgid, *([entry.msgid_plural] if entry.msgid_plural else [])]
    forms = forms_of(entry)
    if entry.fuzzy:
        yield "is fuzzy"
    if len(forms) != (plurals if entry.msgid_plural else 1) or not all(forms):
        yield "lacks a plural form" if any(forms) else "is not translated"
        return
    wanted = [set(PLACEHOLDER.findall(text)) for text in texts]
    for form in forms:
        used = set(PLACEHOLDER.findall(form))
        # The singular may omit its number if English omits it ("One example").
        if not set.intersection(*wanted) <= used <= set.union(*wanted):
            yield f"has other placeholders: “{form}”"
        if tags(form) not in map(tags, texts):
            yield f"has other tags: “{form}”"
    if set(PLACEHOLDER.findall(forms[-1])) != wanted[-1]:
        yield f"has other placeholders: “{forms[-1]}”"


def tags(text: str) -> Counter[str]:
    return Counter(TAG.findall(text))


def key(entry: polib.POEntry) -> Key:
    return entry.msgctxt, entry.msgid, entry.msgid_plural or ""


def check(locale: str, code: dict[Key, polib.POEntry], domain: str = "django") -> Iterator[str]:
    """Yield one line for each error in a catalogue."""
    catalogue = polib.pofile(str(po(locale, domain)))
    entries = {key(entry): entry for entry in catalogue if not entry.obsolete}
    for missing in code.keys() - entries.keys():
        yield f"“{missing[1]}” is missing: make messages"
    for spare in entries.keys() - code.keys():
        yield f"“{spare[1]}” is not in the code: make messages"
    if catalogue.obsolete_entries():
        yield f"{len(catalogue.obsolete_entries())} obsolete sentences: make messages"
    plurals = int(re.search(r"nplurals=(\d+)", catalogue.metadata["Plural-Forms"])[1])
    for entry in entries.values():
        yield from (f"“{entry.msgid}” {fault}" for fault in faults(entry, plurals))
    compiled = po(locale, domain).with_suffix(".mo")
    if not compiled.exists() or compiled.read_bytes() != catalogue.to_binary():
        yield f"{domain}.mo is not what {domain}.po says: make messages"


def renew(locale: str, code: dict[Key, polib.POEntry], domain: str = "django") -> polib.POFile:
    """Update the .po and .mo of a locale from the code."""
    path = po(locale, domain)
    before = polib.pofile(str(path)) if path.exists() else new(locale)
    known = {key(entry): entry for entry in before if not entry.fuzzy}
    plurals = int(re.search(r"nplurals=(\d+)", before.metadata["Plural-Forms"])[1])
    after = polib.POFile(wrapwidth=100)
    after.header, after.metadata = before.header, before.metadata
    for entry in code.values():
        kept = known.get(key(entry))
        empty = dict.fromkeys(range(plurals), "") if entry.msgid_plural else {}
        after.append(
            polib.POEntry(
                msgctxt=entry.msgctxt,
                msgid=entry.msgid,
                msgid_plural=entry.msgid_plural,
                msgstr=kept.msgstr if kept else "",
                msgstr_plural=kept.msgstr_plural if kept else empty,
                occurrences=entry.occurrences,
                comment=entry.comment,
                tcomment=kept.tcomment if kept else "",
                flags=entry.flags,
            )
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    after.save(str(path))
    after.save_as_mofile(str(path.with_suffix(".mo")))
    return after


def new(locale: str) -> polib.POFile:
    """Return an empty catalogue with Django's plural forms for the language."""
    own = Path(django.__file__).parent / "conf" / "locale" / locale / "LC_MESSAGES" / "django.po"
    if not own.exists():
        sys.exit(f"{locale}: Django has no such locale (such as de or zh_Hans)")
    catalogue = polib.POFile()
    catalogue.header = "The annotators' pages of Handful.\nNot yet reviewed by a native speaker."
    catalogue.metadata = {
        "Language": locale,
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Transfer-Encoding": "8bit",
        "Plural-Forms": polib.pofile(str(own)).metadata["Plural-Forms"],
    }
    return catalogue


def main() -> int:
    """Check or renew the catalogues. Return 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description="The catalogues of the interface.")
    parser.add_argument("what", choices=["check", "renew"], nargs="?", default="check")
    parser.add_argument("locale", nargs="*", help="a new one, such as fr or zh_Hans")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    sys.path.insert(0, str(ROOT))
    marks = {domain: marked(domain) for domain in DOMAINS}
    if options.what == "renew":
        for locale in sorted({*locales(), *options.locale}):
            for domain, code in marks.items():
                empty = sum(not all(forms_of(entry)) for entry in renew(locale, code, domain))
                print(f"{po(locale, domain)}: {empty} of {len(code)} to translate")
        return 0
    status = 0
    for language, _name in settings.LANGUAGES:
        if language != settings.LANGUAGE_CODE and to_locale(language) not in locales():
            print(f"{to_locale(language)}: there is no catalogue: make messages LOCALES=...")
            status = 1
    for locale, domain in product(locales(), DOMAINS):
        for fault in check(locale, marks[domain], domain):
            print(f"{po(locale, domain)}: {fault}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
