"""Panels, lists of allowed and denied people, added seats, and purged identities."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import (
    AuditEntry,
    Exposure,
    Kind,
    Panel,
    Participation,
    PersonalLink,
    Status,
    Study,
    Submission,
    Worker,
)
from annotation.payout import batches
from annotation.payout import payments as payout
from annotation.privacy import erasure
from annotation.protocol import training_step
from annotation.recruitment import consent, eligibility, identities, join_errors, seats
from annotation.recruitment.links import make_links
from tests import factories

IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Mobile/15E148"


@pytest.fixture
def ada(researcher):
    client = Client()
    client.force_login(researcher)
    return client


@pytest.fixture(scope="module")
def stored(module_researcher):
    return factories.make_study(
        module_researcher, factories.make_task(), shots=[2], annotators=2
    ).pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


def panel_fields(**changes):
    return {
        "name": "Connect",
        "id_parameter": "participantId",
        "submission_parameter": "assignmentId",
        "completed_url": "https://connect.example.org/{submission}/done?who={id}&cc={code}",
        "other_code": "PARTIAL",
        **changes,
    }


@pytest.fixture
def panel(ada, study):
    reply = ada.post(reverse("panel_new", args=[study.name]), panel_fields())
    panel = Panel.objects.get()
    assert reply.url == reverse("panel_visit", args=[study.name, panel.pk])
    return panel


def arrive(panel, query="participantId=p-1&assignmentId=a1", client=None):
    client = client or Client()
    return client.post(reverse("start", args=[panel.code]) + f"?{query}")


def complete(started) -> Participation:
    """Consent and complete the participation that this reply to Start created."""
    seat = Participation.objects.get(token=started.url.split("/")[2])
    consent.record(seat, agree=True)
    training_step.begin(seat.token)
    factories.work_through(seat)
    seat.refresh_from_db()
    return seat


def test_a_panel_participant_gets_a_seat_and_the_return_link(client, panel):
    landing = client.get(reverse("landing", args=[panel.code]) + "?participantId=p-1")
    assert landing.status_code == 200
    assert Worker.objects.count() == 0
    arrive(panel)
    seat = Participation.objects.get()
    consent.record(seat, agree=True)
    training_step.begin(seat.token)
    factories.work_through(seat)
    page = client.get(reverse("work", args=[seat.token])).content.decode()
    code = seat.completion_code
    assert f"https://connect.example.org/a1/done?who=p-1&amp;cc={code}" in page


def test_a_panel_without_submission_ids_is_paid_by_person_id(ada, study, researcher):
    template = "https://school.example.org/credit?survey_code={id}"
    fields = {"id_parameter": "survey_code", "submission_parameter": "", "completed_url": template}
    ada.post(reverse("panel_new", args=[study.name]), panel_fields(name="SONA", **fields))
    complete(arrive(Panel.objects.get(), "survey_code=4711"))
    seat = Participation.objects.get()
    page = Client().get(reverse("work", args=[seat.token])).content.decode()
    assert "https://school.example.org/credit?survey_code=4711" in page
    (batch,) = batches.prepare(study, researcher)
    assert f"panel:SONA,4711,{seat.pseudonym}," in payout.batch_csv(batch)


@pytest.mark.long
def test_a_further_task_returns_to_the_panel_and_is_paid(ada, researcher):
    tasks = [factories.make_task(), factories.make_task(name="toy-other")]
    study = factories.make_study(researcher, *tasks, shots=[2], tasks_per_worker=2)
    ada.post(reverse("panel_new", args=[study.name]), panel_fields())
    first = complete(arrive(Panel.objects.get()))
    second = complete(Client().post(reverse("next_task", args=[first.token])))
    page = Client().get(reverse("work", args=[second.token])).content.decode()
    code = second.completion_code
    assert f"https://connect.example.org/a1/done?who=p-1&amp;cc={code}" in page
    (batch,) = batches.prepare(study, researcher)
    _header, *rows = payout.batch_csv(batch).splitlines()
    assert len(rows) == 2
    assert all(row.startswith("panel:Connect,p-1,") for row in rows)


def test_a_finished_participant_returns_to_the_last_page(client, study, panel):
    panel.turned_away_code = "NOTHING"
    panel.save()
    seat = complete(arrive(panel, client=client))
    address = reverse("landing", args=[panel.code])
    page = client.get(f"{address}?participantId=p-1&assignmentId=a1").content.decode()
    assert reverse("work", args=[seat.token]) in page
    assert "NOTHING" not in page
    # The same person's other assignment gets no seat, so its page has the code for that.
    page = client.get(f"{address}?participantId=p-1&assignmentId=a2").content.decode()
    assert seat.token not in page
    assert "NOTHING" in page


def test_the_same_person_in_the_same_browser_retains_the_seat(client, panel):
    first, second = arrive(panel, client=client), arrive(panel, client=client)
    assert first.url == second.url
    assert Participation.objects.count() == 1
    arrive(panel, "participantId=p-1&assignmentId=a2", client)
    assert (Participation.objects.count(), Submission.objects.count()) == (1, 2)


def test_the_same_id_on_another_panel_is_another_worker(ada, study, panel):
    ada.post(reverse("panel_new", args=[study.name]), panel_fields(name="Connect of my school"))
    ada.post(reverse("panel_new", args=[study.name]), panel_fields(name="Connect of my other one"))
    for other in Panel.objects.exclude(pk=panel.pk):
        arrive(other)
    assert Worker.objects.count() == 2


@pytest.mark.parametrize(
    "query", ["", "participant=1", "participantId=", "participantId=" + "x" * 300]
)
def test_an_address_without_an_id_gets_no_seat(panel, query):
    reply = arrive(panel, query)
    assert reply.status_code == 403
    assert "open the study" in reply.content.decode()
    assert not Participation.objects.exists()


def test_an_unfilled_placeholder_takes_no_seat(panel):
    assert arrive(panel, "participantId={{participantId}}").status_code == 409
    assert not Participation.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("id_parameter", "", "This field is required"),
        ("id_parameter", "a b", "name of the parameter only"),
        ("completed_url", "connect.example.org", "starts with https"),
        ("completed_url", "https://x.org/{who}", "can appear in braces"),
        ("completed_url", "https://{id}/", "only appear after the host"),
        ("other_url", "https://x.{id}.org/", "only appear after the host"),
        ("completed_url", "https://x.org@{id}/", "only appear after the host"),
        ("completed_url", "https://{code}?x=/", "only appear after the host"),
        ("completed_url", "https://x.org/PROJECT/complete", "words in capitals"),
        ("name", "", "name"),
    ],
)
def test_an_invalid_panel_is_refused_at_its_field(ada, study, field, value, reason):
    reply = ada.post(reverse("panel_new", args=[study.name]), panel_fields(**{field: value}))
    assert reply.status_code == 422
    assert reason in reply.content.decode()
    assert not Panel.objects.exists()


def test_a_second_panel_of_the_same_name_is_refused(ada, study, panel):
    reply = ada.post(reverse("panel_new", args=[study.name]), panel_fields())
    assert reply.status_code == 422
    assert Panel.objects.count() == 1


def test_a_test_visit_shows_identity_and_exits_without_storing(ada, study, panel):
    address = reverse("panel_visit", args=[study.name, panel.pk])
    query = {"query": "participantId=p:9&assignmentId=a9"}
    page = ada.get(address, query, follow=True).content.decode()
    assert "https://connect.example.org/a9/done?who=p%3A9&amp;cc=OWN-CODE" in page
    assert "PARTIAL" in page
    assert (
        "participantId is missing from this link"
        in ada.get(address, {"query": "x=1"}, follow=True).content.decode()
    )
    assert (Worker.objects.count(), Submission.objects.count()) == (0, 0)


@pytest.mark.parametrize("preset", ["connect", "sona", "other"])
def test_each_preset_fills_the_form(ada, study, preset):
    page = ada.get(reverse("platforms", args=[study.name]), {"preset": preset}, follow=True)
    assert page.status_code == 200


def test_the_form_of_a_platform_is_folded_and_states_what_is_set(ada, study):
    def sections(reply) -> list[tuple[bool, str, str]]:
        """Return (is unfolded, heading, summary) for each section."""
        page = reply.content.decode()
        section = (
            r"<details class=\"design-part[^>]*?( open)?>\s*<summary><h[34]>(.*?)</h[34]>(.*?)</"
        )
        found = re.findall(section, page, re.DOTALL)
        return [(bool(is_open), *map(words_of, said)) for is_open, *said in found]

    def words_of(markup: str) -> str:
        return re.sub("<.*?>", "", markup).strip()

    platforms = f"{reverse('recruit', args=[study.name])}?show=platforms"
    assert sections(ada.get(platforms)) == [
        (False, "Add a platform", ""),
        (False, "After completion", "a code for each participant"),
        (False, "After screen-out", "a code for each participant"),
        (False, "If not started", "no code"),
    ]
    form, completion, *others = sections(ada.get(f"{platforms}&preset=connect"))
    assert form[0]
    assert completion[0]  # because PROJECT must be replaced
    assert completion[2].startswith("https://connect.cloudresearch.com/")
    assert not any(is_open for is_open, *_said in others)
    refused = ada.post(reverse("panel_new", args=[study.name]), panel_fields(other_url="x"))
    assert [is_open for is_open, *_said in sections(refused)] == [True, False, True, False]


def test_a_study_for_computers_refuses_phones(client, study):
    factories.force_options(study, computer_only=True)
    landing = reverse("landing", args=[study.link_code])
    start = reverse("start", args=[study.link_code])
    assert (
        "needs a desktop or laptop computer"
        in client.get(landing, HTTP_USER_AGENT=IPHONE).content.decode()
    )
    assert client.post(start, HTTP_USER_AGENT=IPHONE).status_code == 409
    assert client.post(start, HTTP_USER_AGENT="Firefox").status_code == 302


def test_a_seat_begun_on_a_computer_continues_on_a_phone(study, panel):
    factories.force_options(study, computer_only=True)
    browser = Client()
    started = arrive(panel, client=browser)
    browser.defaults["HTTP_USER_AGENT"] = IPHONE
    again = arrive(panel, client=browser)
    assert (again.status_code, again.url) == (302, started.url)
    other = arrive(panel, "participantId=2&assignmentId=a2", Client(HTTP_USER_AGENT=IPHONE))
    assert other.status_code == 409


# Lists and seats ---------------------------------------------------------------------------------


def rule(study, effect, criterion, value, by):
    return eligibility.add_rule(study, effect, criterion, value, by)


def key(identity: str) -> str:
    return identities.worker_key("link", identity)


def test_a_list_can_exclude_workers_exposed_to_a_task(researcher, study):
    factories.make_task(name="mnli-like")
    Exposure.objects.create(worker_key=key("old hand"), task_name="mnli-like")
    rule(study, "deny", "task", "mnli-like", researcher)
    assert factories.join(study, identity="fresh").status == "arrived"
    with pytest.raises(join_errors.RecruitmentError) as refused:
        factories.join(study, identity="old hand")
    assert refused.value.code == "not_eligible"


@pytest.mark.long
def test_a_list_can_require_qualification_in_another_study(researcher, study):
    first = factories.make_study(researcher, factories.make_task(name="first"), shots=[2])
    seat = factories.join(first, identity="ida")
    Participation.objects.filter(pk=seat.pk).update(qualified=True)
    rule(study, "allow", "study", first.name, researcher)
    assert factories.join(study, identity="ida").status == "arrived"
    with pytest.raises(join_errors.RecruitmentError):
        factories.join(study, identity="bo")


def deny(ada, study, ids: str, platform: str):
    """Add these ids to the deny list through the page."""
    fields = {"effect": "deny", "criterion": "people", "value": ids, "platform": platform}
    return ada.post(reverse("lists", args=[study.name]), fields, follow=True)


def test_a_list_does_not_reveal_participants_of_other_teams(ada, study, other_researcher):
    theirs = factories.make_study(other_researcher, factories.make_task(name="theirs"))
    key = identities.worker_key("prolific", "a" * 24)
    seats.join(theirs.pk, key, "prolific", Kind.PERSON)
    page = deny(ada, study, "a" * 24, "prolific").content.decode()
    assert "1 on the list; 0 of them" in page


@pytest.mark.long
def test_a_list_of_ids_stores_only_hashes_and_can_be_ended(ada, study, panel):
    arrive(panel, "participantId=anna")
    page = deny(ada, study, "P-1\nanna", "panel:Connect").content.decode()
    assert "2 on the list; 1 of them have been in your studies before." in page
    assert "2 people of panel:Connect" in page
    rule = study.access_rules.get()
    listed = list(rule.listed.values_list("key", flat=True))
    assert listed == [identities.worker_key("panel:Connect", name) for name in ("p-1", "anna")]
    assert "P-1" not in str(AuditEntry.objects.values_list("what", flat=True))
    assert arrive(panel).status_code == 409
    ada.post(reverse("lists", args=[study.name]), {"end": rule.pk})
    assert arrive(panel).status_code == 302
    assert study.events.filter(what__startswith="list entry").count() == 2


@pytest.mark.long
def test_a_list_names_a_platform_whose_name_has_blanks(ada, study, panel, researcher):
    """An earlier version used only the first word, which matched no platform."""
    panel.name = "CloudResearch Connect"
    panel.save()
    page = ada.get(reverse("recruit", args=[study.name])).content.decode()
    assert '<option value="panel:CloudResearch Connect">CloudResearch Connect</option>' in page
    deny(ada, study, "ABC123", "panel:CloudResearch Connect")
    assert arrive(panel, "participantId=ABC123").status_code == 409
    rule(study, "deny", "people", "panel:CloudResearch Connect DEF456", researcher)
    assert arrive(panel, "participantId=DEF456").status_code == 409
    assert arrive(panel, "participantId=GHI789").status_code == 302


@pytest.mark.long
def test_personal_links_are_listed_by_their_names(ada, study):
    ida, bo = make_links(study, "Ida\nBo")
    deny(ada, study, "Ida", "personal")
    assert Client().post(reverse("start", args=[ida.code])).status_code == 409
    assert Client().post(reverse("start", args=[bo.code])).status_code == 302
    unknown = {"effect": "deny", "criterion": "people", "value": "Eve", "platform": "personal"}
    reply = ada.post(reverse("lists", args=[study.name]), unknown)
    assert (reply.status_code, "Line 1" in reply.content.decode()) == (422, True)


@pytest.mark.long
@pytest.mark.parametrize("way", ["start", "resume"])
def test_a_worker_denied_meanwhile_cannot_return(ada, client, study, panel, way):
    """An earlier version let expired participants back in, both ways."""
    token = arrive(panel, client=client).url.split("/")[2]
    seat = Participation.objects.get(token=token)
    consent.record(seat, agree=True)
    training_step.begin(token)
    seats.release_seat(seat, "expired")
    deny(ada, study, "p-1", "panel:Connect")
    if way == "start":
        reply = arrive(panel, client=client)
    else:
        reply = client.post(reverse("resume", args=[token]))
    assert reply.status_code == 409
    assert "You do not meet" in reply.content.decode()
    seat.refresh_from_db()
    assert seat.status == "expired"


def test_an_id_is_the_same_person_in_upper_or_lower_case(panel):
    """An earlier version treated Abab, ABAB and AbAb as three people."""
    assert arrive(panel, "participantId=abab1").status_code == 302
    for spelt in ("ABAB1", "AbAb1", "%20abab1%20"):
        assert arrive(panel, f"participantId={spelt}").status_code == 409
    # Lookalike letters, such as full-width ones, make an id invalid.
    assert arrive(panel, "participantId=%EF%BC%A1bab1").status_code == 403
    assert Worker.objects.count() == 1


@pytest.mark.parametrize(
    ("criterion", "value", "reason"),
    [
        ("task", "nothing", "task nothing does not exist"),
        ("study", "nothing", "no study nothing"),
        ("people", "ida", "Line 1: choose the platform"),
        ("people", "", "Enter 1 to"),
        ("planet", "x", "Choose which annotators"),
    ],
)
def test_an_entry_that_matches_no_worker_is_refused(ada, study, criterion, value, reason):
    fields = {"effect": "deny", "criterion": criterion, "value": value}
    reply = ada.post(reverse("lists", args=[study.name]), fields)
    assert reply.status_code == 422
    assert reason in reply.content.decode()
    assert not study.access_rules.exists()


def test_seats_can_be_added_without_changing_the_frozen_design(ada, study):
    for _seat in range(2):
        factories.join(study)
    before = study.manifest_hash
    scenario = study.scenarios.get()
    address = reverse("seats", args=[study.name])
    ada.post(address, {"scenario": scenario.pk, "number": "1"})
    assert factories.join(study).seat_number == 3
    study.refresh_from_db()
    assert study.manifest_hash == before
    assert "1 seat added" in study.events.last().what
    assert ada.post(address, {"scenario": scenario.pk, "number": "x"}).status_code == 422


# Identities --------------------------------------------------------------------------------------


def test_an_id_is_stored_as_ciphertext_and_a_hash(panel):
    arrive(panel, "participantId=p:1&assignmentId=a1")  # base64 has no colon
    stored = Submission.objects.get()
    assert "p:1" not in stored.person
    assert identities.decrypt(stored.person) == "p:1"
    assert Worker.objects.get().key == identities.worker_key("panel:Connect", "p:1")


def test_decrypting_with_another_key_names_the_setting(panel, settings):
    arrive(panel)
    settings.IDENTITY_KEY = "another"
    with pytest.raises(ValueError, match="IDENTITY_KEY"):
        identities.decrypt(Submission.objects.get().person)


def test_declining_stores_no_identity(panel):
    token = arrive(panel).url.split("/")[2]
    client = Client()
    reply = client.post(reverse("consent", args=[token]), {"agree": "no"}, follow=True)
    # The platform would pay for that code, although no work was done.
    assert "PARTIAL" not in reply.content.decode()
    assert (Submission.objects.count(), Worker.objects.count()) == (0, 0)


def test_a_forged_exit_link_is_not_shown(client):
    page = client.get(reverse("declined"), {"exit": '["x","https://evil.example","y"]'})
    assert "evil" not in page.content.decode()


@pytest.mark.long
def test_identities_are_purged_only_after_all_are_paid(researcher, study, panel):
    (link,) = make_links(study, "Ida")
    arrive(panel)
    seat = Participation.objects.get()
    with pytest.raises(erasure.ErasureError, match="still working"):
        erasure.purge(study, None)
    consent.record(seat, agree=True)
    training_step.begin(seat.token)
    factories.work_through(seat)
    with pytest.raises(erasure.ErasureError, match="Not all annotators have been paid"):
        erasure.purge(study, None)
    (batch,) = batches.prepare(study, researcher)
    payout.mark_paid(batch)
    erasure.purge(study, None)
    stored = Submission.objects.get()
    assert (stored.person, stored.reference) == ("", "")
    assert PersonalLink.objects.get().name == f"purged-{link.pk}"
    # The hash is kept, so the same person is still recognised.
    assert arrive(panel).status_code == 409


def test_a_later_no_in_another_tab_does_not_undo_consent(panel):
    seat = Participation.objects.get(token=arrive(panel).url.split("/")[2])
    consent.record(seat, agree=True)
    reply = Client().post(reverse("consent", args=[seat.token]), {"agree": "no"})
    assert reply.url == reverse("work", args=[seat.token])
    assert Submission.objects.get().participation == seat


def test_a_participant_id_cannot_choose_the_host_of_a_redirect(panel, study):
    Panel.objects.update(completed_url="https://{id}/done")
    seat = complete(arrive(panel, "participantId=evil.example&assignmentId=a1"))
    page = Client().get(reverse("work", args=[seat.token])).content.decode()
    assert "https://evil.example" not in page


def test_declining_after_the_seat_expired_leaves_only_a_count(study, panel):
    seat = Participation.objects.get(token=arrive(panel).url.split("/")[2])
    Participation.objects.update(status=Status.EXPIRED, seat_number=None)
    Client().post(reverse("consent", args=[seat.token]), {"agree": "no"})
    assert not Participation.objects.exists()
    assert not Submission.objects.exists()
    assert study.scenarios.get().declined == 1
