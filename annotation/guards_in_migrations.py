"""Locking the tables and dropping the guards during each migration.

On PostgreSQL, a migration first locks every table. It yields to any transaction that holds one
table and is waiting for another, so `migrate` can run while annotators are answering: they wait,
and neither side is aborted. The guards are then dropped, and restored at the end.
"""

import random
import time
from typing import Any

from django.core.management.base import CommandError
from django.db import OperationalError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.operations.base import Operation

from annotation.guards import PARTICIPATION, Guard, lift

NO_WAY_BACK = (
    "Migrations cannot be reversed, so nothing was changed: restore the backup made"
    " before the upgrade (docs/operating.md)."
)
PATIENCE = 120  # seconds, which is about how long a backup of a large study reads its tables
LOCKED_BY_OTHERS = ("55P03", "40P01")  # PostgreSQL error codes: lock not available, deadlock
TABLES_ARE_HELD = (
    "Other transactions held locks for two minutes, so this migration changed nothing; earlier"
    " migrations remain applied. Wait until the backup or the long query has ended, then run"
    " migrate again before any restart. To find it: SELECT pid, state, query FROM"
    " pg_stat_activity."
)


def take_all_tables(connection: BaseDatabaseWrapper) -> None:
    """Lock all our tables until the end of the transaction, without causing deadlocks.

    Requests that store answers lock the same tables in a different order. If a request holds one
    table and is waiting for another, this releases all locks and tries again before PostgreSQL
    detects a deadlock. The participation table is locked first, as in every step, so that steps in
    progress can finish. Raises CommandError if tables are still locked after PATIENCE seconds.
    """
    # Only the tables of installed apps, as the database may contain others.
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    names.sort(key=lambda name: (name != PARTICIPATION, name))
    tables = ", ".join(connection.ops.quote_name(name) for name in names)
    give_up = time.monotonic() + PATIENCE
    while names:
        try:
            with transaction.atomic(connection.alias), connection.cursor() as cursor:
                cursor.execute("SHOW lock_timeout")
                usual = cursor.fetchone()[0]
                cursor.execute("SET LOCAL lock_timeout = '100ms'")  # a deadlock takes 1 s
                cursor.execute(f"LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE")
                cursor.execute("SELECT set_config('lock_timeout', %s, true)", [usual])
            return
        except OperationalError as error:
            if getattr(error.__cause__, "pgcode", "") not in LOCKED_BY_OTHERS:
                raise
            if time.monotonic() > give_up:
                raise CommandError(TABLES_ARE_HELD) from error
        time.sleep(random.uniform(0.1, 0.5))


class Lift(Operation):
    """The first operation of a migration, which drops the guards within its transaction."""

    def __init__(self) -> None:
        self.stood: list[Guard] = []

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Leave the model state unchanged."""

    def database_forwards(self, app_label: str, schema_editor: Any, *_states: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            take_all_tables(schema_editor.connection)
        self.stood = lift(schema_editor.connection)


class PutBack(Lift):
    """The last operation of a migration, which restores the guards on tables that still exist."""

    def __init__(self, lifted: Lift) -> None:
        self.lifted = lifted

    def database_forwards(self, app_label: str, schema_editor: Any, *_states: Any) -> None:
        with schema_editor.connection.cursor() as cursor:
            tables = schema_editor.connection.introspection.table_names(cursor)
            for guard in self.lifted.stood:
                if guard.table in tables:
                    cursor.execute(guard.trigger)  # the trigger's function was not dropped


def go_with_each_migration(plan: Any, **_kwargs: Any) -> None:
    """Drop and restore the guards within each migration of our tables (pre_migrate receiver).

    SQLite can't rebuild a table that a trigger refers to, and data migrations fill guarded columns.
    If a migration fails or is killed, its rollback also restores the guards. Raises CommandError,
    before anything changes, if the plan reverses a migration.
    """
    if any(backwards for _migration, backwards in plan):
        raise CommandError(NO_WAY_BACK)
    for migration, _backwards in plan:
        if migration.app_label in ("annotation", "tasks"):
            lifting = Lift()
            migration.operations = [lifting, *migration.operations, PutBack(lifting)]
