"""A folder var/ belongs to one database: both have an id, and other databases are refused."""

import os
import sqlite3
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from tasks import installation, uploads
from tasks.models import Installation

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def var(db, settings, tmp_path) -> Path:
    """A folder that this database has taken over."""
    settings.VAR_DIR = tmp_path / "var"
    installation.bind()
    return settings.VAR_DIR


def test_database_and_folder_have_the_same_id(var):
    own = str(Installation.objects.get().folder_id)
    assert (var / "installation.txt").read_text() == f"{own}\n"
    assert [path.name for path in var.iterdir()] == ["installation.txt"]
    installation.bind()
    assert (var / "installation.txt").read_text() == f"{own}\n"
    assert installation.conflict() == ""
    installation.require()


def test_a_folder_of_another_database_is_refused(var):
    (var / "installation.txt").write_text("00000000-0000-0000-0000-000000000000\n")
    with pytest.raises(ImproperlyConfigured, match="belongs to another database"):
        installation.require()
    with pytest.raises(CommandError, match="belongs to another database"):
        call_command("run_jobs")
    (error,) = [
        problem for problem in run_checks(databases=["default"]) if problem.id == "tasks.E001"
    ]
    assert str(var) in error.msg
    assert "HANDFUL_VAR" in error.msg


def test_a_new_folder_is_accepted_when_a_server_starts(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "new"
    installation.require()
    assert installation.conflict() == ""
    assert (tmp_path / "new" / "installation.txt").exists()


def test_a_server_reports_that_its_folder_is_not_the_shared_one(settings, tmp_path, caplog):
    installation.require()
    assert caplog.text == ""
    settings.VAR_DIR = tmp_path / "of-another-node"
    installation.require()
    assert f"{tmp_path / 'of-another-node'} is new to this database" in caplog.text


def start(var: Path, name: str) -> subprocess.CompletedProcess:
    """Load the server on this folder, with a database that contains only an id."""
    path = var.with_name(f"{name}.sqlite3")
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE IF NOT EXISTS tasks_installation (id, only, folder_id)")
    if not database.execute("SELECT 1 FROM tasks_installation").fetchone():
        database.execute("INSERT INTO tasks_installation VALUES (1, 1, ?)", [uuid.uuid4().hex])
    database.commit()
    database.close()
    own = {"HANDFUL_VAR": str(var), "DATABASE_URL": f"sqlite:///{path}"}
    return subprocess.run(
        [sys.executable, "-c", "import config.wsgi"], cwd=ROOT, env=os.environ | own,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.long
def test_a_server_with_another_database_refuses_the_same_folder(tmp_path):
    var = tmp_path / "shared"
    first = start(var, "first")
    assert first.returncode == 0, first.stderr
    second = start(var, "second")
    assert second.returncode != 0
    assert "belongs to another database" in second.stderr


def test_an_unowned_folder_is_deleted_after_an_hour(var):
    for name, age in (("new", 0), ("old", 3700)):
        (var / "uploads" / name).mkdir(parents=True)
        os.utime(var / "uploads" / name, (time.time() - age,) * 2)
    uploads.drop_old()
    assert [path.name for path in (var / "uploads").iterdir()] == ["new"]
