"""Run a command against a real PostgreSQL: `python tests/with_postgres.py pytest -m postgres`.

Uses the server that DATABASE_URL names, or else starts the one from the pgserver wheel in a
temporary folder and stops it at the end.
"""

import os
import subprocess
import sys
import tempfile

import pgserver
from pgserver._commands import POSTGRES_BIN_PATH

# Each worker of pytest may be in a race of 64 connections, and three run at once.
CONNECTIONS = 300


def started(folder: str) -> pgserver.PostgresServer:
    """A server in the folder that takes CONNECTIONS connections (of itself it takes 100)."""
    server = pgserver.get_server(folder, cleanup_mode="stop")
    server.psql(f"ALTER SYSTEM SET max_connections = {CONNECTIONS}")
    server.cleanup()  # read at its start only; pgserver passes no options on
    return pgserver.get_server(folder, cleanup_mode="stop")


if __name__ == "__main__":
    if os.environ.get("DATABASE_URL", "").startswith("postgres"):
        sys.exit(subprocess.call(sys.argv[1:]))
    # Not under a folder that only root may enter: the server runs as a user of its own.
    with tempfile.TemporaryDirectory(prefix="handful-pg-", ignore_cleanup_errors=True) as folder:
        server = started(folder)
        try:
            # Durability is what the crash tests look at: fsync stays on.
            # pg_dump and pg_restore have to be of the server's version.
            path = f"{POSTGRES_BIN_PATH}{os.pathsep}{os.environ['PATH']}"
            environment = os.environ | {"DATABASE_URL": server.get_uri(), "PATH": path}
            # A database of its own has a folder of its own.
            with tempfile.TemporaryDirectory(prefix="handful-var-") as var:
                environment.setdefault("HANDFUL_VAR", var)
                code = subprocess.call(sys.argv[1:], env=environment)
        finally:
            server.cleanup()
    sys.exit(code)
