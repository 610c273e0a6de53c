"""The columns of all exported files and their meanings: the source of the data dictionary."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

from analysis.cross_task import cross_task, learners
from analysis.examples import difficulty
from analysis.models import models_columns
from analysis.scores import (
    findings_columns,
    means,
    metrics,
    overlap,
    rendering,
    sensitivity,
    training,
)
from analysis.scores.attrition import ADMISSION
from annotation.models import Reason
from tasks.columns import Column, in_files

# Columns of files that are not shown as tables on any page, and groups of shared columns.
TEXTS: dict[str, dict[str, str]] = tomllib.loads(
    (Path(__file__).parent / "columns.toml").read_text(encoding="utf-8")
)
STUDY, SCENARIO = TEXTS["study"], TEXTS["scenario"]
ARM, WORKER = TEXTS["arm"], TEXTS["annotator"]
CHANNELS, REPORTS, CELL = TEXTS["channels"], TEXTS["reports"], TEXTS["cell"]
GROUP = CELL | {"shots": "shots of the group"}
# The number of columns in annotators.csv up to and including `arrival`.
ALLOCATED = len(STUDY) + len(SCENARIO) + len(ARM) + len(WORKER) + 1


def meanings(columns: Sequence[Column]) -> dict[str, str]:
    return {column.name: column.stored_meaning for column in in_files(columns)}


def _without(columns: dict[str, str], *names: str) -> dict[str, str]:
    return {name: meaning for name, meaning in columns.items() if name not in names}


# Columns of answers.csv, which has one row per turn.
ANSWERS = SCENARIO | TEXTS["turn"] | WORKER | TEXTS["answers"]
ANSWERS |= {name: f"{meaning} (reported by the browser)" for name, meaning in REPORTS.items()}
ANSWERS |= CHANNELS
# Without reports of the browser, these cells are zero. Other cells without a value are empty.
ZEROS = dict.fromkeys(("blurs", "pastes", *REPORTS), 0) | {"away_seconds": 0.0}
# Columns of the findings tables, excluding bootstrap columns for intervals.
_INTERVALS = meanings(findings_columns.COLUMNS["intervals"])
_CLOSED_FORM = (
    "n", "test_examples", "contexts", "mean", "low_95", "high_95", "t_low_95", "t_high_95", "se",
    "df", "no_interval", "sd_between_annotators", "sd_between_contexts", "sd_rest",
)  # fmt: skip
INTERVALS = {name: _INTERVALS[name] for name in _CLOSED_FORM}
_CONTRASTS = meanings(findings_columns.COLUMNS["contrasts"])
# `question` has the same value in all rows, so it is explained in the meaning of `low_95`.
CONTRASTS = _without(_CONTRASTS, "task", "question")
DIFFERENCES = _without(meanings(models_columns.DIFFERENCES), "task", "question")


# Tables of the *Statistics* page that are also exported as files.
SUMMED = [table for table in findings_columns.ARM_TABLES if table is not ADMISSION]
# Maps each file to its columns and their meanings, except for STUDY, which all files share.
_OWN: dict[str, dict[str, str]] = {
    "examples.csv": TEXTS["examples"],
    "answers.csv": ANSWERS,
    "spans.csv": SCENARIO | TEXTS["spans"],
    "annotators.csv": SCENARIO | ARM | WORKER | TEXTS["annotators"],
    "scenarios.csv": SCENARIO | TEXTS["scenarios"],
    "human_performance.csv": meanings(rendering.PERFORMANCE),
    "metrics.csv": meanings(metrics.COLUMNS),
    "metric_values.csv": meanings(metrics.OWN_COLUMNS),
    "training.csv": meanings(training.BLOCK_SCORES),
    "agreement.csv": GROUP
    | TEXTS["agreement"]
    | _without(meanings(findings_columns.COLUMNS["agreement"]), "task", "shots", "n", "pairwise_s1")
    | TEXTS["aggregates"],
    "intervals.csv": GROUP | INTERVALS,
    "contrasts.csv": CELL | CONTRASTS,
    **{f"{table.name}.csv": CELL | _without(meanings(table.columns), "task") for table in SUMMED},
    "ceilings.csv": GROUP | _without(meanings(means.CEILING), "task", "shots"),
    "items.csv": CELL | TEXTS["items"] | meanings(difficulty.columns([])) | TEXTS["unanimous"],
    "sensitivity.csv": CELL | _without(meanings(sensitivity.COLUMNS), "task"),
    "overlap.csv": CELL | _without(meanings(overlap.COLUMNS), "task"),
    "flow.csv": SCENARIO | ARM | TEXTS["flow"],
    "refused_arrivals.csv": TEXTS["refused_arrivals"],
    "allocations.csv": TEXTS["allocations"] | SCENARIO | ARM | TEXTS["time"],
    "decisions.csv": TEXTS["decisions"],
    "questionnaire.csv": TEXTS["questionnaire"],
    "own_answers.csv": TEXTS["own_answers"],
    "model_annotators.csv": TEXTS["model_annotators"],
    "pay.csv": TEXTS["pay"],
    "pay_totals.csv": TEXTS["pay_totals"],
    "wages.csv": TEXTS["wages"],
    "predictions.csv": TEXTS["model"] | SCENARIO | ARM | TEXTS["predictions"],
    "model_scores.csv": meanings(models_columns.MODEL),
    "model_differences.csv": CELL | DIFFERENCES,
    "upstream_pool.csv": TEXTS["upstream_pool"],
    "upstream.csv": TEXTS["upstream"] | CHANNELS,
    "gains.csv": meanings(cross_task.GAINS),
    "model_gains.csv": meanings(learners.MODEL_GAINS),
}
REASONS = "; ".join(f"{reason.value}: {reason.label}" for reason in Reason)
_OWN["refused_arrivals.csv"]["reason"] += f": {REASONS}"
# The data dictionary and the header rows are generated from these columns.
COLUMNS = {name: STUDY | columns for name, columns in _OWN.items()}
# How values are read from the database, by file, in the order of its columns. Those of other
# columns are computed.
LOOKUPS: dict[str, dict[str, str]] = {
    file: {name: stated[name] for name in COLUMNS[f"{file}.csv"] if name in stated}
    for file, stated in tomllib.loads(
        (Path(__file__).parent / "lookups.toml").read_text(encoding="utf-8")
    ).items()
}
