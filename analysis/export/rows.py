"""CSV rows for examples, answers, annotators and results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db.models import Q, QuerySet

from analysis.examples import difficulty, gold_audit
from analysis.export.columns import (
    ALLOCATED,
    ANSWERS,
    COLUMNS,
    LOOKUPS,
    REPORTS,
    SUMMED,
    ZEROS,
)
from analysis.heavy import pd
from analysis.models import differences, models_columns
from analysis.scores import findings, frames, means, overlap, sensitivity, tested
from analysis.scores.columns import file_row
from analysis.scores.findings_columns import COLUMNS as TABLES
from analysis.scores.performance import kinds
from analysis.scores.test_sets import spans_in_order, texts_by_turn, texts_of
from annotation.models import Status, Step, Study, Turn
from annotation.models.participation import choice_order
from annotation.monitoring import flags, funnel
from annotation.pay.ledger import elapsed_seconds, waiting_time
from annotation.protocol import activity_summary
from annotation.study import screening
from annotation.study.manifest import splits_of
from tasks.columns import Column, hundredth
from tasks.models import Example, Split, Task
from tasks.spans import QUESTION


def examples_rows(study: Study) -> Iterator[list[Any]]:
    for task in study.tasks.order_by("name"):
        splits = splits_of(study, task)
        if study.attention_checks:
            splits |= task.splits.filter(kind=Split.Kind.CHECK)
        for split in splits.order_by("kind", "shots", "number"):
            of_file = [split.filename, split.kind, split.shots, split.number]
            for example in split.examples.order_by("position").iterator(chunk_size=2000):
                yield _example_row(task, [*of_file, example.position], example)
        sets = ((Step.ANCHOR, screening.anchors), (Step.SCREENING, screening.examples))
        for step, examples in sets:
            for position, example in enumerate(examples(study, task)):
                of_set = [example.split.filename, step.value, "", "", position]
                yield _example_row(task, of_set, example)


def _example_row(task: Task, place: list[Any], example: Example) -> list[Any]:
    """Build an example's row. `place` contains its file, file kind, shots, split and position."""
    card = task.card
    question = card.selectable_question(example.question)
    return [
        task.name, task.version, *place, example.source_id,
        example.context, example.question, question, example.options or "", example.gold,
        card.gold_rule, example.explanation, card.granularity if card.is_highlighted else "",
        example.stratum, example.content_hash, card.kind.highest_s1(card, example, example.gold),
    ]  # fmt: skip


def answers_rows(study: Study) -> Iterator[list[Any]]:
    cards = {task.pk: task.card for task in study.tasks.all()}
    labels = {pk: [label.name for label in card.labels] for pk, card in cards.items()}
    # Merge this with a second stream in the same order, so that memory use stays constant.
    spans = texts_by_turn(spans_in_order(study))
    turn_of_spans, texts = next(spans, (None, []))
    analysed = Q(participation__in=study.participations.analysed())
    lookups, extra = LOOKUPS["answers"], (
        "pk", "example__split__task", "example__options", "answer__label", "answer__values",
    )  # fmt: skip
    turns = Turn.objects.filter(participation__study=study).order_by("pk")
    turns = turns.exclude(step=Step.UPSTREAM)  # these belong to other tasks and are in upstream.csv
    turns = turns.annotate(analysed=analysed).values(*extra, *lookups.values())
    for turn in turns.iterator(chunk_size=2000):
        is_next, submitted_at = turn_of_spans == turn["pk"], turn["answer__submitted_at"]
        given = texts_of(turn["answer__label"], texts if is_next else (), turn["answer__values"])
        if is_next:
            turn_of_spans, texts = next(spans, (None, []))
        computed: dict[str, Any] = {"answer": "", "seconds": ""}
        task, pseudonym = turn["example__split__task"], turn["participation__pseudonym"]
        computed["gold_rule"] = cards[task].gold_rule
        choices = labels[task] or turn["example__options"]
        computed["choice_order"] = choice_order(study, pseudonym, choices) or ""
        if submitted_at is not None:
            seconds = (submitted_at - turn["shown_at"]).total_seconds()
            computed |= {"answer": given, "seconds": seconds}
        values = {name: turn[lookup] for name, lookup in lookups.items()} | computed
        yield [ZEROS.get(name, "") if values[name] is None else values[name] for name in ANSWERS]


def spans_rows(study: Study) -> Iterator[list[Any]]:
    for *of_turn, segment, start, end, text in looked_up(spans_in_order(study), "spans"):
        yield [*of_turn, "question" if segment == QUESTION else segment, start, end, text]


def looked_up(rows: QuerySet[Any], file: str, *further: str) -> Iterator[Any]:
    """Return the values of a file's columns in lookups.toml, after those of `further` lookups."""
    return rows.values_list(*further, *LOOKUPS[file].values()).iterator(2000)


def _integer(value: float) -> int | None:
    """Convert back to an integer: pandas stores it as a float if other values are missing."""
    return None if pd.isna(value) else int(value)


def annotators_rows(study: Study, frame: pd.DataFrame) -> Iterator[list[Any]]:
    """Yield one row per annotator. Those who withdrew have a row with only their allocation."""
    summaries, stages = flags.for_study(study), funnel.stages(study)
    browsers, settled = _browsers(study), _settled(study)
    nothing = activity_summary.summarise([])
    empty = [""] * (len(COLUMNS["annotators.csv"]) - ALLOCATED)
    participations: Iterable[Any] = frame.itertuples()
    for row in participations:
        arrival, *times = settled[row.participation]
        allocated = [
            row.task, row.task_version, row.shots, _integer(row.split), row.arm, row.annotator,
            row.kind, row.status, int(row.analysed), arrival,
        ]  # fmt: skip
        if row.status == Status.WITHDRAWN:
            yield [*allocated, *empty]
            continue
        sums, raised = summaries.get(row.participation, (nothing, {}))
        yield [
            *allocated, stages[row.participation], row.mean_s1, row.sd_examples, row.n,
            row.training_s1, row.training_n, sums.seconds, sums.active_seconds, *times,
            browsers.get(row.participation), sums.too_fast, sums.modal_share, sums.longest_run,
            sums.longest_absence, sums.blurs, sums.pastes,
            *(getattr(sums, name) for name in REPORTS), sums.checks, sums.checks_passed,
            " ".join(raised),
        ]  # fmt: skip


def _settled(study: Study) -> dict[int, list[Any]]:
    """Map annotators (keys) to arrival, paid working and waiting seconds, and elapsed seconds."""
    rows = {}
    for person in study.participations.iterator(chunk_size=2000):
        person.study = study
        times: list[float | None] = [None, None, None]
        if person.worked_seconds is not None:
            waited = waiting_time(person).total_seconds()
            times = [person.worked_seconds, waited, elapsed_seconds(person)]
        rows[person.pk] = [person.arrival, *times]
    return rows


def _browsers(study: Study) -> dict[int, str]:
    """Map annotators (keys) to labels such as B1, which only reveal who shares a browser."""
    names: dict[str, str] = {}
    seats = study.participations.exclude(browser="").order_by("pk")
    return {
        pk: names.setdefault(browser, f"B{len(names) + 1}")
        for pk, browser in seats.values_list("pk", "browser")
    }


def scenarios_rows(frame: pd.DataFrame) -> Iterator[list[Any]]:
    scenarios: Iterable[Any] = frames.scenarios(frame).itertuples()
    for row in scenarios:
        yield [
            row.task, row.task_version, row.shots, _integer(row.split), row.kind, row.mean,
            row.sd_ddof1, row.sd_ddof0, row.n,
        ]  # fmt: skip


# Rows of the files that summarise all answers in a cell.

HEAD = 5  # columns before the figures: study, manifest, kind, task and version


def concluded_rows(study: Study) -> dict[str, list[list[Any]]]:
    """Map files to any rows. Only one kind's answers to one task are in memory at a time."""
    concluded: dict[str, list[list[Any]]] = defaultdict(list)
    tasks = list(study.tasks.order_by("name"))
    versions = {task.name: task.version for task in tasks}
    shots = sorted(study.shots)
    for kind in kinds(study):
        compared: list[Any] = []
        for task in tasks:
            frame = findings.answered(study, kind, task)
            pairs = zip(findings.agreements(frame), findings.aggregates(frame), strict=True)
            agreement = [
                file_row(TABLES["agreement"], row) | file_row(TABLES["aggregates"], group)
                for row, group in pairs
            ]
            for name, figures in (
                ("agreement.csv", agreement),
                ("intervals.csv", _of("intervals.csv", TABLES["intervals"], means.means(frame))),
                ("ceilings.csv", _of("ceilings.csv", means.CEILING, means.ceilings(frame))),
                ("items.csv", _items(frame, shots, task)),
            ):
                concluded[name] += _rows(name, [kind, task.name, task.version], figures)
            compared += tested.contrasts(frame, study.seed)
        # Holm's correction covers the contrasts of all tasks.
        judged = tested.judged(compared, study.equivalence_margin)
        paired = differences.differences(study, kind)
        tables: tuple[tuple[str, Sequence[Column], Sequence[Any]], ...] = (
            ("contrasts.csv", TABLES["contrasts"], judged),
            *((f"{table.name}.csv", table.columns, table.rows(study, kind)) for table in SUMMED),
            ("sensitivity.csv", sensitivity.COLUMNS, sensitivity.table(study, kind)),
            ("overlap.csv", overlap.COLUMNS, overlap.table(study, kind)),
            ("model_differences.csv", models_columns.DIFFERENCES, paired),
        )
        for name, columns, of_tasks in tables:
            for row in _of(name, columns, of_tasks):
                cell = [kind, row["task"], versions[row["task"]]]
                concluded[name] += _rows(name, cell, [row])
    return concluded


def _items(frame: pd.DataFrame, shots: Sequence[int], task: Task) -> Iterator[dict[str, Any]]:
    """Yield the results of test examples over all annotators, and then means by shot count."""
    units = {unit.example: unit for unit in gold_audit.units(frame)}
    columns = difficulty.columns([])
    for item in difficulty.measured(frame, shots, task):
        unit = units.get(item.example)
        agreed = {
            "unanimous": int(unit is not None and unit.is_unanimous),
            "against_gold": int(unit is not None and unit.is_doubtful),
        }
        of_all = {"example": item.source_id, "shots": ""}
        yield file_row(columns, item) | agreed | of_all
        for number, mean in zip(shots, item.by_shots, strict=True):
            if mean is not None:
                yield {"example": item.source_id, "shots": number, "mean": hundredth(mean)}


def _of(name: str, columns: Sequence[Column], rows: Iterable[Any]) -> list[dict[str, Any]]:
    file_columns = [column for column in columns if column.name in COLUMNS[name]]
    return [file_row(file_columns, row) for row in rows]


def _rows(name: str, head: Sequence[Any], figures: Iterable[dict[str, Any]]) -> list[list[Any]]:
    columns = list(COLUMNS[name])[HEAD:]
    return [[*head, *map(figure.get, columns)] for figure in figures]
