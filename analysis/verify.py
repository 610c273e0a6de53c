"""Recompute every number and every span of this export from its CSVs: `python verify.py`.

Needs nothing but Python 3.11 or newer, and nothing of Handful. Prints one line per check; ends with
status 1 and names file, row and column where something differs. Numbers must agree to 1e-9.
"""

import csv
import functools
import hashlib
import itertools
import json
import math
import random
import re
import statistics
import sys
import unicodedata
from collections import defaultdict
from datetime import datetime
from pathlib import Path

TOLERANCE = 1e-9
FILES = (
    "examples.csv", "answers.csv", "spans.csv", "annotators.csv", "scenarios.csv",
    "human_performance.csv", "allocations.csv", "decisions.csv", "questionnaire.csv", "pay.csv",
    "pay_totals.csv", "predictions.csv", "model_scores.csv",
)  # fmt: skip
PSEUDONYM = re.compile(r"A-[A-Z2-9]{5}")
STATUSES = {
    "arrived", "working", "waiting", "between", "completed", "screened_out", "returned", "expired",
    "refused", "withdrawn",
}  # fmt: skip


class Report:
    """Collects differences check by check."""

    def __init__(self):
        self.differences = []

    def differs(self, file, row, column, found, expected):
        self.differences.append(
            f"{file}, row {row}, {column}: found {found!r}, expected {expected!r}"
        )

    def close(self, title, count):
        """Print the line of a check, with its first differences."""
        failed, self.differences = self.differences, []
        print(f"{'FAILED' if failed else 'ok    '} {title} ({count})")
        for line in failed[:10]:
            print(f"         {line}")
        if len(failed) > 10:
            print(f"         ... and {len(failed) - 10} more")
        return bool(failed)


KINDS = ("person", "simulated", "model")
PAY_KINDS = ("base", "screen_out", "top_up", "partial", "waiting", "bonus")

# Of the study and its tasks, as manifest.json froze them.
DESIGN = {}
CARDS = {}
FAMILIES = {}
RECHAINED = {}
LABEL_TASKS = set()


def s1(predicted, gold):
    predicted, gold = set(predicted), set(gold)
    if not predicted or not gold:
        return float(predicted == gold)
    shared = len(predicted & gold)
    if not shared:
        return 0.0
    precision, recall = shared / len(predicted), shared / len(gold)
    return 2 * precision * recall / (precision + recall)


def score(predicted, gold, rule):
    if rule == "any_of" and gold:
        return max(s1(predicted, [one]) for one in gold)
    return s1(predicted, gold)


def mean(values):
    return math.fsum(values) / len(values)


def deviation(values, ddof):
    if len(values) <= ddof:
        return None
    middle = mean(values)
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - ddof))


@functools.lru_cache(maxsize=10_000)  # many annotators highlight in the same texts
def token_edges(text):
    """Starts and ends of the tokens: runs of letters, digits, marks, "_"; other signs alone."""
    starts, ends, open_word = set(), set(), False
    for index, character in enumerate(text):
        category = unicodedata.category(character)
        is_word = character == "_" or category[0] in "LNM"
        if is_word and not open_word:
            starts.add(index)
        if open_word and not is_word:
            ends.add(index)
        if not is_word and not character.isspace() and category not in ("Cf", "Cc"):
            starts.add(index)
            ends.add(index + 1)
        open_word = is_word
    if open_word:
        ends.add(len(text))
    return starts, ends


def can_be_highlighted(text, segments):
    for segment in segments:
        starts, ends = token_edges(segment)
        place = segment.find(text)
        while place >= 0:
            if place in starts and place + len(text) in ends:
                return True
            place = segment.find(text, place + 1)
    return False


def reachable(segments, gold, rule):
    found = [text for text in gold if can_be_highlighted(text, segments)]
    return score(found[:1] if rule == "any_of" else found, gold, rule)


def same(found, expected):
    """Is a cell the number expected (None is an empty cell)?"""
    if expected is None or found == "":
        return found == "" and expected is None
    try:
        return abs(float(found) - expected) <= TOLERANCE
    except ValueError:
        return False


def read(folder, name):
    with (folder / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def check_sums(folder, report):
    listed = dict(
        reversed(line.split("  ", 1))
        for line in (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    )
    for name, expected in listed.items():
        with (folder / name).open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != expected:
            report.differs(name, "-", "SHA-256", found, expected)
    for name in FILES:
        if name not in listed:
            report.differs("SHA256SUMS", "-", name, "missing", "listed")
    return len(listed)


def check_manifest(data, manifest, report):
    """Every row is of the study that manifest.json froze."""
    text = manifest.read_bytes()
    frozen = json.loads(text) if text else None
    expected = hashlib.sha256(text).hexdigest() if text else ""
    names = {row["study"] for rows in data.values() for row in rows if "study" in row}
    name = frozen["name"] if frozen else min(names, default="")
    count = 0
    for file, rows in data.items():
        for number, row in enumerate(rows, start=2):
            if "manifest" in row:
                count += 1
                if row["manifest"] != expected:
                    report.differs(file, number, "manifest", row["manifest"], expected)
                if row["study"] != name:
                    report.differs(file, number, "study", row["study"], name)
    if frozen:
        versions = {task["name"]: str(task["version"]) for task in frozen["tasks"]}
        for file, rows in data.items():
            for number, row in enumerate(rows, start=2):
                if "task_version" in row and row["task_version"] != versions.get(row["task"]):
                    report.differs(
                        file, number, "task_version", row["task_version"], versions.get(row["task"])
                    )
    return count


def check_examples(data, report):
    """Hashes, places in the file, and what highlighting can reach."""
    positions = defaultdict(list)
    rules = {}
    for number, row in enumerate(data["examples.csv"], start=2):
        segments, gold = json.loads(row["segments"]), json.loads(row["gold"])
        content = json.dumps(
            [segments, row["question"], gold], ensure_ascii=False, separators=(",", ":")
        )
        digest = hashlib.sha256(content.encode()).hexdigest()
        if row["hash"] != digest:
            report.differs("examples.csv", number, "hash", row["hash"], digest)
        if row["task"] in CARDS:
            shown = question_to_highlight(row["task"], row["question"])
            if row["question_selectable"] != shown:
                found = row["question_selectable"]
                report.differs("examples.csv", number, "question_selectable", found, shown)
        rule = rules.setdefault(row["task"], row["gold_rule"])
        if row["gold_rule"] != rule or rule not in ("set", "any_of"):
            report.differs("examples.csv", number, "gold_rule", row["gold_rule"], rule)
        # The labels of a task stand nowhere in its texts: they are chosen, not highlighted.
        best = 1.0
        if row["task"] not in LABEL_TASKS:
            best = reachable([*segments, row["question_selectable"]], gold, rule)
        if not same(row["reachable"], best):
            report.differs("examples.csv", number, "reachable", row["reachable"], best)
        name = row["file"]
        end = "_test.jsonl"
        if row["file_kind"] == "train":
            end = f"_train_{row['shots']}_{row['split']}.jsonl"
        elif row["shots"] or row["split"]:
            report.differs("examples.csv", number, "shots", row["shots"], "")
        if row["file_kind"] == "check":
            end = ""
        elif row["file_kind"] not in ("train", "test"):
            report.differs("examples.csv", number, "file_kind", row["file_kind"], "a kind of file")
        if not RECHAINED.get(row["task"]) and not name.endswith(end):
            report.differs("examples.csv", number, "file", name, f"...{end}")
        place = positions[row["task"], name]
        if row["position"] != str(len(place)):
            report.differs("examples.csv", number, "position", row["position"], len(place))
        if row["example"] in place:
            report.differs("examples.csv", number, "example", row["example"], "an id used once")
        place.append(row["example"])
    return len(data["examples.csv"])


def question_to_highlight(task, question):
    """The question as the card words it where it can be highlighted, else ""."""
    card = CARDS[task]
    if not card.get("question_selectable"):
        return ""
    for kind in card.get("question_types", []):
        if kind["match"] == question:
            return kind["wording"]
    return card.get("question", question)


def examples_by_key(data):
    """(task, step, shots, split, id) -> row of examples.csv."""
    found = {}
    for row in data["examples.csv"]:
        if row["file_kind"] in ("test", "check"):
            step = "annotation" if row["file_kind"] == "test" else "check"
            found[row["task"], step, "", "", row["example"]] = row
        else:
            key = (row["task"], "training", row["shots"], row["split"], row["example"])
            found[key] = row
    return found


def example_of(row, examples):
    place = (row["shots"], row["split"]) if row["step"] == "training" else ("", "")
    return examples.get((row["task"], row["step"], *place, row["example"]))


def check_spans(data, report):
    """Every span is the slice that its offsets say, and every answer the list of its spans."""
    examples = examples_by_key(data)
    answers = {(r["annotator"], r["task"], r["step"], r["example"]): r for r in data["answers.csv"]}
    texts = defaultdict(dict)
    ends = {}
    for number, row in enumerate(data["spans.csv"], start=2):
        key = (row["annotator"], row["task"], row["step"], row["example"])
        answer = answers.get(key)
        example = example_of(answer, examples) if answer else None
        if example is None:
            report.differs("spans.csv", number, "example", row["example"], "an answered example")
            continue
        if row["hash"] != example["hash"]:
            report.differs("spans.csv", number, "hash", row["hash"], example["hash"])
        segments = json.loads(example["segments"])
        try:
            where = row["segment"]
            text = example["question_selectable"] if where == "question" else segments[int(where)]
            start, end = int(row["start"]), int(row["end"])
        except (ValueError, IndexError):
            report.differs("spans.csv", number, "segment", row["segment"], "a place in the example")
            continue
        if start < 0 or not start < end <= len(text) or text[start:end] != row["text"]:
            report.differs("spans.csv", number, "text", row["text"], text[max(start, 0) : end])
        starts_of, ends_of = token_edges(text)
        if start not in starts_of or end not in ends_of:
            report.differs("spans.csv", number, "start", row["start"], "a boundary of a token")
        if ends.get((*key, where), 0) > start:
            report.differs("spans.csv", number, "start", row["start"], "after the span before it")
        ends[(*key, where)] = end
        texts[key][row["text"]] = None
    for number, row in enumerate(data["answers.csv"], start=2):
        key = (row["annotator"], row["task"], row["step"], row["example"])
        if row["task"] not in LABEL_TASKS and row["answer"]:
            expected = list(texts.get(key, {}))
            if json.loads(row["answer"]) != expected:
                report.differs("answers.csv", number, "answer", row["answer"], expected)
    return len(data["spans.csv"])


def moment(text):
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z")


def seconds_between(row):
    return (moment(row["submitted_at"]) - moment(row["shown_at"])).total_seconds()


def check_answers(data, report):
    """Gold, S1 and seconds of every answer; each annotator meets the whole step once."""
    examples = examples_by_key(data)
    people = {row["annotator"]: row for row in data["annotators.csv"]}
    places = defaultdict(list)
    met = set()
    for number, row in enumerate(data["answers.csv"], start=2):

        def wrong(column, expected, row=row, number=number):
            report.differs("answers.csv", number, column, row[column], expected)

        example = example_of(row, examples)
        if example is None:
            wrong("example", "an example of examples.csv")
            continue
        for column in ("hash", "gold", "gold_rule"):
            if row[column] != example[column]:
                wrong(column, example[column])
        person = people.get(row["annotator"])
        if person is None:
            wrong("annotator", "an annotator of annotators.csv")
            continue
        for column in ("task", "shots", "split", "kind", "status", "in_analysis"):
            if row[column] != person[column]:
                wrong(column, person[column])
        step = places[row["annotator"], row["step"] == "training"]
        if row["position"] != str(len(step)):
            wrong("position", len(step))
        step.append(row["position"])
        if (row["annotator"], row["step"], row["example"]) in met:
            wrong("example", "an example met once")
        met.add((row["annotator"], row["step"], row["example"]))
        if row["submitted_at"] == "":
            for column in ("answer", "s1", "seconds", "active_seconds"):
                if row[column]:
                    wrong(column, "")
            continue
        expected = score(json.loads(row["answer"]), json.loads(row["gold"]), row["gold_rule"])
        if not same(row["s1"], expected):
            wrong("s1", expected)
        try:
            expected = seconds_between(row)
        except ValueError:
            wrong("shown_at", "a time")
            continue
        if not same(row["seconds"], expected) or expected < 0:
            wrong("seconds", expected)
        if not 0 <= float(row["active_seconds"] or -1) <= expected + TOLERANCE:
            wrong("active_seconds", f"0 to {expected}")
    return len(data["answers.csv"])


def check_annotators(data, report):
    answers = defaultdict(list)
    for row in data["answers.csv"]:
        if row["submitted_at"]:
            answers[row["annotator"]].append(row)
    tests = defaultdict(int)
    for row in data["examples.csv"]:
        tests[row["task"]] += row["file_kind"] == "test"
    behaviour = behaviour_of(data, answers)
    for number, row in enumerate(data["annotators.csv"], start=2):
        given = answers[row["annotator"]]
        for column, value in behaviour[row["annotator"]].items():
            if row[column] != value and (column in TEXTS or not same(row[column], value)):
                report.differs("annotators.csv", number, column, row[column], value)
        test = [float(one["s1"]) for one in given if one["step"] == "annotation"]
        training = [float(one["s1"]) for one in given if one["step"] == "training"]
        expected = {
            "mean_s1": mean(test) if test else None,
            "sd_examples": deviation(test, 1),
            "n": len(test),
            "training_s1": mean(training) if training else None,
            "training_n": len(training),
            "seconds": math.fsum(float(one["seconds"]) for one in given),
        }
        for column, value in expected.items():
            tolerated = same(row[column], value)
            if not tolerated:
                report.differs("annotators.csv", number, column, row[column], value)
        if row["status"] not in STATUSES:
            report.differs("annotators.csv", number, "status", row["status"], sorted(STATUSES))
        if (row["status"] == "completed") != (len(test) == tests[row["task"]] > 0):
            report.differs(
                "annotators.csv", number, "status", row["status"], f"{len(test)} answers given"
            )
        if not PSEUDONYM.fullmatch(row["annotator"]):
            report.differs("annotators.csv", number, "annotator", row["annotator"], "A-XXXXX")
        if row["kind"] not in ("person", "simulated", "model"):
            report.differs("annotators.csv", number, "kind", row["kind"], "a kind")
        if row["in_analysis"] not in ("0", "1"):
            report.differs("annotators.csv", number, "in_analysis", row["in_analysis"], "0 or 1")
        if (row["shots"] == "0") != (row["split"] == ""):
            report.differs("annotators.csv", number, "split", row["split"], "empty at zero shots")
    return len(data["annotators.csv"])


TEXTS = ("flags", "browser")


def behaviour_of(data, answers):
    """annotator -> its columns of behaviour, thresholds as README.txt says."""
    examples = examples_by_key(data)
    found, medians = {}, defaultdict(dict)
    browsers = defaultdict(set)
    for person in data["annotators.csv"]:
        given = answers[person["annotator"]]
        seconds = [float(row["seconds"]) for row in given]
        median = statistics.median(seconds) if seconds else 0.0
        limit = max(1.0, 0.3 * median)
        texts = [row["answer"] for row in given if row["step"] == "annotation"]
        checks = [row for row in given if row["step"] == "check"]
        marks = [moment(row[name]) for row in given for name in ("shown_at", "submitted_at")]
        gaps = [(b - a).total_seconds() for a, b in itertools.pairwise(marks)]
        too_fast = 0
        for row, time in zip(given, seconds, strict=True):
            example = example_of(row, examples) or {"segments": "[]", "question": ""}
            read = [*json.loads(example["segments"]), example["question"]]
            too_fast += time < max(limit, sum(len(text.split()) for text in read) / 12)
        if median:
            group = (person["task"], person["shots"], person["split"], person["kind"])
            medians[group][person["annotator"]] = median
        if person["browser"]:
            browsers[person["browser"]].add(person["annotator"])
        found[person["annotator"]] = {
            "active_seconds": math.fsum(float(row["active_seconds"]) for row in given),
            "too_fast": too_fast,
            "modal_share": max(map(texts.count, set(texts))) / len(texts) if texts else None,
            "longest_run": max((len(list(run)) for _, run in itertools.groupby(texts)), default=0),
            "longest_absence": max(gaps, default=0.0),
            "blurs": sum(int(row["blurs"]) for row in given),
            "pastes": sum(int(row["pastes"]) for row in given),
            "checks": len(checks),
            "checks_passed": sum(float(row["s1"]) == 1 for row in checks),
        }
    for person in data["annotators.csv"]:
        name, n = person["annotator"], len(answers[person["annotator"]])
        mine = found[name]
        group = medians[person["task"], person["shots"], person["split"], person["kind"]]
        share = mine["modal_share"] or 0
        raised = {
            "too_fast": mine["too_fast"] and mine["too_fast"] >= 0.05 * n,
            "fast_person": is_fast_person(name, group),
            "one_answer": share >= 0.9 and n - mine["checks"] >= 10,
            "run": mine["longest_run"] >= 15,
            "absence": mine["longest_absence"] > 3600,
            "paste": mine["pastes"],
            "blur": mine["blurs"] > 0.2 * n,
            "checks": mine["checks_passed"] < mine["checks"],
            # Two participations of one worker share a browser rightly: only a hint here.
            "shared_browser": "shared_browser" in person["flags"].split()
            and len(browsers[person["browser"]]) > 1,
        }
        mine["flags"] = " ".join(flag for flag, is_up in raised.items() if is_up)
        known = re.fullmatch(r"B[1-9]\d*", person["browser"])
        mine["browser"] = person["browser"] if known else ""
    return found


def is_fast_person(name, medians):
    others = [math.log(other) for key, other in medians.items() if key != name]
    if name not in medians or len(others) < 5:
        return False
    return math.log(medians[name]) < statistics.mean(others) - 3 * statistics.stdev(others)


def groups_of(data):
    """(kind, task, shots) -> mean S1 of each annotator that counts."""
    groups = defaultdict(list)
    for row in data["annotators.csv"]:
        if row["status"] == "completed" and row["in_analysis"] == "1":
            key = (row["kind"], row["task"], row["shots"], row["split"])
            groups[key].append(float(row["mean_s1"]))
    return groups


def check_scenarios(data, report):
    groups = groups_of(data)
    seen = set()
    for number, row in enumerate(data["scenarios.csv"], start=2):
        key = (row["kind"], row["task"], row["shots"], row["split"])
        values = groups.get(key)
        if not values or key in seen:
            report.differs("scenarios.csv", number, "task", key, "annotators who completed it")
            continue
        seen.add(key)
        expected = {
            "mean": mean(values),
            "sd_ddof1": deviation(values, 1),
            "sd_ddof0": deviation(values, 0),
            "n": len(values),
        }
        for column, value in expected.items():
            if not same(row[column], value):
                report.differs("scenarios.csv", number, column, row[column], value)
    for key in groups:
        if key not in seen:
            report.differs("scenarios.csv", "-", "task", "no row", key)
    return len(data["scenarios.csv"])


def task_bounds(data):
    """task -> (baseline, name of the baseline, ceiling), x 100 over its test examples."""
    tests = defaultdict(list)
    for row in data["examples.csv"]:
        if row["file_kind"] == "test":
            tests[row["task"]].append(row)
    found = {}
    for task, rows in tests.items():
        golds = [json.loads(row["gold"]) for row in rows]
        name, baseline = "always “no answer”", mean([float(not gold) for gold in golds])
        if task in LABEL_TASKS:
            counts = {gold[0]: golds.count(gold) for gold in golds}
            label = max(counts, key=counts.__getitem__)
            name, baseline = f"always “{label}”", counts[label] / len(rows)
        best = mean([float(row["reachable"]) for row in rows])
        found[task] = (100 * baseline, name, 100 * best)
    return found


def check_performance(data, published, report):
    groups = defaultdict(list)
    for (kind, task, shots, _split), values in groups_of(data).items():
        groups[kind, task, shots] += values
    bounds = task_bounds(data)
    rules = {row["task"]: row["gold_rule"] for row in data["examples.csv"]}
    for number, row in enumerate(data["human_performance.csv"], start=2):
        values = [100 * value for value in groups.get((row["kind"], row["task"], row["shots"]), [])]
        baseline, name, ceiling = bounds.get(row["task"], (None, None, None))
        rule = rules.get(row["task"])
        numbers = {
            "mean": mean(values) if values else None,
            "sd_ddof1": deviation(values, 1),
            "sd_ddof0": deviation(values, 0),
            "n": len(values),
            "baseline": baseline,
            "ceiling": ceiling,
        }
        for column, value in numbers.items():
            if not same(row[column], value):
                report.differs("human_performance.csv", number, column, row[column], value)
        texts = {
            "baseline_name": name,
            "recipe": f"s1|match:exact|empty:1|gold:{rule}|mean:examples|sd:annotators|ddof:1|v:1",
        }
        if row["task"] in FAMILIES:
            texts["family"] = FAMILIES[row["task"]]
        for column, value in texts.items():
            if row[column] != value:
                report.differs("human_performance.csv", number, column, row[column], value)
        key = (row["kind"], row["task"], row["shots"])
        if key in published:
            report.differs("human_performance.csv", number, "shots", key, "one row each")
        published.add(key)
    for key in groups:
        if key not in published:
            report.differs("human_performance.csv", "-", "task", "no row", key)
    return len(data["human_performance.csv"])


def integer(text):
    """A whole number of a cell; None where it is none."""
    return int(text) if re.fullmatch(r"\d{1,15}", text) else None


def texts_of(cell):
    """The JSON list of a cell; None where it is none."""
    try:
        found = json.loads(cell)
    except ValueError:
        return None
    return found if isinstance(found, list) else None


def check_allocations(data, report):
    """Every choice of a scenario, made again: the least filled, ties by the study's seed."""
    file = "allocations.csv"
    frozen = {(one["task"], one["shots"]): one for one in DESIGN.get("scenarios", ())}
    for number, row in enumerate(data[file], start=2):
        if row["arrival"] != str(number - 1):
            report.differs(file, number, "arrival", row["arrival"], number - 1)
        if row["kind"] not in KINDS:
            report.differs(file, number, "kind", row["kind"], "a kind")
        candidates = texts_of(row["candidates"])
        if not candidates or any((task, k) not in frozen for task, k, _taken, _of in candidates):
            report.differs(file, number, "candidates", row["candidates"], "scenarios")
            continue
        least = min(taken for _task, _shots, taken, _seats in candidates)
        tied = [one for one in candidates if one[2] == least]
        draw = random.Random(f"{DESIGN['seed']}:seat:{number - 1}")
        task, shots, taken, seats = draw.choice(tied)
        expected = {"task": task, "shots": shots, "split": frozen[task, shots]["split"] or ""}
        for column, value in expected.items():
            if row[column] != str(value):
                report.differs(file, number, column, row[column], value)
        if taken >= seats:
            report.differs(file, number, "candidates", row["candidates"], "a free seat")
    return len(data[file])


def check_decisions(data, report):
    """Each decision changes something, and the last one about the analysis is what counts."""
    file = "decisions.csv"
    people = {row["annotator"]: row for row in data["annotators.csv"]}
    before, last = defaultdict(lambda: "1"), {}
    for number, row in enumerate(data[file], start=2):
        if row["annotator"] not in people:
            report.differs(file, number, "annotator", row["annotator"], "of annotators.csv")
        if row["about"] not in ("analysis", "pay", "qualification"):
            report.differs(file, number, "about", row["about"], "what can be decided")
        if row["outcome"] not in ("0", "1"):
            report.differs(file, number, "outcome", row["outcome"], "0 or 1")
        if row["role"] not in ("researcher", "rule"):
            report.differs(file, number, "role", row["role"], "researcher or rule")
        if not row["reason"].strip():
            report.differs(file, number, "reason", row["reason"], "a reason")
        key = (row["annotator"], row["about"])
        if row["about"] != "qualification" and before[key] == row["outcome"]:
            report.differs(file, number, "outcome", row["outcome"], "a change")
        before[key], last[key] = row["outcome"], number
    for (annotator, about), number in last.items():
        person = people.get(annotator)
        if about == "analysis" and person and person["status"] == "completed":
            found = before[annotator, about]
            if found != person["in_analysis"]:
                report.differs(file, number, "outcome", found, person["in_analysis"])
    return len(data[file])


def check_questionnaire(data, report):
    """Who answered the questions at the end has completed, and answered once."""
    file = "questionnaire.csv"
    completed = {r["annotator"] for r in data["annotators.csv"] if r["status"] == "completed"}
    for number, row in enumerate(data[file], start=2):
        if row["annotator"] not in completed:
            report.differs(file, number, "annotator", row["annotator"], "who completed, once")
        completed.discard(row["annotator"])
        for column in ("seen_before", "ai_used"):
            if row[column] not in ("", "no", "yes", "unsure"):
                report.differs(file, number, column, row[column], "no, yes or unsure")
    return len(data[file])


def check_pay(data, report):
    """Entries of people in the study's currency, and their totals by kind."""
    kinds = {row["annotator"]: row["kind"] for row in data["annotators.csv"]}
    entries = defaultdict(list)
    for number, row in enumerate(data["pay.csv"], start=2):
        if kinds.get(row["annotator"]) != "person":
            report.differs("pay.csv", number, "annotator", row["annotator"], "a person")
        if row["kind"] not in PAY_KINDS:
            report.differs("pay.csv", number, "kind", row["kind"], PAY_KINDS)
        if row["currency"] != DESIGN.get("currency"):
            report.differs("pay.csv", number, "currency", row["currency"], DESIGN.get("currency"))
        if not integer(row["cents"]):
            report.differs("pay.csv", number, "cents", row["cents"], "a whole number above 0")
        entries[row["kind"], row["currency"]].append(integer(row["cents"]) or 0)
    for number, row in enumerate(data["pay_totals.csv"], start=2):
        found = entries.pop((row["kind"], row["currency"]), [])
        for column, value in (("entries", len(found)), ("cents", sum(found))):
            if not found or row[column] != str(value):
                report.differs("pay_totals.csv", number, column, row[column], value)
    for kind, currency in entries:
        report.differs("pay_totals.csv", "-", "kind", "no row", f"{kind}, {currency}")
    return len(data["pay.csv"]) + len(data["pay_totals.csv"])


def check_predictions(data, report):
    """S1 of every prediction; each file has every test example once."""
    file = "predictions.csv"
    examples = examples_by_key(data)
    tests = defaultdict(set)
    for row in data["examples.csv"]:
        if row["file_kind"] == "test":
            tests[row["task"]].add(row["example"])
    predicted = defaultdict(dict)
    for number, row in enumerate(data[file], start=2):
        example = examples.get((row["task"], "annotation", "", "", row["example"]))
        if example is None:
            report.differs(file, number, "example", row["example"], "a test example")
            continue
        if row["hash"] != example["hash"]:
            report.differs(file, number, "hash", row["hash"], example["hash"])
        if (row["shots"] == "0") != (row["split"] == "") or integer(row["shots"]) is None:
            report.differs(file, number, "split", row["split"], "empty at zero shots")
        texts = texts_of(row["predicted"])
        if texts is None:
            report.differs(file, number, "predicted", row["predicted"], "a JSON list")
            continue
        expected = score(texts, json.loads(example["gold"]), example["gold_rule"])
        if not same(row["s1"], expected):
            report.differs(file, number, "s1", row["s1"], expected)
        own = predicted[row["model"], row["task"], row["shots"], row["split"]]
        if row["example"] in own:
            report.differs(file, number, "example", row["example"], "an example once")
        own[row["example"]] = expected
    means = defaultdict(list)
    for (model, task, shots, split), own in predicted.items():
        if set(own) != tests[task]:
            place = f"{model}, {task}, {shots} shots, split {split or '-'}"
            report.differs(file, "-", "example", f"{len(own)} of {place}", len(tests[task]))
        means[model, task, shots].append(mean(list(own.values())))
    check_model_scores(data, means, report)
    return len(data[file])


def check_model_scores(data, means, report):
    """Mean and SDs over the splits of each model, task and shots."""
    file = "model_scores.csv"
    rules = {row["task"]: row["gold_rule"] for row in data["examples.csv"]}
    for number, row in enumerate(data[file], start=2):
        values = [100 * one for one in means.pop((row["model"], row["task"], row["shots"]), [])]
        expected = {
            "mean": mean(values) if values else None,
            "sd_ddof1": deviation(values, 1),
            "sd_ddof0": deviation(values, 0),
            "n": len(values),
        }
        for column, value in expected.items():
            if not values or not same(row[column], value):
                report.differs(file, number, column, row[column], value)
        if (integer(row["of"]) or 0) < len(values):
            report.differs(file, number, "of", row["of"], f"at least {len(values)}")
        over = "runs" if row["shots"] == "0" else "splits"
        rule = rules.get(row["task"])
        text = f"s1|match:exact|empty:1|gold:{rule}|mean:examples|sd:{over}|ddof:1|v:1"
        if row["recipe"] != text:
            report.differs(file, number, "recipe", row["recipe"], text)
    for key in means:
        report.differs(file, "-", "model", "no row", key)


def main(folder):
    report = Report()
    data = {name: read(folder, name) for name in FILES}
    manifest = folder / "manifest.json"
    if manifest.stat().st_size:
        DESIGN.update(json.loads(manifest.read_bytes()))
        for task in DESIGN["tasks"]:
            CARDS[task["name"]] = task["card"]
            FAMILIES[task["name"]] = task["card"]["family"]
            RECHAINED[task["name"]] = task["rechained"]
            if task["card"].get("labels"):
                LABEL_TASKS.add(task["name"])
    else:
        # A draft has no manifest: the baseline's name tells the label tasks.
        LABEL_TASKS.update(
            row["task"]
            for row in data["human_performance.csv"]
            if row["baseline_name"] != "always “no answer”"
        )
    failed = (
        [report.close("files are as they were written", check_sums(folder, report))]
        if (folder / "SHA256SUMS").exists()
        else []
    )
    checks = (
        ("rows belong to the frozen design", check_manifest, (data, manifest)),
        ("examples: hash, place, what can be highlighted", check_examples, (data,)),
        ("spans: text at its offsets, answers from spans", check_spans, (data,)),
        ("answers: gold, S1, order, seconds", check_answers, (data,)),
        ("annotators: means, SDs, counts", check_annotators, (data,)),
        ("scenarios: mean, both SDs, n", check_scenarios, (data,)),
        ("human performance: mean, SDs, n, baseline, ceiling", check_performance, (data, set())),
        ("allocations: every choice of a scenario", check_allocations, (data,)),
        ("decisions: of whom, and what counts", check_decisions, (data,)),
        ("questionnaire: of whom, answers that there are", check_questionnaire, (data,)),
        ("pay: entries and totals", check_pay, (data,)),
        ("models: predictions, means, SDs, n", check_predictions, (data,)),
    )
    for title, check, arguments in checks:
        count = check(*arguments, report)
        failed.append(report.close(title, count))
    print("Something differs." if any(failed) else "Everything agrees.")
    return int(any(failed))


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent))
