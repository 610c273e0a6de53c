"""Seats survive abandonment, clients that try to take them all, and invented ids.

Each of these attacks or accidents succeeded in an earlier version.
"""

import re
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Answer, DeclinedOffer, Panel, Participation, Study, Worker
from annotation.monitoring import progress
from annotation.prolific import drafts, studies
from annotation.protocol import training_step
from annotation.recruitment import consent, seats
from annotation.recruitment.links import make_links
from tests import factories

pytestmark = pytest.mark.engines


@pytest.fixture(scope="module")
def stored(module_researcher):
    return factories.make_study(
        module_researcher, factories.make_task(), shots=[2], annotators=3
    ).pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


@pytest.fixture
def sona(study):
    return Panel.objects.create(study=study, name="SONA", id_parameter="survey_code")


def landing(code: str, client: Client | None = None, query: str = "") -> str:
    return (client or Client()).get(reverse("landing", args=[code]) + query).content.decode()


def start(code: str, client: Client | None = None, query: str = "", **sent):
    return (client or Client()).post(reverse("start", args=[code]) + query, sent)


def form_of(page: str) -> dict[str, str]:
    """Return the fields that Start on a landing page sends, except the CSRF token."""
    return dict(re.findall(r'name="(arrival)" value="([^"]+)"', page))


def seat_of(reply) -> Participation:
    return Participation.objects.get(token=reply.url.split("/")[2])


def days_pass(days: float) -> None:
    """Move all arrivals back by this many days."""
    long_ago = timezone.now() - timedelta(days=days)
    Participation.objects.filter(status="arrived").update(arrived_at=long_ago)


# Abandoned seats ---------------------------------------------------------------------------------


def test_abandoned_seats_are_given_to_the_next_arrival(study):
    for _ in range(3):
        assert start(study.link_code).status_code == 302
    assert "<button" not in landing(study.link_code)
    days_pass(30)
    assert "<button" in landing(study.link_code)
    assert start(study.link_code).status_code == 302
    statuses = Participation.objects.order_by("pk").values_list("status", flat=True)
    assert list(statuses) == ["expired", "expired", "expired", "arrived"]


def test_every_view_counts_abandoned_seats_as_free(ada, study, sona):
    link, *_others = make_links(study, "Ida\nBo")
    (draft,) = drafts.plan(study, 0, study.owner)
    for _ in range(3):
        start(study.link_code)
    assert "<button" not in landing(link.code) + landing(sona.code, query="?survey_code=1")
    assert studies.free_seats(draft) == 0
    assert progress.for_study(study).seats[0].free == 0
    days_pass(30)
    assert "<button" in landing(link.code)
    assert "<button" in landing(sona.code, query="?survey_code=1")
    assert studies.free_seats(draft) == 3
    (row,) = progress.for_study(study).seats
    assert (row.working, row.free, row.open_seats) == (0, 3, 3)
    assert Participation.objects.filter(status="arrived").count() == 3  # viewing changes nothing


def test_the_next_task_is_offered_where_its_seats_were_abandoned(researcher):
    tasks = [factories.make_task(), factories.make_task(name="toy-other")]
    study = factories.make_study(
        researcher, *tasks, shots=[0], annotators=1, tasks_per_worker=2, seed=3
    )
    client = Client()
    seat = seat_of(start(study.link_code, client))
    consent.record(seat, agree=True)
    training_step.begin(seat.token)
    factories.work_through(seat)
    start(study.link_code)
    work = reverse("work", args=[seat.token])
    assert reverse("next_task", args=[seat.token]) not in client.get(work).content.decode()
    days_pass(30)
    assert reverse("next_task", args=[seat.token]) in client.get(work).content.decode()
    assert client.post(reverse("next_task", args=[seat.token])).status_code == 302


@pytest.mark.long
@pytest.mark.timeout(480)
def test_four_hundred_arrivals_fill_every_seat_once(researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0, 2, 4], annotators=8, seed=5
    )
    seated, turned_away, somebody = 0, 0, Client()
    for number in range(400):
        somebody.cookies.clear()
        somebody.defaults["REMOTE_ADDR"] = f"10.0.{number // 25}.1"
        if (
            "<button" not in landing(study.link_code, somebody)
            or (reply := start(study.link_code, somebody)).status_code != 302
        ):
            turned_away += 1
        elif number % 2:
            somebody.post(f"{reply.url}consent/", {"agree": "yes"})
            seated += 1
        if number % 7 == 6:
            days_pass(1)  # the others' seats are freed
    assert (seated, turned_away) == (24, 400 - Participation.objects.count())
    working = Participation.objects.filter(status="working")
    assert len(set(working.values_list("scenario", "seat_number"))) == 24
    assert "<button" not in landing(study.link_code)


def test_run_jobs_expires_abandoned_seats(study):
    seat = seat_of(start(study.link_code))
    days_pass(1)
    call_command("run_jobs")
    seat.refresh_from_db()
    assert (seat.status, seat.seat_number) == ("expired", None)


def test_an_open_page_holds_no_seat_beyond_the_idle_limit(study, monkeypatch):
    seat = factories.seat(study.scenarios.get())
    begun, turn = timezone.now(), seat.latest_turn()
    for hours in range(0, study.idle_limit_hours + 2):
        moment = begun + timedelta(hours=hours)
        monkeypatch.setattr(timezone, "now", lambda moment=moment: moment)
        Client().post(reverse("ping", args=[seat.token]), {"turn": turn.pk})
    seats.expire_idle(study)
    seat.refresh_from_db()
    assert seat.status == "expired"
    # Unlike pings, an answer renews the seat.
    assert Client().post(reverse("resume", args=[seat.token])).status_code == 302
    fields = factories.fields_for(turn.example, list(turn.example.gold))
    Client().post(reverse("answer", args=[seat.token]), {"turn": turn.pk, **fields})
    assert Answer.objects.count() == 1
    seats.expire_idle(study)
    seat.refresh_from_db()
    assert seat.status == "working"


# A client that tries to take all seats -----------------------------------------------------------


@pytest.mark.long
def test_one_address_starts_at_most_thirty_times_a_minute(researcher, study):
    large = factories.make_study(researcher, study.tasks.get(), shots=[2], annotators=200)
    replies = [start(large.link_code) for _ in range(31)]
    assert {reply.status_code for reply in replies[:30]} == {302}
    refused = replies[30]
    assert (refused.status_code, refused["Retry-After"]) == (429, "60")
    page = refused.content.decode()
    assert "try again in a minute" in page
    assert "<button" in page
    # The limit includes other studies, but not other addresses or personal links.
    assert start(study.link_code).status_code == 429
    other = Client(REMOTE_ADDR="198.51.100.7")
    assert start(large.link_code, other).status_code == 302
    (link,) = make_links(large, "Ida")
    assert start(link.code).status_code == 302
    assert large.participations.count() == 32


def test_a_begun_seat_continues_despite_the_start_limit(study, settings):
    settings.STARTS_PER_MINUTE = 1
    client = Client()
    first = start(study.link_code, client)
    assert start(study.link_code).status_code == 429
    assert start(study.link_code, client).url == first.url


def test_an_ipv6_network_counts_as_one_address(study, settings):
    settings.STARTS_PER_MINUTE = 1
    assert start(study.link_code, Client(REMOTE_ADDR="2001:db8:1:2::1")).status_code == 302
    assert start(study.link_code, Client(REMOTE_ADDR="2001:db8:1:2:3::9")).status_code == 429
    assert start(study.link_code, Client(REMOTE_ADDR="2001:db8:1:3::1")).status_code == 302


def test_an_address_is_stored_only_as_a_salted_hash(study):
    start(study.link_code, Client(REMOTE_ADDR="198.51.100.7"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT cache_key, value FROM shared_cache")
        kept = cursor.fetchall()
    assert len(kept) == 1
    assert "198.51" not in str(kept)


def test_at_most_a_third_of_the_seats_wait_for_consent(researcher, study):
    large = factories.make_study(researcher, study.tasks.get(), shots=[2], annotators=12)
    tokens = [seat_of(start(large.link_code)).token for _ in range(4)]
    reply = start(large.link_code)
    assert reply.status_code == 429
    assert "<button" in reply.content.decode()
    (link,) = make_links(large, "Ida")
    assert start(link.code).status_code == 302
    Client().post(reverse("consent", args=[tokens[0]]), {"agree": "yes"})
    assert start(large.link_code).status_code == 302
    assert start(large.link_code).status_code == 429
    # A small study allows three, so that it can start.
    assert [start(study.link_code).status_code for _ in range(4)] == [302, 302, 302, 409]


def test_a_researcher_frees_a_seat_manually_and_it_is_logged(ada, study):
    seat = factories.seat(study.scenarios.get())
    address = reverse("participation_free_seat", args=[study.name, seat.pseudonym])
    assert ada.post(address, {"reason": " "}).status_code == 422
    assert ada.post(address, {"reason": "a robot"}).status_code == 302
    seat.refresh_from_db()
    assert (seat.status, seat.seat_number) == ("expired", None)
    assert study.events.last().what == f"seat of {seat.pseudonym} freed: a robot"
    assert study.events.last().by == study.owner
    assert ada.post(address, {"reason": "again"}).status_code == 422
    assert Client().post(reverse("resume", args=[seat.token])).status_code == 302


def test_the_open_link_can_be_switched_off(ada, study):
    begun = Client()
    first = start(study.link_code, begun)
    (link,) = make_links(study, "Ida")
    ada.post(reverse("switches", args=[study.name]), {})
    assert "This link is turned off" in landing(study.link_code)
    assert start(study.link_code).status_code == 409
    assert start(study.link_code, begun).url == first.url
    assert start(link.code).status_code == 302
    assert "open link: no" in study.events.last().what
    before = study.manifest_hash
    ada.post(reverse("switches", args=[study.name]), {"open_link_on": "on"})
    assert start(study.link_code).status_code == 302
    study.refresh_from_db()
    assert study.manifest_hash == before


def test_a_double_click_on_the_first_start_is_one_seat(study):
    """Both requests are sent before the first reply, so neither has the worker's cookie."""
    fields = form_of(landing(study.link_code))
    first, second = (start(study.link_code, Client(), **fields) for _ in range(2))
    assert first.url == second.url
    assert Participation.objects.count() == Worker.objects.count() == 1
    # Another browser's page belongs to another participant.
    other = start(study.link_code, Client(), **form_of(landing(study.link_code)))
    assert other.url != first.url


def test_a_double_click_on_a_platform_with_plain_ids_is_one_seat(study, sona):
    query = "?survey_code=4711"
    fields = form_of(landing(sona.code, query=query))
    first, second = (start(sona.code, Client(), query, **fields) for _ in range(2))
    assert (first.status_code, first.url) == (302, second.url)


def test_the_secret_of_the_cookie_is_not_in_the_page(study):
    client = Client()
    start(study.link_code, client)
    secret = client.cookies["handful_worker"].value.split(":")[0]
    seats.release_seat(Participation.objects.get(), "expired")
    page = landing(study.link_code, client)
    assert form_of(page)
    assert secret not in page
    assert start(study.link_code, Client(), **form_of(page)).status_code == 302
    assert Worker.objects.count() == 2


def test_one_browser_does_not_hold_two_seats_of_a_study(ada, study):
    (link,) = make_links(study, "Ida")
    client = Client()
    seat = seat_of(start(link.code, client))
    assert "already taken part in this study in this browser" in landing(study.link_code, client)
    assert start(study.link_code, client).status_code == 409
    assert start(link.code, client).url == reverse("work", args=[seat.token])
    ada.post(
        reverse("switches", args=[study.name]), {"open_link_on": "on", "shared_computers": "on"}
    )
    assert start(study.link_code, client).status_code == 302


@pytest.mark.parametrize("status", ["completed", "screened_out"])
def test_a_finished_worker_cannot_restart_by_another_link(study, status):
    (link,) = make_links(study, "Ida")
    client = Client()
    seat = seat_of(start(link.code, client))
    done = {} if status == "completed" else {"seat_number": None, "in_analysis": False}
    Participation.objects.filter(pk=seat.pk).update(status=status, **done)
    assert start(study.link_code, client).status_code == 409


def test_declining_offers_the_same_scenario_for_a_day(researcher, study, monkeypatch):
    many = factories.make_study(researcher, study.tasks.get(), shots=[0, 2, 4], annotators=5)
    client, offered = Client(), []
    for _ in range(6):
        seat = seat_of(start(many.link_code, client))
        offered.append(seat.scenario_id)
        client.post(reverse("consent", args=[seat.token]), {"agree": "no"})
    assert len(set(offered)) == 1
    assert (Participation.objects.count(), Worker.objects.count()) == (0, 0)
    assert DeclinedOffer.objects.count() == 1
    # Other participants may get any scenario; so may this one, a day later.
    (others,) = {seat_of(start(many.link_code)).scenario_id}
    assert others != offered[0]
    tomorrow = timezone.now() + timedelta(days=1, minutes=1)
    monkeypatch.setattr(timezone, "now", lambda: tomorrow)
    seats.sweep()
    assert not DeclinedOffer.objects.exists()


def test_a_worker_that_first_declined_is_offered_the_next_task(researcher):
    tasks = [factories.make_task(), factories.make_task(name="toy-other")]
    study = factories.make_study(researcher, *tasks, shots=[0], annotators=3, tasks_per_worker=2)
    client = Client()
    seat = seat_of(start(study.link_code, client))
    client.post(reverse("consent", args=[seat.token]), {"agree": "no"})
    seat = seat_of(start(study.link_code, client))
    client.post(reverse("consent", args=[seat.token]), {"agree": "yes"})
    training_step.begin(seat.token)
    factories.work_through(seat)
    assert client.post(reverse("next_task", args=[seat.token])).status_code == 302


def test_a_refused_start_retains_the_expiry_of_other_seats(researcher):
    """An earlier version rolled back the expiry with each refused click, then repeated it."""
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], annotators=1, hourly_rate=60
    )
    Study.objects.filter(pk=study.pk).update(budget=study.max_paid_hours * 60)
    left = factories.seat(study.scenarios.get())
    factories.work_through(left, limit=1)
    seats.release_seat(left, "expired")
    Participation.objects.filter(pk=left.pk).update(worked_seconds=None)
    assert start(study.link_code).status_code == 409  # the earnings leave no budget for a seat
    left.refresh_from_db()
    assert left.worked_seconds is not None
    assert left.ledger.exists()


# Ids that anyone can type ------------------------------------------------------------------------


def test_a_plain_id_does_not_show_another_browsers_link(study, sona):
    query = "?survey_code=4711"
    owner = Client()
    token = seat_of(start(sona.code, owner, query)).token
    assert token not in landing(sona.code, query=query)
    stranger = start(sona.code, Client(), query)
    assert stranger.status_code == 409
    assert token not in stranger.content.decode()
    assert "already started" in stranger.content.decode()
    assert token in landing(sona.code, owner, query)
    assert start(sona.code, owner, query).url == reverse("work", args=[token])


def test_the_next_task_is_given_only_to_the_first_browser(researcher):
    tasks = [factories.make_task(), factories.make_task(name="toy-other")]
    many = factories.make_study(researcher, *tasks, shots=[0], annotators=2, tasks_per_worker=2)
    panel = Panel.objects.create(study=many, name="SONA", id_parameter="survey_code")
    client, query = Client(), "?survey_code=4711"
    seat = seat_of(start(panel.code, client, query))
    consent.record(seat, agree=True)
    training_step.begin(seat.token)
    factories.work_through(seat)
    following = seat_of(client.post(reverse("next_task", args=[seat.token])))
    assert following.token in landing(panel.code, client, query)
    assert start(panel.code, client, query).url == reverse("work", args=[following.token])
    assert start(panel.code, Client(), query).status_code == 409


def test_trying_out_ids_is_limited_like_any_start(study, sona, settings):
    settings.STARTS_PER_MINUTE = 2
    owner = Client(REMOTE_ADDR="198.51.100.7")
    start(sona.code, owner, "?survey_code=4711")
    tries = [start(sona.code, query="?survey_code=4711").status_code for _ in range(3)]
    assert tries == [409, 409, 429]


def test_a_plain_id_with_another_assignment_gets_no_seat(study):
    panel = Panel.objects.create(
        study=study, name="C", id_parameter="who", submission_parameter="what"
    )
    token = seat_of(start(panel.code, query="?who=ida&what=1")).token
    reply = start(panel.code, Client(), "?who=ida&what=2")
    assert reply.status_code == 409
    assert token not in reply.content.decode()


def test_a_plain_id_does_not_show_another_browsers_code(study, sona):
    query, owner = "?survey_code=4711", Client()
    seat = seat_of(start(sona.code, owner, query))
    consent.record(seat, agree=True)
    training_step.begin(seat.token)
    factories.work_through(seat)
    page = landing(sona.code, query=query)
    assert seat.token not in page
    assert seat.completion_code not in page
    assert seat.token in landing(sona.code, owner, query)


def test_an_expired_seat_resumes_only_in_its_browser(study, sona):
    query, owner = "?survey_code=4711", Client()
    seat = seat_of(start(sona.code, owner, query))
    consent.record(seat, agree=True)
    training_step.begin(seat.token)
    seats.release_seat(seat, "expired")
    assert start(sona.code, Client(), query).status_code == 409
    assert seat_of(start(sona.code, owner, query)) == seat


def test_a_refused_arrival_does_not_see_the_partial_pay_code(study):
    """An earlier version showed the paid screen-out's code to every visitor."""
    panel = Panel.objects.create(
        study=study, name="C", id_parameter="who", other_code="PARTIAL", turned_away_code="NOTHING"
    )
    Study.objects.update(status="closed")
    page = landing(panel.code, query="?who=ida")
    assert "NOTHING" in page
    assert "PARTIAL" not in page


def test_two_ways_to_end_need_different_codes(ada, study):
    fields = {"name": "C", "id_parameter": "who", "completed_code": "A", "turned_away_code": "A"}
    reply = ada.post(reverse("panel_new", args=[study.name]), fields)
    assert reply.status_code == 422
    assert "its own code" in reply.content.decode()


def test_the_code_is_shown_even_if_the_id_cannot_be_decrypted(study, settings, caplog):
    """In an earlier version, a lost key made the last page fail with a 500."""
    template = "https://panel.example.org/?who={id}&cc={code}"
    panel = Panel.objects.create(
        study=study, name="C", id_parameter="who", completed_url=template, completed_code="DONE"
    )
    client = Client()
    seat = seat_of(start(panel.code, client, "?who=ida"))
    consent.record(seat, agree=True)
    training_step.begin(seat.token)
    factories.work_through(seat)
    address = reverse("work", args=[seat.token])
    assert "?who=ida&amp;cc=DONE" in client.get(address).content.decode()
    settings.IDENTITY_KEY = "another key, and as long as a key has to be"
    page = client.get(address)
    assert page.status_code == 200
    assert "DONE" in page.content.decode()
    assert "panel.example.org" not in page.content.decode()
    assert "IDENTITY_KEY" in caplog.text
