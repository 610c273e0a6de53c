"""Check an export against its frozen design: `python verify.py [--design HASH] [--sums HASH]`.

Recomputes from the CSVs, with Python 3.11 alone: hashes of files and examples, S1 for every answer,
mean, SD and n for annotators and cells, cell intervals, seats, orders, decisions, pay totals. The
last lines list what was not checked and what anchors the result. Status 1 means a difference.
"""

import argparse
import csv
import hashlib
import json
import math
import random
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TOLERANCE = 1e-9  # relative, and absolute below 1
STEPS = {"train": "training", "test": "annotation"}
SCENARIO = ("task", "shots", "split", "arm")
NOT_CHECKED = (
    "Not checked: metrics other than S1, tables not named above, times and activity, free text,"
    " data reported by models, amounts due under the pay rules."
)
NOT_ANCHORED = "not anchored: no external hash was given"
Key = tuple[str, ...]


class Row(dict[str, str]):
    """A row's cells by column, with its file and row number (the header is row 1)."""

    file: str
    number: int

    def __missing__(self, column: str) -> str:
        raise ValueError(f"{self.file} has no column {column}")

    def of(self, *columns: str) -> Key:
        return tuple(self[column] for column in columns)

    def texts(self, column: str) -> Key:
        """Return the strings in a cell holding a JSON list. Raises ValueError for other cells."""
        try:
            return tuple(map("".join, json.loads(self[column])))
        except (TypeError, ValueError):
            place = f"{self.file}, row {self.number}, {column}"
            raise ValueError(f"{place}: not a list of texts") from None


class Check:
    """A line of output: what was checked, how many times, and the first differences."""

    def __init__(self, title: str):
        self.title, self.count = title, 0
        self.lines: list[str] = []

    def differs(self, place: str, value: object, expected: object) -> None:
        self.lines.append(f"{place}: found {value!r}, expected {expected!r}")

    def wrong(self, row: Row, column: str, expected: object) -> None:
        self.differs(f"{row.file}, row {row.number}, {column}", row[column], expected)

    def cells(self, row: Row, **expected: str | float | None) -> None:
        """Compare cells with strings or numbers. None and NaN both mean an empty cell."""
        for column, value in expected.items():
            if isinstance(value, str) or value is None or math.isnan(value):
                is_same = row[column] == (value if isinstance(value, str) else "")
            else:
                is_same = abs(number(row[column]) - value) <= TOLERANCE * max(1, abs(value))
            if not is_same:
                self.wrong(row, column, value)

    def close(self) -> bool:
        """Print the line and return whether anything differs."""
        mark, note = ("FAILED", f", {len(self.lines)} differ") if self.lines else ("ok    ", "")
        first = f"{mark} {self.title} ({self.count}{note})"
        print("\n         ".join([first, *self.lines[:10]]))
        return bool(self.lines)


def number(cell: str) -> float:
    """Return the number in a cell, or NaN if it is empty. NaN equals nothing."""
    try:
        return float(cell)
    except ValueError:
        return math.nan


def s1(predicted: Iterable[str], gold: Iterable[str]) -> float:
    """Return the F1 between two sets of texts; two empty sets agree (CLUES, section 3)."""
    predicted, gold = set(predicted), set(gold)
    if not predicted or not gold:
        return float(predicted == gold)
    return 2 * len(predicted & gold) / (len(predicted) + len(gold))


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def deviation(values: Sequence[float], ddof: int) -> float:
    """Return the standard deviation, or NaN if there are too few values."""
    middle, df = mean(values), len(values) - ddof
    return math.sqrt(math.fsum((v - middle) ** 2 for v in values) / df) if df > 0 else math.nan


def t_quantile(df: float) -> float:
    """Return the 97.5% quantile of t = sqrt(df) tan(angle), density cos(angle) ** (df - 1)."""
    a = df / 2  # log of Gamma(a + 1/2) / Gamma(a); a series where lgamma would lose digits
    ratio = math.lgamma(a + 0.5) - math.lgamma(a)
    if a > 100:
        ratio = math.log(a) / 2 - 1 / (8 * a) + 1 / (192 * a**3) - 1 / (640 * a**5)

    def below(angle: float) -> float:
        y = [math.cos(angle * piece / 2000) ** (df - 1) for piece in range(2001)]
        area = (y[0] + 4 * math.fsum(y[1::2]) + 2 * math.fsum(y[2:-1:2]) + y[-1]) * angle / 6000
        return 0.5 + math.exp(ratio) / math.sqrt(math.pi) * area

    low, high = 0.0, math.atan(13 / math.sqrt(df))  # it is 12.7 where df is 1
    for _halving in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < 0.975 else (low, middle)
    return math.sqrt(df) * math.tan(low)


def interval(matrix: list[list[float]], contexts: Sequence[object]) -> tuple[float, float]:
    """Return the wider 95% t interval: over annotators (rows), or also over contexts (or NaN)."""
    groups = defaultdict(list)
    for index, context in enumerate(contexts):
        groups[context].append(index)
    if len(matrix) < 2 or len(groups) < 2:
        return math.nan, math.nan
    grand, scale = mean([mean(row) for row in matrix]), len(groups) / len(contexts)
    # Annotators x contexts: the grand mean plus the summed deviations of the context's scores.
    values = [
        [grand + scale * math.fsum(row[i] - grand for i in indices) for indices in groups.values()]
        for row in matrix
    ]
    rows, columns = list(map(mean, values)), [mean(column) for column in zip(*values, strict=True)]
    if max(rows) - min(rows) <= 1e-12:
        return math.nan, math.nan
    noise_df, noise = (len(rows) - 1) * (len(columns) - 1), 0.0
    for score, row in zip(rows, values, strict=True):
        noise += math.fsum((v - score - c + grand) ** 2 for v, c in zip(row, columns, strict=True))
    noise /= noise_df * len(rows) * len(columns)
    people, people_df = deviation(rows, 1) ** 2 / len(rows), len(rows) - 1
    texts, texts_df = deviation(columns, 1) ** 2 / len(columns), len(columns) - 1
    total = max(people + texts - noise, people, texts)
    df = total**2 / (people**2 / people_df + texts**2 / texts_df + noise**2 / noise_df)
    df = max(df, min(people_df, texts_df))
    reach = max(t_quantile(people_df) * math.sqrt(people), t_quantile(df) * math.sqrt(total))
    return max(grand - reach, 0), min(grand + reach, 1)


def read(folder: Path, name: str) -> Iterator[Row]:
    """Yield a CSV's rows one at a time. Raises ValueError with the file's name."""
    try:
        with (folder / name).open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, strict=True)
            header = next(lines, [])
            if len(set(header)) < len(header):
                raise ValueError(f"{name}, row 1: two columns have the same name")
            for number, cells in enumerate(lines, start=2):
                if len(cells) != len(header):
                    raise ValueError(f"{name}, row {number}: {len(cells)} cells, not {len(header)}")
                row = Row(zip(header, cells, strict=True))
                row.file, row.number = name, number
                yield row
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{name} cannot be read: {error}") from None


def sha256_of(data: str | bytes | Path) -> str:
    if isinstance(data, Path):
        return sha256_of(data.read_bytes()) if data.is_file() else "missing"
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


@dataclass(eq=False, slots=True)
class Example:
    """A row of examples.csv or upstream_pool.csv."""

    row: Row
    gold: tuple[str, ...]
    segments: tuple[str, ...]

    def s1(self, texts: Sequence[str]) -> float:
        """Return S1 against the gold texts, or the best S1 if the gold texts are alternatives."""
        if self.row["gold_rule"] == "any_of" and self.gold:
            return max(s1(texts, [text]) for text in self.gold)
        return s1(texts, self.gold)


@dataclass(eq=False)
class Annotator:
    """A row of annotators.csv with the annotator's answers and the order of the examples."""

    row: Row
    answers: dict[Example, tuple[str, ...]] = field(default_factory=dict)
    orders: dict[str, dict[str, Example]] = field(default_factory=lambda: defaultdict(dict))

    def scores(self, step: str) -> list[float]:
        met = self.orders[step].values()
        return [example.s1(self.answers[example]) for example in met if example in self.answers]


class Export:
    """The export folder, with its frozen design and file contents."""

    def __init__(self, folder: Path):
        self.folder = folder
        manifest = (folder / "manifest.json").read_bytes()
        self.design: dict[str, Any] = json.loads(manifest or b"{}")  # empty for a draft
        self.manifest = sha256_of(manifest) if manifest else ""
        self.belongs = Check("rows: name the frozen design; one row per annotator")
        self.files: dict[Key, list[Example]] = defaultdict(list)  # (step, task, shots, split)
        self.examples: dict[Key, Example] = {}  # same keys plus the id
        self.annotators: dict[str, Annotator] = {}
        for row in self.rows("annotators.csv", self.belongs):
            if row["annotator"] in self.annotators:
                self.belongs.wrong(row, "annotator", "one row")
            self.annotators[row["annotator"]] = Annotator(row)
        self.cards = {item["name"]: item["card"] for item in self.design.get("tasks", ())}
        self.seats: dict[Key, int] = {}  # keys are (task, shots, split, arm)
        for item in self.design.get("scenarios", ()):
            place = item["task"], str(item["shots"]), str(item["split"] or "")
            self.seats[*place, item.get("arm") or ""] = item["seats"]

    def rows(self, name: str, check: Check) -> Iterator[Row]:
        """Yield and count a CSV's rows. Each row must refer to the frozen design."""
        for row in read(self.folder, name):
            check.count += 1
            self.belongs.cells(row, manifest=self.manifest)
            yield row

    def annotator(self, row: Row, check: Check) -> Annotator | None:
        """Return a row's annotator. Report unknown and withdrawn annotators as differences."""
        annotator = self.annotators.get(row["annotator"])
        if annotator and annotator.row["status"] != "withdrawn":
            return annotator
        check.wrong(row, "annotator", "an annotator in annotators.csv who has not withdrawn")
        return None

    def answers(self, name: str, check: Check) -> Iterator[tuple[Row, Annotator, Example]]:
        """Yield a CSV's rows, each with its annotator and example."""
        for row in self.rows(name, check):
            step = row.get("step") or ("sham" if row["arm"] == "sham" else "upstream")
            place = row.of("shots", "split") if step == "training" else ("", "")
            example = self.examples.get((step, row["task"], *place, row["example"]))
            annotator = self.annotator(row, check)
            if example is None:
                check.wrong(row, "example", "an example of this step")
            elif annotator:
                yield row, annotator, example

    def before(self, annotator: Annotator) -> tuple[str, list[Example]]:
        """Return the step before annotation and its examples. With zero shots, it is screening."""
        task, shots, split = annotator.row.of("task", "shots", "split")
        place = ("screening", task, "", "") if shots == "0" else ("training", task, shots, split)
        return place[0], self.files.get(place, [])

    def cells(self, *columns: str) -> dict[Key, list[Annotator]]:
        """Group analysed annotators by these columns. Only the direct arm is included."""
        groups = defaultdict(list)
        for annotator in self.annotators.values():
            if annotator.row["in_analysis"] == "1" and annotator.row["arm"] in ("", "direct"):
                groups[annotator.row.of(*columns)].append(annotator)
        return groups


# Checks, in the order in which they run. The first line of a docstring is the printed title ------


def check_examples(export: Export, check: Check) -> None:
    """examples: hashes, match with the frozen design"""
    for name in ("examples.csv", "upstream_pool.csv"):
        for row in sorted(export.rows(name, check), key=lambda row: number(row["position"])):
            segments, gold = row.texts("segments"), row.texts("gold")
            options = [row.texts("options")] if row["options"] else []
            parts = [segments, row["question"], gold, *options]
            content = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
            check.cells(row, hash=sha256_of(content))
            step = row["arm"] if "arm" in row else STEPS.get(row["file_kind"], row["file_kind"])
            place = row.of("shots", "split") if step == "training" else ("", "")
            file = (step, row["task"], *place)
            export.examples[*file, row["example"]] = example = Example(row, gold, segments)
            export.files[file].append(example)
    frozen: dict[Key, str] = {}
    for task in export.design.get("tasks", ()):
        for split in task["splits"]:
            place = (str(split["shots"] or ""), str(split["number"] or ""))
            frozen[STEPS[split["kind"]], task["name"], *place] = split["sha256"]
    for step in ("check", "anchor", "screening"):
        key = "attention_check_hashes" if step == "check" else f"{step}_hashes"
        for name, hashes in export.design.get(key, {}).items():
            frozen |= {(step, name, "", ""): sha256_of("".join(hashes))} if hashes else {}
    for pool in (export.design.get("cross_task") or {}).get("pools", ()):
        frozen[pool["arm"], pool["task"], "", ""] = pool["sha256"]
    for file in export.files.keys() | frozen.keys() if export.design else ():
        digest = sha256_of("".join(example.row["hash"] for example in export.files.get(file, ())))
        if digest != frozen.get(file):
            check.differs(f"examples of {file}", digest, frozen.get(file, "no file in the design"))


def check_answers(export: Export, check: Check) -> None:
    """answers, predictions: gold, S1, channel of human answers"""
    copied = ("task", "shots", "split", "kind", "status", "in_analysis")
    of_example, seed = ("hash", "gold", "gold_rule"), str(export.design.get("seed"))
    are_people_on_pages = not export.design.get("programs_as_people", False)
    for name in ("answers.csv", "upstream.csv"):
        for row, annotator, example in export.answers(name, check):
            seat, step = annotator.row, row.get("step", "upstream")
            check.cells(row, **{n: seat[n] for n in (copied if "step" in row else ("arm",))})
            check.cells(row, **{n: example.row[n] for n in of_example if n in row})
            if row["position"] in annotator.orders[step]:  # check_orders finds repeated examples
                check.wrong(row, "position", "one example per position")
            annotator.orders[step][row["position"]] = example
            is_by_program = "api" in row.of("shown_channel", "channel")
            if are_people_on_pages and seat["kind"] == "person" and is_by_program:
                check.wrong(row, "channel", "page")
            if export.design.get("shuffles_options") and "choice_order" in row:
                labels = [label["name"] for label in export.cards[row["task"]].get("labels", ())]
                choices = example.row.texts("options") if example.row["options"] else labels
                draws = [sha256_of(":".join([seed, seat["annotator"], text])) for text in choices]
                order = sorted(range(len(draws)), key=draws.__getitem__)
                check.cells(row, choice_order=str(order).replace(" ", "") if order else "")
            if row["submitted_at"]:
                annotator.answers[example] = row.texts("answer")
                check.cells(row, s1=example.s1(annotator.answers[example]))
            else:
                check.cells(row, answer="", s1="")
    for row in export.rows("predictions.csv", check):
        if test := export.examples.get(("annotation", row["task"], "", "", row["example"])):
            check.cells(row, hash=test.row["hash"], s1=test.s1(row.texts("predicted")))
        else:
            check.wrong(row, "example", "a test example")


def check_spans(export: Export, check: Check) -> None:
    """spans: match with offsets and answers"""
    by_example: dict[tuple[Annotator, Example], set[str]] = defaultdict(set)
    for row, annotator, example in export.answers("spans.csv", check):
        by_example[annotator, example].add(row["text"])
        texts = {str(place): text for place, text in enumerate(example.segments)}
        text = (texts | {"question": example.row["question_selectable"]}).get(row["segment"], "")
        start, end = number(row["start"]), number(row["end"])
        is_place = 0 <= start < end <= len(text) and start % 1 == end % 1 == 0
        if not is_place or text[int(start) : int(end)] != row["text"]:
            check.wrong(row, "text", "the text at these offsets")
    for name, annotator in export.annotators.items():
        is_typed = export.cards.get(annotator.row["task"], {}).get("typed")
        for example in (test for test in annotator.answers if test.row.get("granularity")):
            spans, answer = by_example[annotator, example], set(annotator.answers[example])
            if not spans <= answer or (spans != answer and not is_typed):
                check.differs(f"spans.csv, {name}, {example.row['example']}", spans, answer)


def check_annotators(export: Export, check: Check) -> None:
    """annotators: scenario, mean, SD, n, status, inclusion by decision"""
    decided, check.count = dict[str, str](), len(export.annotators)
    for row in export.rows("decisions.csv", check):
        if export.annotator(row, check) and row["about"] == "analysis":
            decided[row["annotator"]] = row["outcome"]  # the last decision counts
    for name, annotator in export.annotators.items():
        row, test = annotator.row, annotator.scores("annotation")
        is_completed = row["status"] == "completed"
        check.cells(row, in_analysis=decided.get(name, "1") if is_completed else "0")
        if export.design and row.of(*SCENARIO) not in export.seats:
            check.wrong(row, "shots", "a scenario of manifest.json")
        if row["status"] == "withdrawn":
            continue
        step, examples = export.before(annotator)
        given, training = len(annotator.scores(step)), annotator.scores("training")
        check.cells(row, mean_s1=mean(test), sd_examples=deviation(test, 1), n=len(test))
        check.cells(row, training_s1=mean(training), training_n=len(training))
        tests = export.files.get(("annotation", row["task"], "", ""), [])
        is_whole = (given, len(test)) == (len(examples), len(tests)) and bool(tests)
        if is_completed != is_whole:
            check.wrong(row, "status", f"the status for {given} and {len(test)} answers")


def check_orders(export: Export, check: Check) -> None:
    """orders: drawn from seed and pseudonym"""
    design, check.count = export.design, len(export.annotators)
    for name, annotator in export.annotators.items() if design else ():
        task, shots = annotator.row.of("task", "shots")
        seed, (step, examples) = f"{design['seed']}:{shots}:{task}:{name}", export.before(annotator)
        tests, anchors = (export.files.get((s, task, "", ""), []) for s in ("annotation", "anchor"))
        tests = draw(tests, design["annotation_order"], f"{seed}:annotation")
        pool, checks = export.files.get(("check", task, "", ""), []), design["attention_checks"]
        if pool and checks and annotator.row["arm"] != "question":
            tests = with_checks(tests, pool, checks, f"{seed}:checks")
        orders, is_begun = annotator.orders, False
        for met, order in (
            (orders["annotation"] | orders["check"], tests),
            (orders[step], draw(examples, design["training_order"], f"{seed}:{step}")),
            (orders["anchor"], draw(anchors, design["training_order"], f"{seed}:anchor")),
            (orders["upstream"], upstream(export, annotator)),
        ):  # start with the last step: if it has begun, all earlier steps must be complete
            sequence = [met.get(str(place)) for place in range(len(met))]
            if sequence != order[: len(sequence)] or (is_begun and len(sequence) < len(order)):
                check.differs(f"order of {name}", f"{len(sequence)} examples", "the drawn order")
            is_begun = is_begun or bool(met)


def draw(examples: list[Example], order: str, seed: str) -> list[Example]:
    """Return a step's examples in one of the design's orders (docs/protocol.md)."""
    if order == "file_order":
        return examples
    rng, groups = random.Random(seed), defaultdict(list)
    for index, example in enumerate(examples):
        groups[example.segments].append(index)
    if order == "contexts_together":
        together = list(groups.values())
        rng.shuffle(together)
        return [examples[index] for group in together for index in group]
    places = []
    for group in groups.values():
        rng.shuffle(group)
        offset = rng.random()
        for place, index in enumerate(group):
            jitter = rng.uniform(-0.25, 0.25) if len(group) > 1 else 0
            places.append(((place + offset + jitter) / len(group), index))
    return [examples[index] for _place, index in sorted(places)]


def with_checks(order: list[Example], pool: list[Example], count: int, seed: str) -> list[Example]:
    """Insert attention checks into the order, one per stretch and never at the start."""
    rng, order = random.Random(seed), list(order)
    indices = rng.sample(range(len(pool)), min(count, len(pool)))
    stretch, room = len(order) / len(indices), max(len(order) / len(indices) - 1, 0)
    places = [1 + int(place * stretch + rng.random() * room) for place in range(len(indices))]
    for place, index in sorted(zip(places, indices, strict=True), reverse=True):
        order.insert(place, pool[index])
    return order


def upstream(export: Export, annotator: Annotator) -> list[Example]:
    """Return the examples before the task in the annotator's arm of a cross-task study."""
    arm, name = annotator.row.of("arm", "annotator")
    cross = export.design.get("cross_task") or {"upstream_examples": 0}
    n = sum(key[0] == "upstream" for key in export.files) if arm == "sham" else 1
    tasks, size = cross.get("upstream_arms", {}).get(arm, ((), n * cross["upstream_examples"]))
    pools = [pool for key, pool in sorted(export.files.items()) if key[0] == arm or key[1] in tasks]
    rng = random.Random(f"{export.design['seed']}:{name}:upstream")
    rng.shuffle(pools)
    return [example for pool in pools if len(pool) >= size for example in rng.sample(pool, size)]


def check_cells(export: Export, check: Check) -> None:
    """human performance, scenarios: mean, SDs, n under S1; intervals: 95 %"""
    for name, *columns in (
        ("human_performance.csv", "kind", "task", "shots"),
        ("scenarios.csv", "kind", "task", "shots", "split"),
        ("intervals.csv", "kind", "task", "shots"),
    ):
        groups = export.cells(*columns)
        for row in export.rows(name, Check("")):
            group = groups.pop(row.of(*columns), [])
            check.cells(row, n=len(group))
            if export.cards.get(row["task"], {}).get("metric", "S1") != "S1":
                continue
            scores, check.count = [mean(a.scores("annotation")) for a in group], check.count + 1
            check.cells(row, mean=mean(scores))
            if name != "intervals.csv":
                check.cells(row, sd_ddof1=deviation(scores, 1), sd_ddof0=deviation(scores, 0))
                continue
            tests = export.files.get(("annotation", row["task"], "", ""), [])
            matrix = [[test.s1(a.answers.get(test, ())) for test in tests] for a in group]
            low, high = interval(matrix, [test.segments for test in tests])
            check.cells(row, low_95=low, high_95=high)
        for key in groups:
            check.differs(f"{name}, {' '.join(key)}", "no row", "one row")


def check_seats(export: Export, check: Check) -> None:
    """allocations: drawn from the seed; flow: seats, n"""
    arrivals, given, counts, declined = dict[str, Row](), Counter[Key](), Counter[Key](), 0.0
    splits = {place[:2]: place[2] for place in export.seats}
    for row in export.rows("allocations.csv", check):
        arrivals[row["arrival"]] = row
        try:
            open_to: dict[Key, tuple[int, int]] = {}
            for task, shots, taken, seats, *extra in json.loads(row["candidates"]):
                split = extra[0] if extra else splits[task, str(shots)]
                open_to[task, str(shots), str(split or ""), *extra[1:2] or [""]] = taken, seats
            fewest = min(taken for taken, _seats in open_to.values())
            tied = [place for place, (taken, _seats) in open_to.items() if taken == fewest]
            place = random.Random(f"{export.design['seed']}:seat:{row['arrival']}").choice(tied)
            is_full = fewest >= open_to[place][1]
        except (TypeError, ValueError, KeyError):
            check.wrong(row, "candidates", "scenarios with seats")
            continue
        check.cells(row, arrival=str(row.number - 1), **dict(zip(SCENARIO, place, strict=True)))
        if is_full or any(taken > given[row["kind"], *key] for key, (taken, _) in open_to.items()):
            check.wrong(row, "candidates", "a free seat, and no more seats taken than assigned")
        given[row["kind"], *place] += 1
    for name, annotator in export.annotators.items():
        key, arrival = annotator.row.of("kind", *SCENARIO), annotator.row["arrival"]
        if arrival not in arrivals or arrivals.pop(arrival).of("kind", *SCENARIO) != key:
            check.differs(f"allocations.csv, {name}", arrival, "an arrival in this scenario")
        counts[key] += annotator.row["in_analysis"] == "1"
    for row in export.rows("flow.csv", check):
        key, declined = row.of("kind", *SCENARIO), declined + number(row["declined"] or "0")
        check.cells(row, analysed=counts[key])
        fewest = max(export.seats.get(key[1:], 0), counts[key])
        if key[0] == "person" and not number(row["seats"]) >= fewest:
            check.wrong(row, "seats", f"at least {fewest}")
    if len(arrivals) != declined:
        check.differs("allocations.csv, no annotator", len(arrivals), f"{declined} in flow.csv")


def check_pay(export: Export, check: Check) -> None:
    """pay: totals"""
    totals: dict[Key, list[float]] = defaultdict(list)
    for row in export.rows("pay.csv", check):
        annotator, cents = export.annotator(row, check), number(row["cents"])
        if not cents > 0 or (annotator and annotator.row["kind"] != "person"):
            check.wrong(row, "cents", "an amount above 0 for a person")
        totals[row.of("earning", "currency")].append(cents)
    for row in export.rows("pay_totals.csv", check):
        amounts = totals.pop(row.of("earning", "currency"), [])
        check.cells(row, entries=len(amounts), cents=sum(amounts))
    for key in totals:
        check.differs(f"pay_totals.csv, {' '.join(key)}", "no row", "one row")


CHECKS = (check_examples, check_answers, check_spans, check_annotators, check_orders, check_cells,
          check_seats, check_pay)  # fmt: skip


def anchors_of(folder: Path, args: argparse.Namespace, check: Check) -> list[str]:
    """Check all hashes, including those from outside, and the signature. Return the anchors."""
    listed: dict[str, str] = {}
    anchors, sums, bundle = [], folder / "SHA256SUMS", folder / "SHA256SUMS.bundle"
    for path in (path for path in (sums, bundle) if path.exists()):
        listed |= {line[66:]: line[:64] for line in path.read_text("utf-8", "replace").splitlines()}
    data = {path.name for path in folder.glob("*.csv")} | {"manifest.json", "verify.py"}
    for name in sorted(data | listed.keys()):
        check.count += 1
        if (digest := sha256_of(folder / name)) != listed.get(name):
            check.differs(f"{name}, SHA-256", digest, listed.get(name, "a line in SHA256SUMS"))
    if args.design:
        anchors.append(f"design {args.design[:12]}")
        if (digest := sha256_of(folder / "manifest.json")) != args.design:
            check.differs("manifest.json, SHA-256", digest, args.design)
    if args.sums:
        anchors.append(f"sums {args.sums[:12]}")
        if args.sums not in (sha256_of(sums), sha256_of(bundle)):
            check.differs("SHA256SUMS, SHA-256", sha256_of(sums), args.sums)
    for path in filter(Path.exists, (sums, bundle) if args.signers else ()):
        keygen = ["ssh-keygen", "-s", f"{path}.sig", "-f", args.signers, "-Y"]
        signers = subprocess.run([*keygen, "find-principals"], capture_output=True, text=True)
        signer = signers.stdout.partition("\n")[0]
        verify = [*keygen, "verify", "-n", "handful", "-I", signer]
        result = subprocess.run(verify, input=path.read_bytes(), capture_output=True)
        anchors.append(f"the signature of {signer} on {path.name}")
        if result.returncode:
            check.differs(f"{path.name}.sig", "no valid signature", f"one of {args.signers}")
    return anchors


def main(folder: Path, arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(description="Check this export against its frozen design.")
    parser.add_argument("--design", default="", help="SHA-256 of the design: preregistration")
    parser.add_argument("--sums", default="", help="SHA-256 of SHA256SUMS: report or paper")
    parser.add_argument("--signers", default="", help="file of allowed signers, for ssh-keygen -Y")
    anchors, check = [], Check("files: hashes, signature")
    try:
        anchors = anchors_of(folder, parser.parse_args(arguments), check)
        failed, export = check.close(), Export(folder)
        for run in CHECKS:
            check = Check(run.__doc__ or "")
            run(export, check)
            failed |= check.close()
        failed |= export.belongs.close()
        people = sum(annotator.row["kind"] == "person" for annotator in export.annotators.values())
        if people and export.design.get("rehearsal"):
            print(f"REHEARSAL (manifest.json): not study data; human annotators: {people}")
    except (OSError, ValueError) as error:
        print(f"FAILED {error}")
        failed = True
    hashes = [sha256_of(folder / name) for name in ("manifest.json", "SHA256SUMS")]
    print(f"{NOT_CHECKED}\nHashes: --design {hashes[0]} --sums {hashes[1]}")
    anchored = f"anchored to {' and '.join(anchors)}" if anchors else NOT_ANCHORED
    print("Differences found." if failed else f"Consistent; {anchored}.")
    return int(failed)


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    csv.field_size_limit(1 << 30)  # texts may be longer than the default of this process-wide limit
    sys.exit(main(Path(__file__).resolve().parent, sys.argv[1:]))
