"""The rows of the exported files that hold what is concluded from all answers of a cell."""

from collections.abc import Iterable, Sequence
from typing import Any

from analysis.export.columns import COLUMNS
from analysis.tables import contrasts, findings, means, tested
from analysis.tables.performance import kinds
from analysis.values import cell
from annotation.models import Study

FILES = ("agreement.csv", "intervals.csv", "contrasts.csv")
HEAD = 5  # columns before the figures: study, manifest, kind, task, its version


def rows(study: Study) -> dict[str, list[list[Any]]]:
    """File -> its rows; the answers of one kind and task are in memory at a time."""
    concluded: dict[str, list[list[Any]]] = {name: [] for name in FILES}
    tasks = list(study.tasks.order_by("name"))
    versions = {task.name: task.version for task in tasks}
    for kind in kinds(study):
        head = [study.name, study.manifest_hash, kind]
        compared: list[contrasts.Contrast] = []
        for task in tasks:
            frame = findings.answered(study, kind, task)
            agreement = _agreement(frame)
            for name, figures in (
                ("agreement.csv", agreement),
                ("intervals.csv", means.means(frame)),
            ):
                concluded[name] += _rows(name, [*head, task.name, task.version], figures)
            compared += contrasts.contrasts(frame, study.seed)
        # Holm's correction is over the contrasts of all tasks.
        for row in tested.judged(compared, study.equivalence_margin):
            own = [*head, row.task, versions[row.task]]
            concluded["contrasts.csv"] += _rows("contrasts.csv", own, [row])
    return concluded


def _agreement(frame: Any) -> list[dict[str, Any]]:
    """Agreement and the majority's answer of each cell."""
    pairs = zip(findings.agreements(frame), findings.aggregates(frame), strict=True)
    return [vars(own) | vars(group) for own, group in pairs]


def _rows(name: str, head: Sequence[Any], figures: Iterable[Any]) -> list[list[Any]]:
    columns = list(COLUMNS[name])[HEAD:]
    values = (own if isinstance(own, dict) else vars(own) for own in figures)
    return [[*head, *(cell(own.get(_FIELDS.get(c, c))) for c in columns)] for own in values]


_FIELDS = {"holm_p": "p_holm", "test_examples": "examples"}  # column -> field
