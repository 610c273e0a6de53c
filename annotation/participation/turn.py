"""Context of a turn's page: its question (question.py), its progress (progress.py) and its reveal.

Turns, previews and try-outs use it. A question page is built only from context, question, options
and card, never from gold (docs/protocol.md#invariants); gold enters only through reveal.py.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from django.template.loader import render_to_string
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext_lazy

from annotation.models import Step
from annotation.participation.progress import Place, Progress
from annotation.participation.question import Question
from annotation.participation.reveal import Reveal
from annotation.protocol.training_review import Mistake
from tasks.cards import Card
from tasks.models import Example

# Precedes the position in the window's title.
VERDICTS = {
    "right": gettext_lazy("Right: %(where)s"),
    "partly": gettext_lazy("Partly right: %(where)s"),
    "wrong": gettext_lazy("Not right: %(where)s"),
    "compare": gettext_lazy("Compare: %(where)s"),
}


# Stand in a form that is kept for what each annotator's page has of its own.
OWN = (secrets.token_hex(16), secrets.token_hex(16), secrets.token_hex(16))
PRACTISED = 10  # examples, after which the keys below the button are less prominent


@dataclass(frozen=True)
class TurnPage:
    """The context for participation/_turn.html."""

    card: Card
    example: Example
    place: Place
    key: str
    answer_url: str
    continue_url: str = ""
    shows_examples: bool = False
    progress: Progress = field(default_factory=Progress)
    reveal: Reveal | None = None
    # At the end of the training step, the most common mistakes, and some of them as revealed.
    review: Sequence[Mistake] = ()
    reviewed: Sequence[tuple[Mistake, list[tuple[Reveal, Question]]]] = ()
    # Results for the last ten training examples, including this one.
    tally: Sequence[bool] = ()
    # The personal link that signs of work and drafts go to; "" where nothing is stored.
    token: str = ""
    cutoff_seconds: int = 60
    # The stored draft for this question, and its age in seconds.
    draft: tuple[str, float] | None = None
    # In the annotation step: a label is submitted as soon as it is chosen.
    advances: bool = False
    # Does the page refuse pasted text in a typed answer?
    refuses_pastes: bool = False
    # What was wrong with the answer in `sent`, and what happened to it.
    error: str = ""
    notice: str = ""
    sent: dict[str, str] = field(default_factory=dict)
    back_url: str = ""  # for an import preview
    bar: object | None = None  # navigation of a study's preview

    @property
    def state(self) -> str:
        if self.review:
            return "review"
        return "reveal" if self.reveal else "question"

    @property
    def template(self) -> str:
        """Return this state's template."""
        return "participation/_review.html" if self.review else "participation/_turn.html"

    @cached_property
    def question(self) -> Question:
        return Question(self.card, self.example, self.reveal.filling if self.reveal else "")

    def form(self, csrf_token: str) -> SafeString:
        """Return the question's form, whose markup is the same for all annotators; "" otherwise.

        It is "" where the form has a message or an earlier answer: the template then builds it.
        """
        place, card, example = self.place, self.card, self.example
        said = self.error or self.notice or self.sent or self.back_url or self.reveal or self.review
        if said or place.begins_test or self.progress.is_milestone:
            return SafeString()
        texts = (example.question, *example.context), tuple(example.options)
        practised = place.answered >= PRACTISED
        switches = self.advances, self.refuses_pastes
        form = _form(card, texts, practised, switches, get_language())
        own = (csrf_token, escape(self.key), escape(self.answer_url))
        for name, text in zip(OWN, own, strict=True):
            form = form.replace(name, text)
        return mark_safe(form)

    @property
    def where(self) -> str:
        """Return the window's title: step, position, and the verdict once known."""
        where = self.place.title
        return VERDICTS[self.reveal.verdict] % {"where": where} if self.reveal else where

    @property
    def tracks(self) -> list[dict[str, float]]:
        return self.place.tracks(self.place.number - (self.state == "question"))

    @property
    def options(self) -> list[tuple[str, bool]]:
        """Return this example's options, each with whether the sent answer has it."""
        sent = self.sent
        return [
            (text, sent.get("option") == str(place) or sent.get(f"option-{place}") == "1")
            for place, text in enumerate(self.example.options)
        ]

    @property
    def tally_right(self) -> int:
        return sum(self.tally)


@lru_cache(maxsize=1024)
def _form(
    card: Card,
    texts: tuple[tuple[str, ...], tuple[str, ...]],
    practised: bool,
    switches: tuple[bool, bool],
    _language: str | None,
) -> str:
    """Return a question's form in the current language, with OWN in it, for any page."""
    (question, *context), options = texts
    csrf_token, key, address = OWN
    place = Place(Step.ANNOTATION, PRACTISED + 1 if practised else 1, 0)
    page = TurnPage(
        card=card,
        example=Example(question=question, context=context, options=list(options)),
        place=place,
        key=key,
        answer_url=address,
        advances=switches[0],
        refuses_pastes=switches[1],
    )
    shown = {"turn": page, "question": page.question, "place": place, "progress": page.progress}
    return render_to_string(card.kind.template, shown | {"csrf_token": csrf_token})


def paragraphs(text: str) -> list[str]:
    return [part.strip() for part in text.replace("\r\n", "\n").split("\n\n") if part.strip()]
