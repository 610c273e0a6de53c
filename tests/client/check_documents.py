"""Every Python block of the client's document runs, in its order, as a reader would run it."""

import re
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs" / "researchers" / "client.md"
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def test_every_block_runs(served, home, monkeypatch, capsys):
    monkeypatch.setenv("HANDFUL_SERVER", served[0])
    monkeypatch.setenv("HANDFUL_TOKEN", served[1])
    monkeypatch.chdir(home)
    blocks = PYTHON.findall(DOCUMENT.read_text(encoding="utf-8"))
    assert blocks
    names = {"__name__": "__main__"}
    for number, block in enumerate(blocks, 1):
        try:
            exec(compile(block, f"block {number}", "exec"), names)
        except Exception as error:
            pytest.fail(f"block {number} of {DOCUMENT.name}: {error!r}")
    assert "demo-sentiment" in capsys.readouterr().out
