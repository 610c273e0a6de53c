"""Run every Python block of the client's documentation as a reader would."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "researchers" / "client.md"
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
SCRIPT = "# rehearsal.py\n"  # tests/seats runs it: it needs Inspect


def blocks() -> list[str]:
    return PYTHON.findall(DOCUMENT.read_text(encoding="utf-8"))


@pytest.fixture
def in_its_folder(server, home, monkeypatch):
    """Change to a working folder and put the login into the environment."""
    monkeypatch.setenv("HANDFUL_SERVER", server[0])
    monkeypatch.setenv("HANDFUL_TOKEN", server[3])
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
