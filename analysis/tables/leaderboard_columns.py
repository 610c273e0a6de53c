"""The columns of the leaderboard: on the page one row an entry, in files one a score."""

import math
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

from analysis.tables.columns import NOTHING, SCORE
from analysis.tables.leaderboard import Board, Cell, Entry, external_text
from analysis.tables.models_columns import SD0, SD1
from tasks.columns import Column

LABELLED = "whether labelled data from outside the training split were used, as stated"
UNLABELLED = "whether unlabelled data of the task's domain were used beside it, as stated"
INTERVAL = (
    "95 % interval of the study's own annotators at the largest training size, over other people"
    " and other examples"
)


def of_board(board: Board) -> list[Column]:
    """The columns of a board on the page; the name of an entry stands before them."""
    last = len(board.sizes) - 1
    largest = f"at {board.sizes[last]} shots"
    sizes = [
        Column(
            "",
            f"{size} shots",
            "mean score x 100 under the metric of the task's card ± SD over training splits"
            " (people: over annotators), ddof 1; of a published row as printed; over all tasks the"
            " SD of the average" + ("; ranks and orders the entries" if place == last else ""),
            SCORE,
            get=partial(_text_at, place),
        )
        for place, size in enumerate(board.sizes)
    ]
    return [
        Column(
            "", "Rank", "among models of its size; people have none",
            get=lambda entry: NOTHING if entry.rank is None else entry.rank,
        ),
        *sizes,
        Column(
            "", f"n {largest}", "training splits, or annotators of the seats there are",
            get=_n,
        ),
        Column("", f"95 % CI {largest}", INTERVAL, SCORE, get=attrgetter("interval_text")),
        Column(
            "", "External labelled", LABELLED,
            get=lambda entry: external_text(entry, entry.external_labelled),
        ),
        Column(
            "", "External unlabelled", UNLABELLED,
            get=lambda entry: external_text(entry, entry.external_unlabelled),
        ),
    ]  # fmt: skip


def _text_at(place: int, entry: Entry) -> str:
    return entry.scores[place].text


def _n(entry: Entry) -> str:
    score = entry.at_largest
    unit = entry.unit if score.n != 1 else entry.unit.removesuffix("s")
    return f"{score.n} {unit}" if entry.is_published else f"{score.n} of {score.of} {entry.unit}"


def _if_largest(name: str, missing: Any) -> Callable[[Cell], Any]:
    """An attribute of the entry that is about its score at the largest size alone."""
    return lambda cell: getattr(cell.entry, name) if cell.is_largest else missing


# Of Cell.
FILE = [
    Column(
        "task", meaning="name of the task; all: the mean over all tasks of the study",
        get=lambda cell: cell.board.task.name if cell.board.task else "all",
    ),
    Column(
        "task_version", meaning="version of the task; empty over all tasks",
        get=lambda cell: cell.board.task.version if cell.board.task else None,
    ),
    Column(
        "test_examples", meaning="how many of the corpus's test examples are scored; empty: all",
        get=attrgetter("board.test_text"),
    ),
    Column("group", meaning="people, base, large; empty: of other or unstated size",
           get=attrgetter("entry.group")),
    Column("rank", meaning="among models of its group, by the mean at the largest training size",
           get=attrgetter("entry.rank")),
    Column("name", meaning="who, or which model", get=attrgetter("entry.name")),
    Column("source", meaning="study, uploaded or published", get=attrgetter("entry.source")),
    Column("shots", meaning="size of the training splits"),
    Column(
        "mean", meaning="mean score x 100 under the metric of the task's card", unit=SCORE,
        get=attrgetter("score.mean"),
    ),
    Column("sd_ddof1", meaning=SD1, unit="points", get=attrgetter("score.sd_ddof1")),
    Column("sd_ddof0", meaning=SD0, unit="points", get=attrgetter("score.sd_ddof0")),
    Column(
        "sd_printed", unit="points", get=attrgetter("score.printed"),
        meaning="the spread that the paper prints; over all tasks the SD of the average",
    ),
    Column("sd_over", meaning="what the SD is over: annotators or splits",
           get=attrgetter("entry.unit")),
    Column("n", meaning="how many annotators or splits", get=attrgetter("score.n")),
    Column("of", meaning="how many there could be", get=attrgetter("score.of")),
    Column("low_95", meaning=f"low end; {INTERVAL}", unit=SCORE,
           get=_if_largest("low", math.nan)),
    Column("high_95", meaning=f"high end; {INTERVAL}", unit=SCORE,
           get=_if_largest("high", math.nan)),
    Column("no_interval", meaning="why there is no interval", get=_if_largest("no_interval", "")),
    Column("external_labelled", meaning=LABELLED, get=attrgetter("entry.external_labelled")),
    Column("external_unlabelled", meaning=UNLABELLED, get=attrgetter("entry.external_unlabelled")),
    Column("link", meaning="paper or code of an uploaded model", get=attrgetter("entry.url")),
]  # fmt: skip
