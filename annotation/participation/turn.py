"""Context for the page of a turn: progress, question (question.py) and reveal (reveal.py).

It is shared by turns, previews and try-outs. A question is built only from context, question,
options and card, never from gold answers (docs/protocol.md#invariants).

After ENOUGH answers, the time left is estimated from the participant's own pace; before that, from
the study's estimate. Progress is a pure function of existing counts, and is not stored.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from functools import cached_property, lru_cache
from typing import Any

from django.template.loader import render_to_string
from django.utils.formats import localize
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext, gettext_lazy

from annotation.models import Step
from annotation.participation.question import Question
from annotation.participation.reveal import Reveal
from annotation.protocol.answering import POINTS, percent
from annotation.protocol.training_step import Mistake
from tasks.cards import Card
from tasks.models import Example
from tasks.spans import GivenAnswer

ENOUGH = 5  # number of answers required for estimating a pace
BREAK_EVERY = 50  # examples
STEPS = {
    "try-out": gettext_lazy("Try-out"),
    "training": gettext_lazy("Training"),
    "screening": gettext_lazy("Screening"),
    "anchor": gettext_lazy("First examples"),
    "annotation": gettext_lazy("Main part"),
}
PLACES = {
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
    # Whether this is one of the invented sentences before the first example (try_out.py).
    trying: bool = False

    @classmethod
    @lru_cache(maxsize=4096)
    def at(
        cls, step: str, position: int, anchor: int, upstream: int, training: int, screening: int,
        test: int,
    ) -> "Place":  # fmt: skip
        """Return the place to show. `position` is 0-based; upstream and training are one step."""
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
        return STEPS["try-out" if self.trying else self.step]

    @property
    def in_words(self) -> str:
        if self.step == "anchor":
            return self.title
        return PLACES["try-out" if self.trying else self.step] % vars(self)

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


@dataclass(frozen=True)
class Progress:
    """How many examples have been answered and exist, across all steps. Times are in seconds."""

    answered: int = 0
    total: int = 0
    # Time worked so far, and how much of it was spent on answered examples.
    worked: float = 0.0
    on_examples: float = 0.0
    # The study's estimate for the entire work, or None.
    estimated: float | None = None
    hourly_rate: Decimal = Decimal(0)
    max_paid_seconds: int | None = None
    currency: str = ""

    @property
    def texts(self) -> dict[str, str]:
        """Return time and pay as shown. Earnings are rounded down here, but up in the ledger."""
        seconds = int(self.worked)
        earned = self._pay(seconds).quantize(Decimal("0.01"), ROUND_DOWN)
        return {
            "worked_seconds": str(seconds),
            "worked_minutes": str(round(seconds / 60)),
            "earned": str(earned),
            "earned_in_words": localize(earned),
            "expected_in_words": str(localize(self.expected_pay)),
        }

    @cached_property
    def seconds_left(self) -> float | None:
        """Return the time left, based on pace or the study's estimate, or None if unknown."""
        to_come = self.total - self.answered
        if self.answered >= ENOUGH:
            return self.on_examples / self.answered * to_come
        if self.estimated is None or not self.total:
            return None
        return self.estimated * to_come / self.total

    @cached_property
    def minutes_left(self) -> int | None:
        """Return the minutes left, which is at least 1 while examples remain, or None."""
        left = self.seconds_left
        return None if left is None else max(int(self.answered < self.total), round(left / 60))

    @cached_property
    def expected_pay(self) -> Decimal | None:
        """Return the expected pay for the entire work, up to the cap, or None if unknown."""
        if not self.hourly_rate or self.seconds_left is None:
            return None
        pay = self._pay(self.worked + self.seconds_left)
        return pay.quantize(Decimal("0.01"), ROUND_HALF_UP)

    def _pay(self, seconds: float) -> Decimal:
        if self.max_paid_seconds is not None:
            seconds = min(seconds, self.max_paid_seconds)
        return self.hourly_rate * Decimal(seconds) / 3600

    @property
    def is_milestone(self) -> bool:
        """Return whether to suggest a break: every 50 examples, unless only a few are left."""
        return (
            self.answered > 0
            and self.answered % BREAK_EVERY == 0
            and self.total - self.answered >= BREAK_EVERY // 5
        )


# Window titles that follow an answer.
VERDICTS = {
    "right": gettext_lazy("Right: %(where)s"),
    "partly": gettext_lazy("Partly right: %(where)s"),
    "wrong": gettext_lazy("Not right: %(where)s"),
    "compare": gettext_lazy("Compare: %(where)s"),
}


# Placeholders in cached HTML for whatever differs between annotators.
CSRF, KEY, ADDRESS, TOKEN, TIME, FORM = (secrets.token_hex(16) for _ in range(6))
# Likewise, for the values of Progress: those that change with each example, and the others.
TIMES = {name: secrets.token_hex(16) for name in Progress().texts}
FIXED = ("minutes_left", "hourly_rate", "max_paid_seconds", "currency")
PRACTISED = 10  # after this many examples, the keys below the button become less prominent


@dataclass(frozen=True)
class TurnPage:
    card: Card
    example: Example
    place: Place
    key: str
    answer_url: str
    continue_url: str = ""
    shows_examples: bool = False
    progress: Progress = field(default_factory=Progress)
    reveal: Reveal | None = None
    # The answer to be rated for confidence, and whether to ask for a reason as well.
    rated: GivenAnswer | None = None
    asks_reason: bool = False
    confidence_url: str = ""
    # At the end of training: the most common mistakes, with the reveals of some of them.
    review: Sequence[Mistake] = ()
    reviewed: Sequence[tuple[Mistake, list[tuple[Reveal, Question]]]] = ()
    # Whether each of the last ten training answers (in the review: all) was correct.
    tally: Sequence[bool] = ()
    # Token for activity signals and drafts, or "" if nothing is to be stored.
    token: str = ""
    cutoff_seconds: int = 60
    # The stored draft of the answer, and its age in seconds.
    draft: tuple[str, float] | None = None
    # Whether choosing a label submits it at once (only in the annotation step).
    advances: bool = False
    # Whether the page rejects pasted text in typed answers.
    refuses_pastes: bool = False
    # What is wrong with the answer in `fields`, and a notice about what happened to it.
    error: str = ""
    notice: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    back_url: str = ""  # for previews of an import
    bar: object | None = None  # navigation in previews of a study

    @cached_property
    def state(self) -> str:
        if self.review or self.rated:
            return "review" if self.review else "confidence"
        return "reveal" if self.reveal else "question"

    @property
    def template(self) -> str:
        name = self.state if self.state in ("review", "confidence") else "turn"
        return f"participation/_{name}.html"

    @property
    def levels(self) -> list[tuple[str, Any, int]]:
        return [(str(point), label, percent(point)) for point, label in POINTS.items()]

    @cached_property
    def question(self) -> Question:
        return Question(self.card, self.example, self.reveal.filling if self.reveal else "")

    def form(self, csrf_token: str) -> SafeString:
        """Return the cached form shared by all annotators, or "" if this page's form differs."""
        place, card, example = self.place, self.card, self.example
        extras = self.error or self.notice or self.fields or self.back_url
        if extras or self.state != "question" or place.begins_test or self.progress.is_milestone:
            return SafeString()
        texts = (example.question, *example.context), tuple(example.options)
        switches = self.advances, self.refuses_pastes
        form = _form(card, texts, switches, get_language())
        if place.answered < PRACTISED:
            form = form.replace(' turn-practised"', '"')
        return _filled(form, {CSRF: csrf_token, KEY: self.key, ADDRESS: self.answer_url})

    def reply(self, form: SafeString) -> SafeString:
        """Return the cached turn with this form for htmx, or "" for a draft or an empty form."""
        if not form or self.draft or self.bar or not self.token:
            return SafeString()
        question = self.example.question if self.card.question_types else KEY
        turn = _turn(self.card, question, self.place, self.cutoff_seconds, get_language())
        fixed = tuple((name, getattr(self.progress, name)) for name in FIXED)
        times = {TIMES[name]: text for name, text in self.progress.texts.items()}
        time = _filled(_time(fixed, get_language()), times)
        return _filled(turn, {TIME: time, FORM: form, TOKEN: self.token, KEY: self.key})

    @property
    def title(self) -> str:
        """Return the title of the window: step and position, and the verdict on an answer."""
        title = self.place.title
        return VERDICTS[self.reveal.verdict] % {"where": title} if self.reveal else title

    @property
    def tracks(self) -> list[dict[str, float]]:
        return self.place.tracks(self.place.number - (self.state == "question"))

    @property
    def options(self) -> list[tuple[str, bool]]:
        """Return (option, whether the submitted answer selects it) for each of the options."""
        fields = self.fields
        return [
            (text, fields.get("option") == str(place) or fields.get(f"option-{place}") == "1")
            for place, text in enumerate(self.example.options)
        ]

    @property
    def tally_right(self) -> int:
        return sum(self.tally)


@lru_cache(maxsize=1024)
def _form(
    card: Card,
    texts: tuple[tuple[str, ...], tuple[str, ...]],
    switches: tuple[bool, bool],
    _language: str | None,
) -> str:
    """Render a question's form with placeholders, for practised users, in the current language."""
    (question, *context), options = texts
    place = Place(Step.ANNOTATION, PRACTISED + 1, 0)
    page = TurnPage(
        card=card,
        example=Example(question=question, context=context, options=list(options)),
        place=place,
        key=KEY,
        answer_url=ADDRESS,
        advances=switches[0],
        refuses_pastes=switches[1],
    )
    values = {"turn": page, "question": page.question, "place": place, "progress": page.progress}
    return render_to_string(card.kind.template, values | {"csrf_token": CSRF})


@lru_cache(maxsize=4096)
def _time(fixed: tuple[tuple[str, Any], ...], _language: str | None) -> str:
    """Render time and pay in the current language, with the placeholders in TIMES."""
    return render_to_string("participation/_time.html", {"progress": dict(fixed), "texts": TIMES})


@lru_cache(maxsize=4096)
def _turn(card: Card, question: str, place: Place, cutoff: int, _language: str | None) -> str:
    """Render a question's turn for htmx in the current language, with placeholders."""
    page = TurnPage(
        card, Example(question=question), place, KEY, "", token=TOKEN, cutoff_seconds=cutoff
    )
    context = {"turn": page, "form": FORM, "time": TIME, "request": {"htmx": True}}
    return render_to_string(page.template, context)


def _filled(html: str, values: Mapping[str, str]) -> SafeString:
    for name, text in values.items():
        html = html.replace(name, conditional_escape(text))
    return mark_safe(html)


def paragraphs(text: str) -> list[str]:
    return [part.strip() for part in text.replace("\r\n", "\n").split("\n\n") if part.strip()]
