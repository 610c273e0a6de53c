"""The answers to a single test example: highlights, distinct answers and agreement.

As in all tables, only annotators of one kind who completed the study and are in the analysis are
included. The answers of other annotators of this kind are listed separately.
"""

import hashlib
import itertools
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import NamedTuple

from django.db.models import Q

from analysis.scores.columns import share
from analysis.scores.markup import rendered
from analysis.stats import agreement
from annotation.models import ORDERS, Answer, Participation, Status, Study
from annotation.protocol import blinding
from tasks.answer_keys import OPTION
from tasks.cards import Card
from tasks.columns import NOTHING, points, two_digits
from tasks.comparison import Comparison, compare_answer
from tasks.images import image_in
from tasks.metrics import score
from tasks.models import Example
from tasks.spans import QUESTION
from tasks.spans import GivenAnswer as Given

MAX_NAMES = 20


@dataclass(frozen=True)
class Lane:
    participation: Participation
    given: Given
    comparison: Comparison
    parts: list["Part"]
    alias: str = ""

    @property
    def name(self) -> str:
        return self.alias or self.participation.pseudonym

    @property
    def shots(self) -> int:
        return self.participation.scenario.shots

    @property
    def s1(self) -> str:
        return points(100 * self.comparison.s1)

    @property
    def why_apart(self) -> str:
        seat = self.participation
        if seat.status == Status.COMPLETED:
            return "not in these numbers" if seat.in_analysis else "excluded from the analysis"
        return str(Status(seat.status).label)


class Part(NamedTuple):
    """A highlighted text with its verdict, and its position in the concatenation of all texts."""

    verdict: str
    text: str
    start: int
    length: int


@dataclass(frozen=True)
class ExamplePage:
    """An example with the answers of one kind of annotators, for one or all shot counts."""

    study: Study
    example: Example
    kind: str
    shots: int | None

    @property
    def card(self) -> Card:
        return self.example.split.task.card

    @property
    def question(self) -> str:
        return self.card.wording(self.example.question)

    @cached_property
    def _selectable(self) -> str | None:
        return self.card.selectable_question(self.example.question)

    @cached_property
    def _texts(self) -> list[tuple[int, str, str]]:
        """Return (number, name, text) for each text that can be highlighted."""
        segments = zip(self.card.segments, self.example.context, strict=True)
        texts = [(n, *segment) for n, segment in enumerate(segments) if not image_in(segment[1])]
        if self._selectable is not None:
            texts.insert(0, (QUESTION, "Question", self._selectable))
        return texts

    @cached_property
    def _begins(self) -> dict[int, int]:
        """Return the position at which each text starts in the concatenation of all texts."""
        lengths = (len(text) for _number, _name, text in self._texts)
        begins = itertools.accumulate(lengths, initial=0)
        return {number: begin for (number, _n, _t), begin in zip(self._texts, begins, strict=False)}

    @property
    def golds(self) -> list[str]:
        return list(dict.fromkeys(self.example.gold))

    @property
    def length(self) -> int:
        return sum(len(text) for _number, _name, text in self._texts)

    @cached_property
    def _lanes(self) -> tuple[list[Lane], list[Lane]]:
        """Return the answers included in a cell, and the other answers of this kind."""
        seats = self.study.participations.filter(kind=self.kind)
        answers = (
            seats.answers()
            .filter(turn__example=self.example)
            .annotate(is_counted=Q(turn__participation__in=seats.counted(self.kind)))
            .select_related("turn__participation__scenario")
            .defer(*(f"turn__participation__{name}" for name in (*ORDERS, "activity_summary")))
            .prefetch_related("spans")
            .order_by("turn__participation__scenario__shots", "turn__participation__pseudonym")
        )
        groups: tuple[list[Lane], list[Lane]] = [], []
        for answer in answers:
            groups[not answer.is_counted].append(self._lane(answer))
        return self._masked(groups[0]), self._masked(groups[1])

    @cached_property
    def _hidden(self) -> set[int]:
        return blinding.hidden(self.study)

    def _masked(self, lanes: list[Lane]) -> list[Lane]:
        """Replace names by aliases, numbered anew for each example, where scores are hidden."""

        def shuffled(lane: Lane) -> str:
            source = f"{self.example.content_hash}:{lane.participation.token}"
            return hashlib.sha256(source.encode()).hexdigest()

        masked = [lane for lane in lanes if lane.participation.pk in self._hidden]
        masked.sort(key=lambda lane: (lane.shots, shuffled(lane)))
        visible = [lane for lane in lanes if lane.participation.pk not in self._hidden]
        aliases = [
            replace(lane, alias=f"annotator {number}") for number, lane in enumerate(masked, 1)
        ]
        return sorted([*visible, *aliases], key=lambda lane: lane.shots)

    def _lane(self, answer: Answer) -> Lane:
        given, example = answer.as_given, self.example
        comparison = compare_answer(self.card, example, given, example.gold)
        parts = [
            Part(mark.verdict, mark.text, self._begins[mark.segment] + mark.start, len(mark.text))
            for mark in comparison.marks
            if mark.verdict != "missed"
        ]
        return Lane(answer.turn.participation, given, comparison, parts)

    @cached_property
    def lanes(self) -> list[Lane]:
        return [lane for lane in self._lanes[0] if self.shots in (None, lane.shots)]

    @cached_property
    def apart(self) -> list[Lane]:
        return [lane for lane in self._lanes[1] if self.shots in (None, lane.shots)]

    @property
    def n(self) -> int:
        return len(self.lanes)

    @cached_property
    def gold_parts(self) -> list[Part]:
        if not self.card.is_highlighted:
            return []
        return [
            Part("right", place.text, self._begins[place.segment] + place.start, len(place.text))
            for text in self.golds
            for place in self.card.source_of(self.example).places(text)
        ]

    @property
    def unreachable(self) -> list[str]:
        if not self.card.is_highlighted or self.card.typed:
            return []
        source = self.card.source_of(self.example)
        return [text for text in self.golds if not source.is_reachable(text)]

    @cached_property
    def layered(self) -> list[SimpleNamespace]:
        return [
            SimpleNamespace(
                segment=number,
                name=name,
                stretches=[self._stretch(run) for run in self._runs(number, text)],
            )
            for number, name, text in self._texts
        ]

    def _stretch(self, run: agreement.Run[str]) -> SimpleNamespace:
        """Return a run of text. `opens` and `closes` contain one item per bracket."""
        number = len(run.who)
        names = ", ".join(run.who[:MAX_NAMES]) + (", and others" if number > MAX_NAMES else "")
        text = f"{number} of {self.n} ({share(number, self.n)}): {names}." if number else "Nobody."
        return SimpleNamespace(
            text=run.text,
            start=run.start,
            number=number,
            level=agreement.level(number, self.n),
            is_gold=run.is_gold,
            opens=range(run.opens),
            closes=range(run.closes),
            meaning=f"{text} Part of a gold answer." if run.is_gold else text,
        )

    def _runs(self, number: int, text: str) -> list[agreement.Run[str]]:
        begin = self._begins[number]
        gold = [
            (part.start - begin, part.start - begin + part.length)
            for part in self.gold_parts
            if begin <= part.start < begin + len(text)
        ]
        highlights = {
            lane.name: [
                (span.start, span.end) for span in lane.given.spans if span.segment == number
            ]
            for lane in self.lanes
        }
        return agreement.runs(text, highlights, gold)

    @cached_property
    def names(self) -> list[str]:
        """Return the labels or options to choose from in single-choice tasks, otherwise []."""
        if self.card.answered_by == OPTION:
            return list(dict.fromkeys(self.example.options))
        return [label.name for label in self.card.labels]

    @cached_property
    def choices(self) -> list[SimpleNamespace]:
        """Return distinct answers, most frequent first, or every choice if only one is allowed."""
        groups = agreement.groups((lane, lane.given.texts) for lane in self.lanes)
        if self.names:
            by_name = {group.texts[:1]: group for group in groups}
            listed = [by_name.pop((name,), agreement.Group((name,), ())) for name in self.names]
            groups = [*listed, *by_name.values()]
        return [
            SimpleNamespace(
                texts=[
                    SimpleNamespace(text=text, is_gold=text in self.example.gold)
                    for text in group.texts
                ],
                lanes=group.who,
                s1=points(100 * score(group.texts, self.example.gold, self.card.gold_rule).s1),
                share=share(len(group.who), self.n),
            )
            for group in groups
        ]

    @property
    def facts(self) -> list[dict[str, str]]:
        scores = [lane.comparison.s1 for lane in self.lanes]
        unit = [frozenset(lane.given.texts) for lane in self.lanes]
        pairs = self.n * (self.n - 1) // 2
        agreed = agreement.pairwise_s1(unit)
        counts = sorted((len(choice.lanes) for choice in self.choices), reverse=True)
        top, tied = counts[0], counts.count(counts[0])
        frequency = f"{top} of {self.n} ({share(top, self.n)})"
        values = {
            "mean": ("Mean S1", " ± ".join(_mean_and_sd(scores))),
            "pairwise": ("Pairwise S1", NOTHING if agreed is None else points(100 * agreed)),
            "most_frequent": (
                "Most frequent answer",
                frequency if tied == 1 else f"{frequency}, each of {tied} answers",
            ),
            "distinct": ("Distinct answers", str(sum(count > 0 for count in counts))),
            **self._disagreements(unit),
        }
        meanings = rendered("example", {"n": self.n, "pairs": pairs})
        return [
            {"heading": heading, "value": value, "meaning": meanings[name]}
            for name, (heading, value) in values.items()
        ]

    def _disagreements(self, unit: list[frozenset[str]]) -> dict[str, tuple[str, str]]:
        """Return the example's contribution to alpha. For single labels, all distances agree."""
        facts = {}
        for name in ["nominal"] if self.card.kind.is_one_text else agreement.DISTANCES:
            observed = agreement.observed_disagreement(unit, agreement.DISTANCES[name])
            value = NOTHING if observed is None else two_digits(observed)
            facts[name.replace(" ", "")] = (f"Disagreement, {name}", value)
        return facts

    @property
    def by_shots(self) -> Iterator[SimpleNamespace]:
        for shots in sorted(self.study.shots):
            values = [lane.comparison.s1 for lane in self._lanes[0] if lane.shots == shots]
            mean, sd = _mean_and_sd(values)
            yield SimpleNamespace(shots=shots, n=len(values), mean=mean, sd=sd)


def _mean_and_sd(values: Sequence[float]) -> tuple[str, str]:
    """Format the mean and SD (ddof 1) of scores in [0, 1], multiplied by 100."""
    mean = 100 * statistics.fmean(values) if values else None
    sd = 100 * statistics.stdev(values) if len(values) > 1 else None
    return points(mean), points(sd)
