"""Interrupted upgrades can be continued, and no upgrade goes backwards.

Tests that migrate have a separate database, and run the real command in a process.
"""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg2
import pytest
from django.db import connection

from annotation import guards_in_migrations
from tasks import installation

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
NEXT_RELEASE = {"DJANGO_SETTINGS_MODULE": "tests.next_release.settings"}

ANSWERED = """
from django.contrib.auth import get_user_model
from django.core.management import call_command
from tests import factories
call_command("migrate", verbosity=0)
owner = get_user_model().objects.create_user("ada")
study = factories.make_study(owner, factories.make_task(), shots=[2])
factories.work_through(factories.seat(study.scenarios.get()), limit=4)
"""
ASK = """
from django.db import DatabaseError, connection
from django.db.migrations.recorder import MigrationRecorder
from annotation import guards
from annotation.models import Answer
if MigrationRecorder(connection).migration_qs.filter(name="9999_next_release").exists():
    print("next", end=" ")
print(len(guards.missing(connection)), end=" ")
print(sorted(set(Answer.objects.values_list("active_seconds", flat=True)))[-1] == 77.0, end=" ")
try:
    Answer.objects.update(s1=0.5)
except DatabaseError as error:
    print("insert-only" in str(error), end=" ")
print(Answer.objects.count())
"""
LIFT = """
from django.db import connection
from annotation import guards
guards.lift(connection)
"""
# Checks, which the command line runs first.
CHECK = """
from django.core.management import call_command
call_command("check", databases=["default"])
"""
MIGRATE = """
from django.core.management import call_command
call_command("migrate", verbosity=0, skip_checks=False)
"""


@contextlib.contextmanager
def own_database(folder: Path, template: str = "") -> Iterator[dict[str, str]]:
    """Yield the environment for processes with a separate database, on this run's engine.

    The database is a copy of `template` on PostgreSQL, and a file in the folder on SQLite.
    """
    environment = os.environ | {
        "HANDFUL_VAR": str(folder),
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    if connection.vendor == "sqlite":
        yield environment | {"DATABASE_URL": f"sqlite:///{folder / 'own.sqlite3'}"}
        return
    address, name = (
        urlsplit(os.environ["DATABASE_URL"]),
        f"upgrade_{os.getpid()}_{secrets.token_hex(4)}",
    )
    server = psycopg2.connect(os.environ["DATABASE_URL"])
    server.autocommit = True
    with server.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name} TEMPLATE {template or 'template1'}")
        yield environment | {"DATABASE_URL": urlunsplit(address._replace(path=f"/{name}"))}
        cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")
    server.close()


@pytest.fixture
def database(tmp_path) -> Iterator[dict[str, str]]:
    with own_database(tmp_path) as environment:
        yield environment


def manage(environment: dict[str, str], *command: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=200,
    )  # fmt: skip


def asked(environment: dict[str, str], first: str = "") -> str:
    """Return what ASK prints in a process, after running this code."""
    done = manage(environment, "shell", "-v0", "-c", first + ASK)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> Iterator[dict[str, str]]:
    """A database of this release with four answers, and its keys, which tests copy."""
    with own_database(tmp_path_factory.mktemp("prepared")) as environment:
        done = manage(environment, "shell", "-v0", "-c", ANSWERED)
        assert done.returncode == 0, done.stderr
        yield environment


@pytest.fixture
def answered(prepared, tmp_path) -> Iterator[dict[str, str]]:
    """A copy of `prepared`."""
    folder = Path(shutil.copytree(prepared["HANDFUL_VAR"], tmp_path / "var"))
    with own_database(folder, urlsplit(prepared["DATABASE_URL"]).path[1:]) as environment:
        yield environment


@pytest.mark.parametrize("how", ["kill", "fail"])
def test_a_broken_upgrade_leaves_answers_guarded_and_can_rerun(answered, how):
    broken = manage(answered | NEXT_RELEASE | {"BREAK": how}, "migrate", "-v0")
    assert broken.returncode == (-signal.SIGKILL if how == "kill" else 1), broken.stderr
    assert asked(answered) == "0 False True 4"
    assert asked(answered | NEXT_RELEASE, MIGRATE) == "next 0 True True 4"


def test_migrate_restores_missing_guards_that_the_check_reports(answered):
    check = manage(answered, "shell", "-v0", "-c", LIFT + CHECK)
    assert check.returncode == 1
    assert "annotation_answer_no_update is missing or altered" in check.stderr
    assert asked(answered, MIGRATE) == "0 False True 4"


def test_migrating_backwards_is_refused_before_any_change(answered):
    back = manage(answered, "migrate", "-v0", "annotation", "zero")
    assert back.returncode == 1
    assert back.stderr.strip() == f"CommandError: {guards_in_migrations.NO_WAY_BACK}"
    applied = manage(answered, "showmigrations", "annotation").stdout
    assert "[X] 0001" in applied
    assert "[ ]" not in applied


RETIRE = """
from django.core.management import CommandError, call_command
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute({statement!r})
try:
    call_command("migrate", verbosity=0, skip_checks=False)
except CommandError as error:
    print(error)
"""
START = """
from django.core.exceptions import ImproperlyConfigured
try:
    import config.wsgi
except ImproperlyConfigured as error:
    print(error)
"""


APPLIED = (
    "INSERT INTO django_migrations (app, name, applied) VALUES ('annotation', '{}', '2025-01-01')"
)
OLD = [
    f"CREATE TABLE {installation.OLD_TABLE} (id integer)",
    *map(APPLIED.format, installation.OLD_SECOND),
]


@pytest.mark.parametrize("statement", OLD, ids=["0.1.0", "before it", "after it"])
def test_a_database_before_0_2_0_is_refused_by_migrate_and_start(answered, statement):
    told = asked(answered | NEXT_RELEASE, RETIRE.format(statement=statement))
    assert told.splitlines() == [installation.OLD, "0 False True 4"]
    start = subprocess.run(
        [sys.executable, "-c", START],
        cwd=ROOT, env=answered, capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert start.stdout.splitlines() == [installation.OLD]
