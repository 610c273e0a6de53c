"""Time a study of a million answers: its export, table, pages, `verify.py` and release bundle.

`make bench-million`, or `python benchmarks/million.py` for SQLite in a temporary folder; on
PostgreSQL `python tests/with_postgres.py python benchmarks/million.py`. Needs the published CLUES
files (HANDFUL_SHARED) and a few GB of disk. A study of a tenth of the size goes first, so that
growth is seen. Each step runs in a process of its own, whose peak memory is read when it ends; the
memory of a PostgreSQL server is not in it. Prints Markdown tables.
"""

import argparse
import contextlib
import os
import random
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.run import SHARED, database  # noqa: E402

if TYPE_CHECKING:
    from annotation.models import Participation, Scenario, Study
    from tasks.models import Example
    from tasks.spans import GivenAnswer

NAME = "million"
RIGHT = 0.8  # share of answers that are the gold, as of the policy noisy:0.8
MISTAKES = 8  # wrong answers to an example to draw from
CHUNK = 5000  # rows of one insert
STARTED = datetime(2026, 1, 5, 9, tzinfo=UTC)


# The study ----------------------------------------------------------------------------------------


class Choice(NamedTuple):
    """An answer to an example, and its S1."""

    answer: "GivenAnswer"
    s1: float


class Choices:
    """The gold answer to each example of the tasks, and some mistakes, each drawn and scored once.

    As simulated annotators make them; walking a million pages would take hours.
    """

    def __init__(self) -> None:
        self._of: dict[int, tuple[Choice, list[Choice]]] = {}
        self._rng = random.Random(1)

    def draw(self, example: "Example", rng: random.Random) -> Choice:
        if example.pk not in self._of:
            self._of[example.pk] = self._make(example)
        right, wrong = self._of[example.pk]
        return right if rng.random() < RIGHT else rng.choice(wrong)

    def _make(self, example: "Example") -> tuple[Choice, list[Choice]]:
        from annotation.simulation import robots
        from tasks.metrics import score
        from tasks.spans import GivenAnswer

        card = example.split.task.card
        question = card.selectable_question(example.question)
        known = robots.Known(example.gold, example.context, question, card)

        def choice(policy: robots.Policy) -> Choice:
            spans, texts = policy(known, self._rng)
            label = texts[0] if card.labels else ""
            given = GivenAnswer(tuple(sorted(spans)), label, not spans and not texts)
            return Choice(given, score(given.texts, example.gold, card.gold_rule).s1)

        return choice(robots.gold), [choice(robots.mistaken) for _ in range(MISTAKES)]


def fill(answers: int) -> None:
    """Make a study of at least so many answers, by inserts in bulk; the guards stand."""
    import django

    django.setup()
    from django.contrib.auth import get_user_model
    from django.core.management import call_command
    from django.db import transaction

    from annotation.models import Study
    from annotation.steps import signs
    from annotation.study import design, lifecycle
    from tasks.importing import CLUES, import_task, read_clues

    call_command("migrate", verbosity=0)
    tasks = [import_task(*read_clues(SHARED / "data" / "clues", name)).task for name in CLUES]
    shots = [0, 10, 20, 30]
    each = sum(shots) * len(tasks) + len(shots) * sum(t.test_split.examples.count() for t in tasks)
    rounds = -(-answers // each)
    owner = get_user_model().objects.create_user("bench")
    study = Study(
        owner=owner, name=NAME, title="Bench", shots=shots, annotators=rounds, seed=1,
        hide_test_scores=False,
    )  # fmt: skip
    design.suggest_limits(study, tasks)
    design.save_draft(study, tasks)
    lifecycle.change_status(study, "open")
    scenarios = list(study.scenarios.select_related("task"))
    steps = {scenario.pk: _steps(scenario) for scenario in scenarios}
    choices, stored = Choices(), 0
    for number in range(1, rounds + 1):
        # One of each scenario at a time.
        with transaction.atomic():
            people = [
                _participation(study, scenario, number, steps[scenario.pk])
                for scenario in scenarios
            ]
            walks = [_walk(person, steps[person.scenario_id], choices) for person in people]
            stored += _store_mixed(walks)
            for person in people:
                person.signs = signs.for_participation(person)._asdict()
                person.test_s1 = person.mean_s1_of_test()
                person.save(update_fields=["signs", "test_s1"])
    print(f"{stored:,} answers of {rounds * len(scenarios):,} annotators")


def _steps(scenario: "Scenario") -> dict[str, list["Example"]]:
    """The examples of both steps, in the order of their files."""
    splits = {"annotation": scenario.task.test_split}
    if scenario.shots:
        training = scenario.task.train_split(scenario.shots, scenario.split_number)
        splits = {"training": training} | splits
    return {
        step: list(split.examples.select_related("split__task").order_by("position"))
        for step, split in splits.items()
    }


def _participation(
    study: "Study", scenario: "Scenario", number: int, steps: dict[str, list["Example"]]
) -> "Participation":
    from annotation.models import Kind, Status, Worker
    from annotation.recruitment import seats
    from annotation.steps.ordering import order_examples

    # People, made up as they are: the report and its figures are about nobody else.
    worker = Worker.objects.create(
        key=secrets.token_hex(32), platform="simulated", kind=Kind.PERSON
    )
    participation = seats.take_seat(study, scenario, worker, browser=secrets.token_hex(32))
    for step, examples in steps.items():
        places = [(example.pk, str(example.context)) for example in examples]
        # As training_step draws them: verify.py draws them again.
        name = participation.pseudonym
        seed = f"{study.seed}:{scenario.shots}:{scenario.task.name}:{name}:{step}"
        setattr(
            participation, f"{step}_order", order_examples(places, study.annotation_order, seed)
        )
    participation.status = Status.COMPLETED
    participation.arrived_at = participation.consented_at = STARTED + timedelta(hours=number)
    participation.save()
    return participation


def _walk(
    participation: "Participation", steps: dict[str, list["Example"]], choices: Choices
) -> Iterator[tuple[Any, ...]]:
    """(turn, choice, seconds) of each example, in this annotator's order."""
    from annotation.models import Turn

    rng = random.Random(participation.pk)
    clock, pace = participation.arrived_at, rng.uniform(1.5, 3)
    for step, examples in steps.items():
        by_key = {example.pk: example for example in examples}
        for position, pk in enumerate(participation.order_of(step)):
            seconds = rng.lognormvariate(pace, 0.6)
            turn = Turn(
                participation=participation,
                example_id=pk,
                step=step,
                position=position,
                shown_at=clock,
            )
            yield turn, choices.draw(by_key[pk], rng), seconds
            clock += timedelta(seconds=seconds + 1)


def _store_mixed(walks: list[Iterator[tuple[Any, ...]]]) -> int:
    """Store what they yield, mixed as the answers of people at work are; the number of answers."""
    mixed = (row for turns in zip_longest(*walks) for row in turns if row is not None)
    stored = 0
    while rows := list(islice(mixed, CHUNK)):
        stored += _store(rows)
    return stored


def _store(rows: list[tuple[Any, ...]]) -> int:
    """Insert turns with their answers, spans and signs of work; return how many."""
    from annotation.models import Activity, Answer, AnswerSpan, Turn
    from tasks.tokens import TOKENISER

    Turn.objects.bulk_create([turn for turn, _choice, _seconds in rows])
    answers, spans, activities = [], [], []
    for turn, (given, s1), seconds in rows:
        submitted_at = turn.shown_at + timedelta(seconds=seconds)
        answers.append(
            Answer(
                turn=turn, no_answer=given.no_answer, label=given.label, s1=s1,
                tokeniser=TOKENISER, active_seconds=int(1000 * seconds) / 1000,
                submitted_at=submitted_at,
            )
        )  # fmt: skip
        spans += [AnswerSpan(answer_id=turn.pk, **span._asdict()) for span in given.spans]
        activities.append(Activity(turn=turn, seconds=seconds, last_at=submitted_at))
    Answer.objects.bulk_create(answers)
    AnswerSpan.objects.bulk_create(spans)
    Activity.objects.bulk_create(activities)
    return len(rows)


# The measurements ---------------------------------------------------------------------------------

SCORES = """
import time, django
django.setup()
from analysis.tables import frames, performance
from annotation.models import Study
study = Study.objects.get()
started = time.perf_counter()
frame = frames.annotators(study)
print(f"frames.annotators {time.perf_counter() - started:.2f} s", end="; ")
for kind in performance.kinds_of(frame):
    performance.versions(study, kind, frame)
print(f"with the tables {time.perf_counter() - started:.2f} s")
"""


@contextlib.contextmanager
def fresh_database(folder: str) -> Iterator[str]:
    """A database beside that of DATABASE_URL on PostgreSQL, else a SQLite file: its address."""
    if os.environ.get("DATABASE_URL", "").startswith("postgres"):
        with database("handful_million") as address:
            yield address
    else:
        yield f"sqlite:///{folder}/million.sqlite3"


def measure(what: str, command: list[str], environment: dict[str, str]) -> None:
    """Run it and print a row: what it said last, seconds from start to end, peak memory in MB.

    Of a step that starts a process of its own, the memory is that of the larger one.
    """
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )
    output = process.stdout.read().strip().splitlines() if process.stdout else []
    _pid, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    took = time.perf_counter() - started
    note = output[-1] if output else ""
    if process.returncode:
        note = f"FAILED with {process.returncode}: {note}"
    print(f"| {what} | {took:.1f} | {used.ru_maxrss / 1024:.0f} | {note} |", flush=True)


def measure_study(answers: int) -> None:
    with tempfile.TemporaryDirectory() as folder, fresh_database(folder) as address:
        environment = os.environ | {
            "DATABASE_URL": address,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "HANDFUL_VAR": f"{folder}/var",
        }
        print(f"\n{answers:,} answers, {address.split(':')[0]}; load {os.getloadavg()[0]:.1f}\n")
        print("| what | seconds | peak memory, MB | what it said |\n|---|---|---|---|")
        out = Path(folder) / "export"
        pages = ["-m", "benchmarks.pages", NAME, "--only"]
        steps = {
            "making it": ["benchmarks/million.py", "--fill", str(answers)],
            "nothing but a start": ["-c", "import django; django.setup(); import config.urls"],
            "`manage.py export_study`": ["manage.py", "export_study", NAME, str(out)],
            "human-performance table": ["-c", SCORES],
            "study page": [*pages, "study"],
            "human-performance page": [*pages, "human performance"],
            "`verify.py`": [str(out / "verify.py")],
            "`manage.py release_study`": ["manage.py", "release_study", NAME, f"{folder}/bundle"],
        }
        for what, command in steps.items():
            measure(what, command, environment)
        if out.exists():
            size = sum(path.stat().st_size for path in out.iterdir()) / 1e6
            print(f"\nThe export has {size:.0f} MB; load at the end {os.getloadavg()[0]:.1f}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--fill", type=int, help="only make the study, in DATABASE_URL")
    options = parser.parse_args()
    if options.fill:
        fill(options.fill)
        return
    for answers in options.answers:
        measure_study(answers)


if __name__ == "__main__":
    main()
