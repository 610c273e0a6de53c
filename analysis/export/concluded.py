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
    sensitivity,
    tested,
)
from analysis.tables.performance import kinds
from analysis.values import cell
from annotation.models import Study
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
                ("intervals.csv", means.means(frame)),
                ("ceilings.csv", ceilings.ceilings(frame)),
                ("items.csv", _items(frame, shots, task)),
            ):
                concluded[name] += _rows(name, [*head, task.name, task.version], figures)
            compared += contrasts.contrasts(frame, study.seed)
        whole: tuple[tuple[str, Sequence[Any]], ...] = (
            # Holm's correction is over the contrasts of all tasks.
            ("contrasts.csv", tested.judged(compared, study.equivalence_margin)),
            ("attrition.csv", attrition.rows(study, kind)),
            ("sensitivity.csv", sensitivity.table(study, kind)),
            ("model_differences.csv", differences.differences(study, kind)),
        )
        for name, of_tasks in whole:
            for row in of_tasks:
                concluded[name] += _rows(name, [*head, row.task, versions[row.task]], [row])
    return concluded


def _items(frame: pd.DataFrame, shots: Sequence[int], task: Task) -> list[dict[str, Any]]:
    """Each test example over all annotators; then its mean at each number of shots."""
    units = {unit.example: unit for unit in gold_audit.units(frame)}
    rows: list[dict[str, Any]] = []
    for item in difficulty.measured(frame, shots, task):
        unit = units.get(item.example)
        agreed = {
            "unanimous": int(unit is not None and unit.is_unanimous),
            "against_gold": int(unit is not None and unit.is_doubtful),
        }
        rows.append(vars(item) | agreed | {"example": item.source_id, "shots": ""})
        rows += [
            {"example": item.source_id, "shots": number, "mean": mean}
            for number, mean in zip(shots, item.by_shots, strict=True)
            if mean is not None
        ]
    return rows


def _agreement(frame: Any) -> list[dict[str, Any]]:
    """Agreement and the majority's answer of each cell."""
    pairs = zip(findings.agreements(frame), findings.aggregates(frame), strict=True)
    return [vars(own) | vars(group) for own, group in pairs]


def _rows(name: str, head: Sequence[Any], figures: Iterable[Any]) -> list[list[Any]]:
    columns = list(COLUMNS[name])[HEAD:]
    values = (own if isinstance(own, dict) else vars(own) for own in figures)
    return [[*head, *(cell(own.get(_FIELDS.get(c, c))) for c in columns)] for own in values]


_FIELDS = {"holm_p": "p_holm", "test_examples": "examples"}  # column -> field
