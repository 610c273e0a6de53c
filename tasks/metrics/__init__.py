"""Scorers: texts in, numbers out.

Begin at `METRICS` (interface.py): one `Metric` per name, as the NLP Few-shot Gym spells them. S1 of
one answer by its task's gold rule is `score`, a whole test set of a person or a model
`over_test_set`; `misfit` says why a metric does not fit a kind of answer. Nothing here knows of
people, files or databases.
"""

from tasks.metrics.interface import METRICS, Metric, misfit, recipe
from tasks.metrics.sets import GOLD_RULES, Score, s1, score
from tasks.metrics.test_sets import Answers, SetScore, over_test_set

__all__ = [
    "GOLD_RULES",
    "METRICS",
    "Answers",
    "Metric",
    "Score",
    "SetScore",
    "misfit",
    "over_test_set",
    "recipe",
    "s1",
    "score",
]
