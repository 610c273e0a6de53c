"""Run waiting jobs (bootstraps, bundles and imports) that are large or not being polled.

Afterwards, run those periodic parts that depend on jobs (tasks/periodic.py), like `tick`.
"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasks import installation, jobs, periodic


class Command(BaseCommand):
    help = (
        "Run all waiting jobs, then stop. Other processes' jobs are not affected. If a job's"
        " process was killed, the job is resumed within half a minute."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if conflict := installation.conflict():
            raise CommandError(conflict)
        for require in jobs.CONDITIONS:
            require()
        try:
            periodic.run_all_jobs(self.stdout.write)
            problem = ""
        except jobs.JobError as error:
            problem = str(error)
        # These parts depend on jobs, or wait for the same things. `tick` runs them and all others.
        for outcome in periodic.tick(periodic.AFTER_JOBS):
            if outcome.state == "failed":
                problem += f" {outcome.name} failed: {outcome.message}"
        if problem:
            raise CommandError(problem.strip())
