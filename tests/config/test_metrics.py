"""Metrics for Prometheus are correct, require the token, and contain no annotator's link."""

import io
import os
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command
from django.db import OperationalError, connection
from django.db.models.signals import post_save
from django.test import Client
from django.urls import reverse

from annotation.models import Answer, Notice
from config import metrics
from tasks.clock import database_now
from tasks.models import PeriodicPart
from tests import factories
from tests.config.test_server import COMMAND, answers, port, wait_for, workers  # noqa: F401

TOKEN = "what Prometheus shows"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path_factory):
    """A single folder of counters for this process, because the library keeps its files open.

    A wider scope would not suffice: pytest may set up such fixtures again between test files.
    """
    folder = tmp_path_factory.getbasetemp() / "metrics"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def metered(settings, db, monkeypatch, folder):
    """A client whose requests are counted."""
    settings.METRICS_TOKEN = TOKEN
    monkeypatch.setenv(metrics.FOLDER, str(folder))
    yield Client()
    post_save.disconnect(metrics.count_answer, sender=Answer)


def read(client: Client) -> dict[str, float]:
    """Return the samples, keyed by name and labels."""
    reply = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert reply.status_code == 200
    return samples(reply.content.decode())


def samples(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {name: float(number) for name, number in (line.rsplit(" ", 1) for line in lines)}


def test_without_a_token_metrics_are_not_found(client, db):
    assert django_settings.METRICS_TOKEN == ""
    for sent in ("", "Bearer ", "Bearer x"):
        assert client.get("/metrics", headers={"Authorization": sent}).status_code == 404


def test_metrics_need_the_token(metered):
    for sent in ("", "Bearer ", "Bearer another", TOKEN, "Bearer ä"):
        reply = metered.get("/metrics", headers={"Authorization": sent})
        assert reply.status_code == 401
        assert b"handful_" not in reply.content
    assert metered.post("/metrics").status_code in (403, 405)


@pytest.mark.long
def test_answers_and_replies_are_counted_by_route_without_links(
    metered, researcher, django_capture_on_commit_callbacks
):
    study = factories.make_study(researcher, factories.make_task(), shots=[2])
    seat = factories.seat(study.scenarios.get())
    before = read(metered)
    metered.get(reverse("work", args=[seat.token]))
    metered.get(reverse("work", args=[seat.token]))
    metered.get(f"/work/{seat.token}/nothing/")
    with django_capture_on_commit_callbacks(execute=True):
        factories.work_through(seat, limit=2)
    found = read(metered)

    def new(name: str) -> float:
        return found[name] - before.get(name, 0)

    assert new('handful_replies_total{method="GET",route="work",status="200"}') == 2
    assert new('handful_request_seconds_count{method="GET",route="work"}') == 2
    assert new('handful_request_seconds_bucket{le="+Inf",method="GET",route="work"}') == 2
    assert new('handful_replies_total{method="GET",route="none",status="404"}') == 1
    assert new("handful_answers_total") == 2
    text = "\n".join(found)
    assert seat.token not in text
    assert seat.study.link_code not in text


def test_metrics_of_the_database_need_few_queries(
    metered, researcher, django_assert_max_num_queries
):
    study = factories.make_study(researcher, factories.make_task(), shots=[2], annotators=3)
    factories.seat(study.scenarios.get())
    Notice.objects.create(
        user=researcher, study=study, about="first", subject="x", what="x",
        created_at=database_now(), next_at=database_now(), mail="waiting", attempts=2,
    )  # fmt: skip
    PeriodicPart.objects.create(name="platforms", error="ProlificError: 503")
    call_command("tick", "seats", verbosity=0, stdout=io.StringIO())
    with django_assert_max_num_queries(16):
        found = read(metered)
    assert found['handful_studies{status="open"}'] == 1
    assert found['handful_participations{kind="person",status="working"}'] == 1
    assert found['handful_seats{state="at_work"}'] == 1
    assert found['handful_seats{state="free"}'] == 2
    assert found['handful_mails{state="retrying"}'] == 1
    assert found['handful_tick_failing{part="platforms"}'] == 1
    assert found['handful_tick_failing{part="seats"}'] == 0
    age = database_now() - timedelta(
        seconds=found['handful_tick_success_timestamp_seconds{part="seats"}']
    )
    assert age.year == 1970
    assert found["handful_guards_missing"] == 0
    assert found["handful_database_up"] == 1
    assert found["handful_folder_free_bytes"] > 0


def test_money_is_reported_by_state(metered, researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], hourly_rate=10, max_paid_hours=1
    )
    factories.seat(study.scenarios.get())
    assert read(metered)['handful_money_cents{currency="USD",state="committed"}'] == 1000


def test_metrics_report_a_database_that_is_away(metered):
    def away(*_args):
        raise OperationalError("connection refused")

    with connection.execute_wrapper(away):
        found = read(metered)
    assert found["handful_database_up"] == 0
    assert 'handful_studies{status="open"}' not in found


@pytest.mark.long
def test_metrics_are_summed_over_workers_including_killed_ones(
    port,  # noqa: F811
    tmp_path,
):
    environment = {name: value for name, value in os.environ.items() if name != metrics.FOLDER} | {
        "HANDFUL_VAR": str(tmp_path), "METRICS_TOKEN": TOKEN, "TMPDIR": str(tmp_path),
        "DATABASE_URL": f"sqlite:///{tmp_path / 'own.sqlite3'}",
    }  # fmt: skip
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, env=environment, check=True
    )
    command = shlex.split(COMMAND.replace("--port 8000", f"--port {port}"))
    command[0] = str(Path(sys.executable).with_name(command[0]))
    server = subprocess.Popen(command, cwd=ROOT, start_new_session=True, env=environment)

    def counted() -> float:
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}
        )
        with urllib.request.urlopen(request, timeout=30) as reply:
            found = samples(reply.read().decode())
        return found.get('handful_replies_total{method="GET",route="home",status="200"}', 0)

    try:
        wait_for(lambda: answers(port), server)
        before = counted()
        for _ in range(40):
            assert answers(port)
        assert counted() == before + 40
        counting = {
            int(re.findall(r"_(\d+)\.db", path.name)[0])
            for path in tmp_path.glob("handful-metrics-*/counter_*.db")
        }
        # The parent process loads the program too, but answers no requests.
        assert counting - {server.pid} == workers(server)
        killed = min(workers(server))
        os.kill(killed, signal.SIGKILL)
        wait_for(lambda: len(workers(server) - {killed}) == 2, server)
        wait_for(lambda: answers(port), server)
        assert counted() >= before + 41
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait(60)
