"""A question as annotators see it: its place, tokenised text, images, and a control for the answer.

The question type is coloured, and a placeholder is shown as a gap. The text itself is never
changed, so screen readers and copying get it as stored. The page loads only what its answer type
requires (tasks/answers/kind.py). All controls work without scripts, and are enhanced by static/js/.
"""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from annotation.models import Step
from annotation.participation.reveal import MAX_DIGITS
from annotation.web.wording import translated
from tasks.answers.typed import as_digits
from tasks.cards import Card, HelpWindow, QuestionType
from tasks.images import Image, image_in
from tasks.models import Example
from tasks.models import Image as StoredImage
from tasks.spans import AnswerError
from tasks.tokens import tokens

COLOURS = 3  # number of colours for the question types of a card: --kind-1 to --kind-3
PLACEHOLDER = "@placeholder"
# CLUES phrased ReCoRD questions in this form. Its instructions say to ignore the frame.
FRAME = re.compile(r"\AAccording to claims in the suit,|What is @placeholder\?\Z")


def token_markup(text: str, granularity: str) -> SafeString:
    """Return text as HTML, with an element for each token and plain text in between.

    Together, they contain the whole text, so the page can compute the tokens' offsets, which would
    otherwise take up two thirds of the response. This function escapes each piece of text; nothing
    else may be marked safe.
    """
    parts: list[str] = []
    end_of_last = 0
    for start, end in tokens(text, granularity):
        parts.append(escape(text[end_of_last:start]))
        parts.append(f"<span data-t>{escape(text[start:end])}</span>")
        end_of_last = end
    parts.append(escape(text[end_of_last:]))
    # Browsers would drop or replace a literal carriage return.
    return mark_safe("".join(parts).replace("\r", "&#13;"))


@dataclass(frozen=True)
class Segment:
    """A text box (its name on the card, its text, and its tokens as HTML), or an image."""

    index: int
    name: str
    text: str
    granularity: str

    @cached_property
    def image(self) -> Image | None:
        return image_in(self.text)

    @property
    def words(self) -> str:
        return self.image.alt if self.image else self.text

    @property
    def markup(self) -> SafeString:
        return token_markup(self.text, self.granularity)


def question_markup(text: str, kind: str = "", number: int = 0, filling: str = "") -> SafeString:
    """Return the escaped question, with elements for the question type, gaps and frame.

    A reveal inserts the answer into the gap (`filling`), whose size stays the same.
    """
    marks = []
    if kind and (match := re.search(rf"\b{re.escape(kind)}\b", text, re.IGNORECASE)):
        marks.append((*match.span(), f'<em class="turn-kind" data-kind="{number}">', "</em>"))
    if PLACEHOLDER in FRAME.sub("", text):
        marks += [(*m.span(), '<span class="turn-frame">', "</span>") for m in FRAME.finditer(text)]
    pieces, at = [], 0
    for start, end, opened, closed in sorted(marks):
        pieces += [escape(text[at:start]), opened, escape(text[start:end]), closed]
        at = end
    # Long answers are shown in smaller type, so that the words around them do not move.
    steps = (len(filling) > 12) + (len(filling) > 17)
    filled = f' data-filling="{escape(filling)}" data-steps="{steps}"' if filling else ""
    gap = f'<span class="turn-gap"{filled}>{PLACEHOLDER}</span>'
    # Gaps in the frame are also marked, so that "What is ...?" shows the placeholder.
    return mark_safe(gap.join("".join([*pieces, escape(text[at:])]).split(PLACEHOLDER)))


@dataclass(frozen=True)
class Question:
    """Those parts of an example and its card that a page may show.

    Gold answers are not among them. Only a reveal sets `filling`, the answer in the gap.
    """

    card: Card
    example: Example
    filling: str = ""

    @property
    def control(self) -> str:
        return f"participation/answer/{self.card.answered_by.replace(' ', '_')}.html"

    @property
    def missing(self) -> str:
        """Return the error for an empty answer, which scripts show before anything is sent."""
        try:
            self.card.kind.read(self.card, self.example, {})
        except AnswerError as error:
            return translated(error.sentence)
        return ""

    @property
    def text(self) -> str:
        return self.card.wording(self.example.question)

    @cached_property
    def kind(self) -> QuestionType | None:
        """Return the question type, or None if the card does not distinguish types."""
        kinds = self.card.question_types
        return next((kind for kind in kinds if kind.match == self.example.question), None)

    @cached_property
    def kind_number(self) -> int:
        """Return the number of the question type's colour (1-based), or 0 if it has none."""
        return self.card.question_types.index(self.kind) % COLOURS + 1 if self.kind else 0

    @cached_property
    def help_title(self) -> str:
        """Return the title of the help on this question type, or "" if it has none."""
        rule = self.card.rule_for(self.example.question, ())
        return rule.title if rule else ""

    @property
    def help_windows(self) -> list[HelpWindow]:
        return sorted(self.card.help_windows, key=lambda help: help.title != self.help_title)

    @property
    def plain(self) -> SafeString:
        name = self.kind.name if self.kind else ""
        filling = self.filling if PLACEHOLDER in self.text else ""
        return question_markup(self.text, name, self.kind_number, filling)

    @cached_property
    def tokens(self) -> SafeString | str:
        """Return the question's tokens for highlighting, or "" if the task does not allow it."""
        card = self.card
        return token_markup(self.text, card.granularity) if card.question_selectable else ""

    @cached_property
    def segments(self) -> list[Segment]:
        names, granularity = self.card.segments, self.card.granularity
        return [
            Segment(index, names[index], text, granularity)
            for index, text in enumerate(self.example.context)
        ]

    @property
    def limits(self) -> dict[str, str]:
        card = self.card
        stated = {"lowest": card.lowest, "highest": card.highest, "step": card.step}
        return {name: as_digits(value) for name, value in stated.items() if value is not None}

    @cached_property
    def digits(self) -> range:
        """Return the digits that select a label or option. Empty if there are too many choices."""
        choices = len(self.card.labels or self.example.options) if self.card.kind.is_chosen else 0
        return range(1, choices + 1 if choices <= MAX_DIGITS else 1)

    @property
    def has_no_answer_key(self) -> bool:
        """Return whether the 0 key selects "no answer". It does not where digits are typed."""
        return self.card.no_answer and self.card.kind.typing in ("", "letters")

    @property
    def is_searched(self) -> bool:
        return len(self.card.labels) > MAX_DIGITS


# Place.at requires the sizes of these steps.
STEPS = (Step.ANCHOR, Step.UPSTREAM, Step.TRAINING, Step.SCREENING, Step.ANNOTATION)
NAMES = {
    "try-out": gettext_lazy("Try-out"),
    "training": gettext_lazy("Training"),
    "screening": gettext_lazy("Screening"),
    "anchor": gettext_lazy("First examples"),
    "annotation": gettext_lazy("Main part"),
}
IN_WORDS = {
    "try-out": gettext_lazy("Try-out, example %(number)s of %(total)s"),
    "training": gettext_lazy("Training, example %(number)s of %(total)s"),
    "screening": gettext_lazy("Screening, example %(number)s of %(total)s"),
    "annotation": gettext_lazy("Main part, example %(number)s of %(total)s"),
}


@dataclass(frozen=True)
class Place:
    """An example's position in its step, and the number of examples in each step."""

    step: str
    number: int
    total: int
    training_total: int = 0
    screening_total: int = 0
    test_total: int = 0
    anchor_total: int = 0
    # Whether this is one of the invented sentences before the first example (state.py).
    trying: bool = False

    @classmethod
    @lru_cache(maxsize=4096)
    def at(
        cls, step: str, position: int, anchor: int, upstream: int, training: int, screening: int,
        test: int,
    ) -> "Place":  # fmt: skip
        """Return the place for this 0-based `position`; upstream and training are one step."""
        totals = (upstream + training, screening, test, anchor)
        if step in ("upstream", "training"):
            number = position + 1 + (upstream if step == "training" else 0)
            return cls("training", number, totals[0], *totals)
        if step in ("screening", "anchor"):
            size = screening if step == "screening" else anchor
            return cls(step, position + 1, size, *totals)
        return cls("annotation", position + 1, test, *totals)  # checks look like other examples

    @property
    def name(self) -> Any:
        return NAMES["try-out" if self.trying else self.step]

    @property
    def in_words(self) -> str:
        if self.step == "anchor":
            return self.title
        return IN_WORDS["try-out" if self.trying else self.step] % vars(self)

    @property
    def title(self) -> str:
        return gettext("%(step)s, %(number)s of %(total)s") % (vars(self) | {"step": self.name})

    @cached_property
    def is_before_test(self) -> bool:
        return self.step in ("anchor", "training", "screening")

    @cached_property
    def begins_test(self) -> bool:
        return self.step == "annotation" and self.number == 1 and self.training_total > 0

    @cached_property
    def before_test(self) -> int:
        return self.anchor_total + self.training_total + self.screening_total

    @cached_property
    def answered(self) -> int:
        offsets = {
            "annotation": self.before_test,
            "screening": self.anchor_total + self.training_total,
            "training": self.anchor_total,
        }
        return offsets.get(self.step, 0) + self.number - 1

    def tracks(self, count: int) -> list[dict[str, float]]:
        """Return the progress bars before and during the test, as percentages of the width.

        `count` is the number of answered examples in the current step. The bar before the test is
        at least 15% wide, so that it remains visible.
        """
        totals = [self.before_test, self.test_total]
        if self.is_before_test and not self.before_test:
            totals[0] = self.total
        if self.step == "annotation":
            totals[1] = self.total
        examples = sum(totals) or 1
        first = max(15.0, 100 * totals[0] / examples) if all(totals) else 100.0 * bool(totals[0])
        earlier = self.answered - self.number + 1
        answered = [earlier + count, 0] if self.is_before_test else [totals[0], count]
        tracks, begin = [], 0.0
        for total, share, finished in zip(totals, (first, 100 - first), answered, strict=True):
            if total:
                width = round(share * finished / total, 2)
                tracks.append({"begin": begin, "width": share, "done": width})
            begin += share
        return tracks


YEAR = 365 * 24 * 3600  # seconds


@cache_control(public=True, immutable=True, max_age=YEAR)
@require_safe
def image(request: HttpRequest, name: str) -> HttpResponse:
    """Return an image. Its address is its SHA-256, known only to those who see its example."""
    stored = get_object_or_404(StoredImage, name=name)
    kind = "image/png" if name.endswith(".png") else "image/jpeg"
    return HttpResponse(bytes(stored.data), content_type=kind)
