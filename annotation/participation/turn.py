"""The page of a turn and its context: progress, question (question.py) and reveal (reveal.py).

It is shared by turns, previews and try-outs. A question is built only from context, question,
options and card, never from gold answers (docs/protocol.md#invariants).

After ENOUGH answers, the time left is estimated from the participant's own pace; before that, from
the study's estimate. Progress is a pure function of existing counts, and is not stored.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from functools import cached_property, lru_cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import localize
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext_lazy

from annotation.models import Participation, Step, Turn
from annotation.models.participation import first_worked_before
from annotation.participation.question import STEPS, Place, Question
from annotation.participation.reveal import Reveal, reveal_page
from annotation.protocol import training_step
from annotation.protocol.answering import POINTS, percent
from annotation.protocol.training_step import Mistake
from annotation.web.wording import script_sentences, translated
from tasks.cards import Card
from tasks.comparison import compare_answer
from tasks.models import Example
from tasks.spans import AnswerError, GivenAnswer

ENOUGH = 5  # number of answers required for estimating a pace
BREAK_EVERY = 50  # after how many examples a break is suggested, unless only a few are left
CENT = Decimal("0.01")


def progress_at(
    answered: int = 0,
    total: int = 0,
    worked: float = 0.0,
    on_examples: float = 0.0,
    estimated: float | None = None,
    hourly_rate: Decimal = Decimal(0),
    max_paid_seconds: int | None = None,
    currency: str = "",
) -> dict[str, Any]:
    """Return progress, time and pay for the templates.

    `answered` and `total` count examples across all steps. Times are in seconds: the time worked so
    far, how much of it was spent on answered examples, and the study's estimate for the entire
    work, if any. `minutes_left` is at least 1 while examples remain, or None if unknown. Earnings
    are rounded down here, but up in the ledger.
    """

    def pay(seconds: float) -> Decimal:
        paid = seconds if max_paid_seconds is None else min(seconds, max_paid_seconds)
        return hourly_rate * Decimal(paid) / 3600

    remaining, left = total - answered, None
    if answered >= ENOUGH:
        left = on_examples / answered * remaining
    elif estimated is not None and total:
        left = estimated * remaining / total
    earned, expected = pay(int(worked)).quantize(CENT, ROUND_DOWN), None
    if hourly_rate and left is not None:
        expected = pay(worked + left).quantize(CENT, ROUND_HALF_UP)
    return {
        "answered": answered, "total": total,
        "is_milestone": answered and not answered % BREAK_EVERY and remaining >= BREAK_EVERY // 5,
        "minutes_left": None if left is None else max(int(answered < total), round(left / 60)),
        "hourly_rate": hourly_rate, "max_paid_seconds": max_paid_seconds, "currency": currency,
        "worked_seconds": str(int(worked)), "worked_minutes": str(round(int(worked) / 60)),
        "earned": str(earned), "earned_in_words": earned, "expected_in_words": expected,
    }  # fmt: skip


# Window titles that follow an answer.
VERDICTS = {
    "right": gettext_lazy("Right: %(where)s"),
    "partly": gettext_lazy("Partly right: %(where)s"),
    "wrong": gettext_lazy("Not right: %(where)s"),
    "compare": gettext_lazy("Compare: %(where)s"),
}


# Placeholders in cached HTML for whatever differs between annotators.
CSRF, KEY, ADDRESS, TOKEN, TIME, FORM = (secrets.token_hex(16) for _ in range(6))
# Likewise, for the times of `progress_at`: those that change with each example, and the others.
TIMES = {name: secrets.token_hex(16) for name in (
    "worked_seconds", "worked_minutes", "earned", "earned_in_words", "expected_in_words",
)}  # fmt: skip
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
    progress: dict[str, Any] = field(default_factory=progress_at)
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
        if extras or self.state != "question" or place.begins_test or self.progress["is_milestone"]:
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
        fixed = tuple(self.progress[name] for name in FIXED)
        times = {mark: self.progress[name] for name, mark in TIMES.items()}
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
def _time(fixed: tuple[Any, ...], _language: str | None) -> str:
    """Render time and pay in the current language, with the placeholders in TIMES."""
    progress = dict(zip(FIXED, fixed, strict=True)) | TIMES
    return render_to_string("participation/_time.html", {"progress": progress})


@lru_cache(maxsize=4096)
def _turn(card: Card, question: str, place: Place, cutoff: int, _language: str | None) -> str:
    """Render a question's turn for htmx in the current language, with placeholders."""
    page = TurnPage(
        card, Example(question=question), place, KEY, "", token=TOKEN, cutoff_seconds=cutoff
    )
    context = {"turn": page, "form": FORM, "time": TIME, "request": {"htmx": True}}
    return render_to_string(page.template, context)


def _filled(html: str, values: Mapping[str, Any]) -> SafeString:
    for name, value in values.items():
        text = value if isinstance(value, str) else localize(value)
        html = html.replace(name, text if isinstance(text, SafeString) else escape(text))
    return mark_safe(html)


def turn_page(participation: Participation, turn: Turn, **extra: Any) -> TurnPage:
    scenario = participation.scenario
    turn.participation = participation
    card, revealed, review, tally = turn.card, None, [], []
    rated = turn.answer.as_given if turn.awaits_confidence else None
    if turn.is_revealed and turn.given is not None and rated is None:
        review = training_step.review_shown_after(turn)
        if not review:
            revealed = _revealed(turn)
        if card.kind.is_judged:
            most = None if review else training_step.TALLIED
            tally = training_step.tally(participation, turn.step, most)
    draft = None if turn.given else getattr(turn, "draft", None)
    sizes = (len(participation.order_of(step)) for step in STEPS)
    place = Place.at(turn.step, turn.position, *sizes)
    return TurnPage(
        card=card, example=turn.shown_example, place=place, key=str(turn.pk),
        progress=_progress(participation, turn, place),
        answer_url=reverse("answer", args=[participation.token]),
        confidence_url=reverse("confidence", args=[participation.token]) if rated else "",
        continue_url=reverse("continue", args=[participation.token]) if turn.is_revealed else "",
        token=participation.token,
        cutoff_seconds=int(scenario.idle_cutoff.total_seconds()),
        shows_examples=scenario.shows_help_examples,
        rated=rated, asks_reason=scenario.design.asks_reasons, reveal=revealed, review=review,
        reviewed=[(mistake, list(map(_reviewed, mistake.turns))) for mistake in review],
        tally=tally,
        refuses_pastes=scenario.design.refuse_pastes,
        advances=scenario.design.auto_advance and not turn.is_revealed and bool(card.labels),
        draft=(draft.content, draft.age) if draft else None,
        **extra,
    )  # fmt: skip


def _revealed(turn: Turn) -> Reveal:
    given, comparison = turn.answer.as_given, training_step.reveal(turn)
    kinds = training_step.other_kinds(turn)
    return reveal_page(turn.card, turn.shown_example, given, comparison, kinds)


def _reviewed(turn: Turn) -> tuple[Reveal, Question]:
    revealed = _revealed(turn)
    return revealed, Question(turn.card, turn.shown_example, revealed.filling)


def render_turn(
    request: HttpRequest, page: TurnPage, status: int = 200, **context: Any
) -> HttpResponse:
    # The token that was sent is valid. Only a new page needs a new one, and the cookie for it.
    form = page.form(request.POST.get("csrfmiddlewaretoken") or get_token(request))
    turn_context = {"turn": page, "form": form}
    if request.htmx:  # type: ignore[attr-defined]  # set by its middleware
        if html := page.reply(form):
            return HttpResponse(html, status=status)
        return render(request, page.template, turn_context, status=status)
    turn_context |= {"stage": "turn", "card": page.card, "sentences": script_sentences()}
    return render(request, "participation/work.html", turn_context | context, status=status)


def tried(page: TurnPage, fields: Mapping[str, str]) -> tuple[TurnPage, int]:
    """Check an answer without storing it. Returns a page with a reveal (200) or an error (422)."""
    card, example = page.card, page.example
    try:
        given = card.kind.read(card, example, fields)
    except AnswerError as error:
        return replace(page, error=translated(error.sentence), fields=dict(fields.items())), 422
    comparison = compare_answer(card, example, given, example.gold)
    return replace(page, reveal=reveal_page(card, example, given, comparison)), 200


def _progress(participation: Participation, turn: Turn, place: Place) -> dict[str, Any]:
    scenario = participation.scenario
    worked = turn.worked_before + turn.active_until(timezone.now(), scenario.idle_cutoff)
    # The time spent on the current example counts only after it has been answered.
    on_examples = worked if turn.given else turn.worked_before
    answered = place.answered + (turn.given is not None)
    if answered >= ENOUGH:
        on_examples -= first_worked_before(participation.pk)
    return progress_at(
        answered=answered,
        total=place.before_test + place.test_total,
        worked=worked.total_seconds(),
        on_examples=on_examples.total_seconds(),
        estimated=60 * scenario.estimated_minutes,
        **scenario.promise,
    )
