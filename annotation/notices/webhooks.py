"""Webhook events, derived from stored rows.

`collect` runs in `manage.py tick`, never during an annotator's request. A constraint allows only
one Delivery per event and webhook, so an event is never delivered twice under different IDs, and
none is lost when a process is stopped. The deliveries are sent by sending.py.
"""

import base64
import secrets
from collections import Counter
from collections.abc import Iterator
from typing import Any

from django.contrib.auth.models import User

from annotation.models import (
    Delivery,
    Event,
    Kind,
    Participation,
    Status,
    Study,
    StudyStatus,
    Topic,
    Webhook,
)
from annotation.models.notices import WITH_MAKER
from annotation.notices import sending
from annotation.pay.budget import PAUSED
from annotation.recruitment import identities
from tasks.clock import database_now
from tasks.models import Job

MAX_WEBHOOKS = 20  # for each study
PREFIX = "whsec_"  # of secrets, as defined by Standard Webhooks
FINISHED = (Status.COMPLETED, Status.SCREENED_OUT, Status.WITHDRAWN)
# Maps the start of an audit log entry to an event.
LOGGED = {
    "paused": Event.STUDY_PAUSED,
    PAUSED: Event.STUDY_PAUSED,
    "closed for good": Event.STUDY_CLOSED,
}


class WebhookError(ValueError):
    """The webhook was not created. The message is shown to users."""


def make(study: Study, url: str, events: list[str], by: User) -> tuple[Webhook, str]:
    """Create a webhook and return it with its secret (shown only once). Raises WebhookError."""
    if not events:
        raise WebhookError(f"Choose from these events: {', '.join(Event.values)}.")
    try:
        sending.check_address(url)
    except sending.Refused as error:
        raise WebhookError(str(error)) from None
    secret = PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
    # Serialises requests.
    with Study.locking(study.pk):
        if study.webhooks.count() >= MAX_WEBHOOKS:
            raise WebhookError(f"A study can have at most {MAX_WEBHOOKS} webhooks.")
        webhook = Webhook.objects.create(
            study=study, url=url, events=sorted(set(events)), secret=identities.encrypt(secret),
            made_by=by, created_at=database_now(),
        )  # fmt: skip
        study.events.record(
            f"webhook created: {webhook.pk}", Topic.PLATFORM, study=study, by=by,
            after={"events": webhook.events},
        )  # fmt: skip
    return webhook, secret


def collect_and_send() -> str:
    """Store and send deliveries for `manage.py tick`. Return a sentence about the result."""
    for webhook in Webhook.objects.exclude(pk__in=Webhook.objects.of_owners().values("pk")):
        webhook.end(reason=WITH_MAKER)
    new = collect()
    return f"{new} new, {sending.send_due()} arrived"


def collect() -> int:
    old_count = Delivery.objects.count()
    for webhook in Webhook.objects.of_owners().select_related("study"):
        now = database_now()
        stored = set(webhook.deliveries.values_list("event", "subject"))
        Delivery.objects.bulk_create(
            [
                Delivery(
                    webhook=webhook,
                    event=event,
                    subject=subject,
                    body={"type": event, "study": webhook.study.name, "data": data},
                    next_at=now,
                    created_at=now,
                )
                for event, subject, data in events_of(webhook)
                if event in webhook.events and (event, subject) not in stored
            ],
            ignore_conflicts=True,  # another process may have stored some
        )
    return Delivery.objects.count() - old_count


def events_of(webhook: Webhook) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (event, subject, data) for events since its creation, and for all full scenarios."""
    study, since = webhook.study, webhook.created_at
    ended = study.participations.filter(status__in=FINISHED, finished_at__gte=since)
    for participation in ended.only("pseudonym", "status", "kind", "scenario_id", "finished_at"):
        yield Event.PARTICIPATION_FINISHED, participation.pseudonym, _finished(participation)
    if study.status != StudyStatus.DRAFT:
        yield from filled(study)
    for entry in study.events.filter(at__gte=since):
        event = next((e for prefix, e in LOGGED.items() if entry.what.startswith(prefix)), None)
        if event is not None:
            yield event, f"entry {entry.pk}", {"what": entry.what, "at": entry.at.isoformat()}
    jobs = Job.objects.filter(parameters__study=study.pk, touched_at__gte=since)
    for job in jobs.filter(state__in=(Job.State.DONE, Job.State.FAILED)):
        data = {"job": job.pk, "kind": job.kind, "state": job.state, "error": job.error}
        yield Event.JOB_DONE, f"job {job.pk} {job.state}", data


def _finished(participation: Participation) -> dict[str, Any]:
    at = participation.finished_at
    return {
        "annotator": participation.pseudonym,
        "status": participation.status,
        "kind": participation.kind,
        "scenario": participation.scenario_id,
        "at": at and at.isoformat(),
    }


def filled(study: Study) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield an event for each full scenario, and another if its number of seats changes."""
    holding = Participation.objects.holding_seats(database_now(), study).filter(kind=Kind.PERSON)
    counts = Counter(holding.order_by().values_list("scenario_id", flat=True))
    for row in study.scenarios.select_related("task"):
        if counts[row.pk] >= row.seats:
            data: dict[str, Any] = {"scenario": row.pk, "task": row.task.name, "shots": row.shots}
            data |= {"split": row.split_number, "seats": row.seats}
            yield Event.SCENARIO_FILLED, f"scenario {row.pk} of {row.seats}", data
