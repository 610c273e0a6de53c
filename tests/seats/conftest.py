"""A Handful server in a separate process and environment; the client uses HTTP only."""

import csv
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from handful.inspect.task import participate
from inspect_ai import eval as evaluate
from inspect_ai.model import ModelOutput, ModelUsage

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv/bin/python"
# Every answer type.
KINDS = ("spans", "typed", "label", "option", "options", "number", "short text", "long text")
OPTION = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)


class Served:
    """A server with an open study of tasks of these kinds."""

    def __init__(self, folder: Path, kinds: tuple[str, ...]):
        self.folder = folder
        command = [PYTHON, ROOT / "tests/seats/served.py", folder, *kinds]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        told = json.loads(self.process.stdout.readline())
        self.server, self.study, self.token = told["server"], told["study"], told["token"]
        self.examples = told["examples"]

    def stop(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=120)

    def annotate(self, outputs: Callable[..., ModelOutput], **options: object) -> bool:
        """Let the mock model with these outputs take part; whether it finished each scenario."""
        of_model = {name: options.pop(name, None) for name in ("seed", "temperature")}
        seats = participate(self.study, self.server, notes=str(self.folder / "notes"), **options)
        (log,) = evaluate(
            seats, model="mockllm/model", model_args={"custom_outputs": outputs}, **of_model,
            log_dir=str(self.folder / "logs"), display="plain",
        )  # fmt: skip
        return log.status == "success" and not any(sample.error for sample in log.samples)

    def right_answer(self, messages, *_more: object) -> ModelOutput:
        """Give Inspect's mock model the right answer, in the requested format."""
        asked = latest_question(messages)
        if not asked:  # the comprehension questions
            return mock_output("Answer: [1]")
        right = next(
            texts for context, question, texts in self.examples
            if question in asked and all(text in asked for text in context)
        )  # fmt: skip
        numbers = {text: int(number) for number, text in OPTION.findall(asked)}
        values = [numbers.get(text, text) for text in right]
        if "JSON list" in messages[0].text.rpartition("How to answer")[2]:
            return mock_output(f"Answer: {json.dumps(values)}")
        return mock_output(f"Answer: {json.dumps(values[0])}")

    def exported(self) -> dict[str, list[dict[str, str]]]:
        """Return the CSVs of the study, checked by verify.py."""
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


def latest_question(messages) -> str:
    """Return the message with the current example; empty before the first one."""
    return next((one.text for one in reversed(messages) if "Question:" in one.text), "")


def mock_output(text: str) -> ModelOutput:
    """Return the model's reply. Without usage, the mock model downloads a tokenizer to count it."""
    output = ModelOutput.from_content("mockllm", text)
    output.usage = ModelUsage(input_tokens=7, output_tokens=2, total_tokens=9)
    return output


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
