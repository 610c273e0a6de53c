"""Do what waits: bootstraps, bundles and imports whose page nobody looks at, or that are large.

And what is done from time to time: old uploads go, and seats that were left are given back.
"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasks import installation, jobs, uploads
from tasks.models import Job


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
        failed = 0
        waiting = (Job.State.WAITING, Job.State.RUNNING)
        for job in Job.objects.filter(state__in=waiting, kind__in=jobs.known()):
            while jobs.run_chunk(job) or (job.lease and jobs.wait_for_lease(job)):
                self.stdout.write(str(job))
            self.stdout.write(f"{job}, {job.state}" + (f": {job.error}" if job.error else ""))
            failed += job.has_failed
        uploads.drop_old()
        jobs.sweep()
        for sweep in jobs.SWEEPS:
            sweep()
        if failed:
            raise CommandError(f"{failed} failed. Their pages say what to do.")
