"""The rows of the exported files that hold what is concluded from all answers of a cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from analysis.export.columns import COLUMNS
from analysis.heavy import pd
from analysis.tables import (
    attrition,
    ceilings,
    contrasts,
    differences,
    difficulty,
    findings,
    gold_audit,
    means,
    models_columns,
    sensitivity,
    tested,
)
from analysis.tables.columns import in_file
from analysis.tables.findings_columns import COLUMNS as TABLES
from analysis.tables.performance import kinds
from analysis.values import cell
from annotation.models import Study
from tasks.columns import Column, hundredth
from tasks.models import Task

FILES = (
    "agreement.csv", "intervals.csv", "contrasts.csv", "ceilings.csv", "items.csv",
    "attrition.csv", "sensitivity.csv", "model_differences.csv",
)  # fmt: skip
HEAD = 5  # columns before the figures: study, manifest, kind, task, its version


def rows(study: Study) -> dict[str, list[list[Any]]]:
    """File -> its rows; the answers of one kind and task are in memory at a time."""
    concluded: dict[str, list[list[Any]]] = {name: [] for name in FILES}
    tasks = list(study.tasks.order_by("name"))
    versions = {task.name: task.version for task in tasks}
    shots = sorted(study.shots)
    for kind in kinds(study):
        head = [study.name, study.manifest_hash, kind]
        compared: list[contrasts.Contrast] = []
        for task in tasks:
            frame = findings.answered(study, kind, task)
            agreement = _agreement(frame)
            for name, figures in (
                ("agreement.csv", agreement),
                ("intervals.csv", _of("intervals.csv", TABLES["intervals"], means.means(frame))),
                ("ceilings.csv", _of("ceilings.csv", ceilings.COLUMNS, ceilings.ceilings(frame))),
                ("items.csv", _items(frame, shots, task)),
            ):
                concluded[name] += _rows(name, [*head, task.name, task.version], figures)
            compared += contrasts.contrasts(frame, study.seed)
        # Holm's correction is over the contrasts of all tasks.
        judged = tested.judged(compared, study.equivalence_margin)
        paired = differences.differences(study, kind)
        whole: tuple[tuple[str, Sequence[Column], Sequence[Any]], ...] = (
            ("contrasts.csv", TABLES["contrasts"], judged),
            ("attrition.csv", attrition.COLUMNS, attrition.rows(study, kind)),
            ("sensitivity.csv", sensitivity.COLUMNS, sensitivity.table(study, kind)),
            ("model_differences.csv", models_columns.DIFFERENCES, paired),
        )
        for name, columns, of_tasks in whole:
            for row in _of(name, columns, of_tasks):
                before = [*head, row["task"], versions[row["task"]]]
                concluded[name] += _rows(name, before, [row])
    return concluded


def _items(frame: pd.DataFrame, shots: Sequence[int], task: Task) -> list[dict[str, Any]]:
    """Each test example over all annotators; then its mean at each number of shots."""
    units = {unit.example: unit for unit in gold_audit.units(frame)}
    columns = difficulty.columns([])
    rows: list[dict[str, Any]] = []
    for item in difficulty.measured(frame, shots, task):
        unit = units.get(item.example)
        agreed = {
            "unanimous": int(unit is not None and unit.is_unanimous),
            "against_gold": int(unit is not None and unit.is_doubtful),
        }
        of_all = {"example": item.source_id, "shots": ""}
        rows.append(in_file(columns, item) | agreed | of_all)
        rows += [
            {"example": item.source_id, "shots": number, "mean": hundredth(mean)}
            for number, mean in zip(shots, item.by_shots, strict=True)
            if mean is not None
        ]
    return rows


def _agreement(frame: Any) -> list[dict[str, Any]]:
    """Agreement and the majority's answer of each cell."""
    pairs = zip(findings.agreements(frame), findings.aggregates(frame), strict=True)
    return [
        in_file(TABLES["agreement"], own) | in_file(TABLES["aggregates"], group)
        for own, group in pairs
    ]


def _of(name: str, columns: Sequence[Column], rows: Iterable[Any]) -> list[dict[str, Any]]:
    """The rows by those columns that the file has."""
    written = [column for column in columns if column.name in COLUMNS[name]]
    return [in_file(written, row) for row in rows]


def _rows(name: str, head: Sequence[Any], figures: Iterable[dict[str, Any]]) -> list[list[Any]]:
    columns = list(COLUMNS[name])[HEAD:]
    return [[*head, *(cell(own.get(column)) for column in columns)] for own in figures]
