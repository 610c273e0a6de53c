"""Database triggers that reject changes to recorded answers (docs/protocol.md#invariants).

The following are insert-only: turns, answers and their spans, confidence, reading times, reported
problems, answers to custom questions, model runs, the ledger, decisions, exposures, comments and
the audit log. Examples never change, nor do the manifest and options of a study that is not a
draft. Triggers reject every UPDATE and DELETE that is not allowed by GUARDED; erasing answers
requires a tombstone. PostgreSQL's TRUNCATE and SQLite's INSERT OR REPLACE bypass row triggers, so
each of them has a separate guard. The database also rejects an answer that was submitted before its
example was shown and, if the design restricts humans to the pages, a human's turn or answer that
was sent through the API.

A migration drops the guards and restores them in the same transaction, so they remain in place if
it fails (guards_in_migrations.py). `install` updates the guards after every migrate, and a system
check compares the installed triggers with these definitions.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from django.core.checks import CheckMessage, Error, Tags, register
from django.db import DatabaseError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

TURN, ANSWER, SPAN = "annotation_turn", "annotation_answer", "annotation_answerspan"
READING = "annotation_reading"
CONFIDENCE, PROBLEM = "annotation_confidence", "annotation_problemreport"
LEDGER, DECISION, EXPOSURE = (
    "annotation_ledgerentry",
    "annotation_decision",
    "annotation_exposure",
)
RUN = "annotation_modelrun"
AUDIT = "annotation_auditentry"
COMMENT = "annotation_examplecomment"
OWN = "annotation_ownanswer"
EXAMPLE = "tasks_example"
STUDY, MANIFEST = "annotation_study", "annotation_studymanifest"
PARTICIPATION = "annotation_participation"
# Additional tables that the conditions below refer to.
ASKED = {
    "annotation_tombstone",
    PARTICIPATION,
    "annotation_allocation",
    "annotation_scenario",
    "tasks_split",
    "auth_user",
}


class Rule(NamedTuple):
    """Changes to a table that the database rejects, as SQL conditions on OLD and NEW."""

    # Whether the new row replaces a guarded one (SQLite's REPLACE silently deletes rows).
    replaces: str
    may_go: str = "FALSE"
    may_change: str = "FALSE"
    says: str = "is insert-only"


ERASED = (
    "EXISTS (SELECT 1 FROM annotation_tombstone t WHERE t.participation_id = OLD.participation_id)"
)


def _erased_turn(turn: str) -> str:
    return (
        f"EXISTS (SELECT 1 FROM annotation_tombstone t JOIN {TURN} u"
        f" ON u.participation_id = t.participation_id WHERE u.id = {turn})"
    )


def _text(row: str, column: str) -> str:
    return f"""coalesce(CAST({row}."{column}" AS text), '')"""


def _is_unchanged(column: str) -> str:
    return f"{_text('OLD', column)} = {_text('NEW', column)}"


def _renamed(column: str) -> str:
    """Return SQL that is true if nothing but user u's name changed, to `deleted-` plus u's ID."""
    return (
        f"' ' || NEW.{column} || ' ' = replace(' ' || OLD.{column} || ' ',"
        " ' ' || u.username || ' ', ' deleted-' || u.id || ' ')"
    )


GUARDED = {
    TURN: Rule(
        replaces=f"EXISTS (SELECT 1 FROM {TURN} u WHERE u.id = NEW.id"
        " OR (u.participation_id = NEW.participation_id AND (u.example_id = NEW.example_id"
        " OR (u.step = NEW.step AND u.position = NEW.position))))",
        may_go=ERASED,
    ),
    SPAN: Rule(
        replaces=f"EXISTS (SELECT 1 FROM {SPAN} s WHERE s.id = NEW.id"
        " OR (s.answer_id = NEW.answer_id AND s.segment = NEW.segment AND s.start = NEW.start))",
        may_go=_erased_turn("OLD.answer_id"),
    ),
    # Each turn has at most one row.
    **{
        table: Rule(
            replaces=f"EXISTS (SELECT 1 FROM {table} r WHERE r.turn_id = NEW.turn_id)",
            may_go=_erased_turn("OLD.turn_id"),
        )
        for table in (ANSWER, READING, CONFIDENCE, PROBLEM)
    },
    RUN: Rule(
        replaces=f"EXISTS (SELECT 1 FROM {RUN} r WHERE r.participation_id = NEW.participation_id)",
        may_go=ERASED,
    ),
    # The author and time of a comment never change.
    COMMENT: Rule(replaces=f"EXISTS (SELECT 1 FROM {COMMENT} c WHERE c.id = NEW.id)"),
    OWN: Rule(
        replaces=f"EXISTS (SELECT 1 FROM {OWN} o WHERE o.id = NEW.id"
        " OR (o.participation_id = NEW.participation_id AND o.question = NEW.question))",
        may_go=ERASED,
    ),
    # Earnings are never erased.
    LEDGER: Rule(replaces=f"EXISTS (SELECT 1 FROM {LEDGER} l WHERE l.id = NEW.id)"),
    # A reason may reveal a score. When the answers of the participation are erased, the reason is
    # cleared, but the decision remains.
    DECISION: Rule(
        replaces=f"EXISTS (SELECT 1 FROM {DECISION} d WHERE d.id = NEW.id)",
        may_change=f"{ERASED} AND OLD.id = NEW.id"
        " AND OLD.participation_id = NEW.participation_id AND OLD.about = NEW.about"
        " AND OLD.outcome = NEW.outcome AND OLD.at = NEW.at"
        " AND coalesce(OLD.by_id, 0) = coalesce(NEW.by_id, 0)",
    ),
    # A reason in an entry is erased along with the annotator's answers. The name of a closed
    # account may be replaced, as a whole word, by that of the erased account (accounts/closing.py).
    AUDIT: Rule(
        replaces=f"EXISTS (SELECT 1 FROM {AUDIT} a WHERE a.id = NEW.id OR a.once = NEW.once)",
        may_change="(EXISTS (SELECT 1 FROM annotation_tombstone t JOIN annotation_participation p"
        " ON p.id = t.participation_id WHERE p.study_id = OLD.study_id"
        " AND p.pseudonym = OLD.about) AND OLD.id = NEW.id AND OLD.study_id = NEW.study_id"
        " AND OLD.about = NEW.about AND OLD.topic = NEW.topic AND OLD.at = NEW.at"
        " AND coalesce(OLD.by_id, 0) = coalesce(NEW.by_id, 0))"
        " OR (OLD.topic IN ('team', 'account', 'task') AND EXISTS (SELECT 1 FROM auth_user u"
        f" WHERE NOT u.is_active AND {_renamed('what')} AND {_renamed('about')}"
        f" AND ({_is_unchanged('after')} OR ({_text('OLD', 'after')} LIKE '{{\"member\": %'"
        f" AND {_text('NEW', 'after')} = '{{\"member\": \"deleted-' || u.id || '\"}}')))"
        " AND OLD.id = NEW.id AND coalesce(OLD.study_id, 0) = coalesce(NEW.study_id, 0)"
        f" AND OLD.topic = NEW.topic AND OLD.at = NEW.at AND {_is_unchanged('before')}"
        " AND OLD.token = NEW.token AND coalesce(OLD.once, '') = coalesce(NEW.once, '')"
        " AND coalesce(OLD.by_id, 0) = coalesce(NEW.by_id, 0))",
    ),
    EXPOSURE: Rule(
        replaces=f"EXISTS (SELECT 1 FROM {EXPOSURE} e WHERE e.id = NEW.id"
        " OR (e.worker_key = NEW.worker_key AND e.task_name = NEW.task_name))"
    ),
    # S1 is stored with the answer, so it would be wrong if the gold answer changed.
    EXAMPLE: Rule(
        replaces=f"EXISTS (SELECT 1 FROM {EXAMPLE} e WHERE e.id = NEW.id OR (e.split_id ="
        " NEW.split_id AND (e.position = NEW.position OR e.source_id = NEW.source_id)))",
        may_go="NOT EXISTS (SELECT 1 FROM tasks_split p"
        " JOIN annotation_scenario c ON c.task_id = p.task_id"
        f" JOIN {STUDY} y ON y.id = c.study_id WHERE p.id = OLD.split_id AND y.status <> 'draft')",
        says="never changes, and remains while a frozen study uses it",
    ),
    STUDY: Rule(
        replaces=f"EXISTS (SELECT 1 FROM {STUDY} y WHERE y.status <> 'draft' AND (y.id = NEW.id"
        " OR y.name = NEW.name OR y.link_code = NEW.link_code))",
        may_go="OLD.status = 'draft'",
        may_change="OLD.status = 'draft'"
        f" OR (OLD.manifest_hash = NEW.manifest_hash AND {_is_unchanged('options')})"
        " OR (NEW.status = 'draft'"
        " AND NOT EXISTS (SELECT 1 FROM annotation_participation p WHERE p.study_id = OLD.id)"
        " AND NOT EXISTS (SELECT 1 FROM annotation_allocation a WHERE a.study_id = OLD.id))",
        says="is frozen: its manifest and options remain once a seat was taken",
    ),
    # May be deleted once its study is a draft again, which is covered by the previous rule.
    MANIFEST: Rule(
        replaces=f"EXISTS (SELECT 1 FROM {MANIFEST} m WHERE m.study_id = NEW.study_id)",
        may_go=f"NOT EXISTS (SELECT 1 FROM {STUDY} y"
        " WHERE y.id = OLD.study_id AND y.status <> 'draft')",
        says="never changes, and remains while its study is frozen",
    ),
}
TOO_EARLY = (
    f"EXISTS (SELECT 1 FROM {TURN} u WHERE u.id = NEW.turn_id AND NEW.submitted_at < u.shown_at)"
)


def _sent_by_program(participation: str) -> str:
    """Return SQL that is true if a human's row came through the API and the study forbids this."""
    return (
        f"NEW.channel = 'api' AND EXISTS (SELECT 1 FROM {PARTICIPATION} p JOIN {STUDY} y"
        f" ON y.id = p.study_id WHERE p.id = {participation} AND p.kind = 'person'"
        " AND NOT y.programs_as_people)"
    )


SENT_BY_PROGRAM = {
    TURN: _sent_by_program("NEW.participation_id"),
    **dict.fromkeys(
        (ANSWER, CONFIDENCE),
        _sent_by_program(f"(SELECT u.participation_id FROM {TURN} u WHERE u.id = NEW.turn_id)"),
    ),
}


class Guard(NamedTuple):
    """A trigger: its name, its table, and its definition as reported by the database."""

    name: str
    table: str
    trigger: str
    # Body of the function called by the trigger (PostgreSQL only).
    body: str = ""

    def make(self) -> Iterator[str]:
        if self.body:
            yield (
                f"CREATE OR REPLACE FUNCTION {self.name}() RETURNS trigger LANGUAGE plpgsql"
                f" AS $${self.body}$$"
            )
        yield self.trigger


def _refused(vendor: str) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield (name, table, event, condition, message) for each guard of this database."""
    for table, rule in GUARDED.items():
        message = f"{table} {rule.says}"
        yield f"{table}_no_update", table, "UPDATE", f"NOT ({rule.may_change})", message
        yield f"{table}_no_delete", table, "DELETE", f"NOT ({rule.may_go})", message
        if vendor == "sqlite":
            yield f"{table}_no_replace", table, "INSERT", rule.replaces, message
        else:
            yield f"{table}_no_truncate", table, "TRUNCATE", "TRUE", message
    yield (
        f"{ANSWER}_in_time",
        ANSWER,
        "INSERT",
        TOO_EARLY,
        f"{ANSWER}: nothing is submitted before it was shown",
    )
    for table, condition in SENT_BY_PROGRAM.items():
        message = f"{table}: people use the pages of this study"
        yield f"{table}_by_page", table, "INSERT", condition, message


def _guard(vendor: str, name: str, table: str, event: str, condition: str, message: str) -> Guard:
    trigger = f"CREATE TRIGGER {name} BEFORE {event} ON {table}"
    if vendor == "sqlite":
        raised = f"SELECT RAISE(ABORT, '{message}')"
        return Guard(name, table, f"{trigger} WHEN {condition} BEGIN {raised}; END")
    level = "STATEMENT" if event == "TRUNCATE" else "ROW"
    row = {"DELETE": "OLD", "TRUNCATE": "NULL"}.get(event, "NEW")
    return Guard(
        name,
        table,
        f"{trigger} FOR EACH {level} EXECUTE FUNCTION {name}()",
        f" BEGIN IF {condition} THEN RAISE EXCEPTION '{message}' USING ERRCODE = '23000';"
        f" END IF; RETURN {row}; END ",
    )


def _guards(connection: BaseDatabaseWrapper) -> list[Guard]:
    """Return the guards required by this database, or [] if some tables do not exist yet."""
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
    if not {*GUARDED, *ASKED} <= tables:
        return []
    return [_guard(connection.vendor, *refused) for refused in _refused(connection.vendor)]


def _standing(connection: BaseDatabaseWrapper) -> set[Guard]:
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger'")
            return {Guard(*row) for row in cursor.fetchall()}
        # 'D' means disabled, and 'R' fires only on replicas. Both count as missing.
        cursor.execute(
            "SELECT t.tgname, c.relname, pg_get_triggerdef(t.oid, true), p.prosrc FROM pg_trigger t"
            " JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid"
            " WHERE NOT t.tgisinternal AND t.tgenabled IN ('O', 'A')"
            " AND pg_table_is_visible(c.oid)"
        )
        return {Guard(*row) for row in cursor.fetchall()}


def _not_standing(connection: BaseDatabaseWrapper) -> list[Guard]:
    standing = _standing(connection)
    return [guard for guard in _guards(connection) if guard not in standing]


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """Return the names of guards that are missing, disabled or defined differently."""
    return [guard.name for guard in _not_standing(connection)]


def _drop(connection: BaseDatabaseWrapper, guard: Guard) -> str:
    on = "" if connection.vendor == "sqlite" else f" ON {guard.table}"
    return f"DROP TRIGGER IF EXISTS {guard.name}{on}"


def install(connection: BaseDatabaseWrapper) -> None:
    """Create any guards that are missing. Calling this again has no effect."""
    for guard in _not_standing(connection):
        with transaction.atomic(connection.alias), connection.cursor() as cursor:
            cursor.execute(_drop(connection, guard))
            for statement in guard.make():
                cursor.execute(statement)


def lift(connection: BaseDatabaseWrapper) -> list[Guard]:
    """Drop all guards, including any that are defined differently, and return them."""
    standing = [guard for guard in _standing(connection) if guard.table in GUARDED]
    with connection.cursor() as cursor:
        for guard in standing:
            cursor.execute(_drop(connection, guard))
    return standing


def install_after_migrate(using: str, **_kwargs: object) -> None:
    install(connections[using])


def say_what_is_missing() -> None:
    connection = connections["default"]
    log = logging.getLogger("handful.guards")
    try:
        for name in missing(connection):
            log.error("%s", _problem(name))
    except DatabaseError as error:
        log.error("The database did not respond at start: %s", str(error).strip())
    finally:
        connection.close()


def _problem(name: str) -> str:
    return (
        f"The database no longer refuses changes to what was answered: {name} is missing or altered"
        ". Run `python manage.py migrate`: it puts the guards back."
    )


@register(Tags.database)
def answers_are_guarded(
    *, databases: Sequence[str] | None = None, **_kwargs: object
) -> list[CheckMessage]:
    """Check that every guard is installed as defined here (`check --database default`)."""
    return [
        Error(_problem(name), id="annotation.E001")
        for alias in databases or []
        for name in missing(connections[alias])
    ]
