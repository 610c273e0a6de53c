"""The one interface of all metrics: `METRICS[name]`, with what must be printed beside a number."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.metrics.corpus import classification_f1, is_acceptable, matthews, pearson
from tasks.metrics.left_out import (
    Left,
    classification_f1_without,
    matthews_without,
    pearson_without,
)
from tasks.metrics.rouge import MAX_WORDS, rouge_l
from tasks.metrics.sets import check_rule, s1
from tasks.metrics.texts import accuracy, exact_match, qa_f1

CROSSFIT = "CrossFit (Ye, Lin, Ren 2021), dataloader/metrics.py"


@dataclass(frozen=True)
class Metric:
    """One way to score: its name, what changes its number, where it is from, its range.

    Exactly one of `by_example` and `by_corpus` is there: a mean over examples has the first. A
    correlation says what number it takes each text for (`value_of`). `left_out` gives what
    `without_each` does.
    A prediction is a text and its golds are alternatives; S1 takes a list of texts as prediction
    and all golds together.
    """

    name: str
    recipe: str
    source: str
    lowest: float
    highest: float
    by_example: Callable[[Any, Sequence[str]], float] | None = None
    by_corpus: Callable[[Sequence[str], Sequence[Sequence[str]]], float] | None = None
    value_of: Callable[[str], float] | None = None
    left_out: Left | None = None

    @property
    def is_mean(self) -> bool:
        """Is the score of a test set the mean of its examples' scores?"""
        return self.by_example is not None

    def example(self, prediction: Any, golds: Sequence[str]) -> float:
        """The score of one example; TypeError where the metric knows whole test sets only."""
        if self.by_example is None:
            raise TypeError(f"{self.name} scores a whole test set, not one example")
        return self.by_example(prediction, golds)

    def corpus(self, predictions: Sequence[Any], golds: Sequence[Sequence[str]]) -> float:
        """The score of a whole test set, golds in the order of the predictions; NaN is undefined.

        Raises ValueError for no example, and for lists of different lengths.
        """
        if len(predictions) != len(golds):
            raise ValueError(f"{len(predictions)} predictions for {len(golds)} examples")
        if not predictions:
            raise ValueError("a test set has one example or more")
        if self.by_corpus is not None:
            return self.by_corpus(predictions, golds)
        return math.fsum(map(self.example, predictions, golds)) / len(golds)

    def without_each(
        self,
        predictions: Sequence[str],
        golds: Sequence[Sequence[str]],
        groups: Sequence[Hashable],
    ) -> list[float]:
        """The score without each group of examples, groups in order of first appearance.

        TypeError where the metric is a mean over examples, which says it by itself.
        """
        if self.left_out is None:
            raise TypeError(f"{self.name} is a mean over examples")
        return self.left_out(predictions, golds, groups)

    def remark(self, predictions: Sequence[str], golds: Sequence[Sequence[str]]) -> str:
        """What must stand beside a correlation where one side is constant; else ""."""
        if self.value_of is None:
            return ""
        undefined = "undefined: " if math.isnan(self.corpus(predictions, golds)) else ""
        if len({self.value_of(text.strip()) for text in predictions}) == 1:
            return f"{undefined}constant prediction"
        return f"{undefined}constant gold" if len({self.value_of(g[0]) for g in golds}) == 1 else ""


def _mean(name: str, by_example: Callable[[Any, Sequence[str]], float], how: str) -> Metric:
    words = f"{how}|golds:best|mean:examples|v:1"
    return Metric(name, f"{name.lower()}|{words}", CROSSFIT, 0, 1, by_example=by_example)


def _whole(
    name: str,
    by_corpus: Callable[[Sequence[str], Sequence[Sequence[str]]], float],
    how: str,
    left_out: Left,
    value_of: Callable[[str], float] | None = None,
) -> Metric:
    words = f"{how}|golds:first|over:test set|v:1"
    lowest = 0 if value_of is None else -1
    return Metric(
        name,
        f"{name.lower()}|{words}",
        CROSSFIT,
        lowest,
        1,
        by_corpus=by_corpus,
        value_of=value_of,
        left_out=left_out,
    )


METRICS = {
    metric.name: metric
    for metric in (
        Metric(
            "S1",
            "s1|match:exact|empty:1|gold:set|mean:examples|v:1",
            "CLUES (Mukherjee et al. 2021), section 3.3 and eval/S1.py",
            0,
            1,
            by_example=s1,
        ),
        _mean("EM", exact_match, "match:normalised"),
        _mean("ACC", accuracy, "match:lower case"),
        _mean("QA-F1", qa_f1, "words:normalised multiset"),
        _mean(
            "Rouge-L",
            rouge_l,
            f"lcs:union over sentences, words once|beta:1|words:first {MAX_WORDS}",
        ),
        _whole(
            "Classification-F1",
            classification_f1,
            "mean:labels of golds and predictions",
            classification_f1_without,
        ),
        _whole(
            "Matthew-Correlation",
            matthews,
            "positive:acceptable|constant:0",
            matthews_without,
            is_acceptable,
        ),
        _whole("Pearson-Correlation", pearson, "constant:undefined", pearson_without, float),
    )
}


def recipe(gold_rule: str, ddof: int = 1, over: str = "annotators", metric: str = "S1") -> str:
    """Every choice that changes the number, as one string to print beside it.

    match: texts compare exactly; empty: S1 of two empty sets; gold: the task's gold rule; mean:
    what a score is the mean of; sd: what the deviation is taken over (annotators, or a model's
    splits), with its ddof; v: counts up when the meaning of any of these changes. Other metrics say
    how they compare; an answer of several texts is one text to them.
    """
    check_rule(gold_rule)
    spread = f"sd:{over}|ddof:{ddof}"
    if metric == "S1":
        return f"s1|match:exact|empty:1|gold:{gold_rule}|mean:examples|{spread}|v:1"
    how, _bar, version = METRICS[metric].recipe.rpartition("|v:")
    return f"{how}|texts:sorted, joined|empty:1|gold:{gold_rule}|{spread}|v:{version}"
