"""Drawing training sets and a test set: nested, disjoint, stratified, all from one seed.

The order of all items is that of SHA-256 over the seed, what is drawn and the item's key. So the
same texts and seed give the same sets on every machine and version of Python, in whatever order
the rows stand; a random generator would promise less.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.datasets.table import DatasetError

MAX_SHOTS, MAX_SPLITS, MAX_TEST = 10_000, 100, 100_000


@dataclass(frozen=True)
class Plan:
    """How much is drawn: sizes of the nested training sets, how many of each, test items, seed."""

    shots: tuple[int, ...]
    splits: int
    test: int
    seed: int

    def __post_init__(self) -> None:
        limits = (
            ("shots", len(set(self.shots)) == len(self.shots) > 0, "different sizes"),
            ("shots", all(1 <= size <= MAX_SHOTS for size in self.shots), f"1 to {MAX_SHOTS:,}"),
            ("splits", 1 <= self.splits <= MAX_SPLITS, f"1 to {MAX_SPLITS}"),
            ("test", 1 <= self.test <= MAX_TEST, f"1 to {MAX_TEST:,}"),
            ("seed", 0 <= self.seed < 2**63, "0 to 2^63 - 1"),
        )
        for option, is_right, expected in limits:
            if not is_right:
                raise DatasetError("", "", "", f"--{option}: expected {expected}")


@dataclass(frozen=True)
class Drawn:
    """Places of items: of the test set, of each training set by (size, number), and of the rest."""

    test: list[int]
    trains: dict[tuple[int, int], list[int]]
    rest: list[int]


def draw(items: Sequence[tuple[str, str]], plan: Plan) -> Drawn:
    """Draw from items of (key, stratum); keys are different.

    The test set and every training split have different items; within a split the smaller sets are
    parts of the larger. Each set has the strata in the proportions of all items, as closely as
    whole numbers allow. Raises DatasetError where there are too few items.
    """
    sizes = sorted(plan.shots)
    wanted = plan.test + plan.splits * sizes[-1]
    if wanted > len(items):
        raise DatasetError(
            "", "", "",
            f"{len(items):,} different examples, and {wanted:,} are needed: {plan.test:,} for the"
            f" test and {plan.splits} x {sizes[-1]:,} for training; lower --test, --splits or"
            " --shots",
        )  # fmt: skip
    left: dict[str, list[int]] = {}
    for place in _shuffled(range(len(items)), items, f"{plan.seed}/all"):
        left.setdefault(items[place][1], []).append(place)
    weights = {stratum: len(places) for stratum, places in sorted(left.items())}
    test = _take(left, weights, plan.test)
    trains = {}
    for number in range(1, plan.splits + 1):
        drawn = _take(left, weights, sizes[-1])
        for size in sizes:
            trains[size, number] = _shuffled(drawn[:size], items, f"{plan.seed}/{number}/{size}")
    rest = sorted(place for places in left.values() for place in places)
    return Drawn(_shuffled(test, items, f"{plan.seed}/test"), trains, rest)


def _take(left: dict[str, list[int]], weights: dict[str, int], number: int) -> list[int]:
    """Take so many items away, each time of the stratum that is furthest behind its share.

    Webster's method (Sainte-Laguë): every beginning of the list is as proportional as the whole,
    so that nested sets all are. Strata that are used up are passed by.
    """
    taken: list[int] = []
    counts = dict.fromkeys(weights, 0)
    for _turn in range(number):
        stratum = max(
            (stratum for stratum in weights if left[stratum]),
            key=lambda name: (weights[name] / (2 * counts[name] + 1), name),
        )
        counts[stratum] += 1
        taken.append(left[stratum].pop())
    return taken


def _shuffled(places: Sequence[int], items: Sequence[tuple[str, str]], salt: str) -> list[int]:
    def order(place: int) -> bytes:
        return hashlib.sha256(f"{salt}/{items[place][0]}".encode()).digest()

    return sorted(places, key=order)
