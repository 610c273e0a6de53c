"""The columns of all exported files with their meanings: the source of the data dictionary."""

from collections.abc import Sequence
from dataclasses import dataclass

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

STUDY = {
    "study": "name of the study",
    "manifest": "SHA-256 of the study's frozen design (manifest.json); empty while it is a draft",
}
SCENARIO = {
    "task": "name of the task",
    "task_version": "version of the task",
    "shots": "number of examples in the training step: 0, or the shots of the training split",
    "split": "number of the training split; empty at zero shots",
}
ARM = {
    "arm": "in a cross-task study, what preceded the task: upstream or the name of an upstream"
    " arm, sham or direct; question if the annotators saw no contexts; otherwise empty"
}
WORKER = {
    "annotator": "pseudonym of the participation",
    "kind": "person, simulated or model",
    "status": "status of the participation: completed, working, expired, ...",
    "in_analysis": "1 if the participation is analysed (completed and not excluded), else 0",
}
SPREAD = {
    "mean": "mean over annotators of their score under the task's metric, at most 1",
    "sd_ddof1": "sample standard deviation over annotators (ddof 1); empty for a single annotator",
    "sd_ddof0": "population standard deviation over annotators (ddof 0)",
    "n": "number of annotators who completed and are in the analysis",
}

# Number of columns in annotators.csv up to `arrival`.
ALLOCATED = len(STUDY) + len(SCENARIO) + len(ARM) + len(WORKER) + 1


def meanings(columns: Sequence[Column]) -> dict[str, str]:
    return {column.name: column.stored_meaning for column in in_files(columns)}


def _without(columns: dict[str, str], *names: str) -> dict[str, str]:
    return {name: meaning for name, meaning in columns.items() if name not in names}


OF_CELL = {
    "kind": "person, simulated or model",
    "task": "name of the task",
    "task_version": "version of the task",
}
CHANNELS = {
    "shown_channel": "page or api: channel of the request that showed the example; if a decision"
    " showed it, channel of the previous turn",
    "channel": "page or api: channel of the answer; empty if there is no answer",
}
# Signs in Activity, which raise quality flags.
SIGNS = {
    "copies": "number of times text of the page was copied, except from an answer field",
    "left_after_copy": "number of times the page lost focus within 10 s after a copy",
    "automated": "1 if an automated browser or a script submitted the answer, else 0",
    "no_input": "1 if the answer was submitted without a press, tap, key or click, else 0",
    "narrow": "1 if the window had less than 60 % of the screen's width at submission, else 0",
}


@dataclass(frozen=True)
class OfTurn:
    """A column in answers.csv and in the API's answers, which have one row per turn.

    The value is read from the turn by `lookup`, or computed if there isn't one. `brief` is its
    meaning in the API: "" if it is the same, None if the column is only in the file. Columns
    without `meaning` are only in the API. `empty` is the cell used for a missing value.
    """

    name: str
    meaning: str
    lookup: str = ""
    brief: str | None = ""
    empty: object = ""


ANSWERS = (
    OfTurn("task", SCENARIO["task"], "example__split__task__name"),
    OfTurn("task_version", SCENARIO["task_version"], "example__split__task__version",
        "its version"),
    OfTurn("shots", SCENARIO["shots"], "participation__scenario__shots", "number of shots"),
    OfTurn("split", SCENARIO["split"], "participation__scenario__split_number", "split number"),
    OfTurn("step", "anchor (unrevealed, before all others; scored apart), training, screening"
        " (unrevealed, replaces the training step; used only for screening), annotation or check"
        " (attention check; excluded from S1)",
        "step", "anchor, upstream, training, screening, annotation or check"),
    OfTurn("position", "position in the order in which this annotator saw the step's examples, from"
        " 0; attention checks are numbered within the annotation step",
        "position", "in the step, from 0"),
    OfTurn("annotator", WORKER["annotator"], "participation__pseudonym", "pseudonym"),
    OfTurn("kind", WORKER["kind"], "participation__kind"),
    OfTurn("status", WORKER["status"], "participation__status", "of the participation"),
    OfTurn("in_analysis", WORKER["in_analysis"], "analysed", None),
    OfTurn("example", "id of the example in its file", "example__source_id", "id in its file"),
    OfTurn("hash", "hash of the example, as in examples.csv", "example__content_hash",
        "of the example"),
    OfTurn("choice_order", "places of the card's labels or the example's options, from 0, in the"
        " order shown, as a JSON list; empty unless the design shuffles them (shuffles_options)",
        brief=None),
    OfTurn("answer", "the answer as a JSON list of distinct texts; [] means “no answer”; empty: not"
        " yet answered", brief="texts; [] is no answer; null: not answered"),
    OfTurn("gold", "gold texts as a JSON list; [] means that there is no answer", "example__gold",
        "texts; null while it is hidden"),
    OfTurn("gold_rule", "set or any_of", brief=None),
    OfTurn("s1", "S1 of the answer, 0 to 1", "answer__s1", "0 to 1; null: not answered, or hidden"),
    OfTurn("hidden", "",
        brief="true while the score is hidden, before a decision on the analysis or until closing"),
    OfTurn("shown_at", "time at which the example was first displayed, UTC", "shown_at", "UTC"),
    OfTurn("submitted_at", "time at which the answer was stored, UTC", "answer__submitted_at",
        "UTC"),
    OfTurn("seconds", "submitted_at minus shown_at", brief=None),
    OfTurn("active_seconds", "active seconds, as defined in the study's design (manifest.json,"
        " pay)", "answer__active_seconds", "of the answer"),
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
        for name, meaning in SIGNS.items()
    ),
    OfTurn("shown_channel", CHANNELS["shown_channel"], "channel",
        "page or api: channel that showed it"),
    OfTurn("channel", CHANNELS["channel"], "answer__channel", "channel of the answer: page or api"),
)  # fmt: skip
# Columns of the findings tables, without bootstrap columns for intervals.
_INTERVALS = meanings(findings_columns.COLUMNS["intervals"])
_IN_CLOSED_FORM = (
    "n", "test_examples", "contexts", "mean", "low_95", "high_95", "t_low_95", "t_high_95", "se",
    "df", "no_interval", "sd_between_annotators", "sd_between_contexts", "sd_rest",
)  # fmt: skip
INTERVALS = {name: _INTERVALS[name] for name in _IN_CLOSED_FORM}
_CONTRASTS = meanings(findings_columns.COLUMNS["contrasts"])
# `question` has the same value in all rows, so the meaning of `low_95` includes it.
CONTRASTS = _without(_CONTRASTS, "task", "question")
DIFFERENCES = _without(meanings(models_columns.DIFFERENCES), "task", "question")


# Tables of *Statistics* that are also files of the export.
SUMMED = [table for table in findings_columns.OF_ARMS if table is not ADMISSION]
# Maps files to columns to meanings, without the columns of STUDY, which all files have.
_OWN: dict[str, dict[str, str]] = {
    "examples.csv": {
        "task": "name of the task",
        "task_version": "version of the task",
        "file": "name of the published file",
        "file_kind": "train, test, check (attention checks), anchor or screening (drawn from a"
        " training file, which `file` names)",
        "shots": "shots of a training split; empty for the test file",
        "split": "number of a training split; empty for the test file",
        "position": "position in the file, from 0; of anchors and screening, in the order drawn",
        "example": "id of the example (unique within its file only)",
        "segments": "the context as a JSON list of texts; images in Markdown with files in images/",
        "question": "the question as published",
        "question_selectable": "the question as displayed, if its text can be highlighted;"
        " otherwise empty",
        "options": "options of this example as a JSON list, in the order of the file; empty if the"
        " task is not answered by options",
        "gold": "gold texts as a JSON list; [] means that there is no answer",
        "gold_rule": "set: the gold texts form one answer; any_of: they are alternatives",
        "explanation": "explanation of the gold, as revealed in the training step; empty if the"
        " file has none",
        "granularity": "unit of highlighting: word or char; empty if answers are not highlighted",
        "stratum": "group of the example, such as its genre; empty if the file has none",
        "hash": "SHA-256 of the JSON list [segments, question, gold], with any options at its end;"
        " identifies equal examples across files",
        "reachable": "highest S1 attainable by highlighting, 0 to 1; 1 for other kinds of answer",
    },
    "answers.csv": {column.name: column.meaning for column in ANSWERS if column.meaning},
    "spans.csv": {
        **SCENARIO,
        "step": "anchor, training, screening, annotation or check",
        "annotator": "pseudonym of the participation",
        "example": "id of the example in its file",
        "hash": "hash of the example, as in examples.csv",
        "segment": "number of the segment from 0, or question",
        "start": "offset of the first code point of the span",
        "end": "offset after the last code point of the span",
        "text": "the highlighted text",
    },
    # The cells after `arrival` are empty if the participation was withdrawn.
    "annotators.csv": {
        **SCENARIO,
        **ARM,
        **WORKER,
        "arrival": "number of the allocation in allocations.csv",
        "stage": "last stage reached: arrived, consented, trained (finished the training or"
        " screening step; without one: saw the first example) or qualified (admitted to the"
        " annotation step)",
        "mean_s1": "mean S1 over the answered test examples, 0 to 1",
        "sd_examples": "sample standard deviation of S1 over these examples (ddof 1)",
        "n": "number of answered test examples",
        "training_s1": "mean S1 over the answered training examples, 0 to 1",
        "training_n": "number of answered training examples",
        "seconds": "sum of the seconds of all answers to the task (excluding upstream steps, as"
        " in the columns below)",
        "active_seconds": "sum of the active seconds of all answers",
        "worked_seconds": "paid time, from arrival to the last sign of work; empty until the pay"
        " is settled",
        "waited_seconds": "time spent waiting for a researcher's decision, which is also paid",
        "elapsed_seconds": "time from arrival to the end; empty until the pay is settled, and for"
        " returned or expired seats, whose end is unknown",
        "browser": "B1, B2, ...: rows with the same label share a random cookie; empty without a"
        " cookie",
        "too_fast": "number of answers given in under max(1 s, 0.3 of the annotator's median) or"
        " in under words / 12 s",
        "modal_share": "share of the most frequent answer in the annotation step",
        "longest_run": "longest run of identical answers in the annotation step",
        "longest_absence": "longest time between two answers or on one answer, in seconds",
        "blurs": "sum over all answers",
        "pastes": "sum over all answers",
        **dict.fromkeys(SIGNS, "sum over all answers"),
        "checks": "number of attention checks answered",
        "checks_passed": "number of attention checks passed",
        "flags": "quality flags, separated by spaces: too_fast (at least 5 % of the answers),"
        " fast_person (log median over 3 SDs below the mean of 5 or more others), one_answer"
        " (at least 90 % of 10 or more answers), run (15 or more), absence (over 1 h), paste, blur"
        " (more than 0.2 per answer), copies, left_after_copy and no_input (at least 5 % of the"
        " answers), automated (at least one), narrow (at least 50 %), checks (at least one failed),"
        " shared_browser",
    },
    "scenarios.csv": SCENARIO | {"kind": "person, simulated or model"} | SPREAD,
    "human_performance.csv": meanings(rendering.PERFORMANCE),
    "metrics.csv": meanings(metrics.COLUMNS),
    "metric_values.csv": meanings(metrics.OWN_COLUMNS),
    "training.csv": meanings(training.BLOCK_SCORES),
    "agreement.csv": {
        **OF_CELL,
        "shots": "shots of the group",
        "n": "number of annotators who completed and are in the analysis",
        "pairwise_s1": "mean over examples of the mean S1 between two annotators' answers, 0 to 1",
        **{f"alpha_{name}": ALPHA.format(words) for name, words in ALPHAS.items()},
        "individuals": "mean over annotators of their mean S1, 0 to 1",
        "majority": "S1 of the texts that more than half of the annotators chose, or of the most"
        " frequent label or option (a tie counts as no answer)",
    },
    "intervals.csv": OF_CELL | {"shots": "shots of the group"} | INTERVALS,
    "contrasts.csv": OF_CELL | CONTRASTS,
    **{
        f"{table.name}.csv": OF_CELL | _without(meanings(table.columns), "task") for table in SUMMED
    },
    "ceilings.csv": OF_CELL
    | {"shots": "shots of the group"}
    | _without(meanings(ceilings.COLUMNS), "task", "shots"),
    "items.csv": {
        **OF_CELL,
        "shots": "empty: all annotators of the kind; otherwise annotators with this number of"
        " shots, with their mean only",
        "example": "id of the test example in its file",
        **meanings(difficulty.columns([])),
        "unanimous": "1 if two or more annotators all gave the same answer, else 0",
        "against_gold": "1 if that answer is incorrect (a doubtful gold), else 0",
    },
    "sensitivity.csv": OF_CELL | _without(meanings(sensitivity.COLUMNS), "task"),
    "overlap.csv": OF_CELL | _without(meanings(overlap.COLUMNS), "task"),
    "flow.csv": SCENARIO
    | ARM
    | {"kind": "person, simulated or model", "seats": "current number of seats for that kind"}
    | {
        "arrived": "took a seat, including annotators who then declined",
        "declined": "did not consent; their rows in allocations.csv are also stored",
        "consented": "agreed to take part",
        "trained": "finished the training or screening step (without one: saw the first example)",
        "qualified": "were admitted to the annotation step",
        "completed": "completed",
        "analysed": "completed and not excluded",
        "at_work": "hold a seat and have not completed",
        "screened_out": "were screened out",
        "returned": "returned the seat",
        "expired": "exceeded the idle limit",
        "refused": "had already done this task",
        "withdrawn": "withdrew",
        "rejected": "were rejected on the platform before they completed",
    },
    "refused_arrivals.csv": {
        "reason": "reason for refusals on the landing page: "
        + "; ".join(f"{why.value}: {why.label}" for why in Reason),
        "number": (
            "number of refusals, each reason once per browser; not the number of participants"
        ),
    },
    "allocations.csv": {
        "arrival": "number of the allocation within the study, from 1, over all kinds; arrivals"
        " that declined have no row in annotators.csv",
        "kind": "person, simulated or model",
        "candidates": "scenarios open to this arrival, as a JSON list of [task, shots, seats"
        " taken, seats]; if the design has several training splits, followed by the number of the"
        " split (null at zero shots); in a cross-task study, followed by the number of the split"
        " and the arm",
    }
    | SCENARIO
    | ARM
    | {"at": "time of the allocation, UTC; empty for withdrawn participants"},
    "decisions.csv": {
        "annotator": "pseudonym of the participation (decisions about those who withdrew are left"
        " out)",
        "about": "analysis (included or excluded), pay (paid or not), qualification (admitted to"
        " the annotation step or not), release (an unusually high amount approved for payment)",
        "outcome": "1 for yes, 0 for no; by default, every annotator is included and paid",
        "reason": "the reason as entered; review before publication",
        "role": "researcher, or rule (automatic: by the design's rule or by the platform)",
        "score_seen": "for a researcher's decision on the analysis: 1 if the annotator's score"
        " could be seen before it, else 0; empty for other decisions",
        "at": "time of the decision, UTC",
    },
    "questionnaire.csv": {
        "annotator": "pseudonym of the participation",
        "seen_before": "reports having seen the texts or the task before: no, yes, unsure; empty:"
        " not answered",
        "ai_used": "reports having used an AI tool: no, yes, unsure; empty: not answered",
        "tools": "tools or people that helped, as entered; review before publication",
        "comments": "further comments, as entered; review before publication",
    },
    "own_answers.csv": {
        "annotator": "pseudonym of the participation",
        "asked": "before the instructions, or after the task",
        "question": "id of the question in the design (own_questions in manifest.json)",
        "answered_by": "choice, text or number",
        "wording": "the question as it was asked",
        "answer": "the answer as given; empty: skipped; review before publication, as demographics"
        " can identify participants",
    },
    # One row per model participation. The cells from `harness` on are empty if the run was not
    # fully reported.
    "model_annotators.csv": {
        "annotator": "pseudonym of the participation",
        "model": "the provider's name of the model",
        "revision": "revision of the model, if stated",
        "prompt_hash": "SHA-256 of the template",
        "replicate": "number of the run of this model and prompt on this training split",
        "harness": "program that ran it, and its version",
        "examples": "answered: the model answers training examples, which are then revealed, as for"
        " humans; shown: training examples and their gold are given in the context",
        "context": "each: the context of a test example contains the training step; all: it also"
        " contains the previous test examples",
        "retries": "number of retries allowed for an invalid output",
        "temperature": "temperature of the run; empty: the provider's default",
        "seed": "seed of the run; empty: none",
        "input_tokens": "input tokens, as counted by the provider",
        "output_tokens": "output tokens, as counted by the provider",
        "cost_usd": "cost in US dollars; empty: unknown",
        "answers": "answers requested from the model",
        "invalid": "of these, outputs that remained invalid and were stored as empty answers",
        "refusals": "replies that the provider marked as refusals",
        "seconds": "time until the model's replies",
        "template": "templates and declared options from which the conversation is built",
    },
    "pay.csv": {
        "annotator": "pseudonym of the participation",
        "earning": "base, screen_out, top_up, partial, waiting or bonus",
        "cents": "amount in hundredths of the currency, even if a decision leaves the work unpaid"
        " (decisions.csv, about = pay)",
        "currency": "three-letter currency code",
        "by_platform": "1: a reward paid by the platform when the work is approved; else 0",
    },
    "pay_totals.csv": {
        "earning": "as in pay.csv",
        "currency": "three-letter currency code",
        "entries": "number of entries in pay.csv",
        "cents": "sum of these entries, in hundredths of the currency",
        "withdrawn_cents": "further amounts, earned by participants who withdrew and whose entries"
        " are omitted",
    },
    "wages.csv": {
        "n": "participations with settled pay, except those that were withdrawn or left unpaid by a"
        " decision",
        "per_active_hour": "median earnings in cents per hour of worked and waited_seconds",
        "per_elapsed_hour": "median earnings in cents per hour of elapsed_seconds",
        "median_active_seconds": "median of worked and waited_seconds together",
        "median_elapsed_seconds": "median of elapsed_seconds",
        "total_active_seconds": "sum of worked and waited_seconds",
        "total_elapsed_seconds": "sum of elapsed_seconds of participations whose end is known",
    },
    "predictions.csv": {"model": "name of the uploaded model"}
    | SCENARIO
    | ARM
    | {
        "example": "id of the test example in its file",
        "hash": "hash of the example, as in examples.csv",
        "predicted": "the predicted texts as a JSON list; [] means that no answer was predicted",
        "s1": "S1 of the prediction, 0 to 1",
    },
    "model_scores.csv": meanings(models_columns.MODEL),
    "model_differences.csv": OF_CELL | DIFFERENCES,
    # Only cross-task studies have rows in this file.
    "upstream_pool.csv": {
        "arm": "arm that may be trained on the example: upstream (all upstream arms) or sham",
        "task": "name of the upstream or sham task",
        "task_version": "version of the task",
        "position": "position in the frozen pool of the task, from 0",
        "example": "id of the example in its training file",
        "segments": "the context as a JSON list of texts; images in Markdown with files in images/",
        "question": "the question as published",
        "options": "options of this example as a JSON list; empty if there are none",
        "gold": "gold texts as a JSON list",
        "gold_rule": "set or any_of",
        "hash": "SHA-256 of the JSON list [segments, question, gold], with any options at its end",
    },
    "upstream.csv": {
        "annotator": "pseudonym of the participation",
        "arm": "upstream or the name of an upstream arm, or sham",
        "position": "position in the annotator's upstream step, from 0",
        "task": "name of the upstream or sham task",
        "task_version": "version of the task",
        "example": "id of the example, as in upstream_pool.csv",
        "hash": "hash of the example",
        "answer": "the answer as a JSON list of distinct texts; empty: not yet answered",
        "s1": "S1 of the answer, 0 to 1",
        "shown_at": "time at which the example was first displayed, UTC",
        "submitted_at": "time at which the answer was stored, UTC",
        "active_seconds": "active seconds, as in answers.csv",
    }
    | CHANNELS,
    "gains.csv": meanings(cross_task.GAINS),
    "model_gains.csv": meanings(learners.MODEL_GAINS),
}
# The data dictionary and the header rows are generated from these columns.
COLUMNS = {name: STUDY | own for name, own in _OWN.items()}
