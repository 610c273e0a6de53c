"""What choosing blindly scores: the expected score of a uniformly random choice (pure)."""

import math
import random
from collections.abc import Sequence

from tasks.metrics.interface import METRICS
from tasks.metrics.test_sets import Answers, example_score, over_test_set

DRAWS, SEED = 500, 0  # of whole test sets, where the expectation has no short formula


def by_chance(
    metric: str,
    choices: Sequence[Sequence[str]],
    golds: Sequence[Sequence[str]],
    gold_rule: str,
    no_answer: bool,
) -> float:
    """The expected score where each example's answer is one of its choices, all as likely.

    Where `no_answer` is allowed it is one of the choices. Exact for a mean over examples, and 0 for
    a correlation: given how often each text was chosen, every assignment to the examples is as
    likely, so that the covariance with the golds is 0 on average. Classification-F1 is the mean of
    DRAWS seeded draws of the whole test set.
    """
    chosen = METRICS[metric]
    given = [
        [*([text] for text in listed), *([[]] if no_answer else [])] for listed in choices
    ]  # the answers to each example
    if chosen.is_mean:
        means = []
        known: dict[tuple[tuple[str, ...], tuple[str, ...]], float] = {}  # few where labels are
        for listed, answers, gold in zip(choices, given, golds, strict=True):
            key = tuple(listed), tuple(gold)
            if key not in known:
                scores = [example_score(chosen, own, gold, gold_rule, no_answer) for own in answers]
                known[key] = math.fsum(scores) / len(scores)
            means.append(known[key])
        return math.fsum(means) / len(means)
    if chosen.value_of is not None:
        return 0.0
    draw = random.Random(SEED)
    contexts = range(len(golds))
    values = []
    for _ in range(DRAWS):
        drawn = [draw.choice(own) for own in given]
        answers_of_all = Answers(drawn, golds, gold_rule, no_answer, contexts)
        values.append(over_test_set(metric, answers_of_all, is_linear=False).value)
    return math.fsum(values) / len(values)
