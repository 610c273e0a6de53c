"""The database itself refuses to change or delete turns, answers and spans."""

from datetime import timedelta

import pytest
from django.apps import apps
from django.core.checks import run_checks
from django.db import DatabaseError, connection, transaction
from django.db.models.signals import post_migrate
from django.urls import reverse

from annotation import guards
from annotation.models import (
    Answer,
    AnswerSpan,
    Channel,
    Confidence,
    Decision,
    Exposure,
    ProblemReport,
    Reading,
    Study,
    StudyManifest,
    Tombstone,
    Turn,
)
from annotation.pay import ledger
from annotation.protocol import answering
from annotation.study import lifecycle
from tasks.models import Example
from tests import factories

pytestmark = pytest.mark.engines

TABLES = [
    guards.TURN, guards.ANSWER, guards.SPAN, guards.READING, guards.CONFIDENCE, guards.PROBLEM,
]  # fmt: skip


@pytest.fixture
def answered(researcher):
    """A participation with a row in each guarded table, including a span."""
    study = factories.make_study(researcher, factories.make_task(), shots=[2], confidence_share=1)
    participation = factories.seat(study.scenarios.get())
    factories.work_through(participation, limit=4)
    assert AnswerSpan.objects.exists()
    answering.report_problem(
        participation.token, participation.turns.first().pk, "Cut off", Channel.PAGE
    )
    return participation


def refused(sql: str) -> None:
    refusal = pytest.raises(DatabaseError, match=r"insert-only|remains?")
    with refusal, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)


@pytest.mark.parametrize("table", TABLES)
def test_the_database_refuses_to_update_what_was_answered(answered, table):
    columns = {guards.TURN: "position", guards.ANSWER: "s1", guards.READING: "seconds"}
    columns |= {guards.CONFIDENCE: "seconds", guards.PROBLEM: "text"}
    column = columns.get(table, "segment")
    refused(f"UPDATE {table} SET {column} = 1")


@pytest.mark.parametrize("table", TABLES)
def test_the_database_refuses_to_delete_what_was_answered(answered, table):
    refused(f"DELETE FROM {table}")


@pytest.mark.parametrize("model", [Turn, Answer, AnswerSpan, Reading, Confidence, ProblemReport])
def test_the_models_cannot_get_round_the_guards(answered, model):
    with pytest.raises(DatabaseError), transaction.atomic():
        model.objects.all()._raw_delete(using="default")
    row = model.objects.first()
    with pytest.raises(DatabaseError), transaction.atomic():
        row.save()


def test_only_a_participation_with_a_tombstone_can_be_erased(researcher):
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


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_guards_are_restored_after_a_table_rebuild(answered):
    """SQLite alters a table by rebuilding it, which silently drops its triggers."""
    for model in (AnswerSpan, Answer, Reading, Confidence, ProblemReport, Turn):
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
@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE annotation_answer DISABLE TRIGGER annotation_answer_no_update",
        "ALTER TABLE annotation_answer ENABLE REPLICA TRIGGER annotation_answer_no_update",
        "CREATE OR REPLACE FUNCTION annotation_answer_no_update() RETURNS trigger"
        " LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$",
        "CREATE OR REPLACE TRIGGER annotation_answer_no_update BEFORE UPDATE ON annotation_answer"
        " FOR EACH ROW WHEN (FALSE) EXECUTE FUNCTION annotation_answer_no_update()",
    ],
    ids=["switched off", "on a replica alone", "another function", "another condition"],
)
def test_a_disabled_guard_counts_as_missing_and_is_restored(answered, change):
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(change)
        with transaction.atomic():
            cursor.execute("UPDATE annotation_answer SET s1 = s1")  # passes without the guard
    assert guards.missing(connection) == ["annotation_answer_no_update"]
    guards.install(connection)
    assert guards.missing(connection) == []
    refused("UPDATE annotation_answer SET s1 = 1")


@pytest.mark.long
@pytest.mark.sqlite
def test_a_different_trigger_of_that_name_is_replaced(answered):
    name = "annotation_answer_no_update"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER {name}")
        cursor.execute(
            f"CREATE TRIGGER {name} BEFORE UPDATE ON annotation_answer BEGIN SELECT 1; END"
        )
    assert guards.missing(connection) == [name]
    guards.install(connection)
    refused("UPDATE annotation_answer SET s1 = 1")


STANDS = {
    "gold": "UPDATE tasks_example SET gold = '[]'",
    "a text": "UPDATE tasks_example SET question = 'Which?'",
    "an example": "DELETE FROM tasks_example",
    "a manifest": "UPDATE annotation_studymanifest SET text = '{}'",
    "that there is a manifest": "DELETE FROM annotation_studymanifest",
    "its hash": "UPDATE annotation_study SET manifest_hash = 'abc'",
    "options": "UPDATE annotation_study SET options = '{}'",
    "a study": "DELETE FROM annotation_study",
    "back to draft, with seats taken": "UPDATE annotation_study"
    " SET status = 'draft', manifest_hash = ''",
    "a decision's outcome": "UPDATE annotation_decision SET outcome = NOT outcome",
    "a decision's reason": "UPDATE annotation_decision SET reason = 'another'",
    "a decision": "DELETE FROM annotation_decision",
    "a meeting": "UPDATE annotation_exposure SET task_name = 'another'",
    "that they met": "DELETE FROM annotation_exposure",
}


@pytest.mark.parametrize("sql", STANDS.values(), ids=STANDS)
def test_the_database_refuses_changes_to_what_scores_rest_on(answered, researcher, sql):
    ledger.decide(answered, False, "no answer to the message", researcher)
    kept = (Example, Study, StudyManifest, Decision, Exposure)
    before = [list(model.objects.values()) for model in kept]
    refused(sql)
    assert before == [list(model.objects.values()) for model in kept]


@pytest.mark.sqlite
@pytest.mark.parametrize("table", sorted(guards.GUARDED))
def test_sqlite_replaces_no_guarded_row(answered, researcher, table):
    ledger.decide(answered, False, "no answer to the message", researcher)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")
        rows = cursor.fetchone()[0]
    if rows:
        refused(f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}")


@pytest.mark.postgres
@pytest.mark.parametrize("table", sorted(guards.GUARDED))
def test_postgresql_truncates_no_guarded_table(answered, table):
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    refused(f"TRUNCATE {table} CASCADE")


def test_only_the_reason_of_an_erased_decision_can_change(answered, researcher):
    ledger.decide(answered, False, "S1 of 12.5 in the training", researcher)
    Tombstone.objects.create(participation=answered, turns_erased=4)
    with pytest.raises(DatabaseError), transaction.atomic():
        answered.decisions.update(reason="withdrawn", outcome=True)
    answered.decisions.update(reason="withdrawn")
    assert answered.decisions.get().reason == "withdrawn"
    with pytest.raises(DatabaseError), transaction.atomic():
        answered.decisions.all()._raw_delete(using="default")


def test_an_unused_study_can_return_to_draft_and_be_deleted(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2])
    with pytest.raises(DatabaseError), transaction.atomic():
        Example.objects.all().delete()
    lifecycle.change_status(study, "draft")
    assert (study.manifest, StudyManifest.objects.count()) == ("", 0)
    Example.objects.all().delete()
    study.delete()


def test_an_answer_cannot_be_submitted_before_it_was_shown(answered):
    sent = (answered.token, answered.latest_turn().pk, {"skip": "1"}, Channel.PAGE)
    _participation, turn = answering.rate_confidence(*sent)
    early = Answer(
        turn=turn, no_answer=True, s1=0, tokeniser="1", active_seconds=0, channel=turn.channel
    )
    early.submitted_at = turn.shown_at - timedelta(microseconds=1)
    with pytest.raises(DatabaseError, match="before it was shown"), transaction.atomic():
        early.save(force_insert=True)
    early.submitted_at = turn.shown_at
    early.save(force_insert=True)


def test_a_missing_guard_is_reported_on_the_dashboard_and_logged(ada, caplog):
    assert "isn't protecting stored answers" not in ada.get(reverse("studies")).content.decode()
    guards.lift(connection)
    page = ada.get(reverse("studies")).content.decode()
    assert page.count('role="alert"') == 1
    assert "isn't protecting stored answers" in page
    assert "annotation_answer_no_update" in page
    guards.say_what_is_missing()
    assert "annotation_answer_no_update is missing" in caplog.text
