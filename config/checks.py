"""System checks of an installation: settings, files and running services.

`manage.py check --deploy` checks settings and files. With `--database default`, it also checks the
database, clocks, cron, cache, email, proxies and other servers, without changing anything or
sending an email. Guards, keys and the owner of var/ are checked in their own modules.
"""

import json
import os
import shutil
import smtplib
import tomllib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from django.conf import settings
from django.core.cache import cache
from django.core.checks import CheckMessage, Error, Info, Tags, Warning, register
from django.core.mail import get_connection
from django.db import DatabaseError, connection, transaction
from django.http.request import validate_host
from django.utils import timezone
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from annotation.management import backups
from annotation.models import AuditEntry, Notice, Turn
from annotation.prolific.client import Client, ProlificError
from config import health
from tasks import periodic
from tasks.clock import database_now
from tasks.models import PeriodicPart

TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
LEVELS: dict[str, Callable[..., CheckMessage]] = {"E": Error, "W": Warning, "I": Info}
LITTLE_SPACE = 2_000_000_000  # bytes
LONGEST_WITHOUT_BACKUP = timedelta(days=2)
NETWORKS = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "glusterfs", "fuse.sshfs", "9p"}
LIMITS = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
SKEW = timedelta(seconds=2)
WAIT = 10  # seconds
# A proxy's responses while the server behind it is starting. The check waits up to 14 seconds.
STARTING = Retry(
    4, connect=0, backoff_factor=1, status_forcelist=(502, 503, 504), raise_on_status=False
)
Check = Callable[[], Iterator[CheckMessage]]


def finding(name: str, /, **values: Any) -> CheckMessage:
    """Return the finding that checks.toml describes under this name, such as E005."""
    texts = TEXTS[name]
    number = name.partition("_")[0]
    message, hint = texts["message"].format(**values), texts["hint"].format(**values)
    return LEVELS[number[0]](message, hint=hint, id=f"config.{number}")


@register(Tags.security, deploy=True)
def proxies_are_counted(**_options: Any) -> Iterator[CheckMessage]:
    """Check that TRUSTED_PROXIES is set if HTTPS=1, which requires a proxy."""
    if settings.HTTPS and not settings.TRUSTED_PROXIES:
        yield finding("W001")


@register(Tags.security, deploy=True)
def keys_are_set(**_options: Any) -> Iterator[CheckMessage]:
    for number, name in (("W002", "WORKER_KEY"), ("W003", "IDENTITY_KEY")):
        if not os.environ.get(name):
            yield finding(number, name=name, folder=settings.VAR_DIR)
    if len({getattr(settings, name) for name in backups.KEYS}) < len(backups.KEYS):
        yield finding("E004")


@register(Tags.security, deploy=True)
def addresses_fit(**_options: Any) -> Iterator[CheckMessage]:
    site = urlsplit(settings.SITE_URL)
    if "*" in settings.ALLOWED_HOSTS:
        yield finding("W005")
    elif site.hostname and not validate_host(site.hostname, settings.ALLOWED_HOSTS):
        yield finding("E005", site=settings.SITE_URL, host=site.hostname)
    expected = site.scheme == "https"
    if site.scheme and expected != settings.HTTPS:
        https = int(settings.HTTPS)
        yield finding("E006", scheme=site.scheme, https=https, expected=int(expected))


@register(Tags.files, deploy=True)
def files_are_private(**_options: Any) -> Iterator[CheckMessage]:
    folder = Path(settings.VAR_DIR)
    owner = folder.stat().st_uid
    if owner != os.geteuid():
        yield finding("W010", folder=folder, owner=owner, user=os.geteuid())
    for path in (folder, *folder.glob("*_key.txt")):
        if path.stat().st_mode & 0o077:
            yield finding("E010", path=path)
    inside = [path for name in backups.FOLDERS for path in (folder / name).rglob("*")]
    if foreign := [path for path in inside if path.lstat().st_uid != owner]:
        yield finding("E011", number=len(foreign), folder=folder, path=foreign[0])


@register(Tags.files, deploy=True)
def disk_has_room(**_options: Any) -> Iterator[CheckMessage]:
    database = settings.DATABASES["default"]
    places = {Path(settings.VAR_DIR)}
    if database["ENGINE"].endswith("sqlite3") and Path(database["NAME"]).parent.is_dir():
        places.add(Path(database["NAME"]).parent)
    for place in sorted(places):
        free = shutil.disk_usage(place).free
        if free < LITTLE_SPACE:
            name = "E012" if free < health.LEAST_SPACE else "W012"
            yield finding(name, free=free / 1e9, folder=place)


@register(Tags.staticfiles, deploy=True)
def static_files_are_collected(**_options: Any) -> list[CheckMessage]:
    manifest = Path(settings.STATIC_ROOT) / "staticfiles.json"
    if not manifest.exists():
        return [finding("I013", folder=manifest.parent)]
    collected = json.loads(manifest.read_text())["paths"]
    for root in map(Path, settings.STATICFILES_DIRS):
        sources = [path for path in root.rglob("*") if path.is_file()]
        names = {path.relative_to(root).as_posix() for path in sources}
        if missing := sorted(names - collected.keys()):
            return [finding("E013", number=len(missing), name=missing[0])]
        if max(path.stat().st_mtime for path in sources) > manifest.stat().st_mtime:
            return [finding("W013")]
    return []


@register(Tags.files, deploy=True)
def backups_are_written(**_options: Any) -> Iterator[CheckMessage]:
    """Check that `manage.py backup` has run recently. Other tools for backups are not detected."""
    when = backups.last()
    if when is None:
        yield finding("I014")
    elif (age := datetime.now(UTC) - when) > LONGEST_WITHOUT_BACKUP:
        yield finding("W014", days=age.days)


# Running services ---------------------------------------------------------------------------------


def running_check(check: Check) -> Check:
    """Decorator for checks that run only with `--deploy --database default`."""

    def run(databases: Any = None, **_options: Any) -> list[CheckMessage]:
        if "default" not in (databases or []):
            return []
        try:
            return list(check())
        except DatabaseError as error:
            reason = str(error).strip().partition("\n")[0]
            return [finding("E020", check=check.__name__, reason=reason)]

    register(run, Tags.database, deploy=True)
    return check


@running_check
def schema() -> Iterator[CheckMessage]:
    """Check that all migrations have been applied."""
    if names := health.not_migrated():
        yield finding("E021", number=len(names), name=names[0])


@running_check
def durability() -> Iterator[CheckMessage]:
    if connection.vendor == "sqlite":
        path = Path(connection.settings_dict["NAME"])
        if kind := network_of(path.resolve(), Path("/proc/self/mounts").read_text()):
            yield finding("E022", kind=kind)
        return
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        if _query(f"SHOW {name}") == "off":
            yield finding("E023", name=name)
    # PgBouncer reports a process ID that is not the server's.
    is_pooled = _query("SELECT pg_backend_pid()") != connection.connection.info.backend_pid
    if is_pooled and not settings.DATABASES["default"].get("DISABLE_SERVER_SIDE_CURSORS"):
        yield finding("E024")
    if unset := [name for name in LIMITS if _query(f"SHOW {name}") == "0"]:
        yield finding("W024", names=", ".join(unset))


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
        yield finding("E025", seconds=difference.total_seconds())
    for label, model, field in (("answer", Turn, "shown_at"), ("log entry", AuditEntry, "at")):
        latest = model.objects.order_by("-pk").values_list(field, flat=True).first()
        if latest is not None and latest > database_now() + SKEW:
            yield finding("E026", label=label, latest=latest)


@running_check
def cron() -> Iterator[CheckMessage]:
    """Check that `tick` has run recently and that none of its parts is failing."""
    started = PeriodicPart.objects.exclude(started_at=None).order_by("-started_at").first()
    if started is None:
        yield finding("I027")
    elif periodic.is_overdue():
        yield finding("E027", at=started.started_at)
    for part in PeriodicPart.objects.exclude(error=""):
        yield finding("W027", part=part)


@running_check
def shared_cache() -> Iterator[CheckMessage]:
    try:
        with transaction.atomic():
            cache.set("check", "well", 60)
    except DatabaseError as error:
        yield finding("E028", reason=str(error)[:120].strip())


@running_check
def mail() -> Iterator[CheckMessage]:
    """Connect to the mail server and sign in, without sending an email."""
    if not settings.EMAIL_HOST:
        yield finding("I029")
        return
    backend = get_connection()
    try:
        backend.open()
    except (OSError, smtplib.SMTPException) as error:
        place = {"host": settings.EMAIL_HOST, "port": settings.EMAIL_PORT}
        yield finding("E029", **place, reason=_described(error))
    finally:
        backend.close()
    if settings.DEFAULT_FROM_EMAIL.endswith("@localhost"):
        yield finding("W029", address=settings.DEFAULT_FROM_EMAIL)
    if not settings.SITE_URL:
        yield finding("W030")
    if waiting := Notice.objects.filter(mail=Notice.MailState.WAITING, attempts__gt=0).count():
        yield finding("W031", number=waiting)


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


@running_check
def proxies() -> Iterator[CheckMessage]:
    """Request this server at its public URL, and check which headers arrive."""
    site = settings.SITE_URL
    if not site:
        yield finding("I032")
        return
    headers = {health.ASKS: health.signed()}
    session = requests.Session()
    session.mount(site, HTTPAdapter(max_retries=STARTING))
    try:
        reply = session.get(
            f"{site}/health/live", headers=headers, timeout=WAIT, allow_redirects=False
        )
    except requests.RequestException as error:
        yield finding("W032", site=site, reason=f"{type(error).__name__}: {str(error)[:160]}")
        return
    if reply.status_code == 400:
        yield finding("E032", site=site, host=urlsplit(site).netloc)
        return
    if reply.status_code in STARTING.status_forcelist:
        yield finding("E033", site=site, status=reply.status_code)
        return
    try:
        arrived = reply.json()["arrived"]
    except (requests.JSONDecodeError, KeyError, TypeError):
        yield finding("E033_other_server", site=site, status=reply.status_code)
        return
    entries = arrived["forwarded"]
    if entries != settings.TRUSTED_PROXIES:
        yield finding("E034", entries=entries, trusted=settings.TRUSTED_PROXIES)
    if arrived["secure"] != site.startswith("https:"):
        yield finding("E035")
    if arrived["release"] != settings.VERSION:
        yield finding("E036", release=arrived["release"], version=settings.VERSION)


@running_check
def prolific() -> Iterator[CheckMessage]:
    """Check that Prolific accepts the token, and that workspace and project are unambiguous."""
    if not settings.PROLIFIC_TOKEN:
        return
    try:
        client = Client(patient=True)
        client.project(client.workspace())
    except ProlificError as error:
        yield finding("E037", error=error)


@running_check
def single_sign_on() -> Iterator[CheckMessage]:
    """Check the provider's configuration, and that browsers may submit to its sign-in page."""
    url = settings.OIDC_URL
    if not url:
        return
    issuer = urlsplit(url)
    if issuer.scheme != "https" and issuer.hostname not in ("127.0.0.1", "localhost"):
        yield finding("E040", url=url)
    try:
        reply = requests.get(f"{url}/.well-known/openid-configuration", timeout=WAIT)
        reply.raise_for_status()
        page = urlsplit(reply.json()["authorization_endpoint"])
    except (requests.RequestException, LookupError, TypeError) as error:
        yield finding("E038", url=url, reason=_described(error))
        return
    if (origin := f"{page.scheme}://{page.netloc}") not in settings.OIDC_ORIGINS:
        yield finding("E039", origin=origin)
