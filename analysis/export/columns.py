"""The columns of every exported file and what they mean; the data dictionary is made from them."""

from analysis.export import records

STUDY = {
    "study": "name of the study",
    "manifest": "SHA-256 of the study's frozen design (manifest.json); empty while it is a draft",
}
SCENARIO = {
    "task": "name of the task",
    "task_version": "version of the task",
    "shots": "size of the training step: 0 or the shots of the training file",
    "split": "number of the training file; empty at zero shots",
}
WORKER = {
    "annotator": "pseudonym of the participation",
    "kind": "person, simulated or model",
    "status": "state of the participation: completed, working, expired, ...",
    "in_analysis": "1 if the participation counts in tables: completed and in the analysis; else 0",
}
SPREAD = {
    "mean": "mean over annotators of their mean S1, 0 to 1",
    "sd_ddof1": "standard deviation over annotators, ddof 1; empty for one annotator",
    "sd_ddof0": "standard deviation over annotators, ddof 0",
    "n": "number of annotators: completed, in the analysis",
}
# File -> column -> what it holds. The README's section is made from this, and so are the headers.
COLUMNS: dict[str, dict[str, str]] = {
    "examples.csv": {
        "task": "name of the task",
        "task_version": "version of the task",
        "file": "name of the published file",
        "file_kind": "train, test, or check (attention checks)",
        "shots": "shots of a training file; empty for the test file",
        "split": "number of a training file; empty for the test file",
        "position": "place in the file, from 0",
        "example": "id in the file (unique only there)",
        "segments": "the context as a JSON list of texts",
        "question": "the question as published",
        "question_selectable": "the question as shown, if it can be highlighted; else empty",
        "gold": "gold texts as a JSON list; [] is no answer",
        "gold_rule": "set: all golds together; any_of: golds are alternatives",
        "hash": "SHA-256 of the JSON list [segments, question, gold]: equality across files",
        "reachable": "best S1 that highlighting can reach, 0 to 1",
    },
    "answers.csv": STUDY
    | SCENARIO
    | {
        "step": "training, annotation, or check (an attention check, never in S1)",
        "position": "place in the order in which this annotator met the step's examples, from 0;"
        " attention checks stand in the order of the annotation step",
    }
    | WORKER
    | {
        "example": "id of the example in its file",
        "hash": "hash of the example, as in examples.csv",
        "answer": "the answer as a JSON list of distinct texts; [] is no answer; empty: none yet",
        "gold": "gold texts as a JSON list; [] is no answer",
        "gold_rule": "set or any_of",
        "s1": "S1 of the answer, 0 to 1",
        "shown_at": "when the example was first shown, UTC",
        "submitted_at": "when the answer was stored, UTC",
        "seconds": "submitted_at minus shown_at",
        "active_seconds": "of these, the active time by the study's rule (manifest.json, pay)",
        "blurs": "how often the page was left, as it told itself",
        "away_seconds": "for how long in all, as it told itself",
        "pastes": "how often something was pasted, as it told itself",
    },
    "spans.csv": {
        "task": "name of the task",
        "step": "training, annotation or check",
        "annotator": "pseudonym of the participation",
        "example": "id of the example in its file",
        "hash": "hash of the example, as in examples.csv",
        "segment": "number of the segment from 0, or question",
        "start": "first code point of the span",
        "end": "code point after the last one",
        "text": "the text between them",
    },
    "annotators.csv": STUDY
    | SCENARIO
    | WORKER
    | {
        "mean_s1": "mean S1 over the answered test examples, 0 to 1",
        "sd_examples": "standard deviation of S1 over these examples, ddof 1",
        "n": "number of answered test examples",
        "training_s1": "mean S1 over the answered training examples, 0 to 1",
        "training_n": "number of answered training examples",
        "seconds": "sum of the seconds of all answers",
        "active_seconds": "sum of the active seconds of all answers",
        "browser": "B1, B2, ...: the same random cookie; empty where there was none",
        "too_fast": "answers under max(1 s, 0.3 of the own median) or under words / 12 s",
        "modal_share": "share of the commonest answer in the annotation step",
        "longest_run": "most equal answers in a row in the annotation step",
        "longest_absence": "longest time between two answers, or over one, in seconds",
        "blurs": "sum over all answers",
        "pastes": "sum over all answers",
        "checks": "answered attention checks",
        "checks_passed": "of these, answered as asked",
        "flags": "what is worth a look, separated by blanks: too_fast (5 % of the answers),"
        " fast_person (log-median 3 SDs below 5 or more others), one_answer (90 % of 10 or more),"
        " run (15), absence (over 1 h), paste, blur (over 0.2 per answer), checks (one failed),"
        " shared_browser",
    },
    "scenarios.csv": STUDY | SCENARIO | {"kind": "person, simulated or model"} | SPREAD,
    "human_performance.csv": STUDY
    | {
        "kind": "person, simulated or model: a row never mixes kinds",
        "family": "family of the task",
        "task": "name of the task",
        "task_version": "version of the task",
        "shots": "size of the training step",
        "mean": "mean over annotators of their mean S1, x 100",
        "sd_ddof1": "standard deviation over annotators, ddof 1, x 100; empty for one annotator",
        "sd_ddof0": "standard deviation over annotators, ddof 0, x 100",
        "n": "number of annotators: completed, in the analysis",
        "baseline": "S1 x 100 of the trivial baseline on the test examples",
        "baseline_name": "what the trivial baseline answers",
        "ceiling": "best mean S1 x 100 that highlighting can reach on the test examples",
        "published_mean": "mean in the paper's Table 4, quoted where the test file is the published"
        " one",
        "published_spread": "the ± printed beside that mean, quoted; the paper does not define it",
        "recipe": "every choice that changes the number",
    },
    **records.COLUMNS,
}
README = """\
Export of the study {name} from Handful.

{manifest}
Every number and every span in these CSVs can be recomputed without Handful:

    python verify.py

The files are UTF-8, RFC 4180. {reading} Rows stand in order, and verify.py says where a file was
sorted anew: examples by position; answers as they were shown, each annotator's by position; the
spans of an answer together; arrivals and decisions as they came. The columns:

{columns}"""
# How to open the CSVs so that every cell stays what it is.
READING = """\
Texts are unaltered. A spreadsheet may take one that begins with =, +, - or @ for a formula, and an
id for a date: do not open a file by a double click but import it, as UTF-8 and every column as
text. An empty cell is a missing value, and a text may well be "NA": in R use
read.csv(file, na.strings = "", encoding = "UTF-8"), in pandas
read_csv(file, keep_default_na=False, na_values=[""])."""


def columns_markdown() -> str:
    """The columns of every file as Markdown tables: the README's section."""
    parts = []
    for file, columns in COLUMNS.items():
        rows = "\n".join(f"| `{column}` | {text} |" for column, text in columns.items())
        parts.append(f"**{file}**\n\n| column | what |\n|---|---|\n{rows}\n")
    return "\n".join(parts)
