"""The difficulty of test examples, starting with the example that has the lowest mean S1.

Discrimination is computed over humans and models together. Each annotator of the chosen kind counts
as one respondent. So does each model, with its S1 averaged over shots and splits, because the runs
of a model are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from django.db.models import Avg, Case, FloatField, Value, When

from analysis.examples import gold_audit
from analysis.heavy import pd
from analysis.scores import findings
from analysis.scores.columns import table_columns
from analysis.stats import agreement
from annotation.models import Study
from tasks import jobs
from tasks.columns import Column, shots_text
from tasks.models import Example, Job, Prediction, PredictionFile, Task


def columns(shots: Sequence[int]) -> list[Column]:
    mean, n, *others = table_columns("difficulty")
    meaning = "Mean S1 x 100 on this example over the annotators with this number of shots."
    return [mean, n, *_by_shots(shots, "", meaning), *others]


def file_columns(shots: Sequence[int]) -> list[Column]:
    """Return the columns of the CSV: the example, the page's columns, and one per shot count."""
    return [
        Column("example", meaning="id of the example in its file", get="source_id"),
        *columns(shots),
        *_by_shots(shots, "mean_{}_shots", "mean S1 x 100 over the annotators with {} shots"),
    ]


def _by_shots(shots: Sequence[int], name: str, meaning: str) -> list[Column]:
    """Return a column per shot count, which replaces {}. Without a name, it has a heading."""
    return [
        Column(name.format(number), "" if name else shots_text(number), meaning.format(number),
               "S1 x 100", get=partial(lambda place, row: row.by_shots[place], place))
        for place, number in enumerate(shots)
    ]  # fmt: skip


KIND = "examples"
VERSION = [findings.VERSION, 2]  # increase the second whenever the job's results change


def _parameters(study: Study, kind: str) -> dict[str, Any]:
    runs = PredictionFile.objects.filter(task__in=study.tasks.all(), witness=False)
    files = list(runs.order_by("pk").values_list("pk", flat=True))
    return findings.parameters(study, kind) | {"files": files, "version": VERSION}


# The job that computes `hardest` and `doubts`, one task at a time.
job_of = partial(findings.job_by_task, KIND, _parameters)


@jobs.job(KIND)
def _chunk(job: Job, number: int) -> dict[str, list[Any]]:
    study, kind = findings.study_of(job), job.parameters["kind"]
    task = study.tasks.get(name=findings.tasks_of(job.parameters)[number])
    frame = findings.answered(study, kind, task)
    rows = measured(frame, sorted(study.shots), task)
    parts = dict(zip(("rows", "tallies", "doubts"), (rows, *gold_audit.doubts(frame)), strict=True))
    findings.check_inputs(job, _parameters(study, kind))
    return {name: list(map(findings.stored_row, part)) for name, part in parts.items()}


def _stored(study: Study, kind: str) -> dict[str, dict[str, list[Any]]] | None:
    """Return the job's results by task, or None if the job is not done."""
    job = job_of(study, kind)
    if job is None or not job.is_done:
        return None
    return dict(zip(findings.tasks_of(job.parameters), job.result, strict=True))


def doubts(study: Study, kind: str) -> gold_audit.Doubts:
    """Return `gold_audit.doubts` of all tasks, from the job if it is done."""
    stored = _stored(study, kind)
    tallies, rows = [], []
    for task in study.tasks.order_by("name"):
        if stored is None:
            of_task, doubtful = gold_audit.doubts(findings.answered(study, kind, task))
        else:
            results = stored.get(task.name, {})
            of_task, doubtful = (
                [findings.row_of(row) for row in results.get(part, ())]
                for part in ("tallies", "doubts")
            )
        tallies += of_task
        rows += doubtful
    return tallies, rows


def hardest(study: Study, task: Task, kind: str) -> list[SimpleNamespace]:
    """Return one row per answered test example, in ascending order of mean S1."""
    stored = _stored(study, kind)
    if stored is None:
        return measured(findings.answered(study, kind, task), sorted(study.shots), task)
    return list(map(findings.row_of, stored[task.name]["rows"])) if task.name in stored else []


def measured(frame: pd.DataFrame, shots: Sequence[int], task: Task) -> list[SimpleNamespace]:
    """Compute the rows of `hardest` for one task. `frame` comes from `findings.answered`.

    `example` is the primary key. Means and shares are multiplied by 100. Means by shots are None
    without answers. `right` is the share of annotators with S1 = 1, and `right_models` the share of
    models (NaN without models). `item_rest` is computed over all `respondents`, which are
    annotators and models (NaN if undefined).
    """
    examples = frame.groupby("example")
    overall: Any = examples["s1"].agg(["mean", "size"])
    by_shots = frame.groupby(["example", "shots"])["s1"].mean().to_dict()
    right = (frame["s1"] == 1).groupby(frame["example"]).mean()
    models = _models(task)
    right_models = models.groupby("example")["right"].mean().to_dict()
    item_rests, respondents = _item_rests(frame, models)
    names = dict(task.test_split.examples.values_list("pk", "source_id"))
    rows = []
    groups: Iterable[Any] = examples["texts"]
    for example, texts in groups:
        means = [by_shots.get((example, k)) for k in shots]
        pairwise = agreement.pairwise_s1(list(texts))
        row = SimpleNamespace(
            example=example, source_id=names[example], mean=100 * overall.at[example, "mean"],
            n=int(overall.at[example, "size"]), right=float(100 * right[example]),
            by_shots=[None if mean is None else 100 * mean for mean in means],
            pairwise_s1=math.nan if pairwise is None else 100 * pairwise,
            right_models=100 * right_models.get(example, math.nan),
            item_rest=item_rests.get(example, math.nan), respondents=respondents,
        )  # fmt: skip
        rows.append(row)
    return sorted(rows, key=lambda row: _order(row.mean / 100, row.example))


def _models(task: Task) -> pd.DataFrame:
    """Return respondent, example, s1 and right in [0, 1] per model and example, over all runs."""
    is_right = Case(When(s1=1, then=Value(1.0)), default=Value(0.0), output_field=FloatField())
    rows = (
        Prediction.objects.filter(file__task=task, file__witness=False)
        .values_list("file__model__name", "example")
        .annotate(mean=Avg("s1"), right=Avg(is_right))
    )
    records = [
        (f"model {name}", example, s1, right)
        for name, example, s1, right in rows.order_by().iterator(chunk_size=5000)
    ]
    return pd.DataFrame.from_records(records, columns=["respondent", "example", "s1", "right"])


def _item_rests(frame: pd.DataFrame, models: pd.DataFrame) -> tuple[dict[int, float], int]:
    people = frame.rename(columns={"annotator": "respondent"})[["respondent", "example", "s1"]]
    both = pd.concat([people, models[["respondent", "example", "s1"]]])
    matrix = both.pivot(index="respondent", columns="example", values="s1")
    matrix = matrix[sorted(people["example"].unique())].dropna()
    scores = agreement.item_rest(matrix.to_numpy(dtype=float))
    return dict(zip(map(int, matrix.columns), scores, strict=True)), len(matrix)


def _order(mean: float, example: int) -> tuple[float, int]:
    """Return a sort key that puts the hardest example first, rounded to hide summation errors."""
    return round(mean, 9), example


def neighbours(study: Study, example: Example, kind: str) -> tuple[int | None, int | None]:
    """Return the keys of the previous and next example by difficulty, or None at an end."""
    stored = _stored(study, kind)
    if stored is None:
        people = study.participations.counted(kind).filter(scenario__task=example.split.task_id)
        means = people.answers().values_list("turn__example").annotate(Avg("s1"))
        order = [key for key, mean in sorted(means, key=lambda row: _order(row[1], row[0]))]
    else:
        order = [row["example"] for row in stored.get(example.split.task.name, {}).get("rows", ())]
    if example.pk not in order:
        return None, None
    place, around = order.index(example.pk), [None, *order, None]
    return around[place], around[place + 2]
