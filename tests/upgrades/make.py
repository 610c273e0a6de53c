"""Write the database of this release, with data in it, for the tests of later upgrades.

Run on the commit of a release, once on each engine:

    python tests/upgrades/make.py 0.2.0
    python tests/with_postgres.py python tests/upgrades/make.py 0.2.0

It writes tests/upgrades/0.2.0.sqlite3.xz or tests/upgrades/0.2.0.sql.xz. Keys are fixed and for
tests alone.
"""

import lzma
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pgserver

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
# The stored ids depend on these keys: a server that upgrades the databases needs the same.
KEYS = {
    "WORKER_KEY": "the key of workers in databases for tests",
    "IDENTITY_KEY": "the key of identities in databases for tests",
}

FILL = """
from django.contrib.auth import get_user_model
from annotation.models import Study
from annotation.privacy import withdrawal
from annotation.protocol import exclusion
from annotation.study import lifecycle
from tests import factories

owner = get_user_model().objects.create_user("ada")
places = factories.make_task()
labels = factories.make_task(name="toy-labels", labels=factories.LABELS)
running = factories.make_study(owner, places, labels, name="running", shots=[0, 2], annotators=3)
for scenario in running.scenarios.all():
    factories.work_through(factories.seat(scenario))
    factories.work_through(factories.seat(scenario), limit=1)
gone = factories.seat(running.scenarios.first())
factories.work_through(gone, limit=2)
withdrawal.withdraw(gone.token)
factories.join(running)
closed = factories.make_study(owner, places, name="closed", shots=[2], annotators=2)
done = [factories.seat(closed.scenarios.get()) for _ in range(2)]
for participation in done:
    factories.work_through(participation)
exclusion.decide(done[0], False, "clicked through", owner)
lifecycle.change_status(closed, "close", owner)
factories.make_study(owner, labels, name="draft", status="draft", shots=[0])
factories.predict(owner, "model", places, 2, 1)
"""


def run(*command: str, environment: dict[str, str]) -> bytes:
    """Run a command in the project's folder; return its output or raise CalledProcessError."""
    return subprocess.run(
        command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, timeout=300
    ).stdout


def dump(release: str) -> Path:
    """Create the database, fill it through the real steps, and write it compressed."""
    with tempfile.TemporaryDirectory(prefix="handful-upgrades-") as folder:
        environment = (
            os.environ
            | KEYS
            | {
                "HANDFUL_VAR": folder,
                "DJANGO_SETTINGS_MODULE": "config.settings",
            }
        )
        on_postgresql = environment.get("DATABASE_URL", "").startswith("postgres")
        own = Path(folder) / "own.sqlite3"
        if not on_postgresql:
            environment["DATABASE_URL"] = f"sqlite:///{own}"
        manage = (sys.executable, "manage.py")
        run(*manage, "migrate", "-v0", environment=environment)
        run(*manage, "shell", "-v0", "-c", FILL, environment=environment)
        if on_postgresql:
            # The version of the server that tests/with_postgres.py starts.
            program = Path(pgserver.__file__).parent / "pginstall" / "bin" / "pg_dump"
            options = ("--inserts", "--no-owner", "--no-privileges")
            url = environment["DATABASE_URL"]
            contents = run(str(program), *options, url, environment=environment)
            # Remove psql's commands: tests restore through a driver.
            lines = contents.splitlines(keepends=True)
            contents = b"".join(line for line in lines if not line.startswith(b"\\"))
        else:
            run(*manage, "shell", "-v0", "-c", CHECKPOINT, environment=environment)
            contents = own.read_bytes()
    path = FOLDER / f"{release}.{'sql' if on_postgresql else 'sqlite3'}.xz"
    path.write_bytes(lzma.compress(contents, preset=9))
    return path


CHECKPOINT = """
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    cursor.execute("VACUUM")
"""

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    written = dump(sys.argv[1])
    print(f"{written.name}: {written.stat().st_size / 1000:.0f} kB")
