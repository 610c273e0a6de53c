"""`manage.py doctor`: what is wrong with this installation, and how to fix it.

`findings` are the words of a check; `stored` looks at the database and what it holds, `machine` at
folders, files, keys and clocks, `outside` at what is reached by a network. A check is a generator
that stops where nothing further can be said, and one line of CHECKS.
"""

from collections.abc import Callable, Iterator

from django.db import DatabaseError

from config.doctor import machine, outside, stored
from config.doctor.findings import OK, Finding, warn

CHECKS: dict[str, Callable[[], Iterator[Finding]]] = {
    "settings": machine.settings_fit,
    "keys": machine.keys,
    "database": stored.database,
    "connection": stored.connection_fits,
    "migrations": stored.migrations,
    "guards": stored.guarded,
    "folder": machine.folder,
    "disk": machine.disk,
    "static files": machine.static_files,
    "clocks": machine.clocks,
    "accounts": stored.accounts,
    "cron": stored.cron,
    "jobs": stored.jobs,
    "retention": stored.retention,
    "backup": machine.backup,
    "cache": outside.shared_cache,
    "broker": outside.broker,
    "mail": outside.mail,
    "prolific": outside.prolific,
    "proxies": outside.proxies,
}


def examine() -> Iterator[tuple[str, Finding]]:
    """Each finding with the name of its check."""
    for name in CHECKS:
        yield from examine_one(name)


def examine_one(name: str) -> Iterator[tuple[str, Finding]]:
    """What one check finds; that all is well it says only where it finds nothing else."""
    findings = list(_found_by(CHECKS[name]))
    wrong = [finding for finding in findings if finding.state != OK]
    yield from ((name, finding) for finding in wrong or findings)


def _found_by(check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from check()
    except DatabaseError as error:
        why = str(error).strip().partition("\n")[0]
        yield warn(f"Not looked at: {why}", "First fix the database and migrations.")
