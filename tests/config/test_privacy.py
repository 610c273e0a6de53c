"""The privacy record lists every table with personal data, and its deletions are carried out."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.apps import apps
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from annotation.models import AuditEntry, Invitation, Notice
from annotation.notices import collecting
from annotation.privacy import erasure
from config import sessions
from tasks.clock import database_now
from tests import factories

OPERATING = (Path(__file__).parents[2] / "docs" / "operating.md").read_text()
RECORD = OPERATING.split("## Privacy record")[1].split("\n## ")[0]
ROWS = [line.split("|")[1].strip() for line in RECORD.splitlines() if line.startswith("| ")][1:]

# Start of the row in the record -> the tables that it describes.
TOLD = {
    "answers, times": "Turn Answer AnswerSpan Activity Participation Tombstone Allocation",
    "confidence in answers": "Confidence",
    "problems with examples": "ProblemReport",
    "how long each reveal": "Reading",
    "drafts": "Draft",
    "exit questionnaire": "ExitAnswers OwnAnswer",
    "platform id": "Submission",
    "keyed hash": "Worker Exposure ArmTaken",
    "names that the researcher": "PersonalLink",
    "earnings": "LedgerEntry Decision PaymentBatch Payment ScoreShown",
    "declined": "DeclinedOffer",
    "user name": "auth.User sessions.Session",
    "secret of two-factor": "mfa.Authenticator account.EmailAddress account.EmailConfirmation",
    "subject at": "socialaccount.SocialAccount socialaccount.SocialToken",
    "what researchers did": "AuditEntry",
    "notices": "Notice",
    "name, last characters": "ApiToken",
    "API token for Prolific": "ProlificAccount",
    "email addresses in": "Invitation",
    "who belongs": "Member tasks.TaskMember NoticeSwitch Preferences auth.User_groups"
    " auth.User_user_permissions",
    "who made": "tasks.TaskUpload tasks.Job Study AddedSeats ExampleComment ReportAnswer"
    " StudyTombstone tasks.Task tasks.LanguageModel",
    "deliveries": "Delivery Webhook",
    "allow and deny": "AccessRule ListedWorker",
}
# Tables without personal data: designs, tasks, models, and the installation's settings.
OF_NOBODY = """
    Study_tasks Study_upstream_tasks Scenario UpstreamExample KeyCheck StudyManifest ConsentText
    ComparedFile RefusedArrival
    ModelAnnotator ModelRun Panel ProlificStudy ProlificStudy_scenarios tasks.Installation
    tasks.PeriodicPart tasks.TaskReport tasks.UnfinishedImport tasks.Split
    tasks.Example tasks.Image tasks.Task_images tasks.PredictionFile tasks.Prediction
    auth.Permission auth.Group auth.Group_permissions contenttypes.ContentType
    socialaccount.SocialApp
"""


def labels(text: str) -> list[str]:
    return [name if "." in name else f"annotation.{name}" for name in text.split()]


def test_every_table_is_in_the_privacy_record_or_impersonal():
    written = [label for names in [*TOLD.values(), OF_NOBODY] for label in labels(names)]
    tables = {model._meta.label for model in apps.get_models(include_auto_created=True)}
    assert len(written) == len(set(written))
    assert set(written) == tables


def test_every_mapped_row_is_in_the_privacy_record():
    for start in TOLD:
        assert [row for row in ROWS if row.startswith(start)], start
    # These rows describe data outside the tables: in browsers, the cache and backups.
    others = ("random browser cookie", "salted hash of the IP", "times of failed", "everything")
    untold = [row for row in ROWS if not row.startswith((*TOLD, *others))]
    assert untold == []


def test_an_impersonal_table_refers_to_no_worker_or_account():
    people = {"auth.User", "annotation.Worker", "annotation.Participation", "annotation.Turn"}
    known = {  # models, which are not people
        ("annotation.ModelAnnotator", "worker"), ("annotation.ModelRun", "participation"),
    }  # fmt: skip
    for label in labels(OF_NOBODY):
        for field in apps.get_model(label)._meta.concrete_fields:
            if field.is_relation and field.related_model._meta.label in people:
                assert (label, field.name) in known


def rows_of_cache() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM shared_cache")
        return cursor.fetchone()[0]


@pytest.mark.engines
def test_sign_in_data_are_deleted_on_their_day(researcher):
    now = database_now()
    cache.set("fresh", 1, timeout=900)
    cache.set("over", 1, timeout=900)
    with connection.cursor() as cursor:
        past = connection.ops.adapt_datetimefield_value(now - timedelta(seconds=5))
        cursor.execute("UPDATE shared_cache SET expires = %s WHERE cache_key LIKE '%%over'", [past])
    before = rows_of_cache()
    for number, days in enumerate((1, 40)):
        Invitation.objects.create(
            email="ida@example.org", digest=str(number), made_by=researcher, created_at=now,
            expires_at=now - timedelta(days=days),
        )  # fmt: skip
    assert sessions.prune() == "1 counts and 1 invitations deleted"
    assert rows_of_cache() == before - 1
    assert cache.get("fresh") == 1
    assert Invitation.objects.count() == 1
    assert sessions.prune() == "0 counts and 0 invitations deleted"


def test_owners_are_notified_a_week_before_a_logged_deletion(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2], status="draft")
    study.personal_links.create(name="Ida Example")
    today = timezone.now().date()

    def told() -> list[str]:
        collecting.collect()
        about = Notice.objects.filter(user=researcher, about="retention")
        return list(about.values_list("what", flat=True))

    assert told() == []  # nothing is deleted automatically unless a day is set
    assert erasure.delete_due(today + timedelta(days=9999)) == []
    erasure.keep_until(study, today + timedelta(days=8), None, researcher)
    assert told() == []
    day = today + timedelta(days=7)
    erasure.keep_until(study, day, None, researcher)
    assert told() == told() == [f"Annotators' ids will be deleted after {day}"]
    erasure.keep_until(study, today - timedelta(days=1), None, researcher)
    call_command("tick", "identities", verbosity=0)
    assert study.personal_links.get().name.startswith("purged-")
    entry = AuditEntry.objects.filter(study=study).latest("pk")
    assert entry.what == "1 identities deleted, because their deletion date has passed"
    assert entry.by is None
