"""The score of a test set under one metric, and one value per example whose mean is the score.

Answers are sets of texts. S1 uses them unchanged. Every other metric uses a single string: the
distinct texts of the set, sorted and joined as in the NLP Few-shot Gym. If "no answer" is possible,
two empty sets score 1, and an empty and a non-empty set score 0, as under S1.

The values are linear: their mean is the score, and their two-way t interval is that of the
jackknife. For means over examples, they are the scores of the examples. Otherwise, they are
delete-one-context pseudo-values (Busing, Meijer and van der Leeden 1999, for contexts of different
sizes), shifted so that their mean is the score rather than its jackknife estimate.
"""

import itertools
import math
import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from tasks.metrics.corpus import members
from tasks.metrics.interface import METRICS, Metric
from tasks.metrics.sets import score
from tasks.metrics.texts import normalise

JOIN = " [SEP] "  # between the texts of an answer, as in the Gym's files


@dataclass(frozen=True)
class Answers:
    """The answers of a human or model to a test set, with the gold answers."""

    given: Sequence[Sequence[str]]
    golds: Sequence[Sequence[str]]
    gold_rule: str
    no_answer: bool
    contexts: Sequence[Hashable]


@dataclass(frozen=True)
class SetScore:
    """The score (NaN if undefined), the remark to print with it, and its linear values.

    If the score is undefined, so are all `values` (NaN). If it is only undefined without one
    context, the values of that context are NaN, and all others equal the score. `remark` and
    `why_no_values` give the reasons.
    """

    value: float
    remark: str
    values: list[float]
    why_no_values: str


def over_test_set(metric: str, answers: Answers, is_linear: bool = True) -> SetScore:
    """Return the score of a test set, without its values if `is_linear` is False."""
    scorer, size = METRICS[metric], len(answers.golds)
    if scorer.is_mean:
        values = [
            example_score(scorer, given, gold, answers.gold_rule, answers.no_answer)
            for given, gold in zip(answers.given, answers.golds, strict=True)
        ]
        return SetScore(math.fsum(values) / size, "", values, "")
    predictions = [as_text(texts) for texts in answers.given]
    golds = [alternatives(gold, answers.gold_rule) for gold in answers.golds]
    nothing = [math.nan] * size
    try:
        value, remark = scorer.corpus(predictions, golds), scorer.remark(predictions, golds)
    except ValueError as error:
        remark = f"undefined: {error}"
        return SetScore(math.nan, remark, nothing, remark)
    if math.isnan(value) or not is_linear:
        return SetScore(value, remark, nothing, remark)
    values, why_not = _linear(scorer, value, predictions, golds, answers.contexts)
    return SetScore(value, remark, values, why_not)


def _linear(
    metric: Metric,
    value: float,
    texts: Sequence[str],
    golds: Sequence[Sequence[str]],
    contexts: Sequence[Hashable],
) -> tuple[list[float], str]:
    """Return the linear value of each example, or the reason why it has none."""
    groups, size = members(contexts), len(texts)
    values = [value] * size
    if len(groups) < 2:
        return values, "one context"
    assert metric.left_out is not None  # as it isn't a mean over examples
    pseudo = [
        value * size / len(group) - (size / len(group) - 1) * without
        for group, without in zip(groups, metric.left_out(texts, golds, contexts), strict=True)
    ]
    undefined = [math.isnan(number) for number in pseudo]
    if any(undefined):
        for group in itertools.compress(groups, undefined):
            for place in group:
                values[place] = math.nan
        return values, "undefined without one context"
    bias = math.fsum(len(group) * p for group, p in zip(groups, pseudo, strict=True)) / size - value
    for group, number in zip(groups, pseudo, strict=True):
        for place in group:
            values[place] = number - bias
    return values, ""


def example_score(
    metric: Metric, given: Sequence[str], gold: Sequence[str], gold_rule: str, no_answer: bool
) -> float:
    """Return the score of an example under a metric that is a mean over examples."""
    if metric.name == "S1":
        return score(given, gold, gold_rule).s1
    if no_answer and not (given and gold):
        return float(not given and not gold)
    return metric.example(as_text(given), alternatives(gold, gold_rule))


def as_text(texts: Sequence[str]) -> str:
    """Join a set of texts into a string that does not depend on their order."""
    return JOIN.join(sorted(set(texts), key=lambda text: (normalise(text), text)))


def alternatives(gold: Sequence[str], gold_rule: str) -> list[str]:
    """Return an example's gold as alternatives, or as one string if it forms one answer."""
    return list(gold) if gold_rule == "any_of" or not gold else [as_text(gold)]


# By chance --------------------------------------------------------------------------------------


DRAWS, SEED = 500, 0  # number of test sets to draw if the expectation has no closed form


def by_chance(
    metric: str,
    choices: Sequence[Sequence[str]],
    golds: Sequence[Sequence[str]],
    gold_rule: str,
    no_answer: bool,
) -> float:
    """Return the expected score of choices that are uniformly random.

    `no_answer` adds "no answer" to the choices. The result is exact for means over examples. It is
    0 for correlations, because all assignments of the chosen texts to examples are equally likely,
    so the expected covariance with the gold answers is 0. Classification-F1 is the mean over DRAWS
    seeded draws of the entire test set.
    """
    spec = METRICS[metric]
    given = [
        [*([text] for text in listed), *([[]] if no_answer else [])] for listed in choices
    ]  # possible answers to each example
    if spec.is_mean:
        means = []
        cache: dict[tuple[tuple[str, ...], tuple[str, ...]], float] = {}  # labels have few entries
        for listed, answers, gold in zip(choices, given, golds, strict=True):
            key = tuple(listed), tuple(gold)
            if key not in cache:
                scores = [example_score(spec, pick, gold, gold_rule, no_answer) for pick in answers]
                cache[key] = math.fsum(scores) / len(scores)
            means.append(cache[key])
        return math.fsum(means) / len(means)
    if spec.value_of is not None:
        return 0.0
    draw = random.Random(SEED)
    contexts = range(len(golds))
    values = []
    for _ in range(DRAWS):
        sample = [draw.choice(options) for options in given]
        answers_of_all = Answers(sample, golds, gold_rule, no_answer, contexts)
        values.append(over_test_set(metric, answers_of_all, is_linear=False).value)
    return math.fsum(values) / len(values)
