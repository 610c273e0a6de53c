"""Humans against a model on the same examples: paired differences, and where they differ most.

The unit is the example: the mean S1 of the annotators minus the model's S1 averaged over its
splits. Examples of one context are one cluster: their differences are summed, and the signs of the
sums are flipped. So p speaks of other examples, with these annotators and these runs of the model.
"""

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.core.cache import cache
from django.db.models import Avg

from analysis.stats import significance
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

    `se_clustered` is the standard error of the mean difference with contexts as clusters;
    `p_sign_flip` that of the two-sided sign flip, `p_holm` the same corrected for all differences
    of the study.
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
    se_clustered: float
    p_sign_flip: float
    p_holm: float

    @property
    def key(self) -> str:
        """Names this pairing in an address."""
        return f"{self.task}/{self.shots}/{self.model}"


@dataclass(frozen=True)
class Pair:
    """One test example: mean S1 x 100 of the annotators, and of the model over its splits."""

    example: Example
    human: float
    model: float

    @property
    def difference(self) -> float:
        return self.human - self.model


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
    return math.sqrt(math.fsum(total * total for total in sums)) / len(values)


def differences(study: Study, kind: str) -> list[Difference]:
    """One row per task, shots and model that has both answers and predictions.

    Remembered until the participations that count or the files of predictions change (what a
    completed participation answered, and what a file predicts, never does), and for an hour at
    most: what is remembered cannot be found to be erased.
    """
    counted = study.participations.analysed().filter(kind=kind).order_by("pk")
    files = PredictionFile.objects.filter(task__in=study.tasks.all()).order_by("pk")
    state = [list(rows.values_list("pk", flat=True)) for rows in (counted, files)]
    key = f"differences:2:{study.pk}:{hashlib.sha256(repr(state).encode()).hexdigest()}"
    known = cache.get(key)
    if known is None:
        known = _differences(study, kind)
        cache.set(key, known, timeout=REMEMBERED)
    return known


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
    rows = []
    for (task, shots, model), predicted in sorted(models.items()):
        answered = humans.get((task, shots, ""), {})
        examples = sorted(answered.keys() & predicted.keys())
        if not examples:
            continue
        gaps = [answered[example] - predicted[example] for example in examples]
        clusters = [contexts[example] for example in examples]
        rows.append(
            {
                "task": names[task],
                "shots": shots,
                "model": model,
                "annotators": annotators[task, shots],
                "splits": runs[task, shots, model],
                "examples": len(examples),
                "contexts": len(set(clusters)),
                "human_mean": 100 * float(np.mean([answered[example] for example in examples])),
                "model_mean": 100 * float(np.mean([predicted[example] for example in examples])),
                "difference": 100 * float(np.mean(gaps)),
                "se_clustered": 100 * clustered_se(gaps, clusters),
                "p_sign_flip": significance.sign_flip(cluster_sums(gaps, clusters), study.seed),
            }
        )
    rows.sort(key=lambda row: (row["task"], row["shots"], row["model"]))
    adjusted = significance.holm([row["p_sign_flip"] for row in rows])
    return [Difference(**row, p_holm=p) for row, p in zip(rows, adjusted, strict=True)]


def pairs(study: Study, kind: str, pairing: Difference) -> list[Pair]:
    """The examples of one pairing, where human and model differ most first."""
    task = study.tasks.get(name=pairing.task)
    answered = _human_means(study, kind)[task.pk, pairing.shots, ""]
    predicted = _model_means([task.pk])[task.pk, pairing.shots, pairing.model]
    paired = [
        Pair(example, 100 * answered[example.pk], 100 * predicted[example.pk])
        for example in task.test_split.examples.all()
        if example.pk in answered and example.pk in predicted
    ]
    return sorted(paired, key=lambda pair: (-abs(pair.difference), pair.example.position))


def predicted_texts(
    pairing: Difference, study: Study, examples: Sequence[Example]
) -> dict[int, list]:
    """Key of the example -> (predicted texts, in how many of the model's files), commonest first.

    Sets of texts, as they are scored: order and repetition do not tell two predictions apart.
    """
    by_example: dict[int, Counter[tuple[str, ...]]] = defaultdict(Counter)
    rows = Prediction.objects.filter(
        file__model__name=pairing.model,
        file__task__in=study.tasks.filter(name=pairing.task),
        file__shots=pairing.shots,
        example__in=examples,
    ).order_by("file__split_number")
    for example, texts in rows.values_list("example_id", "predicted"):
        by_example[example][tuple(sorted(set(texts)))] += 1
    return {example: counts.most_common() for example, counts in by_example.items()}


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
    means: dict[Group, dict[int, float]] = defaultdict(dict)
    for task, shots, example, mean in rows:
        means[task, shots, ""][example] = mean
    return means


def _model_means(tasks: Sequence[int]) -> dict[Group, dict[int, float]]:
    """Mean S1 in [0, 1] over the files of each model, task and shots, of each example."""
    rows = (
        Prediction.objects.filter(file__task__in=tasks)
        .values_list("file__task_id", "file__shots", "file__model__name", "example_id")
        .annotate(Avg("s1"))
        .order_by()
    )
    means: dict[Group, dict[int, float]] = defaultdict(dict)
    for task, shots, model, example, mean in rows:
        means[task, shots, model][example] = mean
    return means


def _annotators(study: Study, kind: str) -> Counter[tuple[int, int]]:
    counted = study.participations.analysed().filter(kind=kind)
    return Counter(counted.values_list("scenario__task_id", "scenario__shots"))


def _runs(tasks: Sequence[int]) -> Counter[Group]:
    files = PredictionFile.objects.filter(task__in=tasks).order_by()
    return Counter(files.values_list("task_id", "shots", "model__name"))
