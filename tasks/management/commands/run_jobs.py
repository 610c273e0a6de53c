"""Do what waits: bootstraps, bundles and imports whose page nobody looks at, or that are large.

And the periodic work of this server itself (tasks/periodic.py): `tick` does it, too.
"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasks import installation, jobs, periodic


class Command(BaseCommand):
    help = (
        "Run all waiting jobs, then stop. Jobs that run elsewhere are left alone; a job whose"
        " process was killed is resumed within half a minute."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if sentence := installation.conflict():
            raise CommandError(sentence)
        for require in jobs.CONDITIONS:
            require()
        try:
            periodic.run_all_jobs(self.stdout.write)
            problem = ""
        except jobs.JobError as error:
            problem = str(error)
        # What follows from jobs, or waits for the same: `tick` does this and all the rest.
        for outcome in periodic.tick(periodic.AFTER_JOBS):
            if outcome.state == "failed":
                problem += f" {outcome.name} failed: {outcome.said}"
        if problem:
            raise CommandError(problem.strip())
