"""System checks of an installation's settings and files (`manage.py check --deploy`).

The checks in running_checks.py use the database and the network, and run only with the option
`--database default`. Guards, keys and the owner of var/ are checked in their own modules.
"""

import json
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, Tags, Warning, register
from django.http.request import validate_host

from annotation.management import backups
from config import health

LITTLE_SPACE = 2_000_000_000  # bytes
LONGEST_WITHOUT_BACKUP = timedelta(days=2)


@register(Tags.security, deploy=True)
def proxies_are_counted(**_options: Any) -> Iterator[CheckMessage]:
    """Check that TRUSTED_PROXIES is set if HTTPS=1, which requires a proxy."""
    if settings.HTTPS and not settings.TRUSTED_PROXIES:
        yield Warning(
            "HTTPS=1 requires a proxy, but TRUSTED_PROXIES is 0.",
            hint="Set TRUSTED_PROXIES to the number of proxies. Otherwise, all clients seem to have"
            " the proxy's address, and a client that guesses passwords locks out all others.",
            id="config.W001",
        )


@register(Tags.security, deploy=True)
def keys_are_set(**_options: Any) -> Iterator[CheckMessage]:
    for number, name in enumerate(("WORKER_KEY", "IDENTITY_KEY"), start=2):
        if not os.environ.get(name):
            yield Warning(
                f"{name} is not set: the key is read from a file in {settings.VAR_DIR}.",
                hint=f"Set {name} in the environment of every server and command, from a store that"
                " is backed up separately from the database (docs/operating.md).",
                id=f"config.W00{number}",
            )
    if len({getattr(settings, name) for name in backups.KEYS}) < len(backups.KEYS):
        yield Error(
            "Two of SECRET_KEY, WORKER_KEY, IDENTITY_KEY have the same value.",
            hint="On a new installation, set three different values. If the database already"
            " contains data, change only SECRET_KEY.",
            id="config.E004",
        )


@register(Tags.security, deploy=True)
def addresses_fit(**_options: Any) -> Iterator[CheckMessage]:
    site = urlsplit(settings.SITE_URL)
    if "*" in settings.ALLOWED_HOSTS:
        yield Warning(
            "ALLOWED_HOSTS=* accepts any host name, so attackers can change links in emails.",
            hint="List the host names, as in ALLOWED_HOSTS=annotate.example.org.",
            id="config.W005",
        )
    elif site.hostname and not validate_host(site.hostname, settings.ALLOWED_HOSTS):
        yield Error(
            f"SITE_URL is {settings.SITE_URL}, but {site.hostname} is not in ALLOWED_HOSTS.",
            hint=f"Add {site.hostname} to ALLOWED_HOSTS.",
            id="config.E005",
        )
    if site.scheme and (site.scheme == "https") != settings.HTTPS:
        yield Error(
            f"SITE_URL starts with {site.scheme}, but HTTPS is {int(settings.HTTPS)}.",
            hint=f"Set HTTPS={int(site.scheme == 'https')}, or change SITE_URL.",
            id="config.E006",
        )


@register(Tags.files, deploy=True)
def files_are_private(**_options: Any) -> Iterator[CheckMessage]:
    folder = Path(settings.VAR_DIR)
    owner = folder.stat().st_uid
    if owner != os.geteuid():
        yield Warning(
            f"{folder} belongs to user {owner}, but user {os.geteuid()} is running this command.",
            hint="Run commands as the server's user (sudo -u handful). Otherwise, the server cannot"
            " write to the files that they create.",
            id="config.W010",
        )
    for path in (folder, *folder.glob("*_key.txt")):
        if path.stat().st_mode & 0o077:
            yield Error(f"Other users can read {path}.", hint=f"chmod go= {path}", id="config.E010")
    inside = [path for name in backups.FOLDERS for path in (folder / name).rglob("*")]
    if foreign := [path for path in inside if path.lstat().st_uid != owner]:
        yield Error(
            f"{len(foreign)} files in {folder}, such as {foreign[0]}, belong to another user.",
            hint=f"chown -R --reference={folder} {folder}",
            id="config.E011",
        )


@register(Tags.files, deploy=True)
def disk_has_room(**_options: Any) -> Iterator[CheckMessage]:
    database = settings.DATABASES["default"]
    places = {Path(settings.VAR_DIR)}
    if database["ENGINE"].endswith("sqlite3") and Path(database["NAME"]).parent.is_dir():
        places.add(Path(database["NAME"]).parent)
    for place in sorted(places):
        free = shutil.disk_usage(place).free
        space = f"{free / 1e9:.1f} GB are free in {place}"
        if free < health.LEAST_SPACE:
            yield Error(
                f"Only {space}, too little for the largest upload.",
                hint="Delete old backups or logs, or enlarge the disk.",
                id="config.E012",
            )
        elif free < LITTLE_SPACE:
            yield Warning(
                f"{space}.",
                hint="Free some space. If the disk is full, answers are refused too.",
                id="config.W012",
            )


@register(Tags.staticfiles, deploy=True)
def static_files_are_collected(**_options: Any) -> list[CheckMessage]:
    collect = "manage.py collectstatic --noinput, then restart the server."
    manifest = Path(settings.STATIC_ROOT) / "staticfiles.json"
    if not manifest.exists():
        message = f"Static files were not collected into {manifest.parent}."
        return [Info(message, hint=collect, id="config.I013")]
    collected = json.loads(manifest.read_text())["paths"]
    for root in map(Path, settings.STATICFILES_DIRS):
        sources = [path for path in root.rglob("*") if path.is_file()]
        names = {path.relative_to(root).as_posix() for path in sources}
        if missing := sorted(names - collected.keys()):
            message = f"{len(missing)} static files, such as {missing[0]}, were not collected."
            return [Error(message, hint=collect, id="config.E013")]
        if max(path.stat().st_mtime for path in sources) > manifest.stat().st_mtime:
            message = "Static files have changed since they were collected."
            return [Warning(message, hint=collect, id="config.W013")]
    return []


@register(Tags.files, deploy=True)
def backups_are_written(**_options: Any) -> Iterator[CheckMessage]:
    """Check that `manage.py backup` has run recently. Other tools for backups are not detected."""
    when = backups.last()
    hint = "Set up backups as in docs/operating.md#cron, and test that you can restore one."
    if when is None:
        message = "manage.py backup has never been run on this installation."
        yield Info(message, hint=hint, id="config.I014")
    elif (age := datetime.now(UTC) - when) > LONGEST_WITHOUT_BACKUP:
        yield Warning(f"The last backup is {age.days} days old.", hint=hint, id="config.W014")
