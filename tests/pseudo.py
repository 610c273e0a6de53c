"""A pseudo-language with every sentence in ⟦brackets⟧, and the untranslated letters of a page.

Texts of tasks, studies and researchers are written in Greek letters (`greek`), so that a Latin
letter outside brackets belongs to a sentence that was not marked for translation.
"""

import importlib.util
import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import lxml.html
import polib
from django.test import Client
from django.urls import reverse

from annotation.models import Participation, Status, Study
from tasks.formats import Record
from tests import catalogues, factories

CLUES = Path(__file__).parents[1] / "tasks" / "clues"
TOOL = Path(__file__).parents[1] / ".ci" / "catalogues.py"
LANGUAGE = "de"
LATIN, GREEK = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "ΑΒΨΔΕΦΓΗΙΞΚΛΜΝΟΠΘΡΣΤΥΩϢΧϞΖ"
LETTERS = str.maketrans(LATIN + LATIN.lower(), GREEK + GREEK.lower())
# Attributes that are displayed or spoken.
SPOKEN = ("title", "aria-label", "alt", "placeholder", "aria-description", "data-where")
# Text that needs no translation: a name, a currency, codes and names of keys.
NAMES = re.compile(r"\b(?:Handful|USD)\b")
NO_SENTENCES = ("script", "style", "output", "kbd", "code")


def greek(text: str) -> str:
    return text.translate(LETTERS)


@cache
def marked() -> tuple[polib.POEntry, ...]:
    """Return every sentence marked for translation, found with the tool of `make lint`."""
    spec = importlib.util.spec_from_file_location("catalogues", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return tuple(module.marked().values())


def install(settings, folder: Path) -> None:
    """Translate every sentence to LANGUAGE by putting it in brackets."""
    catalogues.write(settings, folder, LANGUAGE, marked())


def unmarked(page: str) -> list[str]:
    """Return text and spoken attributes of a page that have Latin letters outside brackets."""
    root = lxml.html.fromstring(page)
    for bar in root.xpath('//nav[@class="preview-bar"]'):  # researchers' pages are English
        bar.drop_tree()
    texts = ["\n".join(_texts(root))]
    texts += [value for name in SPOKEN for value in root.xpath(f"//@{name}")]
    found = [line.strip() for text in texts for line in _outside(text).split("\n")]
    return [line for line in found if re.search("[A-Za-z]", NAMES.sub("", line))]


def _texts(element: lxml.html.HtmlElement) -> Iterator[str]:
    if isinstance(element.tag, str) and element.tag not in NO_SENTENCES:
        yield element.text or ""
        for child in element:
            yield from _texts(child)
            yield child.tail or ""


def _outside(text: str) -> str:
    """Return the text outside brackets of any depth."""
    depth, kept = 0, []
    for character in text:
        depth += (character == "⟦") - (character == "⟧")
        if depth == 0 and character != "⟧":
            kept.append(character)
    return "".join(kept)


def localised_attributes(page: str) -> list[str]:
    """Return attributes for programs that contain a decimal comma."""
    root = lxml.html.fromstring(page)
    return [
        f"{name}={value}"
        for element in root.iter()
        if isinstance(element.tag, str)
        for name, value in element.items()
        if name not in (*SPOKEN, "content", "d") and re.search(r"\d,\d", value)
    ]


# A study in Greek letters, and the annotator who completes it.


class Reader:
    """An annotator's client that checks each page for untranslated text."""

    def __init__(self):
        self.client = Client()
        self.forgotten: dict[str, list[str]] = {}

    def read(self, reply, name: str):
        for line in unmarked(reply.content.decode()):
            self.forgotten.setdefault(line, []).append(name)
        return reply

    def get(self, address: str, name: str, **more):
        return self.read(self.client.get(address, **more), name)

    def post(self, address: str, fields: dict, name: str, **more):
        return self.read(self.client.post(address, fields, follow=True, **more), name)


def in_greek(value):
    """Write the texts of a card in Greek letters, except those that programs read."""
    if isinstance(value, dict):
        plain = ("name", "family", "gold_rule", "language", "direction", "granularity")
        plain += ("answer",)
        return {
            key: part if key in plain and "title" in value else in_greek(part)
            for key, part in value.items()
        }
    if isinstance(value, list):
        return [in_greek(part) for part in value]
    return greek(value) if isinstance(value, str) else value


def card_of(name: str) -> dict:
    return in_greek(tomllib.loads((CLUES / f"{name}.toml").read_text()))


def records(card: dict, prefix: str, number: int) -> list[Record]:
    """Return contexts with several questions each; the first question has an answer."""
    made = []
    for index in range(number):
        text = greek(f"{prefix} {index}: Ada Lund met Kim Weir of Acme in Porto and Rome today .")
        context = tuple(text for _segment in card["segments"])
        asked = [kind["match"] for kind in card.get("question_types", ())] or [greek("Who?")]
        for place, question in enumerate(asked):
            gold = [greek("Ada Lund")] if place == 0 else [greek("Acme")] if place == 1 else []
            if not gold and not card["no_answer"]:
                gold = [greek("Kim Weir")]
            if card.get("labels"):
                gold = [card["labels"][index % len(card["labels"])]["name"]]
            made.append(Record(f"{prefix}-{index}-{place}", context, question, tuple(gold), None))
    return made


def study_of(researcher, *tasks, **fields) -> Study:
    defaults = {
        "title": greek("A study"),
        "consent_text": greek("You take part."),
        "interface_language": LANGUAGE,
        "shots": [0, 2],
        "tasks_per_worker": len(tasks),
    }
    return factories.make_study(researcher, *tasks, **(defaults | fields))


def made_task(card: dict, shots: int = 2):
    train = {shots: records(card, "train", shots)}
    return factories.make_task(train=train, test=records(card, "test", 2), **card)


def task_of_kind(kind: str, **changes):
    """Import the small task for that answer type, in Greek letters."""
    said, make = factories.KINDS[kind]
    card = in_greek(factories.card_data(**{**said, **changes}))
    files = {
        prefix: [
            replace(
                record,
                context=tuple(map(greek, record.context)),
                question=greek(record.question),
                gold=tuple(map(greek, record.gold)),
                options=tuple(map(greek, record.options)),
            )
            for record in make(prefix, 2)
        ]
        for prefix in ("train", "test")
    }
    return factories.make_task(train={2: files["train"]}, test=files["test"], **card)


def arrive(reader, study) -> Participation:
    """Open the landing page, press Start and consent."""
    code = study.link_code
    reader.get(reverse("landing", args=[code]), "landing")
    reader.post(reverse("start", args=[code]), {}, "consent")
    seat = study.participations.latest("pk")
    reader.post(reverse("consent", args=[seat.token]), {"agree": "?"}, "consent, refused")
    reader.post(reverse("consent", args=[seat.token]), {"agree": "yes"}, "instructions")
    return seat


def answer(reader, seat, fields: dict, name: str):
    turn = seat.latest_turn()
    address = reverse("answer", args=[seat.token])
    return reader.post(address, {"turn": turn.pk, **fields}, f"{name}, {turn.step}")


def go_on(reader, seat, name: str):
    seat.refresh_from_db()
    turn = seat.latest_turn()
    if seat.status == Status.WORKING and turn.given is not None:
        address = reverse("continue", args=[seat.token])
        reader.post(address, {"leaving": "reveal"}, f"{name}, after a reveal")
        turn = seat.latest_turn()
        if turn.given is not None:
            reader.post(address, {"leaving": "review"}, f"{name}, after the review")
