"""The one interface of all metrics: `METRICS[name]`, with what must be printed beside a number."""

import math
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.answer_keys import (
    ANSWERS,
    LABEL,
    LONG_TEXT,
    NUMBER,
    OPTION,
    OPTIONS,
    SHORT_TEXT,
    SPANS,
)
from tasks.metrics.corpus import (
    ACCEPTABLE,
    Left,
    as_numbers,
    classification_f1,
    classification_f1_without,
    is_acceptable,
    matthews,
    matthews_without,
    pearson,
    pearson_without,
)
from tasks.metrics.sets import check_rule, s1
from tasks.metrics.texts import MAX_WORDS, accuracy, exact_match, normalise, qa_f1, rouge_l

CROSSFIT = "CrossFit (Ye, Lin, Ren 2021), dataloader/metrics.py"


@dataclass(frozen=True)
class Metric:
    """One way to score: its name, what changes its number, where it is from, its range.

    Exactly one of `by_example` and `by_corpus` is there: a mean over examples has the first. A
    correlation says what number it takes each text for (`value_of`). `left_out` gives what
    `without_each` does.
    A prediction is a text and its golds are alternatives; S1 takes a list of texts as prediction
    and all golds together. It scores the answers of `kinds`, and no others as `why` says; `reads`
    is how it reads a label: labels that it reads alike are the same to it.
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
    kinds: Collection[str] = ANSWERS
    why: str = ""
    reads: Callable[[str], str] = str

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


def _mean(
    name: str, by_example: Callable[[Any, Sequence[str]], float], how: str, **fits: Any
) -> Metric:
    words = f"{how}|golds:best|mean:examples|v:1"
    return Metric(name, f"{name.lower()}|{words}", CROSSFIT, 0, 1, by_example=by_example, **fits)


def _whole(
    name: str,
    by_corpus: Callable[[Sequence[str], Sequence[Sequence[str]]], float],
    how: str,
    left_out: Left,
    value_of: Callable[[str], float] | None = None,
    **fits: Any,
) -> Metric:
    words = f"{how}|golds:first|over:test set|v:1"
    lowest = 0 if value_of is None else -1
    return Metric(
        name, f"{name.lower()}|{words}", CROSSFIT, lowest, 1,
        by_corpus=by_corpus, value_of=value_of, left_out=left_out, **fits,
    )  # fmt: skip


TEXTS = (SPANS, OPTION, OPTIONS, SHORT_TEXT, LONG_TEXT)
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
        _mean(
            "EM", exact_match, "match:normalised", kinds=(*TEXTS, LABEL), reads=normalise,
            why="it drops signs and decimal points, so that -3 and 3 would be the same",
        ),
        _mean("ACC", accuracy, "match:lower case", reads=str.lower),
        _mean(
            "QA-F1", qa_f1, "words:normalised multiset", kinds=TEXTS,
            why="it compares the words of texts",
        ),
        _mean(
            "Rouge-L", rouge_l,
            f"lcs:union over sentences, words once|beta:1|words:first {MAX_WORDS}",
            kinds=TEXTS, why="it compares the words of texts",
        ),
        _whole(
            "Classification-F1", classification_f1, "mean:labels of golds and predictions",
            classification_f1_without, kinds=(LABEL, OPTION), reads=str.strip,
            why="it takes the mean over labels, so each answer must be one of a list",
        ),
        _whole(
            "Matthew-Correlation", matthews, "positive:acceptable|constant:0", matthews_without,
            is_acceptable, kinds=(LABEL,), why=f"it tells the label “{ACCEPTABLE}” from all others",
        ),
        _whole(
            "Pearson-Correlation", pearson, "constant:undefined", pearson_without, float,
            kinds=(LABEL, NUMBER), why="it needs numbers",
        ),
    )
}  # fmt: skip


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


def misfit(metric: str, kind: str, labels: Sequence[str] = ()) -> str:
    """Why that metric cannot score answers of that kind, in a sentence; "" where it can.

    `labels` are those of a label task.
    """
    chosen = METRICS[metric]
    if kind not in chosen.kinds:
        return f"{metric} does not fit answers of the kind {kind}: {chosen.why}."
    if kind != LABEL:
        return ""
    if metric == "Matthew-Correlation" and ACCEPTABLE not in labels:
        return f"{metric} needs a label “{ACCEPTABLE}”, which it tells from all others."
    if metric == "Pearson-Correlation":
        try:
            as_numbers(labels)
        except ValueError:
            return f"{metric} needs numbers, and not every label is one."
    first: dict[str, str] = {}
    for label in labels:
        other = first.setdefault(chosen.reads(label), label)
        if other != label:
            return f"{metric} reads the labels “{other}” and “{label}” as the same text."
    return ""
