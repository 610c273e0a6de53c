"""Turns, answers and spans are insert-only, and it is the database that says so."""

import pytest
from django.apps import apps
from django.core.checks import run_checks
from django.db import DatabaseError, connection, transaction
from django.db.models.signals import post_migrate

from annotation import guards
from annotation.models import Answer, AnswerSpan, Tombstone, Turn
from tests import factories

TABLES = [guards.TURN, guards.ANSWER, guards.SPAN]


@pytest.fixture
def answered(researcher):
    """A participation with answered turns, one of them with a span."""
    study = factories.make_study(researcher, factories.make_task(), shots=[2])
    participation = factories.seat(study.scenarios.get())
    factories.work_through(participation, limit=4)
    assert AnswerSpan.objects.exists()
    return participation


def refused(sql: str) -> None:
    insert_only = pytest.raises(DatabaseError, match="insert-only")
    with insert_only, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)


@pytest.mark.parametrize("table", TABLES)
def test_the_database_refuses_to_update_what_was_answered(answered, table):
    column = {"annotation_turn": "position", "annotation_answer": "s1"}.get(table, "segment")
    refused(f"UPDATE {table} SET {column} = 1")


@pytest.mark.parametrize("table", TABLES)
def test_the_database_refuses_to_delete_what_was_answered(answered, table):
    refused(f"DELETE FROM {table}")


@pytest.mark.parametrize("model", [Turn, Answer, AnswerSpan])
def test_the_models_cannot_get_round_the_guards(answered, model):
    with pytest.raises(DatabaseError), transaction.atomic():
        model.objects.all()._raw_delete(using="default")
    row = model.objects.first()
    with pytest.raises(DatabaseError), transaction.atomic():
        row.save()


@pytest.mark.sqlite
@pytest.mark.parametrize("table", TABLES)
def test_sqlite_refuses_to_replace_what_was_answered(answered, table):
    refused(f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}")


@pytest.mark.postgres
@pytest.mark.parametrize("table", TABLES)
def test_postgresql_refuses_to_truncate_what_was_answered(answered, table):
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    refused(f"TRUNCATE {table} CASCADE")


def test_after_a_tombstone_the_participation_can_be_erased_and_no_other(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2])
    kept, erased = (factories.seat(study.scenarios.get()) for _ in range(2))
    for participation in (kept, erased):
        factories.work_through(participation, limit=4)
    Tombstone.objects.create(participation=erased, turns_erased=erased.turns.count())
    of_erased = Turn.objects.filter(participation=erased)
    AnswerSpan.objects.filter(answer__turn__in=of_erased).delete()
    Answer.objects.filter(turn__in=of_erased).delete()
    of_erased.delete()
    assert not Turn.objects.filter(participation=erased).exists()
    with pytest.raises(DatabaseError), transaction.atomic():
        AnswerSpan.objects.filter(answer__turn__participation=kept).delete()


@pytest.mark.django_db(transaction=True)
def test_the_guards_stand_again_after_a_migration_that_rebuilds_the_tables(answered):
    """SQLite rebuilds a table to alter it, and drops its triggers without a word."""
    for model in (AnswerSpan, Answer, Turn):
        with connection.schema_editor() as editor:
            if connection.vendor == "sqlite":
                editor._remake_table(model)
    assert bool(guards.missing(connection)) == (connection.vendor == "sqlite")
    config = apps.get_app_config("annotation")
    post_migrate.send(sender=config, app_config=config, using="default", verbosity=0)
    assert guards.missing(connection) == []
    for table in TABLES:
        refused(f"DELETE FROM {table}")


def test_a_system_check_names_the_guard_that_is_missing(db):
    name, table = "annotation_answer_no_update", guards.ANSWER
    assert not [e for e in run_checks(databases=["default"]) if e.id == "annotation.E001"]
    on = "" if connection.vendor == "sqlite" else f" ON {table}"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER {name}{on}")
    errors = [e for e in run_checks(databases=["default"]) if e.id == "annotation.E001"]
    assert len(errors) == 1
    assert name in errors[0].msg
    guards.install(connection)
    assert guards.missing(connection) == []


@pytest.mark.postgres
def test_a_guard_that_somebody_switched_off_counts_as_missing(db):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE annotation_answer DISABLE TRIGGER annotation_answer_no_update")
    assert guards.missing(connection) == ["annotation_answer_no_update"]


def test_guards_are_lifted_for_a_migration_of_their_tables_and_put_back(db):
    """SQLite cannot rebuild a table that the trigger of another one names."""
    from django.db.migrations.loader import MigrationLoader

    loader = MigrationLoader(connection)
    ours = loader.get_migration("annotation", "0009_crowdsourcing")
    theirs = loader.get_migration("tasks", "0002_attention_checks")
    guards.lift_before_migrate(using="default", plan=[(theirs, False)])
    assert guards.missing(connection) == []
    guards.lift_before_migrate(using="default", plan=[(ours, False)])
    assert len(guards.missing(connection)) == len(guards._triggers(connection))
    guards.install_after_migrate(using="default")
    assert guards.missing(connection) == []
