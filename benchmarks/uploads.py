"""What annotators wait for while others upload: hostile files being checked, and a large import.

`python benchmarks/uploads.py` (`make bench` runs it last). First, behind the server of
docs/operating.md: an annotator's page, loaded again and again, before and while four researchers
upload files of tests/tasks/test_hostile_uploads.py's kind, each at once. Then, on SQLite: the
longest that another writer waits while a task of 30 MB is imported.
"""

import io
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.load import CSRF, Browser  # noqa: E402
from benchmarks.run import database, served  # noqa: E402

ROUNDS = 150  # pages that are timed without uploads, and at least as many with
LONGEST = 60  # seconds that annotators are watched beside the uploads
LINE = {"id": "1", "context": "We saw Oslo.", "question": "Which places?", "answer": ["Oslo"]}


def card() -> dict:
    return {
        "name": "hostile", "title": "Places", "family": "sequence_labelling",
        "description": "Find the places.", "instructions": "Highlight every place.",
        "submit_hint": "Then submit.", "segments": ["Sentence"], "no_answer": True,
        "gold_rule": "set", "language": "en", "direction": "ltr", "source": "made up",
        "licence": "CC0",
    }  # fmt: skip


def toml(**changes: object) -> bytes:
    return "\n".join(f"{k} = {json.dumps(v)}" for k, v in {**card(), **changes}.items()).encode()


def line(**changes: object) -> bytes:
    return json.dumps({**LINE, **changes}).encode() + b"\n"


def hostile() -> dict[str, dict[str, bytes]]:
    """Four uploads that once kept the server busy for minutes, or would for as long as they may."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for number in range(3000):
            file.writestr(f"toy_train_1_{number + 1}.jsonl", "")
    keys = "{" + ", ".join(f'"k{n}": 1' for n in range(60_000)) + ', "k0": 1}\n'
    slow = line(context="a" * 450_000, answer=["a" * n for n in range(1, 201)])
    good = {"task.toml": toml(), "toy_test.jsonl": line()}
    return {
        "60,000 keys, one of them twice": good | {"toy_test.jsonl": keys.encode()},
        "200 golds at 450,000 places each": good | {"toy_test.jsonl": slow},
        "a ZIP of 3,000 names": {"many.zip": archive.getvalue()},
        "a card with a dotted key of 90 kB": good
        | {"task.toml": toml() + b"\n" + b".".join([b"a"] * 45_000) + b" = 1\n"},
    }


def multipart(files: dict[str, bytes], csrf: str) -> tuple[bytes, str]:
    parts = [("csrfmiddlewaretoken", None, csrf.encode()), ("card", None, b"")]
    parts += [("files", name, content) for name, content in files.items()]
    body = b""
    for field, name, content in parts:
        file = f'; filename="{name}"' if name else ""
        body += f'--x\r\nContent-Disposition: form-data; name="{field}"{file}\r\n\r\n'.encode()
        body += content + b"\r\n"
    return body + b"--x--\r\n", "multipart/form-data; boundary=x"


class Researcher(Browser):
    """Signed in; uploads, presses until the check has ended, and discards."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.connection.timeout = 400  # a check is of low priority

    def post(self, path: str, body: bytes, kind: str) -> tuple[int, str]:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        self.connection.request("POST", path, body, {"Content-Type": kind, "Cookie": cookies})
        reply = self.connection.getresponse()
        page = reply.read().decode(errors="replace")
        return reply.status, reply.headers.get("Location") or page

    def csrf(self, path: str) -> str:
        field = CSRF.search(self.send("GET", path)[1])
        assert field, path
        return field[1]

    def upload(self, files: dict[str, bytes]) -> None:
        form = "application/x-www-form-urlencoded"
        csrf = self.csrf("/tasks/import/")
        status, address = self.post("/tasks/import/", *multipart(files, csrf))
        if status != 302:
            return  # refused at once
        fields = urlencode({"csrfmiddlewaretoken": csrf}).encode()
        while 'class="job"' in self.send("GET", address)[1]:
            self.post(f"{address}run/", fields, form)
            time.sleep(0.2)  # as the page does
        self.post(f"{address}discard/", fields, form)


def prepare(accounts: int) -> tuple[str, list[str]]:
    """A study with one person at work; their token, and the session keys of the researchers."""
    import django

    django.setup()
    from django.contrib.auth import get_user_model
    from django.core.management import call_command
    from django.test import Client

    from tests import factories

    call_command("migrate", verbosity=0)
    users = [get_user_model().objects.create_user(f"r{number}") for number in range(accounts)]
    study = factories.make_study(users[0], factories.make_task(), shots=[2])
    seat = factories.seat(study.scenarios.get())
    keys = []
    for user in users:
        client = Client()
        client.force_login(user)
        keys.append(client.cookies["sessionid"].value)
    return seat.token, keys


def timed(port: int, token: str, is_over, at_least: int) -> list[float]:
    """Seconds of each load of the annotator's page, one every 20 ms."""
    browser = Browser(port)
    seconds: list[float] = []
    while len(seconds) < at_least or not is_over():
        start = time.perf_counter()
        status, _page = browser.send("GET", f"/work/{token}/")
        seconds.append(time.perf_counter() - start)
        assert status == 200, status
        time.sleep(0.02)
    return seconds


def row(what: str, seconds: list[float]) -> None:
    ordered = sorted(seconds)
    print(
        f"| {what} | {len(seconds)} | {1000 * statistics.median(seconds):.0f}"
        f" | {1000 * ordered[int(0.95 * len(ordered))]:.0f} | {1000 * ordered[-1]:.0f} |",
        flush=True,
    )


def hostile_uploads() -> None:
    uploads = hostile()
    preparation = subprocess.run(
        [sys.executable, __file__, "--prepare", str(len(uploads))],
        cwd=ROOT, env=os.environ, capture_output=True, text=True, check=True,
    )  # fmt: skip
    token, keys = json.loads(preparation.stdout)
    with served("granian", "config.wsgi:application", {}) as port:
        timed(port, token, lambda: True, 20)  # warm
        print("\n| an annotator's page | loads | median ms | p95 ms | longest ms |")
        print("|---|---|---|---|---|")
        before = timed(port, token, lambda: True, ROUNDS)
        row("nobody uploads", before)
        took: dict[str, float] = {}
        threads = [
            threading.Thread(target=upload, args=(port, what, files, key, took), daemon=True)
            for (what, files), key in zip(uploads.items(), keys, strict=True)
        ]
        for thread in threads:
            thread.start()
        end = time.monotonic() + LONGEST
        busy = timed(
            port,
            token,
            lambda: time.monotonic() > end or not any(map(threading.Thread.is_alive, threads)),
            ROUNDS,
        )
        row("four hostile uploads are checked", busy)
        more = statistics.median(busy) - statistics.median(before)
        print(
            f"\nThe median page took {1000 * more:+.0f} ms, the longest {1000 * max(busy):.0f} ms."
        )
        for thread in threads:
            thread.join()
        for what, seconds in took.items():
            print(f"{what}: answered after {seconds:.1f} s")


def upload(port: int, what: str, files: dict[str, bytes], key: str, took: dict[str, float]) -> None:
    researcher = Researcher(port)
    researcher.cookies["sessionid"] = key
    start = time.perf_counter()
    researcher.upload(files)
    took[what] = time.perf_counter() - start


def import_on_sqlite() -> None:
    """The longest that a writer of one row waits while 30 MB of examples come in."""
    with tempfile.TemporaryDirectory() as folder:
        place, path = Path(folder) / "task", Path(folder) / "handful.sqlite3"
        place.mkdir()
        (place / "task.toml").write_bytes(toml(name="large"))
        text = "We saw Oslo. " + "x" * 900
        with (place / "large_test.jsonl").open("wb") as file:
            for number in range(30_000):
                file.write(line(id=str(number), context=f"{number} {text}"))
        environment = {
            **os.environ, "DATABASE_URL": f"sqlite:///{path}", "HANDFUL_VAR": f"{folder}/var",
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }  # fmt: skip
        migrate = [sys.executable, "manage.py", "migrate", "-v0"]
        subprocess.run(migrate, cwd=ROOT, env=environment, check=True)
        connection = sqlite3.connect(path, timeout=60, isolation_level=None)
        connection.execute("CREATE TABLE beside (n INTEGER)")
        print("\n| a writer beside, on SQLite | writes | median ms | p95 ms | longest ms |")
        print("|---|---|---|---|---|")
        row("nobody imports", writes(connection, lambda: True))
        for what, pieces in (
            ("in one transaction", "importing.PIECE = 10**12; "),
            ("in pieces", ""),
        ):
            (place / "task.toml").write_bytes(toml(name=what.replace(" ", "-")))
            code = f"import django; django.setup(); from tasks import importing; {pieces}"
            code += "from django.core.management import call_command; import sys; "
            code += "call_command('import_task', sys.argv[1], verbosity=0)"
            start = time.perf_counter()
            process = subprocess.Popen(
                [sys.executable, "-c", code, str(place)],
                cwd=ROOT, env=environment, stdout=subprocess.DEVNULL,
            )  # fmt: skip
            during = writes(connection, lambda process=process: process.poll() is not None)
            took = time.perf_counter() - start
            assert process.returncode == 0
            row(f"30 MB are imported {what}, {took:.0f} s", during)
        connection.close()


def writes(connection: sqlite3.Connection, is_over) -> list[float]:
    """Seconds of each write of a row, one every 20 ms."""
    waits: list[float] = []
    while len(waits) < 50 or not is_over():
        start = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO beside VALUES (1)")
        connection.execute("COMMIT")
        waits.append(time.perf_counter() - start)
        time.sleep(0.02)
    return waits


if __name__ == "__main__":
    if sys.argv[1:2] == ["--prepare"]:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        print(json.dumps(prepare(int(sys.argv[2]))))
    else:
        with database("uploads") as address:
            os.environ["DATABASE_URL"] = address
            hostile_uploads()
        import_on_sqlite()
