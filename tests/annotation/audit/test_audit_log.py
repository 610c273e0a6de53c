"""Every POST adds an audit entry with the values before and after; entries can't be changed."""

import csv
import io
import json
import re
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import DatabaseError, connection, transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import path, resolve, reverse

from annotation.models import ApiToken, AuditEntry, ProlificAccount, Study, Topic, Worker
from annotation.pay import budget
from annotation.privacy import withdrawal
from annotation.protocol import exclusion
from annotation.recruitment import seats
from annotation.recruitment.identities import worker_key
from annotation.study import design, lifecycle, team
from annotation.web.access import POSTS
from tasks import jobs
from tasks.clock import database_now
from tasks.models import Job, PredictionFile, Task
from tasks.predictions import upload_job
from tests import factories
from tests.annotation.prolific.fixtures import complete
from tests.annotation.study.test_design import fields
from tests.config.test_two_factor import code_of, switch_on
from tests.tasks import test_gym
from tests.tasks.browser_import import GOOD, act, act_files, send, settle
from tests.tasks.datasets import files as dataset_files
from tests.tasks.datasets import test_dataset_pages as dataset_pages
from tests.tasks.datasets.test_make_task import MOODS
from tests.tasks.test_gym_pages import confirm, zipped


class Watched(Client):
    """A client that records which addresses were posted to, and which of these added an entry."""

    def __init__(self, committed):
        super().__init__()
        self.committed = committed
        self.sent, self.entered = set(), set()

    def post(self, path, *args, **kwargs):
        before = AuditEntry.objects.exclude(by=None).count()
        with self.committed(execute=True):
            reply = super().post(path, *args, **kwargs)
        name = resolve(path.partition("?")[0]).url_name
        assert reply.status_code < 400, (name, reply.content.decode()[:2000])
        self.sent.add(name)
        entries = AuditEntry.objects.exclude(by=None)
        if entries.count() > before:
            self.entered.add(name)
        for entry in entries.filter(what=name.replace("_", " ")):  # added by the middleware
            assert entry.topic == POSTS[name].topic, name
        return reply


@pytest.fixture
def watched(researcher, settings, tmp_path, django_capture_on_commit_callbacks):
    settings.VAR_DIR = tmp_path / "var"
    researcher.email = "ada@example.org"
    researcher.is_superuser = True  # may spend, and add to tasks without an owner
    researcher.save()
    watched = Watched(django_capture_on_commit_callbacks)
    watched.post(reverse("login"), {"login": "ada", "password": "right horse"})
    return watched


def drafts_and_runs(watched, task):
    """Draft a study, edit its design, open it, and change whatever a running study allows."""
    watched.post(reverse("study_new"), fields(task))
    study = Study.objects.get(name="spring")
    changed = fields(task, annotators="4", version=design.version(study))
    watched.post(reverse("study_edit", args=["spring"]), changed)

    def do(address, **sent):
        return watched.post(reverse(address, args=["spring"]), sent)

    do("study_clone", name="spring-2")
    do("rehearsal", policy="gold", number="2", seed="5")
    watched.post(reverse("study_delete", args=["spring-2"]))
    do("study_archive")
    do("study_unarchive")
    rehearsal = Study.objects.get(rehearsal=True)
    lifecycle.change_status(study, "open", study.owner)
    its_job = Job.objects.get(kind="simulate")
    watched.post(reverse("rehearsal_run", args=[rehearsal.name, its_job.pk]))
    do("study_status", action="pause")
    do("retention", until="2090-01-31")
    do("study_clone", name="spring-3")
    short = Study.objects.get(name="spring-3")
    for action in ("open", "close"):
        lifecycle.change_status(short, action, study.owner)
    watched.post(reverse("study_erase", args=["spring-3"]), {"typed": "spring-3"})
    team.add(rehearsal, "grace", "analyst", study.owner)
    do("team", action="add", username="grace", role="payer")
    do("lists", effect="deny", criterion="task", value=task.name)
    do("seats", scenario=study.scenarios.first().pk, number="1")
    do("switches", shared_computers="on")
    do("notice_switches", page="quiet")
    do("budget", amount="100")
    do("personal_links", names="Dora\nBeth")
    do("panel_new", name="Sona", id_parameter="id", completed_code="X1", other_code="X2")
    do("retention", until="2030-01-01")
    lifecycle.change_status(study, "close", study.owner)
    do("study_erase", typed="spring")


def works_and_is_paid(watched, study):
    """Decide about an annotator, pay, and use the results."""
    done, live = (factories.seat(study.scenarios.get()) for _ in range(2))
    factories.work_through(done)

    def do(address, *args, **sent):
        return watched.post(reverse(address, args=[study.name, *args]), sent)

    do("participation_score", done.pseudonym)
    for about in ("analysis", "pay"):
        do("participation_decide", done.pseudonym, about=about, outcome="no", reason="odd")
        do("participation_decide", done.pseudonym, about=about, outcome="yes", reason="not odd")
    do("behaviour_exclude", annotators=done.pseudonym, reason="odd")
    do("participation_decide", done.pseudonym, about="analysis", outcome="yes", reason="not odd")
    do("participation_bonus", done.pseudonym, amount="1", reason="kind")
    do("participation_free_seat", live.pseudonym, reason="gone")
    do("participation_withdraw", live.pseudonym, reason="asked by mail", confirm="on")
    waiting = factories.seat(study.scenarios.get())
    study.participations.filter(pk=waiting.pk).update(status="waiting")
    do("people_decide", annotators=waiting.pseudonym, outcome="no", reason="too many wrong")
    do("example_comment", study.tasks.get().test_split.examples.first().pk, text="Two golds?")
    for name, seat in (("people_pay", done), ("people_withdraw", waiting)):
        sent = {"annotators": seat.pseudonym, "reason": "asked"}
        asked = Client.post(watched, reverse(name, args=[study.name]), sent)
        do(name, **sent, confirmed=asked.context["together"].errors["confirmed"][0])
    do("pay", action="prepare")
    do("report", **{"item-1.9": "Board 7", "versions": "{}"})
    do("sample_upload", csv=demographics(done))
    do("analysis_run", kind="person")
    do("report_run")
    do("release_prepare")
    do("release_run", Job.objects.get(kind="release").pk)


def tasks_are_imported(watched, tmp_path):
    """Import tasks from files, a dataset and the Gym, then set a task's team and checks."""
    page = settle(watched, send(watched, GOOD | {"toy_test.jsonl": "not JSON"}))
    page = settle(watched, act_files(watched, page, {"toy_test.jsonl": GOOD["toy_test.jsonl"]}))
    act(watched, page, "confirm")
    task = Task.objects.latest("imported_at")
    act(watched, settle(watched, send(watched, GOOD | {"toy_test.jsonl": "{"})), "discard")
    data = dataset_files.write_all(tmp_path / "data", MOODS)["csv"]
    dataset_pages.draw(watched, dataset_pages.send(watched, data), **dataset_pages.CHOICE)
    folders = [test_gym.write(tmp_path, name, {}) for name in ("glue-rte", "web_questions")]
    page = watched.post(reverse("task_add"), {"upload": zipped(*folders)}, follow=True)
    confirm(watched, page)
    its = [task.name, task.version]
    watched.post(reverse("task_team", args=its), {"username": "grace"})
    checks = json.dumps({"id": "c", "context": "Say Rome.", "question": "?", "answer": ["Rome"]})
    sent = SimpleUploadedFile("checks.jsonl", checks.encode())
    watched.post(reverse("task_checks", args=its), {"checks": sent})
    watched.post(reverse("task_archive", args=its))
    watched.post(reverse("task_unarchive", args=its))
    form = watched.get(reverse("task_edit", args=its), follow=True).context["form"]
    sent = {field.html_name: field.value() or "" for field in form}
    watched.post(reverse("task_edit", args=its), sent | {"title": "Another title"})


def models_and_tokens(watched, fake, task, monkeypatch):
    monkeypatch.setattr(upload_job, "SMALL", 0)
    name = f"{task.name}_2_1.jsonl"
    sent = SimpleUploadedFile(name, factories.prediction_lines(task))
    watched.post(reverse("models"), {"name": "toy", "files": [sent]})
    while not PredictionFile.objects.exists():
        watched.post(reverse("model_upload", args=[Job.objects.latest("pk").pk]))
    file = PredictionFile.objects.get()
    watched.post(reverse("prediction_file_delete", args=["toy", file.pk]))
    watched.post(reverse("model_archive", args=["toy"]))
    watched.post(reverse("model_unarchive", args=["toy"]))
    watched.post(reverse("model_delete", args=["toy"]))
    factories.confirm_password(watched)
    watched.post(reverse("tokens"), {"name": "nightly", "scopes": ["read"], "days": "7"})
    watched.post(reverse("token_revoke", args=[ApiToken.objects.get().pk]))
    watched.post(reverse("prolific_token"), {"token": fake.token})
    watched.post(reverse("prolific_token_remove", args=[ProlificAccount.objects.get().pk]))


def accounts(watched, mail, settings):
    """Change account settings, two-factor authentication and passwords."""
    settings.EMAIL_HOST = "mail.example.org"
    factories.confirm_password(watched)
    reply = watched.post(reverse("users"), {"action": "invite", "email": ""})
    watched.post(reply.context["invitation_link"].removeprefix("http://testserver"))
    switch_on(watched)  # which confirms the password
    watched.post(reverse("first_study"), {"action": "skip"})
    watched.post(reverse("your_account"), {"time_zone": "Europe/Berlin"})
    watched.post(reverse("your_address"), {"email": "lovelace@example.org"})
    (link,) = re.findall(r"http://testserver(\S+)", mail.outbox[-1].body)
    watched.post(link)
    watched.post(reverse("mfa_generate_recovery_codes"))
    watched.post(reverse("mfa_deactivate_totp"))
    secret = switch_on(watched)
    before = AuditEntry.objects.count()
    old = {"oldpassword": "wrong horse", "password1": "a long horse", "password2": "a long horse"}
    watched.post(reverse("password_change"), old)
    assert AuditEntry.objects.count() == before
    watched.post(reverse("password_change"), old | {"oldpassword": "right horse"})
    watched.post(reverse("logout"))
    watched.post(reverse("login"), {"login": "ada", "password": "a long horse"})
    cache.clear()
    watched.post(reverse("mfa_authenticate"), {"code": code_of(secret, 1)})
    watched.post(reverse("account_reset_password"), {"email": "lovelace@example.org"})
    (link,) = re.findall(r"http://testserver(\S+/key/\S+)", mail.outbox[-1].body)
    address = watched.get(link, follow=True).redirect_chain[-1][0]
    watched.post(address, {"password1": "a better horse", "password2": "a better horse"})
    ada = User.objects.get(username="ada")
    ada.set_unusable_password()  # as after single sign-on
    ada.save()
    watched.force_login(ada)
    sent = {"password1": "the best horse", "password2": "the best horse"}
    watched.post(reverse("account_set_password"), sent)


def on_prolific(watched, fake, study):
    """Publish and sync a study on Prolific, and ask a participant to return their submission."""
    watched.post(reverse("prolific_plan", args=[study.name]), {"annotation_parts": "0"})
    draft = study.prolific_studies.get()
    address = reverse("prolific_study", args=[study.name, draft.pk])
    watched.post(address, factories.publishing(draft))
    watched.post(reverse("prolific_sync", args=[study.name]))
    draft.refresh_from_db()
    seat = complete(fake, draft)
    address = reverse("participation_review", args=[study.name, seat.pseudonym])
    watched.post(address, {"action": "return", "message": "Please return it."})


def demographics(participation) -> SimpleUploadedFile:
    """Return a demographics export from Prolific that describes this participant."""
    key = worker_key("prolific", "someone")
    Worker.objects.filter(pk=participation.worker_id).update(key=key)
    return SimpleUploadedFile("export.csv", b"Participant id,Sex\nsomeone,Female\n")


DESIGN = {
    "study_new", "study_edit", "study_status", "team", "lists", "seats", "switches", "budget",
    "personal_links", "panel_new", "study_clone", "study_archive", "study_unarchive",
    "study_delete", "rehearsal", "rehearsal_run", "notice_switches", "retention", "study_erase",
}  # fmt: skip
WORK = {
    "participation_score", "participation_decide", "participation_bonus",
    "participation_free_seat", "participation_withdraw", "people_decide", "behaviour_exclude",
    "people_pay", "people_withdraw", "example_comment", "pay",
    "report", "report_run", "sample_upload",
    "analysis_run", "release_prepare", "release_run",
}  # fmt: skip
PROLIFIC = {"prolific_plan", "prolific_study", "prolific_sync", "participation_review"}
TASKS = {
    "task_add", "task_upload_run", "task_upload_files", "task_upload_confirm",
    "task_upload_discard", "dataset_columns", "gym_tasks",
    "gym_run", "task_team", "task_checks", "task_archive", "task_unarchive", "task_edit",
}  # fmt: skip
MODELS = {
    "models", "model_upload", "prediction_file_delete", "model_delete", "tokens",
    "token_revoke", "prolific_token", "prolific_token_remove",
    "model_archive", "model_unarchive",
}  # fmt: skip
ACCOUNTS = {
    "mfa_activate_totp", "mfa_generate_recovery_codes", "password_change", "logout",
    "account_set_password",
    "mfa_authenticate", "mfa_deactivate_totp", "account_reset_password_from_key", "users",
    "first_study", "invitation", "your_account", "your_address", "your_address_confirm",
}  # fmt: skip
SIGN_IN = {"account_login", "login"}  # both names have the same address
PARTS_OF_A_PAGE = {"participation_decide_pay"}  # tried with participation_decide


def test_every_logged_post_is_tested_below():
    """Each POST in web/rights.toml is tried below, or the table states why it adds no entry."""
    logged = {name for name, row in POSTS.items() if not row.unlogged}
    tried = DESIGN | WORK | PROLIFIC | TASKS | MODELS | ACCOUNTS | SIGN_IN | PARTS_OF_A_PAGE
    assert tried == logged


urlpatterns = [path("unnamed/", lambda request: HttpResponse())]


@pytest.mark.urls(__name__)
def test_a_post_at_an_unnamed_address_leaves_an_entry(client, researcher):
    client.force_login(researcher)
    client.post("/unnamed/")
    assert AuditEntry.objects.filter(by=researcher, topic=Topic.RESULTS).count() == 1


def left_an_entry(watched) -> set[str]:
    """Check that ada is named in all users' entries; return their addresses, except sign-in."""
    assert not AuditEntry.objects.exclude(by=None).exclude(by__username="ada").exists()
    assert "account_login" in watched.entered
    return watched.entered - SIGN_IN


@pytest.mark.long
def test_every_post_about_a_study_leaves_an_entry(watched, other_researcher):
    drafts_and_runs(watched, factories.make_task())
    assert left_an_entry(watched) == DESIGN


@pytest.mark.long
def test_every_post_about_annotators_and_results_leaves_an_entry(watched, researcher, monkeypatch):
    monkeypatch.setattr(jobs, "POLL", 0)
    paid = factories.make_study(
        researcher, factories.make_task(), shots=[2], annotators=2, base_reward=Decimal(5)
    )
    works_and_is_paid(watched, paid)
    assert left_an_entry(watched) == WORK


@pytest.mark.long
def test_every_post_about_prolific_leaves_an_entry(watched, fake, study):
    on_prolific(watched, fake, study)
    assert left_an_entry(watched) == PROLIFIC


@pytest.mark.long
def test_every_post_about_tasks_leaves_an_entry(watched, other_researcher, tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "POLL", 0)
    tasks_are_imported(watched, tmp_path)
    assert left_an_entry(watched) == TASKS


def test_every_post_about_models_and_tokens_leaves_an_entry(watched, fake, monkeypatch):
    fake.token = "token-of-the-researcher"
    models_and_tokens(watched, fake, factories.make_task(), monkeypatch)
    assert left_an_entry(watched) == MODELS


def test_every_post_about_an_account_leaves_an_entry(watched, settings):
    accounts(watched, mail, settings)
    assert left_an_entry(watched) == ACCOUNTS


UNCHANGED = [
    ("archive/", {}, "archive", Topic.DESIGN),
    ("switches/", {}, "switches", Topic.DESIGN),
    ("retention/", {}, "retention", Topic.DESIGN),
    ("participations/{}/decide/", {"about": "analysis", "outcome": "yes", "reason": "fine"},
     "decide", Topic.PEOPLE),
    ("participations/exclude/", {"annotators": "{}", "reason": "odd"}, "exclude together",
     Topic.PEOPLE),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "action", "topic"), UNCHANGED)
def test_an_entry_without_a_change_has_its_pages_topic(researcher, path, body, action, topic):
    study = factories.make_study(researcher, factories.make_task(), shots=[2], name="story")
    done = factories.seat(study.scenarios.get())
    factories.work_through(done)
    headers = factories.bearer(researcher, "read", "run", "pay")
    address = f"/api/v1/studies/story/{path}".format(done.pseudonym)
    sent = json.dumps(body).replace('"{}"', f'["{done.pseudonym}"]')
    for _twice in range(2):
        reply = Client().post(address, sent, "application/json", headers=headers)
        assert reply.status_code == 200
    assert AuditEntry.objects.filter(what=action).latest("pk").topic == topic


# Content of entries -------------------------------------------------------------------------------


@pytest.fixture
def world(researcher, other_researcher):
    story = factories.make_study(
        researcher, factories.make_task(), shots=[2], annotators=2, name="story", hourly_rate=6
    )
    team.add(story, "grace", "analyst", researcher)
    return story


def entry(what: str) -> AuditEntry:
    return AuditEntry.objects.filter(what__contains=what).latest("pk")


def test_an_entry_stores_before_and_after_by_page_and_by_token(ada, world, researcher):
    ada.post(reverse("budget", args=["story"]), {"amount": "900"})
    raised = entry("budget raised")
    assert (raised.by, raised.token, raised.topic) == (researcher, "", Topic.STUDY)
    assert Decimal(raised.after["budget"]) == 900 != Decimal(raised.before["budget"])
    headers = factories.bearer(researcher, "read", "run", "pay")
    reply = Client().post("/api/v1/studies/story/pause/", {}, "application/json", headers=headers)
    assert reply.status_code == 200
    paused = entry("paused")
    assert (paused.by, paused.token) == (researcher, "script")
    assert (paused.before, paused.after) == ({"status": "open"}, {"status": "paused"})


def test_a_withdrawal_erases_reasons_from_the_log(world):
    done, live = (factories.seat(world.scenarios.get()) for _ in range(2))
    factories.work_through(done)
    exclusion.decide(done, False, "S1 was 12.5", world.owner)
    decided = entry("excluded from the analysis")
    assert decided.about == done.pseudonym
    assert decided.after == {"in_analysis": False}
    assert not AuditEntry.objects.filter(what__contains="12.5").exists()
    seats.free_by_hand(live, "their S1 is low", world.owner)
    withdrawal.withdraw(live.token)
    assert entry(f"seat of {live.pseudonym} freed").what.endswith(withdrawal.REASON)


@pytest.mark.engines
def test_the_database_refuses_to_change_or_delete_an_entry(world):
    table = AuditEntry._meta.db_table
    for sql in (f"UPDATE {table} SET what = 'nothing'", f"DELETE FROM {table}"):
        refused = pytest.raises(DatabaseError, match="insert-only")
        with refused, transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql)


@pytest.mark.long
def test_a_download_is_logged_once_an_hour_and_a_page_view_never(
    ada, world, researcher, monkeypatch
):
    now = database_now()
    monkeypatch.setattr("config.audit.database_now", lambda: now)
    before = AuditEntry.objects.count()
    for _twice in range(2):
        ada.get(reverse("study", args=["story"]))
        b"".join(ada.get(reverse("export_zip", args=["story"])).streaming_content)
    (download,) = AuditEntry.objects.all()[before:]
    assert (download.what, download.by, download.topic) == (
        "downloaded: export zip", researcher, Topic.DOWNLOAD,
    )  # fmt: skip
    ada.get(reverse("personal_links", args=["story"]), follow=True)
    assert entry("looked up").study == world
    headers = factories.bearer(researcher, "read")
    for _twice in range(2):
        Client().get("/api/v1/studies/story/answers/", headers=headers)
    assert AuditEntry.objects.filter(token="script", topic=Topic.DOWNLOAD).count() == 1


def test_the_log_has_no_worker_identity_and_no_token(ada, world, researcher):
    ada.post(reverse("personal_links", args=["story"]), {"names": "Dora Smith"})
    sent = {"effect": "deny", "criterion": "people", "value": "prolific 5f5f5f5f5f5f5f5f5f5f5f5f"}
    ada.post(reverse("lists", args=["story"]), sent)
    panel = {"name": "Sona", "id_parameter": "who", "completed_code": "PAYS77"}
    panel["other_url"] = "https://panel.example.org/?done=PAYS88"
    ada.post(reverse("panel_new", args=["story"]), panel)
    assert entry("platform added").after["id_parameter"] == "who"
    factories.confirm_password(ada)
    made = ada.post(reverse("tokens"), {"name": "nightly", "scopes": ["read"], "days": "7"})
    token = re.search(r"data-token>([^<]+)", made.content.decode())[1]
    stored = str(list(AuditEntry.objects.values()))
    for secret in ("Dora", "5f5f5f5f", "PAYS", token, token[-8:], ApiToken.objects.get().digest):
        assert secret not in stored


# Reading the log ----------------------------------------------------------------------------------


def test_the_page_filters_and_exports_and_hides_pay_from_others(
    ada, client, world, other_researcher
):
    lifecycle.change_status(world, "pause", world.owner)
    done = factories.seat(world.scenarios.get())
    budget.give_bonus(done, 100, "kind", world.owner)
    address = reverse("audit_log", args=["story"])
    everything = ada.get(address).content.decode()
    assert "bonus" in everything
    assert ">paused<" in everything
    shown = ada.get(address, {"topic": "team", "who": "ada", "words": "grace"}).content.decode()
    assert "grace joined the team as analyst" in shown
    assert ">paused<" not in shown
    assert "No entries match" in ada.get(address, {"until": "2001-01-01"}).content.decode()
    wrong = ada.get(address, {"since": "soon"}).content.decode()
    assert "Enter a valid date." in wrong
    rows = list(csv.DictReader(io.StringIO(ada.get(address, {"format": "csv"}).content.decode())))
    assert {"opened", "paused"} <= {row["what"] for row in rows}
    client.force_login(other_researcher)
    assert "bonus" not in client.get(address).content.decode()
    headers = factories.bearer(other_researcher, "read")
    listed = Client().get("/api/v1/studies/story/events/?topic=pay", headers=headers).json()
    assert listed["results"] == []


def test_the_logs_csv_has_no_formula(ada, world):
    AuditEntry.objects.record("=HYPERLINK(1)", Topic.STUDY, study=world)
    shown = ada.get(reverse("audit_log", args=["story"]), {"format": "csv"}).content.decode()
    assert ",'=HYPERLINK(1)," in shown


def test_the_log_of_the_server_is_for_superusers(ada, world, researcher):
    assert ada.get(reverse("site_log")).status_code == 403
    researcher.is_superuser = True
    researcher.save()
    shown = ada.get(reverse("site_log")).content.decode()
    assert "signed in" in shown
    assert "task imported" in shown
