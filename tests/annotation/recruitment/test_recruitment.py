"""Seats go to the least filled scenario, are never given twice, and are freed if abandoned."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from annotation.models import Answer, Kind, Participation, Status, Study
from annotation.pay import ledger
from annotation.protocol import training_step
from annotation.recruitment import consent, join_errors, seats
from annotation.study import design, lifecycle
from tests import factories


@pytest.fixture(scope="module")
def stored(module_researcher):
    return factories.make_study(
        module_researcher, factories.make_task(), shots=[0, 2, 4], annotators=2
    ).pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


def taken(study):
    return sorted(
        scenario.participations.seated().filter(kind=Kind.PERSON).count()
        for scenario in study.scenarios.all()
    )


def test_the_least_filled_scenario_comes_first(study):
    for expected in ([0, 0, 1], [0, 1, 1], [1, 1, 1], [1, 1, 2], [1, 2, 2], [2, 2, 2]):
        factories.join(study)
        assert taken(study) == expected


@pytest.mark.long
def test_a_full_study_says_so_at_once(client, study):
    for _person in range(6):
        factories.join(study)
    with pytest.raises(join_errors.RecruitmentError) as refused:
        factories.join(study)
    assert refused.value.code == "full"
    page = client.get(reverse("landing", args=[study.link_code])).content.decode()
    assert "taken" in page
    assert client.post(reverse("start", args=[study.link_code])).status_code == 409


def test_simulated_annotators_have_separate_seats(study):
    for _robot in range(6):
        factories.join(study, Kind.SIMULATED)
    assert taken(study) == [0, 0, 0]
    factories.join(study)
    with pytest.raises(join_errors.RecruitmentError):
        factories.join(study, Kind.SIMULATED)


def test_the_same_worker_gets_the_same_seat_again(study):
    assert factories.join(study, identity="ida") == factories.join(study, identity="ida")
    assert study.participations.count() == 1


@pytest.mark.long
def test_ties_are_decided_by_the_studys_seed(researcher):
    def first_seats(seed: int) -> list[int]:
        study = factories.make_study(
            researcher, factories.make_task(), shots=[0, 2, 4], annotators=8, seed=seed
        )
        return [factories.join(study).scenario.shots for _person in range(24)]

    assert first_seats(1) == first_seats(1)
    assert first_seats(1) != first_seats(2)


@pytest.mark.parametrize("status", ["paused", "closed", "draft"])
def test_only_an_open_study_gives_seats(study, status):
    draft = {"manifest_hash": ""} if status == "draft" else {}
    Study.objects.filter(pk=study.pk).update(status=status, **draft)
    with pytest.raises(join_errors.RecruitmentError) as refused:
        factories.join(study)
    assert refused.value.code == status


def test_a_seat_idle_for_longer_than_the_limit_is_freed(study):
    idle, busy = factories.join(study), factories.join(study)
    old = timezone.now() - study.idle_limit - timedelta(minutes=1)
    Participation.objects.filter(pk=idle.pk).update(arrived_at=old)
    factories.join(study)
    idle.refresh_from_db()
    busy.refresh_from_db()
    assert (idle.status, idle.seat_number) == ("expired", None)
    assert busy.status == "arrived"


def test_a_seat_is_held_for_ten_minutes_until_consent(study):
    slow, quick = factories.join(study), factories.join(study)
    for seat, minutes in ((slow, 11), (quick, 9)):
        long_ago = timezone.now() - timedelta(minutes=minutes)
        Participation.objects.filter(pk=seat.pk).update(arrived_at=long_ago)
    factories.join(study)
    slow.refresh_from_db()
    quick.refresh_from_db()
    assert (slow.status, quick.status) == ("expired", "arrived")


def expire(seat: Participation) -> None:
    """Expire a seat, as if the worker had been idle for longer than the study's limit."""
    Participation.objects.filter(pk=seat.pk).update(status=Status.EXPIRED, seat_number=None)
    seat.refresh_from_db()


def test_a_late_return_continues_at_the_same_example(client, study):
    seat = factories.seat(study.scenarios.last())
    turn = seat.latest_turn()
    expire(seat)
    page = client.get(reverse("work", args=[seat.token])).content.decode()
    assert "Continue where I left off" in page
    reply = client.post(reverse("resume", args=[seat.token]))
    assert reply.url == reverse("work", args=[seat.token])
    seat.refresh_from_db()
    assert (seat.status, seat.seat_number is not None) == ("working", True)
    assert seat.latest_turn() == turn
    factories.join(study)
    seat.refresh_from_db()
    assert seat.status == "working"


def test_an_answer_after_the_seat_was_released_is_refused(client, study):
    seat = factories.seat(study.scenarios.last())
    turn = seat.latest_turn()
    expire(seat)
    fields = factories.fields_for(turn.example, turn.example.gold)
    reply = client.post(reverse("answer", args=[seat.token]), {"turn": turn.pk, **fields})
    assert reply.status_code == 409
    assert "Your last answer was not saved" in reply.content.decode()
    assert not Answer.objects.exists()


def test_an_older_seat_does_not_bypass_tasks_per_worker(client, researcher):
    tasks = [factories.make_task(), factories.make_task(name="toy-other")]
    study = factories.make_study(researcher, *tasks, shots=[0], annotators=2)
    first = factories.join(study, identity="ida")
    expire(first)
    factories.join(study)  # so that the other task has more free seats
    second = factories.join(study, identity="ida")
    assert second != first
    consent.record(second, agree=True)
    training_step.begin(second.token)
    factories.work_through(second)
    reply = client.post(reverse("resume", args=[first.token]))
    assert reply.status_code == 409
    assert "already taken part" in reply.content.decode()


def test_a_late_return_is_refused_once_the_seat_was_taken(client, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0], annotators=1)
    late = factories.seat(study.scenarios.get())
    factories.work_through(late, limit=2)
    expire(late)
    factories.join(study)
    reply = client.post(reverse("resume", args=[late.token]))
    assert reply.status_code == 409
    assert "given to another person" in reply.content.decode()
    late.refresh_from_db()
    assert (late.status, Answer.objects.count()) == ("expired", 2)


def test_a_late_worker_resumes_the_expired_seat(study):
    seat = factories.join(study, identity="ida")
    consent.record(seat, agree=True)
    training_step.begin(seat.token)
    expire(seat)
    assert factories.join(study, identity="ida") == seat


def test_the_study_link_leads_a_late_worker_to_the_seat(client, study):
    client.post(reverse("start", args=[study.link_code]))
    seat = study.participations.get()
    consent.record(seat, agree=True)
    training_step.begin(seat.token)
    expire(seat)
    page = client.get(reverse("landing", args=[study.link_code])).content.decode()
    assert reverse("work", args=[seat.token]) in page
    assert "already taken part" not in page


def test_a_second_decline_is_accepted_and_counted_once(client, study):
    seat = factories.join(study)
    for _click in range(2):
        reply = client.post(reverse("consent", args=[seat.token]), {"agree": "no"})
        assert (reply.status_code, reply.url) == (302, reverse("declined"))
    assert sum(scenario.declined for scenario in study.scenarios.all()) == 1


@pytest.mark.long
@pytest.mark.parametrize("about", ["bonus", "decision"])
def test_declining_after_a_bonus_or_decision_retains_it(client, study, researcher, about):
    seat = factories.join(study)
    if about == "bonus":
        ledger.add_bonus(seat, 100, "for the trouble", researcher)
    else:
        ledger.decide(seat, False, "a test of ours", researcher)
    for _click in range(2):
        reply = client.post(reverse("consent", args=[seat.token]), {"agree": "no"})
        assert (reply.status_code, reply.url) == (302, reverse("declined"))
    seat.refresh_from_db()
    assert (seat.status, seat.seat_number, seat.consented_at) == ("withdrawn", None, None)
    assert (seat.in_analysis, seat.browser) == (False, "")
    assert [entry.cents for entry in seat.ledger.all()] == ([100] if about == "bonus" else [])
    assert client.get(reverse("work", args=[seat.token])).status_code == 200
    client.force_login(researcher)
    for name in ("study", "pay", "export_zip"):
        assert client.get(reverse(name, args=[study.name])).status_code == 200
    address = reverse("participation", args=[study.name, seat.pseudonym])
    assert client.get(address).status_code == 200


@pytest.mark.long
def test_every_scenario_choice_can_be_reproduced_from_its_log(researcher):
    tasks = [factories.make_task(name=f"toy-{letter}") for letter in "abc"]
    study = factories.make_study(researcher, *tasks, shots=[0, 2], annotators=3)
    for number in range(15):
        seat = factories.join(study)
        if number % 4 == 0:
            consent.record(seat, agree=False)
    logged = list(study.allocations.all())
    assert [choice.arrival for choice in logged] == list(range(1, 16))
    for choice in logged:
        again = seats.choose(study.seed, choice.arrival, choice.candidates)
        assert again == choice.scenario_id
        least = min(taken for _key, taken, _seats in choice.candidates)
        assert {key: taken for key, taken, _seats in choice.candidates}[again] == least


def test_a_study_with_a_declined_consent_stays_frozen(study):
    consent.record(factories.join(study), agree=False)
    with pytest.raises(design.DesignError, match="taken a seat"):
        lifecycle.change_status(study, "draft")


def test_a_working_seat_is_not_idle_however_old_its_arrival(study):
    seat = factories.seat(study.scenarios.last())
    old = timezone.now() - study.idle_limit - timedelta(minutes=1)
    Participation.objects.filter(pk=seat.pk).update(arrived_at=old, consented_at=old)
    factories.join(study)
    seat.refresh_from_db()
    assert seat.status == "working"


def test_a_worker_does_a_task_once_in_any_study_and_version(researcher, study):
    seat = factories.join(study, identity="ida")
    consent.record(seat, agree=True)
    training_step.begin(seat.token)
    newer = factories.make_task(test_size=6)
    assert newer.version == 2
    other = factories.make_study(researcher, newer)
    with pytest.raises(join_errors.RecruitmentError) as refused:
        factories.join(other, identity="ida")
    assert refused.value.code == "full"


@pytest.mark.parametrize(
    ("pay", "said"),
    [
        ({"hourly_rate": 12, "max_paid_hours": 1}, "an example, you are paid for your time."),
        ({"hourly_rate": 0, "minimum_pay": 1}, "an example, you get the minimum pay."),
        ({"hourly_rate": 0, "base_reward": 1}, "You are only paid if you finish."),
        ({"hourly_rate": 0}, ""),
    ],
)
def test_consent_states_pay_after_an_early_end_and_a_contact(client, researcher, pay, said):
    study = factories.make_study(researcher, factories.make_task(), **{"budget": 50, **pay})
    seat = factories.join(study)
    page = " ".join(client.get(reverse("work", args=[seat.token])).content.decode().split())
    assert "Contact the researchers where you found this study." in page
    assert said in page
    assert ("paid" in page or "pay" in page.partition("</form>")[2]) == bool(said)


def test_the_database_refuses_two_holders_of_one_seat(study):
    first, second = factories.join(study), factories.join(study)
    Participation.objects.filter(pk=second.pk).update(scenario=first.scenario, seat_number=2)
    with pytest.raises(IntegrityError), transaction.atomic():
        Participation.objects.filter(pk=second.pk).update(seat_number=first.seat_number)


def test_the_database_refuses_a_live_participation_without_seat(study):
    seat = factories.join(study)
    with pytest.raises(IntegrityError), transaction.atomic():
        Participation.objects.filter(pk=seat.pk).update(seat_number=None)


@pytest.mark.long
@pytest.mark.sqlite
def test_on_sqlite_64_arrivals_fill_the_seats_exactly(tmp_path):
    own = {"HANDFUL_VAR": str(tmp_path), "DATABASE_URL": f"sqlite:///{tmp_path / 'crowd.sqlite3'}"}
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("sqlite_crowd.py")],
        env=os.environ | own,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "{'full': 52, 'seated': 12} 12 12", done.stderr
