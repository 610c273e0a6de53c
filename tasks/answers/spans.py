"""Spans of the text and, if the card allows them, typed answers that aren't in the text."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tasks.answer_keys import SPANS
from tasks.answers.kind import TEXTS, Kind, MadeUp, Prompt, Rule
from tasks.spans import (
    GivenAnswer,
    Source,
    Span,
    ceiling,
    checked,
    read_payload,
    read_typed,
    refused,
    typed_lines,
)

if TYPE_CHECKING:
    from tasks.cards import Card

EMPTY = MadeUp.parse(**TEXTS[SPANS]["shown"]["empty"])
LONGEST_TYPED = 1_000  # characters of a typed answer that is not in the text


class Spans(Kind):
    """Highlighted spans. Without JavaScript, `typed` and `no_answer` replace `answer`.

    The form field `answer` contains the highlighter's payload. Any text is accepted as gold, and
    the data report lists texts that can't be highlighted. Answers are simulated in
    annotation/simulation/policies.py.
    """

    name = SPANS
    is_one_text = False
    element = "span-answer"
    template = "participation/_span_question.html"
    typing = "letters"

    def read(self, card: "Card", prompt: Prompt, fields: Mapping[str, str]) -> GivenAnswer:
        """Read the form. Raises AnswerError (tasks/spans.py)."""
        no_answer, typed = fields.get("no_answer") == "1", fields.get("typed", "")
        source = card.source_of(prompt)
        spans: list[Span] = []
        values: list[str] = []
        if fields.get("answer"):
            spans, marked_none = read_payload(fields["answer"], source)
            no_answer = marked_none or (no_answer and card.typed)
        if card.typed:
            values = _typed_too(typed, spans, source)
        elif typed:
            spans = read_typed(typed, no_answer, source, spans)
        return checked(spans, no_answer, card.max_spans, card.no_answer, values)

    def tries(self, card: "Card") -> tuple[MadeUp, ...]:
        return (*self.made_up[:2], EMPTY) if card.no_answer else self.made_up

    def highest_s1(self, card: "Card", prompt: Prompt, gold: Sequence[str]) -> float:
        return 1.0 if card.typed else ceiling(gold, card.gold_rule, card.source_of(prompt))

    def rules(self, card: "Card") -> list[Rule]:
        limit, rules = card.max_spans, super().rules(card)
        if limit is None:
            return rules
        texts = "text" if limit == 1 else "texts"
        several = f"have more than {limit} {texts}: {{named}}. This task takes {limit} at most"
        return [*rules, (lambda p, _options: len(set(p)) > limit, several)]


def _typed_too(typed: str, spans: list[Span], source: Source) -> list[str]:
    """Add lines found in the text to `spans`. Return all others, and those inside highlights."""
    values = []
    for line in typed_lines(typed):
        if line in {span.text for span in spans}:
            continue
        places = source.occurrences(line)
        free = [place for place in places if not any(map(place.overlaps, spans))]
        if free:
            spans.append(free[0])
            continue
        if len(line) > LONGEST_TYPED:
            raise refused("too_long")
        values.append(line)
    return values
