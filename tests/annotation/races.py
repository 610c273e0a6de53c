"""Run calls simultaneously, with or without the guards that make this safe."""

import threading
import time
from collections.abc import Callable

from django.db import connection, connections, transaction
from django.db.models import QuerySet

from annotation import guards
from annotation.models import participation

THREADS = 8


def race(calls: list[Callable[[], object]]) -> list[object]:
    """Run the calls at the same moment in separate threads; return results or exceptions."""
    results: list[object] = [None] * len(calls)
    gate = threading.Barrier(len(calls))

    def run(index: int, call: Callable[[], object]) -> None:
        gate.wait()
        try:
            results[index] = call()
        except Exception as error:
            results[index] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


# pg_locks, because pg_stat_activity does not change within a transaction.
WAITING_FOR_THIS_TRANSACTION = """
    SELECT count(*) FROM pg_locks waiting JOIN pg_locks held USING (transactionid)
    WHERE held.pid = pg_backend_pid() AND held.granted AND NOT waiting.granted
"""


def collide(first: Callable[[], object], second: Callable[[], object]) -> list[object]:
    """Run `second` within the transaction of `first`, before its commit; return both results.

    The transaction is committed when `second` waits for one of its locks or has ended.
    """
    written, ended = threading.Event(), threading.Event()

    def holding() -> object:
        try:
            with transaction.atomic():
                result = first()
                written.set()
                while not ended.is_set() and not others_wait():
                    time.sleep(0.01)
        finally:
            written.set()
        return result

    def colliding() -> object:
        written.wait()
        try:
            return second()
        finally:
            ended.set()

    return race([holding, colliding])


def others_wait() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(WAITING_FOR_THIS_TRANSACTION)
        return cursor.fetchone()[0] > 0


def take_locks_away(monkeypatch) -> None:
    """Turn locking reads into ordinary reads, for the controls."""
    monkeypatch.setattr(QuerySet, "select_for_update", lambda self, **_options: self)
    monkeypatch.setattr(participation, "LOCK", "")


def drop_constraint(model, name: str) -> None:
    """Remove a constraint for a control; the test must restore it."""
    with connection.schema_editor() as editor:
        editor.remove_constraint(model, next(c for c in model._meta.constraints if c.name == name))


def restore_constraint(model, name: str) -> None:
    # Rows from the control may violate the constraint, so delete them first.
    guards.lift(connection)
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {model._meta.db_table} CASCADE")
    with connection.schema_editor() as editor:
        editor.add_constraint(model, next(c for c in model._meta.constraints if c.name == name))
