"""`manage.py tick` runs every part, on one machine at a time; a failing part stops no other."""

import threading
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db.models import QuerySet
from django.utils import timezone

from tasks import periodic
from tasks.models import PeriodicPart
from tests.annotation.races import race


@pytest.fixture
def parts(monkeypatch):
    """Replace the parts by three that record their runs; return the record."""
    ran: list[str] = []

    def note(name):
        return periodic.Part(lambda: ran.append(name))

    def fail():
        ran.append("broken")
        raise ValueError("out of order")

    chosen = {"one": note("one"), "broken": periodic.Part(fail), "two": note("two")}
    monkeypatch.setattr(periodic, "PARTS", chosen)
    monkeypatch.setattr(periodic, "LAST", {})
    return ran


def tick(*names: str) -> str:
    said = StringIO()
    call_command("tick", *names, stdout=said)
    return said.getvalue()


def test_every_part_runs_repeatedly_and_reports(client, db, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    for _run in range(2):
        said = tick()
        for part in ("seats", "webhooks", "notices", "mail", "sessions", "platforms", "jobs"):
            assert f"{part}: " in said
        assert "failed" not in said
    assert "sessions: left: not due yet" in said
    assert not periodic.is_overdue()
    assert "overdue" not in client.get("/health/ready").json()
    PeriodicPart.objects.update(started_at=timezone.now() - timedelta(hours=1))
    late = client.get("/health/ready")
    assert (late.status_code, late.json().get("overdue")) == (200, ["tick"])


def test_a_failing_part_stops_no_other_and_is_reported(db, parts):
    with pytest.raises(CommandError, match="Failed: broken"):
        tick()
    assert parts == ["one", "broken", "two"]
    broken, two = (PeriodicPart.objects.get(name=name) for name in ("broken", "two"))
    assert (broken.error, broken.succeeded_at, broken.busy_until) == (
        "ValueError: out of order", None, None,
    )  # fmt: skip
    assert two.succeeded_at is not None
    tick("two")
    assert parts == ["one", "broken", "two", "two"]
    with pytest.raises(CommandError, match="Unknown part: three"):
        tick("three")


def test_a_part_of_a_killed_process_is_taken_after_its_limit(db, parts):
    assert periodic.take("one", periodic.PARTS["one"]) == ""  # it is never given back
    assert "another process is running it" in tick("one")
    PeriodicPart.objects.update(busy_until=timezone.now() - timedelta(seconds=1))
    assert "one: done" in tick("one")


def test_a_run_beyond_its_limit_does_not_release_anothers_claim(db, parts, monkeypatch):
    def outlive():
        late = timezone.now() - timedelta(seconds=1)
        PeriodicPart.objects.filter(name="slow").update(busy_until=late)
        assert periodic.take("slow", periodic.PARTS["slow"]) == ""  # another process's claim

    monkeypatch.setitem(periodic.PARTS, "slow", periodic.Part(outlive))
    tick("slow")
    assert "another process is running it" in tick("slow")


# Two at once --------------------------------------------------------------------------------------


def collide(monkeypatch, patience: float) -> list[str]:
    """Return the states of a part after four simultaneous ticks.

    The part runs until the three other ticks have ended, at most `patience` seconds for each.
    """
    ended = threading.Semaphore(0)

    def last_longest() -> None:
        for _other in range(3):
            ended.acquire(timeout=patience)

    def full_tick() -> list[periodic.Outcome]:
        try:
            return list(periodic.tick())
        finally:
            ended.release()

    part = periodic.Part(last_longest)
    monkeypatch.setattr(periodic, "PARTS", {"slow": part})
    monkeypatch.setattr(periodic, "LAST", {})
    PeriodicPart.objects.get_or_create(name="slow")
    results = race([full_tick] * 4)
    return [outcome.state for (outcome,) in results]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_simultaneous_ticks_one_runs_the_part(monkeypatch):
    assert sorted(collide(monkeypatch, patience=20)) == ["done", "left", "left", "left"]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_control_without_the_row_lock_two_ticks_run_the_part(monkeypatch):
    """Without the lock, all four ticks claim the part."""
    gate = threading.Barrier(4)

    def unlocked(self, **_options):
        return self

    original = PeriodicPart.save

    def save(self, *args, **kwargs):
        if not self._state.adding:
            gate.wait(timeout=20)  # every tick has read before any writes
        original(self, *args, **kwargs)

    monkeypatch.setattr(QuerySet, "select_for_update", unlocked)
    monkeypatch.setattr(PeriodicPart, "save", save)
    assert collide(monkeypatch, patience=0.1).count("done") == 4
