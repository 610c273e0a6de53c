"""The common interface of all metrics (`METRICS[name]`), and remarks to print with a score."""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.answer_keys import LABEL, LONG_TEXT, NUMBER, OPTION, OPTIONS, SHORT_TEXT, SPANS
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


@dataclass(frozen=True)
class Metric:
    """A metric with its name, source, definition (recipe) and range, from `lowest` to 1.

    Means over examples have `by_example`. Other metrics have `by_corpus` and `left_out`, which
    returns the score without each group of examples, in order of first appearance. Correlations
    convert texts to numbers with `value_of`.

    A prediction is a single string, and the gold answers are alternatives. For S1, it is a list of
    strings, which is compared with all gold answers together. A metric may be limited to certain
    `kinds` of answers, for a `reason`. Labels with the same `reads(label)` count as equal.
    """

    name: str
    steps: str  # of its recipe
    source: str = "CrossFit (Ye, Lin, Ren 2021), dataloader/metrics.py"
    by_example: Callable[[Any, Sequence[str]], float] | None = None
    by_corpus: Callable[[Sequence[str], Sequence[Sequence[str]]], float] | None = None
    value_of: Callable[[str], float] | None = None
    left_out: Left | None = None
    kinds: Collection[str] = ()  # empty for all types
    reason: str = ""
    reads: Callable[[str], str] = str

    @property
    def recipe(self) -> str:
        return f"{self.name.lower()}|{self.steps}|v:1"

    @property
    def lowest(self) -> float:
        return 0 if self.value_of is None else -1

    @property
    def is_mean(self) -> bool:
        return self.by_example is not None

    def example(self, prediction: Any, golds: Sequence[str]) -> float:
        """Return the score of one example. Raises TypeError for metrics on entire test sets."""
        if self.by_example is None:
            raise TypeError(f"{self.name} scores a whole test set, not one example")
        return self.by_example(prediction, golds)

    def corpus(self, predictions: Sequence[Any], golds: Sequence[Sequence[str]]) -> float:
        """Return the score of a test set, or NaN if undefined. Gold answers are in the same order.

        Raises ValueError without examples, and for lists of different lengths.
        """
        if len(predictions) != len(golds):
            raise ValueError(f"{len(predictions)} predictions for {len(golds)} examples")
        if not predictions:
            raise ValueError("a test set has one example or more")
        if self.by_corpus is not None:
            return self.by_corpus(predictions, golds)
        return math.fsum(map(self.example, predictions, golds)) / len(golds)

    def remark(self, predictions: Sequence[str], golds: Sequence[Sequence[str]]) -> str:
        """Return a remark to print with a correlation if either side is constant, otherwise ""."""
        if self.value_of is None:
            return ""
        undefined = "undefined: " if math.isnan(self.corpus(predictions, golds)) else ""
        if len({self.value_of(text.strip()) for text in predictions}) == 1:
            return f"{undefined}constant prediction"
        return f"{undefined}constant gold" if len({self.value_of(g[0]) for g in golds}) == 1 else ""


BEST, FIRST = "golds:best|mean:examples", "golds:first|over:test set"
TEXTS = (SPANS, OPTION, OPTIONS, SHORT_TEXT, LONG_TEXT)
METRICS = {
    metric.name: metric
    for metric in (
        Metric(
            "S1", "match:exact|empty:1|gold:set|mean:examples",
            "CLUES (Mukherjee et al. 2021), section 3.3 and eval/S1.py", by_example=s1,
        ),
        Metric(
            "EM", f"match:normalised|{BEST}", by_example=exact_match, kinds=(*TEXTS, LABEL),
            reads=normalise,
            reason="it drops signs and decimal points, so that -3 and 3 would be the same",
        ),
        Metric("ACC", f"match:lower case|{BEST}", by_example=accuracy, reads=str.lower),
        Metric(
            "QA-F1", f"words:normalised multiset|{BEST}", by_example=qa_f1, kinds=TEXTS,
            reason="it compares the words of texts",
        ),
        Metric(
            "Rouge-L",
            f"lcs:union over sentences, words once|beta:1|words:first {MAX_WORDS}|{BEST}",
            by_example=rouge_l, kinds=TEXTS, reason="it compares the words of texts",
        ),
        Metric(
            "Classification-F1", f"mean:labels of golds and predictions|{FIRST}",
            by_corpus=classification_f1, left_out=classification_f1_without,
            kinds=(LABEL, OPTION), reads=str.strip,
            reason="it averages over labels, so each answer must be one of a list",
        ),
        Metric(
            "Matthew-Correlation", f"positive:acceptable|constant:0|{FIRST}",
            by_corpus=matthews, left_out=matthews_without, value_of=is_acceptable,
            kinds=(LABEL,), reason=f"it needs a label “{ACCEPTABLE}” and others",
        ),
        Metric(
            "Pearson-Correlation", f"constant:undefined|{FIRST}",
            by_corpus=pearson, left_out=pearson_without, value_of=float,
            kinds=(LABEL, NUMBER), reason="it needs numbers",
        ),
    )
}  # fmt: skip


def recipe(gold_rule: str, over: str = "annotators", metric: str = "S1") -> str:
    """Return all choices that affect the score, as a string to print with it.

    match: how texts are compared. empty: S1 of two empty sets. gold: the task's gold rule. mean:
    what a score averages over. sd: the unit of the SD (annotators, or splits of a model), with its
    ddof. v: the version of these definitions. For other metrics, the texts of an answer are joined.
    """
    check_rule(gold_rule)
    spread = f"sd:{over}|ddof:1"
    if metric == "S1":
        return f"s1|match:exact|empty:1|gold:{gold_rule}|mean:examples|{spread}|v:1"
    steps, _bar, version = METRICS[metric].recipe.rpartition("|v:")
    return f"{steps}|texts:sorted, joined|empty:1|gold:{gold_rule}|{spread}|v:{version}"


def misfit(metric: str, kind: str, labels: Sequence[str] = ()) -> str:
    """Return why a metric can't score answers of this type, or "". `labels` are the task's."""
    definition = METRICS[metric]
    if definition.kinds and kind not in definition.kinds:
        return f"{metric} does not apply to answers of type {kind}: {definition.reason}."
    if kind != LABEL:
        return ""
    if metric == "Matthew-Correlation" and ACCEPTABLE not in labels:
        return f"{metric} needs a label “{ACCEPTABLE}”, which it compares with all others."
    if metric == "Pearson-Correlation":
        try:
            as_numbers(labels)
        except ValueError:
            return f"{metric} needs numbers, but not every label is one."
    first: dict[str, str] = {}
    for label in labels:
        earlier = first.setdefault(definition.reads(label), label)
        if earlier != label:
            return f"{metric} reads the labels “{earlier}” and “{label}” as the same text."
    return ""
