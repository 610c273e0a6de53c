"""Each researcher is notified of an event once, on the page or by mail, as they have chosen."""

import io
import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.core import mail as outgoing
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from annotation.models import Notice, Participation
from annotation.notices import collecting
from annotation.study import lifecycle, team
from tasks.models import Job, PeriodicPart
from tests import factories


@pytest.fixture
def study(researcher, other_researcher, settings):
    settings.EMAIL_HOST = "mail.example.org"
    settings.SITE_URL = "https://annotate.example.org"
    researcher.email = "ada@example.org"
    researcher.save()
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0, 2], annotators=1, name="pilot"
    )
    team.add(study, "grace", "analyst", researcher)
    return study


def told(user) -> list[str]:
    collecting.collect()
    return sorted(user.notices.values_list("about", flat=True))


@pytest.mark.long
def test_each_event_notifies_every_team_member_once(study, other_researcher):
    assert told(study.owner) == []
    factories.work_through(factories.seat(study.scenarios.get(shots=0)))
    assert told(study.owner) == ["cell", "first"]
    factories.work_through(factories.seat(study.scenarios.get(shots=2)))
    assert told(study.owner) == ["cell", "cell", "first", "full"]
    assert told(study.owner) == told(other_researcher) == ["cell", "cell", "first", "full"]
    lifecycle.add_seats(study.scenarios.get(shots=0), 1, study.owner, confirmed=True)
    factories.work_through(factories.seat(study.scenarios.get(shots=0)))
    assert told(study.owner).count("full") == 2  # full again, with more seats


def test_a_mail_names_study_event_and_link_and_is_sent_once(study):
    factories.seat(study.scenarios.get(shots=0))
    collecting.collect()
    assert collecting.send_mails() == "2 sent"
    assert collecting.send_mails() == "0 sent"
    first = next(each for each in outgoing.outbox if "first annotator" in each.subject)
    assert first.subject == "[pilot] The first annotator has started"
    assert first.to == ["ada@example.org"]  # grace has no address
    assert "https://annotate.example.org/studies/pilot/people/" in first.body
    assert "https://annotate.example.org/studies/pilot/notices/" in first.body


class Broken:
    """A mail server that is down."""

    def __init__(self, **_options):
        """Accept Django's options."""

    def send_messages(self, _messages):
        raise ConnectionRefusedError("no mail today")


def test_a_failed_mail_is_retried_and_finally_given_up(study, settings):
    factories.seat(study.scenarios.get(shots=2))
    collecting.collect()
    Notice.objects.exclude(about="first").update(mail="none")
    settings.EMAIL_BACKEND = "tests.annotation.notices.test_notices.Broken"
    for attempt in range(1, len(collecting.GAPS) + 2):
        assert collecting.send_mails() == "0 sent"
        assert collecting.send_mails() == "0 sent"  # the next attempt is not due yet
        notice = study.owner.notices.get(about="first")
        assert (notice.attempts, notice.mail) == (
            attempt, "waiting" if attempt <= len(collecting.GAPS) else "failed",
        )  # fmt: skip
        Notice.objects.update(next_at=timezone.now() - timedelta(seconds=1))
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    assert collecting.send_mails() == "0 sent"


def test_without_a_mail_server_notices_are_only_on_the_page(study, settings):
    settings.EMAIL_HOST = ""
    factories.seat(study.scenarios.get(shots=0))
    collecting.collect()
    assert collecting.send_mails() == "0 sent"
    assert not Notice.objects.exclude(mail="none").exists()


@pytest.mark.parametrize("host", ["", "mail.example.org"])
def test_mails_can_be_chosen_only_if_the_server_sends_them(ada, study, settings, host):
    settings.EMAIL_HOST = host
    page = ada.get(reverse("study_settings", args=["pilot"])).content.decode()
    # Without a mail server, hidden fields keep the choices unchanged.
    assert ("Send by email" in page) == bool(host)
    choices = set(re.findall(r'<input type="(\w+)" name="mail" value="\w+"', page))
    assert choices == ({"checkbox"} if host else {"hidden"})
    assert page.count('name="mail"') == page.count('name="page"')


@pytest.mark.long
def test_notices_can_be_switched_off_per_study_and_researcher(ada, study, other_researcher):
    on = ["full", "job"]
    ada.post(reverse("notice_switches", args=["pilot"]), {"page": on, "mail": on})
    factories.seat(study.scenarios.get(shots=0))
    collecting.collect()
    assert not study.owner.notices.filter(read_at=None).exists()
    assert not study.owner.notices.exclude(mail="none").exists()
    assert other_researcher.notices.filter(read_at=None).count() == 2
    everything = [about for about, _words in Notice.About.choices]
    switched = {"page": everything, "mail": everything}
    ada.post(reverse("notice_switches", args=["pilot"]), switched)
    collecting.collect()
    assert not study.owner.notices.filter(read_at=None).exists()  # old events cause no notices


def test_the_header_counts_unread_notices_and_opening_marks_them(ada, study):
    factories.seat(study.scenarios.get(shots=0))
    collecting.collect()

    def head() -> str:
        return " ".join(ada.get(reverse("studies")).content.decode().split())

    assert '<span class="bell-count">2<span' in head()
    shown = ada.get(reverse("notices")).content.decode()
    assert "The first annotator has started" in shown
    assert '<span class="bell-count">2<span' in head()  # a GET doesn't mark notices as read
    first = study.owner.notices.get(about="first")
    reply = ada.post(reverse("notices"), {"open": first.pk})
    assert reply["Location"] == reverse("people", args=["pilot"])
    assert '<span class="bell-count">1<span' in head()
    ada.post(reverse("notices"), {"all": "1"})
    assert "bell-count" not in head()


@pytest.mark.long
def test_the_page_says_that_periodic_work_does_not_run(ada, study):
    said = "python manage.py tick"
    assert said in ada.get(reverse("notices")).content.decode()
    call_command("tick", stdout=io.StringIO())
    assert said not in ada.get(reverse("notices")).content.decode()
    PeriodicPart.objects.update(started_at=timezone.now() - timedelta(hours=1))
    assert said in ada.get(reverse("notices")).content.decode()


def test_a_notice_of_another_researcher_cannot_be_opened(client, study, other_researcher):
    factories.seat(study.scenarios.get(shots=0))
    collecting.collect()
    client.force_login(other_researcher)
    theirs = study.owner.notices.first()
    assert client.post(reverse("notices"), {"open": theirs.pk}).status_code == 404
    assert client.post(reverse("notices"), {"open": "x"}).status_code == 404


def test_overview_and_notices_state_the_same(ada, study):
    factories.seat(study.scenarios.get(shots=0))
    Participation.objects.update(arrived_at=timezone.now() - timedelta(hours=9))
    type(study).objects.update(opened_at=timezone.now() - timedelta(hours=9))
    assert "No new annotators for 9 h" in ada.get(reverse("study", args=["pilot"])).content.decode()
    assert "quiet" in told(study.owner)
    assert study.owner.notices.get(about="quiet").what == "No new annotators for 9 h"


@pytest.mark.long
def test_wages_are_notified_to_payers_and_jobs_to_their_starter(researcher, other_researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0], annotators=3, name="cheap",
        hourly_rate=Decimal(20), max_paid_hours=Decimal("0.1"),
    )  # fmt: skip
    team.add(study, "grace", "analyst", researcher)
    for _person in range(3):
        factories.work_through(factories.seat(study.scenarios.get()))
    # Each has worked for an hour, and the cap pays a tenth of it.
    Participation.objects.update(worked_seconds=3600)
    Job.objects.create(
        kind="bootstrap", key="k", parameters={"study": study.pk}, owner=other_researcher, total=1,
        state="failed", error="No room on the disk.",
    )  # fmt: skip
    assert {"wage"} <= set(told(researcher))
    assert "job" not in told(researcher)
    assert "wage" not in told(other_researcher)
    assert "job" in told(other_researcher)


def test_the_starter_of_an_import_is_notified_of_its_end(client, researcher, other_researcher):
    row = {"parameters": {"parts": [1]}, "owner": researcher, "total": 1}
    Job.objects.create(kind="import_gym", key="a", state="failed", error="No room.", **row)
    Job.objects.create(kind="predictions", key="b", state="done", done=1, **row)  # short
    collecting.collect()
    collecting.collect()
    notice = researcher.notices.get()
    assert (notice.what, notice.detail) == ("A job (import gym) failed", "No room.")
    assert (notice.study, notice.mail) == (None, "none")
    assert not other_researcher.notices.exists()
    client.force_login(researcher)
    assert notice.what in client.get(reverse("notices")).content.decode()
    reply = client.post(reverse("notices"), {"open": notice.pk})
    assert reply["Location"] == reverse("tasks")
    assert researcher.notices.get().read_at


def test_only_job_notices_may_lack_a_study(researcher):
    row = {"user": researcher, "subject": "x", "what": "y", "page": "study"}
    with pytest.raises(IntegrityError), transaction.atomic():
        Notice.objects.create(about="full", created_at=timezone.now(), **row)
    Notice.objects.create(about="job", created_at=timezone.now(), **row)
    with pytest.raises(IntegrityError), transaction.atomic():
        Notice.objects.create(about="job", created_at=timezone.now(), **row)


def test_owners_are_notified_once_that_prolific_sync_fails(study, other_researcher):
    study.prolific_studies.create(
        name="there", external_id="a" * 24, reward_cents=1, minutes=1, max_minutes=9, places=1
    )
    part = PeriodicPart.objects.create(name="platforms", error="no answer")
    assert told(study.owner) == ["platform"]
    assert told(study.owner) == ["platform"]
    assert told(other_researcher) == []
    PeriodicPart.objects.filter(pk=part.pk).update(succeeded_at=timezone.now())
    assert told(study.owner) == ["platform", "platform"]  # it succeeded, then failed again


def test_the_database_stores_an_event_once(study):
    row = {
        "user": study.owner, "study": study, "about": "full", "subject": "x", "what": "y",
        "page": "study", "created_at": timezone.now(),
    }  # fmt: skip
    Notice.objects.create(**row)
    with pytest.raises(IntegrityError), transaction.atomic():
        Notice.objects.create(**row)


def test_old_read_notices_are_deleted_once_the_study_is_closed(study, researcher):
    factories.work_through(factories.seat(study.scenarios.get(shots=0)))
    collecting.collect()
    old = timezone.now() - timedelta(days=91)
    researcher.notices.update(read_at=old)
    assert collecting.prune() == "0 deleted"  # the study is open, so they would be created again
    lifecycle.change_status(study, "close", researcher)
    assert collecting.prune() == "2 deleted"  # Grace has not read hers
    assert told(researcher) == []
    study.notices.update(read_at=timezone.now() - timedelta(days=89))
    assert collecting.prune() == "0 deleted"
