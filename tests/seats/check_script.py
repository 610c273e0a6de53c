"""The script of docs/researchers/client.md with the client, a model and the published files."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "researchers" / "client.md"
CLUES = Path(os.environ.get("HANDFUL_SHARED", ROOT.parent / "shared")) / "data" / "clues"
PLACES = [(task, shots) for task in ("SQuADv2", "SST-2") for shots in ("0", "10")]


@pytest.fixture
def served(tmp_path):
    """The environment variables of a login to a server in Handful's environment."""
    (tmp_path / "var").mkdir(mode=0o700)
    places = {"HANDFUL_VAR": str(tmp_path / "var"), "STATIC_ROOT": str(tmp_path / "static")}
    environment = {k: v for k, v in os.environ.items() if k != "DATABASE_URL"} | places
    command = [ROOT / ".venv/bin/python", ROOT / "tests/client/serve.py"]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        server, token, *_others = process.stdout.readline().split()
        yield {"HANDFUL_SERVER": server, "HANDFUL_TOKEN": token}
    finally:
        process.terminate()
        process.communicate(timeout=120)


def test_the_script_has_at_most_forty_lines_and_prints_the_table(served, tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```$", DOCUMENT.read_text("utf-8"), re.M | re.S)
    (script,) = (block for block in blocks if block.startswith("# rehearsal.py\n"))
    assert len(script.splitlines()) <= 40
    (tmp_path / "rehearsal.py").write_text(script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "rehearsal.py", str(CLUES)], cwd=tmp_path,
        env=os.environ | served, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    table = [re.split(r"\s{2,}", line) for line in done.stdout.splitlines()]
    rows = [(row[0], row[2], row[3]) for row in table if len(row) > 4]
    assert sorted(row[1:] for row in rows if row[0] == "simulated") == PLACES
    assert sorted(row[1:] for row in rows if row[0] == "model") == PLACES
    assert [row[1:] for row in rows if row[0] == "uploaded"] == [("SST-2", "10")]
