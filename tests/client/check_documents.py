"""Every Python block of the client's document runs, as a reader would run it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "researchers" / "client.md"
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
SCRIPT = "# rehearsal.py\n"
CLUES = Path(os.environ.get("HANDFUL_SHARED", ROOT.parent / "shared")) / "data" / "clues"


def blocks() -> list[str]:
    return PYTHON.findall(DOCUMENT.read_text(encoding="utf-8"))


@pytest.fixture
def in_its_folder(served, home, monkeypatch):
    """A folder to work in, and the login in the environment."""
    monkeypatch.setenv("HANDFUL_SERVER", served[0])
    monkeypatch.setenv("HANDFUL_TOKEN", served[1])
    monkeypatch.chdir(home)
    return home


def test_every_block_of_the_tutorial_runs_after_the_one_before(in_its_folder, capsys):
    names = {"__name__": "__main__"}
    tutorial = [block for block in blocks() if not block.startswith(SCRIPT)]
    assert len(tutorial) == len(blocks()) - 1
    for number, block in enumerate(tutorial, 1):
        try:
            exec(compile(block, f"block {number}", "exec"), names)
        except Exception as error:
            pytest.fail(f"block {number} of {DOCUMENT.name}: {error!r}")
    said = capsys.readouterr().out
    assert "reviews 1" in said
    assert "optimist" in said
    assert (in_its_folder / "dry-run" / "verify.py").is_file()


@pytest.mark.skipif(not CLUES.is_dir(), reason="needs the published files (HANDFUL_SHARED)")
def test_the_script_on_the_published_files_has_forty_lines_at_most(in_its_folder):
    (script,) = (block for block in blocks() if block.startswith(SCRIPT))
    assert len(script.splitlines()) <= 40
    (in_its_folder / "rehearsal.py").write_text(script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "rehearsal.py", str(CLUES)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    table = [line.split() for line in done.stdout.splitlines()]
    for kind, task, shots in [
        ("simulated", "SQuADv2", "0"), ("simulated", "SQuADv2", "10"), ("simulated", "SST-2", "0"),
        ("simulated", "SST-2", "10"), ("uploaded", "SST-2", "10"),
    ]:  # fmt: skip
        assert any(row[:1] == [kind] and {task, shots} <= set(row) for row in table), (kind, task)
