"""Time an arrival in a study that many have joined.

`python tests/with_postgres.py python benchmarks/arrivals.py` (four minutes).

CLUES' six tasks at four numbers of examples, paid, with a budget; people of one platform take a
seat one after the other, each as the whole step under the study's lock that gives a seat. Nobody
else asks meanwhile, so the time is what bounds arrivals a second in one study. Prints Markdown.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.run import SHARED, database  # noqa: E402

AT = (0, 1_000, 5_000, 20_000)
TIMED = 100


def study_of(people: int) -> Any:
    """An open study with a seat for each of so many people."""
    from django.contrib.auth import get_user_model

    from annotation.models import Study
    from annotation.study import design, lifecycle
    from tasks.cards import parse_card
    from tasks.importing import import_task, read_clues

    tasks = []
    for name in ("MNLI", "SST-2", "CoNLL03", "WikiANN", "ReCoRD", "SQuADv2"):
        card, files = read_clues(SHARED / "data" / "clues", name)
        tasks.append(import_task(parse_card(card.as_dict(), name), files).task)
    shots = [0, 10, 20, 30]
    study = Study(
        owner=get_user_model().objects.create_user("bench"), name="bench", title="Bench",
        shots=shots, annotators=people // (len(tasks) * len(shots)) + 1, seed=1, currency="USD",
        base_reward=Decimal(2), budget=Decimal(1000) * people,
    )  # fmt: skip
    design.suggest_limits(study, tasks)
    design.save_draft(study, tasks)
    lifecycle.change_status(study, "open")
    return study


def arrive(study: Any, number: int) -> float:
    """Seconds until this person has a seat."""
    from annotation.recruitment import consent, seats

    started = time.perf_counter()
    participation = seats.join(study.pk, f"{number:064}", "prolific", "person")
    took = time.perf_counter() - started
    consent.record(participation, agree=True)
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=AT[-2], help="people there at the end")
    most = parser.parse_args().most
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    with database("handful_arrivals") as address:
        os.environ["DATABASE_URL"] = address
        subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, check=True)
        import django

        django.setup()
        from django.db import connection, connections

        study, number = study_of(most + TIMED), 0
        print(
            "| there already | ms an arrival, median | 9 of 10 within | load |\n|---|---|---|---|"
        )
        for at in (at for at in AT if at <= most):
            while number < at:
                arrive(study, number)
                number += 1
            with connection.cursor() as cursor:
                cursor.execute("ANALYZE")
            times = [1000 * arrive(study, number + index) for index in range(TIMED)]
            number += TIMED
            late = statistics.quantiles(times, n=10)[-1]
            row = f"{at:,} | {statistics.median(times):.1f} | {late:.1f} | {os.getloadavg()[0]:.1f}"
            print(f"| {row} |", flush=True)
        connections.close_all()


if __name__ == "__main__":
    main()
