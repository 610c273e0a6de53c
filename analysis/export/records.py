"""CSV rows on how a study was run: allocations, decisions, exit answers and pay.

This module also covers models' predictions on test examples, and the upstream step of cross-task
studies. Rows are streamed. Annotators appear under pseudonyms and researchers only by role.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum

from analysis.cross_task import cross_task, learners
from analysis.documents.study_record import StudyRecord
from analysis.export.columns import COLUMNS
from analysis.export.rows import looked_up
from analysis.models import models as model_tables
from analysis.models import models_columns
from analysis.scores import metrics, performance, rendering, training
from analysis.scores.test_sets import texts_of, texts_of_upstream
from annotation import models
from annotation.models import Kind, Status, Study
from annotation.monitoring import funnel
from annotation.study import compared_files, own_questions
from annotation.study.cross_task import pools
from tasks.columns import Column, in_files
from tasks.models import Prediction

Row = Sequence[Any]
CHUNK = 2000


def pool_rows(study: Study) -> Iterator[Row]:
    for (arm, task), rows in pools(study).items():
        card = rows[0].task.card
        for row in rows:
            example = row.example
            yield [
                arm, task, row.task.version, row.position, example.source_id, example.context,
                example.question, example.options or "", example.gold, card.gold_rule,
                example.content_hash,
            ]  # fmt: skip


def upstream_rows(study: Study) -> Iterator[Row]:
    turns = models.Turn.objects.filter(participation__study=study, step=models.Step.UPSTREAM)
    turns = turns.order_by("participation__pseudonym", "position")
    texts = texts_of_upstream(study)
    rows = looked_up(turns, "upstream", "pk", "answer__label", "answer__values")
    for pk, label, values, *of_turn, s1, shown_at, submitted_at, active, by, to in rows:
        given = texts_of(label, texts.get(pk, ()), values) if submitted_at else None
        yield [*of_turn, given, s1, shown_at, submitted_at, active, by, to]


def allocations_rows(study: Study) -> Iterator[Row]:
    places = {}
    for row in study.scenarios.select_related("task"):
        number = (row.split_number,) if row.arm or len(study.splits) > 1 else ()
        places[row.pk] = (row.task.name, row.shots), (*number, row.arm) if row.arm else number
    # Write only the allocation of a withdrawn participation.
    withdrawn_seats = study.participations.filter(status=Status.WITHDRAWN)
    withdrawn = set(withdrawn_seats.values_list("arrival", flat=True))
    rows = looked_up(
        models.Allocation.objects.filter(study=study).order_by("arrival"), "allocations"
    )
    for arrival, kind, candidates, task, version, shots, split, arm, at in rows:
        cells = [[*places[pk][0], taken, seats, *places[pk][1]] for pk, taken, seats in candidates]
        shown_at = None if arrival in withdrawn else at
        yield [arrival, kind, cells, task, version, shots, split, arm, shown_at]


def flow_rows(study: Study) -> Iterator[Row]:
    scenarios = list(
        funnel.with_training_size(study).order_by("task__name", "shots", "split_number", "arm")
    )
    flows = funnel.by_scenario_and_kind(study, scenarios)
    names = [field.name for field in fields(funnel.Funnel)]
    for scenario in scenarios:
        for kind in Kind.values:
            flow = flows[scenario.pk, kind]
            if kind == Kind.PERSON or flow.arrived:
                counts = {name: getattr(flow, name) for name in names}
                yield [
                    scenario.task.name, scenario.task.version, scenario.shots,
                    scenario.split_number, scenario.arm, kind, scenario.seats_for(kind),
                    *(counts[name] for name in COLUMNS["flow.csv"] if name in counts),
                ]  # fmt: skip


def decisions_rows(study: Study) -> Iterator[Row]:
    rows = models.Decision.objects.filter(participation__study=study)
    rows = rows.exclude(participation__status=Status.WITHDRAWN).order_by("at", "pk")
    for *decision, by, score_seen, at in looked_up(rows, "decisions"):
        yield [*decision, "rule" if by is None else "researcher", score_seen, at]


def _participant_rows(rows: QuerySet[Any], *names: str) -> Iterator[tuple[Any, ...]]:
    ordered = rows.order_by("participation__pseudonym", "pk")
    return ordered.values_list("participation__pseudonym", *names).iterator(CHUNK)


def questionnaire_rows(study: Study) -> Iterator[Row]:
    rows = models.ExitAnswers.objects.filter(participation__study=study)
    return _participant_rows(rows, "seen_before", "ai_used", "tools", "comments")


def own_answers_rows(study: Study) -> Iterator[Row]:
    questions = {question.id: question for question in own_questions.parse(study.own_questions)}
    rows = models.OwnAnswer.objects.filter(participation__study=study)
    for *seat, name, answer in _participant_rows(rows, "moment", "question", "answer"):
        question = questions[name]
        yield [*seat, name, question.kind, question.text, answer]


def pay_rows(study: Study) -> Iterator[Row]:
    rows = models.LedgerEntry.objects.filter(participation__study=study)
    rows = rows.exclude(participation__status=Status.WITHDRAWN)
    fields = _participant_rows(rows, "kind", "cents", "currency", "submission")
    return ([*row, submission is not None] for *row, submission in fields)


def pay_totals_rows(study: Study) -> Iterator[Row]:
    rows = models.LedgerEntry.objects.filter(participation__study=study)
    withdrew = Q(participation__status=Status.WITHDRAWN)
    sums = rows.values_list("kind", "currency").annotate(
        n=Count("pk", filter=~withdrew),
        total=Sum("cents", filter=~withdrew, default=0),
        besides=Sum("cents", filter=withdrew, default=0),
    )
    return sums.order_by("kind", "currency").iterator()


def model_annotators_rows(study: Study) -> Iterator[Row]:
    columns = COLUMNS["model_annotators.csv"]
    names = [*columns][[*columns].index("harness") :]
    runs = models.ModelRun.objects.filter(participation__study=study).in_bulk()
    seats = study.participations.filter(kind=Kind.MODEL).exclude(status=Status.WITHDRAWN)
    rows = seats.order_by("pseudonym").values_list(
        "pk", "pseudonym", "worker__model__name", "worker__model__revision",
        "worker__model__prompt_hash", "worker__model__replicate",
    )  # fmt: skip
    for participation, *head in rows.iterator(CHUNK):
        yield [*head, *(getattr(runs.get(participation), name, None) for name in names)]


def wages_rows(study: Study) -> Iterator[Row]:
    """Yield one row on what human annotators earned for their time, if any pay is settled."""
    if study.manifest and (record := StudyRecord(study)).wages:
        yield [
            len(record.wages), record.median("per_active_hour"),
            record.median("per_elapsed_hour"), record.median("active_seconds"),
            record.median("elapsed_seconds"),
            math.fsum(wage.active_seconds for wage in record.wages),
            math.fsum(wage.elapsed_seconds or 0 for wage in record.wages),
        ]  # fmt: skip


def predictions_rows(study: Study) -> Iterator[Row]:
    rows = Prediction.objects.filter(file__in=compared_files.all_files(study).order_by())
    return looked_up(rows.order_by("file", "example__position"), "predictions")


def _by_columns(
    columns: Sequence[Column], rows: Callable[[Study], Iterable[Any]]
) -> Callable[[Study], Iterator[Row]]:
    """Return a function that yields the rows of a table that a page or the API also shows."""
    file_columns = in_files(columns)
    return lambda study: ([column.stored(row) for column in file_columns] for row in rows(study))


def _performance(study: Study) -> Iterator[Any]:
    for table in performance.all_tables(study):
        names = [task.name for task in table.tasks]
        yield from sorted(performance.long_rows(table), key=lambda row: names.index(row.task.name))


def _gains(study: Study) -> Iterator[Any]:
    for kind in performance.kinds(study) if study.is_cross_task else ():
        yield from cross_task.gains(study, kind)


# Maps each file to its rows, excluding the first two cells (study and manifest).
ROWS: dict[str, Callable[[Study], Iterable[Row]]] = {
    "human_performance.csv": _by_columns(rendering.PERFORMANCE, _performance),
    "metrics.csv": _by_columns(metrics.COLUMNS, metrics.rows),
    "metric_values.csv": _by_columns(metrics.OWN_COLUMNS, metrics.own_scores),
    "training.csv": _by_columns(training.BLOCK_SCORES, training.block_scores),
    "flow.csv": flow_rows,
    "refused_arrivals.csv": lambda study: study.refused_arrivals.values_list("reason", "number"),
    "allocations.csv": allocations_rows,
    "decisions.csv": decisions_rows,
    "questionnaire.csv": questionnaire_rows,
    "own_answers.csv": own_answers_rows,
    "model_annotators.csv": model_annotators_rows,
    "pay.csv": pay_rows,
    "pay_totals.csv": pay_totals_rows,
    "wages.csv": wages_rows,
    "predictions.csv": predictions_rows,
    "model_scores.csv": _by_columns(
        models_columns.MODEL, lambda study: model_tables.model_rows(compared_files.files(study))
    ),
    "upstream_pool.csv": pool_rows,
    "upstream.csv": upstream_rows,
    "gains.csv": _by_columns(cross_task.GAINS, _gains),
    "model_gains.csv": _by_columns(learners.MODEL_GAINS, learners.model_gains),
}
