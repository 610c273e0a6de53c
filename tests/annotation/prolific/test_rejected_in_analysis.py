"""A rejection on a platform doesn't exclude completed work: a researcher decides, blinded."""

import pytest
from django.urls import reverse

from annotation.models import Decision
from annotation.monitoring import progress, todo
from annotation.prolific import sync
from annotation.protocol import qualification
from tasks.clock import database_now
from tests import factories
from tests.annotation.prolific.fixtures import (
    BO,
    arrive,
    begin,
    complete,
    reject_there,
    submission_of,
)


@pytest.fixture
def rejected(fake, study, published):
    """A participation that was completed, then rejected on Prolific."""
    seat = complete(fake, published)
    reject_there(fake, submission_of(fake, published)["id"])
    sync.sync(study)
    seat.refresh_from_db()
    return seat


def needs(study) -> dict[str, str]:
    seen = type(study).objects.visible_to(study.owner).get(pk=study.pk)
    listed = todo.needs(seen, progress.for_study(seen), database_now())
    return {need.name: need.detail for need in listed}


def decide(client, seat, outcome: str, reason: str):
    address = reverse("participation_decide", args=[seat.study.name, seat.pseudonym])
    return client.post(address, {"about": "analysis", "outcome": outcome, "reason": reason})


@pytest.mark.long
def test_a_rejected_submission_requires_a_blind_decision(ada, study, rejected):
    assert rejected.pseudonym in needs(study)["rejected"]
    page = ada.get(reverse("participation", args=[study.name, rejected.pseudonym])).content.decode()
    assert "Keep in the analysis" in page
    assert "The score stays hidden until you decide" in page
    decide(ada, rejected, "no", "the same answer everywhere")
    rejected.refresh_from_db()
    assert (rejected.in_analysis, rejected.seat_number) == (False, None)
    decision = rejected.decisions.get(about="analysis")
    assert (decision.outcome, decision.by, decision.score_seen) == (False, study.owner, False)
    assert "rejected" not in needs(study)


@pytest.mark.long
def test_a_score_seen_before_the_rejection_stays_marked_as_seen(ada, fake, study, published):
    seat = complete(fake, published)
    ada.post(reverse("participation_score", args=[study.name, seat.pseudonym]))
    reject_there(fake, submission_of(fake, published)["id"])
    sync.sync(study)
    decide(ada, seat, "no", "rejected there")
    assert seat.decisions.get(about="analysis").score_seen is True


@pytest.mark.long
def test_documents_distinguish_rejections_before_completion(ada, fake, study, published, rejected):
    session, seat = arrive(fake, published, BO)
    begin(seat)
    factories.work_through(seat, limit=1)
    reject_there(fake, session)
    sync.sync(study)
    page = ada.get(reverse("report", args=[study.name])).content.decode()
    text = " ".join(page.split())
    assert "A rejection on the platform affects only pay" not in text
    assert "A rejection on the platform after completion affects only pay" in text
    assert "Rejected after completion: 1, of which included in the analysis: 1." in text
    assert "Rejected on the platform before completion: 1." in text


@pytest.mark.long
def test_retaining_a_rejected_submission_is_a_decision(ada, study, rejected):
    decide(ada, rejected, "yes", "the answers are careful")
    rejected.refresh_from_db()
    assert (rejected.in_analysis, rejected.seat_number, rejected.is_paid) == (True, 1, False)
    decision = rejected.decisions.get(about="analysis")
    assert (decision.outcome, decision.reason) == (True, "the answers are careful")
    assert decision.score_seen is False
    assert "rejected" not in needs(study)
    decide(ada, rejected, "yes", "once again")
    assert rejected.decisions.filter(about="analysis").count() == 1


@pytest.mark.long
def test_a_submission_that_is_not_rejected_needs_no_decision(ada, fake, study, published):
    seat = complete(fake, published)
    decide(ada, seat, "yes", "good work")
    assert not seat.decisions.filter(about="analysis").exists()
    assert "rejected" not in needs(study)


@pytest.mark.long
def test_prolific_gets_another_place_only_after_the_exclusion(ada, fake, study, published):
    rejected = complete(fake, published)
    complete(fake, published, BO)
    sync.sync(study)
    reject_there(fake, submission_of(fake, published)["id"])
    sync.sync(study)
    assert fake.study(published.external_id)["status"] == "PAUSED"
    decide(ada, rejected, "no", "the same answer everywhere")
    sync.sync(study)
    on_prolific = fake.study(published.external_id)
    assert (on_prolific["status"], on_prolific["total_available_places"]) == ("ACTIVE", 2)


def test_screening_out_manually_does_not_show_a_test_score(researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], qualification="researcher"
    )
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=2)
    factories.go_on(seat.token)
    seat.refresh_from_db()
    assert seat.status == "waiting"
    qualification.decide(seat.token, False, "not careful", researcher)
    assert Decision.objects.get(about="analysis").score_seen is False


def test_screening_out_by_a_rule_records_no_score_seen(fake, study, published):
    _session, seat = arrive(fake, published)
    begin(seat)
    factories.work_through(seat, lambda turn: factories.wrong_texts(turn.example), limit=2)
    factories.go_on(seat.token)
    assert Decision.objects.get(about="analysis").score_seen is None
