"""Annotators state their confidence after each answer, before the gold or the next example."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models import F
from django.urls import reverse

from annotation import guards
from annotation.models import Answer, Channel, Confidence, Participation, Status, Step, Study, Turn
from annotation.models.answers import LONGEST_REASON
from annotation.pay import ledger
from annotation.privacy import withdrawal
from annotation.privacy.personal_data import personal_data
from annotation.protocol import answering, training_step
from annotation.protocol.answering import PeopleUsePages
from annotation.recruitment import seats
from annotation.study import design_file
from tests import factories
from tests.annotation.participation import both_doors
from tests.annotation.protocol.test_no_gold_leaks import masked


@pytest.fixture(params=both_doors.DOORS)
def door(request):
    return both_doors.DOORS[request.param]()


def study_of(researcher, **fields) -> Study:
    task = factories.make_task(labels=factories.LABELS, name="toy-labels", shots=(2,), test_size=3)
    defaults = {"shots": [0, 2], "confidence_share": 1, "asks_reasons": True}
    return both_doors.make_study(researcher, task, **(defaults | fields))


@pytest.fixture
def study(researcher):
    return study_of(researcher)


@pytest.fixture
def seat(study):
    return factories.seat(study.scenarios.get(shots=2))


def answer(door, seat) -> Turn:
    turn = seat.latest_turn()
    fields = factories.fields_for(turn.example, factories.right_texts(turn.example))
    assert door.answer(seat.token, turn.pk, fields).status_code == 200
    return turn


def is_asked(door, seat) -> bool:
    reply = door.state(seat.token)
    if isinstance(door, both_doors.Api):
        return reply.json()["step"] == "confidence"
    return 'data-state="confidence"' in reply.content.decode()


# Steps -----------------------------------------------------------------------------------------


def test_the_answer_is_stored_and_the_gold_follows_the_reply(door, seat):
    turn = answer(door, seat)
    assert Answer.objects.get().turn_id == turn.pk
    assert is_asked(door, seat)
    assert not door.has_reveal(door.state(seat.token))
    assert not door.has_reveal(door.go_on(seat.token))
    assert is_asked(door, seat)
    reply = door.confidence(seat.token, turn.pk, 4, "  The word\tgood ")
    assert door.has_reveal(reply)
    assert door.shows(reply, turn.pk)
    row = Confidence.objects.get()
    assert (row.value, row.reason, row.turn_id) == (4, "The word good", turn.pk)


def test_the_next_test_example_follows_the_reply(door, study):
    seat = factories.seat(study.scenarios.get(shots=0))
    first = answer(door, seat)
    assert seat.turns.count() == 1
    reply = door.confidence(seat.token, first.pk, None)
    second = seat.latest_turn()
    assert door.shows(reply, second.pk)
    assert second.pk != first.pk
    assert second.shown_at == Confidence.objects.get().given_at
    for _example in range(2):
        assert seat.status == Status.WORKING
        door.confidence(seat.token, answer(door, seat).pk, 1)
        seat.refresh_from_db()
    assert seat.status == Status.COMPLETED
    assert list(Confidence.objects.values_list("value", flat=True)) == [None, 1, 1]


def test_the_first_reply_and_the_first_answer_count(door, seat):
    turn = answer(door, seat)
    other = door.answer(seat.token, turn.pk, {"label": "negative"})
    same = door.answer(seat.token, turn.pk, {"label": "positive"})
    assert sorted([other.status_code, same.status_code]) == [200, 409]
    assert is_asked(door, seat)
    door.confidence(seat.token, turn.pk, 2)
    door.confidence(seat.token, turn.pk, 5)
    assert Confidence.objects.get().value == 2
    door.go_on(seat.token)
    following = seat.latest_turn()
    door.confidence(seat.token, following.pk, 5)
    assert Confidence.objects.count() == 1
    assert seat.latest_turn().given is None


@pytest.mark.parametrize(("point", "reason"), [(6, ""), (0, ""), (3, "a" * 201)])
def test_an_invalid_reply_stores_nothing(door, seat, point, reason):
    turn = answer(door, seat)
    assert door.confidence(seat.token, turn.pk, point, reason).status_code == 422
    assert not Confidence.objects.exists()
    assert is_asked(door, seat)


def test_the_page_has_labels_and_keeps_what_was_written(client, seat):
    answer(both_doors.Pages(), seat)
    page = client.get(reverse("work", args=[seat.token])).content.decode()
    assert re.findall(r'name="confidence" value="(\d)" required', page) == list("12345")
    assert "<span>Completely sure</span> <small>100 %</small>" in " ".join(page.split())
    fields = {"turn": seat.latest_turn().pk, "reason": "a good word"}
    reply = client.post(reverse("confidence", args=[seat.token]), fields)
    assert reply.status_code == 422
    page = reply.content.decode()
    assert "Please choose one, or skip this question." in page
    assert 'value="a good word"' in page


def test_without_reasons_none_is_asked_or_stored(client, researcher):
    study = study_of(researcher, asks_reasons=False)
    seat = factories.seat(study.scenarios.get(shots=2))
    turn = answer(both_doors.Pages(), seat)
    assert 'name="reason"' not in client.get(reverse("work", args=[seat.token])).content.decode()
    both_doors.Pages().confidence(seat.token, turn.pk, 3, "unasked")
    assert Confidence.objects.get().reason == ""


def test_pages_without_confidence_are_the_same_bytes(client, researcher):
    """The second design may ask for confidence elsewhere, but not on this page."""
    pages = []
    for number, fields in enumerate(({}, {"confidence_share": 0.001})):
        study = study_of(researcher, name=f"s{number}", seed=1, asks_reasons=False,
                         annotation_order="file_order",
                         **({"confidence_share": 0} | fields))  # fmt: skip
        seat = factories.seat(study.scenarios.get(shots=0))
        Participation.objects.filter(pk=seat.pk).update(pseudonym="A-SAME2")
        pages.append(masked(client.get(reverse("work", args=[seat.token]))))
    assert pages[0][1].decode() == pages[1][1].decode()
    assert b"onfidence" not in pages[0][1]


# Which examples --------------------------------------------------------------------------------


def test_a_share_is_drawn_for_each_participation_from_the_seed(researcher):
    task = factories.make_task(labels=factories.LABELS, name="toy-labels", shots=(), test_size=40)
    study = both_doors.make_study(
        researcher, task, shots=[0], confidence_share=0.25, seed=5, annotators=2
    )
    drawn = []
    for _person in range(2):
        seat = factories.seat(study.scenarios.get())
        factories.work_through(seat, rate=lambda turn: {"confidence": "3"})
        rated = Confidence.objects.filter(turn__participation=seat)
        drawn.append(set(rated.values_list("turn__position", flat=True)))
        assert {turn.position for turn in seat.turns.all() if turn.asks_confidence} == drawn[-1]
    assert [len(positions) for positions in drawn] == [10, 10]
    assert drawn[0] != drawn[1]


def test_it_is_not_asked_about_anchors_or_screening(researcher):
    task = factories.make_task(labels=factories.LABELS, name="toy-labels", shots=(2, 8))
    study = both_doors.make_study(
        researcher, task, shots=[0, 2], anchor_examples=2, confidence_share=1,
        screening_examples=2, qualification="minimum", qualification_threshold=10,
    )  # fmt: skip
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    steps = set(Confidence.objects.values_list("turn__step", flat=True))
    assert steps == {Step.TRAINING, Step.ANNOTATION}
    assert study.participations.filter(status=Status.COMPLETED).count() == 2
    assert Turn.objects.filter(step__in=steps).count() == Confidence.objects.count()


# Gold ------------------------------------------------------------------------------------------


def test_the_question_is_the_same_bytes_whatever_the_gold(door, researcher):
    seen = []
    for number, gold in enumerate(("positive", "negative")):
        made = {
            prefix: [
                replace(record, gold=(gold,), explanation=f"{gold}!" if prefix == "train" else "")
                for record in factories.label_records(prefix, size)
            ]
            for prefix, size in (("train", 2), ("test", 3))
        }
        task = factories.make_task(
            labels=factories.LABELS, name=f"toy-{number}", title="Same", train={2: made["train"]},
            test=made["test"],
        )  # fmt: skip
        study = both_doors.make_study(
            researcher, task, name=f"same-{number}", title="Same", shots=[0, 2], seed=3,
            confidence_share=1, training_order="file_order", annotation_order="file_order",
        )  # fmt: skip
        replies = []
        for scenario in study.scenarios.order_by("shots"):
            seat = factories.seat(scenario)
            turn = seat.latest_turn()
            replies.append(door.answer(seat.token, turn.pk, {"label": "positive"}))
            replies.append(door.state(seat.token))
            replies.append(door.answer(seat.token, turn.pk, {"label": "negative"}))
            replies.append(door.go_on(seat.token))
            if isinstance(door, both_doors.Api):
                headers = {"Authorization": f"Bearer {seat.token}"}
                replies.append(door.client.get(reverse("api_history"), headers=headers))
        seen.append([_comparable(reply) for reply in replies])
    assert seen[0] == seen[1]


def _comparable(reply):
    status, body, headers = masked(reply)
    body = re.sub(rb"A-[A-Z2-9]{5}", b"PSEUDONYM", body)
    for pattern, mask in both_doors.MASKS:
        body = re.sub(pattern, mask, body)
    return status, body, {name: text for name, text in headers.items() if name != "ETag"}


def test_no_code_reveals_an_answer_whose_confidence_is_open(seat):
    answer(both_doors.Pages(), seat)
    with pytest.raises(ValueError, match="is revealed"):
        training_step.reveal(seat.latest_turn())


# Time, withdrawal and permissions --------------------------------------------------------------


def test_time_on_the_question_is_paid_and_not_time_on_the_reveal(seat):
    turn = answer(both_doors.Pages(), seat)
    _earlier(seat, 30)
    both_doors.Pages().confidence(seat.token, turn.pk, 4)
    assert 29 < Confidence.objects.get().seconds < 59
    training_step.go_on(seat.token)
    turn = seat.latest_turn()
    assert Turn.objects.get(position=0, participation=seat).reading.seconds < 25
    assert 29 < turn.worked_before.total_seconds() < 59
    factories.work_through(seat, limit=3)
    both_doors.Pages().confidence(seat.token, seat.latest_turn().pk, 4)
    answer(both_doors.Pages(), seat)
    _earlier(seat, 30)
    both_doors.Pages().confidence(seat.token, seat.latest_turn().pk, 4)
    seat.refresh_from_db()
    assert seat.status == Status.COMPLETED
    assert ledger.active_time(seat).total_seconds() > 59


def _earlier(seat, seconds: float) -> None:
    """Move everything done so far into the past by this many seconds."""
    shift = timedelta(seconds=seconds)
    guards.lift(connection)
    Participation.objects.filter(pk=seat.pk).update(
        arrived_at=F("arrived_at") - shift, consented_at=F("consented_at") - shift
    )
    own = Turn.objects.filter(participation=seat)
    own.update(shown_at=F("shown_at") - shift)
    Answer.objects.filter(turn__in=own).update(submitted_at=F("submitted_at") - shift)
    Confidence.objects.filter(turn__in=own).update(given_at=F("given_at") - shift)
    guards.install(connection)


def test_an_expired_annotator_resumes_at_the_question(study):
    seat = factories.seat(study.scenarios.get(shots=0))
    turn = answer(both_doors.Pages(), seat)
    Participation.objects.filter(pk=seat.pk).update(status=Status.EXPIRED, seat_number=None)
    seat.refresh_from_db()
    assert seats.resume(seat).status == Status.WORKING
    reply = both_doors.Pages().confidence(seat.token, turn.pk, 5)
    assert both_doors.Pages().shows(reply, seat.latest_turn().pk)


def test_a_program_cannot_rate_for_a_person(researcher):
    task = factories.make_task(labels=factories.LABELS, name="toy-labels")
    study = factories.make_study(researcher, task, shots=[0], confidence_share=1)
    seat = factories.seat(study.scenarios.get())
    turn = answer(both_doors.Pages(), seat)
    with pytest.raises(PeopleUsePages):
        answering.rate_confidence(seat.token, turn.pk, {"confidence": "3"}, Channel.API)
    with pytest.raises(DatabaseError, match="people use the pages"), transaction.atomic():
        _store(turn, channel=Channel.API)


def test_withdrawal_erases_confidence_and_reasons(seat):
    turn = answer(both_doors.Pages(), seat)
    both_doors.Pages().confidence(seat.token, turn.pk, 4, "I know her")
    shown = personal_data(seat, None)["examples"][0]
    assert shown["confidence"] == {"point": 4, "reason": "I know her"}
    withdrawal.withdraw(seat.token)
    assert not Confidence.objects.exists()


# Rules -----------------------------------------------------------------------------------------


def _store(turn, **fields) -> Confidence:
    given = {"value": 3, "seconds": 1, "given_at": turn.shown_at, "channel": Channel.PAGE}
    return Confidence.objects.create(turn=turn, **(given | fields))


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"value": 6}, "confidence_is_1_to_5_or_skipped"),
        ({"value": 0}, "confidence_is_1_to_5_or_skipped"),
        ({"value": None, "reason": "why"}, "confidence_is_1_to_5_or_skipped"),
        ({"reason": "ä" * (LONGEST_REASON + 1)}, "a_reason_has_at_most_200|too long"),
        ({"seconds": -1}, "confidence_comes_after_the_answer"),
    ],
)
def test_the_database_refuses_impossible_confidence(seat, fields, rule):
    turn = answer(both_doors.Pages(), seat)
    with pytest.raises(DatabaseError, match=rule), transaction.atomic():
        _store(turn, **fields)
    assert _store(turn, reason="ä" * LONGEST_REASON)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"confidence_share": 1.5}, "confidence_share"),
        ({"confidence_share": -0.1}, "confidence_share"),
        ({"confidence_share": float("nan")}, "confidence_share"),
        ({"confidence_share": 0}, "asks_reasons"),
    ],
)
def test_impossible_designs_are_refused(researcher, fields, field):
    with pytest.raises(ValidationError) as refused:
        study_of(researcher, **fields)
    assert field in refused.value.message_dict
    study = study_of(researcher, status="draft")
    if fields["confidence_share"] == fields["confidence_share"]:
        with pytest.raises(IntegrityError), transaction.atomic():
            Study.objects.filter(pk=study.pk).update(options=study.options | fields)


def test_a_design_file_declares_confidence(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text('name = "s"\nconfidence_share = 0.2\nasks_reasons = true\n')
    fields = design_file.read(path).fields
    assert (fields["confidence_share"], fields["asks_reasons"]) == (0.2, True)
