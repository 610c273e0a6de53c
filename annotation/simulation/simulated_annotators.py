"""Simulated annotators, which use the same pages and forms as human annotators.

They parse each page and submit its forms. They get gold answers from the imported examples,
which they look up by the text on the page, and never from the page itself. They join
through the study's link for simulated annotators, so they are a separate kind with separate
seats, and tables never count them as human.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
from django.conf import settings
from django.test import Client

from annotation.models import Study
from annotation.study import compared_files, cross_task, screening
from tasks import spans
from tasks.cards import Card
from tasks.metrics import score
from tasks.models import Example, Prediction, Split
from tasks.tokens import tokens

PATIENCE = 60  # seconds to wait for a response
POLICIES = (
    "gold", "empty", "majority", "random", "noisy:P", "noisy:P:SD", "transfer:P:GAIN",
    "transfer:P:ARM=GAIN,ARM=GAIN", "contextual:P:ALONE", "copier:MODEL:P", "mixed:MODEL:P:SHARE",
)  # fmt: skip
CONFIDENCE = "+confidence:"  # after a policy: points by which annotators are too sure, or 0
OWN = 0.8  # probability that a copier's own answer is right


class InProcess:
    """Access to the pages through Django's test client, without a server."""

    def __init__(self) -> None:
        hosts = [host for host in settings.ALLOWED_HOSTS if host[:1] not in ("*", ".", "")]
        # Do not raise exceptions of concurrent requests in other threads. Responses show errors.
        self.client = Client(
            HTTP_HOST=hosts[0] if hosts else "localhost", raise_request_exception=False
        )

    def get(self, address: str) -> str:
        return self._read(self.client.get(address, follow=True, secure=settings.HTTPS))

    def post(self, address: str, fields: Mapping[str, str], *, htmx: bool = False) -> str:
        headers = {"HX-Request": "true"} if htmx else {}
        reply = self.client.post(
            address, fields, follow=True, headers=headers, secure=settings.HTTPS
        )
        if "HX-Redirect" in reply.headers:
            return self.get(reply["HX-Redirect"])
        return self._read(reply)

    def _read(self, reply: Any) -> str:
        if reply.status_code != 200:
            raise SimulationError(f"{reply.request['PATH_INFO']} answered {reply.status_code}")
        return reply.content.decode()


class OverHTTP:
    def __init__(self, root: str) -> None:
        self.root = root
        self.session = requests.Session()

    def get(self, address: str) -> str:
        return self._read(self.session.get(urljoin(self.root, address), timeout=PATIENCE))

    def post(self, address: str, fields: Mapping[str, str], *, htmx: bool = False) -> str:
        headers = {"Referer": self.root} | ({"HX-Request": "true"} if htmx else {})
        url = urljoin(self.root, address)
        reply = self.session.post(url, dict(fields), headers=headers, timeout=PATIENCE)
        redirect = reply.headers.get("HX-Redirect")
        return self.get(redirect) if redirect else self._read(reply)

    def _read(self, reply: requests.Response) -> str:
        if reply.status_code != 200:
            raise SimulationError(f"{urlsplit(reply.url).path} answered {reply.status_code}")
        return reply.text


class SimulationError(Exception):
    """Raised if a simulated annotator can't continue from a page."""


@dataclass(frozen=True)
class Known:
    gold: list[str]
    segments: list[str]
    question: str | None  # as shown, if it can be highlighted
    card: Card
    options: Sequence[str] = ()
    is_upstream: bool = False  # of an upstream task in a cross-task study
    is_training: bool = False  # of the training step
    example: int = 0  # primary key

    def text_of(self, span: spans.Span) -> str:
        return (
            (self.question or "") if span.segment == spans.QUESTION else self.segments[span.segment]
        )


class Knowledge:
    """Gold answers for all tasks in a study, by the text and question on the page."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._known: dict[tuple[Any, ...], Known] = {}
        self._majority: dict[str, str] = {}
        # Correct answers to the comprehension questions, as form data.
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
            card = task.card
            rows = Example.objects.filter(split__task=task)
            fields = rows.values_list("pk", "context", "question", "gold", "options", "split__kind")
            for pk, context, question, gold, options, kind in fields:
                selectable = card.selectable_question(question)
                is_alone = study.context_free_annotators and kind == Split.Kind.TEST
                for segments in (context, []) if is_alone else (context,):
                    key = (card.title, card.wording(question), *sorted(options), *segments)
                    steps = task.pk in trains, task in tasks and kind == Split.Kind.TRAIN
                    item = Known(gold, segments, selectable, card, options, *steps, pk)
                    self._known[key] = item
            if not card.is_highlighted:
                golds = rows.filter(split__kind=Split.Kind.TEST).values_list("gold", flat=True)
                common = Counter(gold[0] for gold in golds if gold).most_common(1)
                self._majority[card.name] = common[0][0] if common else ""

    def lookup(
        self, title: str, question: str, segments: list[str], options: Sequence[str] = ()
    ) -> Known:
        return self._known[(title, question, *sorted(options), *segments)]

    def predictions(self, model: str) -> dict[int, list[str]]:
        """Return predicted strings by test example, or {} if the study does not use the model."""
        files = compared_files.for_overlap(self._study).filter(model__name=model)
        first = dict(files.reverse().values_list("task_id", "pk"))  # first one wins
        rows = Prediction.objects.filter(file__in=first.values())
        return dict(rows.values_list("example_id", "predicted"))

    def majority(self, card: Card) -> str:
        """Return the most common gold answer in a task without highlighting."""
        return self._majority[card.name]


# Policies ----------------------------------------------------------------------------------------

# A policy returns an answer as spans or texts (a label, options, a number, typed text). If both are
# empty, the answer is "no answer".
Choice = tuple[list[spans.Span], list[str]]
Policy = Callable[[Known, random.Random], Choice]


def policy_of(name: str, knowledge: Knowledge, rng: random.Random) -> Policy:
    """Return the policy with this name for one annotator. Raises ValueError for unknown names."""
    name, _mark, shift = name.partition(CONFIDENCE)
    try:
        int(shift or 0)
    except ValueError:
        raise ValueError(f"{CONFIDENCE}{shift}: expected a number of points, such as 1") from None
    if name == "gold":
        return gold
    if name in ("empty", "majority"):
        return lambda item, rng: empty(item, knowledge)
    if name == "random":
        return at_random
    if name.startswith("transfer:"):
        return transferring(name, knowledge, rng)
    if name.startswith("contextual:"):
        return contextual(name, rng)
    if name.startswith(("copier:", "mixed:")):
        return copying(name, knowledge, rng)
    kind, *numbers = name.split(":")
    try:
        probability, spread = map(float, numbers if len(numbers) == 2 else [*numbers, "0.02"])
    except ValueError:
        probability = spread = math.nan
    if kind != "noisy" or not (0 <= probability <= 1 and 0 <= spread <= 1):
        raise ValueError(f"unknown policy {name!r}: expected one of {', '.join(POLICIES)}")
    return noisy(probability, rng, spread)


def noisy(probability: float, rng: random.Random, spread: float = 0.02) -> Policy:
    """Return a policy that gives correct answers with about this probability, in all steps.

    Its SD between annotators is `spread`: by default a few points, as among humans.
    """
    chance = min(1.0, max(0.0, rng.gauss(probability, spread)))
    return lambda item, rng: gold(item, rng) if rng.random() < chance else mistaken(item, rng)


def contextual(name: str, rng: random.Random) -> Policy:
    """Return a policy that answers correctly with probability P, or ALONE if context is hidden.

    Raises ValueError.
    """
    try:
        with_context, alone = (noisy(float(number), rng) for number in name.split(":")[1:])
    except ValueError:
        raise ValueError(f"unknown policy {name!r}: expected contextual:P:ALONE") from None
    return lambda item, rng: (with_context if item.segments else alone)(item, rng)


def copying(name: str, knowledge: Knowledge, rng: random.Random) -> Policy:
    """Return a policy that copies a model's answer with probability P, or else is noisy:OWN.

    Among "mixed" annotators, only SHARE copy; the others are noisy:OWN. Raises ValueError.
    """
    kind, model, *numbers = name.split(":")
    try:
        copies, among = map(float, [*numbers, "1"] if kind == "copier" else numbers)
    except ValueError:
        copies = among = math.nan
    if not (0 <= copies <= 1 and 0 <= among <= 1):
        raise ValueError(f"unknown policy {name!r}: expected copier:MODEL:P or mixed:MODEL:P:SHARE")
    predicted = knowledge.predictions(model)
    if not predicted:
        raise ValueError(f"The study is not compared with a model named {model!r}.")
    honest = noisy(OWN, rng)
    if rng.random() >= among:
        return honest

    def answer(item: Known, rng: random.Random) -> Choice:
        if item.example not in predicted or rng.random() >= copies:
            return honest(item, rng)
        return gold(replace(item, gold=predicted[item.example]), rng)

    return answer


def transferring(name: str, knowledge: Knowledge, rng: random.Random) -> Policy:
    """Return a policy that is correct with probability P, or P · (1 + GAIN) after upstream tasks.

    The average relative gain of these annotators is therefore known. ARM=GAIN,ARM=GAIN sets
    gains for several upstream arms, and 0 for the others. ARM@N=GAIN sets the gain after N
    examples of the training step. Raises ValueError.
    """
    try:
        share, parts = name.split(":")[1:]
        right = float(share)
        pairs = [part.rpartition("=") for part in parts.split(",")]
        gains = {arm: float(gain) for arm, _mark, gain in pairs}
    except ValueError:
        right, gains = math.nan, {}
    chances = [right, *(right * (1 + gain) for gain in gains.values())]
    if not (right > 0 and all(0 <= chance <= 1 for chance in chances)):
        raise ValueError(
            f"unknown policy {name!r}: expected transfer:P:GAIN with P · (1 + GAIN) <= 1"
        )
    if unknown := {arm.partition("@")[0] for arm in gains} - knowledge.arms.keys() - {""}:
        raise ValueError(f"policy {name!r}: the study has no arm {', '.join(sorted(unknown))}")
    base, tasks, ids = rng.gauss(right, 0.02), Counter[str](), set[int]()  # annotators differ

    def answer(item: Known, rng: random.Random) -> Choice:
        tasks.update([item.card.name] * item.is_upstream)
        ids.update([item.example] * item.is_training)
        arm = next((arm for arm, trained in knowledge.arms.items() if trained == tasks), "")
        gain = gains.get(arm, gains.get("", 0)) if tasks else 0
        gain = gains.get(f"{arm}@{len(ids)}", gain)
        chance = base * (1 + gain)
        return gold(item, rng) if rng.random() < chance else mistaken(item, rng)

    return answer


def gold(item: Known, rng: random.Random) -> Choice:
    if not item.card.is_highlighted:
        return [], item.card.kind.right(item.gold)
    selected: list[spans.Span] = []
    answers = item.gold[:1] if item.card.gold_rule == "any_of" else item.gold
    for text in dict.fromkeys(answers):
        places = spans.occurrences(text, item.segments, item.question, item.card.granularity)
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
    """Return a random label, option, number or words. Half are "no answer", where allowed."""
    if item.card.no_answer and rng.random() < 0.5:
        return [], []
    if not item.card.is_highlighted:
        return [], item.card.kind.at_random(item, rng)
    return [_random_span(item, rng)], []


def mistaken(item: Known, rng: random.Random) -> Choice:
    if not item.card.is_highlighted:
        return [], item.card.kind.mistaken(item, rng)
    right, _typed = gold(item, rng)
    if not right:  # without gold to highlight, nothing can be shifted
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
    moves = [(first - 1, last), (first, last + 1)]
    if last > first:
        moves += [(first + 1, last), (first, last - 1)]
    possible = [(a, b) for a, b in moves if a >= 0 and b < len(cut)]
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
    """Return the spans, or the first word if an answer is required but spans are missing."""
    if selected or item.card.no_answer:
        return selected
    start, end = tokens(item.segments[0], item.card.granularity)[0]
    return [spans.Span(0, start, end, item.segments[0][start:end])]


def _apart(selected: list[spans.Span]) -> list[spans.Span]:
    """Drop spans that overlap an earlier span, because the highlighter would replace it."""
    apart: list[spans.Span] = []
    for span in selected:
        if not any(map(span.overlaps, apart)):
            apart.append(span)
    return apart


# The run -----------------------------------------------------------------------------------------


def walk(
    site: InProcess | OverHTTP, address: str, policy: str, knowledge: Knowledge, seed: str
) -> Iterator[str]:
    """Run an annotator from the study's URL (or a personal link) to the completion code.

    Yields the step of each answer ("training", "screening", "annotation"). Raises SimulationError
    if there are no seats or a page shows an error.
    """
    import lxml.html  # on first use: a server needs 3 MB less without it

    rng, is_right = random.Random(seed), False
    decide = policy_of(policy, knowledge, rng)
    page = lxml.html.fromstring(site.get(address))
    links = page.xpath("//a[contains(@class, 'main-action')][starts-with(@href, '/work/')]/@href")
    if links:
        page = lxml.html.fromstring(site.get(links[0]))
    # The form that continues, from Start to the next task; at the end, there is none.
    while (form := next((f for f in page.forms if _path(f).endswith(LEADING)), None)) is not None:
        fields, path = dict(form.form_values()), _path(form)
        if path.endswith("/consent/"):
            fields["agree"] = "yes"
        if path.endswith("/comprehend/"):
            fields |= knowledge.of_instructions
        if path.endswith("/answer/"):
            turn = page.xpath("descendant-or-self::section[@id='turn']")[0]
            yield "annotation" if turn.get("data-step") == "check" else turn.get("data-step")
            answer, is_right = _answer(page, decide, knowledge, rng)
            fields |= answer
        if path.endswith("/confidence/"):
            fields["confidence"] = str(confidence_of(policy, is_right, rng))
        html = site.post(form.action, fields, htmx="hx-post" in form.attrib)
        page = lxml.html.fromstring(html)


LEADING = (
    "/start/", "/consent/", "/comprehend/", "/begin/", "/answer/", "/confidence/", "/continue/",
    "/next-task/",
)  # fmt: skip


def _path(form: Any) -> str:
    return urlsplit(form.action or "").path


def confidence_of(policy: str, is_right: bool, rng: random.Random) -> int:
    """Return a point from 1 to 5, calibrated for answers that are correct with probability P.

    Three trials with probability P, and one more success if the answer is correct: answers at a
    point are then correct as often as that point indicates. CONFIDENCE shifts the points.
    """
    name, _mark, shift = policy.partition(CONFIDENCE)
    numbers = [part for part in name.split(":")[1:] if part[:1].isdigit()]
    chance = float(numbers[0]) if numbers else 1.0
    successes = sum(rng.random() < chance for _trial in range(3)) + is_right
    return min(5, max(1, 1 + successes + int(shift or 0)))


def _answer(
    page: Any, decide: Policy, knowledge: Knowledge, rng: random.Random
) -> tuple[dict[str, str], bool]:
    """Read the question on the page. Return (form data with an answer, whether it is correct)."""
    boxes = page.xpath("descendant::*[@data-passage]")
    # Of an image, the attribute contains the segment.
    segments = [box.get("data-passage") or box.text_content() for box in boxes]
    question = page.xpath("descendant::*[@data-question]")[0].text_content()
    title = page.xpath("descendant-or-self::section[@id='turn']/@data-title")[0]
    boxes = page.xpath("descendant::*[@data-options]//span[@translate='no']")
    options = [box.text_content() for box in boxes]
    item = knowledge.lookup(title, question, segments, options)
    selected, texts = decide(item, rng)
    given = [*texts, *(span.text for span in selected)]
    is_right = score(given, item.gold, item.card.gold_rule).s1 == 1
    if not item.card.is_highlighted:
        fields = item.card.kind.fields(options, texts) if texts else {"no_answer": "1"}
        return fields, is_right
    places = [(span.segment, span.start, span.end) for span in sorted(selected)]
    answer = spans.payload_of(places, no_answer=not given)
    return {"answer": answer, "typed": "\n".join(texts)}, is_right
