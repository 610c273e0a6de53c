"""Time `manage.py migrate` from each released version, with many answers in its tables.

`python benchmarks/upgrade.py --answers 1000000` for SQLite in a temporary folder; on PostgreSQL
`python tests/with_postgres.py python benchmarks/upgrade.py --answers 1000000`. The databases of the
releases are those of tests/upgrades; annotators with 100 answers each are added to a closed study
of theirs by inserts in bulk, with their spans, signs of work, earnings. Prints a Markdown table;
processor time is that of migrate and, of PostgreSQL, not of its server.
"""

import argparse
import json
import lzma
import os
import re
import resource
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.million import fresh_database  # noqa: E402
from tests.upgrades.make import FOLDER, KEYS  # noqa: E402

EACH = 100  # answers of an annotator
AT_ONCE = 300  # rows of one insert
PEOPLE_AT_ONCE = 100
STARTED = datetime(2026, 1, 5, 9, tzinfo=UTC)
COUNT = """
from annotation import guards
from annotation.models import Answer
from django.db import connection
print(Answer.objects.count(), len(guards.missing(connection)))
"""


def releases() -> list[str]:
    return sorted({re.sub(r"\.(sqlite3|sql)\.xz$", "", path.name) for path in FOLDER.glob("*.xz")})


def load(release: str, address: str) -> None:
    """Put the release's database there, as it was."""
    if address.startswith("sqlite"):
        path = Path(address.removeprefix("sqlite:///"))
        path.write_bytes(lzma.decompress((FOLDER / f"{release}.sqlite3.xz").read_bytes()))
        return
    import psycopg2

    statements = lzma.decompress((FOLDER / f"{release}.sql.xz").read_bytes()).decode()
    with psycopg2.connect(address) as server, server.cursor() as cursor:
        cursor.execute(statements)
    server.close()


# Filling it ---------------------------------------------------------------------------------------


def fill(answers: int) -> None:
    """Add annotators to the study `closed` in the tables of that release, by SQL alone."""
    import django

    django.setup()
    from django.db import connection, transaction

    with connection.cursor() as cursor:
        pattern = _row(
            cursor,
            "SELECT p.* FROM annotation_participation p JOIN annotation_study s"
            " ON s.id = p.study_id WHERE s.name = 'closed' AND p.in_analysis",
        )
        examples = _more_examples(cursor, pattern["id"])
        ids = {
            table: _row(cursor, f"SELECT coalesce(max(id), 0) AS n FROM {table}")["n"]
            for table in ("annotation_worker", "annotation_participation", "annotation_turn")
        }
    people = range(1, -(-answers // EACH) + 1)
    for start in range(0, len(people), PEOPLE_AT_ONCE):
        some = people[start : start + PEOPLE_AT_ONCE]
        with transaction.atomic(), connection.cursor() as cursor:
            for table, rows in _rows_of(some, pattern, examples, ids):
                insert(cursor, table, rows)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for table in ids:
                cursor.execute(
                    f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}"
                )
            cursor.execute("ANALYZE")


def _row(cursor: Any, query: str, *parameters: Any) -> dict[str, Any]:
    cursor.execute(query, parameters)
    names = [column[0] for column in cursor.description]
    return dict(zip(names, cursor.fetchone(), strict=True))


def _more_examples(cursor: Any, participation: int) -> list[int]:
    """The ids of EACH test examples: copies of one that this participation was shown."""
    one = _row(
        cursor,
        "SELECT e.* FROM tasks_example e JOIN annotation_turn t ON t.example_id = e.id"
        " WHERE t.participation_id = %s AND t.step = 'annotation' ORDER BY e.id",
        participation,
    )
    last = _row(cursor, "SELECT max(id) AS n FROM tasks_example")["n"]
    rows = [
        one | {"id": last + n, "position": 1000 + n, "source_id": f"more-{n}",
               "content_hash": secrets.token_hex(32)}
        for n in range(1, EACH + 1)
    ]  # fmt: skip
    insert(cursor, "tasks_example", rows)
    return [row["id"] for row in rows]


def _rows_of(
    people: Iterable[int], pattern: dict[str, Any], examples: list[int], ids: dict[str, int]
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The rows of these annotators, table by table, in the order of their keys."""
    tables: dict[str, list[dict[str, Any]]] = {
        name: []
        for name in (
            "annotation_worker", "annotation_participation", "annotation_exposure",
            "annotation_ledgerentry", "annotation_turn", "annotation_activity",
            "annotation_answer", "annotation_answerspan",
        )
    }  # fmt: skip
    for number in people:
        began = STARTED + timedelta(minutes=number)
        worker, person = (
            ids["annotation_worker"] + number,
            ids["annotation_participation"] + number,
        )
        key = secrets.token_hex(32)
        tables["annotation_worker"].append(
            {"id": worker, "key": key, "platform": "link", "kind": "person", "created_at": began}
        )
        tables["annotation_participation"].append(
            pattern
            | {
                "id": person, "worker_id": worker, "token": secrets.token_urlsafe(18),
                "pseudonym": f"B-{number:07}", "seat_number": 1000 + number,
                "completion_code": secrets.token_hex(4).upper(), "arrived_at": began,
                "consented_at": began, "annotation_order": json.dumps(examples),
                "browser": secrets.token_hex(32),
            }
        )  # fmt: skip
        tables["annotation_exposure"].append(
            {"worker_key": key, "task_name": "toy", "since": began}
        )
        tables["annotation_ledgerentry"].append(
            {"participation_id": person, "kind": "base", "cents": 300, "currency": "USD",
             "reason": "", "at": began + timedelta(hours=1)}
        )  # fmt: skip
        for position, example in enumerate(examples):
            turn = ids["annotation_turn"] + (number - 1) * EACH + position + 1
            shown = began + timedelta(seconds=20 * position)
            done = shown + timedelta(seconds=15)
            tables["annotation_turn"].append(
                {"id": turn, "participation_id": person, "example_id": example,
                 "step": "annotation", "position": 1000 + position, "shown_at": shown,
                 "worked_before": 15_000_000 * position}
            )  # fmt: skip
            tables["annotation_activity"].append(
                {"turn_id": turn, "seconds": 14.5, "last_at": done, "blurs": 0,
                 "away_seconds": 0.0, "pastes": 0}
            )  # fmt: skip
            tables["annotation_answer"].append(
                {"turn_id": turn, "no_answer": False, "label": "", "s1": 1.0, "tokeniser": "1",
                 "active_seconds": 14.5, "submitted_at": done}
            )  # fmt: skip
            tables["annotation_answerspan"].append(
                {"answer_id": turn, "segment": 0, "start": 0, "end": 4, "text": "Oslo"}
            )
    yield from tables.items()


def insert(cursor: Any, table: str, rows: list[dict[str, Any]]) -> None:
    """Insert the rows, AT_ONCE by one statement; they have the same columns."""
    from django.db import connection

    quote = connection.ops.quote_name
    columns = list(rows[0])
    names = ", ".join(map(quote, columns))
    # A duration is stored in microseconds on SQLite and as an interval on PostgreSQL.
    of_time = "%s * interval '1 microsecond'" if connection.vendor == "postgresql" else "%s"
    marks = ", ".join(of_time if column == "worked_before" else "%s" for column in columns)
    for start in range(0, len(rows), AT_ONCE):
        some = rows[start : start + AT_ONCE]
        values = ", ".join(f"({marks})" for _ in some)
        parameters = [_plain(row[column]) for row in some for column in columns]
        cursor.execute(f"INSERT INTO {quote(table)} ({names}) VALUES {values}", parameters)


def _plain(value: Any) -> Any:
    """As both drivers take it: JSON as text; SQLite's times as Django writes them."""
    if isinstance(value, list | dict):
        return json.dumps(value)
    from django.db import connection

    if isinstance(value, datetime) and connection.vendor == "sqlite":
        return value.strftime("%Y-%m-%d %H:%M:%S.%f")
    return value


# The measurement ----------------------------------------------------------------------------------


def run(environment: dict[str, str], *command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True,
        check=True,
    )  # fmt: skip
    return done.stdout.strip()


def measure(release: str, answers: int) -> None:
    with tempfile.TemporaryDirectory() as folder, fresh_database(folder) as address:
        environment = os.environ | KEYS | {
            "DATABASE_URL": address,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "HANDFUL_VAR": f"{folder}/var",
        }  # fmt: skip
        load(release, address)
        run(environment, "benchmarks/upgrade.py", "--fill", str(answers))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        run(environment, "manage.py", "migrate", "-v0")
        took = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        stored, missing = run(environment, "manage.py", "shell", "-v0", "-c", COUNT).split()
        print(
            f"| {release} | {address.split(':')[0]} | {int(stored):,} | {took:.0f} | {used:.0f} |"
            f" {missing} | {os.getloadavg()[0]:.1f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--fill", type=int, help="only fill the database of DATABASE_URL")
    options = parser.parse_args()
    if options.fill:
        fill(options.fill)
        return
    print("| from | engine | answers | seconds | of processor | guards missing | load |")
    print("|---|---|---|---|---|---|---|")
    for release in releases():
        for answers in options.answers:
            measure(release, answers)


if __name__ == "__main__":
    main()
