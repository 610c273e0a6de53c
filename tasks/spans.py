"""Tokens, spans and the reading of answers (HIGHLIGHTER sections 3 and 7).

Offsets are Unicode code points of the stored text, end exclusive: Python's own slices. The server
cuts the text into tokens, the browser only says "from this token to that one", and what is stored
is sliced here from the server's text: a text that a client sends is never believed.
"""

import itertools
import json
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from tasks.metrics import score

TOKENISER = "t5-1"
QUESTION = -1
LONGEST_PAYLOAD = 16 * 1024
MOST_SPANS = 100


class Span(NamedTuple):
    """A stretch of a segment (0, 1, ...; QUESTION for the question) and its text."""

    segment: int
    start: int
    end: int
    text: str


class Answer(NamedTuple):
    """What somebody answered: spans in order, a label, or the explicit "no answer"."""

    spans: tuple[Span, ...]
    label: str
    no_answer: bool

    @property
    def texts(self) -> list[str]:
        """The answer as the set that is scored: distinct texts in order, [] for no answer."""
        if self.label:
            return [self.label]
        return list(dict.fromkeys(span.text for span in self.spans))


class AnswerError(ValueError):
    """An answer that does not fit; `code` for machines, the text for people."""

    def __init__(self, code: str, sentence: str):
        super().__init__(sentence)
        self.code = code


@lru_cache(maxsize=4096)
def _is_word(character: str) -> bool:
    return character == "_" or unicodedata.category(character)[0] in "LNM"


@lru_cache(maxsize=4096)
def _is_separator(character: str) -> bool:
    return character.isspace() or unicodedata.category(character) in ("Cf", "Cc")


@lru_cache(maxsize=8192)
def tokens(text: str) -> tuple[tuple[int, int], ...]:
    """Cut a text into tokens: runs of letters, digits, marks and "_"; any other sign alone."""
    found = []
    start = None
    for index, character in enumerate(text):
        if _is_word(character):
            if start is None:
                start = index
            continue
        if start is not None:
            found.append((start, index))
            start = None
        if not _is_separator(character):
            found.append((index, index + 1))
    if start is not None:
        found.append((start, len(text)))
    return tuple(found)


@lru_cache(maxsize=8192)
def _edges(text: str) -> tuple[frozenset[int], frozenset[int]]:
    cut = tokens(text)
    return frozenset(start for start, _end in cut), frozenset(end for _start, end in cut)


def on_boundaries(text: str, start: int, end: int) -> bool:
    """Do both ends stand on token boundaries?"""
    starts, ends = _edges(text)
    return start in starts and end in ends


def occurrences(text: str, segments: Sequence[str]) -> list[Span]:
    """Every place where that text can be highlighted, in order; overlapping ones included."""
    found = []
    if text:
        for index, segment in enumerate(segments):
            start = segment.find(text)
            while start >= 0:
                if on_boundaries(segment, start, start + len(text)):
                    found.append(Span(index, start, start + len(text), text))
                start = segment.find(text, start + 1)
    return found


def is_reachable(text: str, segments: Sequence[str]) -> bool:
    """Can that text be highlighted at all?"""
    return bool(occurrences(text, segments))


def ceiling(gold: Sequence[str], segments: Sequence[str], gold_rule: str) -> float:
    """The best S1 that highlighting can reach for that gold."""
    reachable = [text for text in gold if is_reachable(text, segments)]
    if gold_rule == "any_of":
        reachable = reachable[:1]
    return score(reachable, gold, gold_rule).s1


def read_label(label: str, labels: Sequence[str]) -> Answer:
    """Read the answer to a label task. Raises AnswerError."""
    if not label:
        raise AnswerError("nothing_chosen", "Choose one of the labels.")
    if label not in labels:
        raise AnswerError("unknown_label", f"“{label[:80]}” is not one of the labels.")
    return Answer((), label, False)


def read_spans(
    payload: str,
    segments: Sequence[str],
    question: str | None = None,
    *,
    max_spans: int | None = None,
    no_answer_possible: bool = True,
) -> Answer:
    """Read the payload of the highlighter: `{"v", "no_answer", "spans": [{"field", ...}]}`.

    `question` is the question's text where the task lets it be highlighted, else None. Only offsets
    are read; texts are sliced from `segments`. Raises AnswerError.
    """
    data = _json(payload)
    if not isinstance(data, dict) or set(data) != {"v", "no_answer", "spans"} or data["v"] != 1:
        raise AnswerError("bad_payload", "The answer could not be read. Reload the page, please.")
    no_answer, listed = data["no_answer"], data["spans"]
    if (
        not isinstance(no_answer, bool)
        or not isinstance(listed, list)
        or type(data["v"]) is not int
    ):
        raise AnswerError("bad_payload", "The answer could not be read. Reload the page, please.")
    if len(listed) > MOST_SPANS:
        raise AnswerError("too_many_spans", f"At most {MOST_SPANS} highlights can be stored.")
    spans = sorted(_span(item, segments, question) for item in listed)
    return _checked(spans, no_answer, max_spans, no_answer_possible)


def _json(payload: str) -> Any:
    if len(payload) > LONGEST_PAYLOAD:
        raise AnswerError("too_long", "The answer is too long to be read.")
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        raise AnswerError(
            "bad_payload", "The answer could not be read. Reload the page, please."
        ) from None


def _span(item: Any, segments: Sequence[str], question: str | None) -> Span:
    if not isinstance(item, dict):
        raise AnswerError("bad_payload", "The answer could not be read. Reload the page, please.")
    if item.get("field") == "question" and set(item) == {"field", "start", "end"}:
        if question is None:
            raise AnswerError("bad_field", "The question cannot be highlighted in this task.")
        segment, text = QUESTION, question
    elif item.get("field") == "context" and set(item) == {"field", "index", "start", "end"}:
        segment = item["index"]
        if type(segment) is not int or not 0 <= segment < len(segments):
            raise AnswerError("bad_field", "A highlight stands in a text that is not there.")
        text = segments[segment]
    else:
        raise AnswerError("bad_field", "A highlight stands in a text that is not there.")
    start, end = item["start"], item["end"]
    if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(text):
        raise AnswerError("bad_offsets", "A highlight lies outside of its text.")
    if not on_boundaries(text, start, end):
        raise AnswerError("not_on_words", "A highlight begins or ends inside a word.")
    return Span(segment, start, end, text[start:end])


def _checked(
    spans: list[Span], no_answer: bool, max_spans: int | None, no_answer_possible: bool
) -> Answer:
    """The rules for any answer of spans, however it was given."""
    if no_answer and spans:
        raise AnswerError("both", "Choose either highlights or “no answer”, not both.")
    if no_answer and not no_answer_possible:
        raise AnswerError("no_answer_impossible", "In this task there is always an answer.")
    if not no_answer and not spans:
        choice = ", or choose “no answer”" if no_answer_possible else ""
        raise AnswerError("nothing_chosen", f"Highlight at least one answer{choice}.")
    if max_spans is not None and len(spans) > max_spans:
        limit = "one highlight" if max_spans == 1 else f"{max_spans} highlights"
        raise AnswerError("too_many_spans", f"In this task at most {limit} can be chosen.")
    for first, second in itertools.pairwise(spans):
        if first.segment == second.segment and second.start < first.end:
            raise AnswerError("overlap", "Two highlights overlap.")
    return Answer(tuple(spans), "", no_answer)


def read_typed(
    typed: str,
    segments: Sequence[str],
    question: str | None = None,
    *,
    no_answer: bool = False,
    max_spans: int | None = None,
    no_answer_possible: bool = True,
) -> Answer:
    """Read typed answers, one on each line: each must stand in the text exactly so.

    Only blanks around a line are dropped. The first place with both ends on token boundaries that
    overlaps no earlier line counts; a line that is there twice counts once. Raises AnswerError.
    """
    if len(typed) > LONGEST_PAYLOAD:
        raise AnswerError("too_long", "The answer is too long to be read.")
    lines = dict.fromkeys(line.strip() for line in typed.splitlines() if line.strip())
    if len(lines) > MOST_SPANS:
        raise AnswerError("too_many_spans", f"At most {MOST_SPANS} answers can be stored.")
    spans: list[Span] = []
    for line in lines:
        places = occurrences(line, segments)
        if question is not None:
            places += [place._replace(segment=QUESTION) for place in occurrences(line, [question])]
        free = [place for place in places if not any(_overlap(place, span) for span in spans)]
        if not free:
            raise _not_found(line, segments, bool(places))
        spans.append(free[0])
    return _checked(sorted(spans), no_answer, max_spans, no_answer_possible)


def _overlap(one: Span, other: Span) -> bool:
    return one.segment == other.segment and one.start < other.end and other.start < one.end


def _not_found(line: str, segments: Sequence[str], is_taken: bool) -> AnswerError:
    quoted = f"“{line[:120]}”"
    if is_taken:
        return AnswerError("overlap", f"{quoted} overlaps another line of your answer.")
    if any(line in segment for segment in segments):
        return AnswerError("not_on_words", f"{quoted} begins or ends inside a word of the text.")
    loose = _loosely(line)
    if any(loose in _loosely(segment) for segment in segments):
        hint = " It is there with other capitals, apostrophes or spaces: copy it exactly."
    else:
        hint = " Copy the answer exactly as it stands there."
    return AnswerError("not_in_text", f"{quoted} is not in the text.{hint}")


def _loosely(text: str) -> str:
    straight = text.replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"')
    return " ".join(straight.casefold().split())
