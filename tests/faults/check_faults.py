"""Short runs of benchmarks/faults: acknowledged answers are stored once and work continues."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SIZE = ["--answers", "400", "--annotators", "8", "--seconds", "8"]


def broken(*arguments: str) -> subprocess.CompletedProcess:
    """Run one fault of that name and size."""
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.faults", *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["killed_server", "killed_database", "deploy", "clock"])
def test_no_acknowledged_answer_is_lost_or_stored_twice(name):
    done = broken(name, *SIZE)
    assert done.returncode == 0, done.stdout + done.stderr
    stored, acknowledged = re.search(
        r"\| 8 \| (\d+) \| (\d+) \| 0 \| 0 \| 0 \| 0 \|", done.stdout
    ).groups()
    assert int(stored) == 400
    assert 390 <= int(acknowledged) <= 400
