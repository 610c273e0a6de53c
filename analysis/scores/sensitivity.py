"""Sensitivity to exclusions: the human-performance cells recomputed under other inclusion rules.

The main table includes annotators who completed and are in the analysis. Each rule here excludes
more of them, or includes manually excluded ones. A cell that changes substantially is not robust.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from analysis.heavy import np, pd
from analysis.scores import findings, frames, marks, overlap
from analysis.scores.columns import assuming, between, mean_and_sd, table_columns
from analysis.scores.means import lowest_of
from analysis.scores.test_sets import with_scores
from analysis.stats import two_way
from analysis.stats.learning import by_cell
from annotation.models import Status, Study
from annotation.monitoring import flags
from tasks import cards, jobs
from tasks.columns import NOTHING
from tasks.models import Example, Job

QUESTIONS = ("seen_before", "ai_used")  # questions of the exit questionnaire
FLAGS = ("flagged", "failed_checks", "by_program")
UNLIKE_MODELS = "errors_unlike_models"


class Rule(NamedTuple):
    """An inclusion criterion, as explained in criteria.toml."""

    name: str
    label: str
    condition: str
    needs: str


_STATED = tomllib.loads(Path(__file__).with_name("criteria.toml").read_text("utf-8"))
TRAINING, SECONDS = (_STATED[name]["minimums"] for name in ("training_s1>=", "median_seconds>="))
RULES = [
    Rule(
        f"{name}{minimum}",
        stated["label"].format(minimum=minimum),
        stated["condition"].format(minimum=minimum),
        stated.get("needs", ""),
    )
    for name, stated in _STATED.items()
    for minimum in stated.get("minimums", [""])
]


def given(study: Study, kind: str, task: str = "") -> pd.DataFrame:
    """Return answers by annotators who completed: participation, example (keys), s1, seconds."""
    completed = study.participations.filter(status=Status.COMPLETED, kind=kind).in_cells()
    if task:
        completed = completed.filter(scenario__task__name=task)
    rows = completed.answers().values_list(
        "turn__participation_id", "turn__example_id", "s1", "active_seconds"
    )
    # Read into arrays, because a million answers take far more memory as Python rows.
    fields = [("participation", "i8"), ("example", "i8"), ("s1", "f8"), ("seconds", "f8")]
    return pd.DataFrame(np.fromiter(rows.iterator(chunk_size=5000), dtype=fields))


def people(study: Study, kind: str, task: str = "") -> pd.DataFrame:
    """Return the annotators of one kind who completed, including excluded ones.

    Columns: participation (key), task, shots, annotator, analysed (bool), score, training_s1 (NaN
    for zero-shot), seen_before and ai_used (yes, no, unsure, or "" if not answered), failed_checks
    and flagged (bool: any of the quality flags in annotators.csv), by_program (bool: a person with
    an answer sent through the API), errors_agree (bool: errors agree with a model's more often than
    expected, see overlap.py; only for annotators in `task`, if given).
    """
    columns = ["participation", "in_analysis", *QUESTIONS, *FLAGS]
    facts = pd.DataFrame(_facts(study, kind), columns=columns)
    frame = frames.annotators(study).merge(facts, on="participation")
    frame = frame.fillna(dict.fromkeys(QUESTIONS, ""))
    frame = frame.astype(dict.fromkeys(("analysed", *FLAGS), bool))
    frame["errors_agree"] = frame["participation"].isin(overlap.agreeing(study, kind, task))
    columns = ["participation", "task", "shots", "annotator", "analysed", "score", "training_s1"]
    return frame[[*columns, *QUESTIONS, *FLAGS, "errors_agree"]]


def _facts(study: Study, kind: str) -> list[list[Any]]:
    """Return the key, in_analysis, QUESTIONS and FLAGS of each annotator who completed."""
    people = study.participations.filter(status=Status.COMPLETED, kind=kind).in_cells()
    raised = {pk: reasons for pk, (_summary, reasons) in flags.for_study(study).items()}
    programs = set(marks.by_program(study).values_list("pk", flat=True))
    answers = (f"exit_answers__{question}" for question in QUESTIONS)
    return [
        [pk, *values, bool(raised.get(pk)), "checks" in raised.get(pk, {}), pk in programs]
        for pk, *values in people.order_by("pk").values_list("pk", "in_analysis", *answers)
    ]


# A matrix of scores for a task and shot count (participations x examples, by key), the examples'
# contexts, and the lowest possible score under the metric.
Scores = tuple[Any, list[str], float]


def scores(
    study: Study, people: pd.DataFrame, answers: pd.DataFrame
) -> dict[tuple[str, int], Scores]:
    examples = Example.objects.filter(pk__in=answers["example"].unique().tolist())
    contexts = {pk: str(context) for pk, context in examples.values_list("pk", "context")}
    seats = people.set_index("participation")
    # Use objects; otherwise, each table would create the same few names again.
    names = answers["participation"].map(seats["task"].astype(object))
    answers = answers.assign(task=names, shots=answers["participation"].map(seats["shots"]))
    cells = {}
    for task, shots, part in by_cell(with_scores(study, answers)):
        matrix = part.pivot(index="participation", columns="example", values="score")
        own_contexts = [contexts[int(key)] for key in matrix.columns]
        cells[task, shots] = matrix, own_contexts, lowest_of(part)
    return cells


COLUMNS = table_columns("sensitivity")


def table(study: Study, kind: str) -> list[SimpleNamespace]:
    return available_rows(study, kind, waits=False)[0]


def available_rows(
    study: Study, kind: str, waits: bool = True
) -> tuple[list[SimpleNamespace], Job | None]:
    """Return the table or, if `waits` is set, possibly no rows and the job that computes them."""
    job = job_of(study, kind)
    if job is not None and job.is_done:
        order = [rule.name for rule in RULES]
        results = [findings.row_of(values) for part in job.result for values in part]
        # Chunks omit this rule if no errors agree in their task, as it then keeps all annotators.
        tasks = {row.task for row in results if row.rule == UNLIKE_MODELS}
        kept = [row for row in results if row.rule == order[0] and row.task not in tasks]
        results += [SimpleNamespace(**vars(row) | {"rule": UNLIKE_MODELS}) for row in kept if tasks]
        results.sort(key=lambda row: (order.index(row.rule), cards.place(row.task), row.shots))
        return results, None
    if job is not None and waits:
        return [], job
    return list(rows(study, people(study, kind), given(study, kind))), None


KIND = "sensitivity"


def parameters(study: Study, kind: str) -> dict[str, Any]:
    """Return whatever can change about completed participations and the models' answers."""
    return overlap.parameters(study, kind) | {"facts": _facts(study, kind)}


job_of = partial(findings.job_by_task, KIND, parameters)


@jobs.job(KIND, limit=timedelta(minutes=30))  # permutation tests with hundreds of annotators
def _chunk(job: Job, number: int) -> list[dict[str, Any]]:
    study, kind = findings.study_of(job), job.parameters["kind"]
    task = findings.tasks_of(job.parameters)[number]
    results = rows(study, people(study, kind, task), given(study, kind, task))
    findings.check_inputs(job, parameters(study, kind))
    return list(map(findings.stored_row, results))


def rows(study: Study, frame: pd.DataFrame, answers: pd.DataFrame) -> Iterator[SimpleNamespace]:
    """Yield one row per rule, task with answers, and shot count, from `people` and `given`."""
    medians = answers.groupby("participation")["seconds"].median()
    frame = frame.assign(
        median_seconds=frame["participation"].map(medians),
        reported=frame["seen_before"].ne("") | frame["ai_used"].ne(""),
    )
    matrices = scores(study, frame[frame["participation"].isin(answers["participation"])], answers)
    numbers = ["participation", "score"]
    cells = [
        (task, shots, part[numbers], list(part.index))
        for task, shots, part in by_cell(frame[["task", "shots", *numbers]])
        if (task, shots) in matrices
    ]
    cache: dict[tuple[Any, ...], SimpleNamespace] = {}  # most rules keep the same annotators
    for rule in RULES:
        if rule.needs and not frame[rule.needs].any():
            continue
        included = set(frame.query(rule.condition).index)
        for task, shots, group, rows_of_cell in cells:
            key = task, shots, *sorted(included.intersection(rows_of_cell))
            if key not in cache:
                remaining = group[group.index.isin(included)]
                cache[key] = _row(task, shots, remaining, len(group), matrices[task, shots])
            yield SimpleNamespace(**vars(cache[key]), rule=rule.name)


def _row(
    task: str, shots: int, part: pd.DataFrame, completed: int, scores: Scores
) -> SimpleNamespace:
    """Return the cell x 100 for these annotators (NaN if undefined), without the rule's name."""
    values, n = 100 * part["score"], len(part)
    matrix, contexts, lowest = scores
    rows = np.ascontiguousarray(matrix.loc[part["participation"]])
    estimate = two_way.mean_estimate(rows, contexts)
    low, high = 100 * np.clip(estimate.interval(), lowest, 1)
    mean = float(values.mean(skipna=False))
    sd, sd0 = (float(values.std(ddof=ddof, skipna=False)) for ddof in (1, 0))
    interval = assuming(between((low, high, estimate.why_not)), n)
    return SimpleNamespace(
        task=task, shots=shots, mean=mean, sd_ddof1=sd, sd_ddof0=sd0, n=n, completed=completed,
        low=float(low), high=float(high), why_not=estimate.why_not,
        text=f"{mean_and_sd(mean, sd)} (n={n}), {interval}" if n else f"{NOTHING} (n=0)",
    )  # fmt: skip


def task_tables(rows: list[SimpleNamespace]) -> list[SimpleNamespace]:
    """Return rules x shots for each task. Cells contain their text and whether the rule changed it.

    `groups` pairs each distinct row of cells with its rules, merging their minimums.
    """
    cells = {(row.task, row.rule, row.shots): row.text for row in rows}
    tables = []
    for task in dict.fromkeys(row.task for row in rows):
        shots = sorted({row.shots for row in rows if row.task == task})
        reported = [cells[task, RULES[0].name, number] for number in shots]
        lines = []
        groups: dict[tuple[tuple[str, bool], ...], dict[str, list[str]]] = {}
        for rule in (rule for rule in RULES if (task, rule.name, shots[0]) in cells):
            texts = [cells[task, rule.name, number] for number in shots]
            marked = [(text, text != first) for text, first in zip(texts, reported, strict=True)]
            lines.append((rule.label, marked))
            words, sign, minimum = rule.label.partition("≥ ")
            groups.setdefault(tuple(marked), {}).setdefault(words + sign, []).append(minimum)
        labelled = [
            (marked, [words + ", ".join(minimums) for words, minimums in rules.items()])
            for marked, rules in groups.items()
        ]
        tables.append(SimpleNamespace(task=task, shots=shots, lines=lines, groups=labelled))
    return tables
