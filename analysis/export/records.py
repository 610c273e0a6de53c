"""The CSVs that record how a study was run: allocations, decisions, exit answers and pay.

Models' predictions on its test examples and the upstream step of a cross-task study are here too.
Rows are streamed; annotators appear under pseudonyms, researchers by role only.
"""

import math
from collections.abc import Iterator
from dataclasses import fields
from decimal import Decimal
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum

from analysis.documents.study_record import StudyRecord
from analysis.export.columns import COLUMNS
from analysis.tables import cross_task, models_columns
from analysis.tables import models as model_tables
from analysis.tables.columns import cell, json_list, number
from analysis.tables.performance import kinds
from analysis.tables.test_sets import texts_of, texts_of_upstream
from annotation.models import (
    Allocation,
    Decision,
    ExitAnswers,
    Kind,
    LedgerEntry,
    ModelRun,
    OwnAnswer,
    Participation,
    Status,
    Step,
    Study,
    Turn,
)
from annotation.monitoring import funnel
from annotation.study import compared_files, own_questions
from annotation.study.cross_task import pools
from tasks.columns import in_files
from tasks.csv_files import moment
from tasks.models import Prediction, PredictionFileQuerySet


def pool_rows(study: Study) -> Iterator[list[Any]]:
    """Every example that an arm may be trained on, in the order of the frozen pools."""
    for (arm, task), rows in pools(study).items():
        card = rows[0].task.card
        for row in rows:
            example = row.example
            yield [
                study.name, study.manifest_hash, arm, task, row.task.version, row.position,
                example.source_id, json_list(example.context), example.question,
                json_list(example.options) if example.options else "", json_list(example.gold),
                card.gold_rule, example.content_hash,
            ]  # fmt: skip


def upstream_rows(study: Study) -> Iterator[list[Any]]:
    """One row per turn of an upstream step; annotators by pseudonym, each in its order."""
    turns = Turn.objects.filter(participation__study=study, step=Step.UPSTREAM)
    turns = turns.order_by("participation__pseudonym", "position")
    texts = dict(texts_of_upstream(study))
    names = {
        row.example_id: (row.task.name, row.task.version)
        for rows in pools(study).values()
        for row in rows
    }
    rows = turns.values_list(
        "pk", "participation__pseudonym", "participation__scenario__arm", "position",
        "example_id", "example__source_id", "example__content_hash", "shown_at",
        "answer__submitted_at", "answer__label", "answer__values", "answer__s1",
        "answer__active_seconds", "channel", "answer__channel",
    )  # fmt: skip
    for (
        pk, who, arm, position, example, source, digest, shown, submitted, label, values, s1,
        active, shown_by, came_by,
    ) in rows.iterator(chunk_size=2000):  # fmt: skip
        is_given = submitted is not None
        given = texts_of(label, texts.get(pk, ()), values)
        yield [
            study.name, study.manifest_hash, who, arm, position, *names[example], source, digest,
            json_list(given) if is_given else "", number(s1) if is_given else "", moment(shown),
            moment(submitted) if is_given else "", number(active) if is_given else "",
            shown_by, came_by or "",
        ]  # fmt: skip


def gains_rows(study: Study) -> Iterator[list[Any]]:
    """One row per kind, contrast of two arms, and unseen task or all of them."""
    if not study.is_cross_task:
        return
    for kind in kinds(study):
        for row in cross_task.gains(study, kind):
            values = (cell(column.stored(row)) for column in in_files(cross_task.GAINS))
            yield [study.name, study.manifest_hash, *values]


CHUNK = 2000


def allocations_rows(study: Study) -> Iterator[list[Any]]:
    """One row per arrival that was allocated to a scenario."""
    several = len(study.splits) > 1
    places = {
        scenario.pk: (
            (scenario.task.name, scenario.shots),
            (scenario.split_number, scenario.arm)
            if scenario.arm
            else (scenario.split_number,)
            if several
            else (),
        )
        for scenario in study.scenarios.select_related("task")
    }
    withdrawn = set(_withdrawn(study).values_list("arrival", flat=True))
    rows = Allocation.objects.filter(study=study).order_by("arrival").values_list(
        "arrival", "kind", "candidates", "scenario__task__name", "scenario__task__version",
        "scenario__shots", "scenario__split_number", "scenario__arm", "at",
    )  # fmt: skip
    for arrival, kind, candidates, task, version, shots, split, arm, at in rows.iterator(CHUNK):
        named = [[*places[pk][0], taken, seats, *places[pk][1]] for pk, taken, seats in candidates]
        yield [
            study.name, study.manifest_hash, arrival, kind, json_list(named), task, version, shots,
            split or "", arm, "" if arrival in withdrawn else moment(at),
        ]  # fmt: skip


def _withdrawn(study: Study) -> QuerySet[Participation]:
    """Those of whom nothing is written but where they were allocated."""
    return study.participations.filter(status=Status.WITHDRAWN)


def flow_rows(study: Study) -> Iterator[list[Any]]:
    """One row per scenario and kind: how many came how far."""
    scenarios = list(
        funnel.with_training_size(study).order_by("task__name", "shots", "split_number", "arm")
    )
    flows = funnel.by_scenario_and_kind(study, scenarios)
    names = [field.name for field in fields(funnel.Funnel)]
    for each in scenarios:
        for kind in Kind.values:
            own = flows[each.pk, kind]
            if kind == Kind.PERSON or own.arrived:
                counts = {name: getattr(own, name) for name in names}
                yield [
                    study.name, study.manifest_hash, each.task.name, each.task.version,
                    each.shots, each.split_number or "", each.arm, kind, each.seats_for(kind),
                    *(counts[name] for name in COLUMNS["flow.csv"] if name in counts),
                ]  # fmt: skip


def refused_arrivals_rows(study: Study) -> Iterator[list[Any]]:
    """One row per reason for which people were refused."""
    for counted in study.refused_arrivals.values_list("reason", "number"):
        yield [study.name, study.manifest_hash, *counted]


def decisions_rows(study: Study) -> Iterator[list[Any]]:
    """One row per decision, in chronological order."""
    rows = (
        Decision.objects.filter(participation__study=study)
        .exclude(participation__status=Status.WITHDRAWN)
        .order_by("at", "pk")
        .values_list(
            "participation__pseudonym", "about", "outcome", "reason", "by_id", "score_seen", "at"
        )
    )
    for annotator, about, outcome, reason, by, seen, at in rows.iterator(CHUNK):
        role = "rule" if by is None else "researcher"
        yield [
            study.name, study.manifest_hash, annotator, about, int(outcome), reason, role,
            "" if seen is None else int(seen), moment(at),
        ]  # fmt: skip


def questionnaire_rows(study: Study) -> Iterator[list[Any]]:
    """One row per participation that answered the exit questionnaire."""
    rows = (
        ExitAnswers.objects.filter(participation__study=study)
        .order_by("participation__pseudonym")
        .values_list("participation__pseudonym", "seen_before", "ai_used", "tools", "comments")
    )
    for row in rows.iterator(CHUNK):
        yield [study.name, study.manifest_hash, *row]


def own_answers_rows(study: Study) -> Iterator[list[Any]]:
    """One row per question of the study's own that a participation was asked."""
    asked = {question.id: question for question in own_questions.parse(study.own_questions)}
    rows = (
        OwnAnswer.objects.filter(participation__study=study)
        .order_by("participation__pseudonym", "pk")
        .values_list("participation__pseudonym", "moment", "question", "answer")
    )
    for *who, name, answer in rows.iterator(CHUNK):
        question = asked[name]
        yield [study.name, study.manifest_hash, *who, name, question.kind, question.text, answer]


def pay_rows(study: Study) -> Iterator[list[Any]]:
    """One row per entry of the ledger."""
    rows = (
        LedgerEntry.objects.filter(participation__study=study)
        .exclude(participation__status=Status.WITHDRAWN)
        .order_by("participation__pseudonym", "pk")
        .values_list("participation__pseudonym", "kind", "cents", "currency", "submission")
    )
    for *row, submission in rows.iterator(CHUNK):
        yield [study.name, study.manifest_hash, *row, int(submission is not None)]


def pay_totals_rows(study: Study) -> Iterator[list[Any]]:
    """One row per kind of entry and currency."""
    kinds = LedgerEntry.objects.filter(participation__study=study).values_list("kind", "currency")
    withdrew = Q(participation__status=Status.WITHDRAWN)
    sums = kinds.annotate(
        n=Count("pk", filter=~withdrew),
        total=Sum("cents", filter=~withdrew, default=0),
        besides=Sum("cents", filter=withdrew, default=0),
    )
    for row in sums.order_by("kind", "currency"):
        yield [study.name, study.manifest_hash, *row]


def model_annotators_rows(study: Study) -> Iterator[list[Any]]:
    """One row per participation of a model."""
    told = COLUMNS["model_annotators.csv"]
    names = [*told][[*told].index("harness") :]
    runs = ModelRun.objects.filter(participation__study=study).in_bulk()
    models = study.participations.filter(kind=Kind.MODEL).exclude(status=Status.WITHDRAWN)
    rows = models.order_by("pseudonym").values_list(
        "pk", "pseudonym", "worker__model__name", "worker__model__revision",
        "worker__model__prompt_hash", "worker__model__replicate",
    )  # fmt: skip
    for participation, *who in rows.iterator(CHUNK):
        run = runs.get(participation)
        values = [getattr(run, name) if run else None for name in names]
        yield [
            study.name, study.manifest_hash, *who,
            *(cell(float(one) if isinstance(one, Decimal) else one) for one in values),
        ]  # fmt: skip


def wages_rows(study: Study) -> Iterator[list[Any]]:
    """One row: what people earned for their time, if any pay has been settled."""
    if study.manifest and (record := StudyRecord(study)).wages:
        yield [
            study.name, study.manifest_hash, len(record.wages),
            *(
                cell(record.median(name))
                for name in (
                    "per_active_hour", "per_elapsed_hour", "active_seconds", "elapsed_seconds",
                )
            ),
            number(math.fsum(wage.active_seconds for wage in record.wages)),
            number(math.fsum(wage.elapsed_seconds or 0 for wage in record.wages)),
        ]  # fmt: skip


def _files(study: Study) -> PredictionFileQuerySet:
    return compared_files.files(study)


def predictions_rows(study: Study) -> Iterator[list[Any]]:
    """One row per prediction on a test example of the study's tasks."""
    rows = (
        Prediction.objects.filter(file__in=_files(study).order_by())
        .order_by("file", "example__position")
        .values_list(
            "file__model__name", "file__task__name", "file__task__version", "file__shots",
            "file__split_number", "example__source_id", "example__content_hash", "predicted", "s1",
        )
    )  # fmt: skip
    for *who, shots, split, example, digest, predicted, s1 in rows.iterator(CHUNK):
        yield [
            study.name, study.manifest_hash, *who, shots, split or "", example, digest,
            json_list(predicted), number(s1),
        ]  # fmt: skip


def model_scores_rows(study: Study) -> Iterator[list[Any]]:
    """One row per model, task and shots."""
    for row in model_tables.model_rows(_files(study)):
        scores = (cell(column.stored(row)) for column in in_files(models_columns.MODEL))
        yield [study.name, study.manifest_hash, *scores]


ROWS = {
    "flow.csv": flow_rows,
    "refused_arrivals.csv": refused_arrivals_rows,
    "allocations.csv": allocations_rows,
    "decisions.csv": decisions_rows,
    "questionnaire.csv": questionnaire_rows,
    "own_answers.csv": own_answers_rows,
    "model_annotators.csv": model_annotators_rows,
    "pay.csv": pay_rows,
    "pay_totals.csv": pay_totals_rows,
    "wages.csv": wages_rows,
    "predictions.csv": predictions_rows,
    "model_scores.csv": model_scores_rows,
    "upstream_pool.csv": pool_rows,
    "upstream.csv": upstream_rows,
    "gains.csv": gains_rows,
}
