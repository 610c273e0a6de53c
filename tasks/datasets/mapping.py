"""Convert rows to items, which are sampled and have texts, questions and gold answers.

An item is a text with one question, or with one question for each label (names of people, names of
places). Each item is drawn for the test or for one training split only, so these share no text.
"""

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tasks.cards import LONGEST_LABEL
from tasks.columns import grouped
from tasks.datasets import kinds
from tasks.datasets.kinds import Columns, read_gold
from tasks.datasets.table import Row, Table, Unlabelled, message
from tasks.formats import LONGEST_STRATUM, Record, canonical

MAX_LABELS = 100
LISTED = 9  # maximum number of row numbers in a note
WHOLE = re.compile(r"\A(-?\d+)\.0\Z")  # a whole number, as some programs write it


@dataclass(frozen=True)
class Item:
    """A text to sample, with its records and its row number.

    Items whose texts and questions differ only in case, whitespace or Unicode form have the same
    `key`. `label` is "" if answers are not labels, and `stratum` is "" without a column for it.
    """

    number: int
    key: str
    label: str
    stratum: str
    records: tuple[Record, ...]


@dataclass(frozen=True)
class Mapped:
    """All items, without repeated texts. `columns` contains all labels that were found."""

    columns: Columns
    items: list[Item]
    question_types: tuple[str, ...]
    notes: list[str]


def question_of(kind: str) -> str:
    return f"List all {kind} in the text"


def map_rows(table: Table, columns: Columns) -> Mapped:
    """Convert the rows to items. Raises DatasetError with the row and column."""
    kinds.check_kind(columns.kind)
    for column in (
        *columns.text, *columns.gold, *columns.options, columns.question, columns.id,
        columns.stratum,
    ):  # fmt: skip
        if column:
            table.check(column)
    if not columns.text or not columns.gold:
        raise table.error("", "set the text column (--text) and the gold column (--gold)")
    columns, notes = _with_labels(table, columns)
    items, unlabelled = [], 0
    numbers: dict[str, int] = {}
    for row in table.rows:
        try:
            item = _item(row, columns)
        except Unlabelled:
            if not columns.skip_unlabelled:
                raise
            unlabelled += 1
            continue
        first = numbers.setdefault(item.records[0].id, row.number)
        if first != row.number:
            taken = f"{item.records[0].id!r} is already the id of {table.unit} {first}"
            raise row.error(columns.id, f"{taken}; omit --id to use row numbers")
        items.append(item)
    if unlabelled:
        notes.append(f"rows without a label were skipped: {unlabelled:,}")
    items, warnings = _distinct_items(table, items)
    types = tuple(map(columns.name_of, columns.labels)) if columns.kind == "spans" else ()
    return Mapped(columns, items, types, [*table.notes, *notes, *warnings])


def _with_labels(table: Table, columns: Columns) -> tuple[Columns, list[str]]:
    """If no labels are given, add those in the rows, in alphabetical order to hide frequencies."""
    answer = columns.answer
    if columns.options and not answer.has_options:
        raise table.error(columns.options[0], message("no_options", kind=columns.kind))
    if answer.has_options and answer.is_one_text and not columns.options:
        raise table.error("", "set the column with the options of each row (--options)")
    is_labelled = kinds.has_labels(table, columns)
    have_labels = columns.kind == "choice" or (columns.kind == "options" and not columns.options)
    if not (is_labelled or have_labels):
        if columns.labels or columns.names:
            expected = "spans with labels" if columns.kind == "spans" else "labels of all rows"
            raise table.error(columns.gold[0], f"contains no {expected}")
        return columns, []
    if is_labelled and (columns.question or columns.ask or len(columns.text) > 1):
        raise table.error(columns.gold[0], message("labelled_spans"))
    present = _rows_of_values(table, columns, is_labelled)
    labels = columns.labels or tuple(sorted(present))
    notes = []
    if is_labelled and (skipped := sorted(set(present) - set(labels))):
        notes.append(f"spans with other labels were skipped: {', '.join(skipped)}")
    _check_labels(table, columns, labels, present)
    spaced = {label: label.strip() for label in labels if label != label.strip()}
    return replace(columns, labels=labels, names=spaced | columns.names), notes


def _rows_of_values(table: Table, columns: Columns, is_labelled: bool) -> dict[str, Row]:
    """Map each label to the first row with this label."""
    first: dict[str, Row] = {}
    plain = replace(columns, labels=(), names={})
    for row in table.rows:
        if is_labelled:
            spans = kinds.labelled(row, plain, _texts(row, columns))
            labels = [span.label for span in spans]
        else:
            try:
                labels = list(read_gold(row, plain, ())[0].gold)
            except Unlabelled:
                continue
        for label in labels:
            first.setdefault(label, row)
    return first


def _check_labels(
    table: Table, columns: Columns, labels: Sequence[str], rows: Mapping[str, Row]
) -> None:
    column = columns.gold[0]
    if not labels:
        raise table.error(column, "no row has a label")
    if len(labels) > MAX_LABELS:
        raise table.error(column, message("many_labels", number=len(labels), limit=MAX_LABELS))
    names = [columns.name_of(label) for label in labels]
    if unknown := sorted(set(columns.names) - set(labels)):
        raise table.error(column, message("unused_label", unknown=unknown[0]))
    alike: dict[str, int] = {}
    for place, name in enumerate(names):
        row = rows.get(labels[place])
        if not name.strip() or len(name) > LONGEST_LABEL or len(name.splitlines()) > 1:
            expected = f"is not a single line of 1 to {LONGEST_LABEL} characters; check the column"
            raise (row or table).error(column, f"the label {name[:60]!r} {expected}")
        spelling = WHOLE.sub(r"\1", _folded(name))
        if (first := alike.setdefault(spelling, place)) != place:
            later = max(filter(None, (row, rows.get(labels[first]))), default=None)
            problem = f"the labels {names[first]!r} and {name!r} differ only in case, spaces or .0"
            raise (later or table).error(column, f"{problem}; use one spelling in the file")


def _texts(row: Row, columns: Columns) -> tuple[str, ...]:
    texts = []
    for column in columns.text:
        value = row.value(column)
        if isinstance(value, list) and all(isinstance(token, str) for token in value):
            gold = row.value(columns.gold[0])
            if isinstance(gold, list) and len(gold) == len(value):  # tokens with tags
                value = " ".join(value)
            elif isinstance(gold, list) and columns.kind == "spans":
                problem = f"{len(gold)} tags for {len(value)} tokens; expected one for each"
                raise row.error(columns.gold[0], problem)
        text = row.text(column, value) if value is not None else ""
        if not text.strip():
            raise row.error(column, "is empty; fill it in or remove the row")
        texts.append(text)
    return tuple(texts)


def _item(row: Row, columns: Columns) -> Item:
    texts = _texts(row, columns)
    golds = read_gold(row, columns, texts)
    question = row.text(columns.question) if columns.question else columns.ask
    if columns.question and not question.strip():
        raise row.error(columns.question, "is empty; fill it in or remove the row")
    identity = row.text(columns.id) if columns.id else str(row.number)
    if not identity.strip() or len(identity) > 190:
        raise row.error(columns.id, "expected an id of 1 to 190 characters")
    stratum = row.text(columns.stratum).strip() if columns.stratum else ""
    if columns.stratum and not 0 < len(stratum) <= LONGEST_STRATUM:
        raise row.error(columns.stratum, message("bad_stratum", limit=LONGEST_STRATUM))
    records = tuple(
        Record(f"{identity}_{number}" if len(golds) > 1 else identity, texts,
               question_of(gold.kind) if gold.kind else question, gold.gold, gold.starts,
               options=gold.options, stratum=stratum)
        for number, gold in enumerate(golds, 1)
    )  # fmt: skip
    key = hashlib.sha256(canonical([[_folded(text) for text in texts], _folded(question)]))
    label = golds[0].gold[0] if columns.kind == "choice" else ""
    return Item(row.number, key.hexdigest(), label, stratum, records)


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _distinct_items(table: Table, items: list[Item]) -> tuple[list[Item], list[str]]:
    """Keep the first row of each text, or none if rows with the same text have different gold."""
    distinct, copies, doubtful = [], [], []
    for group in grouped((item.key, item) for item in items).values():
        golds = {
            tuple((frozenset(r.options), frozenset(r.gold)) for r in item.records) for item in group
        }
        if len(golds) > len({tuple(options for options, _gold in parts) for parts in golds}):
            doubtful += group
        else:
            distinct.append(group[0])
            copies += group[1:]
    notes = []
    if copies:
        notes.append(
            f"rows whose text appears in an earlier row are not drawn: {_rows(table, copies)}"
        )
    if doubtful:
        notes.append(
            "texts that appear several times with different gold are left out:"
            f" {_rows(table, doubtful)}"
        )
    return distinct, notes


def _rows(table: Table, items: list[Item]) -> str:
    listed = ", ".join(str(number) for number in sorted(item.number for item in items)[:LISTED])
    remainder = f" and {len(items) - LISTED:,} more" if len(items) > LISTED else ""
    return f"{table.unit} {listed}{remainder}"
