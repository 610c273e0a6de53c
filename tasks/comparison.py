"""Comparison of an answer with the gold answer for the reveal (docs/protocol.md#the-reveal).

What is compared are texts. A text is right if it is gold, wherever it was highlighted. It is missed
if it is gold but was not chosen, and is shown where it occurs. It is extra if it was chosen but
isn't gold. It is partial, and scores 0, if it overlaps an occurrence of a gold text but differs
from it. If gold answers are alternatives, the answer is compared with the one that was scored; the
others are also accepted. A gold text that can't be highlighted is unreachable.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tasks.answers import Prompt
from tasks.cards import Card
from tasks.metrics import score
from tasks.spans import GivenAnswer, Span


class Mark(NamedTuple):
    verdict: str
    segment: int
    start: int
    end: int
    text: str


class Piece(NamedTuple):
    """A part of a segment within which marks don't change.

    `verdict` is right, extra, partial or "", and `missed` may apply to the same part. `starts` and
    `ends` say whether a mark starts or ends here. A partial highlight is announced together with
    the gold text that it overlaps. Each of their pieces holds the start of this overlap in
    `overlap`. `opens` and `closes` say whether the announced part starts or ends here.
    """

    text: str
    verdict: str
    missed: bool
    starts: bool
    ends: bool
    opens: bool = False
    closes: bool = False
    overlap: int | None = None
    start: int = 0


class Overlap(NamedTuple):
    """The extent of partial highlights and of the gold texts that they overlap."""

    start: int
    end: int
    given: int  # where the first highlight starts


@dataclass(frozen=True)
class Comparison:
    """An answer compared with the gold answer. The lists contain distinct texts in order."""

    s1: float
    marks: tuple[Mark, ...]
    right: list[str]
    missed: list[str]
    extra: list[str]
    partial: list[str]
    also_accepted: list[str]
    unreachable: list[str]

    def overlaps(self, segment: int) -> list[Overlap]:
        """Return a segment's overlaps, merging those that share words (as in parts of a name)."""
        marks = [mark for mark in self.marks if mark.segment == segment]
        missed = [mark for mark in marks if mark.verdict == "missed"]
        merged: list[Overlap] = []
        for mark in (mark for mark in marks if mark.verdict == "partial"):
            both = [mark, *(m for m in missed if m.start < mark.end and mark.start < m.end)]
            start, end, given = min(m.start for m in both), max(m.end for m in both), mark.start
            if merged and start < merged[-1].end:
                last = merged.pop()
                start, end, given = min(start, last.start), max(end, last.end), last.given
            merged.append(Overlap(start, end, given))
        return merged

    def announced_at(self, place: Span | Mark) -> int:
        """Return where a place is announced: with the overlap in which it starts, if any."""
        overlaps = self.overlaps(place.segment)
        return next((o.given for o in overlaps if o.start <= place.start < o.end), place.start)

    def pieces(self, segment: int, text: str) -> list[Piece]:
        """Split a segment at the ends of its marks. The pieces add up to the segment."""
        marks = [mark for mark in self.marks if mark.segment == segment]
        cuts = sorted({0, len(text), *(m.start for m in marks), *(m.end for m in marks)})
        overlaps = self.overlaps(segment)
        cut = []
        for start, end in itertools.pairwise(cuts):
            over = [mark for mark in marks if mark.start <= start and end <= mark.end]
            verdict = next((mark.verdict for mark in over if mark.verdict != "missed"), "")
            starts = any(mark.start == start for mark in over)
            ends = any(mark.end == end for mark in over)
            overlap = next((o for o in overlaps if o.start <= start and end <= o.end), None)
            missed = any(mark.verdict == "missed" for mark in over)
            opens = overlap.start == start if overlap else starts
            closes = overlap.end == end if overlap else ends
            given, part = overlap and overlap.given, text[start:end]
            cut.append(Piece(part, verdict, missed, starts, ends, opens, closes, given, start))
        return cut


def compare_answer(
    card: Card, prompt: Prompt, answer: GivenAnswer, gold: Sequence[str]
) -> Comparison:
    """Compare an answer with the gold answer.

    A missed gold text is marked once, at its first occurrence that overlaps a span of the answer,
    or else at its first occurrence. With `any_of` and no correct text, the answer is compared with
    the alternative that a span overlaps, or else the first that can be highlighted, or else the
    first. An occurrence inside a word counts only for texts that never occur as whole words. Chosen
    and typed answers have no position, even if the text contains them.
    """
    s1, alternative = score(answer.texts, gold, card.gold_rule)
    accepted = expected = list(dict.fromkeys(gold))
    source = card.source_of(prompt)
    in_text = card.is_highlighted
    unreachable = [text for text in accepted if in_text and not source.is_reachable(text)]
    in_order = sorted(accepted, key=unreachable.count)
    places = {text: source.places(text) if in_text else [] for text in in_order}
    if alternative is not None:
        expected = [gold[alternative] if s1 else _nearest(places, answer.spans)]
    marks = [_mark(span, expected, places) for span in answer.spans]
    partial = list(dict.fromkeys(mark.text for mark in marks if mark.verdict == "partial"))
    overlooked = {text: _missed(places[text], answer.spans) for text in expected}
    # Sort by first occurrence, with texts that do not occur at the end.
    missed = sorted(
        (text for text in expected if text not in answer.texts),
        key=lambda text: [not overlooked[text], overlooked[text]],
    )
    marks += itertools.chain.from_iterable(overlooked[text] for text in missed)
    return Comparison(
        s1=s1,
        marks=tuple(sorted(marks, key=lambda mark: (mark.segment, mark.start, mark.end))),
        right=[text for text in answer.texts if text in expected],
        missed=missed,
        extra=[text for text in answer.texts if text not in expected and text not in partial],
        partial=partial,
        also_accepted=[text for text in accepted if text not in expected],
        # Typed answers can match any gold answer.
        unreachable=[] if card.typed else [text for text in expected if text in unreachable],
    )


def _nearest(places: dict[str, list[Span]], spans: Sequence[Span]) -> str:
    """Return the alternative to compare with if the answer contains none of them."""
    touched = (text for text, of in places.items() if any(p.overlaps(s) for p in of for s in spans))
    return next(itertools.chain(touched, filter(places.get, places), places))


def _mark(span: Span, expected: Sequence[str], places: dict[str, list[Span]]) -> Mark:
    if span.text in expected:
        return Mark("right", *span)
    is_partial = any(span.overlaps(place) for text in expected for place in places[text])
    return Mark("partial" if is_partial else "extra", *span)


def _missed(places: Sequence[Span], spans: Sequence[Span]) -> list[Mark]:
    """Return the mark of a missed text, or [] if the text does not occur."""
    touched = [place for place in places if any(map(place.overlaps, spans))]
    return [Mark("missed", *place) for place in (touched or places)[:1]]
