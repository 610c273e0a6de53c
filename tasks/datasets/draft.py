"""Draft the card of a task made from a dataset. Defaults fill the gaps, and are reported."""

from collections.abc import Iterable, Mapping
from typing import Any

from tasks.answer_keys import LABEL, LONG_TEXT, LONGEST_TEXTS, OPTIONS, SPANS
from tasks.answers import Kind
from tasks.answers.choices import LISTED, NO_EXAMPLE, alternatives, defined, label_texts
from tasks.answers.typed import guide, longest
from tasks.cards import Card, CardError, parse_card
from tasks.datasets.mapping import Item, Mapped, question_of
from tasks.formats import Record

RTL = ("ar", "dv", "fa", "he", "ps", "ur", "yi")  # languages that are written from right to left
LONGEST_EXAMPLE = 300  # characters of an example that a help window quotes


def common_question(mapped: Mapped, ask: str) -> str:
    """Return a question for all rows, or "" if labels have their own or are too many to list."""
    answer = mapped.columns.answer
    names = [mapped.columns.name_of(label) for label in mapped.columns.labels]
    if ask or mapped.question_types:
        return ask
    if answer.name == LABEL:
        return f"{alternatives(names)}?" if len(names) <= LISTED else ""
    return answer.default_texts["question"]


def card_of(
    name: str, mapped: Mapped, trained: Iterable[Item], unused: Iterable[Item],
    card_keys: Mapping[str, Any], definitions: Mapping[str, str],
) -> tuple[Card, list[str]]:  # fmt: skip
    """Return the card, and the names of keys that have default values.

    `trained` contains the items in training files, and `unused` those in no file. Only these
    determine the word counts and quoted examples, never the test set. `card_keys` contains the
    keys that were given. Raises CardError.
    """
    columns = mapped.columns
    names = [columns.name_of(label) for label in columns.labels]
    unknown = sorted(set(definitions) - set(names))
    if unknown:
        problem = f"unknown label {unknown[0]} (--define); the labels are: {alternatives(names)}"
        raise CardError(problem)
    data = _default_keys(name, mapped, names)
    if columns.answer.name == LONG_TEXT:
        data |= guide([gold for item in trained for gold in item.records[0].gold])
    language = card_keys.get("language", data["language"])
    data["direction"] = "rtl" if language.split("-")[0] in RTL else "ltr"
    defaults = [key for key in data if key not in {*card_keys, "name", "family", "answer"}]
    defaults += [f"definition of {label}" for label in names if label not in definitions]
    answer, examples = columns.answer, _examples(mapped, list(unused))
    if answer.name == LABEL:
        data["labels"] = [
            defined(label, definitions.get(label), examples.get(label, NO_EXAMPLE))
            for label in names
        ]
    elif names and answer.name == SPANS:
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
    return parse_card({**data, **card_keys}, "the card", is_new=True), defaults


def _default_keys(name: str, mapped: Mapped, names: list[str]) -> dict[str, Any]:
    columns = mapped.columns
    answer = columns.answer
    data: dict[str, Any] = {"name": name, "title": name, "answer": answer.name}
    if answer.name == LABEL:
        data |= {"family": "classification", **label_texts(names)}
        if len(names) <= LISTED or columns.question or columns.ask:
            del data["question"]
    elif answer.name != SPANS:
        data |= _other_texts(mapped, answer)
    else:
        target = f"every part that is {alternatives(names)}" if names else "the answer"
        empty = " If there is none, choose “No answer”." if names or columns.no_answer else ""
        data |= {
            "family": "sequence_labelling" if names else "reading_comprehension",
            "description": f"Highlight {target} in a text.",
            "instructions": f"{answer.default_texts['instructions']}{empty}",
            "submit_hint": f"Highlight the answer.{empty} Then submit.",
        }
    are_several = any(len(record.gold) > 1 for item in mapped.items for record in item.records)
    return data | {
        "segments": [_segment(column) for column in columns.text],
        "no_answer": answer.name != LABEL and (columns.no_answer or bool(mapped.question_types)),
        "gold_rule": "any_of" if answer.is_one_text and are_several else "set",
        "language": "en",
        "source": "not stated",
        "licence": "not stated",
    }


def _other_texts(mapped: Mapped, answer: Kind) -> dict[str, Any]:
    """Return default texts for chosen or typed answers, and limits that fit their gold."""
    data: dict[str, Any] = answer.default_texts
    data["family"] = "generation" if answer.name in LONGEST_TEXTS else "classification"
    if mapped.columns.question or mapped.columns.ask:
        del data["question"]
    records = [record for item in mapped.items for record in item.records]
    golds = [gold for record in records for gold in record.gold]
    if answer.name == OPTIONS:
        data["all_options"] = any(set(record.gold) >= set(record.options) for record in records)
    if answer.name in LONGEST_TEXTS:
        data |= longest(answer.name, golds)
    return data


def _segment(column: str) -> str:
    heading = column.rpartition(".")[2].replace("_", " ").strip() or column
    if heading.isdigit() or heading == "tokens":  # not a descriptive name for a column
        return "Text"
    return heading[:1].upper() + heading[1:]


def _examples(mapped: Mapped, unused: list[Item]) -> dict[str, str]:
    examples: dict[str, str] = {}
    for item in sorted(unused, key=lambda item: (_length(item.records[0]), item.key)):
        if _length(item.records[0]) > LONGEST_EXAMPLE:
            break
        texts = " / ".join(f"“{text.strip()}”" for text in item.records[0].context)
        if mapped.columns.kind == "choice":
            examples.setdefault(item.label, texts)
            continue
        for kind, record in zip(mapped.question_types, item.records, strict=False):
            if record.gold:
                quoted = " and ".join(f"“{text}”" for text in record.gold)
                examples.setdefault(kind, f"{texts}: highlight {quoted}.")
    return examples


def _length(record: Record) -> int:
    return sum(map(len, record.context))
