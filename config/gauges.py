"""Gauges for /metrics, computed from the database at each scrape.

All nodes that share a database report the same values. The counters don't need the database.
"""

import logging
import shutil
from collections.abc import Iterable, Iterator
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Case, Count, F, Q, QuerySet, Sum, Value, When
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from annotation import guards
from annotation.models import (
    LIVE,
    Delivery,
    Kind,
    LedgerEntry,
    Notice,
    Participation,
    PaymentBatch,
    Scenario,
    Study,
    StudyStatus,
    WebhookEvent,
)
from annotation.pay import ledger
from tasks.models import Job, PeriodicPart

RUNNING = (StudyStatus.OPEN, StudyStatus.PAUSED)
log = logging.getLogger("handful.metrics")


class Stored(Collector):
    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield _gauge("handful_info", "The release", ["version"], [(settings.VERSION, 1)])
        free = shutil.disk_usage(settings.VAR_DIR).free
        yield _gauge("handful_folder_free_bytes", "Free space for files in var/", [], [(free,)])
        try:
            families = list(_stored())
        except DatabaseError as error:
            log.error("No gauges from the database: %s", str(error).strip())
            families = []
        up = int(bool(families))
        yield _gauge("handful_database_up", "1: the database responds", [], [(up,)])
        yield from families


def _gauge(
    name: str, help_text: str, labels: list[str], rows: Iterable[tuple]
) -> GaugeMetricFamily:
    """Return a gauge. Each row holds the label values, followed by the number."""
    family = GaugeMetricFamily(name, help_text, labels=labels)
    for *values, number in rows:
        family.add_metric([str(value) for value in values], number)
    return family


def _counts() -> Iterator[GaugeMetricFamily]:
    # "retrying": failed at least once and will be sent again.
    retried = Q(mail=Notice.MailState.WAITING, attempts__gt=0)
    mail_state = Case(When(retried, then=Value("retrying")), default=F("mail"))
    mails = Notice.objects.exclude(mail=Notice.MailState.NONE).annotate(state=mail_state)
    counted: tuple[tuple[str, str, QuerySet[Any], list[str]], ...] = (
        ("handful_studies", "Studies by status", Study.objects.all(), ["status"]),
        ("handful_participations", "Participations by kind and status",
         Participation.objects.all(), ["kind", "status"]),
        ("handful_jobs", "Jobs by kind and state", Job.objects.all(), ["kind", "state"]),
        ("handful_mails", "Notice emails by state", mails, ["state"]),
        ("handful_webhook_deliveries", "Deliveries by state", Delivery.objects.all(), ["state"]),
    )  # fmt: skip
    for name, help_text, rows, labels in counted:
        counts = rows.order_by().values_list(*labels).annotate(Count("pk"))
        yield _gauge(name, help_text, labels, counts)


def _seats() -> GaugeMetricFamily:
    """Count seats in open and paused studies. Abandoned seats count as taken until a tick."""
    running = Q(study__status__in=RUNNING)
    offered = Scenario.objects.filter(running).aggregate(n=Sum("seats", default=0))["n"]
    seated = Participation.objects.filter(running, kind=Kind.PERSON).seated()
    counts = seated.aggregate(
        at_work=Count("pk", filter=Q(status__in=LIVE)),
        completed=Count("pk", filter=~Q(status__in=LIVE)),
    )
    rows = [*counts.items(), ("free", offered - sum(counts.values()))]
    return _gauge("handful_seats", "Seats for human annotators in running studies", ["state"], rows)


def _tick() -> Iterator[GaugeMetricFamily]:
    parts = list(PeriodicPart.objects.all())
    rows = [(part.name, part.succeeded_at.timestamp()) for part in parts if part.succeeded_at]
    help_text = "Last success of a part of tick, in seconds since 1970"
    yield _gauge("handful_tick_success_timestamp_seconds", help_text, ["part"], rows)
    rows = [(part.name, int(bool(part.error))) for part in parts]
    help_text = "1: the last run of this part of tick failed; of `platforms`: Prolific"
    yield _gauge("handful_tick_failing", help_text, ["part"], rows)


def _money() -> GaugeMetricFamily:
    """Sum the money that is due, in a batch, paid, or committed to seated annotators."""
    entries = LedgerEntry.objects.filter(Q(participation__is_paid=True) | ~Q(payment=None))
    state = Case(
        When(payment=None, then=Value("due")),
        When(payment__batch__state=PaymentBatch.State.PAID, then=Value("paid")),
        default=Value("in_batch"),
    )
    rows = list(entries.order_by().values_list(state, "currency").annotate(Sum("cents")))
    committed: dict[str, int] = {}
    live = Count(
        "participations", Q(participations__status__in=LIVE, participations__kind="person")
    )
    for study in Study.objects.order_by().annotate(live=live).filter(live__gt=0):
        cap = ledger.cap(study) or 0
        committed[study.currency] = committed.get(study.currency, 0) + study.live * cap
    rows += [("committed", currency, cents) for currency, cents in committed.items()]
    help_text = "Money in cents by state; committed: maximum for annotators with a seat"
    return _gauge("handful_money_cents", help_text, ["state", "currency"], rows)


def _stored() -> Iterator[GaugeMetricFamily]:
    yield from _counts()
    yield _seats()
    yield from _tick()
    waiting = WebhookEvent.objects.filter(handled_at=None).count()
    yield _gauge("handful_platform_events_waiting", "Not processed yet", [], [(waiting,)])
    yield _money()
    missing = len(guards.missing(connection))
    yield _gauge("handful_guards_missing", "Triggers that protect answers", [], [(missing,)])
