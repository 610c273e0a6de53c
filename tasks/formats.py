"""Reader for records from files in the published JSON Lines format, with all its peculiarities.

A record is fully checked when it is read, so that other modules can rely on it. Errors give the
file, line and field, and what was expected.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from tasks.answers import KINDS, GoldError
from tasks.answers.choices import LONGEST_OPTION, MAX_OPTIONS
from tasks.cards import Card
from tasks.images import ImageError, image_in, with_notation
from tasks.tokens import WORD, has_no_spaces

LONGEST_LINE = 1_000_000  # bytes; the longest published line has 9,000
MAX_ANSWERS = 200  # gold answers per example; the published maximum is 32
REQUIRED = ("id", "context", "question", "answer")
# Published fields that are ignored and never shown.
EXTRAS = ("is_impossible", "plausible_answers", "entities")
# Optional fields. In the published MNLI files, `genre` is the stratum.
OPTIONAL = (*EXTRAS, "explanation", "options", "stratum", "genre")
MAX_WRONG = 20  # lines listed in errors
LONGEST_EXPLANATION = 1000  # characters; the explanation is read between two examples
LONGEST_STRATUM = 100  # characters


class FormatError(ValueError):
    """Raised if a file can't be imported. Gives the location and what was expected."""

    others: Sequence["FormatError"] = ()  # more errors in the same file

    def __init__(self, file: str, expected: str, line: int | None = None, field: str | None = None):
        place = file + (f", line {line}" if line else "") + (f", field {field}" if field else "")
        super().__init__(f"{place}: {expected}")
        self.file, self.line, self.field, self.expected = file, line, field, expected

    @property
    def sentences(self) -> list[str]:
        return [str(self), *map(str, self.others)]


@dataclass(frozen=True)
class Record:
    """A published example. `gold` is empty if the correct answer is "no answer"."""

    id: str
    context: tuple[str, ...]
    question: str
    gold: tuple[str, ...]
    gold_starts: tuple[int, ...] | None = None
    # The researcher's reason why the gold answer is correct, for training examples only.
    explanation: str = ""
    # The possible answers listed in the file (ReCoRD's entities), including repetitions. They are
    # never shown, but the data report gives the scores for guessing among them.
    candidates: tuple[str, ...] = ()
    # The choices in the order displayed, for tasks with options only.
    options: tuple[str, ...] = ()
    # The example's group, such as its genre. Annotators never see it.
    stratum: str = ""
    # Whether a number or text is spelt differently in the database than in the file.
    respelled: bool = False

    @cached_property
    def content_hash(self) -> str:
        """Return the SHA-256 of context, question, gold and options."""
        content: list[Any] = [list(self.context), self.question, list(self.gold)]
        content += [list(self.options)] if self.options else []
        return hashlib.sha256(canonical(content)).hexdigest()


@dataclass(frozen=True)
class SplitFile:
    """A file with a training split (which has shots and number) or the test split (without them).

    A development file has the shots and number of its training file. k shots are k examples, or k
    of each label if the card sets `shots_per_label`.
    """

    kind: str
    shots: int | None
    number: int | None
    filename: str
    records: list[Record]


def canonical(value: Any) -> bytes:
    """Return JSON in a canonical form, in which equal content has equal bytes."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def digest_of(hashes: Iterable[str]) -> str:
    """Return the SHA-256 of the content hashes of a file's examples, concatenated in order."""
    return hashlib.sha256("".join(hashes).encode()).hexdigest()


def content_hash(card: Card, files: list[SplitFile]) -> str:
    """Return the SHA-256 of the card and of every record in every file.

    Explanations, options and strata are only included if present, so that files without them keep
    the hash they had before these fields existed.
    """
    ordered = sorted(files, key=lambda file: (file.kind, file.shots or 0, file.number or 0))
    content = [
        [
            [file.kind, file.shots, file.number, file.filename],
            [
                [r.id, r.context, r.question, r.gold, r.gold_starts]
                + ([r.explanation] if r.explanation else [])
                + ([r.options] if r.options else [])
                + ([{"stratum": r.stratum}] if r.stratum else [])
                for r in file.records
            ],
        ]
        for file in ordered
    ]
    return hashlib.sha256(canonical([card.as_dict(), content])).hexdigest()


def read_records(path: Path, card: Card, *, explained: bool = False) -> list[Record]:
    """Read a JSON Lines file with unique ids. Raises FormatError with all invalid lines.

    `explained` means that its examples get revealed, and may have an explanation.
    """
    records: list[Record] = []
    lines_of: dict[str, int] = {}
    wrong: list[FormatError] = []
    with path.open("rb") as file:
        for number, text in json_lines(file, path.name):
            try:
                record = _read_record(text, card, path, number, explained)
                if record.id in lines_of:
                    problem = f"{record.id!r} is already the id of line {lines_of[record.id]}"
                    raise FormatError(path.name, problem, number, "id")
            except FormatError as error:
                wrong.append(error)
                if len(wrong) == MAX_WRONG:
                    break
                continue
            lines_of[record.id] = number
            records.append(record)
    if wrong:
        first, *first.others = wrong
        raise first
    if not records:
        raise FormatError(path.name, "the file is empty; expected one example on each line")
    return records


def _read_record(text: str, card: Card, path: Path, line: int, explained: bool) -> Record:
    file = path.name
    data = json_object(text, file, line, REQUIRED, OPTIONAL)
    try:
        data["context"] = with_notation(data["context"], path.parent, card.images)
    except ImageError as error:
        raise FormatError(file, str(error), line, "context") from None
    record = _record(data, card, file, line)
    if record.explanation and not explained:
        problem = "only allowed in training files; other examples are never revealed"
        raise FormatError(file, problem, line, "explanation")
    return record


def json_lines(file: BinaryIO, name: str) -> Iterator[tuple[int, str]]:
    """Yield (number, text) for each non-blank line. Raises FormatError for unreadable lines."""
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if (text := decoded(line, name, number)).strip():
            yield number, text


def decoded(line: bytes, file: str, number: int) -> str:
    """Decode a line in UTF-8. Raises FormatError, also if it is too long."""
    if len(line) > LONGEST_LINE:
        raise FormatError(file, f"the line is longer than {LONGEST_LINE:,} bytes", number)
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"not valid UTF-8 (byte {error.start + 1} of the line): save the file as UTF-8"
        raise FormatError(file, problem, number) from None
    if text.startswith("\ufeff"):
        raise FormatError(file, "begins with a byte order mark; remove it", number)
    return text


def strict_json(text: str, file: str, line: int | None) -> Any:
    """Parse JSON without duplicate fields, NaN or Infinity. Raises FormatError."""

    def refuse(name: str) -> NoReturn:
        raise FormatError(file, f"{name} is not valid JSON", line)

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for key, value in items:
            if key in fields:
                raise FormatError(file, "the field appears twice", line, key[:100])
            fields[key] = value
        return fields

    try:
        return json.loads(text, parse_constant=refuse, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        problem = f"not valid JSON ({error.msg} at column {error.colno})"
        raise FormatError(file, problem, line or error.lineno) from None
    except (RecursionError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(file, "not valid JSON (nested too deeply or too long)", line) from None


def json_object(
    text: str, file: str, line: int, required: Sequence[str], optional: Sequence[str] = ()
) -> dict[str, Any]:
    """Parse the object in a line, which must have exactly these fields. Raises FormatError."""
    data = strict_json(text, file, line)
    if not isinstance(data, dict):
        raise FormatError(file, "expected a JSON object on each line", line)
    for field in required:
        if field not in data:
            raise FormatError(file, "the field is missing", line, field)
    for field in data:
        if field not in required and field not in optional:
            problem = f"unknown field; expected {', '.join(required)}"
            raise FormatError(file, problem, line, field[:100])
    return data


def storable_text(value: Any, file: str, line: int, field: str) -> str:
    """Return the value if it is text that databases can store. Raises FormatError."""
    if not isinstance(value, str):
        raise FormatError(file, f"expected a text, found {type(value).__name__}", line, field)
    if "\0" in value:
        raise FormatError(file, "contains U+0000, which a database cannot store", line, field)
    if any("\ud800" <= character <= "\udfff" for character in value):
        problem = "contains an unpaired surrogate, which is not a valid character"
        raise FormatError(file, problem, line, field)
    return value


def example_id(value: Any, file: str, line: int) -> str:
    """Return an example's id as text, although files may use numbers. Raises FormatError."""
    identity = storable_text(str(value) if type(value) is int else value, file, line, "id")
    if not identity.strip() or len(identity) > 200:
        raise FormatError(file, "expected an id of 1 to 200 characters", line, "id")
    return identity


def _record(data: dict[str, Any], card: Card, file: str, line: int) -> Record:
    def refuse(field: str, expected: str) -> NoReturn:
        raise FormatError(file, expected, line, field)

    def text(value: Any, field: str) -> str:
        return storable_text(value, file, line, field)

    identity = example_id(data["id"], file, line)
    segments = _segments(data["context"], card, text, refuse)
    question = text(data["question"], "question")
    answer = data["answer"]
    if not isinstance(answer, list):
        refuse("answer", f"expected a list, found {type(answer).__name__}")
    if len(answer) > MAX_ANSWERS:
        refuse("answer", f"expected at most {MAX_ANSWERS} answers, found {len(answer):,}")
    gold, starts = _gold(answer, segments, text, refuse)
    if data.get("is_impossible") is True and gold:
        refuse("is_impossible", "true, but the example has answers")
    options = _options(data.get("options"), card, text, refuse)
    published = gold
    try:
        gold = card.kind.check_gold(card, options, published)
    except GoldError as error:
        refuse("answer", str(error))
    if card.question_types and not card.question_type(question):
        listing = "; ".join(kind.match for kind in card.question_types)
        refuse("question", f"expected one of the card's question types: {listing}")
    explanation = _short(data, "explanation", LONGEST_EXPLANATION, text, refuse)
    group = "stratum" if "stratum" in data else "genre"
    stratum = _short(data, group, LONGEST_STRATUM, text, refuse)
    listed = _candidates(data.get("entities"), segments)
    return Record(
        identity, tuple(segments), question, gold, starts, explanation, listed, options, stratum,
        respelled=gold != published,
    )  # fmt: skip


def _options(listed: Any, card: Card, text: Any, refuse: Any) -> tuple[str, ...]:
    if not card.kind.has_options:
        if listed is not None:
            kinds = " or ".join(f'"{kind.name}"' for kind in KINDS.values() if kind.has_options)
            refuse("options", f"only allowed if the card has answer = {kinds}")
        return ()
    if not isinstance(listed, list):
        refuse("options", "expected a list of texts, the options of this example")
    if len(listed) > MAX_OPTIONS:
        refuse("options", f"expected at most {MAX_OPTIONS} options, found {len(listed):,}")
    for option in listed:
        if not text(option, "options").strip() or len(option) > LONGEST_OPTION:
            refuse("options", f"expected texts of 1 to {LONGEST_OPTION:,} characters")
    return tuple(listed)


def _candidates(entities: Any, segments: list[str]) -> tuple[str, ...]:
    """Return the texts at the listed places {start, end} (inclusive), or () for other lists."""
    if not isinstance(entities, list) or len(segments) != 1:
        return ()
    places = [
        (place.get("start"), place.get("end")) for place in entities if isinstance(place, dict)
    ]
    return tuple(
        text
        for start, end in places
        if type(start) is int and type(end) is int and 0 <= start <= end
        if (text := segments[0][start : end + 1])
    )


def _segments(context: Any, card: Card, text: Any, refuse: Any) -> list[str]:
    segments = context if isinstance(context, list) else [context]
    if len(segments) != len(card.segments):
        refuse("context", f"expected {len(card.segments)} text(s): {', '.join(card.segments)}")
    for segment in segments:
        if not text(segment, "context").strip():
            refuse("context", "expected a non-empty text")
        is_words = card.is_highlighted and card.granularity == WORD and not image_in(segment)
        if is_words and has_no_spaces(segment):
            refuse(
                "context",
                "has no spaces between words, so single words could not be highlighted; set"
                ' granularity = "char" in the card (task.toml)',
            )
    return segments


def _short(data: dict[str, Any], field: str, longest: int, text: Any, refuse: Any) -> str:
    value: str = text(data.get(field, ""), field).strip()
    if len(value) > longest:
        refuse(field, f"expected at most {longest:,} characters, found {len(value):,}")
    return value


def _gold(
    answer: list[Any], segments: list[str], text: Any, refuse: Any
) -> tuple[tuple[str, ...], tuple[int, ...] | None]:
    """Return gold answers as strings, with offsets if the file contains them.

    `[]` and `[""]` mean "no answer". `{"text", "answer_start"}` is a text with its offset.
    """
    if not answer or answer == [""]:
        return (), None
    if all(isinstance(item, dict) for item in answer):
        starts = []
        for item in answer:
            if set(item) != {"text", "answer_start"}:
                refuse("answer", "expected the fields text and answer_start")
            start = item["answer_start"]
            if type(start) is not int or start < 0:
                refuse("answer_start", "expected a whole number of at least 0")
            if not text(item["text"], "answer"):
                refuse("answer", "expected a non-empty text")
            if segments[0][start : start + len(item["text"])] != item["text"]:
                refuse("answer_start", f"the text at {start} is not {item['text'][:60]!r}")
            starts.append(start)
        return tuple(item["text"] for item in answer), tuple(starts)
    for item in answer:
        if not text(item, "answer"):
            refuse("answer", 'expected non-empty texts, or [""] alone for no answer')
    return tuple(answer), None
