"""The data report of a task, which researchers should read before annotation starts.

It is built during the import and stored with the task. It reports problems, but does not fix them.
"""

import itertools
import math
from collections import Counter
from dataclasses import replace
from statistics import fmean
from typing import Any

from tasks.answer_keys import LABEL
from tasks.cards import Card
from tasks.columns import hundredth
from tasks.formats import Record, SplitFile
from tasks.metrics import s1, score

NO_BASELINE = "none: every example has an answer"


def build(card: Card, files: list[SplitFile]) -> dict[str, Any]:
    """Build the report as data for JSON. Shares and scores are x 100.

    Keys: splits [{file, examples, empty_share}], unreachable [{file, ids}], not_nested [[number,
    smaller size, larger size]], renumbering {number: {size: number}}, duplicates [{file, ids}],
    overlap_with_test [{file, ids}], reused_ids [{file, ids}] (ids that belong to other texts in the
    test file), respelled and same_options [{file, ids}], baseline_name, baseline (None unless the
    task has labels or "no answer"), ceiling, floors [{name, s1}] for guessing among the answers
    listed in the test file. With strata: strata {file: {stratum: n}}. With labels: labels {file:
    {label: n}}, and one_label {file: label} for files of several examples that all have the same
    label.
    """
    test = next(file for file in files if file.kind == "test")
    trains = [file for file in files if file.kind == "train"]
    tested = {(record.context, record.question) for record in test.records}
    texts = {record.id: record.context for record in test.records}
    return (
        {
            "splits": [
                {
                    "file": file.filename,
                    "examples": len(file.records),
                    "empty_share": 100 * sum(not r.gold for r in file.records) / len(file.records),
                }
                for file in files
            ],
            "unreachable": _ids(files, lambda record: _is_unreachable(card, record)),
            "not_nested": not_nested(trains),
            "renumbering": renumbering(trains),
            "duplicates": _duplicates(files),
            "overlap_with_test": _ids(trains, lambda r: (r.context, r.question) in tested),
            "reused_ids": _ids(trains, lambda r: texts.get(r.id, r.context) != r.context),
            "respelled": _ids(files, lambda record: record.respelled),
            "same_options": _ids(
                files, lambda record: len(set(record.options)) < len(record.options)
            ),
            **_bounds(card, test),
        }
        | _strata(files)
        | (_labels(files) if card.answered_by == LABEL else {})
    )


def _strata(files: list[SplitFile]) -> dict[str, Any]:
    """Return {strata: {file: {stratum: examples}}}, or {} if no example has a stratum."""
    strata = {
        file.filename: dict(Counter(record.stratum for record in file.records)) for file in files
    }
    return {"strata": strata} if any({*counts} - {""} for counts in strata.values()) else {}


def _labels(files: list[SplitFile]) -> dict[str, Any]:
    """Return {labels: {file: {label: examples}}}, and {one_label: {file: label}} if any."""
    labels = {file.filename: dict(Counter(r.gold[0] for r in file.records)) for file in files}
    ones = {
        file: label for file, of in labels.items() if len(of) == 1
        for label, examples in of.items() if examples > 1
    }  # fmt: skip
    return {"labels": labels} | ({"one_label": ones} if ones else {})


def report_from_0_to_1(report: dict[str, Any]) -> dict[str, Any]:
    """Return the report for the API, with shares and scores from 0 to 1."""
    splits = [s | {"empty_share": hundredth(s["empty_share"])} for s in report["splits"]]
    floors = [floor | {"s1": hundredth(floor["s1"])} for floor in report["floors"]]
    bounds = {name: hundredth(report[name]) for name in ("baseline", "ceiling")}
    return report | bounds | {"splits": splits, "floors": floors}


def _ids(files: list[SplitFile], is_odd: Any) -> list[dict[str, Any]]:
    entries = [
        {"file": file.filename, "ids": [record.id for record in file.records if is_odd(record)]}
        for file in files
    ]
    return [entry for entry in entries if entry["ids"]]


def _is_unreachable(card: Card, record: Record) -> bool:
    source = card.source_of(record)
    return card.is_highlighted and not all(map(source.is_reachable, record.gold))


def _sizes(trains: list[SplitFile]) -> dict[int, dict[int, frozenset[str]]]:
    """Map size and number to the contents of training files, with sizes in ascending order."""
    sizes: dict[int, dict[int, frozenset[str]]] = {}
    for file in sorted(trains, key=lambda file: (file.shots or 0, file.number or 0)):
        contents = frozenset(record.content_hash for record in file.records)
        sizes.setdefault(file.shots or 0, {})[file.number or 0] = contents
    return sizes


def not_nested(trains: list[SplitFile]) -> list[list[int]]:
    """Return [number, smaller size, larger size] for training files that are not nested."""
    sizes = _sizes(trains)
    ordered = list(sizes)
    return [
        [number, smaller, larger]
        for smaller, larger in itertools.pairwise(ordered)
        for number, inner in sizes[smaller].items()
        if number in sizes[larger] and not inner <= sizes[larger][number]
    ]


def renumbering(trains: list[SplitFile]) -> dict[str, dict[str, int]]:
    """Return numbers under which training files are nested: {number: {size: published number}}.

    Each file of the smallest size starts a chain, to which the only larger file that contains it is
    added. The result is empty if the files are already nested, or chains have gaps or share files.
    """
    if not not_nested(trains):
        return {}
    sizes = _sizes(trains)
    ordered = list(sizes)
    chains: dict[str, dict[str, int]] = {}
    for number, contents in sizes[ordered[0]].items():
        chain, inner = {str(ordered[0]): number}, contents
        for size in ordered[1:]:
            holders = [n for n, outer in sizes[size].items() if inner <= outer]
            if len(holders) != 1:
                return {}
            chain[str(size)] = holders[0]
            inner = sizes[size][holders[0]]
        chains[str(number)] = chain
    for size in ordered[1:]:
        if len({chain[str(size)] for chain in chains.values()}) < len(chains):
            return {}
    return chains


def rechained(files: list[SplitFile]) -> list[SplitFile]:
    """Renumber training files so that those with the same number are nested, where possible."""
    chains = renumbering([file for file in files if file.kind == "train"])
    numbers = {
        (int(size), published): int(number)
        for number, chain in chains.items()
        for size, published in chain.items()
    }
    return [
        replace(file, number=numbers.get((file.shots or 0, file.number or 0), file.number))
        for file in files
    ]


def _duplicates(files: list[SplitFile]) -> list[dict[str, Any]]:
    entries = []
    for file in files:
        hashes: set[str] = set()
        ids = []
        for record in file.records:
            if record.content_hash in hashes:
                ids.append(record.id)
            hashes.add(record.content_hash)
        if ids:
            entries.append({"file": file.filename, "ids": ids})
    return entries


def _bounds(card: Card, test: SplitFile) -> dict[str, Any]:
    """Return the trivial baseline and the highest possible score on the test file, x 100."""
    golds = [record.gold for record in test.records]
    if card.answered_by == LABEL:
        label, count = Counter(gold[0] for gold in golds).most_common(1)[0]
        return {
            "baseline_name": f"always “{label}”",
            "baseline": 100 * count / len(golds),
            "ceiling": 100.0,
            "floors": [],
        }
    best = math.fsum(card.kind.highest_s1(card, record, record.gold) for record in test.records)
    always_empty = 100 * math.fsum(s1([], gold) for gold in golds) / len(golds)
    return {
        "baseline_name": "always “no answer”" if card.no_answer else NO_BASELINE,
        "baseline": always_empty if card.no_answer else None,
        "ceiling": 100 * best / len(golds),
        "floors": _floors(card, test),
    }


def _floors(card: Card, test: SplitFile) -> list[dict[str, Any]]:
    """Return the scores x 100 for guessing among listed candidates, or [] if none are listed.

    The score of a random guess is the mean over the distinct candidates of each example. The most
    frequent candidate is the one that most examples list; the first one wins ties.
    """
    if card.kind.is_one_choice and not card.no_answer:
        shares = [
            fmean(score([text], record.gold, card.gold_rule).s1 for text in record.options)
            for record in test.records
        ]
        return [{"name": "a random option", "s1": 100 * math.fsum(shares) / len(shares)}]
    if card.no_answer or not all(record.candidates for record in test.records):
        return []
    randomly, frequently = [], []
    for record in test.records:
        counts = Counter(record.candidates)
        scores = {text: score([text], record.gold, card.gold_rule).s1 for text in counts}
        randomly.append(math.fsum(scores.values()) / len(scores))
        frequently.append(scores[counts.most_common(1)[0][0]])
    return [
        {"name": name, "s1": 100 * math.fsum(scores) / len(scores)}
        for name, scores in (
            ("a random listed entity", randomly),
            ("the most frequent listed entity", frequently),
        )
    ]


def lines(report: dict[str, Any]) -> list[str]:
    return _sentences(report, "origin", "sizes", "warnings", "bounds")


def counts(report: dict[str, Any]) -> list[str]:
    return _sentences(report, "origin", "sizes", "bounds")


def warnings(report: dict[str, Any]) -> list[str]:
    return _sentences(report, "warnings")


def origin(made_from: dict[str, Any]) -> str:
    """Return a sentence on the origin of a task made from a dataset or from the Few-shot Gym."""
    return _sentences({"made_from": made_from, "splits": []}, "origin")[0]


def _sentences(report: dict[str, Any], *parts: str) -> list[str]:
    from django.template.loader import render_to_string  # the checks of uploads do not load Django

    labels, strata = report.get("labels", {}), report.get("strata", {})
    splits = []
    for split in report["splits"]:
        # PostgreSQL orders the keys of JSON by length.
        of_label = sorted(labels.get(split["file"], {}).items(), key=lambda e: (-e[1], e[0]))
        of_stratum = sorted(strata.get(split["file"], {}).items())
        splits.append(
            split
            | {"labels": [f"{count} {label}" for label, count in of_label]}
            | {"strata": [f"{count} {name or 'without a stratum'}" for name, count in of_stratum]}
        )
    context = {"report": report, "splits": splits, "parts": parts}
    _before, *items = render_to_string("library/data_report.txt", context).split("\n- ")
    return [" ".join(item.split()) for item in items]
