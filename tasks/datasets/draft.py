"""The card of a dataset: what was said about it, and defaults that are named as such."""

from collections.abc import Iterable, Mapping
from typing import Any

from tasks.cards import Card, CardError, parse_card
from tasks.datasets.mapping import LISTED, Item, Mapped, question_of
from tasks.formats import Record

RTL = ("ar", "dv", "fa", "he", "ps", "ur", "yi")  # languages written from right to left
LONGEST_EXAMPLE = 300  # characters of a text that a help window quotes
WORDS = {"choice": "Choose one, then submit.", "spans": "Highlight {what}, then submit."}
NO_EXAMPLE = "No example is given."


def asked(mapped: Mapped, ask: str) -> str:
    """The question of all rows, where neither a column nor anybody says it."""
    names = [mapped.columns.name_of(label) for label in mapped.columns.labels]
    if ask or mapped.question_types:
        return ask
    if mapped.columns.kind == "choice":
        return f"{_or(names)}?" if len(names) <= LISTED else ""
    return "Which part of the text is the answer?"


def card_of(
    name: str, mapped: Mapped, rest: Iterable[Item], said: Mapping[str, Any],
    definitions: Mapping[str, str],
) -> tuple[Card, list[str]]:  # fmt: skip
    """The card, and the keys that nobody said. `rest` are items that are in no file.

    `said` are keys of a card. Raises CardError.
    """
    columns = mapped.columns
    names = [columns.name_of(label) for label in columns.labels]
    unknown = sorted(set(definitions) - set(names))
    if unknown:
        raise CardError(f"--define {unknown[0]}: there is no such label; there are: {_or(names)}")
    data = _usual(name, mapped, names)
    language = said.get("language", data["language"])
    data["direction"] = "rtl" if language.split("-")[0] in RTL else "ltr"
    defaults = [key for key in data if key not in said and key not in ("name", "family")]
    defaults += [f"definition of {label}" for label in names if label not in definitions]
    examples = _examples(mapped, list(rest))
    if columns.kind == "choice":
        data["labels"] = [
            {
                "name": label,
                "definition": definitions.get(label, f"Choose this where “{label}” fits best."),
                "example": examples.get(label, NO_EXAMPLE),
            }
            for label in names
        ]
    elif names:
        data["question_types"] = [
            {
                "match": question_of(kind),
                "name": kind,
                "wording": f"Which parts of the text are {kind}?",
                "definition": definitions.get(kind, f"What the data calls “{kind}”."),
                "example": examples.get(kind, NO_EXAMPLE),
            }
            for kind in names
        ]
    return parse_card({**data, **said}, "the card"), defaults


def _usual(name: str, mapped: Mapped, names: list[str]) -> dict[str, Any]:
    columns = mapped.columns
    data: dict[str, Any] = {"name": name, "title": name}
    if columns.kind == "choice":
        data |= {
            "family": "classification",
            "description": f"Read a text and choose what fits it: {_or(names)}."
            if len(names) <= LISTED
            else "Read a text and choose the label that fits it.",
            "instructions": "Read the text. Then choose the label that fits it best.",
            "submit_hint": WORDS["choice"],
        }
        if len(names) > LISTED and not (columns.question or columns.ask):
            data["question"] = "Which label fits the text?"
    else:
        what = f"every part that is {_or(names)}" if names else "the answer"
        empty = " If there is none, choose “No answer”." if names or columns.no_answer else ""
        data |= {
            "family": "sequence_labelling" if names else "reading_comprehension",
            "description": f"Highlight {what} in a text.",
            "instructions": "Read the text and the question. Highlight exactly the words that"
            f" answer it, and nothing else.{empty}",
            "submit_hint": f"Highlight the answer.{empty} Then submit.",
        }
    return data | {
        "segments": [_segment(column) for column in columns.text],
        "no_answer": columns.kind == "spans" and (bool(names) or columns.no_answer),
        "gold_rule": "set",
        "language": "en",
        "source": "not stated",
        "licence": "not stated",
    }


def _segment(column: str) -> str:
    word = column.rpartition(".")[2].replace("_", " ").strip() or column
    if word.isdigit() or word == "tokens":  # a column without a name of its own
        return "Text"
    return word[:1].upper() + word[1:]


def _or(names: list[str]) -> str:
    """a; a or b; a, b or c."""
    return " or ".join(
        [part for part in (", ".join(names[:-1]), names[-1] if names else "") if part]
    )


def _examples(mapped: Mapped, rest: list[Item]) -> dict[str, str]:
    """For each label the shortest text that is in no file, with its answer."""
    examples: dict[str, str] = {}
    for item in sorted(rest, key=lambda item: (_length(item.records[0]), item.key)):
        if _length(item.records[0]) > LONGEST_EXAMPLE:
            break
        texts = " / ".join(f"“{text.strip()}”" for text in item.records[0].context)
        if mapped.columns.kind == "choice":
            examples.setdefault(item.stratum, texts)
            continue
        for kind, record in zip(mapped.question_types, item.records, strict=False):
            if record.gold:
                quoted = " and ".join(f"“{text}”" for text in record.gold)
                examples.setdefault(kind, f"{texts}: highlight {quoted}.")
    return examples


def _length(record: Record) -> int:
    return sum(map(len, record.context))
