"""Syncing with Prolific: statuses, freed seats, places, blocklists and confirmations.

This runs in `manage.py tick`, when a button is pressed, and for single submissions after a webhook
event. The API is authoritative: an event only says what to look up, so events may be late, repeated
or out of order. The request that delivers an event merely stores it. It is processed here, so that
threads serving annotators never wait for Prolific. A malformed row does not block any others; it is
reported in `SyncReport.problems`.
"""

import base64
import hashlib
import hmac
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

from django.utils import timezone

from annotation.models import (
    MAY_RESUME,
    Exposure,
    ProlificStudy,
    Status,
    Study,
    Submission,
    WebhookEvent,
    Worker,
)
from annotation.prolific.accounts import client_of
from annotation.prolific.adapter import ProlificAdapter
from annotation.prolific.client import Client, status_of
from annotation.prolific.errors import ProlificError
from annotation.prolific.places import fit_places, note_pause
from annotation.prolific.submissions import (
    IN_PROGRESS,
    TAKE_A_PLACE,
    PlaceCounts,
    Row,
    SyncReport,
    sync_submission,
    take_over,
    verify,
)
from annotation.protocol import qualification
from annotation.recruitment import eligibility, expiry, identities

# How long a submission can go unreviewed before Prolific approves it automatically, in full.
AUTO_APPROVAL = timedelta(days=21)


def sync(study: Study, client: Client | None = None, patient: bool = False) -> SyncReport:
    """Sync a study with its studies on Prolific, which all belong to the same account.

    Problems are collected in `problems`. Raises ProlificError if Prolific is unreachable, in which
    case anything synced until then remains.
    """
    client, report = client or client_of(study.prolific_studies.first(), patient), SyncReport()
    expiry.expire_idle(study)
    for waiting in study.participations.filter(status=Status.WAITING):
        qualification.move_on(waiting.token)
    verify(study, client, report)
    counted = []
    for prolific_study in study.prolific_studies.exclude(external_id=None):
        with report.noting(prolific_study):
            counted.append(_sync_one(prolific_study, client, report))
    fit_places(study, counted, client, report)
    with report.noting("the exclusion list"):
        _bar(study, client, report)
    return report


def _sync_one(prolific_study: ProlificStudy, client: Client, report: SyncReport) -> PlaceCounts:
    rows = []
    for data in client.submissions(prolific_study.id_there):
        report.submissions += 1
        with report.noting(f"{prolific_study}, a submission"):
            rows.append(Row.read(data))
            take_over(rows[-1], report)
    # Submissions that Prolific may pay although no work was done here.
    open_yet = [row for row in rows if row.return_is_open]
    ends = [row.completed_at or row.return_requested_at for row in open_yet]
    since = [end for end in ends if end is not None]
    prolific_study.returns_open = len(open_yet)
    prolific_study.returns_until = min(since) + AUTO_APPROVAL if since else None
    approved = {row.key for row in rows if row.status == "APPROVED"}
    seen_here = Submission.objects.filter(key__in=approved).count()
    prolific_study.approved_unknown = len(approved) - seen_here
    previous, record = status_of(prolific_study.status), client.study(prolific_study.id_there)
    prolific_study.status = str(record["status"])[:20]
    if prolific_study.signed:
        prolific_study.signing_keys = client.signing_keys()
    prolific_study.save(
        update_fields=[
            "status", "signing_keys", "returns_open", "returns_until",
            "approved_unknown",
        ]
    )  # fmt: skip
    if status_of(prolific_study.status) == "PAUSED" and not prolific_study.paused_here:
        note_pause(prolific_study, rows, previous, record)
    placed = [row for row in rows if row.status in TAKE_A_PLACE]
    stored = Submission.objects.filter(key__in=[row.key for row in placed])
    seated = set(stored.values_list("key", flat=True))
    coming = sum(row.status in IN_PROGRESS and row.key not in seated for row in placed)
    staying = sum(not row.return_is_open for row in placed)
    coming = coming if prolific_study.part <= 1 else 0
    return PlaceCounts(prolific_study, len(placed), staying, coming)


def _bar(study: Study, client: Client, report: SyncReport) -> None:
    """Block ineligible people on Prolific, if their ID is stored, so that they don't arrive."""
    group = (
        study.prolific_studies.exclude(blocklist_id="").values_list("blocklist_id", flat=True)
    ).first()  # fmt: skip
    if not group:
        return
    tasks = study.tasks.values_list("name", flat=True)
    met = Exposure.objects.filter(task_name__in=tasks).values("worker_key")
    # People who expired or returned may resume their participation.
    back = study.participations.filter(status__in=MAY_RESUME).values("worker")
    workers = Worker.objects.filter(platform=ProlificAdapter.platform, key__in=met)
    workers = workers.exclude(pk__in=back)
    if study.tasks_per_worker > 1:
        workers = workers.exclude(participations__study=study)
    identified = Submission.objects.filter(platform=ProlificAdapter.platform).exclude(person="")
    identified = identified.exclude(verified=False)
    barred = set(workers.values_list("pk", flat=True))
    if study.access_rules.filter(ended_at=None).exists():
        candidates = Worker.objects.filter(submissions__in=identified).distinct()
        barred |= {worker.pk for worker in candidates if not eligibility.admits(study, worker.key)}
    ids = identified.filter(worker__in=barred).values_list("person", flat=True)
    people = {identities.decrypt(person) for person in ids if not identities.is_lost(person)}
    missing = people - client.group(group)
    if missing:
        client.add_to_group(group, sorted(missing))
        report.barred += len(missing)
    study.prolific_studies.filter(blocklist_id=group).update(blocklist_size=len(people))


class NotSynced(Exception):
    """Raised if some items could not be synced. The message describes each problem."""


def handle_waiting_events() -> str:
    """Process events from Prolific's webhooks. Raises NotSynced."""
    return _summary([("events", handle_events)])


def sync_all() -> str:
    """Sync all studies on Prolific one by one. Raises NotSynced at the end."""
    # Skip studies without a token. Their pages say that it has been removed.
    active = ProlificStudy.objects.exclude(external_id=None).exclude(account__token="")
    studies = Study.objects.filter(prolific_studies__in=active).distinct()
    return _summary([(study.name, partial(sync, study, patient=True)) for study in studies])


def _summary(works: list[tuple[str, Callable[[], Any]]]) -> str:
    problems = []
    for name, work in works:
        try:
            problems += [f"{name}: {problem}" for problem in work().problems]
        except ProlificError as error:
            problems.append(f"{name}: {error}")
    if problems:
        raise NotSynced("; ".join(problems))
    return f"{len(works)} synced"


# Prolific retries for a day. Any older request is a replay.
OLDEST = 25 * 3600  # seconds


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return base64(HMAC-SHA256(secret, timestamp + body)), as documented by Prolific."""
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def handle_events() -> SyncReport:
    """Process stored events and delete those that are too old to be replayed.

    Raises ProlificError if Prolific is unreachable, in which case the rest wait for the next run.
    """
    report = SyncReport()
    waiting = WebhookEvent.objects.filter(handled_at=None).order_by("pk")
    for resource in dict.fromkeys(waiting.values_list("resource", flat=True)):
        events = list(waiting.filter(resource=resource).values_list("pk", flat=True))
        with report.noting("an event"):
            report.submissions += 1
            report.changed += sync_submission(resource)
            # Events that arrived in the meantime may report newer changes.
            WebhookEvent.objects.filter(pk__in=events).update(handled_at=timezone.now())
    old = timezone.now() - timedelta(seconds=2 * OLDEST)
    WebhookEvent.objects.filter(received_at__lt=old).delete()
    return report
