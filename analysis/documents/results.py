"""The slow parts of the report, cached as the result of a job.

If the analysis contains only a few answers (findings.is_small), these parts are computed with the
page. Otherwise, the page starts a job. Its key includes the frozen design, the completed
participations and whether they are in the analysis, the prediction files, the number of model runs,
and the inputs of inclusion criteria. A stored result cannot become stale, because completed
participations and files never change.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import Any

from django.conf import settings

from analysis.cross_task import cross_task, learners, upstream
from analysis.documents.blocks import Block, Bullets, Grid, Paragraph, Picture, meanings
from analysis.documents.study_record import StudyRecord
from analysis.documents.wording import shots_of, table_note
from analysis.examples import gold_audit
from analysis.figures import data as figure_data
from analysis.figures.data import Figure, can_draw
from analysis.models import differences, model_runs, models_columns
from analysis.scores import (
    attrition,
    findings,
    findings_columns,
    means,
    metrics,
    sensitivity,
)
from analysis.scores.anchors import ANCHORS, QUESTION_ALONE
from analysis.scores.attrition import ADMISSION, ATTRITION
from analysis.scores.columns import Noted, Table, in_results_order, table_columns
from analysis.scores.confidence import CALIBRATION, CONFIDENCE
from analysis.scores.findings import is_small, study_of
from analysis.scores.markup import ASSUMES, explained
from analysis.scores.tested import contrasts
from analysis.scores.training import PLATEAU
from annotation.models import Kind, ModelRun, Status, Study
from annotation.study import compared_files
from tasks import jobs
from tasks.columns import NOTHING, Column, on_page, shots_text
from tasks.models import Job

NO_ANNOTATOR = Paragraph("No annotator in the analysis has completed the study yet.")


def pictures(record: StudyRecord) -> Iterator[Block]:
    if record.analysed.empty:
        yield NO_ANNOTATOR
        return
    steps = figure_data.answered(record.study, Kind.PERSON)
    for figure in figure_data.page_figures(record.study, Kind.PERSON, steps):
        if figure.name != figure_data.CALIBRATION and figure.why_not != figure_data.NO_MODELS:
            yield _drawn(figure)


def _drawn(figure: Figure) -> Block:
    if figure.why_not:
        return Paragraph(f"{figure.title}: {figure.why_not}")
    if can_draw():
        caption = f"{figure.title}. {figure.caption}"
        return Picture(figure.name, caption, figure.description)
    return Grid.of(figure.title, figure.columns, figure.numbers, [figure.caption])


# Report sections on intervals, on differences between shots, and on differences from models. The
# notes below each table explain which question its intervals answer.

# The methods section looks up these captions to find out what was computed.
OF_MEANS, OF_RESAMPLES, OF_SHOTS, OF_MODELS = (
    "Means with 95 % intervals", "Bootstrap intervals of the means", "Differences between shots",
    "Differences between humans and models",
)  # fmt: skip
MEANS = ("Task", "Shots", "n", "Mean", "95 % CI", "Other people")
BOOTSTRAPS = ("Task", "Shots", "n", "Other examples", *findings_columns.OVER_PEOPLE)
MODELS = (
    "Model", "Task", "Shots", "Training", "Difference", "95 % CI", "p", "p Holm", "Equivalence",
    "Smallest margin", "p sign flip", "Smallest p",
)  # fmt: skip


def uncertainty(record: StudyRecord) -> Iterator[Block]:
    if record.analysed.empty:
        yield NO_ANNOTATOR
        return
    study, all_columns = record.study, findings_columns.COLUMNS["intervals"]
    tables = findings.tables(study, Kind.PERSON, "intervals", frame=record.answered)
    means = in_results_order(study.tasks.all(), tables["intervals"])
    page = findings_columns.TABLES["intervals"].page(study, Kind.PERSON, means)
    headings = {column.heading for column in page["columns"]}
    columns = headed(all_columns, MEANS)
    resampled = headed(all_columns, [name for name in BOOTSTRAPS if name in headings])
    notes = [f"{findings_columns.RESAMPLED} {meanings(resampled)}"]
    yield _grid(OF_MEANS, columns, means, [meanings(columns)])
    yield Grid.of(OF_RESAMPLES, resampled, means, notes)
    rows = contrasts(record.answered, study.seed, study.equivalence_margin)
    if rows := in_results_order(study.tasks.all(), rows):
        columns = _applicable(study, on_page(findings_columns.COLUMNS["contrasts"]))
        yield _grid(OF_SHOTS, columns, rows, [meanings(columns)])


def people_minus_models(record: StudyRecord) -> Iterator[Block]:
    rows = in_results_order(record.tasks, differences.differences(record.study, Kind.PERSON))
    if not rows:
        return
    columns = _applicable(record.study, headed(models_columns.DIFFERENCES, MODELS))
    notes = [f"Human - model, paired by example. {differences.LEFT_OUT}", meanings(columns[3:])]
    if late := differences.late(rows):
        notes.append(late)
    yield _grid(OF_MODELS, columns, rows, notes)


# Report sections on design options: anchors, annotators without contexts, strata and confidence.


def _tables(record: StudyRecord, *tables: Table, kinds: Sequence[Kind] = ()) -> Iterator[Grid]:
    """Yield those of the given tables that have rows, by default for human annotators only."""
    for table in tables:
        if rows := [r for kind in kinds or [Kind.PERSON] for r in table.rows(record.study, kind)]:
            columns, rows = _filled(table.columns, rows), in_results_order(record.tasks, rows)
            yield _grid(table.title, columns, rows, [table.intro, meanings(columns)])


def calibration(record: StudyRecord) -> Iterator[Block]:
    kinds = [Kind.PERSON, Kind.MODEL]
    if tables := list(_tables(record, CONFIDENCE, CALIBRATION, kinds=kinds)):
        yield from tables
        yield _drawn(figure_data.figure(record.study, Kind.PERSON, figure_data.CALIBRATION))


def _applicable(study: Study, columns: list[Column]) -> list[Column]:
    has_margin = study.equivalence_margin is not None
    return [column for column in columns if has_margin or column.heading != "Equivalence"]


def _grid(caption: str, columns: Sequence[Column], rows: Sequence[Any], notes: list[str]) -> Grid:
    """Build a table. Its notes explain the mark for small groups only if a cell contains it.

    A reason shared by many cells is given once, below the table.
    """
    grid = Grid.of(caption, columns, rows)
    reasons = {cell.reason for row in grid.rows for cell in row if isinstance(cell, Noted)}
    notes = [*notes, *(f"Numbers without an interval are based on {each}." for each in reasons)]
    texts = [[getattr(cell, "plain", cell) for cell in row] for row in grid.rows]
    return replace(grid, rows=texts, notes=explained(notes, texts))


def _filled(columns: Iterable[Column], rows: Sequence[Any]) -> list[Column]:
    """Return those columns of the page that have a value in at least one row."""
    shown = on_page(columns)
    return [column for column in shown if any(column.text(row) != NOTHING for row in rows)]


def headed(columns: Sequence[Column], headings: Sequence[str]) -> list[Column]:
    by_heading = {column.heading: column for column in on_page(columns)}
    return [by_heading[heading] for heading in headings]


# Report sections about agreement, aggregated answers, ceilings and gold answers.

AGREEMENT = "Agreement"  # table caption that the methods section looks up


def agreement(record: StudyRecord) -> Iterator[Block]:
    agreements = list(findings.agreements(record.answered))
    if all(row.n < 2 for row in agreements):
        return
    aggregates = list(findings.aggregates(record.answered))
    for name, found in (("agreement", agreements), ("aggregates", aggregates)):
        table, rows = findings_columns.TABLES[name], in_results_order(record.tasks, found)
        columns = _filled(table.columns, rows)
        yield Grid.of(table.title, columns, rows, [table.intro, meanings(columns)])


def among_people(record: StudyRecord) -> Iterator[Block]:
    if record.analysed.empty:
        yield NO_ANNOTATOR
        return
    frame = record.answered
    notes = [meanings(on_page(means.CEILING[3:]))]
    ceilings = in_results_order(record.tasks, list(means.ceilings(frame)))
    yield Grid.of("Human ceiling", means.CEILING, ceilings, notes)
    title = "Unanimous answers that differ from the gold"
    tallies = in_results_order(record.tasks, gold_audit.tallies(gold_audit.units(frame)))
    notes = [f"{meanings(gold_audit.TALLY[1:])} No score was changed."]
    yield Grid.of(title, gold_audit.TALLY, tallies, notes)


# Report sections about the participants behind a result: attrition, admission and criteria.

SENSITIVITY = "Sensitivity to inclusion criteria"


def attrition_blocks(record: StudyRecord) -> Iterator[Block]:
    if rows := in_results_order(record.tasks, ATTRITION.rows(record.study, Kind.PERSON)):
        columns = on_page(ATTRITION.columns)
        yield Grid.of(ATTRITION.title, columns, rows, [ATTRITION.intro, meanings(columns)])


def admission_blocks(record: StudyRecord) -> Iterator[Block]:
    if rows := in_results_order(record.tasks, ADMISSION.rows(record.study, Kind.PERSON)):
        yield from map(Paragraph, attrition.warnings(record.study))
        notes = [ADMISSION.intro, meanings(on_page(ADMISSION.columns[5:]))]
        yield Grid.of(ADMISSION.title, ADMISSION.columns, rows, notes)


def sensitivity_to_criteria(record: StudyRecord) -> list[Block]:
    """Return each task's cells as reported and under each criterion that changes any of them."""
    if record.answered.empty:
        return []
    rows = in_results_order(record.tasks, sensitivity.table(record.study, Kind.PERSON))
    tables = sensitivity.task_tables(rows)
    has_training = any(shots_of(record.manifest))
    unused = {  # criteria that cannot change any cell in this design
        rule.label
        for rule in sensitivity.RULES
        if (rule.name == "passed_checks" and not record.manifest["attention_checks"])
        or (rule.name.startswith("training") and not has_training)
    }
    is_silent = record.manifest["exit_questionnaire"] and not any(record.exit_answers.values())
    silence = " The exit questionnaire has no answers." if is_silent else ""
    return [_criteria(table, unused, silence) for table in tables]


def _criteria(table: SimpleNamespace, unused: set[str], silence: str) -> Grid:
    reported, *further = table.lines
    changed = [line for line in further if any(moved for _text, moved in line[1])]
    rows = [[title, *(text for text, _moved in cells)] for title, cells in [reported, *changed]]
    unchanged = [line[0] for line in further if line not in changed and line[0] not in unused]
    stable = f" No cell changes under: {'; '.join(unchanged)}." if unchanged else ""
    note = f"Mean ± SD over annotators (n), 95 % interval; {ASSUMES}.{stable}{silence}"
    headings = ["Criterion", *(shots_text(shots) for shots in table.shots)]
    return Grid(f"{SENSITIVITY}: {table.task}", headings, rows, explained([note], rows))


# The report section on the arms of cross-task studies.

ARM_GAINS = "Gains of the arms"  # used as both table caption and section title


def arm_blocks(study: Study) -> list[Block]:
    rows = cross_task.gains(study, Kind.PERSON)
    if not rows:
        return [Paragraph("No unseen task has been completed by participants in two arms yet.")]
    published = cross_task.published_for(study)
    completions = upstream.ARM_TABLES["completions"]
    tables: list[tuple[str, Sequence[Column], Sequence[Any]]] = [
        (ARM_GAINS, cross_task.GAINS, cross_task.joint(study, Kind.PERSON)),
        *(
            (table.title, table.columns, table.rows(study, Kind.PERSON))
            for table in (*upstream.SEVERAL_ARMS, *learners.TABLES)
        ),
        (completions.title, completions.columns, completions.rows(study, Kind.PERSON)),
        ("ARG of models, as published (Ye et al., 2021)", cross_task.PUBLISHED, published),
        ("Manipulation check", upstream.MANIPULATION, upstream.manipulation(study, Kind.PERSON)),
        (
            "Learning curve within an upstream task",
            upstream.CURVE,
            upstream.curve(study, Kind.PERSON),
        ),
    ]
    intros = {completions.title: [completions.intro]}
    return [
        Bullets(list(cross_task.sentences(study, Kind.PERSON))),
        *(
            Grid.of(caption, columns, lines, [*intros.get(caption, []), meanings(on_page(columns))])
            for caption, columns, lines in tables
            if lines
        ),
    ]


# The report section on models, both uploaded predictions and models that took part as annotators.


# Columns for uploaded models (model_rows) and for models in an annotator's seat (_seated).
MODEL_COLUMNS = table_columns(
    "reported_models", splits=lambda row: f"{row.score.n} of {row.score.of}"
)


def model_blocks(record: StudyRecord) -> Iterator[Block]:
    seated = list(_seated(record)) if Kind.MODEL in set(record.frame["kind"]) else []
    if not seated and not record.model_names:
        return
    notes = [table_note("models"), *([table_note("seated_models")] if seated else [])]
    yield Grid.of("Models", MODEL_COLUMNS, [*record.models, *seated], notes)
    if rows := metrics.page_rows(record.study, Kind.PERSON):
        title = "Humans and models under every metric"
        yield Grid.of(title, on_page(metrics.COLUMNS), rows, [metrics.NOTE])
    yield from people_minus_models(record)
    if efforts := model_runs.efforts(record.study):
        columns = on_page(model_runs.EFFORT)
        yield Grid.of("Time and cost per answer", columns, efforts, [meanings(columns)])


def _seated(record: StudyRecord) -> Iterator[SimpleNamespace]:
    for shots in sorted(record.study.shots):
        rows = model_runs.seated_scores(record.study, record.tasks, shots, record.frame)
        for model, _unit, cells in rows:
            for task, score in zip(record.tasks, cells, strict=True):
                if score.n:
                    yield SimpleNamespace(model=model, task=task, shots=shots, score=score)


KIND = "report"
VERSION = 10  # increase this whenever the output of a part changes

PARTS: dict[str, Callable[[StudyRecord], Iterable[Block]]] = {
    "uncertainty": uncertainty,
    "groups": lambda record: _tables(
        record, ANCHORS, QUESTION_ALONE, *[means.STRATA] * bool(record.design["strata"])
    ),
    "confidence": calibration,
    "training": lambda record: _tables(record, *[PLATEAU] * bool(record.design["plateau"])),
    "criteria": sensitivity_to_criteria,
    "agreement": agreement,
    "ceilings": among_people,
    "figures": pictures,
    "models": model_blocks,
}
BLOCKS: dict[str, type[Paragraph | Grid | Picture]] = {
    block.kind: block for block in (Paragraph, Grid, Picture)
}


def parameters(study: Study) -> dict[str, Any]:
    people = study.participations.filter(status=Status.COMPLETED).order_by("pk")
    files = compared_files.all_files(study).order_by("pk")
    return findings.parameters(study, Kind.PERSON, people) | {
        "version": [VERSION, settings.VERSION],
        "pictures": can_draw(),
        "counted": list(people.filter(in_analysis=True).values_list("pk", flat=True)),
        "files": [list(row) for row in files.values_list("pk", "model__name")],
        "criteria": sensitivity.parameters(study, Kind.PERSON),
        "runs": ModelRun.objects.filter(participation__study=study).count(),
    }


def job_of(study: Study, owner: Any = None) -> Job | None:
    """Return the job that computes the parts, or None if it is not needed.

    If `owner` is given, a missing job is started. Otherwise, it is returned without being saved.
    """
    if is_small(study, Kind.PERSON):
        return None
    return findings.job_for(KIND, study, parameters(study), len(PARTS), owner)


@jobs.job(KIND)
def _chunk(job: Job, number: int) -> list[dict[str, Any]]:
    study = study_of(job)
    blocks = list(list(PARTS.values())[number](StudyRecord(study)))
    findings.check_inputs(job, parameters(study))
    return [asdict(block) | {"kind": block.kind} for block in blocks]


def parts(record: StudyRecord, job: Job | None = None) -> dict[str, list[Block]]:
    """Return the parts by name. Files and programs compute them if the job is not done."""
    job = job or job_of(record.study)  # finding it takes long, so a page passes it on
    if job is None or not job.is_done:
        return {name: list(make(record)) for name, make in PARTS.items()}
    return {
        name: [_block_of(block) for block in stored]
        for name, stored in zip(PARTS, job.result, strict=True)
    }


def _block_of(stored: dict[str, Any]) -> Block:
    values = dict(stored)
    return BLOCKS[values.pop("kind")](**values)
