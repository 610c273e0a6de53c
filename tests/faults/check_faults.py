"""Short forms of benchmarks/faults: what was acknowledged is there, once, and everybody goes on."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SIZE = ["--answers", "400", "--annotators", "8", "--seconds", "8"]


def broken(*arguments: str) -> subprocess.CompletedProcess:
    """One fault of that name and size."""
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.faults", *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["two_nodes", "killed_server", "killed_database", "two_ticks"])
def test_no_acknowledged_answer_is_lost_or_doubled_and_everybody_goes_on(name):
    done = broken(name, *SIZE)
    assert done.returncode == 0, done.stdout + done.stderr
    stored, acknowledged = re.search(
        r"\| 8 \| (\d+) \| (\d+) \| 0 \| 0 \| 0 \| 0 \|", done.stdout
    ).groups()
    assert int(stored) == 400
    assert 390 <= int(acknowledged) <= 400


def test_of_many_who_come_at_once_as_many_are_seated_as_there_are_seats():
    done = broken("racing_arrivals", "--answers", "120", "--annotators", "32")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "120 arrivals on 12 seats: 12 seated, 108 told that it is full" in done.stdout
