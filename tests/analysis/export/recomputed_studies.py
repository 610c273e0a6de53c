"""Three exported studies that together have a value for every number of an export."""

import random

import pytest

from analysis.export.files import write_export
from annotation.models import Channel, Kind, Status, Study
from annotation.privacy import withdrawal
from annotation.protocol import answering, exclusion, own_questions
from annotation.protocol.attention_checks import import_checks
from annotation.recruitment import consent, seats
from tasks.formats import Record
from tests import factories
from tests.analysis.cross_task.test_cross_task import answered_study
from tests.analysis.export.recomputed import Exported
from tests.analysis.five_studies import take_part_as_a_model
from tests.analysis.scores.test_metric_tables import stored as metrics_study  # noqa: F401, a fixture

UNREACHABLE = "Nowhere"  # occurs only inside a longer word, so it can't be highlighted
# Task -> the study's metrics that fit it, in addition to the one on its card.
FURTHER = {"ratings": {"S1"}, "moods": {"S1", "EM"}, "places": {"S1", "EM", "Rouge-L"}}


def visited(number: int) -> list[Record]:
    """Return questions whose gold is two places, one or none, with two questions per sentence."""
    records = []
    for n in range(number):
        first, second = factories.PLACES[n // 2 : n // 2 + 2]
        gold = [(first, second), (), (first, UNREACHABLE), (second,)][n % 4]
        text = f"test {n // 2}: we went to {first} and {second}, then home from {UNREACHABLE}land."
        records.append(Record(f"test-{n}", (text,), f"Which, {n}?", gold, None))
    return records


def some_right(who: object):
    """Return answers that don't depend on the order, which a random pseudonym determines."""

    def answer(turn):
        rng = random.Random(f"{who} {turn.example.source_id}")
        right = [text for text in factories.right_texts(turn.example) if text != UNREACHABLE]
        if turn.example.split.task.card.is_highlighted:
            return rng.choice([right, right, list(dict.fromkeys([*right, "home"])), ["home"], []])
        return rng.choice([right, ["Nowhere at all"]])

    return answer


def under_s1(owner, folder) -> Study:
    """Spans and alternatives at 0, 2 and 4 shots, with every way to arrive, work and finish."""
    places = factories.make_task(test=visited(7), splits=2)
    capitals = factories.make_kind("short text", name="capitals", test_size=5, splits=2)
    checks = folder / "checks.jsonl"
    checks.write_text('{"id": "c", "context": "Say home.", "question": "?", "answer": ["home"]}\n')
    for task in (places, capitals):
        import_checks(task, checks)
    study = factories.make_study(
        owner, places, capitals, shots=[0, 2, 4], splits=[1, 2], annotators=8, attention_checks=1,
        base_reward=3, exit_questionnaire=True, equivalence_margin=5, programs_as_people=True,
    )  # fmt: skip
    for _declined in range(2):
        consent.record(factories.join(study), agree=False)
    scenarios = list(study.scenarios.order_by("shots", "pk"))
    for number, scenario in enumerate([*scenarios[:2] * 8, *scenarios[2:] * 2, scenarios[4]]):
        seat = factories.seat(scenario)
        turn = seat.latest_turn()
        answering.ping(
            seat.token,
            turn.pk,
            {"blurs": str(number % 3), "pastes": "1", "copies": "2", "narrow": "1", "jumps": "1"},
        )
        if number in (2, 3):
            fields = factories.fields_for(turn.example, some_right(number)(turn))
            answering.submit(seat.token, turn.pk, fields, Channel.API)
        limit = {4: 1, 5: 3, 32: 4}.get(number, 1000)
        factories.work_through(seat, some_right(number), limit)
        if number in (4, 5):
            seats.release_seat(seat, Status.RETURNED if number == 4 else Status.EXPIRED)
        elif number == 6:
            withdrawal.withdraw(seat.token)
        elif number in (7, 8):
            exclusion.decide(seat, False, "slow", owner)
        elif number in (9, 10):
            said = {"seen_before": "yes" if number == 9 else "no", "ai_used": "unsure"}
            own_questions.answer_exit(seat.token, said)
    for robot in ("first", "second"):
        factories.work_through(factories.seat(scenarios[2], Kind.SIMULATED), some_right(robot))
    take_part_as_a_model(study.scenarios.filter(task=capitals)[1], factories.bearer(owner, "run"))
    rng = random.Random(5)
    for task in (places, capitals):
        for model, shots, split in (("toy", 0, None), ("toy", 2, 1), ("toy", 2, 2), ("new", 2, 1)):
            factories.predict(
                owner, model, task, shots, split, lambda e: rng.choice([e.gold[:1], ["home"]])
            )
    return study


@pytest.fixture(scope="module")
def exports(metrics_study, module_researcher, tmp_path_factory) -> dict[str, Exported]:  # noqa: F811
    folder = tmp_path_factory.mktemp("recomputed")
    studies = {
        "S1": under_s1(module_researcher, folder),
        "metrics": Study.objects.get(pk=metrics_study),
        "arms": answered_study(
            module_researcher, ("Classification-F1", "S1"), hopeless=("sham", "unseen-b")
        ),
    }
    for name, study in studies.items():
        study.refresh_from_db()
        write_export(study, folder / name)
    return {name: Exported(folder / name, FURTHER) for name in studies}
