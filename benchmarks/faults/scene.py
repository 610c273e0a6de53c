"""Setup and checks that all faults share, with annotators working on an installation."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import django
from django.db import connections

from benchmarks.faults import annotators
from benchmarks.faults.installation import Installation, installed, serving


@dataclass
class Size:
    """The size of a fault."""

    answers: int = 10_000
    annotators: int = 64
    seconds: float = 60.0


@dataclass
class Result:
    """The result of a fault: what happened to the annotators, and further conditions."""

    outcome: annotators.Outcome
    did: str  # in words, with its figures
    wrong: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        return self.outcome.holds and not self.wrong


@dataclass
class Scene:
    site: Installation
    work: annotators.Work
    size: Size

    def wait_for(self, share: float) -> None:
        """Wait until a share of all answers is acknowledged."""
        self.work.wait_for(share, self.size.answers)

    def every(self, seconds: float) -> Iterator[int]:
        """Yield 0, 1, 2, ... at an interval in seconds until all annotators have finished."""
        number = 0
        while self.work.goes_on():
            yield number
            number += 1
            end = time.monotonic() + seconds
            while self.work.goes_on() and time.monotonic() < end:
                time.sleep(0.1)


@contextmanager
def at_work(
    size: Size,
    begun: float = 0.1,
    prepare: Callable[[Installation], None] | None = None,
) -> Iterator[Scene]:
    """Let annotators work, and enter the block after a share of their answers.

    Leaving the block waits for all of them.
    """
    with installed() as site:
        set_up(site)
        if prepare:
            prepare(site)
        code = annotators.make_study(size.annotators, size.answers)
        with serving(site), annotators.working(site.front, code, size.annotators) as work:
            scene = Scene(site, work, size)
            scene.wait_for(begun)
            yield scene
        if not site.postgres.is_up():
            raise RuntimeError("the database is away at the end")
        connections.close_all()
        work.outcome = annotators.compare(work)


def set_up(site: Installation) -> None:
    """Migrate the database, and connect the ORM of this process to it directly."""
    done = site.manage("migrate", "-v0")
    if done.returncode:
        raise RuntimeError(done.stderr)
    os.environ |= site.environment | {"DATABASE_URL": site.postgres.address()}
    os.environ["DISABLE_SERVER_SIDE_CURSORS"] = "0"
    django.setup()
