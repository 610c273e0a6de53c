"""Published facts about the 160 tasks of CrossFit: categories, metrics and partitions."""

import csv
import functools
import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Published:
    """A task with its category in the ontology ("cls/nli") and its metric, a key of `METRICS`.

    `unfit` says why people without special knowledge cannot do it. All other tasks are in English
    and are answered with a choice, spans, a number, or a short or long text.
    """

    name: str
    ontology: str
    metric: str
    unfit: str


@dataclass(frozen=True)
class Partition:
    """The names of training (upstream), development and held-out tasks.

    Four of the published partitions have an empty "test" list and their held-out tasks in "dev". We
    treat those as held out, as Table 1 does. `leaked` tasks appear in two of the lists.
    """

    name: str
    upstream: tuple[str, ...]
    dev: tuple[str, ...]
    held_out: tuple[str, ...]
    leaked: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """Return every task once, starting with upstream tasks."""
        return tuple(dict.fromkeys([*self.upstream, *self.dev, *self.held_out]))

    def unseen(self, names: Collection[str]) -> tuple[str, ...]:
        """Return the candidate unseen tasks: held-out tasks or, in a pilot, development tasks."""
        return self.dev if names and set(names) <= set(self.dev) else self.held_out


@functools.cache
def tasks() -> dict[str, Published]:
    with (HERE / "tasks.csv").open(newline="") as file:
        return {row["name"]: Published(**row) for row in csv.DictReader(file)}


@functools.cache
def partitions() -> dict[str, Partition]:
    published = json.loads((HERE / "partitions.json").read_text())
    result = {}
    for name, lists in published.items():
        train, dev, test = (tuple(lists[part]) for part in ("train", "dev", "test"))
        leaked = tuple(task for task in train if task in {*dev, *test})
        result[name] = Partition(name, train, *((dev, test) if test else ((), dev)), leaked)
    return result


# Suitability for studies with humans -----------------------------------------------------------


MOST_WORDS = 400  # in the median test example: 100 seconds of reading at 240 words per minute


def why_not(name: str) -> str:
    """Return why this task is unsuitable for humans, or "" if it is suitable."""
    return tasks()[name].unfit if name in tasks() else "it is not one of the 160 tasks"


def offer(partition: Partition) -> Partition:
    """Return the tasks of a partition that a study may use: suitable ones, in only one list."""
    upstream, held_out, dev = (
        tuple(name for name in names if name not in partition.leaked and not tasks()[name].unfit)
        for names in (partition.upstream, partition.held_out, partition.dev)
    )
    return replace(partition, upstream=upstream, held_out=held_out, dev=dev)


def is_pilot(partition: str, unseen: Collection[str]) -> bool:
    """Return whether a study's unseen tasks are development tasks of its partition."""
    return bool(partition and unseen) and set(unseen) <= set(partitions()[partition].dev)


def left_out(partition: str, unseen: Collection[str], upstream: Collection[str]) -> str:
    """Return sentences on which of the partition's tasks a study leaves out, and why."""
    published, role, pilot = partitions()[partition], "held-out", ""
    names = published.held_out
    if is_pilot(partition, unseen):
        names, role = published.dev, "development"
        pilot = (
            " This is a pilot on development tasks: it can choose the number of upstream examples,"
            " but its gains are not those of held-out tasks."
        )
    missing = [name for name in names if name not in unseen]
    reasons = {name: why for name in names if (why := why_not(name))}
    reasons |= dict.fromkeys(published.leaked, "in two of the published lists")
    unfit = [f"{name} ({reasons[name]})" for name in missing if name in reasons]
    unused = [name for name in missing if name not in reasons]
    gaps = [
        *([f"not suitable: {', '.join(unfit)}"] if unfit else []),
        *([f"not chosen: {', '.join(unused)}"] if unused else []),
    ]
    trained = sum(name in upstream for name in published.upstream)
    lacks = f" {role.capitalize()} tasks left out: {'; '.join(gaps)}." if gaps else ""
    return (
        f"Of the partition {partition}, {len(names) - len(missing)} of {len(names)} {role} and"
        f" {trained} of {len(published.upstream)} upstream tasks are used.{lacks}{pilot}"
    )
