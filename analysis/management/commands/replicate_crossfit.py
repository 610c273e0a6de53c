"""Run a cross-task study on Few-shot Gym tasks with simulated annotators, from import to ARG."""

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from analysis.cross_task import cross_task, upstream
from annotation.models import Kind, Study
from annotation.study import design_file
from tasks.columns import Column, cells, on_page
from tasks.gym import catalogue
from tasks.management.commands.import_clues import owner_of
from tasks.models import Task


class Command(BaseCommand):
    help = (
        "Import a partition's tasks from a folder (NAME/NAME_K_SEED_{train,dev,test}.tsv), open a"
        " cross-task study on them, let simulated annotators take part, and print their ARG."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", type=Path, help="the folder that contains the tasks")
        parser.add_argument(
            "--partition", default="train_non_nli_test_nli", choices=sorted(catalogue.partitions())
        )
        parser.add_argument("--unseen", type=int, default=2, help="unseen tasks (default: 2)")
        parser.add_argument("--upstream", type=int, default=3, help="upstream tasks (default: 3)")
        parser.add_argument("--examples", type=int, default=4, help="per upstream task (4)")
        parser.add_argument(
            "--arms", type=Path, help="a design file whose [[arms]] are several upstream arms"
        )
        parser.add_argument("--test", type=int, default=40, help="per task (default: 40)")
        parser.add_argument("--annotators", type=int, default=3, help="per task and arm (3)")
        parser.add_argument(
            "--policy", default="transfer:0.6:0.2", help="transfer:P:GAIN or P:ARM=GAIN,ARM=GAIN"
        )
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--name", default="crossfit", help="name of the study")
        parser.add_argument("--owner", help="user name of the researcher")
        parser.add_argument("--processes", type=int, default=2)

    def handle(self, *args: Any, **options: Any) -> None:
        started = monotonic()
        unseen, upstream, sham = self._task_names(options)
        owner = owner_of(options["owner"])
        call_command(
            "import_gym", str(options["path"]), tasks=[*unseen, *upstream, sham],
            test=options["test"], seed=options["seed"], owner=owner, stdout=self.stdout,
        )  # fmt: skip
        unseen, shots = self._of_most_common_size(unseen)
        call_command(
            "create_study", options["name"], tasks=unseen, shots=[shots],
            annotators=options["annotators"], seed=options["seed"], owner=owner,
            upstream_tasks=upstream, upstream_examples=options["examples"], sham_task=sham,
            partition=options["partition"], design=options["arms"], try_the_tool=False, open=True,
            rehearsal=True, stdout=self.stdout, stderr=self.stderr,
        )  # fmt: skip
        call_command(
            "simulate_workers", options["name"], policy=options["policy"], seed=options["seed"],
            processes=options["processes"], verbosity=options["verbosity"], stdout=self.stdout,
        )  # fmt: skip
        self._print_results(Study.objects.get(name=options["name"]))
        self.stdout.write(f"{monotonic() - started:.0f} s in total")

    def _task_names(self, options: dict[str, Any]) -> tuple[list[str], list[str], str]:
        """Choose unseen, upstream and sham tasks that humans can do. Raises CommandError."""
        offered = catalogue.offer(catalogue.partitions()[options["partition"]])
        folder: Path = options["path"]
        if not folder.is_dir():
            raise CommandError(f"{folder} is not a folder.")
        folders = {path.name for path in folder.iterdir() if path.is_dir()}
        unseen = sorted(folders.intersection(offered.held_out))[: options["unseen"]]
        candidates = sorted(folders.intersection(offered.upstream))
        upstream = self._arm_tasks(options["arms"]) or candidates[: options["upstream"]]
        spare = [name for name in candidates if name not in upstream]
        if len(unseen) < options["unseen"] or not spare:
            raise CommandError(
                f"{folder} contains too few tasks of {offered.name} that humans can do: unseen"
                f" {', '.join(unseen) or 'none'}; upstream {', '.join(candidates) or 'none'}."
            )
        # Grammatical minimal pairs require no knowledge from other tasks.
        sham = next((name for name in spare if name.startswith("blimp")), spare[0])
        return unseen, upstream, sham

    def _arm_tasks(self, path: Path | None) -> list[str]:
        """Return the upstream tasks that the arms of a design file name. Raises CommandError."""
        try:
            arms = design_file.read(path).fields.get("arms", []) if path else []
        except design_file.DesignFileError as error:
            raise CommandError(str(error)) from None
        return sorted({task for arm in arms for task in arm.get("tasks", [])})

    def _of_most_common_size(self, names: list[str]) -> tuple[list[str], int]:
        """Return the unseen tasks with the most common K, and that K. A study has only one K."""
        sizes = {
            task.name: task.training_sizes[0]
            for task in Task.objects.latest_versions().filter(name__in=names)
        }
        (shots, _times), *_tail = Counter(sizes.values()).most_common(1)
        for name in [name for name in names if sizes[name] != shots]:
            self.stdout.write(f"{name} is left out, because its K is {sizes[name]}, not {shots}.")
        return [name for name in names if sizes[name] == shots], shots

    def _print_results(self, study: Study) -> None:
        self._table(cross_task.GAINS, cross_task.joint(study, Kind.SIMULATED))
        for table in upstream.SEVERAL_ARMS if study.arms else ():
            self._table(table.columns, table.rows(study, Kind.SIMULATED))
        for text in cross_task.sentences(study, Kind.SIMULATED):
            self.stdout.write(text)

    def _table(self, columns: Sequence[Column], rows: Sequence[Any]) -> None:
        headings = [column.heading for column in on_page(columns)]
        lines = [headings, ["---"] * len(headings), *cells(columns, rows)]
        self.stdout.write("\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines))
