"""Run periodic tasks. A timer, or cron, starts this command every minute."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasks import installation, jobs, periodic


class Command(BaseCommand):
    help = (
        "Run periodic tasks: free abandoned seats, sync platforms, send webhooks and notices, run"
        " waiting jobs and clean up. Let cron run it every minute, on one machine or several."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "part", nargs="*", help=f"run only these parts: {', '.join(periodic.all_parts())}"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if conflict := installation.conflict():
            raise CommandError(conflict)
        for require in jobs.CONDITIONS:
            require()
        unknown = sorted(set(options["part"]) - set(periodic.all_parts()))
        if unknown:
            raise CommandError(f"Unknown part: {', '.join(unknown)}.")
        failed = []
        for outcome in periodic.tick(set(options["part"]) or None):
            self.stdout.write(f"{outcome.name}: {outcome.state}: {outcome.message}")
            failed += [outcome.name] if outcome.state == "failed" else []
        if failed:
            raise CommandError(f"Failed: {', '.join(failed)}. The other parts did not fail.")
