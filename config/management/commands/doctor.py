"""What is wrong with this installation, and how to fix it."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from config import doctor
from config.doctor.findings import FAIL


class Command(BaseCommand):
    help = (
        "Look for what is wrong: keys, database, guards, clocks, folders, disk, mail, Prolific,"
        " cron, proxies. Changes nothing, sends no mail. Ends with 1 where something fails."
    )
    requires_system_checks: list[str] = []  # what they find is found here, with a way out

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON array, for programs")

    def handle(self, *args: Any, **options: Any) -> None:
        findings = []
        for check, finding in doctor.examine():
            findings.append({"check": check, **asdict(finding)})
            if not options["json"]:
                self.stdout.write(f"{finding.state.upper():4}  {check}: {finding.what}")
                if finding.fix:
                    self.stdout.write(f"      {' ' * len(check)}  fix: {finding.fix}")
        if options["json"]:
            self.stdout.write(json.dumps(findings, ensure_ascii=False, indent=1))
        if any(finding["state"] == FAIL for finding in findings):
            sys.exit(1)
