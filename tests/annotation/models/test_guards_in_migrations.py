"""If a migration runs while participants answer, their requests wait without a deadlock."""

import threading

import pytest
from django.core.management.base import CommandError
from django.db import OperationalError, connection, transaction

from annotation import guards, guards_in_migrations
from tests.annotation.races import race

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def lock_table(table: str, mode: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {table} IN {mode} MODE")


@pytest.mark.parametrize("gives_way", [True, False], ids=["it gives way", "the control"])
def test_a_migration_locks_all_tables_first_and_avoids_deadlock(gives_way, monkeypatch):
    """While an answer holds the turns and waits for the ledger, the migration locks the ledger."""
    if not gives_way:
        monkeypatch.setattr(guards_in_migrations, "take_all_tables", lambda connection: None)
    holds_turns, holds_ledger = threading.Event(), threading.Event()

    def answer() -> None:
        with transaction.atomic():
            lock_table(guards.TURN, "ROW EXCLUSIVE")
            holds_turns.set()
            # Times out if the migration waits for the turns. In the control, it has the ledger.
            holds_ledger.wait(0.5 if gives_way else 20)
            lock_table(guards.LEDGER, "ROW EXCLUSIVE")

    def migrate() -> None:
        holds_turns.wait(20)
        lifting = guards_in_migrations.Lift()
        with connection.schema_editor() as editor:
            if not gives_way:
                lock_table(guards.LEDGER, "ACCESS EXCLUSIVE")
                holds_ledger.set()
            lifting.database_forwards("annotation", editor)
            assert guards.missing(connection)
            guards_in_migrations.PutBack(lifting).database_forwards("annotation", editor)

    stopped = [error for error in race([answer, migrate]) if error is not None]
    if gives_way:
        assert stopped == []
    else:
        (error,) = stopped
        assert isinstance(error, OperationalError)
        assert "deadlock detected" in str(error)
    assert guards.missing(connection) == []


def test_a_migration_explains_what_to_do_if_a_table_stays_locked(monkeypatch):
    monkeypatch.setattr(guards_in_migrations, "PATIENCE", 0.3)
    other = connection.copy()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {guards.ANSWER} IN ACCESS SHARE MODE")  # like a backup
        refusal = pytest.raises(CommandError, match="run migrate again before any restart")
        with refusal, transaction.atomic():
            guards_in_migrations.take_all_tables(connection)
    finally:
        other.close()


def test_the_lock_timeout_is_restored_once_the_tables_are_locked():
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '7s'")
        guards_in_migrations.take_all_tables(connection)
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("7s",)
