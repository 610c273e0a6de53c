"""Time one study among a hundred: ten million answers beside a hundred thousand, on PostgreSQL.

`make bench-ten-million` (hours on a small machine; --studies N for fewer). The study of
dashboard.py, 102,060 answers, is measured alone; then it is copied 99 times inside the database,
with the guards standing, and measured again. Checks first that the disk has room. Prints Markdown;
ends with status 1 where anything takes more than twice its time alone.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import dashboard  # noqa: E402
from benchmarks.run import database  # noqa: E402

STUDIES = 100
BYTES_EACH = 1000  # of an answer on the disk, with its turn, span, indexes and log: measured 620
ALLOWED = 2.0
SUBMITS = 100
# One row of the copy beside each row of the original: people by cell and seat, turns by place.
PEOPLE = """
    FROM annotation_participation old
    JOIN annotation_scenario oldcell ON oldcell.id = old.scenario_id
    JOIN annotation_scenario newcell
      ON newcell.task_id = oldcell.task_id AND newcell.shots = oldcell.shots
    JOIN annotation_participation new
      ON new.scenario_id = newcell.id AND new.seat_number = old.seat_number
"""
TURNS = f"""{PEOPLE}
    JOIN annotation_turn oldturn ON oldturn.participation_id = old.id
    JOIN annotation_turn newturn
      ON newturn.participation_id = new.id AND newturn.step = oldturn.step
      AND newturn.position = oldturn.position
"""
OF_STUDIES = " WHERE old.study_id = %s AND newcell.study_id = %s"


def columns(model: Any, *left_out: str) -> tuple[str, str]:
    """The columns of a table for an INSERT, and the same of the row that is copied (`source`)."""
    names = [field.column for field in model._meta.concrete_fields if field.column not in left_out]
    return ", ".join(f'"{name}"' for name in names), ", ".join(f'source."{name}"' for name in names)


def copy(first: Any, number: int) -> None:
    """One more study like the first: other workers, the same tasks and answers."""
    from django.db import connection, transaction

    from annotation.models import Answer, AnswerSpan, Study, Turn
    from annotation.study import design, lifecycle

    study = Study(
        owner=first.owner, name=f"large-{number}", title=f"Large {number}", shots=first.shots,
        annotators=first.annotators, seed=1, hide_test_scores=False,
    )  # fmt: skip
    tasks = list(first.tasks.all())
    design.suggest_limits(study, tasks)
    design.save_draft(study, tasks)
    lifecycle.change_status(study, "open")
    with transaction.atomic():
        for scenario in study.scenarios.select_related("task"):
            dashboard.take_seats(scenario)
        both = [first.pk, study.pk]
        names, values = columns(Turn, "id", "participation_id")
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO annotation_turn (participation_id, {names}) SELECT new.id, {values}"
                f" {PEOPLE} JOIN annotation_turn source ON source.participation_id = old.id"
                f"{OF_STUDIES} ORDER BY source.id",
                both,
            )
            names, values = columns(Answer, "turn_id")
            cursor.execute(
                f"INSERT INTO annotation_answer (turn_id, {names}) SELECT newturn.id, {values}"
                f" {TURNS} JOIN annotation_answer source ON source.turn_id = oldturn.id"
                f"{OF_STUDIES}",
                both,
            )
            names, values = columns(AnswerSpan, "id", "answer_id")
            cursor.execute(
                f"INSERT INTO annotation_answerspan (answer_id, {names})"
                f" SELECT newturn.id, {values} {TURNS}"
                f" JOIN annotation_answerspan source ON source.answer_id = oldturn.id{OF_STUDIES}",
                both,
            )


def submits(study: Any) -> list[float]:
    """Seconds of each submit, with the page of the next example, by an annotator at work."""
    from annotation.simulation.robots import InProcess, Knowledge, walk

    at_work = study.participations.filter(status="working").order_by("?").first()
    # Warmed up by ten; a walk yields before each submit.
    given = walk(InProcess(), f"/work/{at_work.token}/", "gold", Knowledge(study), "1")
    stamps = [time.perf_counter() for _step in islice(given, SUBMITS + 11)]
    return [after - before for before, after in pairwise(stamps)][10:]


def visits(address: str) -> Callable[[Any], list[float]]:
    """Ten visits of a page by the study's owner, after one that is not counted."""

    def timed(study: Any) -> list[float]:
        from django.core.cache import caches
        from django.test import Client

        client = Client(SERVER_NAME="127.0.0.1")
        client.force_login(study.owner)
        visit = dashboard.visit_of(client, address.format(name=study.name))
        visit()
        times = []
        for _ in range(10):
            caches["process"].clear()
            times.append(visit())
        return times

    return timed


def export(study: Any) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        command = [sys.executable, "manage.py", "export_study", study.name, f"{folder}/export"]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        return [time.perf_counter() - started]


MEASURED: dict[str, Callable[[Any], list[float]]] = {
    "a submit": submits,
    "study page": visits("/studies/{name}/"),
    "list of studies": visits("/studies/"),
    "human-performance page": visits("/studies/{name}/human-performance/"),
    "`manage.py export_study`": export,
}


def measure() -> dict[str, float]:
    """The median of each, of the study that was made first."""
    from django.db import connection

    from annotation.models import Study

    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    study = Study.objects.get(name="large")
    return {what: statistics.median(timed(study)) for what, timed in MEASURED.items()}


def check_disk(studies: int, folder: str) -> None:
    needed = studies * dashboard.ANSWERS * BYTES_EACH
    free = shutil.disk_usage(folder).free
    if free < needed:
        sys.exit(f"{needed / 1e9:.0f} GB of free disk are needed, {free / 1e9:.0f} GB are there")


def run(studies: int) -> int:
    """Print both rows of figures; 1 if something takes more than ALLOWED times as long."""
    from django.db import connection

    from annotation.models import Answer, Study

    check_disk(studies, tempfile.gettempdir())
    dashboard.make()
    alone = measure()
    print(f"load {os.getloadavg()[0]:.1f}; alone: {alone}", file=sys.stderr, flush=True)
    first = Study.objects.get(name="large")
    started = time.perf_counter()
    for number in range(2, studies + 1):
        copy(first, number)
        if number % 10 == 0:
            print(f"{number} studies, {time.perf_counter() - started:.0f} s", file=sys.stderr)
    among = measure()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        (size,) = cursor.fetchone()
    answers = Answer.objects.count()
    print(f"{studies} studies, {answers:,} answers, {size / 1e9:.1f} GB on the disk,")
    print(f"filled in {time.perf_counter() - started:.0f} s; load {os.getloadavg()[0]:.1f}\n")
    print("| seconds | alone | among them | ratio |\n|---|---|---|---|")
    ratios = {what: among[what] / alone[what] for what in MEASURED}
    for what, ratio in ratios.items():
        print(f"| {what} | {alone[what]:.4f} | {among[what]:.4f} | {ratio:.2f} |")
    return int(max(ratios.values()) > ALLOWED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=STUDIES)
    options = parser.parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    with database("handful_ten_million") as address:
        os.environ["DATABASE_URL"] = address
        subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, check=True)
        import django

        django.setup()
        from django.db import connections

        status = run(options.studies)
        connections.close_all()
    sys.exit(status)


if __name__ == "__main__":
    main()
