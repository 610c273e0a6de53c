"""Recompute every number and every span of this export from its CSVs: `python verify.py`.

Needs nothing but Python 3.11 or newer, and nothing of Handful. Prints one line per check; ends with
status 1 and names file, row and column where something differs. Numbers must agree to 1e-9.

The files are read row by row. What is kept is the examples, and of each answer what the sums need:
some 120 bytes. So the order of rows is part of the export, and checked: by position in examples.csv
and, for each annotator, in answers.csv; the spans of an answer together in spans.csv; arrivals and
decisions as they came. It says so if a file was re-sorted.
"""

import csv
import functools
import hashlib
import itertools
import json
import math
import operator
import random
import re
import statistics
import sys
import unicodedata
from array import array
from collections import Counter, defaultdict, namedtuple
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

FILES = (
    "examples.csv", "answers.csv", "spans.csv", "annotators.csv", "scenarios.csv",
    "human_performance.csv", "allocations.csv", "decisions.csv", "questionnaire.csv", "pay.csv",
    "pay_totals.csv", "predictions.csv", "model_scores.csv",
)  # fmt: skip
KINDS = ("person", "simulated", "model")
STATUSES = (
    "arrived", "working", "waiting", "between", "completed", "screened_out", "returned", "expired",
    "refused", "withdrawn", "rejected",
)  # fmt: skip
PAY_KINDS = ("base", "screen_out", "top_up", "partial", "waiting", "bonus")
PSEUDONYM = re.compile(r"A-[A-Z2-9]{5}")
NO_ANSWER = "always “no answer”"  # the trivial baseline where answers are highlighted
# Table 4 of the paper: hash of the published test file -> shots -> mean and its ±, as printed.
PUBLISHED = {
    # SST-2
    "db6566d59e5001a936417417a8d45ae867c0377edb9325e584d4cd1026c05a02": {
        "0": (83.5, 0.6), "10": (79.8, 1.2), "20": (83.0, 0.5), "30": (83.7, 0.6),
    },
    # MNLI
    "901acba60ad5eb57db40dffb927b5d025abcaf34408740f368dcb2ebf05b16d4": {
        "0": (64.4, 0.6), "10": (78.1, 0.2), "20": (78.6, 1.7), "30": (69.4, 0.8),
    },
    # CoNLL03
    "cca227ce8fc0a932f85d42d2558fb4a259b0ccb14db274bd2446fc814ad20d65": {
        "0": (85.4, 1.8), "10": (87.7, 2.0), "20": (89.7, 0.4), "30": (87.4, 2.1),
    },
    # WikiANN
    "9f418b969999056ab6771e7db826ef43f21a206028d33284dc10f4f1dda791ae": {
        "0": (82.2, 0.4), "10": (81.4, 1.1), "20": (83.5, 0.1), "30": (82.6, 0.4),
    },
    # SQuADv2
    "a15fccbb310579f1a61ca48f46f1ca63b94ef9beba54e925ca73b84320002af8": {
        "0": (70.6, 1.0), "10": (71.9, 8.0), "20": (76.4, 0.5), "30": (73.5, 2.0),
    },
    # ReCoRD
    "72632385f8e601215adb8bdcca45cd375fa13bfc82f7a810014672e953b92601": {
        "0": (94.6, 0.5), "10": (94.1, 0.5), "20": (94.2, 0.8), "30": (91.9, 0.2),
    },
}  # fmt: skip
TOLERANCE = 1e-9
MAX_LINES = 10  # of the differences that one check finds

# What is reported ---------------------------------------------------------------------------------


class Check:
    """One line of the output: what was checked, how many, and the first differences."""

    def __init__(self, title):
        self.title = title
        self.count = 0
        self.differences = 0
        self.first = []
        self.re_sorted = {}

    def differs(self, file, row, column, actual, expected):
        self.differences += 1
        if self.differences <= MAX_LINES:
            self.first.append(
                f"{file}, row {row}, {column}: found {actual!r}, expected {expected!r}"
            )

    def wrong(self, row, column, expected):
        self.differs(row.file, row.number, column, row[column], expected)

    def texts(self, row, **expected):
        for column, value in expected.items():
            if row[column] != value:
                self.wrong(row, column, value)

    def numbers(self, row, **expected):
        """An empty cell is the number None."""
        for column, value in expected.items():
            cell = row[column]
            agrees = cell == "" if value is None else abs(real(cell) - value) <= TOLERANCE
            if not agrees:
                self.wrong(row, column, value)

    def one_of(self, row, column, expected):
        if row[column] not in expected:
            self.wrong(row, column, expected)

    def out_of_order(self, file, row):
        """Said once of each file, however many rows stand elsewhere."""
        if file not in self.re_sorted:
            self.differences += 1
            self.re_sorted[file] = (
                f"{file}, row {row}: not in the order in which the rows were exported. If {file}"
                " was re-sorted, take it from the export again."
            )

    def close(self):
        """Print the line; return whether something differs."""
        print(f"{'FAILED' if self.differences else 'ok    '} {self.title} ({self.count})")
        lines = [*self.re_sorted.values(), *self.first]
        for line in lines:
            print(f"         {line}")
        if self.differences > len(lines):
            print(f"         ... and {self.differences - len(lines)} more")
        return bool(self.differences)


# What a cell holds --------------------------------------------------------------------------------

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


@functools.lru_cache(maxsize=10_000)
def integer(text):
    """A whole number, from 0; None where a cell holds none."""
    return int(text) if re.fullmatch(r"0|[1-9][0-9]{0,14}", text) else None


def real(text):
    """A number; NaN, which agrees with nothing, where a cell holds none."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def moment(text):
    """A time in microseconds; None where a cell holds none."""
    try:
        return (datetime.fromisoformat(text) - EPOCH) // MICROSECOND
    except (ValueError, TypeError):  # TypeError: a time without its zone
        return None


def texts_of(text):
    """The texts of a cell that is a JSON list; None where it is none."""
    try:
        texts = json.loads(text)
    except ValueError:
        return None
    is_list = isinstance(texts, list) and all(isinstance(item, str) for item in texts)
    return texts if is_list else None


# How is scored ------------------------------------------------------------------------------------


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
        return max(s1(predicted, [text]) for text in gold)
    return s1(predicted, gold)


def mean(values):
    return math.fsum(values) / len(values)


def deviation(values, ddof):
    if len(values) <= ddof:
        return None
    middle = mean(values)
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - ddof))


def spread(values):
    """The columns mean, sd_ddof1, sd_ddof0 and n."""
    return {
        "mean": mean(values) if values else None,
        "sd_ddof1": deviation(values, 1),
        "sd_ddof0": deviation(values, 0),
        "n": len(values),
    }


def recipe(rule, over):
    return f"s1|match:exact|empty:1|gold:{rule}|mean:examples|sd:{over}|ddof:1|v:1"


# What a character is to the tokeniser: w letter, digit or "_"; m mark; i mark that joins letters;
# l, v, t parts of a Korean syllable; n, z joiners; o other sign; k colour of skin; r half of a
# flag; s blank or invisible.
SIGN = "(?:rr|[okr])[mik]*(?:z[ok][mik]*)*"
TOKENS = {
    "word": re.compile(f"[wmilvt](?:[nz]*[wmilvt])*|{SIGN}"),
    "char": re.compile(f"(?:l+[vt]*|[wvt][vt]*)(?:i[nz]*w|[mi])*|[mi]+|{SIGN}"),
}
RANGES = (
    ("r", 0x1F1E6, 0x1F1FF), ("k", 0x1F3FB, 0x1F3FF), ("m", 0xE0020, 0xE007F),
    ("l", 0x1100, 0x115F), ("l", 0xA960, 0xA97C), ("v", 0x1160, 0x11A7), ("v", 0xD7B0, 0xD7C6),
    ("t", 0x11A8, 0x11FF), ("t", 0xD7CB, 0xD7FB), ("n", 0x200C, 0x200C), ("z", 0x200D, 0x200D),
    *(("m", code, code) for code in (0xE33, 0xEB3, 0xFF9E, 0xFF9F)),
    *(("i", code, code) for code in (0x94D, 0x9CD, 0xACD, 0xB4D, 0xC4D, 0xD4D, 0x1039, 0x17D2,
                                     0x1A60)),
)  # fmt: skip


class Classes(dict):
    """Code point -> its class, for str.translate."""

    def __missing__(self, code):
        character = chr(code)
        category = unicodedata.category(character)
        letter = next((name for name, first, last in RANGES if first <= code <= last), None)
        if letter is None and (character == "_" or category[0] in "LN"):
            letter = "w"
        elif letter is None and category[0] == "M":
            letter = "m"
        elif letter is None:
            letter = "s" if character.isspace() or category in ("Cf", "Cc") else "o"
        self[code] = letter
        return letter


CLASSES = Classes()


@functools.lru_cache(maxsize=10_000)  # many annotators highlight in the same texts
def token_edges(text, granularity):
    """Starts and ends of the tokens: runs of letters, or with "char" each; other signs alone."""
    cut = [match.span() for match in TOKENS[granularity].finditer(text.translate(CLASSES))]
    return {start for start, _ in cut}, {end for _, end in cut}


@functools.lru_cache(maxsize=10_000)
def first_token_edges(text):
    """The same by the tokeniser t5-1, which cut flags and families of signs into their parts."""
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


def can_be_highlighted(text, segments, granularity):
    for segment in segments:
        starts, ends = token_edges(segment, granularity)
        place = segment.find(text)
        while place >= 0:
            if place in starts and place + len(text) in ends:
                return True
            place = segment.find(text, place + 1)
    return False


def reachable(segments, gold, rule, granularity):
    texts = [text for text in gold if can_be_highlighted(text, segments, granularity)]
    return score(texts[:1] if rule == "any_of" else texts, gold, rule)


# The export, and what of it is kept ---------------------------------------------------------------


class Row(dict):
    """Column -> cell; knows its file and its number there (the header is row 1)."""

    __slots__ = ("file", "number")


def read(folder, name):
    """The rows of a CSV, one at a time; one with too few or too many cells has the key None."""
    with (folder / name).open(encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file, strict=True)
        header = next(lines, [])
        for number, cells in enumerate(lines, start=2):
            row = Row(zip(header, cells, strict=False))
            row.file, row.number = name, number
            if len(cells) != len(header):
                row[None] = f"{len(cells)} cells, not {len(header)}"
            yield row


@dataclass(eq=False, slots=True)
class Example:
    """A row of examples.csv."""

    cells: tuple  # hash, gold and gold_rule, as they are written
    gold: list
    segments: list
    question: str  # as it can be highlighted, else ""
    words: int  # to read
    reachable: float
    granularity: str

    @property
    def rule(self):
        return self.cells[2]


Place = namedtuple("Place", "task shots split kind status in_analysis")
OPEN, TRAINING, ANNOTATION, CHECK = range(4)  # an open example is shown, not answered yet
STEPS = {"training": TRAINING, "annotation": ANNOTATION, "check": CHECK}
LATER = 1 << 32  # added to positions after the training step, which count from 0 again


class Annotator:
    """What is kept of a row of annotators.csv, and of each of its answers, in the file's order."""

    __slots__ = (
        "active", "at", "blurs", "browser", "has_spans", "order", "pastes", "place", "places",
        "rows", "s1", "shown", "steps", "submitted", "texts", "words",
    )  # fmt: skip

    def __init__(self, place, browser):
        self.place, self.browser = place, browser
        self.at = {}  # example -> which of the answers below
        self.rows, self.places = array("I"), array("q")
        self.steps, self.has_spans = bytearray(), bytearray()
        self.texts = array("q")  # hash of the texts of the answer
        self.s1, self.active = array("d"), array("d")
        self.shown, self.submitted, self.words = array("q"), array("q"), array("I")
        self.blurs = self.pastes = 0
        self.order = range(0)  # the answers above, by position

    def answered(self, *steps):
        """The given answers by position; of these steps, or of all."""
        wanted = steps or (TRAINING, ANNOTATION, CHECK)
        return [index for index in self.order if self.steps[index] in wanted]

    def seconds(self):
        return [(self.submitted[i] - self.shown[i]) / 10**6 for i in self.answered()]


class Export:
    """The folder, its frozen design, and what is kept while its files are read in turn."""

    def __init__(self, folder, belongs):
        self.folder, self.belongs = folder, belongs
        manifest = (folder / "manifest.json").read_bytes()
        self.design = json.loads(manifest) if manifest else {}
        self.manifest = hashlib.sha256(manifest).hexdigest() if manifest else ""
        self.study = self.design.get("name")  # of a draft, as its first row says
        self.tasks = {task["name"]: task for task in self.design.get("tasks", ())}
        self.cards = {name: task["card"] for name, task in self.tasks.items()}
        self.label_tasks = {name for name, card in self.cards.items() if card.get("labels")}
        if not manifest:  # the baseline's name tells them
            self.label_tasks = {
                row["task"]
                for row in read(folder, "human_performance.csv")
                if None not in row and row["baseline_name"] != NO_ANSWER
            }
        self.examples = {}  # (task, step, shots, split, id) -> Example
        self.tests = defaultdict(list)  # task -> its test examples by position
        self.rules = {}  # task -> its gold rule
        self.annotators = {}
        places = {}
        for row in read(folder, "annotators.csv"):
            if None not in row:
                place = Place(*(row[column] for column in Place._fields))
                annotator = Annotator(places.setdefault(place, place), row["browser"])
                self.annotators[row["annotator"]] = annotator
        self.means = defaultdict(list)  # (kind, task, shots, split) -> of each who counts

    def edges(self, text, granularity):
        """Where a highlight may start and end; a study from before may hold answers of then."""
        starts, ends = token_edges(text, granularity)
        if self.design.get("tokeniser") != "t5-1":
            return starts, ends
        earlier_starts, earlier_ends = first_token_edges(text)
        return starts | earlier_starts, ends | earlier_ends

    def rows(self, file, check):
        """The rows of a CSV, counted, and found to be of the study that manifest.json froze."""
        belongs = self.belongs
        versions = {name: str(task["version"]) for name, task in self.tasks.items()}
        for row in read(self.folder, file):
            if None in row:
                belongs.differs(file, row.number, "-", row[None], "a cell for each column")
                continue
            if "manifest" in row:
                belongs.count += 1
                self.study = self.study or row["study"]
                belongs.texts(row, manifest=self.manifest)
                belongs.texts(row, study=self.study)
            expected = versions.get(row.get("task"))
            if versions and row.get("task_version", expected) != expected:
                belongs.wrong(row, "task_version", expected)
            check.count += 1
            yield row

    def example(self, row):
        """The example of a row of answers.csv; None if there is none."""
        training = row["step"] == "training"
        place = (row["shots"], row["split"]) if training else ("", "")
        return self.examples.get((row["task"], row["step"], *place, row["example"]))


@functools.lru_cache(maxsize=50_000)  # many annotators give the same answers
def judge(example, answer):
    """(hash of the texts, S1) of the cell of an answer; None if it is no list of texts."""
    texts = texts_of(answer)
    if texts is None:
        return None
    return hash(tuple(texts)), score(texts, example.gold, example.rule)


NOTHING = hash(())


def by_position(check, file, places, rows):
    """The indices of these rows by position, after a check that every position from 0 is there."""
    order = sorted(range(len(places)), key=places.__getitem__)
    missed, expected = False, 0
    for index in order:
        if places[index] >= LATER > expected:
            expected = LATER
        if places[index] != expected:
            missed = True
            place = str(places[index] % LATER)
            check.differs(file, rows[index], "position", place, str(expected % LATER))
        expected += 1
    for index, other in enumerate(order):
        if index != other and not missed:
            check.out_of_order(file, rows[index])
            break
    return order


# The checks, in the order in which they run -------------------------------------------------------


def check_sums(folder, check):
    listed = dict(
        reversed(line.split("  ", 1))
        for line in (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    )
    check.count = len(listed)
    for name, expected in listed.items():
        with (folder / name).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != expected:
            check.differs(name, "-", "SHA-256", digest, expected)
    for name in FILES:
        if name not in listed:
            check.differs("SHA256SUMS", "-", name, "missing", "listed")


def check_examples(export, check):
    """Hashes, places in the file, and what highlighting can reach."""
    files = defaultdict(list)
    for row in export.rows("examples.csv", check):
        segments, gold = texts_of(row["segments"]), texts_of(row["gold"])
        if segments is None or gold is None:
            check.wrong(row, "gold" if gold is None else "segments", "a JSON list of texts")
            continue
        if row["task"] not in export.label_tasks and row["granularity"] not in TOKENS:
            check.wrong(row, "granularity", "word or char")
            continue
        check_content(export, check, row, segments, gold)
        step, place = check_file(export, check, row)
        example = Example(
            cells=(row["hash"], row["gold"], row["gold_rule"]),
            gold=gold,
            segments=segments,
            question=row["question_selectable"],
            words=sum(len(text.split()) for text in [*segments, row["question"]]),
            reachable=real(row["reachable"]),
            granularity=row["granularity"],
        )
        export.examples[row["task"], step, *place, row["example"]] = example
        position = integer(row["position"])
        if position is None:
            check.wrong(row, "position", "a place in the file")
            continue
        line = (position, row.number, row["example"], step, example)
        files[row["task"], row["file"]].append(line)
    for (task, file), lines in files.items():
        check_order(export, check, task, file, lines)


def check_content(export, check, row, segments, gold):
    """Check what is computed from the texts: hash, highlightable question, reachable S1."""
    content = json.dumps(
        [segments, row["question"], gold], ensure_ascii=False, separators=(",", ":")
    )
    check.texts(row, hash=hashlib.sha256(content.encode()).hexdigest())
    task = row["task"]
    if task in export.cards:
        card = export.cards[task]
        kind = "" if task in export.label_tasks else card.get("granularity", "word")
        shown = question_to_highlight(card, row["question"])
        check.texts(row, question_selectable=shown, granularity=kind)
    rule = export.rules.setdefault(task, row["gold_rule"])
    if row["gold_rule"] != rule or rule not in ("set", "any_of"):
        check.wrong(row, "gold_rule", rule)
    # The labels of a task stand nowhere in its texts: they are chosen, not highlighted.
    best = 1.0
    if task not in export.label_tasks:
        texts = [*segments, row["question_selectable"]]
        best = reachable(texts, gold, rule, row["granularity"])
    check.numbers(row, reachable=best)


def check_order(export, check, task, file, lines):
    """Check that a file has each place and each id once; keep the test examples in its order."""
    places, numbers, ids, steps, examples = zip(*lines, strict=True)
    met = set()
    for index in by_position(check, "examples.csv", places, numbers):
        if ids[index] in met:
            expected = f"once in {file}"
            check.differs("examples.csv", numbers[index], "example", ids[index], expected)
        met.add(ids[index])
        if steps[index] == "annotation":
            export.tests[task].append(examples[index])


def question_to_highlight(card, question):
    """The question as the card words it where it can be highlighted, else ""."""
    if not card.get("question_selectable"):
        return ""
    for kind in card.get("question_types", []):
        if kind["match"] == question:
            return kind["wording"]
    return card.get("question", question)


def check_file(export, check, row):
    """Check which file it is in; return (step, (shots, split)) as answers name an example."""
    place, end = (row["shots"], row["split"]), "_test.jsonl"
    steps = {"train": "training", "test": "annotation", "check": "check"}
    if row["file_kind"] not in steps:
        check.wrong(row, "file_kind", "train, test or check")
    if row["file_kind"] == "train":
        end = f"_train_{row['shots']}_{row['split']}.jsonl"
    elif any(place):
        check.wrong(row, "shots" if row["shots"] else "split", "")
    if row["file_kind"] == "check":
        end = ""
    rechained = row["task"] in export.tasks and export.tasks[row["task"]]["rechained"]
    if not rechained and not row["file"].endswith(end):
        check.wrong(row, "file", f"...{end}")
    return steps.get(row["file_kind"]), place if row["file_kind"] == "train" else ("", "")


COPIED = ("hash", "gold", "gold_rule", *Place._fields)


def check_answers(export, check):
    """Gold, S1 and seconds of every answer; each annotator meets every example once, in order."""
    copied = operator.itemgetter(*COPIED)
    for row in export.rows("answers.csv", check):
        example, annotator = export.example(row), export.annotators.get(row["annotator"])
        if annotator is None:
            check.wrong(row, "annotator", "an annotator of annotators.csv")
            continue
        if example is None:
            check.wrong(row, "example", "an example of examples.csv")
            continue
        expected = example.cells + annotator.place
        if copied(row) != expected:
            check.texts(row, **dict(zip(COPIED, expected, strict=True)))
        if example in annotator.at:
            check.wrong(row, "example", "an example met once")
        keep_answer(check, row, annotator, example)
    for annotator in export.annotators.values():
        order = by_position(check, "answers.csv", annotator.places, annotator.rows)
        is_sorted = order == list(range(len(order)))
        annotator.order = range(len(order)) if is_sorted else order


Given = namedtuple("Given", "kept texts s1 shown submitted active")
NOT_GIVEN = Given(OPEN, NOTHING, math.nan, 0, 0, math.nan)


def keep_answer(check, row, annotator, example):
    """Check the answer of a row, and keep of it what the later checks need."""
    step, position = STEPS[row["step"]], integer(row["position"])
    if position is None:
        check.wrong(row, "position", "a place in the order")
        return
    given = NOT_GIVEN
    if row["submitted_at"] != "":
        given = check_given(check, row, step, example)
        annotator.blurs += integer(row["blurs"]) or 0
        annotator.pastes += integer(row["pastes"]) or 0
    else:
        for column in ("answer", "s1", "seconds", "active_seconds", "reveal_seconds"):
            if row[column]:
                check.wrong(row, column, "")
    annotator.at[example] = len(annotator.rows)
    annotator.rows.append(row.number)
    annotator.places.append(position if step == TRAINING else LATER + position)
    annotator.steps.append(given.kept)
    annotator.has_spans.append(False)
    annotator.texts.append(given.texts)
    annotator.s1.append(given.s1)
    annotator.shown.append(given.shown)
    annotator.submitted.append(given.submitted)
    annotator.active.append(given.active)
    annotator.words.append(example.words)


def check_given(check, row, step, example):
    """Check S1, times and signs of an answer that was given."""
    texts, right = judge(example, row["answer"]) or (NOTHING, None)
    if right is None:
        check.wrong(row, "answer", "a JSON list of texts")
        right = math.nan
    else:
        check.numbers(row, s1=right)
    for column in ("shown_at", "submitted_at"):
        if moment(row[column]) is None:
            check.wrong(row, column, "a time")
    shown, submitted = moment(row["shown_at"]) or 0, moment(row["submitted_at"]) or 0
    seconds = (submitted - shown) / 10**6
    check.numbers(row, seconds=seconds)
    if seconds < 0:
        check.wrong(row, "submitted_at", "a time after shown_at")
    active = real(row["active_seconds"])
    if not 0 <= active <= seconds + TOLERANCE:
        check.wrong(row, "active_seconds", f"0 to {seconds}")
    if row["reveal_seconds"] and step != TRAINING:
        check.wrong(row, "reveal_seconds", "")
    elif row["reveal_seconds"] and not real(row["reveal_seconds"]) >= 0:
        check.wrong(row, "reveal_seconds", "a number from 0")
    for column in ("blurs", "pastes"):
        if integer(row[column]) is None:
            check.wrong(row, column, "a whole number")
    if not real(row["away_seconds"]) >= 0:
        check.wrong(row, "away_seconds", "a number from 0")
    return Given(step, texts, right, shown, submitted, active)


def check_spans(export, check):
    """Every span is the slice that its offsets say, and every answer the list of its spans."""
    whose = operator.itemgetter("task", "step", "annotator", "example")
    for (task, step, name, source), group in itertools.groupby(
        export.rows("spans.csv", check), whose
    ):
        rows = list(group)
        annotator, index = export.annotators.get(name), None
        if annotator and annotator.place.task == task:
            place = (annotator.place.shots, annotator.place.split)
            where = (task, step, *(place if step == "training" else ("", "")), source)
            example = export.examples.get(where)
            index = annotator.at.get(example)
        if index is None:
            for row in rows:
                check.wrong(row, "example", "an answered example")
            continue
        if annotator.has_spans[index]:
            check.out_of_order("spans.csv", rows[0].number)
            continue
        annotator.has_spans[index] = True
        texts = slices(check, rows, example, export.edges)
        if hash(tuple(texts)) != annotator.texts[index]:
            answer = f"the answer in answers.csv, row {annotator.rows[index]}"
            check.differs("spans.csv", rows[0].number, "text", texts, answer)
    for annotator in export.annotators.values():
        if annotator.place.task not in export.label_tasks:
            for index, digest in enumerate(annotator.texts):
                if digest != NOTHING and not annotator.has_spans[index]:
                    row = annotator.rows[index]
                    check.differs("answers.csv", row, "answer", "texts", "their rows in spans.csv")


def slices(check, rows, example, edges):
    """The distinct texts of an answer's spans, each checked against its place in the example."""
    texts, ends = {}, defaultdict(int)
    for row in rows:
        check.texts(row, hash=example.cells[0])
        where, start, end = row["segment"], integer(row["start"]), integer(row["end"])
        if where == "question":
            text = example.question
        elif integer(where) is not None and integer(where) < len(example.segments):
            text = example.segments[integer(where)]
        else:
            check.wrong(row, "segment", "a place in the example")
            continue
        if start is None or end is None:
            check.wrong(row, "end" if end is None else "start", "a place in the segment")
            continue
        if not start < end <= len(text) or text[start:end] != row["text"]:
            check.wrong(row, "text", text[start:end])
        starts_of, ends_of = edges(text, example.granularity)
        if start not in starts_of:
            check.wrong(row, "start", "a boundary of a token")
        if end not in ends_of:
            check.wrong(row, "end", "a boundary of a token")
        if start < ends[where]:
            check.wrong(row, "start", "after the span before it")
        ends[where] = end
        texts[row["text"]] = None
    return list(texts)


def check_annotators(export, check):
    """Means, SDs and counts of their answers, and the signs of how they worked."""
    tests = {task: len(examples) for task, examples in export.tests.items()}
    paces = defaultdict(list)  # (task, shots, split, kind) -> logarithms of the median times
    for annotator in export.annotators.values():
        if (pace := pace_of(annotator)) is not None:
            paces[annotator.place[:4]].append(pace)
    browsers = Counter(annotator.browser for annotator in export.annotators.values())
    met = set()
    for row in export.rows("annotators.csv", check):
        annotator = export.annotators[row["annotator"]]
        expected = work_of(annotator)
        check.numbers(row, **expected)
        flags = flags_of(expected, pace_of(annotator), paces[annotator.place[:4]])
        # Two participations of one worker share a browser rightly: only a hint here.
        if "shared_browser" in row["flags"].split() and browsers[row["browser"]] > 1:
            flags.append("shared_browser")
        check.texts(row, flags=" ".join(flags))
        if not re.fullmatch(r"(B[1-9][0-9]*)?", row["browser"]):
            check.wrong(row, "browser", "B and a number")
        if not PSEUDONYM.fullmatch(row["annotator"]) or row["annotator"] in met:
            check.wrong(row, "annotator", "A-XXXXX, in one row")
        met.add(row["annotator"])
        check.one_of(row, "status", STATUSES)
        check.one_of(row, "kind", KINDS)
        # Only who has completed counts: not who is still working.
        check.one_of(row, "in_analysis", ("0", "1") if row["status"] == "completed" else ("0",))
        if (row["status"] == "completed") != (expected["n"] == tests.get(row["task"], 0) > 0):
            check.wrong(row, "status", f"{expected['n']} answers given")
        if (row["shots"] == "0") != (row["split"] == ""):
            check.wrong(row, "split", "empty at zero shots")
        if row["in_analysis"] == "1":
            key = (row["kind"], row["task"], row["shots"], row["split"])
            export.means[key].append(real(row["mean_s1"]))


def pace_of(annotator):
    """The logarithm of the median time of an answer; None without a time above 0."""
    seconds = annotator.seconds()
    median = statistics.median(seconds) if seconds else 0.0
    return math.log(median) if median > 0 else None


def work_of(annotator):
    """The columns of numbers of an annotator, by what README.md says of them."""
    seconds, answered = annotator.seconds(), annotator.answered()
    test = array("d", (annotator.s1[i] for i in annotator.answered(ANNOTATION)))
    training = array("d", (annotator.s1[i] for i in annotator.answered(TRAINING)))
    checks = [annotator.s1[i] for i in annotator.answered(CHECK)]
    given = [annotator.texts[i] for i in annotator.answered(ANNOTATION)]
    limit = max(1.0, 0.3 * statistics.median(seconds)) if seconds else 1.0
    marks = [time for i in answered for time in (annotator.shown[i], annotator.submitted[i])]
    return {
        "mean_s1": mean(test) if test else None,
        "sd_examples": deviation(test, 1),
        "n": len(test),
        "training_s1": mean(training) if training else None,
        "training_n": len(training),
        "seconds": math.fsum(seconds),
        "active_seconds": math.fsum(annotator.active[i] for i in answered),
        "too_fast": sum(
            time < max(limit, annotator.words[i] / 12)
            for i, time in zip(answered, seconds, strict=True)
        ),
        "modal_share": max(Counter(given).values()) / len(given) if given else None,
        "longest_run": max((len(list(run)) for _text, run in itertools.groupby(given)), default=0),
        "longest_absence": max((b - a for a, b in itertools.pairwise(marks)), default=0) / 10**6,
        "blurs": annotator.blurs,
        "pastes": annotator.pastes,
        "checks": len(checks),
        "checks_passed": checks.count(1.0),
    }


def flags_of(work, pace, paces):
    """The quality flags, by the thresholds that README.md says."""
    n = sum(work[column] for column in ("n", "training_n", "checks"))
    raised = {
        "too_fast": work["too_fast"] and work["too_fast"] >= 0.05 * n,
        "fast_person": is_fast(pace, paces),
        "one_answer": (work["modal_share"] or 0) >= 0.9 and n - work["checks"] >= 10,
        "run": work["longest_run"] >= 15,
        "absence": work["longest_absence"] > 3600,
        "paste": work["pastes"],
        "blur": work["blurs"] > 0.2 * n,
        "checks": work["checks_passed"] < work["checks"],
    }
    return [flag for flag, is_up in raised.items() if is_up]


def is_fast(pace, paces):
    """Is it 3 SDs below those of 5 or more others?"""
    if pace is None or len(paces) <= 5 or pace >= statistics.fmean(paces):
        return False
    others = paces.copy()
    others.remove(pace)
    return pace < mean(others) - 3 * deviation(others, 1)


def check_scenarios(export, check):
    seen = set()
    for row in export.rows("scenarios.csv", check):
        key = (row["kind"], row["task"], row["shots"], row["split"])
        if key not in export.means or key in seen:
            check.differs(row.file, row.number, "task", key, "annotators who completed it, once")
            continue
        seen.add(key)
        check.numbers(row, **spread(export.means[key]))
    for key in export.means.keys() - seen:
        check.differs("scenarios.csv", "-", "task", "no row", key)


def bounds(export, task):
    """(baseline, name of the baseline, ceiling) of a task, x 100 over its test examples."""
    golds = [example.gold for example in export.tests[task]]
    if not golds:
        return None, None, None
    name, baseline = NO_ANSWER, mean([float(not gold) for gold in golds])
    if task in export.label_tasks:
        counts = Counter(gold[0] if gold else "" for gold in golds)
        label = max(counts, key=counts.__getitem__)
        name, baseline = f"always “{label}”", counts[label] / len(golds)
    best = mean([example.reachable for example in export.tests[task]])
    return 100 * baseline, name, 100 * best


def published_of(export, task):
    """What the paper prints for the task with this very test file, by shots; nothing for others."""
    hashes = "".join(example.cells[0] for example in export.tests[task])
    return PUBLISHED.get(hashlib.sha256(hashes.encode()).hexdigest(), {})


def check_performance(export, check):
    groups = defaultdict(list)
    for (kind, task, shots, _split), values in export.means.items():
        groups[kind, task, shots] += [100 * value for value in values]
    published = set()
    for row in export.rows("human_performance.csv", check):
        key = (row["kind"], row["task"], row["shots"])
        baseline, name, ceiling = bounds(export, row["task"])
        check.numbers(row, **spread(groups.get(key, [])), baseline=baseline, ceiling=ceiling)
        rule = export.rules.get(row["task"])
        check.texts(row, baseline_name=name, recipe=recipe(rule, "annotators"))
        if row["task"] in export.cards:
            check.texts(row, family=export.cards[row["task"]]["family"])
        quoted, spread_quoted = published_of(export, row["task"]).get(row["shots"], (None, None))
        check.numbers(row, published_mean=quoted, published_spread=spread_quoted)
        if key in published:
            check.differs(row.file, row.number, "shots", key, "one row each")
        published.add(key)
    for key in groups.keys() - published:
        check.differs("human_performance.csv", "-", "task", "no row", key)


def check_allocations(export, check):
    """Every choice of a scenario, made again: the least filled, ties by the study's seed."""
    frozen = {
        (scenario["task"], scenario["shots"]): scenario
        for scenario in export.design.get("scenarios", ())
    }
    for row in export.rows("allocations.csv", check):
        check.texts(row, arrival=str(row.number - 1))
        check.one_of(row, "kind", KINDS)
        if moment(row["at"]) is None:
            check.wrong(row, "at", "a time")
        try:
            candidates = [tuple(candidate) for candidate in json.loads(row["candidates"])]
            least = min(taken for _task, _shots, taken, _seats in candidates)
            tied = [candidate for candidate in candidates if candidate[2] == least]
            draw = random.Random(f"{export.design['seed']}:seat:{row['arrival']}")
            task, shots, taken, seats = draw.choice(tied)
            splits = [frozen[candidate[:2]]["split"] or "" for candidate in candidates]
            split = splits[candidates.index((task, shots, taken, seats))]
            is_free = taken < seats
        except (TypeError, ValueError, KeyError):
            check.wrong(row, "candidates", "scenarios")
            continue
        check.texts(row, task=task, shots=str(shots), split=str(split))
        if not is_free:
            check.wrong(row, "candidates", "a free seat")


def check_decisions(export, check):
    """Each decision changes something, and the last one about the analysis is what counts."""
    before, last, time = defaultdict(lambda: "1"), {}, ""
    for row in export.rows("decisions.csv", check):
        check.one_of(row, "about", ("analysis", "pay", "qualification", "release"))
        check.one_of(row, "outcome", ("0", "1"))
        check.one_of(row, "role", ("researcher", "rule"))
        if row["annotator"] not in export.annotators:
            check.wrong(row, "annotator", "an annotator of annotators.csv")
        if not row["reason"].strip():
            check.wrong(row, "reason", "a reason")
        if moment(row["at"]) is None:
            check.wrong(row, "at", "a time")
        if row["at"] < time:
            check.out_of_order(row.file, row.number)
        key, time = (row["annotator"], row["about"]), row["at"]
        if row["about"] in ("analysis", "pay") and before[key] == row["outcome"]:
            check.wrong(row, "outcome", "a change")
        before[key], last[key] = row["outcome"], row
    for (name, about), row in last.items():
        annotator = export.annotators.get(name)
        has_completed = annotator and annotator.place.status == "completed"
        if about == "analysis" and has_completed:
            check.texts(row, outcome=annotator.place.in_analysis)


def check_questionnaire(export, check):
    """Annotators who answered the questions at the end have completed, and answered once."""
    met = set()
    for row in export.rows("questionnaire.csv", check):
        annotator = export.annotators.get(row["annotator"])
        has_completed = annotator and annotator.place.status == "completed"
        if not has_completed or row["annotator"] in met:
            check.wrong(row, "annotator", "who completed, once")
        met.add(row["annotator"])
        check.one_of(row, "seen_before", ("", "no", "yes", "unsure"))
        check.one_of(row, "ai_used", ("", "no", "yes", "unsure"))


def check_pay(export, check):
    """Entries of people in the study's currency, and their totals by kind."""
    currency = export.design.get("currency")
    entries = defaultdict(lambda: {"entries": 0, "cents": 0})
    for row in export.rows("pay.csv", check):
        annotator, cents = export.annotators.get(row["annotator"]), integer(row["cents"])
        if not annotator or annotator.place.kind != "person":
            check.wrong(row, "annotator", "a person")
        check.one_of(row, "kind", PAY_KINDS)
        check.texts(row, currency=currency)
        if not cents:
            check.wrong(row, "cents", "a whole number above 0")
        total = entries[row["kind"], row["currency"]]
        total["entries"] += 1
        total["cents"] += cents or 0
    for row in export.rows("pay_totals.csv", check):
        total = entries.pop((row["kind"], row["currency"]), None)
        if total is None:
            check.wrong(row, "kind", "a kind and currency of pay.csv, once")
            continue
        check.texts(row, entries=str(total["entries"]), cents=str(total["cents"]))
    for key in entries:
        check.differs("pay_totals.csv", "-", "kind", "no row", key)


def check_models(export, check):
    """S1 of every prediction, each file with every test example once; means over the splits."""
    predicted = defaultdict(dict)
    for row in export.rows("predictions.csv", check):
        example = export.examples.get((row["task"], "annotation", "", "", row["example"]))
        if example is None:
            check.wrong(row, "example", "a test example")
            continue
        check.texts(row, hash=example.cells[0])
        if (row["shots"] == "0") != (row["split"] == "") or integer(row["shots"]) is None:
            check.wrong(row, "split", "empty at zero shots")
        judged = judge(example, row["predicted"])
        if judged is None:
            check.wrong(row, "predicted", "a JSON list of texts")
            continue
        check.numbers(row, s1=judged[1])
        own = predicted[row["model"], row["task"], row["shots"], row["split"]]
        if example in own:
            check.wrong(row, "example", "an example once")
        own[example] = judged[1]
    means = defaultdict(list)
    for (model, task, shots, split), own in predicted.items():
        if len(own) != len(export.tests[task]):
            given = f"{len(own)} of {model}, {task}, {shots} shots, split {split or '-'}"
            check.differs("predictions.csv", "-", "example", given, len(export.tests[task]))
        means[model, task, shots].append(100 * mean(own.values()))
    for row in export.rows("model_scores.csv", check):
        values = means.pop((row["model"], row["task"], row["shots"]), None)
        if values is None:
            check.wrong(row, "model", "a model of predictions.csv, once for a task and shots")
            continue
        check.numbers(row, **spread(values))
        if (integer(row["of"]) or 0) < len(values):
            check.wrong(row, "of", f"at least {len(values)}")
        over = "runs" if row["shots"] == "0" else "splits"
        check.texts(row, recipe=recipe(export.rules.get(row["task"]), over))
    for key in means:
        check.differs("model_scores.csv", "-", "model", "no row", key)


CHECKS = (
    ("examples: hash, place, what can be highlighted", check_examples),
    ("answers: gold, S1, order, seconds", check_answers),
    ("spans: text at its offsets, answers from spans", check_spans),
    ("annotators: means, SDs, counts", check_annotators),
    ("scenarios: mean, both SDs, n", check_scenarios),
    ("human performance: mean, SDs, n, baseline, ceiling", check_performance),
    ("allocations: every choice of a scenario", check_allocations),
    ("decisions: of whom, and what counts", check_decisions),
    ("questionnaire: of whom, answers that there are", check_questionnaire),
    ("pay: entries and totals", check_pay),
    ("models: predictions, means, SDs, n", check_models),
)


def main(folder):
    failed = []
    if (folder / "SHA256SUMS").exists():
        check = Check("files are as they were written")
        check_sums(folder, check)
        failed.append(check.close())
    belongs = Check("rows belong to the frozen design")
    export = Export(folder, belongs)
    for title, run in CHECKS:
        check = Check(title)
        run(export, check)
        failed.append(check.close())
    failed.append(belongs.close())
    print("Something differs." if any(failed) else "Everything agrees.")
    return int(any(failed))


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent))
