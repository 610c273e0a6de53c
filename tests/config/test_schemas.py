"""The JSON Schemas in docs/schemas are valid, and the session in docs/agents.md works."""

import csv
import json
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest
from django.core.management import call_command

from annotation.study import design_file
from tasks.cards import load_card
from tests import factories

ROOT = Path(__file__).parents[2]
AGENTS = (ROOT / "docs/agents.md").read_text()
CARDS = sorted([*ROOT.glob("tasks/demo/*/task.toml"), *ROOT.glob("tasks/clues/*.toml")])
DESIGN = tomllib.loads(re.search(r"^```toml\n(.*?)^```$", AGENTS, re.M | re.S)[1])


def schema(name: str) -> dict:
    return json.loads((ROOT / "docs/schemas" / name).read_text())


def problems(value, name: str) -> list[str]:
    checker = jsonschema.Draft202012Validator(schema(name))
    return [error.message for error in checker.iter_errors(value)]


def test_the_schemas_are_those_of_the_parsers():
    files = runpy.run_path(str(ROOT / "docs/schemas.py"))["files"]()
    for name, text in files.items():
        assert (ROOT / "docs/schemas" / name).read_text() == text, "run make dictionary"


@pytest.mark.parametrize("path", CARDS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_card_that_can_be_imported_fits_the_schema(path):
    load_card(path)
    card = tomllib.loads(path.read_text())
    assert problems(card, "task-card.json") == []
    assert problems(card | {"direction": "down"}, "task-card.json") != []
    assert problems(card | {"titel": "?"}, "task-card.json") != []


def test_a_stored_design_fits_the_schema(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0, 2])
    stored = design_file.as_data(study)
    assert problems(stored, "design.json") == []
    for wrong in ({"shots": "0"}, {"annotators": "3"}, {"pay": {"bonus": 1}}, {"metrics": ["F2"]}):
        assert problems(stored | wrong, "design.json") != [], wrong


def test_the_schema_and_the_parser_know_the_same_keys():
    assert problems(DESIGN, "design.json") == []
    design_file.from_data("x.toml", DESIGN)
    for key in ("titel", "payment"):
        assert problems(DESIGN | {key: "x"}, "design.json") != []
        with pytest.raises(design_file.DesignFileError, match=key):
            design_file.from_data("x.toml", DESIGN | {key: "x"})


@pytest.mark.long
def test_the_session_for_agents_ends_in_a_verified_export(researcher, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"Review {n} of a pen.,{('positive', 'negative')[n % 2]}" for n in range(50)]
    Path("reviews.csv").write_text("\n".join(["text,label", *rows]))
    Path("reviews.toml").write_text(re.search(r"^```toml\n(.*?)^```$", AGENTS, re.M | re.S)[1])
    commands = [
        shlex.split(line.replace("--owner ada", f"--owner {researcher.username}"))
        for block in re.findall(r"^```sh\n(.*?)^```$", AGENTS, re.M | re.S)
        for line in block.splitlines()
    ]
    assert len(commands) == 6
    for _python, program, *arguments in commands:
        if program == "manage.py":
            # Use one process, because others wouldn't see this transaction's rows.
            alone = {"processes": 1} if arguments[0] == "simulate_workers" else {}
            call_command(*arguments, **alone)
        else:
            done = subprocess.run([sys.executable, program], capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
    with Path("results/human_performance.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["kind"] == "simulated"]
    assert [(row["shots"], row["n"]) for row in rows] == [("0", "3"), ("10", "3")]
