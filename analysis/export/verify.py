"""Recompute the numbers and spans of this export from its CSVs: `python verify.py`.

Checks that the examples are those of the frozen design, that orders and allocations are what the
study's seed draws, and that scores, means, SDs, counts and pay follow from the answers. What no
other cell shows to be altered is printed at the end (NOT_RECOMPUTED). Needs nothing but Python 3.11
or newer, and nothing of Handful. Prints one line per check; ends with status 1 and names file, row
and column where something differs. Numbers must agree to 1e-9.

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
import string
import sys
import unicodedata
from array import array
from collections import Counter, defaultdict, namedtuple
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, Decimal
from pathlib import Path

OF_STUDY = "study manifest"
SCENARIO = "task task_version shots split"
SPREAD = "mean sd_ddof1 sd_ddof0 n"
# Every file with its columns, in any order.
FILES = {
    "examples.csv": f"{OF_STUDY} task task_version file file_kind shots split position example"
    " segments question question_selectable options gold gold_rule explanation granularity hash"
    " reachable",
    "answers.csv": f"{OF_STUDY} {SCENARIO} step position annotator kind status in_analysis example"
    " hash answer gold gold_rule s1 shown_at submitted_at seconds active_seconds reveal_seconds"
    " blurs away_seconds pastes shown_channel channel",
    "spans.csv": f"{OF_STUDY} {SCENARIO} step annotator example hash segment start end text",
    "annotators.csv": f"{OF_STUDY} {SCENARIO} arm annotator kind status in_analysis arrival stage"
    " mean_s1 sd_examples n training_s1 training_n seconds active_seconds worked_seconds"
    " waited_seconds elapsed_seconds browser too_fast modal_share longest_run longest_absence blurs"
    " pastes checks checks_passed flags",
    "scenarios.csv": f"{OF_STUDY} {SCENARIO} kind {SPREAD}",
    "human_performance.csv": f"{OF_STUDY} kind task task_version family shots metric {SPREAD}"
    " remark splits split_sd_ddof1 split_sd_ddof0 set_mean set_sd_ddof1 set_sd_ddof0 set_ceiling"
    " set_recipe note baseline floor_random floor_frequent"
    " baseline_name ceiling published_mean published_spread late_seats by_program recipe",
    "metrics.csv": f"{OF_STUDY} kind name task task_version shots metric role {SPREAD} of low_95"
    " high_95 se df no_interval remark recipe",
    "metric_values.csv": f"{OF_STUDY} kind name task task_version shots split metric value remark",
    "training.csv": f"{OF_STUDY} kind task task_version shots split examples in_shots not_in_shots"
    " mean_s1 sd_ddof1 sd_ddof0 n nested",
    "agreement.csv": f"{OF_STUDY} kind task task_version shots n pairwise_s1 alpha_nominal"
    " alpha_jaccard alpha_masi alpha_s1 individuals majority",
    "intervals.csv": f"{OF_STUDY} kind task task_version shots n test_examples contexts mean"
    " low_95 high_95 t_low_95 t_high_95 se df no_interval sd_between_annotators"
    " sd_between_contexts sd_rest",
    "contrasts.csv": f"{OF_STUDY} kind task task_version from_shots to_shots n_from n_to difference"
    " low_95 high_95 hedges_g p p_holm margin p_equivalence low_90 high_90 smallest_margin"
    " welch_p permutation_p smallest_p se df people_se people_df no_interval",
    "attrition.csv": f"{OF_STUDY} kind task task_version from_shots to_shots began_from"
    " completed_from share_from began_to completed_to share_to p_fisher difference trimmed lee_low"
    " lee_high",
    "ceilings.csv": f"{OF_STUDY} kind task task_version shots n leave_one_out"
    " no_leave_one_out compared answers best"
    " best_annotator worst worst_annotator",
    "items.csv": f"{OF_STUDY} kind task task_version shots example mean n pairwise_s1 right"
    " right_models item_rest respondents unanimous against_gold",
    "sensitivity.csv": f"{OF_STUDY} kind task task_version rule shots {SPREAD} completed"
    " low_95 high_95 no_interval",
    "flow.csv": f"{OF_STUDY} {SCENARIO} arm kind seats arrived declined consented trained qualified"
    " completed analysed at_work screened_out returned expired refused withdrawn rejected",
    "refused_arrivals.csv": f"{OF_STUDY} reason number",
    "allocations.csv": f"{OF_STUDY} arrival kind candidates {SCENARIO} arm at",
    "decisions.csv": f"{OF_STUDY} annotator about outcome reason role score_seen at",
    "questionnaire.csv": f"{OF_STUDY} annotator seen_before ai_used tools comments",
    "own_answers.csv": f"{OF_STUDY} annotator asked question answered_by wording answer",
    "model_annotators.csv": f"{OF_STUDY} annotator model revision prompt_hash replicate harness"
    " examples context retries temperature seed input_tokens output_tokens cost_usd answers invalid"
    " refusals seconds template",
    "pay.csv": f"{OF_STUDY} annotator earning cents currency by_platform",
    "pay_totals.csv": f"{OF_STUDY} earning currency entries cents withdrawn_cents",
    "wages.csv": f"{OF_STUDY} n per_active_hour per_elapsed_hour median_active_seconds"
    " median_elapsed_seconds total_active_seconds total_elapsed_seconds",
    "predictions.csv": f"{OF_STUDY} model {SCENARIO} example hash predicted s1",
    "model_scores.csv": f"{OF_STUDY} model task task_version shots {SPREAD} metric remark of"
    " set_mean set_sd_ddof1 set_sd_ddof0 set_recipe numbering seen_test predicted_on revision"
    " recipe",
    "model_differences.csv": f"{OF_STUDY} kind task task_version shots model in_family"
    " annotators splits split_numbers training test_examples contexts human_mean model_mean"
    " difference low_95 high_95 p p_holm margin p_equivalence low_90 high_90 smallest_margin"
    " se_clustered p_sign_flip smallest_p se df people_se people_df no_interval",
    "upstream_pool.csv": f"{OF_STUDY} arm task task_version position example segments question"
    " options gold gold_rule hash",
    "upstream.csv": f"{OF_STUDY} annotator arm position task task_version example hash answer s1"
    " shown_at submitted_at active_seconds shown_channel channel",
    "gains.csv": f"{OF_STUDY} kind task metric new_arm base_arm meaning new_people base_people new"
    " base new_sd base_sd gain low_95 high_95 method no_interval boot_low_95 boot_high_95"
    " difference difference_low_95 difference_high_95 refused",
}
KINDS = ("person", "simulated", "model")
LIVE = ("arrived", "working", "waiting", "between")
STAGES = ("arrived", "consented", "trained", "qualified")
STATUSES = (
    "arrived", "working", "waiting", "between", "completed", "screened_out", "returned", "expired",
    "refused", "withdrawn", "rejected",
)  # fmt: skip
# What comes before the task in a cross-task study; tables by task and shots count the second two.
ARMS, IN_CELLS = ("upstream", "sham", "direct"), ("", "direct")
PAY_KINDS = ("base", "screen_out", "top_up", "partial", "waiting", "bonus")
PSEUDONYM = re.compile(r"A-[A-Z2-9]{5}")
NO_BASELINE = "none: every example has an answer"
NUMBERINGS, SEEN = {"", "published", "rechained"}, {"", "no", "maybe", "yes"}
NO_MAJORITY = "no answer has others with a majority"
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
CLOCKS = 60 * 10**6  # microseconds by which the clocks of two servers may differ
# A bundle whose times of people were rounded down: microseconds of the unit.
UNITS = {"hour": 3600 * 10**6, "day": 86400 * 10**6}
# What was noted once, so that no other cell says what it must be: file -> column -> what of it is
# checked. Only a hash that is kept elsewhere shows a change of these.
FORM = "its form alone"
NOT_RECOMPUTED = {
    "examples.csv": {"explanation": "as it was imported"},
    "answers.csv": {
        "answer": "of what is chosen or typed: another one with the same S1",
        "shown_at": "that seconds lie between",
        "submitted_at": "that seconds lie between",
        "active_seconds": "the sum, and that it is at most seconds",
        "blurs": "the sum",
        "pastes": "the sum",
        "reveal_seconds": FORM,
        "away_seconds": FORM,
        "shown_channel": "that the design allows it",
        "channel": "that the design allows it, and that sensitivity.csv follows from it",
    },
    "annotators.csv": {
        "annotator": "but of who withdrew: no other file names them",
        "stage": "what answers show",
        "worked_seconds": "that pay and wages.csv follow from it",
        "waited_seconds": "that pay follows from it",
        "elapsed_seconds": "that wages.csv follows from it",
        "browser": FORM,
    },
    "flow.csv": {
        "seats": "at least those of the design, and those that are taken",
        "consented": "but of who withdrew",
        "trained": "but of who withdrew",
        "qualified": "but of who withdrew",
    },
    "attrition.csv": dict.fromkeys(("began_from", "began_to"), "but of who withdrew"),
    "refused_arrivals.csv": {"reason": "one row each", "number": "that it is above 0"},
    "human_performance.csv": {
        "late_seats": "that it is a number",
        "note": "that there is one",
        "floor_random": "but of labels under S1 and ACC",
        "floor_frequent": "as measured when it was imported",
    },
    "allocations.csv": {"candidates": "which others were open", "at": FORM},
    "decisions.csv": {
        "about": "but of the analysis",
        "outcome": "but of the analysis, and of admission by a minimum",
        "reason": "that there is one",
        "score_seen": "that only researchers' decisions on the analysis have it",
        "role": FORM,
        "at": "the order",
    },
    "questionnaire.csv": {
        **dict.fromkeys(("seen_before", "ai_used"), "that sensitivity.csv follows from it"),
        **dict.fromkeys(("tools", "comments"), FORM),
    },
    "own_answers.csv": {"answer": FORM},
    "model_annotators.csv": {
        **dict.fromkeys(
            (
                "model",
                "revision",
                "replicate",
                "harness",
                "retries",
                "temperature",
                "seed",
                "input_tokens",
                "output_tokens",
                "cost_usd",
                "refusals",
                "seconds",
            ),
            "as told by the run",
        ),
        "invalid": "that it is at most answers",
        "answers": "that they are at most those in answers.csv",
        "examples": FORM,
        "context": FORM,
    },
    "pay.csv": {"cents": "of bonuses: the sum", "by_platform": "what the design promises besides"},
    "pay_totals.csv": {"withdrawn_cents": "that somebody withdrew"},
    "predictions.csv": {"predicted": "another one with the same S1"},
    "metrics.csv": {"of": "of models: at least n"},
    "model_scores.csv": {
        "of": "at least n",
        **dict.fromkeys(("numbering", "seen_test", "predicted_on", "revision"), "as stated"),
    },
    "model_differences.csv": {
        "in_family": "which files were uploaded after the study was closed",
        "training": "that the splits are people's, where it says so",
    },
    "upstream.csv": {
        "shown_at": FORM,
        "submitted_at": "that it is not before shown_at",
        "active_seconds": "at most the time between both",
        "answer": "another one with the same S1",
        "shown_channel": "that the design allows it",
        "channel": "that the design allows it, and that sensitivity.csv follows from it",
    },
    "gains.csv": {"boot_low_95": FORM, "boot_high_95": FORM},
}

# What is reported ---------------------------------------------------------------------------------


class Unreadable(Exception):
    """A file that cannot be read; the text names it."""


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
        """An empty cell is the number None, or NaN."""
        for column, value in expected.items():
            cell = row[column]
            known = value is not None and not math.isnan(value)
            near = known and abs(real(cell) - value) <= TOLERANCE * max(1, abs(value))
            if not (near if known else cell == ""):
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


def recipe(rule, over, metric="S1"):
    spread_over = f"sd:{over}|ddof:1|v:1"
    if metric == "S1":
        return f"s1|match:exact|empty:1|gold:{rule}|mean:examples|{spread_over}"
    return f"{HOW[metric]}|texts:sorted, joined|empty:1|gold:{rule}|{spread_over}"


# The metrics besides S1, as CrossFit computes them (Ye, Lin, Ren 2021, dataloader/metrics.py).
BEST, WHOLE = "golds:best|mean:examples", "golds:first|over:test set"
MAX_WORDS = 1000  # of a text that Rouge-L compares
HOW = {
    "EM": f"em|match:normalised|{BEST}",
    "ACC": f"acc|match:lower case|{BEST}",
    "QA-F1": f"qa-f1|words:normalised multiset|{BEST}",
    "Rouge-L": "rouge-l|lcs:union over sentences, words once|beta:1"
    f"|words:first {MAX_WORDS}|{BEST}",
    "Classification-F1": f"classification-f1|mean:labels of golds and predictions|{WHOLE}",
    "Matthew-Correlation": f"matthew-correlation|positive:acceptable|constant:0|{WHOLE}",
    "Pearson-Correlation": f"pearson-correlation|constant:undefined|{WHOLE}",
}
NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
Judged = namedtuple("Judged", "value remark parts why_not")


def normalised(text):
    """Lower case, without punctuation and articles, single blanks."""
    bare = text.lower().translate(NO_PUNCTUATION)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


def shared_words(said, gold):
    """F1 of the words of two texts, counted as often as they stand."""
    said, gold = Counter(normalised(said).split()), Counter(normalised(gold).split())
    hits = (said & gold).total()
    return 2 * hits / (said.total() + gold.total()) if hits else 0.0


def sentences(text):
    """The words of each sentence, of the first MAX_WORDS words of the text."""
    cut, left = [], MAX_WORDS
    for part in filter(None, text.split(".")):
        if left > 0:
            cut.append((" ".join(part.split())).split(" ")[:left])
            left -= len(cut[-1])
    return cut


def common(first, second):
    """The words of a longest common subsequence; a step back in `second` comes first."""
    table = [[0] * (len(second) + 1)]
    for word in first:
        row = [0]
        for j, other in enumerate(second):
            row.append(table[-1][j] + 1 if word == other else max(table[-1][j + 1], row[j]))
        table.append(row)
    words, i, j = set(), len(first), len(second)
    while i and j:
        if first[i - 1] == second[j - 1]:
            words.add(first[i - 1])
            i, j = i - 1, j - 1
        elif table[i - 1][j] > table[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return words


def rouge(said, gold):
    """Rouge-L of a text against one gold; 0 where one of them says nothing."""
    is_empty = not said.translate(NO_PUNCTUATION)
    said, gold = sentences(said), sentences(gold)
    if is_empty or not gold:
        return 0.0
    hits = len(set().union(*(common(right, own) for right in gold for own in said)))
    recall, precision = (hits / len(set().union(*texts)) for texts in (gold, said))
    return 2 * precision * recall / (precision + recall + 1e-8)


BY_EXAMPLE = {
    "EM": lambda said, gold: float(normalised(said) == normalised(gold)),
    "ACC": lambda said, gold: float(said.lower() == gold.lower()),
    "QA-F1": shared_words,
    "Rouge-L": rouge,
}


def joined(texts):
    """A set of texts as one text, whatever their order."""
    return " [SEP] ".join(sorted(set(texts), key=lambda text: (normalised(text), text)))


def golds_of(example):
    """The alternatives that a text is compared with."""
    if example.rule == "any_of" or not example.gold:
        return example.gold
    return [joined(example.gold)]


def f1_of_labels(pairs):
    """Classification-F1: the mean of F1 over all labels of predictions and golds."""
    hits = Counter(said for said, gold in pairs if said == gold)
    counts = Counter(text for pair in pairs for text in pair)
    return mean([2 * hits[label] / count for label, count in counts.items()])


def correlation_of(pairs):
    """Pearson's, NaN where a side is constant."""
    sides = list(zip(*pairs, strict=True))
    if any(len(set(side)) == 1 for side in sides):
        return math.nan
    scaled = []
    for side in sides:
        middle = mean(side)
        gaps = [value - middle for value in side]
        largest = max(map(abs, gaps))
        gaps = [gap / largest for gap in gaps]
        length = math.sqrt(math.fsum(gap * gap for gap in gaps))
        scaled.append([gap / length for gap in gaps])
    return max(-1.0, min(1.0, math.fsum(a * b for a, b in zip(*scaled, strict=True))))


def matthews(pairs):
    """The correlation of "is acceptable" on both sides, 0 where one of them is constant."""
    value = correlation_of(pairs)
    return 0.0 if math.isnan(value) else value


def whole_set(metric, pairs, no_answer, contexts):
    """Judged: value, remark and parts of a test set of (example, set of texts) under a metric.

    The parts add up to the value: those of the examples, or pseudo-values that leave out a context.
    """
    if metric == "S1":
        parts = [score(texts, example.gold, example.rule) for example, texts in pairs]
        return Judged(mean(parts), "", parts, "")
    if metric in BY_EXAMPLE:
        parts = [of_example(metric, example, texts, no_answer) for example, texts in pairs]
        return Judged(mean(parts), "", parts, "")
    texts, why_not = as_pairs(metric, pairs)
    if why_not:
        return Judged(math.nan, why_not, [math.nan] * len(pairs), why_not)
    over = {"Classification-F1": f1_of_labels, "Matthew-Correlation": matthews}
    score_of = over.get(metric, correlation_of)
    value, remark = score_of(texts), ""
    if metric != "Classification-F1":
        constant = [len(set(side)) == 1 for side in zip(*texts, strict=True)]
        remark = "constant prediction" if constant[0] else "constant gold" if constant[1] else ""
    if math.isnan(value):
        remark = f"undefined: {remark}"
        return Judged(value, remark, [math.nan] * len(pairs), remark)
    return Judged(value, remark, *pseudo_values(score_of, value, texts, contexts))


def of_example(metric, example, texts, no_answer):
    """The score of one answer under a metric that is a mean over examples."""
    if no_answer and not (texts and example.gold):
        return float(not texts and not example.gold)
    said = joined(texts).strip()
    return max((BY_EXAMPLE[metric](said, gold) for gold in golds_of(example)), default=0.0)


def as_pairs(metric, pairs):
    """((prediction, gold) of each example as the metric reads them, why it cannot)."""
    read = []
    for number, (example, texts) in enumerate(pairs, start=1):
        golds = golds_of(example)
        if not golds:
            return [], f"undefined: example {number} has no gold"
        read.append((joined(texts).strip(), golds[0]))
    if metric == "Matthew-Correlation":
        read = [tuple(float(text == "acceptable") for text in pair) for pair in read]
    if metric == "Pearson-Correlation":
        for side in zip(*read, strict=True):
            for number, text in enumerate(side, start=1):
                if math.isnan(real(text)):
                    return [], f"undefined: example {number}: {text!r} is not a finite number"
        read = [tuple(map(real, pair)) for pair in read]
        if len(read) < 2:
            return [], "undefined: a correlation takes two examples or more"
    return read, ""


def pseudo_values(score_of, value, pairs, contexts):
    """(a part for each example, why there is none): delete one context, moved to mean `value`.

    Of contexts of different sizes (Busing, Meijer and van der Leeden 1999).
    """
    groups, size = defaultdict(list), len(pairs)
    for place, context in enumerate(contexts):
        groups[context].append(place)
    if len(groups) < 2:
        return [value] * size, "one context"
    parts, is_known = [value] * size, True
    for own in groups.values():
        gone, times = set(own), size / len(own)
        without = score_of([pair for place, pair in enumerate(pairs) if place not in gone])
        is_known = is_known and not math.isnan(without)
        for place in own:
            parts[place] = times * value - (times - 1) * without
    if not is_known:
        parts = [math.nan if math.isnan(part) else value for part in parts]
        return parts, "undefined without one context"
    moved = mean(parts) - value
    return [part - moved for part in parts], ""


def remarks_of(judged):
    """What stands beside a mean of these: each remark, and of how many."""
    counts = Counter(own.remark for own in judged if own.remark)
    return "; ".join(f"{remark} ({times} of {len(judged)})" for remark, times in counts.items())


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
    """The rows of a CSV, one at a time; one with too few or too many cells has the key None.

    Raises Unreadable.
    """
    try:
        with (folder / name).open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, strict=True)
            header = next(lines, [])
            for number, cells in enumerate(lines, start=2):
                row = Row(zip(header, cells, strict=False))
                row.file, row.number = name, number
                if len(cells) != len(header):
                    row[None] = f"{len(cells)} cells, not {len(header)}"
                yield row
    except FileNotFoundError:
        raise Unreadable(f"{name} is missing") from None
    except UnicodeDecodeError as error:
        raise Unreadable(f"{name} is not UTF-8: {error.reason}, byte {error.start}") from None
    except csv.Error as error:
        raise Unreadable(f"{name} is no CSV: {error}") from None


def frozen_design(folder):
    """(manifest.json as data, its SHA-256); ({}, "") of a draft. Raises Unreadable."""
    try:
        manifest = (folder / "manifest.json").read_bytes()
        design = json.loads(manifest) if manifest else {}
    except FileNotFoundError:
        raise Unreadable("manifest.json is missing") from None
    except ValueError as error:
        raise Unreadable(f"manifest.json is no JSON: {error}") from None
    return design, hashlib.sha256(manifest).hexdigest() if manifest else ""


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
    context: str  # the cell: equal texts are one context
    options: frozenset  # what can be chosen, of tasks answered by options of the example
    is_number: bool  # is it answered by a number?

    @property
    def rule(self):
        return self.cells[2]


Place = namedtuple("Place", "task shots split kind status in_analysis")
OPEN, TRAINING, ANNOTATION, CHECK, SCREENING = range(
    5
)  # an open example is shown, not answered yet
STEPS = {
    "training": TRAINING, "screening": SCREENING, "annotation": ANNOTATION, "check": CHECK,
}  # fmt: skip
JUDGED = (TRAINING, SCREENING)  # before the annotation step: an annotator has one of them at most
LATER = 1 << 32  # added to positions after these, which count from 0 again


class Annotator:
    """What is kept of a row of annotators.csv, and of each of its answers, in the file's order."""

    __slots__ = (
        "active", "arm", "arrival", "as_set", "at", "began_upstream", "blurs", "browser",
        "by_program", "has_spans", "mean_s1", "name", "order",
        "pastes", "place", "places", "row", "rows", "s1", "shown", "steps", "submitted", "texts",
        "took", "words",
    )  # fmt: skip

    def __init__(self, place, row):
        self.place, self.row, self.name = place, row.number, row["annotator"]
        self.arrival, self.browser = row["arrival"], row["browser"]
        self.arm, self.began_upstream, self.mean_s1 = row["arm"], False, real(row["mean_s1"])
        self.at = {}  # example -> which of the answers below
        self.rows, self.places = array("I"), array("q")
        self.steps, self.has_spans = bytearray(), bytearray()
        self.texts = array("q")  # hash of the texts of the answer
        self.s1, self.active = array("d"), array("d")
        self.as_set = array("d")  # S1 of test answers with all golds as one set, of alternatives
        self.shown, self.submitted, self.words = array("q"), array("q"), array("I")
        self.took = array("d")  # seconds
        self.blurs = self.pastes = 0
        self.by_program = False
        self.order = range(0)  # the answers above, by position

    def answered(self, *steps):
        """The given answers by position; of these steps, or of all."""
        wanted = steps or STEPS.values()
        return [index for index in self.order if self.steps[index] in wanted]

    def seconds(self):
        return [self.took[i] for i in self.answered()]


class Export:
    """The folder, its frozen design, and what is kept while its files are read in turn."""

    def __init__(self, folder, belongs):
        self.folder, self.belongs = folder, belongs
        self.design, self.manifest = frozen_design(folder)
        self.study = self.design.get("name")  # of a draft, as its first row says
        self.tasks = {task["name"]: task for task in self.design.get("tasks", ())}
        self.cards = {name: task["card"] for name, task in self.tasks.items()}
        self.label_tasks = {name for name, card in self.cards.items() if card.get("labels")}
        # Answered by one label or one option.
        self.choice_tasks = self.label_tasks | {
            name for name, card in self.cards.items() if card.get("answer") == "option"
        }
        self.listed_tasks = self.choice_tasks | {
            name for name, card in self.cards.items() if card.get("answer") == "options"
        }
        self.always_answered = {
            name
            for name, card in self.cards.items()
            if not card.get("labels") and not card["no_answer"]
        }
        self.metrics = {name: card.get("metric", "S1") for name, card in self.cards.items()}
        self.further = self.design.get("metrics", [])  # besides those of the cards
        if not self.manifest:  # the table of results tells them
            rows = [row for row in read(folder, "human_performance.csv") if None not in row]
            names = {row["task"]: row["baseline_name"] for row in rows}
            self.metrics = {row["task"]: row["metric"] for row in rows}
            self.always_answered = {task for task in names if names[task] == NO_BASELINE}
            self.label_tasks = {
                task for task in names if names[task] not in (NO_ANSWER, NO_BASELINE)
            }
            self.choice_tasks = self.label_tasks
        self.examples = {}  # (task, step, shots, split, id) -> Example
        self.files = defaultdict(list)  # (task, step, shots, split) -> its examples by position
        self.tests = {}  # task -> its test examples by position
        self.highlighted = set()  # tasks whose answers are highlighted
        self.rules = {}  # task -> its gold rule
        self.annotators = {}
        places = {}
        for row in read(folder, "annotators.csv"):
            if None not in row:
                place = Place(*(row[column] for column in Place._fields))
                annotator = Annotator(places.setdefault(place, place), row)
                self.annotators[row["annotator"]] = annotator
        self.means = defaultdict(list)  # (kind, task, shots, split) -> of each who counts
        self.judged = {}  # (annotator, metric) -> the test set under that metric
        self.predicted = {}  # (model, task, shots, split) -> example -> S1
        self.predicted_texts = defaultdict(dict)  # the same -> example -> predicted texts
        self.sets = {NOTHING: frozenset()}  # hash of the texts of an answer -> these texts
        self.seats = {}  # (kind, task, shots, split, arm) -> seats now
        self.declined = {}  # (task, shots, split, arm) -> how many
        self.decided = {}  # (annotator, about) -> the last decision, its row
        self.allocated = {}  # arrival -> its row in allocations.csv
        self.predicted = {}  # (model, task, shots, split) -> example -> S1
        # Whether the manifest has the hashes of all examples, and annotators their arrivals.
        self.is_bound = all("splits" in task for task in self.design.get("tasks", ()))
        self.notes = []  # what could not be checked of this very study
        unit = versions_of(folder).get("times_rounded_to")
        if unit not in (None, *UNITS):
            raise Unreadable(f"versions.json: times_rounded_to is {unit!r}, not hour or day")
        self.unit = UNITS.get(unit, 0)  # microseconds; 0: times are as they were stored
        if unit:
            self.notes.append(
                f"times are rounded down to the {unit}: not recomputed are the seconds of each"
                " answer and the longest absence (that they fit the rounded times is checked), and"
                f" what came first within the same {unit}"
            )

    def time(self, check, row, column, what="a time"):
        """The moment in a cell, whole where times are rounded; None, and said, where it is none."""
        at = moment(row[column])
        if at is None or (self.unit and at % self.unit):
            check.wrong(row, column, f"{what}, rounded down" if at is not None else what)
        return at

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
        pools = (self.design.get("cross_task") or {}).get("pools", ())
        versions = {name: str(task["version"]) for name, task in self.tasks.items()}
        versions |= {pool["task"]: str(pool["version"]) for pool in pools}
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

    def kinds(self):
        """People, and the other kinds that took part."""
        return {"person"} | {annotator.place.kind for annotator in self.annotators.values()}

    def who_counts(self):
        """(kind, task, shots, split) -> its annotators who completed it and are in the analysis.

        Of a cross-task study those with nothing before the task.
        """
        groups = defaultdict(list)
        for annotator in self.annotators.values():
            if annotator.place.in_analysis == "1" and annotator.arm in IN_CELLS:
                groups[annotator.place.kind, *annotator.place[:3]].append(annotator)
        return groups

    def cells(self):
        """(kind, task, shots) -> the same, of all training splits together."""
        cells = defaultdict(list)
        for (kind, task, shots, _split), group in self.who_counts().items():
            cells[kind, task, shots] += group
        return cells

    def before(self, place):
        """The examples that stand before the annotation step of that place: training, screening."""
        if place.shots == "0":
            return self.files.get((place.task, "screening", "", ""), [])
        return self.files.get((place.task, "training", place.shots, place.split), [])

    def judge_texts(self, task, metric, texts_by_example):
        """A test set under a metric; None where an answer is missing."""
        tests = self.tests.get(task, ())
        if not tests or any(example not in texts_by_example for example in tests):
            return None
        no_answer = task not in self.label_tasks and task not in self.always_answered
        pairs = [(example, texts_by_example[example]) for example in tests]
        return whole_set(metric, pairs, no_answer, [example.context for example in tests])

    def judge_annotator(self, annotator, metric=None):
        """The same of an annotator's answers; under the metric of the task's card, or that one."""
        task = annotator.place.task
        metric = metric or self.metrics.get(task, "S1")
        key = (annotator.name, metric)
        if key not in self.judged:
            texts = {
                example: self.sets[annotator.texts[index]]
                for example, index in annotator.at.items()
                if annotator.steps[index] == ANNOTATION
            }
            self.judged[key] = self.judge_texts(task, metric, texts)
        return self.judged[key]

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
    return hash(tuple(texts)), score(texts, example.gold, example.rule), frozenset(texts)


NOTHING = hash(())
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?")


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


def check_readable(folder, check):
    """Every file is there, UTF-8, and has each of its columns once."""
    for name, columns in FILES.items():
        check.count += 1
        try:
            with (folder / name).open(encoding="utf-8-sig", newline="") as file:
                header = next(csv.reader(file), [])
                while file.read(1 << 20):  # decoded to the end
                    pass
        except FileNotFoundError:
            check.differs(name, "-", "-", "missing", "a file")
            continue
        except UnicodeDecodeError as error:
            check.differs(name, "-", f"byte {error.start}", error.reason, "UTF-8")
            continue
        except csv.Error as error:
            check.differs(name, 1, "-", str(error), "a CSV with commas")
            continue
        for column, times in Counter(header).items():
            if times > 1 or column not in columns.split():
                expected = "a column once" if times > 1 else "a column of this file"
                check.differs(name, 1, column, f"{times} times", expected)
        for column in set(columns.split()) - set(header):
            check.differs(name, 1, column, "missing", "a column")


def check_sums(folder, check):
    """Every file that a list of sums names is as it was written; SHA256SUMS names all data."""
    sums = [path for path in (folder / "SHA256SUMS", folder / "SHA256SUMS.bundle") if path.exists()]
    listed = {}
    for path in sums:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        for number, line in enumerate(lines, start=1):
            digest, _blanks, name = line.partition("  ")
            if not re.fullmatch(r"[0-9a-f]{64}", digest) or not name:
                check.differs(path.name, number, "-", line, "a SHA-256 and a file")
            listed[name] = digest
    check.count = len(listed)
    for name, expected in listed.items():
        try:
            with (folder / name).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            digest = "missing"
        if digest != expected:
            check.differs(name, "-", "SHA-256", digest, expected)
    if folder / "SHA256SUMS" not in sums:
        check.differs("SHA256SUMS", "-", "-", "missing", "the sums of all files")
        return
    for name in (*FILES, "manifest.json", "versions.json", "verify.py"):
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
        options = texts_of(row["options"] or "[]")
        if options is None:
            check.wrong(row, "options", "a JSON list of texts")
            continue
        if row["granularity"] not in ("", *TOKENS):
            check.wrong(row, "granularity", "word, char or nothing")
            continue
        check_content(export, check, row, segments, gold, options)
        step, place = check_file(export, check, row)
        example = Example(
            cells=(row["hash"], row["gold"], row["gold_rule"]),
            gold=gold,
            segments=segments,
            question=row["question_selectable"],
            words=sum(len(text.split()) for text in [*segments, row["question"]]),
            reachable=real(row["reachable"]),
            granularity=row["granularity"],
            context=row["segments"],
            options=frozenset(options),
            is_number=export.cards.get(row["task"], {}).get("answer") == "number",
        )
        if row["granularity"]:
            export.highlighted.add(row["task"])
        export.examples[row["task"], step, *place, row["example"]] = example
        position = integer(row["position"])
        if position is None:
            check.wrong(row, "position", "a place in the file")
            continue
        line = (position, row.number, row["example"], example)
        # A screening set is drawn from several files.
        file = "the screening set" if step == "screening" else row["file"]
        files[(row["task"], step, *place), file].append(line)
    for (where, file), lines in files.items():
        if where in export.files:
            check.differs("examples.csv", lines[0][1], "file", file, "one file of each kind")
        export.files[where] = examples_in_order(check, file, lines)
    export.tests = {
        task: own for (task, step, *_), own in export.files.items() if step == "annotation"
    }


def check_content(export, check, row, segments, gold, options):
    """Check what is computed from the texts: hash, highlightable question, reachable S1."""
    check.texts(row, hash=hash_of(segments, row["question"], gold, options))
    task = row["task"]
    if task in export.cards:
        card = export.cards[task]
        kind = card.get("granularity", "word") if is_highlighted(card) else ""
        shown = question_to_highlight(card, row["question"])
        check.texts(row, question_selectable=shown, granularity=kind)
    rule = export.rules.setdefault(task, row["gold_rule"])
    if row["gold_rule"] != rule or rule not in ("set", "any_of"):
        check.wrong(row, "gold_rule", rule)
    if options and any(text not in options for text in gold):
        check.wrong(row, "gold", "options of the example")
    # What is chosen or typed need not stand in the text: all of it can be answered.
    best = 1.0
    if row["granularity"] and not export.cards.get(task, {}).get("typed"):
        texts = [*segments, row["question_selectable"]]
        best = reachable(texts, gold, rule, row["granularity"])
    check.numbers(row, reachable=best)


def hash_of(segments, question, gold, options):
    """SHA-256 of what an example is, by which equal ones are known."""
    texts = [segments, question, gold, *([options] if options else [])]
    content = json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()


def is_highlighted(card):
    """Are answers highlighted in the text? Others are chosen or typed beside it."""
    return not card.get("labels") and not card.get("answer")


def examples_in_order(check, file, lines):
    """The examples of a file by position, after a check that it has each place and id once."""
    places, numbers, ids, examples = zip(*lines, strict=True)
    met, ordered = set(), []
    for index in by_position(check, "examples.csv", places, numbers):
        if ids[index] in met:
            expected = f"once in {file}"
            check.differs("examples.csv", numbers[index], "example", ids[index], expected)
        met.add(ids[index])
        ordered.append(examples[index])
    return ordered


def digest_of(hashes):
    """SHA-256 over the hashes of a file's examples, one after the other."""
    return hashlib.sha256("".join(hashes).encode()).hexdigest()


def check_frozen(export, check):
    """The examples are those whose hashes the manifest froze, file by file, in order."""
    if not export.design:
        export.notes.append("examples: this is a draft, nothing is frozen yet")
        return
    if not export.is_bound:
        export.notes.append(
            "examples, arrivals of annotators: the design was frozen by Handful 0.1, whose manifest"
            " has no hash of the examples of a file"
        )
        return
    frozen = {}
    for name, task in export.tasks.items():
        for split in task["splits"]:
            step = "training" if split["kind"] == "train" else "annotation"
            place = (str(split["shots"] or ""), str(split["number"] or ""))
            frozen[name, step, *place] = (split["examples"], split["sha256"])
    for name, hashes in export.design["attention_check_hashes"].items():
        if hashes:
            frozen[name, "check", "", ""] = (len(hashes), digest_of(hashes))
    for name, hashes in export.design.get("screening_hashes", {}).items():
        frozen[name, "screening", "", ""] = (len(hashes), digest_of(hashes))
        check_screening(export, check, name, hashes)
    for where in frozen.keys() | export.files.keys():
        check.count += 1
        hashes = [example.cells[0] for example in export.files.get(where, ())]
        found = (len(hashes), digest_of(hashes))
        if found != frozen.get(where):
            expected = frozen.get(where, "no such file in manifest.json")
            check.differs("examples.csv", "-", " ".join(filter(None, where)), found, expected)


def check_screening(export, check, task, hashes):
    """The screening set has the size of the design, and nothing of it stands elsewhere."""
    wanted = export.design["qualification"]["screening_examples"]
    if len(hashes) != wanted:
        check.differs("manifest.json", "-", "screening_hashes", len(hashes), wanted)
    for (name, step, *_place), examples in export.files.items():
        shown = {example.cells[0] for example in examples}
        if name == task and step != "screening" and not shown.isdisjoint(hashes):
            found = f"an example of the {step} step of {task}"
            check.differs("manifest.json", "-", "screening_hashes", found, "in no other step")


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
    steps = {
        "train": "training", "test": "annotation", "check": "check", "screening": "screening",
    }  # fmt: skip
    if row["file_kind"] not in steps:
        check.wrong(row, "file_kind", "train, test, check or screening")
    if row["file_kind"] == "train":
        end = f"_train_{row['shots']}_{row['split']}.jsonl"
    elif any(place):
        check.wrong(row, "shots" if row["shots"] else "split", "")
    if row["file_kind"] == "check":
        end = ""
    if row["file_kind"] == "screening":
        number = re.search(r"_train_[0-9]+_[0-9]+\.jsonl$", row["file"])
        end = number.group() if number else "_train_SHOTS_SPLIT.jsonl"
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
        if annotator is None or annotator.place.status == "withdrawn":
            check.wrong(row, "annotator", "an annotator of annotators.csv who has not withdrawn")
            continue
        if example is None:
            check.wrong(row, "example", "an example of examples.csv")
            continue
        expected = example.cells + annotator.place
        if copied(row) != expected:
            check.texts(row, **dict(zip(COPIED, expected, strict=True)))
        check_channels(export, check, row, annotator)
        if example in annotator.at:
            check.wrong(row, "example", "an example met once")
        keep_answer(export, check, row, annotator, example)
    for annotator in export.annotators.values():
        order = by_position(check, "answers.csv", annotator.places, annotator.rows)
        is_sorted = order == list(range(len(order)))
        annotator.order = range(len(order)) if is_sorted else order


def check_channels(export, check, row, annotator):
    """People use the pages, unless the design allows programs in their seats; kept: by whom."""
    is_person = annotator.place.kind == "person"
    keeps_out = is_person and not export.design.get("programs_as_people", False)
    allowed = ("", "page") if keeps_out else ("", "page", "api")
    check.one_of(row, "shown_channel", allowed)
    check.one_of(row, "channel", allowed if row["submitted_at"] else ("",))
    annotator.by_program = annotator.by_program or row["channel"] == "api"


Given = namedtuple("Given", "kept texts s1 shown submitted took active")
NOT_GIVEN = Given(OPEN, NOTHING, math.nan, 0, 0, 0, math.nan)


def keep_answer(export, check, row, annotator, example):
    """Check the answer of a row, and keep of it what the later checks need."""
    step, position = STEPS[row["step"]], integer(row["position"])
    if position is None:
        check.wrong(row, "position", "a place in the order")
        return
    given = NOT_GIVEN
    if row["submitted_at"] != "":
        given = check_given(export, check, row, step, example)
        annotator.blurs += integer(row["blurs"]) or 0
        annotator.pastes += integer(row["pastes"]) or 0
    else:
        for column in ("answer", "s1", "seconds", "active_seconds", "reveal_seconds"):
            if row[column]:
                check.wrong(row, column, "")
    if step == ANNOTATION and example.rule == "any_of" and given is not NOT_GIVEN:
        annotator.as_set.append(s1(texts_of(row["answer"]) or [], example.gold))
    annotator.at[example] = len(annotator.rows)
    annotator.rows.append(row.number)
    annotator.places.append(position if step in JUDGED else LATER + position)
    annotator.steps.append(given.kept)
    annotator.has_spans.append(False)
    annotator.texts.append(given.texts)
    annotator.s1.append(given.s1)
    annotator.shown.append(given.shown)
    annotator.submitted.append(given.submitted)
    annotator.took.append(given.took)
    annotator.active.append(given.active)
    annotator.words.append(example.words)


def check_given(export, check, row, step, example):
    """Check S1, times and signs of an answer that was given."""
    texts, right, given = judge(example, row["answer"]) or (NOTHING, None, frozenset())
    export.sets[texts] = given
    if right is None:
        check.wrong(row, "answer", "a JSON list of texts")
        right = math.nan
    else:
        check.numbers(row, s1=right)
        check_form(check, row, example, given)
    shown, submitted = (
        export.time(check, row, column) or 0 for column in ("shown_at", "submitted_at")
    )
    seconds = (submitted - shown) / 10**6
    if seconds < 0:
        check.wrong(row, "submitted_at", "a time after shown_at")
    if export.unit:
        seconds = fitting(export, check, row, "seconds", seconds)
    else:
        check.numbers(row, seconds=seconds)
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
    return Given(step, texts, right, shown, submitted, seconds, active)


def fitting(export, check, row, column, rounded):
    """The seconds of a cell, which are those between rounded times to within one unit."""
    seconds, unit = real(row[column]), export.unit / 10**6
    if not (seconds >= 0 and abs(seconds - rounded) < unit):
        check.wrong(row, column, f"{max(rounded - unit, 0)} to {rounded + unit}")
        return max(rounded, 0)
    return seconds


def check_form(check, row, example, given):
    """What is chosen is an option of the example, and a number is spelled in the one way."""
    if example.options and not given <= example.options:
        check.wrong(row, "answer", "options of the example")
    if example.is_number and not all(map(NUMBER.fullmatch, given)):
        check.wrong(row, "answer", "a number without needless zeros")


def check_spans(export, check):
    """Every span is the slice that its offsets say, and every answer the list of its spans."""
    whose = operator.itemgetter("task", "shots", "split", "step", "annotator", "example")
    for (task, shots, split, step, name, source), group in itertools.groupby(
        export.rows("spans.csv", check), whose
    ):
        rows = list(group)
        annotator, index = export.annotators.get(name), None
        place = (shots, split)
        if annotator and annotator.place[:3] == (task, *place):
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
        if not example.granularity:
            check.wrong(rows[0], "task", "a task whose answers are highlighted")
            continue
        texts = slices(check, rows, example, export.edges)
        given = annotator.texts[index]
        if export.cards.get(task, {}).get("typed"):  # others stand beside those of the text
            is_same = set(texts) <= export.sets[given]
        else:
            is_same = hash(tuple(texts)) == given
        if not is_same:
            answer = f"the answer in answers.csv, row {annotator.rows[index]}"
            check.differs("spans.csv", rows[0].number, "text", texts, answer)
    for annotator in export.annotators.values():
        card = export.cards.get(annotator.place.task, {})
        if annotator.place.task in export.highlighted and not card.get("typed"):
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
    paces = defaultdict(list)  # (task, shots, split, kind, arm) -> logarithms of the median times
    for annotator in export.annotators.values():
        if (pace := pace_of(annotator)) is not None:
            paces[*annotator.place[:4], annotator.arm].append(pace)
    browsers = Counter(annotator.browser for annotator in export.annotators.values())
    met = set()
    for row in export.rows("annotators.csv", check):
        annotator = export.annotators[row["annotator"]]
        check_allocated(export, check, row, met)
        if row["status"] == "withdrawn":
            # Nothing else of who withdrew is kept.
            check.texts(row, **dict.fromkeys(list(row)[list(row).index("stage") :], ""))
            continue
        expected = work_of(annotator)
        if export.unit:
            absence = fitting(export, check, row, "longest_absence", expected["longest_absence"])
            expected["longest_absence"] = absence
            if annotator.answered() and absence < max(annotator.seconds()) - TOLERANCE:
                check.wrong(row, "longest_absence", "at least the longest answer")
        check.numbers(row, **expected)
        n = len(annotator.answered())
        pace, others = pace_of(annotator), paces[*annotator.place[:4], annotator.arm]
        flags = flags_of(expected, n, pace, others)
        # Two participations of one worker share a browser rightly: only a hint here.
        if "shared_browser" in row["flags"].split() and browsers[row["browser"]] > 1:
            flags.append("shared_browser")
        check.texts(row, flags=" ".join(flags))
        if not re.fullmatch(r"(B[1-9][0-9]*)?", row["browser"]):
            check.wrong(row, "browser", "B and a number")
        check_how_far(export, check, row, annotator, expected)
        if row["in_analysis"] == "1" and row["arm"] in IN_CELLS:
            key = (row["kind"], row["task"], row["shots"], row["split"])
            export.means[key].append(card_score(export, annotator))


def card_score(export, annotator):
    """The score of the annotator's test set under the metric of the task's card."""
    if export.metrics.get(annotator.place.task, "S1") == "S1":
        return annotator.mean_s1
    judged = export.judge_annotator(annotator)
    return judged.value if judged else math.nan


def check_allocated(export, check, row, met):
    """Check who and where an annotator is, which is kept also of who withdrew."""
    if not PSEUDONYM.fullmatch(row["annotator"]) or row["annotator"] in met:
        check.wrong(row, "annotator", "A-XXXXX, in one row")
    met.add(row["annotator"])
    check.one_of(row, "status", STATUSES)
    check.one_of(row, "kind", KINDS)
    # Only who has completed counts: not who is still working.
    check.one_of(row, "in_analysis", ("0", "1") if row["status"] == "completed" else ("0",))
    check_scenario(export, check, row)


def check_scenario(export, check, row):
    """Check that task, shots, split and arm of a row are a scenario of the design."""
    place = [row["task"], row["shots"]]
    known = [(split, arm) for *cell, split, arm in scenarios_of(export) if cell == place]
    if known:
        check.one_of(row, "split", [split for split, _arm in known])
        check.one_of(row, "arm", [arm for _split, arm in known])
    elif export.design:
        check.wrong(row, "shots", "a scenario of manifest.json")


def scenarios_of(export):
    """(task, shots, split, arm) as the files write them -> the scenario of the frozen design."""
    return {
        (
            scenario["task"],
            str(scenario["shots"]),
            str(scenario["split"] or ""),
            scenario.get("arm", ""),
        ): scenario
        for scenario in export.design.get("scenarios", ())
    }


def check_how_far(export, check, row, annotator, work):
    """Check status and stage against what was answered, of one who has not withdrawn."""
    tests = len(export.tests.get(row["task"], ()))
    trains, trained = len(export.before(annotator.place)), len(annotator.answered(*JUDGED))
    is_whole = work["n"] == tests > 0 and trained == trains
    if (row["status"] == "completed") != is_whole:
        check.wrong(row, "status", f"{trained} and {work['n']} answers given")
    went_on = any(place >= LATER for place in annotator.places)
    if went_on and trained != trains:
        check.wrong(row, "stage", f"{trains} answers before the annotation step")
    check.one_of(row, "stage", STAGES)
    least = "qualified" if went_on else "trained" if 0 < trains == trained else ""
    least = least or ("consented" if annotator.rows else "arrived")
    if row["stage"] in STAGES and STAGES.index(row["stage"]) < STAGES.index(least):
        check.wrong(row, "stage", f"at least {least}")
    if row["stage"] in ("trained", "qualified") and least in ("arrived", "consented"):
        check.wrong(row, "stage", "arrived or consented")
    for column in ("worked_seconds", "waited_seconds"):
        if row[column] and not real(row[column]) >= 0:
            check.wrong(row, column, "a number from 0")


def check_orders(export, check):
    """Every order drawn again from the study's seed and the annotator's pseudonym."""
    for annotator in export.annotators.values():
        place = annotator.place
        if not annotator.rows or not export.design:
            continue
        check.count += 1
        seed = f"{export.design['seed']}:{place.shots}:{place.task}:{annotator.name}"
        step = "training" if place.shots != "0" else "screening"
        tests = export.tests.get(place.task, [])
        orders = (
            drawn(export.before(place), export.design["training_order"], f"{seed}:{step}"),
            with_checks(
                drawn(tests, export.design["annotation_order"], f"{seed}:annotation"),
                export.files.get((place.task, "check", "", ""), []),
                export.design["attention_checks"],
                f"{seed}:checks",
            ),
        )
        whole = len(orders[0]) + len(orders[1])
        if place.status == "completed" and len(annotator.rows) != whole:
            found = f"{len(annotator.rows)} answers"
            check.differs("annotators.csv", annotator.row, "annotator", found, whole)
        for example, index in annotator.at.items():
            order = orders[annotator.places[index] >= LATER]
            position = annotator.places[index] % LATER
            if position >= len(order) or order[position] is not example:
                expected = "the example that seed and pseudonym draw there"
                row = annotator.rows[index]
                check.differs("answers.csv", row, "position", str(position), expected)
                break


def drawn(examples, how, seed):
    """The examples of a step in one of the orders of the design."""
    if how == "file_order":
        return list(examples)
    rng, groups = random.Random(seed), defaultdict(list)
    for index, example in enumerate(examples):
        groups[example.context].append(index)
    if how == "contexts_together":
        together = list(groups.values())
        rng.shuffle(together)
        return [examples[index] for group in together for index in group]
    places = []
    for group in groups.values():
        rng.shuffle(group)
        offset = rng.random()
        for number, index in enumerate(group):
            jitter = rng.uniform(-0.25, 0.25) if len(group) > 1 else 0
            places.append(((number + offset + jitter) / len(group), index))
    return [examples[index] for _place, index in sorted(places)]


def with_checks(order, pool, wanted, seed):
    """The order with so many attention checks, each in a stretch of its own, never first."""
    if not wanted or not pool:
        return order
    rng, order = random.Random(seed), list(order)
    chosen = rng.sample(range(len(pool)), min(wanted, len(pool)))
    stretch = len(order) / len(chosen)
    places = [
        1 + int(number * stretch + rng.random() * max(stretch - 1, 0))
        for number in range(len(chosen))
    ]
    for place, index in sorted(zip(places, chosen, strict=True), reverse=True):
        order.insert(place, pool[index])
    return order


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


def flags_of(work, n, pace, paces):
    """The quality flags of n answers, by the thresholds that README.md says."""
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
    """(baseline, name of the baseline, ceiling) of a task over its test examples."""
    golds = [example.gold for example in export.tests.get(task, ())]
    if not golds:
        return None, None, None
    name, baseline = NO_ANSWER, mean([float(not gold) for gold in golds])
    if task in export.label_tasks:
        counts = Counter(gold[0] if gold else "" for gold in golds)
        label = max(counts, key=counts.__getitem__)
        name, baseline = f"always “{label}”", counts[label] / len(golds)
    best = mean([example.reachable for example in export.tests[task]])
    metric = export.metrics.get(task, "S1")
    if metric != "S1":
        answer = frozenset([label] if task in export.label_tasks else [])
        texts = dict.fromkeys(export.tests[task], answer)
        baseline = export.judge_texts(task, metric, texts).value
        best = best if task in export.label_tasks else None
    if task in export.always_answered:
        return None, NO_BASELINE, best
    return baseline, name, best


def published_of(export, task):
    """What the paper prints for the task with this very test file, by shots; nothing for others."""
    tests = export.tests.get(task, ())
    return PUBLISHED.get(digest_of(example.cells[0] for example in tests), {})


def between_splits(means):
    """How many training splits, and both SDs of their means where there are several."""
    several = len(means) > 1
    return {
        "splits": len(means),
        "split_sd_ddof1": deviation(means, 1) if several else None,
        "split_sd_ddof0": deviation(means, 0) if several else None,
    }


def check_as_one_set(export, check, row, means):
    """The columns of the score with all golds as one set, of tasks whose golds are alternatives."""
    numbers = spread(means)
    check.numbers(row, **{f"set_{name}": numbers[name] for name in numbers if name != "n"})
    is_any_of = export.rules.get(row["task"]) == "any_of"
    if not is_any_of or row["task"] in export.cards:
        check.numbers(row, set_ceiling=set_ceiling(export, row["task"]) if is_any_of else None)
    check.texts(row, set_recipe=recipe("set", "annotators") if is_any_of else "")
    if bool(row["note"]) != is_any_of:
        check.wrong(row, "note", "a note on alternatives, and nothing else")


def set_ceiling(export, task):
    """The most that allowed answers reach where alternative golds are one set."""
    card = export.cards[task]
    sizes = [len(set(example.gold)) for example in export.tests.get(task, ())]
    if not sizes:
        return None
    most = card.get("max_spans") or max(sizes) if is_highlighted(card) else 1
    right = [min(most, size) for size in sizes]
    scores = [
        2 * reached / (reached + size) if size else float(card["no_answer"])
        for reached, size in zip(right, sizes, strict=True)
    ]
    return mean(scores)


def check_performance(export, check):
    groups, splits = defaultdict(list), defaultdict(list)
    for (kind, task, shots, split), values in export.means.items():
        groups[kind, task, shots] += values
        if split and values:
            splits[kind, task, shots].append(mean(values))
    sets, people = defaultdict(list), defaultdict(list)
    for (kind, task, shots, _split), group in export.who_counts().items():
        sets[kind, task, shots] += [mean(one.as_set) for one in group if one.as_set]
        people[kind, task, shots] += group
    published, kinds = set(), export.kinds()
    cells = {
        (kind, scenario["task"], str(scenario["shots"]))
        for kind in kinds
        for scenario in export.design.get("scenarios", ())
    }
    for row in export.rows("human_performance.csv", check):
        key = (row["kind"], row["task"], row["shots"])
        check.one_of(row, "kind", kinds)
        baseline, name, ceiling = bounds(export, row["task"])
        check.numbers(row, **spread(groups.get(key, [])), baseline=baseline, ceiling=ceiling)
        check.numbers(row, **between_splits(splits.get(key, [])))
        check_as_one_set(export, check, row, sets.get(key, []))
        metric = export.metrics.get(row["task"], "S1")
        group = sorted(people.get(key, []), key=operator.attrgetter("name"))
        judged = [export.judge_annotator(one) for one in group] if metric != "S1" else []
        check.texts(row, metric=metric, remark=remarks_of(list(filter(None, judged))))
        check_floors(export, check, row, metric)
        rule = export.rules.get(row["task"])
        check.texts(row, baseline_name=name, recipe=recipe(rule, "annotators", metric))
        if row["task"] in export.cards:
            check.texts(row, family=export.cards[row["task"]]["family"])
        printed = published_of(export, row["task"]) if metric == "S1" else {}
        quoted, spread_quoted = printed.get(row["shots"], (math.nan, math.nan))
        check.numbers(row, published_mean=quoted / 100, published_spread=spread_quoted / 100)
        late = integer(row["late_seats"])
        if late is None or late < 0 or (late and row["kind"] != "person"):
            check.wrong(row, "late_seats", "a number of seats, 0 for all but people")
        programs = sum(one.by_program for one in group) if row["kind"] == "person" else 0
        check.texts(row, by_program=str(programs))
        if key in published:
            check.differs(row.file, row.number, "shots", key, "one row each")
        published.add(key)
    for key in (groups.keys() | cells) - published:
        check.differs("human_performance.csv", "-", "task", "no row", key)


def check_floors(export, check, row, metric):
    """The chance level, exactly where labels are as likely; else that it is a score, or none."""
    task, labels = row["task"], export.cards.get(row["task"], {}).get("labels")
    if labels and metric in ("S1", "ACC"):
        check.numbers(row, floor_random=1 / len(labels))
    for column in ("floor_random", "floor_frequent"):
        listed = task in export.listed_tasks and column == "floor_random"
        may_be = listed or (task in export.always_answered and metric == "S1")
        if row[column] and not -1 <= real(row[column]) <= 1:
            check.wrong(row, column, "a score")
        if task in export.cards and (listed > bool(row[column]) or bool(row[column]) > may_be):
            check.wrong(row, column, "a score where answers are listed, and nothing else")


def check_training(export, check):
    """Mean and SDs on each block of training examples that belong together."""
    contents = defaultdict(dict)  # (task, split) -> shots -> hashes of that file
    for (task, step, shots, split), examples in export.files.items():
        if step == "training" and integer(shots):
            contents[task, split][int(shots)] = {example.cells[0] for example in examples}
    groups = export.who_counts()
    expected = {
        (kind, task, str(shots), split, *block)
        for (task, split), files in contents.items()
        for kind in export.kinds()
        for shots in files
        for block in blocks(sorted(files))
    }
    for row in export.rows("training.csv", check):
        key = tuple(
            row[column] for column in ("kind", "task", "shots", "split", "in_shots", "not_in_shots")
        )
        if key not in expected:
            check.wrong(row, "in_shots", "a block of this group, once")
            continue
        expected.remove(key)
        files, group = contents[row["task"], row["split"]], groups.get(key[:4], [])
        size, smaller, shots = int(key[4]), integer(key[5]), int(key[2])
        new = f"the {size - smaller} new examples of the {size}" if smaller else ""
        name = new or f"in the {size}"
        sizes = sorted({smaller or size, size, shots})
        nested = all(files[a] <= files[b] for a, b in itertools.pairwise(sizes))
        hashes = files[size] - files.get(smaller, set())
        means = []
        if nested and size <= shots:
            means = [mean(values) for one in group if (values := scores_in(one, hashes))]
        numbers = spread(means) | {"n": len(group), "nested": int(nested)}
        check.texts(row, examples=name)
        check.numbers(row, mean_s1=numbers.pop("mean"), **numbers)
    for key in expected:
        check.differs("training.csv", "-", "task", "no row", key)


def blocks(sizes):
    """(in_shots, not_in_shots) of the blocks of training files of these sizes."""
    new = [(str(size), str(smaller)) for smaller, size in itertools.pairwise(sizes)]
    return [(str(size), "") for size in sizes] + new


def scores_in(annotator, hashes):
    """S1 of the training examples with these hashes."""
    return [
        annotator.s1[index]
        for example, index in annotator.at.items()
        if annotator.steps[index] == TRAINING and example.cells[0] in hashes
    ]


def check_agreement(export, check):
    """Krippendorff's alpha, pairwise S1, and S1 of what the majority says."""
    groups = export.cells()
    for row in export.rows("agreement.csv", check):
        group = groups.pop((row["kind"], row["task"], row["shots"]), None)
        if group is None:
            check.wrong(row, "shots", "a group that somebody completed, once")
            continue
        tests = export.tests.get(row["task"], ())
        # Of each example the answers of all, as sets of texts.
        units = [
            [export.sets[one.texts[one.at[example]]] for one in group if example in one.at]
            for example in tests
        ]
        choose = most_frequent if row["task"] in export.choice_tasks else by_more_than_half
        right = [
            score(choose(unit), example.gold, example.rule)
            for unit, example in zip(units, tests, strict=True)
            if unit
        ]
        own = [[one.s1[i] for i in one.answered(ANNOTATION)] for one in group]
        if not right or not all(own):
            check.wrong(row, "n", "of annotators who answered")
            continue
        check.numbers(
            row,
            n=len(group),
            pairwise_s1=pairwise_s1(units),
            individuals=mean([mean(scores) for scores in own]),
            majority=mean(right),
            **{f"alpha_{name}": alpha(units, distance) for name, distance in DISTANCES.items()},
        )
    for key in groups:
        check.differs("agreement.csv", "-", "task", "no row", key)


def most_frequent(unit):
    """What most chose, of two none."""
    ranked = Counter(unit).most_common(2)
    is_tie = len(ranked) == 2 and ranked[0][1] == ranked[1][1]
    return frozenset() if is_tie else ranked[0][0]


def by_more_than_half(unit):
    """The texts that more than half chose exactly so."""
    votes = Counter(text for answer in unit for text in answer)
    return {text for text, count in votes.items() if 2 * count > len(unit)}


def overlap(a, b):
    """Jaccard's index of two sets that are not both empty."""
    return len(a & b) / len(a | b)


def closeness(a, b):
    """How MASI weighs the overlap of two different sets."""
    return 2 / 3 if a <= b or b <= a else 1 / 3 if a & b else 0


# Between different sets; equal ones are at distance 0, those that share no text at 1.
DISTANCES = {
    "nominal": lambda a, b: 1,
    "jaccard": lambda a, b: 1 - overlap(a, b),
    "masi": lambda a, b: 1 - closeness(a, b) * overlap(a, b),
    "s1": lambda a, b: 1 - s1(a, b),
}


def apart(unit, distance):
    """The sum of distances over all pairs of answers."""
    counts = Counter(unit)
    pairs = itertools.combinations(counts, 2)
    return math.fsum(counts[a] * counts[b] * distance(a, b) for a, b in pairs)


def pairwise_s1(units):
    """The mean over examples of the mean S1 between two answers."""
    means = [
        1 - apart(unit, DISTANCES["s1"]) / math.comb(len(unit), 2)
        for unit in units
        if len(unit) > 1
    ]
    return mean(means) if means else None


def alpha(units, distance):
    """Krippendorff's alpha (2011): 1 - observed / expected disagreement; None if nothing varies."""
    paired = [unit for unit in units if len(unit) > 1]
    values = Counter(answer for unit in paired for answer in unit)
    if len(values) < 2:
        return None
    total = sum(values.values())
    observed = math.fsum(2 * apart(unit, distance) / (len(unit) - 1) for unit in paired) / total
    # Sets without a common text are at distance 1: only the others are gone through.
    holding = defaultdict(set)
    for value in values:
        for text in value:
            holding[text].add(value)
    near = {frozenset(pair) for own in holding.values() for pair in itertools.combinations(own, 2)}
    expected = total**2 - sum(count**2 for count in values.values())
    expected -= math.fsum(
        2 * values[a] * values[b] * (1 - distance(a, b)) for a, b in map(tuple, near)
    )
    return 1 - observed * total * (total - 1) / expected


# Intervals and tests ------------------------------------------------------------------------------

ROUNDING = 1e-12  # scores in [0, 1] that differ by less are the same
NO_VARIANCE = 1e-14  # a smaller one is rounding
MAX_SPLITS = 20_000  # that a permutation test is gone through for
MAX_FLIPPED = 14  # contexts whose signs are flipped in all ways


def half_step(a):
    """The logarithm of Gamma(a + 1/2) / Gamma(a); a series where lgamma would lose digits."""
    if a < 100:
        return math.lgamma(a + 0.5) - math.lgamma(a)
    return math.log(a) / 2 - 1 / (8 * a) + 1 / (192 * a**3) - 1 / (640 * a**5)


def in_tails(a, b, x, y):
    """The regularised incomplete beta function I_x(a, b), where a or b is 1/2 and y is 1 - x.

    By its continued fraction (Lentz; Press et al., Numerical Recipes, section 6.4).
    """
    if x == 0 or y == 0:
        return float(y == 0)
    if x > (a + 1) / (a + b + 2):
        return 1 - in_tails(b, a, y, x)
    front = half_step(a if b == 0.5 else b) - math.log(math.pi) / 2
    log_x = math.log(x) if x < 0.5 else math.log1p(-y)
    log_y = math.log(y) if y < 0.5 else math.log1p(-x)
    front = math.exp(front + a * log_x + b * log_y) / a
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = fraction
        for step in (even, odd):
            d, c = 1 / (1 + step * d), 1 + step / c
            fraction *= c * d
        if abs(fraction - before) <= 1e-16 * abs(fraction):
            break
    return front * fraction


def t_beyond(t, df):
    """P(T > t) of Student's t distribution."""
    square = t * t
    tail = in_tails(df / 2, 0.5, df / (df + square), square / (df + square)) / 2
    return tail if t >= 0 else 1 - tail


@functools.lru_cache(maxsize=10_000)
def t_quantile(share, df):
    """The t above 0 below which that share of Student's t distribution lies."""
    low, high = 0.0, 1.0
    while t_beyond(high, df) > 1 - share:
        low, high = high, 2 * high
    log_scale = half_step(df / 2) - math.log(df * math.pi) / 2
    t = (low + high) / 2
    for _round in range(200):  # Newton's steps, halved where they would leave the bracket
        over = t_beyond(t, df) - (1 - share)
        low, high = (t, high) if over > 0 else (low, t)
        density = math.exp(log_scale - (df + 1) / 2 * math.log1p(t * t / df))
        following = t + over / density
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - t) <= 1e-15 * t:
            break
        t = following
    return t


def layout(matrix, contexts):
    """Annotators x contexts: each value the grand mean plus what the context deviates from it."""
    grand = mean([value for row in matrix for value in row])
    groups = defaultdict(list)
    for index, context in enumerate(contexts):
        groups[context].append(index)
    scale = len(groups) / len(contexts)
    return [
        [grand + scale * math.fsum(row[i] - grand for i in own) for own in groups.values()]
        for row in matrix
    ]


def variances(values):
    """Of the mean of annotators x contexts: (people, df), (contexts, df), (rest, df)."""
    rows, columns = (
        [mean(row) for row in values],
        [mean(column) for column in zip(*values, strict=True)],
    )
    grand, size = mean(rows), (len(rows), len(columns))
    between = deviation(rows, 1) ** 2 if max(rows) - min(rows) > ROUNDING else 0.0
    left = math.fsum(
        (value - rows[i] - columns[j] + grand) ** 2
        for i, row in enumerate(values)
        for j, value in enumerate(row)
    )
    rest_df = (size[0] - 1) * (size[1] - 1)
    return (
        (between / size[0], size[0] - 1),
        (deviation(columns, 1) ** 2 / size[1], size[1] - 1),
        (left / rest_df / (size[0] * size[1]), rest_df),
    )


def variances_of_difference(first, second):
    """Annotators nested in two arms, contexts crossed with them."""
    (one, one_df), _contexts, (rest, rest_df) = variances(first)
    (other, other_df), _contexts, (more, more_df) = variances(second)
    people, weights = one + other, one**2 / one_df + other**2 / other_df
    few, many = ([mean(column) for column in zip(*arm, strict=True)] for arm in (first, second))
    gaps = [b - a for a, b in zip(few, many, strict=True)]
    return (
        (people, people**2 / weights if weights else math.nan),
        (deviation(gaps, 1) ** 2 / len(gaps), len(gaps) - 1),
        (rest + more, rest_df + more_df),
    )


class Estimate:
    """A mean or difference with its two standard errors; `why_not` says why there are none."""

    def __init__(self, value, parts, why_not):
        """`parts` are variances."""
        self.value, self.why_not = value, why_not
        if parts and not parts[0][0] > 0:
            self.why_not = "annotators tie"
        self.people_se = self.people_df = self.se = self.df = math.nan
        if self.why_not:
            return
        (people, people_df), (contexts, contexts_df), (rest, rest_df) = parts
        total = max(people + contexts - rest, people, contexts)
        weights = people**2 / people_df + contexts**2 / contexts_df + rest**2 / rest_df
        self.people_se, self.people_df = math.sqrt(people), people_df
        self.se, self.df = math.sqrt(total), max(total**2 / weights, min(people_df, contexts_df))

    def reach(self, level):
        """Half the interval of that level: the wider of the two."""
        if self.why_not:
            return math.nan
        share = (1 + level) / 2
        return max(
            t_quantile(share, self.people_df) * self.people_se,
            t_quantile(share, self.df) * self.se,
        )

    def beyond(self, distance):
        """The larger of the two tails beyond that distance."""
        if self.why_not:
            return math.nan
        return max(
            t_beyond(distance / self.people_se, self.people_df),
            t_beyond(distance / self.se, self.df),
        )


def scores_of(export, task, group, metric=None):
    """(annotators x test examples, context of each); a matrix is None where answers are missing."""
    tests = export.tests.get(task, ())
    is_whole = all(example in one.at for one in group for example in tests)
    matrix, metric = None, metric or export.metrics.get(task, "S1")
    if is_whole and metric == "S1":
        matrix = [[one.s1[one.at[example]] for example in tests] for one in group]
    elif is_whole:
        judged = [export.judge_annotator(one) for one in group]
        matrix = [own.parts for own in judged] if all(judged) else None
    return matrix, [example.context for example in tests]


def why_no_layout(matrix, contexts):
    if len(matrix) < 2:
        return "one annotator"
    if any(math.isnan(value) for row in matrix for value in row):
        return "values are missing"
    return "" if len(set(contexts)) > 1 else "one context"


def known_mean(values):
    """Of those that are defined; NaN where none is."""
    known = [value for value in values if not math.isnan(value)]
    return mean(known) if known else math.nan


def lowest(metric):
    """The least that a metric can be."""
    return -1 if metric.endswith("Correlation") else 0


def check_intervals(export, check):
    """The mean of each cell with its t intervals."""
    cells = export.cells()
    for row in export.rows("intervals.csv", check):
        group = cells.pop((row["kind"], row["task"], row["shots"]), None)
        matrix, contexts = scores_of(export, row["task"], group or ())
        if not group or not matrix or not contexts:
            check.wrong(row, "shots", "a cell that somebody completed, once")
            continue
        own = [known_mean(scores) for scores in matrix]
        least = lowest(export.metrics.get(row["task"], "S1"))
        why_not = why_no_layout(matrix, contexts)
        parts = None if why_not else variances(layout(matrix, contexts))
        estimate = Estimate(mean(own), parts, why_not)
        half = estimate.reach(0.95)
        t, why_no_t = math.nan, "one annotator" if len(own) < 2 else ""
        if not why_no_t and any(map(math.isnan, own)):
            why_no_t = "undefined"
        if not why_no_t and max(own) - min(own) <= ROUNDING:
            why_no_t = "annotators tie"
        if not why_no_t:
            error = deviation(own, 1) / math.sqrt(len(own))
            t = t_quantile(0.975, len(own) - 1) * error
        check.texts(row, no_interval=estimate.why_not or why_no_t)
        check.numbers(
            row,
            n=len(group),
            test_examples=len(contexts),
            contexts=len(set(contexts)),
            mean=estimate.value,
            low_95=cut(estimate.value - half, least),
            high_95=cut(estimate.value + half, least),
            t_low_95=cut(estimate.value - t, least),
            t_high_95=cut(estimate.value + t, least),
            se=estimate.se,
            df=estimate.df,
            **components(parts, len(group), len(set(contexts))),
        )
    for key in cells:
        check.differs("intervals.csv", "-", "task", "no row", key)


def components(parts, people, contexts):
    """The columns of the SDs between annotators, between contexts, and of the rest."""
    own = dict.fromkeys(("sd_between_annotators", "sd_between_contexts", "sd_rest"))
    if parts:
        (between, _df), (among, _df), (rest, _df) = parts
        values = people * (between - rest), contexts * (among - rest), people * contexts * rest
        own = {
            name: math.sqrt(value) if value > NO_VARIANCE else 0.0
            for name, value in zip(own, values, strict=True)
        }
    return own


def cut(value, least):
    """A score, not outside of `least` to 1; NaN stays NaN."""
    return value if math.isnan(value) else min(max(value, least), 1)


def check_contrasts(export, check):
    """Each pair of numbers of shots of a task: two-way t, TOST, Welch, permutation, Holm."""
    cells = export.cells()
    pairs = {
        (kind, task, few, many)
        for kind, task, few in cells
        for other, same, many in cells
        if (kind, task) == (other, same) and (integer(few) or 0) < (integer(many) or 0)
    }
    margin, families = margin_of(export), defaultdict(list)
    for row in export.rows("contrasts.csv", check):
        key = (row["kind"], row["task"], row["from_shots"], row["to_shots"])
        if key not in pairs:
            check.wrong(row, "to_shots", "two cells of a task that somebody completed, once")
            continue
        pairs.remove(key)
        p = check_contrast(
            export, check, row, [cells[(*key[:2], shots)] for shots in key[2:]], margin
        )
        if not math.isnan(p):
            families[row["kind"]].append((p, row))
        else:
            check.numbers(row, p_holm=None)
    check_holm(check, families, "p_holm")
    for key in pairs:
        check.differs("contrasts.csv", "-", "task", "no row", key)


def check_attrition(export, check):
    """Who completed at each number of shots, Fisher's exact test, and Lee's bounds."""
    cells, began, withdrawn, done = export.cells(), Counter(), Counter(), Counter()
    for row in read(export.folder, "annotators.csv"):
        if None in row or row["arm"] not in IN_CELLS or row["status"] in LIVE:
            continue
        place = row["kind"], row["task"], row["shots"]
        withdrawn[place] += row["status"] == "withdrawn"
        done[place] += row["status"] == "completed"
        began[place] += row["status"] == "completed" or row["stage"] in STAGES[1:]
    pairs = {
        (few, many)
        for few in cells
        for many in cells
        if few[:2] == many[:2] and (integer(few[2]) or 0) < (integer(many[2]) or 0)
    }
    for row in export.rows("attrition.csv", check):
        places = tuple((row["kind"], row["task"], row[f"{end}_shots"]) for end in ("from", "to"))
        if places not in pairs:
            check.wrong(row, "to_shots", "two cells of a task that somebody completed, once")
            continue
        pairs.remove(places)
        counts = []
        for end, place in zip(("from", "to"), places, strict=True):
            number, least = integer(row[f"began_{end}"]) or 0, max(began[place], 1)
            known = min(max(number, least), least + withdrawn[place])
            if number != known:
                check.wrong(row, f"began_{end}", known)
            counts.append((done[place], known))
            check.numbers(
                row,
                **{f"completed_{end}": done[place], f"share_{end}": done[place] / known},
            )
        groups = [scores_of(export, row["task"], cells[place])[0] for place in places]
        if not all(groups) or not all(completed for completed, _number in counts):
            check.wrong(row, "task", "test examples that all have answered")
            continue
        scores = [[known_mean(own) for own in group] for group in groups]
        shares = [completed / number for completed, number in counts]
        low, high = lee_bounds(*scores, shares)
        check.numbers(
            row,
            p_fisher=fisher(*counts),
            difference=mean(scores[1]) - mean(scores[0]),
            trimmed=abs(shares[0] - shares[1]) / max(shares),
            lee_low=low,
            lee_high=high,
        )
    for pair in pairs:
        check.differs("attrition.csv", "-", "task", "no row", pair)


def fisher(first, second):
    """Fisher's exact test, two-sided: all tables that are as likely as this one, or less."""
    (a, rows), (b, others) = first, second
    ways = [math.comb(rows, k) * math.comb(others, a + b - k) for k in range(a + b + 1)]
    return sum(n for n in ways if n <= ways[a] * (1 + 1e-7)) / math.comb(rows + others, a + b)


def lee_bounds(first, second, shares):
    """The difference without the highest, and without the lowest, of the arm that is trimmed."""
    trim = abs(shares[0] - shares[1]) / max(shares)
    if shares[0] > shares[1]:
        return mean(second) - best(first, trim), mean(second) + best([-s for s in first], trim)
    return -best([-s for s in second], trim) - mean(first), best(second, trim) - mean(first)


def best(scores, trim):
    """The mean of the scores without the lowest share of them; one may count in part."""
    total, left = 0.0, len(scores) * (1 - trim)
    for place, score in enumerate(sorted(scores, reverse=True)):
        total += score * min(1.0, max(left - place, 0.0))
    return total / left


def check_holm(check, families, column):
    """Holm's p of each family of (p, row)."""
    for family in families.values():
        family.sort(key=lambda own: own[0])
        reached = 0.0
        for rank, (p, row) in enumerate(family):
            reached = max(reached, min(1.0, (len(family) - rank) * p))
            check.numbers(row, **{column: reached})


def check_contrast(export, check, row, arms, margin):
    """Check a row but for Holm's p, which follows from the p of all; return p."""
    (first, contexts), (second, _contexts) = (scores_of(export, row["task"], arm) for arm in arms)
    if not first or not second or not contexts:
        check.wrong(row, "n_from", "of annotators who answered everything")
        return math.nan
    own = [[known_mean(scores) for scores in arm] for arm in (first, second)]
    why_not = why_no_layout(first, contexts) or why_no_layout(second, contexts)
    parts = None
    if not why_not:
        parts = variances_of_difference(layout(first, contexts), layout(second, contexts))
    gap = mean(own[1]) - mean(own[0])
    estimate = Estimate(gap, parts, why_not)
    p = check_tested(check, row, estimate, margin)
    splits = math.comb(sum(map(len, own)), len(own[0]))
    if splits <= MAX_SPLITS:
        check.numbers(row, permutation_p=permutation(*own))
    else:
        cell = f"{row['task']}, {row['from_shots']} and {row['to_shots']} shots"
        export.notes.append(
            f"contrasts.csv: permutation_p of {cell} ({splits} splits; more than 100,000 are"
            f" sampled: seed {export.design.get('seed')}, numpy in versions.json, Monte Carlo SE"
            f" at most 0.0016)"
        )
    check.numbers(
        row,
        n_from=len(own[0]),
        n_to=len(own[1]),
        hedges_g=hedges_g(*own),
        welch_p=welch(*own),
        smallest_p=min(1.0, (2 if len(own[0]) == len(own[1]) else 1) / splits),
    )
    return p


def check_tested(check, row, estimate, margin):
    """What every difference has: interval, p, equivalence within the margin; return p."""
    gap, half, half_90 = estimate.value, estimate.reach(0.95), estimate.reach(0.9)
    p = 2 * estimate.beyond(abs(gap))
    check.texts(row, no_interval=estimate.why_not)
    check.numbers(
        row,
        difference=gap,
        low_95=gap - half,
        high_95=gap + half,
        p=p,
        margin=margin,
        p_equivalence=estimate.beyond(margin - abs(gap)),
        low_90=gap - half_90,
        high_90=gap + half_90,
        smallest_margin=half_90,
        se=estimate.se,
        df=estimate.df,
        people_se=estimate.people_se,
        people_df=estimate.people_df,
    )
    return p


def margin_of(export):
    """The margin of equivalence that the design froze; NaN for none."""
    margin = export.design.get("equivalence_margin")
    return math.nan if margin is None else float(margin) / 100


def permutation(first, second):
    """The two-sided p of a difference in means, over all ways to split the values."""
    pooled, size, other = [*first, *second], len(first), len(second)
    if any(map(math.isnan, pooled)):
        return math.nan
    total, observed = math.fsum(pooled), abs(mean(first) - mean(second))
    sums = [math.fsum(own) for own in itertools.combinations(pooled, size)]
    reached = sum(abs(own / size - (total - own) / other) >= observed - ROUNDING for own in sums)
    return reached / len(sums)


def spread_of(values):
    """The SD with ddof 1: 0 where values differ by rounding alone, None for fewer than two."""
    if len(values) > 1 and max(values) - min(values) <= ROUNDING:
        return 0.0
    return deviation(values, 1)


def welch(first, second):
    """Welch's two-sided p; NaN where a group has fewer than two values or nothing varies."""
    spreads = spread_of(first), spread_of(second)
    if None in spreads or not any(spreads):
        return math.nan
    one, other = (sd**2 / len(own) for sd, own in zip(spreads, (first, second), strict=True))
    weights = one**2 / (len(first) - 1) + other**2 / (len(second) - 1)
    gap = abs(mean(first) - mean(second)) / math.sqrt(one + other)
    return 2 * t_beyond(gap, (one + other) ** 2 / weights)


def hedges_g(first, second):
    """The difference in pooled SDs between annotators, corrected for small groups."""
    if min(len(first), len(second)) < 2:
        return math.nan
    if max(max(own) - min(own) for own in (first, second)) <= ROUNDING:
        return math.nan
    df = len(first) + len(second) - 2
    squares = sum((len(own) - 1) * deviation(own, 1) ** 2 for own in (first, second))
    small = math.exp(math.lgamma(df / 2) - math.lgamma((df - 1) / 2)) / math.sqrt(df / 2)
    return small * (mean(second) - mean(first)) / math.sqrt(squares / df)


# How the study was run ----------------------------------------------------------------------------


def place_of(row):
    """The scenario that a row is about: task, shots, split, arm."""
    return row["task"], row["shots"], row["split"], row["arm"]


def check_flow(export, check):
    """How many came how far in each scenario, counted over annotators.csv."""
    frozen = {place: scenario["seats"] for place, scenario in scenarios_of(export).items()}
    came = defaultdict(Counter)
    for row in read(export.folder, "annotators.csv"):
        if None not in row:
            came[row["kind"], *place_of(row)] += counts_of(row)
    reasons = set()
    for row in export.rows("refused_arrivals.csv", check):
        if row["reason"] in reasons or not row["reason"]:
            check.wrong(row, "reason", "one row each")
        if (integer(row["number"]) or 0) < 1:
            check.wrong(row, "number", "at least 1")
        reasons.add(row["reason"])
    for row in export.rows("flow.csv", check):
        check.one_of(row, "kind", KINDS)
        key = (row["kind"], *place_of(row))
        counts, seats, declined = came.pop(key, Counter()), integer(row["seats"]), row["declined"]
        check_scenario(export, check, row)
        if key in export.seats:
            check.wrong(row, "task", "one row each")
        export.seats[key] = seats or 0
        if row["kind"] == "person":
            export.declined[key[1:]] = integer(declined)
            counts += Counter(arrived=integer(declined) or 0, declined=integer(declined) or 0)
        unknown = Counter(dict.fromkeys(("consented", "trained", "qualified"), counts["withdrawn"]))
        for column in FILES["flow.csv"].split()[9:]:
            least, most = counts[column], counts[column] + unknown[column]
            if (
                not least
                <= (integer(row[column]) if integer(row[column]) is not None else -1)
                <= most
            ):
                check.wrong(row, column, least if least == most else f"{least} to {most}")
        begun = frozen.get(key[1:], seats)
        if seats is None or seats < begun:
            check.wrong(row, "seats", f"at least {begun}")
        elif seats > begun and key[0] != "model":  # models have so many beside those of the design
            export.notes.append(f"seats of {key[1]}, {key[2]} shots: {seats - begun} were added")
        if counts["seated"] > export.seats[key]:
            check.wrong(row, "seats", f"{counts['seated']} are taken")
    for key in came:
        check.differs("flow.csv", "-", "task", "no row", key)


def counts_of(row):
    """What an annotator adds to the columns of flow.csv, and whether it has a seat."""
    stage = STAGES.index(row["stage"]) if row["stage"] in STAGES else 0
    reached = {name: number <= stage for number, name in enumerate(STAGES)}
    is_live, is_analysed = row["status"] in LIVE, row["in_analysis"] == "1"
    return Counter(
        reached
        | {row["status"]: 1, "arrived": 1}
        | {"analysed": is_analysed, "at_work": is_live, "seated": is_live or is_analysed}
    )


def check_allocations(export, check):
    """Every choice of a scenario, made again: the least filled, ties by the study's seed."""
    # A candidate is [task, shots, taken, seats], and its split where the design has several; in a
    # cross-task study its split and arm.
    splits = {place[:2]: place[2] for place in scenarios_of(export)}
    replay, opened = Replay(export), moment(str(versions_of(export.folder).get("opened_at", "")))
    if opened is not None and export.unit:
        opened -= opened % export.unit
    for row in export.rows("allocations.csv", check):
        at = moment(row["at"])
        if opened is not None and at is not None and at < opened:
            check.wrong(row, "at", "not before opened_at of versions.json")
        check.texts(row, arrival=str(row.number - 1))
        check.one_of(row, "kind", KINDS)
        export.allocated[row["arrival"]] = row
        try:
            candidates = [
                (
                    task,
                    str(shots),
                    str((named or (splits[task, str(shots)],))[0] or ""),
                    named[1] if len(named) > 1 else "",
                    taken,
                    seats,
                )
                for task, shots, taken, seats, *named in json.loads(row["candidates"])
            ]
            least = min(candidate[4] for candidate in candidates)
            tied = [candidate for candidate in candidates if candidate[4] == least]
            draw = random.Random(f"{export.design['seed']}:seat:{row['arrival']}")
            task, shots, split, arm, taken, seats = draw.choice(tied)
            is_free = taken < seats
        except (TypeError, ValueError, KeyError):
            check.wrong(row, "candidates", "scenarios")
            continue
        check.texts(row, task=task, shots=shots, split=split, arm=arm)
        if not is_free:
            check.wrong(row, "candidates", "a free seat")
        replay.go_on(check, row, candidates)
    check_arrivals(export, check)


class Replay:
    """The seats that are taken, while allocations are gone through in their order."""

    def __init__(self, export):
        self.export = export
        self.given = Counter()  # (kind, task, shots, split, arm) -> allocations so far
        self.seats = {key: scenario["seats"] for key, scenario in scenarios_of(export).items()}
        # (kind, task, shots, split, arm) -> arrival and end of who kept their seat for good
        self.kept = defaultdict(list)
        changed = {
            row["annotator"]
            for row in read(export.folder, "decisions.csv")
            if None not in row and row["about"] == "analysis"
        }
        for annotator in export.annotators.values():
            place, arrival = annotator.place, integer(annotator.arrival)
            stayed = place.in_analysis == "1" and annotator.name not in changed
            if stayed and arrival and annotator.submitted:
                key = (place.kind, *place[:3], annotator.arm)
                self.kept[key].append((arrival, max(annotator.submitted)))

    def go_on(self, check, row, candidates):
        """Check how many seats were taken, and how many there were, at one arrival."""
        at = moment(row["at"])
        apart = CLOCKS + self.export.unit
        for *place, taken, seats in candidates:
            (task, shots, _split, _arm), key = place, (row["kind"], *place)
            arrival, kept = integer(row["arrival"]) or 0, self.kept[key] if at else ()
            least = sum(own < arrival and end + apart < at for own, end in kept)
            if not least <= taken <= self.given[key]:
                expected = f"{least} to {self.given[key]} seats taken"
                check.wrong(row, "candidates", f"{task}, {shots} shots: {expected}")
            # Seats are added while a study runs, and never taken away.
            if not self.seats.get(tuple(place), 0) <= seats <= self.export.seats.get(key, seats):
                now = self.export.seats.get(key)
                check.wrong(row, "candidates", f"{task}, {shots} shots: {now} seats")
            self.seats[tuple(place)] = max(seats, self.seats.get(tuple(place), 0))
        self.given[row["kind"], *place_of(row)] += 1


def check_arrivals(export, check):
    """Each allocation is of one annotator, or of one who declined."""
    named = {}
    for annotator in export.annotators.values():
        place, row = annotator.place, export.allocated.get(annotator.arrival)
        if annotator.arrival == "" and not export.is_bound:
            continue
        if row is None or annotator.arrival in named:
            expected = "an allocation of its own in allocations.csv"
            check.differs("annotators.csv", annotator.row, "arrival", annotator.arrival, expected)
            continue
        named[annotator.arrival] = annotator
        check.texts(row, task=place.task, shots=place.shots, split=place.split, kind=place.kind)
        check.texts(row, arm=annotator.arm)
        if place.status == "withdrawn":
            check.texts(row, at="")
    for arrival, row in export.allocated.items():
        is_withdrawn = arrival in named and named[arrival].place.status == "withdrawn"
        if row["at"] or not is_withdrawn:
            export.time(check, row, "at")
    unnamed = Counter(
        place_of(row) for arrival, row in export.allocated.items() if arrival not in named
    )
    if export.is_bound and export.design:
        for place in unnamed.keys() | export.declined.keys():
            declined = export.declined.get(place)
            if unnamed[place] != declined:
                found = f"{unnamed[place]} of no annotator in {place[0]}, {place[1]} shots"
                expected = f"{declined} who declined, by flow.csv"
                check.differs("allocations.csv", "-", "arrival", found, expected)


def check_decisions(export, check):
    """Each decision changes something, and the last one about the analysis is what counts."""
    before, last, time = defaultdict(lambda: "1"), {}, ""
    for row in export.rows("decisions.csv", check):
        check.one_of(row, "about", ("analysis", "pay", "qualification", "release"))
        check.one_of(row, "outcome", ("0", "1"))
        check.one_of(row, "role", ("researcher", "rule"))
        by_hand = row["about"] == "analysis" and row["role"] == "researcher"
        check.one_of(row, "score_seen", ("", "0", "1") if by_hand else ("",))
        annotator = export.annotators.get(row["annotator"])
        if annotator is None or annotator.place.status == "withdrawn":
            check.wrong(row, "annotator", "an annotator of annotators.csv who has not withdrawn")
        if not row["reason"].strip():
            check.wrong(row, "reason", "a reason")
        export.time(check, row, "at")
        if row["at"] < time:
            check.out_of_order(row.file, row.number)
        key, time = (row["annotator"], row["about"]), row["at"]
        # A researcher may keep what a platform has rejected, which the rule does not pay.
        unpaid = last.get((row["annotator"], "pay"), {}).get("role") == "rule"
        keeps = by_hand and row["outcome"] == "1" and unpaid and key not in before
        if row["about"] in ("analysis", "pay") and before[key] == row["outcome"] and not keeps:
            check.wrong(row, "outcome", "a change")
        before[key], last[key] = row["outcome"], row
    export.decided = last
    check_admission(export, check)
    for (name, about), row in last.items():
        annotator = export.annotators.get(name)
        has_completed = annotator and annotator.place.status == "completed"
        if about == "analysis" and has_completed:
            check.texts(row, outcome=annotator.place.in_analysis)
    for name, annotator in export.annotators.items():
        is_out = annotator.place.status == "completed" and annotator.place.in_analysis == "0"
        if is_out and (name, "analysis") not in last:
            expected = "1, as no decision excludes this annotator"
            check.differs("annotators.csv", annotator.row, "in_analysis", "0", expected)


def check_admission(export, check):
    """A minimum admits by the mean S1 of the training or screening step, and by nothing else.

    By how many points below others somebody stays depends on who had finished by then.
    """
    rule = export.design.get("qualification", {"rule": "none"})
    if rule["rule"] != "minimum":
        return
    for name, annotator in export.annotators.items():
        own = [annotator.s1[i] for i in annotator.answered(*JUDGED)]
        row = export.decided.get((name, "qualification"))
        went_on = any(place >= LATER for place in annotator.places)
        if not own or len(own) != len(export.before(annotator.place)) or not (row or went_on):
            continue
        expected = str(int(100 * mean(own) >= rule["threshold"] - 1e-6))
        if row is None:
            check.differs("decisions.csv", "-", "outcome", f"none of {name}", expected)
        else:
            check.texts(row, outcome=expected)


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


def check_own_answers(export, check):
    """Each question stands in the design as it was asked, and a person answered it once."""
    declared = [line.strip() for line in export.design.get("own_questions", "").splitlines()]
    met = set()
    for row in export.rows("own_answers.csv", check):
        annotator = export.annotators.get(row["annotator"])
        if not annotator or annotator.place.kind != "person":
            check.wrong(row, "annotator", "a person of this export")
        check.one_of(row, "asked", ("before", "after"))
        head = f"{row['question']},{row['asked']},{row['answered_by']}"
        asked = (line.partition(":") for line in declared)
        if not any(
            before.replace(" ", "").removesuffix(",required") == head
            and wording.strip() == row["wording"]
            for before, _colon, wording in asked
        ):
            check.wrong(row, "question", "a question of the design, as it was asked")
        if (row["annotator"], row["question"]) in met:
            check.wrong(row, "question", "answered once")
        met.add((row["annotator"], row["question"]))


def check_model_annotators(export, check):
    """Each model's participation has one row; the template has the hash that names the prompt."""
    met = set()
    for row in export.rows("model_annotators.csv", check):
        annotator = export.annotators.get(row["annotator"])
        if not annotator or annotator.place.kind != "model" or row["annotator"] in met:
            check.wrong(row, "annotator", "a model, once")
            continue
        met.add(row["annotator"])
        if not row["template"]:
            continue
        digest = hashlib.sha256(row["template"].encode()).hexdigest()
        check.texts(row, prompt_hash=digest)
        check.one_of(row, "examples", ("answered", "shown"))
        check.one_of(row, "context", ("each", "all"))
        answers, invalid = integer(row["answers"]), integer(row["invalid"])
        if answers is None or answers > len(annotator.s1):
            check.wrong(row, "answers", f"at most {len(annotator.s1)}")
        if invalid is None or invalid > (answers or 0):
            check.wrong(row, "invalid", f"at most {answers}")
    for name, annotator in export.annotators.items():
        is_model = annotator.place.kind == "model" and annotator.place.status != "withdrawn"
        if is_model and name not in met:
            check.differs("model_annotators.csv", "-", "annotator", f"none of {name}", "one")


def check_pay(export, check):
    """Entries of people in the study's currency, what the design promised, and the totals."""
    currency = export.design.get("currency")
    entries = defaultdict(lambda: {"entries": 0, "cents": 0})
    earned = defaultdict(Counter)
    for row in export.rows("pay.csv", check):
        annotator, cents = export.annotators.get(row["annotator"]), integer(row["cents"])
        is_person = annotator and annotator.place.kind == "person"
        if not is_person or annotator.place.status == "withdrawn":
            check.wrong(row, "annotator", "a person who has not withdrawn")
        check.one_of(row, "earning", PAY_KINDS)
        check.one_of(row, "by_platform", ("0", "1"))
        check.texts(row, currency=currency)
        if not cents:
            check.wrong(row, "cents", "a whole number above 0")
        kind = "platform" if row["by_platform"] == "1" else row["earning"]
        earned[row["annotator"]][kind] += cents or 0
        total = entries[row["earning"], row["currency"]]
        total["entries"] += 1
        total["cents"] += cents or 0
    any_withdrew = any(one.place.status == "withdrawn" for one in export.annotators.values())
    for row in export.rows("pay_totals.csv", check):
        total = entries.pop((row["earning"], row["currency"]), {"entries": 0, "cents": 0})
        check.texts(row, entries=str(total["entries"]), cents=str(total["cents"]))
        besides = integer(row["withdrawn_cents"])
        if besides is None or (besides and not any_withdrew) or not total["cents"] + besides:
            check.wrong(row, "withdrawn_cents", "of people who withdrew, or 0")
    for key in entries:
        check.differs("pay_totals.csv", "-", "earning", "no row", key)
    if "pay" in export.design:
        check_earned(export, check, earned)


def check_earned(export, check, earned):
    """Each settled amount is what the frozen design promises for the time worked and waited."""
    for row in read(export.folder, "annotators.csv"):
        if None in row or row["kind"] != "person" or row["status"] == "withdrawn":
            continue
        own, name = earned[row["annotator"]], row["annotator"]
        decision = export.decided.get((name, "pay"))
        is_paid = decision is None or decision["outcome"] == "1"
        paid = sum(cents for kind, cents in own.items() if kind not in ("waiting", "bonus"))
        if not (real(row["worked_seconds"]) >= 0 and real(row["waited_seconds"]) >= 0):
            continue  # not settled (any more): who came back goes on
        worth, waiting = promised(export, row, paid)
        least = worth if is_paid else 0
        # A platform may have paid a part after time was paid that came before it.
        most = max(worth, own["platform"] + own["partial"]) if own["platform"] else worth
        if not least <= paid <= most:
            found = f"{paid} cents in pay.csv"
            check.differs(row.file, row.number, "worked_seconds", found, worth)
        if not (waiting[0] if is_paid else 0) <= own["waiting"] <= waiting[1]:
            found = f"{own['waiting']} cents in pay.csv"
            check.differs(row.file, row.number, "waited_seconds", found, waiting[0])


def promised(export, row, paid):
    """Cents for the work of an annotator, and at least and at most for waiting."""
    design, pay = export.design, export.design["pay"]
    hours = pay["max_paid_hours"]

    def for_time(text):
        seconds = Decimal(str(timedelta(seconds=float(text)).total_seconds()))
        if hours is not None:
            seconds = min(seconds, Decimal(hours) * 3600)
        return in_cents(Decimal(design["hourly_rate"]) * seconds / 3600)

    annotator = export.annotators[row["annotator"]]
    has_begun = bool(annotator.rows) or annotator.began_upstream
    worth = 0
    if has_begun or row["status"] == "screened_out":
        least = in_cents(Decimal(pay["minimum_pay"])) if has_begun else 0
        if row["status"] == "completed":
            least = max(least, in_cents(Decimal(pay["base_reward"])))
        worth = max(for_time(row["worked_seconds"]), least)
    most = for_time(row["waited_seconds"])
    if pay.get("cap") is None:
        return worth, (most, most)
    return worth, (min(most, max(in_cents(Decimal(pay["cap"])) - max(worth, paid), 0)), most)


def in_cents(amount):
    """An amount of currency in cents, rounded up."""
    return int((amount * 100).to_integral_value(rounding=ROUND_CEILING))


def check_models(export, check):
    """S1 of every prediction, each file with every test example once; means over the splits."""
    predicted, as_set = defaultdict(dict), defaultdict(list)
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
        where = row["model"], row["task"], row["shots"], row["split"]
        if example in predicted[where]:
            check.wrong(row, "example", "an example once")
        predicted[where][example] = judged[1]
        export.predicted_texts[where][example] = judged[2]
        if example.rule == "any_of":
            as_set[where].append(s1(judged[2], example.gold))
    export.predicted = predicted
    means, set_means, under = defaultdict(list), defaultdict(list), defaultdict(list)
    for (*place, _split), scores in as_set.items():
        set_means[tuple(place)].append(mean(scores))
    for (model, task, shots, split), own in sorted(predicted.items(), key=by_split):
        expected = len(export.tests.get(task, ()))
        if len(own) != expected:
            given = f"{len(own)} of {model}, {task}, {shots} shots, split {split or '-'}"
            check.differs("predictions.csv", "-", "example", given, expected)
        key, metric = (model, task, shots), export.metrics.get(task, "S1")
        if metric == "S1":
            means[key].append(mean(own.values()))
            continue
        texts = export.predicted_texts[model, task, shots, split]
        if judged := export.judge_texts(task, metric, texts):
            means[key].append(judged.value)
            under[key].append(judged)
    for row in export.rows("model_scores.csv", check):
        key = (row["model"], row["task"], row["shots"])
        values = means.pop(key, None)
        if values is None:
            check.wrong(row, "model", "a model of predictions.csv, once for a task and shots")
            continue
        check.numbers(row, **spread(values))
        if (integer(row["of"]) or 0) < len(values):
            check.wrong(row, "of", f"at least {len(values)}")
        over, rule = "runs" if key[2] == "0" else "splits", export.rules.get(key[1])
        numbers = spread(set_means.get(key, []))
        check.numbers(row, **{f"set_{name}": numbers[name] for name in numbers if name != "n"})
        set_recipe, metric = (
            recipe("set", over) if rule == "any_of" else "",
            export.metrics.get(key[1], "S1"),
        )
        check.texts(row, recipe=recipe(rule, over, metric), set_recipe=set_recipe)
        check.texts(row, metric=metric, remark=remarks_of(under[key]))
        check_stated(check, row)
    for key in means:
        check.differs("model_scores.csv", "-", "model", "no row", key)


def by_split(item):
    """The key by which files of predictions stand in order."""
    *where, split = item[0]
    return where, integer(split) or 0


def check_metrics(export, check):
    """Every test set under every metric: of each annotator and file, and over them."""
    expected, seen = judged_sets(export), set()
    for row in export.rows("metric_values.csv", check):
        key = tuple(row[name] for name in ("kind", "name", "task", "shots", "split", "metric"))
        if key not in expected:
            check.wrong(row, "name", "somebody who counts, or a file of predictions")
            continue
        own = expected[key]
        check.numbers(row, value=own.value)
        check.texts(row, remark=own.remark)
        if key in seen:
            check.wrong(row, "name", "one row for each metric")
        seen.add(key)
    for key in expected.keys() - seen:
        check.differs("metric_values.csv", "-", "name", "no row", key)
    groups = defaultdict(list)
    for (who, name, task, shots, _split, metric), own in expected.items():
        groups[who, name if who == UPLOADED else "", task, shots, metric].append(own)
    for row in export.rows("metrics.csv", check):
        key = tuple(row[name] for name in ("kind", "name", "task", "shots", "metric"))
        group = groups.pop(key, None)
        if group is None:
            check.wrong(row, "metric", "a metric of that task, once")
            continue
        check_metric(export, check, row, group)
    for key in groups:
        check.differs("metrics.csv", "-", "metric", "no row", key)


UPLOADED = "uploaded"  # who, of the predictions of a model


def judged_sets(export):
    """(who, name, task, shots, split, metric) -> the test set under that metric."""
    judged, further = {}, defaultdict(set)
    for row in read(export.folder, "metrics.csv") if not export.design else ():
        if None not in row:
            further[row["task"]].add(row["metric"])  # of a draft, as its rows say

    def metrics_of(task):
        named = further[task]
        if export.design:
            named = {metric for metric in export.further if fits(export, task, metric)}
        return {export.metrics.get(task, "S1"), *named}

    people = sorted(export.annotators.values(), key=operator.attrgetter("name"))
    for one in people:
        place, counts = one.place, one.place.in_analysis == "1" and one.arm in IN_CELLS
        for metric in metrics_of(place.task) if counts else ():
            if own := export.judge_annotator(one, metric):
                key = (place.kind, one.name, place.task, place.shots, place.split, metric)
                judged[key] = own
    for (model, task, *place), texts in sorted(export.predicted_texts.items(), key=by_split):
        for metric in metrics_of(task):
            if own := export.judge_texts(task, metric, texts):
                judged[(UPLOADED, model, task, *place, metric)] = own
    return judged


OF_TEXTS = {"ACC", "EM", "QA-F1", "Rouge-L"}
# Kind of answer -> the metrics besides S1 that score it; of texts all others.
FITTING = {
    "label": {"ACC", "EM", "Classification-F1", "Matthew-Correlation", "Pearson-Correlation"},
    "option": OF_TEXTS | {"Classification-F1"},
    "number": {"ACC", "Pearson-Correlation"},
}
READ_AS = {"EM": normalised, "ACC": str.lower, "Classification-F1": str.strip}


def fits(export, task, metric):
    """Whether a further metric can score the answers of a task, by its card."""
    card = export.cards.get(task, {})
    labels = [label["name"] for label in card.get("labels", ())]
    kind = card.get("answer", "label" if labels else "spans")
    if metric == "S1":
        return True
    if metric == "Matthew-Correlation" and "acceptable" not in labels:
        return False
    if metric == "Pearson-Correlation" and any(math.isnan(real(label)) for label in labels):
        return False
    read_as = READ_AS.get(metric, str)
    is_told_apart = len(set(map(read_as, labels))) == len(labels)
    return is_told_apart and metric in FITTING.get(kind, OF_TEXTS)


def check_metric(export, check, row, group):
    """Mean, SDs and interval of one metric over its annotators or files."""
    task, metric, is_model = row["task"], row["metric"], row["kind"] == UPLOADED
    check.numbers(row, **spread([own.value for own in group]))
    places = [own for own in export.design.get("scenarios", ()) if own["task"] == task]
    places = [own for own in places if own.get("arm", "") in IN_CELLS]
    seats = sum(own["seats"] for own in places if str(own["shots"]) == row["shots"])
    if is_model and (integer(row["of"]) or 0) < len(group):
        check.wrong(row, "of", f"at least {len(group)}")
    elif not is_model and export.design:
        check.texts(row, of=str(seats))
    over = "annotators" if not is_model else "runs" if row["shots"] == "0" else "splits"
    role = "card" if metric == export.metrics.get(task, "S1") else "further"
    said = recipe(export.rules.get(task), over, metric)
    check.texts(row, role=role, remark=remarks_of(group), recipe=said)
    if is_model:
        check.texts(row, low_95="", high_95="", se="", df="", no_interval="")
        return
    matrix = [own.parts for own in group]
    contexts = [example.context for example in export.tests.get(task, ())]
    why_not = why_no_layout(matrix, contexts)
    parts = None if why_not else variances(layout(matrix, contexts))
    value = mean([known_mean(scores) for scores in matrix])
    estimate = Estimate(value, parts, why_not)
    half, least = estimate.reach(0.95), lowest(metric)
    check.numbers(
        row,
        low_95=cut(value - half, least),
        high_95=cut(value + half, least),
        se=estimate.se,
        df=estimate.df,
    )
    reason = next((own.why_not for own in group if own.why_not), "")
    check.texts(row, no_interval=estimate.why_not and (reason or estimate.why_not))


def check_stated(check, row):
    """The form of what is stated of a model's runs; several statements are joined."""
    for column, known in (("numbering", NUMBERINGS), ("seen_test", SEEN)):
        if not set(row[column].split("; ")) <= known:
            check.wrong(row, column, f"of {', '.join(sorted(known))}")
    for day in row["predicted_on"].split("; "):
        if day and not re.fullmatch(r"\d{4}-\d\d-\d\d", day):
            check.wrong(row, "predicted_on", "YYYY-MM-DD")


# Against models, of single examples, under other rules --------------------------------------------


def check_differences(export, check):
    """People minus a model on the same examples: two-way t, TOST, clustered SE, sign flip, Holm."""
    cells, margin, families = export.cells(), margin_of(export), defaultdict(list)
    uploaded, seated = uploaded_runs(export), seated_runs(export)
    runs = uploaded | seated
    pairs = {
        (kind, task, shots, model)
        for kind, task, shots in cells
        for model, same, number in (uploaded if kind == "model" else runs)
        if (task, shots) == (same, number)
    }
    for row in export.rows("model_differences.csv", check):
        key = (row["kind"], row["task"], row["shots"], row["model"])
        if key not in pairs:
            check.wrong(row, "model", "a model and people of one task and shots, once")
            continue
        pairs.remove(key)
        place = row["model"], row["task"], row["shots"]
        by_split = compared_splits(export, check, row, runs[place], is_seated=place in seated)
        p = check_difference(export, check, row, cells[key[:3]], by_split, margin)
        check.one_of(row, "in_family", ("1",) if place in seated else ("0", "1"))
        if math.isnan(p) or row["in_family"] == "0":
            check.numbers(row, p_holm=None)
        else:
            families[row["kind"]].append((p, row))
    check_holm(check, families, "p_holm")
    for key in pairs:
        check.differs("model_differences.csv", "-", "model", "no row", key)


def check_difference(export, check, row, group, by_split, margin):
    """Check a row but for Holm's p, which follows from the p of all; return p."""
    runs = [run for own in by_split for run in own]
    scores, contexts = scores_of(export, row["task"], group)
    tests = export.tests.get(row["task"], ())
    if not scores or not tests or not all(example in run for run in runs for example in tests):
        check.wrong(row, "test_examples", "answered by all, and predicted")
        return math.nan
    of_model = [mean([mean([run[e] for run in own]) for own in by_split]) for e in tests]
    gaps = [[a - b for a, b in zip(own, of_model, strict=True)] for own in scores]
    why_not = why_no_layout(gaps, contexts)
    parts = None if why_not else variances(layout(gaps, contexts))
    value = mean([known_mean(own) for own in gaps])
    estimate = Estimate(value, parts, why_not)
    own = [mean(column) for column in zip(*gaps, strict=True)]
    check.numbers(
        row,
        annotators=len(group),
        splits=len(runs),
        test_examples=len(tests),
        contexts=len(set(contexts)),
        human_mean=mean([mean(of_one) for of_one in scores]),
        model_mean=mean(of_model),
        se_clustered=math.hypot(*sums_of([gap - mean(own) for gap in own], contexts)) / len(own),
    )
    check_sign_flip(export, check, row, sums_of(own, contexts))
    return check_tested(check, row, estimate, margin)


def uploaded_runs(export):
    """(model, task, shots) -> split -> one run: example -> its part of the score."""
    runs = defaultdict(dict)
    for model, task, shots, split in export.predicted:
        runs[model, task, shots][split] = [parts_of_run(export, model, task, shots, split)]
    return runs


def parts_of_run(export, model, task, shots, split):
    """Example -> its S1, or its part of the score under another metric of the task's card."""
    place, metric = (model, task, shots, split), export.metrics.get(task, "S1")
    if metric == "S1":
        return export.predicted[place]
    judged = export.judge_texts(task, metric, export.predicted_texts[place])
    return dict(zip(export.tests[task], judged.parts, strict=True)) if judged else {}


def seated_runs(export):
    """The same of models in the annotator's seat: on a split a run for each replicate."""
    runs = defaultdict(lambda: defaultdict(list))
    rows = read(export.folder, "model_annotators.csv")
    names = {row["annotator"]: row for row in rows if None not in row}
    for (kind, task, shots, split), group in export.who_counts().items():
        for one in group if kind == "model" else ():
            scores, _contexts = scores_of(export, task, [one])
            if one.name in names:
                tests = export.tests.get(task, ())
                run = dict(zip(tests, scores[0], strict=True)) if scores else {}
                runs[in_the_seat(names[one.name]), task, shots][split].append(run)
    return runs


def in_the_seat(row):
    """How a model is named that a row of model_annotators.csv is of."""
    revision = f" {row['revision']}" if row["revision"] else ""
    prompt = row["prompt_hash"][:8]
    return f"{row['model']}{revision}, prompt {prompt} (model in the annotator's seat)"


def compared_splits(export, check, row, runs, is_seated):
    """The runs on each training split that a row compares, checked against those of people."""
    place, known = (row["model"], row["task"], row["shots"]), set(runs)
    people = {own[2] for own in scenarios_of(export) if own[:2] == place[1:]}
    numbers = row["split_numbers"].split("; ")
    is_whole = set(numbers) == known if is_seated else set(numbers) <= known
    if len(set(numbers)) < len(numbers) or not is_whole:
        check.wrong(row, "split_numbers", "; ".join(sorted(known)))
        numbers = sorted(known)
    own, trained = set(numbers), row["shots"] != "0"
    words = {
        "none": not trained,
        "same splits": trained and own == people,
        "some of people's splits": trained and own < people,
        "other splits": trained and own == known and not is_seated,
    }
    if not words.get(row["training"]) and (export.design or row["training"] not in words):
        check.wrong(row, "training", " or ".join(name for name in words if words[name]))
    return [runs[number] for number in numbers]


def sums_of(values, contexts):
    """The sum of the values of each context."""
    groups = defaultdict(list)
    for value, context in zip(values, contexts, strict=True):
        groups[context].append(value)
    return [math.fsum(own) for own in groups.values()]


def check_sign_flip(export, check, row, sums):
    """The p over all flips of contexts' signs, where there are few; and the smallest p."""
    if any(map(math.isnan, sums)):
        check.numbers(row, smallest_p=None, p_sign_flip=None)
        return
    sums = [value for value in sums if abs(value) > ROUNDING]
    if len(sums) > 16:
        check.numbers(row, smallest_p=1 / 10_001)
    else:
        check.numbers(row, smallest_p=2.0 ** (1 - max(len(sums), 1)))
    if len(sums) > MAX_FLIPPED:
        cell = f"{row['task']}, {row['shots']} shots, {row['model']}"
        export.notes.append(
            f"model_differences.csv: p_sign_flip of {cell} (2 to the power of {len(sums)} flips;"
            f" more than 2 to the power of 16 are sampled: seed {export.design.get('seed')})"
        )
        if not 0 < real(row["p_sign_flip"]) <= 1:
            check.wrong(row, "p_sign_flip", "a p")
        return
    flipped = [0.0]
    for value in sums:
        flipped = [total + sign * value for total in flipped for sign in (1, -1)]
    edge = abs(math.fsum(sums)) - ROUNDING
    check.numbers(row, p_sign_flip=sum(abs(total) >= edge for total in flipped) / len(flipped))


def check_ceilings(export, check):
    """Each annotator against the majority of the others; the best and the worst."""
    groups = export.cells()
    for row in export.rows("ceilings.csv", check):
        group = groups.pop((row["kind"], row["task"], row["shots"]), None)
        scores, _contexts = scores_of(export, row["task"], group or (), "S1")
        if not group or not scores or not scores[0]:
            check.wrong(row, "shots", "a cell that somebody completed, once")
            continue
        own = {one.name: mean(s) for one, s in zip(group, scores, strict=True)}
        best, worst = max(own.values()), min(own.values())
        against = against_the_others(export, row["task"], group) if len(group) >= 5 else []
        why_not = "fewer than five annotators" if len(group) < 5 else ""
        check.numbers(
            row,
            n=len(group),
            leave_one_out=mean([mean(s) for s in against]) if against else None,
            compared=sum(map(len, against)),
            answers=len(group) * len(scores[0]),
            best=best,
            worst=worst,
        )
        check.texts(
            row,
            no_leave_one_out=why_not or ("" if against else NO_MAJORITY),
            best_annotator=min((name for name in own if own[name] >= best - TOLERANCE), default=""),
            worst_annotator=min(
                (name for name in own if own[name] <= worst + TOLERANCE), default=""
            ),
        )
    for key in groups:
        check.differs("ceilings.csv", "-", "task", "no row", key)


def against_the_others(export, task, group):
    """Of each annotator the S1 against the majority of the others, where they have one."""
    scores = defaultdict(list)
    for example in export.tests.get(task, ()):
        answers = {one.name: export.sets[one.texts[one.at[example]]] for one in group}
        unit = Counter(answers.values())
        is_choice = task in export.choice_tasks
        reached = {answer: against_rest(unit, answer, is_choice) for answer in unit}
        for name, answer in answers.items():
            if reached[answer] is not None:
                scores[name].append(reached[answer])
    return list(scores.values())


def against_rest(unit, answer, is_choice):
    """S1 of one of these answers against the majority of the others; None if there is none."""
    others = unit - Counter([answer])
    size = sum(others.values())
    ranked = others.most_common(2)
    if not size or (is_choice and len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    if is_choice:
        return s1(answer, ranked[0][0])
    votes = Counter()
    for texts, times in others.items():
        votes.update(dict.fromkeys(texts, times))
    return s1(answer, {text for text, count in votes.items() if 2 * count > size})


def check_items(export, check):
    """Each test example over annotators and models: how hard, how far it tells them apart."""
    expected = {}
    groups = defaultdict(dict)
    for (kind, task, shots), group in export.cells().items():
        groups[kind, task][shots] = group
    for (kind, task), by_shots in groups.items():
        for example, items in items_of(export, task, by_shots).items():
            for shots, item in items.items():
                expected[kind, task, shots, example] = item
    for row in export.rows("items.csv", check):
        example = export.examples.get((row["task"], "annotation", "", "", row["example"]))
        item = expected.pop((row["kind"], row["task"], row["shots"], example), None)
        if item is None:
            check.wrong(row, "example", "a test example that somebody answered, once")
            continue
        empty = ITEM - item.keys()
        check.numbers(row, **item, **dict.fromkeys(empty))
    for kind, task, shots, _example in expected:
        check.differs("items.csv", "-", "example", "no row", (kind, task, shots))


ITEM = set(FILES["items.csv"].split()[7:])


def items_of(export, task, by_shots):
    """Example -> shots ("" for all) -> the numbers of its row."""
    tests, people = export.tests.get(task, ()), [one for own in by_shots.values() for one in own]
    models = model_items(export, task)
    whole = set(tests)
    respondents = [[one.s1[one.at[e]] for e in tests] for one in people if one.at.keys() >= whole]
    respondents += [[own[e][0] for e in tests] for own in models if own.keys() >= whole]
    items = {}
    for example, apart_by in zip(tests, item_rests(respondents, len(tests)), strict=True):
        answered = [one for one in people if example in one.at]
        if not answered:
            continue
        own = [one.s1[one.at[example]] for one in answered]
        unit = [export.sets[one.texts[one.at[example]]] for one in answered]
        right = [own[example][1] for own in models if example in own]
        agree = len(unit) > 1 and len(set(unit)) == 1
        items[example] = {
            "": {
                "mean": mean(own),
                "n": len(own),
                "pairwise_s1": pairwise_s1([unit]),
                "right": sum(value == 1 for value in own) / len(own),
                "right_models": mean(right) if right else None,
                "item_rest": apart_by,
                "respondents": len(respondents),
                "unanimous": int(agree),
                "against_gold": int(agree and own[0] < 1),
            }
        }
        for shots, group in by_shots.items():
            values = [one.s1[one.at[example]] for one in group if example in one.at]
            if values:
                items[example][shots] = {"mean": mean(values)}
    return items


def model_items(export, task):
    """Of each model: example -> mean S1 and share right of its runs."""
    runs = defaultdict(list)
    for (model, own, _shots, _split), scores in export.predicted.items():
        if own == task:
            runs[model].append(scores)
    return [
        {
            example: (
                mean([run[example] for run in own]),
                mean([float(run[example] == 1) for run in own]),
            )
            for example in own[0]
            if all(example in run for run in own)
        }
        for own in runs.values()
    ]


def item_rests(rows, items):
    """Pearson's r of each item with the mean of all others, over respondents (in rows)."""
    if len(rows) < 3 or items < 2:
        return [None] * items
    totals = [math.fsum(row) for row in rows]
    return [
        correlation(own, [(t - value) / (items - 1) for t, value in zip(totals, own, strict=True)])
        for own in zip(*rows, strict=True)
    ]


def correlation(first, second):
    """Pearson's r; None where one of the two does not vary."""
    if min(max(own) - min(own) for own in (first, second)) <= ROUNDING:
        return None
    one, other = ([value - mean(own) for value in own] for own in (first, second))
    above = math.fsum(a * b for a, b in zip(one, other, strict=True))
    below = math.sqrt(math.fsum(a * a for a in one) * math.fsum(b * b for b in other))
    return min(max(above / below, -1.0), 1.0)


def check_sensitivity(export, check):
    """Mean, SDs and interval of each cell under other inclusion criteria."""
    people, known, expected = finished(export), {}, {}
    for (kind, task, shots), everybody in people.items():
        of_kind = [who for key, own in people.items() if key[0] == kind for who in own]
        for rule, (keeps, applies) in RULES.items():
            if any(applies(who) for who in of_kind):
                kept = tuple(who.annotator for who in everybody if keeps(who))
                expected[kind, task, shots, rule] = (kept, len(everybody))
    for row in export.rows("sensitivity.csv", check):
        key = (row["kind"], row["task"], row["shots"], row["rule"])
        if key not in expected:
            check.wrong(row, "rule", "a rule and a cell that somebody completed, once")
            continue
        kept, completed = expected.pop(key)
        if (key[1], kept) not in known:
            known[key[1], kept] = cell_of(export, key[1], kept)
        numbers, why_not = known[key[1], kept]
        check.numbers(row, completed=completed, **numbers)
        check.texts(row, no_interval=why_not)
    for key in expected:
        check.differs("sensitivity.csv", "-", "rule", "no row", key)


Finished = namedtuple(
    "Finished", "annotator counts training median_seconds seen_before ai_used flags by_program"
)


def finished(export):
    """(kind, task, shots) -> who completed it, and what the rules ask of them."""
    told = {
        row["annotator"]: (row["seen_before"], row["ai_used"])
        for row in read(export.folder, "questionnaire.csv")
        if None not in row
    }
    people = defaultdict(list)
    for row in read(export.folder, "annotators.csv"):
        if None in row or row["status"] != "completed" or row["arm"] not in IN_CELLS:
            continue
        annotator = export.annotators[row["annotator"]]
        if not annotator.answered(ANNOTATION):
            continue  # said above: who completed has answered
        trained = [annotator.s1[i] for i in annotator.answered(TRAINING)]
        active = [annotator.active[i] for i in annotator.answered(ANNOTATION)]
        people[row["kind"], row["task"], row["shots"]].append(
            Finished(
                annotator,
                row["in_analysis"] == "1",
                mean(trained) if trained else math.nan,
                statistics.median(active) if active else math.nan,
                *told.get(row["annotator"], ("", "")),
                row["flags"].split(),
                row["kind"] == "person" and annotator.by_program,
            )
        )
    return people


def among(question, *answers):
    return lambda who: who.counts and getattr(who, question) in answers


def trained(least):
    return lambda who: who.counts and not 100 * who.training < least  # NaN: nothing to fail in


def paced(least):
    return lambda who: who.counts and who.median_seconds >= least


def is_unspoilt(who):
    is_clean = not who.flags and not who.by_program
    return who.counts and is_clean and "yes" not in (who.seen_before, who.ai_used)


def always(who):
    return True


def told(who):
    return who.seen_before or who.ai_used


# Who counts by each rule, and of whom one is needed for it to have a row.
RULES = {
    "reported": (lambda who: who.counts, always),
    "with_excluded": (lambda who: True, always),
    "seen_before!=yes": (among("seen_before", "no", "unsure", ""), told),
    "seen_before=no": (among("seen_before", "no"), told),
    "ai_used!=yes": (among("ai_used", "no", "unsure", ""), told),
    "ai_used=no": (among("ai_used", "no"), told),
    "passed_checks": (lambda who: who.counts and "checks" not in who.flags, always),
    "not_flagged": (lambda who: who.counts and not who.flags, always),
    "by_page": (lambda who: who.counts and not who.by_program, operator.attrgetter("by_program")),
    "none_of_these": (is_unspoilt, always),
    **{f"training_s1>={least}": (trained(least), always) for least in (50, 60, 70, 80, 90)},
    **{f"median_seconds>={least}": (paced(least), always) for least in (1, 2, 5, 10)},
}


def cell_of(export, task, group):
    """(mean, SDs, n and interval of a cell of these annotators; why it has no interval)."""
    metric = export.metrics.get(task, "S1")
    own = [mean([one.s1[i] for i in one.answered(ANNOTATION)]) for one in group]
    if metric != "S1":
        judged = [export.judge_annotator(one) for one in group]
        own = [one.value if one else math.nan for one in judged]
    numbers, least = spread(own), lowest(metric)
    scores, contexts = scores_of(export, task, group)
    why_not = "" if group else "no annotator"
    if not why_not:
        why_not = why_no_layout(scores, contexts) if scores else "values are missing"
    parts = None if why_not else variances(layout(scores, contexts))
    value = numbers["mean"] if group else math.nan
    estimate = Estimate(value, parts, why_not)
    half = estimate.reach(0.95)
    ends = {"low_95": cut(value - half, least), "high_95": cut(value + half, least)}
    return numbers | ends, estimate.why_not


def check_wages(export, check):
    """Medians of what people earned for their time; of who withdrew nothing is told."""
    earned, wages = Counter(), []
    for row in read(export.folder, "pay.csv"):
        if None not in row:
            earned[row["annotator"]] += integer(row["cents"]) or 0
    for row in read(export.folder, "annotators.csv"):
        if None not in row and row["kind"] == "person" and row["worked_seconds"]:
            active = real(row["worked_seconds"]) + real(row["waited_seconds"])
            elapsed = real(row["elapsed_seconds"]) if row["elapsed_seconds"] else None
            if elapsed is not None and not elapsed >= 0:
                check.wrong(row, "elapsed_seconds", "a number from 0")
            wages.append((earned[row["annotator"]], active, elapsed))
    for row in export.rows("wages.csv", check):
        if not wages:
            check.wrong(row, "n", "no row")
            continue
        per_active = [3600 * cents / active for cents, active, _elapsed in wages if active]
        known = [elapsed for _cents, _active, elapsed in wages if elapsed is not None]
        per_elapsed = [3600 * cents / elapsed for cents, _active, elapsed in wages if elapsed]
        check.numbers(
            row,
            n=len(wages),
            per_active_hour=statistics.median(per_active) if per_active else None,
            per_elapsed_hour=statistics.median(per_elapsed) if per_elapsed else None,
            median_active_seconds=statistics.median(own[1] for own in wages),
            median_elapsed_seconds=statistics.median(known) if known else None,
            total_active_seconds=math.fsum(own[1] for own in wages),
            total_elapsed_seconds=math.fsum(known),
        )
    if check.count != bool(wages):
        check.differs("wages.csv", "-", "n", f"{check.count} rows", int(bool(wages)))


# Cross-task studies -------------------------------------------------------------------------------

FEWEST_WORDS = 4  # of a segment that can be recognised elsewhere


def text_hashes(segments):
    """Hashes of the texts of an example: its segments of some words, else all together."""
    long = [text.strip() for text in segments if len(text.split()) >= FEWEST_WORDS]
    return {hashlib.sha256(text.encode()).hexdigest() for text in long or ["\n".join(segments)]}


def check_upstream(export, check):
    """Pools are those frozen and share no text; every arm was trained as the seed draws it."""
    pools = read_pools(export, check)
    frozen = (export.design.get("cross_task") or {}).get("pools", ())
    expected = {(own["arm"], own["task"]): (own["examples"], own["sha256"]) for own in frozen}
    for key in expected.keys() | pools.keys():
        hashes = [own[1] for own in pools.get(key, ())]
        if export.design and (len(hashes), digest_of(hashes)) != expected.get(key):
            wanted = expected.get(key, "no such pool in manifest.json")
            check.differs("upstream_pool.csv", "-", " ".join(key), len(hashes), wanted)
    met = {text for one in export.examples.values() for text in text_hashes(one.segments)}
    for key, pool in pools.items():
        own = {text for *_rest, texts, _row in pool for text in texts}
        if not met.isdisjoint(own):
            check.differs("upstream_pool.csv", pool[0][-1], "segments", key, "texts met once")
        met |= own
    given = check_upstream_answers(export, check, pools)
    for annotator in export.annotators.values():
        check_upstream_order(export, check, annotator, pools, given[annotator.name])


def read_pools(export, check):
    """(arm, task) -> (id, hash, gold, rule, hashes of its texts, row) by position, each checked."""
    pools = defaultdict(list)
    for row in export.rows("upstream_pool.csv", check):
        segments, gold = texts_of(row["segments"]), texts_of(row["gold"])
        if segments is None or gold is None:
            check.wrong(row, "gold" if gold is None else "segments", "a JSON list of texts")
            continue
        options = texts_of(row["options"] or "[]")
        digest = hash_of(segments, row["question"], gold, options or [])
        pool = pools[row["arm"], row["task"]]
        check.texts(row, hash=digest, position=str(len(pool)))
        check.one_of(row, "gold_rule", ("set", "any_of"))
        texts = text_hashes(segments)
        pool.append((row["example"], digest, gold, row["gold_rule"], texts, row.number))
    return pools


def check_upstream_answers(export, check, pools):
    """Annotator -> (task, example) of its upstream step by position, after a check of each row."""
    known = {(arm, task, own[0]): own for (arm, task), pool in pools.items() for own in pool}
    given = defaultdict(list)
    for row in export.rows("upstream.csv", check):
        annotator = export.annotators.get(row["annotator"])
        own = known.get((row["arm"], row["task"], row["example"]))
        if annotator is None or annotator.place.status == "withdrawn" or own is None:
            column = "example" if own is None else "annotator"
            check.wrong(row, column, "an example of the pool, an annotator who has not withdrawn")
            continue
        annotator.began_upstream = True
        check_channels(export, check, row, annotator)
        check.texts(row, arm=annotator.arm, hash=own[1], position=str(len(given[annotator.name])))
        given[annotator.name].append((row["task"], row["example"], row["submitted_at"] != ""))
        shown = export.time(check, row, "shown_at")
        if row["submitted_at"] == "":
            check.texts(row, answer="", s1="", active_seconds="")
            continue
        texts = texts_of(row["answer"])
        check.numbers(row, s1=math.nan if texts is None else score(texts, own[2], own[3]))
        submitted = export.time(check, row, "submitted_at", "a time after shown_at")
        between = ((submitted or 0) - (shown or 0) + export.unit) / 1e6
        if submitted is None or submitted < (shown or 0):
            check.wrong(row, "submitted_at", "a time after shown_at")
        elif not 0 <= real(row["active_seconds"]) <= between + TOLERANCE:
            check.wrong(row, "active_seconds", "at most the time between both")
    return given


def check_upstream_order(export, check, annotator, pools, given):
    """What an annotator was trained on is what its arm, the seed and the pseudonym draw."""
    own = {task: pool for (arm, task), pool in sorted(pools.items()) if arm == annotator.arm}
    design = export.design.get("cross_task")
    if not design or annotator.place.status == "withdrawn":
        return
    each, order = design["upstream_examples"], []
    if annotator.arm == "sham":
        each *= sum(arm == "upstream" for arm, _task in pools)
    rng = random.Random(f"{export.design['seed']}:{annotator.name}:upstream")
    names = list(own)
    rng.shuffle(names)
    for name in names:
        if len(own[name]) >= each:
            order += [(name, row[0]) for row in rng.sample(own[name], each)]
    found = [line[:2] for line in given]
    if found != order[: len(found)]:
        expected = "the tasks and examples that seed and pseudonym draw"
        check.differs("upstream.csv", "-", "example", annotator.name, expected)
    is_done = len(found) == len(order) and all(answered for *_line, answered in given)
    if annotator.rows and not is_done:
        expected = f"{len(order)} answers before the unseen task"
        check.differs("upstream.csv", "-", "annotator", annotator.name, expected)


CONTRASTED = {
    ("upstream", "sham"): "transfer",
    ("upstream", "direct"): "transfer and practice",
    ("sham", "direct"): "practice",
}


def check_gains(export, check):
    """The gain of each contrast of arms: task means first, then ratios, then their mean."""
    scores = defaultdict(list)
    for annotator in export.annotators.values():
        if annotator.place.in_analysis == "1" and annotator.arm:
            place = annotator.place
            scores[place.kind, place.task, annotator.arm].append(card_score(export, annotator))
    expected = {}
    for kind in export.kinds():
        for (new, base), meaning in CONTRASTED.items():
            tasks = sorted({task for own, task, _arm in scores if own == kind})
            arms = [
                (task, scores[kind, task, base], scores[kind, task, new])
                for task in tasks
                if scores.get((kind, task, base)) and scores.get((kind, task, new))
            ]
            groups = {task[0]: [task] for task in arms}
            if len(arms) > 1:
                groups["all tasks"] = arms
            for name, group in groups.items():
                expected[kind, name, new, base] = (meaning, group)
    for row in export.rows("gains.csv", check):
        key = (row["kind"], row["task"], row["new_arm"], row["base_arm"])
        if key not in expected:
            check.wrong(row, "task", "a contrast of two arms that people completed, once")
            continue
        meaning, group = expected.pop(key)
        names = dict.fromkeys(export.metrics.get(task[0], "S1") for task in group)
        check.texts(row, meaning=meaning, metric="; ".join(names))
        check_gain(check, row, [TaskGain(*task) for task in group])
    for key in expected:
        check.differs("gains.csv", "-", "task", "no row", key)


class TaskGain:
    """One unseen task: the means and SDs of both arms, and why it has no relative gain."""

    def __init__(self, task, base, new):
        self.task, self.base, self.new = task, mean(base), mean(new)
        self.sizes = (len(base), len(new))
        self.base_sd, self.new_sd = spread_of(base), spread_of(new)
        self.refused = self.why_not()

    def why_not(self):
        if math.isnan(self.base):
            return "the base is undefined"
        if self.base <= 0:
            return "the base is at or below zero"
        if self.base < 0.01:
            return "the base is below 0.01"
        if self.base_sd and self.base < 4 * self.base_sd / math.sqrt(self.sizes[0]):
            return "the base is less than 4 standard errors from zero"
        return "the mean of the arm is undefined" if math.isnan(self.new) else ""

    def parts(self, absolute):
        """(variance, df) of the new and the base arm, of the difference or of the relative gain."""
        new, base = self.new_sd**2 / self.sizes[1], self.base_sd**2 / self.sizes[0]
        if not absolute:
            new, base = new / self.base**2, base * self.new**2 / self.base**4
        return [(new, self.sizes[1] - 1), (base, self.sizes[0] - 1)]


def why_no_gain_interval(gains, absolute):
    if not gains:
        return "no task has a base to divide by"
    if any(min(gain.sizes) < 2 for gain in gains):
        return "an arm has one annotator"
    if any(math.isnan(gain.new - gain.base) for gain in gains):
        return "a mean is undefined"
    if not any(variance for gain in gains for variance, _df in gain.parts(absolute)):
        return "annotators tie"
    return ""


def around(value, parts, tasks):
    """value ± t · root of the summed variances / tasks, df of Satterthwaite."""
    total = math.fsum(variance for variance, _df in parts)
    df = total**2 / math.fsum(v * v / df for v, df in parts if v)
    reach = t_quantile(0.975, df) * math.sqrt(total) / tasks
    return value - reach, value + reach


def fieller(gain):
    """Fieller's interval of the relative gain of one task; NaN where it is unbounded."""
    parts = gain.parts(False)
    total = math.fsum(variance for variance, _df in parts)
    t = t_quantile(0.975, total**2 / math.fsum(v * v / df for v, df in parts if v))
    (new, _), (base, _) = gain.parts(True)
    leading, middle = gain.base**2 - t * t * base, gain.new * gain.base
    if leading <= 0:
        return math.nan, math.nan
    root = math.sqrt(max(0.0, middle**2 - leading * (gain.new**2 - t * t * new)))
    return (middle - root) / leading - 1, (middle + root) / leading - 1


def check_gain(check, row, gains):
    """Check the numbers of one row of gains.csv."""
    kept = [gain for gain in gains if not gain.refused]
    is_whole = len(kept) == len(gains)  # no mean over some of the tasks
    value = mean([(g.new - g.base) / g.base for g in kept]) if is_whole else math.nan
    why, method, ends = why_no_gain_interval(kept, False), "", (math.nan, math.nan)
    if kept and not is_whole:
        why = "a task has no relative gain"
    if not why and len(kept) > 1:
        parts = [part for gain in kept for part in gain.parts(False)]
        method, ends = "delta method", around(value, parts, len(kept))
    elif not why:
        method, ends = "Fieller", fieller(kept[0])
        why = "the base is not distinct from zero" if math.isnan(ends[0]) else ""
    difference, reach = mean([gain.new - gain.base for gain in gains]), (math.nan, math.nan)
    if not why_no_gain_interval(gains, True):
        reach = around(difference, [p for g in gains for p in g.parts(True)], len(gains))
    one = gains[0] if len(gains) == 1 else None
    refused = [g.refused if one else f"{g.task}: {g.refused}" for g in gains if g.refused]
    check.texts(row, method=method, no_interval=why, refused="; ".join(refused))
    numbers = {
        "gain": value, "low_95": ends[0], "high_95": ends[1], "difference": difference,
        "difference_low_95": reach[0], "difference_high_95": reach[1],
        "new": one and one.new, "base": one and one.base,
        "new_sd": one and one.new_sd, "base_sd": one and one.base_sd,
    }  # fmt: skip
    check.numbers(
        row,
        **numbers,
        new_people=sum(gain.sizes[1] for gain in gains),
        base_people=sum(gain.sizes[0] for gain in gains),
    )
    for column in ("boot_low_95", "boot_high_95"):
        is_shown = bool(method) and min(size for gain in kept for size in gain.sizes) >= 10
        if is_shown == math.isnan(real(row[column])):
            check.wrong(row, column, "a number, from ten people in each arm on")


CHECKS = (
    ("examples: hash, place, what can be highlighted", check_examples),
    ("examples: those that the design froze", check_frozen),
    ("answers: gold, S1, order, seconds", check_answers),
    ("spans: text at its offsets, answers from spans", check_spans),
    ("annotators: means, SDs, counts, how far they came", check_annotators),
    ("orders: drawn again from the seed", check_orders),
    ("upstream: frozen pools, texts met once, order, S1", check_upstream),
    ("gains: ARG, Fieller's and delta intervals, differences", check_gains),
    ("scenarios: mean, both SDs, n", check_scenarios),
    ("human performance: mean, SDs, n, baseline, ceiling", check_performance),
    ("training table: mean, SDs, n of each block", check_training),
    ("agreement: alpha, pairwise S1, majority", check_agreement),
    ("intervals: t over annotators, two-way t", check_intervals),
    ("contrasts: two-way t, TOST, Hedges' g, Welch, permutation, Holm", check_contrasts),
    ("attrition: completion shares, Fisher's exact test, Lee's bounds", check_attrition),
    ("flow: counts of each scenario, seats", check_flow),
    ("allocations: every choice of a scenario, of whom", check_allocations),
    ("decisions: of whom, and what counts", check_decisions),
    ("questionnaire: of whom, answers that there are", check_questionnaire),
    ("own questions: of whom, as the design asks them", check_own_answers),
    ("model annotators: of whom, the hash of the template", check_model_annotators),
    ("pay: entries by the rules of the design, totals", check_pay),
    ("models: predictions, means, SDs, n", check_models),
    ("differences from models: two-way t, TOST, sign flip, Holm", check_differences),
    ("ceilings: each against the others, best, worst", check_ceilings),
    ("items: difficulty, item-rest correlation, doubtful gold", check_items),
    ("sensitivity: cells under other rules", check_sensitivity),
    ("wages: medians", check_wages),
    ("metrics: of each annotator and model, mean, SDs, jackknife intervals", check_metrics),
)


def check_all(folder):
    """Run the checks, each printed when it is done; return whether something differs."""
    failed = []
    for title, run in (
        ("files: UTF-8, each with its columns", check_readable),
        ("files are as they were written", check_sums),
    ):
        check = Check(title)
        run(folder, check)
        failed.append(check.close())
    if failed[0]:
        print("The other checks need all files: they were not run.")
        return True
    belongs = Check("rows belong to the frozen design")
    export = Export(folder, belongs)
    for title, run in CHECKS:
        check = Check(title)
        run(export, check)
        failed.append(check.close())
    failed.append(belongs.close())
    tell_the_rest(export)
    return any(failed)


def tell_the_rest(export):
    """Print what was not recomputed, and how to find out whether all was changed together."""
    print("Not recomputed (what of it is checked):")
    for file, columns in NOT_RECOMPUTED.items():
        print(f"  {file}: " + "; ".join(f"{name} ({how})" for name, how in columns.items()))
    for note in export.notes:
        print(f"  {note}")
    people = sum(one.place.kind == "person" for one in export.annotators.values())
    if people and export.design and export.design.get("rehearsal"):
        print(f"REHEARSAL by manifest.json: its {people} annotators of the kind person are no data")
    versions = versions_of(export.folder)
    print(
        f"  report: bootstraps and sampled sign flips (numpy"
        f" {versions.get('numpy', '?')}, seed {versions.get('seed', '?')}; a p of n flips has a"
        " Monte Carlo SE of the root of p (1 - p) / n, at most 0.005), Dawid and Skene's labels,"
        " courses over time, averages over tasks, plans"
    )


def versions_of(folder):
    """versions.json as data; {} where it holds none."""
    try:
        versions = json.loads((folder / "versions.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return versions if isinstance(versions, dict) else {}


def tell_the_anchor(folder):
    """Print what stands outside: the hash to compare, and how to check a signature."""
    for name in ("SHA256SUMS", "SHA256SUMS.bundle"):
        if (folder / name).exists():
            digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
            print(f"SHA-256 of {name}: {digest}")
        if (folder / f"{name}.sig").exists():
            print(
                f"  signed; with the signer's public key in allowed_signers: ssh-keygen -Y verify"
                f" -f allowed_signers -I SIGNER -n handful -s {name}.sig < {name}"
            )
    print("Who changes everything alike is found only by a hash or signature kept elsewhere.")


def main(folder):
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        differs = check_all(folder)
    except Unreadable as error:
        print(f"FAILED {error}")
        differs = True
    tell_the_anchor(folder)
    print("Something differs." if differs else "Everything agrees.")
    return int(differs)


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent))
