"""Databases from every earlier release can be upgraded, on this run's engine."""

import lzma
import re
import subprocess
import sys
from pathlib import Path

import psycopg2
import pytest
from django.db import connection

from tests.config.test_upgrade import NEXT_RELEASE, database, manage  # noqa: F401
from tests.upgrades.make import FOLDER, KEYS

pytestmark = pytest.mark.long

RELEASES = sorted({re.sub(r"\.(sqlite3|sql)\.xz$", "", path.name) for path in FOLDER.glob("*.xz")})

LOOK = """
from django.db import DatabaseError, connection, transaction
from annotation import guards
from annotation.models import Answer, Participation, Study
print(dict(Study.objects.order_by("name").values_list("name", "status")))
print(Answer.objects.count(), Participation.objects.filter(kind="person").count())
print(guards.missing(connection))
for change in (Answer.objects.update, Study.objects.filter(status="open").update):
    try:
        with transaction.atomic():
            change(**({"s1": 0.5} if change == Answer.objects.update else {"manifest_hash": "0"}))
    except DatabaseError as error:
        print("refused:", "insert-only" in str(error) or "frozen" in str(error))
"""


@pytest.fixture
def released(request, database):  # noqa: F811
    """The environment of a database that this release created."""
    release = request.param
    if connection.vendor == "sqlite":
        path = Path(database["DATABASE_URL"].removeprefix("sqlite:///"))
        path.write_bytes(lzma.decompress((FOLDER / f"{release}.sqlite3.xz").read_bytes()))
    else:
        statements = lzma.decompress((FOLDER / f"{release}.sql.xz").read_bytes()).decode()
        with psycopg2.connect(database["DATABASE_URL"]) as server, server.cursor() as cursor:
            cursor.execute(statements)
        server.close()
    return database | KEYS


def look(environment: dict[str, str]) -> list[str]:
    done = manage(environment, "shell", "-v0", "-c", LOOK)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_release_has_a_database_of_each_engine():
    assert RELEASES
    for release in RELEASES:
        assert (FOLDER / f"{release}.sqlite3.xz").exists()
        assert (FOLDER / f"{release}.sql.xz").exists()


@pytest.mark.parametrize("released", RELEASES, indirect=True)
def test_a_release_is_upgraded_with_its_answers_and_guards(released, tmp_path):
    upgrade = manage(released, "migrate", "-v0")
    assert upgrade.returncode == 0, upgrade.stderr
    assert look(released) == [
        "{'closed': 'closed', 'draft': 'draft', 'running': 'open'}",
        "36 12",
        "[]",
        "refused: True",
        "refused: True",
    ]
    export = manage(released, "export_study", "closed", str(tmp_path / "closed"))
    assert export.returncode == 0, export.stderr
    verified = subprocess.run(
        [sys.executable, tmp_path / "closed" / "verify.py"], capture_output=True, text=True
    )
    assert verified.returncode == 0, verified.stdout
    # Then migrate to the simulated next release, which rebuilds a guarded table.
    following = manage(released | NEXT_RELEASE, "migrate", "-v0")
    assert following.returncode == 0, following.stderr
    assert look(released)[2:] == ["[]", "refused: True", "refused: True"]
