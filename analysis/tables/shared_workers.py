"""Where one worker does several tasks, scores on them are not independent: their covariance."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from analysis.heavy import np, pd
from analysis.tables import frames
from annotation.models import Study


def covariances(study: Study, kind: str, frame: pd.DataFrame) -> dict[int, float]:
    """Shots -> what the covariance between tasks adds to half the variance of a sum over tasks.

    In points squared of the score x 100. For each pair of tasks the covariance (ddof 1) over the
    workers who did both at that number of shots, times their number over the root of the product of
    both tasks' numbers of annotators: 1 where the same people did both. Pairs with fewer than two
    such workers add nothing. `frame` is `frames.annotators(study)`.
    """
    if study.tasks_per_worker < 2:
        return {}
    workers = dict(study.participations.values_list("pk", "worker_id"))
    scores: dict[int, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    rows: Iterable[Any] = frames.counted(frame, kind).itertuples()
    for row in rows:
        worker = workers.get(row.participation)
        if worker is not None:
            scores[int(row.shots)][str(row.task)][worker] = 100 * float(row.score)
    return {
        shots: math.fsum(
            _of_pair(one, other) for one, other in itertools.combinations(by_task.values(), 2)
        )
        for shots, by_task in scores.items()
    }


def _of_pair(one: dict[int, float], other: dict[int, float]) -> float:
    both = sorted(one.keys() & other.keys())
    if len(both) < 2:
        return 0.0
    shared = np.cov([one[w] for w in both], [other[w] for w in both], ddof=1)[0, 1]
    return float(shared) * len(both) / math.sqrt(len(one) * len(other))
