"""The server in docs/operating.md#deploy survives a killed worker and doesn't share its port."""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.management.commands import serve

ROOT = Path(__file__).parents[2]
OPERATING = (ROOT / "docs" / "operating.md").read_text()
(COMMAND,) = re.findall(r"^python manage.py serve .*$", OPERATING, re.M)


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@pytest.fixture
def server(port, tmp_path) -> Iterator[subprocess.Popen]:
    """The documented command, on a free port with an empty database."""
    command = shlex.split(COMMAND.replace("--port 8000", f"--port {port}"))
    command[0] = sys.executable
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        start_new_session=True,
        env=os.environ | {
            "HANDFUL_VAR": str(tmp_path),
            "DATABASE_URL": f"sqlite:///{tmp_path / 'own.sqlite3'}",
        },
    )  # fmt: skip
    yield process
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(60)


def workers(server: subprocess.Popen) -> set[int]:
    """Return the process ids of the server's workers."""
    tasks = Path(f"/proc/{server.pid}/task").glob("*/children")
    return {int(pid) for children in tasks for pid in children.read_text().split()}


def memory(pid: int) -> dict[str, int]:
    """Return the resident and the proportional set size of a process, in kB."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return {name: int(size) for name, size in re.findall(r"^(Rss|Pss): +(\d+)", rollup, re.M)}


def answers(port: int) -> bool:
    """Return whether a page is served. A killed worker may drop the connection."""
    try:
        page = urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30)
    except OSError:
        return False
    with page:
        return page.status == 200


def wait_for(what, process: subprocess.Popen) -> None:
    for _ in range(600):
        if what():
            return
        assert process.poll() is None, "the server has stopped"
        time.sleep(0.1)
    raise AssertionError("waited for 60 s")


@pytest.mark.long
def test_the_server_replaces_a_killed_worker(server, port):
    wait_for(lambda: answers(port), server)
    wait_for(lambda: len(workers(server)) == 2, server)
    before = workers(server)
    killed = min(before)
    os.kill(killed, signal.SIGKILL)
    wait_for(lambda: len(workers(server) - {killed}) == 2, server)
    wait_for(lambda: answers(port), server)


def test_deployed_servers_listen_only_on_the_local_machine():
    unit = (ROOT / "deploy/handful@.service").read_text()
    assert "--host" not in COMMAND
    assert "--host" not in unit
    assert serve.Command().create_parser("manage.py", "serve").get_default("host") == "127.0.0.1"


@pytest.mark.long
def test_workers_share_the_memory_of_the_program(server, port):
    wait_for(lambda: answers(port), server)
    sizes = [memory(pid) for pid in (server.pid, *workers(server))]
    assert sum(size["Pss"] for size in sizes) < 0.6 * sum(size["Rss"] for size in sizes)


@pytest.mark.long
def test_a_deployment_with_the_readme_settings_passes_all_checks(tmp_path):
    secrets = ("SECRET_KEY", "WORKER_KEY", "IDENTITY_KEY")
    # The browser tests set this variable for the whole run.
    variables = {k: v for k, v in os.environ.items() if k != "DJANGO_ALLOW_ASYNC_UNSAFE"}
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT, capture_output=True, text=True, timeout=100,
        env=variables | {name: name + "-" + "k3y" * 20 for name in secrets} | {
            "HANDFUL_VAR": str(tmp_path),
            "DATABASE_URL": f"sqlite:///{tmp_path / 'own.sqlite3'}",
            "ALLOWED_HOSTS": "annotate.example.org",
            "HTTPS": "1",
            "TRUSTED_PROXIES": "1",
        },
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "(1 silenced)" in done.stdout + done.stderr


def test_only_named_hosts_and_localhost_are_answered(client):
    assert client.get("/", headers={"host": "localhost"}).status_code == 200
    assert client.get("/", headers={"host": "0.0.0.0"}).status_code == 400


def test_the_page_after_declining_is_never_cached(client, db):
    assert "no-store" in client.get(reverse("declined"))["Cache-Control"]


def test_the_demo_refuses_a_port_that_is_taken(port):
    """With SO_REUSEPORT, two servers could share a port, and each would get half the requests."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        taken.bind(("127.0.0.1", port))
        taken.listen()
        with pytest.raises(CommandError, match=f"port {port} .*in use.*choose another port"):
            call_command("demo", port=port)
    with pytest.raises(CommandError, match="port must be 0-65535.*choose another port"):
        call_command("demo", port=99_999_999)


@pytest.mark.long
@pytest.mark.parametrize(
    ("option", "value"), [("--port", "99999999"), ("--port", "-1"), ("--host", "localhost"),
                          ("--host", "192.0.2.1")],
)  # fmt: skip
def test_an_address_without_a_socket_is_refused_in_one_line(option, value, tmp_path):
    command = [sys.executable, "manage.py", "serve", option, value, "--verbosity", "0"]
    environment = os.environ | {"HANDFUL_VAR": str(tmp_path)}
    ended = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("CommandError: Cannot listen on")
    assert value in last


@pytest.mark.long
@pytest.mark.timeout(400)  # 24 simulated annotators finish before a link is printed
def test_the_links_that_the_demo_prints_work(port, tmp_path):
    places = {"HANDFUL_VAR": str(tmp_path), "STATIC_ROOT": str(tmp_path / "static")}
    environment = {k: v for k, v in os.environ.items() if k != "DATABASE_URL"} | places
    command = [sys.executable, "manage.py", "demo", "--port", str(port)]
    with (tmp_path / "errors").open("w") as errors:
        demo = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True,
            start_new_session=True,
        )  # fmt: skip
    try:
        printed = ""
        while "Press Ctrl+C to stop." not in printed:
            line = demo.stdout.readline()
            assert line, printed + (tmp_path / "errors").read_text()
            printed += line
        links = re.findall(r"http://\S+", printed)
        assert len(links) == 3
        titles = ("A short reading task", "Sign in", "Sign in")
        for link, title in zip(links, titles, strict=True):
            with urllib.request.urlopen(link, timeout=60) as page:
                assert title in page.read().decode()
        collected = [path.name for path in (tmp_path / "static").rglob("*")]
        assert [name for name in collected if name.endswith(".js")]
        assert not [name for name in collected if name.endswith((".js.br", ".css.gz"))]
    finally:
        os.killpg(demo.pid, signal.SIGKILL)
        demo.wait(60)
