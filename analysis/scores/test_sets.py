"""Scores of humans and models on entire test sets, under any metric (tasks/metrics).

S1 is stored with each answer. All other metrics are computed here from the text of the answers, but
only for annotators who answered the entire test file.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

from django.db.models import QuerySet

from analysis.heavy import pd
from annotation.models import Answer, AnswerSpan, Step, Study
from tasks.columns import grouped
from tasks.metrics import METRICS, Answers, SetScore, over_test_set
from tasks.models import Prediction, PredictionFile, PredictionFileQuerySet, Split, Task

S1 = "S1"


@dataclass(frozen=True)
class TestFile:
    """A task's test examples in file order, as required by the metrics."""

    task: Task

    @cached_property
    def rows(self) -> list[tuple[int, list[str], str]]:
        """Return (key, gold answers, context as text) for each example."""
        examples = self.task.test_split.examples.order_by("position")
        return [
            (pk, gold, str(context))
            for pk, gold, context in examples.values_list("pk", "gold", "context")
        ]

    @cached_property
    def examples(self) -> list[int]:
        return [pk for pk, _gold, _context in self.rows]

    @property
    def commonest(self) -> str:
        counts = Counter(gold[0] if gold else "" for _pk, gold, _context in self.rows)
        return max(counts, key=counts.__getitem__)

    def answers(self, texts: dict[int, Sequence[str]]) -> Answers | None:
        """Pair each example's strings with its gold answers, or return None if any are missing."""
        if any(pk not in texts for pk in self.examples):
            return None
        card = self.task.card
        return Answers(
            given=[texts[pk] for pk in self.examples],
            golds=[gold for _pk, gold, _context in self.rows],
            gold_rule=card.gold_rule,
            no_answer=card.no_answer,
            contexts=[context for _pk, _gold, context in self.rows],
        )

    def constant(self, texts: Sequence[str], metric: str) -> SetScore:
        answers = self.answers(dict.fromkeys(self.examples, texts))
        assert answers is not None
        return over_test_set(metric, answers, is_linear=False)


def metrics_of(study: Study, task: Task) -> list[str]:
    further = [name for name in study.metrics if not task.card.misfit(name)]
    return list(dict.fromkeys([task.card.metric, *further]))


def in_words(tasks: Iterable[Task]) -> str:
    """Name the metrics on these tasks' cards, for example "S1" or "S1 (MNLI), ACC (SST-2)"."""
    names = grouped((task.card.metric, task.name) for task in tasks)
    if len(names) == 1:
        return next(iter(names))
    return ", ".join(f"{metric} ({', '.join(group)})" for metric, group in names.items())


def answers_of_people(file: TestFile, participations: Sequence[int]) -> dict[int, Answers]:
    """Map annotators (keys) to their answers to the test file, if they answered all of it."""
    given: dict[int, dict[int, Sequence[str]]] = defaultdict(dict)
    answers = Answer.objects.filter(
        turn__participation__in=participations,
        turn__participation__scenario__task=file.task,
        turn__step=Step.ANNOTATION,
    )
    for participation, example, _label, texts, _s1 in given_texts(answers):
        given[participation][example] = texts
    return _complete(file, given)


def answers_of_models(
    file: TestFile, predictions: Collection[PredictionFile]
) -> dict[int, Answers]:
    """Map prediction files (keys) to their predictions for the test file."""
    given: dict[int, dict[int, Sequence[str]]] = defaultdict(dict)
    rows = Prediction.objects.filter(file__in=predictions).order_by()
    for pk, example, texts in rows.values_list("file_id", "example_id", "predicted").iterator(5000):
        given[pk][example] = texts
    return _complete(file, given)


def _complete(file: TestFile, given: dict[int, dict[int, Sequence[str]]]) -> dict[int, Answers]:
    answers = {pk: file.answers(by_example) for pk, by_example in given.items()}
    return {pk: complete for pk, complete in answers.items() if complete is not None}


Scored = dict[int, tuple[TestFile, SetScore]]  # by participation or prediction file (key)


def primary(
    participations: Sequence[int], tasks: Iterable[Task], is_linear: bool = False
) -> Scored:
    """Return annotators' scores (by key) under the task's metric, unless that is S1."""
    return _scored(tasks, lambda test: answers_of_people(test, participations), is_linear)


def file_scores(
    files: PredictionFileQuerySet, tasks: Iterable[Task], is_linear: bool = False
) -> Scored:
    """Return scores by prediction file (key) under the task's metric, unless that is S1."""
    return _scored(
        tasks, lambda test: answers_of_models(test, list(files.filter(task=test.task))), is_linear
    )


def _scored(
    tasks: Iterable[Task], answers_of: Callable[[TestFile], dict[int, Answers]], is_linear: bool
) -> Scored:
    return {
        pk: (test, over_test_set(test.task.card.metric, answers, is_linear))
        for test in (TestFile(task) for task in tasks if task.card.metric != S1)
        for pk, answers in answers_of(test).items()
    }


def with_scores(study: Study, frame: pd.DataFrame) -> pd.DataFrame:
    """Add `score`: each answer's contribution to the score under the metric on its task's card.

    `frame` contains one row per answer in the annotation step, with participation and example
    (keys), task (name) and s1, which is the contribution under S1. An annotator's score is the mean
    over the test set (tasks/metrics/test_sets.py). `lowest` is the lowest possible value.
    """
    lowest = {task.name: METRICS[task.card.metric].lowest for task in study.tasks.all()}
    frame = frame.assign(score=frame["s1"], lowest=frame["task"].map(lowest))
    people = [int(pk) for pk in frame["participation"].unique()]
    by_answer = {
        (pk, example): part
        for pk, (test, score) in primary(people, study.tasks.all(), is_linear=True).items()
        for example, part in zip(test.examples, score.values, strict=True)
    }
    if by_answer:
        keys = zip(frame["participation"], frame["example"], frame["s1"], strict=True)
        frame["score"] = [by_answer.get((person, example), s1) for person, example, s1 in keys]
    return frame


# The texts of answers, streamed in the order of the exported files.

# This order keeps the spans of an answer together, in text order.
SPAN_ORDER = ("answer_id", "segment", "start")
# How many answers' spans to read per query. SQLite allows at most 32,766 keys.
ANSWERS_PER_QUERY = 5000


def texts_of(label: str, spans: Iterable[str], values: Sequence[str] | None) -> list[str]:
    """Return the distinct strings of a stored answer in order, like GivenAnswer.texts."""
    return [label] if label else list(dict.fromkeys([*spans, *(values or ())]))


def texts_by_turn(spans: QuerySet[AnswerSpan]) -> Iterator[tuple[int, list[str]]]:
    """Yield (turn, distinct strings in order) for spans that are sorted by SPAN_ORDER."""
    rows = spans.values_list("answer_id", "text").iterator(chunk_size=2000)
    for turn, group in itertools.groupby(rows, key=itemgetter(0)):
        yield turn, list(dict.fromkeys(text for _turn, text in group))


def given_texts(answers: QuerySet[Answer]) -> Iterator[tuple[int, int, str, list[str], float]]:
    """Yield (participation, example, label, distinct strings in order, S1) for each answer.

    Spans are looked up by answer key: given a subquery, PostgreSQL may read all spans once per
    answer if its statistics are out of date. Values are read separately because most answers have
    none, and reading them with each answer would add the cost of a conversion.
    """
    values = dict(answers.filter(values__isnull=False).order_by().values_list("turn_id", "values"))
    rows = answers.values_list(
        "turn_id", "turn__participation_id", "turn__example_id", "label", "s1"
    ).iterator(chunk_size=ANSWERS_PER_QUERY)
    while chunk := list(itertools.islice(rows, ANSWERS_PER_QUERY)):
        of_spans = [turn for turn, _participation, _example, label, _s1 in chunk if not label]
        span_rows = AnswerSpan.objects.filter(answer__in=of_spans).order_by(*SPAN_ORDER)
        spans = dict(texts_by_turn(span_rows))
        for turn, participation, example, label, s1 in chunk:
            texts = texts_of(label, spans.get(turn, ()), values.get(turn))
            yield participation, example, label, texts, s1


def texts_of_upstream(study: Study) -> dict[int, list[str]]:
    spans = AnswerSpan.objects.filter(answer__turn__participation__study=study)
    return dict(texts_by_turn(spans.filter(answer__turn__step=Step.UPSTREAM).order_by(*SPAN_ORDER)))


def spans_in_order(study: Study) -> QuerySet[AnswerSpan]:
    """Return the spans sorted by answer, as in spans.csv, excluding upstream steps."""
    spans = AnswerSpan.objects.filter(answer__turn__participation__study=study)
    return spans.exclude(answer__turn__step=Step.UPSTREAM).order_by(*SPAN_ORDER)


def training_files(tasks: Collection[Task]) -> Counter[tuple[int, int | None]]:
    """Count training splits by (task version key, shots). Zero shots count as one split."""
    files = Split.objects.filter(task__in=tasks, kind=Split.Kind.TRAIN)
    counts = Counter[tuple[int, int | None]](
        (task, shots) for task, shots in files.values_list("task_id", "shots") if shots is not None
    )
    counts.update((task.pk, shots) for task in tasks for shots in (0, None))
    return counts
