"""An exported study as read by pandas, its answers rescored without any code of the product."""

import functools
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.analysis.export.recomputed_scores import Judged, Texts, judge, s1, score, spread

Run = tuple[str, str, str, str]  # (name, task, shots, split) of an uploaded model
Expected = dict[tuple[str, ...], dict[str, Any]]  # key of a row -> its numbers
CELL = ["kind", "task", "shots"]
COUNTS = (
    "blurs", "pastes", "copies", "left_after_copy", "automated", "no_input", "narrow", "jumps",
)  # fmt: skip


def texts_of(cell: str) -> Texts:
    return frozenset(json.loads(cell))


class Exported:
    """The files of an export.

    `further` has each task's metrics in addition to the one on its card.
    """

    def __init__(self, folder: Path, further: Mapping[str, set[str]]):
        self.folder = folder
        self.design = json.loads((folder / "manifest.json").read_text())
        self.cards = {task["name"]: task["card"] for task in self.design["tasks"]}
        self.metric = {name: card.get("metric", "S1") for name, card in self.cards.items()}
        self.metrics = {name: {own, *further.get(name, ())} for name, own in self.metric.items()}
        listed = {name: card.get("labels", ()) for name, card in self.cards.items()}
        self.labels = {name: [label["name"] for label in own] for name, own in listed.items()}
        self.margin = float(self.design["equivalence_margin"] or "nan") / 100
        self.examples = self["examples.csv"].assign(place=lambda rows: rows["position"].astype(int))
        for column in ("gold", "segments"):
            self.examples[f"{column}_texts"] = self.examples[column].map(json.loads)
        tests = self.examples.query("file_kind == 'test'").sort_values("place")
        self.tests = dict(list(tests.groupby("task")))
        self.contexts = {task: list(own["segments"]) for task, own in self.tests.items()}
        self.rule = {task: own["gold_rule"].iloc[0] for task, own in self.tests.items()}
        self.annotators = self["annotators.csv"].set_index("annotator", drop=False)
        self.answers = self._given()
        # Annotator or run -> example -> texts.
        self.said: dict[str | Run, dict[str, Texts]] = {}
        given = self.answers.query("step == 'annotation'").groupby("annotator")
        predicted = self["predictions.csv"]
        predicted = predicted.assign(texts=predicted["predicted"].map(texts_of))
        for groups in (given, predicted.groupby(["model", "task", "shots", "split"])):
            for who, own in groups:
                self.said[who] = dict(zip(own["example"], own["texts"], strict=True))
        self.runs = [who for who in self.said if isinstance(who, tuple)]

    @functools.cache  # noqa: B019
    def __getitem__(self, file: str) -> pd.DataFrame:
        """Return a file with its cells as they are written."""
        return pd.read_csv(self.folder / file, dtype=str, keep_default_na=False)

    def _given(self) -> pd.DataFrame:
        """Return the given answers with their texts, S1 and times."""
        given = self["answers.csv"].query("submitted_at != ''").copy()
        given["texts"] = given["answer"].map(texts_of)
        given["own_s1"] = self.scored(given)
        for column in ("shown_at", "submitted_at"):
            given[column] = pd.to_datetime(given[column], format="ISO8601")
        given["own_seconds"] = (given["submitted_at"] - given["shown_at"]).dt.total_seconds()
        return given.astype(dict.fromkeys(("active_seconds", *COUNTS), float))

    @staticmethod
    def scored(rows: pd.DataFrame) -> list[float]:
        columns = rows["texts"], rows["gold"].map(json.loads), rows["gold_rule"]
        return [score(*own) for own in zip(*columns, strict=True)]

    def completed(self) -> pd.DataFrame:
        """Return completed annotators who belong in tables by task and shots, excluded or not."""
        return self.annotators.query("arm in ('', 'direct') and status == 'completed'")

    def counted(self) -> pd.DataFrame:
        return self.completed().query("in_analysis == '1'")

    def cells(self) -> dict[tuple[str, ...], list[str]]:
        """Return (kind, task, shots) -> annotators in the analysis."""
        return {cell: list(own) for cell, own in self.counted().groupby(CELL)["annotator"]}

    def pairs(self) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Return pairs of cells of the same task and kind, the one with fewer shots first."""
        cells = self.cells()
        return [(a, b) for a in cells for b in cells if a[:2] == b[:2] and int(a[2]) < int(b[2])]

    def models(self) -> dict[tuple[str, ...], list[Run]]:
        """Return (model, task, shots) -> its runs."""
        keys = {run[:3] for run in self.runs}
        return {key: [run for run in self.runs if run[:3] == key] for key in keys}

    def kinds(self) -> set[str]:
        return {"person", *self.annotators["kind"]}

    def seats(self) -> dict[tuple[str, ...], int]:
        """Return (task, shots, split, arm) -> number of seats for people in the design."""
        rows = self.design["scenarios"]
        keys = [(s["task"], s["shots"], s["split"] or "", s.get("arm", "")) for s in rows]
        return {tuple(map(str, key)): s["seats"] for key, s in zip(keys, rows, strict=True)}

    def lowest(self, task: str, metric: str = "") -> int:
        return -1 if (metric or self.metric[task]).endswith("Correlation") else 0

    @functools.cache  # noqa: B019
    def judged(self, who: str | Run, metric: str = "") -> Judged:
        """Score the test set of an annotator or run, by default with the metric of its card."""
        task = who[1] if isinstance(who, tuple) else self.annotators.at[who, "task"]
        return self.judge_texts(task, metric or self.metric[task], self.said[who])

    def judge_texts(self, task: str, metric: str, texts: Mapping[str, Texts]) -> Judged:
        said = [texts[example] for example in self.tests[task]["example"]]
        no_answer = not self.labels[task] and self.cards[task]["no_answer"]
        golds = list(self.tests[task]["gold_texts"])
        return judge(metric, said, golds, self.rule[task], no_answer, self.contexts[task])

    def values(self, whose: Iterable[str | Run], metric: str = "") -> np.ndarray:
        return np.array([self.judged(who, metric).value for who in whose])

    def matrix(self, whose: Iterable[str | Run], metric: str = "") -> np.ndarray:
        """Return annotators x test examples."""
        return np.array([self.judged(who, metric).parts for who in whose])

    def as_one_set(self, whose: Iterable[str | Run], task: str) -> dict[str, float]:
        """Return mean and SDs of S1 against all alternatives as one set, if the task has any."""
        golds = self.tests[task].set_index("example")["gold_texts"].map(frozenset)
        means = [
            np.mean([s1(texts, golds[example]) for example, texts in self.said[who].items()])
            for who in whose
            if self.rule[task] == "any_of"
        ]
        return spread(means, "set_")


def differences(table: pd.DataFrame, keys: list[str], expected: Expected) -> list[str]:
    """Return rows and cells of a table that differ from the expected ones, by key and column."""
    rows = {tuple(row[key] for key in keys): row for row in table.to_dict("records")}
    found = [f"row {key}" for key in rows.keys() ^ expected.keys()]
    if len(rows) < len(table):
        found.append("rows of one key")
    for key in rows.keys() & expected.keys():
        for column, value in expected[key].items():
            cell = float(rows[key][column] or "nan")
            is_same = abs(cell - value) <= 1e-9 * max(1, abs(value))
            if not (is_same or (math.isnan(cell) and math.isnan(value))):
                found.append(f"{column} of {key}: {cell!r}, not {value!r}")
    return found
