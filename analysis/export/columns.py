"""The columns of every exported file and their meanings; the source of the data dictionary."""

from collections.abc import Sequence

from analysis.tables import models_columns, rendering
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
WORKER = {
    "annotator": "pseudonym of the participation",
    "kind": "person, simulated or model",
    "status": "status of the participation: completed, working, expired, ...",
    "in_analysis": "1 if the participation is analysed (completed and not excluded), else 0",
}
SPREAD = {
    "mean": "mean over annotators of their mean S1, 0 to 1",
    "sd_ddof1": "sample standard deviation over annotators (ddof 1); empty for a single annotator",
    "sd_ddof0": "population standard deviation over annotators (ddof 0)",
    "n": "number of annotators who completed and are in the analysis",
}


def meanings(columns: Sequence[Column]) -> dict[str, str]:
    """The names of a table's columns and their meanings."""
    return {column.name: column.meaning for column in in_files(columns)}


# File -> column -> meaning. The data dictionary and the header rows are generated from this.
COLUMNS: dict[str, dict[str, str]] = {
    "examples.csv": {
        "task": "name of the task",
        "task_version": "version of the task",
        "file": "name of the published file",
        "file_kind": "train, test or check (attention checks)",
        "shots": "shots of a training split; empty for the test file",
        "split": "number of a training split; empty for the test file",
        "position": "position in the file, from 0",
        "example": "id of the example (unique within its file only)",
        "segments": "the context as a JSON list of texts",
        "question": "the question as published",
        "question_selectable": "the question as displayed, if its text can be highlighted; else"
        " empty",
        "gold": "gold texts as a JSON list; [] means that there is no answer",
        "gold_rule": "set: the gold texts form one answer; any_of: they are alternatives",
        "explanation": "why the gold is right, as revealed with it in the training step; empty if"
        " the file gives no reason",
        "granularity": "word or char: by what answers are highlighted; empty for labels",
        "hash": "SHA-256 of the JSON list [segments, question, gold]; identifies equal examples"
        " across files",
        "reachable": "highest S1 attainable by highlighting, 0 to 1",
    },
    "answers.csv": STUDY
    | SCENARIO
    | {
        "step": "training, annotation or check (attention check; excluded from S1)",
        "position": "position in the order in which this annotator saw the step's examples, from 0;"
        " attention checks are numbered within the annotation step",
    }
    | WORKER
    | {
        "example": "id of the example in its file",
        "hash": "hash of the example, as in examples.csv",
        "answer": "the answer as a JSON list of distinct texts; [] means “no answer”; empty: not"
        " yet"
        " answered",
        "gold": "gold texts as a JSON list; [] means that there is no answer",
        "gold_rule": "set or any_of",
        "s1": "S1 of the answer, 0 to 1",
        "shown_at": "time at which the example was first displayed, UTC",
        "submitted_at": "time at which the answer was stored, UTC",
        "seconds": "submitted_at minus shown_at",
        "active_seconds": "active seconds, as defined in the study's design (manifest.json, pay)",
        "reveal_seconds": "active seconds from the answer to Continue, while the gold was shown;"
        " empty in the annotation step, and before Continue",
        "blurs": "number of times the page lost focus (reported by the browser)",
        "away_seconds": "total seconds without focus (reported by the browser)",
        "pastes": "number of paste events (reported by the browser)",
    },
    "spans.csv": {
        "task": "name of the task",
        "step": "training, annotation or check",
        "annotator": "pseudonym of the participation",
        "example": "id of the example in its file",
        "hash": "hash of the example, as in examples.csv",
        "segment": "number of the segment from 0, or question",
        "start": "offset of the first code point of the span",
        "end": "offset after the last code point of the span",
        "text": "the highlighted text",
    },
    "annotators.csv": STUDY
    | SCENARIO
    | WORKER
    | {
        "mean_s1": "mean S1 over the answered test examples, 0 to 1",
        "sd_examples": "sample standard deviation of S1 over these examples (ddof 1)",
        "n": "number of answered test examples",
        "training_s1": "mean S1 over the answered training examples, 0 to 1",
        "training_n": "number of answered training examples",
        "seconds": "sum of the seconds of all answers",
        "active_seconds": "sum of the active seconds of all answers",
        "browser": "B1, B2, ...: equal labels share one random cookie; empty if there was none",
        "too_fast": "number of answers given in under max(1 s, 0.3 of the annotator's median) or"
        " in under"
        " words / 12 s",
        "modal_share": "share of the most frequent answer in the annotation step",
        "longest_run": "longest run of identical answers in the annotation step",
        "longest_absence": "longest time between two answers or on a single one, in seconds",
        "blurs": "sum over all answers",
        "pastes": "sum over all answers",
        "checks": "number of attention checks answered",
        "checks_passed": "number of attention checks passed",
        "flags": "quality flags, separated by spaces: too_fast (at least 5 % of the answers),"
        " fast_person (log median over 3 SDs below the mean of 5 or more others), one_answer"
        " (at least 90 % of 10 or more answers),"
        " run (15 or more), absence (over 1 h), paste, blur (more than 0.2 per answer), checks"
        " (at least one failed),"
        " shared_browser",
    },
    "scenarios.csv": STUDY | SCENARIO | {"kind": "person, simulated or model"} | SPREAD,
    "human_performance.csv": STUDY | meanings(rendering.PERFORMANCE),
    "allocations.csv": STUDY
    | {
        "arrival": "number of the allocation within the study, from 1, over all kinds",
        "kind": "person, simulated or model",
        "candidates": "scenarios open to this arrival, as a JSON list of [task, shots, seats"
        " taken, seats]",
    }
    | SCENARIO
    | {"at": "time of the allocation, UTC"},
    "decisions.csv": STUDY
    | {
        "annotator": "pseudonym of the participation",
        "about": "analysis (included or excluded), pay (paid or not), qualification (admitted to"
        " the"
        " annotation step or not), release (an unusually high amount approved for payment)",
        "outcome": "1 for yes, 0 for no; by default everybody is included and paid",
        "reason": "the reason as entered; review before publication",
        "role": "researcher, or rule (automatic: by the design's rule or by the platform)",
        "at": "time of the decision, UTC",
    },
    "questionnaire.csv": STUDY
    | {
        "annotator": "pseudonym of the participation",
        "seen_before": "reports having seen the texts or the task before: no, yes, unsure; empty:"
        " not"
        " answered",
        "ai_used": "reports having used an AI tool: no, yes, unsure; empty: not answered",
        "tools": "tools or people that helped, as entered; review before publication",
        "comments": "further comments, as entered; review before publication",
    },
    "pay.csv": STUDY
    | {
        "annotator": "pseudonym of the participation",
        "kind": "base, screen_out, top_up, partial, waiting or bonus",
        "cents": "amount in hundredths of the currency",
        "currency": "three-letter currency code",
    },
    "pay_totals.csv": STUDY
    | {
        "kind": "kind of entry, as in pay.csv",
        "currency": "three-letter currency code",
        "entries": "number of entries of pay.csv",
        "cents": "sum of these entries, in hundredths of the currency",
    },
    "predictions.csv": STUDY
    | {"model": "name of the uploaded model"}
    | SCENARIO
    | {
        "example": "id of the test example in its file",
        "hash": "hash of the example, as in examples.csv",
        "predicted": "the predicted texts as a JSON list; [] means that no answer was predicted",
        "s1": "S1 of the prediction, 0 to 1",
    },
    "model_scores.csv": STUDY | meanings(models_columns.MODEL),
}
README = """\
Export of the study {name} from Handful.

{manifest}
Every number and every span in these CSVs can be recomputed without Handful:

    python verify.py

The files are UTF-8 and follow RFC 4180. {reading} Rows are ordered, and verify.py reports files
that have been re-sorted: examples by position; answers by the time they were displayed, those of
an annotator by position; the spans of an answer together; arrivals and decisions chronologically.
The columns:

{columns}"""
# How to open the CSVs without altering a cell.
READING = """\
Texts are exported unaltered. Spreadsheet programs may read texts that begin with =, +, - or @ as
formulas and ids as dates: do not open a file by double-clicking it; import it as UTF-8 with every
column as text. An empty cell is a missing value, and the text "NA" is a text: in R use
read.csv(file, na.strings = "", encoding = "UTF-8"), in pandas
read_csv(file, keep_default_na=False, na_values=[""])."""


def columns_markdown() -> str:
    """The columns of every file as Markdown tables: the data dictionary."""
    parts = []
    for file, columns in COLUMNS.items():
        rows = "\n".join(f"| `{column}` | {text} |" for column, text in columns.items())
        parts.append(f"**{file}**\n\n| column | meaning |\n|---|---|\n{rows}\n")
    return "\n".join(parts)
