"""The wheel `handful-server` is a single package that can serve from any folder."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import requests
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]
FOLDERS = ("analysis", "annotation", "config", "docs", "locale", "static", "tasks", "templates")


def test_the_wheel_has_all_files_of_the_server_in_one_package():
    """So it doesn't install packages with common names, such as `config`."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", *FOLDERS],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    files = {Path(name) for name in listed if (ROOT / name).exists()}
    programs = {path for path in files if path.parts[0] == "docs" and path.suffix == ".py"}
    files -= programs | {path for path in files if path.suffix == ".po"}
    needed = {path.as_posix() for path in files} | {"__init__.py", "pyproject.toml"}
    inside = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    assert inside == {f"handful_server/{name}" for name in needed}
    assert "handful_server/annotation/migrations/0001_initial.py" in inside
    assert "handful_server/locale/de/LC_MESSAGES/django.mo" in inside


def run(*command: str | Path, folder: Path, umask: int = -1) -> None:
    subprocess.run(command, cwd=folder, check=True, umask=umask, timeout=900)


def build(into: Path, umask: int) -> Path:
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
        "--wheel-dir", into, ".", folder=ROOT, umask=umask)  # fmt: skip
    (wheel,) = into.glob("handful_server-*.whl")
    return wheel


@pytest.mark.long
@pytest.mark.sqlite  # as on a first start, without PostgreSQL
@pytest.mark.timeout(1800)  # pip installs all packages, and 24 simulated annotators work
def test_the_wheel_alone_serves_a_filled_study(tmp_path):
    wheel, again = (build(tmp_path / f"{umask}", umask) for umask in (0o022, 0o077))
    assert wheel.read_bytes() == again.read_bytes()

    run(sys.executable, "-m", "venv", tmp_path / "venv", folder=tmp_path)
    scripts = tmp_path / "venv/bin"
    run(scripts / "pip", "install", "--quiet", wheel, folder=tmp_path)
    assert not {path.name for path in (tmp_path / "venv").rglob("site-packages/*")} & {*FOLDERS}

    empty = tmp_path / "empty"
    empty.mkdir()
    ours = ("DATABASE_URL", "HANDFUL_VAR", "STATIC_ROOT", "PYTHONPATH")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (tmp_path / "errors").open("w") as errors:
        demo = subprocess.Popen(
            [scripts / "handful-server", "demo", "--port", str(port)], cwd=empty,
            env={name: value for name, value in os.environ.items() if name not in ours},
            stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True,
        )  # fmt: skip
    try:
        printed = ""
        while "Press Ctrl+C to stop." not in printed:
            line = demo.stdout.readline()
            assert line, printed + (tmp_path / "errors").read_text()
            printed += line
        _join, _dashboard, table = re.findall(r"http://\S+", printed)
        account = re.search(r"Login: +(\S+) / (\S+)", printed)
        with requests.Session() as browser:
            form = browser.get(table, timeout=60)
            token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form.text)[1]
            fields = {"login": account[1], "password": account[2], "csrfmiddlewaretoken": token}
            page = browser.post(form.url, fields, timeout=60)
            assert page.url == table
            assert "demo-sentiment" in page.text
            assert "81.7" in page.text
            style = re.search(r'href="(/static/css/\S+\.[0-9a-f]{12}\.css)"', page.text)[1]
            server = f"http://127.0.0.1:{port}"
            assert browser.get(server + style, timeout=60).headers["Content-Encoding"] == "br"
            assert "tutorial" in browser.get(f"{server}/help/", timeout=60).text
    finally:
        os.killpg(demo.pid, signal.SIGKILL)
        demo.wait(60)
    assert [path.name for path in empty.iterdir()] == ["handful-data"]
