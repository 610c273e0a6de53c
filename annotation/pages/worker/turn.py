"""What a turn shows: the question as tokens, or the answer beside the gold.

The one place that prepares examples for the worker's eyes, used by real turns and by the preview. A
question page is built from context, question and card alone, never from gold
(docs/protocol.md#invariants); gold enters by `reveal_page` only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, Decimal
from functools import lru_cache

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, gettext_lazy

from annotation.pages.worker.question import asked_kind, kind_number, question_markup
from annotation.pages.worker.sentences import Forms, sentences_of
from annotation.pages.worker.way import Way
from annotation.steps.training_review import Mistake
from tasks.cards import Card, Help, QuestionType
from tasks.comparison import Comparison, Piece
from tasks.findings import Finding, findings
from tasks.models import Example
from tasks.spans import QUESTION, GivenAnswer
from tasks.tokens import CHAR, tokens

MAX_DIGITS = 9  # labels with one digit each; a longer list is searched

# Before the place in the title of the window.
VERDICTS = {
    "right": gettext_lazy("Right: %(where)s"),
    "partly": gettext_lazy("Partly right: %(where)s"),
    "wrong": gettext_lazy("Not right: %(where)s"),
}


@lru_cache(maxsize=2048)
def token_markup(text: str, granularity: str) -> SafeString:
    """The text as one line of token elements; gaps are elements too.

    Their texts, one after the other, are the text: so the page counts the offsets of tokens itself,
    which would be two thirds of what is sent. Every piece of the text is escaped here; nothing else
    is ever marked safe.
    """
    parts = []
    end_of_last = 0
    for start, end in tokens(text, granularity):
        if start > end_of_last:
            parts.append(f"<span data-gap>{escape(text[end_of_last:start])}</span>")
        parts.append(
            f'<span data-t role="option" aria-selected="false">{escape(text[start:end])}</span>'
        )
        end_of_last = end
    if end_of_last < len(text):
        parts.append(f"<span data-gap>{escape(text[end_of_last:])}</span>")
    # Written plainly a carriage return would not reach the page, or as another character.
    return mark_safe("".join(parts).replace("\r", "&#13;"))


@dataclass(frozen=True)
class Segment:
    """One box of text: its name on the card, its text, and its tokens as markup."""

    index: int
    name: str
    text: str
    granularity: str

    @property
    def markup(self) -> SafeString:
        return token_markup(self.text, self.granularity)


@dataclass(frozen=True)
class RevealedSegment:
    index: int
    name: str
    pieces: Sequence[Piece]


@dataclass(frozen=True)
class RevealedLabel:
    number: int
    name: str
    chosen: bool
    gold: bool


@dataclass(frozen=True)
class Reveal:
    """The answer beside the gold, in the words that the page needs."""

    comparison: Comparison
    answer: GivenAnswer
    question: Sequence[Piece]
    segments: list[RevealedSegment]
    labels: list[RevealedLabel]
    findings: Sequence[Finding]
    gold_is_empty: bool
    label_gold: str
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
        """right, partly or wrong, by the score alone: what counts 0 is not right in any part."""
        return {0: "wrong", 100: "right"}.get(self.score, "partly")

    @property
    def also_accepted(self) -> Sequence[str]:
        return self.comparison.also_accepted

    @property
    def label_chosen(self) -> str:
        return self.answer.label

    @property
    def chose_no_answer(self) -> bool:
        return self.answer.no_answer


@dataclass(frozen=True)
class TurnPage:
    """Everything that worker/_turn.html shows."""

    card: Card
    example: Example
    step: str
    number: int
    total: int
    key: str
    answer_url: str
    continue_url: str
    shows_examples: bool
    training_total: int = 0
    test_total: int = 0
    worked_seconds: int = 0
    ping_url: str = ""
    cutoff_seconds: int = 60
    hourly_rate: Decimal = Decimal(0)
    currency: str = ""
    max_paid_seconds: int | None = None
    reveal: Reveal | None = None
    # At the end of the training step: what went wrong most often.
    review: Sequence[Mistake] = ()
    # A made-up sentence before the first example, of neither step (try_out.py).
    trying: bool = False
    # In the annotation step: a label is submitted as soon as it is chosen.
    advances: bool = False
    # Where drafts are kept, and the one that is kept for this question with its age in seconds.
    draft_url: str = ""
    draft: str = ""
    draft_age: float = 0.0
    # How far on the whole way: examples, time left, pay expected.
    ahead: Way | None = None
    # Of the last ten examples of the training step, this one included: right or not.
    tally: Sequence[bool] = ()
    error: str = ""
    notice: str = ""
    sent: dict[str, str] = field(default_factory=dict)
    preview: bool = False
    back_url: str = ""

    @property
    def earned(self) -> str:
        """Earned so far by the time worked, rounded down: the last cents are the ledger's."""
        seconds = self.worked_seconds
        if self.max_paid_seconds is not None:
            seconds = min(seconds, self.max_paid_seconds)
        hours = Decimal(seconds) / 3600
        return str((self.hourly_rate * hours).quantize(Decimal("0.01"), ROUND_DOWN))

    @property
    def step_name(self) -> str:
        if self.trying:
            return gettext("Try-out")
        return gettext("Training step") if self.step == "training" else gettext("Annotation step")

    @property
    def state(self) -> str:
        if self.review:
            return "review"
        return "reveal" if self.reveal else "question"

    @property
    def sentences(self) -> dict[str, str | Forms]:
        """What the scripts of this page say, where it is not English."""
        if not self.card.labels:
            return sentences_of("work", "span-answer")
        return sentences_of("work", "label-answer", *["label-search"] * self.is_searched)

    @property
    def template(self) -> str:
        """The fragment that shows this state."""
        return "worker/_review.html" if self.review else "worker/_turn.html"

    @property
    def review_rules(self) -> list[Help]:
        """The rules that the mistakes of the review concern, each once."""
        rules = (rule for mistake in self.review for rule in mistake.rules)
        return list(dict.fromkeys(rules))

    @property
    def tally_right(self) -> int:
        return sum(self.tally)

    @property
    def instructions(self) -> list[str]:
        return paragraphs(self.card.instructions)

    def where(self) -> str:
        """Which example of which step, and the verdict once it is known: the window's title."""
        where = gettext("%(step)s, %(number)s of %(total)s") % {
            "step": self.step_name,
            "number": self.number,
            "total": self.total,
        }
        return VERDICTS[self.reveal.verdict] % {"where": where} if self.reveal else where

    @property
    def way(self) -> list[dict[str, float]]:
        """The tracks of the progress, training and test: where each begins, how far it is done.

        In percent of the whole; a training step has 15 at least, so that it can be seen.
        """
        totals = [self.training_total, self.test_total]
        if self.step == "training" and not self.training_total:
            totals[0] = self.total
        if self.step == "annotation":
            totals[1] = self.total
        examples = sum(totals) or 1
        first = max(15.0, 100 * totals[0] / examples) if all(totals) else 100.0 * bool(totals[0])
        done = [self.done, 0] if self.step == "training" else [totals[0], self.done]
        tracks, begin = [], 0.0
        for total, share, ready in zip(totals, (first, 100 - first), done, strict=True):
            if total:
                width = round(share * ready / total, 2)
                tracks.append({"begin": begin, "width": share, "done": width})
            begin += share
        return tracks

    @property
    def answered(self) -> int:
        """Examples of both steps that were answered before this one."""
        before = self.training_total if self.step == "annotation" else 0
        return before + self.number - 1

    @property
    def done(self) -> int:
        """Examples of this step that are answered."""
        return self.number if self.state != "question" else self.number - 1

    @property
    def is_last(self) -> bool:
        return self.number == self.total

    @property
    def first_annotation(self) -> bool:
        """The first example without a reveal, after a training step."""
        return self.step == "annotation" and self.number == 1 and self.training_total > 0

    @property
    def is_landmark(self) -> bool:
        """A question above which a sentence stands."""
        is_milestone = self.ahead is not None and self.ahead.is_milestone
        return self.state == "question" and (self.first_annotation or is_milestone)

    @property
    def help_windows(self) -> tuple[Help, ...]:
        """Those of the card; that on the kind that is asked for comes first."""
        windows = self.card.help_windows
        return tuple(sorted(windows, key=lambda help: help.title != self.asked_window))

    @property
    def asked_window(self) -> str:
        """The title of the window on the kind that is asked for; "" where the card has no kinds."""
        rule = self.card.rule_for(self.example.question, ())
        return rule.title if rule else ""

    @property
    def question(self) -> str:
        return self.card.wording(self.example.question)

    @property
    def asked(self) -> QuestionType | None:
        """The kind that is asked for, where the card tells kinds apart."""
        return asked_kind(self.card, self.example.question)

    @property
    def asked_number(self) -> int:
        return kind_number(self.card, self.asked)

    @property
    def question_shown(self) -> SafeString:
        return question_markup(
            self.question, self.asked.name if self.asked else "", self.asked_number
        )

    @property
    def question_markup(self) -> SafeString | str:
        card = self.card
        return token_markup(self.question, card.granularity) if card.question_selectable else ""

    @property
    def segments(self) -> list[Segment]:
        names, granularity = self.card.segments, self.card.granularity
        return [
            Segment(index, names[index], text, granularity)
            for index, text in enumerate(self.example.context)
        ]

    @property
    def unit(self) -> str:
        """What a token of this task is called."""
        return "character" if self.card.granularity == CHAR else "word"

    @property
    def labels(self) -> list[dict[str, str | int]]:
        return [
            {"name": label.name, "definition": label.definition, "number": number}
            for number, label in enumerate(self.card.labels, start=1)
        ]

    @property
    def has_digits(self) -> bool:
        """Does a digit choose a label? Not where two would be needed."""
        return 0 < len(self.card.labels) <= MAX_DIGITS

    @property
    def is_searched(self) -> bool:
        """Are there so many labels that the list is searched?"""
        return len(self.card.labels) > MAX_DIGITS


def paragraphs(text: str) -> list[str]:
    """Split plain text at blank lines."""
    return [part.strip() for part in text.replace("\r\n", "\n").split("\n\n") if part.strip()]


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
    is_gold = set(example.gold)
    question = card.selectable_question(example.question)
    said = findings(answer, comparison, example.gold, example.context, question, other_kinds)
    return Reveal(
        comparison=comparison,
        answer=answer,
        question=comparison.pieces(QUESTION, card.wording(example.question)),
        segments=[
            RevealedSegment(index, card.segments[index], comparison.pieces(index, text))
            for index, text in enumerate(example.context)
        ],
        labels=_revealed_labels(card, answer, is_gold),
        findings=said,
        gold_is_empty=not example.gold,
        label_gold=example.gold[0] if card.labels and example.gold else "",
        explanation=example.explanation,
        rule=None if comparison.s1 == 1 else card.rule_for(example.question, example.gold),
    )


def _revealed_labels(card: Card, answer: GivenAnswer, gold: set[str]) -> list[RevealedLabel]:
    """All labels; of a list so long that it is searched only what was chosen and what is right."""
    labels = [
        RevealedLabel(number, label.name, label.name == answer.label, label.name in gold)
        for number, label in enumerate(card.labels, start=1)
    ]
    if len(labels) <= MAX_DIGITS:
        return labels
    return [label for label in labels if label.chosen or label.gold]
