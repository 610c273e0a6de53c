"""Each test breaks one part of an installation, which `manage.py check` then reports."""

import json
import os
import re
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
import requests
from django.core.checks import CheckMessage
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone

from annotation import guards
from annotation.management import backups
from annotation.models import AuditEntry, Notice
from config import checks
from tasks.clock import database_now
from tasks.models import PeriodicPart
from tests import factories

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.django_db
WHOLE = {  # valid settings
    "SECRET_KEY": "the first key of the checks' tests, 1",
    "WORKER_KEY": "the other key of the checks' tests, 2",
    "IDENTITY_KEY": "the third key of the checks' tests, 3",
}


def found(check: Callable[[], Iterable[CheckMessage]]) -> list[tuple[str, str]]:
    """Return the id and the message of each finding, which must have a hint."""
    messages = list(check())
    assert all(message.hint for message in messages)
    return [(message.id.removeprefix("config."), message.msg) for message in messages]


def ids(check: Callable[[], Iterable[CheckMessage]]) -> list[str]:
    return [name for name, _words in found(check)]


@pytest.fixture
def refusing_port() -> Iterator[int]:
    """A port that refuses connections. It stays bound, so that no other process can use it."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def run(environment: dict[str, str], *command: str) -> subprocess.CompletedProcess:
    environment = os.environ | environment
    environment.pop("DJANGO_ALLOW_ASYNC_UNSAFE", None)  # set by browser tests
    return subprocess.run(
        [sys.executable, "manage.py", *command], cwd=ROOT, env=environment,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


EVERYTHING = ("check", "--deploy", "--database", "default")


@pytest.mark.long
@pytest.mark.sqlite
def test_check_exits_with_1_on_a_failure_and_0_once_it_is_fixed(tmp_path):
    environment = WHOLE | {
        "HANDFUL_VAR": str(tmp_path), "DATABASE_URL": f"sqlite:///{tmp_path / 'own.sqlite3'}",
    }  # fmt: skip
    ill = run(environment, *EVERYTHING)
    assert ill.returncode == 1
    assert "(config.E021) " in ill.stderr
    assert "HINT: Run manage.py backup FILE, then manage.py migrate." in ill.stderr
    assert "Traceback" not in ill.stderr
    for command in (["migrate", "-v0"], ["tick"], ["backup", str(tmp_path / "backup")]):
        assert run(environment, *command).returncode == 0
    well = run(environment, *EVERYTHING)
    assert well.returncode == 0, well.stderr
    assert "ERRORS" not in well.stderr
    assert not any(key in well.stderr for key in WHOLE.values())


@pytest.mark.long
def test_an_unreachable_database_is_reported_without_traceback(tmp_path, refusing_port):
    url = f"postgresql://127.0.0.1:{refusing_port}/x"
    ran = run({"HANDFUL_VAR": str(tmp_path), "DATABASE_URL": url}, *EVERYTHING)
    assert ran.returncode == 1
    assert "Connection refused" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_harmful_settings_are_reported(settings):
    settings.HTTPS, settings.TRUSTED_PROXIES, settings.SITE_URL = True, 1, "https://a.example.org"
    settings.ALLOWED_HOSTS = [".example.org"]
    assert found(checks.addresses_fit) == []
    assert found(checks.proxies_are_counted) == []
    settings.ALLOWED_HOSTS = ["b.example.org"]
    assert found(checks.addresses_fit) == [
        ("E005", "SITE_URL is https://a.example.org, but a.example.org is not in ALLOWED_HOSTS.")
    ]
    settings.ALLOWED_HOSTS = ["*"]
    settings.HTTPS = False
    assert ids(checks.addresses_fit) == ["W005", "E006"]
    settings.HTTPS, settings.TRUSTED_PROXIES = True, 0
    assert ids(checks.proxies_are_counted) == ["W001"]


def test_equal_keys_and_keys_from_files_are_reported(settings, monkeypatch):
    for name, value in WHOLE.items():
        monkeypatch.setenv(name, value)
    assert found(checks.keys_are_set) == []
    settings.SECRET_KEY = settings.WORKER_KEY
    assert found(checks.keys_are_set) == [
        ("E004", "Two of SECRET_KEY, WORKER_KEY, IDENTITY_KEY have the same value.")
    ]
    settings.SECRET_KEY = "another one, as long as a key has to be"
    monkeypatch.delenv("WORKER_KEY")
    assert ids(checks.keys_are_set) == ["W002"]


def test_readable_folders_and_keys_are_reported(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    tmp_path.chmod(0o700)
    key = tmp_path / "worker_key.txt"
    key.touch(mode=0o600)
    assert found(checks.files_are_private) == []
    tmp_path.chmod(0o755)
    key.chmod(0o644)
    assert found(checks.files_are_private) == [
        ("E010", f"Other users can read {tmp_path}."), ("E010", f"Other users can read {key}."),
    ]  # fmt: skip


@pytest.mark.small_disk  # needs root, for another user's file
def test_a_full_disk_and_foreign_files_are_reported(settings, tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", str(folder)]
    subprocess.run(mount, check=True)
    try:
        settings.VAR_DIR = folder
        before = ids(checks.files_are_private)
        (folder / "uploads").mkdir()
        (folder / "uploads" / "one").write_text("x")
        os.chown(folder / "uploads" / "one", 12345, 12345)
        assert (before, ids(checks.files_are_private)) == ([], ["E011"])
        name, what = found(checks.disk_has_room)[0]
        assert (name, "too little for the largest upload" in what) == ("E012", True)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_missing_or_outdated_static_files_are_reported(settings, tmp_path):
    settings.STATIC_ROOT = tmp_path
    assert ids(checks.static_files_are_collected) == ["I013"]
    names = [p.relative_to(ROOT / "static").as_posix() for p in (ROOT / "static").rglob("*")]
    manifest = tmp_path / "staticfiles.json"
    manifest.write_text(json.dumps({"paths": dict.fromkeys(names, "x")}))
    assert found(checks.static_files_are_collected) == []
    os.utime(manifest, (1, 1))
    assert ids(checks.static_files_are_collected) == ["W013"]
    names.remove("css/tokens.css")
    manifest.write_text(json.dumps({"paths": dict.fromkeys(names, "x")}))
    assert found(checks.static_files_are_collected) == [
        ("E013", "1 static files, such as css/tokens.css, were not collected.")
    ]


def test_a_clock_that_was_set_back_is_reported(researcher):
    later = database_now() + timedelta(hours=3)
    AuditEntry.objects.record("x", by=researcher)
    assert found(checks.clocks) == []
    AuditEntry.objects.create(what="y", at=later)
    name, what = found(checks.clocks)[0]
    assert name == "E026"
    assert what.endswith("in the future. A clock must have been set back.")


@pytest.mark.postgres
def test_a_clock_that_differs_from_the_database_is_reported(monkeypatch):
    now, seconds = timezone.now, time.time
    monkeypatch.setattr(timezone, "now", lambda: now() - timedelta(minutes=5))
    monkeypatch.setattr(time, "time", lambda: seconds() - 300)
    name, what = found(checks.clocks)[0]
    differ = r"The clocks of the database and this machine differ by (\d+\.\d) s\."
    differed = re.fullmatch(differ, what)[1]
    assert (name, float(differed)) == ("E025", pytest.approx(300, abs=10))


def test_a_missing_or_old_backup_is_reported(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    assert found(checks.backups_are_written) == [
        ("I014", "manage.py backup has never been run on this installation.")
    ]
    days = datetime.now(UTC) - timedelta(days=9)
    (tmp_path / backups.WRITTEN).write_text(days.isoformat(timespec="seconds"))
    assert found(checks.backups_are_written) == [("W014", "The last backup is 9 days old.")]


def test_a_missing_guard_and_an_unapplied_migration_are_reported():
    assert (guards.answers_are_guarded(databases=["default"]), found(checks.schema)) == (
        [],
        [],
    )
    on = "" if connection.vendor == "sqlite" else " ON annotation_answer"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER annotation_answer_no_update{on}")
    (missing,) = guards.answers_are_guarded(databases=["default"])
    assert "annotation_answer_no_update is missing or altered" in missing.msg
    guards.install(connection)
    (newest,) = MigrationLoader(connection).graph.leaf_nodes("annotation")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = %s AND name = %s", newest)
    assert found(checks.schema) == [
        ("E021", f"1 migrations, such as {'.'.join(newest)}, are not applied.")
    ]


@pytest.mark.postgres
def test_a_database_without_durability_or_limits_is_reported():
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")
        for name in checks.LIMITS:
            cursor.execute(f"SET LOCAL {name} = '300s'")
        assert ids(checks.durability) == ["E023"]
        cursor.execute("SET LOCAL synchronous_commit = on")
        assert found(checks.durability) == []
        cursor.execute("SET LOCAL lock_timeout = 0")
        assert found(checks.durability) == [("W024", ("These limits are not set: lock_timeout."))]


@pytest.mark.postgres
@pytest.mark.long  # needs Debian's PgBouncer
@pytest.mark.django_db(transaction=True)  # deletes rows of other processes
def test_pgbouncer_with_server_side_cursors_is_reported(tmp_path):
    place = connection.get_connection_params()
    sockets = Path(place["host"])
    with tempfile.TemporaryDirectory() as folder:
        configuration = Path(folder) / "pgbouncer.ini"
        configuration.write_text(
            f"[databases]\n* = host={sockets} user={place['user']}\n[pgbouncer]\n"
            f"listen_addr =\nunix_socket_dir = {folder}\nauth_type = any\n"
            "pool_mode = transaction\nignore_startup_parameters = extra_float_digits\n"
        )
        owner = sockets.stat().st_uid  # because it refuses to run as root
        os.chown(folder, owner, -1)
        bouncer = subprocess.Popen(
            ["pgbouncer", str(configuration)], user=owner if os.geteuid() == 0 else None
        )
        try:
            while not (Path(folder) / ".s.PGSQL.6432").exists() and bouncer.poll() is None:
                time.sleep(0.1)
            host = quote(folder, safe="")
            environment = {
                "HANDFUL_VAR": str(tmp_path),
                "DATABASE_URL": f"postgresql://{place['user']}@{host}:6432/{place['dbname']}",
            }
            for wish, is_said in (("0", True), ("1", False)):
                ran = run(environment | {"DISABLE_SERVER_SIDE_CURSORS": wish}, *EVERYTHING)
                assert ("(config.E024)" in ran.stderr) == is_said, ran.stderr
                assert "(config.W024) These limits are not set" in ran.stderr
        finally:
            bouncer.terminate()
            bouncer.wait(30)


def test_sqlite_in_a_network_folder_is_recognised():
    mounts = "/dev/sda1 / ext4 rw 0 0\nhost:/x /srv nfs4 rw 0 0\ntmpfs /srv/local tmpfs rw 0 0\n"
    assert checks.network_of(Path("/srv/handful/var/own.sqlite3"), mounts) == "nfs4"
    assert checks.network_of(Path("/srv/local/own.sqlite3"), mounts) == ""
    assert checks.network_of(Path("/home/own.sqlite3"), mounts) == ""


def test_cron_that_never_ran_stopped_or_fails_is_reported():
    assert found(checks.cron)[0][1].startswith("tick has never run")
    call_command("tick", stdout=open(os.devnull, "w"))  # noqa: SIM115
    assert found(checks.cron) == []
    PeriodicPart.objects.filter(name="mail").update(error="OSError: refused")
    assert found(checks.cron) == [("W027", "The part mail of tick fails: OSError: refused")]
    PeriodicPart.objects.update(error="", started_at=database_now() - timedelta(hours=5))
    assert ids(checks.cron) == ["E027"]


def test_an_unreachable_shared_cache_is_reported(settings, db):
    assert found(checks.shared_cache) == []
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE shared_cache RENAME TO elsewhere")
    try:
        assert "The shared cache fails" in found(checks.shared_cache)[0][1]
    finally:
        if connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                cursor.execute("ALTER TABLE elsewhere RENAME TO shared_cache")


class MailServer(socketserver.StreamRequestHandler):
    """The part of SMTP that a client uses before it sends a mail."""

    def handle(self) -> None:
        self.wfile.write(b"220 here\r\n")
        for line in self.rfile:
            ends = line.upper().startswith(b"QUIT")
            self.wfile.write(b"221 bye\r\n" if ends else b"250 well\r\n")
            if ends:
                return


@contextmanager
def served(server: socketserver.BaseServer) -> Iterator[int]:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def test_an_unset_or_unreachable_mail_server_is_reported(settings, researcher, refusing_port):
    assert found(checks.mail) == [("I029", "EMAIL_HOST is not set, so no emails are sent.")]
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_USE_TLS = "127.0.0.1", False
    settings.DEFAULT_FROM_EMAIL, settings.SITE_URL = "h@example.org", "https://h.example.org"
    with served(socketserver.ThreadingTCPServer(("127.0.0.1", 0), MailServer)) as port:
        settings.EMAIL_PORT = port
        assert found(checks.mail) == []
        settings.DEFAULT_FROM_EMAIL = "handful@localhost"
        assert found(checks.mail) == [("W029", "Emails are sent from handful@localhost.")]
    settings.EMAIL_PORT = refusing_port
    name, what = found(checks.mail)[0]
    place = f"127.0.0.1:{refusing_port}"
    assert name == "E029"
    assert what.startswith(f"The mail server {place} cannot be used: ConnectionRefusedError: ")
    study = factories.make_study(researcher, factories.make_task(), shots=[2])
    Notice.objects.create(
        user=researcher, study=study, about="first", subject="x", what="x",
        created_at=database_now(), next_at=database_now(), mail="waiting", attempts=2,
    )  # fmt: skip
    assert ("W031", "1 emails could not be sent and will be retried.") in found(checks.mail)


def proxy_of(target: str, headers: dict[str, str]) -> ThreadingHTTPServer:
    """Return a proxy that adds or replaces these headers."""

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            reply = requests.get(target + self.path, headers=dict(self.headers) | headers)
            self.send_response(reply.status_code)
            self.end_headers()
            self.wfile.write(reply.content)

        def log_message(self, *_args) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", 0), Proxy)


@pytest.mark.long
def test_the_check_waits_for_a_server_that_is_starting(settings):
    statuses = [502, 503, 200]

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(statuses.pop(0) if statuses else 502)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args) -> None:
            pass

    with served(ThreadingHTTPServer(("127.0.0.1", 0), Proxy)) as port:
        settings.SITE_URL = f"http://127.0.0.1:{port}"
        assert "200, but not as this server does" in found(checks.proxies)[0][1]
        assert "502, so the proxy does not reach the server" in found(checks.proxies)[0][1]


@pytest.mark.long
def test_proxies_that_do_not_match_the_settings_are_reported(live_server, settings, refusing_port):
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1"]
    assert ids(checks.proxies) == ["I032"]
    settings.SITE_URL = live_server.url
    assert found(checks.proxies) == []
    settings.TRUSTED_PROXIES = 1
    assert "X-Forwarded-For has 0 entries, but TRUSTED_PROXIES is 1" in found(checks.proxies)[0][1]
    with served(proxy_of(live_server.url, {"X-Forwarded-For": "192.0.2.1"})) as port:
        settings.SITE_URL = f"http://127.0.0.1:{port}"
        assert found(checks.proxies) == []
        settings.TRUSTED_PROXIES = 0
        assert ids(checks.proxies) == ["E034"]
    settings.SITE_URL = f"http://127.0.0.1:{refusing_port}"
    assert "does not respond: ConnectionError" in found(checks.proxies)[0][1]
    with served(proxy_of(live_server.url, {"Host": "elsewhere.example.org"})) as port:
        settings.SITE_URL = f"http://127.0.0.1:{port}"
        assert "sends a Host header that the server rejects" in found(checks.proxies)[0][1]
    with served(proxy_of(f"{live_server.url}/nothing", {})) as port:
        settings.SITE_URL = f"http://127.0.0.1:{port}"
        assert found(checks.proxies)[0][1].endswith(
            "responds with 404, but not as this server does."
        )
    with served(proxy_of(live_server.url, {"X-Handful-Check": "forged:1:x"})) as port:
        settings.SITE_URL = f"http://127.0.0.1:{port}"
        assert found(checks.proxies)[0][1].endswith(
            "responds with 200, but not as this server does."
        )


def test_a_proxy_that_does_not_forward_tls_is_reported(live_server, settings):
    settings.SITE_URL = live_server.url
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    with served(proxy_of(live_server.url, {"X-Forwarded-Proto": "https"})) as port:
        settings.SITE_URL = f"http://127.0.0.1:{port}"
        assert "does not see that requests use HTTPS" in found(checks.proxies)[0][1]


def test_a_prolific_token_that_is_refused_is_reported(settings, fake):
    assert found(checks.prolific) == []
    settings.PROLIFIC_WORKSPACE = "another"
    assert "which your token cannot access" in found(checks.prolific)[0][1]
    settings.PROLIFIC_TOKEN = "old"
    assert ids(checks.prolific) == ["E037"]
    settings.PROLIFIC_TOKEN = ""
    assert found(checks.prolific) == []
