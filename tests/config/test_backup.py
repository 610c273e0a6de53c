"""A backup can be restored into an empty installation, with identical data and guards."""

import lzma
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import psycopg2
import pytest
from django.core.management.base import CommandError
from django.db import connection

from annotation.management import backups
from tests.config.test_upgrade import ROOT, manage, own_database
from tests.config.test_upgrade_of_releases import look
from tests.upgrades.make import FOLDER, KEYS

# Each test runs up to twelve commands in processes.
pytestmark = [pytest.mark.long, pytest.mark.engines, pytest.mark.timeout(600)]
KEYS = KEYS | {"SECRET_KEY": "the secret of installations in tests, long enough"}


def done(environment: dict[str, str], *command: object) -> str:
    ran = manage(environment, *map(str, command))
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def refused(environment: dict[str, str], *command: object) -> str:
    ran = manage(environment, *map(str, command))
    assert ran.returncode == 1, ran.stdout
    assert "Traceback" not in ran.stderr
    return ran.stderr


@pytest.fixture(scope="module")
def running(tmp_path_factory) -> Iterator[dict[str, str]]:
    """An installation with answers and an upload in progress."""
    folder = tmp_path_factory.mktemp("running")
    with own_database(folder) as environment:
        if connection.vendor == "sqlite":
            path = Path(environment["DATABASE_URL"].removeprefix("sqlite:///"))
            path.write_bytes(lzma.decompress((FOLDER / "0.2.0.sqlite3.xz").read_bytes()))
        else:
            statements = lzma.decompress((FOLDER / "0.2.0.sql.xz").read_bytes()).decode()
            server = psycopg2.connect(environment["DATABASE_URL"])
            with server, server.cursor() as cursor:
                cursor.execute(statements)
            server.close()
        environment |= KEYS
        done(environment, "migrate", "-v0")
        upload = Path(environment["HANDFUL_VAR"]) / "uploads" / "one" / "task.toml"
        upload.parent.mkdir(parents=True)
        upload.write_text("name = 'x'\n")
        yield environment


@pytest.fixture
def empty(tmp_path) -> Iterator[dict[str, str]]:
    (tmp_path / "new").mkdir()
    with own_database(tmp_path / "new") as environment:
        yield environment | KEYS


SEATS = """
from annotation.models import Participation
rows = Participation.objects.order_by("pk")
print(*rows.values_list("pk", "scenario", "status", "seat_number", "token"), sep="\\n")
"""
# Two annotators answer until the process is killed, while others arrive and take seats.
WORK = """
from itertools import count
from time import sleep
from django.contrib.auth import get_user_model
from tests import factories
task = factories.make_task(name="toy-busy", test_size=400)
owner = get_user_model().objects.get(username="ada")
study = factories.make_study(owner, task, name="busy", shots=[2], annotators=1000)
people = [factories.seat(study.scenarios.get()) for _ in range(2)]
for number in count():
    for person in people:
        factories.work_through(person, limit=1)
    if number % 5 == 0:
        factories.seat(study.scenarios.get())
    print(number, flush=True)
    sleep(0.05)  # else all seats are taken when the backup is slow
"""
ANSWERS = """
from annotation.models import Answer
rows = Answer.objects.filter(turn__participation__study__name="busy").order_by("turn")
print(*rows.values_list("turn", "turn__participation", "turn__step", "turn__position", "s1",
    "turn__shown_at", "submitted_at"), sep="\\n")
"""


GAPS = """
from django.db.models import Count, F, Max
from annotation.models import Turn
of_steps = Turn.objects.order_by().values("participation", "step")
print(of_steps.annotate(n=Count("pk"), last=Max("position")).exclude(n=F("last") + 1).count())
"""


def shell(environment: dict[str, str], code: str) -> list[str]:
    return done(environment, "shell", "-v0", "-c", code).splitlines()


def exported(environment: dict[str, str], folder: Path) -> dict[str, bytes]:
    done(environment, "export_study", "closed", folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_restored_backup_exports_the_same_bytes_with_guards(running, empty, tmp_path):
    told = done(running, "backup", tmp_path / "handful.backup")
    assert "WORKER_KEY (fingerprint " in told
    with tarfile.open(tmp_path / "handful.backup") as tar:
        names = tar.getnames()
    assert names[-1] == "backup.json"
    assert {"var/installation.txt", "var/uploads/one/task.toml"} <= set(names)
    assert not any("key" in name for name in names)
    content = (tmp_path / "handful.backup").read_bytes()
    assert not [key for key in KEYS.values() if key.encode() in content]

    done(empty, "restore", tmp_path / "handful.backup")
    assert look(empty) == look(running)
    assert shell(empty, SEATS) == shell(running, SEATS)
    assert look(empty)[2:] == ["[]", "refused: True", "refused: True"]
    assert exported(empty, tmp_path / "a") == exported(running, tmp_path / "b")
    for name in ("installation.txt", "uploads/one/task.toml"):
        paths = (Path(environment["HANDFUL_VAR"]) / name for environment in (running, empty))
        assert len({path.read_text() for path in paths}) == 1
    assert "No changes" in done(empty, "makemigrations", "--check", "--dry-run")
    done(empty, "check", "--database", "default")


def test_a_backup_during_work_is_a_consistent_snapshot(running, empty, tmp_path):
    command = [sys.executable, "manage.py", "shell", "-v0", "-c", WORK]
    working = subprocess.Popen(
        command, cwd=ROOT, env=os.environ | running, stdout=subprocess.PIPE, text=True
    )
    try:
        assert [working.stdout.readline() for _ in range(8)][-1] == "7\n"
        done(running, "backup", tmp_path / "handful.backup")
        after = len(shell(running, ANSWERS))
        working.stdout.readline()
    finally:
        working.kill()
        working.communicate()
    done(empty, "restore", tmp_path / "handful.backup")
    restored, kept = shell(empty, ANSWERS), shell(running, ANSWERS)
    # Work continued after the backup, which therefore contains only a part of it.
    assert 16 <= len(restored) <= after <= len(kept)
    assert restored == [row for row in kept if row in set(restored)]
    assert look(empty)[2:] == ["[]", "refused: True", "refused: True"]
    # Each participant's answers are complete up to the last one, and the export can be recomputed.
    done(empty, "export_study", "busy", tmp_path / "export")
    verified = subprocess.run(
        [sys.executable, tmp_path / "export" / "verify.py"], capture_output=True, check=False
    )
    assert verified.returncode == 0, verified.stdout.decode()
    assert shell(empty, GAPS) == ["0"]
    done(empty, "check", "--database", "default")


def test_a_restore_never_overwrites(running, tmp_path):
    path = tmp_path / "handful.backup"
    done(running, "backup", path)
    before = look(running)
    assert "The database is not empty" in refused(running, "restore", path)
    assert look(running) == before
    assert "already exists" in refused(running, "backup", path)


def test_other_keys_are_reported_before_a_restore(running, empty, tmp_path):
    path = tmp_path / "handful.backup"
    done(running, "backup", path)
    other = empty | {"IDENTITY_KEY": "another one, as long as a key has to be"}
    assert "IDENTITY_KEY: not the same key" in refused(other, "restore", path)
    done(empty, "restore", path)  # the refusal left it empty


def test_a_truncated_or_altered_backup_is_refused(running, empty, tmp_path):
    path = tmp_path / "handful.backup"
    done(running, "backup", path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    assert "is not a complete backup" in refused(empty, "restore", path)
    place = content.index(b"name = 'x'")
    path.write_bytes(content[:place] + b"name = 'y'" + content[place + 10 :])
    assert ("var/uploads/one/task.toml differs from the file that was backed up") in refused(
        empty, "restore", path
    )
    path.write_bytes(b"handful")
    assert "is not a complete backup" in refused(empty, "restore", path)
    path.write_bytes(content)
    done(empty, "restore", path)


def test_a_backup_into_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(CommandError, match="missing is not a folder"):
        backups.write(tmp_path / "missing" / "backup.tar")


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.SYMTYPE])
def test_a_backup_with_a_file_outside_its_folder_is_refused(kind, tmp_path):
    """Paths and links outside the folder are refused on every supported Python version."""
    path = tmp_path / "crafted.handful"
    with tarfile.open(path, "w") as tar:
        member = tarfile.TarInfo("../outside" if kind == tarfile.REGTYPE else "link")
        member.type, member.linkname = kind, "/etc/passwd"
        tar.addfile(member)
    folder = tmp_path / "folder"
    folder.mkdir()
    with path.open("rb") as file, pytest.raises(CommandError, match="is not a backup: it contains"):
        backups.unpack(file, folder, path)
    assert not (tmp_path / "outside").exists()
