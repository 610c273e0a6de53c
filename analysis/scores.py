"""Scores of annotators: from stored answers to one row per participation.

S1 was stored with each answer; here it is only averaged. Nothing in this package writes.
"""

import pandas as pd

from annotation.models import Answer, Participation, Step, Study

COLUMNS = [
    "participation", "annotator", "task", "task_version", "shots", "split", "kind", "status",
    "in_analysis", "mean_s1", "sd_examples", "n", "training_s1", "training_n", "seconds",
]  # fmt: skip


def annotators(study: Study) -> pd.DataFrame:
    """One row per participation of the study, in a fixed order (task, shots, annotator).

    Columns: COLUMNS. `mean_s1` and `training_s1` are means over the answered examples of the
    annotation and the training step, in [0, 1]; `sd_examples` is the SD over the examples of the
    annotation step with ddof 1; `n` and `training_n` count answers; `seconds` is the sum over both
    steps of the time from shown to submitted. Missing numbers are NaN.
    """
    people = pd.DataFrame.from_records(
        Participation.objects.filter(study=study).values_list(
            "pk", "pseudonym", "scenario__task__name", "scenario__task__version",
            "scenario__shots", "scenario__split_number", "kind", "status", "in_analysis",
        ),
        columns=COLUMNS[:9],
    )  # fmt: skip
    answers = answers_of(study)
    steps = answers.groupby(["participation", "step"])["s1"].agg(["mean", "std", "count"])
    for step, names in (
        (Step.ANNOTATION, {"mean": "mean_s1", "std": "sd_examples", "count": "n"}),
        (Step.TRAINING, {"mean": "training_s1", "count": "training_n"}),
    ):
        if step in steps.index.get_level_values("step"):
            part = steps.xs(step, level="step").rename(columns=names)[list(names.values())]
        else:
            part = pd.DataFrame(columns=list(names.values()), dtype=float)
        people = people.merge(part, how="left", left_on="participation", right_index=True)
    seconds = answers.groupby("participation")["seconds"].sum()
    people = people.merge(
        seconds.rename("seconds"), how="left", left_on="participation", right_index=True
    )
    counts = ["n", "training_n"]
    people[counts] = people[counts].fillna(0).astype(int)
    people["seconds"] = people["seconds"].fillna(0.0).astype(float)
    return people[COLUMNS].sort_values(["task", "shots", "annotator"], ignore_index=True)


def answers_of(study: Study) -> pd.DataFrame:
    """One row per answer: participation, example_hash, step, s1 in [0, 1], seconds."""
    rows = Answer.objects.filter(turn__participation__study=study).values_list(
        "turn__participation_id", "turn__example__content_hash", "turn__step", "s1",
        "turn__shown_at", "submitted_at",
    )  # fmt: skip
    frame = pd.DataFrame.from_records(
        rows.iterator(chunk_size=5000),
        columns=["participation", "example_hash", "step", "s1", "shown_at", "submitted_at"],
    )
    frame["s1"] = frame["s1"].astype(float)
    gaps = pd.to_datetime(frame.pop("submitted_at"), utc=True) - pd.to_datetime(
        frame.pop("shown_at"), utc=True
    )
    frame["seconds"] = gaps.dt.total_seconds()
    return frame


def answers_in_order(study: Study, kind: str) -> pd.DataFrame:
    """One row per answer of both steps by those who completed and are in the analysis.

    Columns: task, shots, annotator, step (training or annotation: attention checks are left out),
    position (from 0 without a gap, in the order in which this annotator met the step's examples),
    example (key), s1 in [0, 1], seconds (active time on it). Rows stand in that order.
    """
    rows = (
        Answer.objects.filter(
            turn__participation__in=study.participations.in_tables().filter(kind=kind),
            turn__step__in=[Step.TRAINING, Step.ANNOTATION],
        )
        .order_by("turn__participation", "turn")
        .values_list(
            "turn__participation__scenario__task__name", "turn__participation__scenario__shots",
            "turn__participation__pseudonym", "turn__step", "turn__example_id", "s1",
            "active_seconds",
        )
    )  # fmt: skip
    columns = ["task", "shots", "annotator", "step", "example", "s1", "seconds"]
    frame = pd.DataFrame.from_records(rows.iterator(chunk_size=5000), columns=columns)
    # Attention checks have places in the order too: the stored position would have gaps.
    frame["position"] = frame.groupby(["annotator", "step"]).cumcount()
    return frame.astype({"s1": float, "seconds": float})


def counted(frame: pd.DataFrame, kind: str) -> pd.DataFrame:
    """The rows that a cell is made of: completed, in the analysis, of that kind."""
    return frame[
        (frame["status"] == Participation.Status.COMPLETED)
        & frame["in_analysis"].astype(bool)
        & (frame["kind"] == kind)
    ]


def scenarios(frame: pd.DataFrame) -> pd.DataFrame:
    """One row per task, shots, split and kind: mean over annotators, both SDs, n.

    `frame` is what `annotators` returns. Columns: task, task_version, shots, split, kind, mean,
    sd_ddof1 (NaN for one annotator), sd_ddof0, n.
    """
    keys = ["task", "task_version", "shots", "split", "kind"]
    parts = [counted(frame, kind) for kind in sorted(set(frame["kind"]))]
    rows = pd.concat(parts) if parts else frame.iloc[:0]
    grouped = rows.groupby(keys, dropna=False)["mean_s1"]
    return pd.DataFrame(
        {
            "mean": grouped.mean(),
            "sd_ddof1": grouped.std(ddof=1),
            "sd_ddof0": grouped.std(ddof=0),
            "n": grouped.count(),
        }
    ).reset_index()
