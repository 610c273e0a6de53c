"""System checks for running services: database, clocks, cron, cache, email, proxies and Prolific.

Run them with `manage.py check --deploy --database default`. They change nothing and send no email.
"""

import smtplib
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from django.conf import settings
from django.core.cache import cache
from django.core.checks import CheckMessage, Error, Info, Tags, Warning, register
from django.core.mail import get_connection
from django.db import DatabaseError, connection, transaction
from django.utils import timezone
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from annotation.models import AuditEntry, Notice, Turn
from annotation.prolific.client import Client
from annotation.prolific.errors import ProlificError
from config import health
from tasks import periodic
from tasks.clock import database_now
from tasks.models import PeriodicPart

NETWORKS = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "glusterfs", "fuse.sshfs", "9p"}
LIMITS = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
SKEW = timedelta(seconds=2)
WAIT = 10  # seconds
# How a proxy responds while the server behind it is starting. This waits for up to 14 seconds.
STARTING = Retry(
    4, connect=0, backoff_factor=1, status_forcelist=(502, 503, 504), raise_on_status=False
)
Check = Callable[[], Iterator[CheckMessage]]


def running_check(check: Check) -> Check:
    """Register a check that runs only with `--deploy --database default`."""

    def run(databases: Any = None, **_options: Any) -> list[CheckMessage]:
        if "default" not in (databases or []):
            return []
        try:
            return list(check())
        except DatabaseError as error:
            reason = str(error).strip().partition("\n")[0]
            return [
                Error(
                    f"{check.__name__} could not query the database: {reason}",
                    hint="Start the database, check DATABASE_URL, then run manage.py migrate.",
                    id="config.E020",
                )
            ]

    register(run, Tags.database, deploy=True)
    return check


@running_check
def schema() -> Iterator[CheckMessage]:
    """Check that all migrations have been applied."""
    if names := health.not_migrated():
        yield Error(
            f"{len(names)} migrations are not applied, such as {names[0]}.",
            hint="Run manage.py backup FILE, then manage.py migrate.",
            id="config.E021",
        )


@running_check
def durability() -> Iterator[CheckMessage]:
    if connection.vendor == "sqlite":
        path = Path(connection.settings_dict["NAME"])
        if kind := network_of(path.resolve(), Path("/proc/self/mounts").read_text()):
            yield Error(
                f"SQLite is in a network folder ({kind}), where its locks do not work.",
                hint="Move it to a local disk. For several machines, use PostgreSQL.",
                id="config.E022",
            )
        return
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        if _query(f"SHOW {name}") == "off":
            yield Error(
                f"{name} is off, so acknowledged answers can be lost.",
                hint=f"ALTER SYSTEM RESET {name} (or ALTER ROLE ... RESET {name}), then reload it.",
                id="config.E023",
            )
    # PgBouncer reports a process ID that is not the server's.
    is_pooled = _query("SELECT pg_backend_pid()") != connection.connection.info.backend_pid
    if is_pooled and not settings.DATABASES["default"].get("DISABLE_SERVER_SIDE_CURSORS"):
        yield Error(
            "Connections go through PgBouncer, but server-side cursors are on, so pages fail at"
            " random.",
            hint="Set DISABLE_SERVER_SIDE_CURSORS=1.",
            id="config.E024",
        )
    if unset := [name for name in LIMITS if _query(f"SHOW {name}") == "0"]:
        yield Warning(
            f"These limits are not set: {', '.join(unset)}.",
            hint="Use ALTER ROLE as in docs/operating.md#postgresql.",
            id="config.W024",
        )


def network_of(path: Path, mounts: str) -> str:
    """Return the network file system of `path`, according to /proc/self/mounts, or "" if local."""
    rows = [line.split()[1:3] for line in mounts.splitlines()]
    within = [(place, kind) for place, kind in rows if path.is_relative_to(place)]
    _place, kind = max(within, key=lambda row: len(row[0]), default=("", ""))
    return kind if kind in NETWORKS else ""


def _query(sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()[0]


@running_check
def clocks() -> Iterator[CheckMessage]:
    """Check that the clocks of machine and database agree, and that neither was set back."""
    difference = database_now() - timezone.now()
    if abs(difference) > SKEW:
        yield Error(
            f"The clocks of database and machine differ by {difference.total_seconds():.1f} s.",
            hint="Run NTP on both: timedatectl set-ntp true.",
            id="config.E025",
        )
    for label, model, field in (("answer", Turn, "shown_at"), ("log entry", AuditEntry, "at")):
        latest = model.objects.order_by("-pk").values_list(field, flat=True).first()
        if latest is not None and latest > database_now() + SKEW:
            yield Error(
                f"The last {label} is dated {latest:%Y-%m-%d %H:%M} UTC, which is in the future: a"
                " clock was set back.",
                hint="Set the clock with NTP. Working times recorded between then and now are"
                " unreliable.",
                id="config.E026",
            )


@running_check
def cron() -> Iterator[CheckMessage]:
    """Check that `tick` has run recently and that none of its parts is failing."""
    started = PeriodicPart.objects.exclude(started_at=None).order_by("-started_at").first()
    hint = "Add the line from docs/operating.md#cron, or start the timer, as the server's user."
    if started is None:
        text = "tick has never run, so no seats are freed, no emails sent and no platforms synced."
        yield Info(text, hint=hint, id="config.I027")
    elif periodic.is_overdue():
        text = f"tick last ran at {started.started_at:%Y-%m-%d %H:%M} UTC."
        yield Error(text, hint=hint, id="config.E027")
    for row in PeriodicPart.objects.exclude(error=""):
        yield Warning(
            f"The part {row.name} of tick fails: {row.error}",
            hint=f"Run manage.py tick {row.name}; the log contains the traceback.",
            id="config.W027",
        )


@running_check
def shared_cache() -> Iterator[CheckMessage]:
    try:
        with transaction.atomic():
            cache.set("check", "well", 60)
    except DatabaseError as error:
        yield Error(
            f"The shared cache does not work ({str(error)[:120].strip()}): users cannot sign in.",
            hint="Run manage.py migrate to create its table.",
            id="config.E028",
        )


@running_check
def mail() -> Iterator[CheckMessage]:
    """Connect to the mail server and sign in, without sending an email."""
    if not settings.EMAIL_HOST:
        message = "EMAIL_HOST is not set, so no email is sent."
        yield Info(message, hint="Set EMAIL_HOST, or copy links from the pages.", id="config.I029")
        return
    backend = get_connection()
    try:
        backend.open()
    except (OSError, smtplib.SMTPException) as error:
        place = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
        yield Error(
            f"The mail server {place} cannot be used: {type(error).__name__}: {error}",
            hint="Check EMAIL_HOST, EMAIL_PORT, EMAIL_USE_TLS, EMAIL_HOST_USER,"
            " EMAIL_HOST_PASSWORD.",
            id="config.E029",
        )
    finally:
        backend.close()
    if settings.DEFAULT_FROM_EMAIL.endswith("@localhost"):
        message = f"Emails are sent from {settings.DEFAULT_FROM_EMAIL}."
        yield Warning(message, hint="Set EMAIL_FROM.", id="config.W029")
    if not settings.SITE_URL:
        message = "SITE_URL is not set, so links in emails have no host."
        yield Warning(message, hint="Set SITE_URL.", id="config.W030")
    if waiting := Notice.objects.filter(mail=Notice.MailState.WAITING, attempts__gt=0).count():
        message = f"{waiting} emails have failed and will be sent again."
        yield Warning(message, hint="See the log of tick.", id="config.W031")


@running_check
def proxies() -> Iterator[CheckMessage]:
    """Request this server through its public URL and check which headers arrive."""
    site = settings.SITE_URL
    if not site:
        message = "The proxies are not checked, because SITE_URL is not set."
        yield Info(message, hint="Set SITE_URL=https://your.host.", id="config.I032")
        return
    headers = {health.ASKS: health.signed()}
    session = requests.Session()
    session.mount(site, HTTPAdapter(max_retries=STARTING))
    try:
        reply = session.get(
            f"{site}/health/live", headers=headers, timeout=WAIT, allow_redirects=False
        )
    except requests.RequestException as error:
        yield Warning(
            f"{site} does not respond: {type(error).__name__}: {str(error)[:160]}",
            hint="Start server and proxy; check the name, the certificate and the firewall.",
            id="config.W032",
        )
        return
    if reply.status_code == 400:
        yield Error(
            f"The server refuses the Host header that the proxy sends for {site}.",
            hint=f"Configure the proxy to pass Host unchanged, and add {urlsplit(site).netloc} to"
            " ALLOWED_HOSTS.",
            id="config.E032",
        )
        return
    if reply.status_code in STARTING.status_forcelist:
        yield Error(
            f"{site} responds with {reply.status_code}: no server responds behind the proxy.",
            hint="Start the server, or point the proxy to its port.",
            id="config.E033",
        )
        return
    try:
        arrived = reply.json()["arrived"]
    except (requests.JSONDecodeError, KeyError, TypeError):
        yield Error(
            f"{site} responds with {reply.status_code}, but is not this server.",
            hint="Point the proxy to this server. Use the same SECRET_KEY and SITE_URL for server"
            " and commands.",
            id="config.E033",
        )
        return
    entries = arrived["forwarded"]
    if entries != settings.TRUSTED_PROXIES:
        yield Error(
            f"X-Forwarded-For has {entries} entries, but TRUSTED_PROXIES is"
            f" {settings.TRUSTED_PROXIES}, so limits count the wrong addresses.",
            hint=f"Set TRUSTED_PROXIES={entries}, or configure the proxies to set the header.",
            id="config.E034",
        )
    if arrived["secure"] != site.startswith("https:"):
        yield Error(
            "The server does not detect that SITE_URL is https, so sign-in and forms fail.",
            hint="Configure the proxy to set X-Forwarded-Proto, and set HTTPS=1.",
            id="config.E035",
        )
    if arrived["release"] != settings.VERSION:
        yield Error(
            f"The server runs {arrived['release']}, but this is {settings.VERSION}.",
            hint="Restart the server.",
            id="config.E036",
        )


@running_check
def prolific() -> Iterator[CheckMessage]:
    """Check that Prolific accepts the server's token, with a single workspace and project."""
    if not settings.PROLIFIC_TOKEN:
        return
    try:
        client = Client(patient=True)
        client.project(client.workspace())
    except ProlificError as error:
        hint = "Check PROLIFIC_TOKEN, PROLIFIC_WORKSPACE and PROLIFIC_PROJECT."
        yield Error(str(error), hint=hint, id="config.E037")


@running_check
def single_sign_on() -> Iterator[CheckMessage]:
    """Read the provider's configuration and check that browsers may submit to its sign-in page."""
    if not settings.OIDC_URL:
        return
    issuer = urlsplit(settings.OIDC_URL)
    if issuer.scheme != "https" and issuer.hostname not in ("127.0.0.1", "localhost"):
        yield Error(
            f"OIDC_URL is {settings.OIDC_URL}, but single sign-on is safe only over TLS.",
            hint="Set OIDC_URL=https://...",
            id="config.E040",
        )
    try:
        reply = requests.get(f"{settings.OIDC_URL}/.well-known/openid-configuration", timeout=WAIT)
        reply.raise_for_status()
        page = urlsplit(reply.json()["authorization_endpoint"])
    except (requests.RequestException, LookupError, TypeError) as error:
        yield Error(
            f"{settings.OIDC_URL} has no OpenID configuration: {type(error).__name__}: {error}",
            hint="Set OIDC_URL to the provider's issuer.",
            id="config.E038",
        )
        return
    if (origin := f"{page.scheme}://{page.netloc}") not in settings.OIDC_ORIGINS:
        yield Error(
            f"The provider's sign-in page is at {origin}, so browsers refuse to open it.",
            hint=f"Set OIDC_ORIGINS={origin}.",
            id="config.E039",
        )
