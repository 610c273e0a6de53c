"""The reveal: an answer beside the gold, compared by text (DESIGN section 4).

Right: the text is gold, wherever it was highlighted. Missed: a gold text that was not chosen, shown
where it stands. Extra: chosen, not gold. Partial: overlaps a place of a gold text but is another
text, and counts 0. Where golds are alternatives the answer is compared with the one that scored.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tasks.metrics import score
from tasks.spans import Answer, Span, is_reachable, occurrences


class Mark(NamedTuple):
    """One verdict on one stretch of a segment."""

    verdict: str
    segment: int
    start: int
    end: int
    text: str


class Piece(NamedTuple):
    """A stretch under the same marks. `chosen` is right, extra, partial or ""; `missed` may lie
    over it. `starts` and `ends` say that a mark begins or ends here."""

    text: str
    chosen: str
    missed: bool
    starts: bool
    ends: bool


@dataclass(frozen=True)
class Comparison:
    """The verdict on an answer; the lists hold distinct texts in order."""

    s1: float
    marks: tuple[Mark, ...]
    right: list[str]
    missed: list[str]
    extra: list[str]
    partial: list[str]
    also_accepted: list[str]
    unreachable: list[str]

    @cached_property
    def summary(self) -> dict[str, int]:
        """How many texts of each verdict."""
        return {name: len(getattr(self, name)) for name in ("right", "missed", "extra", "partial")}

    def pieces(self, segment: int, text: str) -> list[Piece]:
        """Cut a segment at the ends of its marks; the pieces' texts add up to the segment."""
        marks = [mark for mark in self.marks if mark.segment == segment]
        cuts = sorted({0, len(text), *(m.start for m in marks), *(m.end for m in marks)})
        made = []
        for start, end in itertools.pairwise(cuts):
            over = [mark for mark in marks if mark.start <= start and end <= mark.end]
            chosen = next((mark.verdict for mark in over if mark.verdict != "missed"), "")
            made.append(
                Piece(
                    text[start:end],
                    chosen,
                    any(mark.verdict == "missed" for mark in over),
                    any(mark.start == start for mark in over),
                    any(mark.end == end for mark in over),
                )
            )
        return made


def compare(
    answer: Answer, gold: Sequence[str], gold_rule: str, segments: Sequence[str]
) -> Comparison:
    """Compare an answer with the gold.

    A missed gold text is marked once: at the first place that overlaps one of the answer's spans,
    else at its first place. With `any_of` and nothing right, the alternative that a span overlaps
    is the one compared with, else the first. Labels give no marks.
    """
    s1, alternative = score(answer.texts, gold, gold_rule)
    accepted = list(dict.fromkeys(gold))
    if gold_rule == "any_of" and accepted:
        wanted = [_alternative(answer, gold, alternative, s1, segments)]
    else:
        wanted = accepted
    chosen = answer.texts
    right = [text for text in chosen if text in wanted]
    missed = [text for text in wanted if text not in chosen]
    places = [place for text in wanted for place in occurrences(text, segments)]
    marks = [_mark(span, wanted, places) for span in answer.spans]
    partial = [mark.text for mark in marks if mark.verdict == "partial"]
    extra = [text for text in chosen if text not in wanted and text not in partial]
    marks += [mark for text in missed for mark in _missed(text, answer.spans, segments)]
    is_label = bool(answer.label)
    return Comparison(
        s1=s1,
        marks=tuple(sorted(marks, key=lambda mark: (mark.segment, mark.start, mark.end))),
        right=right,
        missed=missed,
        extra=extra,
        partial=list(dict.fromkeys(partial)),
        also_accepted=[text for text in accepted if text not in wanted],
        unreachable=[] if is_label else [t for t in wanted if not is_reachable(t, segments)],
    )


def _alternative(
    answer: Answer, gold: Sequence[str], scored: int | None, s1: float, segments: Sequence[str]
) -> str:
    if s1 == 0:
        for text in gold:
            if any(_overlap(p, s) for p in occurrences(text, segments) for s in answer.spans):
                return text
    return gold[scored or 0]


def _mark(span: Span, wanted: Sequence[str], places: Sequence[Span]) -> Mark:
    if span.text in wanted:
        verdict = "right"
    elif any(_overlap(span, place) for place in places):
        verdict = "partial"
    else:
        verdict = "extra"
    return Mark(verdict, *span)


def _missed(text: str, spans: Sequence[Span], segments: Sequence[str]) -> list[Mark]:
    places = occurrences(text, segments)
    touched = [place for place in places if any(_overlap(place, span) for span in spans)]
    return [Mark("missed", *place) for place in (touched or places)[:1]]


def _overlap(one: Span, other: Span) -> bool:
    return one.segment == other.segment and one.start < other.end and other.start < one.end
