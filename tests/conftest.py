"""Fixtures named after the domain, each built on the previous one: task, study, participation."""

import functools
import gc
import os
import random
import secrets
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import hypothesis
import pytest
from django.conf import settings as django_settings
from django.contrib.auth import get_user_model
from django.core.cache import cache, caches
from django.db import connection, transaction
from playwright.sync_api import sync_playwright

from analysis.export import screenshots
from annotation import guards
from annotation.models.participation import first_worked_before
from annotation.models.scenario import frozen_scenario
from tasks import clock, frozen, installation
from tests.annotation.prolific.fixtures import fake, payer, published, signed, study  # noqa: F401, their fixtures
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

# All requests of tests, and the servers that tests start, share one address.
django_settings.STARTS_PER_HOUR = 0
os.environ.setdefault("STARTS_PER_HOUR", "0")

SHARED = Path(os.environ.get("HANDFUL_SHARED", Path(__file__).parents[2] / "shared"))
CLUES = SHARED / "data" / "clues"


# New examples in every run, the same ones in CI; no deadline, because a busy machine must not fail
# a test. A failure prints the blob for `@reproduce_failure`.
hypothesis.settings.register_profile("handful", deadline=None, print_blob=True)
hypothesis.settings.register_profile(
    "handful-ci", deadline=None, print_blob=True, derandomize=True, database=None
)
hypothesis.settings.load_profile("handful-ci" if os.environ.get("CI") else "handful")

# Every collected test with the names of its markers, before deselection.
COLLECTED = pytest.StashKey[dict[str, set[str]]]()
ON_DATABASE = {"db", "transactional_db", "live_server", "module_rows"}  # fixtures
# Markers of tests that run on one database only.
ONLY_ON = {"postgresql": "postgres", "sqlite": "sqlite"}

_static_root = tempfile.TemporaryDirectory(prefix="handful-static-")
_var = tempfile.TemporaryDirectory(prefix="handful-var-")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--renew-states", action="store_true", help="keep what the pages look like now as right"
    )


def pytest_configure() -> None:
    """Make tests independent of this clone's static files and var/ folder."""
    gc.disable()  # collecting 7,000 tests leaves no garbage; looking for it would take a fifth
    django_settings.STATIC_ROOT = _static_root.name
    django_settings.VAR_DIR = Path(_var.name)
    # Without this, each client of each test would scan all static files.
    django_settings.WHITENOISE_AUTOREFRESH = True
    # Otherwise one request per minute would make an additional query, at random.
    clock.MAX_DRIFT_AGE = float("inf")
    # Argon2 is slow by design, and tests sign in often.
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
    """Return whether this run can mount a small file system."""
    with tempfile.TemporaryDirectory() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]
        if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
            return False
        subprocess.run(["umount", folder], check=True)
        return True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that this run cannot support; CI must have the real data."""
    _mark_middle_cases(items)
    config.stash[COLLECTED] = {
        item.nodeid: {marker.name for marker in item.iter_markers()} for item in items
    }
    if not CLUES.is_dir():
        if os.environ.get("CI") and "not real_data" not in config.option.markexpr:
            raise pytest.UsageError("CI runs the tests on the real data: set HANDFUL_SHARED")
        _deselect(config, items, "real_data")
    if not _can_mount():
        _deselect(config, items, "small_disk")
    # `make test-all` runs both databases; test_suites.py checks that every test is covered.
    for vendor, marker in ONLY_ON.items():
        if vendor != connection.vendor:
            _deselect(config, items, marker)
    _share_rows(items)


def pytest_collection_finish() -> None:
    gc.enable()
    gc.freeze()


def _mark_middle_cases(items: list[pytest.Item]) -> None:
    """Mark all but the first and the last case of each test on the database as long."""
    cases = defaultdict(list)
    for item in items:
        asked = item.get_closest_marker("django_db") or ON_DATABASE & {*item.fixturenames}
        if asked and hasattr(item, "callspec") and not item.get_closest_marker("long"):
            cases[item.nodeid.split("[")[0]].append(item)
    for same in cases.values():
        # The order of this run is random, so sort by parameters.
        same.sort(key=lambda item: tuple(item.callspec.indices.values()))
        for item in same[1:-1]:
            item.add_marker("long")


def _share_rows(items: list[pytest.Item]) -> None:
    """Run tests that share a module's rows one after the other, so that the rows are made once.

    pytest-django puts tests that do not ask for the database last, even if they read such rows.
    Workers steal tests from the end of each other's lists, so the slowest rows come first.
    """
    fixtures = {item: set(getattr(item, "fixturenames", ())) for item in items}
    sharing = [item for item in items if "module_rows" in fixtures[item]]
    slowest = {item.path for item in sharing if "five" in fixtures[item]}
    modules = {item.path: place for place, item in reversed(list(enumerate(sharing)))}
    sharing.sort(key=lambda item: (item.path not in slowest, modules[item.path]))
    items[:] = sharing + [item for item in items if "module_rows" not in fixtures[item]]


def _deselect(config: pytest.Config, items: list[pytest.Item], marker: str) -> None:
    chosen = [item for item in items if item.get_closest_marker(marker)]
    config.hook.pytest_deselected(items=chosen)
    items[:] = [item for item in items if item not in chosen]


def forget() -> None:
    """Clear caches keyed by row, because SQLite reuses the keys of rows that were rolled back."""
    frozen.clear()
    frozen_scenario.cache_clear()
    first_worked_before.cache_clear()
    caches["process"].clear()


@pytest.fixture(autouse=True, scope="module")
def _rows_of_a_module_draw_the_same(request):
    with _draws(request.node.nodeid):
        yield


@pytest.fixture(autouse=True)
def _tests_draw_the_same(request):
    with _draws(request.node.nodeid):
        yield


@contextmanager
def _draws(seed: str) -> Iterator[None]:
    """Draw seeds, pseudonyms and tokens from the name of a test, so that no run fails by chance."""
    generator = random.Random(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "_sysrand", generator)
        patch.setattr(secrets, "choice", generator.choice)
        yield


@pytest.fixture(autouse=True)
def _nothing_is_remembered():
    forget()


@pytest.fixture(scope="session")
def django_db_setup(django_db_modify_db_settings, request, tmp_path_factory, django_db_blocker):
    """Create the database of this worker, or of the whole run."""
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
    """Store slow, read-only rows once for each module.

    Rows that module-scoped fixtures store after this one last until the module ends; what a test
    stores or changes is rolled back. Such a fixture returns keys, not objects.
    """
    forget()
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture(scope="module")
def module_researcher(module_rows):
    """The owner of these rows: the same user as `researcher`."""
    return get_user_model().objects.create_user("ada", password="right horse")


@pytest.fixture(autouse=True)
def _lift_guards_before_the_flush(request):
    """Lift the guards before a transactional test flushes the tables, which they would refuse.

    The flush sends post_migrate, which restores the guards for the next test.
    """
    marker = request.node.get_closest_marker("django_db")
    transactional = bool(marker and marker.kwargs.get("transaction")) or bool(
        {"transactional_db", "live_server"} & set(request.fixturenames)
    )
    if transactional:
        request.getfixturevalue("transactional_db")
    yield
    if transactional:
        _wait_for_requests()
        guards.lift(connection)
        cache.clear()  # has no model, so no flush empties it
        # A flushed database counts as a new one, so release the folder for it.
        (Path(django_settings.VAR_DIR) / installation.FILE).unlink(missing_ok=True)


def _wait_for_requests() -> None:
    """Wait up to 5 s until no other connection runs a statement.

    A server may still answer a page that was closed, and dropping triggers would deadlock with it.
    """
    if connection.vendor != "postgresql":
        return
    others = "datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'"
    for _attempt in range(100):
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT 1 FROM pg_stat_activity WHERE {others}")
            if cursor.fetchone() is None:
                return
        time.sleep(0.05)


@pytest.fixture(scope="session")
def chromium():
    """The one Chromium process of this run."""
    path = screenshots.browser()
    if not path:
        raise pytest.UsageError("Install Chromium: apt-get install chromium")
    # Playwright's sync API runs an event loop in this thread, in which Django refuses the ORM.
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
    """A test client signed in as the researcher."""
    client.force_login(researcher)
    return client
