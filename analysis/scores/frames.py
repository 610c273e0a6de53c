"""Data frames of scores with one row per annotator, computed from stored answers.

S1 is stored with each answer, so it is only averaged here. This package never writes anything.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count

from analysis.heavy import np, pd
from analysis.scores import test_sets
from analysis.scores.scores import Score, counted_remarks
from analysis.scores.test_sets import given_texts
from annotation.models import ANALYSED, Answer, Kind, ModelAnnotator, Status, Step, Study
from annotation.protocol.activity_summary import summary
from tasks.metrics import s1
from tasks.models import Example, Split, Task
from tasks.models.choices import CELL_ARMS

COLUMNS = [
    "participation", "annotator", "task", "task_version", "shots", "split", "arm", "kind",
    "status", "analysed", "mean_s1", "sd_examples", "n", "training_s1", "training_n", "set_s1",
    "score", "remark",
]  # fmt: skip


def annotators(study: Study) -> pd.DataFrame:
    """Return one row per annotator in the study, ordered by task, shots and pseudonym.

    Columns: COLUMNS. `analysed` says whether the annotator is included in the analysis.
    `mean_s1` and `training_s1` are means over the answered examples of the annotation and training
    steps, in [0, 1]. `sd_examples` is the SD (ddof 1) over examples in the annotation step. `n` and
    `training_n` count answers. `set_s1` is `mean_s1` with each example's gold answers treated as
    one set, for tasks whose gold answers are alternatives. `score` is `mean_s1`, except in tasks
    with another metric, where it is the test-set score under that metric, with any `remark`, for
    annotators who completed. Missing numbers are NaN.
    """
    people = pd.DataFrame.from_records(
        study.participations.annotate(analysed=ANALYSED).values_list(
            "pk", "pseudonym", "scenario__task__name", "scenario__task__version",
            "scenario__shots", "scenario__split_number", "scenario__arm", "kind", "status",
            "analysed", "activity_summary__s1",
        ),
        columns=[*COLUMNS[:10], "stored"],
    )  # fmt: skip
    stored = zip(people["participation"].tolist(), people.pop("stored"), strict=True)
    by_step = _s1_by_step(dict(stored))
    for step, names in (
        (Step.ANNOTATION, ["mean_s1", "sd_examples", "n"]),
        (Step.TRAINING, ["training_s1", "_training_sd", "training_n"]),
    ):
        rows = [(pk, *numbers) for (pk, of), numbers in by_step.items() if of == step]
        part = pd.DataFrame.from_records(rows, columns=["participation", *names])
        people = people.merge(part, how="left", on="participation")
    counts, means = ["n", "training_n"], ["mean_s1", "sd_examples", "training_s1"]
    people = people.astype(dict.fromkeys(means, float))
    people[counts] = people[counts].fillna(0).astype(int)
    tasks = list(study.tasks.all())
    people["set_s1"] = people["participation"].map(_as_one_set(study, tasks)).astype(float)
    completed = people.loc[people["status"] == Status.COMPLETED, "participation"]
    primary = test_sets.primary([int(pk) for pk in completed], tasks)
    people["score"] = [
        primary[pk][1].value if pk in primary else mean
        for pk, mean in zip(people["participation"], people["mean_s1"], strict=True)
    ]
    people["remark"] = [
        primary[pk][1].remark if pk in primary else "" for pk in people["participation"]
    ]
    return people[COLUMNS].sort_values(["task", "shots", "annotator"], ignore_index=True)


def _as_one_set(study: Study, tasks: Sequence[Task]) -> dict[int, float]:
    """Map annotators (keys) to mean S1 in [0, 1] with each example's gold answers as one set.

    This is for tasks with alternative gold answers. Single gold answers are scored as usual.
    """
    alternatives = [task.pk for task in tasks if task.card.gold_rule == "any_of"]
    if not alternatives:
        return {}
    people = study.participations.filter(scenario__task__in=alternatives)
    golds = {
        pk: gold
        for pk, gold in Example.objects.filter(
            split__task__in=alternatives, split__kind=Split.Kind.TEST
        ).values_list("pk", "gold")
        if len(set(gold)) > 1
    }
    scores: dict[int, list[float]] = defaultdict(list)
    answers = people.answers()
    each = answers.values_list("turn__participation_id", "turn__example_id", "s1")
    for participation, example, stored in each.iterator(chunk_size=5000):
        if example not in golds:
            scores[participation].append(stored)
    for participation, example, _label, texts, _s1 in given_texts(
        answers.filter(turn__example__in=golds)
    ):
        scores[participation].append(s1(texts, golds[example]))
    return {pk: math.fsum(values) / len(values) for pk, values in scores.items()}


def _s1_by_step(stored: dict[int, Any]) -> dict[tuple[int, str], Sequence[Any]]:
    """Map (participation, step) to the mean, SD (ddof 1, None for a single answer) and count of S1.

    For annotators who completed, these are read from `stored` (Summary). For all others, the
    database counts the occurrences of each distinct value. The arithmetic is exact, so the result
    is the same on every database and in verify.py.
    """
    summaries = {(pk, step): part for pk, s1 in stored.items() for step, part in (s1 or {}).items()}
    missing = [pk for pk, s1 in stored.items() if s1 is None]
    rows = (
        Answer.objects.filter(turn__participation__in=missing)
        .order_by("turn__participation_id", "turn__step", "s1")
        .values_list("turn__participation_id", "turn__step", "s1")
        .annotate(times=Count("pk"))
    )
    for key, group in itertools.groupby(rows.iterator(chunk_size=5000), key=lambda row: row[:2]):
        summaries[key] = summary([s1 for *_key, s1, times in group for _ in range(times)])
    return summaries


def answers_in_order(
    study: Study, kind: str, step: Step, seats: Collection[int] | None = None
) -> pd.DataFrame:
    """Return one row per answer in this step by annotators who are in the analysis.

    `seats` are the participations (keys) to include (all by default). Columns: participation
    and scenario (keys), task, shots, annotator, position (0-based and without gaps, in the order in
    which this annotator saw the step's examples, excluding attention checks), example (key), s1 in
    [0, 1]. Rows are ordered by participation and position.
    """
    people = study.participations.counted(kind)
    if seats is not None:
        people = people.filter(pk__in=seats)
    lookup = pd.DataFrame.from_records(
        people.values_list(
            "pk", "scenario", "scenario__task__name", "scenario__shots", "pseudonym"
        ),
        columns=["participation", "scenario", "task", "shots", "annotator"],
    )
    # An index has this order, so the database doesn't need to sort a million answers.
    answers = people.answers(step).order_by("turn__participation_id", "turn__position")
    rows = answers.values_list("turn__participation_id", "turn__example_id", "s1")
    # Read into arrays, because a million answers take far more memory as Python rows.
    kinds = [("participation", "i8"), ("example", "i8"), ("s1", "f8")]
    records = np.fromiter(rows.iterator(chunk_size=5000), dtype=kinds)
    places = pd.Index(lookup["participation"]).get_indexer(records["participation"])
    order = np.argsort(places, kind="stable")  # participations in their default order
    frame = lookup.take(places[order]).reset_index(drop=True)
    frame = frame.assign(example=records["example"][order], s1=records["s1"][order])
    # Attention checks also have positions, so the stored positions would leave gaps.
    frame["position"] = frame.groupby("participation").cumcount()
    return frame


def scored_answers(study: Study, kind: str, seats: Collection[int] | None = None) -> pd.DataFrame:
    """Return the annotation step's `answers_in_order`, with `context` and test_sets.with_scores."""
    answers = answers_in_order(study, kind, Step.ANNOTATION, seats)
    contexts = contexts_of_tests(list(study.tasks.values_list("pk", flat=True)))
    return test_sets.with_scores(study, answers.assign(context=answers["example"].map(contexts)))


def contexts_of_tests(tasks: Sequence[int]) -> dict[int, str]:
    """Map the test examples (keys) of these task versions to short names for their contexts.

    A name is the context's position in sorted order, padded to a fixed number of digits. It sorts
    like the text, but is short enough to be repeated with each answer.
    """
    rows = Example.objects.filter(split__task__in=tasks, split__kind=Split.Kind.TEST)
    texts = {pk: str(context) for pk, context in rows.values_list("pk", "context")}
    places = {text: f"{place:09d}" for place, text in enumerate(sorted(set(texts.values())))}
    return {pk: places[text] for pk, text in texts.items()}


# Models that took an annotator's seat.

# Appended to a model's name in tables that also list humans and uploaded models.
SEATED = " (model in the annotator's seat)"


@dataclass(frozen=True)
class Seated:
    name: str
    revision: str
    prompt_hash: str

    def __str__(self) -> str:
        revision = f" {self.revision}" if self.revision else ""
        return f"{self.name}{revision}, prompt {self.prompt_hash[:8]}"

    @property
    def title(self) -> str:
        return f"{self}{SEATED}"


def seats(study: Study) -> dict[int, Seated]:
    participations = study.participations.filter(kind=Kind.MODEL).exclude(status=Status.WITHDRAWN)
    annotators = ModelAnnotator.objects.filter(worker__participations__in=participations)
    rows = annotators.values_list("worker_id", "name", "revision", "prompt_hash")
    of_worker = {worker: Seated(*details) for worker, *details in rows}
    pairs = participations.values_list("pk", "worker_id")
    return {pk: of_worker[worker] for pk, worker in pairs if worker in of_worker}


def counted(frame: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return the rows of this kind that are in cells and in the analysis."""
    return cell_rows(frame[frame["analysed"].astype(bool) & (frame["kind"] == kind)])


def cell_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of annotators with contexts and no upstream step, as `in_cells` does."""
    return frame[frame["arm"].isin(CELL_ARMS)]


def scenarios(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the mean score, both SDs and n for each task, shots, split and kind.

    `frame` comes from `annotators`. Columns: task, task_version, shots, split, kind, mean, sd_ddof1
    (NaN for a single annotator), sd_ddof0, n.
    """
    keys = ["task", "task_version", "shots", "split", "kind"]
    parts = [counted(frame, kind) for kind in sorted(set(frame["kind"]))]
    rows = pd.concat(parts) if parts else frame.iloc[:0]
    return _spread(rows.groupby(keys, dropna=False)["score"]).reset_index()


def _spread(grouped: Any) -> pd.DataFrame:
    """Return the mean, both SDs and n of grouped scores, or only n if any score is undefined."""
    undefined = grouped.size() > grouped.count()
    numbers = {"mean": grouped.mean(), **{f"sd_ddof{k}": grouped.std(ddof=k) for k in (1, 0)}}
    masked = {name: values.mask(undefined) for name, values in numbers.items()}
    return pd.DataFrame({**masked, "n": grouped.size()})


def cells(frame: pd.DataFrame) -> dict[tuple[str, int], tuple[Score, Score, Score]]:
    """Map (task, shots) to scores over annotators, over training splits, and with gold as one set.

    `frame` comes from `counted`. The score over splits combines the mean over annotators with the
    SDs between the splits' means (NaN for a single split). The last score is based on `set_s1`.
    """
    cell = ["task", "shots"]
    own, as_set = (_spread(frame.groupby(cell)[name]) for name in ("score", "set_s1"))
    remarks = frame.groupby(cell)["remark"].agg(counted_remarks)
    by_split = frame.dropna(subset="split").groupby([*cell, "split"])
    between = _spread(_spread(by_split["score"])["mean"].groupby(cell)).reindex(own.index)
    between["sd_ddof0"] = between["sd_ddof0"].where(between["n"] > 1)
    between["mean"], between["n"] = own["mean"], between["n"].fillna(0)

    def scores(table: pd.DataFrame) -> list[Score]:
        return [
            Score(100 * mean, 100 * sd1, 100 * sd0, n=int(n), remark=remark)
            for (mean, sd1, sd0, n), remark in zip(table.to_numpy().tolist(), remarks, strict=True)
        ]

    keys = [(task, int(shots)) for task, shots in own.index]
    return dict(zip(keys, zip(*map(scores, (own, between, as_set)), strict=True), strict=True))


# Scores of one worker on several tasks are not independent, so their covariance is computed.


def covariances(study: Study, kind: str, frame: pd.DataFrame) -> dict[int, float]:
    """Map shots to the summed covariance between tasks, for the SD of an average over tasks.

    The unit is squared points of the score x 100. Each pair of tasks a, b contributes
    `cov * m / sqrt(n_a * n_b)`, where `cov` is the covariance (ddof 1) over the m workers who did
    both tasks at that shot count, and `n_a` and `n_b` are the tasks' annotator counts. Twice the
    sum is added to the variance of the sum over tasks. Pairs with m < 2 contribute nothing.
    `frame` comes from `frames.annotators(study)`.
    """
    if study.tasks_per_worker < 2:
        return {}
    workers = dict(study.participations.values_list("pk", "worker_id"))
    scores: dict[int, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    rows: Iterable[Any] = counted(frame, kind).itertuples()
    for row in rows:
        worker = workers.get(row.participation)
        if worker is not None:
            scores[int(row.shots)][str(row.task)][worker] = 100 * float(row.score)
    return {
        shots: math.fsum(
            _pair_covariance(a, b) for a, b in itertools.combinations(by_task.values(), 2)
        )
        for shots, by_task in scores.items()
    }


def _pair_covariance(a: dict[int, float], b: dict[int, float]) -> float:
    both = sorted(a.keys() & b.keys())
    if len(both) < 2:
        return 0.0
    shared = np.cov([a[w] for w in both], [b[w] for w in both], ddof=1)[0, 1]
    return float(shared) * len(both) / math.sqrt(len(a) * len(b))
