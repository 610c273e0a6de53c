"""Humans against a model on the same examples: paired differences, and where they differ most.

The unit is the example: the mean S1 of the annotators minus the model's S1 averaged over its
splits. Examples of one context are one cluster: their differences are summed, and the signs of the
sums are flipped. So p speaks of other examples, with these annotators and these runs of the model.
"""

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from django.core.cache import cache
from django.db.models import Avg

from analysis.stats import significance
from analysis.values import number
from annotation.models import Answer, Step, Study
from tasks.models import Example, Prediction, PredictionFile, Split

# Stands, to be read, wherever such a p is printed.
LEFT_OUT = (
    "SE and p treat these annotators and these model runs as fixed: they generalise to other"
    " examples only, not to other annotators or other runs."
)

REMEMBERED = 3600  # seconds

Group = tuple[int, int, str]  # key of the task version, shots, name of the model ("": humans)


@dataclass(frozen=True)
class Difference:
    """Human minus model, in points of S1 x 100, over `examples` in `contexts`.

    `se` is the standard error of the mean difference with contexts as clusters; `p` is that of the
    two-sided sign flip, `holm_p` the same corrected for all differences of the study.
    """

    task: str
    shots: int
    model: str
    annotators: int
    splits: int
    examples: int
    contexts: int
    human_mean: float
    model_mean: float
    difference: float
    se: float
    p: float
    holm_p: float

    @property
    def key(self) -> str:
        """Names this pairing in an address."""
        return f"{self.task}/{self.shots}/{self.model}"

    @property
    def difference_text(self) -> str:
        return f"{self.difference:+.1f}"

    @property
    def p_text(self) -> str:
        return _p_text(self.p)

    @property
    def holm_text(self) -> str:
        return _p_text(self.holm_p)


@dataclass(frozen=True)
class Pair:
    """One test example: mean S1 x 100 of the annotators, and of the model over its splits."""

    example: Example
    human: float
    model: float

    @property
    def difference(self) -> float:
        return self.human - self.model

    @property
    def difference_text(self) -> str:
        return f"{self.difference:+.1f}"


def _p_text(p: float) -> str:
    return "< .001" if p < 0.001 else f"{p:.3f}"


def cluster_sums(values: Sequence[float], clusters: Sequence[str]) -> list[float]:
    """The sum of the values of each cluster, in order of first appearance."""
    sums: dict[str, float] = defaultdict(float)
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] += value
    return list(sums.values())


def clustered_se(values: Sequence[float], clusters: Sequence[str]) -> float:
    """The standard error of the mean of values that come in clusters (Miller 2024).

    The root of the sum over clusters of the squared sum of deviations, over the number of values.
    Where each value is its own cluster it is the SD with ddof 0 over the root of n.
    """
    mean = math.fsum(values) / len(values)
    sums = cluster_sums([value - mean for value in values], clusters)
    return math.sqrt(math.fsum(one * one for one in sums)) / len(values)


def differences(study: Study, kind: str) -> list[Difference]:
    """One row per task, shots and model that has both answers and predictions.

    Remembered until the participations that count or the files of predictions change (what a
    completed participation answered, and what a file predicts, never does), and for an hour at
    most: what is remembered cannot be found to be erased.
    """
    counted = study.participations.analysed().filter(kind=kind).order_by("pk")
    files = PredictionFile.objects.filter(task__in=study.tasks.all()).order_by("pk")
    state = [list(rows.values_list("pk", flat=True)) for rows in (counted, files)]
    key = f"differences:{study.pk}:{hashlib.sha256(repr(state).encode()).hexdigest()}"
    found = cache.get(key)
    if found is None:
        found = _differences(study, kind)
        cache.set(key, found, timeout=REMEMBERED)
    return found


def _differences(study: Study, kind: str) -> list[Difference]:
    names = dict(study.tasks.values_list("pk", "name"))
    contexts = {
        pk: str(context)
        for pk, context in Example.objects.filter(
            split__task__in=names, split__kind=Split.Kind.TEST
        ).values_list("pk", "context")
    }
    humans, models = _human_means(study, kind), _model_means(list(names))
    annotators, runs = _annotators(study, kind), _runs(list(names))
    made = []
    for (task, shots, model), predicted in sorted(models.items()):
        answered = humans.get((task, shots, ""), {})
        examples = sorted(answered.keys() & predicted.keys())
        if not examples:
            continue
        gaps = [answered[one] - predicted[one] for one in examples]
        clusters = [contexts[one] for one in examples]
        made.append(
            {
                "task": names[task],
                "shots": shots,
                "model": model,
                "annotators": annotators[task, shots],
                "splits": runs[task, shots, model],
                "examples": len(examples),
                "contexts": len(set(clusters)),
                "human_mean": 100 * float(np.mean([answered[one] for one in examples])),
                "model_mean": 100 * float(np.mean([predicted[one] for one in examples])),
                "difference": 100 * float(np.mean(gaps)),
                "se": 100 * clustered_se(gaps, clusters),
                "p": significance.sign_flip(cluster_sums(gaps, clusters), study.seed),
            }
        )
    made.sort(key=lambda row: (row["task"], row["shots"], row["model"]))
    adjusted = significance.holm([row["p"] for row in made])
    return [Difference(**row, holm_p=p) for row, p in zip(made, adjusted, strict=True)]


def pairs(study: Study, kind: str, one: Difference) -> list[Pair]:
    """The examples of one pairing, where human and model differ most first."""
    task = study.tasks.get(name=one.task)
    answered = _human_means(study, kind)[task.pk, one.shots, ""]
    predicted = _model_means([task.pk])[task.pk, one.shots, one.model]
    found = [
        Pair(example, 100 * answered[example.pk], 100 * predicted[example.pk])
        for example in task.test_split.examples.all()
        if example.pk in answered and example.pk in predicted
    ]
    return sorted(found, key=lambda pair: (-abs(pair.difference), pair.example.position))


def predicted_texts(one: Difference, study: Study, examples: Sequence[Example]) -> dict[int, list]:
    """Key of the example -> (predicted texts, in how many of the model's files), commonest first.

    Sets of texts, as they are scored: order and repetition do not tell two predictions apart.
    """
    found: dict[int, Counter[tuple[str, ...]]] = defaultdict(Counter)
    rows = Prediction.objects.filter(
        file__model__name=one.model,
        file__task__in=study.tasks.filter(name=one.task),
        file__shots=one.shots,
        example__in=examples,
    ).order_by("file__split_number")
    for example, texts in rows.values_list("example_id", "predicted"):
        found[example][tuple(sorted(set(texts)))] += 1
    return {example: counts.most_common() for example, counts in found.items()}


def _human_means(study: Study, kind: str) -> dict[Group, dict[int, float]]:
    """Mean S1 in [0, 1] over the annotators that count, of each example answered."""
    rows = (
        Answer.objects.filter(
            turn__step=Step.ANNOTATION,
            turn__participation__in=study.participations.analysed().filter(kind=kind),
        )
        .values_list(
            "turn__participation__scenario__task_id",
            "turn__participation__scenario__shots",
            "turn__example_id",
        )
        .annotate(Avg("s1"))
        .order_by()
    )
    found: dict[Group, dict[int, float]] = defaultdict(dict)
    for task, shots, example, mean in rows:
        found[task, shots, ""][example] = mean
    return found


def _model_means(tasks: Sequence[int]) -> dict[Group, dict[int, float]]:
    """Mean S1 in [0, 1] over the files of each model, task and shots, of each example."""
    rows = (
        Prediction.objects.filter(file__task__in=tasks)
        .values_list("file__task_id", "file__shots", "file__model__name", "example_id")
        .annotate(Avg("s1"))
        .order_by()
    )
    found: dict[Group, dict[int, float]] = defaultdict(dict)
    for task, shots, model, example, mean in rows:
        found[task, shots, model][example] = mean
    return found


def _annotators(study: Study, kind: str) -> Counter[tuple[int, int]]:
    counted = study.participations.analysed().filter(kind=kind)
    return Counter(counted.values_list("scenario__task_id", "scenario__shots"))


def _runs(tasks: Sequence[int]) -> Counter[Group]:
    files = PredictionFile.objects.filter(task__in=tasks).order_by()
    return Counter(files.values_list("task_id", "shots", "model__name"))


DIFFERENCE_COLUMNS = [
    "kind", "task", "shots", "model", "annotators", "splits", "examples", "contexts",
    "human_mean", "model_mean", "difference", "se_clustered", "p_sign_flip", "p_holm",
]  # fmt: skip
PAIR_COLUMNS = [
    "kind", "task", "shots", "model", "example", "hash", "human_mean", "model_mean", "difference",
]  # fmt: skip


def difference_rows(kind: str, found: Sequence[Difference]) -> Iterator[list[object]]:
    """One row per task, shots and model (DIFFERENCE_COLUMNS); S1 x 100."""
    for one in found:
        yield [
            kind, one.task, one.shots, one.model, one.annotators, one.splits, one.examples,
            one.contexts, number(one.human_mean), number(one.model_mean), number(one.difference),
            number(one.se), number(one.p), number(one.holm_p),
        ]  # fmt: skip


def pair_rows(kind: str, one: Difference, found: Sequence[Pair]) -> Iterator[list[object]]:
    """One row per example of one pairing (PAIR_COLUMNS); S1 x 100."""
    for pair in found:
        yield [
            kind, one.task, one.shots, one.model, pair.example.source_id,
            pair.example.content_hash, number(pair.human), number(pair.model),
            number(pair.difference),
        ]  # fmt: skip
