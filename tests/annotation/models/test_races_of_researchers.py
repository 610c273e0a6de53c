"""Races between researchers, and for a study's budget, on PostgreSQL, with controls."""

import threading
from functools import partial

import pytest
from django.db import IntegrityError
from django.db.models import Q

from annotation.models import (
    ComparedFile,
    Participation,
    ProlificStudy,
    Study,
)
from annotation.pay import budget
from annotation.prolific import drafts
from annotation.prolific import studies as prolific_studies
from annotation.prolific.client import Client as Prolific
from annotation.recruitment import join_errors
from annotation.study import design, lifecycle
from tasks.models import Prediction, PredictionFile
from tasks.predictions import store as prediction_store
from tasks.predictions.store import PredictionsError
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


# Predictions -------------------------------------------------------------------------------------


ONCE = "a_model_predicts_once_per_task_shots_split_and_arm"


@pytest.mark.long
def test_of_simultaneous_equal_uploads_one_is_stored(researcher):
    """As in the control, all uploads are read first and then stored simultaneously."""
    task = factories.make_task()
    factories.predict(researcher, "toy", task, 4, 1)
    data = factories.prediction_lines(task)
    upload = prediction_store.PredictionUpload(f"{task.name}_2_1.jsonl", data, task, 2, 1)
    read = [prediction_store.scored([upload]) for _ in range(THREADS)]
    store = partial(prediction_store.store, "toy", [upload])
    results = race([partial(store, texts, researcher, {}) for texts in read])
    assert PredictionFile.objects.filter(shots=2).count() == 1
    assert Prediction.objects.filter(file__shots=2).count() == 4
    assert sum(isinstance(result, PredictionsError) for result in results) == THREADS - 1


@pytest.mark.long
def test_control_without_the_constraint_many_uploads_are_stored(researcher):
    """All uploads are read first, so that they are then stored simultaneously."""
    drop_constraint(PredictionFile, ONCE)
    try:
        most = 0
        for number in range(1, 6):
            task = factories.make_task(name=f"toy-places-{number}")
            factories.predict(researcher, "toy", task, 4, 1)
            data = factories.prediction_lines(task)
            upload = prediction_store.PredictionUpload(f"{task.name}_2_1.jsonl", data, task, 2, 1)
            read = [prediction_store.scored([upload]) for _ in range(THREADS)]
            store = partial(prediction_store.store, "toy", [upload])
            race([partial(store, texts, researcher, {}) for texts in read])
            most = max(most, PredictionFile.objects.filter(task=task, shots=2).count())
        assert most > 1
    finally:
        restore_constraint(PredictionFile, ONCE)


# Two owners save one draft ------------------------------------------------------------------------


def save_while_saving(researcher) -> tuple[object, Study]:
    """Save a draft while another save of the same version is in progress; return the result."""
    task = factories.make_task()
    draft = factories.make_study(researcher, task, shots=[2], status="draft")
    draft.refresh_from_db()
    opened = design.version(draft)

    def save(title: str) -> None:
        study = Study.objects.get(pk=draft.pk)
        study.title = title
        design.save_draft(study, [task], made_from=opened)

    ended, result = collide(partial(save, "first"), partial(save, "second"))
    assert ended is None
    draft.refresh_from_db()
    return result, draft


def test_a_draft_that_is_being_saved_is_not_overwritten(researcher):
    result, draft = save_while_saving(researcher)
    assert isinstance(result, design.StaleDesign)
    assert draft.title == "first"


def test_control_without_the_lock_the_second_save_overwrites(researcher, no_locks):
    result, draft = save_while_saving(researcher)
    assert not isinstance(result, design.StaleDesign)
    assert draft.title == "second" or isinstance(result, IntegrityError)


# The budget of a study ---------------------------------------------------------------------------


def fifty_starts(researcher) -> tuple[Study, list[object]]:
    """Let 50 people press Start at once for 50 seats, with a budget for only ten."""
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0, 2], annotators=25, estimated_minutes=10,
        max_paid_hours="0.5", budget="60.00",
    )  # fmt: skip
    return study, race([lambda: factories.join(study) for _person in range(50)])


@pytest.mark.long
def test_fifty_simultaneous_starts_never_overspend_a_budget(researcher):
    study, results = fifty_starts(researcher)
    seated = [result for result in results if isinstance(result, Participation)]
    refused = [result for result in results if isinstance(result, join_errors.RecruitmentError)]
    assert (len(seated), len(refused)) == (10, 40)
    assert {result.code for result in refused} == {"budget"}
    assert budget.reserved(study) == 6000


@pytest.mark.long
def test_control_without_the_check_fifty_starts_overspend(researcher, monkeypatch):
    monkeypatch.setattr(budget, "has_room", lambda *_args, **_options: True)
    study, _results = fifty_starts(researcher)
    assert budget.reserved(study) == 30_000


@pytest.fixture
def with_ten_left(researcher) -> Study:
    """A study with eight people, whose budget has 10.00 more than they can still earn."""
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], annotators=THREADS, hourly_rate=0,
        base_reward=1, budget="18.00",
    )  # fmt: skip
    for _person in range(THREADS):
        factories.join(study)
    return study


def bonuses_at_once(study, by) -> None:
    """Give each participant a bonus of 5.00, all at once."""
    people = study.participations.all()
    race([lambda person=person: budget.give_bonus(person, 500, "kind", by) for person in people])


def test_simultaneous_bonuses_stay_within_the_budget(researcher, with_ten_left):
    bonuses_at_once(with_ten_left, researcher)
    assert budget.spent(with_ten_left) == 1000


def test_control_without_the_lock_bonuses_overspend(
    researcher, with_ten_left, no_locks, monkeypatch
):
    # Let all calls read the remaining budget before the first one writes to the ledger.
    gate, reserved = threading.Barrier(THREADS), budget.reserved

    def together(study):
        gate.wait(timeout=30)
        return reserved(study)

    monkeypatch.setattr(budget, "reserved", together)
    bonuses_at_once(with_ten_left, researcher)
    assert budget.spent(with_ten_left) == 500 * THREADS


# Two press Publish -------------------------------------------------------------------------------


def publish_at_once(study, researcher, together: int = 1) -> tuple[list[object], list[str]]:
    """Create the same drafted study in parallel; return the results and the created studies.

    A call waits before it creates the study until this many calls (`together`) are there.
    """
    (draft,) = drafts.plan(study, 0, researcher)
    created, arrived, enough = [], [], threading.Event()

    class Counting(Prolific):
        def create_study(self, asked):
            arrived.append(asked)
            if len(arrived) >= together:
                enough.set()
            enough.wait(60)
            answer = super().create_study(asked)
            created.append(answer["id"])
            return answer

    copies = [ProlificStudy.objects.get(pk=draft.pk) for _click in range(THREADS)]
    results = race(
        [partial(prolific_studies.create, copy, "http://testserver", Counting()) for copy in copies]
    )
    return results, created


@pytest.fixture
def on_prolific(researcher, fake):
    return factories.make_study(
        researcher, factories.make_task(), shots=[2], currency="GBP", hourly_rate=12
    )


def test_of_simultaneous_publications_one_creates_the_study(on_prolific, researcher):
    results, created = publish_at_once(on_prolific, researcher)
    assert len(created) == 1
    refused = [result for result in results if isinstance(result, drafts.PlanError)]
    assert (results.count(None), len(refused)) == (1, THREADS - 1)
    assert on_prolific.prolific_studies.get().external_id == created[0]


def test_control_without_the_condition_it_is_created_repeatedly(
    on_prolific, researcher, monkeypatch
):
    """Each created study costs money on Prolific. Even so, only one of them is stored."""
    monkeypatch.setattr(prolific_studies, "free_to_create", lambda now: Q())
    _results, created = publish_at_once(on_prolific, researcher, together=2)
    assert len(created) > 1
    assert on_prolific.prolific_studies.get().external_id in created


# A file is deleted while the study that compares it is closed ------------------------------------


def publish_and_change(study, researcher, run=race) -> tuple[list[object], int, int]:
    """Return both results, and the reward in our database and in the request to Prolific.

    Both requests read the draft first. Then `run` changes and publishes it.
    """
    sent = []

    class Recording(Prolific):
        def create_study(self, fields):
            sent.append(fields["reward"])
            return super().create_study(fields)

    (draft,) = drafts.plan(study, 0, researcher)
    reward, agreed = draft.reward_cents + 100, prolific_studies.sum_in_words(draft)
    changing, publishing = (ProlificStudy.objects.get(pk=draft.pk) for _request in range(2))
    results = run(
        [
            partial(drafts.change, changing, {"reward_cents": reward}),
            partial(prolific_studies.create, publishing, "http://testserver", Recording(), agreed),
        ]
    )
    stored = ProlificStudy.objects.get(pk=draft.pk).reward_cents
    return results, stored, sent[0] if sent else stored


def on_prolific_again(researcher, number: int) -> Study:
    task = factories.make_task(name=f"toy-places-{number}")
    return factories.make_study(researcher, task, shots=[0], annotators=1, currency="GBP")


def test_a_draft_changed_while_it_is_published_is_not_published_as_it_was(researcher, fake):
    for number, run in enumerate([race, race, race, race, one_after_the_other]):
        study = on_prolific_again(researcher, number)
        results, stored, sent = publish_and_change(study, researcher, run)
        assert stored == sent
        assert [isinstance(result, drafts.PlanError) for result in results].count(True) == 1


def test_control_without_reading_it_again_the_earlier_draft_is_published(
    researcher, fake, monkeypatch
):
    monkeypatch.setattr(ProlificStudy, "refresh_from_db", lambda self, **_fields: None)
    study = on_prolific_again(researcher, 0)
    results, stored, sent = publish_and_change(study, researcher, run=one_after_the_other)
    assert results == [None, None]
    assert stored > sent


def one_after_the_other(calls) -> list[object]:
    return [result for call in calls for result in race([call])]


def delete_while_closing(researcher) -> tuple[object, object]:
    """Close a study while deleting predictions for its task; return both results."""
    task = factories.make_task(shots=[2])
    study = factories.make_study(researcher, task, shots=[2])
    file = factories.predict(researcher, "toy", task, 2, 1)
    close = partial(lifecycle.change_status, study, "close", researcher)
    ended, deleted = collide(close, partial(prediction_store.delete, file))
    return ended, deleted


def test_a_file_deleted_while_its_family_is_frozen_remains(researcher):
    ended, deleted = delete_while_closing(researcher)
    assert ended is None
    assert isinstance(deleted, PredictionsError)
    assert ComparedFile.objects.get().file == PredictionFile.objects.get()


def test_control_without_locks_deleting_or_closing_fails(researcher, no_locks):
    results = delete_while_closing(researcher)
    assert any(isinstance(result, IntegrityError) for result in results)
