"""Persistent connections to PostgreSQL survive restarts, expire, and work behind a pooler."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from wsgiref.util import setup_testing_defaults

import pytest
from django.core.wsgi import get_wsgi_application
from django.db import DatabaseError, OperationalError, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.postgresql import base
from django.test import RequestFactory
from django.urls import reverse

from annotation.models import Answer
from tests import factories

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
OPERATING = (Path(__file__).parents[2] / "docs" / "operating.md").read_text()
SECRET = "a" * 32


def served(application, method: str, path: str, fields: dict | None = None) -> int:
    """Handle a request in this thread with its connection, like a server; return the status."""
    request = getattr(RequestFactory(), method)(path, fields or {})
    environment = request.environ | {"HTTP_COOKIE": f"csrftoken={SECRET}"}
    setup_testing_defaults(environment)
    statuses: list[str] = []
    body = application(environment, lambda status, headers, exc_info=None: statuses.append(status))
    b"".join(body)
    body.close()
    return int(statuses[0][:3])


def process_of(own: BaseDatabaseWrapper) -> int:
    """Return PostgreSQL's process id for this connection."""
    return own.connection.info.backend_pid


def cut(process: int) -> bool:
    """Terminate a connection on the server, like a database restart, and wait for its end."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 10000)", [process])
        return cursor.fetchone()[0]


@pytest.mark.parametrize("checked", [True, False], ids=["as configured", "control: unchecked"])
def test_a_restarted_database_causes_no_error_for_annotators(researcher, checked):
    study = factories.make_study(researcher, factories.make_task(), shots=[0])
    seat = factories.seat(study.scenarios.get())
    turn = seat.latest_turn()
    fields = {**factories.fields_for(turn.example, ()), "turn": turn.pk}
    fields["csrfmiddlewaretoken"] = SECRET
    application = get_wsgi_application()
    seen: list[int] = []
    kept: list[int] = []

    def thread() -> None:
        own = connections["default"]
        assert own.settings_dict["CONN_HEALTH_CHECKS"] is True
        if not checked:
            own.settings_dict = own.settings_dict | {"CONN_HEALTH_CHECKS": False}
        seen.append(served(application, "get", reverse("landing", args=[study.link_code])))
        kept.append(process_of(own))
        gate.wait()
        gate.wait()
        seen.append(served(application, "post", reverse("answer", args=[seat.token]), fields))
        own.close()

    gate = threading.Barrier(2)
    server = threading.Thread(target=thread)
    server.start()
    gate.wait()
    assert cut(kept[0])
    gate.wait()
    server.join()
    assert seen == [200, 302 if checked else 503]
    assert Answer.objects.count() == int(checked)


def test_a_persistent_connection_is_checked_only_after_a_message(monkeypatch):
    asked: list[int] = []
    ask = base.DatabaseWrapper.is_usable
    monkeypatch.setattr(
        base.DatabaseWrapper, "is_usable", lambda own: asked.append(process_of(own)) or ask(own)
    )
    own = connections.create_connection("default")
    assert not own.is_usable()
    own.connect()
    assert own.is_usable()
    assert asked == []
    process = process_of(own)
    assert cut(process)
    assert not own.is_usable()
    assert asked == [process]
    own.close()


def test_a_connection_with_a_failed_transaction_is_not_usable():
    """Some callers rely on this, such as Django's constraint checks at the end of a test."""
    own = connections["default"]

    def answers() -> list[bool]:
        return [own.is_usable(), base.DatabaseWrapper.is_usable(own)]

    with transaction.atomic():
        assert answers() == [True, True]
        with pytest.raises(DatabaseError, match="nowhere"), own.cursor() as cursor:
            cursor.execute("SELECT 1 FROM nowhere")
        assert answers() == [False, False]
        transaction.set_rollback(True)
    assert answers() == [True, True]


@pytest.mark.parametrize(("value", "off"), [("1", True), ("", False)])
def test_server_side_cursors_are_switched_off_by_a_variable(value, off):
    """Server-side cursors fail behind PgBouncer in transaction mode."""
    say = "from config.settings import DATABASES as d; print(d['default']"
    done = subprocess.run(
        [sys.executable, "-c", f"{say}['DISABLE_SERVER_SIDE_CURSORS'])"],
        env=os.environ | {"DISABLE_SERVER_SIDE_CURSORS": value},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == str(off)


def test_the_documented_role_limits_are_valid_and_end_a_wait():
    (block,) = re.findall(r"```sql\n(.*?)```", OPERATING, re.S)
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        role = cursor.fetchone()[0]
        cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = 'handful'")
        assert cursor.fetchone() is None
        limits = re.findall(r"ALTER ROLE handful (SET \w+ = '\w+');", block)
        assert len(limits) == block.count(";") == 3
        with transaction.atomic():
            for limit in limits:
                cursor.execute(f'ALTER ROLE "{role}" {limit}')
            transaction.set_rollback(True)
        with transaction.atomic():
            cursor.execute("SET LOCAL statement_timeout = '50ms'")
            with pytest.raises(OperationalError, match="statement timeout"):
                cursor.execute("SELECT pg_sleep(20)")
            transaction.set_rollback(True)
    assert connection.settings_dict["OPTIONS"]["connect_timeout"] == 5
