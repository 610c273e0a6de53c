"""Time a study's page and its updates, with a generated study of 100,000 answers.

Run `python benchmarks/dashboard.py` on a separate database (`make bench` runs it last). The rows
are inserted in bulk without the steps of the protocol, so use them only for timing.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.run import database  # noqa: E402

TASKS, SHOTS, SEATS, TEST = 6, (0, 10, 20, 30), 14, 300
# The last annotator of each scenario has given half of the answers.
ANSWERS = sum(TASKS * (SEATS - 1) * (k + TEST) + TASKS * ((k + TEST) // 2) for k in SHOTS)
PAGES = (
    "/studies/",
    "/studies/large/",
    "/studies/large/?page=6",
    "/studies/large/progress/",
    "/studies/large/people/?show=flagged",
)


def make() -> int:
    """Create the study `large` with an active annotator per scenario. Return its answers."""
    from django.contrib.auth.models import User

    from annotation.models import Study
    from annotation.study import design, lifecycle
    from tasks.cards import parse_card
    from tasks.formats import Record, SplitFile
    from tasks.importing import import_task

    def records(kind: str, number: int) -> list[Record]:
        return [
            Record(f"{kind}-{n}", (f"{kind} {n}: off to Oslo.",), "Where?", ("Oslo",), None)
            for n in range(number)
        ]

    card = {
        "title": "Places", "family": "sequence_labelling", "description": "Find the places.",
        "instructions": "Highlight every place.", "submit_hint": "Then submit.",
        "segments": ["Sentence"], "no_answer": True, "question_selectable": False,
        "gold_rule": "set", "language": "en", "direction": "ltr", "source": "made up",
        "licence": "CC0",
    }  # fmt: skip
    tasks = []
    for index in range(TASKS):
        pool = records("train", max(SHOTS))
        files = [SplitFile("train", k, 1, f"train_{k}.jsonl", pool[:k]) for k in SHOTS if k]
        files.append(SplitFile("test", None, None, "test.jsonl", records("test", TEST)))
        tasks.append(import_task(parse_card(card | {"name": f"large-{index}"}, "card"), files).task)
    owner = User.objects.create_user("owner")
    study = Study(
        owner=owner,
        name="large",
        title="Large",
        shots=list(SHOTS),
        annotators=SEATS,
        seed=1,
        hide_test_scores=False,
    )
    design.suggest_limits(study, tasks)
    design.save_draft(study, tasks)
    lifecycle.change_status(study, "open")
    return sum(_fill(scenario) for scenario in study.scenarios.select_related("task"))


def _fill(scenario) -> int:
    """Fill every seat with a person who answered everything, or half of it on the last seat."""
    from annotation.models import LedgerEntry
    from annotation.protocol import activity_summary

    rng = random.Random(scenario.pk)
    answers = 0
    for participation in take_seats(scenario):
        answers += _answer(participation, rng)
        if participation.finished_at:
            participation.activity_summary = activity_summary.for_participation(
                participation
            )._asdict()
            participation.save(update_fields=["activity_summary"])
            LedgerEntry.objects.create(
                participation=participation, kind="partial", cents=1200, currency="USD",
                reason="made up",
            )  # fmt: skip
    return answers


def take_seats(scenario) -> list:
    """Put a person without answers on each seat. The last one is active."""
    rng = random.Random(scenario.pk)
    return [_seated(scenario, seat, rng) for seat in range(1, SEATS + 1)]


def _seated(scenario, seat: int, rng: random.Random):
    from django.utils import timezone

    from annotation.models import Participation, Worker

    train = []
    if scenario.shots:
        split = scenario.task.train_split(scenario.shots, scenario.split_number)
        train = list(split.examples.values_list("pk", flat=True))
    now, is_done = timezone.now(), seat < SEATS
    worker = Worker.objects.create(key=f"{scenario.pk}-{seat}", platform="link", kind="person")
    return Participation.objects.create(
        study=scenario.study, scenario=scenario, worker=worker, kind="person",
        pseudonym=f"A-{scenario.pk}-{seat}", seat_number=seat, arrival=worker.pk,
        status="completed" if is_done else "working",
        training_order=train,
        annotation_order=list(scenario.task.test_split.examples.values_list("pk", flat=True)),
        arrived_at=now - timedelta(hours=2), consented_at=now - timedelta(hours=2),
        finished_at=now if is_done else None,
        worked_seconds=rng.uniform(2000, 4000) if is_done else None,
    )  # fmt: skip


def _answer(participation, rng: random.Random) -> int:
    """Answer all examples, or half of them with the next one shown. Return the number."""
    from django.utils import timezone

    from annotation.models import Answer, AnswerSpan, Step, Turn

    now = timezone.now()
    order = [(Step.TRAINING, *row) for row in enumerate(participation.training_order)]
    order += [(Step.ANNOTATION, *row) for row in enumerate(participation.annotation_order)]
    answered = len(order)
    if not participation.finished_at:
        answered //= 2
        order = order[: answered + 1]
    turns = Turn.objects.bulk_create(
        Turn(
            participation=participation, example_id=pk, step=step, position=place, shown_at=now,
            channel="page",
        )
        for step, place, pk in order
    )  # fmt: skip
    answers = Answer.objects.bulk_create(
        Answer(
            turn=turn, no_answer=False, s1=rng.choice((0.0, 1.0)), tokeniser="t1",
            active_seconds=9.0, submitted_at=now, channel="page",
        )
        for turn in turns[:answered]
    )  # fmt: skip
    AnswerSpan.objects.bulk_create(
        AnswerSpan(answer=answer, segment=0, start=0, end=4, text="Oslo") for answer in answers
    )
    return len(answers)


def measure() -> None:
    """Print the median and the maximum time of ten visits of each page."""
    from django.contrib.auth.models import User
    from django.test import Client

    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(User.objects.get(username="owner"))
    for page in PAGES:
        visit = visit_of(client, page)
        visit()  # loads the modules that a server loads before it accepts requests
        times = [visit() for _ in range(10)]
        print(f"{page}: {statistics.median(times):.3f} s (at most {max(times):.3f})")


def visit_of(client, page: str) -> Callable[[], float]:
    """Return a function that visits the page and returns the seconds."""

    def visit() -> float:
        started = time.perf_counter()
        reply = client.get(page, headers={"HX-Request": "true"})
        took = time.perf_counter() - started
        if reply.status_code != 200:
            sys.exit(f"{page}: status {reply.status_code}")
        return took

    return visit


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    with database("handful_dashboard") as address:
        os.environ["DATABASE_URL"] = address
        subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, check=True)
        import django

        django.setup()
        from django.db import connection, connections

        print(f"{make()} answers")
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        measure()
        connections.close_all()


if __name__ == "__main__":
    main()
