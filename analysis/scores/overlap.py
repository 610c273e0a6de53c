"""Annotators who make the same errors as a model, with one row per annotator and model.

The models are those whose predictions are compared with the study and those that took a seat. Files
uploaded as having seen the test set are excluded, but not those that may have seen it. A row only
suggests a review and never has an automatic effect.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from analysis.heavy import np
from analysis.scores import findings
from analysis.scores.columns import Table, between, table_columns
from analysis.scores.test_sets import TestFile, given_texts
from analysis.stats import error_overlap
from analysis.stats.agreement import plurality
from analysis.stats.error_overlap import UNKNOWN
from analysis.stats.significance import holm
from annotation.models import Kind, Participation, Status, Study
from annotation.study import compared_files
from tasks import jobs
from tasks.cards import place
from tasks.columns import NOTHING
from tasks.models import Job, Prediction
from tasks.models.predictions import Seen

OFTEN, AS_EXPECTED = "more often than expected", "as expected"
ALARMS = 0.01  # false-alarm rate per model over all annotators of a cell


Given = frozenset[str] | None  # a wrong answer, or None if it is correct
Answers = dict[int, Given]  # by example
Models = dict[tuple[str, str], Answers]  # by (name, source)


def table(
    study: Study, kind: str, annotator: Participation | None = None, task: str = ""
) -> list[SimpleNamespace]:
    """Return one row per annotator and model, for annotators of one kind who completed the study.

    Excluded annotators are included. `p_holm` is corrected over the annotators in the cell, and
    `agrees` says whether the errors agree more often than expected. If `annotator` or `task` is
    given, only the rows for that cell or task are returned.
    """
    if kind == Kind.MODEL or not compared_files.has_models(study):
        return []
    job = findings.job_by_task(KIND, parameters, study, kind)
    if job is None or not job.is_done:
        return _rows(study, kind, annotator, task)
    rows = [findings.row_of(values) for part in job.result for values in part]
    rows.sort(key=lambda row: (place(row.task), row.shots))
    cell = annotator and (annotator.scenario.task.name, annotator.scenario.shots)
    return [r for r in rows if task in ("", r.task) and cell in (None, (r.task, r.shots))]


KIND = "overlap"


def job_of(study: Study, kind: str, owner: Any = None) -> Job | None:
    """Return the job that computes the table, or None without models or with few answers."""
    if kind == Kind.MODEL or not compared_files.has_models(study):
        return None
    return findings.job_by_task(KIND, parameters, study, kind, owner)


def parameters(study: Study, kind: str) -> dict[str, Any]:
    """Return whatever can change about completed participations and the models' answers."""
    completed = study.participations.filter(status=Status.COMPLETED).in_cells().order_by("pk")
    models = completed.filter(kind=Kind.MODEL).values_list("pk", "worker__model__name")
    files = compared_files.for_overlap(study).order_by("pk")
    return findings.parameters(study, kind, completed.filter(kind=kind)) | {
        "version": findings.VERSION + 1,  # of the rows, which include the fields of Overlap
        "models": list(map(list, models)),
        "files": list(map(list, files.values_list("pk", "model__name", "seen_test"))),
    }


@jobs.job(KIND, limit=timedelta(minutes=30))  # permutation tests with hundreds of annotators
def _chunk(job: Job, number: int) -> list[dict[str, Any]]:
    study, kind = findings.study_of(job), job.parameters["kind"]
    rows = _rows(study, kind, task=findings.tasks_of(job.parameters)[number])
    findings.check_inputs(job, parameters(study, kind))
    return list(map(findings.stored_row, rows))


def _rows(
    study: Study, kind: str, annotator: Participation | None = None, task: str = ""
) -> list[SimpleNamespace]:
    models, cells = _models(study), defaultdict[tuple[str, int], dict[int, str]](dict)
    people = study.participations.filter(kind=kind, status=Status.COMPLETED).in_cells()
    tasks = models.keys() & {task} if task else models
    people = people.filter(scenario__task__name__in=tasks).order_by("pseudonym")
    if annotator:
        cell = annotator.scenario
        people = people.filter(scenario__task=cell.task_id, scenario__shots=cell.shots)
    fields = people.values_list("pk", "scenario__task__name", "scenario__shots", "pseudonym")
    for pk, task, shots, name in fields:
        cells[task, shots][pk] = name
    errors = _errors(study, [pk for group in cells.values() for pk in group])
    return [
        row
        for (task, shots), names in sorted(cells.items(), key=lambda c: (place(c[0][0]), c[0][1]))
        for row in _cell_rows(study, task, shots, names, errors, models[task])
    ]


def agreeing(study: Study, kind: str, task: str = "") -> set[int]:
    return {row.participation for row in table(study, kind, task=task) if row.agrees}


def _errors(study: Study, participations: list[int]) -> dict[int, Answers]:
    seats = study.participations.filter(pk__in=participations)
    errors: dict[int, Answers] = defaultdict(dict)
    wrong = seats.answers().filter(s1__lt=1)
    for participation, example, _label, texts, _s1 in given_texts(wrong):
        errors[participation][example] = frozenset(texts)
    return errors


def _models(study: Study) -> dict[str, Models]:
    """Return each model's answers by task, using the answer given by most runs for each example."""
    runs: dict[tuple[str, str, str], dict[int, list[Given]]] = defaultdict(
        lambda: defaultdict(list)
    )
    files = compared_files.for_overlap(study).exclude(seen_test=Seen.YES).order_by()
    uploaded = Prediction.objects.filter(file__in=files).values_list(
        "file__task__name", "file__model__name", "file__witness", "example_id", "predicted", "s1"
    )
    for task, model, witness, example, texts, s1 in uploaded.iterator(chunk_size=5000):
        source = "witness" if witness else "uploaded"
        runs[task, model, source][example].append(None if s1 == 1 else frozenset(texts))
    seats = study.participations.filter(kind=Kind.MODEL, status=Status.COMPLETED).in_cells()
    seats = seats.exclude(worker__model=None)
    seated = list(seats.values_list("pk", "scenario__task", "worker__model__name"))
    errors = _errors(study, [pk for pk, *_of in seated])
    tasks = study.tasks.all() if seated else ()
    tests = {task.pk: (task.name, TestFile(task).examples) for task in tasks}
    for pk, of, model in seated:
        task, examples = tests[of]
        for example in examples:
            runs[task, model, "seated"][example].append(errors[pk].get(example))
    models: dict[str, Models] = defaultdict(dict)
    for (task, model, source), by_example in sorted(runs.items()):
        models[task][model, source] = {
            example: answer[0]
            for example, given in by_example.items()
            if (answer := plurality([(text,) for text in given]))  # None for a tie
        }
    return models


def _cell_rows(
    study: Study, task: str, shots: int, names: dict[int, str], errors: dict[int, Answers],
    models: Models,
) -> Iterator[SimpleNamespace]:  # fmt: skip
    sets = [errors[pk] for pk in names]
    examples = sorted({example for given in (*sets, *models.values()) for example in given})
    numbers: list[dict[Any, int]] = [{NOTHING: UNKNOWN, None: 0} for _example in examples]

    def codes(given: Answers) -> list[int]:
        """Return 0 for correct answers, and a different number for each distinct wrong answer."""
        answers = zip(numbers, (given.get(example, NOTHING) for example in examples), strict=True)
        return [of.setdefault(answer, len(of) - 1) for of, answer in answers]

    people = np.maximum([codes(given) for given in sets], 0)  # all other answers are correct
    wrong = np.array([codes(of) for of in models.values()])
    key = ["overlap", study.seed, len(people), people.tobytes(), wrong.tobytes()]
    results = findings.remembered(key, lambda: error_overlap.overlaps(people, wrong, study.seed))
    for (model, source), overlaps in zip(models, results, strict=True):
        corrected = holm([overlap.p for overlap in overlaps])
        for (pk, name), overlap, p in zip(names.items(), overlaps, corrected, strict=True):
            yield SimpleNamespace(
                task=task, shots=shots, annotator=name, participation=pk, model=model,
                source=source, p_holm=p, agrees=p < ALARMS,
                result=overlap.why_not or (OFTEN if p < ALARMS else AS_EXPECTED),
                interval=between([100 * overlap.low, 100 * overlap.high]), **vars(overlap),
            )  # fmt: skip


COLUMNS = table_columns(
    "overlap",
    {"often": OFTEN, "alarms": ALARMS},
    telling_shares=lambda row: f"{row.telling_same} of {row.telling}",
)
BRIEF = [c for c in COLUMNS if c.name in ("model", "result", "share", "others", "p_holm")]
OVERLAP = Table(
    "overlap", "Error overlap with models", COLUMNS, table,
    {"often": OFTEN, "expected": AS_EXPECTED, "alarms": f"{ALARMS:.0%}"},
)  # fmt: skip
