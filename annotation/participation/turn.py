"""Context of a turn's page: its question (question.py), its progress (progress.py) and its reveal.

Turns, previews and try-outs use it. A question page is built only from context, question, options
and card, never from gold (docs/protocol.md#invariants); gold enters only through reveal.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from django.utils.translation import gettext_lazy

from annotation.participation.progress import Place, Progress
from annotation.participation.question import Question
from annotation.participation.reveal import Reveal
from annotation.protocol.training_review import Mistake
from tasks.cards import Card, Help
from tasks.models import Example

# Precedes the position in the window's title.
VERDICTS = {
    "right": gettext_lazy("Right: %(where)s"),
    "partly": gettext_lazy("Partly right: %(where)s"),
    "wrong": gettext_lazy("Not right: %(where)s"),
    "compare": gettext_lazy("Compare: %(where)s"),
}


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
    # At the end of the training step, the most common mistakes.
    review: Sequence[Mistake] = ()
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
    def instructions(self) -> list[str]:
        return paragraphs(self.card.instructions)

    @property
    def tally_right(self) -> int:
        return sum(self.tally)

    @property
    def review_rules(self) -> list[Help]:
        """Return the rules for the mistakes in the review, each once."""
        return list(dict.fromkeys(rule for mistake in self.review for rule in mistake.rules))


def paragraphs(text: str) -> list[str]:
    return [part.strip() for part in text.replace("\r\n", "\n").split("\n\n") if part.strip()]
