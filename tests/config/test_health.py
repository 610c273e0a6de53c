"""The health checks `live` and `ready` for load balancers."""

import pytest
from django.db import OperationalError, connection
from django.db.migrations.loader import MigrationLoader
from django.urls import reverse

from annotation import guards
from config import health


def wrong(client) -> list[str]:
    reply = client.get(reverse("health_ready"))
    assert reply.status_code == (503 if reply.json()["wrong"] else 200)
    assert reply.headers["Cache-Control"].startswith("max-age=0, no-cache, no-store")
    return reply.json()["wrong"]


def test_the_live_check_does_not_use_the_database(client):
    """Any query would fail here, because this test has no access to the database."""
    reply = client.get(reverse("health_live"))
    assert (reply.status_code, reply.json()) == (200, {"status": "live"})


def test_a_complete_installation_is_ready(client, db):
    assert wrong(client) == []


@pytest.mark.engines
def test_a_missing_guard_is_named_and_the_log_says_what_to_do(client, db, caplog):
    name, table = "annotation_answer_no_update", "annotation_answer"
    on = "" if connection.vendor == "sqlite" else f" ON {table}"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER {name}{on}")
    assert wrong(client) == ["guards"]
    assert f"guards: missing: {name}; run manage.py migrate" in caplog.text
    guards.install(connection)
    assert wrong(client) == []


def test_an_unapplied_migration_is_named(client, db, caplog):
    (newest,) = MigrationLoader(connection).graph.leaf_nodes("annotation")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = %s AND name = %s", newest)
    assert wrong(client) == ["migrations"]
    assert f"not applied: {'.'.join(newest)}; run manage.py migrate" in caplog.text


def test_a_changed_key_is_named_and_not_shown(client, db, settings):
    settings.WORKER_KEY = "another one, as long as a key has to be"
    reply = client.get(reverse("health_ready"))
    assert reply.json() == {"status": "not ready", "wrong": ["keys"]}


def test_a_full_folder_is_reported(client, db, monkeypatch):
    monkeypatch.setattr(health, "LEAST_SPACE", 10**18)
    assert wrong(client) == ["folder"]


def test_a_database_that_does_not_answer_is_503(client, db):
    def away(*_args):
        raise OperationalError("connection refused")

    with connection.execute_wrapper(away):
        assert wrong(client) == ["database"]


def test_a_local_health_check_is_not_redirected_to_https(client, settings):
    settings.SECURE_SSL_REDIRECT = True
    assert client.get(reverse("health_live")).status_code == 200
    assert client.get("/sign-in/").status_code == 301
