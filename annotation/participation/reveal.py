"""Context for a reveal, which compares an answer with the gold answer.

Only this module and training_step.py add gold answers to a page, and only for answered training
turns, previews, try-outs and researchers (docs/protocol.md#invariants).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from tasks.cards import Card, HelpWindow
from tasks.comparison import Comparison, Finding, Mark, Piece, findings_on
from tasks.images import Image, image_in
from tasks.models import Example
from tasks.spans import QUESTION, GivenAnswer

NEAR = 80  # characters to show around a mark in the review
MAX_DIGITS = 9  # choices selected with one digit each; longer lists can be searched


class RevealedPiece(NamedTuple):
    marks: Piece
    # How an inexact highlight differs from the gold answer, otherwise "".
    differs: str

    @property
    def text(self) -> str:
        return self.marks.text

    def cut(self, follows: bool, precedes: bool) -> "RevealedPiece":
        """Shorten unmarked text, which `follows` a mark, `precedes` one, or both."""
        most = 2 * NEAR if follows or precedes else 4 * NEAR
        if self.marks.verdict or self.marks.missed or len(self.text) <= most:
            return self
        head = self.text[: NEAR if follows else 0 if precedes else most]
        # Drop partial words. Text without spaces is cut between characters.
        head = re.sub(r"\s\S{0,30}\Z", "", head)
        tail = re.sub(r"\A\S{0,30}\s", "", self.text[-NEAR:] * precedes)
        return self._replace(marks=self.marks._replace(text=f"{head} … {tail}"))


@dataclass(frozen=True)
class RevealedSegment:
    index: int
    name: str
    pieces: Sequence[RevealedPiece]
    image: Image | None = None

    @property
    def near(self) -> list[RevealedPiece]:
        """Return the pieces, omitting words that are far away from any mark."""
        last = len(self.pieces) - 1
        return [piece.cut(place > 0, place < last) for place, piece in enumerate(self.pieces)]


@dataclass(frozen=True)
class RevealedChoice:
    number: int
    name: str
    chosen: bool
    gold: bool


@dataclass(frozen=True)
class Reveal:
    """An answer compared with the gold answer, and the text shown on the page."""

    comparison: Comparison
    answer: GivenAnswer
    question: Sequence[RevealedPiece]
    segments: list[RevealedSegment]
    choices: list[RevealedChoice]
    findings: Sequence[Finding]
    gold: Sequence[str]
    # Whether answers are right or wrong. Long texts are merely compared (Kind.is_judged).
    is_judged: bool = True
    # The researcher's explanation of the gold answer, or "".
    explanation: str = ""
    # After a wrong answer, the definition of the correct label or of the question type.
    rule: HelpWindow | None = None
    # After a boundary error, what the card says about boundaries.
    boundary_rule: str | None = None

    @property
    def s1_percent(self) -> str:
        return f"{100 * self.comparison.s1:.1f}"

    @cached_property
    def score(self) -> int:
        """Return S1 x 100, rounded, where 0 and 100 are reserved for exact values."""
        percent = 100 * self.comparison.s1
        return int(percent) if percent in (0, 100) else min(99, max(1, round(percent)))

    @cached_property
    def verdict(self) -> str:
        """Return "right", "partly" or "wrong" depending on the score, or "compare".

        Answers that are not judged return "compare", unless they or the gold are "no answer".
        """
        if not self.is_judged and self.score < 100 and self.gold and not self.answer.no_answer:
            return "compare"
        return {0: "wrong", 100: "right"}.get(self.score, "partly")

    @property
    def filling(self) -> str:
        return next(iter([*self.comparison.right, *self.comparison.missed]), "")

    @cached_property
    def answers(self) -> list[list[tuple[str, bool]]]:
        """Return, for each correct answer, a list of (part, whether the annotator gave it).

        Returns [] for options, which are whole strings, and for text that is only compared.
        """
        if self.verdict == "compare" or (self.choices and not self.answer.label):
            return []
        places = {m.text: m for m in self.comparison.marks if m.verdict in ("right", "missed")}
        texts = dict.fromkeys([*places, *self.comparison.right, *self.comparison.missed])
        return [self._parts(text, places.get(text)) for text in texts]

    def _parts(self, text: str, place: Mark | None) -> list[tuple[str, bool]]:
        if place is None:
            return [(text, text in self.answer.texts)]
        selected = [span for span in self.answer.spans if span.segment == place.segment]
        edges = {place.start, place.end, *(edge for span in selected for edge in span[1:3])}
        cuts = sorted(edge for edge in edges if place.start <= edge <= place.end)
        return [
            (text[start - place.start : end - place.start],
             any(span.start <= start and end <= span.end for span in selected))
            for start, end in pairwise(cuts)
        ]  # fmt: skip


def reveal_page(
    card: Card,
    example: Example,
    answer: GivenAnswer,
    comparison: Comparison,
    other_kinds: Mapping[str, str] | None = None,
) -> Reveal:
    """Build a reveal. Only call this for answered training turns and previews.

    `other_kinds` has gold answers to related questions that may be named (see tasks/comparison.py).
    """
    names = [label.name for label in card.labels] or list(example.options)
    findings = findings_on(card, example, answer, comparison, example.gold, other_kinds)
    question = _pieces(comparison, QUESTION, card.wording(example.question), findings)
    mistakes = [finding for finding in findings if finding.is_mistake]
    only_boundaries = bool(mistakes) and all(mistake.is_on_boundaries for mistake in mistakes)
    return Reveal(
        comparison=comparison,
        answer=answer,
        question=question,
        segments=[
            RevealedSegment(
                n, card.segments[n], _pieces(comparison, n, text, findings), image_in(text)
            )
            for n, text in enumerate(example.context)
        ],
        choices=_choices(names, answer, example.gold),
        findings=findings,
        gold=example.gold,
        is_judged=card.kind.is_judged,
        explanation=example.explanation,
        rule=None
        if comparison.s1 == 1 or only_boundaries
        else card.rule_for(example.question, example.gold),
        boundary_rule=card.boundary_rule if any(f.is_on_boundaries for f in findings) else None,
    )


def _pieces(
    comparison: Comparison, segment: int, text: str, findings: Sequence[Finding]
) -> list[RevealedPiece]:
    """Split text into pieces and add findings to those whose highlight is inexact."""
    kinds = {
        finding.start: finding.kind
        for finding in findings
        if finding.segment == segment and finding.is_on_boundaries
    }
    return [
        RevealedPiece(piece, "" if piece.overlap is None else kinds.get(piece.overlap, "shifted"))
        for piece in comparison.pieces(segment, text)
    ]


def _choices(
    names: Sequence[str], answer: GivenAnswer, gold: Sequence[str]
) -> list[RevealedChoice]:
    """Return all choices or, if the list is long, only those chosen or correct."""
    choices = [
        RevealedChoice(number, name, name in answer.texts, name in gold)
        for number, name in enumerate(names, start=1)
    ]
    return choices if len(choices) <= MAX_DIGITS else [c for c in choices if c.chosen or c.gold]
