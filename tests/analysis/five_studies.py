"""Five closed studies of different kinds: what is true of one is false of another.

Each is small and made through the real steps. The fixture `five` stores them once for a module
(see tests/analysis/conftest.py).
"""

import hashlib
from collections.abc import Callable

import pytest
from django.db import connection
from django.test import override_settings

from annotation.models import Arm, Participation, Scenario, Status, Study
from annotation.privacy import withdrawal
from annotation.prolific import drafts, studies, sync
from annotation.protocol import exclusion, own_questions, training_step
from annotation.recruitment import consent, seats
from annotation.study import lifecycle
from tests import factories
from tests.annotation.participation.test_participants_api import join, post
from tests.annotation.prolific import fixtures as prolific
from tests.annotation.study.test_cross_task import make_cross_task
from tests.prolific_double.platform import FakeProlific

TEMPLATE = "Read $text and answer."
MODEL = {
    "name": "openai/toy",
    "revision": "r1",
    "prompt_hash": hashlib.sha256(TEMPLATE.encode()).hexdigest(),
}
RUN = {
    "template": TEMPLATE, "harness": "tests", "examples": "answered", "context": "each",
    "temperature": 0.5, "seed": 3, "retries": 2, "input_tokens": 1200, "output_tokens": 60,
    "cost_usd": "0.25", "answers": 8, "invalid": 1, "refusals": 0, "seconds": 90.0,
}  # fmt: skip


def mistakes(number: int) -> Callable:
    """Answer the first `number` examples of each step wrong, and the rest right."""

    def answer(turn):
        is_wrong = turn.position < number
        return (factories.wrong_texts if is_wrong else factories.right_texts)(turn.example)

    return answer


def close(study: Study, owner) -> Study:
    lifecycle.change_status(study, "close", owner)
    study.refresh_from_db()
    return study


def come(study: Study, name: str = "") -> Participation:
    """Seat a person and take them to the first example."""
    person = factories.join(study, identity=name)
    consent.record(person, agree=True)
    if study.comprehension_questions:
        own_questions.answer_comprehension(person.token, {"question-1": "1"})
    training_step.begin(person.token)
    person.refresh_from_db()
    return person


def complete(study: Study, name: str = "") -> Participation:
    """Let a person complete the study; people in a cell differ in their number of mistakes."""
    person = come(study, name)
    factories.work_through(person, mistakes((person.seat_number + person.scenario.shots) % 4))
    person.refresh_from_db()
    return person


def clues(owner) -> Study:
    """A: a label task and a span task at 0 and 30 shots, 3 per cell; one declined, one returned."""
    labels = factories.make_task(name="SST-2", labels=factories.LABELS, shots=[30], test_size=6)
    spans = factories.make_task(name="CoNLL03", shots=[30], test_size=6)
    study = factories.make_study(
        owner, labels, spans, name="clues", title="Reading sentences", shots=[0, 30],
        annotators=3, equivalence_margin=5, exit_questionnaire=True, hypotheses="It helps.",
    )  # fmt: skip
    consent.record(factories.join(study), agree=False)
    seats.release_seat(come(study), Status.RETURNED)
    for _number in range(12):
        complete(study)
    return close(study, owner)


def multiple_choice(owner) -> Study:
    """B: own task, 4 of 10 test examples, scored by ACC; 12 per cell, one excluded, one model."""
    task = factories.make_kind(
        "option", name="own-choice", title="Trains", shots=[5], test_size=4, metric="ACC",
        test_of=10, test_seed=3,
    )  # fmt: skip
    study = factories.make_study(
        owner, task, name="own-choice", title="Trains", shots=[0, 5], annotators=12,
        qualification="minimum", qualification_threshold=20, base_reward="2.00",
        comprehension_questions="How often can you change an answer?\n- Often\n* Never",
        hide_test_scores=True,
    )  # fmt: skip
    for _number in range(24):
        complete(study)
    exclusion.decide(study.participations.earliest("pk"), False, "Asleep at the desk.", owner)
    complete(study)
    factories.predict(owner, "uploaded-model", task, 5, 1, lambda example: example.gold[:1])
    return close(study, owner)


def cross_task(owner) -> Study:
    """C: two unseen tasks in three arms, 3 people each; one withdrew after completing it."""
    study = make_cross_task(
        owner, annotators=3, budget=900, equivalence_margin=5, name="cross-task"
    )
    lifecycle.change_status(study, "open")
    wrong = {Arm.UPSTREAM: 1, Arm.SHAM: 2, Arm.DIRECT: 3}
    for number in range(19):
        person = come(study)
        factories.work_through(
            person, mistakes(wrong[person.scenario.arm] + person.seat_number % 2)
        )
        if not number:
            withdrawal.withdraw(person.token)
    return close(study, owner)


def models_as_annotators(owner) -> Study:
    """D: two tasks at 0 and 2 shots, each done by 6 people; a model has a seat in each cell."""
    labels = factories.make_task(name="toy-labels", labels=factories.LABELS, test_size=6)
    spans = factories.make_task(name="toy-spans", test_size=6)
    study = factories.make_study(
        owner, labels, spans, name="seated-models", title="Reading", shots=[0, 2], annotators=3,
        tasks_per_worker=2, hourly_rate=0, hide_test_scores=True,
    )  # fmt: skip
    for number in range(12):
        complete(study, f"reader-{number % 6}")
    for scenario in study.scenarios.all():
        take_part_as_a_model(scenario, factories.bearer(owner, "run"))
    return close(study, owner)


def take_part_as_a_model(scenario: Scenario, token: dict[str, str]) -> None:
    """Take a seat as a model through the API, answer, and report how the model ran."""
    where = {
        "task": scenario.task.name, "shots": scenario.shots, "split": scenario.split_number,
    }  # fmt: skip
    body = {"kind": "model", "model": MODEL, "scenario": where, "replicate": 1}
    seat = join(scenario.study.link_code, body, **token).json()["token"]
    post("consent", seat, {"agree": True})
    post("begin", seat)
    factories.work_through(Participation.objects.get(token=seat), mistakes(2))
    post("finish", seat, RUN)


def on_prolific(owner) -> Study:
    """E: people from Prolific, 2 per cell; one of them was rejected there after completing it."""
    fake = FakeProlific(token="t")
    server = fake.serve()
    with override_settings(
        PROLIFIC_URL=server.url, PROLIFIC_APP_URL=server.url, PROLIFIC_TOKEN="t"
    ):
        study = factories.make_study(
            owner, factories.make_task(test_size=6), name="on-prolific", title="Places",
            shots=[0, 2], annotators=2, currency="GBP", hourly_rate=60, estimated_minutes=10,
            computer_only=True,
        )  # fmt: skip
        sessions = []
        for draft in drafts.plan(study, 0, owner):
            studies.create(draft, prolific.HOST)
            for _place in range(draft.places):
                session, seat = prolific.arrive(fake, draft, f"{len(sessions) + 1:024x}")
                prolific.begin(seat)
                factories.work_through(seat, mistakes(len(sessions)))
                fake.complete(session, draft.codes["completed"])
                sessions.append(session)
        prolific.reject_there(fake, sessions[0])
        sync.sync(study)
        close(study, owner)
    server.close()
    return study


def have_chosen(study: Study) -> None:
    """Make each scenario a separate study on Prolific, where participants chose among them."""
    first, *others = study.scenarios.all()
    study.prolific_studies.get().scenarios.set([first])
    for scenario in others:
        draft = study.prolific_studies.create(
            external_id=f"{scenario.pk:024x}", name="Another", minutes=10, max_minutes=30,
            reward_cents=1000, places=scenario.seats,
        )  # fmt: skip
        draft.scenarios.set([scenario])


BUILDERS: dict[str, Callable[..., Study]] = {
    "clues": clues,
    "multiple choice": multiple_choice,
    "cross-task": cross_task,
    "seated models": models_as_annotators,
    "prolific": on_prolific,
}


@pytest.fixture(scope="module")
def five(module_researcher) -> dict[str, int]:
    """Return the key of each study, by name."""
    keys = {name: build(module_researcher).pk for name, build in BUILDERS.items()}
    if connection.vendor == "postgresql":
        # Statistics from rolled-back rows can lead to query plans that take minutes.
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
    return keys
