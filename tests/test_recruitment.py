"""Seats: least filled first, never over-filled, freed when nobody works on them."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from annotation import recruitment
from annotation.models import Kind, Participation, Study
from tests import factories


@pytest.fixture
def study(researcher):
    return factories.make_study(researcher, factories.make_task(), shots=[0, 2, 4], annotators=2)


def taken(study):
    return sorted(
        scenario.participations.seated().filter(kind=Kind.PERSON).count()
        for scenario in study.scenarios.all()
    )


def test_the_least_filled_scenario_comes_first(study):
    for expected in ([0, 0, 1], [0, 1, 1], [1, 1, 1], [1, 1, 2], [1, 2, 2], [2, 2, 2]):
        factories.join(study)
        assert taken(study) == expected


def test_a_full_study_says_so_at_once(client, study):
    for _person in range(6):
        factories.join(study)
    with pytest.raises(recruitment.RecruitmentError) as refused:
        factories.join(study)
    assert refused.value.code == "full"
    page = client.get(reverse("landing", args=[study.link_code])).content.decode()
    assert "taken" in page
    assert client.post(reverse("start", args=[study.link_code])).status_code == 409


def test_simulated_annotators_have_seats_of_their_own(study):
    for _robot in range(6):
        factories.join(study, Kind.SIMULATED)
    assert taken(study) == [0, 0, 0]
    factories.join(study)
    with pytest.raises(recruitment.RecruitmentError):
        factories.join(study, Kind.SIMULATED)


def test_the_same_worker_gets_the_same_seat_again(study):
    assert factories.join(study, identity="ida") == factories.join(study, identity="ida")
    assert study.participations.count() == 1


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
    with pytest.raises(recruitment.RecruitmentError) as refused:
        factories.join(study)
    assert refused.value.code == status


def test_a_seat_left_idle_for_longer_than_the_limit_is_free_again(study):
    idle, busy = factories.join(study), factories.join(study)
    old = timezone.now() - study.idle_limit - timedelta(minutes=1)
    Participation.objects.filter(pk=idle.pk).update(arrived_at=old)
    factories.join(study)
    idle.refresh_from_db()
    busy.refresh_from_db()
    assert (idle.status, idle.seat_number) == ("expired", None)
    assert busy.status == "arrived"


def test_somebody_who_works_is_not_idle_however_long_ago_they_arrived(study):
    seat = factories.seat(study.scenarios.last())
    old = timezone.now() - study.idle_limit - timedelta(minutes=1)
    Participation.objects.filter(pk=seat.pk).update(arrived_at=old, consented_at=old)
    factories.join(study)
    seat.refresh_from_db()
    assert seat.status == "working"


def test_a_worker_takes_part_once_per_task_in_any_study_and_version(researcher, study):
    seat = factories.join(study, identity="ida")
    recruitment.consent(seat, agree=True)
    from annotation import training_step

    training_step.begin(seat.token)
    newer = factories.make_task(test_size=6)
    assert newer.version == 2
    other = factories.make_study(researcher, newer)
    with pytest.raises(recruitment.RecruitmentError) as refused:
        factories.join(other, identity="ida")
    assert refused.value.code == "full"


def test_the_schema_refuses_two_holders_of_one_seat(study):
    first, second = factories.join(study), factories.join(study)
    Participation.objects.filter(pk=second.pk).update(scenario=first.scenario, seat_number=2)
    with pytest.raises(IntegrityError), transaction.atomic():
        Participation.objects.filter(pk=second.pk).update(seat_number=first.seat_number)


def test_the_schema_refuses_a_live_participation_without_a_seat(study):
    seat = factories.join(study)
    with pytest.raises(IntegrityError), transaction.atomic():
        Participation.objects.filter(pk=seat.pk).update(seat_number=None)
