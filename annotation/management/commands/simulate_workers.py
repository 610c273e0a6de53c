"""Let simulated annotators take part in a study."""

import multiprocessing
from argparse import ArgumentParser
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from django.urls import reverse
from tqdm import tqdm

from annotation.models import Study
from annotation.simulation import simulated_annotators
from annotation.simulation.policies import POLICIES, Knowledge


class Command(BaseCommand):
    help = "Let simulated annotators take part in a rehearsal, using the same pages as humans."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="name of an open study")
        parser.add_argument("--policy", default="noisy:0.8", help=" | ".join(POLICIES))
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--number", type=int, help="default: one for each free seat")
        parser.add_argument("--processes", type=int, default=2)

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(name=options["study"]).first()
        if study is None:
            raise CommandError(f"The study {options['study']!r} does not exist.")
        policy = options["policy"]
        try:
            waited, number = simulated_annotators.to_run(study, policy, options["number"])
        except (simulated_annotators.NoRehearsal, ValueError) as error:
            raise CommandError(str(error)) from None
        resumed = [reverse("work", args=[participation.token]) for participation in waited]
        landing = reverse("landing", args=[study.simulated_link_code])
        jobs = [
            (study.pk, policy, f"{options['seed']}:{index}", address)
            for index, address in enumerate([*resumed, *[landing] * number])
        ]
        answers = self._run(jobs, options["processes"], show=options["verbosity"] > 0)
        self.stdout.write(f"{len(jobs)} simulated annotators gave {answers} answers.")

    def _run(self, jobs: list[tuple[Any, ...]], processes: int, show: bool) -> int:
        shown = partial(tqdm, total=len(jobs), unit="annotator", disable=not show)
        if processes < 2 or len(jobs) < 2:
            return sum(shown(map(one_walk, jobs)))
        # Processes cannot share a connection, so each of them opens a new one.
        connections.close_all()
        with multiprocessing.get_context("fork").Pool(processes) as pool:
            return sum(shown(pool.imap_unordered(one_walk, jobs)))


_knowledge: dict[str, Knowledge] = {}  # in each process, by hash of the frozen design


def one_walk(job: tuple[int, str, str, str]) -> int:
    study_id, policy, seed, address = job
    study = Study.objects.get(pk=study_id)
    if study.manifest_hash not in _knowledge:
        _knowledge[study.manifest_hash] = Knowledge(study)
    site = simulated_annotators.InProcess()
    knowledge = _knowledge[study.manifest_hash]
    return sum(1 for _ in simulated_annotators.walk(site, address, policy, knowledge, seed))
