"""Readers for labelled spans, such as names, in CoNLL files and exports of annotation tools.

A span becomes {start, end, label, text}, with offsets in code points. The supported exports are
doccano's JSON Lines (github.com/doccano/doccano) and Label Studio's JSON
(labelstud.io/guide/task_format). Label Studio's full export contains {data, annotations: [{result,
was_cancelled, ground_truth}]}. Its short export (JSON_MIN) is read like any other JSON file.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tasks.datasets import texts
from tasks.datasets.table import DatasetError, Row, Table, from_objects, message
from tasks.datasets.texts import decoded

TAG = re.compile(r"O|(?P<place>[BIESLUM])-(?P<label>\S+)")
STARTS = ("start", "start_offset", "from")
ENDS = ("end", "end_offset", "to")
LABELS = ("label", "labels", "entity", "type")


class Labelled(NamedTuple):
    start: int
    end: int
    label: str


# Tags ------------------------------------------------------------------------------------------


def read_conll(path: Path, *, encoding: str = "") -> Table:
    """Read the sentences of a CoNLL file as {text, entities}.

    Each line contains a token and, in the last column, its tag in IOB1, BIO or BIOES (BILOU). Blank
    lines separate sentences. Comments (#) and -DOCSTART- lines are skipped. Raises DatasetError.
    """
    return from_objects(path.name, "line", _sentences(path, decoded(path, encoding)))


def _sentences(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    start, width = 0, 0
    tokens: list[str] = []
    tags: list[str] = []
    for number, line in enumerate([*text.replace("\r\n", "\n").split("\n"), ""], 1):
        fields = line.rstrip().split("\t") if "\t" in line else line.split()
        if _is_comment(line, fields, width):
            continue
        if not line.strip() or fields[0] == "-DOCSTART-":
            if tokens:
                yield start, _sentence(tokens, tags)
            tokens, tags = [], []
            continue
        width = width or len(fields)
        if len(fields) != width or width < 2:
            raise DatasetError(
                path.name,
                f"expected {max(width, 2)} columns, a token and, last, a tag; found {len(fields)}",
                f"line {number}",
            )
        if not TAG.fullmatch(fields[-1]):
            raise DatasetError(
                path.name,
                f"{fields[-1][:60]!r} is not a tag; expected O, B-LABEL or I-LABEL (BIO or BIOES)",
                f"line {number}",
                str(width),
            )
        if not tokens:
            start = number
        tokens.append(fields[0])
        tags.append(fields[-1])


def _is_comment(line: str, fields: Sequence[str], width: int) -> bool:
    """Return whether a line is a comment, and not a token that begins with #."""
    is_token = len(fields) == (width or max(2, len(fields))) and TAG.fullmatch(fields[-1])
    return line.startswith("#") and not is_token


def _sentence(tokens: Sequence[str], tags: Sequence[str]) -> dict[str, Any]:
    text = " ".join(tokens)
    entities = [
        {"start": span.start, "end": span.end, "label": span.label}
        for span in tagged_spans(tokens, tags)
    ]
    return {"text": text, "entities": entities}


def tagged_spans(tokens: Sequence[str], tags: Sequence[str]) -> list[Labelled]:
    """Return the labelled spans of a sentence, which consists of its tokens joined by spaces.

    Tags can be IOB1, BIO or BIOES. As in conlleval, I- after O or another label starts a span.
    """
    spans: list[Labelled] = []
    at, open_label = 0, ""
    for token, tag in zip(tokens, tags, strict=True):
        place, label = (tag[0], tag[2:]) if tag != "O" else ("O", "")
        if place in "IELM" and label == open_label:
            spans[-1] = spans[-1]._replace(end=at + len(token))
        elif place != "O":
            spans.append(Labelled(at, at + len(token), label))
        open_label = "" if place in "OESLU" else label
        at += len(token) + 1
    return spans


# Spans -----------------------------------------------------------------------------------------


def is_tagged(text: Any, gold: Any) -> bool:
    return isinstance(text, list) and isinstance(gold, list) and len(text) == len(gold)


def are_spans(gold: Any) -> bool:
    """Return whether a value is a list of labelled spans, as objects or [start, end, label]."""
    return (
        isinstance(gold, list)
        and bool(gold)
        and all(
            (isinstance(item, list) and len(item) == 3)
            or (isinstance(item, dict) and any(key in item for key in STARTS))
            for item in gold
        )
    )


def spans_of(row: Row, column: str, gold: list[Any], text: str) -> list[Labelled]:
    """Return the labelled spans in this value. Raises DatasetError."""
    spans = []
    for number, item in enumerate(gold, 1):
        start, end, label, covered = _parts(item)
        if type(start) is not int or type(end) is not int or not isinstance(label, str):
            raise row.error(column, message("bad_span", number=number))
        span = Labelled(start, end, label)
        if covered is not None and text[start:end] != covered:
            span = _from_utf16(span, text)
            if text[span.start : span.end] != covered:
                problem = f"span {number}: the text from {start} to {end} is not {covered[:60]!r}"
                raise row.error(column, problem)
        if not 0 <= span.start < span.end <= len(text) or not label:
            outside = f"{start} to {end} is outside the text, which has {len(text):,} characters"
            raise row.error(column, f"span {number}: {outside}")
        spans.append(span)
    return spans


def _parts(item: Any) -> tuple[Any, Any, Any, Any]:
    if isinstance(item, list):
        return item[0], item[1], item[2], None
    start, end, label = (
        next((item[key] for key in keys if key in item), None) for keys in (STARTS, ENDS, LABELS)
    )
    if isinstance(label, list) and len(label) == 1:
        label = label[0]
    text = item.get("text")
    return start, end, label, text if isinstance(text, str) else None


def _from_utf16(span: Labelled, text: str) -> Labelled:
    """Convert the offsets from UTF-16 code units, which browsers use, to code points."""
    data = text.encode("utf-16-le", "surrogatepass")
    start, end = (
        len(data[: 2 * place].decode("utf-16-le", "ignore")) for place in (span.start, span.end)
    )
    return Labelled(start, end, span.label)


# Exports of annotation tools --------------------------------------------------------------------


def read_doccano(path: Path, *, encoding: str = "") -> Table:
    """Read {text, label}, where `label` contains labels of the text or [start, end, label] spans.

    Depending on doccano's version, it is called label, labels or entities. Raises FormatError.
    """
    table = texts.read_json_lines(path, encoding=encoding)
    keys = [key for key in ("label", "labels", "entities") if key in table.columns]
    if "text" not in table.columns or not keys:
        hint = "; annotations has label numbers only" if "annotations" in table.columns else ""
        raise DatasetError(path.name, message("no_doccano", hint=hint))
    for row in table.rows:
        row.values["label"] = row.values.get(keys[0])
    table.columns += [name for name in ["label"] if name not in table.columns]
    if any(are_spans(row.values["label"]) for row in table.rows):
        table.notes.append("offsets were read as code points; compare the previews with your texts")
    return table


def read_label_studio(path: Path, *, encoding: str = "", records: str = "") -> Table:
    """Read the fields of `data`, and the annotations as columns named after their controls.

    Regions become labelled spans. A choice becomes a string, and several choices become a list.
    Raises FormatError.
    """
    table = texts.read_json(path, encoding=encoding, records=records)
    if not any("data" in row.values for row in table.rows):
        return table  # JSON_MIN
    return from_objects(table.file, table.unit, ((row.number, _flat(row)) for row in table.rows))


def _flat(row: Row) -> dict[str, Any]:
    data = row.value("data")
    if not isinstance(data, dict):
        raise row.error("data", "expected an object")
    key = "annotations" if "annotations" in row.values else "completions"
    listed = row.value(key)
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        raise row.error(key, "expected a list of annotations")
    given = [entry for entry in listed if not entry.get("was_cancelled")]
    if len(given) > 1:
        given = [entry for entry in given if entry.get("ground_truth")] or given
    if len(given) != 1:
        raise row.error(key, message("several_annotations", number=len(given)))
    values = {"id": row.values.get("id"), **data}
    for control, value in _results(row, key, given[0].get("result")).items():
        if control in values:
            raise row.error(control, "is the name of both a data field and a control")
        values[control] = value
    return values


def _results(row: Row, key: str, result: Any) -> dict[str, Any]:
    if not isinstance(result, list):
        raise row.error(key, "expected a list of results")
    values: dict[str, Any] = {}
    for region in result:
        kind = region.get("type") if isinstance(region, dict) else None
        value = region.get("value") if isinstance(region, dict) else None
        if not isinstance(kind, str) or not isinstance(value, dict):
            raise row.error(key, "expected results with type and value")
        if kind == "relation":
            continue
        content = value.get(kind)
        if not isinstance(content, list):
            raise row.error(key, f"results of type {kind} are not supported")
        control = str(region.get("from_name", kind))
        if "start" in value:
            offsets = value.get("globalOffsets", value)
            span = {"start": offsets["start"], "end": offsets["end"], "label": content}
            values.setdefault(control, []).append({**span, "text": value.get("text")})
        else:
            values[control] = content[0] if len(content) == 1 else content
    return values
