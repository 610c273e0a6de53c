"""The columns of all exported files and their meanings: the source of the data dictionary."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.cross_task import cross_task, learners
from analysis.examples import difficulty
from analysis.models import models_columns
from analysis.scores import (
    ceilings,
    findings_columns,
    metrics,
    overlap,
    rendering,
    sensitivity,
    training,
)
from analysis.scores.attrition import ADMISSION
from analysis.scores.findings import ALPHAS
from analysis.scores.findings_columns import ALPHA
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


@dataclass(frozen=True)
class OfTurn:
    """A column in answers.csv and in the API's list of answers, which have one row per turn.

    The value is read from the turn by following `lookup`, or computed if `lookup` is empty. `brief`
    is its meaning in the API: "" if it is the same, None if the column is only in the file. Columns
    without a `meaning` are only in the API. `empty` is the text of cells without a value.
    """

    name: str
    meaning: str
    lookup: str = ""
    brief: str | None = ""
    empty: object = ""


ANSWERS = (
    OfTurn("task", SCENARIO["task"], "example__split__task__name"),
    OfTurn("task_version", SCENARIO["task_version"], "example__split__task__version",
        "version of the task"),
    OfTurn("shots", SCENARIO["shots"], "participation__scenario__shots", "number of shots"),
    OfTurn("split", SCENARIO["split"], "participation__scenario__split_number", "split number"),
    OfTurn("step", "anchor (unrevealed, before all others; scored apart), training, screening"
        " (unrevealed, replaces the training step; used only for screening), annotation or check"
        " (attention check; excluded from S1)",
        "step", "anchor, upstream, training, screening, annotation or check"),
    OfTurn("position", "position in the order in which this annotator saw the step's examples, from"
        " 0; attention checks are numbered within the annotation step",
        "position", "position within the step, from 0"),
    OfTurn("annotator", WORKER["annotator"], "participation__pseudonym", "annotator's pseudonym"),
    OfTurn("kind", WORKER["kind"], "participation__kind"),
    OfTurn("status", WORKER["status"], "participation__status", "the annotator's progress"),
    OfTurn("in_analysis", WORKER["in_analysis"], "analysed", None),
    OfTurn("example", "id of the example in its file", "example__source_id", "id in its file"),
    OfTurn("hash", "hash of the example, as in examples.csv", "example__content_hash",
        "hash of the example"),
    OfTurn("choice_order", "places of the card's labels or the example's options, from 0, in the"
        " order shown, as a JSON list; empty unless the design shuffles them (shuffles_options)",
        brief=None),
    OfTurn("answer", "the answer as a JSON list of distinct texts; [] means “no answer”; empty: not"
        " yet answered", brief="list of texts; [] means no answer; null: not answered"),
    OfTurn("gold", "gold texts as a JSON list; [] means that there is no answer", "example__gold",
        "list of texts; null while hidden"),
    OfTurn("gold_rule", "set or any_of", brief=None),
    OfTurn("s1", "S1 of the answer, 0 to 1", "answer__s1", "0 to 1; null: not answered or hidden"),
    OfTurn("hidden", "",
        brief="true while gold and S1 are hidden, as described for this list"),
    OfTurn("shown_at", "time at which the example was first displayed, UTC", "shown_at", "UTC"),
    OfTurn("submitted_at", "time at which the answer was stored, UTC", "answer__submitted_at",
        "UTC"),
    OfTurn("seconds", "submitted_at - shown_at", brief=None),
    OfTurn("active_seconds", "active seconds, as defined in the study's design (manifest.json,"
        " pay)", "answer__active_seconds", "active time in seconds"),
    OfTurn("reveal_seconds", "active seconds from the answer to Continue, while the gold was shown;"
        " empty in all other steps, and before Continue", "reading__seconds", None),
    OfTurn("confidence", "confidence in the answer: 1 to 5, which means 0, 25, 50, 75 and 100 %"
        " sure of being right; empty: not asked, or skipped", "confidence__value"),
    OfTurn("reason", "one-line reason for the confidence, verbatim; empty: none",
        "confidence__reason"),
    OfTurn("problem", "problem with the example that the annotator reported, verbatim; empty: none;"
        " review before publication", "problem__text"),
    OfTurn("blurs", "number of times the page lost focus (reported by the browser)",
        "activity__blurs", None, 0),
    OfTurn("away_seconds", "total seconds without focus (reported by the browser)",
        "activity__away_seconds", None, 0.0),
    OfTurn("pastes", "number of paste events (reported by the browser)", "activity__pastes",
        None, 0),
    *(
        OfTurn(name, f"{meaning} (reported by the browser)", f"activity__{name}", None, 0)
        for name, meaning in REPORTS.items()
    ),
    OfTurn("shown_channel", CHANNELS["shown_channel"], "channel",
        "where the example was shown: page or api"),
    OfTurn("channel", CHANNELS["channel"], "answer__channel", "where it was answered: page or api"),
)  # fmt: skip
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
    "answers.csv": {column.name: column.meaning for column in ANSWERS if column.meaning},
    "spans.csv": SCENARIO | TEXTS["spans"],
    "annotators.csv": SCENARIO | ARM | WORKER | TEXTS["annotators"],
    "scenarios.csv": SCENARIO | TEXTS["scenarios"],
    "human_performance.csv": meanings(rendering.PERFORMANCE),
    "metrics.csv": meanings(metrics.COLUMNS),
    "metric_values.csv": meanings(metrics.OWN_COLUMNS),
    "training.csv": meanings(training.BLOCK_SCORES),
    "agreement.csv": GROUP
    | TEXTS["agreement"]
    | {f"alpha_{name}": ALPHA.format(measure) for name, measure in ALPHAS.items()}
    | TEXTS["aggregates"],
    "intervals.csv": GROUP | INTERVALS,
    "contrasts.csv": CELL | CONTRASTS,
    **{f"{table.name}.csv": CELL | _without(meanings(table.columns), "task") for table in SUMMED},
    "ceilings.csv": GROUP | _without(meanings(ceilings.COLUMNS), "task", "shots"),
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
