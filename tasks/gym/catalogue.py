"""What CrossFit publishes about its 160 tasks: category, metric, and the partitions of them."""

import csv
import functools
import json
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Published:
    """One task: its category in the ontology ("cls/nli") and its metric, as in `METRICS`."""

    name: str
    ontology: str
    metric: str


@dataclass(frozen=True)
class Partition:
    """Which tasks are trained on (upstream), developed on, and held out, by name.

    In four of the published ones the held-out tasks stand under "dev" and "test" is empty (the
    paper's Table 1 prints them as test tasks): here they are held out. `leaked` are in two lists.
    """

    name: str
    upstream: tuple[str, ...]
    dev: tuple[str, ...]
    held_out: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """Every task once, those that are trained on first."""
        return tuple(dict.fromkeys([*self.upstream, *self.dev, *self.held_out]))

    @property
    def leaked(self) -> tuple[str, ...]:
        return tuple(name for name in self.upstream if name in {*self.dev, *self.held_out})


@functools.cache
def tasks() -> dict[str, Published]:
    """The 160 tasks by name."""
    with (HERE / "tasks.csv").open(newline="") as file:
        return {
            row["task"]: Published(row["task"], row["ontology"], row["metric"])
            for row in csv.DictReader(file)
        }


@functools.cache
def partitions() -> dict[str, Partition]:
    """The 8 partitions by name."""
    published = json.loads((HERE / "partitions.json").read_text())
    found = {}
    for name, lists in published.items():
        train, dev, test = (tuple(lists[part]) for part in ("train", "dev", "test"))
        found[name] = Partition(name, train, *((dev, test) if test else ((), dev)))
    return found
