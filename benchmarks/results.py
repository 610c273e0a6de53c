"""Time what researchers wait for after a full replication: each of their pages, the largest file.

`python benchmarks/results.py` on a database that holds a study (`--study`). Without it, the file on
a new replication of CLUES in a database of its own (several minutes), and the pages on a study of
the same size whose annotators are people, made in bulk on SQLite (million.py). `make bench` runs it
after the load.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
ANSWERS = 26_040  # of a full replication
sys.path.insert(0, str(ROOT))

from benchmarks.run import SHARED, database  # noqa: E402

FILE = """
import resource, sys, time, django
django.setup()
from analysis.export.columns import COLUMNS
from analysis.export.rows import answers_rows
from benchmarks.release import note, yard
from tasks.csv_files import write_csv
from annotation.models import Study
study = Study.objects.get(name=sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
started = time.perf_counter()
with open(sys.argv[2], "w", newline="", encoding="utf-8") as file:
    rows = write_csv(file, list(COLUMNS["answers.csv"]), answers_rows(study))
took = time.perf_counter() - started
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
note("answers.csv", took / yard())
print(f"answers.csv: {rows} rows in {took:.2f} s, memory grown by {grown:.0f} MB")
"""


def measure(name: str) -> None:
    """Print the times; the study is read, not changed."""
    pages(name)
    largest_file(name)


def pages(name: str) -> None:
    subprocess.run([sys.executable, "-m", "benchmarks.pages", name], cwd=ROOT, check=True)


def largest_file(name: str) -> None:
    subprocess.run([sys.executable, "-c", FILE, name, os.devnull], cwd=ROOT, check=True)


def of_people() -> None:
    """Print the times of the pages of a study of 96 people, on SQLite."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"DATABASE_URL": f"sqlite:///{folder}/study.sqlite3", "HANDFUL_VAR": folder}
        fill = [sys.executable, "benchmarks/million.py", "--fill", str(ANSWERS)]
        subprocess.run(fill, cwd=ROOT, check=True)
        pages("million")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", help="an existing study of the database in DATABASE_URL")
    options = parser.parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    if options.study:
        measure(options.study)
        return
    with database("handful_results") as address:
        os.environ["DATABASE_URL"] = address
        manage = [sys.executable, "manage.py"]
        subprocess.run([*manage, "migrate", "-v0"], cwd=ROOT, check=True)
        replicate = ["replicate_clues", str(SHARED / "data" / "clues"), "--policy", "noisy:0.8"]
        started = time.perf_counter()
        subprocess.run([*manage, *replicate], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        print(f"full replication: {time.perf_counter() - started:.0f} s")
        largest_file("clues-noisy-08")
    of_people()


if __name__ == "__main__":
    main()
