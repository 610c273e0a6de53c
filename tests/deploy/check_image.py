"""Run every step of the Containerfile in an empty Debian, then serve from the result.

It serves as an unprivileged user on a read-only root, and every check of a deployment passes.
"""

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy import image, machine

ROOT = Path(__file__).parents[2]
PORT, POOL_PORT = "8287", "8288"
VARIABLES = {
    "SECRET_KEY": "s" * 25 + "1234567890" * 3 + "abcdefghijk",
    "WORKER_KEY": "w" * 25 + "1234567890" * 3,
    "IDENTITY_KEY": "i" * 25 + "1234567890" * 3,
    "ALLOWED_HOSTS": "annotate.example.org",
    "HTTPS": "1",
    "TRUSTED_PROXIES": "1",
    "PORT": PORT,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> image.Image:
    scratch = tmp_path_factory.mktemp("image")
    scratch.parent.chmod(0o755)
    scratch.chmod(0o755)
    context = tmp_path_factory.mktemp("context")
    shutil.copytree(ROOT / "deploy", context / "deploy")
    wheel = ["pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", str(ROOT)]
    subprocess.run([sys.executable, "-m", *wheel, "--wheel-dir", context / "dist"], check=True)
    return image.build(ROOT / "deploy/Containerfile", context, scratch)


@pytest.fixture(scope="module")
def volume(made, tmp_path_factory) -> Path:
    """/var/lib/handful, owned as in the image."""
    return machine.copy(made.root / "var/lib/handful", tmp_path_factory.mktemp("v") / "var")


def contained(made: image.Image, volume: Path, *command: str) -> list[str]:
    """Run it as compose.yaml does: read-only, as the image's user, with one volume."""
    return machine.inside(
        made.root, list(command), environment=made.environment | VARIABLES, user=made.user,
        folder=made.folder, read_only=True, writable={"/var/lib/handful": volume},
    )  # fmt: skip


@pytest.fixture(scope="module")
def migrated(made, volume) -> Path:
    machine.run(contained(made, volume, "handful-server", "migrate", "--noinput"))
    return volume


@pytest.fixture
def server(made, migrated, tmp_path) -> Iterator[subprocess.Popen]:
    command = ["127.0.0.1" if word == "0.0.0.0" else word for word in made.command]
    command += ["--port", PORT]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(contained(made, migrated, *command), stdout=log, stderr=log)
        yield process
        machine.stop(process)


def test_the_user_is_not_root_and_owns_no_program_file(made):
    assert made.user == "10001:10001"
    owners = {path.lstat().st_uid for path in (made.root / "opt/venv").rglob("*")}
    assert owners == {0}
    assert (made.root / "var/lib/handful").stat().st_uid == 10001


def test_the_image_has_no_key_and_no_tests(made):
    program = made.root / made.folder.lstrip("/")
    assert (program / "staticfiles/staticfiles.json").exists()
    assert not list(program.rglob("*_key.txt"))
    assert not list(made.root.glob("var/lib/handful/*"))
    assert not (program / "tests").exists()
    assert not (made.root / "srv").is_dir() or not list((made.root / "srv").iterdir())


def test_every_check_of_a_deployment_passes(made, migrated):
    machine.run(
        contained(
            made,
            migrated,
            "handful-server",
            "check",
            "--deploy",
            "--database",
            "default",
            "--fail-level",
            "WARNING",
        )
    )


def test_the_root_file_system_is_read_only(made, migrated):
    for place in ("/opt/venv/x", f"{made.folder}/x", "/etc/x", "/var/lib/x"):
        done = subprocess.run(contained(made, migrated, "touch", place), capture_output=True)
        assert done.returncode != 0, place


def test_the_worker_of_jobs_finds_its_app(made, migrated):
    away = ["CELERY_BROKER_URL=redis://127.0.0.1:1/0", "DATABASE_URL=postgres://x@127.0.0.1:1/x"]
    report = ["celery", "-A", "config.celery", "report"]
    machine.run(contained(made, migrated, "env", *away, *report))


def test_the_health_check_succeeds_while_it_serves(made, migrated, server):
    for _second in range(60):
        health = subprocess.run(contained(made, migrated, *made.health), capture_output=True)
        if health.returncode == 0:
            break
        assert server.poll() is None
        time.sleep(1)
    assert health.returncode == 0, health.stderr
    (first,) = machine.first_processes(server)
    assert Path(f"/proc/{first}").stat().st_uid == 10001


def test_the_health_check_fails_without_a_server(made, migrated):
    health = subprocess.run(contained(made, migrated, *made.health), capture_output=True)
    assert health.returncode == 1


def test_the_pgbouncer_image_runs_as_an_unprivileged_user(tmp_path):
    tmp_path.chmod(0o755)
    made = image.build(ROOT / "deploy/Containerfile.pgbouncer", ROOT, tmp_path)
    assert made.user == "10002:10002"
    said = machine.run(machine.inside(made.root, ["pgbouncer", "--version"], user=made.user))
    assert said.startswith("PgBouncer 1.")
    # As compose.yaml mounts them, on a port of this machine.
    ini = (ROOT / "deploy/pgbouncer.ini").read_text()
    ini = ini.replace("6432", POOL_PORT).replace("0.0.0.0", "127.0.0.1")
    (made.root / "etc/pgbouncer").mkdir(exist_ok=True)
    (made.root / "etc/pgbouncer/pgbouncer.ini").write_text(ini)
    (made.root / "etc/pgbouncer/pgbouncer.ini").chmod(0o644)
    (made.root / "run/secrets").mkdir()
    (made.root / "run/secrets/users.txt").write_text('"handful" "x"\n')
    command = machine.inside(
        made.root, ["timeout", "-s", "INT", "3", *made.command], user=made.user, read_only=True
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "process up" in done.stderr, done.stderr
    assert not re.search(r"WARNING|ERROR|FATAL", done.stderr), done.stderr
