"""Published facts about the 160 tasks of CrossFit: categories, metrics and partitions."""

import csv
import functools
import json
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Published:
    """A task with its category in the ontology ("cls/nli") and its metric, a key of `METRICS`."""

    name: str
    ontology: str
    metric: str


@dataclass(frozen=True)
class Partition:
    """The names of the tasks for training (upstream), for development, and held out.

    In four of the published partitions, the held-out tasks are under "dev" and "test" is empty.
    Table 1 prints them as test tasks, so they are held out here. `leaked` tasks are in two lists.
    """

    name: str
    upstream: tuple[str, ...]
    dev: tuple[str, ...]
    held_out: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """Return every task once, with upstream tasks first."""
        return tuple(dict.fromkeys([*self.upstream, *self.dev, *self.held_out]))

    @property
    def leaked(self) -> tuple[str, ...]:
        return tuple(name for name in self.upstream if name in {*self.dev, *self.held_out})


@functools.cache
def tasks() -> dict[str, Published]:
    with (HERE / "tasks.csv").open(newline="") as file:
        return {
            row["task"]: Published(row["task"], row["ontology"], row["metric"])
            for row in csv.DictReader(file)
        }


@functools.cache
def partitions() -> dict[str, Partition]:
    published = json.loads((HERE / "partitions.json").read_text())
    found = {}
    for name, lists in published.items():
        train, dev, test = (tuple(lists[part]) for part in ("train", "dev", "test"))
        found[name] = Partition(name, train, *((dev, test) if test else ((), dev)))
    return found


# Suitability for studies with humans -----------------------------------------------------------


CHOICES = (
    "cls/", "qa/binary", "qa/multiple-choice qa", "other/linguistic phenomenon", "other/regression",
)  # fmt: skip
SHOWN = 3  # names listed in a sentence


def why_not(name: str) -> str:
    """Return why this task is unsuitable for humans, or "" if it is suitable."""
    published = tasks().get(name)
    if published is None:
        return "it is not one of the 160 tasks"
    if not published.ontology.startswith(CHOICES):
        return f"{published.ontology}: its answers are not chosen among options"
    return ""


@dataclass(frozen=True)
class Offer:
    """Suitable tasks of a partition, without upstream ones in two lists, or why it is refused."""

    name: str
    upstream: tuple[str, ...]
    held_out: tuple[str, ...]
    leaked: tuple[str, ...]
    refused: str


def offer(partition: Partition) -> Offer:
    """Offer a partition if all held-out tasks and at least one upstream task are suitable."""
    upstream = [name for name in partition.upstream if not why_not(name)]
    upstream = [name for name in upstream if name not in partition.leaked]
    unfit = [name for name in partition.held_out if why_not(name)]
    refused = ""
    if unfit:
        more = f" and {len(unfit) - SHOWN} more" if len(unfit) > SHOWN else ""
        refused = (
            f"{len(unfit)} of its {len(partition.held_out)} held-out tasks are not answered by"
            f" choosing among options: {', '.join(unfit[:SHOWN])}{more}"
        )
    elif not upstream:
        refused = "none of its upstream tasks is answered by choosing among options"
    held_out = tuple(name for name in partition.held_out if name not in unfit)
    return Offer(partition.name, tuple(upstream), held_out, partition.leaked, refused)
