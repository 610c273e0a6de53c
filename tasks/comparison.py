"""Comparison of an answer with the gold answer for the reveal (docs/protocol.md#the-reveal).

What is compared are texts. A text is right if it is gold, wherever it was highlighted. It is missed
if it is gold but was not chosen, and is shown where it occurs. It is extra if it was chosen but
isn't gold. It is partial, and scores 0, if it overlaps an occurrence of a gold text but differs
from it. If gold answers are alternatives, the answer is compared with the one that was scored; the
others are also accepted. A gold text that can't be highlighted is unreachable.

There is one finding per difference from the gold answer, in text order. If an answer overlaps a
gold text, there is a single finding for both ("'Los' is too short: the answer is Los Angeles"), and
the gold text is not listed as missed. The sentences themselves are in templates.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

from tasks.answer_keys import LABEL
from tasks.answers import Prompt
from tasks.cards import Card
from tasks.metrics import score
from tasks.spans import GivenAnswer, Source, Span


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


# Findings ---------------------------------------------------------------------------------------


Kind = Literal[
    "right",
    "too_short",
    "too_long",
    "shifted",  # overlaps the answer, and each contains words that the other does not
    "joined",  # one highlight that covers several answers
    "extra",
    "other_kind",  # correct in answer to another question about the same text
    "spare",  # an accepted alternative other than the one compared
    "missed",
    "unreachable",  # gold that cannot be highlighted in the text
    "right_label",
    "other_label",
    "instead",  # an incorrect answer to a question with a single answer
    "beside",  # a long text, which the annotator compares with the gold answer
]
MISTAKES: tuple[Kind, ...] = (
    "too_short", "too_long", "shifted", "joined", "extra", "other_kind", "missed", "other_label",
    "instead",
)  # fmt: skip
BOUNDARIES: tuple[Kind, ...] = ("too_short", "too_long", "shifted", "joined")


@dataclass(frozen=True)
class Finding:
    """A statement about one part of an answer, or about gold that was missed.

    `given` is the highlighted text or chosen label, or "" for missed gold. `gold` contains the gold
    answers in question, and `surplus` the superfluous words at either end. `segment` and `start`
    are the position, or None for labels and for gold that isn't in the text.
    """

    kind: Kind
    given: str = ""
    gold: tuple[str, ...] = ()
    surplus: tuple[str, ...] = ()
    segment: int | None = None
    start: int | None = None
    # The question type, for an `other_kind` finding.
    belongs_to: str = ""

    @property
    def is_mistake(self) -> bool:
        return self.kind in MISTAKES

    @property
    def is_on_boundaries(self) -> bool:
        """Return whether only the boundaries are wrong, so a definition wouldn't help."""
        return self.kind in BOUNDARIES


def findings(
    answer: GivenAnswer, comparison: Comparison, source: Source, other_kinds: Mapping[str, str]
) -> tuple[Finding, ...]:
    """Return the findings on spans in text order, with those without a position last."""
    expected = {text: source.places(text) for text in (*comparison.right, *comparison.missed)}
    distinct = {span.text: span for span in reversed(answer.spans)}.values()
    given = [_span_finding(span, expected, comparison, other_kinds) for span in distinct]
    coupled = {text for finding in given for text in finding.gold}
    in_text = [*given, *_missed_findings(comparison, coupled)]
    in_text.sort(key=lambda finding: (finding.segment, finding.start))
    # If answers that are not in the text may be typed, gold may not be in the text, either.
    away = (text for text in comparison.missed if not expected[text])
    nowhere = [text for text in away if text not in comparison.unreachable]
    return (
        *in_text,
        *_text_findings(answer.values, comparison),
        *(Finding("missed", gold=(text,)) for text in nowhere),
        *(Finding("unreachable", gold=(text,)) for text in comparison.unreachable),
    )


def findings_on(
    card: Card,
    prompt: Prompt,
    answer: GivenAnswer,
    comparison: Comparison,
    gold: Sequence[str],
    other_kinds: Mapping[str, str] | None = None,
) -> tuple[Finding, ...]:
    """Return the findings on an answer.

    `other_kinds` maps the gold of other questions about the same text to the question type. It is
    empty until all these questions are answered, because it contains only what may be shown.
    """
    if card.is_highlighted:
        result = findings(answer, comparison, card.source_of(prompt), other_kinds or {})
        return _one_for_the_other(result) if card.max_spans == 1 else result
    if card.answered_by == LABEL:
        kind: Kind = "right_label" if answer.label in gold else "other_label"
        return (Finding(kind, answer.label, tuple(gold)),)
    if not card.kind.is_one_text or answer.no_answer:
        missed = (Finding("missed", gold=(text,)) for text in comparison.missed)
        return (*_text_findings(answer.texts, comparison), *missed)
    if not card.kind.is_judged and gold and comparison.s1 < 1:
        return (Finding("beside", answer.texts[0], tuple(gold)),)
    if comparison.missed:
        return (Finding("instead", answer.texts[0], tuple(comparison.missed)),)
    return tuple(_text_findings(answer.texts, comparison))


def _one_for_the_other(result: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Merge an extra and a missed answer into one mistake if only one answer is allowed."""
    extra = [finding for finding in result if finding.kind == "extra"]
    gold = tuple(text for finding in result if finding.kind == "missed" for text in finding.gold)
    if not extra or not gold:
        return result
    remaining = (finding for finding in result if finding.kind not in ("extra", "missed"))
    return (replace(extra[0], kind="instead", gold=gold), *remaining)


def _text_findings(texts: Sequence[str], comparison: Comparison) -> Iterator[Finding]:
    """Yield "right" or "extra" for answers that have no position in the text."""
    for text in texts:
        if text in comparison.right:
            yield Finding("right", text, (text,))
        else:
            yield Finding("spare" if text in comparison.also_accepted else "extra", text)


def _span_finding(
    span: Span,
    expected: Mapping[str, Sequence[Span]],
    comparison: Comparison,
    other_kinds: Mapping[str, str],
) -> Finding:
    start = comparison.announced_at(span)
    finding = partial(Finding, given=span.text, segment=span.segment, start=start)
    if span.text in comparison.right:
        return finding("right", gold=(span.text,))
    places = [place for places in expected.values() for place in places if place.overlaps(span)]
    # Highlights can't overlap, so an answer inside another one is not what to highlight here.
    touched = [p for p in places if not any(_covers(other, p) for other in places if other != p)]
    gold = tuple(dict.fromkeys(place.text for place in sorted(touched) if _covers(span, place)))
    if len(gold) > 1:
        return finding("joined", gold=gold)
    if not touched:
        if span.text in other_kinds:
            return finding("other_kind", belongs_to=other_kinds[span.text])
        return finding("spare" if span.text in comparison.also_accepted else "extra")
    nearest = max(touched, key=lambda p: min(p.end, span.end) - max(p.start, span.start))
    kind, surplus = _difference(span, nearest)
    can_be_left_out = nearest.text not in comparison.unreachable  # not if gold is inside a word
    return finding(kind, gold=(nearest.text,), surplus=surplus * can_be_left_out)


def _covers(one: Span, other: Span) -> bool:
    return one.start <= other.start and other.end <= one.end


def _difference(span: Span, place: Span) -> tuple[Kind, tuple[str, ...]]:
    """Return how a highlight differs from an answer that it overlaps, and its surplus words."""
    prefix = span.text[: max(0, place.start - span.start)].strip()
    suffix = span.text[len(span.text) - max(0, span.end - place.end) :].strip()
    longer: Kind = "too_long" if _covers(span, place) else "shifted"
    kind: Kind = "too_short" if _covers(place, span) else longer
    return kind, tuple(text for text in (prefix, suffix) if text)


def _missed_findings(comparison: Comparison, coupled: set[str]) -> Iterator[Finding]:
    for mark in comparison.marks:
        if mark.verdict == "missed" and mark.text not in (*coupled, *comparison.unreachable):
            start = comparison.announced_at(mark)
            yield Finding("missed", gold=(mark.text,), segment=mark.segment, start=start)
