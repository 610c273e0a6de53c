"""What a reveal shows: the answer beside the gold, in the words that the page needs.

The one place where gold comes into a page; only for an answered turn of the training step, a
preview, and researchers (docs/protocol.md#invariants).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tasks.cards import Card, Help
from tasks.comparison import Comparison, Piece
from tasks.findings import Finding, findings_on
from tasks.models import Example
from tasks.spans import QUESTION, GivenAnswer

MAX_DIGITS = 9  # choices with one digit each; a longer list is searched


class RevealedPiece(NamedTuple):
    """A stretch of a text with its marks."""

    marks: Piece
    # How a highlight that is not exact differs from the answer; "" everywhere else.
    differs: str

    @property
    def text(self) -> str:
        return self.marks.text


@dataclass(frozen=True)
class RevealedSegment:
    index: int
    name: str
    pieces: Sequence[RevealedPiece]


@dataclass(frozen=True)
class RevealedChoice:
    """A label, or an option of the example."""

    number: int
    name: str
    chosen: bool
    gold: bool


@dataclass(frozen=True)
class Reveal:
    """The answer beside the gold, in the words that the page needs."""

    comparison: Comparison
    answer: GivenAnswer
    question: Sequence[RevealedPiece]
    segments: list[RevealedSegment]
    choices: list[RevealedChoice]
    findings: Sequence[Finding]
    gold: Sequence[str]
    # Is an answer right or not? A long text is only to be compared (Card.is_judged).
    is_judged: bool = True
    # Why the gold is right, in the researcher's words; "" where the file says nothing.
    explanation: str = ""
    # After an answer that is not right: what the right label, or the asked kind, means.
    rule: Help | None = None

    @property
    def s1_percent(self) -> str:
        return f"{100 * self.comparison.s1:.1f}"

    @property
    def score(self) -> int:
        """S1 x 100 in whole numbers; 0 and 100 are kept for nothing and all."""
        if self.comparison.s1 in (0, 1):
            return int(100 * self.comparison.s1)
        return min(99, max(1, round(100 * self.comparison.s1)))

    @property
    def verdict(self) -> str:
        """right, partly or wrong, by the score alone: what counts 0 is not right in any part.

        Or compare, where an answer is no such thing.
        """
        if not self.is_judged and self.score < 100 and not self.chose_no_answer:
            return "compare"
        return {0: "wrong", 100: "right"}.get(self.score, "partly")

    @property
    def filling(self) -> str:
        """The answer that a gap in the question stands for."""
        compared = [*self.comparison.right, *self.comparison.missed]
        return compared[0] if compared else ""

    @property
    def also_accepted(self) -> Sequence[str]:
        return self.comparison.also_accepted

    @property
    def gold_is_empty(self) -> bool:
        return not self.gold

    @property
    def chose_no_answer(self) -> bool:
        return self.answer.no_answer


def reveal_page(
    card: Card,
    example: Example,
    answer: GivenAnswer,
    comparison: Comparison,
    other_kinds: Mapping[str, str] | None = None,
) -> Reveal:
    """Prepare a reveal. Only for an answered turn of the training step, or a preview.

    `other_kinds` as in tasks/findings.py: gold of the other questions that may be named.
    """
    names = [label.name for label in card.labels] or list(example.options)
    said = findings_on(card, example, answer, comparison, example.gold, other_kinds)
    question = _pieces(comparison, QUESTION, card.wording(example.question), said)
    return Reveal(
        comparison=comparison,
        answer=answer,
        question=question,
        segments=[
            RevealedSegment(index, card.segments[index], _pieces(comparison, index, text, said))
            for index, text in enumerate(example.context)
        ],
        choices=_choices(names, answer, example.gold),
        findings=said,
        gold=example.gold,
        is_judged=card.is_judged,
        explanation=example.explanation,
        rule=None
        if comparison.s1 == 1 or _only_boundaries(said)
        else card.rule_for(example.question, example.gold),
    )


def _only_boundaries(said: Sequence[Finding]) -> bool:
    """Are all mistakes such that the meaning of the kind asked for would explain none of them?"""
    mistakes = [finding for finding in said if finding.is_mistake]
    return bool(mistakes) and all(finding.is_on_boundaries for finding in mistakes)


def _pieces(
    comparison: Comparison, segment: int, text: str, said: Sequence[Finding]
) -> list[RevealedPiece]:
    """The text in pieces; those of a highlight that is not exact with the finding on it."""
    kinds = {
        finding.start: finding.kind
        for finding in said
        if finding.segment == segment and finding.is_on_boundaries
    }
    return [
        RevealedPiece(
            piece,
            "" if piece.overlap is None else kinds.get(piece.overlap, "shifted"),
        )
        for piece in comparison.pieces(segment, text)
    ]


def _choices(
    names: Sequence[str], answer: GivenAnswer, gold: Sequence[str]
) -> list[RevealedChoice]:
    """All of them; of a list so long that it is searched only what was chosen and what is right."""
    choices = [
        RevealedChoice(number, name, name in answer.texts, name in gold)
        for number, name in enumerate(names, start=1)
    ]
    if len(choices) <= MAX_DIGITS:
        return choices
    return [choice for choice in choices if choice.chosen or choice.gold]
