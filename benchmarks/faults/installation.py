"""A server like that in docs/operating.md#several-nodes, on this machine, for tests of faults.

PostgreSQL is behind PgBouncer in transaction mode, and granian nodes are behind nginx. Each is a
separate process that can be killed and restarted. All files are in one folder, and all processes
listen only on 127.0.0.1.
"""

import contextlib
import os
import pwd
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from pgserver._commands import POSTGRES_BIN_PATH
from pgserver.utils import ensure_folder_permissions, ensure_prefix_permissions, ensure_user_exists

ROOT = Path(__file__).parents[2]
# PostgreSQL and PgBouncer refuse to run as root.
USER = "pgserver" if os.geteuid() == 0 else None
NEEDED = ("nginx", "pgbouncer")
KEYS = {name: f"{name} of a server that is broken on purpose" for name in (
    "SECRET_KEY", "WORKER_KEY", "IDENTITY_KEY")}  # fmt: skip


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def wait_for(what: str, asked, seconds: float = 60) -> None:
    """Poll a condition five times a second until it is true. Raises TimeoutError."""
    end = time.monotonic() + seconds
    while not asked():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} in {seconds:.0f} s")
        time.sleep(0.2)


def takes_connections(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def _owned_by_user(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if USER:
        shutil.chown(folder, USER, pwd.getpwnam(USER).pw_gid)
    return folder


@dataclass
class Postgres:
    """A database server in a folder, with the default durability."""

    folder: Path
    port: int = field(default_factory=free_port)

    def make(self) -> None:
        if USER:
            ensure_user_exists(USER)
        _owned_by_user(self.folder)
        if USER:
            ensure_prefix_permissions(self.folder)
            ensure_prefix_permissions(POSTGRES_BIN_PATH)
            ensure_folder_permissions(POSTGRES_BIN_PATH, 0o055)
            ensure_folder_permissions(POSTGRES_BIN_PATH.parent / "lib", 0o044)
        self._run("initdb", "--auth=trust", "--encoding=utf8", "-U", "postgres")
        self.start()
        with self.connection("postgres") as cursor:
            cursor.execute("CREATE DATABASE handful")

    def start(self) -> None:
        """Start the server, and wait until it has recovered."""
        options = {
            "listen_addresses": "127.0.0.1", "port": self.port,
            "unix_socket_directories": "", "max_connections": 60,
        }  # fmt: skip
        told = " ".join(f"-c {name}='{value}'" for name, value in options.items())
        log = self.folder.parent / "postgres.log"
        log.touch()
        if USER:
            shutil.chown(log, USER)
        self._run("pg_ctl", "-w", "-t", "120", "-l", str(log), "-o", told, "start")

    def kill(self) -> None:
        """Kill all processes at once with kill -9, like a power failure."""
        pid = int((self.folder / "postmaster.pid").read_text().splitlines()[0])
        parent = psutil.Process(pid)
        processes = [parent, *parent.children(recursive=True)]
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(processes, timeout=20)

    def is_up(self) -> bool:
        return takes_connections(self.port)

    def address(self, name: str = "handful") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    @contextlib.contextmanager
    def connection(self, name: str = "handful"):
        """Open a cursor that commits each statement."""
        import psycopg2

        connection = psycopg2.connect(self.address(name))
        connection.autocommit = True
        try:
            with connection.cursor() as cursor:
                yield cursor
        finally:
            connection.close()

    def _run(self, name: str, *arguments: str) -> None:
        command = [str(POSTGRES_BIN_PATH / name), "-D", str(self.folder), *arguments]
        # Write to a file, because the server inherits open descriptors.
        with (self.folder.parent / "pg_ctl.log").open("a") as log:
            subprocess.run(
                command, check=True, stdout=log, stderr=log, user=USER, cwd="/", timeout=180
            )


@dataclass
class Bouncer:
    """PgBouncer in transaction mode, as in docs/operating.md#several-nodes."""

    folder: Path
    database_port: int
    port: int = field(default_factory=free_port)
    process: subprocess.Popen | None = None

    def start(self) -> None:
        _owned_by_user(self.folder)
        (self.folder / "pgbouncer.ini").write_text(
            "[databases]\n"
            f"handful = host=127.0.0.1 port={self.database_port} dbname=handful user=postgres\n"
            "[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\n"
            f"auth_type = any\npidfile = {self.folder}/pid\n"
            "pool_mode = transaction\ndefault_pool_size = 20\nmax_client_conn = 500\n"
            "server_login_retry = 1\nquery_wait_timeout = 20\nlog_connections = 0\n"
            "log_disconnections = 0\n"
        )
        log = (self.folder / "log").open("a")
        self.process = subprocess.Popen(
            ["pgbouncer", str(self.folder / "pgbouncer.ini")],
            stdout=log, stderr=log, user=USER, cwd="/",
        )  # fmt: skip
        wait_for("PgBouncer listens", lambda: takes_connections(self.port))

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait(20)

    @property
    def address(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/handful"


@dataclass
class Node:
    """A granian server with two workers, as under systemd, which always uses the same port."""

    environment: dict[str, str]
    log: Path
    root: Path = ROOT
    port: int = field(default_factory=free_port)
    process: subprocess.Popen | None = None

    def start(self) -> None:
        """Start the node and wait until it is ready."""
        command = [sys.executable, "manage.py", "serve", "--port", str(self.port)]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                command, cwd=self.root, env=os.environ | self.environment, stdout=log, stderr=log
            )
        wait_for(f"node {self.port} is live ({self.log})", lambda: self.answers("/health/live"))

    def answers(self, path: str) -> bool:
        with contextlib.suppress(OSError):
            address = f"http://127.0.0.1:{self.port}{path}"
            return urllib.request.urlopen(address, timeout=5).status == 200
        return False

    def kill(self) -> None:
        """Kill the server and its workers with kill -9."""
        parent = psutil.Process(self.process.pid)
        for process in [parent, *parent.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.process.wait(20)

    def kill_worker(self, number: int) -> None:
        """Kill one worker with kill -9. granian replaces it."""
        children = psutil.Process(self.process.pid).children()
        workers = [child for child in children if "resource_tracker" not in str(child.cmdline())]
        with contextlib.suppress(psutil.NoSuchProcess):
            workers[number % len(workers)].kill()

    def stop(self) -> None:
        """Stop the node as systemd does, so that requests in progress are completed."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()


@dataclass
class Installation:
    """The installation that a script breaks."""

    folder: Path
    environment: dict[str, str]  # for nodes and commands
    postgres: Postgres
    bouncer: Bouncer
    nodes: list[Node]
    front: int = 0  # port of nginx

    def manage(self, *arguments: str, root: Path = ROOT) -> subprocess.CompletedProcess:
        """Run a command of manage.py directly on PostgreSQL."""
        environment = os.environ | self.environment | {"DATABASE_URL": self.postgres.address()}
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=root, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip


@contextlib.contextmanager
def installed() -> Iterator[Installation]:
    """Create an installation before migration. `serving` starts its two nodes."""
    for program in NEEDED:
        if not shutil.which(program):
            sys.exit(f"This needs {' and '.join(NEEDED)}: apt-get install nginx-light pgbouncer")
    with tempfile.TemporaryDirectory(prefix="handful-faults-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        postgres = Postgres(folder / "postgres")
        bouncer = Bouncer(folder / "pgbouncer", postgres.port)
        told = KEYS | {
            "HANDFUL_VAR": str(folder / "var"),
            "DATABASE_URL": bouncer.address,
            "DISABLE_SERVER_SIDE_CURSORS": "1",
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "TRUSTED_PROXIES": "1",
        }  # fmt: skip
        logs = folder / "logs"
        logs.mkdir()
        site = Installation(
            folder, told, postgres, bouncer,
            [Node(dict(told), logs / f"node-{number}.log") for number in range(2)],
        )  # fmt: skip
        try:
            postgres.make()
            bouncer.start()
            yield site
        finally:
            for node in site.nodes:
                if node.process and node.process.poll() is None:
                    node.kill()
            bouncer.stop()
            with contextlib.suppress(Exception):
                postgres.kill()


def configuration(front: int, plain: int, ports: Sequence[int], folder: Path) -> str:
    """Return deploy/nginx.conf for servers on these ports, without TLS."""
    text = (ROOT / "deploy" / "nginx.conf").read_text()
    for pattern, put in {
        r"listen 80;": f"listen 127.0.0.1:{plain};",
        r"listen 443 ssl http2;": f"listen 127.0.0.1:{front};",
        r" *ssl_.*\n": "",
        r"annotate\.example\.org": "127.0.0.1",
        r"server 127\.0\.0\.1:8000;": " ".join(f"server 127.0.0.1:{port};" for port in ports),
        r"/var/log/nginx": str(folder),
    }.items():
        text, count = re.subn(pattern, put, text)
        assert count, pattern
    return text


@contextlib.contextmanager
def behind_nginx(*ports: int, folder: Path) -> Iterator[int]:
    """Run nginx with deploy/nginx.conf in front of servers on these ports. Yield its port."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        front, plain = server.getsockname()[1], two.getsockname()[1]
    text = configuration(front, plain, ports, folder)
    kept = "".join(
        f"{what}_temp_path {folder}/{what}; "
        for what in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/start.log;\n"
        f"events {{ worker_connections 1024; }}\nhttp {{ access_log off; {kept}\n{text}\n}}\n"
    )
    folder.chmod(0o755)  # the worker of nginx is another user
    command = ["nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", front)):
                break
            if process.poll() is not None:
                sys.exit((folder / "start.log").read_text())
            time.sleep(0.1)
        yield front
    finally:
        process.terminate()
        process.wait(20)


@contextlib.contextmanager
def serving(site: Installation) -> Iterator[Installation]:
    """Run the nodes behind nginx, which sends each request to the next node."""
    for node in site.nodes:
        node.start()
    place = site.folder / "nginx"
    place.mkdir()
    with behind_nginx(*[node.port for node in site.nodes], folder=place) as site.front:
        yield site
