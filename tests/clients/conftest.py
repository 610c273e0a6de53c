"""The stand-in as a process of Handful's own environment; the clients speak HTTP with it alone."""

import json
import re
import subprocess
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOKEN = "clients-token"
IDS = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
STUDY_URL = f"https://study.example/?{IDS}"
CODES = [
    {
        "code": "DONE",
        "code_type": "COMPLETED",
        "actor": "participant",
        "actions": [{"action": "MANUALLY_REVIEW"}],
    },
    {
        "code": "PAID",
        "code_type": "OTHER",
        "actor": "researcher",
        "actions": [{"action": "AUTOMATICALLY_APPROVE"}],
    },
]


class Platform:
    """What participants and the one who rehearses do there."""

    def __init__(self, url):
        self.url = url
        self.api = f"{url}/api/v1"

    def do(self, what, **body):
        data = json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/fake/{what}", data, headers)
        with urllib.request.urlopen(request, timeout=20) as reply:
            return json.loads(reply.read())

    def arrive(self, study, person):
        return self.do("arrive", study_id=study, participant_id=person)["session_id"]

    def complete(self, session, code):
        address = f"{self.url}/submissions/complete?cc={code}&session={session}"
        urllib.request.urlopen(address, timeout=20).read()

    def paid(self, person):
        with urllib.request.urlopen(f"{self.url}/fake/books", timeout=20) as reply:
            return json.loads(reply.read())[person]["paid_cents"]


@pytest.fixture
def platform():
    command = [ROOT / ".venv/bin/python", "manage.py", "fake_prolific", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--token", TOKEN], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        told = "".join(process.stdout.readline() for _ in range(3))
        yield Platform(re.search(r"PROLIFIC_URL=(\S+)", told)[1])
    finally:
        process.terminate()
        process.communicate(timeout=20)
