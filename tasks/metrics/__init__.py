"""Metrics of texts.

Start at `METRICS` (interface.py): one `Metric` per name, as in the NLP Few-shot Gym. `score` is the
S1 of one answer by its task's gold rule, `over_test_set` the score of a human or a model on a test
set; `misfit` says why a metric does not fit a answer kind. Independent of studies, files and
databases.
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
