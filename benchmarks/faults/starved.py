"""Disks, databases and clocks that fail for a while and come back."""

import select
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.faults.installation import Installation, Node, free_port
from benchmarks.faults.scene import Result, Size, at_work

DISK = 1500  # MB of the small disk
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """A file system of that size, which takes root."""
    with TemporaryDirectory(prefix="handful-disk-") as name:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", name]
        subprocess.run(mount, check=True)
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", "--lazy", name], check=True)


def full_disk(size: Size) -> Result:
    """The disk of PostgreSQL and of HANDFUL_VAR is full for a while."""
    with small_disk(DISK) as disk:
        var = {"HANDFUL_VAR": str(disk / "var")}
        with at_work(size, environment=var, data=disk) as scene:
            scene.wait_for(0.3)
            other = disk / "other"
            with other.open("wb", buffering=0) as file:
                while _write(file, b"x" * 65536) or _write(file, b"x" * 512):
                    pass
            filled = time.monotonic()
            while time.monotonic() < filled + size.seconds / 2:
                time.sleep(0.5)
                _fill(other)
            other.unlink()
            crashed = not scene.site.postgres.is_up()
            if crashed:
                scene.site.postgres.start()
        told = "stopped and was started" if crashed else "went on by itself"
        return Result(
            scene.work.outcome,
            f"the disk of PostgreSQL and HANDFUL_VAR full for {size.seconds / 2:.0f} s; PostgreSQL"
            f" {told} once there was room",
        )


def _write(file, data: bytes) -> bool:
    try:
        return file.write(data) == len(data)
    except OSError:
        return False


def _fill(other: Path) -> None:
    """Take what has become free."""
    with other.open("ab", buffering=0) as file:
        while _write(file, b"x" * 4096):
            pass


def read_only_database(size: Size) -> Result:
    """PostgreSQL takes no writes for a while, as a replica that was not promoted."""
    with at_work(size) as scene:
        scene.wait_for(0.3)
        with scene.site.postgres.connection("postgres") as cursor:
            for switch in ("on", "off"):
                cursor.execute(
                    f"ALTER DATABASE handful SET default_transaction_read_only = {switch}"
                )
                cursor.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = 'handful'"
                )
                if switch == "on":
                    time.sleep(size.seconds / 4)
                    ready = scene.site.nodes[0].answers("/health/live")
    wrong = [] if ready else ["/health/live failed"]
    return Result(scene.work.outcome, f"read-only for {size.seconds / 4:.0f} s", wrong)


def database_away(size: Size) -> Result:
    """PostgreSQL is stopped, and started again."""
    with at_work(size) as scene:
        scene.wait_for(0.3)
        scene.site.postgres.stop()
        time.sleep(size.seconds / 2)
        alive = all(node.answers("/health/live") for node in scene.site.nodes)
        ready = any(node.answers("/health/ready") for node in scene.site.nodes)
        time.sleep(size.seconds / 2)
        scene.site.postgres.start()
    wrong = [] if alive else ["/health/live failed"]
    wrong += ["/health/ready said ready"] if ready else []
    return Result(scene.work.outcome, f"PostgreSQL stopped for {size.seconds:.0f} s", wrong)


class SlowProxy:
    """TCP to that port, each piece of it delayed by so many seconds in both directions."""

    def __init__(self, target: int) -> None:
        self.target, self.delay, self.port = target, 0.0, free_port()
        self.server = socket.create_server(("127.0.0.1", self.port), backlog=128)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _address = self.server.accept()
            threading.Thread(target=self._carry, args=[client], daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        with client:
            try:
                with socket.create_connection(("127.0.0.1", self.target)) as server:
                    other = {client: server, server: client}
                    while True:
                        for ready in select.select([client, server], [], [])[0]:
                            data = ready.recv(65536)
                            if not data:
                                return
                            time.sleep(self.delay)
                            other[ready].sendall(data)
            except OSError:
                return


def slow_database(size: Size) -> Result:
    """Everything between PgBouncer and PostgreSQL takes 100 ms more each way, for a while."""
    database = free_port()
    proxy = SlowProxy(database)
    with at_work(size, database=database, through=proxy.port) as scene:
        scene.wait_for(0.3)
        proxy.delay = 0.1
        time.sleep(size.seconds)
        proxy.delay = 0.0
    did = f"100 ms more each way between PgBouncer and PostgreSQL for {size.seconds:.0f} s"
    return Result(scene.work.outcome, did)


def clock(size: Size) -> Result:
    """The clocks of both nodes jump, each another way."""
    if not FAKETIME.exists():
        sys.exit("This needs libfaketime: apt-get install faketime")

    def set_clocks(*hours: int) -> None:
        for node, hour in zip(nodes, hours, strict=True):
            Path(node.environment["FAKETIME_TIMESTAMP_FILE"]).write_text(f"{hour * 3600:+d}")

    def prepare(site: Installation) -> None:
        nodes.extend(site.nodes)
        for number, node in enumerate(site.nodes):
            node.environment |= {
                "LD_PRELOAD": str(FAKETIME),
                "FAKETIME_TIMESTAMP_FILE": str(site.folder / f"clock-{number}"),
                # Seconds. Read with each look at the clock, under the library's lock, the file
                # kept threads waiting for a minute.
                "FAKETIME_CACHE_DURATION": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            }
        set_clocks(0, 0)

    nodes: list[Node] = []
    began = time.time()
    with at_work(size, prepare=prepare) as scene:
        for hours in ((3, 0), (3, -3), (-3, 3), (0, 0)):
            set_clocks(*hours)
            time.sleep(2)  # until the library has read the file again
            # The server keeps the date that it tells until its clock has passed it.
            if hours == (3, 0) and abs(_date_of(nodes[0]) - time.time() - 3 * 3600) > 60:
                raise RuntimeError("libfaketime does not move the clock of a node")
            time.sleep(size.seconds / 8)
        scene.wait_for(1)
        wrong = wrong_times(began)
    return Result(
        scene.work.outcome,
        "clocks of the nodes set 3 h ahead and 3 h back in turn, apart from each other",
        wrong,
    )


def _date_of(node: Node) -> float:
    """What time a node believes it is."""
    reply = urllib.request.urlopen(f"http://127.0.0.1:{node.port}/health/live", timeout=20)
    with reply:
        return parsedate_to_datetime(reply.headers["Date"]).timestamp()


def wrong_times(began: float) -> list[str]:
    """Answers before their question, and times that are not of this run."""
    from annotation.models import Answer

    times = Answer.objects.values_list("turn__shown_at", "submitted_at", "active_seconds")
    wrong = []
    for shown, submitted, active in times:
        if not began - 1 <= shown.timestamp() <= submitted.timestamp() <= time.time() + 1:
            wrong.append(f"shown {shown}, submitted {submitted}")
        if not 0 <= active <= time.time() - began:
            wrong.append(f"{active} active seconds")
    return wrong[:5]
