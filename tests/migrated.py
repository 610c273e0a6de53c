"""Share one migrated database between the workers of a run: the first migrates, the others copy."""

import fcntl
import sqlite3
from contextlib import closing, contextmanager

from django.db import connection

MEMORY = "file:memorydb_default?mode=memory&cache=shared"  # Django's name for it


class Migrated:
    """The shared migrated database (a file on SQLite); using it holds the lock."""

    def __init__(self, folder):
        self.folder = folder
        self.file = folder / "migrated"  # on PostgreSQL it records that the database exists
        self.name = f"{connection.settings_dict['NAME']}_migrated"

    @contextmanager
    def lock(self):
        with (self.folder / "migrating").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def lay_ready(self) -> None:
        """Keep a copy of the database that was just migrated."""
        if connection.vendor == "postgresql":
            source = connection.settings_dict["NAME"]
            connection.close()
            self._order(f'DROP DATABASE IF EXISTS "{self.name}"')  # left by a run that was killed
            self._order(f'CREATE DATABASE "{self.name}" TEMPLATE "{source}"')
            self.file.touch()
        else:
            connection.ensure_connection()
            with closing(sqlite3.connect(self.file)) as ready:
                connection.connection.backup(ready)

    @contextmanager
    def copied(self):
        """Give Django a copy of the database in which every migration has been applied."""
        if connection.vendor == "postgresql":
            connection.settings_dict["TEST"]["TEMPLATE"] = self.name
            yield
            return
        # A database in memory exists only while a connection to it is open.
        with closing(sqlite3.connect(MEMORY, uri=True)) as memory:
            with closing(sqlite3.connect(self.file)) as ready:
                ready.backup(memory)
            yield

    def drop(self) -> None:
        self.file.unlink()
        if connection.vendor == "postgresql":
            self._order(f'DROP DATABASE "{self.name}"')

    def _order(self, statement: str) -> None:
        with connection._nodb_cursor() as cursor:
            cursor.execute(statement)
