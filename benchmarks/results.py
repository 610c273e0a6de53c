"""Time the researchers' pages and the largest file after a full replication.

`python benchmarks/results.py` creates a replication of CLUES in a separate database (several
minutes). With `--study`, it reads a study in the database of DATABASE_URL. Each page is loaded in a
fresh process at first view, after the imports at the start of a server and the list of studies.
Prints Markdown. `make bench` runs it after the load.
"""

import argparse
import gc
import importlib
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.run import SHARED, database  # noqa: E402

HEAVY = ("numpy", "pandas")
FILE = "answers.csv"
PAGES = (
    "study", "human performance", "training table", "examples", "one example", "participation",
    "figures", "data of a figure", "sensitivity", "models", "differences of models", "planner",
    "pay", "links", "platforms", "report", "release bundle",
    "analysis, before its resampling", "a figure's drawing", "numbers of a figure",
    "leaderboard", "gold audit", "several studies",
)  # fmt: skip


def addresses(name: str) -> dict[str, str]:
    """Map pages to their addresses, for the kind of annotators in the study."""
    from annotation.models import Answer, Step, Study

    study = Study.objects.get(name=name)
    answer = Answer.objects.filter(
        turn__participation__in=study.participations.analysed()[:1], turn__step=Step.ANNOTATION
    ).select_related("turn__participation")[:1][0]
    participation, base = answer.turn.participation, f"/studies/{name}/"
    kind = f"?kind={participation.kind}"
    scores = f"{base}human-performance/"
    in_order = (
        base, scores, f"{scores}?show=training", f"{base}examples/{kind}",
        f"{base}examples/{answer.turn.example_id}/", f"{base}annotators/{participation.pseudonym}/",
        f"{scores}{kind}&show=figures", f"{base}figures/learning.csv{kind}",
        f"{scores}{kind}&show=sensitivity",
        f"{base}models/{kind}", f"{base}models/differences/{kind}", "/planner/", f"{base}pay/",
        f"{base}recruit/?show=links", f"{base}recruit/?show=platforms", f"{base}report/",
        f"{base}release/",
        f"{base}analysis/{kind}", f"{base}figures/shots.json{kind}",
        f"{base}figures/shots/numbers/{kind}", f"{base}models/{kind}&show=leaderboard",
        f"{base}examples/{kind}&show=gold_audit", f"/compare/{kind}&study={name}",
    )  # fmt: skip
    return dict(zip(PAGES, in_order, strict=True))


def one_page(name: str, page: str) -> None:
    """Print the load time, the number of queries and the size of a page on its first view.

    Also print processor time, a more reliable measure on a busy machine.
    """
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.core.cache import caches
    from django.db import connection
    from django.test import Client

    caches["process"].clear()
    address = addresses(name)[page]
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(User.objects.get(studies__name=name))
    client.get("/studies/")  # loads the views, as a server does before it accepts requests
    for module in HEAVY:  # loaded once per process, by the first page that needs them
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # like config/wsgi.py
    queries = 0

    def count(execute, sql, params, many, context):
        nonlocal queries
        queries += 1
        return execute(sql, params, many, context)

    with connection.execute_wrapper(count):
        started, worked = time.perf_counter(), time.process_time()
        reply = client.get(address)
        took, worked = time.perf_counter() - started, time.process_time() - worked
    if reply.status_code != 200:
        sys.exit(f"{page}: status {reply.status_code}")
    size = len(reply.content) // 1024
    print(f"{took:.2f} s ({worked:.2f} s of processor time), {queries} queries, {size} KB")


def largest_file(name: str) -> None:
    """Print the time for `answers.csv`, and the growth of the process."""
    import django

    django.setup()
    from analysis.export.columns import COLUMNS
    from analysis.export.rows import answers_rows
    from annotation.models import Study
    from tasks.csv_files import write_csv

    study = Study.objects.get(name=name)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    with open(os.devnull, "w", encoding="utf-8") as file:
        rows = write_csv(file, list(COLUMNS["answers.csv"]), answers_rows(study))
    took = time.perf_counter() - started
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{rows} rows in {took:.2f} s, memory grown by {grown:.0f} MB")


def measure(name: str) -> None:
    """Print the times of each page and of the file, without changing the study."""
    print("| page or file | first view |\n|---|---|")
    for page in (*PAGES, FILE):
        command = [sys.executable, __file__, "--study", name, "--only", page]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        print(f"| {page} | {done.stdout.strip() or 'FAILED'} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", help="an existing study of the database in DATABASE_URL")
    parser.add_argument("--only", choices=(*PAGES, FILE), help="this alone, in this process")
    options = parser.parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    if options.only == FILE:
        largest_file(options.study)
    elif options.only:
        one_page(options.study, options.only)
    elif options.study:
        measure(options.study)
    else:
        of_a_replication()


def of_a_replication() -> None:
    with database("handful_results") as address:
        os.environ["DATABASE_URL"] = address
        manage = [sys.executable, "manage.py"]
        subprocess.run([*manage, "migrate", "-v0"], cwd=ROOT, check=True)
        replicate = ["replicate_clues", str(SHARED / "data" / "clues"), "--policy", "noisy:0.8"]
        started = time.perf_counter()
        subprocess.run([*manage, *replicate], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        print(f"full replication: {time.perf_counter() - started:.0f} s\n")
        measure("clues-noisy-08")


if __name__ == "__main__":
    main()
