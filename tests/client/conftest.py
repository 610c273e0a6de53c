"""The client installed from its wheel, and a server in Handful's environment."""

import os
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import handful
import pytest

ROOT = Path(__file__).parents[2]
# Limit for a server's start and stop, in seconds.
PATIENCE = 120


@pytest.fixture(scope="session", autouse=True)
def from_the_wheel():
    """Import the installed package, not the source folder."""
    assert "site-packages" in handful.__file__


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The address of a server, and the three tokens of serve.py."""
    own = tmp_path_factory.mktemp("server")
    (own / "var").mkdir(mode=0o700)
    places = {"HANDFUL_VAR": str(own / "var"), "STATIC_ROOT": str(own / "static")}
    environment = {k: v for k, v in os.environ.items() if k != "DATABASE_URL"} | places
    with (own / "log").open("w") as log:
        process = subprocess.Popen(
            [ROOT / ".venv/bin/python", ROOT / "tests/client/serve.py"], cwd=ROOT,
            env=environment, stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
        try:
            told = process.stdout.readline().split()
            assert len(told) == 4, (own / "log").read_text()
            wait_for(told[0], process)
            yield told
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE)


@pytest.fixture(scope="session")
def served(server):
    """The address of the server and the token with the read and run scopes."""
    return server[:2]


@pytest.fixture
def payer(server):
    """A client whose token has the pay scope."""
    with handful.Client(server[0], server[2]) as client:
        yield client


def wait_for(server, process):
    """Wait until the server replies, at most half a minute because other jobs may use the CPU."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        try:
            urllib.request.urlopen(f"{server}/api/v1/studies/", timeout=PATIENCE)
        except urllib.error.HTTPError:
            return  # it replies
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server does not answer")


@pytest.fixture
def client(served):
    with handful.Client(*served) as client:
        yield client


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A configuration folder for this test, and no login in the environment."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("HANDFUL_TOKEN", raising=False)
    monkeypatch.delenv("HANDFUL_SERVER", raising=False)
    return tmp_path
