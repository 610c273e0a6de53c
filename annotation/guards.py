"""The database refuses to change what was answered (DESIGN section 3, invariant 2).

Turns, answers, their spans and the ledger are insert-only. On SQLite and on PostgreSQL triggers
refuse every UPDATE, and every DELETE unless the participation has a tombstone (the erase path; the
ledger has none); PostgreSQL's TRUNCATE and SQLite's INSERT OR REPLACE pass row triggers by, so each
has a guard of its own.
A migration that rebuilds a table drops its triggers silently: `install` runs after every migrate,
and a system check names what is missing.
"""

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

TURN, ANSWER, SPAN = "annotation_turn", "annotation_answer", "annotation_answerspan"
LEDGER = "annotation_ledgerentry"
TOMBSTONE = "annotation_tombstone"

# For each guarded table: does a tombstone exist for the participation of the row OLD?
ERASABLE = {
    TURN: f"EXISTS (SELECT 1 FROM {TOMBSTONE} t WHERE t.participation_id = OLD.participation_id)",
    ANSWER: f"EXISTS (SELECT 1 FROM {TOMBSTONE} t JOIN {TURN} u"
    " ON u.participation_id = t.participation_id WHERE u.id = OLD.turn_id)",
    SPAN: f"EXISTS (SELECT 1 FROM {TOMBSTONE} t JOIN {TURN} u"
    " ON u.participation_id = t.participation_id WHERE u.id = OLD.answer_id)",
    # What was earned stays earned: there is no erase path.
    LEDGER: "FALSE",
}

# Would this new row take the place of a stored one? (SQLite's REPLACE deletes without triggers.)
REPLACES = {
    TURN: f"EXISTS (SELECT 1 FROM {TURN} u WHERE u.id = NEW.id"
    " OR (u.participation_id = NEW.participation_id AND (u.example_id = NEW.example_id"
    " OR (u.step = NEW.step AND u.position = NEW.position))))",
    ANSWER: f"EXISTS (SELECT 1 FROM {ANSWER} a WHERE a.turn_id = NEW.turn_id)",
    SPAN: f"EXISTS (SELECT 1 FROM {SPAN} s WHERE s.id = NEW.id OR (s.answer_id = NEW.answer_id"
    " AND s.segment = NEW.segment AND s.start = NEW.start))",
    LEDGER: f"EXISTS (SELECT 1 FROM {LEDGER} l WHERE l.id = NEW.id)",
}


def _sqlite_triggers(table: str) -> Iterator[tuple[str, str]]:
    refuse = f"SELECT RAISE(ABORT, '{table} is insert-only')"
    yield (
        f"{table}_no_update",
        f"CREATE TRIGGER {table}_no_update BEFORE UPDATE ON {table} BEGIN {refuse}; END",
    )
    yield (
        f"{table}_no_delete",
        f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table}"
        f" WHEN NOT {ERASABLE[table]} BEGIN {refuse}; END",
    )
    yield (
        f"{table}_no_replace",
        f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table}"
        f" WHEN {REPLACES[table]} BEGIN {refuse}; END",
    )


def _postgresql_triggers(table: str) -> Iterator[tuple[str, str]]:
    for event, level in (("UPDATE", "ROW"), ("DELETE", "ROW"), ("TRUNCATE", "STATEMENT")):
        name = f"{table}_no_{event.lower()}"
        condition = f"IF {ERASABLE[table]} THEN RETURN OLD; END IF; " if event == "DELETE" else ""
        yield (
            name,
            f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"{condition}RAISE EXCEPTION '{table} is insert-only' USING ERRCODE = '23000'; END $$; "
            f"CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH {level}"
            f" EXECUTE FUNCTION {name}()",
        )


def _triggers(connection: BaseDatabaseWrapper) -> dict[str, tuple[str, str]]:
    """Name of each guard -> (its table, the SQL that makes it)."""
    make = _sqlite_triggers if connection.vendor == "sqlite" else _postgresql_triggers
    return {name: (table, sql) for table in ERASABLE for name, sql in make(table)}


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """Names of the guards that the database lacks, for the tables that it has."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        else:
            # tgenabled 'D' is a trigger that somebody switched off: as good as missing.
            cursor.execute(
                "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'D'"
            )
        present = {row[0] for row in cursor.fetchall()}
        tables = set(connection.introspection.table_names(cursor))
    return [
        name
        for name, (table, _sql) in _triggers(connection).items()
        if table in tables and name not in present
    ]


def install(connection: BaseDatabaseWrapper) -> None:
    """Make the guards that are missing. Safe to call again and again."""
    triggers = _triggers(connection)
    for name in missing(connection):
        table, sql = triggers[name]
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TRIGGER IF EXISTS {_trigger_address(connection, name, table)}")
            cursor.execute(sql)


def lift(connection: BaseDatabaseWrapper) -> None:
    """Drop the guards: before a migration of their tables, and before tests empty theirs."""
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        for name, (table, _sql) in _triggers(connection).items():
            if table in tables:
                cursor.execute(
                    f"DROP TRIGGER IF EXISTS {_trigger_address(connection, name, table)}"
                )


def _trigger_address(connection: BaseDatabaseWrapper, name: str, table: str) -> str:
    return name if connection.vendor == "sqlite" else f"{name} ON {table}"


def lift_before_migrate(using: str, plan: Any, **_kwargs: Any) -> None:
    """Receiver of pre_migrate: SQLite cannot rebuild a table that another one's trigger names.

    `install_after_migrate` puts them back; the system check says so if a migration broke off.
    """
    if any(migration.app_label == "annotation" for migration, _backwards in plan):
        lift(connections[using])


def install_after_migrate(using: str, **_kwargs: Any) -> None:
    """Receiver of post_migrate."""
    install(connections[using])


@register(Tags.database)
def answers_are_guarded(databases: list[str] | None, **_kwargs: Any) -> list[CheckMessage]:
    """System check: every guard stands. `manage.py check --database default`, and every migrate."""
    return [
        Error(
            f"The database no longer refuses changes to answers: {name} is missing.",
            hint="Run `python manage.py migrate`: it puts the guards back.",
            id="annotation.E001",
        )
        for alias in databases or []
        for name in missing(connections[alias])
    ]
