"""Spans of text, and the parsing of answers that consist of spans (docs/highlighter.md).

Offsets are Unicode code points in the stored text, with an exclusive end, as in Python slices. The
server splits the text into tokens, and the browser sends only offsets. Spans are sliced from the
server's copy, because text sent by clients is not trusted.
"""

import itertools
import json
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tasks.images import image_in
from tasks.metrics import score
from tasks.sentences import Sentence
from tasks.tokens import WORD, is_separator, on_boundaries, tokens

QUESTION = -1
LONGEST_PAYLOAD = 16 * 1024  # characters; valid payloads are in ASCII
MAX_SPANS = 100
LONGEST_QUOTE = 120  # characters of an answer quoted in a message
ERRORS = tomllib.loads(Path(__file__).with_name("answer_errors.toml").read_text("utf-8"))


class Span(NamedTuple):
    """A part of a segment (0, 1, ...; QUESTION for the question), with its text."""

    segment: int
    start: int
    end: int
    text: str

    def overlaps(self, other: "Span") -> bool:
        """Return whether both spans have a character in common. Adjacent spans don't."""
        return self.segment == other.segment and self.start < other.end and other.start < self.end


class GivenAnswer(NamedTuple):
    """An answer: spans in order, a label, values, or an explicit "no answer".

    `values` are the chosen options in the order of the example, a number, or typed text. If there
    are also spans, they are typed answers that aren't in the text.
    """

    spans: tuple[Span, ...]
    label: str
    no_answer: bool
    values: tuple[str, ...] = ()

    @property
    def texts(self) -> list[str]:
        """Return the set that is scored: distinct texts in order, or [] for "no answer"."""
        if self.label:
            return [self.label]
        return list(dict.fromkeys([*(span.text for span in self.spans), *self.values]))


class AnswerError(ValueError):
    """Raised for an invalid answer. `code` is for programs, and the message for annotators.

    A message in the code is marked for the catalogues (tasks/sentences.py).
    """

    def __init__(self, code: str, message: Sentence | str):
        self.code = code
        self.sentence = Sentence(message) if isinstance(message, str) else message
        super().__init__(self.sentence)


def refused(key: str, /, **values: Any) -> AnswerError:
    """Return the error that answer_errors.toml describes under this key."""
    texts = ERRORS[key]
    message = Sentence(texts["text"], values, texts.get("plural", ""), values.get("limit", 1))
    return AnswerError(texts.get("code", key), message)


# --- Places of a text --------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """An example's texts in which an answer can be highlighted.

    `question` is None if it can't be highlighted in the task. Images contain no text.
    """

    segments: Sequence[str]
    question: str | None = None
    granularity: str = WORD

    @property
    def texts(self) -> dict[int, str]:
        numbered = {n: segment for n, segment in enumerate(self.segments) if not image_in(segment)}
        return numbered if self.question is None else numbered | {QUESTION: self.question}

    def anywhere(self, text: str) -> Iterator[Span]:
        """Yield each occurrence, even inside words, in segments and then the question."""
        for number, segment in self.texts.items():
            start = segment.find(text) if text else -1
            while start >= 0:
                yield Span(number, start, start + len(text), text)
                start = segment.find(text, start + 1)

    def occurrences(self, text: str) -> Iterator[Span]:
        """Yield each occurrence as whole words."""
        texts = self.texts
        for place in self.anywhere(text):
            if on_boundaries(texts[place.segment], place.start, place.end, self.granularity):
                yield place

    def places(self, text: str) -> list[Span]:
        """Return the occurrences as whole words or, if there are none, inside words."""
        return list(self.occurrences(text)) or list(self.anywhere(text))

    def is_reachable(self, text: str) -> bool:
        return any(self.occurrences(text))


def ceiling(gold: Sequence[str], gold_rule: str, source: Source) -> float:
    """Return the best S1 that highlighting can reach for this gold answer, ignoring overlaps."""
    reachable = filter(source.is_reachable, dict.fromkeys(gold))
    best = itertools.islice(reachable, 1) if gold_rule == "any_of" else reachable
    return score(list(best), gold, gold_rule).s1


# --- Payload of the highlighter ----------------------------------------------------------------


def read_payload(payload: str, source: Source) -> tuple[list[Span], bool]:
    """Return a payload's spans in order, and its "no answer". Raises AnswerError.

    The payload is `{"v", "no_answer", "spans": [{"field", ...}]}`. Only offsets are read.
    """
    if len(payload) > LONGEST_PAYLOAD:
        raise refused("too_long")
    try:
        data = json.loads(payload, object_pairs_hook=_each_key_once)
    except (ValueError, RecursionError):
        raise refused("bad_payload") from None
    if not isinstance(data, dict) or set(data) != {"v", "no_answer", "spans"}:
        raise refused("bad_payload")
    version, no_answer, listed = data["v"], data["no_answer"], data["spans"]
    # `type(...) is int` is used throughout, because isinstance accepts true and false as integers.
    if type(version) is not int or version != 1:
        raise refused("bad_payload")
    if not isinstance(no_answer, bool) or not isinstance(listed, list):
        raise refused("bad_payload")
    if len(listed) > MAX_SPANS:
        raise refused("too_many_spans", limit=MAX_SPANS)
    return sorted(_span(given, source) for given in listed), no_answer


def payload_of(places: Iterable[tuple[int, int, int]], no_answer: bool) -> str:
    """Return the payload with these spans, given as (segment, start, end)."""
    spans = [
        ({"field": "question"} if segment == QUESTION else {"field": "context", "index": segment})
        | {"start": start, "end": end}
        for segment, start, end in places
    ]
    return json.dumps({"v": 1, "no_answer": no_answer, "spans": spans}, separators=(",", ":"))


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a key appears twice")
    return fields


def _span(given: Any, source: Source) -> Span:
    if not isinstance(given, dict):
        raise refused("bad_payload")
    if given.get("field") == "question" and set(given) == {"field", "start", "end"}:
        if source.question is None:
            raise refused("bad_field_question")
        segment, text = QUESTION, source.question
    elif given.get("field") == "context" and set(given) == {"field", "index", "start", "end"}:
        segment = given["index"]
        is_place = type(segment) is int and 0 <= segment < len(source.segments)
        if not is_place or image_in(source.segments[segment]):
            raise refused("bad_field")
        text = source.segments[segment]
    else:
        raise refused("bad_field")
    start, end = given["start"], given["end"]
    if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(text):
        raise refused("bad_offsets")
    if not on_boundaries(text, start, end, source.granularity):
        raise refused("not_on_words")
    return Span(segment, start, end, text[start:end])


def checked(
    spans: list[Span],
    no_answer: bool,
    max_spans: int | None,
    no_answer_possible: bool,
    values: Sequence[str] = (),
) -> GivenAnswer:
    """Check spans and `values`, typed answers that aren't in the text. Raises AnswerError."""
    spans = sorted(spans)
    number = len(spans) + len(values)
    if no_answer and number:
        raise refused("both_highlighted")
    if no_answer and not no_answer_possible:
        raise refused("no_answer_impossible")
    if not no_answer and not number:
        raise refused("no_span_or_no_answer" if no_answer_possible else "no_span")
    if max_spans is not None and number > max_spans:
        raise refused("too_many_spans_for_task", limit=max_spans, number=number)
    if any(earlier.overlaps(following) for earlier, following in itertools.pairwise(spans)):
        raise refused("overlap")
    return GivenAnswer(tuple(spans), "", no_answer, tuple(values))


# --- Typed answers -----------------------------------------------------------------------------


def read_typed(
    typed: str, no_answer: bool, source: Source, highlighted: Sequence[Span]
) -> list[Span]:
    """Add typed answers, one per line, to highlights. Each must match the text exactly.

    Only a line's outer whitespace and invisible characters are dropped, because tokens never start
    or end with them. A line is matched to the first occurrence on token boundaries that doesn't
    overlap another line's. Lines with fewer occurrences are matched first, so the order of lines
    doesn't matter. Repeated lines and highlighted texts count once. Raises AnswerError.
    """
    highlights = {span.text for span in highlighted}
    lines = [line for line in typed_lines(typed) if line not in highlights]
    if no_answer and lines:
        raise refused("both_typed")
    places = {line: list(source.occurrences(line)) for line in lines}
    for line in lines:
        if not places[line]:
            raise _not_found(line, [*source.texts.values()], source.granularity)
    return _placed(lines, places, [*highlighted])


def typed_lines(typed: str) -> list[str]:
    """Return the distinct non-empty lines, stripped. Raises AnswerError."""
    if len(typed) > LONGEST_PAYLOAD:
        raise refused("too_long")
    refuse_broken(typed)
    # Don't use splitlines(), which also splits at characters that lines may contain.
    stripped = map(trimmed, re.split(r"\r\n|\r|\n", typed))
    lines = list(dict.fromkeys(line for line in stripped if line))
    if len(lines) > MAX_SPANS:
        raise refused("too_many_typed", limit=MAX_SPANS)
    return lines


def _placed(lines: list[str], places: dict[str, list[Span]], spans: list[Span]) -> list[Span]:
    """Return the spans, and a place for each line, without overlaps. Raises AnswerError."""
    for line in sorted(lines, key=lambda line: len(places[line])):
        free = [place for place in places[line] if not any(map(place.overlaps, spans))]
        if not free:
            conflicting = next(span.text for span in spans if places[line][0].overlaps(span))
            raise refused("overlap_typed", text=cut(line), other=cut(conflicting))
        spans.append(free[0])
    return spans


def trimmed(line: str) -> str:
    start, end = 0, len(line)
    while start < end and is_separator(line[start]):
        start += 1
    while start < end and is_separator(line[end - 1]):
        end -= 1
    return line[start:end]


def refuse_broken(text: str) -> None:
    """Raise AnswerError for unpaired surrogates, which can't be sent back, and for U+0000."""
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise refused("bad_characters")


def cut(text: str) -> str:
    return text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 1] + "…"


def _not_found(line: str, texts: Sequence[str], granularity: str) -> AnswerError:
    """Return the error for a typed line that isn't in the text, with a suggestion."""
    suggestion = next(filter(None, (_similar(line, text, granularity) for text in texts)), "")
    if suggestion:
        return refused("not_in_text_exactly", text=cut(line), meant=cut(suggestion))
    around = next((_around(line, text, granularity) for text in texts if line in text), "")
    if around:
        return refused("not_on_words_typed", text=cut(line), words=cut(around))
    return refused("not_in_text", text=cut(line))


def _around(line: str, text: str, granularity: str) -> str:
    """Return the words that contain the ends of the line's first occurrence."""
    start = text.index(line)
    end = start + len(line)
    touched = [token for token in tokens(text, granularity) if token[0] < end and start < token[1]]
    return text[touched[0][0] : touched[-1][1]]


# Characters that keyboards and word processors substitute for each other.
_ALIKE = str.maketrans("‘’ʼ`´“”„‐‑–—−", "'''''\"\"\"-----")


def _folded(text: str) -> str:
    """Remove common differences in typing: case, accents, whitespace, quotes, dashes."""
    apart = unicodedata.normalize("NFKD", text.translate(_ALIKE).casefold())
    return "".join(
        character
        for character in apart
        if unicodedata.category(character) != "Mn" and not is_separator(character)
    )


def _similar(line: str, text: str, granularity: str) -> str:
    """Return whole words of the text that equal the line after folding, or ""."""
    target = _folded(line)
    places = tokens(text, granularity) if target else ()
    cut = [(start, end, _folded(text[start:end])) for start, end in places]
    for first, (start, _end, _folded_text) in enumerate(cut):
        remaining = target
        for _start, end, token in itertools.islice(cut, first, None):
            if not remaining.startswith(token):
                break
            remaining = remaining.removeprefix(token)
            if not remaining:
                return text[start:end]
    return ""
