"""What a reveal says about an answer: right, too short, missed (docs/protocol.md#the-reveal).

There is one finding per difference from the gold answer, in text order. If an answer overlaps a
gold text, there is a single finding for both ("'Los' is too short: the answer is Los Angeles"), and
the gold text is not listed as missed. The sentences themselves are in templates.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from tasks.answer_keys import LABEL
from tasks.answers import Prompt
from tasks.cards import Card
from tasks.comparison import Comparison
from tasks.spans import GivenAnswer, Source, Span

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
    in_text = [*given, *_missed(comparison, coupled)]
    in_text.sort(key=lambda finding: (finding.segment, finding.start))
    # If answers that are not in the text may be typed, gold may not be in the text, either.
    nowhere = [text for text in comparison.missed if not expected[text]]
    return (
        *in_text,
        *_text_findings(answer.values, comparison),
        *_missed_texts(text for text in nowhere if text not in comparison.unreachable),
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
        return (*_text_findings(answer.texts, comparison), *_missed_texts(comparison.missed))
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


def _missed_texts(texts: Iterable[str]) -> Iterator[Finding]:
    return (Finding("missed", gold=(text,)) for text in texts)


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


def _missed(comparison: Comparison, coupled: set[str]) -> Iterator[Finding]:
    for mark in comparison.marks:
        if mark.verdict == "missed" and mark.text not in (*coupled, *comparison.unreachable):
            start = comparison.announced_at(mark)
            yield Finding("missed", gold=(mark.text,), segment=mark.segment, start=start)
