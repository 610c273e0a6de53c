"""Servers need complete, long keys that match the data, in a folder that only the owner can read.

Each test runs real processes in a separate folder.
"""

import contextlib
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from annotation import key_check
from annotation.models import KeyCheck
from config import keys

KEYS = ("SECRET_KEY", "WORKER_KEY", "IDENTITY_KEY")
SHOW = f"from django.conf import settings; print(*(getattr(settings, k) for k in {KEYS!r}))"


def process(var: Path, *arguments: str, umask: int = 0o022, **variables: str):
    """Run Python with the project's settings and this folder."""
    environment = {k: v for k, v in os.environ.items() if k not in (*KEYS, "DATABASE_URL")}
    environment |= {
        "HANDFUL_VAR": str(var),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONPATH": str(settings.BASE_DIR),
        **variables,
    }
    return subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        timeout=90,
        umask=umask,
    )


@pytest.fixture(scope="module")
def migrated(tmp_path_factory) -> Path:
    """A folder from an earlier version, with a migrated database, that all users can read."""
    var = tmp_path_factory.mktemp("installed") / "var"
    var.mkdir(mode=0o755)
    (var / "handful.sqlite3").touch(mode=0o644)
    assert process(var, "manage.py", "migrate", "--verbosity=0").returncode == 0
    return var


@pytest.mark.long
def test_processes_started_together_agree_on_complete_keys(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        shown = list(pool.map(lambda _n: process(tmp_path / "var", "-c", SHOW), range(8)))
    assert [result.returncode for result in shown] == [0] * 8
    (keys,) = {result.stdout for result in shown}
    assert [len(key) for key in keys.split()] == [64, 64, 64]
    assert sorted(path.name for path in (tmp_path / "var").glob("*key*")) == [
        "identity_key.txt", "secret_key.txt", "worker_key.txt",
    ]  # fmt: skip
    assert not list((tmp_path / "var").glob("tmp*"))


@pytest.mark.parametrize("content", ["", "\n", "short"])
@pytest.mark.parametrize("name", KEYS)
def test_an_empty_or_cut_off_key_is_refused(tmp_path, monkeypatch, name, content):
    monkeypatch.delenv(name, raising=False)
    (tmp_path / f"{name.lower()}.txt").write_text(content)
    with pytest.raises(ImproperlyConfigured, match=f"has {len(content.strip())} characters"):
        keys.secret(name, tmp_path)
    monkeypatch.setenv(name, "abc")
    with pytest.raises(ImproperlyConfigured, match=f"the variable {name} has 3 characters"):
        keys.secret(name, tmp_path)


def test_no_process_starts_with_an_empty_key(tmp_path):
    (tmp_path / "worker_key.txt").touch()
    reply = process(tmp_path, "-c", SHOW)
    assert reply.returncode != 0
    assert "worker_key.txt has 0 characters" in reply.stderr


def test_a_key_that_could_not_be_written_leaves_no_file(tmp_path):
    """A file size limit simulates a first start on a full disk."""
    code = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); {SHOW}"
    )
    assert process(tmp_path, "-B", "-c", code).returncode != 0
    assert not list(tmp_path.glob("*key*"))
    assert process(tmp_path, "-c", SHOW).returncode == 0


@pytest.mark.long
def test_other_users_cannot_read_files_in_var(tmp_path, migrated):
    fresh = tmp_path / "fresh"
    process(fresh, "-c", SHOW)
    for var in (migrated, fresh):
        assert stat.S_IMODE(var.stat().st_mode) == 0o700
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in var.iterdir()}
        assert modes["handful.sqlite3"] == modes["worker_key.txt"] == 0o600


@pytest.mark.long
def test_migrate_creates_the_shared_cache(migrated):
    """This uses a separate database, because Django's test runner creates the cache table."""
    code = (
        "import django; django.setup(); from annotation.recruitment import visitors;"
        "print(visitors.admit('198.51.100.7'))"
    )
    reply = process(migrated, "-c", code)
    assert (reply.stdout, reply.stderr) == ("True\n", "")


@pytest.mark.long
def test_a_server_does_not_start_with_keys_that_do_not_fit(tmp_path, migrated):
    start = ("-c", "import config.wsgi")
    var = shutil.copytree(migrated, tmp_path / "var")
    assert process(var, *start).returncode == 0
    (var / "worker_key.txt").unlink()  # as after restoring only the database
    reply = process(var, *start)
    assert reply.returncode != 0
    assert (
        "WORKER_KEY: this is not the key that the ids in this database were stored with"
    ) in reply.stderr
    # An administrator can accept the loss of a key.
    process(var, "manage.py", "accept_keys", "--yes")
    assert process(var, *start).returncode == 0


@pytest.mark.long
def test_a_server_names_missing_guards_when_it_starts(tmp_path, migrated):
    var = shutil.copytree(migrated, tmp_path / "var")
    with contextlib.closing(sqlite3.connect(var / "handful.sqlite3")) as database:
        database.execute("DROP TRIGGER annotation_answer_no_update")
    reply = process(var, "-c", "import config.wsgi")
    assert reply.returncode == 0
    assert "annotation_answer_no_update" in reply.stderr


@pytest.mark.django_db
@pytest.mark.parametrize("name", key_check.NAMES)
@pytest.mark.parametrize(
    "command",
    [
        ["tick"], ["run_jobs"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_command_that_uses_keys_or_pays_refuses_another_key(settings, command, name):
    setattr(settings, name, "another key, and as long as a key has to be")
    with pytest.raises(CommandError, match=f"{name}: this is not the key that the ids"):
        call_command(*command)


@pytest.mark.django_db
@pytest.mark.parametrize("name", key_check.NAMES)
def test_the_check_names_the_changed_key(settings, name):
    assert not key_check.problem()
    setattr(settings, name, "another key, and as long as a key has to be")
    assert key_check.problem().startswith(f"{name}: this is not the key")
    (problem,) = [
        problem for problem in run_checks(databases=["default"]) if problem.id == "annotation.E002"
    ]
    assert problem.msg == key_check.problem()
    with pytest.raises(ImproperlyConfigured):
        key_check.require()
    call_command("accept_keys", stdout=(output := StringIO()))
    assert "cannot be read" in output.getvalue()
    assert key_check.problem()


@pytest.mark.django_db
def test_the_stored_check_does_not_reveal_a_key(settings):
    stored = str(list(KeyCheck.objects.values_list("name", "value")))
    assert KeyCheck.objects.count() == 2
    assert settings.WORKER_KEY not in stored
    assert settings.IDENTITY_KEY not in stored


@pytest.mark.parametrize(
    ("given", "warned"),
    [
        ({}, ["config.W002", "config.W003"]),
        ({"WORKER_KEY": "k" * 40}, ["config.W003"]),
        ({"WORKER_KEY": "k" * 40, "IDENTITY_KEY": "i" * 40}, []),
    ],
)
def test_check_deploy_warns_of_keys_that_come_from_a_file(given, warned, monkeypatch):
    for name in ("WORKER_KEY", "IDENTITY_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    ids = [message.id for message in run_checks(include_deployment_checks=True)]
    assert [check for check in ids if check in ("config.W002", "config.W003")] == warned
