"""Expected tables of answers, annotators and cells, computed from the answers alone."""

import re
from collections import Counter

import krippendorff
import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.multitest import multipletests

from tests.analysis.export import recomputed_scores as again
from tests.analysis.export.recomputed import CELL, COUNTS, Expected, Exported, texts_of
from tests.analysis.export.recomputed_scores import Texts

MODEL_SEATS = 100
STAGES = ["arrived", "consented", "trained", "qualified"]
ENDS = ["completed", "screened_out", "returned", "expired", "refused", "withdrawn", "rejected"]
SCENARIO = ["task", "shots", "split", "arm"]


def with_holm(rows: Expected) -> Expected:
    """Add Holm's p to the rows; the known p values of a kind form a family."""
    for kind in {kind for kind, *_rest in rows}:
        family = [row for key, row in rows.items() if key[0] == kind and not np.isnan(row["p"])]
        adjusted = multipletests([row["p"] for row in family], method="holm")[1] if family else []
        for row, p in zip(family, adjusted, strict=True):
            row["p_holm"] = p
    return {key: {"p_holm": np.nan} | row for key, row in rows.items()}


def examples(export: Exported) -> Expected:
    """Return `reachable`: the S1 of those golds that are whole words of the text."""
    rows = {}
    for row in export.examples.to_dict("records"):
        golds, text = row["gold_texts"], row["segments"]
        if row["granularity"]:
            golds = [gold for gold in golds if re.search(rf"\b{re.escape(gold)}\b", text)]
        key = row["task"], row["file_kind"], row["shots"], row["split"], row["example"]
        rows[key] = {"reachable": again.s1(frozenset(golds), frozenset(row["gold_texts"]))}
    return rows


def in_analysis(export: Exported) -> set[str]:
    """Return annotators who completed and whose last decision keeps them in the analysis."""
    decided = export["decisions.csv"].query("about == 'analysis'").groupby("annotator")["outcome"]
    completed = export.annotators.query("status == 'completed'").index
    return set(completed) - {name for name, outcomes in decided if outcomes.iloc[-1] == "0"}


def answers(export: Exported) -> Expected:
    keys = ["annotator", "step", "example"]
    given = export.answers.set_index(keys)[["own_s1", "own_seconds"]]
    given = given.reindex(export["answers.csv"].set_index(keys).index)
    counted = in_analysis(export)
    return {
        key: {"s1": own["own_s1"], "seconds": own["own_seconds"], "in_analysis": key[0] in counted}
        for key, own in given.iterrows()
    }


def annotators(export: Exported) -> Expected:
    answered, counted = dict(list(export.answers.groupby("annotator"))), in_analysis(export)
    texts = export.examples.drop_duplicates("hash").set_index("hash")
    words = (texts["segments_texts"].map(" ".join) + " " + texts["question"]).str.split().str.len()
    rows = {(name,): {"in_analysis": name in counted} for name in export.annotators.index}
    for name in export.annotators.query("status != 'withdrawn'").index:
        own = answered.get(name, export.answers.iloc[:0])
        rows[name,] |= _work(own, own["hash"].map(words))
    return rows


def _work(answers: pd.DataFrame, words: pd.Series) -> dict[str, float]:
    test, training, checks = (
        answers[answers["step"] == step] for step in ("annotation", "training", "check")
    )
    seconds = answers["own_seconds"]
    limits = np.maximum(words / 12, max(1.0, 0.3 * seconds.median()))
    runs = (test["answer"] != test["answer"].shift()).cumsum()
    marks = answers[["shown_at", "submitted_at"]].stack()
    return {
        "mean_s1": test["own_s1"].mean(), "sd_examples": test["own_s1"].std(), "n": len(test),
        "training_s1": training["own_s1"].mean(), "training_n": len(training),
        "seconds": seconds.sum(), "active_seconds": answers["active_seconds"].sum(),
        "too_fast": (seconds < limits).sum(),
        "modal_share": test["answer"].value_counts(normalize=True).max(),
        "longest_run": runs.value_counts().max() if len(test) else 0,
        "longest_absence": marks.diff().max().total_seconds() if len(answers) else 0,
        **{name: answers[name].sum() for name in COUNTS},
        "checks": len(checks), "checks_passed": (checks["own_s1"] == 1).sum(),
    }  # fmt: skip


def upstream(export: Exported) -> Expected:
    pool = export["upstream_pool.csv"].set_index(["task", "example"])[["gold", "gold_rule"]]
    rows = export["upstream.csv"].join(pool, on=["task", "example"])
    rows = rows.set_index(["annotator", "task", "example"])
    given = rows[rows["answer"] != ""].assign(texts=lambda own: own["answer"].map(texts_of))
    scores = pd.Series(export.scored(given), given.index, dtype=float).reindex(rows.index)
    return {key: {"s1": value} for key, value in scores.items()}


def scenarios(export: Exported) -> Expected:
    groups = export.counted().groupby([*CELL, "split"])["annotator"]
    return {key: again.spread(export.values(own)) | {"n": len(own)} for key, own in groups}


def human_performance(export: Exported) -> Expected:
    by_api = set(export.answers.query("channel == 'api' and kind == 'person'")["annotator"])
    rows = {}
    for kind in export.kinds():
        for task, shots in {(task, shots) for task, shots, *_rest in export.seats()}:
            names = export.cells().get((kind, task, shots), [])
            split_of = export.annotators.loc[names, "split"]
            by_split = pd.Series(export.values(names), split_of, dtype=float).groupby(level=0)
            means = [own.mean() for split, own in by_split if split]
            between = again.spread(means if len(means) > 1 else [], "split_")
            del between["split_mean"]
            counts = {"n": len(names), "splits": len(means), "by_program": len(by_api & {*names})}
            row = again.spread(export.values(names)) | counts | between | _bounds(export, task)
            rows[kind, task, shots] = row | export.as_one_set(names, task)
    return rows


def _bounds(export: Exported, task: str) -> dict[str, float]:
    """Return the scores of a constant answer, of all reachable golds, and of a random label."""
    tests, metric, labels = export.tests[task], export.metric[task], export.labels[task]
    bounds = dict.fromkeys(("baseline", "ceiling", "set_ceiling", "floor_random"), np.nan)
    if labels or export.cards[task]["no_answer"]:
        golds = Counter(gold for golds in tests["gold_texts"] for gold in golds)
        constant = frozenset([golds.most_common(1)[0][0]] if labels else [])
        texts = dict.fromkeys(tests["example"], constant)
        bounds["baseline"] = export.judge_texts(task, metric, texts).value
    if metric == "S1" or labels:
        reached = {key: row["reachable"] for key, row in examples(export).items()}
        bounds["ceiling"] = np.mean([reached[k] for k in reached if k[:2] == (task, "test")])
    if export.rule[task] == "any_of":  # one of the alternatives is given
        bounds["set_ceiling"] = np.mean([2 / (1 + len(gold)) for gold in tests["gold_texts"]])
    if labels and metric == "S1":
        bounds["floor_random"] = 1 / len(labels)
    elif labels:
        del bounds["floor_random"]  # depends on seeded draws of labels
    return bounds


def training(export: Exported) -> Expected:
    rows = {}
    groups = dict(list(export.counted().groupby([*CELL, "split"])["annotator"]))
    given = export.answers.query("step == 'training'")
    files = export.examples.query("file_kind == 'train'").groupby(["task", "split"])
    for (task, split), own in files:
        hashes = {int(shots): set(part) for shots, part in own.groupby("shots")["hash"]}
        sizes = sorted(hashes)
        blocks = [(size, "") for size in sizes] + list(zip(sizes[1:], sizes, strict=False))
        for kind, shots in ((kind, shots) for kind in export.kinds() for shots in sizes):
            group = (kind, task, str(shots), split)
            trained = given[given["annotator"].isin(groups.get(group, []))]
            for size, less in blocks:
                within = trained["hash"].isin(hashes[size] - hashes.get(less, set()))
                means = trained[within].groupby("annotator")["own_s1"].mean()
                numbers = again.spread(means if size <= shots else [])
                numbers["mean_s1"] = numbers.pop("mean")
                count = {"n": len(groups.get(group, [])), "nested": 1}
                rows[*group, str(size), str(less)] = numbers | count
    return rows


# Similarity of two different answers.
ALIKE = {
    "nominal": lambda a, b: 0,
    "jaccard": lambda a, b: len(a & b) / len(a | b),
    "masi": lambda a, b: len(a & b) / len(a | b) * (2 / 3 if a <= b or b <= a else 1 / 3),
    "s1": again.s1,
}


def agreement(export: Exported) -> Expected:
    rows = {}
    for cell, names in export.cells().items():
        tests, rule, labels = export.tests[cell[1]], export.rule[cell[1]], export.labels[cell[1]]
        units = [[export.said[name][example] for name in names] for example in tests["example"]]
        voted = [majority(unit, labels) or frozenset() for unit in units]
        right = [again.score(*own, rule) for own in zip(voted, tests["gold_texts"], strict=True)]
        rows[cell] = {f"alpha_{name}": alpha(units, alike) for name, alike in ALIKE.items()} | {
            "n": len(names), "pairwise_s1": np.mean([pairwise_s1(unit) for unit in units]),
            "individuals": export.matrix(names, "S1").mean(), "majority": np.mean(right),
        }  # fmt: skip
    return rows


def alpha(units: list[list[Texts]], alike) -> float:
    values = list({texts for unit in units for texts in unit})
    if len(values) < 2 or len(units[0]) < 2:
        return np.nan
    apart = np.array([[1 - alike(a, b) if a != b else 0.0 for b in values] for a in values])
    return krippendorff.alpha(
        value_counts=np.array([[unit.count(value) for value in values] for unit in units]),
        level_of_measurement=lambda _v1, _v2, i1, i2, **_rest: apart[i1, i2],
    )


def pairwise_s1(unit: list[Texts]) -> float:
    pairs = [again.s1(a, b) for place, a in enumerate(unit) for b in unit[:place]]
    return float(np.mean(pairs)) if pairs else np.nan


def majority(unit: list[Texts], labels: list[str]) -> Texts | None:
    """Return the texts that more than half chose, or the most frequent label (None if tied)."""
    if not labels:
        votes = Counter(text for texts in unit for text in texts)
        return frozenset(text for text, times in votes.items() if 2 * times > len(unit))
    (first, times), *others = Counter(unit).most_common(2)
    return None if times in dict(others).values() else first


def ceilings(export: Exported) -> Expected:
    rows = {}
    for cell, names in export.cells().items():
        means, against = export.matrix(names, "S1").mean(axis=1), []
        for name in names if len(names) >= 5 else ():
            others = [export.said[other] for other in names if other != name]
            votes = {
                example: majority([own[example] for own in others], export.labels[cell[1]])
                for example in export.said[name]
            }
            scores = [again.s1(export.said[name][e], v) for e, v in votes.items() if v is not None]
            against += [scores] if scores else []
        rows[cell] = {
            "n": len(names), "answers": len(names) * len(export.tests[cell[1]]),
            "best": means.max(), "worst": means.min(), "compared": sum(map(len, against)),
            "leave_one_out": np.mean([np.mean(scores) for scores in against] or [np.nan]),
        }  # fmt: skip
    return rows


def intervals(export: Exported) -> Expected:
    rows = {}
    for cell, names in export.cells().items():
        contexts, values, people = export.contexts[cell[1]], export.values(names), len(names)
        estimate, lowest = again.of_mean(export.matrix(names), contexts), export.lowest(cell[1])
        t = sds = (np.nan,) * 3
        if people > 1 and again.varies(values):
            t = stats.t.interval(0.95, people - 1, values.mean(), stats.sem(values))
        if estimate.parts:
            between, among, rest = (variance for variance, _df in estimate.parts)
            sizes = np.array([people, len({*contexts}), people * len({*contexts})])
            own = sizes * [between - rest, among - rest, rest]
            sds = np.sqrt(np.where(own > 1e-14, own, 0))
        rows[cell] = estimate.interval(lowest) | {
            "n": people, "test_examples": len(contexts), "contexts": len({*contexts}),
            "mean": estimate.value, "se": estimate.ses[1], "df": estimate.dfs[1],
            "t_low_95": max(t[0], lowest), "t_high_95": min(t[1], 1),
            "sd_between_annotators": sds[0], "sd_between_contexts": sds[1], "sd_rest": sds[2],
        }  # fmt: skip
    return rows


def contrasts(export: Exported) -> Expected:
    rows, cells = {}, export.cells()
    for few, many in export.pairs():
        matrices = [export.matrix(cells[cell]) for cell in (few, many)]
        estimate = again.of_difference(*matrices, export.contexts[few[1]])
        groups = again.two_groups(*(export.values(cells[cell]) for cell in (few, many)))
        rows[*few, many[2]] = estimate.tested(export.margin) | groups
    return with_holm(rows)


def attrition(export: Exported) -> Expected:
    rows, cells = {}, export.cells()
    people = export.annotators.query("arm in ('', 'direct')")
    ended = people[people["status"].isin(ENDS) & (stages(people) > 0)]
    done = ended["status"].eq("completed").groupby([ended[name] for name in CELL])
    for few, many in export.pairs():
        completed, began = (np.array([own[few], own[many]]) for own in (done.sum(), done.size()))
        values, shares = [export.values(cells[cell]) for cell in (few, many)], completed / began
        low, high = again.lee(*values, shares)
        row = {
            "p_fisher": stats.fisher_exact([completed, began - completed]).pvalue,
            "difference": values[1].mean() - values[0].mean(),
            "trimmed": abs(shares[0] - shares[1]) / max(shares), "lee_low": low, "lee_high": high,
        }  # fmt: skip
        for name, numbers in (("began", began), ("completed", completed), ("share", shares)):
            row |= {f"{name}_from": numbers[0], f"{name}_to": numbers[1]}
        rows[*few, many[2]] = row
    return rows


def stages(people: pd.DataFrame) -> pd.Series:
    """Return how far each got; in these studies, people withdraw only at the end."""
    known = people["stage"].where(people["status"] != "withdrawn", STAGES[-1])
    return known.map(STAGES.index)


def flow(export: Exported) -> Expected:
    people = export.annotators
    reached = {name: stages(people) >= place for place, name in enumerate(STAGES)}
    ended = {end: people["status"] == end for end in ENDS}
    now = {"at_work": ~people["status"].isin(ENDS), "analysed": people["in_analysis"] == "1"}
    counts = pd.DataFrame(reached | ended | now).groupby([people[k] for k in [*SCENARIO, "kind"]])
    arrivals = export["allocations.csv"]
    unnamed = arrivals[~arrivals["arrival"].isin(people["arrival"])].groupby(SCENARIO).size()
    rows = {}
    for key, own in counts.sum().iterrows():
        declined = unnamed.get(key[:4], 0) if key[4] == "person" else 0
        seats = export.seats()[key[:4]]
        rows[key] = dict(own) | {"declined": declined, "arrived": own["arrived"] + declined}
        rows[key]["seats"] = max(seats, MODEL_SEATS) if key[4] == "model" else seats
    return rows
