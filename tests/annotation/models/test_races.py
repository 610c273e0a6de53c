"""Races on PostgreSQL. Each has a control, in which the same race fails without its guard.

(On SQLite, the controls would not fail, so a passing test there would prove nothing.)
"""

import os
import re
import signal
import subprocess
import sys
import threading

import pytest
from django.core.cache import cache
from django.db import IntegrityError, connection
from django.db.models import QuerySet
from django.test import Client
from django.urls import reverse

from annotation.models import (
    Allocation,
    Answer,
    Exposure,
    Participation,
    Status,
    Study,
    Turn,
)
from annotation.privacy import withdrawal
from annotation.protocol import answering, training_step
from annotation.recruitment import consent, join_errors, seats, visitors
from tests import factories
from tests.annotation.races import (
    THREADS,
    collide,
    drop_constraint,
    race,
    restore_constraint,
    take_locks_away,
)

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def no_locks(monkeypatch):
    """Turn locking reads into ordinary reads, for the controls."""
    take_locks_away(monkeypatch)


# The constraints that prevent giving a seat or an arrival twice.
GIVEN_ONCE = (
    (Participation, "a_seat_is_taken_once"),
    (Participation, "an_allocation_is_of_one_participation"),
    (Allocation, "each_arrival_is_allocated_once"),
)


@pytest.fixture
def unguarded(no_locks):
    """Remove the locks and the constraints on seats, for the controls."""
    for model, name in GIVEN_ONCE:
        drop_constraint(model, name)
    yield
    for model, name in GIVEN_ONCE:
        restore_constraint(model, name)


@pytest.fixture
def study(researcher):
    return factories.make_study(researcher, factories.make_task(), shots=[2], annotators=1)


# A panel opens its gates ------------------------------------------------------------------------


def crowd(study) -> list[object]:
    """Let 64 people press Start simultaneously."""
    return race([lambda: factories.join(study) for _person in range(64)])


@pytest.mark.long
def test_64_simultaneous_arrivals_fill_all_seats_exactly(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0, 2, 4], annotators=4)
    results = crowd(study)
    seated = [result for result in results if isinstance(result, Participation)]
    refused = [result for result in results if isinstance(result, join_errors.RecruitmentError)]
    # Compare with [], so that a failure shows any other error, such as too many connections.
    assert [result for result in results if result not in (*seated, *refused)] == []
    assert (len(seated), len(refused)) == (12, 52)
    assert {result.code for result in refused} == {"full"}
    for scenario in study.scenarios.all():
        taken = scenario.participations.values_list("seat_number", flat=True)
        assert sorted(taken) == [1, 2, 3, 4]


@pytest.mark.long
def test_control_without_the_lock_64_arrivals_meet_errors(researcher, no_locks):
    errors = 0
    for _round in range(10):
        study = factories.make_study(researcher, factories.make_task(), shots=[2], annotators=12)
        errors += sum(isinstance(result, IntegrityError) for result in crowd(study))
        assert study.participations.seated().count() <= 12
        if errors:
            break
    assert errors


# Arrivals ----------------------------------------------------------------------------------------


def starts(study, number: int, **sent: str) -> list[int]:
    """Press Start on the open link in several browsers at once, and return the statuses."""
    address = reverse("start", args=[study.link_code])
    replies = race([lambda: Client().post(address, sent) for _ in range(number)])
    return [reply.status_code for reply in replies]


@pytest.mark.long
def test_simultaneous_starts_of_one_address_are_limited(researcher, settings):
    settings.STARTS_PER_MINUTE = 5
    study = factories.make_study(researcher, factories.make_task(), shots=[2], annotators=60)
    assert sorted(starts(study, 16)) == [302] * 5 + [429] * 11


@pytest.mark.long
def test_control_a_counter_without_atomic_update_admits_more(researcher, settings, monkeypatch):
    gate = threading.Barrier(16)

    def read_and_write(address: str) -> bool:
        count = cache.get("starts", 0)
        gate.wait(timeout=30)  # all starts have read before any writes
        cache.set("starts", count + 1)
        return count < settings.STARTS_PER_MINUTE

    settings.STARTS_PER_MINUTE = 5
    monkeypatch.setattr(visitors, "admit", read_and_write)
    study = factories.make_study(researcher, factories.make_task(), shots=[2], annotators=60)
    assert starts(study, 16) == [302] * 16


def test_at_most_a_third_of_seats_wait_for_consent_under_load(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2], annotators=12)
    assert sorted(starts(study, 16)) == [302] * 4 + [429] * 12


def test_control_without_the_lock_more_starts_wait_for_consent(researcher, unguarded, monkeypatch):
    # Let all starts count the participants without consent before the first one takes a seat.
    gate, take_seat = threading.Barrier(16), seats.take_seat

    def together(*args, **options) -> Participation:
        gate.wait(timeout=30)
        return take_seat(*args, **options)

    monkeypatch.setattr(seats, "take_seat", together)
    study = factories.make_study(researcher, factories.make_task(), shots=[2], annotators=12)
    assert starts(study, 16) == [302] * 16


def test_simultaneous_clicks_on_start_are_one_seat(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2], annotators=20)
    page = Client().get(reverse("landing", args=[study.link_code])).content.decode()
    ticket = re.search(r'name="arrival" value="([^"]+)"', page)[1]
    assert starts(study, THREADS, arrival=ticket) == [302] * THREADS
    assert study.participations.count() == 1
    # Control: without the page's random value, each click creates a new participant.
    assert starts(study, 3) == [302] * 3
    assert study.participations.count() == 4


# Double submit ---------------------------------------------------------------------------------


def double_submits(study) -> list[object]:
    """Send different answers to the same turn simultaneously."""
    seat = factories.seat(study.scenarios.get())
    turn = seat.latest_turn()
    word = iter(["we", "went", "to", "then", "home", "train", "we", "home"])
    forms = [factories.fields_for(turn.example, [next(word)]) for _ in range(THREADS)]
    return race([lambda form=form: answering.submit(seat.token, turn.pk, form) for form in forms])


def test_of_simultaneous_submits_one_is_stored_the_rest_conflict(study):
    results = double_submits(study)
    assert Answer.objects.count() == 1
    assert Answer.objects.get().spans.count() == 1
    stored = [r for r in results if isinstance(r, tuple)]
    told = [r for r in results if isinstance(r, answering.Conflict)]
    assert len(stored) + len(told) == THREADS
    assert stored


def test_control_without_the_lock_a_double_submit_ends_in_errors(researcher, no_locks):
    """The schema still allows only one answer, but the other requests get an error."""
    errors = 0
    for _round in range(40):
        task = factories.make_task()
        study = factories.make_study(researcher, task, shots=[2], annotators=1)
        results = double_submits(study)
        errors += sum(isinstance(result, IntegrityError) for result in results)
        if errors:
            break
    assert errors
    assert Answer.objects.values("turn").distinct().count() == Answer.objects.count()


# The last answer of the screening step ------------------------------------------------------------


def last_screening_answers(researcher) -> tuple[Participation, list[object]]:
    """Send the last screening answer, which decides on admission, several times at once."""
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0], annotators=1, screening_examples=1,
        qualification="minimum", qualification_threshold=50,
    )  # fmt: skip
    seat = factories.seat(study.scenarios.get())
    turn = seat.latest_turn()
    form = factories.fields_for(turn.example, ["train"])
    results = race([lambda: answering.submit(seat.token, turn.pk, form) for _ in range(THREADS)])
    seat.refresh_from_db()
    return seat, results


def test_simultaneous_last_answers_give_one_verdict(researcher):
    seat, results = last_screening_answers(researcher)
    assert all(isinstance(result, tuple) for result in results)
    assert seat.status == Status.SCREENED_OUT
    assert seat.decisions.filter(about="qualification").count() == 1
    assert seat.ledger.count() <= 1


def test_control_without_the_lock_last_answers_end_in_errors(researcher, no_locks):
    errors = 0
    for _round in range(40):
        _seat, results = last_screening_answers(researcher)
        errors += sum(isinstance(result, IntegrityError) for result in results)
        if errors:
            break
    assert errors


# The last seat ---------------------------------------------------------------------------------


def arrivals(study) -> list[object]:
    return race([lambda: factories.join(study) for _person in range(THREADS)])


def test_the_last_seat_is_given_once_and_others_get_full(study):
    results = arrivals(study)
    assert study.participations.seated().count() == 1
    refused = [r for r in results if isinstance(r, join_errors.RecruitmentError)]
    assert len(refused) == THREADS - 1
    assert {r.code for r in refused} == {"full"}


def test_control_without_the_lock_the_last_seat_race_has_errors(researcher, no_locks):
    errors = 0
    for _round in range(40):
        study = factories.make_study(researcher, factories.make_task(), shots=[2], annotators=1)
        errors += sum(isinstance(result, IntegrityError) for result in arrivals(study))
        assert study.participations.seated().count() == 1
        if errors:
            break
    assert errors


def test_control_without_lock_and_constraint_seats_overfill(researcher, unguarded):
    worst = 0
    for _round in range(40):
        study = factories.make_study(researcher, factories.make_task(), shots=[2], annotators=1)
        arrivals(study)
        worst = max(worst, study.participations.seated().count())
        if worst > 1:
            break
    assert worst > 1


# Withdrawing while an answer arrives -------------------------------------------------------------


def answer_and_withdraw(researcher) -> list[object]:
    """Answer and withdraw simultaneously; return what each call returned or raised."""
    study = factories.make_study(researcher, factories.make_task(), shots=[2], annotators=1)
    seat = factories.seat(study.scenarios.get())
    turn = seat.latest_turn()
    fields = factories.fields_for(turn.example, list(turn.example.gold))
    return race(
        [
            lambda: answering.submit(seat.token, turn.pk, fields),
            lambda: withdrawal.withdraw(seat.token),
        ]
    )


def test_an_answer_during_a_withdrawal_is_not_stored(researcher):
    for _round in range(10):
        _answered, withdrawn = answer_and_withdraw(researcher)
        assert isinstance(withdrawn, Participation), withdrawn
        assert not Turn.objects.exists()


def test_control_without_the_lock_an_answer_breaks_a_withdrawal(researcher, no_locks):
    for _round in range(40):
        _answered, withdrawn = answer_and_withdraw(researcher)
        if not isinstance(withdrawn, Participation) or Turn.objects.exists():
            return
    raise AssertionError("the lock guards nothing")


# The idle limit while the last answer arrives ----------------------------------------------------


def complete_while_expiring(researcher) -> Participation:
    """Complete a participation over the idle limit while another arrival frees idle seats."""
    study = factories.make_study(researcher, factories.make_task(), shots=[0], annotators=1)
    seat = factories.seat(study.scenarios.get())
    # Turns can't be backdated, so lower the limit until every participant counts as idle.
    Study.objects.filter(pk=study.pk).update(idle_limit_hours=0)
    study.refresh_from_db()

    def complete() -> None:
        Participation.objects.lock(seat.token)
        Participation.objects.filter(pk=seat.pk).update(status=Status.COMPLETED)

    for result in collide(complete, lambda: seats.expire_idle(study)):
        assert not isinstance(result, Exception), result
    seat.refresh_from_db()
    return seat


def test_completing_while_idle_seats_expire_stays_completed(researcher):
    seat = complete_while_expiring(researcher)
    assert (seat.status, seat.seat_number) == ("completed", 1)


def test_control_without_the_lock_a_completed_seat_expires(researcher, no_locks):
    assert complete_while_expiring(researcher).status == "expired"


# "No" in one study, Start in another -------------------------------------------------------------


def decline_here_and_start_there(researcher, number: int) -> list[object]:
    """Decline one study and start another as the same worker, in two tabs at once."""
    studies = [
        factories.make_study(researcher, factories.make_task(name=f"t{number}{x}"), shots=[0])
        for x in "ab"
    ]
    who = f"ida-{number}"
    seat = factories.join(studies[0], identity=who)
    results = race(
        [
            lambda: consent.record(seat, agree=False),
            lambda: factories.join(studies[1], identity=who),
        ]
    )
    assert not Participation.objects.filter(pk=seat.pk).exists() or any(
        isinstance(result, Exception) for result in results
    )
    return results


@pytest.mark.long
def test_declining_while_starting_another_study_never_fails(researcher):
    for number in range(10):
        declined, seat = decline_here_and_start_there(researcher, number)
        assert declined is None, declined
        assert isinstance(seat, Participation), seat
        assert Participation.objects.get(pk=seat.pk).worker.participations.count() == 1


@pytest.mark.long
def test_control_without_the_worker_lock_one_of_the_two_fails(researcher, no_locks):
    failed = 0
    for number in range(40):
        failed += any(
            isinstance(result, IntegrityError)
            for result in decline_here_and_start_there(researcher, number)
        )
        if failed:
            break
    assert failed


# The same worker into two scenarios of a task ----------------------------------------------------


@pytest.fixture
def both_have_looked(monkeypatch):
    """Make both threads look for the exposure before either inserts it."""
    look, gate, thread = QuerySet.get, threading.Barrier(2), threading.local()

    def get(self, *args, **conditions) -> object:
        try:
            return look(self, *args, **conditions)
        finally:
            # Wait only at the first look, because get_or_create() looks again after a conflict.
            if self.model is Exposure and not hasattr(thread, "has_looked"):
                thread.has_looked = True
                gate.wait(30)

    monkeypatch.setattr(QuerySet, "get", get)


def two_studies_of_one_task(researcher) -> list[bool]:
    """Begin a task in two studies at once as the same worker; return which of them show it."""
    task = factories.make_task()
    studies = [factories.make_study(researcher, task, shots=[0]) for _ in range(2)]
    seats = [factories.join(study, identity="ida") for study in studies]
    for seat in seats:
        consent.record(seat, agree=True)
    assert race([lambda seat=seat: training_step.begin(seat.token) for seat in seats]) == [None] * 2
    return [Turn.objects.filter(participation=seat).exists() for seat in seats]


def test_a_worker_in_two_studies_of_one_task_sees_it_in_one_only(researcher, both_have_looked):
    assert sorted(two_studies_of_one_task(researcher)) == [False, True]
    statuses = Participation.objects.values_list("status", flat=True)
    assert sorted(statuses) == ["refused", "working"]


def test_control_without_the_constraint_the_task_is_seen_twice(researcher, both_have_looked):
    name = "a_worker_takes_part_once_per_task"
    drop_constraint(Exposure, name)
    try:
        assert two_studies_of_one_task(researcher) == [True, True]
    finally:
        restore_constraint(Exposure, name)


def test_a_worker_that_starts_twice_simultaneously_gets_one_seat(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0, 2, 4])
    results = race([lambda: factories.join(study, identity="ida") for _ in range(THREADS)])
    assert study.participations.count() == 1
    assert {result.pk for result in results} == {study.participations.get().pk}


# A kill between answer and reveal ----------------------------------------------------------------


SUBMIT_AND_DIE = """
import os, signal, sys
import django
django.setup()
from django.db import transaction
from annotation.participation import pages as views
from annotation.protocol import answering

die = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "after":
    # The moment between the commit and the reply: the view would now render the reveal.
    views._after_post = die
else:
    # The control: the moment before the commit.
    answering.store_answer = die
from django.test import Client
token, turn, typed = sys.argv[2:]
Client().post(f"/work/{token}/answer/", {"turn": turn, "typed": typed}, HTTP_HOST="localhost")
"""


def submit_and_die(moment: str, seat: Participation) -> Turn:
    turn = seat.latest_turn()
    database = connection.settings_dict
    url = f"postgresql://{database['USER']}:{database['PASSWORD']}@{database['HOST']}/{database['NAME']}"
    if database["OPTIONS"].get("host"):
        url += f"?host={database['OPTIONS']['host']}"
    done = subprocess.run(
        [sys.executable, "-c", SUBMIT_AND_DIE, moment, seat.token, str(turn.pk), "home"],
        env=os.environ | {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "config.settings"},
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    return turn


def test_an_answer_survives_a_kill_between_commit_and_reveal(client, study):
    seat = factories.seat(study.scenarios.get())
    turn = submit_and_die("after", seat)
    assert Answer.objects.get().turn_id == turn.pk
    page = client.get(f"/work/{seat.token}/").content.decode()
    assert "Continue" in page


def test_control_a_kill_before_the_commit_stores_no_answer(client, study):
    seat = factories.seat(study.scenarios.get())
    turn = submit_and_die("before", seat)
    assert not Answer.objects.exists()
    assert f'value="{turn.pk}"' in client.get(f"/work/{seat.token}/").content.decode()
