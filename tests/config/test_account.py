"""Researchers can set the time zone of their pages, and change their email address."""

import re

import pytest
from django.contrib.auth import get_user_model
from django.core import mail
from django.test import Client
from django.urls import reverse

from annotation.models import AuditEntry, Participation, Preferences
from tests import factories

ADDRESS = "ada@example.org"
NEW = "ada@new.example"


@pytest.fixture
def signed_in(researcher):
    """Ada's browser, in which she has just confirmed her password."""
    researcher.set_password("right horse")
    researcher.email = ADDRESS
    researcher.save()
    browser = Client()
    browser.post(reverse("login"), {"login": "ada", "password": "right horse"})
    browser.post(reverse("account_reauthenticate"), {"password": "right horse"})
    return browser


@pytest.fixture
def sends_mail(settings):
    settings.EMAIL_HOST = "mail.example.org"


@pytest.fixture
def arrived(researcher):
    """A participant who arrived at 20:30 UTC in summer."""
    study = factories.make_study(researcher, factories.make_task(), shots=[0])
    seat = factories.seat(study.scenarios.get())
    Participation.objects.filter(pk=seat.pk).update(arrived_at="2025-07-01T20:30:00Z")
    return seat


def choose(browser, zone: str):
    return browser.post(reverse("your_account"), {"time_zone": zone})


@pytest.mark.long
def test_times_on_pages_are_in_the_chosen_zone_and_name_it(signed_in, arrived):
    people = reverse("people", args=[arrived.study.name])
    assert "2025-07-01 20:30 UTC</time>" in signed_in.get(people).content.decode()
    assert choose(signed_in, "Asia/Tokyo")["Location"] == reverse("your_account")
    shown = signed_in.get(people).content.decode()
    assert '<time datetime="2025-07-01T20:30:00+00:00">2025-07-02 05:30 JST</time>' in shown
    assert "20:30 UTC" not in shown


def test_files_the_api_and_annotator_pages_stay_in_utc(signed_in, arrived, client):
    choose(signed_in, "Asia/Tokyo")
    name = arrived.study.name
    listed = signed_in.get(reverse("people", args=[name]) + "?format=csv").content.decode()
    assert "2025-07-01" in listed
    assert "2025-07-02" not in listed
    (row,) = signed_in.get(reverse("api_participations", args=[name])).json()["results"]
    assert row["arrived_at"].startswith("2025-07-01T20:30:00")
    signed_in.get(reverse("work", args=[arrived.token]))  # the same browser, as an annotator
    assert Preferences.objects.get().time_zone == "Asia/Tokyo"


def test_the_time_zone_applies_in_another_browser_too(signed_in, arrived):
    choose(signed_in, "America/New_York")
    other = Client()
    other.post(reverse("login"), {"login": "ada", "password": "right horse"})
    shown = other.get(reverse("people", args=[arrived.study.name])).content.decode()
    assert "2025-07-01 16:30 EDT" in shown


@pytest.mark.long
def test_a_new_zone_reaches_signed_in_browsers_within_an_hour(signed_in, arrived):
    other = Client()
    other.post(reverse("login"), {"login": "ada", "password": "right horse"})
    choose(signed_in, "America/New_York")
    people = reverse("people", args=[arrived.study.name])
    session = other.session
    session["renewed_at"] -= 3600
    session.save()
    assert "2025-07-01 20:30 UTC" in other.get(people).content.decode()
    assert "2025-07-01 16:30 EDT" in other.get(people).content.decode()


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../etc/passwd", "Etc/GMT+3"])
def test_an_unknown_zone_is_refused(signed_in, zone):
    reply = choose(signed_in, zone)
    assert reply.status_code == 422
    assert "time_zone" in reply.context["form"].errors
    assert not Preferences.objects.exists()


def change(browser, address: str):
    return browser.post(reverse("your_address"), {"email": address}, follow=True)


def test_a_new_address_counts_after_confirmation_by_its_link(signed_in, sends_mail, researcher):
    change(signed_in, "Ada@New.example")
    (sent,) = mail.outbox
    assert sent.to == [NEW]
    researcher.refresh_from_db()
    assert researcher.email == ADDRESS
    (link,) = re.findall(r"http://testserver(\S+)", sent.body)
    reader = Client()  # the link alone is not enough
    assert reader.post(link)["Location"].startswith(reverse("login"))
    reader.force_login(get_user_model().objects.create_user("eve"))
    assert reader.post(link).status_code == 404
    reader.force_login(researcher)
    assert NEW in reader.get(link).content.decode()
    researcher.refresh_from_db()
    assert researcher.email == ADDRESS  # a GET changes nothing, because mail scanners open links
    reader.post(link)
    researcher.refresh_from_db()
    assert researcher.email == NEW
    assert mail.outbox[-1].to == [ADDRESS]
    assert AuditEntry.objects.filter(what="email address changed").count() == 1
    for reply in (reader.get(link), reader.post(link)):
        assert reply.status_code == 404
        assert "already used" in reply.content.decode()


def test_following_one_link_invalidates_an_earlier_one(signed_in, sends_mail, researcher):
    for address in ("first@example.org", "second@example.org"):
        change(signed_in, address)
    first, second = (re.findall(r"http://testserver(\S+)", m.body)[0] for m in mail.outbox)
    signed_in.post(second)
    assert signed_in.post(first).status_code == 404
    researcher.refresh_from_db()
    assert researcher.email == "second@example.org"


@pytest.mark.long
def test_an_altered_link_is_not_found(signed_in, sends_mail):
    change(signed_in, NEW)
    (link,) = re.findall(r"http://testserver(\S+)", mail.outbox[0].body)
    assert signed_in.get(link.replace("/confirm/", "/confirm/x")).status_code == 404


def test_without_mail_the_address_is_stored_immediately(signed_in, researcher):
    assert "set up to send email yet" in signed_in.get(reverse("your_address")).content.decode()
    change(signed_in, NEW)
    researcher.refresh_from_db()
    assert researcher.email == NEW
    assert mail.outbox == []


def test_an_invalid_address_has_its_error_at_the_field(signed_in, sends_mail, researcher):
    reply = signed_in.post(reverse("your_address"), {"email": "ada at home"})
    assert reply.status_code == 422
    assert "email" in reply.context["form"].errors
    assert mail.outbox == []


def test_changing_the_address_needs_the_password(ada, researcher):
    """`ada` is signed in, but hasn't entered a password in this session."""
    reply = ada.post(reverse("your_address"), {"email": "thief@example.org"})
    assert reply["Location"].startswith(reverse("account_reauthenticate"))
    researcher.refresh_from_db()
    assert researcher.email != "thief@example.org"
