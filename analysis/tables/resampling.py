"""The tables of the analysis page as a job: computed in chunks once, for all server processes.

Resampling takes seconds, so nothing waits for it: the tables that need none are computed at once.
A result is kept under everything that it was made of: the frozen design, the seed and the very
participations that counted. Their answers never change, so a result cannot go stale; an exclusion
asks for another one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from analysis.heavy import pd
from analysis.tables import tested
from analysis.tables.columns import plain
from analysis.tables.findings import (
    ROWS,
    TABLES,
    Finding,
    answered,
    answers_of,
    counted,
    is_small,
)
from annotation.models import Study
from tasks import jobs
from tasks.models import Job
from tasks.paper import place

KIND = "bootstrap"
VERSION = 7  # of the figures: raise it when one of them is computed otherwise
# What a chunk of one task and number of shots gives, and what the last chunks give for each task.
OF_CELL = ("intervals", "agreement", "aggregates", "ceiling")
OF_TASK = "contrasts"
AT_ONCE = ("agreement", "aggregates", "ceiling")


def parameters(study: Study, kind: str) -> dict[str, Any]:
    """What the tables of that kind are made of now; `cells` are task, shots and participations."""
    cells: dict[tuple[str, int], list[int]] = {}
    rows = counted(study, kind).order_by("scenario__task__name", "scenario__shots", "pk")
    for pk, task, shots in rows.values_list("pk", "scenario__task__name", "scenario__shots"):
        cells.setdefault((task, shots), []).append(pk)
    return {
        "study": study.pk,
        "manifest": study.manifest_hash,
        "kind": kind,
        "version": VERSION,
        "margin": study.equivalence_margin,
        "cells": [[task, shots, pks] for (task, shots), pks in cells.items()],
    }


def job_of(study: Study, kind: str, owner: Any = None) -> Job | None:
    """The job that makes these tables, begun if an owner asks; None where nobody has completed.

    Where nobody has asked yet, it is a job that is not stored.
    """
    made_of = parameters(study, kind)
    total = len(made_of["cells"]) + len(_tasks(made_of))
    if not total:
        return None
    if owner is not None:
        job = jobs.start(KIND, made_of, total=total, seed=study.seed, owner=owner)
        # Nobody asks any more for what others were made of, unless it is there already.
        same = Job.objects.filter(kind=KIND, parameters__study=study.pk, parameters__kind=kind)
        same.exclude(pk=job.pk).exclude(state=Job.State.DONE).delete()
        return job
    begun = jobs.find(KIND, made_of, study.seed)
    return begun or Job(kind=KIND, parameters=made_of, seed=study.seed, total=total)


def _tasks(made_of: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(task for task, _shots, _pks in made_of["cells"]))


@jobs.job(KIND, together=lambda job: range(job.total))
def _chunk(job: Job, number: int) -> dict[str, list[dict[str, Any]]]:
    """The rows of one task and number of shots; after all of these, the contrasts of one task."""
    made_of, cells = job.parameters, job.parameters["cells"]
    study = Study.objects.filter(pk=made_of["study"]).first()
    if study is None:
        raise jobs.JobError("The study is not there any more.")
    names: tuple[str, ...]
    if number < len(cells):
        names, chosen = OF_CELL, cells[number][2]
    else:
        task = _tasks(made_of)[number - len(cells)]
        names, chosen = (
            (OF_TASK,),
            [pk for name, _shots, pks in cells if name == task for pk in pks],
        )
    frame = answers_of(study, chosen)
    return {name: [_stored(row) for row in TABLES[name](frame, job.seed)] for name in names}


def stored(job: Job) -> dict[str, Sequence[Finding]]:
    """The tables of a job that is done."""
    rows: dict[str, Any] = {
        name: sorted(
            (_read(name, row) for part in job.result for row in part.get(name, [])),
            key=lambda row: place(row.task),  # the cells of a task are in order
        )
        for name in TABLES
    }
    return rows | {OF_TASK: tested.judged(rows[OF_TASK], job.parameters["margin"])}


def at_once(study: Study, kind: str) -> dict[str, Sequence[Finding]]:
    """The tables that need no resampling; of a study that is not small the job makes them too."""
    if not is_small(study, kind):
        return {}
    return _computed(study, answered(study, kind), AT_ONCE)


def tables(
    study: Study, kind: str, *names: str, frame: pd.DataFrame | None = None
) -> dict[str, Sequence[Finding]]:
    """All tables, or these: as stored, or else computed here and now (for files and programs).

    `frame` is what `findings.answered` returns, where the caller has read it.
    """
    job = job_of(study, kind)
    if job is not None and job.is_done:
        return stored(job)
    answers = answered(study, kind) if frame is None else frame
    return _computed(study, answers, names or tuple(TABLES))


def _computed(
    study: Study, frame: pd.DataFrame, names: tuple[str, ...]
) -> dict[str, Sequence[Finding]]:
    rows: dict[str, Any] = {name: TABLES[name](frame, study.seed) for name in names}
    if OF_TASK in rows:
        rows[OF_TASK] = tested.judged(rows[OF_TASK], study.equivalence_margin)
    return rows


def _stored(row: Any) -> dict[str, Any]:
    """The row as JSON has it."""
    return {name: plain(value) for name, value in asdict(row).items()}


def _read(table: str, values: dict[str, Any]) -> Finding:
    """A stored row with NaN where it has none."""
    known: dict[str, Any] = {
        name: math.nan if value is None else value for name, value in values.items()
    }
    return ROWS[table](**known)
