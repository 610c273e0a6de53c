"""Expected tables of models, metrics, items and other criteria, computed from answers alone."""

from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy import stats

from tests.analysis.export import recomputed_scores as again
from tests.analysis.export.recomputed import CELL, Expected, Exported
from tests.analysis.export.recomputed_tables import pairwise_s1, with_holm


def predictions(export: Exported) -> Expected:
    return {
        (*run, example): {"s1": own}
        for run in export.runs
        for example, own in zip(
            export.tests[run[1]]["example"], export.judged(run, "S1").parts, strict=True
        )
    }


def metric_values(export: Exported) -> Expected:
    people = export.counted()[["kind", "annotator", "task", "shots", "split"]]
    whose = {own: own[1] for own in people.itertuples(index=False, name=None)}
    whose |= {("uploaded", *run): run for run in export.runs}
    return {
        (*key, metric): {"value": export.judged(who, metric).value}
        for key, who in whose.items()
        for metric in export.metrics[key[2]]
    }


def metrics(export: Exported) -> Expected:
    seats, rows = Counter(), {}
    for (task, shots, _split, arm), number in export.seats().items():
        seats[task, shots] += number if arm in ("", "direct") else 0
    groups = {("uploaded", *place): runs for place, runs in export.models().items()}
    groups |= {(kind, "", *place): own for (kind, *place), own in export.cells().items()}
    for (who, name, task, shots), group in groups.items():
        for metric in export.metrics[task]:
            estimate = again.of_mean(export.matrix(group, metric), export.contexts[task])
            row = estimate.interval(export.lowest(task, metric))
            row |= {"se": estimate.ses[1], "df": estimate.dfs[1], "of": seats[task, shots]}
            if who == "uploaded":
                row = dict.fromkeys(row, np.nan) | {"of": splits(export, task, shots)}
            row |= again.spread(export.values(group, metric)) | {"n": len(group)}
            rows[who, name, task, shots, metric] = row
    return rows


def splits(export: Exported, task: str, shots: str) -> int:
    """Return the number of splits on which a model can be trained, or 1 at zero shots."""
    files = export.examples.query("task == @task and shots == @shots")
    return files["split"].nunique() if shots != "0" else 1


def model_scores(export: Exported) -> Expected:
    return {
        (model, task, shots): again.spread(export.values(runs))
        | export.as_one_set(runs, task)
        | {"n": len(runs), "of": splits(export, task, shots)}
        for (model, task, shots), runs in export.models().items()
    }


def seated(export: Exported) -> dict[tuple[str, ...], list]:
    """Return the runs of models in the annotator's seat, by name, task and shots."""
    told, runs = export["model_annotators.csv"].set_index("annotator"), defaultdict(list)
    for row in export.counted().query("kind == 'model'").itertuples():
        model, revision, prompt = told.loc[row.annotator, ["model", "revision", "prompt_hash"]]
        name = f"{model} {revision}, prompt {prompt[:8]} (model in the annotator's seat)"
        runs[name, row.task, row.shots].append(row.annotator)
    return runs


def model_differences(export: Exported) -> Expected:
    rows = {}
    for (kind, *place), names in export.cells().items():
        others = export.models() | (seated(export) if kind != "model" else {})
        for (model, *of), runs in others.items():
            if of == place:
                rows[kind, *place, model] = _difference(export, place[0], names, runs)
    return with_holm(rows)


def _difference(export: Exported, task: str, names: list[str], runs: list) -> dict:
    """Return the expected row; in these studies, each split has one run."""
    contexts, people = export.contexts[task], export.matrix(names)
    model = export.matrix(runs).mean(axis=0)
    gaps = pd.Series((people - model).mean(axis=0), contexts)
    row = again.of_mean(people - model, contexts).tested(export.margin) | {
        "annotators": len(names), "splits": len(runs), "contexts": len({*contexts}),
        "test_examples": len(model), "human_mean": people.mean(), "model_mean": model.mean(),
    }  # fmt: skip
    row |= dict.fromkeys(("se_clustered", "p_sign_flip", "smallest_p"), np.nan)
    if not gaps.isna().any():
        clusters = {"groups": pd.factorize(gaps.index)[0], "use_correction": False}
        constant = sm.OLS(gaps.to_numpy(), np.ones(len(gaps)))
        row["se_clustered"] = constant.fit(cov_type="cluster", cov_kwds=clusters).bse[0]
        sums = gaps.groupby(level=0).sum()
        sums = sums[sums.abs() > again.SAME].to_numpy()
        row["p_sign_flip"] = again.permuted((sums,), "samples") if len(sums) > 1 else 1
        row["smallest_p"] = 2.0 ** (1 - max(1, len(sums)))
    return row


def items(export: Exported) -> Expected:
    rows = {}
    for (kind, task), people in export.counted().groupby(["kind", "task"]):
        runs = pd.Series([run for run in export.runs if run[1] == task], dtype=object)
        models = [export.matrix(own, "S1") for _model, own in runs.groupby(runs.str[0])]
        own = export.matrix(people["annotator"], "S1")
        everyone = np.vstack([own, *(runs.mean(axis=0) for runs in models)])
        shots = people["shots"].to_numpy()
        for place, example in enumerate(export.tests[task]["example"]):
            unit = [export.said[name][example] for name in people["annotator"]]
            scores, rest = everyone[:, place], np.delete(everyone, place, 1).mean(axis=1)
            is_told = len(everyone) > 2 and again.varies(scores) and again.varies(rest)
            is_one = len(unit) > 1 and len(set(unit)) == 1
            right = [(runs[:, place] == 1).mean() for runs in models]
            row = rows[kind, task, "", example] = {
                "mean": own[:, place].mean(), "n": len(own), "pairwise_s1": pairwise_s1(unit),
                "right": (own[:, place] == 1).mean(), "respondents": len(everyone),
                "right_models": np.mean(right) if right else np.nan,
                "item_rest": stats.pearsonr(scores, rest).statistic if is_told else np.nan,
                "unanimous": is_one, "against_gold": is_one and own[0, place] < 1,
            }  # fmt: skip
            for number in {*shots}:
                mean = own[shots == number, place].mean()
                rows[kind, task, number, example] = dict.fromkeys(row, np.nan) | {"mean": mean}
    return rows


def sensitivity(export: Exported) -> Expected:
    people = export.completed()
    own, counted = people["annotator"].map, people["in_analysis"] == "1"
    said = export["questionnaire.csv"].set_index("annotator")
    seen, used = (own(said[name]).astype(object).fillna("") for name in ("seen_before", "ai_used"))
    steps = export.answers.groupby(["step", "annotator"])
    trained = 100 * own(steps["own_s1"].mean().get("training", pd.Series(dtype=float)))
    pace = own(steps["active_seconds"].median()["annotation"])
    flagged, is_asked, everyone = people["flags"] != "", (seen + used) != "", counted | True
    programs = export.answers.query("channel == 'api' and kind == 'person'")["annotator"]
    by_program = people["annotator"].isin(programs)
    clean = ~flagged & ~by_program & (seen != "yes") & (used != "yes")
    # Rule -> the annotators it keeps, and those it needs at least one of to have a row.
    rules = {
        "reported": (counted, everyone), "with_excluded": (everyone, everyone),
        "seen_before!=yes": (counted & (seen != "yes"), is_asked),
        "seen_before=no": (counted & (seen == "no"), is_asked),
        "ai_used!=yes": (counted & (used != "yes"), is_asked),
        "ai_used=no": (counted & (used == "no"), is_asked),
        "passed_checks": (counted & ~people["flags"].str.contains("checks"), everyone),
        "not_flagged": (counted & ~flagged, everyone),
        "by_page": (counted & ~by_program, by_program),
        "none_of_these": (counted & clean, everyone),
        **{f"training_s1>={s}": (counted & ~(trained < s), everyone) for s in (50, 60, 70, 80, 90)},
        **{f"median_seconds>={s}": (counted & (pace >= s), everyone) for s in (1, 2, 5, 10)},
    }  # fmt: skip
    rows = {}
    for (kind, task, shots), group in people.groupby(CELL):
        for rule, (kept, needed) in rules.items():
            if needed[people["kind"] == kind].any():
                names = list(group.index[kept[group.index]])
                estimate = again.of_mean(export.matrix(names), export.contexts[task])
                row = again.spread(export.values(names)) | estimate.interval(export.lowest(task))
                rows[kind, task, shots, rule] = row | {"n": len(names), "completed": len(group)}
    return rows


def wages(export: Exported) -> Expected:
    people = export.annotators.query("kind == 'person' and worked_seconds != ''")
    cents = export["pay.csv"]["cents"].astype(int).groupby(export["pay.csv"]["annotator"]).sum()
    earned = people["annotator"].map(cents).fillna(0)
    names = ["worked_seconds", "waited_seconds", "elapsed_seconds"]
    worked, waited, elapsed = (pd.to_numeric(people[name]) for name in names)
    row = {"n": len(people)}
    for name, time in (("active", worked + waited), ("elapsed", elapsed)):
        row[f"per_{name}_hour"] = (3600 * earned / time[time > 0]).median()
        row |= {f"median_{name}_seconds": time.median(), f"total_{name}_seconds": time.sum()}
    return {(export.design["name"],): row}


def gains(export: Exported) -> Expected:
    people = export.annotators.query("in_analysis == '1' and arm != ''").groupby(["task", "arm"])
    scores = {key: export.values(own) for key, own in people["annotator"]}
    rows = {}
    tasks = sorted({task for task, _arm in scores})
    for new, base in (("upstream", "sham"), ("upstream", "direct"), ("sham", "direct")):
        arms = {task: [scores[task, arm] for arm in (new, base)] for task in tasks}
        for task, own in arms.items():
            row = rows["person", task, new, base] = _gain([own])
            row |= {"new": own[0].mean(), "new_sd": own[0].std(ddof=1)}
            row |= {"base": own[1].mean(), "base_sd": own[1].std(ddof=1)}
        if arms:
            whole = dict.fromkeys(("new", "base", "new_sd", "base_sd"), np.nan)
            rows["person", "all tasks", new, base] = _gain(list(arms.values())) | whole
    return rows


def _gain(tasks: list[list[np.ndarray]]) -> dict[str, float]:
    """Return ARG over tasks of (new, base); Fieller's interval for one task, else delta method."""
    new, base = np.array([[arm.mean() for arm in task] for task in tasks]).T
    squares = np.array([[stats.sem(arm) ** 2 for arm in task] for task in tasks])
    dfs = np.array([[len(arm) - 1 for arm in task] for task in tasks])
    difference, gain, low, high = (new - base).mean(), *[np.nan] * 3
    if all(base >= np.maximum(0.01, 4 * np.sqrt(squares[:, 1]))):
        gain = (new / base - 1).mean()
        parts = squares * np.stack([1 / base**2, new**2 / base**4], axis=1)
        low, high = _around(gain, parts, dfs)
        if len(tasks) == 1:
            low, high = _fieller(new[0], base[0], squares[0], _t(parts, dfs))
    ends = _around(difference, squares, dfs)
    return {
        "gain": gain, "low_95": low, "high_95": high, "difference": difference,
        "difference_low_95": ends[0], "difference_high_95": ends[1],
        "new_people": sum(len(task[0]) for task in tasks),
        "base_people": sum(len(task[1]) for task in tasks),
    }  # fmt: skip


def _t(parts: np.ndarray, dfs: np.ndarray) -> float:
    """Return the t quantile with Satterthwaite's degrees of freedom, or NaN without variation."""
    below = (parts**2 / dfs).sum() or np.nan
    return float(stats.t.ppf(0.975, parts.sum() ** 2 / below))


def _around(value: float, parts: np.ndarray, dfs: np.ndarray) -> tuple[float, float]:
    reach = _t(parts, dfs) * np.sqrt(parts.sum()) / len(parts)
    return value - reach, value + reach


def _fieller(new: float, base: float, squares: np.ndarray, t: float) -> tuple[float, float]:
    """Return the lowest and highest gain that a t test accepts, from a quadratic equation."""
    leading = base**2 - t**2 * squares[1]
    if not leading > 0:
        return np.nan, np.nan
    low, high = sorted(np.roots([leading, -2 * new * base, new**2 - t**2 * squares[0]]).real)
    return low - 1, high - 1
