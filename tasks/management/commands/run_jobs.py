"""Run waiting jobs, such as large imports and jobs whose page is closed.

Afterwards, run the periodic tasks that depend on jobs (tasks/periodic.py), as `tick` does.
"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasks import installation, jobs, periodic


class Command(BaseCommand):
    help = (
        "Run all waiting jobs, then stop. Jobs that other processes are running are not affected,"
        " but if such a process was killed, its job is resumed within half a minute."
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
        # These depend on jobs, or on the same conditions. `tick` runs them and all others.
        for outcome in periodic.tick(periodic.AFTER_JOBS):
            if outcome.state == "failed":
                problem += f" {outcome.name} failed: {outcome.message}"
        if problem:
            raise CommandError(problem.strip())
