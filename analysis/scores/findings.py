"""A study's findings as tables: intervals, agreement, aggregates and contrasts.

Each function takes the data frame `answered` (one row per analysed answer) and returns typed rows,
one per task and shot count. columns.toml explains their columns. S1 is multiplied by 100.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from django.core.cache import caches
from django.db.models import QuerySet

from analysis.heavy import pd
from analysis.scores import frames, tested
from analysis.scores.columns import plain
from analysis.scores.means import ceilings, intervals, means
from analysis.scores.test_sets import given_texts, with_scores
from analysis.scores.tested import contrasts
from analysis.stats import agreement, learning
from analysis.stats.learning import GROUP, by_cell
from annotation.models import Participation, Step, Study
from tasks import jobs
from tasks.cards import place
from tasks.columns import grouped
from tasks.metrics import score
from tasks.models import Example, Job, Task

# Maps a column's suffix to the name of the distance used.
# Distances; each has a column in [agreement] in columns.toml.
ALPHAS = {"nominal": "nominal", "jaccard": "Jaccard", "masi": "MASI", "s1": "1 - S1"}
SMALL = 3000  # answers, each of which adds about 0.1 ms to the page
TEXTS = {"task", "annotator", "context", "gold_rule"}


def is_small(study: Study, kind: str) -> bool:
    return study.participations.counted(kind).answers()[: SMALL + 1].count() <= SMALL


def answered(study: Study, kind: str, task: Task | None = None) -> pd.DataFrame:
    """Return one row per analysed answer in the annotation step, for one task or for all tasks.

    Columns: task, shots, annotator, example (key), context (as text), s1 in [0, 1], texts (a
    frozenset; for label tasks, the label), is_label, is_one_choice (a label or a single option),
    gold (list), gold_rule, participation (key), and test_sets.with_scores's score and lowest.
    """
    seats = study.participations.counted(kind)
    if task is not None:
        seats = seats.filter(scenario__task=task)
    return answers_of(study, list(seats.values_list("pk", flat=True)))


def answers_of(study: Study, participations: Sequence[int]) -> pd.DataFrame:
    """Return the same columns as `answered` for the given annotators (participation keys)."""
    cards = {task.pk: task.card for task in study.tasks.all()}
    seats = study.participations.filter(pk__in=participations)
    # Read annotators and examples only once, because decoding their JSON for each answer is slow.
    people = {
        pk: (name, shots, pseudonym, cards[task].kind.is_one_choice, cards[task].gold_rule)
        for pk, name, shots, pseudonym, task in seats.values_list(
            "pk", "scenario__task__name", "scenario__shots", "pseudonym", "scenario__task_id"
        )
    }
    answers = list(given_texts(seats.answers()))
    # Filter by key: given a subquery, PostgreSQL may read all answers for each example.
    rows = Example.objects.filter(pk__in={example for _person, example, *_ in answers}).order_by()
    examples = {
        pk: (str(context), gold) for pk, context, gold in rows.values_list("pk", "context", "gold")
    }
    records = []
    for person, example, label, texts, s1 in answers:
        name, shots, pseudonym, is_one_choice, rule = people[person]
        context, gold = examples[example]
        records.append(
            (
                name, shots, pseudonym, example, context, s1, frozenset(texts), bool(label),
                is_one_choice, gold, rule, person,
            )
        )  # fmt: skip
    columns = [*GROUP, "annotator", "example", "context", "s1", "texts", "is_label"]
    columns += ["is_one_choice", "gold", "gold_rule", "participation"]
    # Share the text objects, because converting them again for each table is slow.
    series = {
        name: pd.Series(column, dtype=object if name in TEXTS else None)
        for name, column in zip(columns, zip(*records, strict=True), strict=False)
    }
    frame = pd.DataFrame(series) if records else pd.DataFrame(columns=columns)
    return with_scores(study, frame)


def row_of(values: dict[str, Any]) -> SimpleNamespace:
    """Return a row from a dict, with NaN for missing values."""
    return SimpleNamespace(
        **{name: math.nan if value is None else value for name, value in values.items()}
    )


def stored_row(row: Any) -> dict[str, Any]:
    """Convert a row to JSON values that `row_of` can read back."""
    return {name: plain(value) for name, value in vars(row).items()}


def agreements(frame: pd.DataFrame, seed: int = 0) -> Iterator[SimpleNamespace]:
    """Yield the mean pairwise S1 x 100 and Krippendorff's alpha under each distance."""
    for task, shots, part in by_cell(frame):
        units = list(part.groupby("example")["texts"].agg(list))
        pairwise = agreement.mean_pairwise_s1(units)
        alphas = {
            f"alpha_{name}": agreement.alpha(units, agreement.DISTANCES[distance])
            for name, distance in ALPHAS.items()
        }
        values = {"pairwise_s1": None if pairwise is None else 100 * pairwise, **alphas}
        n = part["annotator"].nunique()
        yield row_of({"task": task, "shots": shots, "n": n, **values})


def aggregates(frame: pd.DataFrame, seed: int = 0) -> Iterator[SimpleNamespace]:
    """Yield the S1 x 100 of the group's aggregated answers, and its members' mean S1 x 100.

    `dawid_skene` is NaN for tasks without labels, or if there is only one annotator.
    """
    for task, shots, part in by_cell(frame):
        n, units = part["annotator"].nunique(), part.groupby("example")["texts"].agg(list)
        golds = part.drop_duplicates("example").set_index("example").loc[units.index]
        likeliest = math.nan
        if part["is_one_choice"].all():
            answers = [agreement.plurality(unit) or frozenset() for unit in units]
        else:
            answers = [agreement.majority_set(unit) for unit in units]
        if n > 1 and part["is_label"].all():
            likeliest = 100 * _mean_s1(_likeliest(part), golds)
        yield SimpleNamespace(
            task=task, shots=shots, n=n,
            individuals=float(100 * part.groupby("annotator")["s1"].mean().mean()),
            majority=100 * _mean_s1(answers, golds), dawid_skene=likeliest,
        )  # fmt: skip


def _likeliest(part: pd.DataFrame) -> list[frozenset[str]]:
    votes = [
        dict(zip(unit["annotator"], map(list, unit["texts"]), strict=True))
        for _example, unit in part.groupby("example")
    ]
    posteriors, _shares = agreement.dawid_skene(votes)
    return [frozenset([max(chances, key=chances.__getitem__)]) for chances in posteriors]


# Maps a name to the function that computes the table.
TABLES: dict[str, Callable[[pd.DataFrame, int], Iterable[Any]]] = {
    "intervals": intervals,
    "agreement": agreements,
    "aggregates": aggregates,
    "ceiling": ceilings,
    "contrasts": contrasts,
}


def remembered(key: list[Any], make: Callable[[], Any]) -> Any:
    """Return `make()`, cached in this process for an hour. Erasing data does not clear the cache.

    `key` is a list of JSON-like values that starts with the name of the data.
    """
    digest = hashlib.sha256(repr(key).encode()).hexdigest()
    return caches["process"].get_or_set(digest, make, timeout=3600)


def _mean_s1(answers: list[frozenset[str]], golds: pd.DataFrame) -> float:
    scores = [
        score(answer, gold, rule).s1
        for answer, gold, rule in zip(answers, golds["gold"], golds["gold_rule"], strict=True)
    ]
    return math.fsum(scores) / len(scores)


# The job that computes the tables of the analysis page, once for all server processes. Resampling
# takes seconds, whereas the other tables can be computed immediately. A result is stored under its
# inputs: the frozen design, the seed and the annotators in the analysis. It cannot become stale,
# because their answers never change, and excluding an annotator changes the inputs.

KIND = "bootstrap"
VERSION = 8  # increase this whenever the computation of any result changes
# Tables in a chunk for one task and shot count. The final chunks cover one task each.
CELL_TABLES = ("intervals", "agreement", "aggregates", "ceiling")
TASK_TABLE = "contrasts"
FAST_TABLES = ("agreement", "aggregates", "ceiling")


def parameters(
    study: Study, kind: str, people: QuerySet[Participation] | None = None
) -> dict[str, Any]:
    """Return the inputs of the tables. `cells` contains (task, shots, participation keys)."""
    people = study.participations.counted(kind) if people is None else people
    rows = people.order_by("scenario__task__name", "scenario__shots", "pk")
    seats = rows.values_list("pk", "scenario__task__name", "scenario__shots")
    cells = grouped(((task, shots), pk) for pk, task, shots in seats)
    return {
        "study": study.pk,
        "manifest": study.manifest_hash,
        "kind": kind,
        "version": VERSION,
        "margin": study.equivalence_margin,
        "cells": [[task, shots, pks] for (task, shots), pks in cells.items()],
    }


def job_of(study: Study, kind: str, owner: Any = None) -> Job | None:
    """Return the job that computes these tables, or None if no annotator is in the analysis.

    If `owner` is given, a missing job is started. Otherwise, it is returned without being saved.
    """
    made_of = parameters(study, kind)
    return job_for(KIND, study, made_of, len(made_of["cells"]) + len(tasks_of(made_of)), owner)


def job_for(work: str, study: Study, made_of: dict[str, Any], total: int, owner: Any) -> Job | None:
    """Return the job of the given kind with the given inputs, in the same way as `job_of`."""
    if not total:
        return None
    if owner is not None:
        job = jobs.start(work, made_of, total=total, seed=study.seed, owner=owner)
        # Delete jobs with older inputs if they are unfinished or if their results are large.
        older = Job.objects.filter(kind=work, parameters__study=study.pk)
        older = older.filter(parameters__kind=made_of["kind"]).exclude(pk=job.pk)
        jobs.drop(older.exclude(kind=KIND, state=Job.State.DONE))
        return job
    existing = jobs.find(work, made_of, study.seed)
    return existing or Job(kind=work, parameters=made_of, seed=study.seed, total=total)


def job_by_task(
    work: str, inputs: Callable[[Study, str], dict[str, Any]], study: Study, kind: str,
    owner: Any = None,
) -> Job | None:  # fmt: skip
    """Return a job with one chunk per task, or None if there are few answers."""
    if is_small(study, kind):
        return None
    made_of = inputs(study, kind)
    return job_for(work, study, made_of, len(tasks_of(made_of)), owner)


def waiting(job: Job | None) -> Job | None:
    return None if job is None or job.is_done else job


def tasks_of(made_of: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(task for task, _shots, _pks in made_of["cells"]))


def study_of(job: Job) -> Study:
    """Return the study a job belongs to, or raise JobError if it has been deleted."""
    study = Study.objects.filter(pk=job.parameters["study"]).first()
    if study is None:
        raise jobs.JobError("The study no longer exists.")
    return study


def check_inputs(job: Job, now: dict[str, Any]) -> None:
    """Raise JobError if the job's inputs changed while a chunk was reading the current study."""
    if now != job.parameters:
        message = "The annotators or models have changed. Open the page again, or try again."
        raise jobs.JobError(message)


@jobs.job(KIND)
def _chunk(job: Job, number: int) -> dict[str, list[dict[str, Any]]]:
    made_of, cells = job.parameters, job.parameters["cells"]
    study = study_of(job)
    names: tuple[str, ...]
    if number < len(cells):
        names, seats = CELL_TABLES, cells[number][2]
    else:
        task, names = tasks_of(made_of)[number - len(cells)], (TASK_TABLE,)
        seats = [pk for name, _shots, pks in cells if name == task for pk in pks]
    frame = answers_of(study, seats)
    return {name: list(map(stored_row, TABLES[name](frame, job.seed))) for name in names}


def stored(job: Job) -> dict[str, list[SimpleNamespace]]:
    rows = {
        name: sorted(
            (row_of(row) for part in job.result for row in part.get(name, [])),
            key=lambda row: place(row.task),  # keeps the cells of a task in order
        )
        for name in TABLES
    }
    tested.judged(rows[TASK_TABLE], job.parameters["margin"])
    return rows


def available_tables(study: Study, kind: str) -> tuple[dict[str, Any], Job | None]:
    """Return the tables that do not require a job, and the job for the others (or None)."""
    job = job_of(study, kind)
    if job is not None and job.is_done:
        return stored(job), None
    now = _computed(study, answered(study, kind), FAST_TABLES) if is_small(study, kind) else {}
    return now, job


def tables(
    study: Study, kind: str, *names: str, frame: pd.DataFrame | None = None
) -> dict[str, list[SimpleNamespace]]:
    """Return all tables or those in `names`. They are computed now unless their job is done."""
    job = job_of(study, kind)
    if job is not None and job.is_done:
        return stored(job)
    answers = answered(study, kind) if frame is None else frame
    return _computed(study, answers, names or tuple(TABLES))


def _computed(
    study: Study, frame: pd.DataFrame, names: tuple[str, ...]
) -> dict[str, list[SimpleNamespace]]:
    rows = {name: list(TABLES[name](frame, study.seed)) for name in names}
    tested.judged(rows.get(TASK_TABLE, []), study.equivalence_margin)
    return rows


# The job that computes the figures. It stores means without resampling, and annotators' scores.

CURVES = "curves"
CURVES_OF = ("shots", "learning", "drift")
Curve = tuple[Any, list[SimpleNamespace]]  # a data frame of scores, and the rows computed from it


def curves_job(study: Study, kind: str, owner: Any = None) -> Job | None:
    """Return the job that computes the curves, like `job_of`, or None if there are few answers."""
    if is_small(study, kind):
        return None
    made_of = parameters(study, kind)
    return job_for(CURVES, study, made_of, len(made_of["cells"]), owner)


def curve(study: Study, kind: str, name: str, seats: Collection[int] | None = None) -> Curve:
    """Return a figure's scores by annotator, and its numbers with one row per task and shot count.

    `name` is one of CURVES_OF. Unless their job is done, the numbers are computed now, and only for
    the cells of the annotators in `seats` (participation keys; all by default).
    """
    job = curves_job(study, kind)
    if job is None or not job.is_done:
        return _measured(study, kind, name, seats)
    parts = [part[name] for part in job.result]
    columns: dict[str, list[Any]] = {}
    for scores, _rows in parts:
        for column, values in scores:
            numbers = (math.nan if value is None else value for value in values)
            columns.setdefault(column, []).extend(numbers)
    rows = [row_of(row) for _scores, group in parts for row in group]
    rows.sort(key=lambda row: (place(row.task), row.shots))
    return pd.DataFrame(columns).sort_values(GROUP, kind="stable"), rows


def _measured(study: Study, kind: str, name: str, seats: Collection[int] | None = None) -> Curve:
    if name == "shots":
        answers = frames.scored_answers(study, kind, seats)
        people = answers.groupby([*GROUP, "annotator"])["score"].mean().reset_index()
        return people, means(answers)
    step = Step.TRAINING if name == "learning" else Step.ANNOTATION
    answers = frames.answers_in_order(study, kind, step, seats)
    if name == "learning":
        return learning.by_block(answers), list(learning.learning_rows(answers, study.seed))
    return learning.by_part(answers), list(learning.drift_rows(answers))


@jobs.job(CURVES)
def _curves(job: Job, number: int) -> dict[str, list[Any]]:
    study, (_task, _shots, seats) = study_of(job), job.parameters["cells"][number]
    curves = {name: _measured(study, job.parameters["kind"], name, seats) for name in CURVES_OF}
    check_inputs(job, parameters(study, job.parameters["kind"]))
    return {
        name: [
            # Use pairs, because PostgreSQL does not preserve the order of keys.
            [[column, list(map(plain, scores[column]))] for column in scores],
            list(map(stored_row, rows)),
        ]
        for name, (scores, rows) in curves.items()
    }
