"""The protocol's invariants hold for both the annotators' pages and the API."""

import re

import pytest

from annotation.models import Answer, Exposure, Participation, Status, Step, Turn, Worker
from annotation.recruitment.identities import worker_key
from tests import factories
from tests.annotation.participation import both_doors
from tests.annotation.protocol.test_no_gold_leaks import (
    ANSWERS,
    GOLDS,
    LEARNED,
    files_of,
    masked,
)
from tests.annotation.protocol.test_no_gold_leaks import same_orders as same_orders
from tests.annotation.races import race

KINDS = [*factories.KINDS]


@pytest.fixture(params=both_doors.DOORS)
def door(request):
    return both_doors.DOORS[request.param]()


@pytest.fixture
def study(researcher):
    return both_doors.make_study(researcher, factories.make_task(), shots=[2])


@pytest.fixture
def seat(door, study):
    """A participant at the first of two training examples."""
    return both_doors.seat(door, study)


def texts(turn, *given: str) -> dict[str, str]:
    return factories.fields_for(turn.example, given)


def right(turn) -> dict[str, str]:
    return factories.fields_for(turn.example, factories.right_texts(turn.example))


def to_annotation(door, seat) -> Turn:
    """Answer the training step correctly, and return the first turn of the annotation step."""
    while (turn := seat.latest_turn()).step == Step.TRAINING:
        assert door.answer(seat.token, turn.pk, right(turn)).status_code == 200
        door.go_on(seat.token)
    return turn


# No gold early ---------------------------------------------------------------------------------


def comparable(reply) -> tuple[int, bytes, dict[str, str]]:
    status, body, headers = masked(reply)
    for pattern, mask in both_doors.MASKS:
        body = re.sub(pattern, mask, body)
    return status, LEARNED.sub(b"", body), headers


def walk(door, researcher, gold, name, kind) -> list[tuple[str, bool, tuple]]:
    """Walk from the link to the end; return (step, is a reveal, masked reply) of each state."""
    given, other, unfit = ANSWERS[kind]
    task = factories.make_kind(
        kind, name=f"toy-{name}", title="Same", **files_of(kind, gold, trained_on=None)
    )
    study = both_doors.make_study(researcher, task, shots=[3], seed=11, title="Same")
    seen = [("landing", False, comparable(door.landing(study)))]
    door.start(study)
    Participation.objects.filter(study=study).update(pseudonym="A-SAME2")
    seat = study.participations.get()
    for step in (door.consent, door.begin):
        seen.append(("before", False, comparable(door.state(seat.token))))
        step(seat.token)
    for _example in range(6):
        turn = seat.latest_turn()
        is_training = turn.step == Step.TRAINING
        seen.append((turn.step, False, comparable(door.state(seat.token))))
        refused = door.answer(seat.token, turn.pk, unfit)
        reply = door.answer(seat.token, turn.pk, given)
        again = door.answer(seat.token, turn.pk, other)
        assert (refused.status_code, reply.status_code) == (422, 200)
        assert door.refuses(again)
        seen += [
            (turn.step, False, comparable(refused)),
            (turn.step, is_training, comparable(reply)),
            (turn.step, is_training, comparable(again)),
        ]
        if is_training:
            for leaving in ("reveal", "review"):
                door.go_on(seat.token, leaving)
    seen.append(("finished", False, comparable(door.state(seat.token))))
    return seen


@pytest.mark.parametrize("kind", KINDS)
def test_other_gold_gives_equal_bytes_until_the_answer_is_stored(
    door, researcher, same_orders, kind
):
    ways = (
        walk(door, researcher, gold, name, kind) for gold, name in zip(GOLDS, "ab", strict=True)
    )
    pairs = list(zip(*ways, strict=True))
    assert len(pairs) == 28
    for (step, is_reveal, first), (_step, _reveal, second) in pairs:
        if not is_reveal:
            assert first == second, f"differs in {step}"
    assert any(first != second for (_s, reveal, first), (_t, _r, second) in pairs if reveal)


def test_no_example_is_shown_before_consent(door, study):
    door.start(study)
    participation = study.participations.get()
    assert door.begin(participation.token).status_code == 409
    assert not Turn.objects.exists()


# No revision, no skipping ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_answer_is_stored_once_and_revealed(door, researcher, kind):
    study = both_doors.make_study(researcher, factories.make_kind(kind), shots=[2])
    seat = both_doors.seat(door, study)
    turn = seat.latest_turn()
    fields = factories.fields_for(turn.example, factories.wrong_texts(turn.example))
    reply = door.answer(seat.token, turn.pk, fields)
    assert reply.status_code == 200
    assert door.shows(reply, turn.pk)
    assert door.has_reveal(reply)
    assert door.answer(seat.token, turn.pk, fields).status_code == 200
    other = door.answer(seat.token, turn.pk, right(turn))
    assert other.status_code == 409
    assert door.shows(other, turn.pk)
    stored = Answer.objects.get()
    assert stored.as_given.texts == factories.wrong_texts(turn.example)
    assert stored.s1 < 1


def test_an_invalid_answer_stores_nothing(door, seat):
    turn = seat.latest_turn()
    for fields in ({"typed": "nowhere"}, {}, {"label": "positive"}):
        assert door.answer(seat.token, turn.pk, fields).status_code == 422
    assert not Answer.objects.exists()
    assert seat.latest_turn() == turn


def test_the_annotation_step_reveals_nothing_and_takes_no_change(door, seat):
    turn = to_annotation(door, seat)
    reply = door.answer(seat.token, turn.pk, texts(turn, "home"))
    following = seat.latest_turn()
    assert door.shows(reply, following.pk)
    assert not door.has_reveal(reply)
    late = door.answer(seat.token, turn.pk, right(turn) | texts(turn))
    assert late.status_code == 409
    assert door.shows(late, following.pk)
    assert not door.has_reveal(late)
    assert Answer.objects.get(turn=turn).as_given.texts == ["home"]


def test_continue_skips_no_example(door, seat):
    first = seat.latest_turn()
    door.go_on(seat.token)
    assert seat.latest_turn() == first
    door.answer(seat.token, first.pk, right(first))
    door.go_on(seat.token)
    door.go_on(seat.token)
    assert seat.turns.count() == 2


def test_an_example_that_is_not_shown_yet_is_404(door, seat):
    turn = seat.latest_turn()
    assert door.answer(seat.token, turn.pk + 1, right(turn)).status_code == 404
    assert not Answer.objects.exists()


def test_a_foreign_turn_and_an_unknown_token_are_refused(door, study, seat):
    foreign = factories.seat(study.scenarios.get()).latest_turn()
    assert door.answer(seat.token, foreign.pk, right(foreign)).status_code == 404
    assert door.answer("unknown", foreign.pk, right(foreign)).status_code == door.stranger
    for ask in (door.state, door.consent, door.begin, door.go_on, door.withdraw):
        assert ask("unknown").status_code == door.stranger
    assert not Answer.objects.exists()


def test_get_shows_the_state_and_changes_nothing(door, seat):
    turn = seat.latest_turn()
    assert door.shows(door.state(seat.token), turn.pk)
    assert door.shows(door.state(seat.token), turn.pk)
    door.answer(seat.token, turn.pk, right(turn))
    assert door.has_reveal(door.state(seat.token))
    assert (seat.turns.count(), Answer.objects.count()) == (1, 1)
    assert "no-store" in door.state(seat.token)["Cache-Control"]


def test_after_the_end_nothing_more_is_recorded(door, seat):
    to_annotation(door, seat)
    while seat.turns.count() < 6 or seat.latest_turn().given is None:
        turn = seat.latest_turn()
        door.answer(seat.token, turn.pk, right(turn))
    seat.refresh_from_db()
    assert seat.status == Status.COMPLETED
    assert seat.completion_code in door.state(seat.token).content.decode()
    assert door.refuses(door.answer(seat.token, turn.pk, texts(turn, "home")))
    assert Answer.objects.count() == 6


def test_withdrawing_erases_the_answers_and_ends_the_seat(door, seat):
    turn = seat.latest_turn()
    door.answer(seat.token, turn.pk, right(turn))
    assert door.withdraw(seat.token).status_code < 400
    assert not Answer.objects.exists()
    seat.refresh_from_db()
    assert (seat.status, seat.seat_number) == (Status.WITHDRAWN, None)
    assert door.answer(seat.token, turn.pk, right(turn)).status_code == 404


# Seats -----------------------------------------------------------------------------------------


def test_declining_leaves_nothing_but_a_count(door, study):
    door.start(study)
    participation = study.participations.get()
    assert door.consent(participation.token, agree=False).status_code < 400
    assert not study.participations.exists()
    assert not Worker.objects.exists()
    assert study.scenarios.get().declined == 1


def test_a_start_without_a_free_seat_is_409(door, study):
    for _seat in range(2):
        factories.seat(study.scenarios.get())
    assert door.start(study).status_code == 409
    assert study.participations.count() == 2


def test_a_known_exposure_to_the_task_ends_the_seat_at_the_start(door, study):
    door.start(study)
    participation = study.participations.get()
    Exposure.objects.create(worker_key=participation.worker.key, task_name="toy-places")
    door.consent(participation.token)
    door.begin(participation.token)
    participation.refresh_from_db()
    assert (participation.status, participation.seat_number) == ("refused", None)
    assert not Turn.objects.exists()


def test_a_repeated_start_is_one_seat(door, study):
    arrival = door.arrival(study)
    assert [door.start(study, arrival).status_code < 400 for _click in range(2)] == [True, True]
    assert study.participations.count() == 1
    assert Worker.objects.get().key != worker_key("link", "")


# Races -----------------------------------------------------------------------------------------


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_simultaneous_starts_get_no_more_seats_than_exist(door, researcher, settings):
    settings.STARTS_PER_MINUTE = 100
    study = both_doors.make_study(researcher, factories.make_task(), shots=[2], annotators=3)
    make = type(door)
    replies = race([lambda: make().start(study).status_code for _person in range(8)])
    assert study.participations.seated().count() == 3
    assert sum(status < 400 for status in replies) == 3
    assert {status for status in replies if status >= 400} <= {409, 429}


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_simultaneous_answers_one_is_stored_and_the_rest_409(door, researcher):
    study = both_doors.make_study(researcher, factories.make_task(), shots=[2])
    seat = factories.seat(study.scenarios.get())
    turn, make = seat.latest_turn(), type(door)
    forms = [texts(turn, word) for word in ("we", "went", "to", "then", "home", "train")]
    replies = race(
        [lambda form=form: make().answer(seat.token, turn.pk, form).status_code for form in forms]
    )
    assert sorted(replies) == [200, 409, 409, 409, 409, 409]
    assert Answer.objects.count() == 1
