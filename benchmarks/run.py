"""Measure Handful under load, with a yardstick in the same run: `make bench`.

Requires PostgreSQL (`make bench` starts one) and the published CLUES files (HANDFUL_SHARED). Prints
Markdown tables. Machines differ, so compare the ratio to the yardstick.
"""

import argparse
import contextlib
import os
import platform
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg2

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import load  # noqa: E402

SHARED = Path(os.environ.get("HANDFUL_SHARED", ROOT.parent / "shared"))
# The options of `manage.py serve`, which serves only Handful.
SERVERS = {
    "granian": [
        "granian", "--interface", "wsgi", "--workers", "2", "--blocking-threads", "4",
        "--respawn-failed-workers", "--no-ws", "--host", "127.0.0.1", "--log-level", "error",
    ],
    "gunicorn": [
        "gunicorn", "--workers", "2", "--threads", "4", "--worker-class", "gthread",
        "--keep-alive", "75", "--log-level", "error",
    ],
}  # fmt: skip


@contextlib.contextmanager
def database(name: str) -> Iterator[str]:
    """Create a database on the server of DATABASE_URL, yield its address, and finally drop it."""
    address = urlsplit(os.environ.get("DATABASE_URL", ""))
    if not address.scheme.startswith("postgres"):
        sys.exit("The benchmark needs PostgreSQL in DATABASE_URL: run make bench")
    name = f"{name}_{secrets.token_hex(4)}"
    connection = psycopg2.connect(os.environ["DATABASE_URL"])
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
        try:
            with tempfile.TemporaryDirectory(prefix="handful-var-") as var:
                os.environ["HANDFUL_VAR"] = var  # each database has a separate folder
                yield urlunsplit(address._replace(path=f"/{name}"))
        finally:
            cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")
    connection.close()


@contextlib.contextmanager
def served(server: str, application: str, environment: dict[str, str]) -> Iterator[int]:
    """Run a production server with the application. Yield its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name(SERVERS[server][0])), *SERVERS[server][1:]]
    command += ["--port", str(port)] if server == "granian" else ["--bind", f"127.0.0.1:{port}"]
    process = subprocess.Popen([*command, application], cwd=ROOT, env=os.environ | environment)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        else:
            sys.exit(f"{server} did not start")
        yield port
    finally:
        process.terminate()
        process.wait(20)


def seats(number: int) -> list[str]:
    """Seat annotators at the 200 test examples of SQuADv2. Return their tokens.

    The card allows one highlight. The load makes two, so the limit is removed here.
    """
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.core.management import call_command

    from annotation.models import Kind, Study, Worker
    from annotation.protocol import training_step
    from annotation.recruitment import consent, seats
    from annotation.study import design, lifecycle
    from tasks.cards import parse_card
    from tasks.importing import import_task, read_clues

    call_command("migrate", verbosity=0)
    card, files = read_clues(SHARED / "data" / "clues", "SQuADv2")
    data = {key: value for key, value in card.as_dict().items() if key != "max_spans"}
    task = import_task(parse_card(data, "the benchmark's card"), files).task
    owner = User.objects.create_user("bench")
    study = Study(
        owner=owner, name="bench", title="Bench", shots=[0], annotators=number, seed=1,
    )  # fmt: skip
    design.suggest_limits(study, [task])
    design.save_draft(study, [task])
    lifecycle.change_status(study, "open")
    scenario = study.scenarios.get()
    tokens = []
    for index in range(number):
        worker = Worker.objects.create(key=f"{index:064}", platform="link", kind=Kind.PERSON)
        participation = seats.take_seat(study, scenario, worker)
        consent.record(participation, agree=True)
        training_step.begin(participation.token)
        tokens.append(participation.token)
    return tokens


def analyse(url: str) -> None:
    with contextlib.closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        connection.commit()


def row(name: str, people: int, measured: load.Load, extra: str = "") -> None:
    if measured.errors:
        sys.exit(f"{name}: {measured.errors} cycles failed, so nothing was measured.")
    quantiles = " | ".join(f"{measured.percentile(share):.0f}" for share in (50, 95, 99))
    print(f"| {name} | {people} | {measured.rate:.0f} | {quantiles} | {extra} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", choices=SERVERS, default="granian")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--people", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--cycles", type=int, default=2400, help="of each measurement (2400)")
    options = parser.parse_args()
    started = time.perf_counter()
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {options.server}\n")
    with database("handful_bench") as ours, database("yardstick_bench") as theirs:
        os.environ |= {"DATABASE_URL": ours, "DJANGO_SETTINGS_MODULE": "config.settings"}
        cycles = options.rounds * options.cycles * len(options.people) + 64 * 20
        tokens = iter(seats(cycles // 200 + 64 * 8 + 8))
        subprocess.run(
            [sys.executable, "-m", "benchmarks.yardstick"],
            cwd=ROOT, env=os.environ | {"DATABASE_URL": theirs}, check=True,
        )  # fmt: skip
        print("| what | annotators | cycles/s | p50 ms | p95 ms | p99 ms | ratio |")
        print("|---|---|---|---|---|---|---|")
        handful, yardstick = "config.wsgi:application", "benchmarks.yardstick:application"
        kept = {"DATABASE_URL": theirs, "KEEP_CONNECTIONS": "1"}
        with (
            served(options.server, handful, {"DATABASE_URL": ours}) as here,
            served(options.server, yardstick, {"DATABASE_URL": theirs}) as bare,
            served(options.server, yardstick, kept) as keeping,
        ):
            yards = {"bare Django": bare, "the same, keeping connections": keeping}
            # Each worker renders each example once, and autovacuum soon analyses a new table.
            load.run([load.annotate(here, tokens) for _ in range(8)], 200)
            for port in yards.values():
                load.run([load.measure_up(port) for _ in range(8)], 200)
            for url in (ours, theirs):
                analyse(url)
            for people in repeat_each(options.people, options.rounds):
                compare(people, options.cycles // max(people, 4), here, yards, tokens)
            calm = load.run([load.annotate(here, tokens) for _ in range(64)], 20, think=1.0)
            row("Handful, thinking 1 s", 64, calm)
    print(f"\nIn all {time.perf_counter() - started:.0f} s.")


def compare(
    people: int, cycles: int, here: int, yards: dict[str, int], tokens: Iterator[str]
) -> None:
    """Print a row for each server in turn, with this number of simultaneous annotators."""
    measured = {
        name: load.run([load.measure_up(port) for _ in range(people)], cycles)
        for name, port in yards.items()
    }
    mine = load.run([load.annotate(here, tokens) for _ in range(people)], cycles)
    for name, yard in measured.items():
        row(name, people, yard)
    ratios = " and ".join(f"{mine.rate / yard.rate:.2f}" for yard in measured.values())
    row("Handful", people, mine, ratios)


def repeat_each(values: list[int], times: int) -> Iterator[int]:
    for value in values:
        yield from repeat(value, times)


if __name__ == "__main__":
    main()
