"""Metrics of texts.

Start with `METRICS` (interface.py), which has one `Metric` per name, as in the NLP Few-shot Gym.
`score` is the S1 of one answer under the gold rule of its task, and `over_test_set` is the score of
a human or model on a test set. `misfit` returns why a metric does not fit an answer kind. This
package does not know studies, files or databases.
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
