"""Fixtures named as the domain, built on one another: task -> study -> participation."""

import functools
import os
import subprocess
import tempfile
from pathlib import Path

import hypothesis
import pytest
from django.conf import settings as django_settings
from django.contrib.auth import get_user_model
from django.core.cache import cache, caches
from django.db import connection, transaction
from playwright.sync_api import sync_playwright

from analysis.export import screenshots
from annotation import frozen, guards
from tasks import installation
from tests.annotation.prolific import fake, payer, published, signed, study  # noqa: F401, their fixtures
from tests.migrated import Migrated

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# All tests come from one address, and so do the servers that they start.
django_settings.STARTS_PER_HOUR = 0
os.environ.setdefault("STARTS_PER_HOUR", "0")

SHARED = Path(os.environ.get("HANDFUL_SHARED", Path(__file__).parents[2] / "shared"))
CLUES = SHARED / "data" / "clues"


# New examples in every run, and the same ones in CI; no failure because a machine is busy.
# A failure prints what `@reproduce_failure` needs to see it again.
hypothesis.settings.register_profile("handful", deadline=None, print_blob=True)
hypothesis.settings.register_profile(
    "handful-ci", deadline=None, print_blob=True, derandomize=True, database=None
)
hypothesis.settings.load_profile("handful-ci" if os.environ.get("CI") else "handful")

# Every test that was collected, with the names of its markers, before any is left out.
COLLECTED = pytest.StashKey[dict[str, set[str]]]()
# What runs on one database alone.
ONLY_ON = {"postgresql": "postgres", "sqlite": "sqlite"}

_static_root = tempfile.TemporaryDirectory(prefix="handful-static-")
_var = tempfile.TemporaryDirectory(prefix="handful-var-")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--renew-states", action="store_true", help="keep what the pages look like now as right"
    )


def pytest_configure() -> None:
    """What lies in this clone (static files, var/) must not decide any test, nor be touched."""
    django_settings.STATIC_ROOT = _static_root.name
    django_settings.VAR_DIR = Path(_var.name)
    # Else each client of each test would look through all static files.
    django_settings.WHITENOISE_AUTOREFRESH = True
    # Argon2 is slow by design; tests sign in often.
    django_settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def pytest_report_header() -> list[str]:
    state = "found" if CLUES.is_dir() else "ABSENT: the tests marked real_data are left out"
    disk = "can be made" if _can_mount() else "NEEDS root: the tests marked small_disk are left out"
    return [
        f"published CLUES files (HANDFUL_SHARED): {state}; database: {connection.vendor}",
        f"a small disk: {disk}",
    ]


@functools.cache
def _can_mount() -> bool:
    """May this run mount a small file system?"""
    with tempfile.TemporaryDirectory() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]
        if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
            return False
        subprocess.run(["umount", folder], check=True)
        return True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what this run cannot say anything about; CI must have the real data."""
    config.stash[COLLECTED] = {
        item.nodeid: {marker.name for marker in item.iter_markers()} for item in items
    }
    if not CLUES.is_dir():
        if os.environ.get("CI") and "not real_data" not in config.option.markexpr:
            raise pytest.UsageError("CI runs the tests on the real data: set HANDFUL_SHARED")
        _deselect(config, items, "real_data")
    if not _can_mount():
        _deselect(config, items, "small_disk")
    # `make test-all` has suites on both databases: test_suites.py sees that nothing stays out.
    for vendor, marker in ONLY_ON.items():
        if vendor != connection.vendor:
            _deselect(config, items, marker)


def _deselect(config: pytest.Config, items: list[pytest.Item], marker: str) -> None:
    chosen = [item for item in items if item.get_closest_marker(marker)]
    config.hook.pytest_deselected(items=chosen)
    items[:] = [item for item in items if item not in chosen]


def forget() -> None:
    """Rows that are rolled back give their keys back to SQLite: the next ones are others."""
    frozen.clear()
    caches["process"].clear()


@pytest.fixture(autouse=True)
def _nothing_is_remembered():
    forget()


@pytest.fixture(scope="session")
def django_db_setup(django_db_modify_db_settings, request, tmp_path_factory, django_db_blocker):
    """The database of this worker, or of the whole run."""
    if not hasattr(request.config, "workerinput"):
        request.getfixturevalue("django_db_setup")
        yield
        return
    migrated = Migrated(tmp_path_factory.getbasetemp().parent)
    with migrated.lock():
        is_first = not migrated.file.exists()
        if is_first:
            request.getfixturevalue("django_db_setup")
            with django_db_blocker.unblock():
                migrated.lay_ready()
        else:
            with migrated.copied():
                request.getfixturevalue("django_db_setup")
    yield
    if is_first:
        with django_db_blocker.unblock(), migrated.lock():
            migrated.drop()


@pytest.fixture(scope="module")
def module_rows(django_db_setup, django_db_blocker):
    """Rows that take long and that many tests only read are stored once for a module.

    What fixtures of the module's scope store after this one stays until the module ends; what a
    test stores or changes is rolled back to them. Such a fixture returns keys, not objects.
    """
    forget()
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture(scope="module")
def module_researcher(module_rows):
    """Who owns them: the same as `researcher`."""
    return get_user_model().objects.create_user("ada", password="right horse")


@pytest.fixture(autouse=True)
def _lift_guards_before_the_flush(request):
    """A transactional test ends by emptying the tables, which the guards would rightly refuse.

    The flush sends post_migrate, which puts the guards back for the next test.
    """
    marker = request.node.get_closest_marker("django_db")
    transactional = bool(marker and marker.kwargs.get("transaction")) or bool(
        {"transactional_db", "live_server"} & set(request.fixturenames)
    )
    if transactional:
        request.getfixturevalue("transactional_db")
    yield
    if transactional:
        guards.lift(connection)
        cache.clear()  # no model's table, so no flush empties it
        # The flush empties the database, which is a new one then: the folder is free for it.
        (Path(django_settings.VAR_DIR) / installation.FILE).unlink(missing_ok=True)


@pytest.fixture(scope="session")
def chromium():
    """The one real browser of this run."""
    path = screenshots.browser()
    if not path:
        raise pytest.UsageError("Install Chromium: apt-get install chromium")
    # Its synchronous interface runs an event loop in this thread; Django would refuse the ORM.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def clues() -> Path:
    return CLUES


@pytest.fixture
def researcher(db):
    users = get_user_model().objects
    return users.filter(username="ada").first() or users.create_user("ada", password="right horse")


@pytest.fixture
def other_researcher(db):
    return get_user_model().objects.create_user("grace", password="right horse")


@pytest.fixture
def ada(client, researcher):
    """The test client with the researcher signed in."""
    client.force_login(researcher)
    return client
