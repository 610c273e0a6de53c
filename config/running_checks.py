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
# A proxy's responses while the server behind it is starting. The check waits up to 14 seconds.
STARTING = Retry(
    4, connect=0, backoff_factor=1, status_forcelist=(502, 503, 504), raise_on_status=False
)
Check = Callable[[], Iterator[CheckMessage]]


def running_check(check: Check) -> Check:
    """Decorator for checks that run only with `--deploy --database default`."""

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
            f"{len(names)} migrations, such as {names[0]}, are not applied.",
            hint="Run manage.py backup FILE, then manage.py migrate.",
            id="config.E021",
        )


@running_check
def durability() -> Iterator[CheckMessage]:
    if connection.vendor == "sqlite":
        path = Path(connection.settings_dict["NAME"])
        if kind := network_of(path.resolve(), Path("/proc/self/mounts").read_text()):
            yield Error(
                f"The SQLite database is on a network drive ({kind}), where locks do not work.",
                hint="Move it to a local disk. To use several machines, switch to PostgreSQL.",
                id="config.E022",
            )
        return
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        if _query(f"SHOW {name}") == "off":
            yield Error(
                f"{name} is off, so answers can be lost after they were acknowledged.",
                hint=f"Run ALTER SYSTEM RESET {name} (or ALTER ROLE ... RESET {name}), and reload.",
                id="config.E023",
            )
    # PgBouncer reports a process ID that is not the server's.
    is_pooled = _query("SELECT pg_backend_pid()") != connection.connection.info.backend_pid
    if is_pooled and not settings.DATABASES["default"].get("DISABLE_SERVER_SIDE_CURSORS"):
        yield Error(
            "Connections go through PgBouncer, which makes pages fail at random if server-side"
            " cursors are used.",
            hint="Set DISABLE_SERVER_SIDE_CURSORS=1.",
            id="config.E024",
        )
    if unset := [name for name in LIMITS if _query(f"SHOW {name}") == "0"]:
        yield Warning(
            f"These limits are not set: {', '.join(unset)}.",
            hint="Set them with ALTER ROLE, as in docs/operating.md#postgresql.",
            id="config.W024",
        )


def network_of(path: Path, mounts: str) -> str:
    """Return the network file system of `path` from /proc/self/mounts, or "" if it is local."""
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
    """Check that the clocks of this machine and the database agree and were not set back."""
    difference = database_now() - timezone.now()
    if abs(difference) > SKEW:
        yield Error(
            f"The clocks of the database and this machine differ by"
            f" {difference.total_seconds():.1f} s.",
            hint="Enable NTP on both: timedatectl set-ntp true.",
            id="config.E025",
        )
    for label, model, field in (("answer", Turn, "shown_at"), ("log entry", AuditEntry, "at")):
        latest = model.objects.order_by("-pk").values_list(field, flat=True).first()
        if latest is not None and latest > database_now() + SKEW:
            yield Error(
                f"The last {label} is dated {latest:%Y-%m-%d %H:%M} UTC, which is in the future. A"
                " clock must have been set back.",
                hint="Set the clock with NTP. Working times recorded between then and now are"
                " unreliable.",
                id="config.E026",
            )


@running_check
def cron() -> Iterator[CheckMessage]:
    """Check that `tick` has run recently and that none of its parts is failing."""
    started = PeriodicPart.objects.exclude(started_at=None).order_by("-started_at").first()
    hint = "Add the line from docs/operating.md#cron to the server's crontab, or start the timer."
    if started is None:
        text = "tick has never run. Without it, seats are not freed and emails are not sent."
        yield Info(text, hint=hint, id="config.I027")
    elif periodic.is_overdue():
        text = f"tick last ran at {started.started_at:%Y-%m-%d %H:%M} UTC."
        yield Error(text, hint=hint, id="config.E027")
    for row in PeriodicPart.objects.exclude(error=""):
        yield Warning(
            f"The part {row.name} of tick fails: {row.error}",
            hint=f"Run manage.py tick {row.name} to repeat it. The log contains the traceback.",
            id="config.W027",
        )


@running_check
def shared_cache() -> Iterator[CheckMessage]:
    try:
        with transaction.atomic():
            cache.set("check", "well", 60)
    except DatabaseError as error:
        yield Error(
            f"The shared cache fails, so users cannot sign in ({str(error)[:120].strip()}).",
            hint="Run manage.py migrate to create its table.",
            id="config.E028",
        )


@running_check
def mail() -> Iterator[CheckMessage]:
    """Connect to the mail server and sign in, without sending an email."""
    if not settings.EMAIL_HOST:
        message = "EMAIL_HOST is not set, so no emails are sent."
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
        message = f"{waiting} emails could not be sent and will be retried."
        yield Warning(message, hint="See the log of tick for the reasons.", id="config.W031")


@running_check
def proxies() -> Iterator[CheckMessage]:
    """Request this server at its public URL, and check which headers arrive."""
    site = settings.SITE_URL
    if not site:
        message = "Proxies cannot be checked, because SITE_URL is not set."
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
            hint="Start server and proxy. Then check the host name, certificate and firewall.",
            id="config.W032",
        )
        return
    if reply.status_code == 400:
        yield Error(
            f"For {site}, the proxy sends a Host header that the server rejects.",
            hint=f"Configure the proxy to pass Host unchanged, and add {urlsplit(site).netloc} to"
            " ALLOWED_HOSTS.",
            id="config.E032",
        )
        return
    if reply.status_code in STARTING.status_forcelist:
        yield Error(
            f"{site} responds with {reply.status_code}, so the proxy does not reach the server.",
            hint="Start the server, or point the proxy to its port.",
            id="config.E033",
        )
        return
    try:
        arrived = reply.json()["arrived"]
    except (requests.JSONDecodeError, KeyError, TypeError):
        yield Error(
            f"{site} responds with {reply.status_code}, but not as this server does.",
            hint="Point the proxy to this server. Use the same SECRET_KEY and SITE_URL for server"
            " and commands.",
            id="config.E033",
        )
        return
    entries = arrived["forwarded"]
    if entries != settings.TRUSTED_PROXIES:
        yield Error(
            f"X-Forwarded-For has {entries} entries, but TRUSTED_PROXIES is"
            f" {settings.TRUSTED_PROXIES}, so rate limits apply to the wrong addresses.",
            hint=f"Set TRUSTED_PROXIES={entries}, or change how the proxies set the header.",
            id="config.E034",
        )
    if arrived["secure"] != site.startswith("https:"):
        yield Error(
            "The server does not see that requests use HTTPS, so sign-in and forms fail.",
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
    """Check that Prolific accepts the token, and that workspace and project are unambiguous."""
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
    """Check the provider's configuration, and that browsers may submit to its sign-in page."""
    if not settings.OIDC_URL:
        return
    issuer = urlsplit(settings.OIDC_URL)
    if issuer.scheme != "https" and issuer.hostname not in ("127.0.0.1", "localhost"):
        yield Error(
            f"OIDC_URL is {settings.OIDC_URL}, but single sign-on is only safe over HTTPS.",
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
            hint="Set OIDC_URL to the URL of the provider's issuer.",
            id="config.E038",
        )
        return
    if (origin := f"{page.scheme}://{page.netloc}") not in settings.OIDC_ORIGINS:
        yield Error(
            f"The provider's sign-in page is at {origin}, so browsers refuse to open it.",
            hint=f"Set OIDC_ORIGINS={origin}.",
            id="config.E039",
        )
