"""The parts of the report that take long, computed once as a job for all server processes.

Where few answers by people count (findings.is_small) they are computed with the page. Of more there
is a job, which the page itself asks for. Its result is kept under everything that it was made of:
the frozen design, all completed participations and whether they are in the analysis, the files of
predictions, and how many models told of their run. What completed participations answered and what
a file predicts never changes, so it cannot go stale.
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django.conf import settings

from analysis.documents import ceilings, differences, models
from analysis.documents.blocks import Block, Grid, Paragraph, Picture
from analysis.documents.study_record import StudyRecord
from analysis.figures import data as figure_data
from analysis.figures.data import can_draw
from analysis.tables import published
from analysis.tables.findings import is_small
from annotation.models import Kind, ModelRun, Status, Study
from annotation.study import compared_files
from tasks import jobs
from tasks.models import Job


def _has_models(record: StudyRecord) -> bool:
    """Is there a model, in a file or in a seat, or a figure that CLUES printed for a task?"""
    is_published = any(map(published.name_of, record.tasks))
    return bool(record.model_names) or record.has_seated_models or is_published


def pictures(record: StudyRecord) -> list[Block]:
    """Pictures if they can be drawn, else the numbers behind them."""
    if record.analysed.empty:
        return [Paragraph("No annotator has completed the study yet.")]
    shown: list[Block] = []
    for figure in figure_data.page_figures(record.study, Kind.PERSON):
        if figure.name == "models" and not _has_models(record):
            continue
        if figure.why_not:
            shown.append(Paragraph(f"{figure.title}: {figure.why_not}"))
        elif figure_data.can_draw():
            caption = f"{figure.title}. {figure.caption}"
            shown.append(Picture(figure.name, caption, figure.description))
        else:
            grid = Grid.of(figure.title, figure.columns, figure.numbers, [figure.caption])
            shown.append(grid)
    return shown


KIND = "report"
VERSION = 4  # of the parts: raise it when one of them is made otherwise

PARTS: dict[str, Callable[[StudyRecord], list[Block]]] = {
    "uncertainty": differences.uncertainty,
    "agreement": ceilings.agreement,
    "ceilings": ceilings.blocks,
    "figures": pictures,
    "models": models.blocks,
}
BLOCKS: dict[str, type[Paragraph | Grid | Picture]] = {
    block.kind: block for block in (Paragraph, Grid, Picture)
}


def parameters(study: Study) -> dict[str, Any]:
    """What the parts are made of now."""
    people = study.participations.filter(status=Status.COMPLETED).order_by("pk")
    files = compared_files.files(study).order_by("pk")
    rows = people.values_list("scenario__task__name", "scenario__shots", "pk")
    cells: dict[tuple[str, int], list[int]] = {}
    for task, shots, pk in rows:
        cells.setdefault((task, shots), []).append(pk)
    return {
        "study": study.pk,
        "manifest": study.manifest_hash,
        "margin": study.equivalence_margin,
        "seed": study.seed,
        "version": [VERSION, settings.VERSION],
        "pictures": can_draw(),
        "cells": [[task, shots, pks] for (task, shots), pks in cells.items()],
        "counted": list(people.filter(in_analysis=True).values_list("pk", flat=True)),
        "files": [list(row) for row in files.values_list("pk", "model__name")],
        "runs": ModelRun.objects.filter(participation__study=study).count(),
    }


def job_of(study: Study, owner: Any = None) -> Job | None:
    """The job that makes the parts, begun if an owner asks; None where none is needed.

    Where nobody has asked yet, it is a job that is not stored.
    """
    if is_small(study, Kind.PERSON):
        return None
    made_of = parameters(study)
    if owner is not None:
        job = jobs.start(KIND, made_of, total=len(PARTS), owner=owner)
        # Nobody asks any more for what others were made of.
        same = Job.objects.filter(kind=KIND, parameters__study=study.pk).exclude(pk=job.pk)
        jobs.drop(same)
        return job
    begun = jobs.find(KIND, made_of)
    return begun or Job(kind=KIND, parameters=made_of, total=len(PARTS))


@jobs.job(KIND, together=lambda job: range(job.total))
def _chunk(job: Job, number: int) -> list[dict[str, Any]]:
    """One of PARTS."""
    study = Study.objects.filter(pk=job.parameters["study"]).first()
    if study is None:
        raise jobs.JobError("The study is not there any more.")
    blocks = list(PARTS.values())[number](StudyRecord(study))
    # A part is read from the study as it stands: what it stood for must be true afterwards, too.
    if parameters(study) != job.parameters:
        raise jobs.JobError("Who counts, or a model, has changed meanwhile. Open the report again.")
    return [asdict(block) | {"kind": block.kind} for block in blocks]


def parts(record: StudyRecord) -> dict[str, list[Block]]:
    """Each part by its name: as stored, or else computed here and now (for files and programs)."""
    job = job_of(record.study)
    if job is None or not job.is_done:
        return {name: make(record) for name, make in PARTS.items()}
    return {
        name: [_read(block) for block in stored]
        for name, stored in zip(PARTS, job.result, strict=True)
    }


def _read(stored: dict[str, Any]) -> Block:
    values = {name: value for name, value in stored.items() if name != "kind"}
    return BLOCKS[stored["kind"]](**values)
