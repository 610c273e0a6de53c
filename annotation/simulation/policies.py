"""How simulated annotators answer: what they know, and the policies by which they decide.

They look up gold answers in the imported examples, using the text on the page, and never get them
from the page itself.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from annotation.models import Study
from annotation.study import compared_files, cross_task, screening
from tasks import spans
from tasks.cards import Card
from tasks.models import Example, Prediction, Split
from tasks.tokens import tokens

POLICIES = (
    "gold", "empty", "majority", "random", "noisy:P", "noisy:P:SD", "transfer:P:GAIN",
    "transfer:P:ARM=GAIN,ARM=GAIN", "learning:P:GAIN:N", "strata:P:STRATUM=CHANGE,STRATUM=CHANGE",
    "contextual:P:ALONE", "copier:MODEL:P", "mixed:MODEL:P:SHARE",
)  # fmt: skip
CONFIDENCE = "+confidence:"  # after a policy: by how many points annotators are too confident, or 0
SPREAD = 0.02  # default SD between annotators: a few points, as among humans
OWN = "0.8"  # probability that the answers a copier gives independently are correct


@dataclass(frozen=True)
class Known:
    gold: list[str]
    segments: list[str]
    question: str | None  # as shown, if it can be highlighted
    card: Card
    options: Sequence[str] = ()
    is_upstream: bool = False  # whether it belongs to an upstream task of a cross-task study
    is_training: bool = False  # whether it belongs to the training step of one of the study's tasks
    example: int = 0  # primary key
    stratum: str = ""

    def text_of(self, span: spans.Span) -> str:
        return (
            (self.question or "") if span.segment == spans.QUESTION else self.segments[span.segment]
        )


class Knowledge:
    """Gold answers for all of a study's tasks, by the text and question on the page."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._known: dict[tuple[Any, ...], Known] = {}
        self._golds = defaultdict[str, Counter[str]](Counter)  # in the test sets, by task
        self.strata: set[str] = set()
        # The correct answers to the comprehension questions, as form data.
        questions = screening.parse(study.comprehension_questions)
        self.of_instructions = {
            f"question-{number}": str(question.right)
            for number, question in enumerate(questions, start=1)
        }
        self.arms = {
            arm: Counter(dict.fromkeys(tasks, examples))
            for arm, (tasks, examples) in cross_task.training(study).items()
        }
        trains = set(study.upstream_tasks.values_list("pk", flat=True))
        tasks = list(study.tasks.all())
        for task in [*tasks, *study.trained_tasks]:
            card, is_upstream = task.card, task.pk in trains
            for row in Example.objects.filter(split__task=task).select_related("split"):
                options, is_test = row.options, row.split.kind == Split.Kind.TEST
                is_training = task in tasks and row.split.kind == Split.Kind.TRAIN
                self.strata.add(row.stratum)
                self._golds[card.name].update(row.gold[:1] if is_test else ())
                selectable = card.selectable_question(row.question)
                is_alone = study.context_free_annotators and is_test
                for segments in (row.context, []) if is_alone else (row.context,):
                    key = (card.title, card.wording(row.question), *sorted(options), *segments)
                    self._known[key] = Known(
                        row.gold, segments, selectable, card, options, is_upstream, is_training,
                        row.pk, row.stratum,
                    )  # fmt: skip

    def lookup(
        self, title: str, question: str, segments: list[str], options: Sequence[str] = ()
    ) -> Known:
        return self._known[(title, question, *sorted(options), *segments)]

    def predictions(self, model: str) -> dict[int, list[str]]:
        """Return predicted strings by test example, or {} if the study does not use the model."""
        files = compared_files.for_overlap(self._study).filter(model__name=model)
        first = dict(files.reverse().values_list("task_id", "pk"))  # the first one wins
        rows = Prediction.objects.filter(file__in=first.values())
        return dict(rows.values_list("example_id", "predicted"))

    def majority(self, card: Card) -> str:
        """Return the most common gold answer in a task without highlighting."""
        golds = self._golds[card.name]
        return max(golds, key=golds.__getitem__, default="")


# Policies ----------------------------------------------------------------------------------------

# A policy returns an answer as spans or texts (a label, options, a number, or typed text). If both
# are empty, the answer is "no answer".
Choice = tuple[list[spans.Span], list[str]]
Policy = Callable[[Known, random.Random], Choice]


class PolicyError(ValueError):
    """Raised if a policy doesn't fit the study."""


def policy_of(name: str, knowledge: Knowledge, rng: random.Random) -> Policy:
    """Return the policy with this name for one annotator. Raises ValueError if it is unknown."""
    name, _mark, shift = name.partition(CONFIDENCE)
    kind, _mark, parameters = name.partition(":")
    try:
        int(shift or 0)
    except ValueError:
        raise ValueError(f"{CONFIDENCE}{shift}: expected a number of points, such as 1") from None
    if name in ("gold", "random"):
        return {"gold": gold, "random": at_random}[name]
    if name in ("empty", "majority"):
        return lambda item, rng: empty(item, knowledge)
    try:
        return MAKERS[kind](parameters, knowledge, rng)
    except PolicyError:
        raise
    except (KeyError, ValueError):
        expected = f"expected one of {', '.join(POLICIES)}, with probabilities from 0 to 1"
        raise ValueError(f"unknown policy {name!r}: {expected}") from None


def noisy(parameters: str, _knowledge: Knowledge, rng: random.Random) -> Policy:
    """Return a policy that is correct with probability about P, with this SD between annotators."""
    right, *given = map(float, parameters.split(":"))
    (spread,) = given or [SPREAD]
    _check(right, spread)
    chance = min(1.0, max(0.0, rng.gauss(right, spread)))
    return with_chance(lambda item: chance)


def _check(*chances: float) -> None:
    if not all(0 <= chance <= 1 for chance in chances):
        raise ValueError


def with_chance(chance: Callable[[Known], float]) -> Policy:
    return lambda item, rng: gold(item, rng) if rng.random() < chance(item) else mistaken(item, rng)


def learning(parameters: str, _knowledge: Knowledge, rng: random.Random) -> Policy:
    """Return a policy whose P rises evenly by GAIN over the first N training examples.

    The learning curve and the contrasts between shot counts are therefore known.
    """
    right, gain, number = map(float, parameters.split(":"))
    _check(right, right + gain)
    base, seen = rng.gauss(right, SPREAD), set[int]()

    def chance(item: Known) -> float:
        reached = base + gain * min(len(seen) / max(number, 1), 1)
        seen.update([item.example] * item.is_training)
        return reached

    return with_chance(chance)


def strata(parameters: str, knowledge: Knowledge, rng: random.Random) -> Policy:
    """Return a policy that is correct with probability P, or P + CHANGE in the strata listed."""
    right, changes = _changes(parameters)
    _check(right, *(right + change for change in changes.values()))
    if unknown := changes.keys() - knowledge.strata:
        raise PolicyError(f"The study has no stratum {', '.join(sorted(unknown))}.")
    base = rng.gauss(right, SPREAD)
    return with_chance(lambda item: base + changes.get(item.stratum, 0))


def _changes(parameters: str) -> tuple[float, dict[str, float]]:
    """Return P and a mapping from names to numbers, given P:NAME=NUMBER,NAME=NUMBER."""
    right, parts = parameters.split(":", 1)
    pairs = [part.rpartition("=") for part in parts.split(",")]
    return float(right), {name: float(number) for name, _mark, number in pairs}


def contextual(parameters: str, knowledge: Knowledge, rng: random.Random) -> Policy:
    """Return a policy that is correct with probability P, or ALONE if the context is hidden."""
    with_context, alone = (noisy(number, knowledge, rng) for number in parameters.split(":"))
    return lambda item, rng: (with_context if item.segments else alone)(item, rng)


def copying(parameters: str, knowledge: Knowledge, rng: random.Random) -> Policy:
    """Return a policy that copies MODEL's answer with probability P, and otherwise is noisy:OWN.

    Only SHARE of the annotators copy; the others are noisy:OWN.
    """
    model, *numbers = parameters.split(":")
    copies, among = map(float, numbers)
    _check(copies, among)
    predicted = knowledge.predictions(model)
    if not predicted:
        raise PolicyError(f"The study is not compared with a model named {model!r}.")
    honest = noisy(OWN, knowledge, rng)
    if rng.random() >= among:
        return honest

    def answer(item: Known, rng: random.Random) -> Choice:
        if item.example not in predicted or rng.random() >= copies:
            return honest(item, rng)
        return gold(replace(item, gold=predicted[item.example]), rng)

    return answer


def transferring(parameters: str, knowledge: Knowledge, rng: random.Random) -> Policy:
    """Return a policy that is correct with probability P, or P · (1 + GAIN) after upstream tasks.

    The average relative gain of these annotators is therefore known. ARM=GAIN,ARM=GAIN sets the
    gains of several upstream arms, and 0 for all others. ARM@N=GAIN sets the gain after N examples
    of the training step.
    """
    right, gains = _changes(parameters)
    _check(right, *(right * (1 + gain) for gain in gains.values()))
    if unknown := {arm.partition("@")[0] for arm in gains} - knowledge.arms.keys() - {""}:
        raise PolicyError(f"The study has no arm {', '.join(sorted(unknown))}.")
    base, tasks, ids = rng.gauss(right, SPREAD), Counter[str](), set[int]()  # annotators differ

    def chance(item: Known) -> float:
        tasks.update([item.card.name] * item.is_upstream)
        ids.update([item.example] * item.is_training)
        arm = next((arm for arm, trained in knowledge.arms.items() if trained == tasks), "")
        gain = gains.get(arm, gains.get("", 0)) if tasks else 0
        return base * (1 + gains.get(f"{arm}@{len(ids)}", gain))

    return with_chance(chance)


MAKERS: dict[str, Callable[[str, Knowledge, random.Random], Policy]] = {  # may raise ValueError
    "noisy": noisy, "learning": learning, "strata": strata, "contextual": contextual,
    "transfer": transferring, "mixed": copying,
    "copier": lambda parameters, *context: copying(f"{parameters}:1", *context),
}  # fmt: skip


def gold(item: Known, rng: random.Random) -> Choice:
    if not item.card.is_highlighted:
        return [], item.card.kind.right(item.gold)
    selected: list[spans.Span] = []
    answers = item.gold[:1] if item.card.gold_rule == "any_of" else item.gold
    for text in dict.fromkeys(answers):
        places = spans.Source(item.segments, item.question, item.card.granularity).occurrences(text)
        free = [place for place in places if not any(map(place.overlaps, selected))]
        selected += free[:1]
    if item.card.typed:
        marked = {span.text for span in selected}
        typed = [text for text in answers if text not in marked]
        return (selected, typed) if selected or typed else (_allowed([], item), [])
    return _allowed(selected, item), []


def empty(item: Known, knowledge: Knowledge) -> Choice:
    """Return the trivial baseline: always "no answer", or always the majority label.

    If an answer is required, return the first word of the text, the first option, or the most
    common number or string.
    """
    if item.card.no_answer:
        return [], []
    if not item.card.is_highlighted:
        return [], item.card.kind.trivial(item.options, knowledge.majority(item.card))
    return _allowed([], item), []


def at_random(item: Known, rng: random.Random) -> Choice:
    """Return a random label, option, number or words, or "no answer" half the time if allowed."""
    if item.card.no_answer and rng.random() < 0.5:
        return [], []
    if not item.card.is_highlighted:
        return [], item.card.kind.at_random(item, rng)
    return [_random_span(item, rng)], []


def mistaken(item: Known, rng: random.Random) -> Choice:
    if not item.card.is_highlighted:
        return [], item.card.kind.mistaken(item, rng)
    right, _typed = gold(item, rng)
    if not right:  # without a gold answer to highlight, nothing can be shifted
        return [_random_span(item, rng)], []
    error = rng.choice(["slip", "miss", "extra"])
    if error == "slip" or (error == "extra" and item.card.max_spans == 1):
        index = rng.randrange(len(right))
        return _apart([*right[:index], *right[index + 1 :], _slipped(right[index], item, rng)]), []
    if error == "miss":
        return _allowed(right[1:], item), []
    return _apart([*right, _random_span(item, rng)]), []


def _slipped(span: spans.Span, item: Known, rng: random.Random) -> spans.Span:
    text = item.text_of(span)
    cut = tokens(text, item.card.granularity)
    first = next(i for i, (start, _end) in enumerate(cut) if start == span.start)
    last = next(i for i, (_start, end) in enumerate(cut) if end == span.end)
    moves = [(first - 1, last), (first, last + 1), (first + 1, last), (first, last - 1)]
    possible = [(a, b) for a, b in moves if 0 <= a <= b < len(cut)]
    if not possible:
        return span
    begin, end = rng.choice(possible)
    start, stop = cut[begin][0], cut[end][1]
    return spans.Span(span.segment, start, stop, text[start:stop])


def _random_span(item: Known, rng: random.Random) -> spans.Span:
    segment = rng.randrange(len(item.segments))
    text = item.segments[segment]
    cut = tokens(text, item.card.granularity)
    first = rng.randrange(len(cut))
    last = min(len(cut) - 1, first + rng.choice([0, 0, 1, 2]))
    start, end = cut[first][0], cut[last][1]
    return spans.Span(segment, start, end, text[start:end])


def _allowed(selected: list[spans.Span], item: Known) -> list[spans.Span]:
    """Return the spans or, if there are none but an answer is required, the first word."""
    if selected or item.card.no_answer:
        return selected
    start, end = tokens(item.segments[0], item.card.granularity)[0]
    return [spans.Span(0, start, end, item.segments[0][start:end])]


def _apart(selected: list[spans.Span]) -> list[spans.Span]:
    """Drop spans that overlap an earlier span, which the highlighter would replace."""
    apart: list[spans.Span] = []
    for span in selected:
        if not any(map(span.overlaps, apart)):
            apart.append(span)
    return apart


def confidence_of(policy: str, is_right: bool, rng: random.Random) -> int:
    """Return a point from 1 to 5, calibrated for answers that are correct with probability P.

    It counts successes in three trials with probability P, plus one if the answer is correct, so
    that answers at a point are correct as often as it suggests. CONFIDENCE shifts the points.
    """
    name, _mark, shift = policy.partition(CONFIDENCE)
    numbers = [part for part in name.split(":")[1:] if part[:1].isdigit()]
    chance = float(numbers[0]) if numbers else 1.0
    successes = sum(rng.random() < chance for _trial in range(3)) + is_right
    return min(5, max(1, 1 + successes + int(shift or 0)))
