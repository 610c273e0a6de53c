"""Context of a turn's page: the question as tokens, or the answer compared with the gold.

The only module that prepares examples for annotators, in turns and previews. A question page is
built only from context, question, options and card, never from gold (docs/protocol.md#invariants);
gold enters only through reveal.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, Decimal
from functools import cached_property, lru_cache

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, gettext_lazy

from annotation.participation.question import (
    PLACEHOLDER,
    WIDGETS,
    Widget,
    asked_kind,
    kind_number,
    question_markup,
)
from annotation.participation.reveal import MAX_DIGITS, Reveal
from annotation.participation.way import Way
from annotation.protocol.training_review import Mistake
from annotation.web.wording import Forms, of_scripts, translated
from tasks import answers
from tasks.answer_keys import OPTIONS
from tasks.answers.number import written
from tasks.cards import Card, Help, QuestionType
from tasks.models import Example
from tasks.spans import AnswerError
from tasks.tokens import CHAR, tokens

PLACES = {
    "try-out": gettext_lazy("Try-out, example %(number)s of %(total)s"),
    "training": gettext_lazy("Training step, example %(number)s of %(total)s"),
    "screening": gettext_lazy("Screening step, example %(number)s of %(total)s"),
    "annotation": gettext_lazy("Annotation step, example %(number)s of %(total)s"),
}
# Precedes the position in the window's title.
VERDICTS = {
    "right": gettext_lazy("Right: %(where)s"),
    "partly": gettext_lazy("Partly right: %(where)s"),
    "wrong": gettext_lazy("Not right: %(where)s"),
    "compare": gettext_lazy("Compare: %(where)s"),
}


@lru_cache(maxsize=2048)
def token_markup(text: str, granularity: str) -> SafeString:
    """Return the text as one line of token elements; gaps are elements too.

    The texts of the elements concatenate to the text, so that the page computes token offsets,
    which would be two thirds of the reply. Every piece of text is escaped here; nothing else is
    ever marked safe.
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
    # Browsers would drop or replace a literal carriage return.
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
class TurnPage:
    """The context of participation/_turn.html."""

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
    screening_total: int = 0
    test_total: int = 0
    worked_seconds: int = 0
    ping_url: str = ""
    cutoff_seconds: int = 60
    hourly_rate: Decimal = Decimal(0)
    currency: str = ""
    max_paid_seconds: int | None = None
    reveal: Reveal | None = None
    # At the end of the training step: the commonest mistakes.
    review: Sequence[Mistake] = ()
    # An invented sentence before the first example, outside both steps (try_out.py).
    trying: bool = False
    # In the annotation step: a label is submitted as soon as it is chosen.
    advances: bool = False
    # Address for drafts, and the stored draft of this question with its age in seconds.
    draft_url: str = ""
    draft: str = ""
    draft_age: float = 0.0
    # Progress: examples, time left, expected pay.
    ahead: Way | None = None
    # Results of the last ten examples of the training step, including this one.
    tally: Sequence[bool] = ()
    error: str = ""
    notice: str = ""
    sent: dict[str, str] = field(default_factory=dict)
    # Does the page refuse pasted text in a typed answer?
    refuses_pastes: bool = False
    preview: bool = False
    back_url: str = ""
    bar: object | None = None  # navigation of a study's preview

    @property
    def earned(self) -> str:
        """Return earnings so far by the time worked, rounded down; exact ones are in the ledger."""
        seconds = self.worked_seconds
        if self.max_paid_seconds is not None:
            seconds = min(seconds, self.max_paid_seconds)
        hours = Decimal(seconds) / 3600
        return str((self.hourly_rate * hours).quantize(Decimal("0.01"), ROUND_DOWN))

    @property
    def step_name(self) -> str:
        if self.trying:
            return gettext("Try-out")
        if self.step == "screening":
            return gettext("Screening step")
        return gettext("Training step") if self.step == "training" else gettext("Annotation step")

    @property
    def state(self) -> str:
        if self.review:
            return "review"
        return "reveal" if self.reveal else "question"

    @property
    def sentences(self) -> dict[str, str | Forms]:
        """Return translated texts for the scripts of this page, unless it is English."""
        return of_scripts()

    @cached_property
    def widget(self) -> Widget:
        """Return the widget of this kind of answer."""
        return WIDGETS[self.card.answered_by]

    @property
    def missing(self) -> str:
        """Return the server's error for an empty answer; scripts show it before sending."""
        try:
            answers.read(self.card, self.example, {})
        except AnswerError as error:
            return translated(error.sentence)
        return ""

    @property
    def control(self) -> str:
        """Return the template with the control of a kind that is answered next to the text."""
        return f"participation/answer/{self.card.answered_by.replace(' ', '_')}.html"

    @property
    def template(self) -> str:
        """Return the template of this state."""
        return "participation/_review.html" if self.review else "participation/_turn.html"

    @property
    def review_rules(self) -> list[Help]:
        """Return the rules for the mistakes in the review, each once."""
        rules = (rule for mistake in self.review for rule in mistake.rules)
        return list(dict.fromkeys(rules))

    @property
    def tally_right(self) -> int:
        return sum(self.tally)

    @property
    def instructions(self) -> list[str]:
        return paragraphs(self.card.instructions)

    @property
    def place(self) -> str:
        """Return step and position of the example, in full."""
        place = PLACES.get("try-out" if self.trying else self.step, PLACES["annotation"])
        return place % {"number": self.number, "total": self.total}

    def where(self) -> str:
        """Return the window's title: step, position, and the verdict once known."""
        where = gettext("%(step)s, %(number)s of %(total)s") % {
            "step": self.step_name,
            "number": self.number,
            "total": self.total,
        }
        return VERDICTS[self.reveal.verdict] % {"where": where} if self.reveal else where

    @property
    def is_before_test(self) -> bool:
        return self.step in ("training", "screening")

    @property
    def before_test(self) -> int:
        """Return the number of examples of the training or the screening step."""
        return self.training_total or self.screening_total

    @property
    def way(self) -> list[dict[str, float]]:
        """Return start and progress of the tracks before and in the test, in % of the whole.

        The track before the test is at least 15 % wide, so that it is visible.
        """
        totals = [self.before_test, self.test_total]
        if self.is_before_test and not self.before_test:
            totals[0] = self.total
        if self.step == "annotation":
            totals[1] = self.total
        examples = sum(totals) or 1
        first = max(15.0, 100 * totals[0] / examples) if all(totals) else 100.0 * bool(totals[0])
        done = [self.done, 0] if self.is_before_test else [totals[0], self.done]
        tracks, begin = [], 0.0
        for total, share, ready in zip(totals, (first, 100 - first), done, strict=True):
            if total:
                width = round(share * ready / total, 2)
                tracks.append({"begin": begin, "width": share, "done": width})
            begin += share
        return tracks

    @property
    def answered(self) -> int:
        """Return how many examples of all steps were answered before this one."""
        before = self.before_test if self.step == "annotation" else 0
        return before + self.number - 1

    @property
    def done(self) -> int:
        """Return how many examples of this step are answered."""
        return self.number if self.state != "question" else self.number - 1

    @property
    def is_last(self) -> bool:
        return self.number == self.total

    @property
    def first_annotation(self) -> bool:
        """Is this the first example without a reveal, after a training step?"""
        return self.step == "annotation" and self.number == 1 and self.training_total > 0

    @property
    def is_landmark(self) -> bool:
        """Does this question have a heading sentence?"""
        is_milestone = self.ahead is not None and self.ahead.is_milestone
        return self.state == "question" and (self.first_annotation or is_milestone)

    @property
    def help_windows(self) -> tuple[Help, ...]:
        """Return the help of the card, starting with that on the kind asked for."""
        windows = self.card.help_windows
        return tuple(sorted(windows, key=lambda help: help.title != self.asked_window))

    @cached_property
    def asked_window(self) -> str:
        """Return the title of the help on the kind asked for; "" without kinds."""
        rule = self.card.rule_for(self.example.question, ())
        return rule.title if rule else ""

    @property
    def question(self) -> str:
        return self.card.wording(self.example.question)

    @cached_property
    def asked(self) -> QuestionType | None:
        """Return the kind asked for, if the card distinguishes kinds."""
        return asked_kind(self.card, self.example.question)

    @cached_property
    def asked_number(self) -> int:
        return kind_number(self.card, self.asked)

    @cached_property
    def question_shown(self) -> SafeString:
        name, filling = self.asked.name if self.asked else "", ""
        if self.reveal and PLACEHOLDER in self.question:
            filling = self.reveal.filling
        return question_markup(self.question, name, self.asked_number, filling)

    @cached_property
    def question_markup(self) -> SafeString | str:
        card = self.card
        return token_markup(self.question, card.granularity) if card.question_selectable else ""

    @cached_property
    def segments(self) -> list[Segment]:
        names, granularity = self.card.segments, self.card.granularity
        return [
            Segment(index, names[index], text, granularity)
            for index, text in enumerate(self.example.context)
        ]

    @property
    def unit(self) -> str:
        """Return the name of a token in this task."""
        return "character" if self.card.granularity == CHAR else "word"

    @property
    def labels(self) -> list[dict[str, str | int]]:
        return [
            {"name": label.name, "definition": label.definition, "number": number}
            for number, label in enumerate(self.card.labels, start=1)
        ]

    @property
    def options(self) -> list[dict[str, str | int | bool]]:
        """Return the choices for this example, with the names and values of their fields."""
        several = self.card.answered_by == OPTIONS
        return [
            {
                "text": text,
                "number": place + 1,
                "field": f"option-{place}" if several else "option",
                "value": "1" if several else str(place),
                "chosen": self.sent.get(f"option-{place}") == "1"
                if several
                else self.sent.get("option") == str(place),
            }
            for place, text in enumerate(self.example.options)
        ]

    @property
    def limits(self) -> dict[str, str]:
        """Return range and step of a number, in plain digits, as far as the card has them."""
        card = self.card
        stated = {"lowest": card.lowest, "highest": card.highest, "step": card.step}
        return {name: written(value) for name, value in stated.items() if value is not None}

    @cached_property
    def digits(self) -> range:
        """Return the digits that select a label or option; none if two digits were needed."""
        choices = len(self.card.labels or self.example.options)
        return range(1, choices + 1 if choices <= MAX_DIGITS else 1)

    @property
    def has_no_answer_key(self) -> bool:
        """Does the key 0 select "no answer"? Not where it may be typed in an answer."""
        return self.card.no_answer and self.widget.typing in ("", "letters")

    @property
    def is_searched(self) -> bool:
        """Is the list of labels so long that it has a search field?"""
        return len(self.card.labels) > MAX_DIGITS


def paragraphs(text: str) -> list[str]:
    return [part.strip() for part in text.replace("\r\n", "\n").split("\n\n") if part.strip()]
