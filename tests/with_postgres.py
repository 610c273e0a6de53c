"""Run a command against PostgreSQL: `python tests/with_postgres.py pytest -m postgres`.

Uses the server in DATABASE_URL. Without it, starts the server of the pgserver wheel in a temporary
folder and stops it at the end. The folder is in memory if 4 GB are free there, because emptying
tables is then five times faster. `--on-disk` as first argument keeps it on disk and leaves
autovacuum on, as in production, for benchmarks.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pgserver
from pgserver._commands import POSTGRES_BIN_PATH

# A race opens up to 64 connections in each pytest worker, and three workers run at once.
CONNECTIONS = 300
MEMORY = Path("/dev/shm")
ENOUGH = 4 * 2**30  # bytes: containers often have 64 MB there


def started(folder: str, autovacuum: str) -> pgserver.PostgresServer:
    """Start a server in the folder that accepts CONNECTIONS connections (the default is 100).

    Tests turn autovacuum off: it doesn't see the rows of an open transaction, in which many tests
    store whole studies. The planner would then assume empty tables, and one query takes minutes.
    """
    server = pgserver.get_server(folder, cleanup_mode="stop")
    server.psql(f"ALTER SYSTEM SET max_connections = {CONNECTIONS}")
    server.psql(f"ALTER SYSTEM SET autovacuum = {autovacuum}")
    server.cleanup()  # read at start only; pgserver passes no options on
    return pgserver.get_server(folder, cleanup_mode="stop")


if __name__ == "__main__":
    on_disk = sys.argv[1] == "--on-disk"
    command = sys.argv[1 + on_disk :]
    if os.environ.get("DATABASE_URL", "").startswith("postgres"):
        sys.exit(subprocess.call(command))
    in_memory = not on_disk and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ENOUGH
    # Avoid folders that only root can enter: the server runs as a separate user.
    with tempfile.TemporaryDirectory(
        prefix="handful-pg-", dir=MEMORY if in_memory else None, ignore_cleanup_errors=True
    ) as folder:
        server = started(folder, "on" if on_disk else "off")
        try:
            # Keep fsync on: the crash tests check durability. pg_dump and pg_restore must match the
            # server's version.
            path = f"{POSTGRES_BIN_PATH}{os.pathsep}{os.environ['PATH']}"
            environment = os.environ | {"DATABASE_URL": server.get_uri(), "PATH": path}
            # Each database has a separate folder.
            with tempfile.TemporaryDirectory(prefix="handful-var-") as var:
                environment.setdefault("HANDFUL_VAR", var)
                code = subprocess.call(command, env=environment)
        finally:
            server.cleanup()
    sys.exit(code)
