"""Columns for tables of humans and models: scores, averages over tasks, paired differences."""

import math
from collections.abc import Iterable
from functools import partial
from operator import attrgetter
from typing import Any

from analysis.scores.columns import RECIPE, SCORE, signed_points, table_columns
from analysis.scores.markup import rendered
from analysis.scores.tested import EQUIVALENCE_COLUMNS, ERROR_COLUMNS, interval_columns, p_columns
from analysis.stats.two_way import RUNS
from tasks.columns import NOTHING, Column, points, two_digits

# Properties of a run, with their headings and meanings.
STATED = {
    "numbering": (
        "Numbering", "training files to which its split numbers refer: published, rechained"
    ),
    "seen_test": (
        "Seen the test set?", "whether it may have seen the test examples: no, maybe, yes"
    ),
    "predicted_on": ("Date", "date of the run"),
    "revision": ("Revision", "revision of the model"),
    "method": (
        "Method", "how it was adapted to the task: FT (fine-tuning), PT (prompt-based"
        " fine-tuning), ICL (in-context learning), other"
    ),
    "tuning": (
        "Prompts and settings", "how they were chosen: fixed (in advance), training (on the"
        " training data), held-out (on held-out data, which inflates scores)"
    ),
}  # fmt: skip


def _stated(name: str, row: Any) -> str | None:
    """Return a property of a run, or None if it is not stated."""
    return getattr(row.run, name) or None


def _run_column(name: str, heading: str, meaning: str, missing: str = "not stated") -> Column:
    return Column(name, heading, meaning, show=lambda value: value or missing,
                  get=partial(_stated, name))  # fmt: skip


# Columns for the result of models.model_rows.
MODEL = [
    Column("model", meaning="name of the uploaded model"),
    Column("task", meaning="name of the task", get="task.name"),
    Column("task_version", meaning="version of the task", get="task.version"),
    Column("shots", "Shots", "number of examples in the training splits used; empty in files if"
           " fully supervised (All)", show=lambda shots: "All" if shots is None else str(shots)),
    Column("mean", "Score", "mean over training splits of the test-set score under the task's"
           " metric, x 100", "points", get="score.mean"),
    Column("metric", "Metric", "the task's metric", get="task.card.metric"),
    Column("remark", "Remark", "remark on the mean, or the reason why it is undefined and for how"
           " many splits", show=lambda value: value or "–",
           get=lambda row: row.score.remark or None),
    Column("sd_ddof1", "SD, ddof 1", "sample standard deviation over training splits (ddof 1), x"
           " 100; empty for a single split", "points", two_digits, "score.sd_ddof1"),
    Column("", "SD, ddof 0", "population standard deviation over training splits (ddof 0), x 100;"
           " none for a single split", "points", two_digits,
           lambda row: row.score.sd_ddof0 if row.score.n > 1 else math.nan),
    Column("sd_ddof0", meaning="population standard deviation over training splits (ddof 0), x 100",
           unit="points", get="score.sd_ddof0"),
    Column("", "Splits", "training splits with predictions, out of all splits of the task; at zero"
           " shots, one run without training",
           get=lambda row: f"{row.score.n} of {row.score.of}" if row.shots else "one run"),
    Column("n", meaning="number of training splits with predictions", get="score.n"),
    Column("of", meaning="number of training splits of the task at that number of shots",
           get="score.of"),
    *(
        Column(f"set_{name}", meaning=f"for tasks with alternative gold answers: the {measure} with"
               " all gold answers of an example as one set", unit=unit, get=f"as_set.{name}")
        for name, measure, unit in (
            ("mean", "mean", "S1 x 100"),
            ("sd_ddof1", "SD over splits (ddof 1)", "points"),
            ("sd_ddof0", "SD over splits (ddof 0)", "points"),
        )
    ),
    Column("set_recipe", meaning="recipe string of set_mean; empty if the gold answers form one"
           " set", get=lambda row: row.set_recipe or None),
    *(
        _run_column(name, heading, f"as stated, several values separated by semicolons: {meaning}")
        for name, (heading, meaning) in STATED.items()
    ),
    _run_column("arm", "Arm", "of a cross-task study, or empty", NOTHING),
    Column("recipe", meaning=RECIPE),
]  # fmt: skip

# Columns for the result of models.score_rows.
SCORES = table_columns(
    "model_scores",
    {name: meaning for name, (_heading, meaning) in STATED.items()},
    remark=lambda row: row.score.remark or None,
    **{name: partial(_stated, name) for name in STATED},
)
# Columns for the result of models.aggregate_rows.
AGGREGATES = table_columns("model_aggregates")


def _mean_and_n(values: tuple[float, int]) -> str:
    mean, n = values
    return f"{points(mean)} (n={n})"


# Columns for the rows of differences.differences.
DIFFERENCES = [
    Column("task", "Task"),
    Column("shots", "Shots"),
    Column("model", "Model", "An uploaded model, or one in an annotator's seat (marked)."),
    Column("in_family", meaning="1: in the family of Holm's correction; 0: uploaded after the study"
           " was closed"),
    Column("annotators", meaning="annotators who completed and are in the analysis"),
    Column("splits", meaning="number of the model's runs that are averaged (for a model in"
           " an annotator's seat, first within each split)"),
    Column("split_numbers", meaning="their training splits, separated by semicolons"),
    Column("training", "Training", "Whether the model's runs were trained on the same splits as the"
           " annotators. Same splits: only these runs are compared. Other splits: no such run"
           " exists or its split numbers are not stated, so all runs are averaged. None: no"
           " training at zero shots."),
    Column("test_examples", "Examples", "Test examples that both answered.", get="examples"),
    Column("contexts", "Contexts", "Distinct contexts of these examples (clusters)."),
    Column("", "Humans", "Mean test-set score x 100 under the task's metric, over n annotators who"
           " completed and are in the analysis.", SCORE, _mean_and_n,
           attrgetter("human_mean", "annotators")),
    Column("human_mean", meaning="mean score x 100 of the annotators", unit=SCORE),
    Column("", "Model's score", "Mean test-set score x 100 under the same metric, over the n runs"
           " that are compared.", SCORE, _mean_and_n, attrgetter("model_mean", "splits")),
    Column("model_mean", meaning="mean score x 100 of the model", unit=SCORE),
    Column("difference", "Difference", "Annotators - model: difference in mean score on the"
           " same test examples, in points of the score x 100 under the task's metric, over these"
           " runs.", "points", signed_points),
    *interval_columns(RUNS, attrgetter("annotators")),
    *p_columns("all differences in this table that belong to its family"),
    *EQUIVALENCE_COLUMNS,
    Column("se_clustered", "SE, examples", "Sensitivity analysis: standard error of the difference"
           " over examples, clustered by context (ddof 0), with these annotators fixed.", "points"),
    Column("p_sign_flip", "p sign flip", "Sensitivity analysis: two-sided sign-flip permutation"
           " test over contexts, seeded with the study's seed, with these annotators fixed. With"
           " many contexts, 10,000 flips are drawn.", "0 to 1"),
    Column("smallest_p", "Smallest p", "The smallest p that this sign-flip test can attain:"
           " 2 / (number of possible flips of the contexts that differ), or 1 / 10,001 if flips are"
           " drawn.", "0 to 1", get="floor"),
    *ERROR_COLUMNS,
]  # fmt: skip


def pair_columns(pairing: Any) -> list[Column]:
    return [
        *(
            Column(column.name, meaning=column.heading,
                   get=partial(lambda c, _row: c.value(pairing), column))
            for column in DIFFERENCES[:3]
        ),
        Column("example", meaning="id in its file", get="example.source_id"),
        Column("hash", meaning="hash of the example", get="example.content_hash"),
        Column("human_mean", "Humans", "S1 x 100 on the example, mean over annotators.", "S1 x 100",
               get="human"),
        Column("model_mean", "Model", "S1 x 100 on the example, mean over the model's runs.",
               "S1 x 100", get="model"),
        Column("difference", "Difference", "Humans - model, in points of S1 x 100.", "points",
               signed_points),
    ]  # fmt: skip


# Shown above and below the page's score tables, in which each task has the first of these.
SCORE_COLUMNS = table_columns("scored")


def explanations(annotators: str, rows: Iterable[Any]) -> list[tuple[str, str]]:
    """Return (source, explanation of its numbers) for each source among these rows."""
    texts = rendered("sources", {})
    shown = {source for row in rows for source in (row.source, row.aggregate and "average")}
    names = {
        "study": f"{annotators}, this study",
        "uploaded": "Uploaded models",
        "published": "Published",
        "average": "Average ± SD",
    }
    return [(name, texts[block]) for block, name in names.items() if block in shown]
