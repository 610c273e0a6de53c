"""Replicate CLUES in full with simulated annotators."""

from argparse import ArgumentParser
from pathlib import Path
from time import monotonic
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand

from analysis.scores.anchors import ANCHORS
from analysis.scores.columns import as_csv
from analysis.scores.confidence import CALIBRATION, CONFIDENCE
from analysis.scores.performance import performance
from analysis.scores.rendering import as_markdown
from annotation.models import Kind, Study
from tasks.importing import CLUES
from tasks.management.commands.import_clues import owner_of


class Command(BaseCommand):
    help = "Let simulated annotators work through CLUES, or part of it, and print their results."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", type=Path, help="the folder that contains SST-2, MNLI, ...")
        parser.add_argument("--tasks", nargs="+", choices=list(CLUES), default=list(CLUES))
        parser.add_argument("--shots", nargs="+", type=int, default=[0, 10, 20, 30])
        parser.add_argument("--annotators", type=int, default=3, help="per scenario (default: 3)")
        parser.add_argument("--policy", default="noisy:0.8:0.1", help="(noisy:0.8:0.1)")
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--name", help="name of the study (default: clues-POLICY)")
        parser.add_argument("--owner", help="user name of the researcher")
        parser.add_argument("--anchors", type=int, default=0, help="anchor examples per task")
        parser.add_argument("--confidence", type=float, default=0, help="share of rated answers")
        parser.add_argument("--processes", type=int, default=2)

    def handle(self, *args: Any, **options: Any) -> None:
        started = monotonic()
        letters = options["policy"].replace(":", "-").replace(".", "").replace("+", "-")
        name = options["name"] or f"clues-{letters}"
        owner = owner_of(options["owner"])
        call_command("import_clues", str(options["path"]), task=options["tasks"], rechain=True)
        call_command(
            "create_study", name, owner=owner, open=True, rehearsal=True,
            **{key: options[key] for key in ("tasks", "shots", "annotators", "seed")},
            try_the_tool=False,  # not part of CLUES
            anchor_examples=options["anchors"], confidence_share=options["confidence"],
        )  # fmt: skip
        call_command(
            "simulate_workers", name, policy=options["policy"], seed=options["seed"],
            processes=options["processes"],
        )  # fmt: skip
        study = Study.objects.get(name=name)
        self.stdout.write(as_markdown(performance(study, Kind.SIMULATED)))
        for table in (ANCHORS, CONFIDENCE, CALIBRATION):
            if rows := table.rows(study, Kind.SIMULATED):
                self.stdout.write(as_csv(table.columns, rows))
        self.stdout.write(f"{monotonic() - started:.0f} s in total")
