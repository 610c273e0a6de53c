"""Owners delete closed studies; identities and answers can be deleted on a set date."""

from datetime import date, timedelta

import pytest
from django.db import DatabaseError, transaction
from django.urls import reverse
from django.utils import timezone

from analysis.examples import gold_audit
from annotation.models import (
    Answer,
    AnswerSpan,
    AuditEntry,
    Decision,
    Exposure,
    Invitation,
    Member,
    Notice,
    NoticeSwitch,
    OwnAnswer,
    Participation,
    Role,
    Study,
    StudyTombstone,
    Turn,
)
from annotation.notices import collecting
from annotation.pay import ledger
from annotation.privacy import erasure
from annotation.privacy.withdrawal import withdraw
from annotation.protocol import exclusion
from annotation.recruitment import consent, seats
from annotation.study import lifecycle, team
from tests import factories


@pytest.fixture
def study(researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], annotators=2, hourly_rate=0
    )
    for _ in range(2):
        factories.work_through(factories.seat(study.scenarios.get()))
    exclusion.decide(study.participations.first(), False, "asleep, S1 100", researcher)
    return study


def closed(study):
    lifecycle.change_status(study, "close")
    return study


def erase(client, study, typed=None):
    address = reverse("study_erase", args=[study.name])
    return client.post(address, {"typed": study.name if typed is None else typed})


@pytest.mark.long
def test_a_deleted_study_leaves_a_tombstone_and_no_answer(ada, study, researcher):
    closed(study)
    turns, answers = Turn.objects.count(), Answer.objects.count()
    exposures = Exposure.objects.count()
    reply = erase(ada, study)
    assert reply.status_code == 302
    for model in (Turn, Answer, AnswerSpan):
        assert not model.objects.exists()
    tombstone = StudyTombstone.objects.get()
    assert (tombstone.turns_erased, tombstone.answers_erased) == (turns, answers)
    assert tombstone.participations == {"completed": 2}
    assert tombstone.manifest_hash == study.manifest_hash
    assert tombstone.by == researcher
    assert Study.objects.get(pk=study.pk).manifest  # the frozen design is kept
    assert Exposure.objects.count() == exposures == 2  # still prevents a second participation
    assert Decision.objects.get().reason == "withdrawn"
    page = ada.get(reply.url).content.decode()
    assert study.name in page
    assert study.manifest_hash in page
    for name in ("study", "report", "human_performance", "export_zip", "study_settings"):
        assert ada.get(reverse(name, args=[study.name])).status_code == 404
    assert study.title not in ada.get(reverse("studies")).content.decode()
    key = factories.bearer(researcher, "read")
    assert ada.get(f"/api/v1/studies/{study.name}/", headers=key).status_code == 404


@pytest.mark.long
def test_related_rows_are_erased_or_named_on_the_page(ada, researcher):
    """This erases answers, reasons for decisions and notices; comments and the log stay."""
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], annotators=3, hourly_rate=0,
        own_questions="age, before, number: How old are you?",
    )  # fmt: skip
    told, silent, withdrew = (factories.join(study) for _ in range(3))
    for seat in (told, silent, withdrew):
        consent.record(seat, agree=True)
    OwnAnswer.objects.create(participation=told, moment="before", question="age", answer="31")
    example = study.tasks.get().test_split.examples.first()
    gold_audit.add(study, example, "Two golds?", researcher)
    team.invite(study, Role.ANALYST, "guest@example.org", researcher)
    collecting.collect()
    NoticeSwitch.objects.create(user=researcher, study=study, page_off=["quiet"])
    seats.free_by_hand(silent, "S1 17 so far", researcher)
    withdraw(withdrew.token)
    seats.free_by_hand(told, "S1 18 so far", researcher)
    for seat in (silent, withdrew):
        ledger.decide(seat, False, "S1 19 so far", researcher)
    page = ada.get(reverse("study_settings", args=[study.name])).content.decode()
    logged = list(study.events.values_list("pk", flat=True))
    assert erase(ada, closed(study)).status_code == 302
    for model in (OwnAnswer, Invitation, Notice, NoticeSwitch):
        assert not model.objects.exists(), model
    assert {decision.reason for decision in Decision.objects.all()} == {"withdrawn"}
    assert not study.events.filter(what__contains="so far").exists()
    assert set(logged) < set(study.events.values_list("pk", flat=True))
    assert study.comments.get().text == "Two golds?"
    collecting.collect()
    assert not Notice.objects.exists()
    for kept in ("comments on examples", "the audit log", "its team", "reasons for bonuses"):
        assert kept in page
    for gone in ("answers to custom questions", "invitations", "notices"):
        assert gone in page


def test_settings_offer_the_deletion_once_the_study_is_closed(ada, study):
    address = reverse("study_settings", args=[study.name])
    assert "Delete permanently" not in ada.get(address).content.decode()
    closed(study)
    shown = ada.get(address).content.decode()
    assert f"type the study's short name: <code>{study.name}</code>" in shown
    assert '<button class="secondary danger">Delete permanently</button>' in shown
    assert '<button class="secondary">Save</button>' not in shown  # each button says what it saves


@pytest.mark.long
def test_only_a_closed_study_is_deleted_after_typing_its_name(ada, study):
    for typed, words in (("", "Type the name"), ("other", "Type the name"), (None, "Close the")):
        reply = erase(ada, study, typed)
        assert reply.status_code == 422
        assert words in reply.content.decode()
    assert Answer.objects.exists()
    factories.make_study(study.owner, factories.make_task(name="drafted"), status="draft")
    draft = Study.objects.get(status="draft")
    assert erase(ada, draft).status_code == 422
    closed(study)
    assert erase(ada, study, f" {study.name} ").status_code == 302
    with pytest.raises(erasure.ErasureError, match="already"):
        erasure.erase(study, study.name, study.owner)


def test_unpaid_earnings_prevent_the_deletion_of_a_study(researcher, ada):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0], annotators=1, base_reward=5
    )
    factories.work_through(factories.seat(study.scenarios.get()))
    closed(study)
    reply = erase(ada, study)
    assert reply.status_code == 422
    assert "Not all annotators have been paid" in reply.content.decode()
    assert Answer.objects.exists()
    assert not StudyTombstone.objects.exists()


def test_only_owners_delete(client, study, other_researcher):
    closed(study)
    Member.objects.create(study=study, user=other_researcher, role=Role.ANALYST)
    client.force_login(other_researcher)
    assert erase(client, study).status_code == 403
    shown = client.get(reverse("study_settings", args=[study.name])).content.decode()
    assert "Delete permanently" not in shown
    assert Answer.objects.exists()


@pytest.mark.long
def test_the_database_still_guards_every_other_study(study, researcher):
    other = factories.make_study(researcher, factories.make_task(name="other"), shots=[0])
    factories.work_through(factories.seat(other.scenarios.get()))
    erasure.erase(closed(study), study.name, researcher)
    with pytest.raises(DatabaseError), transaction.atomic():
        Answer.objects.filter(turn__participation__study=other).delete()
    assert Answer.objects.filter(turn__participation__study=other).exists()


@pytest.mark.long
def test_identities_are_deleted_after_their_date(ada, study):
    (study_link,) = [study.personal_links.create(name="Ida Example")]
    address = reverse("retention", args=[study.name])
    assert ada.post(address, {"until": "soon"}).status_code == 422
    yesterday = timezone.now().date() - timedelta(days=1)
    assert ada.post(address, {"until": yesterday.isoformat()}).status_code == 302
    study.refresh_from_db()
    assert study.identities_until == yesterday
    assert erasure.delete_due(yesterday) == []  # not before the day has ended
    assert erasure.delete_due() == [(study.name, "1 identities deleted")]
    study_link.refresh_from_db()
    assert "Ida" not in study_link.name
    study.refresh_from_db()
    assert study.identities_until is None
    assert erasure.delete_due(date.max) == []
    assert Answer.objects.exists()


@pytest.mark.long
def test_identities_can_be_deleted_at_once(ada, study):
    link = study.personal_links.create(name="Ida Example")
    address = reverse("retention", args=[study.name])
    erasure.keep_until(study, date(2090, 1, 1), None, study.owner)
    working = factories.seat(study.scenarios.get())
    refused = ada.post(address, {"until": "2091-01-01", "now": "1"})
    assert (refused.status_code, "still working" in refused.content.decode()) == (422, True)
    seats.free_by_hand(working, "left", study.owner)
    assert ada.post(address, {"until": "2091-01-01", "now": "1"}).status_code == 302
    link.refresh_from_db()
    assert "Ida" not in link.name
    study.refresh_from_db()
    assert study.identities_until == date(2090, 1, 1)  # still applies to later arrivals
    entry = AuditEntry.objects.filter(study=study).latest("pk")
    assert (entry.what, entry.by) == ("1 identities deleted", study.owner)
    lifecycle.change_status(study, "close")
    assert ada.post(address, {"until": "2091-01-01", "now": "1"}).status_code == 302
    study.refresh_from_db()
    assert study.identities_until is None


@pytest.mark.long
def test_a_deletion_waits_for_working_and_unpaid_annotators(study):
    factories.make_study(study.owner, factories.make_task(name="other"))
    erasure.keep_until(study, date(2020, 1, 1), None, study.owner)
    scenario = study.scenarios.get()
    lifecycle.add_seats(scenario, 1, study.owner, confirmed=True)
    working = factories.seat(scenario)
    ((name, what),) = erasure.delete_due(date(2020, 1, 2))
    assert (name, what.split(":")[0]) == (study.name, "waits")
    with pytest.raises(erasure.ErasureError):
        erasure.purge(study, None)
    assert Participation.objects.get(pk=working.pk).status == "working"
    assert [event.what for event in study.events.all()][-2:][0].startswith("identities are deleted")


@pytest.mark.long
def test_a_closed_study_is_deleted_after_its_date(ada, study, researcher):
    today = timezone.now().date()
    address = reverse("retention", args=[study.name])
    refused = ada.post(address, {"answers_until": today.isoformat()})
    assert refused.status_code == 422
    assert "Choose a future date" in refused.content.decode()
    day = today + timedelta(days=7)
    assert ada.post(address, {"answers_until": day.isoformat()}).status_code == 302
    assert day.isoformat() in ada.get(address, follow=True).content.decode()
    collecting.collect()
    notice = Notice.objects.get(user=researcher, about="retention")
    assert notice.what == f"The study will be deleted after {day}, with all answers"
    assert erasure.delete_due(day) == []  # not before the day has ended
    ((name, what),) = erasure.delete_due(day + timedelta(days=1))
    assert (name, what.split(":")[0]) == (study.name, "waits")
    assert Answer.objects.exists()
    # A stored day can be sent again even if it isn't in the future; only a new one is refused.
    Study.objects.filter(pk=study.pk).update(answers_until=today)
    days = {"until": day.isoformat(), "answers_until": today.isoformat()}
    assert ada.post(address, days).status_code == 302
    days["answers_until"] = (today - timedelta(days=1)).isoformat()
    assert ada.post(address, days).status_code == 422
    Study.objects.filter(pk=study.pk).update(answers_until=day, identities_until=None)
    closed(study)
    number = Answer.objects.count()
    done = erasure.delete_due(day + timedelta(days=1))
    assert done == [(study.name, f"deleted, with {number} answers")]
    assert not Answer.objects.exists()
    assert StudyTombstone.objects.get().by == study.owner
    entry = AuditEntry.objects.filter(study=study).latest("pk")
    assert (entry.what, entry.by) == (
        ("deleted, with all answers, on its deletion date"),
        None,
    )
    assert erasure.delete_due(date.max) == []


@pytest.mark.long
def test_a_program_sets_the_dates_and_deletes(client, study, researcher):
    closed(study)
    key = factories.bearer(researcher, "read", "run", study=study)

    def post(name, sent):
        address = reverse(name, args=[study.name])
        return client.post(address, sent, content_type="application/json", headers=key)

    days = {"until": "2030-01-01", "answers_until": "2040-01-01"}
    assert post("api_retention", days).status_code == 200
    stored = Study.objects.get(pk=study.pk)
    assert (stored.identities_until, stored.answers_until) == (date(2030, 1, 1), date(2040, 1, 1))
    Study.objects.filter(pk=study.pk).update(answers_until=date(2020, 1, 1))
    assert post("api_retention", days | {"answers_until": "2020-01-01"}).status_code == 200
    assert post("api_retention", days | {"answers_until": "2020-01-02"}).status_code == 422
    assert post("api_erase", {"typed": "x"}).status_code == 422
    assert post("api_erase", {"typed": study.name}).status_code == 200
    assert not Answer.objects.exists()
