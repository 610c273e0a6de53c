"""`manage.py doctor`: each test breaks something, and only then the doctor says so."""

import json
import os
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
import requests
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone

from annotation import guards
from annotation.management import backups
from annotation.models import AuditEntry, Notice, Study
from config import doctor
from config.doctor import stored
from tasks import installation, jobs
from tasks.clock import database_now
from tasks.models import Job, PeriodicPart
from tests import factories

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.django_db
WHOLE = {  # of an installation that lacks nothing but what a test breaks
    "SECRET_KEY": "the first key of the doctor's tests, 1",
    "WORKER_KEY": "the other key of the doctor's tests, 2",
    "IDENTITY_KEY": "the third key of the doctor's tests, 3",
}


def found(check: str) -> list[tuple[str, str]]:
    """State and words of one check; each that is not well says how to fix it."""
    findings = [finding for name, finding in doctor.examine_one(check)]
    assert all(bool(finding.fix) == (finding.state != "ok") for finding in findings)
    return [(finding.state, finding.what) for finding in findings]


def states(check: str) -> list[str]:
    return [state for state, _what in found(check)]


@pytest.fixture
def refusing_port() -> Iterator[int]:
    """A port that refuses every connection: it is held, so nobody else can listen on it."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def run(environment: dict[str, str], *command: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "manage.py", *command], cwd=ROOT, env=os.environ | environment,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


# The command ----------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.sqlite
def test_it_ends_with_1_where_something_fails_and_with_0_once_that_is_fixed(tmp_path):
    environment = WHOLE | {
        "HANDFUL_VAR": str(tmp_path),
        "DATABASE_URL": f"sqlite:///{tmp_path / 'own.sqlite3'}",
    }
    ill = run(environment, "doctor")
    assert ill.returncode == 1
    assert "FAIL  migrations: " in ill.stdout
    assert "fix: manage.py backup FILE, then manage.py migrate." in ill.stdout
    assert "Traceback" not in ill.stderr
    for command in (["migrate", "-v0"], ["tick"], ["backup", str(tmp_path / "backup")]):
        assert run(environment, *command).returncode == 0
    well = run(environment, "doctor", "--json")
    assert well.returncode == 0
    told = json.loads(well.stdout)
    assert {row["check"] for row in told} == doctor.CHECKS.keys()
    fine = {row["check"] for row in told if row["state"] == "ok"}
    assert fine >= {"keys", "database", "migrations", "guards", "folder", "cron", "backup", "cache"}
    assert not any(key in well.stdout for key in WHOLE.values())


def test_a_database_that_is_away_is_named_and_the_rest_is_looked_at(tmp_path, refusing_port):
    url = f"postgresql://127.0.0.1:{refusing_port}/x"
    away = {"HANDFUL_VAR": str(tmp_path), "DATABASE_URL": url}
    ran = run(away, "doctor", "--json")
    assert ran.returncode == 1
    told = {row["check"]: row for row in json.loads(ran.stdout)}
    assert told["database"]["what"].startswith("The database does not answer: ")
    assert told["guards"]["what"].startswith("Not looked at: ")
    assert told["disk"]["state"] == "ok"


def test_a_short_key_stops_it_with_a_sentence(tmp_path):
    ran = run({"HANDFUL_VAR": str(tmp_path), "WORKER_KEY": "x"}, "doctor")
    assert ran.returncode == 1
    assert ran.stderr.startswith("the variable WORKER_KEY holds 1 characters; a key has at least")


# The machine ----------------------------------------------------------------------------------


def test_settings_that_harm(settings):
    settings.HTTPS, settings.TRUSTED_PROXIES, settings.SITE_URL = True, 1, "https://a.example.org"
    settings.ALLOWED_HOSTS = [".example.org"]
    assert not [what for state, what in found("settings") if state == "fail"]
    settings.ALLOWED_HOSTS = ["b.example.org"]
    assert ("fail", "SITE_URL is https://a.example.org, but a.example.org is not in"
            " ALLOWED_HOSTS.") in found("settings")  # fmt: skip
    settings.ALLOWED_HOSTS = ["*"]
    settings.HTTPS, settings.DEBUG, settings.METRICS_TOKEN = False, True, "x"
    words = " ".join(what for _state, what in found("settings"))
    for said in ("DEBUG=1", "ALLOWED_HOSTS=*", "SITE_URL begins with https", "HTTPS=0", "METRICS"):
        assert said in words
    settings.HTTPS, settings.TRUSTED_PROXIES = True, 0
    assert any("TRUSTED_PROXIES is 0" in what for _state, what in found("settings"))


def test_keys_that_are_the_same_or_others_or_open_to_be_read(settings, monkeypatch, tmp_path):
    for name, value in WHOLE.items():
        monkeypatch.setenv(name, value)
    assert states("keys") == ["ok"]
    settings.SECRET_KEY = settings.WORKER_KEY
    assert found("keys")[0] == (
        "fail", "Two of SECRET_KEY, WORKER_KEY, IDENTITY_KEY are the same text.",
    )  # fmt: skip
    settings.SECRET_KEY = "another one, as long as a key has to be"
    settings.IDENTITY_KEY = "a third one, as long as a key has to be"
    ((state, what),) = found("keys")
    assert (state, what.partition(":")[0]) == ("fail", "IDENTITY_KEY")
    monkeypatch.delenv("WORKER_KEY")
    settings.VAR_DIR = tmp_path
    (tmp_path / "worker_key.txt").write_text("x")
    (tmp_path / "worker_key.txt").chmod(0o644)
    words = [what for _state, what in found("keys")]
    assert words[0].startswith("WORKER_KEY: from files in")
    assert words[1] == f"Others can read {tmp_path / 'worker_key.txt'}."


def test_a_folder_of_another_database_or_open_to_others(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    tmp_path.chmod(0o700)
    installation.bind()
    assert states("folder") == ["ok"]
    tmp_path.chmod(0o755)
    assert found("folder") == [("fail", f"Others can read {tmp_path}.")]
    tmp_path.chmod(0o700)
    (tmp_path / installation.FILE).write_text("another")
    assert "belongs to another database" in found("folder")[0][1]


@pytest.mark.small_disk  # run by root, as is a file of somebody else's
def test_a_disk_that_is_full_and_files_of_another_user(settings, tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", str(folder)]
    subprocess.run(mount, check=True)
    try:
        settings.VAR_DIR = folder
        states_before = states("folder")
        (folder / "uploads").mkdir()
        (folder / "uploads" / "one").write_text("x")
        os.chown(folder / "uploads" / "one", 12345, 12345)
        assert (states_before, states("folder")) == (["ok"], ["fail"])
        state, what = found("disk")[0]
        assert (state, "uploads are refused" in what) == ("fail", True)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_static_files_that_were_not_collected_or_are_old(settings, tmp_path):
    settings.STATIC_ROOT = tmp_path
    assert found("static files")[0][1].startswith("Static files were not collected into")
    names = [p.relative_to(ROOT / "static").as_posix() for p in (ROOT / "static").rglob("*")]
    manifest = tmp_path / "staticfiles.json"
    manifest.write_text(json.dumps({"paths": dict.fromkeys(names, "x")}))
    assert states("static files") == ["ok"]
    os.utime(manifest, (1, 1))
    assert "newer than those that were collected" in found("static files")[0][1]
    names.remove("css/tokens.css")
    manifest.write_text(json.dumps({"paths": dict.fromkeys(names, "x")}))
    assert found("static files") == [
        ("fail", "1 static files are missing, such as css/tokens.css.")
    ]


def test_a_clock_that_was_set_back(researcher):
    later = database_now() + timedelta(hours=3)
    AuditEntry.objects.record("x", by=researcher)
    assert all(state != "fail" for state in states("clocks"))
    AuditEntry.objects.create(what="y", at=later)
    state, what = found("clocks")[0]
    assert state == "fail"
    assert what.endswith("later than now: a clock was set back.")


@pytest.mark.postgres
def test_a_clock_that_is_not_the_databases(monkeypatch):
    now, seconds = timezone.now, time.time
    monkeypatch.setattr(timezone, "now", lambda: now() - timedelta(minutes=5))
    monkeypatch.setattr(time, "time", lambda: seconds() - 300)
    assert ("fail", "The database's clock and this machine's differ by 300.0 s.") in found("clocks")


def test_a_backup_that_never_ran_or_long_ago(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    assert found("backup") == [("warn", "manage.py backup has never run with this folder.")]
    days = datetime.now(UTC) - timedelta(days=9)
    (tmp_path / backups.WRITTEN).write_text(days.isoformat(timespec="seconds"))
    assert found("backup") == [("warn", "The last backup is 9 days old.")]


# What is stored -------------------------------------------------------------------------------


def test_a_guard_and_a_migration_that_are_missing():
    assert (states("guards"), states("migrations")) == (["ok"], ["ok"])
    on = "" if connection.vendor == "sqlite" else " ON annotation_answer"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER annotation_answer_no_update{on}")
    assert found("guards") == [
        ("fail", "The database no longer protects answers: 1 guards are missing, such as"
         " annotation_answer_no_update.")
    ]  # fmt: skip
    guards.install(connection)
    (newest,) = MigrationLoader(connection).graph.leaf_nodes("annotation")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = %s AND name = %s", newest)
    assert found("migrations") == [
        ("fail", f"1 migrations are not applied, such as {'.'.join(newest)}.")
    ]


@pytest.mark.postgres
def test_a_database_that_may_lose_answers_or_has_no_limits():
    assert states("database") == ["ok"]
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")
        assert found("database") == [
            ("fail", "synchronous_commit is off: an answer that was acknowledged can be lost.")
        ]
        limits = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
        for name in limits:
            cursor.execute(f"SET LOCAL {name} = '300s'")
        assert found("connection") == [("ok", "Straight to PostgreSQL")]
        cursor.execute("SET LOCAL lock_timeout = 0")
        assert found("connection") == [("warn", "No limit is set: lock_timeout.")]


@pytest.mark.postgres
@pytest.mark.long  # takes Debian's PgBouncer
@pytest.mark.django_db(transaction=True)  # what another process stores is taken away again
def test_pgbouncer_with_server_side_cursors(tmp_path):
    place = connection.get_connection_params()
    sockets = Path(place["host"])
    with tempfile.TemporaryDirectory() as folder:
        configuration = Path(folder) / "pgbouncer.ini"
        configuration.write_text(
            f"[databases]\n* = host={sockets} user={place['user']}\n[pgbouncer]\n"
            f"listen_addr =\nunix_socket_dir = {folder}\nauth_type = any\n"
            "pool_mode = transaction\nignore_startup_parameters = extra_float_digits\n"
        )
        owner = sockets.stat().st_uid  # it does not run as root
        os.chown(folder, owner, -1)
        bouncer = subprocess.Popen(
            ["pgbouncer", str(configuration)], user=owner if os.geteuid() == 0 else None
        )
        try:
            host = quote(folder, safe="")
            environment = {
                "HANDFUL_VAR": str(tmp_path),
                "DATABASE_URL": f"postgresql://{place['user']}@{host}:6432/{place['dbname']}",
            }
            for wish, expected in (("0", "fail"), ("1", "warn")):
                ran = run(environment | {"DISABLE_SERVER_SIDE_CURSORS": wish}, "doctor", "--json")
                told = [row for row in json.loads(ran.stdout) if row["check"] == "connection"]
                assert told[0]["state"] == expected, ran.stdout
                assert told[-1]["what"].startswith("No limit is set")
        finally:
            bouncer.terminate()
            bouncer.wait(30)


def test_sqlite_in_a_network_folder():
    mounts = "/dev/sda1 / ext4 rw 0 0\nhost:/x /srv nfs4 rw 0 0\ntmpfs /srv/local tmpfs rw 0 0\n"
    assert stored.network_of(Path("/srv/handful/var/own.sqlite3"), mounts) == "nfs4"
    assert stored.network_of(Path("/srv/local/own.sqlite3"), mounts) == ""
    assert stored.network_of(Path("/home/own.sqlite3"), mounts) == ""


def test_a_server_without_accounts_or_administrators():
    assert found("accounts") == [("warn", "Nobody has an account.")]
    user = User.objects.create_user("ada")
    assert found("accounts") == [("warn", "No active account is an administrator's.")]
    user.is_superuser = True
    user.save()
    assert states("accounts") == ["ok"]


def test_cron_that_never_ran_or_has_stopped_or_fails():
    assert found("cron")[0][1].startswith("tick has never run")
    call_command("tick", stdout=open(os.devnull, "w"))  # noqa: SIM115
    assert states("cron") == ["ok"]
    PeriodicPart.objects.filter(name="mail").update(error="OSError: refused")
    assert found("cron") == [("warn", "The part mail of tick fails: OSError: refused")]
    PeriodicPart.objects.update(error="", started_at=database_now() - timedelta(hours=5))
    assert found("cron") == [("fail", "tick last ran 5 h ago.")]


def test_jobs_that_failed_or_that_nobody_continues(monkeypatch):
    def chunk(job, number):
        raise ValueError("broken on purpose")

    monkeypatch.setitem(jobs.KINDS, "broken", jobs.JobKind(chunk, timedelta(minutes=1)))
    assert states("jobs") == ["ok"]
    jobs.advance(jobs.start("broken", {}, total=1, owner=None))
    state, what = found("jobs")[0]
    assert (state, what.startswith("1 jobs failed in seven days, the last: broken:")) == (
        "warn", True,
    )  # fmt: skip
    Job.objects.all().delete()
    jobs.start("broken", {"x": 1}, total=1, owner=None)
    Job.objects.update(touched_at=database_now() - timedelta(hours=2))
    assert found("jobs") == [("warn", "1 jobs have waited for over an hour.")]


def test_a_day_of_deletion_that_is_over(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2])
    assert states("retention") == ["ok"]
    days = {"identities_until": date(2026, 1, 31), "answers_until": date(2026, 2, 28)}
    Study.objects.filter(pk=study.pk).update(**days)
    assert found("retention") == [
        ("warn", f"{study.name}: ids of annotators were to be deleted after 2026-01-31."),
        ("warn", f"{study.name}: it was to be deleted after 2026-02-28."),
    ]


# What is reached by a network -----------------------------------------------------------------


def test_a_shared_cache_that_is_away(settings, db):
    assert states("cache") == ["ok"]
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE shared_cache RENAME TO elsewhere")
    try:
        assert "The shared cache does not work" in found("cache")[0][1]
    finally:
        if connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                cursor.execute("ALTER TABLE elsewhere RENAME TO shared_cache")


class MailServer(socketserver.StreamRequestHandler):
    """As much of SMTP as a client says before a mail."""

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


def test_a_mail_server_that_is_not_there_or_not_set(settings, researcher, refusing_port):
    assert found("mail") == [("warn", "No mail is sent: EMAIL_HOST is not set.")]
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_USE_TLS = "127.0.0.1", False
    settings.DEFAULT_FROM_EMAIL, settings.SITE_URL = "h@example.org", "https://h.example.org"
    with served(socketserver.ThreadingTCPServer(("127.0.0.1", 0), MailServer)) as port:
        settings.EMAIL_PORT = port
        assert found("mail") == [("ok", f"127.0.0.1:{port} lets us in")]
        settings.DEFAULT_FROM_EMAIL = "handful@localhost"
        assert found("mail") == [("warn", "Mails are from handful@localhost.")]
    settings.EMAIL_PORT = refusing_port
    state, what = found("mail")[0]
    place = f"127.0.0.1:{refusing_port}"
    assert state == "fail"
    assert what.startswith(f"The mail server {place} cannot be used: ConnectionRefusedError: ")
    study = factories.make_study(researcher, factories.make_task(), shots=[2])
    Notice.objects.create(
        user=researcher, study=study, about="first", subject="x", what="x",
        created_at=database_now(), next_at=database_now(), mail="waiting", attempts=2,
    )  # fmt: skip
    assert ("warn", "1 mails have failed and are tried again.") in found("mail")


@pytest.mark.long
def test_a_broker_that_is_away(settings, refusing_port):
    assert states("broker") == ["ok"]
    settings.CELERY_BROKER_URL = f"redis://127.0.0.1:{refusing_port}/0"
    state, what = found("broker")[0]
    assert (state, what.startswith("The broker does not answer")) == ("fail", True)


def test_a_token_that_prolific_does_not_know_or_that_is_gone(fake, settings):
    assert states("prolific") == ["ok"]
    settings.PROLIFIC_WEBHOOK_SECRET = ""
    assert states("prolific") == ["warn"]
    settings.PROLIFIC_TOKEN = "another"
    assert states("prolific") == ["fail"]


def test_studies_on_prolific_without_a_token(published, settings):
    settings.PROLIFIC_TOKEN = ""
    assert found("prolific") == [
        ("fail", "1 studies are on Prolific, and there is no token to sync or pay them.")
    ]


def test_studies_on_prolific_whose_token_was_removed(published, researcher):
    account = researcher.prolific_accounts.create(external_id="a", set_at=database_now())
    published.study.prolific_studies.update(account=account)
    state, what = found("prolific")[0]
    assert (state, what) == (
        "warn", "1 studies are on Prolific whose token was removed: they are not synced.",
    )  # fmt: skip


def proxy_of(target: str, headers: dict[str, str]) -> ThreadingHTTPServer:
    """A proxy that adds or replaces these headers."""

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
def test_proxies_that_do_not_fit_what_is_set(live_server, settings, refusing_port):
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1"]
    assert states("proxies") == ["warn"]  # SITE_URL is not set
    settings.SITE_URL = live_server.url
    assert found("proxies") == [("ok", f"{live_server.url} leads here through 0 proxies")]
    settings.TRUSTED_PROXIES = 1
    assert "0 entries of X-Forwarded-For arrive, but TRUSTED_PROXIES is 1" in found("proxies")[0][1]
    with served(proxy_of(live_server.url, {"X-Forwarded-For": "192.0.2.1"})) as port:
        settings.SITE_URL = f"http://127.0.0.1:{port}"
        assert states("proxies") == ["ok"]
        settings.TRUSTED_PROXIES = 0
        assert states("proxies") == ["fail"]
    settings.SITE_URL = f"http://127.0.0.1:{refusing_port}"
    assert "does not answer: ConnectionError" in found("proxies")[0][1]
    with served(proxy_of(live_server.url, {"Host": "elsewhere.example.org"})) as port:
        settings.SITE_URL = f"http://127.0.0.1:{port}"
        assert "refuses the host that the proxy passes on" in found("proxies")[0][1]
    with served(proxy_of(f"{live_server.url}/nothing", {})) as port:
        settings.SITE_URL = f"http://127.0.0.1:{port}"
        assert found("proxies")[0][1].endswith("answers 404, and it is not this server.")
    with served(proxy_of(live_server.url, {"X-Handful-Doctor": "forged:1:x"})) as port:
        settings.SITE_URL = f"http://127.0.0.1:{port}"
        assert found("proxies")[0][1].endswith("answers 200, and it is not this server.")


def test_a_proxy_that_does_not_tell_that_it_speaks_tls(live_server, settings):
    settings.SITE_URL = live_server.url
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    with served(proxy_of(live_server.url, {"X-Forwarded-Proto": "https"})) as port:
        settings.SITE_URL = f"http://127.0.0.1:{port}"
        assert "does not see" in found("proxies")[0][1]
