"""If people do several tasks each, statements about people count people."""

import pytest
from django.urls import reverse

from analysis.documents.study_record import StudyRecord
from annotation.models import Kind
from annotation.pay import ledger
from annotation.privacy import withdrawal
from annotation.protocol import exclusion, training_step
from annotation.recruitment import consent, identities, seats
from tests import factories


def do_task(study, person: str, complete: bool = True) -> None:
    """Take the next task of the study as this person, and complete it if `complete`."""
    key = identities.worker_key("link", person)
    participation = seats.join(study.pk, key, "link", Kind.PERSON)
    consent.record(participation, agree=True)
    training_step.begin(participation.token)
    participation.refresh_from_db()
    if complete:
        factories.work_through(participation)


@pytest.fixture
def study(db, researcher):
    """Two people did two tasks each, and a third left during the first."""
    tasks = [factories.make_task(name=name, test_size=2) for name in ("toy-one", "toy-two")]
    study = factories.make_study(
        researcher, *tasks, shots=[0], annotators=3, tasks_per_worker=2, exit_questionnaire=False
    )
    for person in ("ada", "bob"):
        do_task(study, person)
        do_task(study, person)
    do_task(study, "cyd", complete=False)
    return study


@pytest.mark.long
def test_the_record_of_a_study_counts_people_and_not_their_tasks(study):
    record = StudyRecord(study)
    assert (record.flow.arrived, record.flow.analysed) == (5, 4)
    assert (record.workers["arrived"], record.workers["consented"]) == (3, 3)
    assert record.workers["analysed"] == 2


@pytest.mark.long
def test_checklists_count_a_participant_once_for_each_task(ada, researcher, study):
    two = study.participations.filter(worker__key=identities.worker_key("link", "ada"))
    for participation in two:
        exclusion.decide(participation, False, "Asleep.", researcher)
        ledger.decide(participation, False, "Asleep.", researcher)
    for participation in study.participations.filter(
        worker__key=identities.worker_key("link", "bob")
    ):
        withdrawal.withdraw(participation.token)
    page = ada.get(reverse("report", args=[study.name])).content.decode()
    assert "By decision: not paid in 2 cases." in page
    assert "Excluded by a researcher with a reason: 2." in page
    assert "3 consented (5 seats) and 0 declined." in page
    assert "Later withdrawals: 2; these answers were erased." in page


@pytest.mark.long
def test_the_page_distinguishes_participations_from_people(ada, study):
    page = ada.get(reverse("people", args=[study.name])).content.decode()
    assert "All human participations" in page
    assert "All human annotators" not in page
    assert "an annotator who did two tasks is counted twice" in page
