"""The reveal: an answer beside the gold, compared by text (docs/protocol.md#the-reveal).

Right: the text is gold, wherever it was highlighted. Missed: a gold text that was not chosen, shown
where it stands. Extra: chosen, not gold. Partial: overlaps a place of a gold text but is another
text, and counts 0. Where golds are alternatives the answer is compared with the one that scored,
the others are listed as also accepted. A gold text that cannot be highlighted is listed as such.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from tasks.answers import Asked
from tasks.cards import Card
from tasks.metrics import score
from tasks.spans import GivenAnswer, Span, anywhere, is_reachable, occurrences
from tasks.tokens import WORD


class Mark(NamedTuple):
    """One verdict on one stretch of a segment."""

    verdict: str
    segment: int
    start: int
    end: int
    text: str


class Piece(NamedTuple):
    """A stretch under the same marks. `chosen` is right, extra, partial or ""; `missed` may lie
    over it. `starts` and `ends` say that a mark begins or ends here.

    A highlight that overlaps gold is one thing to say with all that it touches: `overlap` is where
    it starts, on each piece of it and of that gold. `opens` and `closes` say that what is said as
    one begins or ends here."""

    text: str
    chosen: str
    missed: bool
    starts: bool
    ends: bool
    opens: bool = False
    closes: bool = False
    overlap: int | None = None
    start: int = 0


class Overlap(NamedTuple):
    """From the first to the last character of a partial highlight and the gold that it touches."""

    start: int
    end: int
    given: int  # where the highlight starts


def _overlaps(marks: Sequence[Mark]) -> Iterator[Overlap]:
    missed = [mark for mark in marks if mark.verdict == "missed"]
    for mark in marks:
        if mark.verdict == "partial":
            touched = [m for m in missed if m.start < mark.end and mark.start < m.end]
            start = min(m.start for m in (mark, *touched))
            yield Overlap(start, max(m.end for m in (mark, *touched)), mark.start)


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
        overlaps = list(_overlaps(marks))
        cut = []
        for start, end in itertools.pairwise(cuts):
            over = [mark for mark in marks if mark.start <= start and end <= mark.end]
            chosen = next((mark.verdict for mark in over if mark.verdict != "missed"), "")
            starts = any(mark.start == start for mark in over)
            ends = any(mark.end == end for mark in over)
            whole = next((o for o in overlaps if o.start <= start and end <= o.end), None)
            cut.append(
                Piece(
                    text[start:end],
                    chosen,
                    any(mark.verdict == "missed" for mark in over),
                    starts,
                    ends,
                    whole.start == start if whole else starts,
                    whole.end == end if whole else ends,
                    whole.given if whole else None,
                    start,
                )
            )
        return cut


def compare(
    answer: GivenAnswer,
    gold: Sequence[str],
    gold_rule: str,
    segments: Sequence[str],
    question: str | None = None,
    granularity: str = WORD,
    *,
    in_text: bool = True,
) -> Comparison:
    """Compare an answer with the gold.

    A missed gold text is marked once: at the first place that overlaps one of the answer's spans,
    else at its first place. With `any_of` and nothing right, the alternative that a span overlaps
    is the one compared with, else the first that can be highlighted, else the first. A gold text
    that stands inside a word only counts as standing there. `question` is the question's text where
    the task lets it be highlighted, else None. Without `in_text` answers are chosen or typed beside
    the text: they may well be words of it, and still stand nowhere.
    """
    s1, alternative = score(answer.texts, gold, gold_rule)
    accepted = wanted = list(dict.fromkeys(gold))
    chosen, where = answer.texts, (segments, question, granularity)
    places = {text: places_of(text, *where) if in_text else [] for text in accepted}
    if alternative is not None:
        wanted = [gold[alternative] if s1 else _nearest(places, answer.spans)]
    marks = [_mark(span, wanted, places) for span in answer.spans]
    partial = list(dict.fromkeys(mark.text for mark in marks if mark.verdict == "partial"))
    overlooked = {text: _missed(places[text], answer.spans) for text in wanted}
    missed = _in_order({text: overlooked[text] for text in wanted if text not in chosen})
    marks += itertools.chain.from_iterable(overlooked[text] for text in missed)
    return Comparison(
        s1=s1,
        marks=tuple(sorted(marks, key=lambda mark: (mark.segment, mark.start, mark.end))),
        right=[text for text in chosen if text in wanted],
        missed=missed,
        extra=[text for text in chosen if text not in wanted and text not in partial],
        partial=partial,
        also_accepted=[text for text in accepted if text not in wanted],
        unreachable=[text for text in wanted if in_text and not is_reachable(text, *where)],
    )


def compare_answer(
    card: Card, asked: Asked, answer: GivenAnswer, gold: Sequence[str]
) -> Comparison:
    """The same, as the card says how that example is answered."""
    comparison = compare(
        answer,
        gold,
        card.gold_rule,
        asked.context,
        card.selectable_question(asked.question),
        card.granularity,
        in_text=card.is_highlighted,
    )
    # What can be typed can be reached.
    return replace(comparison, unreachable=[]) if card.typed else comparison


def _in_order(places: dict[str, list[Mark]]) -> list[str]:
    """The texts as one meets them; what stands nowhere comes last."""
    return sorted(places, key=lambda text: [not places[text], places[text][:1]])


def places_of(
    text: str, segments: Sequence[str], question: str | None, granularity: str = WORD
) -> list[Span]:
    """Where a gold text stands: as words, or inside of words if nowhere else."""
    whole = occurrences(text, segments, question, granularity)
    return whole or list(anywhere(text, segments, question))


def _touches(place: Span, spans: Sequence[Span]) -> bool:
    return any(place.overlaps(span) for span in spans)


def _nearest(places: dict[str, list[Span]], spans: Sequence[Span]) -> str:
    """The alternative to show to somebody who met none of them."""
    touched = (text for text in places if any(_touches(place, spans) for place in places[text]))
    standing = (text for text in places if places[text])
    return next(itertools.chain(touched, standing, places))


def _mark(span: Span, wanted: Sequence[str], places: dict[str, list[Span]]) -> Mark:
    if span.text in wanted:
        verdict = "right"
    elif any(span.overlaps(place) for text in wanted for place in places[text]):
        verdict = "partial"
    else:
        verdict = "extra"
    return Mark(verdict, *span)


def _missed(places: Sequence[Span], spans: Sequence[Span]) -> list[Mark]:
    """The one mark of a missed text; none where it stands nowhere."""
    touched = [place for place in places if _touches(place, spans)]
    return [Mark("missed", *place) for place in (touched or places)[:1]]
