"""A server of Handful as a process of its own environment; the client speaks HTTP with it alone."""

import argparse
import csv
import json
import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from handful import annotate, fake_model

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv/bin/python"
# Every kind of answer.
KINDS = ("spans", "typed", "label", "option", "options", "number", "short text", "long text")


class Served:
    """A server with an open study of tasks of these kinds."""

    def __init__(self, folder: Path, kinds: tuple[str, ...]):
        self.folder = folder
        command = [PYTHON, ROOT / "tests/seats/served.py", folder, *kinds]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        told = json.loads(self.process.stdout.readline())
        self.server, self.study, self.token = told["server"], told["study"], told["token"]
        self.examples = fake_model.read_examples([Path(told["examples"])])

    def stop(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=120)

    def annotate(self, model: str, *options: str, **model_args: object) -> int:
        """`handful annotate` with these options; its exit code."""
        parser = argparse.ArgumentParser()
        annotate.add_arguments(parser)
        places = [
            "--log-dir", str(self.folder / "logs"), "--notes", str(self.folder / "notes"),
            "--server", self.server, "--study", self.study, "--model", model,
        ]  # fmt: skip
        return annotate.run(parser.parse_args([*places, *options]), **model_args)

    def exported(self) -> dict[str, list[dict[str, str]]]:
        """The CSVs of the study, which verify.py has found to agree."""
        folder = self.folder / "export"
        shutil.rmtree(folder, ignore_errors=True)
        environment = os.environ | {
            "HANDFUL_VAR": str(self.folder),
            "DATABASE_URL": f"sqlite:///{self.folder / 'served.sqlite3'}",
        }
        export = [PYTHON, "manage.py", "export_study", self.study, folder]
        subprocess.run(export, cwd=ROOT, env=environment, check=True, capture_output=True)
        verified = subprocess.run([PYTHON, folder / "verify.py"], capture_output=True, check=False)
        assert verified.returncode == 0, verified.stdout.decode()
        files = {}
        for path in folder.glob("*.csv"):
            with path.open(newline="", encoding="utf-8") as file:
                files[path.name] = list(csv.DictReader(file))
        return files


@pytest.fixture
def serve(tmp_path, monkeypatch):
    """Start a server with tasks of these kinds; its token is in the environment."""
    started = []

    def start(*kinds: str) -> Served:
        folder = tmp_path / f"served-{len(started)}"
        folder.mkdir(mode=0o700)
        served = Served(folder, kinds)
        started.append(served)
        monkeypatch.setenv("HANDFUL_TOKEN", served.token)
        return served

    yield start
    for served in started:
        served.stop()


@pytest.fixture
def fake(monkeypatch):
    """Start a fake model that knows these examples; the options that lead to it, and itself."""
    started = []

    def start(examples, **faults: float) -> SimpleNamespace:
        model = fake_model.FakeModel(examples, fake_model.Faults(**faults), seed=1)
        server = fake_model.serve(model)
        started.append(server)
        monkeypatch.setenv("FAKE_API_KEY", "none is needed")
        address = f"http://127.0.0.1:{server.server_address[1]}/v1"
        return SimpleNamespace(
            name="openai-api/fake/toy", options=("--base-url", address), model=model
        )

    yield start
    for server in started:
        server.shutdown()
        server.server_close()
