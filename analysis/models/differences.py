"""Paired differences between humans and a model on the same examples.

Each value is a difference in S1 on an example: annotator - model. The values form a layout of
annotators x contexts, both of which are treated as samples. The model's S1 is its mean over runs on
the training splits that the annotators had (equal pairing) or, if there are none, over all runs, as
indicated by `training`. A model in an annotator's seat is compared in the same way: its runs
are averaged first within each split. The sign flip over contexts is a sensitivity analysis that
treats the annotators as fixed. Under metrics other than S1, the values are the differences between
each example's contributions to both scores (test_sets.py).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from types import SimpleNamespace
from typing import Any

from django.db.models import Avg

from analysis.heavy import np, pd
from analysis.models import model_runs
from analysis.models.model_runs import equally_trained
from analysis.scores import findings, frames, metrics, test_sets, tested
from analysis.scores.findings import remembered, row_of, stored_row
from analysis.scores.scores import Score
from analysis.scores.test_sets import given_texts
from analysis.stats import significance, two_way
from analysis.stats.learning import by_cell
from annotation.models import Answer, Kind, Step, Study
from annotation.study import compared_files
from tasks import jobs
from tasks.cards import place
from tasks.columns import grouped
from tasks.models import Example, Job, Prediction, PredictionFile, Task

# Printed beside each of these p values.
LEFT_OUT = (
    f"Interval and p generalise to {two_way.RUNS}. The sign-flip test is a sensitivity analysis"
    " that treats these annotators as fixed and generalises to other examples only."
)

Group = tuple[int, int, str]  # task version key, shots, model name or "" for humans


@dataclass(frozen=True)
class Runs:
    """The runs that are averaged for one model, task and shot count.

    `files` are those of an uploaded model. For a model that took part, `seats` maps each run (key)
    to its training split (None at zero shots). `is_equal` means that the runs were trained on
    splits that annotators also had, or that there was no training.
    """

    is_equal: bool
    files: Sequence[PredictionFile] = ()
    seats: dict[int, int | None] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.files) + len(self.seats)

    @property
    def splits(self) -> list[int | None]:
        numbers = {file.split_number for file in self.files} | set(self.seats.values())
        return sorted(numbers, key=lambda number: number or 0)


def cluster_sums(values: Sequence[float], clusters: Sequence[str]) -> list[float]:
    sums: dict[str, float] = defaultdict(float)
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] += value
    return list(sums.values())


def clustered_se(values: Sequence[float], clusters: Sequence[str]) -> float:
    """Return the standard error of the mean of clustered values (Miller 2024).

    It is sqrt(sum(d ** 2)) / n, where each d is the sum of a cluster's deviations from the mean of
    the n values. With one value per cluster, it is the SD (ddof 0) / sqrt(n).
    """
    mean = math.fsum(values) / len(values)
    sums = cluster_sums([value - mean for value in values], clusters)
    return math.sqrt(math.fsum(total * total for total in sums)) / len(values)


def differences(study: Study, kind: str) -> list[SimpleNamespace]:
    """Return one row per task, shot count and model that has both answers and predictions.

    Differences are human - model in points of the score x 100, over `examples` in `contexts`.
    `se_clustered` and `p_sign_flip` generalise only to other examples, with contexts as clusters.
    `floor` is the smallest p value that the sign flip can reach. Holm's correction covers the
    differences that are `in_family`, which excludes files uploaded after the study closed. The
    averaged runs are `files` (keys) or, for a model that took part, `seats`, and `splits` is their
    number. `training` shows whether annotators had the same splits.

    Stored by a job or, unless it is done, cached until the annotators in the analysis (of this kind
    and models) or the files change. Answers of annotators who completed and files never change.
    """
    job = job_of(study, kind)
    if job is not None and job.is_done:
        return list(map(row_of, job.result[0]["differences"]))
    return remembered([KIND, _parameters(study, kind)], lambda: _differences(study, kind))


def metric_rows(study: Study, kind: str) -> list[SimpleNamespace]:
    """Return `metrics.rows` of this kind and of the models, from the same job if it is done."""
    job = job_of(study, kind)
    if job is None or not job.is_done:
        return [row for row in metrics.rows(study) if row.who in (kind, metrics.MODEL)]
    tasks = study.tasks.in_bulk()
    rows = [row_of(row) for part in job.result for row in part["metrics"]]
    for row in rows:
        row.task, row.score = tasks[row.task], Score(**vars(row_of(row.score)))
    return sorted(rows, key=lambda row: place(row.task.name))


KIND = "differences"


def _parameters(study: Study, kind: str) -> dict[str, Any]:
    rows = {
        "seated": study.participations.counted(Kind.MODEL),
        "files": compared_files.files(study),
        "family": compared_files.family(study),
    }
    keys = {name: list(r.order_by("pk").values_list("pk", flat=True)) for name, r in rows.items()}
    return findings.parameters(study, kind) | keys | {"version": [findings.VERSION, 1]}


def job_of(study: Study, kind: str, owner: Any = None) -> Job | None:
    """Return the job that computes both, or None without models or with few answers."""
    if not compared_files.are_compared(study):
        return None
    return findings.job_by_task(KIND, _parameters, study, kind, owner)


@jobs.job(KIND)
def _chunk(job: Job, number: int) -> dict[str, list[Any]]:
    """Return `metric_rows` of a task. The first chunk adds differences and tasks without people."""
    study, kind = findings.study_of(job), job.parameters["kind"]
    names, tasks = findings.tasks_of(job.parameters), study.tasks.all()
    tasks = tasks.filter(name=names[number]) if number else tasks.exclude(name__in=names[1:])
    rows = [r for r in metrics.rows_of(study, list(tasks)) if r.who in (kind, metrics.MODEL)]
    compared = [] if number else _differences(study, kind)
    findings.check_inputs(job, _parameters(study, kind))
    return {
        "differences": list(map(stored_row, compared)),
        "metrics": [
            stored_row(r) | {"task": r.task.pk, "score": stored_row(r.score)} for r in rows
        ],
    }


def _differences(study: Study, kind: str) -> list[SimpleNamespace]:
    compared, models = _models(study, kind)
    if not models:
        return []
    names = dict(study.tasks.values_list("pk", "name"))
    family = set(compared_files.family(study).values_list("pk", flat=True))
    cells = {group[:2] for group in models}
    scenarios = [row.pk for row in study.scenarios.all() if (row.task_id, row.shots) in cells]
    seats = study.participations.filter(scenario__in=scenarios).values_list("pk", flat=True)
    answers = frames.scored_answers(study, kind, list(seats))
    contexts = answers.drop_duplicates("example").set_index("example")["context"].to_dict()
    humans = _by_cell(answers, "score")
    rows = []
    for (task, shots, model), predicted in sorted(models.items()):
        people = humans.get((names[task], shots))
        examples = [] if people is None else [pk for pk in people if pk in predicted]
        if people is None or not examples:
            continue
        scores = np.ascontiguousarray(people[examples])
        of_model = np.array([predicted[example] for example in examples])
        runs = compared[task, shots, model]
        rows.append(
            SimpleNamespace(
                task=names[task], shots=shots, model=model, annotators=len(people),
                key=f"{names[task]}/{shots}/{model}",
                in_family=int(all(file.pk in family for file in runs.files)),
                files=tuple(file.pk for file in runs.files), seats=tuple(runs.seats.items()),
                splits=len(runs),
                split_numbers="; ".join(str(number) for number in runs.splits if number),
                training=_training(runs.splits, study.splits, runs.is_equal),
                **_compared(scores, of_model, [contexts[pk] for pk in examples]),
            )
        )  # fmt: skip
    sums = [vars(row).pop("sums") for row in rows]
    flips = significance.sign_flips([part or () for part in sums], study.seed)
    for row, part, p in zip(rows, sums, flips, strict=True):
        row.p_sign_flip = math.nan if part is None else p
    tested.judged([row for row in rows if row.in_family], study.equivalence_margin)
    outside = [row for row in rows if not row.in_family]
    for row in tested.judged(outside, study.equivalence_margin):
        row.p_holm = math.nan
    return sorted(rows, key=lambda row: (place(row.task), row.shots, row.model))


def late(rows: Sequence[SimpleNamespace]) -> str:
    names = sorted({row.model for row in rows if not row.in_family})
    if not names:
        return ""
    return (
        "Uploaded after the study was closed and therefore excluded from the Holm adjustment:"
        f" {', '.join(names)}."
    )


def _compared(scores: np.ndarray, of_model: np.ndarray, contexts: Sequence[str]) -> dict[str, Any]:
    """Compare an annotators x examples matrix with the model and return fields of a row.

    `sums` are those of the contexts, for the sign flip, or None if a score is unknown.
    """
    humans = two_way.row_means(scores.T)
    gaps = list(humans - of_model)
    sums = cluster_sums(gaps, contexts)
    is_known = not np.isnan(gaps).any()
    estimate = two_way.mean_estimate(scores - of_model, contexts)
    return {
        "examples": len(gaps),
        "contexts": len(set(contexts)),
        "human_mean": 100 * float(humans.mean()),
        "model_mean": 100 * float(of_model.mean()),
        "se_clustered": 100 * clustered_se(gaps, contexts),
        "sums": sums if is_known else None,
        "floor": significance.smallest_sign_flip_p(sums) if is_known else math.nan,
        **tested.numbers(estimate),
    }


def pairs(study: Study, kind: str, pairing: SimpleNamespace) -> list[SimpleNamespace]:
    """Return the examples in a pairing, starting with the largest difference.

    `human` is the annotators' mean S1 x 100, and `model` is the model's mean over its splits.
    """
    task = study.tasks.get(name=pairing.task)
    answered = _human_means(study, kind, task, pairing.shots)
    group = (task.pk, pairing.shots, pairing.model)
    predicted = _model_means(pairing.files).get(group, {})
    if pairing.seats:
        seats = dict(pairing.seats)
        answers = frames.answers_in_order(study, Kind.MODEL, Step.ANNOTATION, list(seats))
        predicted = _over_splits(_by_cell(answers, "s1")[pairing.task, pairing.shots], seats)
    paired = []
    for example in task.test_split.examples.all():
        if example.pk in answered and example.pk in predicted:
            human, model = 100 * answered[example.pk], 100 * predicted[example.pk]
            paired.append(
                SimpleNamespace(example=example, human=human, model=model, difference=human - model)
            )
    return sorted(paired, key=lambda pair: (-abs(pair.difference), pair.example.position))


def predicted_texts(pairing: SimpleNamespace, examples: Sequence[Example]) -> dict[int, list]:
    """Map example keys to (predicted set of strings, number of runs), most frequent first."""
    by_example: dict[int, Counter[tuple[str, ...]]] = defaultdict(Counter)
    rows = Prediction.objects.filter(file__in=pairing.files, example__in=examples)
    rows = rows.order_by("file__split_number")
    for example, texts in rows.values_list("example_id", "predicted"):
        by_example[example][tuple(sorted(set(texts)))] += 1
    seats = [participation for participation, _split in pairing.seats]
    answers = Answer.objects.filter(
        turn__participation__in=seats, turn__step=Step.ANNOTATION, turn__example__in=examples
    ).order_by("turn_id")
    for _participation, example, _label, texts, _s1 in given_texts(answers):
        by_example[example][tuple(sorted(set(texts)))] += 1
    return {example: counts.most_common() for example, counts in by_example.items()}


def _human_means(study: Study, kind: str, task: Task, shots: int) -> dict[int, float]:
    """Map example keys to the mean S1 in [0, 1] over the analysed annotators of a cell."""
    counted = study.participations.counted(kind)
    answers = counted.filter(scenario__task=task, scenario__shots=shots).answers()
    return dict(answers.values_list("turn__example_id").annotate(Avg("s1")).order_by())


def _by_cell(answers: pd.DataFrame, value: str) -> dict[tuple[str, int], pd.DataFrame]:
    """Map (task, shots) to a matrix of one value per answer: annotators x examples (keys)."""
    return {
        (task, shots): part.pivot(index="participation", columns="example", values=value)
        for task, shots, part in by_cell(answers)
    }


def _models(study: Study, kind: str) -> tuple[dict[Group, Runs], dict[Group, dict[int, float]]]:
    """Return models' runs and mean scores. Seated models are left out if the kind is models."""
    compared = _compared_files(study)
    means = _model_means([file.pk for runs in compared.values() for file in runs.files])
    means |= _model_parts(compared)
    seated = model_runs.seated_runs(study) if kind != Kind.MODEL else {}
    if seated:
        names = dict(study.tasks.values_list("pk", "name"))
        scores = _by_cell(frames.scored_answers(study, Kind.MODEL), "score")
        for (task, shots, model), seats in seated.items():
            compared[task, shots, model] = Runs(is_equal=True, seats=seats)
            means[task, shots, model] = _over_splits(scores[names[task], shots], seats)
    return compared, means


def _over_splits(scores: pd.DataFrame, seats: dict[int, int | None]) -> dict[int, float]:
    """Average each example's score over the runs on each split, and then over splits."""
    numbers = [split or 0 for split in seats.values()]
    by_split: Any = scores.loc[list(seats)].groupby(numbers).agg(fmean)
    return by_split.agg(fmean).to_dict()


def _compared_files(study: Study) -> dict[Group, Runs]:
    """Return each model's equally trained runs, or else all its runs (compared_files.py)."""
    files = compared_files.files(study)
    equal = equally_trained(study, files)
    rows = files.select_related("model").prefetch_related("task")
    groups = grouped(((file.task_id, file.shots or 0, file.model.name), file) for file in rows)
    return {
        group: Runs(
            is_equal=any(file.pk in equal for file in members),
            files=[file for file in members if file.pk in equal] or members,
        )
        for group, members in groups.items()
    }


def _model_means(files: Sequence[int]) -> dict[Group, dict[int, float]]:
    """Return the mean S1 in [0, 1] per example over these files, by task, shots and model."""
    rows = (
        Prediction.objects.filter(file__in=files)
        .values_list("file__task_id", "file__shots", "file__model__name", "example_id")
        .annotate(Avg("s1"))
        .order_by()
    )
    means: dict[Group, dict[int, float]] = defaultdict(dict)
    for task, shots, model, example, mean in rows:
        means[task, shots, model][example] = mean
    return means


def _training(numbers: Sequence[int | None], of_people: Sequence[int], is_equal: bool) -> str:
    """Describe how the runs' training compares with the humans'. Zero-shot runs have None."""
    if None in numbers:
        return "none"
    if not is_equal:
        return "other splits"
    return "same splits" if set(numbers) == set(of_people) else "some of people's splits"


def _model_parts(compared: dict[Group, Runs]) -> dict[Group, dict[int, float]]:
    """Return each example's contribution to the model's score, for metrics other than S1."""
    tasks = {file.pk: file.task for runs in compared.values() for file in runs.files}
    of_each = {task.pk: task for task in tasks.values()}.values()
    files_of_all = PredictionFile.objects.filter(pk__in=tasks)
    scores = test_sets.file_scores(files_of_all, of_each, is_linear=True)
    parts: dict[Group, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for group, runs in compared.items():
        for test, score in (scores[file.pk] for file in runs.files if file.pk in scores):
            for example, value in zip(test.examples, score.values, strict=True):
                parts[group][example].append(value)
    return {
        group: {example: math.fsum(values) / len(values) for example, values in by_example.items()}
        for group, by_example in parts.items()
    }
