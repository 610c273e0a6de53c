"""Time each researcher page of a study at first view, each in a fresh process.

`python -m benchmarks.pages STUDY` on the database of DATABASE_URL, which is read, not changed
(signing in excepted). The imports of a server's start and the list of studies come before the
clock; nothing that is kept from earlier views is used, but for the results of jobs where `--jobs`
runs these to their end first. Prints a Markdown table.
"""

import argparse
import gc
import importlib
import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.release import note, yard

ROOT = Path(__file__).parents[1]
HEAVY = ("numpy", "pandas", "scipy.stats", "altair")
PAGES = (
    "study", "human performance", "training table", "examples", "one example", "participation",
    "figures", "data of a figure", "sensitivity", "models", "differences of models", "planner",
    "pay", "lists", "links", "platforms", "report", "release bundle",
    "analysis, before its resampling", "a figure's drawing", "numbers of a figure",
    "leaderboard", "gold audit", "several studies",
)  # fmt: skip


def addresses(name: str) -> dict[str, str]:
    """Page -> its address, for the kind of annotators that took part."""
    from annotation.models import Answer, Step, Study

    study = Study.objects.get(name=name)
    answer = Answer.objects.filter(
        turn__participation__in=study.participations.analysed()[:1], turn__step=Step.ANNOTATION
    ).select_related("turn__participation")[:1][0]
    participation, base = answer.turn.participation, f"/studies/{name}/"
    kind = f"?kind={participation.kind}"
    in_order = (
        base, f"{base}human-performance/", f"{base}training/", f"{base}examples/{kind}",
        f"{base}examples/{answer.turn.example_id}/", f"{base}annotators/{participation.pseudonym}/",
        f"{base}figures/{kind}", f"{base}figures/learning.csv{kind}", f"{base}sensitivity/{kind}",
        f"{base}models/{kind}", f"{base}models/differences/{kind}", "/planner/", f"{base}pay/",
        f"{base}lists/", f"{base}links/", f"{base}platforms/", f"{base}report/", f"{base}release/",
        f"{base}analysis/{kind}", f"{base}figures/shots.json{kind}",
        f"{base}figures/shots/numbers/{kind}", f"{base}leaderboard/{kind}",
        f"{base}gold-audit/{kind}", f"/compare/{kind}&study={name}",
    )  # fmt: skip
    return dict(zip(PAGES, in_order, strict=True))


def measure(name: str, page: str) -> None:
    """Print seconds, queries and size of the page at its first view.

    Processor time too: on a busy machine it says more than the clock.
    """
    import django

    django.setup()
    from django.contrib.auth import get_user_model
    from django.core.cache import caches
    from django.db import connection
    from django.test import Client

    caches["process"].clear()
    address = addresses(name)[page]
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(get_user_model().objects.get(studies__name=name))
    client.get("/studies/")  # loads the views, as a server does before it serves
    for module in HEAVY:  # loaded once in the life of a process, by the first page that needs them
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # as config/wsgi.py does
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
    note(f"page: {page}", worked / yard())
    print(f"{took:.2f} s ({worked:.2f} s of processor time), {queries} queries, {size} KB")


def run_jobs(name: str) -> None:
    """Do what the pages of the analysis and of the report wait for."""
    import django

    django.setup()
    from analysis.documents import results
    from analysis.tables import performance, resampling
    from annotation.models import Study
    from tasks import jobs

    study = Study.objects.get(name=name)
    kind = performance.kinds(study)[0]
    for job in (resampling.job_of(study, kind, study.owner), results.job_of(study, study.owner)):
        while job is not None and not job.is_done:
            jobs.advance(job)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study")
    parser.add_argument("--only", choices=PAGES, help="this page alone, in this process")
    parser.add_argument("--jobs", action="store_true", help="run the jobs behind pages first")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if options.only:
        measure(options.study, options.only)
        return
    if options.jobs:
        run_jobs(options.study)
    print("| page | first view |\n|---|---|")
    for page in PAGES:
        command = [sys.executable, "-m", "benchmarks.pages", options.study, "--only", page]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        print(f"| {page} | {done.stdout.strip() or 'FAILED'} |", flush=True)


if __name__ == "__main__":
    main()
